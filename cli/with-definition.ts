/** Joins a definition and the rows of a JSON file to the body that the service reads: `{"table": …, "data": […]}`. */
import type { FileContent, UploadDefinition } from '../client/client.ts';
import { WrongUse } from './exit-codes.ts';
import type { Source } from './source.ts';

/** @throws WrongUse if the document is an object, which may have a definition of its own */
export async function withDefinition(source: Source, definition: UploadDefinition): Promise<Source> {
  const head = `{"table":${JSON.stringify(definition)},"data":`;
  if (source.kind === 'ndjson') {
    const lines = opener(source.file);
    const file = () => joined(lines(), `${head}[`, commas(), ']}');
    return { ...source, kind: 'json', bytes: undefined, file: isReadOnce(source.file) ? file() : file };
  }
  if (source.file instanceof Blob) {
    const start = (await source.file.slice(0, 100).text()).trimStart();
    if (!start.startsWith('[')) throw objectHasDefinition();
    return { ...source, file: new Blob([head, source.file, '}']) };
  }
  return { ...source, file: joined(opener(source.file)(), head, sameBytes(), '}') };
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

type Change = (bytes: Uint8Array) => Uint8Array;

function joined(
  content: ReadableStream<Uint8Array>,
  head: string,
  change: Change,
  tail: string,
): ReadableStream<Uint8Array> {
  return content.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from(head)),
      transform: (chunk, controller) => controller.enqueue(change(chunk)),
      flush: (controller) => controller.enqueue(Buffer.from(tail)),
    }),
  );
}

const sameBytes = (): Change => (bytes) => bytes;

const lineFeed = 0x0a;
const comma = 0x2c;
const brace = 0x7b;

/** Writes a comma before the first byte of each line but the first. Lines of white space stay as they are: JSON allows it. */
function commas(): Change {
  let isFirst = true;
  let isLineStart = true;
  return (bytes) => {
    const parts: Uint8Array[] = [];
    let copied = 0;
    for (let at = 0; at < bytes.length; at++) {
      if (!isLineStart) {
        const end = bytes.indexOf(lineFeed, at);
        if (end === -1) break;
        at = end;
        isLineStart = true;
      } else if (bytes[at] === brace || bytes[at]! > 0x20) {
        if (!isFirst) {
          parts.push(bytes.subarray(copied, at), Uint8Array.of(comma));
          copied = at;
        }
        isFirst = false;
        isLineStart = false;
      }
    }
    return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(copied)]);
  };
}
