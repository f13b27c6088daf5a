/**
 * `npm run -s token -- [--scope "table:create table:load"] [--schemas "public,sales_*"] [--role NAME] [--ttl 1h]`:
 * prints an access token for development, and nothing else.
 */

import { existsSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { readConfig } from '../src/config.ts';
import {
  allScopes,
  resolveTokenSettings,
  secretPath,
  signDevToken,
  signingSettings,
} from '../src/dev-token.ts';
import { needsGeneratedSecret } from '../src/token-settings.ts';

const usage =
  'Usage: npm run -s token -- [--scope "table:create table:load"] [--schemas "public,sales_*"] [--role NAME] [--ttl 1h]';

try {
  const options = readOptions(process.argv.slice(2));
  if (existsSync('.env')) process.loadEnvFile('.env');
  const config = readConfig(process.env);
  const isSecretNew = needsGeneratedSecret(config.tokens) && !existsSync(secretPath(config));
  const settings = signingSettings(await resolveTokenSettings(config));
  if (settings === undefined) {
    throw new Error(
      'The service verifies tokens with a public key, so this command cannot sign one. Get a token from your identity provider.',
    );
  }
  process.stdout.write(`${await signDevToken(settings, options)}\n`);
  if (isSecretNew) {
    process.stderr.write(
      `There was no secret in ${config.dataDir}, so one was made. A service with another DATA_DIR does not take this token.\n`,
    );
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}

function readOptions(parameters: string[]) {
  const text = { type: 'string' } as const;
  // npm reads the options before `--` itself, and does not pass them on.
  const taken = ['scope', 'schemas', 'role', 'ttl'].filter((name) => process.env[`npm_config_${name}`]);
  if (parameters.length === 0 && taken.length > 0) {
    throw new Error(`Write "--" before --${taken[0]}: npm keeps what stands before it.\n${usage}`);
  }
  try {
    const { values } = parseArgs({
      args: parameters,
      options: { scope: text, schemas: text, role: text, ttl: text },
    });
    return {
      scope: values.scope === undefined ? allScopes : scopeOf(values.scope),
      schemas: values.schemas === undefined ? undefined : wordsOf('schemas', values.schemas),
      role: values.role === undefined ? undefined : wordOf('role', values.role),
      ttlSeconds: secondsOf(values.ttl ?? '1h'),
    };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`);
  }
}

function scopeOf(value: string): string {
  const known = allScopes.split(' ');
  const words = wordsOf('scope', value);
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new Error(`--scope: "${unknown}" is none of ${known.join(', ')}`);
  return words.join(' ');
}

function wordsOf(flag: string, value: string): string[] {
  const words = value.split(/[\s,]+/).filter((word) => word !== '');
  // An empty list would allow nothing, which is never intended.
  if (words.length === 0) throw new Error(`--${flag} is empty`);
  return words;
}

function wordOf(flag: string, value: string): string {
  if (value.trim() === '') throw new Error(`--${flag} is empty`);
  return value;
}

function secondsOf(value: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(value);
  if (match === null || Number(match[1]) === 0) {
    throw new Error(`--ttl: "${value}" is no duration such as 30s, 15m, 1h or 7d`);
  }
  const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 }[match[2] as 's' | 'm' | 'h' | 'd'];
  return Number(match[1]) * unitSeconds;
}
