/** The upload parameters among the options of a command. */
import type { LoadQuery } from '../client/client.ts';
import { uploadParameters } from '../client/parameters.ts';
import { type CommandLine, optionOf } from './commands.ts';
import { WrongUse } from './exit-codes.ts';

/** Returns the upload parameters among the options. The service checks their values. @throws WrongUse */
export function queryOf(options: CommandLine['options']): LoadQuery {
  const entries = uploadParameters.map(({ name }) => [name, options[optionOf(name)]]);
  const given = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  if (infersMissing(options)) given.extra_columns = 'add';
  return given as LoadQuery;
}

/** @throws WrongUse */
function infersMissing({ infer, 'extra-columns': extra = 'add' }: CommandLine['options']): boolean {
  if (infer === undefined) return false;
  if (extra !== 'add')
    throw new WrongUse('--infer missing contradicts --extra-columns. Leave one of them out.');
  return true;
}
