/** Writes Parquet files with DuckDB. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/**
 * Returns a Parquet file with the rows of a query.
 *
 * @param options of DuckDB's COPY: `COMPRESSION zstd, ROW_GROUP_SIZE 2048`
 */
export async function parquetOf(query: string, options = ''): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'tablewright-parquet-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const file = join(folder, 'a.parquet');
    await connection.run(
      `COPY (${query}) TO '${file}' (FORMAT parquet${options === '' ? '' : `, ${options}`})`,
    );
    return readFileSync(file);
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(folder, { recursive: true });
  }
}
