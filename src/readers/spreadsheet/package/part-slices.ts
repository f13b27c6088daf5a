/** Divides the bytes of a large part into slices, so that other requests are answered between two slices. */

import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { decodeXml } from './xml-text.ts';
import type { ZipContainer, ZipPart } from './zip-container.ts';

/**
 * The size of a slice, which is scanned in about 0.3 ms. Between two slices the sink may ask the source to wait, and the caller
 * may cancel.
 */
const sliceBytes = 64 * 1024;

/**
 * Returns the slices of an XML part as UTF-8. Other sources get a turn between slices. An aborted signal ends the slices with
 * its reason.
 */
export function partSlices(
  container: ZipContainer,
  part: ZipPart,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  return slices(decodeXml(container.read(part), part.name), signal);
}

/** Returns the slices of a binary part, like `partSlices`. */
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
