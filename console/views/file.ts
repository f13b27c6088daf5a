/** Step 1: choose a file. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { ChosenFile, State } from '../state.ts';
import { bar, busy, button, data, failureBox } from './parts.ts';
import { needsPassword, passwordField } from './password-field.ts';

const extensions = '.xlsx,.xlsm,.xls,.xlsb,.ods,.csv,.tsv,.txt,.json,.ndjson,.jsonl';

/** What happens until the columns of a file are known. */
export function inspecting({ size }: ChosenFile, sentBytes: number): VNode[] {
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

export function fileView({ file, inspection, reading }: State, actions: Actions): VNode {
  const choose = (files: FileList | null | undefined): void => {
    const [first] = files ?? [];
    if (first) actions.chooseFile(first);
  };
  return h('section', { class: 'file-step' }, [
    h('h1', null, 'Load a file into a table'),
    h('p', { class: 'lead' }, [
      'The whole file is checked before anything is written. Either every row is loaded, or nothing is changed.',
    ]),
    h(
      'label',
      {
        class: 'drop',
        onDragOver: (event: DragEvent) => {
          event.preventDefault();
          (event.currentTarget as HTMLElement).classList.add('over');
        },
        onDragLeave: (event: DragEvent) => (event.currentTarget as HTMLElement).classList.remove('over'),
        onDrop: (event: DragEvent) => {
          event.preventDefault();
          (event.currentTarget as HTMLElement).classList.remove('over');
          choose(event.dataTransfer?.files);
        },
      },
      [
        h('input', {
          type: 'file',
          class: 'unseen',
          id: 'file',
          accept: extensions,
          // Browsers open the dialog by the space bar only.
          onKeyDown: (event: KeyboardEvent) => {
            if (event.key === 'Enter') (event.currentTarget as HTMLInputElement).click();
          },
          onChange: ({ currentTarget }) => choose(currentTarget.files),
        }),
        h('span', { class: 'drop-title' }, 'Drop a file here, or choose one'),
        h('span', { class: 'drop-kinds' }, '.xlsx  .xls  .xlsb  .ods  .csv  .tsv  .json  .ndjson'),
      ],
    ),
    file && inspection.is === 'busy'
      ? h('div', { class: 'card' }, [h('p', null, data(file.name)), inspecting(file, inspection.sentBytes)])
      : null,
    file && inspection.is === 'failed'
      ? h('div', { class: 'stack' }, [
          h('p', null, [data(file.name), ` (${sizeInWords(file.size)}) cannot be read.`]),
          failureBox(
            inspection.failure,
            inspection.failure.isOfFile ? undefined : () => actions.inspect(reading),
          ),
        ])
      : null,
    file && inspection.is === 'ready'
      ? h('p', null, [
          data(file.name),
          ' is chosen. ',
          button('Continue with it', () => actions.showStep('columns')),
        ])
      : null,
  ]);
}
