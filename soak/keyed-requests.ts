/**
 * Requests with an idempotency key, which are sent until they have a final answer: once and then again, three times in parallel, or as
 * asynchronous uploads, which are followed to their end. Some are cancelled. Each attempt goes to any replica.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeOf, wrongLoad } from './answers.ts';
import type { ExpectedLoad } from './event-ledger.ts';
import type { Operation } from './operations.ts';
import type { Random } from './random.ts';
import { type Outcome, send } from './send.ts';

export type Manner = 'repeated' | 'parallel' | 'asynchronous';

export interface KeyedContext {
  random: Random;
  /** Returns the address of a replica. */
  target(): string;
  token: string;
  /** Returns how often an asynchronous load was begun. */
  attemptsOf(load: string): Promise<number>;
  /** Called when a request is sent again because of a fault. */
  onAgain(): void;
}

export interface KeyedEnd {
  /** Whether the operation took effect: one value, or both if that is not known. */
  mayBeDone: boolean[];
  /** undefined: there was no final answer in time. */
  end: 'acknowledged' | 'refused' | 'failed' | 'cancelled' | undefined;
  /** The load whose end is known. */
  load?: { id: string; expected: ExpectedLoad };
  wrong: string[];
}

/** Longer than the lease of a process that was killed, several faults, and the pauses before a load is begun again. */
const finalTimeoutMs = 300_000;
const againMs = 200;
/** A load that was begun so often without an end becomes `failed`. */
const mostAttempts = 5;
const uncertainStatuses = [408, 429, 503];
const parallelCopies = 3;

/** Returns how a request is sent; undefined: once, without a key. */
export function mannerOf(random: Random, { method, path }: Operation): Manner | undefined {
  if (method === 'GET' || !path.startsWith('/api/v1/table/')) return undefined;
  const roll = random.fraction();
  if (roll < 0.35 && path.includes('/upload/')) return 'asynchronous';
  if (roll < 0.55) return 'repeated';
  return roll < 0.65 ? 'parallel' : undefined;
}

export async function runKeyed(
  context: KeyedContext,
  operation: Operation,
  manner: Manner,
): Promise<KeyedEnd> {
  const key = randomUUID();
  const prefer = manner === 'asynchronous' ? { prefer: 'respond-async' } : {};
  const request = { ...operation, headers: { ...operation.headers, ...prefer, 'idempotency-key': key } };
  if (manner === 'asynchronous') return runAsynchronous(context, request);
  return manner === 'parallel' ? runParallel(context, request) : runRepeated(context, request, key);
}

async function runParallel(context: KeyedContext, request: Operation): Promise<KeyedEnd> {
  const copies = Array.from({ length: parallelCopies }, () => sendUntilFinal(context, request));
  return judge(request, await Promise.all(copies), undefined);
}

async function runRepeated(context: KeyedContext, request: Operation, key: string): Promise<KeyedEnd> {
  const { random } = context;
  const isCancelled = request.path.includes('/upload/') && random.chance(0.2);
  const delayMs = random.integer(0, 150);
  const cancelling = isCancelled ? cancelByKey(context, key, delayMs) : undefined;
  const first = await sendUntilFinal(context, request);
  const cancelled = await cancelling;
  const isKept = first.kind === 'answered' && first.body.code !== 'load-cancelled';
  const others = isKept ? [await sendUntilFinal(context, request)] : [];
  return judge(request, [first, ...others], cancelled);
}

/** Compares the answers to the copies of a request: its work was done once, and all answers say the same. */
function judge(operation: Operation, outcomes: Outcome[], cancelled: Cancelled | undefined): KeyedEnd {
  const answers = outcomes.filter((outcome) => outcome.kind === 'answered');
  const [first] = answers;
  if (first === undefined || answers.length < outcomes.length || uncertainStatuses.includes(first.status)) {
    const last = first === undefined ? 'none' : `${first.status} ${JSON.stringify(first.body).slice(0, 300)}`;
    return unknownEnd(operation, `no final answer in ${finalTimeoutMs} ms; the first: ${last}`);
  }
  const about = `${describeOf(operation)} load ${first.load}`;
  const wrong: string[] = [];
  for (const { status, load } of answers) {
    const isOther = status !== first.status || (status < 300 && load !== first.load);
    if (isOther)
      wrong.push(
        `${about}: a copy was answered with ${status}, load ${load}, and the first one with ${first.status}`,
      );
  }
  const worked = answers.filter(({ status, isReplayed }) => status < 300 && !isReplayed);
  if (worked.length > 1) wrong.push(`${about}: the work was done ${worked.length} times for one key`);
  if (first.body.code === 'load-cancelled') {
    if (cancelled === undefined) wrong.push(`${about}: it was cancelled, but nobody asked`);
    return { mayBeDone: [false], end: 'cancelled', wrong };
  }
  if (first.status !== operation.status) {
    const answer = JSON.stringify(first.body).slice(0, 500);
    wrong.push(`${about}: ${first.status} instead of ${operation.status}: ${answer}`);
    return { mayBeDone: [false, true], end: undefined, wrong };
  }
  if (cancelled?.answer === 202 && cancelled.load === first.load && first.status < 300) {
    wrong.push(`${about}: it was committed, although the request to cancel it was accepted`);
  }
  const error = wrongLoad(operation, first.body);
  if (error !== undefined) wrong.push(`${about}: ${error}`);
  const end = first.status < 300 ? 'acknowledged' : 'refused';
  const load = first.load && { id: first.load, expected: expectedLoad(operation, first.status) };
  return { mayBeDone: [first.status < 300], end, ...(load && { load }), wrong };
}

async function runAsynchronous(context: KeyedContext, request: Operation): Promise<KeyedEnd> {
  const { random } = context;
  const accepted = await sendUntilFinal(context, request);
  if (accepted.kind !== 'answered' || accepted.status !== 202) {
    return unknownEnd(request, `it was not accepted: ${JSON.stringify(accepted).slice(0, 500)}`);
  }
  const id = accepted.load!;
  const cancelling = random.chance(0.15) ? cancel(context, id, random.integer(0, 100)) : undefined;
  const path = `/api/v1/loads/${id}`;
  const giveUpAt = performance.now() + finalTimeoutMs;
  for (;;) {
    const record = await sendUntilFinal(context, { method: 'GET', path, headers: {}, body: undefined });
    const body = record.kind === 'answered' && record.status === 200 ? record.body : undefined;
    if (body?.ended_at) return judgeEnd(context, request, body, await cancelling);
    if (body === undefined || performance.now() > giveUpAt) {
      const last = JSON.stringify(record).slice(0, 500);
      return unknownEnd(request, `the load ${id} has no end in ${finalTimeoutMs} ms: ${last}`);
    }
    await sleep(againMs);
  }
}

async function judgeEnd(
  context: KeyedContext,
  operation: Operation,
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service answers
  { id, state, answer }: any,
  cancelled: Cancelled | undefined,
): Promise<KeyedEnd> {
  const about = `${describeOf(operation)} load ${id}`;
  const wrong: string[] = [];
  const ended = (end: KeyedEnd['end'], events: string[]): KeyedEnd => {
    const expected = { state, events, operation: describeOf(operation) };
    return { mayBeDone: [state === 'committed'], end, load: { id, expected }, wrong };
  };
  if (state === 'cancelled') {
    if (cancelled === undefined) wrong.push(`${about}: it was cancelled, but nobody asked`);
    return ended('cancelled', []);
  }
  if (state === 'failed') {
    // Errors of the service that another attempt would not repair end the load at once.
    const attempts = await context.attemptsOf(id);
    const isRepeatable = ['database-unavailable', 'shutting-down'].includes(answer?.body?.code);
    if (isRepeatable && attempts < mostAttempts) wrong.push(`${about}: it failed after ${attempts} attempts`);
    if (!(answer?.status >= 500)) wrong.push(`${about}: it failed with ${JSON.stringify(answer)}`);
    return ended('failed', operation.path.includes('dry_run=true') ? [] : ['load.failed']);
  }
  const { state: expected, events } = expectedLoad(operation, operation.status);
  if (state !== expected || answer?.status !== operation.status) {
    const found = `${state} with ${JSON.stringify(answer).slice(0, 500)}`;
    wrong.push(`${about}: it is ${found}, and not ${expected} with ${operation.status}`);
  } else if (state === 'committed') {
    if (cancelled?.answer === 202)
      wrong.push(`${about}: it was committed, although its cancelling was accepted`);
    const error = wrongLoad(operation, answer.body);
    if (error !== undefined) wrong.push(`${about}: ${error}`);
  }
  return ended(state === 'refused' ? 'refused' : 'acknowledged', events);
}

/** Returns the record and the events of a load that was answered with this status. */
export function expectedLoad(operation: Operation, status: number): ExpectedLoad {
  const isDry = operation.path.includes('dry_run=true');
  const about = describeOf(operation);
  if (status >= 400) return { state: 'refused', events: isDry ? [] : ['load.refused'], operation: about };
  if (isDry) return { state: 'checked', events: [], operation: about };
  const { rows = 0, updated = 0 } = operation.load ?? {};
  const change = operation.tableEvent === undefined ? [] : [operation.tableEvent];
  const events = [...change, ...(rows + updated > 0 ? ['rows.loaded'] : [])];
  return { state: 'committed', events, operation: about };
}

function unknownEnd(operation: Operation, reason: string): KeyedEnd {
  return { mayBeDone: [false, true], end: undefined, wrong: [`${describeOf(operation)}: ${reason}`] };
}

interface Cancelled {
  load: string | undefined;
  /** The status of the answer; undefined: there was none. */
  answer: number | undefined;
}

/** Looks up the load of a key while it runs, as a client does that waits for the answer, and cancels it. */
async function cancelByKey(context: KeyedContext, key: string, delayMs: number): Promise<Cancelled> {
  await sleep(delayMs);
  const listed = await ask(context, 'GET', `/api/v1/loads?idempotency_key=${key}`);
  const id: string | undefined =
    listed.kind === 'answered' && listed.status === 200 ? listed.body.loads[0]?.id : undefined;
  return id === undefined ? { load: undefined, answer: undefined } : cancel(context, id, 0);
}

async function cancel(context: KeyedContext, load: string, delayMs: number): Promise<Cancelled> {
  await sleep(delayMs);
  const outcome = await ask(context, 'POST', `/api/v1/loads/${load}/cancel`);
  return { load, answer: outcome.kind === 'answered' ? outcome.status : undefined };
}

function ask({ target, token }: KeyedContext, method: string, path: string): Promise<Outcome> {
  const headers = { authorization: `Bearer ${token}` };
  return send(target(), { method, path, headers, body: undefined }, { parts: 1, pauseMs: 0 });
}

/** Sends a request again as long as its outcome is not known, because of a fault or because a copy of it runs. */
async function sendUntilFinal(
  { random, target, token, onAgain }: KeyedContext,
  request: Pick<Operation, 'method' | 'path' | 'headers' | 'body'>,
): Promise<Outcome> {
  const giveUpAt = performance.now() + finalTimeoutMs;
  const headers = { authorization: `Bearer ${token}`, ...request.headers };
  for (;;) {
    const parts = random.chance(0.3) ? random.integer(2, 8) : 1;
    const outcome = await send(target(), { ...request, headers }, { parts, pauseMs: random.integer(1, 10) });
    const isCertain = outcome.kind === 'answered' && !uncertainStatuses.includes(outcome.status);
    const isInUse = isCertain && outcome.body.code === 'idempotency-key-in-use';
    if ((isCertain && !isInUse) || performance.now() > giveUpAt) return outcome;
    if (!isCertain) onAgain();
    await sleep(againMs);
  }
}
