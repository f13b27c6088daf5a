/** Step 1: choose a file. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { mayUseLinks, originOf } from '../derived/file.ts';
import { plural, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { ChosenFile, State } from '../state.ts';
import { bar, busy, button, data, failureBox, stepButton } from './parts.ts';
import { needsPassword, passwordField } from './password-field.ts';

const extensions =
  '.xlsx,.xlsm,.xls,.xlsb,.ods,.parquet,.csv,.tsv,.txt,.json,.ndjson,.jsonl,.gz,.zst,.br,.zip';

/** What is shown until the service has read the columns of the file. */
export function inspecting({ size, link }: ChosenFile, sentBytes: number): VNode[] {
  if (link !== undefined) return [busy('The service fetches the file and reads all values.')];
  const isSent = sentBytes >= size;
  const sent = sizeInWords(Math.min(sentBytes, size));
  return [
    bar('Sending', isSent ? 1 : sentBytes / size, `${sent} of ${sizeInWords(size)}`),
    busy(
      isSent
        ? 'The service reads all values, to find the type of each column.'
        : 'The file is sent to the service, which reads all values. Nothing is written to the database.',
    ),
  ];
}

export function fileView(state: State, actions: Actions): VNode {
  const { file, togetherFiles, waitingFiles, inspection, reading, target, isTargetChosen, session } = state;
  return h('section', { class: 'file-step' }, [
    h('h1', null, 'Load a file into a table'),
    h('p', { class: 'lead' }, [
      'The whole file is checked before anything is written. Either every row is loaded, or nothing is changed.',
    ]),
    isTargetChosen &&
      h('p', { class: 'notice good' }, [
        'The rows go into the table ',
        h('code', null, data(`${target.schema}.${target.table}`)),
        '.',
        file === undefined && [' ', button('Choose another table', actions.forgetFile, { kind: 'quiet' })],
      ]),
    h('div', { class: 'file-ways' }, [
      h('div', null, [
        dropPlace(actions.chooseFiles, 'Drop a file here, or choose one', 'file', !isTargetChosen),
        mayUseLinks(session.scopes) && linkField(actions.chooseLink),
      ]),
      whatFollows(isTargetChosen, actions),
    ]),
    waitingFiles[0] &&
      h('p', null, [data(waitingFiles[0].name), ' is chosen. ', busy('The page is still being loaded.')]),
    file &&
      inspection.is === 'busy' &&
      h('div', { class: 'card' }, [h('p', null, data(file.name)), inspecting(file, inspection.sentBytes)]),
    file &&
      inspection.is === 'failed' &&
      h('div', { class: 'stack' }, [
        h('p', null, [data(file.name), ` (${originOf(file)}) cannot be read.`]),
        needsPassword(inspection.failure)
          ? passwordField(inspection.failure, file.name, actions.openWith)
          : failureBox(
              inspection.failure,
              inspection.failure.isOfFile ? undefined : () => actions.inspect(reading),
            ),
      ]),
    file &&
      inspection.is === 'ready' &&
      h('p', null, [data(file.name), ' is chosen. ', stepButton('Continue with it', 'columns', actions)]),
    togetherFiles.length > 0 &&
      h('p', null, [
        `${plural(togetherFiles.length, 'file is', 'files are')} chosen for several tables. `,
        stepButton('Continue with them', 'together', actions),
      ]),
  ]);
}

/** The field for the link of a file. */
function linkField(chooseLink: (link: string) => void): VNode {
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    chooseLink(String(new FormData(form).get('link') ?? ''));
  };
  return h('form', { class: 'link-field', onSubmit: submit }, [
    h('label', { class: 'field' }, [
      h('span', { class: 'field-label' }, 'Or the link of a file'),
      h('input', {
        type: 'url',
        name: 'link',
        required: true,
        autocomplete: 'off',
        placeholder: 'https://…',
        pattern: 'https?://.+',
      }),
    ]),
    h('button', { type: 'submit', class: 'button' }, 'Fetch'),
  ]);
}

/** Says what will happen to a file, and offers an example. */
function whatFollows(isTargetChosen: boolean, actions: Actions): VNode {
  return h('aside', { class: 'follows', 'aria-labelledby': 'follows-title' }, [
    h('h2', { id: 'follows-title' }, 'What happens'),
    h('ol', null, [
      h('li', null, 'The service reads all values, and proposes the table, its columns and their types.'),
      h('li', null, 'You choose the name of the table, and change what you like.'),
      h('li', null, 'The check names every cell with a problem. Nothing is written until you load.'),
    ]),
    h('p', null, [
      'You can also paste (Ctrl+V) cells that you have copied in a spreadsheet program, or the text of a CSV or JSON file.',
    ]),
    !isTargetChosen &&
      h(
        'p',
        null,
        'The sheets of a workbook, several files or those in a zip file become several tables at once.',
      ),
    h('p', null, [
      'No file at hand? ',
      button('Try an example', actions.tryExample, { kind: 'quiet' }),
      ' It is a workbook with titles above its header, and with a problem to fix.',
    ]),
  ]);
}

/** A place for a file. @param id the id of its input @param isMultiple true: several files may be chosen */
export function dropPlace(
  onFiles: (files: [File, ...File[]]) => void,
  title: string,
  id: string,
  isMultiple = false,
): VNode {
  const choose = (files: FileList | null | undefined): void => {
    const [first, ...others] = files ?? [];
    if (first) onFiles([first, ...others]);
  };
  const mark = (event: DragEvent, isOver: boolean): void => {
    if (event.type !== 'dragleave') event.preventDefault();
    (event.currentTarget as HTMLElement).classList.toggle('over', isOver);
  };
  const place = {
    class: 'drop',
    onDragOver: (event: DragEvent) => mark(event, true),
    onDragLeave: (event: DragEvent) => mark(event, false),
    onDrop: (event: DragEvent) => {
      mark(event, false);
      choose(event.dataTransfer?.files);
    },
  };
  return h('label', place, [
    h('input', {
      type: 'file',
      class: 'unseen',
      id,
      accept: extensions,
      multiple: isMultiple,
      // A browser opens the file dialog only with the space bar, so Enter has to be handled here.
      onKeyDown: ({ key, currentTarget }) => {
        if (key === 'Enter') currentTarget.click();
      },
      onChange: ({ currentTarget }) => choose(currentTarget.files),
    }),
    h('span', { class: 'drop-title' }, title),
    h(
      'span',
      { class: 'drop-kinds' },
      '.xlsx  .xls  .xlsb  .ods  .parquet  .csv  .tsv  .json  .ndjson  .zip',
    ),
  ]);
}
