/** `PATCH /api/v1/table/{table_name}`: gives a table another name, another schema or another comment. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { refuseSystemSchema } from '../../../core/identifiers.ts';
import { ChangeSchema, parseChange, type TableChange } from '../../../engine/tables/change/parse-change.ts';
import { renameTable } from '../../../engine/tables/change/rename-table.ts';
import { type TableDescription, TableDescriptionSchema } from '../../../engine/tables/definition.ts';
import type { EventFacts } from '../../events/event.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import { tableKey } from '../admission/lines.ts';
import { admitTableRequest, schemaParameter, TablePath, tableLocation } from '../admission/table-request.ts';
import { definitionTag, matchOf } from '../answers/definition-tag.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import type { HttpContext } from '../context.ts';
import { auditing, noteChange } from '../observing/audit.ts';
import {
  bodyErrors,
  changeErrors,
  encodingHeader,
  etagHeader,
  idempotencyHeader,
  ifMatchHeader,
  operation,
  problemResponses,
  tableLocationHeader,
} from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { type Grants, requireSchema } from '../tokens/auth.ts';
import { parseSmallJson, readDefinitionText } from '../uploads/definition-body.ts';
import { answerTextOnce } from '../uploads/idempotency.ts';

/** The longest comment has 16,384 characters, each of which takes at most 12 bytes (`\ud83d\ude00`). */
const maxBytes = 256 * 1024;

const Query = Type.Object({ schema: schemaParameter });

const Renamed = Type.Object({ table: TableDescriptionSchema }, { title: 'RenamedTable' });

const documentation = {
  ...operation('tables', 'renameTable'),
  description:
    'Gives a table another name, another schema or another comment. Other sessions wait for it only for a moment. Needs the scope `table:alter`, and a token that may use both schemas.',
  params: TablePath,
  headers: Type.Object({
    ...ifMatchHeader,
    ...idempotencyHeader,
    ...encodingHeader,
  }),
  querystring: Query,
  body: { content: { 'application/json': { schema: ChangeSchema } } },
  response: {
    200: {
      description: 'The table as it is now.',
      headers: {
        ...etagHeader,
        ...tableLocationHeader,
      },
      content: { 'application/json': { schema: Renamed } },
    },
    ...problemResponses(...changeErrors, 'table-exists', ...bodyErrors, 'invalid-definition'),
  },
};

export function renameTableRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  const { records } = context;
  app.patch(
    '/api/v1/table/:table_name',
    { schema: documentation },
    auditing('rename-table', async (request, reply) => {
      const query = parseQuery(request.query);
      const admitted = await admitTableRequest(request, reply, context, query.schema, 'table:alter');
      const { schema, name, grants, caller, signal, transaction } = admitted;
      const text = await readDefinitionText(request, context, admitted, maxBytes);
      const { defaultFunctions: extraFunctions, lockTimeoutMs } = context.config.database;
      const change = await parseChange(parseSmallJson(text, '{"name": "orders"}'));
      // The first answer describes the table in its new schema, so a repeated request needs that schema, too.
      if (change.schema !== undefined) requireTarget(grants, change.schema);
      return answerTextOnce(request, reply, records, { grants, text }, async (keeper) => {
        let answer: KeptAnswer | undefined;
        const beforeCommit = () => [
          ...keeper.commitStatements(() => answer!),
          ...records.eventStatements(eventsOf({ schema, table: name }, change)),
        ];
        const onResult = (table: TableDescription) => {
          answer = answerOf(table);
        };
        await context.lines.creates.use({ caller, table: tableKey({ schema, name }) }, signal, () =>
          renameTable(
            context.pool,
            { ...transaction, beforeCommit },
            {
              schema,
              name,
              change,
              extraFunctions,
              onResult,
              lockTimeoutMs,
              signal,
              requireMatch: matchOf(request),
            },
          ),
        );
        noteChange(request, { outcome: 'committed', change: 'changed' });
        records.noteEvents();
        return answer!;
      });
    }),
  );
}

/** Refuses a new schema that the token may not use. */
function requireTarget(grants: Grants, schema: string): void {
  refuseSystemSchema(schema);
  requireSchema(grants, schema);
}

/** Returns an event about the table as it is now, and if it has left its schema, one for those who watch that schema. */
function eventsOf(from: { schema: string; table: string }, { schema, name }: TableChange): EventFacts[] {
  const to = { schema: schema ?? from.schema, table: name ?? from.table };
  const isRenamed = to.schema !== from.schema || to.table !== from.table;
  const now: EventFacts = {
    type: 'table.changed',
    ...to,
    ...(isRenamed && { renamed: { renamed_from: from } }),
  };
  if (to.schema === from.schema) return [now];
  return [now, { type: 'table.changed', ...from, renamed: { renamed_to: to } }];
}

function answerOf(table: TableDescription): KeptAnswer {
  return {
    status: 200,
    headers: { location: tableLocation(table), etag: definitionTag(table), 'content-type': jsonContentType },
    body: Buffer.from(JSON.stringify({ table })),
  };
}
