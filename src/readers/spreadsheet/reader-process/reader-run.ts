/**
 * Runs a reader process once, with limits on its memory (V8's heap and the whole process), its time and its access to files.
 *
 * It is a process and not a worker, because a worker's limits do not include buffers, and because an endless loop or an
 * exhausted heap must not end anything else.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { moduleFolder, modulePath, programFolder } from '../../../program-files.ts';
import { FAILED, frameHeadBytes } from './frames.ts';

/** A program that reads files of one format in a process of its own. */
export interface ReaderProgram {
  /** The path of its module in `src`, without the extension. */
  module: string;
  /** What it may read: `pathsToRead` of the package that it loads. */
  readable: readonly string[];
  /** What it reads, for messages. */
  what: string;
  /** What to do if the file needs too much time or memory. */
  remedy: string;
  /** true: the process asks for parts of the file over a fourth pipe, `ReaderRun.requests`. */
  asksForRanges: boolean;
  /** Returns the error for a fault that the process reports. `broken`: the process ended without a report. */
  errorOf(fault: string, cause: Error): AppError;
}

export interface ReaderBounds {
  /** The size of V8's old generation. */
  maxHeapMib: number;
  /**
   * The memory of the whole process. It is measured every `watchIntervalMs` on Linux only, so the process may use more for a
   * moment.
   */
  maxResidentMib: number;
  /** The time that the service waits for the process. The time that the process waits for the service does not count. */
  maxWaitMs: number;
  /** The part of that time that an earlier process has taken. Default: 0. */
  waitedMs?: number;
  /** true: the process has that time for each frame, because it sends rows as long as there are any. Default: for all frames together. */
  isForEachFrame?: boolean;
}

export interface Frame {
  kind: number;
  content: Buffer;
}

const watchIntervalMs = 50;
const maxErrorTextLength = 4096;

/**
 * A run of the reader process. The caller must always call `stop`. The process also ends when the service ends, because its
 * input then ends.
 */
export class ReaderRun {
  readonly #program: ReaderProgram;
  readonly #child: ChildProcess;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #bounds: ReaderBounds;
  readonly #maxFrameBytes: number;
  readonly #signal: AbortSignal;
  readonly #watch: NodeJS.Timeout;
  readonly #ended: Promise<void>;
  #rest: Buffer = Buffer.alloc(0);
  #waitedMs: number;
  /** `STARTED` has arrived. Every failure after it is caused by the file. */
  #hasStarted = false;
  #errorText = '';
  #isOutOfMemory = false;
  /** Why the service ended the process, or why the process could not be started or did not get its input. */
  #failure: unknown;

  /** @param maxFrameBytes larger frames are refused */
  constructor(
    program: ReaderProgram,
    args: readonly string[],
    maxFrameBytes: number,
    bounds: ReaderBounds,
    signal: AbortSignal,
  ) {
    this.#program = program;
    this.#bounds = bounds;
    this.#maxFrameBytes = maxFrameBytes;
    this.#signal = signal;
    this.#waitedMs = bounds.waitedMs ?? 0;
    this.#child = spawn(process.execPath, [...flags(program, bounds), modulePath(program.module), ...args], {
      stdio: ['pipe', 'pipe', 'pipe', ...(program.asksForRanges ? (['pipe'] as const) : [])],
      // An empty environment, so that the process gets no secrets of the service.
      env: {},
    });
    this.#child.on('error', (error) => this.fail(error));
    const { stdin, stdout, stderr } = this.#child;
    // Without file descriptors for its pipes the process does not start. The `error` event comes too late to be used here.
    if (!stdin || !stdout || !stderr) throw outOfFiles();
    this.#chunks = stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    // The process may end before it has read all input. Its output then has the reason.
    stdin.on('error', () => {});
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-maxErrorTextLength);
    });
    this.#watch = setInterval(() => this.#checkMemory(), watchIntervalMs);
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The input of the process. */
  get input(): Writable {
    return this.#child.stdin!;
  }

  /** The requests for parts of the file. */
  get requests(): Readable {
    return this.#child.stdio[3] as Readable;
  }

  /** Whether the process has ended because it needed more memory than the bounds allow. */
  get isOutOfMemory(): boolean {
    return this.#isOutOfMemory;
  }

  /** The time that the service has waited for this process and an earlier one. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /**
   * Returns the next frame. Its content remains valid.
   *
   * @throws AppError `invalid-file`, `unsupported-file`, `limit-exceeded`; the signal's reason; Error if the process could not
   * be started
   */
  async nextFrame(): Promise<Frame> {
    if (this.#bounds.isForEachFrame) this.#waitedMs = 0;
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
    if (frame.kind === FAILED)
      throw this.#program.errorOf(frame.content.toString('latin1'), new Error(this.#errorText));
    return frame;
  }

  /** Ends the process if it still runs, and waits for its end. */
  async stop(): Promise<void> {
    this.fail(new Error('The reader was stopped'));
    // Output that nobody reads would delay the `close` event.
    this.#child.stdout!.destroy();
    if (this.#program.asksForRanges) this.requests.destroy();
    await this.#ended;
    clearInterval(this.#watch);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.fail(this.#signal.reason);

  /** Ends the process. @param reason what `nextFrame` throws */
  fail(reason: unknown): void {
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
    const timer = setTimeout(() => this.fail(this.#tooSlow()), left);
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
      // Only Linux has this file. On other systems only V8's own limit applies.
      const status = await readFile(`/proc/${pid}/status`, 'latin1');
      const residentMib = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
      if (residentMib > this.#bounds.maxResidentMib) this.fail(this.#tooLarge(this.#bounds.maxResidentMib));
    } catch {
      clearInterval(this.#watch);
    }
  }

  #tooSlow(): AppError {
    const { what, remedy } = this.#program;
    const { maxWaitMs } = this.#bounds;
    return limitExceeded(`Reading this ${what} takes too long`, maxWaitMs / 1000, 'seconds', remedy);
  }

  #tooLarge(limitMib: number): AppError {
    this.#isOutOfMemory = true;
    const { what, remedy } = this.#program;
    return limitExceeded(`Reading this ${what} takes too much memory`, limitMib, 'MiB', remedy);
  }

  /** Returns the error for a process that ended without a message. */
  #crashError(): Error {
    if (/heap out of memory|allocation failed/i.test(this.#errorText))
      return this.#tooLarge(this.#bounds.maxHeapMib);
    const { exitCode, signalCode } = this.#child;
    const cause = new Error(`The reader ended (${exitCode ?? signalCode}): ${this.#errorText}`);
    return this.#hasStarted ? this.#program.errorOf('broken', cause) : cause;
  }
}

function outOfFiles(): Error {
  return Object.assign(new Error('no file descriptor left for the pipes of the reader'), { code: 'EMFILE' });
}

/** Returns the flags that let the process read only the code that it runs. It may not write files or start processes. */
function flags({ readable }: ReaderProgram, { maxHeapMib }: ReaderBounds): string[] {
  return [
    `--max-old-space-size=${maxHeapMib}`,
    '--disallow-code-generation-from-strings',
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
  ];
}

/**
 * Returns the paths that a process needs to run a program with a package. Call it at the start, because a process without a free file
 * descriptor does not find the package.
 */
export function pathsToRead(library: string): string[] {
  return [
    join(moduleFolder('readers'), '*'),
    join(moduleFolder('core'), '*'),
    join(programFolder, 'package.json'),
    ...pathsOf(library),
  ];
}

function pathsOf(library: string): string[] {
  let folder: string;
  try {
    folder = dirname(fileURLToPath(import.meta.resolve(library)));
  } catch {
    // In the container image the library is part of the entry.
    return [];
  }
  // The folders of packages are needed if one of them, or a folder in it, is a link. Without them the library is not found.
  const packages = foldersAbove(moduleFolder('')).map((above) => join(above, 'node_modules'));
  const readable = packages
    .filter((above) => existsSync(above))
    .flatMap((above) => [above, join(above, '*')]);
  return [join(folder, '*'), ...readable];
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [] : [above, ...foldersAbove(above)];
}
