/** Converts the inspection of a spreadsheet and that of JSON to one common form. */
import type { InspectedJson, InspectedSpreadsheet } from '../../client/client.ts';
import type { Inspection } from '../inspection.ts';
import { cellOf } from './problems.ts';

type Proposal = NonNullable<InspectedSpreadsheet['sheets'][number]['proposal']>;

export function inspectionOfSheet(answer: InspectedSpreadsheet): Inspection {
  const { sheets, sheet, names } = answer;
  const own = sheets.find(({ name }) => name === sheet.name);
  const { proposal } = own ?? {};
  const proposed = proposal
    ? [
        { ...proposal, reasons: proposal.reasons },
        ...proposal.other_tables.map((table) => ({ ...table, reasons: [] })),
      ]
    : [];
  return {
    sheets: sheets.map(({ name, visibility, rows, columns, proposal, problem }) => ({
      name,
      isHidden: visibility !== 'visible',
      rows,
      columns,
      problem: problem?.detail,
      table: proposal && sizeOf(proposal),
    })),
    sheet: sheet.name,
    headerRow: sheet.header_row,
    headerRows: sheet.header_rows ?? 1,
    range: sheet.range,
    proposals: proposed.flatMap(({ header_row: headerRow, header_rows: headerRows = 1, range, reasons }) =>
      range === undefined ? [] : [{ headerRow, headerRows, range, reasons }],
    ),
    names: names.map(({ name, sheet, range }) => ({ name, sheet, range })),
    arrays: [],
    rowsAt: undefined,
    header: sheet.header,
    types: sheet.definition.columns.map(({ type }) => type),
    counts: sheet.columns.map(({ letters, values, empty }) => ({ letters, values, empty })),
    rows: sheet.rows,
    rowNumbers: sheet.row_numbers,
    rowCount: own?.rows ?? sheet.rows.length,
    errors: sheet.errors,
    errorCount: sheet.error_count,
    // The page lists all sheets itself, so it does not show the warning about other sheets.
    warnings: sheet.warnings.filter(({ code }) => code !== 'other-sheets'),
  };
}

/** Returns the size of a proposed table without its header; undefined: none is proposed. */
function sizeOf({ header_row: header, header_rows: headerRows = 1, range = '' }: Proposal) {
  const [from, to] = range.split(':').map(cellOf);
  if (header === undefined || from === undefined || to === undefined) return undefined;
  return { rows: to.row - from.row + 1 - headerRows, columns: to.column - from.column + 1 };
}

export function inspectionOfJson({ arrays, data }: InspectedJson): Inspection {
  return {
    sheets: [],
    sheet: '',
    headerRow: undefined,
    headerRows: 1,
    range: undefined,
    proposals: [],
    names: [],
    arrays: arrays.map(({ rows_at: rowsAt, rows }) => ({ rowsAt, rows })),
    rowsAt: data.rows_at,
    header: data.header,
    types: data.definition.columns.map(({ type }) => type),
    counts: data.columns.map(({ values, empty }) => ({ letters: undefined, values, empty })),
    rows: data.rows,
    rowNumbers: undefined,
    rowCount: data.row_count,
    errors: data.errors,
    errorCount: data.error_count,
    warnings: data.warnings,
  };
}
