/** Prints an access token for development, and nothing else: for `tablewright token` and `npm run token`. */
import { existsSync } from 'node:fs';
import process from 'node:process';
import { readConfig } from '../core/settings/config.ts';
import { needsGeneratedSecret } from '../core/settings/token-settings.ts';
import {
  allScopes,
  type DevTokenOptions,
  resolveTokenSettings,
  secretPath,
  signDevToken,
  signingSettings,
} from '../service/start/dev-token.ts';

/** @throws Error if the service verifies tokens with a public key */
export async function printToken(options: DevTokenOptions): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const config = readConfig(process.env);
  const isSecretNew = needsGeneratedSecret(config.tokens) && !existsSync(secretPath(config));
  if (isSecretNew && process.env.TABLEWRIGHT_URL) {
    throw new Error(
      `There is no secret in ${config.dataDir}, so the service at TABLEWRIGHT_URL would not accept the token. Run this command where the service runs, or set TOKEN_SECRET or DATA_DIR as the service has it.`,
    );
  }
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
}

export interface TokenValues {
  scope?: string;
  schemas?: string;
  role?: string;
  ttl?: string;
}

/** @throws Error that names the option */
export function readTokenOptions({ scope, schemas, role, ttl = '1h' }: TokenValues): DevTokenOptions {
  return {
    scope: scope === undefined ? allScopes : scopeOf(scope),
    schemas: schemas === undefined ? undefined : wordsOf('schemas', schemas),
    role: role === undefined ? undefined : wordOf('role', role),
    ttlSeconds: secondsOf(ttl),
  };
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
    throw new Error(`--ttl: "${value}" is not a duration such as 30s, 15m, 1h or 7d`);
  }
  const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 }[match[2] as 's' | 'm' | 'h' | 'd'];
  return Number(match[1]) * unitSeconds;
}
