/** Reads the footer of a file: its schema and its row groups. Everything that a footer states is checked here or where it is used. */

import { type FileMetaData, parquetMetadata } from 'hyparquet';
import { broken, Fault } from './fault.ts';
import { readFilePart } from './range-reader.ts';
import { readSchema, type Schema } from './schema-tree.ts';

/** The pages of a column in a row group. */
export interface Chunk {
  /** The position of its first page. */
  start: number;
  /** The length of all pages, for reading ahead only. */
  length: number;
  codec: string;
  valueCount: number;
}

export interface Group {
  rows: number;
  /** For each leaf of the schema. */
  chunks: Chunk[];
}

export interface ParquetFile {
  size: number;
  /** The position of the footer. All pages are before it. */
  end: number;
  schema: Schema;
  groups: Group[];
  /** The bytes of pages that may still be read. Pages that several columns share would let a small file be read for hours. */
  bytesLeft: number;
}

/** The length of the footer and the mark at the end. */
const endBytes = 8;

const maxFooterBytes = 128 * 1024 * 1024;

/** @throws Fault */
export function readFooter(size: number): ParquetFile {
  if (size < 2 * endBytes) throw broken('no footer');
  const last = readFilePart(size, size - endBytes, endBytes);
  const mark = last.toString('latin1', 4);
  if (mark === 'PARE') throw new Fault('encrypted');
  if (mark !== 'PAR1') throw broken('no mark at the end');
  const length = last.readUInt32LE() + endBytes;
  if (length > size || length > maxFooterBytes) throw broken('the length of the footer');
  const metadata = parquetMetadata(readFilePart(size, size - length, length), { geoparquet: false });
  const schema = readSchema(metadata.schema);
  const end = size - length;
  const groups = metadata.row_groups.map((group) => readGroup(group, schema, end));
  const rows = count(metadata.num_rows);
  // An old version of a common library wrote 0 for every file.
  if (rows !== 0 && groups.reduce((sum, group) => sum + group.rows, 0) !== rows)
    throw broken('the number of rows');
  return { size, end, schema, groups, bytesLeft: size };
}

function readGroup(group: FileMetaData['row_groups'][number], { leaves }: Schema, end: number): Group {
  if (group.columns.length !== leaves.length) throw broken('the columns of a row group');
  const rows = count(group.num_rows);
  const chunks = leaves.map(({ path, type, repetition }, index): Chunk => {
    const { meta_data: chunk, file_path: otherFile, crypto_metadata: encryption } = group.columns[index]!;
    if (otherFile !== undefined) throw new Fault('other-file');
    if (encryption !== undefined || chunk === undefined) throw new Fault('encrypted');
    const isLeaf = chunk.path_in_schema.join('.') === path.join('.') && chunk.type === type.physical;
    if (!isLeaf) throw broken('a column of another field');
    const valueCount = count(chunk.num_values);
    if (repetition === 0 ? valueCount !== rows : valueCount < rows) throw broken('the number of values');
    const data = count(chunk.data_page_offset);
    const dictionary = Number(chunk.dictionary_page_offset ?? 0);
    // Some programs write the position 0 if there is no dictionary.
    const start = dictionary > 0 && dictionary < data ? dictionary : data;
    if (start > end) throw broken('a column beyond the pages');
    return { start, length: count(chunk.total_compressed_size), codec: chunk.codec, valueCount };
  });
  return { rows, chunks };
}

/** Returns a number that the footer states. @throws Fault if it is negative or too large */
function count(stated: bigint | number | undefined): number {
  const number = Number(stated);
  if (!Number.isSafeInteger(number) || number < 0) throw broken('a number of the footer');
  return number;
}
