/** Lists what the token may see in its schemas, for the endpoints that answer pages ordered by schema and name. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientBase } from 'pg';
import { checkSchemaName, refuseSystemSchema } from '../../../core/identifiers.ts';
import { requireSchemaExists } from '../../../engine/tables/describe-table.ts';
import { type ListPlace, usableSchemas } from '../../../engine/tables/list-tables.ts';
import { inTransaction } from '../../../postgres/transaction.ts';
import { admitRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { allowsSchema, type Grants, requireSchema } from '../tokens/auth.ts';
import { readPlace } from './list-places.ts';

export interface WantedList {
  /** undefined: all schemas that the token allows. */
  schema: string | undefined;
  /** The value of `next` in the answer before. */
  after: string | undefined;
  /**
   * In the waiting line all lists with the same key count as requests for one table, so that they do not use all places. No real table has this
   * key.
   */
  lineKey: string;
}

/** What a list is made of. */
export interface ListScope {
  client: ClientBase;
  grants: Grants;
  /** The schemas that the token allows and the role may use. */
  schemas: string[];
  /** The list continues after this place; undefined: it begins. */
  place: ListPlace | undefined;
}

/**
 * Admits the request, finds the schemas, and makes the list in one transaction that only reads.
 *
 * @throws AppError the errors of `admitRequest`, `schema-forbidden`, `schema-not-found`, `invalid-parameter`
 */
export async function listForRequest<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  { schema, after, lineKey }: WantedList,
  list: (scope: ListScope) => Promise<Result>,
): Promise<Result> {
  const { grants, caller, signal } = await admitRequest(request, reply, context, 'table:read');
  if (schema !== undefined) {
    checkSchemaName(schema);
    refuseSystemSchema(schema);
    requireSchema(grants, schema);
  }
  const place = after === undefined ? undefined : readPlace(after);
  const { statementTimeoutMs, lockTimeoutMs } = context.config.database;
  const options = { role: grants.role, statementTimeoutMs, lockTimeoutMs, signal, readOnly: true };
  return context.lines.describes.use({ caller, table: lineKey }, signal, () =>
    inTransaction(context.pool, options, async (client) => {
      const usable = await usableSchemas(client);
      if (schema !== undefined && !usable.includes(schema)) await requireSchemaExists(client, schema);
      const schemas = usable.filter((one) => allowsSchema(grants, one) && one === (schema ?? one));
      return list({ client, grants, schemas, place });
    }),
  );
}
