/** Builds the bodies of uploads: rows as JSON, a JSON file, or a spreadsheet in a form. */
import type { components } from './api-types.ts';
import { toJson } from './exact-json.ts';
import { newKey } from './new-key.ts';
import type { SentBody } from './send.ts';

export type Rows = Iterable<object> | AsyncIterable<object>;
export type FileContent = Blob | Uint8Array | ArrayBuffer | ReadableStream<Uint8Array>;
export type FileKind = 'json' | 'ndjson' | 'spreadsheet';
export type UploadDefinition = components['schemas']['UploadDefinition'];

/** What to upload: one of `rows`, `file` and `fromUrl`. */
export interface UploadSource {
  /** Row objects. A function is called again if the upload must be sent again; an iterator can be sent once. */
  rows?: Rows | (() => Rows) | undefined;
  /** The content of a file. A function is called again if the upload must be sent again; a stream can be sent once. */
  file?: FileContent | (() => FileContent) | undefined;
  /** The https link of a spreadsheet or text file that the service fetches, for tokens with the scope `load:from-url`. */
  fromUrl?: string | undefined;
  /** The length in bytes if the file is a stream whose length is known. `fetch` does not send it. */
  bytes?: number | undefined;
  /** The name of the file. Default: the name of a `File`. */
  name?: string | undefined;
  /** What the file is. Default: its name decides; `.json`, `.ndjson` and `.jsonl` are JSON, also if `.gz` or `.zst` follows, and all others are spreadsheets. */
  kind?: FileKind | undefined;
  /** The definition of the table, for rows and spreadsheets. A JSON file has its definition in its member `table`. */
  definition?: UploadDefinition | undefined;
  /** Corrections of cells, for rows and spreadsheets. A JSON file has them in its member `patch`. */
  patch?: readonly Correction[] | undefined;
  /** The password of an encrypted workbook. It has no effect on other files. */
  password?: string | undefined;
}

/** The value that a cell gets instead of that of the file. `row` is the number of the data row, from 1, as in `errors`. */
export type Correction = { value: string | number | bigint | boolean | null } & (
  | { row: number; column: string }
  | { cell: string; column?: string }
);

export interface UploadBody {
  operation: 'json' | 'excel';
  contentType: string;
  /** Opens the body for an attempt; undefined: it was already read and cannot be opened again. */
  open: () => SentBody | undefined;
  /** true: the body can be opened several times. */
  isRepeatable: boolean;
}

/** @throws TypeError if the source is not complete or contradicts itself */
export async function uploadBody(source: UploadSource): Promise<UploadBody> {
  const { rows, file, fromUrl, definition, patch } = source;
  if ([rows, file, fromUrl].filter((one) => one !== undefined).length !== 1)
    throw new TypeError('Pass one of rows, file and fromUrl.');
  if (fromUrl !== undefined) return formBody(() => new Blob([]), true, '', source);
  if (rows !== undefined) return rowsBody(rows, documentHead(source));
  const { open, isRepeatable } = reopened(file!);
  const name = source.name ?? (file instanceof Blob && 'name' in file ? String(file.name) : 'file');
  const kind = source.kind ?? kindOf(name);
  if (kind === 'spreadsheet') return formBody(open, isRepeatable, name, source);
  if (definition) throw new TypeError('A JSON file has its definition in its member "table".');
  if (patch) throw new TypeError('A JSON file has its corrections in its member "patch".');
  const openJson = (): SentBody | undefined => {
    const content = open();
    return content && joined([{ content, bytes: source.bytes }]);
  };
  const contentType = kind === 'json' ? 'application/json' : 'application/x-ndjson';
  return { operation: 'json', contentType, open: openJson, isRepeatable };
}

function kindOf(name: string): FileKind {
  if (/\.json(\.gz|\.zst)?$/i.test(name)) return 'json';
  return /\.(ndjson|jsonl)(\.gz|\.zst)?$/i.test(name) ? 'ndjson' : 'spreadsheet';
}

/** Returns the beginning of a JSON document up to its rows. */
function documentHead({ definition, patch }: UploadSource): string {
  const members = [definition && `"table":${toJson(definition)},`, patch && `"patch":${toJson(patch)},`];
  return `{${members.filter(Boolean).join('')}"data":[`;
}

async function rowsBody(rows: NonNullable<UploadSource['rows']>, head: string): Promise<UploadBody> {
  const { open, isRepeatable } = reopened(rows);
  const body = { operation: 'json', contentType: 'application/json' } as const;
  if (!isBrowser) return { ...body, isRepeatable, open: () => rowsStream(open(), head) };
  // Browsers cannot send a stream over HTTP/1.1, so the rows are collected first.
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const bytes of jsonOf(open()!, head)) parts.push(bytes);
  const content = new Blob(parts);
  return { ...body, isRepeatable: true, open: () => ({ content }) };
}

/** All browsers begin their name with this, even in their workers. Node.js, Deno and Bun do not. */
const isBrowser = /^Mozilla/.test(globalThis.navigator?.userAgent ?? '');

/** The text of rows is sent in pieces of about this length, because a stream of many small pieces is slow. */
const textLength = 65_536;

const encoder = new TextEncoder();

/** Yields the bytes of the JSON document, which begins with `head`. Stops early if the body is closed. */
async function* jsonOf(
  rows: Rows,
  head: string,
  hasEnded = () => false,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let text = head;
  let separator = '';
  for await (const row of rows) {
    text += separator + toJson(row);
    separator = ',\n';
    if (hasEnded()) return;
    if (text.length < textLength) continue;
    yield encoder.encode(text);
    text = '';
  }
  yield encoder.encode(`${text}]}`);
}

function rowsStream(rows: Rows | undefined, head: string): SentBody | undefined {
  if (rows === undefined) return undefined;
  const key = Symbol.asyncIterator in rows ? Symbol.asyncIterator : Symbol.iterator;
  const iterator = (rows as unknown as Record<symbol, () => AsyncIterator<object>>)[key]!();
  let hasEnded = false;
  const chunks = jsonOf({ [key]: () => iterator } as unknown as Rows, head, () => hasEnded);
  return streamOf(chunks, async () => {
    hasEnded = true;
    await iterator.return?.();
  });
}

/**
 * Returns a body that consists of the chunks.
 *
 * @param stop ends the source. Nobody waits for it, because the source may itself wait for a long time.
 */
function streamOf(chunks: AsyncGenerator<Uint8Array>, stop: () => Promise<unknown>): SentBody {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let failure: { error: unknown } | undefined;
  let hasEnded = false;
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    stop().catch(() => {});
  };
  const content = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
      },
      pull: async () => {
        try {
          const { done, value } = await chunks.next();
          if (hasEnded) return;
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          if (!hasEnded) failure = { error };
          throw error;
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  const close = (): void => {
    end();
    controller.error(new Error('The request has ended.'));
  };
  return { content, close, failure: () => failure };
}

/** Returns a function that opens the source each time it is called. A source that can be read only once is returned only once. */
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

/** Streams and iterators can be read only once. Arrays, sets and other collections return a new iterator each time. */
function isReadOnce(source: object): boolean {
  return (
    source instanceof ReadableStream ||
    'next' in source ||
    !(source instanceof Blob || Symbol.iterator in source || source instanceof ArrayBuffer)
  );
}

/** A piece of a body. `bytes` is the length of a stream, if it is known. */
interface Piece {
  content: FileContent | string;
  bytes?: number | undefined;
}

/** Returns a body that consists of the pieces, one after the other. */
function joined(pieces: Piece[]): SentBody {
  if (!pieces.some(({ content }) => content instanceof ReadableStream))
    return { content: new Blob(pieces.map(({ content }) => content as Blob)) };
  let length = 0;
  const readers = pieces.map(({ content, bytes }) => {
    const blob = content instanceof ReadableStream ? undefined : new Blob([content as Blob]);
    length += blob?.size ?? bytes ?? Number.NaN;
    return (blob?.stream() ?? (content as ReadableStream<Uint8Array>)).getReader();
  });
  const stop = () => Promise.all(readers.map((reader) => reader.cancel()));
  // The length of a body with a stream of unknown length is NaN.
  return { ...streamOf(chained(readers), stop), length: length || undefined };
}

async function* chained(readers: ReadableStreamDefaultReader<Uint8Array>[]): AsyncGenerator<Uint8Array> {
  for (const reader of readers) {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
  }
}

/** A part of a form that is a file. */
interface FormFile {
  part: string;
  name: string;
  bytes: number | undefined;
  open: () => FileContent | undefined;
}

/** Builds the form (RFC 7578) itself, because `FormData` accepts no stream. All other parts are sent before the files, so that the service has them before the first row. */
function formOf(
  texts: { name: string; type?: string; text: string | undefined }[],
  files: FormFile[],
): Pick<UploadBody, 'contentType' | 'open'> {
  const boundary = `tablewright-${newKey()}`;
  const partOf = (head: string, type?: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n${type ? `Content-Type: ${type}\r\n` : ''}\r\n`;
  const escaped = (name: string) => name.replace(/["\r\n]/g, (sign) => encodeURIComponent(sign));
  const head = texts.flatMap(({ name, type, text }) =>
    text ? [partOf(`name="${name}"`, type), text, '\r\n'] : [],
  );
  const open = (): SentBody | undefined => {
    const pieces: Piece[] = [{ content: head.join('') }];
    for (const { part, name, bytes, open } of files) {
      const content = open();
      if (content === undefined) return undefined;
      const names = `name="${escaped(part)}"; filename="${escaped(name)}"`;
      pieces.push(
        { content: partOf(names, 'application/octet-stream') },
        { content, bytes },
        { content: '\r\n' },
      );
    }
    return joined([...pieces, { content: `--${boundary}--\r\n` }]);
  };
  return { contentType: `multipart/form-data; boundary=${boundary}`, open };
}

const jsonType = 'application/json';

function formBody(
  open: () => FileContent | undefined,
  isRepeatable: boolean,
  name: string,
  { definition, patch, password, bytes, fromUrl }: UploadSource,
): UploadBody {
  const texts = [
    { name: 'body', type: jsonType, text: definition && toJson({ table: definition }) },
    { name: 'patch', type: jsonType, text: patch && toJson(patch) },
    { name: 'password', text: password },
    { name: 'source', type: jsonType, text: fromUrl && JSON.stringify({ from_url: fromUrl }) },
  ];
  const files = fromUrl === undefined ? [{ part: 'file', name, bytes, open }] : [];
  const form = formOf(texts, files);
  return { operation: 'excel', isRepeatable, ...form };
}

/** A file of a load of several tables. */
export type PlanFile = Pick<UploadSource, 'bytes' | 'name'> & {
  /** The content. A function is called again if the load must be sent again; a stream can be sent once. */
  file: FileContent | (() => FileContent);
};

/** Returns the form of a load of several tables. @param files the files by the names by which the plan names them */
export function planBody(
  plan: object,
  files: Readonly<Record<string, PlanFile>>,
  password: string | undefined,
): Omit<UploadBody, 'operation'> {
  const opened = Object.entries(files).map(([part, { file, bytes, name }]) => {
    const fileName = name ?? (file instanceof Blob && 'name' in file ? String(file.name) : part);
    return { part, bytes, name: fileName, ...reopened(file) };
  });
  const texts = [
    { name: 'plan', type: jsonType, text: toJson(plan) },
    { name: 'password', text: password },
  ];
  return { isRepeatable: opened.every((one) => one.isRepeatable), ...formOf(texts, opened) };
}
