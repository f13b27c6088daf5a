/** Finds the byte that separates the fields of a text, from its first records. */

import { LF, QUOTE } from '../../../core/bytes/ascii.ts';
import type { TextDialect } from '../spreadsheet-options.ts';
import { type CsvDialect, CsvScanner } from './csv-scanner.ts';

export interface DialectFound extends CsvDialect {
  /** The length of a first line `sep=;`, which is not a record; 0: there is none. */
  lineBytes: number;
}

/** The possible delimiters. In a tie the first one wins. */
const candidates = [',', ';', '\t', '|'].map((character) => character.charCodeAt(0));

const lineEnd = Buffer.of(LF);

/**
 * Finds the delimiter. A delimiter that the caller states is used. Otherwise Excel's own mark decides, a first line `sep=;`. Otherwise
 * it is the candidate with which the most records have the same number of fields, at least two. In a tie it is the one with more
 * fields, then the comma.
 *
 * @param head the text's first bytes, in UTF-8
 * @param isWhole the head is the whole text
 * @param dialect what the caller says
 * @param skipsSpace white space may come before an opening quote
 */
export function findDialect(
  head: Buffer,
  isWhole: boolean,
  dialect: TextDialect = {},
  skipsSpace = false,
): DialectFound {
  const { quote = QUOTE, comment = 0, quoted } = dialect;
  const signs = { quote, comment, skipsSpace, ...(quoted && { quoted }) };
  const stated = /^(?:sep=([!-~\t ])|"sep=([!-~\t ])")(?:\r\n?|\n|$)/i.exec(head.toString('latin1', 0, 16));
  const character = stated?.[1] ?? stated?.[2];
  const isStated = character !== undefined && character.charCodeAt(0) !== QUOTE;
  const lineBytes = isStated ? stated![0].length : 0;
  if (dialect.delimiter !== undefined) return { delimiter: dialect.delimiter, ...signs, lineBytes };
  if (isStated) return { delimiter: character.charCodeAt(0), ...signs, lineBytes };
  let best = { delimiter: candidates[0]!, agreement: 0, fields: 0 };
  for (const delimiter of candidates) {
    const { agreement, fields } = agreeingRecords(fieldCounts(head, { delimiter, ...signs }, isWhole));
    if (agreement > best.agreement || (agreement === best.agreement && fields > best.fields)) {
      best = { delimiter, agreement, fields };
    }
  }
  return { delimiter: best.delimiter, ...signs, lineBytes };
}

/** Returns the number of fields of each record that is not blank; 0: with this delimiter a closing quote has text after it. */
function fieldCounts(head: Buffer, dialect: CsvDialect, isWhole: boolean): number[] {
  const counts: number[] = [];
  let hasValue = false;
  let isAtFault = false;
  const scanner = new CsvScanner(
    {
      beginRow: () => {
        hasValue = false;
        isAtFault = false;
      },
      cell: () => {
        hasValue = true;
      },
      fault: () => {
        isAtFault = true;
      },
      endRow: () => {
        if (isAtFault) counts.push(0);
        else if (hasValue) counts.push(scanner.column + 1);
      },
    },
    dialect,
    { maxCellBytes: Number.POSITIVE_INFINITY, maxColumns: Number.POSITIVE_INFINITY },
  );
  // The scanner gets a copy, because it changes the bytes.
  scanner.push(Buffer.from(head));
  // A record that the end of the head cuts is ignored, unless it is the only one.
  if (isWhole || counts.length === 0) scanner.push(lineEnd);
  return counts;
}

/** Returns the most common number of fields, and the share of records that have it. */
function agreeingRecords(counts: number[]): { agreement: number; fields: number } {
  const byFields = new Map<number, number>();
  for (const fields of counts) if (fields > 1) byFields.set(fields, (byFields.get(fields) ?? 0) + 1);
  let best = { agreement: 0, fields: 0 };
  for (const [fields, records] of byFields) {
    const agreement = records / counts.length;
    if (agreement > best.agreement || (agreement === best.agreement && fields > best.fields)) {
      best = { agreement, fields };
    }
  }
  return best;
}
