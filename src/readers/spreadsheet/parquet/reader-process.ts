/**
 * The process that reads one Parquet file and then ends: `reader-process.ts <bytes> columns | rows <MAX_CELL_BYTES> <MAX_COLUMNS>`.
 *
 * A crafted file may let a decoder loop for a long time or use up memory, so decoders never run inside the service. reader-run.ts limits this
 * process. It asks the service for parts of the file (range-reader.ts), and writes the frames of cell-records.ts to standard output: the
 * columns, or all cells. One page of each column is in memory, whatever the size of a row group.
 */

import { FAILED, STARTED } from '../reader-process/frames.ts';
import * as records from './cell-records.ts';
import { broken, Fault } from './fault.ts';
import { type Group, type ParquetFile, readFooter } from './footer.ts';
import { LeafColumn } from './leaf-column.ts';
import { NestedColumn } from './nested-column.ts';
import { writeOutput } from './range-reader.ts';
import { RecordBuffer } from './record-buffer.ts';

function run([size, what, maxCellBytes, maxColumns]: string[]): void {
  writeFrame(STARTED, '');
  try {
    const file = readFooter(Number(size));
    // Without columns nothing would end the loop over the rows, whose number the file only states.
    if (file.schema.columns.length === 0) throw new Fault('no-columns');
    // The service parses the list of columns in one step, so the list and its names must be short.
    if (file.schema.columns.length > Number(maxColumns)) throw new Fault('too-many-columns');
    if (what === 'columns') writeFrame(records.COLUMNS, JSON.stringify(columnsOf(file)));
    else writeRows(file, Number(maxCellBytes));
    writeFrame(records.END, '');
  } catch (error) {
    process.stderr.write(error instanceof Error ? `${error.stack}` : String(error));
    writeFrame(FAILED, error instanceof Fault ? `${error.fault} ${error.message}` : 'broken');
  }
}

/** The maximum number of characters that are kept of a name, as of a header cell of a sheet. */
const maxNameLength = 256;

function columnsOf({ schema }: ParquetFile): records.ReportedFile {
  return {
    columns: schema.columns.map(({ name, type }) => ({
      name: name.slice(0, maxNameLength),
      type: type?.name ?? 'jsonb',
    })),
  };
}

function writeRows(file: ParquetFile, maxCellBytes: number): void {
  const { columns: fields, leaves } = file.schema;
  const isFlat = new Set(fields.filter(({ kind }) => kind === 'leaf').map(({ firstLeaf }) => firstLeaf));
  const leafColumns = leaves.map((leaf, index) => new LeafColumn(file, leaf, !isFlat.has(index)));
  const columns = fields.map((field) =>
    field.kind === 'leaf' ? leafColumns[field.firstLeaf]! : new NestedColumn(field, leafColumns),
  );
  const out = new RecordBuffer(maxCellBytes);
  for (const group of file.groups) writeGroup(group, columns, leafColumns, out);
  out.flush();
}

function writeGroup(
  { rows, chunks }: Group,
  columns: readonly (LeafColumn | NestedColumn)[],
  leaves: readonly LeafColumn[],
  out: RecordBuffer,
): void {
  leaves.forEach((leaf, index) => {
    leaf.open(chunks[index]!);
  });
  for (let row = 0; row < rows; row++) {
    for (const column of columns) {
      column.writeCell(out);
      out.send();
    }
  }
  if (leaves.some(({ hasEntry }) => hasEntry)) throw broken('more values than rows');
}

function writeFrame(kind: number, content: string): void {
  const bytes = Buffer.from(content);
  const head = Buffer.alloc(5);
  head[0] = kind;
  head.writeUInt32LE(bytes.length, 1);
  writeOutput(Buffer.concat([head, bytes]));
}

run(process.argv.slice(2));
