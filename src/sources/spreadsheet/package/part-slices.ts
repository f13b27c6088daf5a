/** The bytes of a large part in slices that are short enough to stop between. */

import { pauseForOthers } from '../../share-turns.ts';
import { decodeXml } from './xml-text.ts';
import type { ZipContainer, ZipPart } from './zip-container.ts';

/** Some 0.3 ms of scanning; between two slices the sink may stop us and the caller may give up. */
const sliceBytes = 64 * 1024;

/** A part of XML as UTF-8, with a turn for others between slices when it is due; ends with the signal's reason. */
export function partSlices(
  container: ZipContainer,
  part: ZipPart,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  return slices(decodeXml(container.read(part), part.name), signal);
}

/** A binary part, in the same way. */
export function binaryPartSlices(
  container: ZipContainer,
  part: ZipPart,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  return slices(container.read(part), signal);
}

async function* slices(
  chunks: AsyncIterable<Buffer>,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      signal.throwIfAborted();
      yield chunk.subarray(at, at + sliceBytes);
      const pause = pauseForOthers();
      if (pause !== undefined) await pause;
    }
  }
  signal.throwIfAborted();
}
