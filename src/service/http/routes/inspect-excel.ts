/** `POST /api/v1/inspect/excel`: describes the contents of a spreadsheet before it is loaded. Nothing is written. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { wrongParameter } from '../../../core/errors.ts';
import { spreadsheetInput } from '../../../engine/loading/inputs/spreadsheet-input.ts';
import { type Inspection, inspectSpreadsheet } from '../../../engine/loading/inspect/inspect-spreadsheet.ts';
import { optionalInteger, optionalText } from '../../../engine/tables/name-schemas.ts';
import type { ProposedTable, SheetProposal } from '../../../readers/spreadsheet/proposal/propose-table.ts';
import { admitRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { acceptedFormat } from '../exports/export-parameters.ts';
import { sendRepaired } from '../exports/send-repaired.ts';
import {
  ColumnCounts,
  encodingHeader,
  jsonAnswer,
  LocatedProblem,
  operation,
  problemResponses,
  tokenErrors,
  Warnings,
} from '../openapi/openapi.ts';
import { checkSent, sentQueryOf } from '../profiles/sent-query.ts';
import { queryParser } from '../query.ts';
import { requireScope } from '../tokens/auth.ts';
import { bodyOfRequest } from '../uploads/admit-upload.ts';
import { querySchema } from '../uploads/parameters.ts';
import {
  filePart,
  isSheetChosen,
  type OpenedSpreadsheet,
  PatchSchema,
  passwordPart,
  sourcePart,
  spreadsheetErrors,
  withCorrections,
  withSpreadsheet,
} from '../uploads/spreadsheet.ts';
import { sentNotationOf, textReadingOf, typeChoicesOf } from '../uploads/text-parameters.ts';

const Query = querySchema('inspect-excel');

const Body = Type.Object(
  {
    password: Type.Optional(passwordPart),
    patch: Type.Optional(PatchSchema),
    file: Type.Optional(filePart),
    source: Type.Optional(sourcePart),
  },
  { title: 'ExcelInspection' },
);

const proposedTable = {
  header_row: optionalInteger(
    'The row that looks most like a header. Absent if no row does. `header_row=auto` takes it.',
  ),
  header_rows: optionalInteger(
    'The number of rows of the header from `header_row` on, if there are several.',
  ),
  range: optionalText('The cells of the table, from its header to its last row, as in `A4:F40`.'),
};

const proposal = {
  ...proposedTable,
  reasons: Type.Array(Type.String(), { description: 'Why this table, or why none, in words.' }),
  other_tables: Type.Array(Type.Object(proposedTable), {
    maxItems: 20,
    description: 'Other cells of the sheet that look like a table.',
  }),
};

const Inspected = Type.Object(
  {
    file_in_zip: optionalText('The file that was read of the zip file that was sent.'),
    sheets: Type.Array(
      Type.Object({
        name: Type.String(),
        visibility: Type.String({ enum: ['visible', 'hidden', 'veryHidden'] }),
        rows: Type.Integer({ description: 'The number of rows below the header that have a value.' }),
        columns: Type.Integer(),
        proposal: Type.Optional(
          Type.Object(proposal, {
            description: 'The table of this sheet. Absent if the sheet cannot be read.',
          }),
        ),
        problem: Type.Optional(
          Type.Object(
            { code: Type.String(), detail: Type.String() },
            {
              description:
                'Why a load of this sheet would be refused, for example because of too many columns. Rows and columns are then counted up to that place.',
            },
          ),
        ),
      }),
    ),
    proposal: Type.Object(
      {
        sheet: optionalText('The visible sheet with the largest table. `sheet=auto` takes it.'),
        ...proposal,
      },
      { description: 'The cells of the file that look most like a table.' },
    ),
    names: Type.Array(
      Type.Object({
        name: Type.String({ description: 'Send it as `table_range`.' }),
        kind: Type.String({
          enum: ['table', 'name'],
          description:
            '`table`: an Excel table, or a database range of OpenDocument. `name`: a defined name (named range).',
        }),
        scope: optionalText(
          'The sheet to which the name is local. Absent: the name is valid in the whole workbook.',
        ),
        sheet: Type.String(),
        range: Type.String({
          description: 'The cells: `A3:F200`. Of a table with the header row and without the totals row.',
        }),
        header: Type.Optional(
          Type.Array(Type.String(), {
            description:
              'The columns. Empty: a table without a header row. Absent: the header is not near the beginning of the sheet, or of more than 50 defined names.',
          }),
        ),
      }),
      {
        maxItems: 1000,
        description: 'The tables and defined names that refer to one range of cells.',
      },
    ),
    name_count: Type.Integer({ description: 'The number of all such names.' }),
    sheet: Type.Object(
      {
        name: Type.String(),
        header_row: optionalInteger('The row that was read as the header.'),
        header_rows: optionalInteger('The number of rows of the header, if there are several.'),
        range: optionalText('The cells that were read, from the header to the last row with a value.'),
        header: Type.Array(Type.String()),
        definition: Type.Object(
          { columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })) },
          {
            description:
              'The definition that would be inferred from all rows. You can send it as `table`, changed or unchanged.',
          },
        ),
        rows: Type.Array(Type.Array(Type.Union([Type.String(), Type.Null()])), {
          description: 'The first 20 rows as text; null is a blank cell.',
        }),
        row_numbers: Type.Optional(
          Type.Array(Type.Integer(), { description: 'For each of `rows`: its number in the sheet.' }),
        ),
        columns: ColumnCounts,
        errors: Type.Array(LocatedProblem, { maxItems: 100, description: 'Cells that a load would refuse.' }),
        error_count: Type.Integer(),
        warnings: Warnings,
      },
      { description: 'The chosen sheet.' },
    ),
  },
  { title: 'InspectedSpreadsheet' },
);

export function inspectExcelRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query, querySchema('upload-excel').properties);
  const isKnown = (name: string) => Object.hasOwn(Query.properties, name);
  app.post(
    '/api/v1/inspect/excel',
    {
      schema: {
        ...operation('tables', 'inspectExcel'),
        description:
          'Returns what a spreadsheet contains: its sheets, the cells that look most like a table, and the header, the inferred definition and the first rows of the chosen sheet. Nothing is written. Needs the scope `table:load`. With `Accept: text/csv` it answers all rows of the chosen sheet as CSV, as an upload reads them, with the corrections of `patch`.',
        headers: Type.Object(encodingHeader),
        querystring: Query,
        body: { content: { 'multipart/form-data': { schema: Body } } },
        response: {
          200: jsonAnswer('What the file contains.', Inspected),
          ...problemResponses(...tokenErrors, ...spreadsheetErrors, 'profile-not-found', 'not-enabled'),
        },
      },
    },
    async (request, reply) => {
      const asked = await sentQueryOf(request, reply, context, isKnown);
      const { query, choices } = checkSent(asked, request.query, () => {
        const parsed = parseQuery(asked.query);
        return {
          query: parsed,
          choices: { textReading: textReadingOf(parsed), types: typeChoicesOf(parsed) },
        };
      });
      const { grants, caller, signal } =
        asked.admitted ?? (await admitRequest(request, reply, context, undefined));
      requireScope(grants, 'table:load');
      const sent = { query, body: bodyOfRequest(request, context, grants), caller, signal };
      const { limits } = context.config;
      const isFile = acceptedFormat(request.headers.accept) === 'csv';
      const reading = isFile ? {} : { allSheets: true, isOutlined: true };
      return context.lines.uploads.use({ caller }, signal, () =>
        withSpreadsheet(context, sent, reading, async (opened) => {
          if (isFile) {
            const input = withCorrections(spreadsheetInput(opened, undefined, true), opened.patch);
            const file = { lines: context.lines, caller, signal, sentName: opened.fileName };
            return sendRepaired(reply, input, sentNotationOf(query), file);
          }
          if (opened.patch !== undefined) {
            const detail = 'Corrections are for uploads, and for all rows as a file (Accept: text/csv).';
            throw wrongParameter('patch', `${detail} Leave out the part patch.`, { code: 'unknown-part' });
          }
          const workbook = { ...opened, isSheetChosen: isSheetChosen(query), ...choices };
          const inspection = await inspectSpreadsheet(workbook, limits, signal);
          return { ...fileInZip(opened), ...shownInspection(inspection) };
        }),
      );
    },
  );
}

function fileInZip({ fileInZip: name }: OpenedSpreadsheet): object {
  return name === undefined ? {} : { file_in_zip: name };
}

function shownInspection({ sheets, proposal, names, sheet }: Inspection): object {
  const { name, headerRow, headerRows, range, errorCount, rowNumbers, columns, ...shown } = sheet;
  return {
    sheets: sheets.map(({ hasCells: _, size: __, proposal: ofSheet, ...shown }) => ({
      ...shown,
      ...(ofSheet && { proposal: shownProposal(ofSheet) }),
    })),
    proposal: shownProposal(proposal),
    names: names.listed,
    name_count: names.count,
    sheet: {
      name,
      ...(headerRow !== undefined && { header_row: headerRow }),
      ...(headerRows !== undefined && { header_rows: headerRows }),
      ...(range !== undefined && { range }),
      ...shown,
      ...(rowNumbers && { row_numbers: rowNumbers }),
      columns,
      error_count: errorCount,
    },
  };
}

function shownProposal({ sheet, table, reasons, otherTables }: SheetProposal & { sheet?: string }): object {
  return {
    ...(sheet !== undefined && { sheet }),
    ...(table && shownTable(table)),
    reasons,
    other_tables: otherTables.map(shownTable),
  };
}

function shownTable({ headerRow, headerRows, range }: ProposedTable): object {
  return { header_row: headerRow, ...(headerRows > 1 && { header_rows: headerRows }), range };
}
