/** Returns the statements that let Citus distribute a new table. */
import { maxIdentifierBytes } from '../../../core/identifiers.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { hasCitus } from '../../../postgres/citus/session-settings.ts';
import { quoteLiteral } from '../../../postgres/sql.ts';
import type { Placement } from './placement.ts';

/**
 * Returns the statement that distributes a table, which must have no rows and no foreign keys yet; undefined: the table is not distributed by a statement.
 *
 * @param relation quoted
 */
export function distribute(relation: string, placement: Placement | undefined): CallersStatement | undefined {
  const table = `${quoteLiteral(relation)}::pg_catalog.regclass`;
  if (placement?.kind === 'reference') return qualified`SELECT pg_catalog.create_reference_table(${table})`;
  if (placement?.kind !== 'column') return undefined;
  const { column, shards, colocateWith } = placement;
  const options = [
    ...(colocateWith === undefined ? [] : [`colocate_with => ${quoteLiteral(colocateWith)}`]),
    ...(shards === undefined ? [] : [`shard_count => ${shards}`]),
  ];
  const parameters = [table, quoteLiteral(column), ...options].join(', ');
  return qualified`SELECT pg_catalog.create_distributed_table(${parameters})`;
}

/** For the rest of the transaction, lets Citus use one connection to each node for a statement (sequential mode). */
export const workSequentially = qualified`SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`;

/** Sets sequential mode for a load of several tables, if the database has Citus. After a parallel COPY into one table, Citus distributes no other table, and checks no foreign key to it. */
export const workSequentiallyTogether = qualified`SELECT pg_catalog.set_config('citus.multi_shard_modify_mode', 'sequential', true) WHERE ${hasCitus}`;

/**
 * The maximum length in bytes of a table name with which PostgreSQL need not shorten the names of its shards' types. A shard has
 * the name of its table, `_` and a number of up to 20 digits, and the name of its array type begins with another `_`.
 */
const maxNameBytes = maxIdentifierBytes - '_'.length - '_'.length - 20;

/**
 * Returns whether the table must be created in sequential mode. There are two reasons. After parallel statements of a transaction, Citus cannot add a foreign key
 * to a reference table, and if it drops a table with such a key, the transaction waits for itself until it is cancelled. If the name is long, the array types of
 * several shards get the same shortened name at first, so sessions that create the shards of a node at the same time would wait for each other forever.
 *
 * @param hasForeignKeys the table, or the one that it replaces, has foreign keys
 */
export function needsSequence(name: string, hasForeignKeys: boolean): boolean {
  return hasForeignKeys || Buffer.byteLength(name) > maxNameBytes;
}
