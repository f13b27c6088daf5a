/** Turns the choices that a warning of the service lists into buttons. A choice changes how the file is read, or the type of a column. */
import type { Warning } from '../failure.ts';
import type { Reading, State } from '../state.ts';
import { wordsOfType } from './columns.ts';
import { readingQuery, readingWith } from './file.ts';
import { isFileParameter } from './file-parameters.ts';
import { keepsDefinition } from './target.ts';
import { splitItems } from './words.ts';

type Choice = NonNullable<Warning['choices']>[number];

/** A choice that the page can apply. */
export interface OfferedChoice {
  label: string;
  reading: Reading;
  columns: State['columns'];
  /** The place of the column that gets another type; undefined: the choice also changes how the file is read. */
  typed?: number;
}

/**
 * Returns the choices of a warning that the page can apply and that would change something.
 *
 * @param by the member of a column that the warning names: its header (inspection) or its name (check or load)
 */
export function offeredChoices(
  state: Pick<State, 'file' | 'reading' | 'columns' | 'existing' | 'target'>,
  { code, choices = [], column }: Warning,
  by: 'header' | 'name',
): OfferedChoice[] {
  const { file, reading, columns } = state;
  if (file === undefined) return [];
  return choices.flatMap((choice): OfferedChoice[] => {
    const changed = readingOf(reading, choice);
    const { type } = choice;
    // The columns of an existing table keep their types.
    if (changed === undefined || (type !== undefined && keepsDefinition(state))) return [];
    const typed =
      type === undefined ? columns : columns.map((plan) => (plan[by] === column ? { ...plan, type } : plan));
    const isSameReading =
      JSON.stringify(readingQuery(changed, file.kind)) === JSON.stringify(readingQuery(reading, file.kind));
    const isSameType = typed.every((plan, index) => plan.type === columns[index]!.type);
    if (isSameReading && isSameType) return [];
    const label = code === 'rows-not-read' ? 'Read these rows, too' : labelOf(choice, column);
    return [
      {
        label,
        reading: isSameReading ? reading : changed,
        columns: typed,
        ...(isSameReading && { typed: columns.findIndex((plan) => plan[by] === column) }),
      },
    ];
  });
}

/** Puts one choice for all columns that can get types of the same words before the choices for each of them. */
export function withJointChoices(choices: OfferedChoice[]): OfferedChoice[] {
  const single = choices.filter(({ typed }) => typed !== undefined);
  const byWords = Map.groupBy(single, ({ columns, typed }) => wordsOfType(columns[typed!]!.type));
  const joint = [...byWords].flatMap(([of, some]): OfferedChoice[] => {
    const byPlace = new Map(some.map((choice) => [choice.typed, choice]));
    if (byPlace.size < 2) return [];
    const [{ reading, columns }] = some as [OfferedChoice];
    const all = columns.map((plan, index) => byPlace.get(index)?.columns[index] ?? plan);
    return [{ label: `Make these ${byPlace.size} columns ${of}`, reading, columns: all }];
  });
  return [...joint, ...choices];
}

/** Returns the parameters of the file changed by a choice; undefined: the page has no field for one of its parameters. */
function readingOf(reading: Reading, { parameters, type }: Choice): Reading | undefined {
  // A choice of signs describes a complete notation, so it replaces both the decimal sign and the sign between thousands.
  const isOfSigns = 'decimal_sign' in parameters || 'thousands_sign' in parameters;
  let changed: Reading = isOfSigns ? { ...reading, decimalSign: '.', thousandsSign: 'none' } : reading;
  for (const [name, value] of Object.entries(parameters)) {
    // A choice with a type has `extra_columns=add` for a definition with only this column. The definition of the page has all columns.
    if (name === 'extra_columns' && type !== undefined) continue;
    const next = withParameter(changed, name, value);
    if (next === undefined) return undefined;
    changed = next;
  }
  return changed;
}

/** Returns the settings with a parameter of how the file is read; undefined: the page has no field for it. */
export function withParameter(reading: Reading, name: string, value: string): Reading | undefined {
  const change = isFileParameter(name)
    ? { more: { ...reading.more, [name]: value } }
    : changes[name]?.(value, reading);
  return change && readingWith(reading, change);
}

/** How the value of each parameter changes the settings of the page. */
const changes: Record<string, (value: string, reading: Reading) => Partial<Reading>> = {
  null_values: (value, { nullValues }) => ({ nullValues: joinedItems(nullValues, value) }),
  date_order: (value) => ({ dateOrder: value as Reading['dateOrder'] }),
  decimal_sign: (value) => ({ decimalSign: value as Reading['decimalSign'] }),
  thousands_sign: (value) => ({ thousandsSign: value as Reading['thousandsSign'] }),
  trim: (value) => ({ trim: value === 'true' }),
  values: (value) => ({ isNatural: value === 'natural' }),
  languages: (languages) => ({ languages }),
  table_range: (tableRange) => ({ tableRange, range: '', headerRow: undefined }),
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

/** Changes the decimal sign. If this sign separated the thousands before, no sign does now: the service refuses equal signs. */
export function withDecimalSign(
  { thousandsSign }: Reading,
  decimalSign: Reading['decimalSign'],
): Partial<Reading> {
  return { decimalSign, ...(decimalSign === thousandsSign && { thousandsSign: 'none' }) };
}

/** Changes the sign between thousands. If this sign was the decimal sign, the decimal sign becomes the other one of point and comma. */
export function withThousandsSign(
  { decimalSign }: Reading,
  thousandsSign: Reading['thousandsSign'],
): Partial<Reading> {
  return {
    thousandsSign,
    ...(thousandsSign === decimalSign && { decimalSign: thousandsSign === ',' ? '.' : ',' }),
  };
}

/** Appends the items of one list to another, without repeating any. */
function joinedItems(list: string, more: string): string {
  return [...new Set([...splitItems(list, ','), ...splitItems(more, ',')])].join(',');
}

/** Returns the label of the button, which says what the choice does. */
function labelOf({ parameters, type }: Choice, column = ''): string {
  const parts = [
    ...(type === undefined ? [] : [`Make “${column}” ${wordsOfType(type)}`]),
    ...signWords(parameters),
    ...Object.entries(parameters).flatMap(([name, value]) => words[name]?.(value) ?? []),
  ];
  return parts
    .map((part, index) => (index === 0 ? part : part[0]!.toLowerCase() + part.slice(1)))
    .join(', and ');
}

const words: Record<string, (value: string) => string> = {
  null_values: (value) =>
    `Treat ${splitItems(value, ',')
      .map((item) => `“${item.replace(/\\(.)/gs, '$1')}”`)
      .join(', ')} as empty`,
  date_order: (value) => `Read dates as ${orders[value] ?? value}`,
  trim: () => 'Remove white space around texts',
  values: () => 'Read dates, numbers and words as people write them',
  sheet: (value) => `Read the sheet “${value}”`,
  header: () => 'There is no header: load the first row',
  header_row: (value) => (value === 'auto' ? 'Find the header' : `Take row ${value} as the header`),
  header_rows: (value) => `Join ${value} rows to the header`,
  range: (value) => `Load only ${value}`,
  hidden: () => 'Leave out hidden rows and columns',
  footer: () => 'Leave out everything below the first empty row',
  cell_errors: () => 'Load such cells as empty',
  rows_at: (value) => `Load the rows at ${value}`,
  encoding: (value) => `Read the file as ${value}`,
  delimiter: (value) => `Separate fields by “${value}”`,
  quote: (value) => (value === 'none' ? 'Read quotation marks as text' : `Take ${value} as quotation mark`),
  quotes: () => 'Refuse wrong quotation marks',
  escape: () => 'Read backslashes as text',
  comment: (value) => `Leave out lines that begin with ${value}`,
};

const orders: Record<string, string> = {
  dmy: 'day, month, year',
  mdy: 'month, day, year',
  ymd: 'year, month, day',
};

/** Describes the signs of numbers by an example number. */
function signWords({ decimal_sign: decimal, thousands_sign: thousands }: Record<string, string>): string[] {
  if (decimal === undefined && thousands === undefined) return [];
  const between = thousands === 'space' ? ' ' : (thousands ?? '');
  return [`Read numbers such as 1${between}234${decimal === undefined ? '' : `${decimal}5`}`];
}
