/** The warnings about the records of a text file, after it was scanned. */

import type { Warning } from '../../../core/errors.ts';
import { columnLetters } from '../cell-address.ts';
import type { ScanResult } from '../sheet-format.ts';
import type { CsvScanner } from './csv-scanner.ts';
import { OddRecords } from './record-counts.ts';
import type { QuoteRepair } from './repair/quote-repair.ts';

/** Says which records were read although their quotes are wrong, and from where on such records were not repaired. @param linesAbove the lines of the file before the first record */
export function repairedQuotes(repair: QuoteRepair | undefined, linesAbove: number): Warning[] {
  if (repair === undefined) return [];
  const { repaired, lines, endLine } = repair;
  const end =
    endLine === 0
      ? ''
      : `From line ${endLine + linesAbove} on, no row is repaired, because the marks of too many rows before it are ambiguous.`;
  if (repaired === 0) return end === '' ? [] : [{ code: 'repaired-quotes', detail: end }];
  const named = lines.map((line) => line + linesAbove).join(', ');
  const place =
    repaired === 1
      ? `The row in line ${named} has a quotation mark that is not doubled or stands alone`
      : `${repaired} rows have quotation marks that are not doubled or stand alone, in the lines ${named}${repaired > lines.length ? ' and others' : ''}`;
  const detail = `${place}. These marks were read as text, because only so the fields are as many as in the header. To refuse such rows, send quotes=strict.${end && ` ${end}`}`;
  return [{ code: 'repaired-quotes', detail, choices: [{ parameters: { quotes: 'strict' } }] }];
}

/** Returns the warning that fields such as `="00042"` were read as texts. */
export function textFormulas({ textFormulas: { count, record, column } }: CsvScanner): Warning[] {
  if (count === 0) return [];
  const first = `${columnLetters(column + 1)}${record}`;
  const detail =
    count === 1
      ? `The field ${first} is a formula ="…" and was read as the text between the quotes.`
      : `${count} fields are formulas ="…" and were read as the texts between the quotes. The first is ${first}.`;
  return [{ code: 'text-formulas', detail }];
}

/** Warns of quotes that are text because white space comes before them. */
export function spacedQuotes({ spacedQuotes: { count, record, column } }: CsvScanner): Warning[] {
  if (count === 0) return [];
  const first = `${columnLetters(column + 1)}${record}`;
  const found =
    count === 1
      ? `The field ${first} begins with white space and a quotation mark`
      : `${count} fields begin with white space and a quotation mark, the first is ${first}`;
  const detail = `${found}. Such quotes were read as text. To read them as quotes around the value, send trim=true.`;
  return [{ code: 'spaced-quotes', detail, choices: [{ parameters: { trim: 'true' } }] }];
}

/**
 * Describes the records in which quotes may have joined lines that are records of their own.
 *
 * @param linesAbove the lines of the file before the first record
 */
export function joinedRecords(
  { damaged, joined, joinedRecords: records }: CsvScanner,
  linesAbove: number,
): (Required<Pick<ScanResult, 'joined'>> & { warnings: Warning[] }) | undefined {
  if (damaged.count + joined.count === 0) return undefined;
  const found = damaged.count > 0 ? damaged : joined;
  const cell = `${columnLetters(found.column + 1)}${found.record}`;
  const lines = `lines ${found.firstLine + linesAbove} to ${found.lastLine + linesAbove}`;
  const place =
    found.count === 1
      ? `Row ${found.record} consists of the ${lines} of the file`
      : `${found.count} rows consist of several lines of the file, ${found.lines} in all, and the first of them, row ${found.record}, of the ${lines}`;
  const reasons =
    damaged.count > 0
      ? `${place}, and text follows the closing quote in ${cell}. Its quotes may have joined lines that are rows of their own.`
      : `${place}, because the field ${cell} is in quotes, and its lines look like rows of their own.`;
  const remedy = 'If the quotes are text, send quote=none.';
  const reason = `${reasons} Leaving out this row could leave out good rows, too. Correct the quotes in the file. ${remedy}`;
  return {
    joined: { reason, damage: damaged.count > 0 ? damaged : undefined, records },
    warnings: [
      {
        code: 'lines-in-a-field',
        detail: `${reasons} ${remedy}`,
        choices: [{ parameters: { quote: 'none' } }],
      },
    ],
  };
}

/**
 * Warns of records with too few fields. They are read with empty last columns. Most such records are intended, but sometimes the file
 * was cut off. If no record has a field for the delimiter after the last name of the header, only the header ends with a delimiter.
 */
export function shortRecords(
  { short, lean, headerFields, allHeaderFields, records, valued }: CsvScanner,
  hasHeader: boolean,
): Warning[] {
  const isUsual = lean.count + short.count === valued && lean.areAlike;
  const odd = isUsual ? short : both(short, lean);
  if (odd.count === 0) return [];
  const remedy =
    'The missing fields are empty. If a value contains a line break, put the value in double quotes.';
  const cutOff = odd.last === records ? ' The last row is one of them: is the file complete?' : '';
  const most = isUsual ? headerFields : allHeaderFields;
  const detail = `${describeOdd(odd, 'fewer', most, hasHeader)} ${remedy}${cutOff}`;
  return [{ code: 'short-rows', detail }];
}

/**
 * Warns of records with more fields than the header. A value after the last column of the header gets a column without a name. An empty
 * last field may mean that an extra delimiter has moved the values before it.
 */
export function longRecords(
  { long, surplus, allHeaderFields, valued }: CsvScanner,
  hasHeader: boolean,
  isCommented: boolean,
): Warning[] {
  const odd = both(long, surplus);
  if (odd.count === 0) return [];
  if (surplus.count === valued && surplus.areAlike)
    return [usualSurplus(surplus.fields, allHeaderFields, hasHeader)];
  const quotes =
    'If a value contains the delimiter, put the value in double quotes, or name the quotation mark of the file with `quote`.';
  const empty =
    long.count > 0
      ? ''
      : ' The last fields of these rows are empty, and their other values may be in wrong columns.';
  const remedy = hasHeader ? `${quotes} If the header lacks a name, add it.` : quotes;
  const comments = isCommented ? ' If lines that begin with # are comments, send comment=%23.' : '';
  const detail = `${describeOdd(odd, 'more', allHeaderFields, hasHeader)}${empty} ${remedy}${comments}`;
  return [{ code: 'long-rows', detail, ...(isCommented && { choices: [{ parameters: { comment: '#' } }] }) }];
}

/** Warns that all records have the same number of empty fields more than the header. */
function usualSurplus(fields: number, headerFields: number, hasHeader: boolean): Warning {
  const more = fields - headerFields;
  const [surplus, are] = more === 1 ? ['one field', 'it is empty'] : [`${more} fields`, 'they are empty'];
  const header = hasHeader ? 'the header' : 'the first row';
  const remedy = hasHeader
    ? ' If the header lacks a name, the values are in wrong columns: add the name.'
    : '';
  const detail = `Each row has ${surplus} more than ${header}, and ${are} at the end of the row.${remedy}`;
  return { code: 'long-rows', detail };
}

/** Returns the sum of two counts of records. */
function both(one: OddRecords, other: OddRecords): OddRecords {
  if (one.count === 0) return other;
  if (other.count === 0) return one;
  const { first, fields } = one.first < other.first ? one : other;
  const sum = new OddRecords();
  return Object.assign(sum, {
    count: one.count + other.count,
    first,
    fields,
    last: Math.max(one.last, other.last),
    areAlike: false,
  });
}

function describeOdd(
  { count, first, fields }: OddRecords,
  which: string,
  headerFields: number,
  hasHeader: boolean,
): string {
  const header = hasHeader ? 'the header' : 'the first row';
  const has = fields === 1 ? '1 field' : `${fields} fields`;
  if (count === 1) return `Row ${first} has ${has}, ${header} has ${headerFields}.`;
  return `${count} rows have ${which} fields than ${header}, which has ${headerFields}. The first is row ${first}, which has ${has}.`;
}
