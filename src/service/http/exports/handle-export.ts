/** Exports the rows of a table as a file. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { limitDetail, limitExceeded } from '../../../core/limit-exceeded.ts';
import { describeRelation } from '../../../engine/tables/catalog/describe-relation.ts';
import { describeFound } from '../../../engine/tables/describe-table.ts';
import {
  type ExportFormat,
  type ExportWatch,
  exportTable,
} from '../../../engine/tables/export/export-table.ts';
import { inTransaction } from '../../../postgres/transaction.ts';
import { admitTableRequest, type TableRequest } from '../admission/table-request.ts';
import { asAppError } from '../answers/problem-json.ts';
import type { HttpContext } from '../context.ts';
import { factsOf } from '../observing/access-log.ts';
import { noteChange } from '../observing/audit.ts';
import { measureError } from '../observing/measure-requests.ts';
import { ClientGone } from '../wire/request-body.ts';
import { columnsOf, contentTypes, orderOf } from './export-parameters.ts';
import { breakOff, sendFile } from './send-file.ts';

export interface ExportQuery {
  schema: string;
  format: ExportFormat;
  columns?: string;
  order?: string;
  limit?: number;
}

/**
 * Sends the rows of a table, under the role of the token.
 *
 * @throws AppError the errors of `admitTableRequest` and `exportTable` before the first bytes. After them the answer is broken off
 */
export async function handleExport(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  query: ExportQuery,
): Promise<void> {
  const { format } = query;
  const columns = columnsOf(query.columns);
  const order = orderOf(query.order);
  const admitted = await admitTableRequest(request, reply, context, query.schema, 'table:export');
  const { schema, name, caller, signal } = admitted;
  // HEAD checks the same and reads no rows.
  const limit = request.method === 'HEAD' ? 0 : query.limit;
  let sent = { sentBytes: 0, end: () => {} };
  const work = async (client: ClientBase): Promise<number> =>
    exportTable(
      client,
      { schema, name, format, columns, order, limit },
      watchOf(admitted, context),
      async (bytes) => {
        const file = { bytes, contentType: contentTypes[format], fileName: `${name}.${format}` };
        sent = await sendFile(reply, file, signal);
      },
    );
  try {
    const rows = await context.lines.exports.use({ caller }, signal, () =>
      withinTime(context, admitted, () => inOwnTransaction(context, admitted, work)),
    );
    factsOf(request).rows = rows;
    context.measures.exported(format, rows, sent.sentBytes);
    noteChange(request, { outcome: 'sent', format, rows });
    sent.end();
  } catch (error) {
    if (!reply.raw.headersSent) throw error;
    breakOff(reply.raw);
    if (error instanceof ClientGone) noteChange(request, { outcome: 'cancelled', format });
    else noteBroken(request, context, format, error);
  }
}

/** Ends the export if it takes too long. A client that reads at the least pace would keep the snapshot of a large table for days. */
async function withinTime<Result>(
  { config }: HttpContext,
  { cancel }: TableRequest,
  work: () => Promise<Result>,
): Promise<Result> {
  const timeoutMs = config.database.exportTimeoutMs;
  if (timeoutMs === 0) return work();
  const end = () => {
    const advice = 'Send limit or columns, or read faster.';
    cancel(limitExceeded('The export takes too long', timeoutMs, { setting: 'EXPORT_TIMEOUT_MS' }, advice));
  };
  const timer = setTimeout(end, timeoutMs);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/** Ends the export if PostgreSQL sends no rows for as long as a statement may take. */
function watchOf({ cancel }: TableRequest, { config }: HttpContext): ExportWatch {
  const idleMs = config.database.statementTimeoutMs;
  return {
    idleMs,
    onIdle: () => {
      const setting = { setting: 'STATEMENT_TIMEOUT_MS' } as const;
      cancel(
        new AppError('database-busy', limitDetail('PostgreSQL sent no rows for too long', idleMs, setting)),
      );
    },
    cancel,
  };
}

function inOwnTransaction(
  { exportPool, config }: HttpContext,
  { schema, name, transaction }: TableRequest,
  work: (client: ClientBase) => Promise<number>,
): Promise<number> {
  const { defaultFunctions } = config.database;
  return inTransaction(
    exportPool,
    { ...transaction, readOnly: true },
    async (client, { begun }) => {
      // This refuses what is not a table, and a table that the role may not see.
      await describeFound(client, schema, name, begun!.rows[0].found ?? undefined, defaultFunctions);
      return work(client);
    },
    describeRelation(schema, name),
  );
}

/** Notes that a file could not be finished after its first bytes. The client sees only that the connection was reset. */
function noteBroken(
  request: FastifyRequest,
  { measures }: HttpContext,
  format: ExportFormat,
  thrown: unknown,
): void {
  const error = asAppError(thrown);
  const { code, cause } = error;
  factsOf(request).code = code;
  measureError(measures, error);
  noteChange(request, { outcome: 'broken', format, code });
  // The text of another error may have a value of the table.
  const shown = error.status >= 500 ? { err: cause ?? thrown } : {};
  request.log.warn({ code, ...shown }, 'an export was broken off');
}
