/**
 * The small parts of a workbook (relationships, workbook, styles) through a real XML parser, as events.
 *
 * They are read whole in any case, so their size is bounded here; a document type declaration is refused, so that
 * no entity is ever expanded.
 */

import { SaxesParser, type SaxesTagNS } from 'saxes';
import { AppError } from '../../../errors.ts';
import { limitExceeded } from '../spreadsheet-limits.ts';
import { decodeXml } from './xml-text.ts';
import type { ZipContainer, ZipPart } from './zip-container.ts';

/** Styles of workbooks that were copied together for years reach some MiB. */
const maxSmallPartBytes = 32 * 1024 * 1024;

/** What the parser takes about 2 ms for. */
const sliceBytes = 64 * 1024;

/** @throws AppError `invalid-file` where the part is not well-formed, `limit-exceeded` */
export async function readSmallPart(
  container: ZipContainer,
  part: ZipPart,
  onOpen: (tag: SaxesTagNS, path: string) => void,
): Promise<void> {
  const parser = new SaxesParser({ xmlns: true, position: false });
  const path: string[] = [];
  parser.on('doctype', () => {
    throw new AppError(
      'invalid-file',
      `Part ${part.name} holds a document type declaration, which a workbook never does. It is refused.`,
    );
  });
  parser.on('opentag', (tag) => {
    path.push(tag.local);
    // Deeper than any element that is asked for; the path itself must not cost more than the part.
    if (path.length <= maxDepth) onOpen(tag, path.join('/'));
  });
  parser.on('closetag', () => path.pop());
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of decodeXml(container.read(part), part.name)) {
    bytes += chunk.length;
    if (bytes > maxSmallPartBytes) {
      throw limitExceeded(`Part ${part.name} is too large`, maxSmallPartBytes, 'bytes');
    }
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      const slice = decoder.decode(chunk.subarray(at, at + sliceBytes), { stream: true });
      parse(part, () => parser.write(slice));
      await new Promise(setImmediate);
    }
  }
  parse(part, () => parser.close());
}

const maxDepth = 4;

function parse(part: ZipPart, step: () => void): void {
  try {
    step();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('invalid-file', `Part ${part.name} is not well-formed XML.`, { cause });
  }
}

/** The attribute by local name, whatever its prefix and namespace. */
export function attributeOf(tag: SaxesTagNS, local: string): string | undefined {
  for (const attribute of Object.values(tag.attributes))
    if (attribute.local === local) return attribute.value;
  return undefined;
}
