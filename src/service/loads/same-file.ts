/** Finds out whether a file was loaded into the same table before. */
import type { Warning } from '../../core/errors.ts';
import { maxSmallBytes } from '../../engine/loading/load-known.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import type { LoadFacts } from './load-record.ts';
import { isVisible, type Visible } from './load-statements.ts';

/**
 * Returns whether an upload is compared with earlier ones. Short JSON is not, because programs send equal rows on purpose, and because a
 * small append must not wait for a further statement. A load of several tables has several files, and is not compared.
 */
export function isCompared(operation: LoadFacts['operation'], bytes: number | undefined): boolean {
  if (operation === 'load-tables') return false;
  return operation === 'upload-excel' || bytes === undefined || bytes > maxSmallBytes;
}

export interface EarlierLoad {
  id: string;
  endedAt: Date;
  isVisible: boolean;
}

/**
 * Reads the last committed load of a file into this table as an `EarlierLoad`: if possible, one that the caller may see. The table is known by its oid,
 * so it may have been renamed since, and the loads into another table that had its name do not count. Nor do those before an upload that emptied the
 * table. Only the newest ones are searched, because a job may load the same file again and again.
 */
export function readEarlierLoad(
  { quoted }: ServiceSchema,
  { schema, table }: LoadFacts,
  digest: Buffer,
  { owner, schemas }: Visible,
): Statement {
  return {
    text: `WITH given AS (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $2 AND c.relname = $3)
      SELECT * FROM (
        SELECT id, ended_at AS "endedAt", ${isVisible(4)} AS "isVisible" FROM ${quoted}.loads
        WHERE digest = $1 AND change_table = (SELECT oid FROM given) AND id >= coalesce((
          SELECT id FROM (SELECT id FROM ${quoted}.loads WHERE emptied @> ARRAY(SELECT oid FROM given) OFFSET 0) emptying
          ORDER BY id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')
        ORDER BY id DESC LIMIT 1000) newest
      ORDER BY "isVisible" DESC, id DESC LIMIT 1`,
    values: [digest, schema, table, owner ?? null, schemas ?? null],
  };
}

export function sameFile({ id, endedAt, isVisible }: EarlierLoad): Warning {
  const when = isVisible ? `, at ${endedAt.toISOString()} by the load ${id}` : '';
  const detail = `The same file was loaded into this table before${when}. Check that it is the file you mean, and that its rows are not added twice.`;
  return { code: 'same-file', detail };
}
