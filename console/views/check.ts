/** Step 3: the dry run and its problems. */
import type { VNode } from 'preact';
import type { Problem } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { offeredChoices } from '../derived/choices.ts';
import {
  isOfCorrections,
  keyOfPlace,
  placesOfProblems,
  reasonsNow,
  replacement,
  uncorrected,
} from '../derived/corrections.ts';
import { canLeaveOut, fixesOf } from '../derived/fixes.ts';
import {
  fullPlaceOf,
  type GroupedProblems,
  groupProblems,
  kindInWords,
  placeOf,
  reasonInWords,
} from '../derived/problems.ts';
import { requestText } from '../derived/request.ts';
import { deletedWords, lossWords, mayKeepDefinition } from '../derived/target.ts';
import { countInWords, plural, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { LoadResult } from '../load-outcome.ts';
import type { Checked, ShownProblem, State } from '../state.ts';
import { cellFields, replaceButton } from './cell-field.ts';
import { correctionsView } from './corrections.ts';
import { differenceView } from './difference.ts';
import { faultyRowsButtons } from './faulty-rows.ts';
import { missingRefusal } from './missing-refusal.ts';
import {
  bar,
  busy,
  button,
  type Child,
  changedFileBox,
  data,
  failureBox,
  remoteView,
  shortened,
  stepButton,
} from './parts.ts';
import { problemRows, problemValue } from './problem-list.ts';
import { saveButton } from './profiles.ts';
import { VirtualGrid } from './virtual-grid.ts';
import { warningList } from './warnings.ts';

export function checkView(state: State, actions: Actions): VNode {
  const { check } = state;
  return h('section', { class: 'check-step' }, [
    h('h1', null, 'Check'),
    check.is === 'busy' && checking(state, check, actions),
    check.is === 'failed' && [
      check.failure.isOfFile
        ? changedFileBox(check.failure, actions)
        : failureBox(check.failure, actions.check),
      tableExists(check.failure.code),
      missingRefusal(state, check.failure, actions),
      correctionsView(state, false, actions),
    ],
    check.is === 'ready' && checked(state, check.value, actions),
    (check.is === 'none' || check.is === 'failed') &&
      h('div', { class: 'action-bar' }, [
        stepButton('Back to the columns', 'columns', actions),
        button('Check', actions.check, { kind: 'main' }),
      ]),
  ]);
}

function tableExists(code: string | undefined): VNode | null {
  if (code !== 'table-exists') return null;
  return h('p', null, [
    'Go back to the columns, and choose what to do with the existing table, or choose another name.',
  ]);
}

function checking(
  { file, inspection }: State,
  { sentBytes, load }: { sentBytes: number; load?: { state: string; rows_read: number } | undefined },
  actions: Actions,
): VNode {
  const bytes = file?.size ?? 0;
  const rows = inspection.is === 'ready' ? inspection.value.rowCount : 0;
  const read = load?.rows_read ?? 0;
  const isSent = load !== undefined && load.state !== 'receiving';
  return h('div', { class: 'card stack' }, [
    bar(
      'Sending',
      isSent || bytes === 0 ? 1 : Math.min(1, sentBytes / bytes),
      `${sizeInWords(isSent ? bytes : Math.min(sentBytes, bytes))} of ${sizeInWords(bytes)}`,
    ),
    bar(
      'Rows',
      rows === 0 ? undefined : Math.min(1, read / rows),
      `${countInWords(read)} of ${plural(rows, 'row')}`,
    ),
    busy('The service loads every row, checks it, and then takes everything back. Nothing is changed.'),
    h('div', null, button('Stop', actions.stopCheck)),
  ]);
}

function checked(state: State, found: Checked, actions: Actions): VNode[] {
  const isStale = requestText(state) !== state.checkedRequest;
  const { result, failure, isCheckedAgain } = found;
  const warnings = result?.load.warnings ?? failure?.warnings ?? [];
  const loss = result ? (lossWords(state) ?? deletedWords(state, result.load)) : undefined;
  return [
    isStale && !isCheckedAgain
      ? h('div', { class: 'notice warn', role: 'status' }, [
          h('p', null, 'You have changed the request since this check.'),
          button('Check again', actions.check),
        ])
      : h('div', null),
    result ? passed(state, result.load, actions) : h('div', null),
    failure ? problems(state, found, isStale, actions) : h('div', null),
    correctionsView(state, isStale || isCheckedAgain, actions) ?? h('div', null),
    h(
      'div',
      null,
      warningList(warnings, (warning) => offeredChoices(state, warning, 'name'), actions.takeChoice),
    ),
    (result && differenceView(state, result.load, actions)) ?? h('div', null),
    h('div', { class: 'action-bar' }, [
      h('div', { class: 'action-text' }, [
        isCheckedAgain
          ? busy('The corrected cells are being checked.')
          : result
            ? 'The load does the same, and keeps the rows.'
            : 'Nothing was changed.',
        loss ? h('strong', { class: 'bad-text' }, [' ', data(loss)]) : null,
      ]),
      saveButton(state, actions),
      stepButton('Back to the columns', 'columns', actions),
      button('Check again', actions.check),
      button(loadLabel(state, loss), actions.load, {
        kind: 'main',
        disabled: !result || isStale,
        id: 'load',
      }),
    ]),
  ];
}

/** The button names the table, because this is the last moment to see that it is the wrong one. */
function loadLabel({ target }: State, loss: string | undefined): Child {
  const table = data(shortened(target.table));
  if (!loss) return ['Load into ', table];
  if (target.ifExists === 'truncate') return ['Empty ', table, ' and load'];
  return target.ifExists === 'replace' ? ['Replace ', table, ' and load'] : ['Delete and load into ', table];
}

function passed(state: State, load: LoadResult['load'], actions: Actions): VNode {
  const { target } = state;
  const { rows, updated, changed, unchanged, skipped } = load;
  const { rows_left_out: leftOut = 0, left_out: problems = [] } = load;
  const parts = [
    rows > 0 || updated + skipped + leftOut === 0 ? `${plural(rows, 'row')} would be loaded` : '',
    changed > 0 ? `${plural(changed, 'row')} would be changed` : '',
    unchanged > 0 ? `${plural(unchanged, 'row')} would stay unchanged` : '',
    skipped > 0 ? `${plural(skipped, 'row')} would be left out, because the key already exists` : '',
    leftOut > 0 ? `${plural(leftOut, 'row')} with problems would be left out` : '',
  ].filter(Boolean);
  const isNothing = rows + updated === 0 && skipped + leftOut > 0;
  const rest = (load.left_out_count ?? problems.length) - problems.length;
  return h('div', { class: `notice ${isNothing ? 'warn' : 'good'}`, role: 'status' }, [
    h('p', { class: 'notice-title' }, [
      isNothing ? 'No row would be loaded' : `The ${leftOut > 0 ? 'other rows fit' : 'file fits'} the table`,
    ]),
    h('p', null, [
      `${parts.join('; ')}. The table is `,
      h('code', null, data(`${target.schema}.${target.table}`)),
      '.',
    ]),
    problems.length > 0 && [
      h('details', { class: 'more', open: problems.length <= maxOpenProblems }, [
        h('summary', null, 'The rows with problems'),
        h('ul', null, [
          problems.map((problem) =>
            h('li', null, [
              data(placeOf(problem)),
              ': ',
              problem.column ? [data(problem.column), ' '] : null,
              data(reasonInWords(problem)),
            ]),
          ),
        ]),
        rest > 0 && h('p', null, `and ${plural(rest, 'more problem')}`),
      ]),
      h('p', { class: 'notice-actions' }, button('Do not leave out rows', actions.keepFaultyRows)),
      load.id !== undefined && faultyRowsButtons(state, load.id, target.table, actions),
    ],
  ]);
}

const maxOpenProblems = 10;

function problems(state: State, found: Checked, isStale: boolean, actions: Actions): VNode {
  const { all, isReadingAll, order, openGroup } = found;
  const { errors, errorCount, groups: counted, detail, title, code, loadId } = found.failure!;
  const reasonOf = reasonsNow(state, isStale || found.isCheckedAgain);
  const isAboutRows = code === 'invalid-data';
  const isOfPatch = isOfCorrections(found.failure!);
  const groups = isOfPatch ? [] : inOrder(groupProblems(all ?? errors, counted), order);
  // When the last problem of a group was corrected, the next group opens.
  const isGone = openGroup !== 'none' && !groups.some(({ key }) => key === openGroup);
  const open = isGone ? groups[0]?.key : openGroup;
  const isPart = all === undefined && errorCount > errors.length && loadId !== undefined;
  const words = isOfPatch
    ? 'The file does not have all of the corrected cells now. Undo the corrections that are refused below.'
    : isAboutRows
      ? detail.replace(countSentence, '')
      : detail;
  return h('div', { class: 'stack' }, [
    h('div', { class: 'notice bad' }, [
      h('p', { class: 'notice-title' }, isAboutRows ? `${plural(errorCount, 'problem')} in the data` : title),
      words !== '' && h('p', null, data(words)),
      isAboutRows &&
        h('p', { class: 'notice-actions' }, [
          loadId && button('Save all problems as .csv', actions.saveAllProblems, { disabled: isReadingAll }),
          isPart &&
            button(`List all ${countInWords(errorCount)} problems`, actions.readAllProblems, {
              disabled: isReadingAll,
            }),
          canLeaveOut(groups) &&
            button('Leave out the rows with problems', () =>
              actions.applyFix({ is: 'leave-out', count: errorCount, label: '' }),
            ),
          isReadingAll && busy('All problems are being read.'),
        ]),
      isAboutRows && canLeaveOut(groups) && loadId && repairHint(state, loadId, actions),
    ]),
    groups.map((group) => problemGroup(state, group, open === group.key, reasonOf, actions)),
    state.shownProblem && shownRow(state, state.shownProblem, reasonOf(state.shownProblem.problem), actions),
  ]);
}

function inOrder(groups: GroupedProblems[], order: string[]): GroupedProblems[] {
  const places = new Map(order.map((key, index) => [key, index]));
  const placeOf = ({ key }: GroupedProblems): number => places.get(key) ?? order.length;
  return groups.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** The title says the count already, and the foot of the page that nothing was changed. */
const countSentence = /There (is one problem|are \d+ problems) in the data[^.]*; nothing was changed\.( |$)/;

/** After a refusal nothing was loaded, and the file has only the rows with problems. */
function repairHint(state: State, load: string, actions: Actions): Child {
  return [
    faultyRowsButtons(state, load, state.target.table, actions),
    h('p', { class: 'hint' }, [
      'This file has only the rows with problems. Leave them out and load the other rows; then you can drop the repaired file.',
    ]),
  ];
}

function problemGroup(
  state: State,
  group: GroupedProblems,
  isOpen: boolean,
  reasonOf: (problem: Problem) => string,
  actions: Actions,
): VNode {
  const { key, column, code, count, detail, problems } = group;
  const rest = count - problems.length;
  const kind = kindInWords(code);
  // Fixes are for values of the file.
  const placeOfProblem = placesOfProblems(state);
  const own = uncorrected(state, problems, placeOfProblem);
  const found = replacement(state, problems, placeOfProblem);
  return h('section', { class: 'group', key }, [
    h('div', { class: 'group-head' }, [
      h('h2', null, [
        button(
          [
            h('span', { class: 'count' }, countInWords(count)),
            column === undefined ? kind : [data(column), h('span', { class: 'dim' }, ` ${kind}`)],
          ],
          () => actions.openGroup(isOpen ? 'none' : key),
          { class: 'group-title', 'aria-expanded': isOpen },
        ),
      ]),
      h('div', { class: 'fixes' }, [
        found && replaceButton(found, rest > 0, () => actions.correctLike(found.newest, problems, count)),
        fixesOf(
          { ...group, problems: own, count: own.length + rest },
          mayKeepDefinition(state),
          state.reading,
        ).map((fix) => button(fix.label, () => actions.applyFix(fix), { kind: 'fix' })),
      ]),
    ]),
    !isOpen && detail !== '' && h('p', { class: 'group-detail' }, data(detail)),
    isOpen && [
      groupRows(state, group, reasonOf, actions),
      rest > 0 && h('p', { class: 'hint' }, `${countInWords(rest)} more are not listed yet.`),
    ],
  ]);
}

function groupRows(
  state: State,
  { code, problems }: GroupedProblems,
  reasonOf: (problem: Problem) => string,
  actions: Actions,
): VNode {
  const placeOfProblem = placesOfProblems(state);
  const fieldOf = cellFields(state, actions.correct);
  return problemRows(
    `Problems: ${kindInWords(code)}`,
    problems,
    (problem) => {
      const place = placeOfProblem(problem);
      const isShown = state.shownProblem?.problem === problem;
      const reason = reasonOf(problem);
      return [
        button(data(placeOf(problem, state.columns)), () => actions.showProblem(problem), {
          kind: 'link',
          'aria-pressed': isShown,
        }),
        place === undefined ? problemValue(problem) : fieldOf(place, problem.value ?? null, reason),
        reason,
      ];
    },
    (problem) => {
      const place = placeOfProblem(problem);
      return place === undefined ? fullPlaceOf(problem) : keyOfPlace(place);
    },
  );
}

function shownRow(state: State, { problem, row }: ShownProblem, reason: string, actions: Actions): VNode {
  const fieldOf = cellFields(state, actions.correct);
  return h('aside', { class: 'shown-row', 'aria-label': 'The row of the problem' }, [
    h('div', { class: 'panel-head' }, [
      h('h2', null, data(placeOf(problem))),
      button('Close', () => actions.showProblem(undefined), { kind: 'quiet' }),
    ]),
    h('p', null, data(reason)),
    row.is === 'none' && h('p', { class: 'hint' }, 'The row cannot be shown here.'),
    remoteView(row, 'The row is being read.', ({ names, values, places, marked }) =>
      h(VirtualGrid, {
        label: 'The row',
        columnCount: names.length,
        rowCount: 1,
        columnWidth: 170,
        rowHeight: 40,
        headHeight: 32,
        maxHeight: 104,
        shownColumn: marked,
        head: (column: number) => data(names[column] ?? ''),
        cell: (_: number, column: number) => {
          const value = values[column] ?? null;
          const place = places[column];
          const kind = column === marked ? 'at-fault' : '';
          if (place !== undefined) return { content: fieldOf(place, value), kind: `${kind} edited` };
          return { content: value === null ? 'empty' : h('bdi', null, shortened(value)), kind };
        },
      }),
    ),
  ]);
}
