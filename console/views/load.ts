/** Step 4: the load, its progress and its result. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { isCompared } from '../derived/changes.ts';
import { offeredChoices } from '../derived/choices.ts';
import { type Bar, lostWords, rowsBar, sendingBar } from '../derived/load.ts';
import { hashOf } from '../derived/routes.ts';
import { countInWords, plural } from '../derived/words.ts';
import { h } from '../h.ts';
import { type LoadOutcome, type LoadResult, recordOf, type TablesResult } from '../load-outcome.ts';
import type { LoadProgress, State } from '../state.ts';
import { loadedCorrections } from './corrections.ts';
import { differenceView } from './difference.ts';
import { repairView } from './faulty-rows.ts';
import {
  bar,
  busy,
  button,
  type Child,
  changedFileBox,
  data,
  factList,
  failureBox,
  stepButton,
} from './parts.ts';
import { saveButton } from './profiles.ts';
import { rowsGrid, sortWords } from './table/rows.ts';
import { loadedTables } from './together/loaded-tables.ts';
import { warningList } from './warnings.ts';

const stateInWords: Record<string, string> = {
  receiving: 'The file is being sent.',
  queued: 'The file is stored and waits for its turn.',
  running: 'The rows are being read, checked and written.',
  committed: 'All rows are in the table.',
  checked: 'The dry run is done.',
  refused: 'The load was refused. Nothing was changed.',
  failed: 'The load failed. Nothing was changed.',
  cancelled: 'The load was cancelled. Nothing was changed.',
};

export function loadView(state: State, load: LoadProgress, actions: Actions): VNode {
  return h('section', { class: 'load-step' }, outcomeView(state, load, actions));
}

function outcomeView(state: State, load: LoadProgress, actions: Actions): Child {
  const { outcome } = load;
  switch (outcome.is) {
    case 'sending':
    case 'running':
      return [h('h1', null, ['Loading ', data(load.fileName)]), running(load, actions)];
    case 'unknown':
      return lost(load, outcome, actions);
    case 'unsent':
      return notLoaded(state, load, outcome, actions);
    case 'not-loaded':
      return notLoaded(state, load, outcome, actions);
    case 'tables-loaded':
      return tablesLoaded(outcome.result, actions);
    case 'loaded':
      return loaded(state, load, outcome.result, actions);
  }
}

function notLoaded(
  state: State,
  { isOfParts }: LoadProgress,
  outcome: Extract<LoadOutcome, { is: 'unsent' | 'not-loaded' }>,
  actions: Actions,
): Child {
  const { file, together } = state;
  const { failure } = outcome;
  const isCancelled = outcome.is === 'not-loaded' && outcome.isCancelled;
  const isKept = isOfParts ? together.is === 'ready' : file !== undefined;
  return [
    h('h1', null, isCancelled ? 'Cancelled' : 'Not loaded'),
    isCancelled
      ? h('p', { class: 'notice warn', role: 'status' }, 'The load was cancelled. Nothing was changed.')
      : failure.isOfFile
        ? changedFileBox(failure, actions)
        : [isOfParts && h('p', { class: 'lead' }, 'Nothing was loaded into any table.'), failureBox(failure)],
    h('div', { class: 'action-bar' }, [
      isKept && backButton(isOfParts, actions),
      isKept && !isOfParts && button('Check again', actions.check),
      !isKept && button('Load a file', actions.forgetFile, { kind: 'main' }),
    ]),
  ];
}

function backButton(isOfParts: boolean, actions: Actions): VNode {
  return isOfParts
    ? stepButton('Back to the tables', 'together', actions)
    : stepButton('Back to the columns', 'columns', actions);
}

function tablesLoaded(result: TablesResult, actions: Actions): Child {
  const { tables, load } = result;
  return [
    h('h1', null, 'Loaded'),
    h('p', { class: 'lead' }, `${plural(load.rows, 'row')} in ${plural(tables.length, 'table')}.`),
    h('div', { class: 'table-actions' }, button('Load other files', actions.forgetFile)),
    loadedTables(result),
  ];
}

/** Shown if the page cannot find out the state of the load. The load may be committed, so the text must not say that nothing was loaded. */
function lost(
  { fileName, isOfParts }: LoadProgress,
  outcome: Extract<LoadOutcome, { is: 'unknown' }>,
  actions: Actions,
): Child {
  return [
    h('h1', null, ['Loading ', data(fileName)]),
    h('div', { class: 'notice warn', role: 'alert' }, [
      h('p', { class: 'notice-title' }, lostWords(outcome)),
      h('p', null, data(outcome.reason.detail)),
    ]),
    h('div', { class: 'action-bar' }, [
      button('Load another file', actions.forgetFile),
      outcome.record === undefined && backButton(isOfParts, actions),
      button('Look again', actions.lookAgain, { kind: 'main', id: 'look-again' }),
    ]),
  ];
}

function running(load: LoadProgress, actions: Actions): VNode {
  const now = performance.now();
  const state = recordOf(load.outcome)?.state ?? 'receiving';
  return h('div', { class: 'card stack' }, [
    shownBar('Sending', sendingBar(load, now)),
    shownBar('Rows', rowsBar(load, now)),
    busy(load.isCancelling ? 'The load is being cancelled.' : (stateInWords[state] ?? state)),
    h('p', { class: 'hint' }, [
      state === 'receiving'
        ? 'Keep this page open until the file is sent.'
        : 'The load goes on if you close or reload this page. You find it again under Loads.',
    ]),
    h('div', null, button('Cancel', actions.cancelLoad, { disabled: load.isCancelling, id: 'cancel' })),
  ]);
}

function shownBar(label: string, { share, words, rate, left }: Bar): VNode {
  const rest = [rate, left].filter(Boolean).join(', ');
  return bar(label, share, [words, rest ? h('span', { class: 'dim' }, ` · ${rest}`) : null]);
}

function loaded(
  state: State,
  { rows, rowsFailure, fileName }: LoadProgress,
  { table, load }: LoadResult,
  actions: Actions,
): Child {
  const { schema, name } = table;
  const leftOut = load.rows_left_out ?? 0;
  const facts = countsOf(load);
  const link = hashOf({ page: 'table', schema, name });
  return [
    h('h1', null, 'Loaded'),
    h('p', { class: 'lead' }, [
      load.sheet !== undefined && ['The sheet ', data(load.sheet), ' of '],
      data(fileName),
      ' is in the table ',
      h('a', { href: link }, [data(`${schema}.${name}`)]),
      '.',
    ]),
    h('div', { class: 'table-actions' }, [
      h('a', { class: 'button main', href: link }, 'Open the table'),
      button('Load another file', actions.forgetFile),
      button('Load more into it', () => actions.loadInto(table)),
      saveButton(state, actions),
    ]),
    saveButton(state, actions) &&
      state.usedProfile.is === 'none' &&
      h(
        'p',
        { class: 'hint' },
        'With saved settings, the next file with this header goes into the table with one click.',
      ),
    differenceView(state, load, actions, facts) ?? factList('numbers', facts),
    loadedCorrections(state, load, actions),
    leftOut > 0 && load.id !== undefined && repairView(state, load.id, name, actions),
    warningList(load.warnings, (warning) => offeredChoices(state, warning, 'name'), actions.takeChoice),
    rows && [
      h('div', { class: 'pages' }, [
        h('h2', null, `${rows.has_more ? 'First ' : ''}${plural(rows.rows.length, 'row')} of the table`),
        sortWords(rows.sort),
        rows.has_more && rows.isAppended && h('span', { class: 'dim' }, 'They may be rows of earlier loads.'),
      ]),
      rowsGrid(table.columns, rows.rows),
    ],
    rowsFailure &&
      h('p', { class: 'hint' }, ['The rows of the table cannot be shown here. ', data(rowsFailure.detail)]),
  ];
}

/** The counts of what has happened. The difference from the table has its own. */
function countsOf(load: LoadResult['load']): (readonly [string, string])[] {
  const { rows: added, updated, skipped, rows_left_out: leftOut = 0, duration_ms: ms } = load;
  const counts = isCompared(load) ? {} : { added, updated, skipped };
  const happened = Object.entries({ ...counts, 'left out': leftOut }).filter(([, count]) => count > 0);
  const rows = happened.map(([label, count]) => [`Rows ${label}`, countInWords(count)] as const);
  const isEmpty = rows.length === 0 && !isCompared(load);
  const time = ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
  return [...(isEmpty ? [['Rows added', 'none'] as const] : rows), ['Time', time]];
}
