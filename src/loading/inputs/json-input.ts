/**
 * Reads the body of a JSON upload as an input. If the definition is known before the rows, the rows are streamed. If the rows must be
 * read twice, they are kept in a spool.
 */

import { AppError } from '../../errors.ts';
import { limitExceeded } from '../../limit-exceeded.ts';
import { pauseForOthers } from '../../pause-for-others.ts';
import type { CellSink, LocateCell } from '../../sources/cell-sink.ts';
import type { JsonLimits } from '../../sources/json/json-limits.ts';
import { JsonRowScanner } from '../../sources/json/json-row-scanner.ts';
import { jsonSource } from '../../sources/json/json-source.ts';
import { type JsonForm, JsonUploadScanner } from '../../sources/json/json-upload-scanner.ts';
import { LineCounter } from '../../sources/json/line-counter.ts';
import { pushSlices, sliceBytes } from '../../sources/json/push-slices.ts';
import type { RowSource } from '../../sources/row-source.ts';
import type { Spool } from '../../sources/spool.ts';
import type { LoadInput } from '../load-input.ts';
import { readDefinition } from './read-definition.ts';

/**
 * Returns the input for a JSON body.
 *
 * @param chunks the body in chunks of at most 64 KiB, so that no chunk blocks the event loop for long
 * @param spool keeps only the rows of the body; it remains empty if they are read once
 * @param form the form in which the body has the rows
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
  /** The chunk in which the rows begin, and the position of the first row in it. */
  let first: Buffer | undefined;
  /** The chunks after `first` that were received and not scanned. */
  const waiting: Buffer[] = [];
  let firstRow = 0;
  let kept: RowSource | undefined;
  let definition: unknown;
  let isDefinitionRead = false;

  /** Call this when the definition may have been scanned. It reads the definition once, because that may take long. */
  const readScannedDefinition = async (): Promise<void> => {
    if (scanner.table === undefined || isDefinitionRead) return;
    isDefinitionRead = true;
    definition = await readDefinition(scanner.table);
  };

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
    for await (const chunk of chunksFrom(waiting, chunks)) {
      if (!scanner.rowsEnded) await keep(chunk);
      await pushSlices(scanner, chunk, 0, sink, signal);
    }
    scanner.end();
    await readScannedDefinition();
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
      return definition;
    },
    async open() {
      let bytesBefore = 0;
      for await (const chunk of unclosed(chunks)) {
        for (let start = 0; start < chunk.length && !scanner.rowsSeen; start += sliceBytes) {
          firstRow = scanner.write(chunk, start, Math.min(start + sliceBytes, chunk.length));
          bytesBefore += firstRow - start;
          // Other documents (`rows_at`) may have any values before their rows. These are checked and not kept.
          if (form === 'upload' && bytesBefore > limits.maxTableBytes + slackBytes)
            throw tooLongBeforeRows(limits.maxTableBytes);
          await pauseForOthers();
        }
        if (scanner.rowsSeen) {
          first = chunk;
          await readScannedDefinition();
          return;
        }
      }
      scanner.end();
      await readScannedDefinition();
    },
    async readHead(sink, { bytes }, signal) {
      if (!first) return undefined;
      let received = first.length - firstRow;
      while (received < bytes) {
        const { value, done } = await chunks.next();
        // Two passes over a short body take no longer.
        if (done) return undefined;
        waiting.push(value);
        received += value.length;
      }
      const rows = new JsonRowScanner(limits, new LineCounter(isLines));
      const write = (chunk: Buffer, start: number, end: number) => {
        if (!rows.isDone) rows.scan(chunk, start, end, sink);
      };
      try {
        await pushSlices({ write }, first, firstRow, sink, signal);
        for (const chunk of waiting) await pushSlices({ write }, chunk, 0, sink, signal);
      } catch (error) {
        if (error instanceof AppError) return undefined;
        throw error;
      }
      return 'part';
    },
    async read(sink, signal) {
      if (kept) return kept.read(sink, signal);
      return readOn(sink, signal, () => undefined);
    },
    readAndKeep,
    keep: (signal) => readAndKeep(new NoSink(), signal),
    async close() {
      // This is not awaited, because the next chunk may never arrive.
      chunks.return(undefined).catch(() => {});
      await spool.close();
    },
  };
}

/** A reserve for white space around a definition of the full length. */
const slackBytes = 1024 * 1024;

function tooLongBeforeRows(maxBytes: number): AppError {
  return limitExceeded('The part of the body before the rows is too large', maxBytes, {
    setting: 'MAX_DEFINITION_BYTES',
  });
}

/** Yields the chunks that wait and then the others. */
async function* chunksFrom(waiting: Buffer[], chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (let chunk = waiting.shift(); chunk !== undefined; chunk = waiting.shift()) yield chunk;
  yield* chunks;
}

/** Yields the chunks for a loop that may end early without closing them, so that a later loop can continue. */
async function* unclosed(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) return;
    yield value;
  }
}

/** The sink of a pass that only checks the document. */
class NoSink implements CellSink {
  column(): void {}
  beginRow(): void {}
  cell(): void {}
  moment(): void {}
  fault(): void {}
  endRow(): void {}
  drain(): undefined {}
}
