/** A sink that records what a source pushes, as words that are easy to compare. */

import * as kinds from '../../src/core/cells/cell-kind.ts';
import type { CellSink } from '../../src/core/cells/cell-sink.ts';
import { textKind } from '../../src/core/cells/text-kind.ts';

export interface RecordedRow {
  row: number;
  /** The cells by column name: `number 12`, `string abc`, `date 2021-01-01`, `fault ERROR_CELL #N/A`. */
  cells: Record<string, string>;
}

export interface RecordedRows extends CellSink {
  columns: string[];
  rows: RecordedRow[];
}

export function recordRows(): RecordedRows {
  const columns: string[] = [];
  const rows: RecordedRow[] = [];
  let isInRow = false;
  const put = (column: number, text: string): void => {
    if (!isInRow || columns[column] === undefined) throw new Error('a cell outside of a row or column');
    rows.at(-1)!.cells[columns[column]] = text;
  };
  return {
    columns,
    rows,
    column(column, name) {
      if (column !== columns.length) throw new Error('columns out of order');
      columns.push(name);
    },
    beginRow(row) {
      if (isInRow) throw new Error('a row within a row');
      isInRow = true;
      // Without a prototype, so that a column may have any name.
      rows.push({ row, cells: Object.create(null) as Record<string, string> });
    },
    cell: (column, kind, bytes, start, end) => put(column, cellText(kind, bytes, start, end)),
    moment: (column, kind, days, microseconds) => put(column, momentText(kind, days, microseconds)),
    fault: (column, fault, bytes, start, end) => put(column, faultText(fault, bytes, start, end)),
    endRow() {
      isInRow = false;
    },
    drain: () => undefined,
  };
}

const cellNames = ['null', 'false', 'true', 'number', 'string', 'object', 'array'];
const momentNames: Record<number, string> = {
  [kinds.DATE]: 'date',
  [kinds.TIMESTAMP]: 'timestamp',
  [kinds.TIME]: 'time',
  [kinds.INTERVAL]: 'interval',
};
const faultNames = [
  '',
  'REPEATED_KEY',
  'ROW_NOT_AN_OBJECT',
  'ERROR_CELL',
  'FORMULA_WITHOUT_VALUE',
  'SERIAL_OUT_OF_RANGE',
  'UNREADABLE_CELL',
  'TEXT_AFTER_QUOTE',
];

export function cellText(kind: number, bytes: Buffer, start: number, end: number): string {
  // A text without a type is recorded as the kind that inference finds for it.
  if (kind === kinds.TEXT) return cellText(textKind(bytes, start, end), bytes, start, end);
  const name = kind === kinds.ROUNDED_NUMBER ? 'number' : cellNames[kind]!;
  return kind <= kinds.TRUE ? name : `${name} ${bytes.toString('utf8', start, end)}`;
}

export function momentText(kind: number, days: number, microseconds: number): string {
  if (days <= 0 && microseconds < 0) return `negative ${momentText(kind, 0 - days, 0 - microseconds)}`;
  const seconds = Math.floor(microseconds / 1e6);
  const clock = new Date(seconds * 1000).toISOString().slice(11, 19);
  const fraction = microseconds % 1e6 === 0 ? '' : `.${String(microseconds % 1e6).padStart(6, '0')}`;
  const date = new Date(Date.UTC(2000, 0, 1) + days * 86_400_000).toISOString().slice(0, 10);
  const name = momentNames[kind]!;
  if (kind === kinds.DATE) return `${name} ${date}`;
  if (kind === kinds.TIME) return `${name} ${clock}${fraction}`;
  return `${name} ${kind === kinds.INTERVAL ? `${days}d` : date} ${clock}${fraction}`;
}

export function faultText(fault: number, bytes: Buffer, start: number, end: number): string {
  return `fault ${faultNames[fault]} ${bytes.toString('utf8', start, end)}`.trimEnd();
}
