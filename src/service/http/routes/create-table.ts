/**
 * `POST /api/v1/table/{table_name}`: Create Table.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { type CreateResult, createTable } from '../../../engine/tables/create-table.ts';
import {
  TableDefinitionSchema,
  type TableDescription,
  TableDescriptionSchema,
} from '../../../engine/tables/definition.ts';
import { noKey } from '../../loads/idempotency-key.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import { largeDefinitionBytes, tableKey } from '../admission/lines.ts';
import { admitTableRequest, schemaParameter, TablePath, tableLocation } from '../admission/table-request.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import type { HttpContext } from '../context.ts';
import { auditing, noteChange } from '../observing/audit.ts';
import {
  bodyErrors,
  encodingHeader,
  idempotencyHeader,
  jsonAnswer,
  keyErrors,
  operation,
  problemResponses,
  tableErrors,
  tableLocationHeader,
  Warnings,
} from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { requireSchema } from '../tokens/auth.ts';
import { readDefinitionText, requireDefinition } from '../uploads/definition-body.ts';
import { answerTextOnce } from '../uploads/idempotency.ts';

const Query = Type.Object({
  schema: schemaParameter,
  if_not_exists: Type.Boolean({
    default: false,
    description:
      'true: an existing table is left unchanged and described (200), with its `differences` from the definition.',
  }),
  new_names: Type.Boolean({
    default: false,
    description:
      'true: the service chooses the names of all keys, foreign keys, indexes and sequences, so that the answer for one table makes a second one next to it.',
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
  ...operation('tables', 'createTable'),
  description: descriptionWithExample,
  params: TablePath,
  headers: Type.Object({ ...idempotencyHeader, ...encodingHeader }),
  querystring: Query,
  body: { content: { 'application/json': { schema: Body } } },
  response: {
    200: jsonAnswer('With `if_not_exists=true`: the table already existed and is unchanged.', Found),
    201: jsonAnswer('Created.', Created, tableLocationHeader),
    ...problemResponses(
      ...tableErrors,
      ...bodyErrors,
      ...keyErrors,
      'table-exists',
      'invalid-definition',
      'distribution-unavailable',
    ),
  },
};

export function createTableRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  const { records } = context;
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const query = parseQuery(request.query);
    const admitted = await admitTableRequest(request, reply, context, query.schema, 'table:create');
    const { schema, name, grants, caller, signal, transaction } = admitted;
    const { limits } = context.config;
    const text = await readDefinitionText(request, context, admitted);
    const options = {
      schema,
      name,
      extraFunctions: context.config.database.defaultFunctions,
      ifNotExists: query.if_not_exists,
      newNames: query.new_names,
      admitSchema: (other: string) => requireSchema(grants, other),
      beforeCommit: (distribution: TableDescription['distribution']) =>
        records.eventStatements([{ type: 'table.created', schema, table: name, distribution }]),
    };
    const line = text.length > largeDefinitionBytes ? context.lines.largeCreates : context.lines.creates;
    return answerTextOnce(request, reply, records, { grants, text }, async (claimed) => {
      let expected: CreateResult | undefined;
      // Without an idempotency key there is no result to store before the commit, which saves one round trip.
      const onResult =
        claimed === noKey
          ? undefined
          : (result: CreateResult): void => {
              expected = result;
            };
      const toAnswer = (result: CreateResult) => answerOf(result, tableLocation({ schema, name }));
      const beforeCommit = () => claimed.commitStatements(() => toAnswer(expected!));
      const result = await line.use({ caller, table: tableKey({ schema, name }) }, signal, async () =>
        createTable(
          context.pool,
          { ...transaction, beforeCommit },
          { ...options, onResult, table: await requireDefinition(text, limits) },
        ),
      );
      if (!result.differences) {
        noteChange(request, { outcome: 'committed', change: 'created' });
        records.noteEvents();
      }
      return toAnswer(result);
    });
  };
  app.post('/api/v1/table/:table_name', { schema: documentation }, auditing('create-table', handle));
}

function answerOf({ table, differences, warnings }: CreateResult, location: string): KeptAnswer {
  const body = differences ? { table, differences } : { table, ...(warnings.length > 0 && { warnings }) };
  return {
    status: differences ? 200 : 201,
    headers: { ...(!differences && { location }), 'content-type': jsonContentType },
    body: Buffer.from(JSON.stringify(body)),
  };
}
