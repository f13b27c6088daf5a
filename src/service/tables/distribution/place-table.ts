/** Returns the statements that make a new table one of Citus. */
import { maxIdentifierBytes } from '../../../core/identifiers.ts';
import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import { quoteLiteral } from '../../postgres/sql.ts';
import type { Placement } from './placement.ts';

/**
 * Returns the statement that distributes a table, which has no rows and no foreign keys yet; undefined: the table needs none.
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

/** In this mode, for the rest of the transaction, a statement uses one connection to each node. */
export const workSequentially = qualified`SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`;

/**
 * The longest name, in bytes, for whose shards PostgreSQL never has to shorten the name of a type. A shard has the name of its table and a
 * number of up to 20 digits, and its array type begins with another `_`.
 */
const maxNameBytes = maxIdentifierBytes - '_'.length - '_'.length - 20;

/**
 * Returns whether the table must be created in sequential mode: after parallel statements of a transaction, Citus adds no foreign key to
 * a table on every node, and if it drops a table with such a key, the transaction waits for itself until it is cancelled. And if the name is long, the array types of several shards have the same shortened name until PostgreSQL
 * gives them another one, so sessions that create the shards of a node at the same time would wait for each other forever.
 *
 * @param hasForeignKeys the table, or the one that it replaces, has foreign keys
 */
export function needsSequence(name: string, hasForeignKeys: boolean): boolean {
  return hasForeignKeys || Buffer.byteLength(name) > maxNameBytes;
}
