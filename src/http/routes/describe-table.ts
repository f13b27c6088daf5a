/** `GET /api/v1/table/{table_name}`: describes a table. The answer can be sent again as a definition. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { inTransaction } from '../../postgres/transaction.ts';
import { describeRelation } from '../../tables/catalog.ts';
import { TableDescriptionSchema } from '../../tables/definition.ts';
import { describeFound } from '../../tables/describe-table.ts';
import type { HttpContext } from '../context.ts';
import { tableKey } from '../lines.ts';
import { problemResponses, tableErrors } from '../openapi.ts';
import { queryParser } from '../query.ts';
import { admitTableRequest, schemaParameter, TablePath } from '../table-request.ts';

const Query = Type.Object({ schema: schemaParameter });

const Described = Type.Object({ table: TableDescriptionSchema }, { title: 'DescribedTable' });

export function describeTableRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/table/:table_name',
    {
      schema: {
        operationId: 'describeTable',
        tags: ['tables'],
        summary: 'Describe Table',
        description: 'Describes the current table. Needs the scope `table:read`.',
        security: [{ bearer: [] }],
        params: TablePath,
        querystring: Query,
        response: {
          200: { description: 'The table.', content: { 'application/json': { schema: Described } } },
          ...problemResponses(...tableErrors, 'table-not-found'),
        },
      },
    },
    async (request, reply) => {
      const query = parseQuery(request.query);
      const { schema, name, signal, transaction } = await admitTableRequest(
        request,
        reply,
        context,
        query.schema,
        'table:read',
      );
      const { defaultFunctions } = context.config.database;
      const table = await context.lines.describes.use(tableKey({ schema, name }), signal, () =>
        inTransaction(
          context.pool,
          { ...transaction, readOnly: true },
          (client, { begun }) =>
            describeFound(client, schema, name, begun!.rows[0].found ?? undefined, defaultFunctions),
          describeRelation(schema, name),
        ),
      );
      return { table };
    },
  );
}
