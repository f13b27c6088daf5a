/**
 * Reports on columns whose types were inferred: problems of names that no table can have, and warnings about odd values that made a
 * column text.
 */

import type { LocateCell } from '../../core/cells/cell-sink.ts';
import type { Problem, Warning } from '../../core/errors.ts';
import { identifierProblem, isSystemColumn } from '../../core/identifiers.ts';
import { shortenValue } from '../problems/problems.ts';
import { roundedDigits } from '../problems/rounded-digits.ts';
import type { ShortYear } from '../text-reading/text-reading.ts';
import { describeAltered } from './altered-number.ts';
import type { InferredColumn, InferredType, TypeInference } from './infer-types.ts';
import type { Oddity } from './odd-values.ts';
import { asNull, queryText } from './query-text.ts';
import { type FormHint, isNullWord } from './text-forms.ts';
import { isNumberType } from './type-of.ts';

/** Returns a problem for each column of the data whose name cannot be the name of a table's column. */
export function impossibleNames(inference: TypeInference, locate: LocateCell): Problem[] {
  return inference.columns().flatMap(({ name, column }): Problem[] => {
    const fault = isSystemColumn(name)
      ? 'is the name of a system column of every table'
      : identifierProblem(name);
    if (fault === undefined) return [];
    const row = inference.firstRow(column);
    return [
      {
        ...locate(row, column, name),
        ...(row > 0 && { row }),
        column: shortenValue(name),
        code: 'invalid-name',
        detail: `cannot be the name of a column: it ${fault}. Rename it with \`rename\`, in the header or in the keys of the rows`,
      },
    ];
  });
}

/** Returns one warning for each column that is text because of a few odd values. Columns with a hint are left out, because `otherReadings` warns of them. */
export function mixedColumns(columns: InferredColumn[], locate: LocateCell): Warning[] {
  return columns.flatMap(({ name, column, oddity, altered, hint }): Warning[] => {
    if (oddity === undefined || hint !== undefined) return [];
    const { row, value } = oddity.first;
    const place = locate(row, column, name).cell ?? `row ${row}`;
    const found = `Column "${shortenValue(name)}" became text because of ${explainOddity(oddity, JSON.stringify(value), place)}.`;
    // Codes such as `007` would lose their zeros as numbers, so the warning offers no other type.
    if (isNumberType(oddity.type) && altered !== undefined) {
      const where = locate(altered.row, column, name).cell ?? `row ${altered.row}`;
      const what = altered.row === row ? 'it' : `${JSON.stringify(altered.value)} in ${where}`;
      const detail = `${found} As a number ${what} would ${describeAltered(altered.value)}.`;
      return [{ code: 'mixed-column', column: name, detail }];
    }
    // A word such as `n/a` usually means that there is no value, so the warning suggests `null_values`.
    if (!isNullWord(value)) {
      const choices = [{ parameters: { extra_columns: 'add' }, type: oddity.type }];
      return [{ code: 'mixed-column', column: name, detail: found, choices }];
    }
    const parameters = asNull([value]);
    const detail = `${found} Send ${queryText(parameters)} to load this as NULL.`;
    return [{ code: 'mixed-column', column: name, detail, choices: [{ parameters }] }];
  });
}

/** Returns one warning for each text or number column that would have another type or other values with another parameter. */
export function otherReadings(columns: InferredColumn[], locate: LocateCell): Warning[] {
  return columns.flatMap(({ name, column, hint, isGroupedByPoint }): Warning[] => {
    if (hint !== undefined) {
      return [{ code: 'other-notation', column: name, ...explainHint(name, column, hint, locate) }];
    }
    if (!isGroupedByPoint) return [];
    return [groupedByPoint(name)];
  });
}

/** Returns a warning for each column that `values=natural` has read, which says as what it was read, and warnings about years of two digits. */
export function naturalColumns(
  columns: Pick<InferredColumn, 'name' | 'column' | 'reading'>[],
  locate: LocateCell,
): Warning[] {
  return columns.flatMap(({ name, column, reading }): Warning[] => {
    if (reading === undefined) return [];
    const { row, value } = reading.first;
    const place = locate(row, column, name).cell ?? `row ${row}`;
    const detail = `Column "${shortenValue(name)}" was read as ${reading.looksLike}. The first is ${JSON.stringify(shortenValue(value))} in ${place}.`;
    const { shortYear } = reading;
    const ofYear = shortYear === undefined ? [] : [shortYearWarning({ column, name, ...shortYear }, locate)];
    return [{ code: 'natural-values', column: name, detail }, ...ofYear];
  });
}

/** Warns of years of two digits, because PostgreSQL's rule may give the wrong century. Example: dates of birth. */
export function shortYearWarning(
  { column, name, row, text, readAs }: ShortYear,
  locate: LocateCell,
): Warning {
  const place = locate(row, column, name).cell ?? `row ${row}`;
  return {
    code: 'two-digit-year',
    column: name,
    detail: `Column "${shortenValue(name)}" has years of two digits: 70 to 99 were read as 1970 to 1999, 00 to 69 as 2000 to 2069. The first is ${JSON.stringify(text)} in ${place}, read as ${readAs}.`,
  };
}

/** Returns one warning for each column of an inspected workbook whose numbers a load would round. A load itself counts these numbers. */
export function roundedColumns(columns: InferredColumn[], locate: LocateCell): Warning[] {
  return columns.flatMap(({ name, type, column, roundedIn }): Warning[] => {
    if (roundedIn === undefined || type === 'double precision') return [];
    return [roundedDigits(name, locate(roundedIn, column, name).cell ?? `row ${roundedIn}`)];
  });
}

/** Warns of a number column whose points may separate thousands. */
export function groupedByPoint(name: string): Warning {
  const parameters = { decimal_sign: ',', thousands_sign: '.' };
  const detail = `Every number with a point in column "${shortenValue(name)}" has three digits after each point, and the point was read as the decimal sign. If the points separate thousands, send ${queryText(parameters)} to read them.`;
  return { code: 'other-notation', column: name, detail, choices: [{ parameters }] };
}

type Explanation = Pick<Warning, 'detail' | 'choices'>;

function explainHint(name: string, column: number, hint: FormHint, locate: LocateCell): Explanation {
  const words = hint.nullWords;
  const except = words.length === 0 ? '' : ` but ${words.map((word) => JSON.stringify(word)).join(', ')}`;
  if (hint.shape !== undefined || hint.natural !== undefined) return explainShape(name, column, hint, locate);
  const nulls = asNull(words);
  if (hint.first === undefined) {
    const detail = `Column "${shortenValue(name)}" became text. Every value${except} is a ${hint.plain}. Send ${queryText(nulls)} to load these words as NULL.`;
    return { detail, choices: [{ parameters: nulls }] };
  }
  const { row, value } = hint.first;
  const place = locate(row, column, name).cell ?? `row ${row}`;
  const forms = hint.forms.map(({ looksLike }) => looksLike).join(' or ');
  const choices = hint.forms.map(({ parameters }) => ({ parameters: { ...parameters, ...nulls } }));
  const remedies = choices.map(({ parameters }) => queryText(parameters)).join(' or ');
  const detail = `Column "${shortenValue(name)}" became text. Every value${except} looks like ${forms}, the first is ${JSON.stringify(shortenValue(value))} in ${place}. Send ${remedies} to read them.`;
  return { detail, choices };
}

/** Returns the warning for a text column whose values only `values=natural` or a definition reads: what they look like, and how to get another type. */
function explainShape(name: string, column: number, hint: FormHint, locate: LocateCell): Explanation {
  const { first, nullWords, shape, natural } = hint;
  const { row, value } = first!;
  const place = locate(row, column, name).cell ?? `row ${row}`;
  const except =
    nullWords.length === 0 ? '' : ` but ${nullWords.map((word) => JSON.stringify(word)).join(', ')}`;
  const found = `Column "${shortenValue(name)}" became text. Every value${except} looks like ${shape?.looksLike ?? natural}, the first is ${JSON.stringify(shortenValue(value))} in ${place}.`;
  const nulls = asNull(nullWords);
  const remedies: string[] = [];
  const choices: NonNullable<Warning['choices']> = [];
  if (natural !== undefined) {
    const parameters = { values: 'natural', ...nulls };
    remedies.push(`send ${queryText(parameters)}`);
    choices.push({ parameters });
  }
  if (shape?.type !== undefined) {
    const parameters = { extra_columns: 'add', ...(shape.hasSpace && { trim: 'true' }), ...nulls };
    const definition = `send a definition in which this column has the type ${shape.type}, and ${queryText(parameters)}`;
    remedies.push(definition);
    choices.push({ parameters, type: shape.type });
  }
  if (choices.length > 0) return { detail: `${found} To read them, ${remedies.join('; or ')}.`, choices };
  const detail = `${found} No parameter reads them: remove these signs from the file, or convert the column after the load, as in /docs/recipes#amounts-as-text.`;
  if (nullWords.length === 0) return { detail };
  return {
    detail: `${detail} To load the other words as NULL, send ${queryText(nulls)}.`,
    choices: [{ parameters: nulls }],
  };
}

function explainOddity({ type, counts }: Oddity, value: string, place: string): string {
  const { one, many } = nouns[type];
  if (counts === undefined) return `${value} in ${place}; every value above it is ${one} (${type})`;
  const { odd, typed } = counts;
  const values = odd === 1 ? `${value} in ${place}` : `${odd} values, the first is ${value} in ${place}`;
  return `${values}; its ${typed} other values are ${many} (${type})`;
}

const nouns: Record<InferredType, { one: string; many: string }> = {
  boolean: { one: 'true or false', many: 'true or false' },
  bigint: { one: 'a whole number', many: 'whole numbers' },
  numeric: { one: 'a number', many: 'numbers' },
  'double precision': { one: 'a number', many: 'numbers' },
  date: { one: 'a date', many: 'dates' },
  'timestamp without time zone': { one: 'a date with a time', many: 'dates with a time' },
  'timestamp with time zone': { one: 'a date with a time', many: 'dates with a time' },
  'time without time zone': { one: 'a time', many: 'times' },
  interval: { one: 'a duration', many: 'durations' },
  uuid: { one: 'a UUID', many: 'UUIDs' },
  jsonb: { one: 'an object or array', many: 'objects or arrays' },
  json: { one: 'an object or array', many: 'objects or arrays' },
  text: { one: 'a text', many: 'texts' },
};
