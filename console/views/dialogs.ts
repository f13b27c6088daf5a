/** The dialogs: the table definition, the request as a command, and the further settings of a column. */
import type { VNode } from 'preact';
import type { TableDescription } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { definitionOf } from '../derived/columns.ts';
import { curlText } from '../derived/commands.ts';
import { uploadPlan } from '../derived/request.ts';
import { h } from '../h.ts';
import { serviceUrl } from '../service-url.ts';
import type { ColumnPlan, Dialog, State } from '../state.ts';
import { button, type Child, checkbox, codeBlock, data, field, Modal, select, textInput } from './parts.ts';
import { profileFields } from './profiles.ts';
import { downloadFields, dropFields, renameFields } from './table/table-dialogs.ts';

export function dialogView(state: State, actions: Actions): VNode | null {
  const { dialog } = state;
  if (dialog === undefined) return null;
  const onClose = (): void => actions.showDialog(undefined);
  switch (dialog.is) {
    case 'definition': {
      const text = JSON.stringify({ table: definitionOf(state.columns) }, null, 2);
      return modal('definition', 'Definition as JSON', onClose, [
        h('p', { class: 'hint' }, 'Create Table and both uploads take this definition.'),
        codeBlock(text, 'Definition', actions.copy),
      ]);
    }
    case 'curl': {
      const text = curlText(uploadPlan(state), state.file?.name ?? 'file', serviceUrl, state.file?.link);
      return modal('curl', 'The load as a command', onClose, [
        h('p', { class: 'hint' }, [
          'Put an access token into the variable TOKEN. The page never writes its own token into the command.',
        ]),
        codeBlock(text, 'Command', actions.copy),
      ]);
    }
    case 'profile':
      return modal('profile', 'Save these settings', onClose, profileFields(state, dialog, actions));
    case 'link':
      return linkDialog(state, dialog, onClose, actions);
    case 'download':
    case 'drop':
    case 'rename':
      return state.table.is === 'ready' ? tableDialog(state, state.table.value.table, dialog, actions) : null;
    case 'column': {
      const column = state.columns[dialog.index];
      if (column === undefined) return null;
      const title = ['Column ', data(column.name)];
      return modal(`column ${dialog.index}`, title, onClose, columnFields(column, dialog, actions));
    }
  }
}

function tableDialog(
  state: State,
  table: TableDescription,
  dialog: Extract<Dialog, { is: 'download' | 'drop' | 'rename' }>,
  actions: Actions,
): VNode {
  const onClose = (): void => actions.showDialog(undefined);
  const name = data(`${table.schema}.${table.name}`);
  switch (dialog.is) {
    case 'download':
      return modal(
        'download',
        ['Download ', name],
        actions.closeDownload,
        downloadFields(state, table, actions),
      );
    case 'drop':
      return modal('drop', ['Drop ', name, '?'], onClose, dropFields(state, table, dialog, actions));
    case 'rename':
      return modal('rename', ['Change ', name], onClose, renameFields(state, table, dialog, actions));
  }
}

function modal(key: string, title: Child, onClose: () => void, children: Child): VNode {
  return h(Modal, { key, title, onClose, children });
}

function linkDialog(
  { session, worker, file }: State,
  { token, subject, problem }: Extract<Dialog, { is: 'link' }>,
  onClose: () => void,
  actions: Actions,
): VNode {
  if (problem !== undefined) {
    return modal('link', 'The link cannot be used', onClose, [
      h('p', null, ['The service does not accept the token of the sign-in link: ', data(problem)]),
      h('p', { class: 'hint' }, session.token !== undefined && 'You are still signed in as before.'),
    ]);
  }
  const other = subject ?? 'somebody without a name';
  return modal('link', ['Continue as ', data(other), '?'], onClose, [
    h('p', null, [
      'You opened a sign-in link of another person. ',
      worker === undefined ? null : ['You work here as ', data(worker), '. '],
      'Everything that you do afterwards is done with the rights of ',
      data(other),
      ', who can see it.',
      file && ' The file that you chose, and your choices, are removed from this tab.',
    ]),
    h('div', { class: 'action-bar' }, [
      button('Stay', onClose, { kind: 'main' }),
      button(['Continue as ', data(other)], () => {
        onClose();
        actions.signInWith(token);
      }),
    ]),
  ]);
}

function columnFields(
  column: ColumnPlan,
  dialog: Extract<Dialog, { is: 'column' }>,
  actions: Actions,
): VNode {
  const { index, tables, referenced } = dialog;
  const { reference, reason } = column;
  const change = (to: Partial<ColumnPlan>): void => actions.changeColumn(index, to);
  const key = (schema: string, table: string): string => JSON.stringify([schema, table]);
  const chosen = reference ? key(reference.schema, reference.table) : '';
  const options: (readonly [string, string])[] = [
    ['', 'None'],
    ...(tables ?? []).map(
      ({ schema, name }) => [key(schema, name), schema === 'public' ? name : `${schema}.${name}`] as const,
    ),
  ];
  if (chosen !== '' && !options.some(([value]) => value === chosen))
    options.push([chosen, `${reference!.schema}.${reference!.table}`]);
  return h('div', { class: 'stack' }, [
    h('p', { class: 'hint' }, reason),
    field(
      'Default',
      textInput(column.default, (to) => change({ default: to }), { placeholder: 'no default' }),
      'A value such as 0 or pending, an allowed function such as now(), or a text in quotes',
    ),
    checkbox('Each value occurs once (unique)', column.isUnique, (isUnique) => change({ isUnique })),
    tables?.length === 0
      ? writtenReference(column, change)
      : field(
          'Foreign key to the table',
          select(chosen, options, (value) => {
            if (value === '') return change({ reference: undefined });
            const [schema, table] = JSON.parse(value) as [string, string];
            change({ reference: { schema, table, column: '' } });
            actions.readReferenced(schema, table);
          }),
        ),
    reference &&
      tables?.length !== 0 &&
      field(
        'and its column',
        referenced === undefined
          ? textInput(reference.column, (to) => change({ reference: { ...reference, column: to } }))
          : select(
              reference.column,
              [
                ['', 'Choose a column'],
                ...referenced.columns.map(({ name, type }) => [name, `${name} (${type})`] as const),
              ],
              (to) => change({ reference: { ...reference, column: to } }),
            ),
        'The column must be a primary key or unique.',
      ),
  ]);
}

/** The fields of a foreign key, for the case that the page has no list of tables to choose from. */
function writtenReference({ reference }: ColumnPlan, change: (to: Partial<ColumnPlan>) => void): VNode[] {
  const { schema, table, column } = reference ?? { schema: 'public', table: '', column: '' };
  const write = (to: Partial<NonNullable<ColumnPlan['reference']>>): void => {
    const written = { schema, table, column, ...to };
    change({ reference: written.table === '' ? undefined : written });
  };
  return [
    field(
      'Foreign key to the table',
      textInput(table, (to) => write({ table: to }), { placeholder: 'no foreign key' }),
      'There is no table that this token may read, so none is offered. Write its name.',
    ),
    ...(reference === undefined
      ? []
      : [
          field(
            'in the schema',
            textInput(schema, (to) => write({ schema: to })),
          ),
          field(
            'and its column',
            textInput(column, (to) => write({ column: to })),
            'The column must be a primary key or unique.',
          ),
        ]),
  ];
}
