/**
 * Reads the small parts of a workbook (relationships, workbook, styles) with a general XML parser, as events. Nothing else uses
 * that parser, because its time is linear only within these limits.
 *
 * The size of these parts is limited. A document type declaration is refused, so no entity is ever expanded.
 */

import { SaxesParser, type SaxesTagNS } from 'saxes';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { decodeXml } from './xml-text.ts';
import type { ZipContainer, ZipPart } from './zip-container.ts';

/** The maximum number of bytes of a small part. The styles of workbooks that were combined from others over years have some MiB. */
export const maxSmallPartBytes = 32 * 1024 * 1024;

/**
 * The maximum number of elements and attributes together, because the parser makes an object of each, in about 1 µs. Styles of
 * 65,490 cell formats have at most 1.5 million.
 */
const maxMarkup = 2_000_000;

/**
 * The maximum number of attributes of one element. The parser needs some µs for each when the tag ends, all in one turn. Real
 * elements have at most some dozens, most of which are namespaces.
 */
const maxAttributes = 1000;

/** The maximum number of nested elements. For each element the parser searches all enclosing elements for namespaces. */
const maxNesting = 256;

/** The maximum length of a tag or text, the same as in large parts. The parser joins a long one from pieces, and each further piece takes longer. */
const maxTokenBytes = 1024 * 1024;

/** The size of a slice. The parser takes 1 ms for it, or 10 ms if it consists of tags. */
const sliceBytes = 16 * 1024;

/** Receives an element. `path` has the local names of the element and its ancestors, separated by slashes. */
type OnOpen = (tag: SaxesTagNS, path: string) => void;
type OnText = (text: string, path: string) => void;

/** Reads a part of the workbook. The parameters and errors are those of `readSmallXml`. */
export function readSmallPart(
  container: ZipContainer,
  part: ZipPart,
  onOpen: OnOpen,
  onText?: OnText,
): Promise<void> {
  return readSmallXml(container.read(part), part.name, onOpen, onText);
}

/**
 * Calls `onOpen` for each element that is not deeper than `maxDepth`.
 *
 * @param onText called at the end of each of these elements that has text directly before its end tag. It gets only that text
 * @throws AppError `invalid-file` if the part is not well-formed, `limit-exceeded`
 */
export async function readSmallXml(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  partName: string,
  onOpen: OnOpen,
  onText?: OnText,
): Promise<void> {
  const { parser, token } = createParser(partName, onOpen, onText);
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of decodeXml(chunks, partName)) {
    bytes += chunk.length;
    if (bytes > maxSmallPartBytes) {
      throw limitExceeded(`Part ${partName} is too large`, maxSmallPartBytes, 'bytes');
    }
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      const slice = decoder.decode(chunk.subarray(at, at + sliceBytes), { stream: true });
      parse(partName, () => parser.write(slice));
      token.bytes += slice.length;
      if (token.bytes > maxTokenBytes) {
        throw limitExceeded(`A tag or text is too long (part ${partName})`, maxTokenBytes, 'bytes');
      }
      const pause = pauseForOthers();
      if (pause !== undefined) await pause;
    }
  }
  parse(partName, () => parser.close());
}

/** The number of bytes since the last tag: of a text, or of a tag that has not ended yet. */
interface TokenSize {
  bytes: number;
}

/** Returns functions to call for each attribute, and then for its element. @throws AppError `limit-exceeded` */
function markupCounter(partName: string): { element: () => void; attribute: () => void } {
  let markup = 0;
  let attributes = 0;
  const count = (): void => {
    if (++markup > maxMarkup) {
      throw limitExceeded(`Part ${partName} is too large`, maxMarkup, 'elements and attributes');
    }
  };
  return {
    element: () => {
      count();
      attributes = 0;
    },
    attribute: () => {
      count();
      if (++attributes > maxAttributes) {
        throw limitExceeded(
          `An element has too many attributes (part ${partName})`,
          maxAttributes,
          'attributes',
        );
      }
    },
  };
}

/** Returns a parser that calls the functions, and refuses what a small part must not have. */
function createParser(
  partName: string,
  onOpen: OnOpen,
  onText: OnText | undefined,
): { parser: SaxesParser<{ xmlns: true; position: false }>; token: TokenSize } {
  const parser = new SaxesParser({ xmlns: true, position: false });
  const path: string[] = [];
  const token: TokenSize = { bytes: 0 };
  const count = markupCounter(partName);
  parser.on('attribute', count.attribute);
  parser.on('doctype', () => {
    throw new AppError(
      'invalid-file',
      `Part ${partName} holds a document type declaration. A workbook never has one, so the file is refused.`,
    );
  });
  parser.on('opentag', (tag) => {
    count.element();
    token.bytes = 0;
    text = '';
    if (path.push(tag.local) > maxNesting) {
      throw new AppError(
        'invalid-file',
        `Part ${partName} is nested too deeply: it has more than ${maxNesting} elements inside one another.`,
      );
    }
    // Deeper elements are not needed. Joining their paths would take more time than parsing the part.
    if (path.length <= maxDepth) onOpen(tag, path.join('/'));
  });
  let text = '';
  const takeText = (piece: string): void => {
    text += piece;
  };
  if (onText !== undefined) {
    parser.on('text', takeText);
    parser.on('cdata', takeText);
  }
  parser.on('closetag', () => {
    token.bytes = 0;
    if (text !== '' && path.length <= maxDepth) onText?.(text, path.join('/'));
    text = '';
    path.pop();
  });
  return { parser, token };
}

const maxDepth = 4;

function parse(partName: string, step: () => void): void {
  try {
    step();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('invalid-file', `Part ${partName} is not well-formed XML.`, { cause });
  }
}

/** Returns an attribute by its local name, whatever its prefix and namespace. */
export function attributeOf(tag: SaxesTagNS, local: string): string | undefined {
  for (const attribute of Object.values(tag.attributes))
    if (attribute.local === local) return attribute.value;
  return undefined;
}
