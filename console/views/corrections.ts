/** Lists of corrected cells, with the old and the new value: those of the user in the check, and those of a load. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import {
  currentCorrections,
  placeInWords,
  type Verdict,
  verdictInWords,
  verdicts,
} from '../derived/corrections.ts';
import { countInWords, plural } from '../derived/words.ts';
import { h } from '../h.ts';
import type { LoadResult } from '../load-outcome.ts';
import type { CellCorrection, State } from '../state.ts';
import { button, type Child, data, remoteView } from './parts.ts';
import { lineHeight } from './problem-list.ts';
import { VirtualRows } from './virtual-grid.ts';

/** @param isOld true: the shown check does not have the newest corrections */
export function correctionsView(state: State, isOld: boolean, actions: Actions): VNode | null {
  const current = currentCorrections(state);
  const { correctionFault: fault } = state;
  const others = state.corrections.length - current.length;
  if (state.corrections.length === 0 && fault === undefined) return null;
  const verdictOf = verdicts(state, isOld);
  return h('section', { class: 'panel corrections', 'aria-labelledby': 'corrections' }, [
    h('div', { class: 'panel-head' }, [
      h('h2', { id: 'corrections', tabIndex: -1 }, `${plural(current.length, 'cell')} corrected`),
      current.length > 0 &&
        h('div', { class: 'fixes' }, [
          button('Undo all', () => actions.undoCorrections(current)),
          button('Save the list as .csv', actions.saveCorrections),
          repairedButton(state, actions),
        ]),
    ]),
    repairedView(state),
    fault !== undefined && h('p', { class: 'notice bad', role: 'alert' }, fault),
    h('p', { class: 'hint' }, [
      'The load uses the new values and keeps a record of them. The file itself is not changed.',
      others > 0 && ` ${plural(others, 'correction')} of other sheets wait until you choose these sheets.`,
    ]),
    correctionList(current, actions.undoCorrections, (correction) => verdictMark(verdictOf(correction))),
  ]);
}

/** The corrections of the user, each with a button that takes it back. The newest one is the first. */
export function correctionList(
  corrections: CellCorrection[],
  undo: (undone: CellCorrection[]) => void,
  about: (correction: CellCorrection) => Child = () => null,
  label?: string,
): VNode {
  return correctedRows(
    corrections.toReversed().map((correction) => ({
      place: placeInWords(correction),
      column: correction.header,
      ...correction,
      more: [about(correction), undoButton(correction, undo)],
    })),
    label,
  );
}

function repairedButton({ file, repaired }: State, actions: Actions): VNode {
  const format = file?.kind === 'spreadsheet' ? 'csv' : 'ndjson';
  return button(`Download the repaired rows (.${format})`, actions.saveRepaired, {
    disabled: repaired.is === 'busy',
  });
}

function repairedView({ repaired }: State): Child {
  return remoteView(repaired, 'The rows are being read.', (name) =>
    h('p', { role: 'status' }, [
      'The browser saves ',
      data(name),
      ': all rows of the file, as they were read, with the new values.',
    ]),
  );
}

function verdictMark(verdict: Verdict): VNode {
  return h('span', { class: `verdict ${verdict.is}` }, data(verdictInWords(verdict)));
}

function undoButton(correction: CellCorrection, undo: (undone: CellCorrection[]) => void): VNode {
  return button('Undo', () => undo([correction]), {
    kind: 'tiny',
    'aria-label': `Undo the correction of ${placeInWords(correction)}`,
  });
}

/** The corrections of the load that has just ended. */
export function loadedCorrections(state: State, load: LoadResult['load'], actions: Actions): Child {
  const list = recordedCorrections(load);
  // After the page was loaded again, it does not have the file.
  const isKept = list !== null && currentCorrections(state).length > 0 && state.file !== undefined;
  return [
    list,
    isKept && h('div', { class: 'fixes' }, repairedButton(state, actions)),
    isKept && repairedView(state),
  ];
}

/** The corrections in the record of a load. @param subject the user who sent them; undefined: the present one */
export function recordedCorrections(
  { corrected = [], corrected_count: count = corrected.length }: LoadResult['load'],
  subject?: string | null,
): VNode | null {
  if (count === 0) return null;
  return h('section', { class: 'panel corrections', 'aria-labelledby': 'corrections' }, [
    h('h2', { id: 'corrections' }, [
      `${plural(count, 'cell')} corrected`,
      subject != null && [' by ', data(subject)],
    ]),
    h('p', { class: 'hint' }, [
      'The table has the new values. The file itself was not changed.',
      count > corrected.length && ` The first ${countInWords(corrected.length)} are listed.`,
    ]),
    correctedRows(corrected.map((one) => ({ ...one, place: one.cell ?? `row ${countInWords(one.row)}` }))),
  ]);
}

interface CorrectedRow {
  place: string;
  column: string;
  from: string | null;
  to: string | null;
  more?: Child;
}

function correctedRows(rows: CorrectedRow[], label = 'Corrected cells'): VNode {
  const height = lineHeight();
  return h(VirtualRows, {
    label,
    count: rows.length,
    rowHeight: height,
    maxHeight: 8 * height,
    row: (index: number) => {
      const { place, column, from, to, more } = rows[index]!;
      return h('div', { class: 'corrected' }, [
        h('span', { class: 'place' }, [data(place), ' ', h('span', { class: 'dim' }, data(column))]),
        h('span', { class: 'values' }, [
          h('del', null, [h('span', { class: 'unseen' }, 'before: '), shownValue(from)]),
          h('span', { 'aria-hidden': 'true' }, ' → '),
          h('ins', null, [h('span', { class: 'unseen' }, 'after: '), shownValue(to)]),
        ]),
        more,
      ]);
    },
  });
}

const shownValue = (value: string | null): Child =>
  value === null ? h('span', { class: 'null' }, 'empty') : data(value);
