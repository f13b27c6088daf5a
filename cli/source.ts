/** The input files of a command: their kind and name, and how to open them for each attempt to send them. */
import { constants, createReadStream, openSync, readFileSync, statSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { Socket } from 'node:net';
import { basename, extname, join } from 'node:path';
import process from 'node:process';
import { Readable } from 'node:stream';
import type { Correction, FileKind, UploadDefinition, UploadSource } from '../client/client.ts';
import { WrongUse } from './exit-codes.ts';
import { type ByteStream, fileStream } from './file-stream.ts';
import { type Packing, packingOf, unpackedPath, unpackedStart, unpackedStream } from './packed-file.ts';

export interface Source {
  /** The shown name: the path, or `-` for the standard input. */
  path: string;
  name: string;
  kind: FileKind;
  /** The size; undefined: unknown. */
  bytes: number | undefined;
  /** How the file is compressed; undefined: it is not. The service decompresses it. */
  packing?: Packing | undefined;
  /** The first decompressed bytes, each as one character; empty if the input can be read only once. */
  start: string;
  /** A function opens the input for each attempt. A stream can be read only once. */
  file: ByteStream | (() => ByteStream);
  /** The link of a file that the service fetches; undefined: the command sends the file. */
  fromUrl?: string;
}

/** Returns what the client sends of the input. */
export function contentOf({ fromUrl, file, bytes, name, kind }: Source): Omit<UploadSource, 'rows'> {
  return fromUrl === undefined ? { file, bytes, name, kind } : { fromUrl };
}

function isLink(path: string): boolean {
  return /^https?:\/\//i.test(path) && URL.canParse(path);
}

/** Returns the input as messages show it. A link may be a secret, so only its host and the name of the file are shown. */
export function shownPath(path: string): string {
  return isLink(path) ? `${new URL(path).host}/…/${namedPath(path)}` : path;
}

/** Returns the path that the name of the input ends. */
export function namedPath(path: string): string {
  if (!isLink(path)) return path;
  const { pathname, hostname } = new URL(path);
  return basename(pathname) || hostname;
}

export const standardInput = '-';

/** Expands patterns such as `*.csv` to paths, because not every shell does. A text that is the path of a file stays. @throws WrongUse */
export async function expandPaths(patterns: string[]): Promise<string[]> {
  const paths: string[] = [];
  for (const pattern of patterns) {
    const stats =
      pattern === standardInput || isLink(pattern) ? undefined : statSync(pattern, { throwIfNoEntry: false });
    if (stats?.isDirectory())
      throw new WrongUse(`"${pattern}" is a folder. Name its files: "${join(pattern, '*.csv')}"`);
    if (pattern === standardInput || isLink(pattern) || stats) {
      paths.push(pattern);
      continue;
    }
    const found = /[*?[{]/.test(pattern) ? (await filesOf(pattern)).sort() : [];
    if (found.length === 0) throw new WrongUse(`There is no file "${pattern}".`);
    paths.push(...found);
  }
  if (paths.filter((path) => path === standardInput).length > 1) {
    throw new WrongUse('The standard input can be read once.');
  }
  return paths;
}

/** @throws WrongUse */
async function filesOf(pattern: string): Promise<string[]> {
  if (!('glob' in files)) {
    throw new WrongUse(
      `There is no file "${pattern}". A pattern in quotes needs Node.js 22 or newer, and this is ${process.version}. Write it without quotes, so that your shell expands it.`,
    );
  }
  const paths: string[] = [];
  for await (const path of files.glob(pattern)) paths.push(path);
  return paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true);
}

/** @throws WrongUse if the file cannot be read */
export async function openSource(path: string, kind: string | undefined): Promise<Source> {
  if (isLink(path)) {
    const file = () => new ReadableStream<Uint8Array>();
    const name = shownPath(path);
    return { path, name, kind: 'spreadsheet', bytes: undefined, start: '', file, fromUrl: path };
  }
  if (path === standardInput) return openStandardInput(kind as FileKind | undefined);
  const stats = statSync(path, { throwIfNoEntry: false });
  try {
    const first = await firstBytes(path);
    const packing = packingOf(path, first);
    const start = packing ? unpackedStart(first, packing, sniffedBytes) : first;
    const found = (kind as FileKind | undefined) ?? kindOf(unpackedPath(path), start);
    // A named pipe has no length and can be read only once, so it is not opened again for another attempt.
    const isFile = stats?.isFile() === true;
    const file = isFile
      ? () => fileStream(path, stats)
      : (Readable.toWeb(stats?.isFIFO() ? openPipe(path) : createReadStream(path)) as ByteStream);
    const bytes = isFile ? stats.size : undefined;
    const source: Source = { path, name: basename(path), kind: found, bytes, packing, start, file };
    // The service cannot recognize brotli, so the command decompresses JSON that is compressed with it.
    return packing === 'brotli' && found !== 'spreadsheet' ? unpackedSource(source) : source;
  } catch (error) {
    throw new WrongUse(`"${path}" cannot be read: ${(error as Error).message}`);
  }
}

/** Returns the source with decompressed bytes. @throws WrongUse if they cannot be decompressed */
export function unpackedSource(source: Source): Source {
  const { file, packing } = source;
  if (packing === undefined) return source;
  const unpacked =
    typeof file === 'function' ? () => unpackedStream(file(), packing) : unpackedStream(file, packing);
  return { ...source, file: unpacked, bytes: undefined, packing: undefined };
}

/**
 * Opens a named pipe, for example of `<(command)` in a shell. A file stream would wait for the writer in a thread. Node.js does not exit
 * before its threads, so Ctrl-C would have no effect. Outside of Linux, opening a pipe without a writer in this way would return no bytes.
 */
function openPipe(path: string): Readable {
  if (process.platform !== 'linux') return createReadStream(path);
  return new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
}

const sniffedBytes = 4096;
/** The byte order mark in UTF-8, each byte as one character. */
export const byteOrderMark = '\u00ef\u00bb\u00bf';

async function firstBytes(path: string): Promise<string> {
  if (!statSync(path).isFile()) return '';
  const file = await files.open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(sniffedBytes), 0, sniffedBytes, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

function kindOf(path: string, start: string): FileKind {
  const ending = extname(path).toLowerCase();
  if (ending === '.ndjson' || ending === '.jsonl') return 'ndjson';
  if (ending === '.json' || ending === '') return kindOfContent(start, ending === '.json');
  return 'spreadsheet';
}

/** JSON begins with `[` or `{`. If the first line is a complete object and another one follows, the file is NDJSON. */
function kindOfContent(start: string, isNamedJson: boolean): FileKind {
  const text = start.replace(byteOrderMark, '').trimStart();
  if (!/^[[{]/.test(text)) return isNamedJson ? 'json' : 'spreadsheet';
  const [first = '', second] = text.split(/\r?\n/, 2);
  if (!text.startsWith('{')) return 'json';
  try {
    const { data } = JSON.parse(first) as { data?: unknown };
    return second?.startsWith('{') || !Array.isArray(data) ? 'ndjson' : 'json';
  } catch {
    return 'json';
  }
}

async function openStandardInput(kind: FileKind | undefined): Promise<Source> {
  const chunks = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  const sent = first.done ? '' : first.value.toString('latin1', 0, sniffedBytes);
  const packing = packingOf(standardInput, sent);
  const start = packing ? unpackedStart(sent, packing, sniffedBytes) : sent;
  async function* all() {
    if (first.done) return;
    yield first.value;
    for (;;) {
      const { done, value } = await chunks.next();
      if (done) return;
      yield value;
    }
  }
  const file: ByteStream = ReadableStream.from(all());
  return {
    path: standardInput,
    name: 'stdin',
    kind: kind ?? kindOfContent(start, false),
    bytes: undefined,
    packing,
    start,
    file,
  };
}

/** @returns what the file has; the service checks it. @throws WrongUse if the file is not a JSON array */
export function readPatch(path: string): Correction[] {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8'));
    if (!Array.isArray(value)) throw new Error('it is not a JSON array');
    return value;
  } catch (error) {
    throw new WrongUse(`The corrections "${path}" cannot be read: ${(error as Error).message}`);
  }
}

/** @throws WrongUse if the file is not a JSON object */
export function readDefinition(path: string): UploadDefinition {
  try {
    const value = JSON.parse(readFileSync(path === standardInput ? 0 : path, 'utf8'));
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new Error('it is not a JSON object');
    return value.table ?? value;
  } catch (error) {
    throw new WrongUse(`The definition "${path}" cannot be read: ${(error as Error).message}`);
  }
}
