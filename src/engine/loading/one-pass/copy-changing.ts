/**
 * Copies the rows while their types are still being inferred. If a later row needs other types than the first rows, and PostgreSQL
 * can convert the copied rows without loss, the table is changed and only the rows from that row on are copied again.
 */
import type { ClientBase } from 'pg';
import { WrittenBytes } from '../../../encoding/encoders/written-bytes.ts';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { type CopiedRows, type CopyOptions, copyRows } from '../copying/copy-rows.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import type { LoadTarget } from '../target/load-target.ts';
import type { ChangingTypes } from './one-pass.ts';
import { TypesDiffer } from './types-differ.ts';

/**
 * Copies all rows.
 *
 * @throws the errors of `copyRows`; TypesDiffer if the rows must be loaded with other types
 */
export async function copyChanging(
  client: ClientBase,
  input: LoadInput,
  target: LoadTarget,
  options: CopyOptions & { changingTypes: ChangingTypes | undefined },
  problems: Problems,
): Promise<CopiedRows> {
  const types = options.changingTypes;
  // If rows may be left out, they must be kept, and the table cannot be changed between two passes.
  const mayChange = target.isNew && target.primaryKey === undefined && !options.keepRows;
  if (types === undefined || !mayChange) return copyRows(client, input, options, problems);
  types.mayChange = true;
  const written = new WrittenBytes(options.writtenLimits, input.expanded);
  const copied = await copyRows(client, input, { ...options, written }, problems);
  const { change } = types;
  if (change === undefined) return copied;
  // The problems may come from the types of the first rows, so the rows are loaded again with the types of all rows.
  if (copied.refusal !== undefined || problems.count > 0) throw new TypesDiffer();
  // The columns of the data come before those of the origin.
  if (options.provenance !== undefined && change.added.length > 0) throw new TypesDiffer();
  // The change may be empty: a column without values is text, and a column that got another type meanwhile may be text again.
  if (change.added.length + change.converted.length > 0) {
    await target.change(client, change).catch((cause: unknown) => {
      throw new TypesDiffer({ cause });
    });
  }
  options.matcher.restart(target.columns);
  options.progress.pass = undefined;
  options.progress.rowsBefore = copied.sent;
  const ofRest = { columns: target.columns, freezes: false, written };
  return joined(copied, await copyRows(client, types.rest, { ...options, ...ofRest }, problems));
}

function joined(before: CopiedRows, rest: CopiedRows): CopiedRows {
  const { numbers } = before;
  numbers.take(rest.numbers);
  return {
    ...rest,
    sent: before.sent + rest.sent,
    taken: before.taken + rest.taken,
    numbers,
    hasSeveralLists: true,
    warnings: [...before.warnings, ...rest.warnings],
  };
}
