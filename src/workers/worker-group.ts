/** Starts the workers, starts those again that end by themselves, and stops all. */
import cluster, { type Worker } from 'node:cluster';
import type { Log } from '../postgres/log.ts';
import { ExplainedFailure } from '../start-failure.ts';
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
}

interface Member {
  number: number;
  worker: Worker;
  /** The id of its lease, when it is known. */
  lease: string | undefined;
  /** The leases that this worker ends when it starts. */
  deadLeases: string[];
  /** Why it ends, if it has said so. */
  failure: string | undefined;
  started: PromiseWithResolvers<ListeningFacts>;
  /** Whether `start` fails if this worker ends: no worker with its number has listened yet. */
  decidesStart: boolean;
  ended: PromiseWithResolvers<End>;
  hasEnded: boolean;
  /** The requests for metrics that it has not answered yet. */
  readings: Map<number, (text: string) => void>;
}

/** How a worker ended. */
interface End {
  isInOrder: boolean;
  how: string;
}

/** If workers end by themselves more often than this in a minute, something is wrong that new workers do not repair. */
const maxRestarts = 5;
const restartsMs = 60_000;
/** How long a worker may take to stop after the time of its requests. */
const stopMs = 20_000;
/** How long the metrics wait for a worker that is busy. Prometheus itself waits for ten seconds. */
const metricsMs = 3000;

export class WorkerGroup {
  readonly #options: WorkerGroupOptions;
  readonly #members = new Map<number, Member>();
  /** The leases of dead workers that no new worker has ended yet. */
  readonly #deadLeases = new Set<string>();
  #restartedAtMs: number[] = [];
  #restartCount = 0;
  #lastRequest = 0;
  #isStopping = false;

  constructor(options: WorkerGroupOptions) {
    this.#options = options;
  }

  /**
   * Resolves when all workers listen. The first one starts alone: it migrates the schema of the service, and if it cannot start, there is
   * one message and not one of each worker.
   *
   * @throws ExplainedFailure why a worker cannot start
   */
  async start(): Promise<ListeningFacts> {
    const first = await this.#fork(1, true);
    const others = Array.from({ length: this.#options.count - 1 }, (_, index) => this.#fork(index + 2, true));
    await Promise.all(others);
    return first;
  }

  /** Stops all workers, and resolves when they have ended. @throws Error if one of them has not stopped in order */
  async stop(cause: string | undefined): Promise<void> {
    this.#isStopping = true;
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

  #fork(number: number, decidesStart: boolean): Promise<ListeningFacts> {
    const worker = cluster.fork();
    const member: Member = {
      number,
      worker,
      lease: undefined,
      deadLeases: [...this.#deadLeases],
      failure: undefined,
      started: Promise.withResolvers(),
      decidesStart,
      ended: Promise.withResolvers(),
      hasEnded: false,
      readings: new Map(),
    };
    // Nobody waits for a worker that replaces another one.
    member.started.promise.catch(() => {});
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
    // Node.js emits no `exit` for a process that it could not create.
    if (member.worker.process.pid === undefined)
      this.#noteEnd(member, { isInOrder: false, how: error.message });
    else this.#options.log.warn({ err: error }, 'A worker does not answer');
  }

  #noteEnd(member: Member, end: End): void {
    if (member.hasEnded) return;
    member.hasEnded = true;
    const { number, lease, failure } = member;
    const { how } = end;
    this.#members.delete(number);
    member.ended.resolve(end);
    for (const resolve of member.readings.values()) resolve('');
    member.started.reject(new ExplainedFailure(`Tablewright cannot start: worker ${number} ended: ${how}`));
    if (member.decidesStart || this.#isStopping || failure !== undefined) return;
    const { log, onFailure } = this.#options;
    if (lease !== undefined) this.#deadLeases.add(lease);
    const now = performance.now();
    this.#restartedAtMs = [...this.#restartedAtMs.filter((atMs) => now - atMs < restartsMs), now];
    if (this.#restartedAtMs.length > maxRestarts) {
      onFailure(`Tablewright ends: workers ended by themselves ${maxRestarts + 1} times in a minute: ${how}`);
      return;
    }
    this.#restartCount++;
    log.warn({ worker: number, reason: how }, 'A worker ended by itself. It is started again');
    this.#fork(number, false);
  }

  /** @returns why the worker has not stopped in order */
  async #stopOne(member: Member, cause: string | undefined): Promise<string | undefined> {
    const { worker, number } = member;
    const killing = setTimeout(() => worker.process.kill('SIGKILL'), this.#options.graceMs + stopMs);
    try {
      send(member, { kind: 'stop', cause });
      // An error of the worker is not its end: it may still commit, and needs its database.
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

/** A message to a worker that has just ended is lost. Its end is noted elsewhere. */
function send({ worker }: Member, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
