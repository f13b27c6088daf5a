/**
 * The audit log: one line for each request that changes tables, webhooks, profiles or loads, that exports rows, or that was refused or failed although its token is valid. It says
 * who changed what, and how that ended. It never contains the value of a cell, a token, or the text of an error, because that may
 * quote the request.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { asAppError } from '../answers/problem-json.ts';
import { loadIdHeader } from '../uploads/load-end.ts';
import { ClientGone } from '../wire/request-body.ts';
import { factsOf, type RequestFacts } from './access-log.ts';

/** What happened to the table. `loaded`: rows were added to the existing table. `changed`: it has another name, schema, comment or definition. */
export type TableChange = 'created' | 'replaced' | 'emptied' | 'loaded' | 'changed' | 'dropped';

/** A change of a table that is committed, or that a dry run has checked and rolled back. */
export interface AuditedChange {
  outcome: 'committed' | 'checked';
  change: TableChange;
  rows?: number;
  updated?: number;
  changed?: number;
  unchanged?: number;
  skipped?: number;
  /** Rows of the table that the upload does not have, and what happened to them. */
  missing?: number | undefined;
  deleted?: number | undefined;
  marked?: number | undefined;
  unmarked?: number | undefined;
  leftOut?: number;
  /** The tables of a load of several tables. `change` and the numbers are then those of all of them. */
  tables?: { schema: string; table: string; change: TableChange; rows: number }[];
  /** The columns that got wider types, with the names of both types. */
  widened?: { column: string; from: string; to: string }[];
}

/** A change of a webhook, a load or a profile. */
export interface OtherChange {
  outcome: 'committed';
  change: 'webhook-created' | 'webhook-deleted' | 'cancel-requested' | 'profile-saved' | 'profile-deleted';
  /** The id of the webhook. */
  webhook?: string;
  /** The scheme, host and port of the webhook. The rest of its URL may have a secret. */
  origin?: string;
  /** The id and the table of the load. */
  load?: string;
  profile?: string;
  /** The version that was written. */
  version?: number;
  /** The schema with which the profile is shared. */
  sharedWith?: string;
  schema?: string;
  table?: string;
}

/** A file with the rows of a table. After its first bytes `broken` means that the service could not finish it, and `cancelled` that the client left. */
export interface AuditedExport {
  outcome: 'sent' | 'broken' | 'cancelled';
  format: string;
  rows?: number;
  code?: string;
}

export type Operation =
  | 'create-table'
  | 'alter-table'
  | 'rename-table'
  | 'drop-table'
  | 'export-table'
  | 'upload-json'
  | 'upload-excel'
  | 'load-tables'
  | 'create-webhook'
  | 'delete-webhook'
  | 'cancel-load'
  | 'save-profile'
  | 'delete-profile';

const changes = new WeakMap<FastifyRequest, AuditedChange | OtherChange | AuditedExport>();

/** Records the change that a request has made, or what it has exported. It is in the audit log even if the request fails afterwards. */
export function noteChange(
  request: FastifyRequest,
  change: AuditedChange | OtherChange | AuditedExport,
): void {
  changes.set(request, change);
}

type Handler<Result> = (request: FastifyRequest, reply: FastifyReply) => Promise<Result>;

/** Returns a handler that does the same as `handle` and then writes the line, also if the client has disconnected meanwhile. */
export function auditing<Result>(operation: Operation, handle: Handler<Result>): Handler<Result> {
  return async (request, reply) => {
    let end: object | undefined;
    try {
      return await handle(request, reply);
    } catch (error) {
      end = auditedEnd(error);
      throw error;
    } finally {
      end = changes.get(request) ?? end;
      const { subject, tokenDigest } = factsOf(request);
      // A request without a valid token has no known sender, so only the access log has it.
      if (end !== undefined && (subject ?? tokenDigest) !== undefined)
        writeLine(request, reply, operation, end);
    }
  };
}

export function auditedEnd(error: unknown): { outcome: string; code?: string } {
  if (error instanceof ClientGone) return { outcome: 'cancelled' };
  const { status, code, isOutcomeUnknown } = asAppError(error);
  if (isOutcomeUnknown) return { outcome: 'unknown', code };
  if (code === 'load-cancelled') return { outcome: 'cancelled', code };
  return { outcome: status >= 500 ? 'failed' : 'refused', code };
}

function writeLine(request: FastifyRequest, reply: FastifyReply, operation: Operation, ending: object): void {
  const load = reply.getHeader(loadIdHeader);
  writeAudit(request.log, operation, { ...factsOf(request), ...(load !== undefined && { load }) }, ending);
}

/** Writes a line about a request, or about a load that was accepted earlier. */
export function writeAudit(
  log: FastifyBaseLogger,
  operation: Operation,
  facts: RequestFacts & { load?: unknown },
  ending: object,
): void {
  const { subject, tokenDigest, role, schema, table, load, fetchedFrom } = facts;
  log.info(
    {
      audit: operation,
      ...(subject === undefined ? { tokenDigest } : { subject }),
      ...(role !== undefined && { role }),
      schema,
      table,
      ...(load !== undefined && { load }),
      ...(fetchedFrom !== undefined && { fetchedFrom }),
      ...ending,
    },
    'audit',
  );
}
