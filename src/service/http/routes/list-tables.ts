/** `GET /api/v1/tables`: lists the tables that the token may see. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { DistributionDescriptionSchema } from '../../../engine/tables/definition.ts';
import { type ListedTable, listTables } from '../../../engine/tables/list-tables.ts';
import { optionalText } from '../../../engine/tables/name-schemas.ts';
import { listForRequest } from '../answers/list-for-request.ts';
import { writePlace } from '../answers/list-places.ts';
import type { HttpContext } from '../context.ts';
import { jsonAnswer, operation, problemResponses, tableErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';

const Query = Type.Object({
  schema: optionalText('Only the tables of this schema. Default: all schemas that the token allows.'),
  limit: Type.Integer({
    default: 100,
    minimum: 1,
    maximum: 1000,
    description: 'The maximum number of tables in the answer.',
  }),
  after: optionalText('The value of `next` in the answer before, to get the tables that follow.'),
});

const Listed = Type.Object(
  {
    tables: Type.Array(
      Type.Object(
        {
          schema: Type.String(),
          name: Type.String(),
          kind: Type.Unsafe<ListedTable['kind']>(Type.String({ enum: ['table', 'partitioned table'] })),
          estimated_rows: Type.Union([Type.Number(), Type.Null()], {
            description:
              'The number of rows as PostgreSQL last estimated it (VACUUM or ANALYZE). null: not yet, or the rows are on other nodes of Citus.',
          }),
          bytes: Type.Union([Type.Integer(), Type.Null()], {
            description:
              'The size on disk, with indexes, on all nodes. null: it cannot be found out now, because another session has locked the table, or a node of Citus does not answer.',
          }),
          comment: Type.Union([Type.String(), Type.Null()], { description: 'The comment on the table.' }),
          distribution: Type.Optional(DistributionDescriptionSchema),
        },
        { title: 'ListedTable' },
      ),
      { description: 'Ordered by schema and name.' },
    ),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'Send this as `after` to get the tables that follow. null: there are no more.',
    }),
  },
  { title: 'ListedTables' },
);

export function listTablesRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/tables',
    {
      schema: {
        ...operation('tables', 'listTables'),
        description:
          'Lists the tables and partitioned tables that the token may see: in the schemas of its claim `schemas`, on which its role has a privilege. Needs the scope `table:read`.',
        querystring: Query,
        response: {
          200: jsonAnswer('The tables, in pages.', Listed),
          ...problemResponses(...tableErrors),
        },
      },
    },
    async (request, reply) => {
      const { schema, limit, after } = parseQuery(request.query);
      const wanted = { schema, after, lineKey: 'tables' };
      const found = await listForRequest(request, reply, context, wanted, ({ client, schemas, place }) =>
        listTables(client, schemas, place, limit + 1),
      );
      const tables = found.slice(0, limit);
      return {
        tables: tables.map(({ estimatedRows, ...table }) => ({ ...table, estimated_rows: estimatedRows })),
        next: found.length > limit ? writePlace(tables.at(-1)!) : null,
      };
    },
  );
}
