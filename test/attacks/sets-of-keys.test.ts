/** Rows with very many different sets of keys, in wide tables: they block no other request, and no statement of theirs takes much memory. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { withBackendMemory } from '../support/backend-memory.ts';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { startSteadyClient } from '../support/steady-client.ts';

const mib = 2 ** 20;
let service: ChildWithDatabase;
before(async () => {
  service = await startChildWithDatabase();
});
after(async () => {
  await service?.stop('SIGTERM');
});

/** The columns that a row may leave out only together with its other columns, because their defaults are computed. */
const computed = 14;
/** Returns rows with as many different sets of these columns. */
const rowsWithSets = (count: number, row: (index: number) => object) =>
  Array.from({ length: count }, (_, i) => {
    const keys = Array.from({ length: computed }, (_, key) => key).filter((key) => ((i + 1) >> key) & 1);
    return { id: i, ...Object.fromEntries(keys.map((key) => [`d${key}`, '2026-01-01'])), ...row(i) };
  });

async function createWide(columns: string, count: number): Promise<void> {
  const dates = Array.from({ length: computed }, (_, key) => `d${key} timestamptz DEFAULT now()`);
  const others = Array.from({ length: count }, (_, key) => `c${key} int`);
  await service.database.pool.query(
    `DROP TABLE IF EXISTS wide; CREATE TABLE wide (id int PRIMARY KEY, ${[columns, ...dates, ...others].join()})`,
  );
}

test('sparse rows with new keys in each do not block other requests', async () => {
  await service.database.pool.query('CREATE TABLE probe (a int)');
  const token = await service.token({ ttlSeconds: 600 });
  const url = new URL('/api/v1/table/probe', service.url);
  const probe = startSteadyClient(url, token, 20, service.child.pid!);
  try {
    await probe.ready;
    const data = Array.from({ length: 400 }, (_, i) => ({ [`c${i}`]: i }));
    for (const query of ['', '?if_exists=append']) {
      await probe.take();
      const { status, body } = await service.post(`/table/sparse/upload/json${query}`, { data });
      assert.ok(status <= 201, JSON.stringify(body).slice(0, 500));
      const longest = (await probe.take()).at(-1)!;
      // It was several seconds when each new set of keys was compared with all columns of all others.
      assert.ok(longest < 800, `another client was held up for ${longest} ms of processor time`);
    }
  } finally {
    await probe.stop(Date.now());
  }
});

test('rows with many sets of keys that refer to each other are not moved in one huge statement', async () => {
  await createWide('parent int REFERENCES wide', 800);
  for (const [count, status] of [
    [60, 200],
    [190, 413],
  ] as const) {
    const rows = rowsWithSets(count, (i) => (i === 0 ? { parent: count * 1000 + count - 1 } : {}));
    const data = rows.map((row, i) => ({ ...row, id: count * 1000 + i }));
    const { result, backendBytes = 0 } = await withBackendMemory(service.database, () =>
      service.post('/table/wide/upload/json?if_exists=append', { data }),
    );
    assert.equal(result.status, status, JSON.stringify(result.body).slice(0, 500));
    if (status === 413) assert.equal(result.body.code, 'limit-exceeded');
    assert.ok(backendBytes < 450 * mib, `${backendBytes / mib} MiB`);
  }
});

test('rows with many sets of keys are not updated one by one with plans for all of them', async () => {
  await createWide('a int, g int GENERATED ALWAYS AS (100 / a) STORED', 800);
  for (const [count, status] of [
    [60, 200],
    [190, 413],
  ] as const) {
    const data = rowsWithSets(count, (i) => ({ a: i }));
    const query = '?if_exists=append&on_conflict=update&faulty_rows=leave_out';
    const { result, backendBytes = 0 } = await withBackendMemory(service.database, () =>
      service.post(`/table/wide/upload/json${query}`, { data }),
    );
    assert.equal(result.status, status, JSON.stringify(result.body).slice(0, 500));
    assert.ok(backendBytes < 450 * mib, `${backendBytes / mib} MiB`);
  }
});
