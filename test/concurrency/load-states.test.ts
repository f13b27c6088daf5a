/**
 * Runs the statements of loads in random order, several at the same time, for processes that lose their leases and come back: no load
 * changes its state in a way that docs/loads.md does not allow, and a load is committed exactly if its row is in the table.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type OwnStatement, withLiterals } from '../../src/postgres/callers-statement.ts';
import type { Statement } from '../../src/postgres/sql.ts';
import { inTransaction } from '../../src/postgres/transaction.ts';
import type { KeptAnswer } from '../../src/service/loads/load-record.ts';
import { LoadRun, type TakenRun } from '../../src/service/loads/load-run.ts';
import type { LoadState } from '../../src/service/loads/load-state.ts';
import {
  disownLoads,
  failAbandonedLoads,
  requestCancel,
  writeLoads,
} from '../../src/service/loads/load-statements.ts';
import { renewLease, serveSpool } from '../../src/service/loads/process-statements.ts';
import {
  queueAbandonedLoads,
  queueAgain,
  queueLoad,
  takeQueuedLoad,
} from '../../src/service/loads/queue-statements.ts';
import { uuidV7 } from '../../src/service/loads/uuid-v7.ts';
import { assertTransitions, recordTransitions } from '../support/load-transitions.ts';
import { randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';

const schema = { name: 'tablewright_service', quoted: '"tablewright_service"' };
const spool = randomUUID();
const leaseSeconds = 15;
const answer: KeptAnswer = { status: 503, headers: {}, body: Buffer.from('{}') };
const request = { query: {}, headers: {}, scopes: [], schemas: undefined, caller: 'a', requestId: 'a' };

let service: TestService;

before(async () => {
  service = await startTestService();
  await recordTransitions(service.rows);
  await service.rows('CREATE TABLE public.works (load uuid)');
});

after(() => service.stop());

test('random orders of progress, cancelling, ends of processes and attempts make only allowed changes, and each committed load has its row once', async () => {
  const common = ['queued → running', 'running → committed'];
  let transitions: string[] = [];
  const isSeen = (transition: string) => transitions.includes(transition);
  // Which orders a round meets depends on the machine, so rounds follow until the common changes have occurred.
  for (let round = 0; round < sized(1, 15) || (round < 15 && !common.every(isSeen)); round++) {
    const processes = [randomUUID(), randomUUID(), randomUUID()];
    const ids: string[] = [];
    const workers = Array.from({ length: 4 }, (_, n) =>
      work(processes, ids, randomNumbers(round * 4 + n), 150),
    );
    await Promise.all(workers);
    transitions = await assertTransitions(service.rows);
  }
  const rare = ['running → queued', 'queued → cancelled', 'running → checked'];
  for (const expected of sized(0, 1) ? [...common, ...rare] : common)
    assert.ok(transitions.includes(expected), `${expected} is not among ${transitions}`);
  const wrong = await service.rows(`SELECT l.id, l.state, count(w.load) FROM ${schema.quoted}.loads l
    LEFT JOIN public.works w ON w.load = l.id GROUP BY l.id
    HAVING count(w.load) <> (l.state = 'committed')::int
      OR (l.ended_at IS NOT NULL) <> (l.state NOT IN ('receiving', 'queued', 'running'))`);
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    await service.rows(
      `SELECT FROM public.works w LEFT JOIN ${schema.quoted}.loads l ON l.id = w.load WHERE l.id IS NULL`,
    ),
    [],
  );
});

interface Run {
  run: LoadRun;
  process: string;
  isStored: boolean;
  receive: () => void;
}

/** Does random steps one after the other. Other workers do steps for the same processes and loads at the same time. */
async function work(
  processes: string[],
  ids: string[],
  random: (below: number) => number,
  steps: number,
): Promise<void> {
  const runs: Run[] = [];
  const one = <Item>(items: Item[]): Item | undefined => items[random(items.length)];
  /** Returns one of the runs and removes it. */
  const dropped = (): Run | undefined => runs.splice(random(runs.length), 1)[0];
  const actions: (() => Promise<unknown>)[] = [
    async () => {
      const begun = begin(one(processes)!);
      ids.push(begun.run.id);
      runs.push(begun);
      if (random(2) === 0) await ask(writeLoads(schema, [begun.run.snapshot()]));
    },
    async () => {
      const running = one(runs);
      if (random(2) === 0) running?.receive();
      if (running) await ask(writeLoads(schema, [running.run.snapshot()]));
    },
    async () => {
      const stored = one(runs.filter(({ run, isStored }) => !isStored && run.state === 'receiving'));
      if (stored === undefined) return;
      runs.splice(runs.indexOf(stored), 1);
      await committed(queueLoad(schema, stored.run.snapshot(), { spool, bytes: 1 }, request));
    },
    async () => {
      const process = one(processes)!;
      await ask(serveSpool(schema, process, spool));
      const options = { spool, process, takesSuspects: random(2) === 0, served: [] };
      const [row] = await ask(takeQueuedLoad(schema, options));
      if (row) runs.push(taken(row as unknown as TakenRun, process));
    },
    async () => {
      const committing = one(runs.filter(({ run }) => run.state === 'running'));
      if (committing === undefined) return;
      const { run } = committing;
      run.answer = answer;
      const insert = `INSERT INTO public.works VALUES ('${run.id}')`;
      // The process does not always learn that the COMMIT succeeded.
      if ((await committed([insert, ...run.commitStatements().map(asText)])) && random(4) > 0)
        runs.splice(runs.indexOf(committing), 1);
    },
    async () => {
      const ending = dropped();
      if (ending === undefined) return;
      const ends: LoadState[] = ['refused', 'failed', 'cancelled'];
      if (ending.run.state === 'running') ends.push('checked');
      ending.run.end(one(ends)!, answer);
      await ask(writeLoads(schema, [ending.run.snapshot()]));
    },
    async () => {
      const id = one(ids.slice(-10));
      if (id && random(2) === 0) await ask(requestCancel(schema, id));
    },
    async () => {
      const interrupted = dropped();
      if (interrupted?.isStored) await ask(queueAgain(schema, interrupted.run.id, interrupted.process, 1));
    },
    async () => {
      if (random(2) === 0) dropped();
      const seen = `UPDATE ${schema.quoted}.processes SET seen_at = now() - interval '1 minute' WHERE id = $1`;
      await ask({ text: seen, values: [one(processes)] });
    },
    async () => ask(renewLease(schema, one(processes)!)),
    async () => {
      const process = one(processes)!;
      const id = one(ids.slice(-10));
      if (id && random(4) === 0) await ask(disownLoads(schema, process, [id]));
    },
    async () => ask(failAbandonedLoads(schema, one(processes)!, leaseSeconds, answer)),
    async () => ask(queueAbandonedLoads(schema, one(processes)!, leaseSeconds)),
  ];
  for (let step = 0; step < steps; step++) await one(actions)!();
}

const facts = {
  operation: 'upload-json',
  schema: 'public',
  table: 'works',
  dryRun: false,
  owner: Buffer.alloc(1),
  subject: undefined,
  role: undefined,
  bytesExpected: undefined,
} as const;

function begin(process: string): Run {
  let isReceived = false;
  const body = { bytesReceived: () => 1, isReceived: () => isReceived };
  const run = new LoadRun({ id: uuidV7(), schema, process, facts, ...body });
  const receive = () => {
    isReceived = true;
  };
  return { run, process, isStored: false, receive };
}

function taken({ id, createdAt }: TakenRun, process: string): Run {
  const body = { bytesReceived: () => 1, isReceived: () => true };
  const run = new LoadRun({ id, schema, process, facts, createdAt, ...body });
  return { run, process, isStored: true, receive: () => {} };
}

async function ask(statement: Statement): Promise<Record<string, unknown>[]> {
  return (await inTransaction(service.database.pool, {}, async (_, { begun }) => begun!, statement)).rows;
}

/** Runs statements in one transaction. @returns whether the record of the load let it commit */
async function committed(statements: string[]): Promise<boolean> {
  const ending = inTransaction(service.database.pool, {}, (_, { endWith }) => endWith(statements));
  return ending.then(
    () => true,
    (error) => {
      if (!/the load has ended or is cancelled/.test(String(error.message))) throw error;
      return false;
    },
  );
}

function asText(statement: string | OwnStatement): string {
  return typeof statement === 'string' ? statement : withLiterals(statement);
}
