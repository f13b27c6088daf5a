/** `DELETE /api/v1/table/{table_name}`: drops a table that nothing else needs. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { dropTable } from '../../../engine/tables/change/drop-table.ts';
import { tableKey } from '../admission/lines.ts';
import { admitTableRequest, schemaParameter, TablePath } from '../admission/table-request.ts';
import { matchOf } from '../answers/definition-tag.ts';
import type { HttpContext } from '../context.ts';
import { auditing, noteChange } from '../observing/audit.ts';
import {
  changeErrors,
  idempotencyHeader,
  ifMatchHeader,
  operation,
  problemResponses,
} from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { requireSchema } from '../tokens/auth.ts';
import { answerTextOnce } from '../uploads/idempotency.ts';

const Query = Type.Object({
  schema: schemaParameter,
  if_exists: Type.Boolean({ default: false, description: 'true: a table that does not exist is no error.' }),
  dry_run: Type.Boolean({
    default: false,
    description: 'true: checks that the table could be dropped, and keeps it.',
  }),
});

const documentation = {
  ...operation('tables', 'dropTable'),
  description:
    'Drops a table with its rows and its partitions. It is refused if another object needs the table, such as a view or a foreign key. Needs the scope `table:drop`.',
  params: TablePath,
  headers: Type.Object({ ...ifMatchHeader, ...idempotencyHeader }),
  querystring: Query,
  response: {
    204: { description: 'There is no such table any more. With `dry_run`: it could be dropped.' },
    ...problemResponses(...changeErrors),
  },
};

export function dropTableRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  const { records } = context;
  app.delete(
    '/api/v1/table/:table_name',
    { schema: documentation },
    auditing('drop-table', async (request, reply) => {
      const query = parseQuery(request.query);
      const admitted = await admitTableRequest(request, reply, context, query.schema, 'table:drop');
      const { schema, name, grants, caller, signal, transaction } = admitted;
      const text = Buffer.alloc(0);
      const answer = { status: 204, headers: {}, body: text };
      const { lockTimeoutMs } = context.config.database;
      return answerTextOnce(request, reply, records, { grants, text }, async (keeper) => {
        const isDropped = await context.lines.creates.use(
          { caller, table: tableKey({ schema, name }) },
          signal,
          () =>
            dropTable(
              context.pool,
              {
                ...transaction,
                rollback: query.dry_run,
                beforeCommit: () => keeper.commitStatements(() => answer),
              },
              {
                ...{ schema, name, lockTimeoutMs, signal },
                ifExists: query.if_exists,
                requireMatch: matchOf(request),
                extraFunctions: context.config.database.defaultFunctions,
                admitSchema: (other) => requireSchema(grants, other),
                onDrop: () => records.eventStatements([{ type: 'table.dropped', schema, table: name }]),
              },
            ),
        );
        if (query.dry_run) await keeper.keep(answer);
        else if (isDropped) records.noteEvents();
        if (isDropped)
          noteChange(request, { outcome: query.dry_run ? 'checked' : 'committed', change: 'dropped' });
        return answer;
      });
    }),
  );
}
