/** `GET /api/v1/table/{table_name}`: describes a table. The answer can be sent again as a definition. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { TableDescriptionSchema } from '../../../engine/tables/definition.ts';
import { schemaParameter, TablePath } from '../admission/table-request.ts';
import { definitionTag } from '../answers/definition-tag.ts';
import { describeAlone } from '../answers/describe-for-request.ts';
import type { HttpContext } from '../context.ts';
import { etagHeader, jsonAnswer, operation, problemResponses, tableErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';

const Query = Type.Object({ schema: schemaParameter });

const Described = Type.Object({ table: TableDescriptionSchema }, { title: 'DescribedTable' });

export function describeTableRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/table/:table_name',
    {
      schema: {
        ...operation('tables', 'describeTable'),
        description: 'Describes the current table. Needs the scope `table:read`.',
        params: TablePath,
        querystring: Query,
        response: {
          200: jsonAnswer('The table.', Described, etagHeader),
          ...problemResponses(...tableErrors, 'table-not-found'),
        },
      },
    },
    async (request, reply) => {
      const { schema } = parseQuery(request.query);
      const table = await describeAlone(request, reply, context, schema);
      reply.header('etag', definitionTag(table));
      return { table };
    },
  );
}
