/**
 * A streaming standby takes over while clients append rows through one service, which is not restarted. No acknowledged row is lost that
 * PostgreSQL has kept, no refused row is there, and the records of loads are true.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Binaries, findBinaries } from '../../src/postgres/embedded/binaries.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { startMovingProxy } from '../support/moving-proxy.ts';
import { type StreamingPair, startStreamingPair } from '../support/streaming-pair.ts';
import { until } from '../support/until.ts';
import { findPrograms } from './find-programs.ts';

const timeoutMs = 300_000;
const writers = 4;

interface Round {
  title: string;
  isSynchronous: boolean;
  /** Returns the URL for the service. Lets the standby take over, and calls `onPromoted` when it accepts changes. */
  begin(pair: StreamingPair): Promise<{
    url: string;
    failOver(service: ChildService, onPromoted: () => void): Promise<void>;
    end?(): Promise<void>;
  }>;
}

const bothHosts = ({ primary, standby, urlOf }: StreamingPair) =>
  urlOf(`127.0.0.1:${primary.port},127.0.0.1:${standby.port}`);

const kill = async (pair: StreamingPair) => ({
  url: bothHosts(pair),
  failOver: async (_: ChildService, onPromoted: () => void) => {
    await pair.primary.crash();
    await pair.standby.promote();
    onPromoted();
  },
});

const rounds: Round[] = [
  { title: 'the primary server is killed, with synchronous replication', isSynchronous: true, begin: kill },
  { title: 'the primary server is killed, with asynchronous replication', isSynchronous: false, begin: kill },
  {
    title: 'the primary server becomes a standby, and a proxy keeps connections to it open',
    isSynchronous: false,
    begin: async (pair) => {
      const proxy = await startMovingProxy(pair.primary.port);
      return {
        url: pair.urlOf(`127.0.0.1:${proxy.port}`),
        failOver: async (service, onPromoted) => {
          await pair.primary.demote();
          await pair.standby.promote();
          await until('/readyz to say that the database is read-only', async () => {
            const { status, body } = await service.get('/readyz');
            return status === 503 && /read-only/.test(body.detail);
          });
          for (let read = 0; read < 5; read++) await service.get('/api/v1/tables');
          assert.ok(proxy.targets().includes(pair.primary.port));
          proxy.leadTo(pair.standby.port);
          onPromoted();
        },
        end: () => proxy.stop(),
      };
    },
  },
  {
    title: 'the primary server is made read-only and continues to run',
    isSynchronous: false,
    begin: async (pair) => ({
      url: bothHosts(pair),
      failOver: async (service, onPromoted) => {
        await pair.primary.rows('ALTER SYSTEM SET default_transaction_read_only = on');
        await pair.primary.rows('SELECT pg_reload_conf()');
        const isEnded = `SELECT FROM pg_stat_activity WHERE usename = 'tablewright' AND backend_xid IS NOT NULL`;
        await until('/readyz to say that the database is read-only', async () => {
          return (await service.get('/readyz')).status === 503;
        });
        await until('the transactions to end', async () => (await pair.primary.rows(isEnded)).length === 0);
        const [{ lsn }] = (await pair.primary.rows('SELECT pg_current_wal_lsn() AS lsn')) as [
          { lsn: string },
        ];
        await until('the standby to have everything', async () => {
          return (await pair.standby.rows(`SELECT WHERE pg_last_wal_replay_lsn() >= '${lsn}'`)).length > 0;
        });
        await pair.standby.promote();
        onPromoted();
      },
    }),
  },
];

interface Ledger {
  /** The ids of loads by the value that they have written; undefined: the answer had none. */
  acknowledged: Map<number, string>;
  refused: Set<number>;
  unknown: Set<number>;
  answers: Record<string, number>;
}

/** Appends one row after the other until the signal aborts. Every value is sent once. */
async function append(
  service: ChildService,
  ledger: Ledger,
  first: number,
  signal: AbortSignal,
): Promise<void> {
  for (let n = first; !signal.aborted; n += writers) {
    const isAsynchronous = n % 7 === 0;
    const options = { headers: isAsynchronous ? { prefer: 'respond-async' } : {} };
    const path = '/table/appended/upload/json?if_exists=append';
    const { status, headers, body } = await service.post(path, { data: [{ n }] }, options);
    const outcome = `${status} ${body.code ?? ''}`;
    ledger.answers[outcome] = (ledger.answers[outcome] ?? 0) + 1;
    if (status === 200 || status === 202) ledger.acknowledged.set(n, headers.get('load-id')!);
    else if (/not known/.test(body.detail)) ledger.unknown.add(n);
    else ledger.refused.add(n);
    if (status === 503) await sleep(20);
  }
}

suite('a standby takes over under load', () => {
  for (const [name, find] of [
    ['PostgreSQL 15', () => findPrograms(15)],
    ['the embedded PostgreSQL', findBinaries],
  ] as const) {
    for (const round of rounds) {
      test(`${name}: ${round.title}`, { timeout: timeoutMs }, async (context) => {
        let programs: Binaries;
        try {
          programs = await find();
        } catch (error) {
          context.skip((error as Error).message);
          return;
        }
        const pair = await startStreamingPair(programs, round.isSynchronous);
        const { url, failOver, end } = await round.begin(pair);
        const service = await startChildService({ serviceUrl: url }, { MAX_REQUESTS_PER_MINUTE: '1000000' });
        const stopping = new AbortController();
        try {
          const definition = { columns: [{ name: 'n', type: 'bigint' }] };
          const constraints = { primary_key: { name: '', columns: ['n'] } };
          await until('the table', async () => {
            return (
              (await service.post('/table/appended', { table: { ...definition, constraints } })).status ===
              201
            );
          });
          const ledger: Ledger = {
            acknowledged: new Map(),
            refused: new Set(),
            unknown: new Set(),
            answers: {},
          };
          const appending = Array.from({ length: writers }, (_, index) =>
            append(service, ledger, index + 1, stopping.signal),
          );
          await until('the first rows', () => ledger.acknowledged.size > 50);
          let promotedAtMs = 0;
          let before = 0;
          await failOver(service, () => {
            promotedAtMs = performance.now();
            before = ledger.acknowledged.size;
          });
          await until('an acknowledgement', () => ledger.acknowledged.size > before);
          const backAfterMs = performance.now() - promotedAtMs;
          await until('the service to be ready', async () => (await service.get('/readyz')).status === 200);
          await until('more rows', () => ledger.acknowledged.size > before + 50);
          stopping.abort();
          await Promise.all(appending);
          // One statement, because a load may return from running to queued between two.
          const unended = 'SELECT FROM tablewright_service.loads WHERE ended_at IS NULL';
          const client = await pair.standby.connect('tablewright');
          await until('the asynchronous loads', async () => (await client.query(unended)).rowCount === 0);
          await client.end();
          const figures = await assertTrue(service, pair, ledger, round.isSynchronous);
          assert.equal(service.child.exitCode, null);
          context.diagnostic(`back after ${Math.round(backAfterMs)} ms; ${JSON.stringify(figures)}`);
        } finally {
          stopping.abort();
          await service.end('SIGKILL');
          await end?.();
          await pair.stop();
        }
      });
    }
  }
});

/** Compares the answers, the rows and the records of loads on the new primary server. @returns figures for the log */
async function assertTrue(
  service: ChildService,
  pair: StreamingPair,
  { acknowledged, refused, unknown, answers }: Ledger,
  isSynchronous: boolean,
): Promise<object> {
  const client = await pair.standby.connect('tablewright');
  const { rows } = await client.query('SELECT n::int4 FROM public.appended');
  await client.end();
  const there = new Set(rows.map(({ n }) => n as number));
  assert.equal(there.size, rows.length);
  const refusedAndThere = [...refused].filter((n) => there.has(n));
  assert.deepEqual(refusedAndThere, [], 'rows of refused loads');
  const lost: number[] = [];
  for (const [n, load] of acknowledged) {
    const { status, body } = await service.get(`/api/v1/loads/${load}`);
    // The record of a load is written in the transaction of its rows, so PostgreSQL has kept both or neither.
    assert.equal(status === 200 && body.state === 'committed', there.has(n), `${n}: ${body.state ?? status}`);
    if (!there.has(n)) lost.push(n);
  }
  if (isSynchronous) assert.deepEqual(lost, [], 'acknowledged rows');
  for (const n of there) assert.ok(acknowledged.has(n) || unknown.has(n), `nobody has sent ${n}`);
  const counts = {
    acknowledged: acknowledged.size,
    rows: there.size,
    lost: lost.length,
    unknown: unknown.size,
  };
  return { ...counts, answers };
}
