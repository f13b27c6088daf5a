/** The head of a column of the file: its name and its type in a new table, or its place in an existing one. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { isChanged, withKey, wordsOfType } from '../../derived/columns.ts';
import type { Place, TableColumn } from '../../derived/mapping.ts';
import { h } from '../../h.ts';
import type { ColumnPlan, State } from '../../state.ts';
import { button, checkbox, data, select, shortened, textInput } from '../parts.ts';

export const headHeight = 176;

/** @param warning a warning of the service about the column */
export function columnHead(
  state: State,
  index: number,
  warning: string | undefined,
  actions: Actions,
): VNode {
  const column = state.columns[index]!;
  const { header, letters, isIncluded } = column;
  return h('div', { class: `head-cell${isIncluded ? '' : ' out'}` }, [
    checkbox(
      [letters !== undefined && h('span', { class: 'letters' }, letters), data(header)],
      isIncluded,
      (to) => actions.changeColumn(index, { isIncluded: to }),
      { 'aria-label': `Load ${shortened(header)}` },
    ),
    nameInput(column, index, actions),
    typeInput(column, index, actions),
    rules(state, column, index, actions),
    reasonLine(column, warning),
  ]);
}

/** The head of a column of a file for an existing table. @param table the columns of the table */
export function placeHead(
  { rows, columns }: State,
  index: number,
  table: TableColumn[],
  warning: string | undefined,
  actions: Actions,
): VNode {
  const column = columns[index]!;
  const { header, letters, name, isIncluded, isGuess, isNew, inferredType } = column;
  const target = isNew ? undefined : table.find((one) => one.name === name);
  const isUnplaced = isIncluded && target === undefined && !isNew;
  const other = { fail: 'unplaced', ignore: 'none', add: 'new' } as const;
  const chosen = !isIncluded ? 'none' : isNew ? 'new' : target ? `:${name}` : other[rows.extraColumns];
  const options = [
    ...(chosen === 'unplaced' ? [['unplaced', 'Choose a column'] as const] : []),
    ...table.map((one) => [`:${one.name}`, placeLabel(one)] as const),
    ['none', '— Leave out —'] as const,
    ['new', '+ Add as a new column'] as const,
  ];
  const change = (to: string): void =>
    actions.placeColumn(index, to.startsWith(':') ? { column: to.slice(1) } : (to as Exclude<Place, object>));
  return h('div', { class: `head-cell${chosen === 'none' ? ' out' : ''}` }, [
    h('span', { class: 'head-name' }, [
      letters !== undefined && h('span', { class: 'letters' }, letters),
      data(header),
    ]),
    select(chosen as string, options, change, {
      'aria-label': `Column of the table for ${shortened(header)}`,
      class: isUnplaced ? 'unplaced' : '',
    }),
    h('span', { class: 'head-type' }, target?.type ?? (chosen === 'new' ? inferredType : '')),
    isGuess && h('span', { class: 'warn-text' }, 'proposed: similar name'),
    reasonLine(column, warning),
  ]);
}

function placeLabel({ name, keyPlace, isRequired }: TableColumn): string {
  return `${shortened(name)}${keyPlace > 0 ? ' (key)' : isRequired ? ' (required)' : ''}`;
}

function nameInput({ name, header, isIncluded }: ColumnPlan, index: number, actions: Actions): VNode {
  return textInput(name, (to) => actions.changeColumn(index, { name: to, isNamed: true }), {
    'aria-label': `Name of the column for ${shortened(header)}`,
    disabled: !isIncluded,
  });
}

function typeInput(
  { name, type, inferredType, isIncluded }: ColumnPlan,
  index: number,
  actions: Actions,
): VNode {
  return h('div', { class: 'type-cell' }, [
    textInput(type, (to) => actions.changeColumn(index, { type: to }), {
      'aria-label': `Type of ${shortened(name)}`,
      list: 'types',
      disabled: !isIncluded,
      class: 'type',
    }),
    type !== inferredType &&
      isIncluded &&
      button('Undo', () => actions.changeColumn(index, { type: inferredType }), {
        kind: 'tiny',
        'aria-label': `Take the inferred type, ${wordsOfType(inferredType)}, for ${shortened(name)}`,
      }),
  ]);
}

function rules({ columns }: State, column: ColumnPlan, index: number, actions: Actions): VNode {
  const { name, isNullable, keyPlace, isIncluded } = column;
  const extras = [
    column.default !== '' && 'default',
    column.isUnique && 'unique',
    column.reference && 'foreign key',
  ].filter(Boolean);
  const isLongKey = keyPlace > 1 || columns.some((other) => other.keyPlace > 1);
  return h('div', { class: 'head-rules' }, [
    checkbox(
      'Optional',
      isNullable && keyPlace === 0,
      (to) => actions.changeColumn(index, { isNullable: to }),
      {
        disabled: !isIncluded || keyPlace > 0,
        'aria-label': `${shortened(name)} is optional`,
      },
    ),
    checkbox(
      isLongKey ? `Key ${keyPlace || ''}` : 'Key',
      keyPlace > 0,
      (to) => actions.changeColumns(withKey(columns, index, to)),
      { disabled: !isIncluded, 'aria-label': `${shortened(name)} is in the primary key` },
    ),
    button(extras.length > 0 ? extras.join(', ') : 'More', () => actions.openColumn(index), {
      kind: extras.length > 0 || isChanged(column) ? 'tiny set' : 'tiny',
      disabled: !isIncluded,
      'aria-label': `More about ${shortened(name)}${extras.length > 0 ? `: ${extras.join(', ')}` : ''}`,
    }),
  ]);
}

/** Says why the column has its type. */
function reasonLine({ type, inferredType, reason }: ColumnPlan, warning: string | undefined): VNode {
  const found = warning === undefined ? ` ${reason}` : '';
  const words =
    type === inferredType ? (warning ?? reason) : `chosen by you, not ${wordsOfType(inferredType)}${found}`;
  return h('span', { class: 'head-reason', title: words }, [
    warning !== undefined && type === inferredType && h('span', { class: 'warn-text' }, 'warning: '),
    words,
  ]);
}
