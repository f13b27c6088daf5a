/** What was found about one of several tables: its problems and its warnings. */
import type { VNode } from 'preact';
import type { Problem } from '../../../client/client.ts';
import { fullPlaceOf, type GroupedProblems, kindInWords, plainWords } from '../../derived/problems.ts';
import type { PartOutcome } from '../../derived/together.ts';
import { warningWords } from '../../derived/warnings.ts';
import { countInWords, plural } from '../../derived/words.ts';
import type { Warning } from '../../failure.ts';
import { h } from '../../h.ts';
import { type Child, data } from '../parts.ts';
import { problemRows, problemValue } from '../problem-list.ts';

const maxGroups = 10;
const maxPlaces = 3;

/** How the cells of problems are corrected. */
export interface Editing {
  /** Returns the field of the cell of a problem; undefined: the cell cannot be corrected. */
  fieldOf(problem: Problem): VNode | undefined;
  /** Offers the newest correction for other cells of the group. */
  replaceIn(group: GroupedProblems): Child;
}

/** @param editing undefined: no cell can be corrected */
export function foundProblems(
  { problems, refusal }: PartOutcome,
  editing?: Editing,
  table = '',
): VNode | false {
  if (refusal === undefined && problems.length === 0) return false;
  return h('div', { class: 'notice bad' }, [
    refusal !== undefined && h('p', null, data(plainWords(refusal) || refusal)),
    problems.length > 0 &&
      h('ul', null, [
        problems
          .slice(0, maxGroups)
          .map((group) =>
            h('li', null, [
              group.column !== undefined && [h('strong', null, data(group.column)), ': '],
              data(group.detail || kindInWords(group.code)),
              editing === undefined ? places(group) : cells(group, editing, table),
            ]),
          ),
        problems.length > maxGroups && h('li', null, `and ${problems.length - maxGroups} more kinds`),
      ]),
  ]);
}

/** The first cells with the problem, each with its value. */
function places({ problems, count }: GroupedProblems): Child {
  const shown = problems.slice(0, maxPlaces);
  const cells = shown.map((problem, index) => [
    index > 0 && ', ',
    data(fullPlaceOf({ ...problem, column: undefined })),
    ' ',
    problemValue(problem),
  ]);
  const rest = count - shown.length;
  return [' (', cells, rest > 0 && ` and ${countInWords(rest)} more`, ')'];
}

/** The listed cells with the problem, each with its field. */
function cells(group: GroupedProblems, { fieldOf, replaceIn }: Editing, table: string): Child {
  const { code, column = '', problems, count } = group;
  const rest = count - problems.length;
  return [
    replaceIn(group),
    problemRows(
      `Problems of ${table} ${column}: ${kindInWords(code)}`,
      problems,
      (problem) => [
        data(fullPlaceOf({ ...problem, column: undefined })),
        fieldOf(problem) ?? problemValue(problem),
      ],
      fullPlaceOf,
    ),
    rest > 0 && h('p', { class: 'hint' }, `${countInWords(rest)} more are not listed.`),
  ];
}

const maxWarnings = 20;
/** More warnings are folded. */
const maxUnfolded = 3;

export function foundWarnings(warnings: Warning[]): VNode | false {
  if (warnings.length === 0) return false;
  return h('details', { class: 'notice warn', open: warnings.length <= maxUnfolded }, [
    h('summary', null, plural(warnings.length, 'warning')),
    h('ul', null, [
      warnings.slice(0, maxWarnings).map((warning) => h('li', null, data(warningWords(warning)))),
      warnings.length > maxWarnings && h('li', null, `and ${warnings.length - maxWarnings} more`),
    ]),
  ]);
}
