/** The list of tables that the token may see, and the page of one table. */
import type { VNode } from 'preact';
import type { ListedTable, TableDescription } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { hashOf } from '../derived/routes.ts';
import { countInWords, plural, shownValue, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { State } from '../state.ts';
import { cellOf } from './cell.ts';
import { busy, data, factList, failureBox, field, remoteView, textInput } from './parts.ts';
import { tableActions } from './table/table-actions.ts';
import { changeState } from './table/table-dialogs.ts';
import { VirtualGrid, VirtualRows } from './virtual-grid.ts';

export function tablesView({ tables, tableFilter, done }: State, actions: Actions): VNode {
  const all = tables.is === 'ready' ? tables.value.tables : [];
  const wanted = tableFilter.toLowerCase();
  const shown = all.filter(({ schema, name }) => `${schema}.${name}`.toLowerCase().includes(wanted));
  const again = (): void => actions.open({ page: 'tables' });
  return h('section', null, [
    h('h1', null, 'Tables'),
    doneBox(done),
    remoteView(
      tables,
      'The tables are being read.',
      () => [
        field('Find a table', textInput(tableFilter, actions.filterTables, { type: 'search' }), '', 'short'),
        h('p', { class: 'dim', role: 'status' }, [
          shown.length === all.length
            ? plural(all.length, 'table')
            : `${countInWords(shown.length)} of ${plural(all.length, 'table')}`,
        ]),
        h(VirtualRows, {
          label: 'Tables',
          count: shown.length,
          rowHeight: 46,
          maxHeight: 46 * 18,
          row: (index: number) => tableRow(shown[index]!),
        }),
      ],
      again,
    ),
  ]);
}

function tableRow({ schema, name, estimated_rows: rows, bytes, comment, distribution }: ListedTable): VNode {
  const placed = distributionInWords(distribution);
  return h('a', { class: 'list-row', href: hashOf({ page: 'table', schema, name }) }, [
    h('span', { class: 'list-name' }, [h('span', { class: 'dim' }, [data(schema), '.']), data(name)]),
    h('span', { class: 'list-comment dim' }, comment ? data(comment) : ''),
    placed !== undefined && h('span', { class: 'dim' }, data(placed)),
    h('span', { class: 'list-number' }, rows === null ? '' : `about ${plural(rows, 'row')}`),
    h('span', { class: 'list-number' }, bytes === null ? '' : sizeInWords(bytes)),
  ]);
}

/** Says what was done with a table. */
function doneBox(done: State['done']): VNode | undefined {
  return done && h('p', { class: 'notice good' }, data(done.words));
}

export function tableView(state: State, actions: Actions): VNode {
  const { table, done, dialog, tableChange } = state;
  if (table.is === 'failed') return h('section', null, [h('h1', null, 'Table'), failureBox(table.failure)]);
  if (table.is !== 'ready')
    return h('section', null, [h('h1', null, 'Table'), busy('The table is being read.')]);
  const { table: found, rows } = table.value;
  return h('section', null, [
    h('h1', null, data(`${found.schema}.${found.name}`)),
    found.comment && h('p', { class: 'lead' }, data(found.comment)),
    doneBox(done),
    tableActions(state, found, actions),
    dialog === undefined && changeState(tableChange, 'The table is being changed.'),
    keysOf(found),
    h('h2', null, plural(found.columns.length, 'column')),
    h(VirtualRows, {
      label: 'Columns',
      count: found.columns.length,
      rowHeight: 38,
      maxHeight: 38 * 12,
      row: (index: number) => {
        const { name, type, is_nullable: isNullable, default: byDefault } = found.columns[index]!;
        return h('div', { class: 'list-row' }, [
          h('span', { class: 'list-name' }, data(name)),
          h('span', { class: 'list-type' }, data(type)),
          h('span', { class: 'dim' }, isNullable ? '' : 'not NULL'),
          h('span', { class: 'dim list-comment' }, byDefault == null ? '' : ['default ', data(byDefault)]),
        ]);
      },
    }),
    rows && [
      h('h2', null, rows.rows.length === 0 ? 'No rows' : `First ${plural(rows.rows.length, 'row')}`),
      rows.rows.length !== 0 && rowsGrid(found.columns, rows.rows),
    ],
  ]);
}

/** Describes how Citus distributes a table; undefined: the table is not distributed. */
function distributionInWords(distribution: TableDescription['distribution']): string | undefined {
  if (distribution === undefined || distribution.kind === 'local') return undefined;
  const { kind, column, shards, bytes } = distribution;
  const how =
    kind === 'column' ? `by ${column}` : kind === 'reference' ? 'a copy on every node' : 'with its schema';
  const size = bytes == null ? '' : `, ${sizeInWords(bytes)} on all nodes`;
  return shards === undefined ? `${how}${size}` : `${how}, ${plural(shards, 'shard')}${size}`;
}

function keysOf({ constraints, indexes = [], distribution }: TableDescription): VNode | null {
  const { primary_key: primary, unique, foreign_keys: references } = constraints;
  const lines: [string, string][] = [];
  if (primary?.columns?.length) lines.push(['Primary key', primary.columns.join(', ')]);
  for (const { columns } of unique ?? []) if (columns?.length) lines.push(['Unique', columns.join(', ')]);
  for (const { column, reference_schema: schema, ...to } of references ?? []) {
    const target = `${schema ?? 'public'}.${to.reference_table}.${to.reference_column}`;
    const rules = [
      to.on_delete && `, on delete ${to.on_delete}`,
      to.on_update && `, on update ${to.on_update}`,
      to.deferrable && `, deferrable ${to.deferrable}`,
      to.not_valid && ', not valid',
    ];
    lines.push(['Foreign key', `${column} to ${target}${rules.filter(Boolean).join('')}`]);
  }
  for (const { expression, not_valid: isNotValid } of constraints.checks ?? [])
    lines.push(['Check', `${expression}${isNotValid ? ', not valid' : ''}`]);
  for (const { unique, method = 'btree', columns } of indexes) {
    const names = columns.map(({ column }) => column).join(', ');
    lines.push([unique ? 'Unique index' : 'Index', `${names} (${method})`]);
  }
  const placed = distributionInWords(distribution);
  if (placed !== undefined) lines.push(['Distributed', placed]);
  if (lines.length === 0) return null;
  return factList(
    'keys',
    lines.map(([label, text]) => [label, data(text)]),
  );
}

export function rowsGrid(columns: { name: string; type: string }[], rows: Record<string, unknown>[]): VNode {
  return h(VirtualGrid, {
    label: 'First rows',
    columnCount: columns.length,
    rowCount: rows.length,
    columnWidth: 170,
    rowHeight: 30,
    headHeight: 52,
    maxHeight: 460,
    head: (column: number) =>
      h('div', { class: 'head-cell' }, [
        h('span', { class: 'head-name' }, data(columns[column]!.name)),
        h('span', { class: 'head-type' }, columns[column]!.type),
      ]),
    cell: (row: number, column: number) => {
      const { name, type } = columns[column]!;
      return cellOf(shownValue(rows[row]?.[name]), type);
    },
  });
}
