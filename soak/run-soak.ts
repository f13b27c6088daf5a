/**
 * The fault loop: clients send operations of all kinds while something fails, again and again. After each fault, everything
 * that was acknowledged must be in the database, no operation may be there in part, and nothing may be left behind. At the end each event
 * must have arrived at the receiver of a webhook.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeOf, isOutcomeUnknown, wrongLoad } from './answers.ts';
import { compareEvents } from './event-ledger.ts';
import { type EventReceiver, startEventReceiver } from './event-receiver.ts';
import { evidenceOf, idsIn } from './evidence.ts';
import { type Fault, type FaultKind, faults, type Wish } from './faults.ts';
import { type Feed, followFeed } from './feed.ts';
import { expectedLoad, type Manner, mannerOf, runKeyed } from './keyed-requests.ts';
import {
  type Batch,
  compareWithLedger,
  emptyLedger,
  type Ledger,
  type LedgerTable,
  noteTable,
  openParts,
  type ReadTexts,
  sessionsTable,
  sharedTable,
} from './ledger.ts';
import { findLeftovers, findUnended, sessionsTableSql } from './leftovers.ts';
import { type Machinery, startMachinery, type WayKind } from './machinery.ts';
import { type MemoryWatch, watchMemory } from './memory.ts';
import {
  makeOperation,
  type Operation,
  sharedDefinition,
  type TableChange,
  wholeProfile,
} from './operations.ts';
import { Random } from './random.ts';
import { type Outcome, type Sending, send } from './send.ts';

export interface SoakOptions {
  seed: number;
  /** The least number of operations. */
  operations: number;
  /** The number of faults. If it is large enough, each kind that the machine supports occurs at least once. */
  faults: number;
  clients: number;
  /** How the service runs. Default: one process that reaches PostgreSQL directly. */
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
  /** Operations that were answered with 503, 429 or 408 because of a fault. */
  failed: number;
  /** Operations whose connection broke before an answer. */
  unanswered: number;
  /** For each kind of fault: how often it occurred, and how many operations failed or were not answered because of it. */
  faults: Record<string, { times: number; hits: number }>;
  /** The kinds of faults that this machine does not support. */
  leftOutFaults: string[];
  checks: number;
  /** The number of tables that were compared with the ledger, row by row. */
  comparedTables: number;
  /** How often operations of the replicas were sent in another manner, and what became of them. */
  manners: Record<string, number>;
  /** The number of different events that arrived at the receiver of a webhook. */
  events: number;
  /** The number of requests to the receiver of the webhook. */
  deliveries: number;
  /** The connections that the readers of the feed have made. */
  feedConnections: number[];
  peakMemoryBytes: number | undefined;
  /** The most private memory of a process of PostgreSQL. */
  peakBackendBytes: number;
  violations: string[];
}

/** The distance between the ids of two clients, so that ids are never equal. */
const numbersPerClient = 10_000_000;
const tablesPerClient = 3;
/** A run ends after this many violations. */
const mostViolations = 20;
const recoveryTimeoutMs = 30_000;
/** How long a client waits for the end of a request that is sent until it has a final answer. */
const openMs = 1500;
const slowSending = 0.35;

export async function runSoak(options: SoakOptions): Promise<SoakFigures> {
  const machinery = await startMachinery(options.way ?? 'direct');
  const receiver = await startEventReceiver(new Random(options.seed * 1000));
  const run = new Run(machinery, receiver, options);
  try {
    await run.prepare();
    await run.runAll();
    await run.checkEnd();
    return run.figures;
  } finally {
    run.close();
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
  readonly #ledger: Ledger = emptyLedger();
  readonly #wishes: PendingWish[] = [];
  readonly #feeds: Feed[];
  readonly #memory: MemoryWatch;
  /** Requests that have no final answer yet, and asynchronous uploads that have not ended. */
  readonly #open = new Set<Promise<void>>();
  /** How many violations were reported with their evidence. */
  #explained = 0;
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
    this.#memory = watchMemory(machinery, (violation) => this.#report(violation));
    this.#feeds = machinery.services.map((_, number) =>
      followFeed(`the feed ${number}`, () => machinery.services[number]!.url, machinery.token),
    );
    this.figures = {
      seed: options.seed,
      durationMs: 0,
      operations: 0,
      acknowledged: 0,
      refused: 0,
      failed: 0,
      unanswered: 0,
      faults: {},
      leftOutFaults: [],
      checks: 0,
      comparedTables: 0,
      manners: {},
      events: 0,
      deliveries: 0,
      feedConnections: [],
      peakMemoryBytes: undefined,
      peakBackendBytes: 0,
      violations: [],
    };
  }

  async prepare(): Promise<void> {
    const service = this.#machinery.services[0]!;
    await this.#withConnection((read) => read(sessionsTableSql));
    await this.#receiver.register(service);
    const made = await service.post(`/table/${sharedTable}`, { table: sharedDefinition });
    if (made.status !== 201) throw new Error(`the shared table was not made: ${JSON.stringify(made.body)}`);
    const { name, parameters } = wholeProfile;
    const saved = await service.request('PUT', `/api/v1/profiles/${name}`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ parameters }),
    });
    if (saved.status !== 201) throw new Error(`the profile was not saved: ${JSON.stringify(saved.body)}`);
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
    // Each of them ends in bounded time.
    await Promise.all(this.#open);
    figures.durationMs = performance.now() - startedAt;
  }

  /** Checks that each load has ended, and that each event was sent to the feeds and the webhook, and nothing else. */
  async checkEnd(): Promise<void> {
    const { figures } = this;
    const { arrived } = this.#receiver;
    await this.#compare('at the end');
    await this.#withConnection(async (read) => {
      for (const left of await findUnended(this.#machinery, read))
        this.#report(`at the end there is ${left}`);
      for (const wrong of await this.#receiver.findWrong(read)) this.#report(`at the end ${wrong}`);
      const wrong = await compareEvents(this.#ledger, this.#feeds, arrived, read);
      for (const one of wrong) this.#report(`at the end ${one}`);
      await this.#explain(read);
    });
    figures.events = arrived.size;
    figures.deliveries = this.#receiver.deliveries();
    figures.feedConnections = this.#feeds.map((feed) => feed.connections());
    const peaks = this.#memory.peaks();
    figures.peakMemoryBytes = peaks.service || undefined;
    figures.peakBackendBytes = peaks.backend;
  }

  close(): void {
    this.#memory.stop();
    for (const feed of this.#feeds) feed.close();
  }

  /** Returns all kinds in turn, in a random order each time. */
  #faultKinds(): FaultKind[] {
    const possible: FaultKind[] = [];
    for (const kind of this.#options.kinds ?? (Object.keys(faults) as FaultKind[])) {
      const { needsDisks, needsClock, ways, title }: Fault = faults[kind];
      if (ways && !ways.includes(this.#options.way ?? 'direct')) continue;
      const lacksDisks = needsDisks && this.#machinery.disks === undefined;
      const lacksClock = needsClock && this.#machinery.clock === undefined;
      if (lacksDisks || lacksClock) this.figures.leftOutFaults.push(title);
      else possible.push(kind);
    }
    const kinds: FaultKind[] = [];
    const isRare = (kind: FaultKind, rounds: number): boolean =>
      rounds >= ((faults[kind] as Fault).mostTimes ?? Number.POSITIVE_INFINITY);
    for (let rounds = 0; kinds.length < this.#options.faults; rounds += 1) {
      kinds.push(...this.#random.shuffled(possible.filter((kind) => !isRare(kind, rounds))));
    }
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
    const table = this.#knownTable(client);
    const make = (): Operation =>
      makeOperation({
        random: client.random,
        token: this.#machinery.token,
        nextNumber: () => client.number * numbersPerClient + ++client.used,
        table,
        newTable: () => Object.assign(this.#newTable(client), { isRenamed: true }),
        isLarge: wish?.isLarge ?? false,
      });
    let operation = make();
    while (wish !== undefined && operation.body === undefined) operation = make();
    const isReplicated = this.#machinery.services.length > 1;
    const manner = isReplicated && wish === undefined ? mannerOf(client.random, operation) : undefined;
    if (manner !== undefined) {
      const open = this.#runKeyed(client, operation, manner, table).finally(() => this.#open.delete(open));
      this.#open.add(open);
      // The client goes on with other tables, so that a run need not wait for the lease of a process that was killed.
      await Promise.race([open, sleep(openMs)]);
      return;
    }
    const sending = this.#sendingOf(client.random, operation, wish);
    let outcome = await send(this.#target(client.random), operation, sending);
    while (outcome.kind === 'not-sent') {
      await Promise.race([this.#repaired.catch(() => {}), sleep(20)]);
      outcome = await send(this.#target(client.random), operation, sending);
    }
    wish?.done();
    this.#judge(operation, outcome, sending, mayFail);
    const isFailure = outcome.kind === 'broken' || (outcome.kind === 'answered' && isForNow(outcome.status));
    // Otherwise most operations of a run would be sent while the service is stopped.
    if (isFailure && mayFail)
      await Promise.race([
        this.#repaired.catch(() => {}),
        sleep(recoveryTimeoutMs, undefined, { ref: false }),
      ]);
  }

  async #runKeyed(
    { random }: Client,
    operation: Operation,
    manner: Manner,
    table: LedgerTable,
  ): Promise<void> {
    const { figures } = this;
    // Also an operation that changes nothing depends on the state of its table.
    table.isOpen = true;
    this.figures.operations += 1;
    this.#countManner(manner);
    this.#note(operation, [false, true], true);
    const context = {
      random,
      target: () => this.#target(random),
      token: this.#machinery.token,
      onAgain: () => this.#countManner('again'),
      attemptsOf: (load: string) => this.#attemptsOf(load),
    };
    const { mayBeDone, end, load, wrong } = await runKeyed(context, operation, manner);
    for (const one of wrong) this.#report(one);
    operation.answer = `${manner}: ${end ?? 'no final answer'}`;
    this.#note(operation, mayBeDone);
    table.isOpen = false;
    if (load) this.#ledger.loads.set(load.id, load.expected);
    if (end === 'acknowledged') figures.acknowledged += 1;
    else if (end === 'refused') figures.refused += 1;
    else if (end === 'failed') figures.failed += 1;
    else if (end === 'cancelled') this.#countManner('cancelled');
  }

  async #attemptsOf(load: string): Promise<number> {
    await this.#machinery.restorePostgres();
    return this.#withConnection(async (read) => {
      const [row] = await read(`SELECT request->>'attempts' FROM tablewright_service.loads WHERE id = $1`, [
        load,
      ]);
      return Number(row?.[0] ?? 0);
    });
  }

  /** Returns the address of a replica. Few clients try one that hangs; otherwise all of them would soon wait for it. */
  #target(random: Random): string {
    const { services, hung } = this.#machinery;
    if (services.length === 1) return services[0]!.url;
    const others = services.filter((service) => !hung.has(service));
    return random.pick(random.chance(0.1) ? services : others).url;
  }

  #countManner(manner: string): void {
    this.figures.manners[manner] = (this.figures.manners[manner] ?? 0) + 1;
  }

  /** Returns a table of the client whose state is known. An operation without an answer may still be running in another one. */
  #knownTable(client: Client): LedgerTable {
    const isUsable = ({ possible, isOpen, end, isRenamed }: LedgerTable) =>
      possible.length === 1 && !isOpen && (possible[0] !== undefined || (end ?? isRenamed) === undefined);
    const known = client.tables.filter(isUsable);
    if (known.length >= tablesPerClient || (known.length > 0 && client.random.chance(0.7))) {
      return client.random.pick(known);
    }
    return this.#newTable(client);
  }

  #newTable(client: Client): LedgerTable {
    const name = `soak_${client.number}_${client.used++}`;
    const table: LedgerTable = { name, possible: [undefined], isOpen: false, lastOperation: 'nothing' };
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
    this.figures.operations += 1;
    const { failure } = sending;
    operation.answer =
      outcome.kind === 'answered' ? `${outcome.status} ${outcome.body?.code ?? ''}` : outcome.kind;
    if (outcome.kind !== 'answered') {
      figures.unanswered += 1;
      const isCut = failure !== undefined && failure.afterParts < sending.parts;
      if (failure === undefined && !mayFail) this.#report(`${describeOf(operation)}: ${reasonOf(outcome)}`);
      this.#note(operation, isCut ? [false] : [false, true]);
      return;
    }
    const { status, body, load } = outcome;
    // A request whose body stops can only be refused: because it is wrong, or because it takes too long.
    const mayBe = failure?.kind !== 'stall' || status >= 400;
    if (status === operation.status && mayBe) {
      const wrong = wrongLoad(operation, body) ?? (status < 300 ? operation.check?.(body) : undefined);
      if (wrong !== undefined) this.#report(`${describeOf(operation)}: ${wrong}`);
      if (status < 300) figures.acknowledged += 1;
      else figures.refused += 1;
      if (load) this.#ledger.loads.set(load, expectedLoad(operation, status));
      this.#note(operation, [status < 300]);
    } else if (status === 408 || (isForNow(status) && mayFail)) {
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
   * @param isOpen it may still run, and its end will be noted
   */
  #note({ kind, change, batch, answer }: Operation, mayBeDone: boolean[], isOpen = false): void {
    if (change !== undefined) {
      noteChange(change, mayBeDone, isOpen);
      for (const table of [change.table, change.renamed]) {
        if (table === undefined) continue;
        table.lastOperation = `${kind} (${answer ?? 'not answered'})`;
        noteTable(this.#ledger, table);
      }
    }
    if (batch !== undefined) {
      const isThere = mayBeDone.length === 1 ? mayBeDone[0] : undefined;
      this.#ledger.batches.set(batch.name, { ...batch, isThere, isOpen });
    }
  }

  /** Checks everything while no operation is running and nothing is broken. */
  async #check(kind: FaultKind): Promise<void> {
    await this.#compare(`after ${faults[kind].title}`);
  }

  async #compare(after: string): Promise<void> {
    const { figures } = this;
    figures.checks += 1;
    await this.#machinery.restorePostgres();
    const recovery = await this.#loadAgain();
    if (recovery !== undefined) this.#report(`${after}: ${recovery}`);
    await this.#withConnection(async (read) => {
      for (const left of await findLeftovers(this.#machinery, read)) {
        this.#report(`${after} there was left ${left}`);
      }
      const open = openParts(this.#ledger);
      figures.comparedTables += this.#ledger.tables.size + 1;
      for (const wrong of await compareWithLedger(this.#ledger, open, read))
        this.#report(`${after}: ${wrong}`);
      await this.#explain(read);
      await this.#dropTables(open, read);
      // The log of PostgreSQL must not fill the disk.
      await read('CHECKPOINT');
    });
  }

  /** Loads rows through several connections at once. Returns an error if the service does not recover. */
  async #loadAgain(): Promise<string | undefined> {
    const giveUpAt = performance.now() + recoveryTimeoutMs;
    for (;;) {
      const { services, token } = this.#machinery;
      const path = `/table/${sessionsTable}/upload/json?if_exists=append`;
      const loads = services.flatMap((service) =>
        Array.from({ length: 4 }, (_, id) => service.post(path, { data: [{ id }] }, { token })),
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
  async #dropTables(open: Set<LedgerTable | Batch>, read: ReadTexts): Promise<void> {
    for (const client of this.#clients) {
      const surplus = Math.max(client.random.integer(0, 1), client.tables.length - tablesPerClient);
      const dropped = client.tables.filter((table) => !open.has(table)).slice(0, surplus);
      client.tables = client.tables.filter((table) => !dropped.includes(table));
      for (const { name } of dropped) {
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
    const lines = this.#machinery.output().split('\n');
    return ` ${lines.find((line) => line.includes(id) && line.includes('"err"')) ?? '(not logged)'}`;
  }

  /** Prints what is needed to find the causes of the new violations. */
  async #explain(read: ReadTexts): Promise<void> {
    const { violations, seed } = this.figures;
    const latest = violations.slice(this.#explained);
    this.#explained = violations.length;
    if (latest.length === 0) return;
    this.#options.log(`seed ${seed}, after ${this.figures.operations} operations`);
    const ids = latest.flatMap(idsIn);
    for (const line of await evidenceOf(ids, this.#machinery.output(), read)) this.#options.log(line);
  }

  #report(violation: string): void {
    this.figures.violations.push(violation);
    this.#options.log(`VIOLATION: ${violation}`);
  }
}

/** Writes down the possible states of the table of an operation, and of the table with its new name. */
function noteChange({ table, after, renamed }: TableChange, mayBeDone: boolean[], isOpen: boolean): void {
  const before = table.possible[0];
  const left = renamed === undefined ? after : undefined;
  table.possible = mayBeDone.map((isDone) => (isDone ? left : before));
  if (left === undefined) table.end = renamed === undefined ? 'table.dropped' : 'table.changed';
  if (renamed === undefined) return;
  renamed.possible = mayBeDone.map((isDone) => (isDone ? after : undefined));
  renamed.isOpen = isOpen;
  renamed.renamedFrom = mayBeDone.length > 1 ? table : undefined;
}

/**
 * Whether the service refused an operation only for now. While the database hangs, the requests of one caller fill the line of their kind,
 * so that the caller is answered with 429.
 */
function isForNow(status: number): boolean {
  return status === 503 || status === 429;
}

function reasonOf(outcome: Outcome): string {
  return outcome.kind === 'broken' ? `the connection broke: ${outcome.reason}` : outcome.kind;
}
