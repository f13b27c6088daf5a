/**
 * The body of a JSON upload as an input: streamed straight through where the definition is known before the rows, kept
 * in a spool where the rows must be read twice.
 */

import type { AppError } from '../../errors.ts';
import { limitExceeded } from '../../limit-exceeded.ts';
import type { CellSink, LocateCell } from '../../sources/cell-sink.ts';
import type { JsonLimits } from '../../sources/json/json-limits.ts';
import { jsonSource } from '../../sources/json/json-source.ts';
import { type JsonForm, JsonUploadScanner } from '../../sources/json/json-upload-scanner.ts';
import { pushSlices, sliceBytes } from '../../sources/json/push-slices.ts';
import type { RowSource } from '../../sources/row-source.ts';
import { pauseForOthers } from '../../sources/share-turns.ts';
import type { Spool } from '../../sources/spool.ts';
import type { LoadInput } from '../load-input.ts';
import { readDefinition } from './read-definition.ts';

/**
 * @param chunks the body; at most 64 KiB a chunk, so that none holds the event loop for long
 * @param spool keeps the rows, and nothing else of the body; it stays empty where they are read once
 * @param form in which the body has the rows
 */
export function jsonInput(
  chunks: AsyncGenerator<Buffer>,
  spool: Spool,
  limits: JsonLimits,
  form: Exclude<JsonForm, 'definition'> = 'upload',
): LoadInput {
  const isLines = form === 'lines';
  const scanner = new JsonUploadScanner(limits, form);
  const locate: LocateCell = (row, column, name) => scanner.locate(row, column, name);
  /** The chunk in which the rows begin, and where in it. */
  let first: Buffer | undefined;
  let firstRow = 0;
  let kept: RowSource | undefined;

  const readOn = async (
    sink: CellSink,
    signal: AbortSignal,
    keep: (chunk: Buffer) => Promise<void> | undefined,
  ) => {
    scanner.sink = sink;
    if (first) {
      await keep(first.subarray(firstRow));
      await pushSlices(scanner, first, firstRow, sink, signal);
    }
    first = undefined;
    for await (const chunk of chunks) {
      if (!scanner.rowsEnded) await keep(chunk);
      await pushSlices(scanner, chunk, 0, sink, signal);
    }
    scanner.end();
  };

  const readAndKeep = async (sink: CellSink, signal: AbortSignal): Promise<void> => {
    if (kept) return kept.read(sink, signal);
    await readOn(sink, signal, (chunk) => spool.write(chunk));
    kept = jsonSource(spool, limits, isLines, locate);
  };

  return {
    nameMatching: 'exact',
    warnings: [],
    reading: { format: isLines ? 'ndjson' : 'json' },
    locate,
    get definition() {
      return scanner.table === undefined ? undefined : readDefinition(scanner.table);
    },
    async open() {
      let bytesBefore = 0;
      for await (const chunk of unclosed(chunks)) {
        for (let start = 0; start < chunk.length && !scanner.rowsSeen; start += sliceBytes) {
          firstRow = scanner.write(chunk, start, Math.min(start + sliceBytes, chunk.length));
          bytesBefore += firstRow - start;
          // Other documents (`rows_at`) may have anything before their rows; it is checked and not kept.
          if (form === 'upload' && bytesBefore > limits.maxTableBytes + slackBytes)
            throw tooLongBeforeRows(limits.maxTableBytes);
          await pauseForOthers();
        }
        if (scanner.rowsSeen) {
          first = chunk;
          return;
        }
      }
      scanner.end();
    },
    async read(sink, signal) {
      if (kept) return kept.read(sink, signal);
      return readOn(sink, signal, () => undefined);
    },
    readAndKeep,
    keep: (signal) => readAndKeep(new NoSink(), signal),
    async close() {
      // Not waited for: a chunk that is awaited may never come.
      chunks.return(undefined).catch(() => {});
      await spool.close();
    },
  };
}

/** For the blanks around a definition that has its full length. */
const slackBytes = 1024 * 1024;

function tooLongBeforeRows(maxBytes: number): AppError {
  return limitExceeded('The part of the body before the rows is too large', maxBytes, {
    setting: 'MAX_DEFINITION_BYTES',
  });
}

/** The chunks for a loop that may be left: a later one goes on behind it. */
async function* unclosed(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) return;
    yield value;
  }
}

/** For a pass that only checks the document. */
class NoSink implements CellSink {
  column(): void {}
  beginRow(): void {}
  cell(): void {}
  moment(): void {}
  fault(): void {}
  endRow(): void {}
  drain(): undefined {}
}
