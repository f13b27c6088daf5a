/** Makes sure that the table of an upload has the columns that say where a row came from. */
import type { ClientBase } from 'pg';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { firstOwnOid, type LoadColumn } from '../../../encoding/columns/load-column.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { missingColumns } from '../../tables/loading/missing-columns.ts';
import { columnsToMake, type Origin, originNames, originTypes, type Provenance } from './provenance.ts';

interface Adding {
  schema: string;
  name: string;
  provenance?: Provenance | undefined;
  requireCreation: () => void;
}

/**
 * Returns the columns that an existing table lacks.
 *
 * @throws AppError `insufficient-scope`, `permission-denied` if the caller may not add them
 */
export async function columnsToAdd(
  client: ClientBase,
  { schema, name: table, provenance, requireCreation }: Adding,
): Promise<{ name: string; type: string }[]> {
  if (provenance === undefined) return [];
  const relation = quoteQualified(schema, table);
  const missing = await missingColumns(client, relation, originNames(provenance), 'provenance');
  if (missing.length > 0) requireCreation();
  return columnsToMake(provenance).filter(({ name }) => missing.includes(name));
}

/**
 * Refuses columns that the service cannot fill.
 *
 * @throws AppError `invalid-parameter`; `write-conflict` if another session has dropped a column
 */
export function refuseUnfitColumns(
  provenance: Provenance | undefined,
  { columns, keyColumns }: { columns: readonly LoadColumn[]; keyColumns: readonly string[] },
): void {
  for (const [origin, name] of provenance?.columns ?? []) {
    const column = columns.find((one) => one.name === name);
    if (column === undefined)
      throw new AppError('write-conflict', 'Another session dropped a column; send the request again.');
    const fault = faultOf(origin, column, keyColumns);
    if (fault === undefined) continue;
    throw wrongParameter('provenance', `The column "${shortenValue(name)}" for ${origin} ${fault}.`);
  }
}

function faultOf(origin: Origin, column: LoadColumn, keyColumns: readonly string[]): string | undefined {
  const { type, isGenerated, identity, name } = column;
  if (isGenerated || identity !== 'none') return 'gets its values from PostgreSQL';
  if (keyColumns.includes(name)) return 'is in a key of the table';
  const isFit = type.oid < firstOwnOid && typesOf(origin).includes(type.name);
  return isFit ? undefined : `is of the type ${type.name}; it must be ${typesOf(origin).join(' or ')}`;
}

function typesOf(origin: Origin): string[] {
  const type = originTypes[origin];
  return type === 'bigint' ? [type, 'integer'] : [type];
}
