/** Joins a definition and the rows of a JSON file to the body that the service reads: `{"table": …, "data": […]}`. */
import type { FileContent, UploadDefinition } from '../client/client.ts';
import { linesAsItems, withoutByteOrderMark } from '../client/lines-as-items.ts';
import { WrongUse } from './exit-codes.ts';
import { byteOrderMark, type Source } from './source.ts';

/** @throws WrongUse if the document is an object, which may have a definition of its own */
export async function withDefinition(source: Source, definition: UploadDefinition): Promise<Source> {
  const head = `{"table":${JSON.stringify(definition)},"data":`;
  if (source.kind === 'ndjson') {
    const lines = opener(source.file);
    const file = () => joined(lines(), `${head}[`, linesAsItems(), ']}');
    return { ...source, kind: 'json', bytes: undefined, file: isReadOnce(source.file) ? file() : file };
  }
  const text = source.start.replace(byteOrderMark, '').trimStart();
  if (text.startsWith('{')) throw objectHasDefinition();
  if (source.file instanceof Blob) {
    const markBytes = source.start.startsWith(byteOrderMark) ? byteOrderMark.length : 0;
    return { ...source, file: new Blob([head, source.file.slice(markBytes), '}']) };
  }
  return { ...source, file: joined(opener(source.file)(), head, afterByteOrderMark(), '}') };
}

function objectHasDefinition(): WrongUse {
  return new WrongUse(
    'A JSON document that is an object has its definition in its member "table". Write the definition there, or create the table first with "tablewright create", and load with --if-exists append.',
  );
}

function isReadOnce(file: Source['file']): boolean {
  return file instanceof ReadableStream;
}

function opener(file: Source['file']): () => ReadableStream<Uint8Array> {
  return () => {
    const content: FileContent = typeof file === 'function' ? file() : file;
    if (content instanceof ReadableStream) return content;
    return (content instanceof Blob ? content : new Blob([content as ArrayBuffer])).stream();
  };
}

type Change = ReturnType<typeof linesAsItems>;

function joined(
  content: ReadableStream<Uint8Array>,
  head: string,
  change: Change,
  tail: string,
): ReadableStream<Uint8Array> {
  return content.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from(head)),
      transform: (chunk, controller) => controller.enqueue(change(chunk as Uint8Array<ArrayBuffer>)),
      flush: (controller) => controller.enqueue(Buffer.from(tail)),
    }),
  );
}

function afterByteOrderMark(): Change {
  let isFirst = true;
  return (bytes) => {
    const rest = isFirst ? withoutByteOrderMark(bytes) : bytes;
    isFirst = false;
    return rest;
  };
}
