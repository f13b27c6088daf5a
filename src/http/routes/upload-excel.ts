/**
 * `POST /api/v1/table/{table_name}/upload/excel`: Upload Table From Excel.
 */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { spreadsheetInput } from '../../loading/inputs/spreadsheet-input.ts';
import { Spool } from '../../sources/spool.ts';
import { openSpreadsheet } from '../../sources/spreadsheet/spreadsheet-source.ts';
import { TableDefinitionSchema } from '../../tables/definition.ts';
import type { HttpContext } from '../context.ts';
import { parseDefinitionBody } from '../definition-body.ts';
import { readSpreadsheetUpload } from '../multipart.ts';
import { problemResponses } from '../openapi.ts';
import { queryParser } from '../query.ts';
import { readBody } from '../request-body.ts';
import { admitTableRequest, TablePath } from '../table-request.ts';
import { answerUpload, uploadErrors, uploadParameters, uploadResponses, uploadScope } from '../upload.ts';

const Query = Type.Object({
  ...uploadParameters,
  sheet: Type.Optional(
    Type.String({ description: 'Name or 1-based number of the sheet. Default: the first visible one.' }),
  ),
  header_row: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'The row with the column names. Default: the first that has a value.',
    }),
  ),
  range: Type.Optional(Type.String({ description: 'Only these cells, as in `B3:F200`. Default: all.' })),
  column_names: Type.String({
    enum: ['exact', 'snake_case'],
    default: 'exact',
    description: '`exact`: the header text, trimmed. `snake_case`: lower case with underscores.',
  }),
  cell_errors: Type.String({
    enum: ['fail', 'null'],
    default: 'fail',
    description: 'What error cells (`#N/A`) and formulas without a stored result are: a problem, or NULL.',
  }),
});

const Body = Type.Object(
  {
    file: Type.String({
      contentMediaType: 'application/octet-stream',
      description: 'The workbook (.xlsx, .xlsm), known by its content; the name does not matter.',
    }),
    body: Type.Optional(
      Type.Object(
        { table: Type.Optional(TableDefinitionSchema) },
        {
          description: 'The definition, as JSON. Without one the types are inferred from all rows.',
          // The reference page fills its form with this.
          examples: [{}],
        },
      ),
    ),
  },
  { title: 'ExcelUpload' },
);

export function uploadExcelRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  const { limits } = context.config;
  app.post(
    '/api/v1/table/:table_name/upload/excel',
    {
      schema: {
        operationId: 'uploadTableFromExcel',
        tags: ['tables'],
        summary: 'Upload Table From Excel',
        description:
          'Loads the rows of one sheet into a table, all or nothing. Without a definition in `body` it is inferred from all rows. Scopes as for JSON.',
        security: [{ bearer: [] }],
        params: TablePath,
        querystring: Query,
        body: { content: { 'multipart/form-data': { schema: Body } } },
        response: {
          ...uploadResponses,
          ...problemResponses(...uploadErrors, 'invalid-multipart', 'invalid-file', 'unsupported-file'),
        },
      },
    },
    async (request, reply) => {
      const query = parseQuery(request.query);
      const table = await admitTableRequest(
        request,
        reply,
        context,
        query.schema,
        uploadScope(query.if_exists),
      );
      const spool = new Spool({ maxBytes: limits.maxBodyBytes });
      try {
        const chunks = readBody(request, { ...limits, setting: 'MAX_BODY_BYTES' });
        const { body } = await readSpreadsheetUpload(
          request.headers,
          chunks,
          spool,
          limits.maxDefinitionBytes,
        );
        const definition = body && parseDefinitionBody(body, limits);
        const source = await openSpreadsheet(
          spool,
          {
            ...(query.sheet !== undefined && { sheet: query.sheet }),
            ...(query.header_row !== undefined && { headerRow: query.header_row }),
            ...(query.range !== undefined && { range: query.range }),
            columnNames: query.column_names as 'exact' | 'snake_case',
            cellErrors: query.cell_errors === 'null' ? 'null' : 'problem',
          },
          { ...limits, maxRatio: limits.maxUnpackRatio },
        );
        return await answerUpload(context, table, query, spreadsheetInput(source, spool, definition), reply);
      } finally {
        await spool.close();
      }
    },
  );
}
