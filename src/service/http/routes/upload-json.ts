/**
 * `POST /api/v1/table/{table_name}/upload/json`: Upload Table From Json.
 */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { flattenObjects } from '../../../engine/loading/inputs/flatten-objects.ts';
import { jsonInput } from '../../../engine/loading/inputs/json-input.ts';
import { UploadDefinitionSchema } from '../../../engine/tables/definition.ts';
import { Spool } from '../../../readers/spool.ts';
import { TablePath } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { auditing } from '../observing/audit.ts';
import { operation, problemResponses } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import type { UploadBody, UploadOperation } from '../uploads/admit-upload.ts';
import { handleUpload } from '../uploads/handle-upload.ts';
import { correctedRows, flatteningOf, jsonFormOf, jsonLimitsOf } from '../uploads/json-body.ts';
import { querySchema } from '../uploads/parameters.ts';
import { PatchSchema } from '../uploads/spreadsheet.ts';
import { csvInWords, uploadErrors, uploadHeaders, uploadResponses } from '../uploads/upload.ts';

const Query = querySchema('upload-json');

const Rows = Type.Array(Type.Object({}, { additionalProperties: true }), {
  description:
    'The rows. Keys are column names; a missing key takes the default of the column; `null` is NULL; numbers keep every digit.',
});

const Body = Type.Object(
  {
    table: Type.Optional(UploadDefinitionSchema),
    patch: Type.Optional(PatchSchema),
    data: Type.Optional(Rows),
  },
  {
    title: 'JsonUpload',
    examples: [{ data: [{ sku: '00042', name: 'Möhre', price: 1.1, in_stock: true, added: '2026-11-21' }] }],
  },
);

const Lines = Type.String({ description: 'One row object on each line.' });

export function uploadJsonRoute(app: FastifyInstance, context: HttpContext): void {
  app.post(
    '/api/v1/table/:table_name/upload/json',
    {
      schema: {
        ...operation('tables', 'uploadTableFromJson'),
        description: `Loads rows into a table, all or nothing. The rows are in \`data\`, or the body is the array of them, or it has one row object on each line (\`application/x-ndjson\`; such a body has no definition), or they are in another array of the document (\`rows_at\`). Without \`table\` the definition is inferred from all rows. Needs the scope \`table:create\` (\`fail\`), \`table:load\` (\`append\`) or \`table:replace\` (\`truncate\`, \`replace\`), and \`table:create\` whenever the table has to be created or \`extra_columns=add\` is sent, and \`table:alter\` for \`misfits\`. ${csvInWords}`,
        params: TablePath,
        headers: uploadHeaders,
        querystring: Query,
        body: {
          content: {
            'application/json': { schema: Type.Union([Body, Rows]) },
            'application/x-ndjson': { schema: Lines },
          },
        },
        response: { ...uploadResponses, ...problemResponses(...uploadErrors) },
      },
    },
    auditing('upload-json', (request, reply) => handleUpload(request, reply, context, uploadJson)),
  );
}

export const uploadJson: UploadOperation<Static<typeof Query>> = {
  name: 'upload-json',
  parseQuery: queryParser(Query),
  check: (query, headers) => {
    jsonFormOf({ headers }, query.rows_at);
    flatteningOf(query);
  },
  withInput: async ({ config: { limits } }, { body, query, signal }, use) => {
    const spool = new Spool({ maxBytes: limits.maxBodyBytes });
    const form = jsonFormOf(body, query.rows_at);
    const jsonLimits = jsonLimitsOf(limits);
    const rows = jsonInput(chunksOf(body, signal), spool, jsonLimits, form);
    const input = correctedRows(rows, form);
    const flattening = flatteningOf(query);
    const isUpdate = query.on_conflict === 'update';
    return use(flattening ? flattenObjects(input, flattening, jsonLimits, isUpdate) : input);
  },
  readBody: async (_, body, signal) => {
    for await (const _ of chunksOf(body, signal));
  },
};

function chunksOf({ chunks, digest }: UploadBody, signal: AbortSignal): AsyncGenerator<Buffer> {
  return digest?.through(chunks(signal)) ?? chunks(signal);
}
