/** Starts the workers, restarts those that end by themselves, and stops all of them. */
import cluster, { type Worker } from 'node:cluster';
import type { Log } from '../../postgres/log.ts';
import { ExplainedFailure } from '../start/start-failure.ts';
import { mergeMetrics } from './merge-metrics.ts';
import type { ListeningFacts, ToPrimary, ToWorker } from './messages.ts';

export interface WorkerGroupOptions {
  count: number;
  /** The URL of the embedded PostgreSQL; undefined: DATABASE_URL names the database. */
  databaseUrl: string | undefined;
  /** How long running requests may last when the service stops. */
  graceMs: number;
  log: Log;
  /** Called with the reason when the workers cannot continue. */
  onFailure: (detail: string) => void;
  /** The pause before a worker that has ended twice in a row is restarted. It doubles with each further time. */
  pauseMs?: number;
}

interface Member {
  number: number;
  worker: Worker;
  /** The id of its lease, when it is known. */
  lease: string | undefined;
  /** The leases that this worker ends when it starts. */
  deadLeases: string[];
  /** The reason why it ends, if it has sent one. */
  failure: string | undefined;
  started: PromiseWithResolvers<Started>;
  /** When it began to listen; undefined: it does not listen yet. */
  listensSinceMs: number | undefined;
  /** Whether `start` fails if this worker ends before it listens. This is so for the first worker only. */
  decidesStart: boolean;
  ended: PromiseWithResolvers<End>;
  hasEnded: boolean;
  /** The requests for metrics that it has not answered yet. */
  readings: Map<number, (text: string) => void>;
}

/** undefined: the worker ended before it listened, and will be restarted. */
type Started = ListeningFacts | undefined;

/** How a worker ended. */
interface End {
  isInOrder: boolean;
  how: string;
}

/** If no worker listens and this many in a row have ended before they listened, the service fails: new workers would not help. */
const maxFailedStarts = 6;
const defaultPauseMs = 1000;
/** How often the pause is doubled at most. */
const maxDoublings = 5;
/** If a worker has listened for at least this time, its end does not count as one in a row. */
const steadyMs = 60_000;
/** How long a worker may take to stop after the time for its requests is over. */
const stopMs = 20_000;
/** How long the metrics wait for a busy worker. Prometheus itself waits ten seconds. */
const metricsMs = 3000;

export class WorkerGroup {
  readonly #options: WorkerGroupOptions;
  readonly #members = new Map<number, Member>();
  /** The leases of dead workers that no new worker has taken over yet. */
  readonly #deadLeases = new Set<string>();
  /** How often the worker with each number has ended in a row. */
  readonly #endsInARow = new Map<number, number>();
  /** The pauses before workers are started again. */
  readonly #pauses = new Set<NodeJS.Timeout>();
  /** How many workers have ended before they listened, since a worker has listened. */
  #failedStarts = 0;
  #restartCount = 0;
  #lastRequest = 0;
  #isStopping = false;

  constructor(options: WorkerGroupOptions) {
    this.#options = options;
  }

  /**
   * Resolves when all workers listen. The first one starts alone: it migrates the schema of the service, and if it cannot start, there is
   * one error message instead of one from each worker. If another worker ends before it listens, `start` does not wait for its restart.
   *
   * @throws ExplainedFailure why the first worker cannot start, or why no worker can continue
   */
  async start(): Promise<ListeningFacts> {
    const first = await this.#fork(1, true);
    const others = Array.from({ length: this.#options.count - 1 }, (_, index) => this.#fork(index + 2));
    await Promise.all(others);
    return first!;
  }

  /** Stops all workers, and resolves when they have ended. @throws Error if one of them has not stopped in order */
  async stop(cause: string | undefined): Promise<void> {
    this.#isStopping = true;
    for (const pause of this.#pauses) clearTimeout(pause);
    const ends = await Promise.allSettled(
      [...this.#members.values()].map((member) => this.#stopOne(member, cause)),
    );
    const faults = ends
      .map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))
      .filter((fault) => fault !== undefined);
    if (faults.length > 0) throw new ExplainedFailure(faults.join('\n'));
  }

  /** Returns the metrics of all workers. Those of a worker that does not answer in time are left out. */
  async metrics(): Promise<string> {
    const texts = await Promise.all([...this.#members.values()].map((member) => this.#metricsOf(member)));
    return mergeMetrics([...texts, this.#ownMetrics()]);
  }

  async #fork(number: number, decidesStart = false): Promise<Started> {
    let worker: Worker;
    try {
      worker = cluster.fork();
    } catch (error) {
      // Node.js throws some errors of the operating system, such as a lack of memory. Others it emits as events.
      const how = (error as Error).message;
      if (decidesStart) throw cannotStart(number, how);
      this.#startAgain(number, how);
      return undefined;
    }
    const member: Member = {
      number,
      worker,
      lease: undefined,
      deadLeases: [...this.#deadLeases],
      failure: undefined,
      started: Promise.withResolvers(),
      listensSinceMs: undefined,
      decidesStart,
      ended: Promise.withResolvers(),
      hasEnded: false,
      readings: new Map(),
    };
    this.#members.set(number, member);
    worker.on('message', (message: ToPrimary) => this.#receive(member, message));
    worker.on('error', (error) => this.#noteError(member, error));
    worker.once('exit', (code: number | null, signal: string | null) =>
      this.#noteEnd(member, { isInOrder: code === 0, how: signal ?? `exit code ${code}` }),
    );
    return member.started.promise;
  }

  #receive(member: Member, message: ToPrimary): void {
    const { databaseUrl, onFailure } = this.#options;
    switch (message.kind) {
      case 'begun':
        send(member, { kind: 'start', number: member.number, databaseUrl, deadLeases: member.deadLeases });
        return;
      case 'listening':
        member.decidesStart = false;
        member.listensSinceMs = performance.now();
        this.#failedStarts = 0;
        member.started.resolve(message);
        return;
      case 'ready':
        member.lease = message.lease;
        for (const lease of member.deadLeases) this.#deadLeases.delete(lease);
        return;
      case 'metrics':
        member.readings.get(message.request)?.(message.text);
        return;
      case 'failed':
        member.failure = message.detail;
        member.started.reject(new ExplainedFailure(message.detail));
        if (!this.#isStopping) onFailure(message.detail);
    }
  }

  /** Notes that a process could not be created, or that a worker did not get a message. */
  #noteError(member: Member, error: Error): void {
    // For a process that could not be created Node.js emits no `exit`, so its end is recorded here.
    if (member.worker.process.pid === undefined)
      this.#noteEnd(member, { isInOrder: false, how: error.message });
    else this.#options.log.warn({ err: error }, 'A worker does not answer');
  }

  #noteEnd(member: Member, end: End): void {
    if (member.hasEnded) return;
    member.hasEnded = true;
    const { number, lease, failure, decidesStart, listensSinceMs } = member;
    const { how } = end;
    this.#members.delete(number);
    member.ended.resolve(end);
    for (const resolve of member.readings.values()) resolve('');
    if (decidesStart) member.started.reject(cannotStart(number, how));
    else member.started.resolve(undefined);
    if (decidesStart || this.#isStopping || failure !== undefined) return;
    if (lease !== undefined) this.#deadLeases.add(lease);
    this.#startAgain(number, how, listensSinceMs);
  }

  /**
   * Restarts a worker that has ended by itself: at once, or after a pause if it has ended several times in a row.
   *
   * @param listensSinceMs undefined: it has not listened
   */
  #startAgain(number: number, how: string, listensSinceMs?: number): void {
    const { log, onFailure, pauseMs: firstPauseMs = defaultPauseMs } = this.#options;
    if (listensSinceMs === undefined) this.#failedStarts++;
    if (this.#failedStarts >= maxFailedStarts && !this.#listens()) {
      onFailure(`Tablewright ends: no worker could be started, ${this.#failedStarts} times in a row: ${how}`);
      return;
    }
    const wasSteady = listensSinceMs !== undefined && performance.now() - listensSinceMs >= steadyMs;
    const ends = wasSteady ? 1 : (this.#endsInARow.get(number) ?? 0) + 1;
    this.#endsInARow.set(number, ends);
    const pauseMs = ends === 1 ? 0 : firstPauseMs * 2 ** Math.min(ends - 2, maxDoublings);
    log.warn({ worker: number, reason: how, pauseMs }, 'A worker ended by itself. It is started again');
    const fork = (): void => {
      this.#restartCount++;
      // Nothing waits for this worker. If it fails for a reason that concerns every worker, `onFailure` is called.
      this.#fork(number).catch(() => {});
    };
    if (pauseMs === 0) {
      fork();
      return;
    }
    const pause = setTimeout(() => {
      this.#pauses.delete(pause);
      fork();
    }, pauseMs);
    this.#pauses.add(pause);
  }

  #listens(): boolean {
    return [...this.#members.values()].some(({ listensSinceMs }) => listensSinceMs !== undefined);
  }

  /** Stops a worker. @returns the reason if it has not stopped in order */
  async #stopOne(member: Member, cause: string | undefined): Promise<string | undefined> {
    const { worker, number } = member;
    const killing = setTimeout(() => worker.process.kill('SIGKILL'), this.#options.graceMs + stopMs);
    try {
      send(member, { kind: 'stop', cause });
      // Only the end of the process counts, not an error of the worker: it may still commit, and needs its database.
      const { isInOrder, how } = await member.ended.promise;
      return isInOrder ? undefined : (member.failure ?? `Worker ${number} did not stop in order: ${how}`);
    } finally {
      clearTimeout(killing);
    }
  }

  async #metricsOf(member: Member): Promise<string> {
    this.#lastRequest++;
    const request = this.#lastRequest;
    const { promise, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(resolve, metricsMs, '');
    member.readings.set(request, resolve);
    send(member, { kind: 'read-metrics', request });
    const text = await promise;
    clearTimeout(timer);
    member.readings.delete(request);
    return text;
  }

  #ownMetrics(): string {
    return `# HELP tablewright_workers Worker processes (WORKERS).
# TYPE tablewright_workers gauge
tablewright_workers ${this.#options.count}
# HELP tablewright_worker_restarts_total Workers that were started again because they had ended by themselves.
# TYPE tablewright_worker_restarts_total counter
tablewright_worker_restarts_total ${this.#restartCount}
`;
  }
}

function cannotStart(number: number, how: string): Error {
  return new ExplainedFailure(`Tablewright cannot start: worker ${number} ended: ${how}`);
}

/** Sends a message. A message to a worker that has just ended is lost, which does no harm, because its end is handled elsewhere. */
function send({ worker }: Member, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
