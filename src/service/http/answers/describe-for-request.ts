/** Describes the table of a request, for the endpoints that read one table. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientBase } from 'pg';
import { inTransaction } from '../../postgres/transaction.ts';
import { describeRelation } from '../../tables/catalog/describe-relation.ts';
import type { TableDescription } from '../../tables/definition.ts';
import { describeFound } from '../../tables/describe-table.ts';
import { tableKey } from '../admission/lines.ts';
import { admitTableRequest } from '../admission/table-request.ts';
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
  const { name, caller, signal, transaction } = admitted;
  const { defaultFunctions } = context.config.database;
  return context.lines.describes.use({ caller, table: tableKey(admitted) }, signal, () =>
    inTransaction(
      context.pool,
      { ...transaction, readOnly: true },
      async (client, { begun }) => {
        const found = begun!.rows[0].found ?? undefined;
        return use(await describeFound(client, schema, name, found, defaultFunctions), client);
      },
      describeRelation(schema, name),
    ),
  );
}
