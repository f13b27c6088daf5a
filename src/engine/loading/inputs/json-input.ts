/**
 * Reads the body of a JSON upload as an input. If the definition is known before the rows, the rows are streamed. If the rows must be
 * read twice, they are kept in a spool.
 */

import type { CellSink, LocateCell } from '../../../core/cells/cell-sink.ts';
import type { RowSource } from '../../../core/cells/row-source.ts';
import { AppError, type Warning } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { isDocumentFault } from '../../../readers/json/json-fault.ts';
import type { JsonLimits } from '../../../readers/json/json-limits.ts';
import { jsonSource, scanRows } from '../../../readers/json/json-source.ts';
import { type JsonForm, JsonUploadScanner } from '../../../readers/json/json-upload-scanner.ts';
import { pushSlices, sliceBytes } from '../../../readers/json/push-slices.ts';
import type { Spool } from '../../../readers/spool.ts';
import type { HeadSize, LoadInput } from './load-input.ts';
import { readDefinition } from './read-definition.ts';

/**
 * Returns the input for a JSON body.
 *
 * @param chunks the body in chunks of at most 64 KiB, so that no chunk blocks the event loop for long
 * @param spool keeps only the rows of the body, or the beginning of a long one if they are read once
 * @param form the form in which the body has the rows
 */
export function jsonInput(
  chunks: AsyncGenerator<Buffer>,
  spool: Spool,
  limits: JsonLimits,
  form: Exclude<JsonForm, 'definition'> = 'upload',
): LoadInput & { readonly patch: Buffer | undefined } {
  return new JsonInput(chunks, spool, limits, form);
}

class JsonInput implements LoadInput {
  readonly nameMatching = 'exact';
  readonly warnings: Warning[] = [];
  readonly reading: { format: string };

  readonly #chunks: AsyncGenerator<Buffer>;
  readonly #spool: Spool;
  readonly #limits: JsonLimits;
  readonly #form: JsonForm;
  readonly #isLines: boolean;
  readonly #scanner: JsonUploadScanner;
  /** The chunk in which the rows begin, and the position of the first row in it. */
  #first: Buffer | undefined;
  #firstRow = 0;
  /** The chunks after the first one that were received and not scanned. */
  readonly #waiting: Buffer[] = [];
  #kept: RowSource | undefined;
  #definition: unknown;
  #isDefinitionRead = false;

  constructor(
    chunks: AsyncGenerator<Buffer>,
    spool: Spool,
    limits: JsonLimits,
    form: Exclude<JsonForm, 'definition'>,
  ) {
    this.#chunks = chunks;
    this.#spool = spool;
    this.#limits = limits;
    this.#form = form;
    this.#isLines = form === 'lines';
    this.#scanner = new JsonUploadScanner(limits, form);
    this.reading = { format: this.#isLines ? 'ndjson' : 'json' };
  }

  readonly locate: LocateCell = (row, column, name) => this.#scanner.locate(row, column, name);

  get definition(): unknown {
    return this.#definition;
  }

  /** The JSON text of `patch`, which comes before the rows; undefined: there is none. */
  get patch(): Buffer | undefined {
    return this.#scanner.patch;
  }

  get isKept(): boolean {
    return this.#kept !== undefined;
  }

  /** An empty body of lines does not count as a list of rows, because it may be the body of a request that was cut off. */
  get hasRowList(): boolean {
    return this.#scanner.rowsSeen && !this.#isLines;
  }

  async open(): Promise<void> {
    const scanner = this.#scanner;
    const { maxTableBytes } = this.#limits;
    let bytesBefore = 0;
    for await (const chunk of unclosed(this.#chunks)) {
      for (let start = 0; start < chunk.length && !scanner.rowsSeen; start += sliceBytes) {
        this.#firstRow = scanner.write(chunk, start, Math.min(start + sliceBytes, chunk.length));
        bytesBefore += this.#firstRow - start;
        // With `rows_at`, a document may have values of any length before its rows. They are checked and not kept, so they have no limit here.
        if (this.#form === 'upload' && bytesBefore > maxTableBytes + slackBytes)
          throw tooLongBeforeRows(maxTableBytes);
        await pauseForOthers();
      }
      if (scanner.rowsSeen) {
        this.#first = chunk;
        await this.#readScannedDefinition();
        return;
      }
    }
    scanner.end();
    await this.#readScannedDefinition();
  }

  async readHead(sink: CellSink, { bytes }: HeadSize, signal: AbortSignal): Promise<'part' | undefined> {
    const first = this.#first;
    if (!first) return undefined;
    let received = first.length - this.#firstRow;
    while (received < bytes) {
      const { value, done } = await this.#chunks.next();
      // A separate pass over the first rows of a short body saves no time.
      if (done) return undefined;
      this.#waiting.push(value);
      received += value.length;
    }
    const head = [first.subarray(this.#firstRow), ...this.#waiting];
    try {
      await scanRows(head, this.#limits, this.#scanner.list, sink, signal);
    } catch (error) {
      // The error is ignored here, because the pass over all rows finds it again, with its place.
      if (error instanceof AppError || isDocumentFault(error)) return undefined;
      throw error;
    }
    return 'part';
  }

  async read(sink: CellSink, signal: AbortSignal): Promise<void> {
    if (this.#kept) return this.#kept.read(sink, signal);
    let isShort = true;
    await this.#readOn(sink, signal, (chunk) => {
      isShort &&= this.#spool.size + chunk.length <= maxShortBytes;
      return isShort ? this.#spool.write(chunk) : undefined;
    });
    if (isShort) this.#noteKept();
  }

  async readAndKeep(sink: CellSink, signal: AbortSignal): Promise<void> {
    if (this.#kept) return this.#kept.read(sink, signal);
    await this.#readOn(sink, signal, (chunk) => this.#spool.write(chunk));
    this.#noteKept();
  }

  /** Call this when the spool has all rows. */
  #noteKept(): void {
    this.#kept = jsonSource(this.#spool, this.#limits, this.#scanner.list, this.locate);
  }

  keep(signal: AbortSignal): Promise<void> {
    return this.readAndKeep(new NoSink(), signal);
  }

  async close(): Promise<void> {
    // This is not awaited, because the next chunk may never arrive.
    this.#chunks.return(undefined).catch(() => {});
    await this.#spool.close();
  }

  async #readOn(
    sink: CellSink,
    signal: AbortSignal,
    keep: (chunk: Buffer) => Promise<void> | undefined,
  ): Promise<void> {
    const scanner = this.#scanner;
    const first = this.#first;
    scanner.sink = sink;
    if (first) {
      await keep(first.subarray(this.#firstRow));
      await pushSlices(scanner, first, this.#firstRow, sink, signal);
    }
    this.#first = undefined;
    for await (const chunk of chunksFrom(this.#waiting, this.#chunks)) {
      if (!scanner.rowsEnded) await keep(chunk);
      await pushSlices(scanner, chunk, 0, sink, signal);
    }
    scanner.end();
    await this.#readScannedDefinition();
  }

  /** Call this when the scanner may have reached the definition. The definition is read only once, because that may take long. */
  async #readScannedDefinition(): Promise<void> {
    const { table } = this.#scanner;
    if (table === undefined || this.#isDefinitionRead) return;
    this.#isDefinitionRead = true;
    this.#definition = await readDefinition(table);
  }
}

/** The rows of a body are always kept up to this length, which the spool keeps in memory, so that faulty rows can be read again. */
const maxShortBytes = 256 * 1024;

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

/** Takes no cells. A pass with this sink only checks the document and stores the rows. */
class NoSink implements CellSink {
  column(): void {}
  beginRow(): void {}
  cell(): void {}
  moment(): void {}
  fault(): void {}
  endRow(): void {}
  drain(): undefined {}
}
