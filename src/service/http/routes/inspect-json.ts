/** `POST /api/v1/inspect/json`: describes the contents of a JSON body before it is loaded. Nothing is written. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { ErrorCode } from '../../../core/errors.ts';
import { jsonInput } from '../../../engine/loading/inputs/json-input.ts';
import { inspectJson } from '../../../engine/loading/inspect/inspect-json.ts';
import { optionalText } from '../../../engine/tables/name-schemas.ts';
import { Spool } from '../../../readers/spool.ts';
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
import { correctedRows, flatteningOf, jsonFormOf, jsonLimitsOf } from '../uploads/json-body.ts';
import { querySchema } from '../uploads/parameters.ts';
import { textReadingOf, typeChoicesOf } from '../uploads/text-parameters.ts';

const Query = querySchema('inspect-json');

const Body = Type.Unknown({
  description: 'Any JSON document: `{"data": […]}`, an array of rows, the answer of another API.',
  examples: [{ response: { items: [{ sku: '00042', price: 1.1 }] } }],
});

const Lines = Type.String({ description: 'One row object on each line.' });

const Inspected = Type.Object(
  {
    format: Type.String({ enum: ['json', 'ndjson'] }),
    arrays: Type.Array(
      Type.Object({
        rows_at: Type.String({ description: 'The JSON Pointer of the array, for the parameter `rows_at`.' }),
        rows: Type.Integer({ description: 'Its elements.' }),
      }),
      {
        maxItems: 100,
        description:
          'The arrays in the document in which most elements are objects. The array with the most elements comes first. Arrays inside the elements of another array are listed only for its first element.',
      },
    ),
    data: Type.Object(
      {
        rows_at: optionalText('The JSON Pointer of the rows. Absent if each line is a row.'),
        row_count: Type.Integer({ description: 'The number of all rows.' }),
        header: Type.Array(Type.String(), {
          description: 'The keys of the rows, in the order of their first appearance.',
        }),
        definition: Type.Object(
          { columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })) },
          {
            description:
              'The definition that would be inferred from all rows. You can send it as `table`, changed or unchanged.',
          },
        ),
        rows: Type.Array(Type.Array(Type.Union([Type.String(), Type.Null()])), {
          description:
            'The first 20 rows as text, objects and arrays as their JSON; null is a missing value or `null`.',
        }),
        columns: ColumnCounts,
        errors: Type.Array(LocatedProblem, {
          maxItems: 100,
          description: 'Rows and values that a load would refuse.',
        }),
        error_count: Type.Integer(),
        warnings: Warnings,
      },
      {
        description:
          'The rows that would be loaded. If the document is neither `{"data": […]}` nor an array, and `rows_at` was not sent: the first of `arrays`, with the warning `rows-elsewhere`.',
      },
    ),
  },
  { title: 'InspectedJson' },
);

const errors: ErrorCode[] = [
  ...tokenErrors,
  'too-many-uploads',
  'request-timeout',
  'limit-exceeded',
  'unsupported-media-type',
  'invalid-parameter',
  'invalid-json',
  'invalid-content-encoding',
  'invalid-data',
  'storage-full',
  'profile-not-found',
  'not-enabled',
];

const documentation = {
  ...operation('tables', 'inspectJson'),
  description:
    'Returns what a JSON body contains: the arrays of objects in it, and the inferred definition and the first rows of the rows that would be loaded. The body may also have one row object on each line (`application/x-ndjson`). Nothing is written. Needs the scope `table:load`. With `Accept: application/x-ndjson` it answers all rows, one on each line, with the corrections in the member `patch`.',
  querystring: Query,
  // The header is declared in `headers`, and the body with both of its media types, as for uploads.
  headers: Type.Object(encodingHeader),
  body: { content: { 'application/json': { schema: Body }, 'application/x-ndjson': { schema: Lines } } },
  response: {
    200: jsonAnswer('What the body contains.', Inspected),
    ...problemResponses(...errors),
  },
};

export function inspectJsonRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  const isKnown = (name: string) => Object.hasOwn(Query.properties, name);
  const { lines } = context;
  const { limits } = context.config;
  app.post('/api/v1/inspect/json', { schema: documentation }, async (request, reply) => {
    const asked = await sentQueryOf(request, reply, context, isKnown);
    const { choices, form, flattening } = checkSent(asked, request.query, () => {
      const query = parseQuery(asked.query);
      return {
        choices: { textReading: textReadingOf(query), types: typeChoicesOf(query) },
        form: jsonFormOf(request, query.rows_at),
        flattening: flatteningOf(query),
      };
    });
    const { grants, caller, signal } =
      asked.admitted ?? (await admitRequest(request, reply, context, undefined));
    requireScope(grants, 'table:load');
    const isFile = acceptedFormat(request.headers.accept) === 'ndjson';
    return lines.uploads.use({ caller }, signal, async () => {
      const spool = new Spool({ maxBytes: limits.maxBodyBytes });
      const chunks = bodyOfRequest(request, context, grants).chunks(context.stopping);
      try {
        if (isFile) {
          const input = correctedRows(jsonInput(chunks, spool, jsonLimitsOf(limits), form), form);
          await input.open();
          return await sendRepaired(reply, input, undefined, { lines, caller, signal, sentName: '' });
        }
        for await (const chunk of chunks) await spool.write(chunk);
        const { format, arrays, data } = await inspectJson(
          spool,
          form,
          { ...choices, flattening },
          { ...jsonLimitsOf(limits), maxRows: limits.maxRows },
          signal,
        );
        const { rowsAt, rowCount, errorCount, rowNumbers: _, ...shown } = data;
        return {
          format,
          arrays: arrays.map((array) => ({ rows_at: array.rowsAt, rows: array.rows })),
          data: {
            ...(rowsAt !== undefined && { rows_at: rowsAt }),
            row_count: rowCount,
            ...shown,
            error_count: errorCount,
          },
        };
      } finally {
        await spool.close();
      }
    });
  });
}
