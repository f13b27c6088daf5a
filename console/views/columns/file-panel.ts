/** The panel “In the file”: its sheets, its first rows, and the warnings about them. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { countInWords, plural } from '../../derived/words.ts';
import { h } from '../../h.ts';
import type { Inspection, Reading, State } from '../../state.ts';
import { cellOf } from '../cell.ts';
import { chip, data, field, select } from '../parts.ts';
import { VirtualGrid } from '../virtual-grid.ts';

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

export function previewGrid(
  { columns }: State,
  { rows, rowNumbers, headerRow, header, counts, types, warnings }: Inspection,
): VNode {
  const byHeader = new Map(columns.map((column) => [column.header, column]));
  const warned = new Map(warnings.map(({ column, detail }) => [column, detail]));
  return h(VirtualGrid, {
    label: 'The first rows of the file',
    columnCount: header.length,
    rowCount: rows.length,
    columnWidth: 184,
    rowHeight,
    headHeight: 92,
    maxHeight: 380,
    numberWidth: rowNumbers ? 64 : 0,
    cornerLabel: 'Row of the sheet',
    number: (row: number) => rowNumbers?.[row],
    head: (index: number) => {
      const plan = byHeader.get(header[index]!);
      const warning = warned.get(header[index]!);
      const reason = warning ?? plan?.reason ?? types[index];
      return h('div', { class: `head-cell${plan?.isIncluded === false ? ' out' : ''}` }, [
        h('span', { class: 'letters' }, [
          counts[index]?.letters ? `${counts[index].letters}${headerRow ?? ''}` : '',
        ]),
        h('span', { class: 'head-name' }, data(header[index]!)),
        h('span', { class: 'head-type' }, types[index]),
        h('span', { class: 'head-reason', title: reason }, [
          warning !== undefined && h('span', { class: 'warn-text' }, 'warning: '),
          reason,
        ]),
      ]);
    },
    cell: (row: number, column: number) => cellOf(rows[row]?.[column] ?? null, types[column]),
  });
}
