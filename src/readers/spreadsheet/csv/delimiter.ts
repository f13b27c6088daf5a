/** Finds the signs of a delimited text from its first records: the delimiter, the quotation mark and the escape. */

import { BACKSLASH, CR, HASH, LF, QUOTE, SPACE } from '../../../core/bytes/ascii.ts';
import type { TextDialect } from '../spreadsheet-options.ts';
import type { CsvDialect } from './csv-dialect.ts';
import { CsvScanner } from './csv-scanner.ts';
import { EscapeReplacement } from './escapes.ts';
import { QuoteRepair } from './repair/quote-repair.ts';

export interface DialectFound extends CsvDialect {
  /** The byte that makes a following quote (or itself) text within quotes, such as a backslash; 0: there is none. */
  escape: number;
  /** The length of a first line such as `sep=;`, which is not a record; 0: there is none. */
  lineBytes: number;
  /** The most common number of fields in the first records. */
  fields: number;
  /** One of the first records has text after a closing quote. */
  isFaulty: boolean;
}

/** The possible delimiters. In a tie the first one wins. */
const candidates = [',', ';', '\t', '|'].map((character) => character.charCodeAt(0));

const APOSTROPHE = 0x27;
const lineEnd = Buffer.of(LF);

/** The first bytes of a text, in UTF-8. */
interface Head {
  bytes: Buffer;
  /** The head is the whole text. */
  isWhole: boolean;
}

/**
 * Finds the delimiter. A delimiter that the caller states is used. Otherwise Excel's own mark decides, a first line `sep=;`. Otherwise
 * it is the candidate with which the most records have the same number of fields, at least two. In a tie it is the one with more
 * fields, then the comma. The other signs are found after the delimiter, unless the caller states them.
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
  const signs = { quote, comment, escape: dialect.escape ?? 0, skipsSpace, ...(quoted && { quoted }) };
  const stated = /^(?:sep=([!-~\t ])|"sep=([!-~\t ])")(?:\r\n?|\n|$)/i.exec(head.toString('latin1', 0, 16));
  const character = stated?.[1] ?? stated?.[2];
  const isStated = character !== undefined && character.charCodeAt(0) !== QUOTE;
  const lineBytes = isStated ? stated![0].length : 0;
  const known = dialect.delimiter ?? (isStated ? character.charCodeAt(0) : undefined);
  const from: Head = { bytes: head, isWhole };
  const delimiters = known === undefined ? candidates : [known];
  let best = bestTrial(from, delimiters, signs);
  if (best.fields === 0 && best.faults > 0) {
    // If a quote in the header is wrong, it joins all lines, so the delimiter is searched without quotes.
    const { dialect: found, fields } = bestTrial(from, delimiters, { ...signs, quote: 0 });
    best = { ...best, fields, dialect: { ...found, quote } };
  }
  if (known === undefined) best = withRareDelimiter(from, best);
  if (dialect.quote === undefined) best = withApostrophes(from, best);
  if (dialect.escape === undefined) best = withEscapes(from, best);
  if (known === undefined && !skipsSpace) best = withSpaces(from, best);
  return { ...best.dialect, lineBytes, fields: best.fields, isFaulty: best.faults > 0 };
}

function bestTrial(head: Head, delimiters: readonly number[], signs: Omit<Signs, 'delimiter'>): Trial {
  const trials = delimiters.map((delimiter) => tryDialect(head, { ...signs, delimiter }));
  return trials.reduce((best, trial) => (isBetter(trial, best) ? trial : best));
}

type Signs = CsvDialect & { escape: number };

/** What a scan of the head with certain signs has shown. */
interface Trial {
  dialect: Signs;
  /** The share of the records that have the most common number of fields. */
  agreement: number;
  /** The most common number of fields, at least 2; 0: no record has two fields. */
  fields: number;
  /** The number of records that are not blank. */
  records: number;
  /** Records with text after a closing quote. */
  faults: number;
  /** Fields with white space before a quote, which is therefore text. */
  spacedQuotes: number;
  /** The number of fields that follow a delimiter directly, without white space or a quote. */
  unspaced: number;
  /** For each column, how many of its fields are numbers. */
  numbers: number[];
}

function isBetter(one: Trial, other: Trial): boolean {
  return one.agreement > other.agreement || (one.agreement === other.agreement && one.fields > other.fields);
}

/** Returns the trial with a space or `#` as the delimiter, if nearly all records agree on it and no usual delimiter fits. */
function withRareDelimiter(head: Head, best: Trial): Trial {
  if (best.agreement > 0.5 || best.records < 3) return best;
  for (const delimiter of [HASH, SPACE]) {
    const trial = tryDialect(head, { ...best.dialect, delimiter });
    if (trial.agreement < 1 || trial.fields < 3) continue;
    if (delimiter === SPACE && hasGroupedNumbers(head.bytes)) return best;
    // The words of a text would look like fields, so at least two columns must have numbers.
    const numeric = trial.numbers.filter((count) => count >= trial.records - 1).length;
    if (delimiter === HASH || numeric >= 2) return trial;
  }
  return best;
}

/** Returns whether all lines but one, which may be the header, are numbers with spaces between the thousands, or telephone numbers. */
function hasGroupedNumbers(bytes: Buffer): boolean {
  const lines = bytes
    .toString('latin1')
    .split(/[\r\n]+/)
    .filter((line) => line !== '');
  const grouped = lines.filter((line) => /^[+-]?\d{1,4}(?: \d{3})+ *$/.test(line));
  return grouped.length >= lines.length - 1;
}

/** Returns the trial with `'` as the quotation mark, if most fields that begin with it also end with it, and none begins with `"`. */
function withApostrophes(head: Head, best: Trial): Trial {
  const { delimiter } = best.dialect;
  const { opening, closing } = countAtEdges(head.bytes, APOSTROPHE, delimiter);
  const isPaired =
    Math.min(opening, closing) >= 3 && Math.min(opening, closing) >= 0.9 * Math.max(opening, closing);
  if (!isPaired || countAtEdges(head.bytes, QUOTE, delimiter).opening > 0) return best;
  const dialect = { ...best.dialect, quote: APOSTROPHE };
  const trial = tryDialect(head, dialect);
  const repaired = trial.faults > 0 ? tryDialect(head, dialect, true) : trial;
  // The trial without repair is returned, because its faults show that a repair is needed.
  return repaired.agreement >= best.agreement ? { ...trial, fields: repaired.fields } : best;
}

/** Counts the signs at the beginning and at the end of fields. */
function countAtEdges(bytes: Buffer, sign: number, delimiter: number): { opening: number; closing: number } {
  const isEdge = (byte: number | undefined) =>
    byte === undefined || byte === delimiter || byte === LF || byte === CR;
  let opening = 0;
  let closing = 0;
  for (let at = bytes.indexOf(sign); at >= 0; at = bytes.indexOf(sign, at + 1)) {
    if (isEdge(bytes[at - 1])) opening++;
    if (isEdge(bytes[at + 1])) closing++;
  }
  return { opening, closing };
}

/** Returns the trial with a backslash as the escape if more records agree with it. */
function withEscapes(head: Head, best: Trial): Trial {
  const { quote } = best.dialect;
  if (best.faults === 0 || quote === 0 || !head.bytes.includes(Buffer.of(BACKSLASH, quote))) return best;
  const trial = tryDialect(head, { ...best.dialect, escape: BACKSLASH });
  return trial.faults === 0 && trial.agreement >= best.agreement ? trial : best;
}

/** Returns the trial in which white space may follow each delimiter, if quotes come after the white space. */
function withSpaces(head: Head, best: Trial): Trial {
  const { delimiter, quote } = best.dialect;
  if (best.spacedQuotes === 0 || head.bytes.includes(Buffer.of(delimiter, quote))) return best;
  const dialect = { ...best.dialect, skipsSpace: true };
  const trial = tryDialect(head, dialect);
  if (trial.faults > best.faults || trial.agreement < best.agreement) return best;
  return trial.unspaced === 0 ? { ...trial, dialect: { ...dialect, dropsSpace: true } } : trial;
}

/** Scans the head with these signs. @param isRepaired wrong quotes are repaired first */
function tryDialect({ bytes, isWhole }: Head, dialect: Signs, isRepaired = false): Trial {
  const { delimiter, quote } = dialect;
  const counts: number[] = [];
  const numbers: number[] = [];
  let hasValue = false;
  let isAtFault = false;
  let unspaced = 0;
  const scanner = new CsvScanner(
    {
      beginRow: () => {
        hasValue = false;
        isAtFault = false;
      },
      cell: (column, _kind, text, start, end) => {
        hasValue = true;
        if (column > 0 && text[start] !== SPACE && text[start - 1] !== quote) unspaced++;
        if (delimiter === SPACE && isNumber(text, start, end)) numbers[column] = (numbers[column] ?? 0) + 1;
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
  const repair = isRepaired ? new QuoteRepair(repairTarget(scanner), dialect) : undefined;
  const first = repair ?? scanner;
  // The scanner changes the bytes, so it gets a copy.
  const copy = Buffer.from(bytes);
  if (dialect.escape === 0) first.push(copy);
  else new EscapeReplacement(first, dialect, dialect.escape).push(copy);
  repair?.finish();
  // The end of the head usually cuts a record, which is ignored unless it is the only one.
  if (isWhole || counts.length === 0) scanner.push(lineEnd);
  const faults = counts.filter((fields) => fields === 0).length + (isWhole && scanner.isInQuotes ? 1 : 0);
  const spacedQuotes = scanner.spacedQuotes.count;
  return {
    dialect,
    ...agreeingRecords(counts),
    records: counts.length,
    faults,
    spacedQuotes,
    unspaced,
    numbers,
  };
}

/** Returns the object that passes the bytes of a repair on to the scanner. */
export function repairTarget(scanner: CsvScanner, fields = 0): ConstructorParameters<typeof QuoteRepair>[0] {
  return {
    push: (bytes) => scanner.push(bytes),
    get wantedFields() {
      return scanner.allHeaderFields || fields;
    },
  };
}

function isNumber(bytes: Buffer, start: number, end: number): boolean {
  return /^[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$/.test(bytes.toString('latin1', start, end));
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
