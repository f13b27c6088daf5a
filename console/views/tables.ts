/** The list of tables that the token may see. */
import type { VNode } from 'preact';
import type { ListedTable } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { hashOf } from '../derived/routes.ts';
import { keyOfTable, shownTables } from '../derived/table.ts';
import { agoInWords, countInWords, plural, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { State, TableSort } from '../state.ts';
import { button, type Child, data, emptyState, field, moment, remoteView, textInput } from './parts.ts';
import { distributionInWords } from './table/table-keys.ts';
import { doneBox } from './table/table-page.ts';
import { VirtualRows } from './virtual-grid.ts';

export function tablesView(state: State, actions: Actions): VNode {
  const again = (): void => actions.open({ page: 'tables' });
  return h('section', null, [
    h('h1', null, 'Tables'),
    doneBox(state.done),
    remoteView(
      state.tables,
      'The tables are being read.',
      (found) => tableList(state, found, actions),
      again,
    ),
  ]);
}

type Found = Extract<State['tables'], { is: 'ready' }>['value'];

function tableList({ tableFilter, tableSort }: State, found: Found, actions: Actions): Child {
  const all = found.tables.length;
  if (all === 0)
    return emptyState('No tables yet', 'A file that you load becomes a table, which is listed here.');
  const shown = shownTables(found, tableFilter, tableSort);
  return [
    h('div', { class: 'filters' }, [
      field('Find a table', textInput(tableFilter, actions.filterTables, { type: 'search' }), '', 'short'),
      h('p', { class: 'dim', role: 'status' }, [
        shown.length === all
          ? plural(all, 'table')
          : `${countInWords(shown.length)} of ${plural(all, 'table')}`,
      ]),
    ]),
    h('div', { class: 'list-head', role: 'group', 'aria-label': 'Order of the tables' }, [
      sorts.map(([by, label]) => sortButton(by, label, tableSort, actions)),
    ]),
    h(VirtualRows, {
      label: 'Tables',
      count: shown.length,
      rowHeight: 46,
      maxHeight: 46 * 18,
      row: (index: number) => tableRow(shown[index]!, found.loadedAt.get(keyOfTable(shown[index]!))),
    }),
  ];
}

const sorts: [TableSort['by'], string][] = [
  ['name', 'Name'],
  ['rows', 'Rows'],
  ['bytes', 'Size'],
  ['loaded', 'Last load'],
];

function sortButton(by: TableSort['by'], label: string, sort: TableSort, actions: Actions): VNode {
  const isOn = sort.by === by;
  const arrow = isOn && h('span', { 'aria-hidden': 'true' }, sort.isDescending ? ' ↓' : ' ↑');
  return button([label, arrow], () => actions.sortTables(by), {
    kind: `sort sort-${by}`,
    'aria-pressed': isOn,
    title: isOn ? `Sorted ${sort.isDescending ? 'downwards' : 'upwards'}` : undefined,
  });
}

function tableRow(
  { schema, name, estimated_rows: rows, bytes, comment, distribution }: ListedTable,
  loadedAt: string | undefined,
): VNode {
  const placed = distributionInWords(distribution);
  return h('a', { class: 'list-row table-row', href: hashOf({ page: 'table', schema, name }) }, [
    h('span', { class: 'list-name' }, [h('span', { class: 'dim' }, [data(schema), '.']), data(name)]),
    h('span', { class: 'list-comment dim' }, [
      comment ? data(comment) : '',
      placed !== undefined && h('span', null, data(placed)),
    ]),
    h('span', { class: 'list-number' }, rows === null ? '' : `about ${plural(rows, 'row')}`),
    h('span', { class: 'list-number' }, bytes === null ? '' : sizeInWords(bytes)),
    h(
      'span',
      { class: 'list-number', title: loadedAt && moment(loadedAt) },
      loadedAt ? agoInWords(loadedAt) : '',
    ),
  ]);
}
