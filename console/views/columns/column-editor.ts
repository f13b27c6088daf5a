/** The list of columns in which the user changes names, types and the primary key. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { isChanged, withKey } from '../../derived/columns.ts';
import { existingColumn, keepsDefinition } from '../../derived/target.ts';
import { h } from '../../h.ts';
import type { ColumnPlan, State } from '../../state.ts';
import { button, type Child, checkbox, data, shortened, textInput } from '../parts.ts';
import { VirtualRows } from '../virtual-grid.ts';
import { typeList } from './type-list.ts';

export function columnEditor(state: State, actions: Actions): VNode {
  const { columns } = state;
  const keeps = keepsDefinition(state);
  const isNarrow = matchMedia('(max-width: 800px)').matches;
  const height = isNarrow ? 214 : 58;
  return h('div', { class: 'editor' }, [
    keeps
      ? h('p', { class: 'hint' }, [
          'The existing table decides types, NULL, defaults and keys. Names are matched to its columns.',
        ])
      : h('p', { class: 'hint' }, ['Choose a type from the list, or write any other type of the database.']),
    typeList(state.types),
    h('div', { class: 'editor-head', 'aria-hidden': 'true' }, [
      ['', 'In the file', 'Column', 'Type', 'NULL', 'Key', ''].map((text) => h('span', null, text)),
    ]),
    h(VirtualRows, {
      label: 'Columns of the table',
      role: 'group',
      count: columns.length,
      rowHeight: height,
      maxHeight: Math.max(420, Math.min(900, innerHeight - 260)),
      row: (index: number) => columnRow(columns[index]!, index, keeps, state, actions),
    }),
  ]);
}

/** What the load does with a column that the existing table does not have (`extra_columns`). */
const missingWords = {
  fail: 'is not in the table',
  ignore: 'is not in the table, is left out',
  add: 'is not in the table, is added',
} as const;

function columnRow(column: ColumnPlan, index: number, keeps: boolean, state: State, actions: Actions): VNode {
  const { columns, rows } = state;
  const { header, name, isIncluded, letters, example } = column;
  const existing = keeps ? existingColumn(state, name) : undefined;
  const { type, isNullable, keyPlace } = existing ?? column;
  const isMissing = keeps && existing === undefined && isIncluded;
  const isFixed = keeps || !isIncluded;
  const change = (to: Partial<ColumnPlan>): void => actions.changeColumn(index, to);
  const extras = [
    column.default !== '' && 'default',
    column.isUnique && 'unique',
    column.reference && 'foreign key',
  ].filter(Boolean);
  return h('div', { class: `editor-row${isIncluded ? '' : ' out'}` }, [
    h('input', {
      type: 'checkbox',
      class: 'include',
      checked: isIncluded,
      'aria-label': `Load ${shortened(header)}`,
      onChange: ({ currentTarget }) => change({ isIncluded: currentTarget.checked }),
    }),
    h('div', { class: 'in-file' }, [
      h('span', { class: 'in-file-name' }, [
        letters ? h('span', { class: 'letters' }, letters) : null,
        data(header),
      ]),
      h('span', { class: 'in-file-example', title: column.reason }, [
        example === undefined ? 'no value' : h('bdi', null, shortened(example)),
      ]),
    ]),
    textInput(name, (to) => change({ name: to }), {
      'aria-label': `Name of the column for ${shortened(header)}`,
      disabled: !isIncluded,
      class: 'name',
    }),
    h('div', { class: 'type-cell' }, [
      isMissing
        ? h('span', { class: 'warn-text' }, missingWords[rows.extraColumns])
        : typeFields(column, type, isFixed, change),
    ]),
    checkbox('NULL', !isMissing && isNullable && keyPlace === 0, (to) => change({ isNullable: to }), {
      disabled: isFixed || keyPlace > 0,
      'aria-label': `${shortened(name)} may be NULL`,
    }),
    checkbox(
      keyPlace > 1 || columns.some((other) => other.keyPlace > 1) ? `Key ${keyPlace || ''}` : 'Key',
      !isMissing && keyPlace > 0,
      (to) => actions.changeColumns(withKey(columns, index, to)),
      { disabled: isFixed, 'aria-label': `${shortened(name)} is in the primary key` },
    ),
    button(extras.length > 0 ? extras.join(', ') : 'More', () => actions.openColumn(index), {
      kind: extras.length > 0 || isChanged(column) ? 'quiet set' : 'quiet',
      disabled: isFixed,
      'aria-label': `More about ${shortened(name)}${extras.length > 0 ? `: ${extras.join(', ')}` : ''}`,
    }),
  ]);
}

function typeFields(
  { name, inferredType }: ColumnPlan,
  type: string,
  isFixed: boolean,
  change: (to: Partial<ColumnPlan>) => void,
): Child {
  return [
    textInput(type, (to) => change({ type: to }), {
      'aria-label': `Type of ${shortened(name)}`,
      list: 'types',
      disabled: isFixed,
      class: 'type',
    }),
    type !== inferredType &&
      !isFixed &&
      button('Undo', () => change({ type: inferredType }), {
        kind: 'tiny',
        'aria-label': `Take the inferred type ${inferredType} for ${shortened(name)}`,
      }),
  ];
}
