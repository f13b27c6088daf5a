/**
 * `npm run -s token -- [--scope "table:create table:load"] [--schemas "public,sales_*"] [--role NAME] [--ttl 1h]`:
 * prints an access token for development, and nothing else.
 */

import process from 'node:process';
import { parseArgs } from 'node:util';
import { printToken, readTokenOptions } from '../src/for-commands/print-token.ts';

const usage =
  'Usage: npm run -s token -- [--scope "table:create table:load"] [--schemas "public,sales_*"] [--role NAME] [--ttl 1h]';

try {
  await printToken(readOptions(process.argv.slice(2)));
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
    return readTokenOptions(values);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`);
  }
}
