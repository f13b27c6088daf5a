/** The rows of a JSON upload that has been spooled. */

import type { RowSource } from '../row-source.ts';
import type { Spool } from '../spool.ts';
import { type JsonLimits, JsonUploadScanner } from './json-upload-scanner.ts';
import { locateInData } from './locate-in-data.ts';
import { pushSlices } from './push-slices.ts';

/** Reads the body in `spool`, which must stay open and unchanged; every read checks the whole document. */
export function jsonSource(spool: Spool, limits: JsonLimits): RowSource {
  return {
    async read(sink, signal) {
      const scanner = new JsonUploadScanner(limits);
      scanner.sink = sink;
      for await (const chunk of spool.chunks()) {
        await pushSlices(scanner, chunk, sink, signal);
      }
      signal.throwIfAborted();
      scanner.end();
    },
    locate: locateInData,
    nameMatching: 'exact',
    warnings: [],
  };
}
