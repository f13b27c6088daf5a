/** Another session swaps schemas during a load, which needs no lock on the tables: the load is refused, and no row is stored anywhere. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, before, beforeEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { openUpload } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

beforeEach(async () => {
  for (const schema of ['live', 'staging', 'old'])
    await service.rows(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  for (const schema of ['live', 'staging']) await service.rows(`CREATE SCHEMA ${schema}`);
  await service.rows('CREATE TABLE live.t (a integer PRIMARY KEY, b integer, c integer)');
  // An integer is as long as a date in the binary format, so PostgreSQL would accept it.
  await service.rows('CREATE TABLE staging.t (a integer PRIMARY KEY, b date, c date)');
});

const swap = 'ALTER SCHEMA live RENAME TO old; ALTER SCHEMA staging RENAME TO live';
const swapBack = 'ALTER SCHEMA live RENAME TO staging; ALTER SCHEMA old RENAME TO live';

async function run(statements: string): Promise<void> {
  for (const statement of statements.split('; ')) await service.rows(statement);
}

/** Returns rows of two lists of columns, each longer than what is sent to PostgreSQL at once. */
function halves(): [string, string] {
  const lines = (from: number, column: string) =>
    Array.from({ length: 30_000 }, (_, row) => `{"a":${from + row},"${column}":7}\n`).join('');
  return [lines(1, 'b'), lines(40_001, 'c')];
}

suite('a long load', () => {
  for (const query of ['', '&on_conflict=update', '&faulty_rows=leave_out']) {
    for (const [what, statements] of [
      ['are swapped', swap],
      ['are swapped and swapped back', `${swap}; ${swapBack}`],
    ] as const) {
      test(`if_exists=append${query} while schemas ${what}`, async () => {
        const path = `/table/t/upload/json?schema=live&if_exists=append${query}`;
        const request = await openUpload(service, path, { 'content-type': 'application/x-ndjson' });
        const [first, second] = halves();
        request.write(first);
        await until('the first COPY of the load', async () => {
          const [found] = await service.rows(
            'SELECT count(*)::int AS copies FROM pg_stat_progress_copy WHERE datname = current_database()',
          );
          return found!.copies !== 0;
        });
        await run(statements);
        const answered = once(request, 'response');
        request.end(second);
        const [response] = (await answered) as [IncomingMessage];
        const status = response.statusCode!;
        const body = (await json(response)) as { code: string };
        assert.ok([404, 409, 422].includes(status), JSON.stringify(body).slice(0, 500));
        if (status === 409) assert.equal(body.code, 'write-conflict');
        const schemas = await service.rows(
          `SELECT nspname AS name FROM pg_namespace WHERE nspname IN ('live', 'staging', 'old')`,
        );
        for (const { name } of schemas) assert.deepEqual(await service.rows(`SELECT * FROM ${name}.t`), []);
      });
    }
  }
});

test('small appends while another session swaps the schemas again and again', async () => {
  let isDone = false;
  const swapping = (async () => {
    for (let round = 0; !isDone; round++) {
      await run(round % 2 === 0 ? swap : swapBack);
      await sleep(round % 4);
    }
  })();
  const statuses = new Map<number, number>();
  for (let upload = 0; upload < 150; upload++) {
    const data = [
      { a: 2 * upload, b: 7 },
      { a: 2 * upload + 1, c: 7 },
    ];
    const { status } = await service.post('/table/t/upload/json?schema=live&if_exists=append', { data });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  isDone = true;
  await swapping;
  for (const schema of ['live', 'staging', 'old']) {
    const found = await service.rows(`SELECT to_regclass('${schema}.t') IS NOT NULL AS is`);
    if (found[0]!.is !== true) continue;
    const wrong = await service.rows(
      `SELECT * FROM ${schema}.t WHERE coalesce(b::text, '7') <> '7' OR coalesce(c::text, '7') <> '7'`,
    );
    assert.deepEqual(wrong, [], JSON.stringify([...statuses]));
  }
  assert.ok(
    [...statuses.keys()].every((status) => [200, 201, 404, 409, 422].includes(status)),
    JSON.stringify([...statuses]),
  );
});
