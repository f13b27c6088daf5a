/**
 * The small parts of a workbook (relationships, workbook, styles) through a real XML parser, as events.
 *
 * They are read whole in any case, so their size is bounded here; a document type declaration is refused, so that
 * no entity is ever expanded.
 */

import { SaxesParser, type SaxesTagNS } from 'saxes';
import { AppError } from '../../../errors.ts';
import { limitExceeded } from '../../../limit-exceeded.ts';
import { pauseForOthers } from '../../share-turns.ts';
import { decodeXml } from './xml-text.ts';
import type { ZipContainer, ZipPart } from './zip-container.ts';

/** Styles of workbooks that were copied together for years reach some MiB. */
export const maxSmallPartBytes = 32 * 1024 * 1024;

/** The parser makes objects of these, in about 1 µs each; styles of 65,490 cell formats have 1.5 million at most. */
const maxMarkup = 2_000_000;

/** The parser looks for a namespace in every element around. */
const maxNesting = 256;

/** As in the large parts; the parser puts long ones together from pieces, which takes ever longer. */
const maxTokenBytes = 1024 * 1024;

/** What the parser takes 1 ms for, or 10 where it is all tags. */
const sliceBytes = 16 * 1024;

/** @throws AppError `invalid-file` where the part is not well-formed, `limit-exceeded` */
export async function readSmallPart(
  container: ZipContainer,
  part: ZipPart,
  onOpen: (tag: SaxesTagNS, path: string) => void,
): Promise<void> {
  const parser = new SaxesParser({ xmlns: true, position: false });
  const path: string[] = [];
  let markup = 0;
  let bytesSinceTag = 0;
  const count = (): void => {
    if (++markup > maxMarkup) {
      throw limitExceeded(`Part ${part.name} is too large`, maxMarkup, 'elements and attributes');
    }
  };
  parser.on('attribute', count);
  parser.on('doctype', () => {
    throw new AppError(
      'invalid-file',
      `Part ${part.name} holds a document type declaration, which a workbook never does. It is refused.`,
    );
  });
  parser.on('opentag', (tag) => {
    count();
    bytesSinceTag = 0;
    if (path.push(tag.local) > maxNesting) {
      throw new AppError(
        'invalid-file',
        `Part ${part.name} is nested too deep, over ${maxNesting} elements.`,
      );
    }
    // Deeper than any element that is asked for; the path itself must not cost more than the part.
    if (path.length <= maxDepth) onOpen(tag, path.join('/'));
  });
  parser.on('closetag', () => {
    bytesSinceTag = 0;
    path.pop();
  });
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
      bytesSinceTag += slice.length;
      if (bytesSinceTag > maxTokenBytes) {
        throw limitExceeded(`A tag or text is too long (part ${part.name})`, maxTokenBytes, 'bytes');
      }
      const pause = pauseForOthers();
      if (pause !== undefined) await pause;
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
