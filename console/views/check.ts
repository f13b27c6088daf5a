/** Step 3: the dry run and its problems. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { offeredChoices } from '../derived/choices.ts';
import { canLeaveOut, fixesOf } from '../derived/fixes.ts';
import { type GroupedProblems, groupProblems, placeOf } from '../derived/problems.ts';
import { requestText } from '../derived/request.ts';
import { deletedWords, lossWords, mayKeepDefinition } from '../derived/target.ts';
import { countInWords, plural, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { LoadResult } from '../load-outcome.ts';
import type { Checked, ShownProblem, State, Target } from '../state.ts';
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
  problemCells,
  shortened,
  stepButton,
  warningList,
} from './parts.ts';
import { saveButton } from './profiles.ts';
import { VirtualGrid, VirtualRows } from './virtual-grid.ts';

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
    busy('Every row is loaded, checked and rolled back. Nothing is changed.'),
    h('div', null, button('Stop', actions.stopCheck)),
  ]);
}

function checked(state: State, found: Checked, actions: Actions): VNode[] {
  const isStale = requestText(state) !== state.checkedRequest;
  const { result, failure } = found;
  const warnings = result?.load.warnings ?? failure?.warnings ?? [];
  const loss = result ? (lossWords(state) ?? deletedWords(state, result.load)) : undefined;
  return [
    isStale
      ? h('div', { class: 'notice warn', role: 'status' }, [
          h('p', null, 'You have changed the request since this check.'),
          button('Check again', actions.check),
        ])
      : h('div', null),
    result ? passed(state, result.load, actions) : h('div', null),
    failure ? problems(state, found, actions) : h('div', null),
    warningList(warnings, (warning) => offeredChoices(state, warning, 'name'), actions.takeChoice) ??
      h('div', null),
    (result && differenceView(state, result.load, actions)) ?? h('div', null),
    h('div', { class: 'action-bar' }, [
      h('div', { class: 'action-text' }, [
        result ? 'The load does the same, and keeps the rows.' : 'Nothing was changed.',
        loss ? h('strong', { class: 'bad-text' }, [' ', data(loss)]) : null,
      ]),
      saveButton(state, actions),
      stepButton('Back to the columns', 'columns', actions),
      button('Check again', actions.check),
      button(loss ? (lossButton[state.target.ifExists] ?? 'Delete and load') : 'Load', actions.load, {
        kind: 'main',
        disabled: !result || isStale,
        id: 'load',
      }),
    ]),
  ];
}

const lossButton: Partial<Record<Target['ifExists'], string>> = {
  truncate: 'Empty and load',
  replace: 'Replace and load',
};

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
              data(problem.detail),
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

function problems(state: State, { failure, all, isReadingAll, openGroup }: Checked, actions: Actions): VNode {
  const { errors, errorCount, groups: counted, detail, title } = failure!;
  const isAboutRows = failure!.code === 'invalid-data';
  const groups = groupProblems(all ?? errors, counted);
  const isPart = all === undefined && errorCount > errors.length && failure!.loadId !== undefined;
  return h('div', { class: 'stack' }, [
    h('div', { class: 'notice bad' }, [
      h('p', { class: 'notice-title' }, isAboutRows ? `${plural(errorCount, 'problem')} in the data` : title),
      h('p', null, data(detail)),
      isAboutRows &&
        h('p', { class: 'notice-actions' }, [
          failure!.loadId
            ? button('Save all problems as .csv', actions.saveAllProblems, { disabled: isReadingAll })
            : null,
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
      isAboutRows && canLeaveOut(groups) && failure!.loadId && repairHint(state, failure!.loadId, actions),
    ]),
    groups.map((group) => problemGroup(state, group, (openGroup ?? groups[0]?.key) === group.key, actions)),
    state.shownProblem && shownRow(state.shownProblem, actions),
  ]);
}

/** After a refusal nothing was loaded, and the file has only the rows with problems. */
function repairHint(state: State, load: string, actions: Actions): Child {
  return [
    faultyRowsButtons(state, load, state.target.table, actions),
    h('p', { class: 'hint' }, [
      'This file has only the rows with problems. Leave them out and load the other rows; then you can drop the repaired file.',
    ]),
  ];
}

const problemHeight = 34;

function problemGroup(state: State, group: GroupedProblems, isOpen: boolean, actions: Actions): VNode {
  const { key, column, code, count, detail, problems } = group;
  const rest = count - problems.length;
  return h('section', { class: 'group', key }, [
    h('div', { class: 'group-head' }, [
      h('h2', null, [
        button(
          [
            h('span', { class: 'count' }, countInWords(count)),
            column === undefined ? code : [data(column), h('span', { class: 'dim' }, ` ${code}`)],
          ],
          () => actions.openGroup(isOpen ? 'none' : key),
          { class: 'group-title', 'aria-expanded': isOpen },
        ),
      ]),
      h('div', { class: 'fixes' }, [
        fixesOf(group, mayKeepDefinition(state)).map((fix) =>
          button(fix.label, () => actions.applyFix(fix), { kind: 'fix' }),
        ),
      ]),
    ]),
    detail ? h('p', { class: 'group-detail' }, data(detail)) : null,
    isOpen && [
      h(VirtualRows, {
        label: `Problems: ${code}`,
        count: problems.length,
        rowHeight: problemHeight,
        maxHeight: 12 * problemHeight,
        row: (index: number) => {
          const problem = problems[index]!;
          const value =
            problem.value === undefined
              ? h('span', { class: 'null' }, 'no value')
              : h('bdi', null, shortened(problem.value));
          return button(
            problemCells(placeOf(problem, state.columns), value, problem),
            () => actions.showProblem(problem),
            { class: 'problem', 'aria-pressed': state.shownProblem?.problem === problem },
          );
        },
      }),
      rest > 0 && h('p', { class: 'hint' }, `${countInWords(rest)} more are not listed yet.`),
    ],
  ]);
}

function shownRow({ problem, row }: ShownProblem, actions: Actions): VNode {
  return h('aside', { class: 'shown-row', 'aria-label': 'The row of the problem' }, [
    h('div', { class: 'panel-head' }, [
      h('h2', null, data(placeOf(problem))),
      button('Close', () => actions.showProblem(undefined), { kind: 'quiet' }),
    ]),
    h('p', null, data(problem.detail)),
    row.is === 'busy' && busy('The row is being read.'),
    row.is === 'failed' && failureBox(row.failure),
    row.is === 'none' && h('p', { class: 'hint' }, 'The row cannot be shown here.'),
    row.is === 'ready' &&
      h(VirtualGrid, {
        label: 'The row',
        columnCount: row.value.names.length,
        rowCount: 1,
        columnWidth: 170,
        rowHeight: 36,
        headHeight: 32,
        maxHeight: 100,
        shownColumn: row.value.marked,
        head: (column: number) => data(row.value.names[column] ?? ''),
        cell: (_: number, column: number) => {
          const value = row.value.values[column] ?? null;
          return {
            content: value === null ? 'empty' : h('bdi', null, shortened(value)),
            kind: `${value === null ? 'null' : ''}${column === row.value.marked ? ' at-fault' : ''}`,
          };
        },
      }),
  ]);
}
