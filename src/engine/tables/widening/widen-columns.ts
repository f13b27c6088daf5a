/** Gives columns of an existing table wider types, which keep their values. */
import type { ClientBase } from 'pg';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import type { ColumnType, LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { Widening } from '../../../encoding/widening/misfits.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { apartInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier, quoteQualified } from '../../../postgres/sql.ts';
import { isRefusalOfInput } from '../../../postgres/sqlstate.ts';
import { admitTypes } from '../added-bytes.ts';
import { admitChanges } from '../change-memory.ts';
import { findChangedDefaults } from './changed-defaults.ts';
import { refuseColumnDependents } from './column-dependents.ts';

/**
 * Widens the columns. The transaction must have locked the table (ACCESS EXCLUSIVE), and the columns must still have the types from which they are widened.
 *
 * @param relation the name of the table, quoted
 * @throws AppError `dependent-objects`; `limit-exceeded`; `invalid-parameter` if PostgreSQL cannot convert the table, for example because a date is beyond every timestamp
 */
export async function widenColumns(
  client: ClientBase,
  relation: string,
  widenings: Widening[],
): Promise<void> {
  await admitChanges(client, relation, { changes: widenings.length });
  const changed = await findChangedDefaults(client, relation, widenings, convertedBoth);
  await refuseColumnDependents(client, relation, widenings, changed);
  const changes = widenings.map(({ column, to }) => ({ from: column, to: { type: to } }));
  await admitTypes(client, relation, changes);
  const names = widenings.map(({ column }) => column.name);
  const { rows: sequences } = await client.query<OwnedSequence>(ownedSequences, [relation, names]);
  const { rows: settings } = await client.query<{ setting: string }>(storageSettings, [relation, names]);
  const clauses = [...widenings.map(changeOf), ...settings.map(({ setting }) => setting)];
  const statements = [
    qualified`ALTER TABLE ${relation} ${clauses.join(', ')}`,
    ...sequences.flatMap((sequence) => followColumn(sequence, widenings)),
  ];
  try {
    await pipeline(client, apartInCallersPath(...statements));
  } catch (error) {
    if (!isRefusalOfInput(error)) throw error;
    const detail = `PostgreSQL refused to widen the columns of this table: ${error.message}.`;
    throw wrongParameter('misfits', detail);
  }
}

/** Refuses to widen a table that Citus stores at its workers, because its shards would be changed one after the other. */
export function refuseSharded(relation: string): AppError {
  const what = 'its distribution over the workers of Citus';
  const detail = `Values do not fit the types of the table ${relation}, and misfits=widen cannot widen a distributed table. Change the types of its columns first (PUT /api/v1/table/{name}).`;
  return new AppError('dependent-objects', detail, {
    errors: [{ value: what, code: 'dependent-object', detail: `${what} depends on the table` }],
    errorCount: 1,
  });
}

function changeOf({ column, to }: Widening): string {
  const name = quoteIdentifier(column.name);
  const collation = column.collation === undefined ? '' : ` COLLATE ${column.collation}`;
  return `ALTER COLUMN ${name} TYPE ${typeForSql(to)}${collation}${conversionOf(column, to)}`;
}

const inetOid = 869;

/** Returns how the old values become those of the type, if a cast would change them: 0.1 of a float4 would become 0.10000000149, and 192.0.2.1 the text 192.0.2.1/32. */
function conversionOf(column: LoadColumn, to: ColumnType): string {
  const using = converted(column, to, quoteIdentifier(column.name));
  return using === undefined ? '' : ` USING ${using}`;
}

/** Returns SQL for the value of the type; undefined: PostgreSQL casts it. */
function converted(column: LoadColumn, to: ColumnType, value: string): string | undefined {
  const isAddress = (column.type.element ?? column.type).oid === inetOid;
  if (/^double/.test(to.name) || (isAddress && to.kind === 'array'))
    return `${value}::pg_catalog.text::${typeForSql(to)}`;
  // PostgreSQL's own cast writes the length of every mask.
  return isAddress ? `CASE WHEN ${value} IS NOT NULL THEN pg_catalog.format('%s', ${value}) END` : undefined;
}

function convertedBoth({ column, to }: Widening, value: string): { stored: string; cast: string } {
  const cast = `CAST(${value} AS ${typeForSql(to)})`;
  const stored = converted(column, to, value);
  return { stored: stored === undefined ? cast : `(${stored})`, cast };
}

/** All types to which columns are widened, or the elements of arrays, are keywords of SQL, except text. */
function typeForSql({ name }: ColumnType): string {
  return name.replace(/^text\b/, 'pg_catalog.text');
}

/** The clauses that keep how the values of texts, numbers and arrays are stored and compressed. A change of the type would reset this. */
const storageSettings = `
SELECT format('ALTER COLUMN %I SET %s', a.attname, kept.setting) AS setting
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
CROSS JOIN LATERAL (VALUES
  (a.attstorage <> t.typstorage, 'STORAGE ' || CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END),
  (a.attcompression <> '', 'COMPRESSION ' || CASE a.attcompression WHEN 'l' THEN 'lz4' ELSE 'pglz' END)) AS kept (is_set, setting)
WHERE a.attrelid = to_regclass($1) AND a.attname = ANY ($2::text[]) AND t.typlen = -1 AND kept.is_set`;

interface OwnedSequence {
  schema: string;
  name: string;
  column: string;
}

/** The sequences of the columns of type `serial`. PostgreSQL itself changes those of identity columns. */
const ownedSequences = `
SELECT n.nspname AS schema, s.relname AS name, a.attname AS column
FROM pg_depend d JOIN pg_class s ON d.classid = 'pg_class'::regclass AND s.oid = d.objid AND s.relkind = 'S'
JOIN pg_namespace n ON n.oid = s.relnamespace
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = to_regclass($1) AND d.deptype = 'a' AND a.attname = ANY ($2::text[])`;

/** Returns the statement that lets a sequence count as far as its column. */
function followColumn({ schema, name, column }: OwnedSequence, widenings: Widening[]): CallersStatement[] {
  const to = widenings.find((widening) => widening.column.name === column)?.to.name;
  if (to === 'text' || to === undefined) return [];
  const type = to === 'integer' ? 'integer' : 'bigint';
  return [qualified`ALTER SEQUENCE ${quoteQualified(schema, name)} AS ${type}`];
}
