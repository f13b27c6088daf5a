/** The rows of a JSON upload that has been spooled. */

import type { RowSource } from '../row-source.ts';
import type { Spool } from '../spool.ts';
import { type JsonLimits, JsonUploadScanner } from './json-upload-scanner.ts';
import { locateInData } from './locate-in-data.ts';

/** Between two slices the sink is asked to drain: small, so that what it has gathered stays small. */
const SLICE_BYTES = 64 * 1024;

/** Reads the body in `spool`, which must stay open and unchanged; every read checks the whole document. */
export function jsonSource(spool: Spool, limits: JsonLimits): RowSource {
  return {
    async read(sink, signal) {
      const scanner = new JsonUploadScanner(limits);
      scanner.sink = sink;
      for await (const chunk of spool.chunks()) {
        for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
          signal.throwIfAborted();
          scanner.write(chunk.subarray(start, start + SLICE_BYTES));
          const drained = sink.drain();
          if (drained !== undefined) await drained;
        }
      }
      signal.throwIfAborted();
      scanner.end();
    },
    locate: locateInData,
    nameMatching: 'exact',
    warnings: [],
  };
}
