/** Rows that an upload with `on_conflict=update` leaves unchanged: they are not written, not locked, and no trigger runs for them. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { maxListedChanges } from '../../src/engine/loading/request/row-change.ts';
import { loadInProcess } from '../support/load-in-process.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t CASCADE'));

const update = (data: object[], query = ''): Promise<TestAnswer> =>
  service.post(`/table/t/upload/json?if_exists=append&on_conflict=update${query}`, { data });

function countsOf({ body }: TestAnswer): number[] {
  const { load } = body;
  assert.ok(load, JSON.stringify(body));
  assert.equal(load.updated, load.changed + load.unchanged);
  assert.equal(load.inserted, load.rows);
  return [load.inserted, load.changed, load.unchanged];
}

const versions = () => service.rows('SELECT id, ctid::text, xmin::text, xmax::text FROM t ORDER BY id');

test('unchanged rows keep their version, and no trigger runs for them', async () => {
  await service.rows(`CREATE TABLE t (id int PRIMARY KEY, v numeric, w json);
    INSERT INTO t VALUES (1, 1.0, '{"a":1}'), (2, 2, NULL), (3, 3, NULL);
    CREATE TABLE IF NOT EXISTS log (id int);
    CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (NEW.id); RETURN NEW; END $$;
    CREATE TRIGGER first BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
    CREATE TRIGGER last AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note()`);
  const old = await versions();
  const data = [{ id: 1, v: '1.0', w: { a: 1 } }, { id: 2, v: 2 }, { v: '3.0', id: 3 }, { id: 4 }];
  assert.deepEqual(countsOf(await update(data, '&dry_run=true')), [1, 1, 2]);
  assert.deepEqual((await versions()).slice(0, 2), old.slice(0, 2));
  await service.rows('TRUNCATE log');
  assert.deepEqual(countsOf(await update(data)), [1, 1, 2]);
  const now = await versions();
  assert.deepEqual(now.slice(0, 2), old.slice(0, 2));
  assert.notDeepEqual(now[2], old[2]);
  assert.deepEqual(await service.rows('SELECT DISTINCT id FROM log ORDER BY id'), [{ id: 3 }, { id: 4 }]);
  assert.deepEqual(countsOf(await update([{ id: 1 }, { id: 1, v: '1.0' }])), [0, 0, 2]);
  assert.deepEqual((await versions())[0], old[0]);
});

test('an upload does not wait for a session that has locked an unchanged row', async () => {
  await service.rows(
    'CREATE TABLE t (id int PRIMARY KEY, v text, w text); INSERT INTO t VALUES (1, $$a$$), (2, $$b$$)',
  );
  const session = await service.database.pool.connect();
  try {
    await session.query('BEGIN; SELECT FROM t WHERE id = 1 FOR UPDATE');
    const data = [
      { id: 1, v: 'a' },
      { id: 2, v: 'c' },
      { id: 3, w: 'x' },
    ];
    assert.deepEqual(countsOf(await update(data)), [1, 1, 1]);
  } finally {
    session.release(true);
  }
});

test('a row that another session inserts at the same moment is compared, too', async () => {
  await service.rows('CREATE TABLE t (id int PRIMARY KEY, v text)');
  const session = await service.database.pool.connect();
  try {
    await session.query('BEGIN; INSERT INTO t VALUES (1, $$a$$), (2, $$a$$)');
    const answer = update([
      { id: 1, v: 'a' },
      { id: 2, v: 'b' },
      { id: 3, v: 'c' },
    ]);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await until('the upload to wait', async () => (await service.rows(waiting)).length > 0);
    await session.query('COMMIT');
    assert.deepEqual(countsOf(await answer), [1, 1, 1]);
    const [first, second] = await versions();
    assert.ok(first!.ctid === '(0,1)' && second!.ctid !== '(0,2)');
  } finally {
    session.release(true);
  }
});

test('rows with a generated key and rows of only a key are compared', async () => {
  await service.rows(`CREATE TABLE t (id int, key int GENERATED ALWAYS AS (id / 10) STORED UNIQUE, v text);
    INSERT INTO t (id, v) VALUES (10, 'a'), (20, 'b')`);
  const old = await versions();
  const answer = await update([
    { id: 10, v: 'a' },
    { id: 20, v: 'c' },
    { id: 30, v: 'd' },
  ]);
  assert.deepEqual(countsOf(answer), [1, 1, 1]);
  assert.equal((await versions())[0]!.ctid, old[0]!.ctid);
  await service.rows(
    'DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, $$a$$)',
  );
  assert.deepEqual(countsOf(await update([{ id: 1 }, { id: 2 }])), [1, 0, 1]);
});

test('text that is not valid is not equal to NULL', async () => {
  await service.rows(
    'CREATE TABLE t (id int PRIMARY KEY, v inet); INSERT INTO t VALUES (1, NULL), (2, NULL)',
  );
  const data = [
    { id: 1, v: 'no address' },
    { id: 2, v: null },
  ];
  const { errors } = assertProblem(await update(data), 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ row, code }) => [row, code]),
    [[1, 'not-an-address']],
  );
  const left = await update(data, '&faulty_rows=leave_out');
  assert.deepEqual([...countsOf(left), left.body.load.rows_left_out], [0, 0, 1, 1]);
});

test('a role that may read only the columns that it sends can compare them', async () => {
  const role = `updater_${process.pid}`;
  await service.rows(`CREATE TABLE t (id int PRIMARY KEY, v text, w text); INSERT INTO t VALUES (1, 'a', 'b');
    CREATE ROLE ${role}; GRANT ${role} TO current_user; GRANT SELECT (id, v), INSERT, UPDATE ON t TO ${role}`);
  try {
    const load = (row: object) =>
      loadInProcess(service.database.pool, 't', JSON.stringify({ data: [row] }), {}, role);
    const { counts, changes } = await load({ id: 1, v: 'a' });
    assert.deepEqual([counts, changes], [{ inserted: 0, changed: 0, unchanged: 1 }, []]);
    await assert.rejects(load({ id: 1, w: 'b' }), /permission denied/);
  } finally {
    await service.rows(`DROP TABLE t; DROP ROLE ${role}`);
  }
});

test('the first differences are listed, with the beginnings of long values', async () => {
  await service.rows(`CREATE TABLE t (id int PRIMARY KEY, v text, w jsonb);
    INSERT INTO t SELECT 0, repeat('ä', 1000000), jsonb_agg(g) FROM generate_series(1, 10000) g`);
  const long = JSON.stringify({ data: [{ id: 0, v: 'b', w: null }] });
  const { changes } = await loadInProcess(service.database.pool, 't', long);
  const cells = [
    { column: 'v', new: 'b', old: `${'ä'.repeat(99)}…` },
    { column: 'w', new: null, old: '...' },
  ];
  assert.deepEqual(changes, [{ kind: 'changed', row: 1, key: { id: '0' }, cells }]);
  const rows = Array.from({ length: maxListedChanges + 1 }, (_, id) => ({ id: id + 1 }));
  const many = await loadInProcess(service.database.pool, 't', JSON.stringify({ data: rows }));
  assert.deepEqual([many.counts.inserted, many.changes!.length], [rows.length, maxListedChanges]);
  assert.deepEqual(many.changes!.at(-1), {
    kind: 'inserted',
    row: maxListedChanges,
    key: { id: `${maxListedChanges}` },
    cells: [],
  });
  const plain = await loadInProcess(service.database.pool, 't', '{"data": [{"id": -1}]}', {
    onConflict: 'fail',
  });
  assert.equal(plain.changes, undefined);
});
