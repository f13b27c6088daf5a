/**
 * One run of the reader process, within bounds: memory of V8's heap and beyond it, time, and what it may touch.
 *
 * Its own process and not a worker, because a worker's limits do not hold for buffers, and because an endless loop
 * or an exhausted heap must end nothing else.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { Readable, type Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../../errors.ts';
import { limitExceeded } from '../../../limit-exceeded.ts';
import { encrypted, notAWorkbook } from '../refused-files.ts';
import { FAILED, frameHeadBytes, maxCells, type ReaderFault } from './cell-blocks.ts';

/** A file as the process takes it: once, from its start. */
export interface ReaderInput {
  size: number;
  chunks: () => AsyncIterable<Buffer>;
}

export interface ReaderBounds {
  /** Size of V8's old generation. */
  maxHeapMib: number;
  /** All memory of the process. It is measured from time to time, on systems that tell it, so the process may have more for a moment. */
  maxResidentMib: number;
  /** Spent waiting for the process: not the time that it waits for us. */
  maxWaitMs: number;
}

export interface Frame {
  kind: number;
  content: Buffer;
}

const watchIntervalMs = 50;
const maxErrorTextLength = 4096;

const entry = fileURLToPath(new URL('./reader-process.ts', import.meta.url));
const libraryFolder = dirname(fileURLToPath(import.meta.resolve('@e965/xlsx')));
const projectFolder = join(import.meta.dirname, '..', '..', '..', '..');
const modulesFolder = join(projectFolder, 'node_modules');

/** The caller must always stop it. It also ends with the service, because its input then ends. */
export class ReaderRun {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #bounds: ReaderBounds;
  readonly #maxFrameBytes: number;
  readonly #signal: AbortSignal;
  readonly #watch: NodeJS.Timeout;
  readonly #ended: Promise<void>;
  #rest: Buffer = Buffer.alloc(0);
  #waitedMs = 0;
  /** `STARTED` has come: what fails from here on is the file's fault. */
  #hasStarted = false;
  #errorText = '';
  /** The reason why the service ended the process, or why the process could not be started or did not get its input. */
  #failure: unknown;

  /** @param maxFrameBytes what is larger is not taken */
  constructor(file: ReaderInput, maxFrameBytes: number, bounds: ReaderBounds, signal: AbortSignal) {
    this.#bounds = bounds;
    this.#maxFrameBytes = maxFrameBytes;
    this.#signal = signal;
    this.#child = spawn(process.execPath, [...flags(bounds), entry, String(file.size)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      // It gets no secret of the service's environment.
      env: {},
    });
    this.#child.on('error', (error) => this.#end(error));
    const { stdin, stdout, stderr } = this.#child;
    // Without file descriptors for its pipes no process begins. The event comes too late to say so here.
    if (stdin === undefined) throw outOfFiles();
    this.#chunks = stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    // It may end before it has read all; why is told by its output.
    stdin.on('error', () => {});
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-maxErrorTextLength);
    });
    this.#watch = setInterval(() => this.#checkMemory(), watchIntervalMs);
    signal.addEventListener('abort', this.#onAbort, { once: true });
    // Its input stays open behind the file, for the answer.
    Readable.from(file.chunks())
      .on('error', (error) => this.#end(error))
      .pipe(stdin, { end: false });
  }

  /** Tells the process which sheet to read. */
  chooseSheet(index: number): void {
    const answer = Buffer.alloc(4);
    answer.writeUInt32LE(index);
    this.#child.stdin.write(answer);
  }

  /**
   * The next frame. Its content stays as it is.
   *
   * @throws AppError `invalid-file`, `unsupported-file`, `limit-exceeded`; the signal's reason; Error where the process
   *   could not be started
   */
  async nextFrame(): Promise<Frame> {
    if (!this.#hasStarted) {
      await this.#take(frameHeadBytes);
      this.#hasStarted = true;
    }
    const head = await this.#take(frameHeadBytes);
    const length = head.readUInt32LE(1);
    if (length > this.#maxFrameBytes) {
      throw limitExceeded('The text of a cell is too long', this.#maxFrameBytes, 'bytes');
    }
    const frame = { kind: head[0]!, content: await this.#take(length) };
    if (frame.kind === FAILED) throw this.#faultError(frame.content.toString('latin1') as ReaderFault);
    return frame;
  }

  /** Ends the process where it has not ended by itself, and waits for that. */
  async stop(): Promise<void> {
    this.#end(new Error('The reader was stopped'));
    // What it has sent and nobody has read would keep its end from being told.
    this.#child.stdout.destroy();
    await this.#ended;
    clearInterval(this.#watch);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.#end(this.#signal.reason);

  #end(reason: unknown): void {
    this.#failure ??= reason;
    this.#child.kill('SIGKILL');
  }

  async #take(length: number): Promise<Buffer> {
    const parts = [this.#rest];
    let bytes = this.#rest.length;
    while (bytes < length) {
      const chunk = await this.#nextChunk();
      parts.push(chunk);
      bytes += chunk.length;
    }
    const all = parts.length === 1 ? this.#rest : Buffer.concat(parts, bytes);
    this.#rest = all.subarray(length);
    return all.subarray(0, length);
  }

  async #nextChunk(): Promise<Buffer> {
    this.#signal.throwIfAborted();
    const startMs = performance.now();
    const left = this.#bounds.maxWaitMs - this.#waitedMs;
    const timer = setTimeout(() => this.#end(this.#tooSlow()), left);
    try {
      const { done, value } = await this.#chunks.next();
      if (!done) return value;
    } catch (error) {
      this.#failure ??= error;
    } finally {
      clearTimeout(timer);
      this.#waitedMs += performance.now() - startMs;
    }
    await this.#ended;
    throw this.#failure ?? this.#crashError();
  }

  async #checkMemory(): Promise<void> {
    const { pid } = this.#child;
    try {
      // Where there is no such file (not Linux), V8's own limit must do.
      const status = await readFile(`/proc/${pid}/status`, 'latin1');
      const residentMib = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
      if (residentMib > this.#bounds.maxResidentMib) this.#end(tooLarge(this.#bounds.maxResidentMib));
    } catch {
      clearInterval(this.#watch);
    }
  }

  #tooSlow(): AppError {
    const { maxWaitMs } = this.#bounds;
    return limitExceeded(`Reading this workbook takes too long. ${remedy}`, maxWaitMs / 1000, 'seconds');
  }

  /** Returns the error for a process that ended without a message. */
  #crashError(): Error {
    if (/heap out of memory|allocation failed/i.test(this.#errorText))
      return tooLarge(this.#bounds.maxHeapMib);
    const { exitCode, signalCode } = this.#child;
    const cause = new Error(`The reader ended (${exitCode ?? signalCode}): ${this.#errorText}`);
    return this.#hasStarted ? this.#brokenError(cause) : cause;
  }

  #faultError(fault: ReaderFault): AppError {
    switch (fault) {
      case 'encrypted':
        return encrypted();
      case 'word-document':
        return notAWorkbook('a Word document');
      case 'presentation':
        return notAWorkbook('a PowerPoint presentation');
      case 'no-workbook':
        return notAWorkbook('an Office file of another kind');
      case 'too-many-cells':
        return limitExceeded(`The workbook has too many cells. ${remedy}`, maxCells, 'cells');
      default:
        return this.#brokenError(new Error(this.#errorText));
    }
  }

  #brokenError(cause: Error): AppError {
    return new AppError(
      'invalid-file',
      'The workbook is broken or holds what cannot be read. Open it in a spreadsheet program and save it as .xlsx.',
      { cause },
    );
  }
}

const remedy = 'Save it as .xlsx and send that: it is read as a stream';

function outOfFiles(): Error {
  return Object.assign(new Error('no file descriptor left for the pipes of the reader'), { code: 'EMFILE' });
}

function tooLarge(limitMib: number): AppError {
  return limitExceeded(`Reading this workbook takes too much memory. ${remedy}`, limitMib, 'MiB');
}

/** Returns the flags that let the process read only the code that it runs. It may not write files or start processes. */
function flags({ maxHeapMib }: ReaderBounds): string[] {
  return [
    `--max-old-space-size=${maxHeapMib}`,
    '--disallow-code-generation-from-strings',
    '--permission',
    `--allow-fs-read=${join(projectFolder, 'src', 'sources', '*')}`,
    `--allow-fs-read=${join(projectFolder, 'package.json')}`,
    `--allow-fs-read=${join(libraryFolder, '*')}`,
    // Where this folder or one in it is a link, the library is not found without them.
    `--allow-fs-read=${modulesFolder}`,
    `--allow-fs-read=${join(modulesFolder, '*')}`,
  ];
}
