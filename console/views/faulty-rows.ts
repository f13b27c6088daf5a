/** The rows with problems as a file that the user repairs and loads. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { h } from '../h.ts';
import type { State } from '../state.ts';
import { dropPlace } from './file.ts';
import { button, type Child, data, remoteView } from './parts.ts';

/** The buttons that save the rows with problems of a load. */
export function faultyRowsButtons(
  { faultyRows, faultyRowsOf }: Pick<State, 'faultyRows' | 'faultyRowsOf'>,
  load: string,
  table: string,
  actions: Actions,
): VNode {
  const isOwn = faultyRowsOf === load;
  const disabled = isOwn && faultyRows.is === 'busy';
  const save = (format: 'xlsx' | 'csv') =>
    button(
      `Download the rows with problems (.${format})`,
      () => actions.saveFaultyRows(load, table, format),
      { disabled },
    );
  return h('div', { class: 'faulty-rows' }, [
    h('div', { class: 'notice-actions' }, [save('xlsx'), save('csv')]),
    isOwn &&
      remoteView(faultyRows, 'The rows are being read.', ({ name, isComplete }) =>
        h('p', { role: 'status' }, [
          'The browser saves ',
          data(name),
          '. The column _problem has the reasons; in the workbook the cells with problems are filled.',
          !isComplete && ' More rows have problems than the file has.',
        ]),
      ),
  ]);
}

/** What a user can do with the rows that a load has left out. */
export function repairView(state: State, load: string, table: string, actions: Actions): Child {
  return h('section', { class: 'panel', 'aria-labelledby': 'repair-title' }, [
    h('div', { class: 'panel-head' }, h('h2', { id: 'repair-title' }, 'The rows that were left out')),
    h('p', null, [
      'Download these rows, repair them, and drop the file here. It is read with the same settings, and its rows are added to the table.',
    ]),
    faultyRowsButtons(state, load, table, actions),
    state.file &&
      dropPlace(
        ([file]) => actions.chooseRepaired(file),
        'Drop the repaired file here, or choose it',
        'repaired',
      ),
  ]);
}
