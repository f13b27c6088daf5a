/** The difference between a file and the table that it updates: the counts, and the changed rows with the old values beside the new ones. */
import type { VNode } from 'preact';
import type { LoadChanges, RowChange } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import {
  type CellChange,
  cellOfChange,
  changesOnPage,
  columnsOfChanges,
  differenceOf,
  isCompared,
  kindsOfChanges,
  pageWords,
} from '../derived/changes.ts';
import { countInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { LoadResult } from '../load-outcome.ts';
import type { ChangesPage, State } from '../state.ts';
import { button, type Child, data, factList, remoteView, shortened } from './parts.ts';
import { VirtualGrid } from './virtual-grid.ts';

type DifferenceState = Pick<State, 'changes' | 'changesOf'>;

/** @param more facts after the counts @returns null if the rows were not compared with the table */
export function differenceView(
  { changes, changesOf }: DifferenceState,
  load: LoadResult['load'],
  actions: Actions,
  more: (readonly [string, string])[] = [],
): VNode | null {
  if (!isCompared(load)) return null;
  const { id } = load;
  const counts = differenceOf(load).map(([label, count]) => [label, countInWords(count)] as const);
  return h('section', { class: 'difference', 'aria-labelledby': 'difference-title' }, [
    h('h2', { id: 'difference-title' }, 'The difference from the table'),
    factList('numbers', [...counts, ...more]),
    id !== undefined &&
      (changesOf === id
        ? remoteView(
            changes,
            'The changes are being read.',
            (page) => changeList(page, actions),
            () => actions.showChanges(id, 0),
          )
        : button('Show the changes', () => actions.showChanges(id, 0))),
  ]);
}

function changeList({ list, after }: ChangesPage, actions: Actions): Child {
  const { load, changes, counts, next, values } = list;
  if (counts === null) return h('p', { class: 'hint' }, 'The changes of this load are not kept.');
  if (changes.length === 0) return h('p', { class: 'hint' }, emptyWords[values]);
  const turn = (label: string, to: number | null) =>
    button(label, () => actions.showChanges(load, to ?? after), { disabled: to === null });
  return [
    values === 'own' &&
      h('p', { class: 'hint' }, 'The old values are not shown, because your token may not read the table.'),
    changeGrid(changes),
    h('div', { class: 'pages' }, [
      h('span', { role: 'status' }, pageWords(list, after)),
      (after > 0 || next !== null) && [
        turn('Previous changes', after > 0 ? Math.max(0, after - changesOnPage) : null),
        turn('Next changes', next),
      ],
    ]),
  ];
}

const emptyWords: Record<LoadChanges['values'], string> = {
  all: 'No row changes.',
  own: 'No row changes.',
  none: 'The changed rows are shown only to the person who has sent the file.',
};

function changeGrid(changes: RowChange[]): VNode {
  const columns = columnsOfChanges(changes);
  return h(VirtualGrid, {
    label: 'Changes',
    columnCount: columns.length,
    rowCount: changes.length,
    columnWidth: 170,
    rowHeight: 52,
    headHeight: 34,
    maxHeight: 34 + 52 * 8,
    numberWidth: 130,
    cornerLabel: 'Change',
    head: (column: number) => data(columns[column]!),
    number: (row: number) => kindMark(changes[row]!),
    rowKind: (row: number) => `change ${changes[row]!.kind}`,
    cell: (row: number, column: number) => {
      const cell = cellOfChange(changes[row]!, columns[column]!);
      if (cell === undefined) return { content: null };
      return { content: oldAndNew(cell), kind: isKey(changes[row]!, columns[column]!) ? '' : 'differs' };
    },
  });
}

const isKey = ({ key }: RowChange, column: string): boolean => Object.hasOwn(key, column);

function kindMark({ kind, row }: RowChange): VNode {
  const { sign, word } = kindsOfChanges[kind];
  return h('span', { class: 'change-kind' }, [
    h('span', { 'aria-hidden': 'true' }, sign),
    ` ${word}`,
    row !== undefined && h('span', { class: 'dim' }, ` row ${countInWords(row)}`),
  ]);
}

/** The old value is above the new one, and struck through. */
function oldAndNew({ old, now }: CellChange): Child {
  const isBoth = old !== undefined && now !== undefined;
  return [
    old !== undefined && h('del', null, [h('span', { class: 'unseen' }, 'before: '), shownText(old)]),
    now !== undefined &&
      h(isBoth ? 'ins' : 'span', null, [isBoth && h('span', { class: 'unseen' }, 'after: '), shownText(now)]),
  ];
}

function shownText(value: string | null): Child {
  return value === null ? h('span', { class: 'null' }, 'NULL') : h('bdi', null, shortened(value));
}
