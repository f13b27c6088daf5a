/**
 * The client of Tablewright, for browsers, Node.js 20 and newer, Deno and Bun. It has no dependencies and uses `fetch`.
 * docs/client.md describes it.
 */
import { addressOf } from './address-of.ts';
import type { components, operations } from './api-types.ts';
import { fromJson, toJson } from './exact-json.ts';
import { ConnectionError, type Problem, type ProblemDocument, ProblemError } from './problem-error.ts';
import { type Connection, type SentRequest, send } from './send.ts';
import { fetchTransport, type Transport, type TransportAnswer } from './transport.ts';
import {
  type ChangeOptions,
  type LoadOptions,
  type LoadQuery,
  type PlanOptions,
  type RequestOptions,
  sendOnce,
  upload,
  uploadPlan,
} from './upload.ts';
import { type UploadDefinition, type UploadSource, uploadBody } from './upload-body.ts';
import { hasEnded, type Load, resultOf, watchLoad } from './watch-load.ts';

export type { components, operations } from './api-types.ts';
export type { Transport, TransportAnswer, TransportRequest } from './transport.ts';
export type { ChangeOptions, LoadOptions, LoadQuery, PlanOptions, RequestOptions } from './upload.ts';
export type {
  Correction,
  FileContent,
  FileKind,
  PlanFile,
  Rows,
  UploadDefinition,
  UploadSource,
} from './upload-body.ts';
export type { Load, Problem, ProblemDocument };
export { ConnectionError, hasEnded, ProblemError, resultOf };

type Schemas = components['schemas'];
type QueryOf<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

export type TableDefinition = Schemas['TableDefinition'];
export type AlteredTable = Schemas['AlteredTable'];
export type TableDescription = Schemas['TableDescription'];
export type CreatedTable = Schemas['CreatedTable'] & Partial<Schemas['FoundTable']>;
export type LoadedTable = Schemas['LoadedTable'];
export type LoadedTables = Schemas['LoadedTables'];
export type InspectedJson = Schemas['InspectedJson'];
export type InspectedSpreadsheet = Schemas['InspectedSpreadsheet'];
export type ListedTable = Schemas['ListedTables']['tables'][number];
export type ListedType = Schemas['ListedTypes']['types'][number];
export type ListedLoad = Schemas['ListedLoad'];
export type LoadChanges = Schemas['LoadChanges'];
export type RowChange = Schemas['RowChange'];
export type Profile = Schemas['Profile'] & { etag: string };
export type ListedProfile = Schemas['ListedProfile'];

/** What a profile keeps. The service accepts numbers and booleans as values of parameters, too. */
export interface ProfileContent {
  parameters?: (Omit<LoadQuery, 'profile' | 'dry_run'> & { table?: string }) | undefined;
  table?: UploadDefinition | undefined;
  /** The column names of the file. */
  headers?: string[] | undefined;
}

export type InspectOptions = QueryOf<'inspectJson'> &
  QueryOf<'inspectExcel'> &
  Omit<UploadSource, 'definition'> &
  Pick<LoadOptions, 'signal' | 'onSent'>;

/** The options of an export: its format, and the other parameters of the operation. */
export type ExportOptions = QueryOf<'readRows'> & { format: 'csv' | 'ndjson' | 'json' | 'xlsx' };

export interface ClientOptions {
  /** The address of the service, such as `http://127.0.0.1:8080`. */
  url: string | URL;
  /** The access token, or a function that returns a valid one for each request. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Sends the requests. Default: with `fetch`. */
  transport?: Transport | undefined;
  /** How long to repeat a request while the service cannot answer it, in milliseconds. Default: 60,000. 0: never. */
  retryMs?: number | undefined;
  /** Called before each pause between two attempts, for example to show the reason. */
  onRetry?: ((error: Error, pauseMs: number) => void) | undefined;
}

export type Client = ReturnType<typeof createClient>;

/** @throws TypeError if the option `url` is not the address of a service */
export function createClient({
  url,
  token,
  transport = fetchTransport,
  retryMs = 60_000,
  onRetry,
}: ClientOptions) {
  const connection: Connection = {
    url: addressOf(url, 'The option "url" of createClient'),
    token: typeof token === 'function' ? token : () => token,
    transport,
    retryMs,
    onRetry,
  };
  return {
    ...tableCalls(connection),
    ...changeCalls(connection),
    ...uploadCalls(connection),
    ...loadCalls(connection),
    ...foundCalls(connection),
    ...profileCalls(connection),
  };
}

function tableCalls(connection: Connection) {
  return {
    /** Creates a table. With `if_not_exists` and an existing table, the answer describes that table and its `differences`. */
    createTable(
      name: string,
      definition: TableDefinition,
      { signal, idempotencyKey, ...query }: QueryOf<'createTable'> & ChangeOptions = {},
    ): Promise<CreatedTable> {
      const request = jsonRequest('POST', name, { table: definition }, query, signal);
      return sendOnce(connection, request, idempotencyKey, jsonOf);
    },

    /** Describes a table. `etag` is its version, for `ifMatch`. */
    describeTable: (
      name: string,
      { signal, ...query }: QueryOf<'describeTable'> & RequestOptions = {},
    ): Promise<Schemas['DescribedTable'] & { etag: string }> =>
      send(connection, { path: tablePath(name), query, signal, isRepeatable: true }, async (answer) => ({
        ...(await jsonOf(answer)),
        etag: answer.headers.get('etag'),
      })),

    /** Yields all tables that the token may see. Requests one page after the other. */
    tables: (options: QueryOf<'listTables'> & RequestOptions = {}): AsyncGenerator<ListedTable> =>
      itemsOf(connection, 'tables', options),

    /** Yields the types that a column may have, of all pages. */
    types: (options: QueryOf<'listTypes'> & RequestOptions = {}): AsyncGenerator<ListedType> =>
      itemsOf(connection, 'types', options),

    /** Returns a page of rows. A number that a JavaScript number does not write with the same digits is a string, such as 10.50. */
    rows: (
      name: string,
      options: Omit<QueryOf<'readRows'>, 'format' | 'columns'> & RequestOptions = {},
    ): Promise<Schemas['FirstRows']> =>
      get(connection, `${tablePath(name)}/rows`, options, (answer) =>
        jsonOf(answer, (text) => fromJson(text, ({ rows }) => rows)),
      ),

    /** Returns all rows as a file. The stream fails if the service cannot finish the file. */
    exportRows: (
      name: string,
      options: ExportOptions & RequestOptions,
    ): Promise<ReadableStream<Uint8Array>> =>
      get(connection, `${tablePath(name)}/rows`, options, async ({ body }) => body!),
  };
}

function changeCalls(connection: Connection) {
  return {
    /** Drops a table with its rows. It is refused if another object needs the table. */
    async dropTable(
      name: string,
      { signal, idempotencyKey, ...query }: QueryOf<'dropTable'> & ChangeOptions = {},
    ): Promise<void> {
      const request = { method: 'DELETE', path: tablePath(name), query, signal, isRepeatable: true } as const;
      await sendOnce(connection, request, idempotencyKey, async () => {});
    },

    /** Gives a table another name, another schema or another comment, and describes it. */
    renameTable(
      name: string,
      change: Schemas['TableChange'],
      { signal, idempotencyKey, ...query }: QueryOf<'renameTable'> & ChangeOptions = {},
    ): Promise<Schemas['RenamedTable']> {
      const request = jsonRequest('PATCH', name, change, query, signal);
      return sendOnce(connection, request, idempotencyKey, jsonOf);
    },

    /**
     * Makes a table what the definition says. With `dry_run` the answer has the changes, and none of them is made.
     *
     * @throws ProblemError `precondition-failed` if the table has another version than `ifMatch`
     */
    alterTable(
      name: string,
      definition: AlteredTable,
      {
        signal,
        idempotencyKey,
        ifMatch,
        ...query
      }: QueryOf<'alterTable'> & ChangeOptions & { ifMatch?: string | undefined } = {},
    ): Promise<Schemas['AlteredTableAnswer']> {
      const { headers, ...request } = jsonRequest('PUT', name, { table: definition }, query, signal);
      const sent = { ...request, headers: { ...headers, ...(ifMatch && { 'if-match': ifMatch }) } };
      return sendOnce(connection, sent, idempotencyKey, jsonOf);
    },
  };
}

function jsonRequest(
  method: NonNullable<SentRequest['method']>,
  table: string,
  body: unknown,
  query: SentRequest['query'],
  signal: AbortSignal | undefined,
): SentRequest {
  const content = toJson(body);
  return {
    ...{ method, path: tablePath(table), query, signal, isRepeatable: true },
    headers: { 'content-type': 'application/json' },
    open: () => ({ content }),
  };
}

function uploadCalls(connection: Connection) {
  return {
    /** Loads rows or a file into a table, and returns when they are committed. */
    load: (options: LoadOptions): Promise<LoadedTable> => upload(connection, options, {}, jsonOf),

    /**
     * Sends rows or a file, and returns as soon as the service has stored them. The load continues in the background, and `watch`
     * follows it. A service without records of loads returns the table only after loading.
     */
    enqueue: (options: LoadOptions): Promise<Load | LoadedTable> =>
      upload(connection, options, { prefer: 'respond-async' }, jsonOf),

    /**
     * Loads several tables in one transaction: all of them, or nothing. Each table names its file by its name in `files`.
     *
     * @throws ProblemError, whose problems have the number of their table (`part`)
     */
    loadTables: (options: PlanOptions): Promise<LoadedTables> => uploadPlan(connection, options, {}, jsonOf),

    /** Sends several tables like `loadTables`, and returns like `enqueue` as soon as the service has stored them. */
    enqueueTables: (options: PlanOptions): Promise<Load | LoadedTables> =>
      uploadPlan(connection, options, { prefer: 'respond-async' }, jsonOf),

    /** Describes the content of a file or of rows. Nothing is stored. */
    inspect: (options: InspectOptions): Promise<InspectedJson | InspectedSpreadsheet> =>
      inspected(connection, options, undefined, jsonOf),

    /**
     * Returns all rows of a file, as the service reads them, with the corrections in `patch`: CSV, or NDJSON for rows and JSON. The stream fails
     * if the service cannot finish the file.
     */
    repairedRows: (options: InspectOptions): Promise<ReadableStream<Uint8Array>> =>
      inspected(connection, options, rowTypes, async ({ body }) => body!),
  };
}

async function inspected<Result>(
  connection: Connection,
  options: InspectOptions,
  accepted: typeof rowTypes | undefined,
  read: (answer: TransportAnswer) => Promise<Result>,
): Promise<Result> {
  const { rows, file, fromUrl, bytes, name, kind, patch, password, signal, onSent, ...query } = options;
  const source = { rows, file, fromUrl, bytes, name, kind, patch, password };
  const { operation, contentType, ...body } = await uploadBody(source);
  const request = {
    method: 'POST',
    path: `/inspect/${operation}`,
    query,
    headers: { accept: accepted?.[operation], 'content-type': contentType },
    signal,
  } as const;
  return send(connection, { ...request, onSent, ...body }, read);
}

/** The formats in which an inspection answers all rows. */
const rowTypes = { json: 'application/x-ndjson', excel: 'text/csv' };

/** Which profile is changed: that of the subject, or the one that is shared with a schema. */
interface ProfileOptions extends RequestOptions {
  shared_with?: string | undefined;
  /** `etag` of the version that is replaced, so that two editors do not overwrite each other. */
  ifMatch?: string | undefined;
}

function profileCalls(connection: Connection) {
  return {
    /** Yields the profiles that the token may use, ordered by name. Requests one page after the other. */
    profiles: (options: QueryOf<'listProfiles'> & RequestOptions = {}): AsyncGenerator<ListedProfile> =>
      itemsOf(connection, 'profiles', options),

    /** Reads the profile that an upload with this name would use. `etag` is its version, for `ifMatch`. */
    profile: (name: string, options: QueryOf<'readProfile'> & RequestOptions = {}): Promise<Profile> =>
      get(connection, profilePath(name), options, withEtag),

    /**
     * Saves a profile. Another content makes a new version.
     *
     * @throws ProblemError `precondition-failed` if the profile has another version than `ifMatch`
     */
    saveProfile(
      name: string,
      content: ProfileContent,
      { signal, ifMatch, ...query }: ProfileOptions & { ifNoneMatch?: '*' | undefined } = {},
    ): Promise<Profile> {
      const { ifNoneMatch, ...address } = query;
      const headers = {
        'content-type': 'application/json',
        'if-match': ifMatch,
        'if-none-match': ifNoneMatch,
      };
      const isRepeatable = ifMatch === undefined && ifNoneMatch === undefined;
      const sent = { method: 'PUT', path: profilePath(name), query: address, headers, signal } as const;
      const body = JSON.stringify(content);
      return send(connection, { ...sent, isRepeatable, open: () => ({ content: body }) }, withEtag);
    },

    /** Deletes a profile with all its versions. */
    async deleteProfile(name: string, { signal, ifMatch, ...query }: ProfileOptions = {}): Promise<void> {
      const sent = { method: 'DELETE', path: profilePath(name), query, signal, isRepeatable: false } as const;
      await send(connection, { ...sent, headers: { 'if-match': ifMatch } }, async () => {});
    },
  };
}

const withEtag = async (answer: TransportAnswer): Promise<Profile> => ({
  ...(await jsonOf(answer)),
  etag: answer.headers.get('etag'),
});

function loadCalls(connection: Connection) {
  const describeLoad = (id: string, options: RequestOptions = {}): Promise<Load> =>
    get(connection, loadPath(id), options);
  return {
    describeLoad,

    /** Yields all loads that the token may see, the newest first. Requests one page after the other. */
    loads: (options: QueryOf<'listLoads'> & RequestOptions = {}): AsyncGenerator<ListedLoad> =>
      itemsOf(connection, 'loads', options),

    /** Asks the service to cancel a load. @throws ProblemError `load-ended` */
    cancel: (id: string, { signal }: RequestOptions = {}): Promise<Load> =>
      send(
        connection,
        { method: 'POST', path: `${loadPath(id)}/cancel`, signal, isRepeatable: true },
        jsonOf,
      ),

    /** Yields the load now and after each change, until it has ended. `resultOf` extracts the answer to the upload from the last one. */
    watch(id: string, { signal }: RequestOptions = {}): AsyncGenerator<Load> {
      const path = `${loadPath(id)}/events`;
      const headers = { accept: 'text/event-stream' };
      const open = (stop: AbortSignal): Promise<TransportAnswer> =>
        send({ ...connection, retryMs: 0 }, { path, headers, signal: stop, isRepeatable: false }, wholeOf);
      return watchLoad({ open, read: (stop) => describeLoad(id, { signal: stop }) }, signal);
    },
  };
}

/** What the service has found in the rows of a load that has ended. */
function foundCalls(connection: Connection) {
  return {
    /** Yields the stored problems of a load that has ended: at most 100,000. */
    problems: (
      id: string,
      options: QueryOf<'listLoadProblems'> & RequestOptions = {},
    ): AsyncGenerator<Problem> => itemsOf(connection, 'problems', options, `${loadPath(id)}/problems`),

    /** Returns the stored problems of a load that has ended as CSV. */
    problemsCsv: (id: string, { signal }: RequestOptions = {}): Promise<string> =>
      get(connection, `${loadPath(id)}/problems`, { limit: maxProblems, signal }, (answer) => answer.text(), {
        accept: 'text/csv',
      }),

    /** Yields the stored changes of a load or a dry run that has ended: at most 10,000. */
    changes: (
      id: string,
      options: QueryOf<'listLoadChanges'> & RequestOptions = {},
    ): AsyncGenerator<RowChange> => itemsOf(connection, 'changes', options, `${loadPath(id)}/changes`),

    /** Returns a page of the changes of a load, with the counts of all. */
    changesPage: (
      id: string,
      options: QueryOf<'listLoadChanges'> & RequestOptions = {},
    ): Promise<LoadChanges> => get(connection, `${loadPath(id)}/changes`, options),

    /**
     * Returns the rows with problems of a load of this subject as a file, with the reasons in the column `_problem`. `isComplete` is false if
     * more rows have problems. The stream fails if the service cannot finish the file.
     *
     * @throws ProblemError `no-faulty-rows`
     */
    faultyRows: (
      id: string,
      options: QueryOf<'readFaultyRows'> & RequestOptions = {},
    ): Promise<{ body: ReadableStream<Uint8Array>; isComplete: boolean }> =>
      get(connection, `${loadPath(id)}/faulty-rows`, options, async ({ body, headers }) => ({
        body: body!,
        isComplete: headers.get('faulty-rows-complete') !== 'false',
      })),
  };
}

function get<Body>(
  connection: Connection,
  path: string,
  { signal, ...query }: RequestOptions & { limit?: number },
  read: (answer: TransportAnswer) => Promise<Body> = jsonOf,
  headers?: Record<string, string>,
): Promise<Body> {
  return send(connection, { path, query, headers, signal, isRepeatable: true }, read);
}

type Page<List extends string, Item> = Record<List, Item[]> & { next: string | number | null };

/** Yields the items of all pages. @param list the member of each page that contains the items */
async function* itemsOf<List extends string, Item>(
  connection: Connection,
  list: List,
  options: RequestOptions & { after?: string | number | null },
  path = `/${list}`,
): AsyncGenerator<Item> {
  for (let { after } = options; after !== null; ) {
    const query = { ...options, after };
    const page: Page<List, Item> = await get(connection, path, query);
    yield* page[list];
    if (page.next !== null && page.next === after)
      throw new ConnectionError(`The service answers the same page of ${path} again and again.`);
    after = page.next;
  }
}

/** The largest number of problems that the service stores of a load. */
const maxProblems = 100_000;

function tablePath(name: string): string {
  return `/table/${encodeURIComponent(name)}`;
}

function profilePath(name: string): string {
  return `/profiles/${encodeURIComponent(name)}`;
}

function loadPath(id: string): string {
  return `/loads/${encodeURIComponent(id)}`;
}

/** The caller names the type of the answer, which the OpenAPI document defines. */
// biome-ignore lint/suspicious/noExplicitAny: the callers name the type
async function jsonOf(answer: TransportAnswer, parse: (text: string) => any = JSON.parse): Promise<any> {
  const text = await answer.text();
  try {
    return parse(text);
  } catch {
    const { status, headers } = answer;
    throw new ProblemError(status, headers, text, 'The answer is not from Tablewright.');
  }
}
const wholeOf = async (answer: TransportAnswer): Promise<TransportAnswer> => answer;
