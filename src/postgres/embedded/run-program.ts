/** Runs one of PostgreSQL's programs as the cluster's user. */

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import process, { env, platform } from 'node:process';
import type { SystemUser } from './system-user.ts';

export interface ProgramOptions {
  user: SystemUser | undefined;
  cwd: string;
  input?: string;
}

const maxOutputChars = 10_000;

/** Runs a program until it ends. If it fails, the error contains its output. */
export async function runProgram(path: string, parameters: string[], options: ProgramOptions): Promise<void> {
  const child = await spawnProgram(path, parameters, options.user, { cwd: options.cwd, stdio: 'pipe' });
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-maxOutputChars);
  };
  child.stdout!.on('data', keep);
  child.stderr!.on('data', keep);
  // The error is ignored: a program that ended early does not read its input, and its exit code and output show why it ended.
  child.stdin!.on('error', () => {});
  child.stdin!.end(options.input ?? '');
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${path} failed (${signal ?? `exit code ${code}`}): ${output.trim()}`);
}

/** Starts a program without this process's PG* variables and locale. The program is ended when this process exits. */
export async function spawnProgram(
  path: string,
  parameters: string[],
  user: SystemUser | undefined,
  options: SpawnOptions,
): Promise<ChildProcess> {
  const child = spawn(path, parameters, {
    ...options,
    ...user,
    env: {
      LC_ALL: 'C',
      TZ: 'UTC',
      PATH: '/usr/bin:/bin',
      ...(platform === 'win32' && { SystemRoot: env.SystemRoot }),
    },
  });
  try {
    await once(child, 'spawn');
  } catch (cause) {
    throw new Error(
      `${path} cannot be started on this machine (${(cause as Error).message}): set DATABASE_URL to a PostgreSQL 15 or newer`,
      { cause },
    );
  }
  // SIGINT makes a server shut down fast, and makes initdb remove its files.
  const endWithUs = () => child.kill('SIGINT');
  process.once('exit', endWithUs);
  child.once('exit', () => process.off('exit', endWithUs));
  return child;
}
