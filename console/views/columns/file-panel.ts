/** The panel “In the file”: its sheets, its first rows, and the warnings about them. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { tableColumns } from '../../derived/mapping.ts';
import { keepsDefinition } from '../../derived/target.ts';
import { isOpen, warningWords } from '../../derived/warnings.ts';
import { countInWords, plural } from '../../derived/words.ts';
import { h } from '../../h.ts';
import type { Inspection } from '../../inspection.ts';
import type { Reading, State } from '../../state.ts';
import { cellOf } from '../cell.ts';
import { chip, data, field, select } from '../parts.ts';
import { VirtualGrid } from '../virtual-grid.ts';
import { columnHead, headHeight, placeHead } from './column-head.ts';

const wholeSheet = { headerRow: undefined, range: '', tableRange: '', hasHeader: true };

export function sheetTabs({ sheets, sheet }: Inspection, reading: Reading, actions: Actions): VNode {
  if (sheets.length < 2) return h('div', null);
  return h('div', { class: 'chips', role: 'group', 'aria-label': 'Sheets' }, [
    sheets.map(({ name, isHidden, rows, columns, problem }) =>
      chip(
        data(name),
        `${countInWords(rows)} × ${countInWords(columns)}${isHidden ? ', hidden' : ''}${problem ? ', cannot be loaded' : ''}`,
        () => actions.inspect({ ...reading, ...wholeSheet, sheet: name }),
        { 'aria-pressed': name === sheet, title: problem },
      ),
    ),
  ]);
}

export function arraysOf({ arrays, rowsAt }: Inspection, reading: Reading, actions: Actions): VNode | null {
  if (arrays.length < 2) return null;
  const options = arrays.map(
    ({ rowsAt, rows }) =>
      [rowsAt, `${rowsAt === '' ? 'the document' : rowsAt} (${plural(rows, 'row')})`] as const,
  );
  return field(
    'Rows are at',
    select(rowsAt ?? '', options, (chosen) => actions.inspect({ ...reading, rowsAt: chosen })),
  );
}

export const rowHeight = 30;

/** The first rows of the file, with the choices for each column over it. */
export function columnsGrid(
  state: State,
  { rows, rowNumbers, header, types, warnings }: Inspection,
  actions: Actions,
): VNode {
  const warned = new Map(warnings.filter(isOpen).map((warning) => [warning.column, warningWords(warning)]));
  const keeps = keepsDefinition(state);
  const table = tableColumns(state);
  return h(VirtualGrid, {
    label: 'The columns and the first rows of the file',
    columnCount: header.length,
    rowCount: rows.length,
    columnWidth: 212,
    rowHeight,
    headHeight,
    maxHeight: 560,
    numberWidth: rowNumbers ? 64 : 0,
    cornerLabel: 'Row of the sheet',
    number: (row: number) => rowNumbers?.[row],
    head: (index: number) =>
      keeps
        ? placeHead(state, index, table, warned.get(header[index]!), actions)
        : columnHead(state, index, warned.get(header[index]!), actions),
    cell: (row: number, column: number) => cellOf(rows[row]?.[column] ?? null, types[column]),
  });
}
