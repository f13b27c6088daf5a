/** Describes the table of a request, for the endpoints that read one table. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientBase } from 'pg';
import { describeRelation, type TableFacts } from '../../../engine/tables/catalog/describe-relation.ts';
import type { TableDescription } from '../../../engine/tables/definition.ts';
import { describeFound, isTable, toDescription } from '../../../engine/tables/describe-table.ts';
import { withBytes } from '../../../engine/tables/distribution/describe-distribution.ts';
import type { OnlyStatement } from '../../../postgres/begin-transaction.ts';
import { ownSession } from '../../../postgres/own-session.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { inTransaction, type TransactionEdges } from '../../../postgres/transaction.ts';
import { tableKey } from '../admission/lines.ts';
import { admitTableRequest, type TableRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';

/**
 * Admits the request, describes the table and passes it to `use`, in one transaction that only reads.
 *
 * @returns the result of `use`
 * @throws AppError the errors of `admitTableRequest`, `table-not-found`, `schema-not-found`
 */
export async function describeForRequest<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  schema: string,
  use: (table: TableDescription, client: ClientBase) => Promise<Result>,
): Promise<Result> {
  const admitted = await admitTableRequest(request, reply, context, schema, 'table:read');
  return inLine(context, admitted, () => describeAndUse(context, admitted, use));
}

/**
 * Admits the request and describes the table, in one round trip if there is nothing else to find out: the table exists, its texts are short,
 * and the database has no Citus.
 *
 * @throws the errors of `describeForRequest`
 */
export async function describeAlone(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  schema: string,
): Promise<TableDescription> {
  const admitted = await admitTableRequest(request, reply, context, schema, 'table:read');
  const { name, transaction } = admitted;
  const { defaultFunctions } = context.config.database;
  const describe = describeRelation(schema, name);
  const first = (client: ClientBase): Statement | OnlyStatement =>
    ownSession(client)?.hasCitus ? describe : { only: describe };
  const work = async (client: ClientBase, { begun, hasEnded }: TransactionEdges) => {
    const found: TableFacts | undefined = begun!.rows[0].found ?? undefined;
    if (!hasEnded)
      return withBytes(client, await describeFound(client, schema, name, found, defaultFunctions));
    const isComplete = found?.maySee && isTable(found.kind) && found.isRead && !found.isCitus;
    return isComplete ? toDescription(schema, name, found, defaultFunctions, undefined) : undefined;
  };
  const reading = { ...transaction, readOnly: true };
  return inLine(
    context,
    admitted,
    async () =>
      (await inTransaction(context.pool, reading, work, first)) ??
      describeAndUse(context, admitted, (table, client) => withBytes(client, table)),
  );
}

function inLine<Result>(
  context: HttpContext,
  admitted: TableRequest,
  work: () => Promise<Result>,
): Promise<Result> {
  const { caller, signal } = admitted;
  return context.lines.describes.use({ caller, table: tableKey(admitted) }, signal, work);
}

function describeAndUse<Result>(
  context: HttpContext,
  { schema, name, transaction }: TableRequest,
  use: (table: TableDescription, client: ClientBase) => Promise<Result>,
): Promise<Result> {
  const { defaultFunctions } = context.config.database;
  return inTransaction(
    context.pool,
    { ...transaction, readOnly: true },
    async (client, { begun }) => {
      const found = begun!.rows[0].found ?? undefined;
      return use(await describeFound(client, schema, name, found, defaultFunctions), client);
    },
    describeRelation(schema, name),
  );
}
