/** The page of a table: what can be done with it, its last loads, its rows and its columns. */
import type { VNode } from 'preact';
import type { ListedLoad, TableDescription } from '../../../client/client.ts';
import type { Actions } from '../../actions/create-actions.ts';
import { psqlText } from '../../derived/commands.ts';
import { hashOf } from '../../derived/routes.ts';
import { agoInWords, plural } from '../../derived/words.ts';
import { h } from '../../h.ts';
import type { State } from '../../state.ts';
import { type Child, codeBlock, data, moment, remoteView } from '../parts.ts';
import { VirtualRows } from '../virtual-grid.ts';
import { rowsView } from './rows.ts';
import { tableActions } from './table-actions.ts';
import { changeState } from './table-dialogs.ts';
import { keysOf } from './table-keys.ts';

/** Says what was done with a table. */
export function doneBox(done: State['done']): VNode | undefined {
  return done && h('p', { class: 'notice good' }, data(done.words));
}

export function tableView(state: State, actions: Actions): VNode {
  const { table, route } = state;
  const again = (): void => actions.open(route);
  return h('section', null, [
    table.is !== 'ready' && h('h1', null, 'Table'),
    remoteView(table, 'The table is being read.', ({ table }) => tablePage(state, table, actions), again),
  ]);
}

function tablePage(state: State, table: TableDescription, actions: Actions): Child {
  const { done, dialog, tableChange } = state;
  const { schema, name, comment, columns } = table;
  return [
    h('p', { class: 'crumb' }, h('a', { href: hashOf({ page: 'tables' }) }, 'Tables')),
    h('h1', null, data(`${schema}.${name}`)),
    comment && h('p', { class: 'lead' }, data(comment)),
    doneBox(done),
    tableActions(state, table, actions),
    dialog === undefined && changeState(tableChange, 'The table is being changed.'),
    rowsView(state, table, actions),
    lastLoads(state, actions),
    h('h2', null, plural(columns.length, 'column')),
    h(VirtualRows, {
      label: 'Columns',
      count: columns.length,
      rowHeight: 38,
      maxHeight: 38 * 12,
      row: (index: number) => columnRow(columns[index]!),
    }),
    keysOf(table),
    h('h2', null, 'For programs'),
    codeBlock(psqlText(schema, name), 'Command for psql', actions.copy),
    h('details', { class: 'more' }, [
      h('summary', null, 'Definition as JSON'),
      codeBlock(JSON.stringify({ table }, null, 2), 'Definition of the table', actions.copy),
    ]),
  ];
}

function columnRow({
  name,
  type,
  is_nullable: isNullable,
  default: byDefault,
}: TableDescription['columns'][number]): VNode {
  return h('div', { class: 'list-row' }, [
    h('span', { class: 'list-name' }, data(name)),
    h('span', { class: 'list-type' }, data(type)),
    h('span', { class: 'dim' }, isNullable ? '' : 'not NULL'),
    h('span', { class: 'dim list-comment' }, byDefault == null ? '' : ['default ', data(byDefault)]),
  ]);
}

/** A service without records of loads has none. */
function lastLoads({ tableLoads }: State, actions: Actions): Child {
  if (tableLoads.is !== 'ready') return null;
  const loads = tableLoads.value;
  return [
    h('h2', null, 'Last loads'),
    loads.length === 0
      ? h('p', { class: 'hint' }, 'None that you may see.')
      : h('ul', { class: 'last-loads' }, [loads.map((load) => h('li', null, loadLine(load)))]),
    loads.length > 0 &&
      h(
        'p',
        null,
        h(
          'a',
          {
            href: hashOf({ page: 'loads' }),
            onClick: () => actions.filterLoads({ text: nameOf(loads[0]!) }),
          },
          'All loads of this table',
        ),
      ),
  ];
}

function nameOf({ table }: ListedLoad): string {
  return `${table.schema}.${table.name}`;
}

function loadLine({ id, created_at: at, subject, file, rows_read: rows }: ListedLoad): Child {
  return [
    h('a', { href: hashOf({ page: 'one-load', id }), title: moment(at) }, agoInWords(at)),
    h('span', null, [
      file === null ? 'rows of a program' : data(file),
      h('span', { class: 'dim' }, `, ${plural(rows, 'row')}`),
    ]),
    subject !== null && h('span', { class: 'dim' }, data(subject)),
  ];
}
