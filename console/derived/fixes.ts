/** The fixes that the page offers for problems. */
import type { ColumnPlan, Reading, State } from '../state.ts';
import { withKey } from './columns.ts';
import type { GroupedProblems } from './problems.ts';
import { escapedItem } from './words.ts';
import { yesNoHint } from './yes-no.ts';

export type Fix =
  | { is: 'text'; column: string; label: string }
  | { is: 'nullable'; column: string; label: string }
  | { is: 'null-value'; value: string; label: string }
  | { is: 'yes-no'; change: Partial<Reading>; label: string }
  | { is: 'errors-null'; label: string }
  | { is: 'no-key'; column: string; label: string }
  | { is: 'skip-repeated'; label: string }
  | { is: 'update-existing'; label: string }
  | { is: 'extra-columns'; choice: 'ignore' | 'add'; label: string }
  | { is: 'leave-out'; count: number; label: string };

const errorCellCodes = ['error-cell', 'formula-without-value', 'date-out-of-range'];

const valueCodes =
  /^(not-a|not-an|not-bytes|invalid-input|no-such-date|no-such-time|out-of-range|too-long|date-not-allowed|wrong-type|not-in-)/;

const maxNullWords = 3;

/** Returns the fixes for a group of problems. @param keeps true: the table exists and its columns keep their types */
export function fixesOf(group: GroupedProblems, keeps: boolean, reading: Reading): Fix[] {
  const { code, column, problems } = group;
  if (errorCellCodes.includes(code)) return [{ is: 'errors-null', label: 'Load such cells as empty' }];
  if (code === 'not-unique') {
    if (keeps) {
      return [
        { is: 'update-existing', label: 'Update the existing rows' },
        { is: 'skip-repeated', label: 'Keep the existing rows' },
      ];
    }
    return [
      { is: 'skip-repeated', label: 'Keep the first row of each key' },
      ...(column === undefined ? [] : [{ is: 'no-key' as const, column, label: `Make “${column}” no key` }]),
    ];
  }
  if (code === 'unknown-column') {
    return [
      { is: 'extra-columns', choice: 'ignore', label: 'Leave out columns that the table does not have' },
      { is: 'extra-columns', choice: 'add', label: 'Add these columns to the table' },
    ];
  }
  if (column === undefined) return [];
  if (code === 'null-not-allowed')
    return keeps ? [] : [{ is: 'nullable', column, label: `Allow empty cells in “${column}”` }];
  if (!valueCodes.test(code) || code.startsWith('not-unique')) return [];
  const toText: Fix[] = keeps ? [] : [{ is: 'text', column, label: `Make “${column}” text` }];
  // Words for yes and no are values: to treat them as empty would lose them.
  const yesNo = code === 'not-a-boolean' ? yesNoOf(problems, reading) : undefined;
  if (yesNo !== undefined) return [yesNo, ...toText];
  const words = new Set(problems.map(({ value }) => value ?? ''));
  const isFew = group.count === problems.length ? words.size <= maxNullWords : words.size === 1;
  const nullWords = isFew ? [...words].filter(isNullWord) : [];
  return [
    ...nullWords.map((value) => ({ is: 'null-value' as const, value, label: `Treat “${value}” as empty` })),
    ...toText,
  ];
}

function yesNoOf(problems: GroupedProblems['problems'], reading: Reading): Fix | undefined {
  const rows = problems.map(({ value }) => [value ?? null]);
  const hint = yesNoHint(reading, { header: [''], types: ['text'], rows }, false);
  return (
    hint && {
      is: 'yes-no',
      change: hint.change,
      label: `Read “${hint.yes}” and “${hint.no}” as true and false`,
    }
  );
}

/** Problems of the header or of the definition. They concern no single row, so leaving out rows does not help. */
const columnCodes = [
  'invalid-name',
  'no-column-in-common',
  'unknown-column',
  'repeated-column',
  'too-many-columns',
  'unknown-key',
];

/** Returns whether leaving out the rows with these problems would help. */
export function canLeaveOut(groups: Pick<GroupedProblems, 'code'>[]): boolean {
  return !groups.some(({ code }) => columnCodes.includes(code));
}

/** Returns whether a text may be a word for a missing value, such as "n/a". A text with a digit never is. */
function isNullWord(text: string): boolean {
  return text !== '' && text.length <= 20 && !/\d/.test(text);
}

/** Returns the state with the fix applied. */
export function withFix(state: State, fix: Fix): State {
  const change = (name: string, to: Partial<ColumnPlan>): ColumnPlan[] =>
    state.columns.map((column) => (column.name === name ? { ...column, ...to } : column));
  switch (fix.is) {
    case 'text':
      return { ...state, columns: change(fix.column, { type: 'text' }) };
    case 'nullable':
      return { ...state, columns: withoutKey(change(fix.column, { isNullable: true }), fix.column) };
    case 'no-key':
      return { ...state, columns: withoutKey(change(fix.column, { isUnique: false }), fix.column) };
    case 'null-value': {
      const before = state.reading.nullValues;
      const nullValues = before === '' ? escapedItem(fix.value) : `${before},${escapedItem(fix.value)}`;
      return { ...state, reading: { ...state.reading, nullValues } };
    }
    case 'yes-no':
      return { ...state, reading: { ...state.reading, ...fix.change } };
    case 'errors-null':
      return { ...state, reading: { ...state.reading, errorsAreNull: true } };
    case 'skip-repeated':
      return { ...state, target: { ...state.target, onConflict: 'skip' } };
    case 'update-existing':
      return { ...state, target: { ...state.target, onConflict: 'update' } };
    case 'extra-columns':
      return { ...state, rows: { ...state.rows, extraColumns: fix.choice } };
    case 'leave-out':
      return { ...state, rows: { ...state.rows, leaveOutFaulty: true, maxFaulty: Math.max(100, fix.count) } };
  }
}

function withoutKey(columns: ColumnPlan[], name: string): ColumnPlan[] {
  const index = columns.findIndex((column) => column.name === name);
  return index >= 0 && columns[index]!.keyPlace > 0 ? withKey(columns, index, false) : columns;
}
