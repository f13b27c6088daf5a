/** The bodies of uploads: rows as JSON, a file of JSON, or a spreadsheet in a form. */
import type { components } from './api-types.ts';
import { toJson } from './exact-json.ts';

export type Rows = Iterable<object> | AsyncIterable<object>;
export type FileContent = Blob | Uint8Array | ArrayBuffer | ReadableStream<Uint8Array>;
export type FileKind = 'json' | 'ndjson' | 'spreadsheet';
export type UploadDefinition = components['schemas']['UploadDefinition'];

/** What is uploaded: `rows` or `file`. */
export interface UploadSource {
  /** Row objects. A function is called again if the upload must be sent again; an iterator can be sent once. */
  rows?: Rows | (() => Rows) | undefined;
  /** The content of a file. A function is called again if the upload must be sent again; a stream can be sent once. */
  file?: FileContent | (() => FileContent) | undefined;
  /** The name of the file. Default: the name of a `File`. */
  name?: string | undefined;
  /** What the file is. Default: its name decides; `.json`, `.ndjson` and `.jsonl` are JSON, all others are spreadsheets. */
  kind?: FileKind | undefined;
  /** The definition of the table, for rows and spreadsheets. A JSON file has its definition in its member `table`. */
  definition?: UploadDefinition | undefined;
}

export interface UploadBody {
  operation: 'json' | 'excel';
  contentType: string;
  /** Returns the body, for each attempt; undefined: it was read and cannot be read again. */
  open: () => Blob | ReadableStream<Uint8Array> | undefined;
  /** The body can be opened more than once. */
  isRepeatable: boolean;
}

/** @throws TypeError if the source is not complete or contradicts itself */
export async function uploadBody(source: UploadSource): Promise<UploadBody> {
  const { rows, file, definition } = source;
  if ((rows === undefined) === (file === undefined)) throw new TypeError('Pass either rows or file.');
  if (rows !== undefined) return rowsBody(rows, definition);
  const { open, isRepeatable } = reopened(file!);
  const name = source.name ?? (file instanceof Blob && 'name' in file ? String(file.name) : 'file');
  const kind = source.kind ?? kindOf(name);
  if (kind === 'spreadsheet') return formBody(open, isRepeatable, name, definition);
  if (definition) throw new TypeError('A JSON file has its definition in its member "table".');
  const contentType = kind === 'json' ? 'application/json' : 'application/x-ndjson';
  return { operation: 'json', contentType, open: () => asBody(open()), isRepeatable };
}

function kindOf(name: string): FileKind {
  if (/\.json$/i.test(name)) return 'json';
  return /\.(ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'spreadsheet';
}

async function rowsBody(
  rows: NonNullable<UploadSource['rows']>,
  definition: UploadDefinition | undefined,
): Promise<UploadBody> {
  const { open, isRepeatable } = reopened(rows);
  const body = { operation: 'json', contentType: 'application/json' } as const;
  const texts = () => {
    const opened = open();
    return opened && jsonOf(opened, definition);
  };
  if (!isBrowser) {
    return { ...body, isRepeatable, open: () => streamOf(texts()) };
  }
  // Browsers send no streams over HTTP/1.1.
  const parts: string[] = [];
  for await (const text of texts()!) parts.push(text);
  const blob = new Blob(parts);
  return { ...body, isRepeatable: true, open: () => blob };
}

/** All browsers name themselves so, also in their workers. Node.js, Deno and Bun do not. */
const isBrowser = /^Mozilla/.test(globalThis.navigator?.userAgent ?? '');

/** Rows are joined to texts of about this length, because a stream of many small texts is slow. */
const textLength = 65_536;

async function* jsonOf(rows: Rows, definition: UploadDefinition | undefined): AsyncGenerator<string> {
  let text = definition ? `{"table":${toJson(definition)},"data":[` : '{"data":[';
  let separator = '';
  for await (const row of rows) {
    text += separator + toJson(row);
    separator = ',\n';
    if (text.length < textLength) continue;
    yield text;
    text = '';
  }
  yield `${text}]}`;
}

function streamOf(texts: AsyncGenerator<string> | undefined): ReadableStream<Uint8Array> | undefined {
  if (texts === undefined) return undefined;
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await texts.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => void (await texts.return(undefined)),
    },
    { highWaterMark: 0 },
  );
}

/** Returns a function that opens the source once or, if the source allows it, any number of times. */
function reopened<Opened extends object>(
  source: Opened | (() => Opened),
): { open: () => Opened | undefined; isRepeatable: boolean } {
  if (typeof source === 'function') return { open: source as () => Opened, isRepeatable: true };
  if (!isReadOnce(source)) return { open: () => source, isRepeatable: true };
  let isOpened = false;
  const open = (): Opened | undefined => {
    if (isOpened) return undefined;
    isOpened = true;
    return source;
  };
  return { open, isRepeatable: false };
}

/** Streams and iterators are read once. Arrays, sets and other collections return a new iterator each time. */
function isReadOnce(source: object): boolean {
  return (
    source instanceof ReadableStream ||
    'next' in source ||
    !(source instanceof Blob || Symbol.iterator in source || source instanceof ArrayBuffer)
  );
}

function asBody(content: FileContent | undefined): Blob | ReadableStream<Uint8Array> | undefined {
  if (content === undefined || content instanceof ReadableStream || content instanceof Blob) return content;
  return new Blob([content as ArrayBuffer]);
}

/** Writes the form (RFC 7578) itself, because `FormData` takes no stream. The definition is the first part, so that the service has it before the rows. */
function formBody(
  open: () => FileContent | undefined,
  isRepeatable: boolean,
  name: string,
  definition: UploadDefinition | undefined,
): UploadBody {
  const boundary = `tablewright-${crypto.randomUUID()}`;
  const part = (head: string) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`;
  const fileName = name.replace(/["\r\n]/g, (sign) => encodeURIComponent(sign));
  const first = definition
    ? `${part('name="body"\r\nContent-Type: application/json')}${toJson({ table: definition })}\r\n`
    : '';
  const head = `${first}${part(`name="file"; filename="${fileName}"\r\nContent-Type: application/octet-stream`)}`;
  const tail = `\r\n--${boundary}--\r\n`;
  return {
    operation: 'excel',
    contentType: `multipart/form-data; boundary=${boundary}`,
    isRepeatable,
    open: () => {
      const content = open();
      if (content instanceof ReadableStream) return enclosed(head, content, tail);
      return content && new Blob([head, content as Blob, tail]);
    },
  };
}

function enclosed(
  head: string,
  content: ReadableStream<Uint8Array>,
  tail: string,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return content.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => controller.enqueue(encoder.encode(head)),
      flush: (controller) => controller.enqueue(encoder.encode(tail)),
    }),
  );
}
