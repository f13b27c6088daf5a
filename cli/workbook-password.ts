/**
 * The password of encrypted workbooks: from a file, the environment or the terminal. There is no option for it, because every user
 * of the machine can read the arguments of a command.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { ProblemError } from '../client/client.ts';
import type { CommandLine } from './commands.ts';
import { WrongUse } from './exit-codes.ts';
import { note } from './print.ts';
import type { Source } from './source.ts';

const maxQuestions = 3;

/**
 * Calls `attempt` with the password, and asks for another one on the terminal while the service refuses it. The password that
 * opened one file is tried first for the next.
 *
 * @param signal ends the question
 * @throws what `attempt` throws, AbortError
 */
export type WithPassword = <Result>(
  { path, file }: Pick<Source, 'path' | 'file'>,
  signal: AbortSignal,
  attempt: (password: string | undefined) => Promise<Result>,
) => Promise<Result>;

/** @throws WrongUse if the file with the password cannot be read or is empty */
export function passwordsOf({ options }: CommandLine): WithPassword {
  let password = givenPassword(options['password-file'] as string | undefined);
  return async ({ path, file }, signal, attempt) => {
    // Another attempt needs a file that can be opened again. A stream can be sent only once, so nothing is asked for it.
    const isTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true;
    let questions = isTerminal && typeof file === 'function' ? maxQuestions : 0;
    for (;;) {
      try {
        return await attempt(password);
      } catch (error) {
        if (!needsPassword(error) || questions-- === 0) throw error;
        note(`${path} is encrypted${password === undefined ? '' : ', and the password does not open it'}.`);
        const answer = await ask(signal);
        if (answer === '') throw error;
        password = answer;
      }
    }
  };
}

function givenPassword(path: string | undefined): string | undefined {
  if (path === undefined) return process.env.TABLEWRIGHT_FILE_PASSWORD || undefined;
  let password: string;
  try {
    password = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new WrongUse(`The password file "${path}" cannot be read: ${(error as Error).message}`);
  }
  if (password === '') throw new WrongUse(`The password file "${path}" is empty.`);
  return password;
}

/** Returns whether the service refused a workbook because its password is missing or wrong. */
export function needsPassword(error: unknown): boolean {
  return (
    error instanceof ProblemError && (error.code === 'password-required' || error.code === 'wrong-password')
  );
}

/** Asks for the password without showing what is typed. Returns an empty text if the input ends. */
async function ask(signal: AbortSignal): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 });
  // `readline` hides typed keys from now on. Writing the question earlier would show keys typed at once and lose the end of the input.
  process.stderr.write('Password: ');
  // While a line is read, the terminal passes Ctrl-C as a character. So the signal is sent here.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const { promise: end, resolve } = Promise.withResolvers<string>();
  lines.on('close', () => resolve(''));
  try {
    return await Promise.race([lines.question('', { signal }), end]);
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
