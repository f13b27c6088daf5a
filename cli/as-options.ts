/** Texts of the service name its parameters (`if_exists`). This file replaces them by the options of the command line (`--if-exists`). */
import { uploadParameters } from '../client/parameters.ts';
import { isFlag, optionOf } from './commands.ts';
import { note } from './print.ts';

const known: ReadonlySet<string> = new Set([
  'if_not_exists',
  'allow',
  ...uploadParameters.map(({ name }) => name),
]);

/**
 * Returns the text with its parameters written as options: `if_exists=append` is `--if-exists append`, `trim=true` is `--trim`, and a
 * parameter between backticks is its option without them.
 */
export function asOptions(text: string): string {
  return text
    .replaceAll(/\b([a-z]+(?:_[a-z]+)*)=(true\b)?/g, (found, name, isTrue = '') => {
      if (!known.has(name)) return found;
      return isTrue && isFlag(name) ? `--${optionOf(name)}` : `--${optionOf(name)} ${isTrue}`;
    })
    .replaceAll(/`([a-z]+(?:_[a-z]+)*)`/g, (found, name) =>
      known.has(name) ? `--${optionOf(name)}` : found,
    );
}

export function noteWarnings(warnings: readonly { detail: string; code: string }[]): void {
  for (const { detail, code } of warnings) note(`warning: ${asOptions(detail)} (${code})`);
}
