/** Turns the choices that a warning of the service lists into buttons: each one changes how the file is read, or the type of a column. */
import type { Warning } from '../failure.ts';
import type { Reading, State } from '../state.ts';
import { readingQuery, readingWith } from './file.ts';
import { keepsDefinition } from './target.ts';

type Choice = NonNullable<Warning['choices']>[number];

/** A choice that the page can apply. */
export interface OfferedChoice {
  label: string;
  reading: Reading;
  columns: State['columns'];
}

/**
 * Returns the choices of a warning that the page can apply and that change something.
 *
 * @param by what the warning calls a column: its header in an inspection, its name in a check or load
 */
export function offeredChoices(
  state: Pick<State, 'file' | 'reading' | 'columns' | 'existing' | 'target'>,
  { choices = [], column }: Warning,
  by: 'header' | 'name',
): OfferedChoice[] {
  const { file, reading, columns } = state;
  if (file === undefined) return [];
  return choices.flatMap((choice): OfferedChoice[] => {
    const changed = readingOf(reading, choice);
    const { type } = choice;
    // An existing table decides the types of its columns.
    if (changed === undefined || (type !== undefined && keepsDefinition(state))) return [];
    const typed =
      type === undefined ? columns : columns.map((plan) => (plan[by] === column ? { ...plan, type } : plan));
    const isSameReading =
      JSON.stringify(readingQuery(changed, file.kind)) === JSON.stringify(readingQuery(reading, file.kind));
    const isSameType = typed.every((plan, index) => plan.type === columns[index]!.type);
    if (isSameReading && isSameType) return [];
    return [{ label: labelOf(choice, column), reading: isSameReading ? reading : changed, columns: typed }];
  });
}

/** Returns the reading with the parameters of a choice; undefined: the page does not have one of them. */
function readingOf(reading: Reading, { parameters, type }: Choice): Reading | undefined {
  // The signs of a choice are those of a whole notation, so they replace both.
  const isOfSigns = 'decimal_sign' in parameters || 'thousands_sign' in parameters;
  let changed: Reading = isOfSigns ? { ...reading, decimalSign: '.', thousandsSign: 'none' } : reading;
  for (const [name, value] of Object.entries(parameters)) {
    // The page sends all columns, so that a definition need not add them.
    if (name === 'extra_columns' && type !== undefined) continue;
    const change = changes[name]?.(value, changed);
    if (change === undefined) return undefined;
    changed = readingWith(changed, change);
  }
  return changed;
}

/** What each parameter changes. */
const changes: Record<string, (value: string, reading: Reading) => Partial<Reading>> = {
  null_values: (value, { nullValues }) => ({ nullValues: joinedItems(nullValues, value) }),
  date_order: (value) => ({ dateOrder: value as Reading['dateOrder'] }),
  decimal_sign: (value) => ({ decimalSign: value as Reading['decimalSign'] }),
  thousands_sign: (value) => ({ thousandsSign: value as Reading['thousandsSign'] }),
  trim: (value) => ({ trim: value === 'true' }),
  values: (value) => ({ isNatural: value === 'natural' }),
  sheet: (sheet) => ({ sheet, headerRow: undefined, hasHeader: true, range: '', tableRange: '' }),
  header: (value) => ({ hasHeader: value !== 'false', headerRow: undefined }),
  header_row: (value) => ({ hasHeader: true, headerRow: value === 'auto' ? 'auto' : Number(value) }),
  header_rows: (value) => ({ headerRows: Number(value) }),
  range: (range) => ({ range, tableRange: '', headerRow: undefined }),
  hidden: (value) => ({ skipHidden: value === 'skip' }),
  footer: (value) => ({ skipFooter: value === 'skip' }),
  cell_errors: (value) => ({ errorsAreNull: value === 'null' }),
  rows_at: (rowsAt) => ({ rowsAt }),
};

/** Returns the change to another decimal sign. If it separated thousands, nothing does now, because the service refuses equal signs. */
export function withDecimalSign(
  { thousandsSign }: Reading,
  decimalSign: Reading['decimalSign'],
): Partial<Reading> {
  return { decimalSign, ...(decimalSign === thousandsSign && { thousandsSign: 'none' }) };
}

/** Returns the change to another sign between thousands. If it was the decimal sign, that becomes the other of point and comma. */
export function withThousandsSign(
  { decimalSign }: Reading,
  thousandsSign: Reading['thousandsSign'],
): Partial<Reading> {
  return {
    thousandsSign,
    ...(thousandsSign === decimalSign && { decimalSign: thousandsSign === ',' ? '.' : ',' }),
  };
}

/** Adds the items of one list to another, each only once. */
function joinedItems(list: string, more: string): string {
  return [...new Set([...itemsOf(list), ...itemsOf(more)])].join(',');
}

/** Returns the items of a list as they are written, with the backslashes before their commas. */
function itemsOf(list: string): string[] {
  if (list === '') return [];
  const items = [''];
  for (const [part] of list.matchAll(/\\?./gsu)) {
    if (part === ',') items.push('');
    else items[items.length - 1] += part;
  }
  return items;
}

/** Says what the choice does. */
function labelOf({ parameters, type }: Choice, column = ''): string {
  const parts = [
    ...(type === undefined ? [] : [`Make “${column}” ${type}`]),
    ...signWords(parameters),
    ...Object.entries(parameters).flatMap(([name, value]) => words[name]?.(value) ?? []),
  ];
  return parts
    .map((part, index) => (index === 0 ? part : part[0]!.toLowerCase() + part.slice(1)))
    .join(', and ');
}

const words: Record<string, (value: string) => string> = {
  null_values: (value) =>
    `Treat ${itemsOf(value)
      .map((item) => `“${item.replace(/\\(.)/gs, '$1')}”`)
      .join(', ')} as empty`,
  date_order: (value) => `Read dates as ${orders[value] ?? value}`,
  trim: () => 'Remove white space around texts',
  values: () => 'Read each column in the notation of its values',
  sheet: (value) => `Read the sheet “${value}”`,
  header: () => 'There is no header: load the first row',
  header_row: (value) => (value === 'auto' ? 'Find the header' : `Take row ${value} as the header`),
  header_rows: (value) => `Join ${value} rows to the header`,
  range: (value) => `Load only ${value}`,
  hidden: () => 'Leave out hidden rows and columns',
  footer: () => 'Leave out everything below the first empty row',
  cell_errors: () => 'Load such cells as NULL',
  rows_at: (value) => `Load the rows at ${value}`,
};

const orders: Record<string, string> = {
  dmy: 'day, month, year',
  mdy: 'month, day, year',
  ymd: 'year, month, day',
};

/** Shows the signs of numbers by an example. */
function signWords({ decimal_sign: decimal, thousands_sign: thousands }: Record<string, string>): string[] {
  if (decimal === undefined && thousands === undefined) return [];
  const between = thousands === 'space' ? ' ' : (thousands ?? '');
  return [`Read numbers such as 1${between}234${decimal === undefined ? '' : `${decimal}5`}`];
}
