/** The kind of a file, and the parameters with which it is read. */
import type { InspectedSpreadsheet, LoadQuery } from '../../client/client.ts';
import { emptyReading } from '../initial-state.ts';
import { withoutDefaults } from '../parameters.ts';
import type { ChosenFile, Reading } from '../state.ts';
import { fileParameterQuery } from './file-parameters.ts';
import { sizeInWords } from './words.ts';

/** Returns the kind of file for its name. Each name that is not of JSON counts as a spreadsheet, which the service recognizes by its content. */
export function kindOf(name: string): ChosenFile['kind'] {
  if (/\.(json|geojson)$/i.test(name)) return 'json';
  return /\.(ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'spreadsheet';
}

export function chosenFile(content: File): ChosenFile {
  const { name, size } = content;
  return { name, size, kind: kindOf(name), content };
}

/** Returns the file in the form in which the client sends it. */
export function sentFile({ content: file, name, kind, password, link }: ChosenFile) {
  return link === undefined ? { file, name, kind, password } : { fromUrl: link, password };
}

/** Returns the size of the file, or the host from which it is fetched. */
export function originOf({ size, link }: ChosenFile): string {
  return link === undefined ? sizeInWords(size) : `from ${new URL(link).host}`;
}

/** Returns the link in a text; undefined: the text is none, or the user may not use links. */
export function linkIn(text: string, scopes: string[]): string | undefined {
  const link = text.trim();
  return /^https?:\/\/\S+$/i.test(link) && URL.canParse(link) && mayUseLinks(scopes) ? link : undefined;
}

export function mayUseLinks(scopes: string[]): boolean {
  return scopes.includes('load:from-url');
}

/** Returns the name of the file of a link, as the service names it if its server gives no other name. */
export function nameOfLink(link: string): string {
  const { pathname, hostname } = new URL(link);
  return pathname.split('/').findLast((part) => part !== '') ?? hostname;
}

/** Returns the query parameters with which the file is read. Parameters that have their default value are left out. */
export function readingQuery(reading: Reading, kind: ChosenFile['kind']): LoadQuery {
  const { sheet, headerRow, headerRows, hasHeader, range, tableRange, nullValues, rowsAt } = reading;
  const { dateOrder, isNatural, languages } = reading;
  const query = withoutDefaults({
    ...(nullValues !== '' && { null_values: nullValues }),
    date_order: dateOrder,
    decimal_sign: reading.decimalSign,
    thousands_sign: reading.thousandsSign,
    trim: reading.trim,
    ...(isNatural && { values: 'natural' as const }),
    ...(languages !== '' && (isNatural || dateOrder !== 'iso') && { languages }),
    ...fileParameterQuery(reading, kind),
  });
  if (kind !== 'spreadsheet') return { ...query, ...(kind === 'json' && rowsAt && { rows_at: rowsAt }) };
  return {
    ...(sheet && { sheet }),
    ...(hasHeader ? headerRow !== undefined && { header_row: headerRow } : { header: false }),
    ...(hasHeader && headerRow !== 'auto' && headerRows > 1 && { header_rows: headerRows }),
    ...(tableRange !== '' ? { table_range: tableRange } : range !== '' && { range }),
    ...(reading.skipHidden && { hidden: 'skip' as const }),
    ...(reading.skipFooter && { footer: 'skip' as const }),
    ...(reading.errorsAreNull && { cell_errors: 'null' as const }),
    ...query,
  };
}

const naturalReading: Reading = { ...emptyReading, isNatural: true };

/** Returns how a file is read at first. In JSON, the program that wrote the file has decided what is text. */
export function firstReading(kind: ChosenFile['kind']): Reading {
  return kind === 'spreadsheet' ? naturalReading : emptyReading;
}

/** Returns the changed parameters. A newly chosen header has one row unless the change says otherwise. */
export function readingWith(reading: Reading, change: Partial<Reading>): Reading {
  return { ...reading, ...('headerRow' in change && { headerRows: 1 }), ...change };
}

/**
 * Returns the parameters that the service proposes: another sheet, or a header below other rows.
 *
 * @returns undefined if the file was already read as proposed
 */
export function proposedReading(answer: InspectedSpreadsheet, reading: Reading): Reading | undefined {
  const { proposal, sheet } = answer;
  if (proposal.header_row === undefined || proposal.range === undefined) return undefined;
  const isOtherSheet = proposal.sheet !== undefined && proposal.sheet !== '' && proposal.sheet !== sheet.name;
  const isOtherHeader =
    proposal.header_row !== sheet.header_row ||
    proposal.header_rows !== sheet.header_rows ||
    proposal.range !== sheet.range;
  if (!isOtherSheet && !isOtherHeader) return undefined;
  return { ...reading, ...(isOtherSheet && { sheet: proposal.sheet }), headerRow: 'auto' };
}
