/** Joins a definition and the rows of a JSON file into the body `{"table": …, "data": […]}`. */
import type { UploadDefinition } from '../client/client.ts';
import { linesAsItems, withoutByteOrderMark } from '../client/lines-as-items.ts';
import { WrongUse } from './exit-codes.ts';
import type { ByteStream } from './file-stream.ts';
import { byteOrderMark, type Source, unpackedSource } from './source.ts';

/** @throws WrongUse if the document is an object, because it may already contain a definition */
export async function withDefinition(sent: Source, definition: UploadDefinition): Promise<Source> {
  const source = unpackedSource(sent);
  const head = `{"table":${JSON.stringify(definition)},"data":`;
  if (source.kind === 'ndjson') {
    const file = changed(source.file, (lines) => joined(lines, `${head}[`, linesAsItems(), ']}'));
    return { ...source, kind: 'json', bytes: undefined, file };
  }
  if (hasObject(source)) throw objectHasDefinition();
  const markBytes = source.start.startsWith(byteOrderMark) ? byteOrderMark.length : 0;
  const addedBytes = Buffer.byteLength(head) - markBytes + 1;
  const bytes = source.bytes === undefined ? undefined : source.bytes + addedBytes;
  const file = changed(source.file, (rows) => joined(rows, head, afterByteOrderMark(), '}'));
  return { ...source, bytes, file };
}

/** Returns whether a JSON document is an object. */
export function hasObject({ start }: Source): boolean {
  return start.replace(byteOrderMark, '').trimStart().startsWith('{');
}

function objectHasDefinition(): WrongUse {
  return new WrongUse(
    'A JSON document that is an object has its definition in its member "table". Write the definition there, or create the table first with "tablewright create", and load with --if-exists append.',
  );
}

function changed(file: Source['file'], change: (stream: ByteStream) => ByteStream): Source['file'] {
  return typeof file === 'function' ? () => change(file()) : change(file);
}

type Change = ReturnType<typeof linesAsItems>;

function joined(content: ByteStream, head: string, change: Change, tail: string): ByteStream {
  return ReadableStream.from(partsOf(content, head, change, tail));
}

async function* partsOf(
  content: ByteStream,
  head: string,
  change: Change,
  tail: string,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head);
  for await (const chunk of content) yield change(chunk as Uint8Array<ArrayBuffer>);
  yield Buffer.from(tail);
}

function afterByteOrderMark(): Change {
  let isFirst = true;
  return (bytes) => {
    const rest = isFirst ? withoutByteOrderMark(bytes) : bytes;
    isFirst = false;
    return rest;
  };
}
