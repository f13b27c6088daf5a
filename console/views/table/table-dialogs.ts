/** The dialogs in which the user saves the rows of a table, drops it, or gives it another name, schema or comment. */
import type { VNode } from 'preact';
import type { TableDescription } from '../../../client/client.ts';
import type { Actions } from '../../actions/create-actions.ts';
import { downloadText } from '../../derived/commands.ts';
import { renameOf } from '../../derived/table.ts';
import { plural, sizeInWords } from '../../derived/words.ts';
import { h } from '../../h.ts';
import { serviceUrl } from '../../service-url.ts';
import type { Dialog, DownloadFormat, State } from '../../state.ts';
import { busy, button, type Child, codeBlock, data, failureBox, field, textInput } from '../parts.ts';

type Of<Is> = Extract<Dialog, { is: Is }>;

export function dropFields(
  { tableChange }: State,
  table: TableDescription,
  { typed }: Of<'drop'>,
  actions: Actions,
): VNode {
  const { name, columns } = table;
  return h('div', { class: 'stack' }, [
    h('p', null, [
      `The table with its ${plural(columns.length, 'column')} and all its rows is removed from the database. This cannot be undone.`,
    ]),
    field(
      'Type the name of the table',
      textInput(typed, (to) => actions.showDialog({ is: 'drop', typed: to }), { name: 'typed' }),
      data(name),
    ),
    changeState(tableChange, 'The table is being dropped.'),
    h('div', { class: 'action-bar' }, [
      button('Keep it', () => actions.showDialog(undefined)),
      button('Drop the table', () => actions.dropTable(table), {
        kind: 'danger',
        disabled: typed !== name || tableChange.is === 'busy',
      }),
    ]),
  ]);
}

export function renameFields(
  { tableChange }: State,
  table: TableDescription,
  { to }: Of<'rename'>,
  actions: Actions,
): VNode {
  const change = (more: Partial<typeof to>): void =>
    actions.showDialog({ is: 'rename', to: { ...to, ...more } });
  const isSame = Object.keys(renameOf(table, to)).length === 0;
  const isNamed = to.name !== '' && to.schema !== '';
  return h('div', { class: 'stack' }, [
    field(
      'Name',
      textInput(to.name, (name) => change({ name }), { name: 'name' }),
      'Programs that use the present name stop working. Views and foreign keys follow the table.',
    ),
    field(
      'Schema',
      textInput(to.schema, (schema) => change({ schema }), { name: 'schema' }),
    ),
    field(
      'Comment',
      h('textarea', {
        name: 'comment',
        rows: 3,
        value: to.comment,
        onInput: ({ currentTarget }) => change({ comment: currentTarget.value }),
      }),
    ),
    changeState(tableChange, 'The table is being changed.'),
    h('div', { class: 'action-bar' }, [
      button('Save', () => actions.renameTable(table, to), {
        kind: 'main',
        disabled: isSame || !isNamed || tableChange.is === 'busy',
      }),
    ]),
  ]);
}

export function downloadFields({ download }: State, table: TableDescription, actions: Actions): VNode {
  const isBusy = download.is === 'busy';
  const save = (label: string, format: DownloadFormat): VNode =>
    button(label, () => actions.download(table, format), { disabled: isBusy });
  return h('div', { class: 'stack' }, [
    h('p', null, [
      'All rows of the table are saved. For a spreadsheet program take a workbook: it has at most 1,048,575 rows, and its texts are never formulas. CSV has every value exactly as it is.',
    ]),
    h('div', { class: 'table-actions' }, [save('CSV', 'csv'), save('Workbook (.xlsx)', 'xlsx')]),
    isBusy && busy(`${sizeInWords(download.sentBytes)} of the file have arrived.`),
    isBusy && h('div', null, button('Stop', actions.closeDownload)),
    download.is === 'failed' && failureBox(download.failure),
    h('p', { class: 'hint' }, [
      'For more than 1 GB use a command. Put an access token into the variable TOKEN.',
    ]),
    codeBlock(downloadText(table, 'csv', serviceUrl), 'Command', actions.copy),
  ]);
}

/** Shows that a change is running, or why it failed. @param words the text while it is running */
export function changeState(change: State['tableChange'], words: string): Child {
  if (change.is === 'busy') return busy(words);
  if (change.is !== 'failed') return null;
  return [
    failureBox(change.failure),
    change.failure.code === undefined &&
      h('p', { class: 'hint' }, [
        'It is not known whether the table was changed. Look at the table before you try it again.',
      ]),
  ];
}
