/** The rows of a table in pages, ordered by a column. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { countInWords, plural, shownValue } from '../../derived/words.ts';
import { h } from '../../h.ts';
import type { RowSort, RowsPage, State, TableName } from '../../state.ts';
import { cellOf } from '../cell.ts';
import { button, type Child, data, emptyState, remoteView } from '../parts.ts';
import { VirtualGrid } from '../virtual-grid.ts';

interface Column {
  name: string;
  type: string;
}

export function rowsView(
  { tableRows, route }: State,
  table: TableName & { columns: Column[] },
  actions: Actions,
): Child {
  return h('section', { class: 'rows', 'aria-label': 'Rows' }, [
    remoteView(
      tableRows,
      'The rows are being read.',
      (page) => rowsPage(page, table, actions),
      () => actions.open(route),
    ),
  ]);
}

function rowsPage(page: RowsPage, table: TableName & { columns: Column[] }, actions: Actions): Child {
  const { rows, has_more: hasMore, next, sort, starts } = page;
  const { before } = starts.at(-1)!;
  if (rows.length === 0 && before === 0)
    return emptyState('The table has no rows', 'Load a file into it, or let a program write them.');
  const isPaged = hasMore || before > 0;
  return [
    h('div', { class: 'pages' }, [
      h('h2', null, h('span', { role: 'status' }, placeInWords(page))),
      sortWords(sort),
      isPaged && [
        button('Previous rows', () => actions.turnRows(table, false), { disabled: before === 0 }),
        button('Next rows', () => actions.turnRows(table, true), { disabled: next === undefined }),
      ],
    ]),
    hasMore &&
      next === undefined &&
      h('p', { class: 'hint' }, [
        'The rows after these cannot be shown in pages: nothing tells rows with equal values apart. Order them by another column, or download the table.',
      ]),
    rowsGrid(table.columns, rows, { sort, onSort: (column) => actions.sortRows(table, column) }),
  ];
}

export function sortWords(sort: RowSort | undefined): Child {
  return (
    sort && h('span', { class: 'dim' }, ['by ', data(sort.column), sort.isDescending ? ', downwards' : ''])
  );
}

/** The number of rows is known when the last page is shown. */
function placeInWords({ rows, has_more: hasMore, starts }: RowsPage): string {
  const { before } = starts.at(-1)!;
  const last = before + rows.length;
  if (before === 0) return hasMore ? `First ${plural(rows.length, 'row')}` : plural(rows.length, 'row');
  const words = `Rows ${countInWords(before + 1)} to ${countInWords(last)}`;
  return hasMore ? words : `${words} of ${countInWords(last)}`;
}

interface Sorting {
  sort: RowSort | undefined;
  onSort: (column: string) => void;
}

/** @param sorting undefined: the rows cannot be ordered */
export function rowsGrid(columns: Column[], rows: Record<string, unknown>[], sorting?: Sorting): VNode {
  return h(VirtualGrid, {
    label: 'First rows',
    columnCount: columns.length,
    rowCount: rows.length,
    columnWidth: 170,
    rowHeight: 30,
    headHeight: 52,
    maxHeight: 460,
    head: (column: number) => headCell(columns[column]!, sorting),
    cell: (row: number, column: number) => {
      const { name, type } = columns[column]!;
      return cellOf(shownValue(rows[row]?.[name]), type);
    },
  });
}

function headCell({ name, type }: Column, sorting: Sorting | undefined): VNode {
  const isOn = sorting?.sort?.column === name;
  const mark = isOn && (sorting.sort?.isDescending ? ' ↓' : ' ↑');
  const words = [
    h('span', { class: 'head-name' }, [data(name), mark]),
    h('span', { class: 'head-type' }, type),
  ];
  if (sorting === undefined) return h('div', { class: 'head-cell' }, words);
  return button(words, () => sorting.onSort(name), {
    class: 'head-cell',
    'aria-pressed': isOn,
    title: 'Order the rows by this column',
  });
}
