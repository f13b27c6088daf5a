/**
 * Kills the workers of Citus while rows are loaded. The answer tells the truth: the rows of a load are there if and only if the answer or,
 * if that does not know, the record of the load says so. `LOADS` and `KILLS` make the loop longer. It needs `CITUS_SCRIPTS`, `CITUS_BUILD`
 * and `CITUS_DATA`, as test/matrix/citus.matrix.ts sets them.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type CitusService, startCitusService } from '../../support/citus.ts';
import { assertProblem } from '../../support/problem.ts';
import type { TestAnswer } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const { CITUS_SCRIPTS = '', CITUS_BUILD = '', LOADS = '60', KILLS = '4' } = process.env;

const run = promisify(execFile);
/** @param what `kill-worker` or `start-worker` */
async function cluster(what: string, worker: number): Promise<void> {
  await run('bash', [join(CITUS_SCRIPTS, 'cluster.sh'), what, CITUS_BUILD, String(worker)]);
}

let service: CitusService;
before(async () => {
  service = await startCitusService();
  await service.rows('CREATE SCHEMA tenant');
  await service.rows(`SELECT citus_schema_distribute('tenant')`);
  for (const schema of ['public', 'tenant']) {
    await service.rows(
      `CREATE TABLE ${schema}.t (k integer, load integer, n integer CHECK (n > 0), PRIMARY KEY (k, load))`,
    );
  }
  await service.rows(`SELECT create_distributed_table('public.t', 'k')`);
});
after(() => service?.stop());

/** The worker that has the shard of the distributed schema: 1 or 2. */
async function workerOfTenant(): Promise<number> {
  const [row] = await service.rows(
    `SELECT nodeport - (SELECT min(nodeport) FROM pg_dist_node WHERE groupid > 0) + 1 AS worker FROM citus_shards WHERE table_name = 'tenant.t'::regclass`,
  );
  return Number(row!.worker);
}

const rowsPerLoad = 500;

function rowsOf(load: number): unknown[] {
  return Array.from({ length: rowsPerLoad }, (_, k) => ({ k, load, n: 1 }));
}

function upload(schema: string, load: number, query = ''): Promise<TestAnswer> {
  return service.post(`/table/t/upload/json?schema=${schema}&if_exists=append${query}`, {
    data: rowsOf(load),
  });
}

async function countRows(schema: string, load: number): Promise<number> {
  const [row] = await askAgain(() =>
    service.rows(`SELECT count(*)::int AS count FROM ${schema}.t WHERE load = $1`, [load]),
  );
  return Number(row!.count);
}

/** A session of the test, too, may have a connection to a worker that was killed. Its next query then fails once. */
async function askAgain<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (tries === 20) throw error;
      await sleep(50);
    }
  }
}

/** Asserts that the answer is an unavailable database, which says that nothing was changed and that names no worker. */
function assertUnavailable(answer: TestAnswer): void {
  assertProblem(answer, 503, 'database-unavailable');
  assert.ok(answer.headers.get('retry-after'));
  assert.doesNotMatch(JSON.stringify(answer.body), /_10\d{4}\b|127\.0\.0\.1|\bshard\b/i);
}

test('while a worker is away, loads into its tables get 503, and all others are committed', async () => {
  const worker = await workerOfTenant();
  await cluster('kill-worker', worker);
  try {
    assertUnavailable(await upload('tenant', 1));
    assertUnavailable(await upload('public', 1));
    assertUnavailable(await upload('tenant', 1, '&on_conflict=update'));
    const local = await service.post('/table/ordinary/upload/json', { data: rowsOf(1) });
    assert.equal(local.status, 201, JSON.stringify(local.body));
  } finally {
    await cluster('start-worker', worker);
  }
  // A session can have a connection to a worker that was killed, so the first COPY may fail once more.
  await until('the worker to be used again', async () => (await upload('tenant', 1)).status === 200);
  assert.equal(await countRows('tenant', 1), rowsPerLoad);
  assert.equal(await countRows('public', 1), 0);
});

test('a worker that is killed while the rows arrive leaves nothing of the load', async () => {
  const worker = await workerOfTenant();
  const encoder = new TextEncoder();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const answered = service.request('POST', '/table/t/upload/json?schema=tenant&if_exists=append', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: readable as ReadableStream,
  });
  const write = (from: number, count: number) => {
    const rows = Array.from(
      { length: count },
      (_, k) => `${JSON.stringify({ k: from + k, load: 2, n: 1 })}\n`,
    );
    return writer.write(encoder.encode(rows.join('')));
  };
  await write(0, 50_000);
  await until('the COPY to have begun', async () => {
    const found = await service.adminRows(
      `SELECT FROM pg_stat_activity WHERE application_name = 'tablewright' AND state = 'active' AND query ~ 'COPY'`,
    );
    return found.length === 1;
  });
  await cluster('kill-worker', worker);
  try {
    await write(50_000, 50_000);
    await writer.close();
    const answer = await answered;
    assertUnavailable(answer);
    const load = await service.get(`/api/v1/loads/${answer.headers.get('load-id')}`);
    assert.equal(load.body.state, 'failed');
  } finally {
    await cluster('start-worker', worker);
  }
  assert.equal(await countRows('tenant', 2), 0);
});

test('a worker that is killed after it has prepared the commit is told as recovery-pending, and its rows appear later', async () => {
  const held = await holdPreparation();
  const uploadWithKey = () =>
    service.post(
      '/table/t/upload/json?schema=public&if_exists=append',
      { data: rowsOf(3) },
      { headers: { 'idempotency-key': 'late' } },
    );
  let answer: TestAnswer;
  try {
    const loading = uploadWithKey();
    await held.firstIsPrepared();
    await cluster('kill-worker', 1);
    await held.release();
    answer = await loading;
  } finally {
    await held.end();
    await cluster('start-worker', 1).catch(() => {});
  }
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const warnings = answer.body.load.warnings.map(({ code }: { code: string }) => code);
  assert.deepEqual(warnings, ['recovery-pending']);
  const load = await service.get(`/api/v1/loads/${answer.body.load.id}`);
  assert.equal(load.body.state, 'committed');
  assert.deepEqual(load.body.answer.body, answer.body);
  const repeated = await uploadWithKey();
  assert.deepEqual(repeated.body, answer.body);
  const before = await countRows('public', 3);
  assert.ok(before > 0 && before < rowsPerLoad, String(before));
  await recover();
  assert.equal(await countRows('public', 3), rowsPerLoad);
});

test('while a worker hangs in the commit of a load, loads into ordinary tables and new tables are committed and announced', async () => {
  await service.post('/table/beside', { table: { columns: [{ name: 'a', type: 'int' }] } });
  const listener = new pg.Client(service.databaseUrl);
  await listener.connect();
  const heard: string[] = [];
  listener.on('notification', ({ payload }) => heard.push(payload!));
  await listener.query('LISTEN tablewright');
  const held = await holdPreparation();
  let stopped: number[] = [];
  try {
    const before = (await idsOf('t', 'rows.loaded')).length;
    const loading = upload('public', 4);
    await held.firstIsPrepared();
    stopped = stopFirst();
    await held.release();
    // The coordinator has committed the load, and waits for the answer of the first worker.
    await until('the event of the load', async () => (await idsOf('t', 'rows.loaded')).length > before);
    const answers = await Promise.all([
      service.post('/table/beside/upload/json?if_exists=append', { data: [{ a: 1 }] }),
      service.post('/table/made_beside', { table: { columns: [{ name: 'a', type: 'int' }] } }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 201],
      JSON.stringify(answers),
    );
    const ids = [...(await idsOf('beside', 'rows.loaded')), ...(await idsOf('made_beside', 'table.created'))];
    assert.equal(ids.length, 2);
    await until('the announcements', () => ids.every((id) => heard.includes(id)));
    resume(stopped);
    const { status, body } = await loading;
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(await countRows('public', 4), rowsPerLoad);
  } finally {
    resume(stopped);
    await Promise.all([held.end(), listener.end()]);
  }
});

/** Returns the ids of the events of this type about a table. */
async function idsOf(table: string, type: string): Promise<string[]> {
  const rows = await service.rows(
    `SELECT id FROM tablewright_service.events WHERE event->'data'->>'table' = $1 AND event->>'type' = $2`,
    [table, type],
  );
  return rows.map(({ id }) => String(id));
}

/** Stops all processes of the first worker, as if its machine did not answer any more. @returns their ids */
function stopFirst(): number[] {
  const file = join(process.env.CITUS_DATA!, 'worker1', 'postmaster.pid');
  const first = Number(readFileSync(file, 'utf8').split('\n')[0]);
  // proc(5): the parent is field 4. The name, field 2, is in parentheses and may contain spaces.
  const children = globSync('/proc/[0-9]*/stat').filter((stat) => {
    const text = readIfThere(stat);
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]) === first;
  });
  const pids = [first, ...children.map((stat) => Number(stat.split('/')[2]))];
  for (const pid of pids) signal(pid, 'SIGSTOP');
  return pids;
}

function resume(pids: number[]): void {
  for (const pid of pids) signal(pid, 'SIGCONT');
}

/** The process may have ended. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
  }
}

/** The process may have ended. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

interface HeldPreparation {
  /** Resolves when a load has been prepared at the first worker and waits at the second one. */
  firstIsPrepared(): Promise<void>;
  /** Lets the second worker prepare the load. */
  release(): Promise<void>;
  end(): Promise<void>;
}

/** At the second worker, makes the preparation of each commit into `public.t` wait for the test. */
async function holdPreparation(): Promise<HeldPreparation> {
  const admin = await connectToWorker(2);
  for (const setting of ['enable_ddl_propagation', 'override_table_visibility'])
    await admin.query(`SET citus.${setting} TO off`);
  await admin.query('SET citus.enable_manual_changes_to_shards TO on');
  await admin.query(`CREATE FUNCTION public.wait_for_test() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$`);
  const { rows: shards } = await admin.query(
    `SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^t_\\d+$' AND relnamespace = 'public'::regnamespace`,
  );
  for (const { relname } of shards) {
    await admin.query(`CREATE CONSTRAINT TRIGGER wait_for_test AFTER INSERT ON public.${relname}
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait_for_test()`);
  }
  await admin.query('SELECT pg_advisory_lock(7)');
  return {
    firstIsPrepared: async () => {
      await until('the second worker to wait', async () => {
        const { rows } = await admin.query(
          `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`,
        );
        return rows.length > 0;
      });
      await until('the first worker to be prepared', async () => {
        const [count, open] = await Promise.all(
          ['pg_prepared_xacts', sessionsInTransactions].map(countAtFirst),
        );
        return count! > 0 && open === 0;
      });
    },
    release: async () => {
      await admin.query('SELECT pg_advisory_unlock(7)');
    },
    end: async () => {
      await admin.query('SELECT pg_advisory_unlock_all()');
      await admin.query('DROP FUNCTION public.wait_for_test CASCADE');
      await admin.end();
    },
  };
}

/** The sessions of the coordinator at a worker that have not ended or prepared their transactions. */
const sessionsInTransactions = `pg_stat_activity WHERE application_name LIKE 'citus_internal%' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`;

/** Counts the rows of a query at the first worker. */
async function countAtFirst(from: string): Promise<number> {
  const [found] = await service.adminRows(
    `SELECT result FROM run_command_on_workers($$SELECT count(*) FROM ${from}$$) ORDER BY nodeport`,
  );
  return Number(found!.result);
}

/** Connects to a worker itself, as a superuser. */
async function connectToWorker(worker: number): Promise<pg.Client> {
  const url = new URL(process.env.CITUS_SUPERUSER_URL!);
  url.port = String(Number(url.port) + worker);
  url.pathname = new URL(service.databaseUrl).pathname;
  const client = new pg.Client(url.href);
  await client.connect();
  return client;
}

type Outcome = 'committed' | 'not committed';

test(`${LOADS} loads and ${KILLS} kills leave nothing half, and every answer is true`, async () => {
  const outcomes = new Map<string, Outcome>();
  const counts = { committed: 0, refused: 0, unknown: 0, late: 0 };
  let next = 100;
  let killed = 0;
  const isOver = () => next >= 100 + Number(LOADS) && killed >= Number(KILLS);
  const sender = async () => {
    while (!isOver()) {
      const load = next++;
      const schema = load % 2 === 0 ? 'public' : 'tenant';
      const answer = await upload(schema, load, load % 3 === 0 ? '&on_conflict=update' : '');
      if (answer.status !== 200) assert.doesNotMatch(JSON.stringify(answer.body), /_10\d{4}\b|127\.0\.0\.1/);
      outcomes.set(`${schema} ${load}`, await outcomeOf(answer, counts));
      if (answer.status !== 200) await sleep(50);
    }
  };
  const killer = async () => {
    while (killed < Number(KILLS)) {
      await sleep(100 + Math.random() * 400);
      const worker = 1 + (killed % 2);
      await cluster('kill-worker', worker);
      await sleep(Math.random() * 200);
      await cluster('start-worker', worker);
      killed += 1;
    }
  };
  await Promise.all([...Array.from({ length: 4 }, sender), killer()]);
  console.log(JSON.stringify({ loads: outcomes.size, kills: killed, ...counts }));
  await recover();
  assert.ok(counts.committed > 0);
  for (const [name, outcome] of outcomes) {
    const [schema = '', load = ''] = name.split(' ');
    assert.equal(
      await countRows(schema, Number(load)),
      outcome === 'committed' ? rowsPerLoad : 0,
      `${name}: ${outcome}`,
    );
  }
});

/** Returns what the answer says about the rows. If it does not know, the record of the load knows. */
async function outcomeOf(
  answer: TestAnswer,
  counts: Record<'committed' | 'refused' | 'unknown' | 'late', number>,
): Promise<Outcome> {
  if (answer.status === 200) {
    counts.committed += 1;
    const codes = answer.body.load.warnings.map(({ code }: { code: string }) => code);
    if (codes.includes('recovery-pending')) counts.late += 1;
    return 'committed';
  }
  assert.ok([409, 503].includes(answer.status), JSON.stringify(answer.body));
  if (!/not known/.test(answer.body.detail)) {
    counts.refused += 1;
    return 'not committed';
  }
  counts.unknown += 1;
  const load = await service.get(`/api/v1/loads/${answer.headers.get('load-id')}`);
  return load.body.state === 'committed' ? 'committed' : 'not committed';
}

/** Ends the transactions that the workers had prepared when they were killed. Without this, the coordinator does it once a minute. */
async function recover(): Promise<void> {
  await until('the prepared transactions to be ended', async () => {
    await askAgain(() => service.adminRows('SELECT recover_prepared_transactions()'));
    return (await askAgain(preparedAtWorkers)).join() === '0,0';
  });
}

/** Returns the number of prepared transactions at each worker, as text. */
async function preparedAtWorkers(): Promise<unknown[]> {
  const found = await service.adminRows(
    `SELECT result FROM run_command_on_workers('SELECT count(*) FROM pg_prepared_xacts') ORDER BY nodeport`,
  );
  return found.map(({ result }) => result);
}
