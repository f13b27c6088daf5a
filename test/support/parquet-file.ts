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

/**
 * Returns a Parquet file of a footer only that has this many columns of 32-bit integers, each with a name of this length.
 *
 * @param rows the number of rows that the footer states, in one row group
 */
export function wideParquet(columns: number, nameLength: number, rows = 0): Buffer {
  const root = [0x48, ...varint(1), 0x73, 0x15, ...varint(2 * columns), 0];
  const elements = Array.from({ length: columns }, (_, index) => {
    const name = index.toString(36).padStart(nameLength, 'c');
    return Buffer.from([0x15, 2, 0x25, 0, 0x18, ...varint(nameLength), ...Buffer.from(name), 0]);
  });
  const schema = [Buffer.from([0x19, 0xfc, ...varint(columns + 1), ...root]), ...elements];
  const stated = varint(2 * rows);
  const group = rows === 0 ? [0x0c] : [0x1c, 0x19, 0x0c, 0x16, 0, 0x16, ...stated, 0];
  const rest = Buffer.from([0x16, ...stated, 0x19, ...group, 0]);
  const footer = Buffer.concat([Buffer.from([0x15, 2]), ...schema, rest]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([Buffer.from('PAR1'), footer, length, Buffer.from('PAR1')]);
}

/** Returns a number as Thrift's compact protocol writes it. */
function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
