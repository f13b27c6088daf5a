/** `GET /api/v1/table/{table_name}/rows`: the first rows of a table. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { readFirstRows } from '../../tables/read-rows.ts';
import { schemaParameter, TablePath } from '../admission/table-request.ts';
import { describeForRequest } from '../answers/describe-for-request.ts';
import type { HttpContext } from '../context.ts';
import { problemResponses, tableErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';

const Query = Type.Object({
  schema: schemaParameter,
  limit: Type.Integer({
    default: 50,
    minimum: 1,
    maximum: 1000,
    description: 'The maximum number of rows in the answer.',
  }),
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
  },
  { title: 'FirstRows' },
);

export function readRowsRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/table/:table_name/rows',
    {
      schema: {
        operationId: 'readRows',
        tags: ['tables'],
        summary: 'Read First Rows',
        description:
          'Returns the first rows of a table, in the order in which PostgreSQL stores them. There is no query language here, because PostgreSQL has one. Needs the scope `table:read`.',
        security: [{ bearer: [] }],
        params: TablePath,
        querystring: Query,
        response: {
          200: { description: 'The rows.', content: { 'application/json': { schema: FirstRows } } },
          ...problemResponses(...tableErrors, 'table-not-found', 'limit-exceeded'),
        },
      },
    },
    async (request, reply) => {
      const { schema, limit } = parseQuery(request.query);
      const { rows, cut, hasMore } = await describeForRequest(
        request,
        reply,
        context,
        schema,
        ({ name }, client) => readFirstRows(client, schema, name, limit),
      );
      // The rows are JSON already and are sent unchanged. If they were parsed and written again, large numbers would lose digits.
      reply.type('application/json; charset=utf-8');
      const ofCut = cut.length === 0 ? '' : `"cut":${JSON.stringify(cut)},`;
      return Buffer.from(`{"rows":[${rows.join(',')}],${ofCut}"has_more":${hasMore}}`);
    },
  );
}
