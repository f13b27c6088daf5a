/** Loads JSON rows without HTTP, for tests of results that no answer has. */
import type pg from 'pg';
import { readConfig } from '../../src/core/settings/config.ts';
import { usualChoices } from '../../src/encoding/infer/infer-types.ts';
import { jsonInput } from '../../src/engine/loading/inputs/json-input.ts';
import { KnownTables } from '../../src/engine/loading/known/known-tables.ts';
import { loadTable } from '../../src/engine/loading/load-table.ts';
import type { LoadRequest, LoadResult } from '../../src/engine/loading/request/load-request.ts';
import { Spool } from '../../src/readers/spool.ts';

const { limits } = readConfig({
  TOKEN_SECRET: 'x'.repeat(32),
  DATABASE_URL: 'postgresql://127.0.0.1/unused',
});

/** Appends rows to a table of the schema `public`. @param body `{"data": […]}` @param role the role that loads; undefined: that of the pool */
export async function loadInProcess(
  pool: pg.Pool,
  name: string,
  body: string,
  options: Partial<LoadRequest> = {},
  role?: string,
): Promise<LoadResult> {
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.from(body);
  }
  const size = 1 << 20;
  const bounds = { maxDepth: 20, maxTableBytes: size, maxColumns: 50, maxCellBytes: size, maxRowBytes: size };
  const input = jsonInput(chunks(), new Spool({ maxBytes: 1 << 30 }), bounds);
  const request: LoadRequest = {
    schema: 'public',
    name,
    ifExists: 'append',
    extraColumns: 'fail',
    misfits: 'fail',
    onConflict: 'update',
    types: usualChoices,
    dryRun: false,
    signal: new AbortController().signal,
    requireCreation: () => {},
    admitSchema: () => {},
    ...options,
  };
  const transaction = role === undefined ? {} : { role };
  try {
    return await loadTable(
      { pool, transaction, extraFunctions: [], limits },
      request,
      input,
      new KnownTables(),
    );
  } finally {
    await input.close();
  }
}
