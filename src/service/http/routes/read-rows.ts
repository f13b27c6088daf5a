/** `GET /api/v1/table/{table_name}/rows`: the first rows of a table, or all of them as a file. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type AppError, wrongParameter } from '../../../core/errors.ts';
import { exportFormats } from '../../../engine/tables/export/export-table.ts';
import { optionalText } from '../../../engine/tables/name-schemas.ts';
import { readFirstRows } from '../../../engine/tables/read-rows.ts';
import { schemaParameter, TablePath } from '../admission/table-request.ts';
import { describeForRequest } from '../answers/describe-for-request.ts';
import type { HttpContext } from '../context.ts';
import { acceptedFormat, orderOf, xlsxType } from '../exports/export-parameters.ts';
import { handleExport } from '../exports/handle-export.ts';
import { auditing } from '../observing/audit.ts';
import { operation, problemResponses, tableErrors } from '../openapi/openapi.ts';
import { choice, queryParser } from '../query.ts';

const maxFirstRows = 1000;

const Query = Type.Object({
  schema: schemaParameter,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `The maximum number of rows. Without a format: 50 by default, and at most ${maxFirstRows.toLocaleString('en-US')}. With one: all rows by default.`,
    }),
  ),
  format: Type.Optional(
    choice(exportFormats, {
      description:
        'Exports all rows as a file: `csv`, `ndjson`, `json` (a document that uploads accept) or `xlsx`. The header `Accept` with the media type of CSV, NDJSON or a workbook does the same. Needs the scope `table:export`.',
    }),
  ),
  columns: Type.Optional(
    Type.String({
      description:
        'The columns of the file in their order, separated by commas, for an export. A backslash before a comma makes it part of a name. Default: all columns.',
      examples: ['id,name'],
    }),
  ),
  order: Type.Optional(
    Type.String({
      description:
        'The columns by which the rows are ordered, separated by commas, each with `.asc` (default) or `.desc`. Without a format: one column. Without it the order is that of PostgreSQL.',
      examples: ['ordered_at.desc,id'],
    }),
  ),
  after: optionalText('The value of `next` in the answer before, to get the rows that follow.'),
});

const FirstRows = Type.Object(
  {
    rows: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description:
        'The rows, as objects with a member for each column. Numbers have all their digits. Values of types that are not built into PostgreSQL are text.',
    }),
    cut: Type.Optional(
      Type.Array(
        Type.Object({
          row: Type.Integer({ description: 'The number of the row in `rows`, from 1.' }),
          column: Type.String(),
        }),
        {
          description:
            'The values that are not whole, if there are any. A text or `bytea` of more than 1 MiB is cut to its first 1,000 characters or bytes. A value of another type that takes more than 256 KiB in PostgreSQL is null. If the first row would be longer than 16 MiB, these limits are 4 KiB and 256 bytes.',
        },
      ),
    ),
    has_more: Type.Boolean({
      description:
        'true: the table has more rows than this answer, because of `limit` or because an answer has at most 16 MiB of rows.',
    }),
    next: optionalText(
      'Send it as `after`, with the same `order`, to get the rows that follow. Absent: there are no more, or the rows have no order that tells them apart (a partitioned table, or one that others inherit from, without `order` or without a primary key; a value by which they are ordered is too long).',
    ),
  },
  { title: 'FirstRows' },
);

const documentation = {
  ...operation('tables', 'readRows'),
  summary: 'Read First Rows',
  description:
    'Returns the first rows of a table, in the order in which PostgreSQL stores them or by a column, and the rows after them in pages. Rows with an equal value are ordered by the primary key; without one, or without `order`, a row that is changed meanwhile may appear twice or not at all. There is no query language here, because PostgreSQL has one. Needs the scope `table:read`. With `format` it sends all rows as a file, and needs the scope `table:export` instead. An error after the first bytes of a file resets the connection.',
  params: TablePath,
  querystring: Query,
  response: {
    200: {
      // Client generators make one type for each answer, so the files are described in words.
      description: `The first rows. With \`format\`: a file of the type \`text/csv\`, \`application/x-ndjson\`, \`application/json\` or \`${xlsxType}\`.`,
      headers: {
        'Content-Disposition': { type: 'string', description: 'The name of the file.' },
      },
      content: { 'application/json': { schema: FirstRows } },
    },
    ...problemResponses(...tableErrors, 'table-not-found', 'limit-exceeded', 'invalid-data', 'service-busy'),
  },
};

export function readRowsRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get('/api/v1/table/:table_name/rows', { schema: documentation }, async (request, reply) => {
    const query = parseQuery(request.query);
    const format = query.format ?? acceptedFormat(request.headers.accept);
    if (format !== undefined) {
      if (query.after !== undefined)
        throw wrongParameter('after', 'An export has no pages: leave out after, or format.');
      const exportRows = () => handleExport(request, reply, context, { ...query, format });
      return auditing('export-table', exportRows)(request, reply);
    }
    const { schema, limit = 50, order, after, columns } = query;
    if (columns !== undefined)
      throw wrongParameter('columns', 'The parameter columns is for exports: send format, too.');
    if (limit > maxFirstRows) throw tooManyFirstRows();
    const [by, ...more] = orderOf(order);
    if (more.length > 0)
      throw wrongParameter('order', 'Without format, rows are ordered by one column.', { value: order! });
    const { rows, cut, hasMore, next } = await describeForRequest(
      request,
      reply,
      context,
      schema,
      ({ name, constraints, distribution }, client) => {
        const key = constraints.primary_key?.columns ?? [];
        // The shards of a table have places of their own.
        const isWhole = distribution === undefined || distribution.kind === 'local';
        return readFirstRows(client, schema, name, { limit, by, key, after, isWhole });
      },
    );
    // The rows are JSON already and are sent unchanged. If they were parsed and written again, large numbers would lose digits.
    reply.type('application/json; charset=utf-8');
    const ofCut = cut.length === 0 ? '' : `"cut":${JSON.stringify(cut)},`;
    const ofNext = next === undefined ? '' : `,"next":"${next}"`;
    return Buffer.from(`{"rows":[${rows.join(',')}],${ofCut}"has_more":${hasMore}${ofNext}}`);
  });
}

function tooManyFirstRows(): AppError {
  const detail = `The query parameter limit must be a whole number from 1 to ${maxFirstRows}, unless format is sent.`;
  return wrongParameter('limit', detail);
}
