/** Groups problems, and describes their places. */
import type { InspectedSpreadsheet, Problem } from '../../client/client.ts';
import { uploadParameters } from '../../client/parameters.ts';
import type { ProblemGroup } from '../failure.ts';
import type { ColumnPlan, ShownRow } from '../state.ts';
import { countInWords } from './words.ts';

/** Returns the values of one row for all columns of the plan, with those cells of the row that are in no column. @param marked the number of a column of the sheet */
export function rowOfSheet(
  { sheet }: InspectedSpreadsheet,
  columns: ColumnPlan[],
  { row, marked }: { row: number; marked: number | undefined },
): ShownRow {
  const [values = []] = sheet.rows;
  // The answer leaves out columns without any value.
  const byLetters = new Map(sheet.columns.map(({ letters = '' }, index) => [letters, values[index] ?? null]));
  const known = new Set(columns.map(({ letters }) => letters));
  const others = [...byLetters.keys()].filter((letters) => !known.has(letters));
  const shown = [
    ...columns.map(({ letters = '', name, header }) => ({ letters, name, header })),
    ...others.map((letters) => ({ letters, name: letters, header: undefined })),
  ];
  return {
    names: shown.map(({ name }) => name),
    values: shown.map(({ letters }) => byLetters.get(letters) ?? null),
    places: shown.map(({ letters, header }) =>
      header === undefined ? undefined : { cell: `${letters}${row}`, row: undefined, header },
    ),
    marked: shown.findIndex(({ letters }) => cellOf(`${letters}1`)?.column === marked),
  };
}

export interface GroupedProblems {
  key: string;
  column: string | undefined;
  code: string;
  count: number;
  detail: string;
  problems: Problem[];
}

/** Groups problems by column and kind, the largest group first. @param groups counts of all problems, while `problems` may be only the first */
export function groupProblems(problems: Problem[], groups: ProblemGroup[]): GroupedProblems[] {
  const byKey = new Map<string, GroupedProblems>();
  for (const { column, code, count } of groups) {
    const key = groupKey(column, code);
    byKey.set(key, { key, column, code, count, detail: '', problems: [] });
  }
  for (const problem of problems) {
    const key = groupKey(problem.column, problem.code);
    let group = byKey.get(key);
    if (group === undefined) {
      group = { key, column: problem.column, code: problem.code, count: 0, detail: '', problems: [] };
      byKey.set(key, group);
    }
    group.problems.push(problem);
    group.detail ||= reasonInWords(problem);
  }
  const all = [...byKey.values()];
  for (const group of all) group.count = Math.max(group.count, group.problems.length);
  return all.sort((a, b) => b.count - a.count);
}

/** What the codes mean whose words alone would not say it. */
const kinds: Record<string, string> = {
  'null-not-allowed': 'a value is missing',
  'not-unique': 'a key occurs more than once',
  'no-such-reference': 'no match in the other table',
  'check-violation': 'against a rule of the table',
  'refused-by-postgresql': 'refused by the database',
  'wrong-type': 'another kind of value',
  'not-in-date-order': 'not a date in the chosen order',
  'not-in-number-form': 'not a number with the chosen signs',
  'error-cell': 'an error of the sheet',
};

/** Returns the kind of a problem in words. */
export function kindInWords(code: string): string {
  return kinds[code] ?? code.replaceAll('-', ' ');
}

/** The forms and types of PostgreSQL in a reason. The numbers of the file may have another form, such as a decimal comma. */
const ofPostgres =
  / in the notation of the request|: expected digits with a point, as in -1234\.5 or 1e6|, as (big|small)?int(eger)? needs it/;

/** Returns the reason of a problem in words of the page. */
export function reasonInWords({ detail, code }: Pick<Problem, 'detail' | 'code'>): string {
  const words = plainWords(detail)
    .replace(ofPostgres, '')
    .replace(/ for bigint$/, ' for whole numbers');
  return words || kindInWords(code);
}

const names = uploadParameters.map(({ name }) => name);
const parameter = new RegExp(
  `\\b(?:${names.join('|')})=|\\b(?:${names.filter((name) => name.includes('_')).join('|')})\\b|\`[a-z_]+\``,
);

/** Returns a text of the service without what it says about parameters of requests, for which the page has buttons and fields. */
export function plainWords(detail: string): string {
  const plain = detail
    .replace(/ \([^()]*\)/g, (aside) => (parameter.test(aside) ? '' : aside))
    .replace(/ \((bigint|numeric|double precision|boolean|date|time[a-z ]*|interval|uuid|jsonb)\)/g, '');
  const sentences = plain.split(/(?<=[.!?]["”]?) (?=[\p{Lu}"“])/u).flatMap((sentence) => {
    const clauses = sentence.split(/(?<=[:;,])\s+/);
    const end = clauses.findIndex((clause) => parameter.test(clause));
    if (end < 0) return [sentence];
    const isAdvised = /^if\b/.test(clauses[end - 1] ?? '');
    const kept = clauses.slice(0, isAdvised ? end - 1 : end).join(' ');
    if (kept === '' || /^(If|To|Send|With|Leave)\b/.test(sentence)) return [];
    return [kept.replace(/[:;,]$/, sentence.endsWith('.') ? '.' : '')];
  });
  return sentences.join(' ');
}

function groupKey(column: string | undefined, code: string): string {
  return `${code} ${column ?? ''}`;
}

/** Describes the place of a problem for the user. @param columns the columns of the definition that was sent */
export function placeOf(
  { cell, line, row, key, column, pointer, parameter }: Problem,
  columns: ColumnPlan[] = [],
): string {
  if (cell !== undefined) return cell;
  if (line !== undefined) return `line ${line}`;
  if (row !== undefined) return `row ${countInWords(row)}`;
  if (key !== undefined)
    return Object.entries(key)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ');
  if (pointer === undefined) return parameter === undefined ? '' : `parameter ${parameter}`;
  const [, index] = /^\/table\/columns\/(\d+)/.exec(pointer) ?? [];
  const included = columns.filter(({ isIncluded }) => isIncluded);
  return (index && (column ?? included[Number(index)]?.name)) || memberInWords(pointer);
}

/** Describes the place of a problem including its column, for a list without a heading for the column. */
export function fullPlaceOf(problem: Problem): string {
  const place = placeOf(problem);
  const { cell, column } = problem;
  return cell !== undefined || column === undefined || place === column ? place : `${place}, ${column}`;
}

/** Describes a JSON Pointer (RFC 6901) in words: `/table/columns/0/type` is “table, columns, 1st, type”. */
function memberInWords(pointer: string): string {
  if (pointer === '') return 'the whole document';
  const parts = pointer.slice(1).split('/');
  return parts.map((part) => memberName(part.replaceAll('~1', '/').replaceAll('~0', '~'))).join(', ');
}

/** In a pointer the elements count from 0; in the words they count from 1. */
function memberName(part: string): string {
  if (!/^\d+$/.test(part)) return part;
  const place = Number(part) + 1;
  const teens = place % 100 > 10 && place % 100 < 14;
  const ending = teens ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${countInWords(place)}${ending}`;
}

export interface Cell {
  column: number;
  row: number;
}

/** Parses the address of a cell: `Orders!C12` is column 3, row 12. */
export function cellOf(address: string): Cell | undefined {
  const [, letters, digits] = /(?:^|!)\$?([A-Z]{1,3})\$?(\d+)$/.exec(address) ?? [];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return { column, row: Number(digits) };
}
