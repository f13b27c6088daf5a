/**
 * The fault loop: clients send operations of all kinds while something fails, again and again. After each fault, everything
 * that was acknowledged must be in the database, no operation may be there in part, and nothing may be left behind. At the end each event
 * must have arrived at the receiver of a webhook.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type EventReceiver, startEventReceiver } from './event-receiver.ts';
import { type Fault, type FaultKind, faults, type Wish } from './faults.ts';
import {
  compareWithLedger,
  type Ledger,
  type LedgerTable,
  type ReadTexts,
  sessionsTable,
  sharedTable,
} from './ledger.ts';
import { findLeftovers, sessionsTableSql } from './leftovers.ts';
import { type Machinery, startMachinery, type WayKind } from './machinery.ts';
import { makeOperation, type Operation, sharedDefinition } from './operations.ts';
import { Random } from './random.ts';
import { type Outcome, type Sending, send } from './send.ts';

export interface SoakOptions {
  seed: number;
  /** The least number of operations. */
  operations: number;
  /** The number of faults. If it is large enough, each kind that the machine supports occurs at least once. */
  faults: number;
  clients: number;
  /** How the service reaches PostgreSQL. Default: directly. */
  way?: WayKind;
  /** The kinds of faults. Default: all that the machine and the way support. */
  kinds?: FaultKind[];
  /** Called with a line of text from time to time. */
  log(line: string): void;
  /** Ends the run early. */
  signal?: AbortSignal;
}

export interface SoakFigures {
  seed: number;
  durationMs: number;
  operations: number;
  /** Operations that were answered with success, and then found in the database. */
  acknowledged: number;
  /** Operations that were answered with the expected error. */
  refused: number;
  /** Operations that were answered with 503 or 408 because of a fault. */
  failed: number;
  /** Operations whose connection broke before an answer. */
  unanswered: number;
  /** The number of sent operations of each kind. */
  kinds: Record<string, number>;
  /** For each kind of fault: how often it occurred, and how many operations failed or were not answered because of it. */
  faults: Record<string, { times: number; hits: number }>;
  /** The kinds of faults that this machine does not support. */
  leftOutFaults: string[];
  checks: number;
  /** The number of tables that were compared with the ledger, row by row. */
  comparedTables: number;
  /** The number of different events that arrived at the receiver of a webhook. */
  events: number;
  peakMemoryBytes: number | undefined;
  violations: string[];
}

/** The distance between the ids of two clients, so that ids are never equal. */
const numbersPerClient = 10_000_000;
const tablesPerClient = 3;
/** A run ends after this many violations. */
const mostViolations = 20;
const recoveryTimeoutMs = 30_000;
const slowSending = 0.35;

export async function runSoak(options: SoakOptions): Promise<SoakFigures> {
  const machinery = await startMachinery(options.way ?? 'direct');
  const receiver = await startEventReceiver();
  try {
    const run = new Run(machinery, receiver, options);
    await run.prepare();
    await run.runAll();
    await run.checkEvents();
    return run.figures;
  } finally {
    await machinery.end();
    await receiver.close();
  }
}

interface Client {
  number: number;
  random: Random;
  used: number;
  tables: LedgerTable[];
}

interface PendingWish extends Wish {
  done: () => void;
}

class Run {
  readonly figures: SoakFigures;
  readonly #machinery: Machinery;
  readonly #receiver: EventReceiver;
  readonly #options: SoakOptions;
  readonly #random: Random;
  readonly #clients: Client[];
  readonly #ledger: Ledger = { tables: new Map(), batches: new Map() };
  readonly #wishes: PendingWish[] = [];
  #token = '';
  /** Settles when the fault of the round is repaired. */
  #repaired: Promise<void> = Promise.resolve();

  constructor(machinery: Machinery, receiver: EventReceiver, options: SoakOptions) {
    this.#machinery = machinery;
    this.#receiver = receiver;
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#clients = Array.from({ length: options.clients }, (_, number) => ({
      number,
      random: new Random(options.seed * 1000 + number + 1),
      used: 0,
      tables: [],
    }));
    this.figures = {
      seed: options.seed,
      durationMs: 0,
      operations: 0,
      acknowledged: 0,
      refused: 0,
      failed: 0,
      unanswered: 0,
      kinds: {},
      faults: {},
      leftOutFaults: [],
      checks: 0,
      comparedTables: 0,
      events: 0,
      peakMemoryBytes: undefined,
      violations: [],
    };
  }

  async prepare(): Promise<void> {
    const { service } = this.#machinery;
    this.#token = await service.token({ ttlSeconds: 86_400 });
    await this.#withConnection((read) => read(sessionsTableSql));
    await this.#receiver.register(service);
    const made = await service.post(`/table/${sharedTable}`, { table: sharedDefinition });
    if (made.status !== 201) throw new Error(`the shared table was not made: ${JSON.stringify(made.body)}`);
  }

  async runAll(): Promise<void> {
    const { figures } = this;
    const options = this.#options;
    const startedAt = performance.now();
    const kinds = this.#faultKinds();
    for (const [round, kind] of kinds.entries()) {
      const operations = Math.ceil((options.operations - figures.operations) / (kinds.length - round));
      await this.#runRound(kind, Math.max(operations, 1));
      await this.#check(kind);
      const { violations } = figures;
      if (options.signal?.aborted || violations.length >= mostViolations) break;
      if ((round + 1) % 10 === 0) {
        options.log(`${figures.operations} operations, ${round + 1} faults, ${violations.length} violations`);
      }
    }
    figures.durationMs = performance.now() - startedAt;
  }

  /** Checks that each event was delivered, and nothing else. */
  async checkEvents(): Promise<void> {
    await this.#withConnection(async (read) => {
      for (const wrong of await this.#receiver.findWrong(read)) this.#report(`at the end ${wrong}`);
    });
    this.figures.events = this.#receiver.count();
  }

  /** Returns all kinds in turn, in a random order each time. */
  #faultKinds(): FaultKind[] {
    const possible: FaultKind[] = [];
    for (const kind of this.#options.kinds ?? (Object.keys(faults) as FaultKind[])) {
      const { needsDisks, needsWay, title }: Fault = faults[kind];
      if (needsWay && this.#machinery.way === undefined) continue;
      if (needsDisks && this.#machinery.disks === undefined) this.figures.leftOutFaults.push(title);
      else possible.push(kind);
    }
    const kinds: FaultKind[] = [];
    while (kinds.length < this.#options.faults) kinds.push(...this.#random.shuffled(possible));
    return kinds.slice(0, this.#options.faults);
  }

  /** Lets the clients send operations, and injects the fault in the middle of them. */
  async #runRound(kind: FaultKind, operations: number): Promise<void> {
    const fault = faults[kind];
    const { figures } = this;
    const before = figures.failed + figures.unanswered;
    let left = operations;
    let isOver = false;
    const strikeAt = this.#random.integer(0, Math.max(0, operations - 2));
    const delayMs = this.#random.integer(0, 80);
    const begun = Promise.withResolvers<void>();
    const strike = async (): Promise<void> => {
      await begun.promise;
      await sleep(delayMs);
      await fault.strike({
        machinery: this.#machinery,
        random: this.#random,
        ask: (wish) => new Promise((done) => this.#wishes.push({ ...wish, done })),
        report: (violation) => this.#report(`${fault.title}: ${violation}`),
      });
    };
    this.#repaired = strike().finally(() => {
      isOver = true;
    });
    const work = async (client: Client): Promise<void> => {
      while (left > 0 || !isOver) {
        if (left <= 0 && this.#wishes.length === 0) {
          await sleep(5);
          continue;
        }
        left -= 1;
        if (operations - left > strikeAt) begun.resolve();
        await this.#runOperation(client, fault.failsOthers);
      }
    };
    await Promise.all([this.#repaired, ...this.#clients.map(work)]);
    // A requested operation that came too late for its fault.
    for (const wish of this.#wishes.splice(0)) wish.done();
    const { times, hits } = figures.faults[fault.title] ?? { times: 0, hits: 0 };
    const failed = figures.failed + figures.unanswered - before;
    figures.faults[fault.title] = { times: times + 1, hits: hits + failed };
  }

  async #runOperation(client: Client, mayFail: boolean): Promise<void> {
    const wish = this.#wishes.shift();
    const make = (): Operation =>
      makeOperation({
        random: client.random,
        token: this.#token,
        nextNumber: () => client.number * numbersPerClient + ++client.used,
        table: this.#knownTable(client),
        isLarge: wish?.isLarge ?? false,
      });
    let operation = make();
    while (wish !== undefined && operation.body === undefined) operation = make();
    const sending = this.#sendingOf(client.random, operation, wish);
    let outcome = await send(this.#machinery.service.url, operation, sending);
    while (outcome.kind === 'not-sent') {
      await Promise.race([this.#repaired.catch(() => {}), sleep(20)]);
      outcome = await send(this.#machinery.service.url, operation, sending);
    }
    wish?.done();
    this.#judge(operation, outcome, sending, mayFail);
    const isFailure = outcome.kind === 'broken' || (outcome.kind === 'answered' && outcome.status === 503);
    // Otherwise most operations of a run would be sent while the service is stopped.
    if (isFailure && mayFail)
      await Promise.race([
        this.#repaired.catch(() => {}),
        sleep(recoveryTimeoutMs, undefined, { ref: false }),
      ]);
  }

  /** Returns a table of the client whose state is known. An operation without an answer may still be running in another one. */
  #knownTable(client: Client): LedgerTable {
    const known = client.tables.filter(({ possible }) => possible.length === 1);
    if (known.length >= tablesPerClient || (known.length > 0 && client.random.chance(0.7))) {
      return client.random.pick(known);
    }
    const name = `soak_${client.number}_${client.used++}`;
    const table: LedgerTable = { name, possible: [undefined], lastOperation: 'nothing' };
    client.tables.push(table);
    this.#ledger.tables.set(name, table);
    return table;
  }

  #sendingOf(random: Random, { body }: Operation, wish: PendingWish | undefined): Sending {
    const isSlow = body !== undefined && (wish?.failure !== undefined || random.chance(slowSending));
    const parts = isSlow ? random.integer(2, 15) : 1;
    const sending: Sending = { parts, pauseMs: random.integer(1, 15) };
    if (wish?.failure === undefined || body === undefined) return sending;
    // After the last part a client can only disconnect.
    const most = wish.failure === 'vanish' ? parts : parts - 1;
    return { ...sending, failure: { kind: wish.failure, afterParts: random.integer(0, most) } };
  }

  /** Counts the outcome, and writes into the ledger what the database may now contain. */
  #judge(operation: Operation, outcome: Outcome, sending: Sending, mayFail: boolean): void {
    const { figures } = this;
    figures.operations += 1;
    figures.kinds[operation.kind] = (figures.kinds[operation.kind] ?? 0) + 1;
    const { failure } = sending;
    if (outcome.kind !== 'answered') {
      figures.unanswered += 1;
      const isCut = failure !== undefined && failure.afterParts < sending.parts;
      if (failure === undefined && !mayFail) this.#report(`${describeOf(operation)}: ${reasonOf(outcome)}`);
      this.#note(operation, isCut ? [false] : [false, true]);
      return;
    }
    const { status, body } = outcome;
    // A request whose body stops can only be refused: because it is wrong, or because it takes too long.
    const mayBe = failure?.kind !== 'stall' || status >= 400;
    if (status === operation.status && mayBe) {
      const wrong = wrongLoad(operation, body);
      if (wrong !== undefined) this.#report(`${describeOf(operation)}: ${wrong}`);
      if (status < 300) figures.acknowledged += 1;
      else figures.refused += 1;
      this.#note(operation, [status < 300]);
    } else if (status === 408 || (status === 503 && mayFail)) {
      figures.failed += 1;
      this.#note(operation, isOutcomeUnknown(body) ? [false, true] : [false]);
    } else {
      this.#report(
        `${describeOf(operation)}: ${status} instead of ${operation.status}: ${JSON.stringify(body).slice(0, 500)}${this.#logOf(body)}`,
      );
      this.#note(operation, [false, true]);
    }
  }

  /**
   * Updates the ledger.
   *
   * @param mayBeDone whether the operation took effect: one value, or both if that is not known
   */
  #note({ kind, change, batch }: Operation, mayBeDone: boolean[]): void {
    if (change !== undefined) {
      const { table, after } = change;
      const before = table.possible[0];
      table.possible = mayBeDone.map((isDone) => (isDone ? after : before));
      table.lastOperation = kind;
    }
    if (batch !== undefined) {
      const isThere = mayBeDone.length === 1 ? mayBeDone[0] : undefined;
      this.#ledger.batches.set(batch.name, { ...batch, isThere });
    }
  }

  /** Checks everything while no operation is running and nothing is broken. */
  async #check(kind: FaultKind): Promise<void> {
    const { figures } = this;
    const after = `after ${faults[kind].title}`;
    figures.checks += 1;
    await this.#machinery.restorePostgres();
    const recovery = await this.#loadAgain();
    if (recovery !== undefined) this.#report(`${after}: ${recovery}`);
    await this.#withConnection(async (read) => {
      for (const left of await findLeftovers(this.#machinery, read)) {
        this.#report(`${after} there was left ${left}`);
      }
      figures.comparedTables += this.#ledger.tables.size + 1;
      for (const wrong of await compareWithLedger(this.#ledger, read)) this.#report(`${after}: ${wrong}`);
      await this.#dropTables(read);
      // The log of PostgreSQL must not fill the disk.
      await read('CHECKPOINT');
    });
    const peak = this.#machinery.service.peakMemoryBytes();
    if (peak !== undefined) figures.peakMemoryBytes = Math.max(figures.peakMemoryBytes ?? 0, peak);
  }

  /** Loads rows through several connections at once. Returns an error if the service does not recover. */
  async #loadAgain(): Promise<string | undefined> {
    const giveUpAt = performance.now() + recoveryTimeoutMs;
    for (;;) {
      const { service } = this.#machinery;
      const loads = Array.from({ length: 4 }, (_, id) =>
        service.post(`/table/${sessionsTable}/upload/json?if_exists=append`, { data: [{ id }] }),
      );
      const answers = await Promise.all(
        loads.map((load) => load.catch((error) => ({ status: 0, body: String(error) }))),
      );
      const failed = answers.find(({ status }) => status !== 200);
      if (failed === undefined) return undefined;
      if (performance.now() > giveUpAt) return `the service does not recover: ${JSON.stringify(failed.body)}`;
      await sleep(50);
    }
  }

  /** Drops tables, so that new ones are created instead. */
  async #dropTables(read: ReadTexts): Promise<void> {
    for (const { tables, random } of this.#clients) {
      const surplus = Math.max(random.integer(0, 1), tables.length - tablesPerClient);
      for (const { name } of tables.splice(0, surplus)) {
        this.#ledger.tables.delete(name);
        await read(`DROP TABLE IF EXISTS public.${name}`);
      }
    }
  }

  async #withConnection<T>(work: (read: ReadTexts) => Promise<T>): Promise<T> {
    const client = await this.#machinery.connect();
    const asText = { getTypeParser: () => (text: string) => text };
    try {
      return await work(async (text, values) => {
        const { rows } = await client.query({
          text,
          ...(values && { values }),
          rowMode: 'array',
          types: asText,
        });
        return rows as unknown as (string | null)[][];
      });
    } finally {
      await client.end();
    }
  }

  /** Returns the error that the service logged for an answer that names no cause. */
  #logOf(body: { code?: string; instance?: string } | undefined): string {
    if (body?.code !== 'internal-error') return '';
    const id = body.instance?.replace('urn:uuid:', '') ?? '';
    const lines = this.#machinery.service.output().split('\n');
    return ` ${lines.find((line) => line.includes(id) && line.includes('"err"')) ?? '(not logged)'}`;
  }

  #report(violation: string): void {
    this.figures.violations.push(violation);
    this.#options.log(`VIOLATION: ${violation}`);
  }
}

function describeOf({ kind, path }: Operation): string {
  return `${kind} (${path})`;
}

function reasonOf(outcome: Outcome): string {
  return outcome.kind === 'broken' ? `the connection broke: ${outcome.reason}` : outcome.kind;
}

/** Returns the errors in the counts of the answer. */
// biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service answers
function wrongLoad({ load }: Operation, body: any): string | undefined {
  if (load === undefined) return undefined;
  const { rows, skipped, updated } = body.load;
  if (rows === load.rows && skipped === load.skipped && updated === load.updated) return undefined;
  return `${JSON.stringify({ rows, skipped, updated })} instead of ${JSON.stringify(load)}`;
}

/** Returns whether the connection to the database broke between the COMMIT and its answer, and the service says so. */
function isOutcomeUnknown(body: { detail?: string }): boolean {
  return body.detail?.includes('is not known') === true;
}
