/**
 * `POST /api/v1/table/{table_name}/upload/excel`: Upload Table From Excel.
 */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { AppError } from '../../../core/errors.ts';
import { spreadsheetInput } from '../../../engine/loading/inputs/spreadsheet-input.ts';
import { UploadDefinitionSchema } from '../../../engine/tables/definition.ts';
import { nameOtherSheets } from '../../../readers/spreadsheet/choose-sheet.ts';
import { TablePath } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { auditing } from '../observing/audit.ts';
import { operation, problemResponses } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import type { UploadOperation } from '../uploads/admit-upload.ts';
import { completeForm } from '../uploads/complete-form.ts';
import { handleUpload } from '../uploads/handle-upload.ts';
import { querySchema } from '../uploads/parameters.ts';
import {
  checkSpreadsheetQuery,
  emptyCellsOf,
  filePart,
  isSheetChosen,
  PatchSchema,
  passwordPart,
  readSpreadsheetParts,
  sourcePart,
  spreadsheetErrors,
  withCorrections,
  withSpreadsheet,
} from '../uploads/spreadsheet.ts';
import { csvInWords, uploadErrors, uploadHeaders, uploadResponses } from '../uploads/upload.ts';

const Query = querySchema('upload-excel');

const Body = Type.Object(
  {
    password: Type.Optional(passwordPart),
    patch: Type.Optional(PatchSchema),
    file: Type.Optional(filePart),
    source: Type.Optional(sourcePart),
    body: Type.Optional(
      Type.Object(
        { table: Type.Optional(UploadDefinitionSchema) },
        {
          description:
            'The definition, as JSON: `{"table": {"columns": [{"name": "Order no", "type": "text"}, …]}}`, as for Create Table. If it is missing (`{}`, or no part `body`), the types are inferred from all rows.',
          // The example is empty, because the reference page puts it into its form. A definition in it would make every other file be refused.
          examples: [{}],
        },
      ),
    ),
  },
  { title: 'ExcelUpload' },
);

export function uploadExcelRoute(app: FastifyInstance, context: HttpContext): void {
  app.post(
    '/api/v1/table/:table_name/upload/excel',
    {
      schema: {
        ...operation('tables', 'uploadTableFromExcel'),
        description: `Loads the rows of one sheet into a table, all or nothing. Without a definition in \`body\`, the definition is inferred from all rows. Needs the same scopes as Upload Table From Json. ${csvInWords}`,
        params: TablePath,
        headers: uploadHeaders,
        querystring: Query,
        body: { content: { 'multipart/form-data': { schema: Body } } },
        response: { ...uploadResponses, ...problemResponses(...uploadErrors, ...spreadsheetErrors) },
      },
    },
    auditing('upload-excel', (request, reply) => handleUpload(request, reply, context, uploadExcel)),
  );
}

export const uploadExcel: UploadOperation<Static<typeof Query>> = {
  name: 'upload-excel',
  parseQuery: queryParser(Query),
  check: (query) => checkSpreadsheetQuery(query),
  withInput: (context, upload, use) =>
    withSpreadsheet(context, upload, {}, async (opened) => {
      const { query } = upload;
      const { source, definition } = opened;
      const isChosen = isSheetChosen(query);
      try {
        const input = withCorrections(spreadsheetInput(opened, definition, isChosen), opened.patch);
        return await use(emptyCellsOf(query, input));
      } catch (error) {
        throw !isChosen && isOfAnotherSheet(error) ? nameOtherSheets(source, error) : error;
      }
    }),
  readBody: readSpreadsheetParts,
  completeBody: completeForm,
};

/** The codes of problems that suggest that the caller meant another sheet: columns that the table does not have. */
const codesOfAnotherSheet = ['unknown-column', 'no-column-in-common', 'invalid-name'];

function isOfAnotherSheet(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  if (error.code === 'nothing-to-load') return !error.detail.includes('Choose another');
  return (error.errors ?? []).some(({ code }) => codesOfAnotherSheet.includes(code));
}
