/** Returns the statements that make a new table one of Citus. */
import { quoteLiteral } from '../../postgres/sql.ts';
import type { Placement } from './placement.ts';

/**
 * Returns the statement that distributes a table, which has no rows and no foreign keys yet; undefined: the table needs none.
 *
 * @param relation quoted
 */
export function distribute(relation: string, placement: Placement | undefined): string | undefined {
  const table = `${quoteLiteral(relation)}::pg_catalog.regclass`;
  if (placement?.kind === 'reference') return `SELECT pg_catalog.create_reference_table(${table})`;
  if (placement?.kind !== 'column') return undefined;
  const { column, shards, colocateWith } = placement;
  const options = [
    ...(colocateWith === undefined ? [] : [`colocate_with => ${quoteLiteral(colocateWith)}`]),
    ...(shards === undefined ? [] : [`shard_count => ${shards}`]),
  ];
  const parameters = [table, quoteLiteral(column), ...options].join(', ');
  return `SELECT pg_catalog.create_distributed_table(${parameters})`;
}

/**
 * Begins a load into a table that has foreign keys to tables on every node. After parallel statements of a transaction, Citus adds no
 * such key. In this mode a statement uses one connection to each node.
 */
export const workSequentially = `SET LOCAL citus.multi_shard_modify_mode TO 'sequential'`;
