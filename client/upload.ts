/** Sends uploads and other requests that change something, with an idempotency key, so that they can be repeated. */
import type { components, operations } from './api-types.ts';
import { newKey } from './new-key.ts';
import { ProblemError } from './problem-error.ts';
import { type Connection, type SentRequest, send } from './send.ts';
import type { TransportAnswer } from './transport.ts';
import { type PlanFile, planBody, type UploadSource, uploadBody } from './upload-body.ts';

type QueryOf<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

/** The parameters of uploads: those of JSON and those of spreadsheets (docs/loading.md). */
export type LoadQuery = QueryOf<'uploadTableFromJson'> & QueryOf<'uploadTableFromExcel'>;

/** Options of each request. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
}

/** Options of a request that changes something. */
export interface ChangeOptions extends RequestOptions {
  /** With this key the service does the work once, however often the request arrives. Default: a new key for each call. */
  idempotencyKey?: string | undefined;
}

export interface LoadOptions extends LoadQuery, UploadSource, ChangeOptions {
  /** The name of the table. */
  table: string;
  /** Called while the body is sent. `fetch` reports it only for streams; `xhrTransport` for all bodies. */
  onSent?: ((bytes: number) => void) | undefined;
}

/** @throws as `send` does, TypeError if the source is not complete or contradicts itself */
export async function upload<Result>(
  connection: Connection,
  options: LoadOptions,
  headers: Record<string, string>,
  read: (answer: TransportAnswer) => Promise<Result>,
): Promise<Result> {
  const { table, signal, idempotencyKey, onSent, ...source } = options;
  const { operation, contentType, ...body } = await uploadBody(source);
  // The rest are the parameters of the query.
  const { rows, file, fromUrl, bytes, name, kind, definition, patch, password, ...query } = source;
  const request = {
    method: 'POST',
    path: `/table/${encodeURIComponent(table)}/upload/${operation}`,
    query,
    headers: { 'content-type': contentType, ...headers },
    signal,
    onSent,
    ...body,
  } as const;
  return sendOnce(connection, request, idempotencyKey, read);
}

/** The options of a load of several tables. */
export interface PlanOptions
  extends QueryOf<'loadTables'>,
    ChangeOptions,
    Pick<LoadOptions, 'password' | 'onSent'> {
  tables: components['schemas']['PlannedTable'][];
  /** The files, by the names by which the tables name them. */
  files: Readonly<Record<string, PlanFile>>;
}

export async function uploadPlan<Result>(
  connection: Connection,
  { tables, files, password, signal, idempotencyKey, onSent, ...query }: PlanOptions,
  headers: Record<string, string>,
  read: (answer: TransportAnswer) => Promise<Result>,
): Promise<Result> {
  const { contentType, ...body } = planBody({ tables }, files, password);
  const sent = { 'content-type': contentType, ...headers };
  const request = { method: 'POST', path: '/loads', query, headers: sent, signal, onSent, ...body } as const;
  return sendOnce(connection, request, idempotencyKey, read);
}

/** Sends a request that changes something with an idempotency key, so that it can be repeated. */
export async function sendOnce<Result>(
  connection: Connection,
  request: SentRequest,
  key: string | undefined,
  read: (answer: TransportAnswer) => Promise<Result>,
): Promise<Result> {
  const canRepeat = request.isRepeatable && connection.retryMs > 0;
  const withoutKey = { ...request, isRepeatable: false };
  if (key === undefined && !canRepeat) return send(connection, withoutKey, read);
  const headers = { ...request.headers, 'idempotency-key': key ?? newKey() };
  try {
    return await send(connection, { ...request, headers }, read);
  } catch (error) {
    // A service without records of loads accepts no idempotency key. If the caller did not ask for one, the request is sent without.
    const hasNoKeys = error instanceof ProblemError && error.code === 'not-enabled';
    if (!hasNoKeys || key !== undefined) throw error;
    return send(connection, withoutKey, read);
  }
}
