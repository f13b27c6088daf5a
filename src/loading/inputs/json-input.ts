/**
 * The body of a JSON upload as an input: streamed straight through where the definition is known before the rows, kept
 * in a spool where the rows must be read twice.
 */

import { AppError } from '../../errors.ts';
import type { CellSink } from '../../sources/cell-sink.ts';
import { jsonSource } from '../../sources/json/json-source.ts';
import { type JsonLimits, JsonUploadScanner } from '../../sources/json/json-upload-scanner.ts';
import { pushSlices } from '../../sources/json/push-slices.ts';
import type { RowSource } from '../../sources/row-source.ts';
import type { Spool } from '../../sources/spool.ts';
import type { LoadInput } from '../load-input.ts';
import { readDefinition } from './read-definition.ts';

/**
 * @param chunks the body; at most 64 KiB a chunk, so that none holds the event loop for long
 * @param spool stays empty where the rows are read once
 */
export function jsonInput(chunks: AsyncGenerator<Buffer>, spool: Spool, limits: JsonLimits): LoadInput {
  const scanner = new JsonUploadScanner(limits);
  /** What was read before it was known whether the rows must be kept. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  let rest: Buffer | undefined;
  let kept: RowSource | undefined;

  const readOn = async (
    sink: CellSink,
    signal: AbortSignal,
    keep: (chunk: Buffer) => Promise<void> | undefined,
  ) => {
    for (const chunk of held) await keep(chunk);
    held = [];
    scanner.sink = sink;
    if (rest) await pushSlices(scanner, rest, sink, signal);
    rest = undefined;
    for await (const chunk of chunks) {
      await keep(chunk);
      await pushSlices(scanner, chunk, sink, signal);
    }
    scanner.end();
  };

  const readAndKeep = async (sink: CellSink, signal: AbortSignal): Promise<void> => {
    await readOn(sink, signal, (chunk) => spool.write(chunk));
    kept = jsonSource(spool, limits);
  };

  return {
    nameMatching: 'exact',
    warnings: [],
    locate: (row, column, name) => scanner.locate(row, column, name),
    get definition() {
      return scanner.table === undefined ? undefined : readDefinition(scanner.table);
    },
    async open() {
      for (;;) {
        const { value: chunk, done } = await chunks.next();
        if (done) return scanner.end();
        held.push(chunk);
        heldBytes += chunk.length;
        if (heldBytes > limits.maxTableBytes + slackBytes) throw tooLongBeforeRows(limits.maxTableBytes);
        const consumed = scanner.write(chunk);
        if (scanner.dataSeen) {
          rest = chunk.subarray(consumed);
          return;
        }
      }
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

/** Room for what may stand around a definition that has its full length. */
const slackBytes = 1024 * 1024;

function tooLongBeforeRows(maxBytes: number): AppError {
  return new AppError(
    'limit-exceeded',
    `What stands before the rows is over the limit of ${maxBytes} bytes (MAX_DEFINITION_BYTES).`,
  );
}
