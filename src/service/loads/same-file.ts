/** Finds out whether a file was loaded into the same table before. */
import type { Warning } from '../../core/errors.ts';
import { maxSmallBytes } from '../../engine/loading/load-known.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import type { LoadFacts } from './load-record.ts';
import type { Visible } from './load-statements.ts';

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
 * Reads the last committed load of a file into this table as an `EarlierLoad`: if possible, one that the caller may see. After a load that
 * has created or replaced the table (201), the loads before it do not count. Only the newest ones are searched, because a job may load the
 * same file again and again.
 */
export function readEarlierLoad(
  { quoted }: ServiceSchema,
  { schema, table }: LoadFacts,
  digest: Buffer,
  { owner }: Visible,
): Statement {
  return {
    text: `SELECT * FROM (
        SELECT id, ended_at AS "endedAt", $4::bytea IS NULL OR owner = $4 AS "isVisible" FROM ${quoted}.loads
        WHERE digest = $1 AND table_schema = $2 AND table_name = $3 AND id >= coalesce((
          SELECT id FROM ${quoted}.loads WHERE table_schema = $2 AND table_name = $3 AND answer_status = 201
          ORDER BY id DESC LIMIT 1), '00000000-0000-0000-0000-000000000000')
        ORDER BY id DESC LIMIT 1000) newest
      ORDER BY "isVisible" DESC, id DESC LIMIT 1`,
    values: [digest, schema, table, owner ?? null],
  };
}

export function sameFile({ id, endedAt, isVisible }: EarlierLoad): Warning {
  const when = isVisible ? `, at ${endedAt.toISOString()} by the load ${id}` : '';
  const detail = `The same file was loaded into this table before${when}. Check that it is the file you mean, and that its rows are not added twice.`;
  return { code: 'same-file', detail };
}
