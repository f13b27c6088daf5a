/**
 * `POST /api/v1/table/{table_name}`: Create Table.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { insertEvents } from '../../events/outbox.ts';
import { createTable } from '../../tables/create-table.ts';
import { TableDefinitionSchema, TableDescriptionSchema } from '../../tables/definition.ts';
import { auditing, noteChange } from '../audit.ts';
import { requireSchema } from '../auth.ts';
import type { HttpContext } from '../context.ts';
import { readDefinitionText, requireDefinition } from '../definition-body.ts';
import { largeDefinitionBytes, tableKey } from '../lines.ts';
import { problemResponses, tableErrors, Warnings } from '../openapi.ts';
import { queryParser } from '../query.ts';
import { admitTableRequest, schemaParameter, TablePath, tableLocation } from '../table-request.ts';

const Query = Type.Object({
  schema: schemaParameter,
  if_not_exists: Type.Boolean({
    default: false,
    description:
      'true: an existing table is left unchanged and described (200), with its `differences` from the definition.',
  }),
});

const Body = Type.Object({ table: TableDefinitionSchema }, { title: 'TableDefinitionBody' });

const Created = Type.Object(
  { table: TableDescriptionSchema, warnings: Type.Optional(Warnings) },
  { title: 'CreatedTable' },
);

const Found = Type.Object(
  {
    table: TableDescriptionSchema,
    differences: Type.Array(Type.String(), {
      description: 'The differences between the existing table and the definition.',
    }),
  },
  { title: 'FoundTable' },
);

const descriptionWithExample = `Creates a table from a definition. Needs the scope \`table:create\`.

A definition with everything that it may contain:

\`\`\`json
{
  "table": {
    "columns": [
      { "name": "id", "type": "bigserial", "is_nullable": false, "default": null },
      { "name": "customer_id", "type": "bigint", "is_nullable": false, "default": null },
      { "name": "amount", "type": "numeric(12,2)", "is_nullable": false, "default": "0" },
      { "name": "status", "type": "text", "is_nullable": false, "default": "pending" },
      { "name": "created_at", "type": "timestamptz", "is_nullable": false, "default": "now()" }
    ],
    "constraints": {
      "unique": [{ "name": "", "columns": ["customer_id", "created_at"] }],
      "primary_key": { "name": "orders_pkey", "columns": ["id"] },
      "foreign_keys": [
        {
          "name": "orders_customer_id_fkey",
          "column": "customer_id",
          "reference_table": "customers",
          "reference_column": "id",
          "reference_schema": "public"
        }
      ]
    }
  }
}
\`\`\``;

const documentation = {
  operationId: 'createTable',
  tags: ['tables'],
  summary: 'Create Table',
  description: descriptionWithExample,
  security: [{ bearer: [] }],
  params: TablePath,
  querystring: Query,
  body: { content: { 'application/json': { schema: Body } } },
  response: {
    200: {
      description: 'With `if_not_exists=true`: the table already existed and is unchanged.',
      content: { 'application/json': { schema: Found } },
    },
    201: {
      description: 'Created.',
      headers: {
        Location: { type: 'string', description: 'The URL that describes the table.' },
      },
      content: { 'application/json': { schema: Created } },
    },
    ...problemResponses(
      ...tableErrors,
      'invalid-json',
      'invalid-content-encoding',
      'request-timeout',
      'table-exists',
      'write-conflict',
      'limit-exceeded',
      'unsupported-media-type',
      'invalid-definition',
    ),
  },
};

export function createTableRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  const create = async (request: FastifyRequest, reply: FastifyReply) => {
    const query = parseQuery(request.query);
    const { schema, name, grants, signal, transaction } = await admitTableRequest(
      request,
      reply,
      context,
      query.schema,
      'table:create',
    );
    const { limits } = context.config;
    const text = await readDefinitionText(request, limits, context.stopping);
    const options = {
      schema,
      name,
      extraFunctions: context.config.database.defaultFunctions,
      ifNotExists: query.if_not_exists,
      admitSchema: (other: string) => requireSchema(grants, other),
      beforeCommit: () => eventsOfCreation(context, schema, name),
    };
    const line = text.length > largeDefinitionBytes ? context.lines.largeCreates : context.lines.creates;
    const { table, differences, warnings } = await line.use(tableKey({ schema, name }), signal, async () =>
      createTable(context.pool, transaction, { ...options, table: await requireDefinition(text, limits) }),
    );
    if (differences) return { table, differences };
    noteChange(request, { outcome: 'committed', change: 'created' });
    return reply
      .code(201)
      .header('location', tableLocation({ schema, name }))
      .send({ table, ...(warnings.length > 0 && { warnings }) });
  };
  app.post('/api/v1/table/:table_name', { schema: documentation }, auditing('create-table', create));
}

function eventsOfCreation({ serviceSchema }: HttpContext, schema: string, table: string): string[] {
  return serviceSchema === undefined
    ? []
    : insertEvents(serviceSchema, [{ type: 'table.created', schema, table }]);
}
