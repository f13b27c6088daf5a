/** Starts the workers, starts those again that end by themselves, and stops all. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
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
  readonly #metrics = new Map<number, (text: string) => void>();
  #restartedAtMs: number[] = [];
  #restartCount = 0;
  #lastRequest = 0;
  #hasStarted = false;
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
    const first = await this.#fork(1);
    const others = Array.from({ length: this.#options.count - 1 }, (_, index) => this.#fork(index + 2));
    await Promise.all(others);
    this.#hasStarted = true;
    return first;
  }

  /** Stops all workers, and resolves when they have ended. @throws Error if one of them has not stopped in order */
  async stop(cause: string | undefined): Promise<void> {
    this.#isStopping = true;
    const ends = [...this.#members.values()].map((member) => this.#stopOne(member, cause));
    const faults = (await Promise.all(ends)).filter((fault) => fault !== undefined);
    if (faults.length > 0) throw new ExplainedFailure(faults.join('\n'));
  }

  /** Returns the metrics of all workers. Those of a worker that does not answer in time are left out. */
  async metrics(): Promise<string> {
    const texts = await Promise.all([...this.#members.values()].map((member) => this.#metricsOf(member)));
    return mergeMetrics([...texts, this.#ownMetrics()]);
  }

  #fork(number: number): Promise<ListeningFacts> {
    const worker = cluster.fork();
    const started = Promise.withResolvers<ListeningFacts>();
    const deadLeases = [...this.#deadLeases];
    const member: Member = { number, worker, lease: undefined, deadLeases, failure: undefined, started };
    this.#members.set(number, member);
    worker.on('message', (message: ToPrimary) => this.#receive(member, message));
    worker.on('error', (error) => this.#options.log.warn({ err: error }, 'A worker does not answer'));
    worker.once('exit', (code: number | null, signal: string | null) =>
      this.#noteEnd(member, signal ?? `exit code ${code}`),
    );
    return started.promise;
  }

  #receive(member: Member, message: ToPrimary): void {
    const { databaseUrl, onFailure } = this.#options;
    switch (message.kind) {
      case 'begun':
        send(member, { kind: 'start', number: member.number, databaseUrl, deadLeases: member.deadLeases });
        return;
      case 'listening':
        member.started.resolve(message);
        return;
      case 'ready':
        member.lease = message.lease;
        for (const lease of member.deadLeases) this.#deadLeases.delete(lease);
        return;
      case 'metrics':
        this.#metrics.get(message.request)?.(message.text);
        return;
      case 'failed':
        member.failure = message.detail;
        member.started.reject(new ExplainedFailure(message.detail));
        if (!this.#isStopping) onFailure(message.detail);
    }
  }

  #noteEnd(member: Member, how: string): void {
    const { number, lease, failure } = member;
    member.started.reject(new ExplainedFailure(`Tablewright cannot start: worker ${number} ended: ${how}`));
    if (!this.#hasStarted || this.#isStopping || failure !== undefined) return;
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
    this.#fork(number).catch(() => {});
  }

  /** @returns why the worker has not stopped in order */
  async #stopOne(member: Member, cause: string | undefined): Promise<string | undefined> {
    const { worker, number } = member;
    if (worker.isDead()) return undefined;
    const ended = once(worker, 'exit');
    send(member, { kind: 'stop', cause });
    const killing = setTimeout(() => worker.process.kill('SIGKILL'), this.#options.graceMs + stopMs);
    const [code, signal] = await ended;
    clearTimeout(killing);
    if (code === 0) return undefined;
    return member.failure ?? `Worker ${number} did not stop in order: ${signal ?? `exit code ${code}`}`;
  }

  async #metricsOf(member: Member): Promise<string> {
    this.#lastRequest++;
    const request = this.#lastRequest;
    const { promise, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(resolve, metricsMs, '');
    this.#metrics.set(request, resolve);
    send(member, { kind: 'read-metrics', request });
    const text = await promise;
    clearTimeout(timer);
    this.#metrics.delete(request);
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
