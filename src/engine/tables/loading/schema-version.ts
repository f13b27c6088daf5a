/**
 * Proves that a name has meant the same table during a load. The statements of a load find the table by its name. While the table is locked, no other
 * session can rename, move or drop it. But ALTER SCHEMA … RENAME needs no such lock, and after it the name may mean a table with other columns.
 *
 * The version of a schema is that of its row in `pg_namespace`, so it also changes if a rename is undone by another one, and with GRANT or a new owner.
 */
import type { CallersStatement } from '../../../postgres/callers-statement.ts';
import { refuseUnless } from '../../../postgres/refuse-unless.ts';
import { quoteLiteral, type Statement } from '../../../postgres/sql.ts';

/** SQL of the version of the schema in the row `n` of `pg_namespace`. */
export const versionOfSchema = `concat_ws(' ', n.oid, n.xmin)`;

/** Returns a query of `version`; it has no row if there is no such schema. Run it before the first statement that names the table. */
export function readSchemaVersion(schema: string): Statement {
  return {
    text: `SELECT ${versionOfSchema} AS version FROM pg_namespace n WHERE n.nspname = $1`,
    values: [schema],
  };
}

/** Returns a query that fails (`refuseUnless`) if the schema's version has changed. Run it after the last statement that names the table. */
export function proveSchema(schema: string, version: string): CallersStatement {
  const [oid, xmin] = version.split(' ').map(Number);
  const equals = 'OPERATOR(pg_catalog.=)';
  return refuseUnless(
    `EXISTS (SELECT FROM pg_catalog.pg_namespace n WHERE n.nspname ${equals} ${quoteLiteral(schema)}::pg_catalog.name
      AND n.oid ${equals} ${oid}::pg_catalog.oid AND n.xmin ${equals} '${xmin}'::pg_catalog.xid)`,
    'the table has changed',
  );
}
