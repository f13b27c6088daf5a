/**
 * `faulty_rows=leave_out`: rows with problems are left out and all others are loaded. Random uploads are compared with PostgreSQL
 * itself, which inserts the same rows one by one, each with a savepoint.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertShortSteps, measureSteps } from '../support/event-loop.ts';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { type RandomNumbers, randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { startThreadClient, type ThreadAnswer } from '../support/thread-client.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(`CREATE TABLE parents (id integer PRIMARY KEY);
    INSERT INTO parents SELECT generate_series(0, 4);
    CREATE EXTENSION IF NOT EXISTS btree_gist;
    CREATE DOMAIN percentage AS integer CONSTRAINT is_percentage CHECK (VALUE <= 100);
    CREATE FUNCTION refuse_13() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.n = 13 THEN RAISE EXCEPTION 'no thirteen'; END IF; RETURN NEW; END $$;
    CREATE FUNCTION refuse_6() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.n = 6 THEN RAISE EXCEPTION 'no six'; END IF; RETURN NULL; END $$;
    CREATE FUNCTION at_most_two() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM public.t WHERE parent = NEW.parent) > 2 THEN RAISE EXCEPTION 'a third child'; END IF;
      RETURN NULL;
    END $$`);
});
after(() => service.stop());

const leaveOut = 'faulty_rows=leave_out&max_faulty_rows=1000';

type Value = number | string | null;
type Row = Record<string, Value>;

interface Rule {
  sql: string;
  /** A statement that follows the creation of the table `t`. */
  after?: string;
}

/** Rules of a table, of which each case has some. */
const rules: Record<string, Rule> = {
  check: { sql: 'CONSTRAINT n_is_positive CHECK (n > 0)' },
  'check that fails': { sql: 'CONSTRAINT no_division CHECK (10 / (n - 3) < 100)' },
  unique: { sql: 'UNIQUE (code)' },
  'second unique': { sql: 'UNIQUE (n)' },
  'nulls not distinct': { sql: 'UNIQUE NULLS NOT DISTINCT (code, n)' },
  'deferred unique': { sql: 'UNIQUE (code) DEFERRABLE INITIALLY DEFERRED' },
  reference: { sql: 'FOREIGN KEY (parent) REFERENCES parents' },
  'deferred reference': { sql: 'FOREIGN KEY (parent) REFERENCES parents DEFERRABLE INITIALLY DEFERRED' },
  'own reference': { sql: 'FOREIGN KEY (boss) REFERENCES t' },
  exclusion: { sql: 'EXCLUDE USING gist (day WITH =, parent WITH =)' },
  'not null': { sql: 'CHECK (true)', after: 'ALTER TABLE t ALTER code SET NOT NULL' },
  'partial index': { sql: 'CHECK (true)', after: 'CREATE UNIQUE INDEX ON t (day) WHERE n > 4' },
  'index of an expression': { sql: 'CHECK (true)', after: 'CREATE UNIQUE INDEX ON t (lower(code))' },
  'trigger before': {
    sql: 'CHECK (true)',
    after: 'CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse_13()',
  },
  'trigger after': {
    sql: 'CHECK (true)',
    after: 'CREATE TRIGGER a AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse_6()',
  },
  'trigger that counts': {
    sql: 'CHECK (true)',
    after: 'CREATE TRIGGER c AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION at_most_two()',
  },
  'deferred trigger': {
    sql: 'CHECK (true)',
    after:
      'CREATE CONSTRAINT TRIGGER d AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_6()',
  },
};

interface Case {
  create: string;
  existing: Row[];
  data: Row[];
}

const columns = ['id', 'code', 'n', 'parent', 'boss', 'day', 'share'];

function makeCase(pick: RandomNumbers, isAllowed: (rule: Rule) => boolean): Case {
  const names = Object.keys(rules).filter((name) => pick(4) === 0 && isAllowed(rules[name]!));
  const chosen = names.map((name) => rules[name]!);
  const create = `DROP TABLE IF EXISTS t; CREATE TABLE t (id integer PRIMARY KEY, code varchar(3), n integer, parent integer,
boss integer, day date, share percentage, ${['CHECK (true)', ...chosen.map(({ sql }) => sql)].join(', ')});
${chosen.map(({ after }) => after ?? '').join(';')}`;
  const count = 1 + pick(pick(3) === 0 ? 60 : 12);
  const faults = 1 + pick(20);
  const fault = () => pick(faults) === 0;
  const ids = 10 + pick(100);
  const data: Row[] = [];
  for (let index = 0; index < count; index += 1) {
    const backwards = data.map(({ id }) => id).filter((id) => typeof id === 'number');
    data.push({
      id: fault() ? (['x', null, 1e12, 2.5] as const)[pick(4)]! : fault() ? pick(ids) : 1000 + index,
      code: fault() ? 'long text' : pick(3) === 0 ? null : `c${pick(fault() ? 9 : 90)}`,
      n: fault() ? (['y', 13, 6, 3, -1, 0] as const)[pick(6)]! : 20 + (fault() ? pick(5) : index * 3),
      parent: pick(3) === 0 ? null : fault() ? 77 : pick(5),
      boss: pick(2) === 0 ? null : fault() ? 500 : (backwards[pick(backwards.length)] ?? null),
      day: fault() ? '2026-02-30' : `2026-11-${10 + pick(20)}`,
      share: fault() ? 101 : pick(100),
    });
  }
  const existing = [0, 1, 2]
    .slice(0, pick(4))
    .map((id) => ({ id, code: `c${id}`, n: id + 10, day: '2026-01-01' }));
  return { create, existing, data };
}

/** Inserts the rows one by one. @returns the 1-based numbers of the rows that PostgreSQL refuses */
async function insertOneByOne(data: Row[], conflict: string): Promise<number[]> {
  const client = await service.database.pool.connect();
  const refused: number[] = [];
  try {
    await client.query('BEGIN');
    for (const [index, row] of data.entries()) {
      await client.query('SAVEPOINT one');
      try {
        const values = columns.map((name) => (row[name] === null ? null : String(row[name])));
        await client.query(
          `INSERT INTO t (${columns.join(', ')}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')}) ${conflict}`,
          values,
        );
        await client.query('SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED');
        await client.query('RELEASE one');
      } catch {
        refused.push(index + 1);
        await client.query('ROLLBACK TO one; RELEASE one');
      }
    }
    await client.query('COMMIT');
  } finally {
    client.release();
  }
  return refused;
}

async function prepare({ create, existing }: Case): Promise<void> {
  await service.rows(create);
  await insertOneByOne(
    existing.map((row) => ({ parent: null, boss: null, share: 1, ...row })),
    '',
  );
}

const content = async () =>
  (await service.rows('SELECT t::text AS row FROM t ORDER BY 1')).map(({ row }) => row as string);

function send(format: number, data: Row[], query: string): Promise<TestAnswer> {
  const path = `/table/t/upload/json?if_exists=append&${query}`;
  if (format === 0) return service.post(path, { data });
  if (format === 1) {
    const body = data.map((row) => JSON.stringify(row)).join('\n');
    return service.request('POST', path, { body, headers: { 'content-type': 'application/x-ndjson' } });
  }
  const lines = data.map((row) => columns.map((name) => row[name] ?? '').join(','));
  const text = [columns.join(','), ...lines].join('\n');
  // Otherwise an update would not change the column of an empty cell.
  const cells = query.includes('on_conflict=update') ? '&empty_cells=null' : '';
  return service.upload(`/table/t/upload/excel?if_exists=append&${query}${cells}`, Buffer.from(text));
}

const cases = Number(process.env.LEFT_OUT_CASES ?? sized(12, 100));
const firstSeed = Number(process.env.LEFT_OUT_SEED ?? 1);

const conflicts: Record<string, string> = {
  fail: '',
  skip: 'ON CONFLICT (id) DO NOTHING',
  update: `ON CONFLICT (id) DO UPDATE SET ${columns
    .slice(1)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`,
};

/** A row that a later one overrides is not judged by other keys, nor by triggers, so these may give other results. */
const isAllowedWithUpdate = ({ sql, after = '' }: Rule) =>
  !/UNIQUE|EXCLUDE/.test(sql) && !/UNIQUE|at_most/.test(after);

for (const [action, conflict] of Object.entries(conflicts)) {
  test(`${cases} random uploads with on_conflict=${action} leave out the rows that PostgreSQL refuses one by one`, async () => {
    const isAllowed = action === 'update' ? isAllowedWithUpdate : () => true;
    for (let seed = firstSeed; seed < firstSeed + cases; seed += 1) {
      const pick = randomNumbers(seed * 7919);
      const one = makeCase(pick, isAllowed);
      await prepare(one);
      const before = await content();
      const refused = await insertOneByOne(one.data, conflict);
      const expected = await content();
      await prepare(one);
      const answer = await send(seed % 3, one.data, `on_conflict=${action}&${leaveOut}`);
      const shown = () => `seed ${seed}: ${one.create}
existing ${JSON.stringify(one.existing)}
data ${one.data.map((row, index) => `\n${index + 1} ${JSON.stringify(row)}`).join('')}
refused one by one: ${refused}
answered ${JSON.stringify(answer.body.load ?? answer.body, null, 1)}`;
      if (refused.length === one.data.length) {
        assertProblem(answer, 422, 'invalid-data');
        assert.deepEqual(await content(), before, shown());
        continue;
      }
      assert.equal(answer.status, 200, shown());
      assert.deepEqual(await content(), expected, shown());
      const { rows_left_out, left_out = [] } = answer.body.load;
      if (action !== 'fail') continue;
      const named = new Set(left_out.map(({ row }: { row: number }) => row));
      assert.deepEqual(
        [...named].sort((a, b) => Number(a) - Number(b)),
        refused,
        shown(),
      );
      assert.equal(rows_left_out, refused.length, shown());
      assert.equal(answer.body.load.rows, one.data.length - refused.length, shown());
    }
  });
}

describe('the answer', () => {
  const table = {
    columns: [
      { name: 'id', type: 'integer' },
      { name: 'n', type: 'integer' },
    ],
    constraints: { primary_key: { name: '', columns: ['id'] } },
  };

  test('the answer counts the rows that were left out and names their problems, for a new table with a key', async () => {
    const data = [
      { id: 1, n: 'x' },
      { id: 1, n: 1 },
      { id: 1, n: 2 },
      { id: 2, n: 3 },
    ];
    const answer = await service.post(`/table/new/upload/json?faulty_rows=leave_out`, { table, data });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { rows, rows_left_out, left_out, left_out_count, warnings } = answer.body.load;
    assert.deepEqual(
      { rows, rows_left_out, left_out_count },
      { rows: 2, rows_left_out: 2, left_out_count: 2 },
    );
    assert.deepEqual(
      left_out.map(({ row, code }: { row: number; code: string }) => [row, code]),
      [
        [1, 'not-a-whole-number'],
        [3, 'not-unique'],
      ],
    );
    assert.equal(warnings[0].code, 'rows-left-out');
    assert.deepEqual(await service.rows('SELECT * FROM new ORDER BY id'), [
      { id: 1, n: 1 },
      { id: 2, n: 3 },
    ]);
    assert.equal(answer.body.table.constraints.primary_key.columns[0], 'id');
  });

  test('the answer has no `left_out` if no row was left out', async () => {
    const answer = await service.post(`/table/clean/upload/json?faulty_rows=leave_out`, {
      table,
      data: [{ id: 1, n: 1 }],
    });
    assert.equal(answer.status, 201);
    const { rows_left_out, left_out, warnings } = answer.body.load;
    assert.deepEqual(
      { rows_left_out, left_out, warnings },
      { rows_left_out: 0, left_out: undefined, warnings: [] },
    );
  });

  test('a dry run has the same answer, and nothing is changed', async () => {
    const path = '/table/dry/upload/json?faulty_rows=leave_out';
    const body = { table, data: [{ id: 1 }, { id: 1 }, { id: 'x' }] };
    const tried = await service.post(`${path}&dry_run=true`, body);
    assert.deepEqual(await service.rows("SELECT to_regclass('dry') AS found"), [{ found: null }]);
    const done = await service.post(path, body);
    const { dry_run, duration_ms: _, id: __, ...load } = tried.body.load;
    assert.equal(dry_run, true);
    const { duration_ms: ___, id: ____, ...loaded } = done.body.load;
    assert.deepEqual(load, loaded);
  });
});

describe('the upload is refused and nothing is changed', () => {
  const data = Array.from({ length: 300 }, (_, id) => ({ id, n: id % 2 === 0 ? 'x' : 1 }));
  const table = {
    columns: [
      { name: 'id', type: 'integer' },
      { name: 'n', type: 'integer' },
    ],
  };

  test('an upload with more faulty rows than max_faulty_rows allows (100 by default) is refused, and nothing is changed', async () => {
    const path = '/table/many/upload/json?faulty_rows=leave_out';
    const problem = assertProblem(await service.post(path, { table, data }), 422, 'invalid-data');
    assert.equal(problem.error_count, 150);
    assert.match(problem.detail, /max_faulty_rows=100 allows/);
    assertProblem(await service.post(`${path}&max_faulty_rows=149`, { table, data }), 422, 'invalid-data');
    const answer = await service.post(`${path}&max_faulty_rows=150`, { table, data });
    assert.equal(answer.status, 201);
    assert.equal(answer.body.load.rows_left_out, 150);
    assert.equal(answer.body.load.left_out.length, 100);
    assert.equal(answer.body.load.error_groups[0].count, 150);
  });

  test('an upload with more repeated keys than max_faulty_rows allows is refused, and the answer has the problems of cells and keys', async () => {
    await service.rows('CREATE TABLE keyed (id integer PRIMARY KEY, n integer)');
    const rows = [{ id: 1 }, { id: 1 }, { id: 1 }, { id: 2, n: 'x' }];
    const path = '/table/keyed/upload/json?if_exists=append&faulty_rows=leave_out&max_faulty_rows=';
    const problem = assertProblem(await service.post(`${path}2`, { data: rows }), 422, 'invalid-data');
    assert.equal(problem.error_count, 3);
    assert.deepEqual(await service.rows('SELECT * FROM keyed'), []);
    assert.equal((await service.post(`${path}3`, { data: rows })).body.load.rows, 1);
  });

  test('an upload in which every row has a problem is refused', async () => {
    const answer = await service.post('/table/none/upload/json?faulty_rows=leave_out', {
      table,
      data: [{ n: 'x' }, { n: 'y' }],
    });
    assert.match(assertProblem(answer, 422, 'invalid-data').detail, /^Every row has a problem/);
    assert.deepEqual(await service.rows("SELECT to_regclass('none') AS found"), [{ found: null }]);
  });

  test('an upload with an unknown column is refused, because that is no problem of single rows', async () => {
    const answer = await service.post('/table/none/upload/json?faulty_rows=leave_out', {
      table,
      data: [{ n: 1 }, { n: 2, other: 1 }],
    });
    assert.equal(assertProblem(answer, 422, 'invalid-data').errors[0]!.code, 'unknown-column');
  });

  test('an upload whose body is not valid JSON from some row on is refused', async () => {
    const answer = await service.request('POST', '/table/none/upload/json?faulty_rows=leave_out', {
      body: `{"table": ${JSON.stringify(table)}, "data": [{"n": 1}, {"n": 2}, {"n": }]}`,
      headers: { 'content-type': 'application/json' },
    });
    assertProblem(answer, 400, 'invalid-json');
    assert.deepEqual(await service.rows("SELECT to_regclass('none') AS found"), [{ found: null }]);
  });

  test('an upload is refused if a deferred trigger refuses its rows together, whichever rows are left out', async () => {
    await service.rows(`CREATE TABLE balanced (id integer PRIMARY KEY, amount integer);
      CREATE FUNCTION check_balance() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF (SELECT sum(amount) FROM public.balanced) <> 0 THEN RAISE EXCEPTION 'not balanced'; END IF; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER b AFTER INSERT ON balanced DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_balance()`);
    const path = '/table/balanced/upload/json?if_exists=append&faulty_rows=leave_out';
    const refused = await service.post(path, {
      data: [
        { id: 1, amount: 5 },
        { id: 2, amount: -4 },
      ],
    });
    assertProblem(refused, 422, 'invalid-data');
    assert.deepEqual(await service.rows('SELECT * FROM balanced'), []);
    const data = [
      { id: 1, amount: 5 },
      { id: 2, amount: -5 },
      { id: 2, amount: 0 },
    ];
    assert.equal((await service.post(path, { data })).body.load?.rows, 2);
  });

  test('an upload is refused if a row is too wide for a page of PostgreSQL, with and without on_conflict', async () => {
    const names = Array.from({ length: 600 }, (_, column) => `u${column}`);
    await service.rows(
      `CREATE TABLE wide (id integer PRIMARY KEY, ${names.map((name) => `${name} uuid`).join(', ')})`,
    );
    const wide = Object.fromEntries(names.map((name) => [name, 'b5b7e7c8-8b1c-4b43-9e0a-0c4f5f0f3a11']));
    const data = [{ id: 1 }, { id: 2, ...wide }, { id: 3 }];
    for (const conflict of ['', '&on_conflict=skip']) {
      const answer = await service.post(
        `/table/wide/upload/json?if_exists=append&faulty_rows=leave_out${conflict}`,
        { data },
      );
      const { detail, errors } = assertProblem(answer, 422, 'invalid-data');
      assert.match(
        detail,
        /^No row can be left out \(faulty_rows=leave_out\), because PostgreSQL cannot store/,
      );
      assert.match(errors[0]!.detail, /^the row has too many values: they take \d+ bytes/);
      assert.deepEqual(await service.rows('SELECT * FROM wide'), []);
    }
  });

  test('max_faulty_rows without faulty_rows=leave_out is an error', async () => {
    const answer = await service.post('/table/none/upload/json?max_faulty_rows=5', { table, data: [] });
    assert.equal(assertProblem(answer, 422, 'invalid-parameter').errors[0]!.parameter, 'max_faulty_rows');
  });
});

describe('rows that refer to other rows of the upload', () => {
  const path = '/table/people/upload/json?if_exists=append&faulty_rows=leave_out';

  test('rows that refer to other rows of the upload are left out if those are left out, and may refer to later rows', async () => {
    await service.rows(
      'CREATE TABLE people (id integer PRIMARY KEY, boss integer REFERENCES people, n integer)',
    );
    const data = [
      { id: 1, boss: 2 },
      { id: 2, boss: null },
      { id: 3, boss: null, n: 'x' },
      { id: 4, boss: 3 },
      { id: 5, boss: 4 },
      { id: 2, boss: 5 },
      { id: 6, boss: 7 },
      { id: 6, boss: 1 },
    ];
    const answer = await service.post(path, { data });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT id, boss FROM people ORDER BY id'), [
      { id: 1, boss: 2 },
      { id: 2, boss: null },
      { id: 6, boss: 1 },
    ]);
    assert.deepEqual(
      [...new Set(answer.body.load.left_out.map(({ row }: { row: number }) => row))],
      [3, 4, 5, 6, 7],
    );
  });
});

describe('rows that only PostgreSQL can judge', () => {
  const leave = 'if_exists=append&faulty_rows=leave_out';

  test('a policy of row-level security refuses a row, and the row is left out', async () => {
    await service.rows(`CREATE TABLE owned (id integer PRIMARY KEY, tenant text);
      ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
      ALTER TABLE owned FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON owned USING (true) WITH CHECK (tenant = 'mine')`);
    const data = [
      { id: 1, tenant: 'mine' },
      { id: 2, tenant: 'yours' },
      { id: 1, tenant: 'mine' },
      { id: 3, tenant: 'mine' },
    ];
    const answer = await service.post(`/table/owned/upload/json?${leave}`, { data });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows_left_out, 2);
    assert.deepEqual(await service.rows('SELECT id FROM owned ORDER BY id'), [{ id: 1 }, { id: 3 }]);
  });

  test('a row stays if a trigger refuses the earlier row with its key', async () => {
    await service.rows(`CREATE TABLE twice (id integer PRIMARY KEY, n integer);
      CREATE TRIGGER a AFTER INSERT ON twice FOR EACH ROW EXECUTE FUNCTION refuse_6()`);
    const data = [
      { id: 1, n: 6 },
      { id: 1, n: 2 },
      { id: 1, n: 3 },
      { id: 2, n: 4 },
    ];
    const answer = await service.post(`/table/twice/upload/json?${leave}`, { data });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT * FROM twice ORDER BY id'), [
      { id: 1, n: 2 },
      { id: 2, n: 4 },
    ]);
    assert.deepEqual(
      answer.body.load.left_out.map(({ row }: { row: number }) => row),
      [1, 3],
    );
  });

  test('rows with repeated keys and with defaults that fail are left out, and rows with generated numbers are kept', async () => {
    await service.rows(`CREATE TABLE mixed (id integer GENERATED BY DEFAULT AS IDENTITY (START 5) PRIMARY KEY,
      n integer DEFAULT 1 / (random() * 0)::int, t text UNIQUE, at timestamptz DEFAULT now())`);
    const data = [
      { id: 1, n: 1, t: 'a' },
      { n: 2, t: 'b' },
      { id: 2, t: 'c' },
      { t: 'a', n: 3, id: 3 },
      { id: 500, n: 4 },
      { n: 5, t: 'b', at: '2026-01-01T00:00:00Z' },
      { n: 6, t: 'd', at: '2026-01-01T00:00:00Z' },
    ];
    const answer = await service.post(`/table/mixed/upload/json?${leave}`, { data });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const stored = await service.rows('SELECT n FROM mixed ORDER BY n');
    assert.deepEqual(
      stored.map(({ n }) => n),
      [1, 2, 4, 6],
    );
    const rows = answer.body.load.left_out.map(({ row }: { row: number }) => row);
    assert.deepEqual([...new Set(rows)], [3, 4, 6]);
  });

  test('with on_conflict=update the last good row with a key is used, if a trigger refuses later rows', async () => {
    await service.rows(`CREATE TABLE latest (id integer PRIMARY KEY, n integer, u integer UNIQUE);
      INSERT INTO latest VALUES (1, 0, 100), (2, 0, 200);
      CREATE TRIGGER b BEFORE INSERT OR UPDATE ON latest FOR EACH ROW EXECUTE FUNCTION refuse_13()`);
    const data = [
      { id: 1, n: 1, u: 101 },
      { id: 1, n: 2, u: 102 },
      { id: 1, n: 13, u: 103 },
      { id: 2, n: 5, u: 102 },
      { id: 3, n: 13, u: 104 },
      { id: 4, n: 7, u: 105 },
    ];
    const answer = await service.post(`/table/latest/upload/json?${leave}&on_conflict=update`, { data });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT * FROM latest ORDER BY id'), [
      { id: 1, n: 2, u: 102 },
      { id: 2, n: 0, u: 200 },
      { id: 4, n: 7, u: 105 },
    ]);
    const { rows, updated, rows_left_out } = answer.body.load;
    assert.deepEqual({ rows, updated, rows_left_out }, { rows: 1, updated: 2, rows_left_out: 3 });
  });

  test('an upload with on_conflict=update that PostgreSQL ends in a deadlock tries again', async () => {
    await service.rows(`CREATE TABLE contested (id integer PRIMARY KEY, n integer);
      INSERT INTO contested VALUES (1, 0), (2, 0);
      CREATE TRIGGER b BEFORE INSERT OR UPDATE ON contested FOR EACH ROW EXECUTE FUNCTION refuse_13()`);
    const other = await service.database.pool.connect();
    try {
      await other.query('BEGIN; UPDATE contested SET n = 9 WHERE id = 2');
      // The trigger refuses the row with the smallest key, so nothing is locked before the rows are moved one by one.
      const data = [
        { id: 1, n: 1 },
        { id: 2, n: 2 },
        { id: 0, n: 13 },
      ];
      const sent = service.post(`/table/contested/upload/json?${leave}&on_conflict=update`, { data });
      await untilWaitsForLock(service.database);
      // PostgreSQL ends the session that has waited for a second. On a slow machine that may be this one.
      await other
        .query('UPDATE contested SET n = 9 WHERE id = 1; COMMIT')
        .catch(() => other.query('ROLLBACK'));
      const answer = await sent;
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows_left_out, 1);
      assert.deepEqual(await service.rows('SELECT n FROM contested ORDER BY id'), [{ n: 1 }, { n: 2 }]);
    } finally {
      other.release();
    }
  });

  test('rows that a trigger refuses with any SQLSTATE, or with ASSERT, are left out', async () => {
    const errors = {
      'ASSERT false': /assertion failed/,
      "RAISE SQLSTATE '57014' USING MESSAGE = 'refused'": /refused/,
      "RAISE SQLSTATE '53200' USING MESSAGE = 'refused'": /refused/,
      "RAISE SQLSTATE '40001' USING MESSAGE = 'refused'": /refused/,
      "RAISE SQLSTATE '55P03' USING MESSAGE = 'refused'": /refused/,
      "RAISE SQLSTATE 'P0002' USING MESSAGE = 'refused'": /refused/,
    };
    for (const [statement, reason] of Object.entries(errors)) {
      await service.rows(`
        CREATE TABLE raising (id int PRIMARY KEY);
        CREATE FUNCTION refuse_2() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN IF NEW.id = 2 THEN ${statement}; END IF; RETURN NEW; END$$;
        CREATE TRIGGER refuse BEFORE INSERT ON raising FOR EACH ROW EXECUTE FUNCTION refuse_2()`);
      const data = [{ id: 1 }, { id: 2 }, { id: 3 }];
      const path = '/table/raising/upload/json?if_exists=append';
      const refused = await service.post(path, { data });
      assert.equal(refused.status, 422, `${statement}: ${JSON.stringify(refused.body)}`);
      const { status, body } = await service.post(`${path}&faulty_rows=leave_out`, { data });
      assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`);
      assert.deepEqual([body.load.rows, body.load.left_out.map(({ row }: { row: number }) => row)], [2, [2]]);
      assert.match(body.load.left_out[0].detail, reason);
      await service.rows('DROP TABLE raising; DROP FUNCTION refuse_2');
    }
  });

  test('thousands of rows that a trigger refuses are left out', async () => {
    await service.rows(`CREATE TABLE crowd (id integer PRIMARY KEY, n integer);
      CREATE TRIGGER b BEFORE INSERT ON crowd FOR EACH ROW EXECUTE FUNCTION refuse_13()`);
    const count = 20_000;
    const data = Array.from({ length: count }, (_, id) => ({ id, n: id % 7 === 0 ? 13 : 1 }));
    const answer = await service.post(`/table/crowd/upload/json?${leave}&max_faulty_rows=5000`, { data });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const refused = Math.ceil(count / 7);
    assert.deepEqual(
      [answer.body.load.rows, answer.body.load.rows_left_out, answer.body.load.error_groups[0].count],
      [count - refused, refused, refused],
    );
    const [{ stored }] = (await service.rows('SELECT count(*)::int AS stored FROM crowd')) as [
      { stored: number },
    ];
    assert.equal(stored, count - refused);
    await service.rows('TRUNCATE crowd');
    const tooMany = await service.post(`/table/crowd/upload/json?${leave}&max_faulty_rows=${refused - 1}`, {
      data,
    });
    assertProblem(tooMany, 422, 'invalid-data');
    assert.deepEqual(await service.rows('SELECT * FROM crowd'), []);
  });
});

describe('other ways to send rows', () => {
  test('a workbook names the cells of the rows that were left out', async () => {
    const file = sheetOf([
      ['id', 'n'],
      [1, 10],
      [2, 'many'],
      [1, 30],
      [3, 40],
    ]);
    const table = {
      columns: [
        { name: 'id', type: 'integer' },
        { name: 'n', type: 'integer' },
      ],
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    const answer = await service.upload('/table/sheet/upload/excel?faulty_rows=leave_out', file, { table });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(
      answer.body.load.left_out.map(({ cell }: { cell: string }) => cell),
      ['Sheet1!B3', 'Sheet1!A4'],
    );
    assert.deepEqual(await service.rows('SELECT id FROM sheet ORDER BY id'), [{ id: 1 }, { id: 3 }]);
  });

  test('rows without a definition that repeat the key of primary_key are left out', async () => {
    const data = [
      { k: 'a', v: 1 },
      { k: 'b', v: 2 },
      { k: 'a', v: 3 },
    ];
    const path = '/table/inferred/upload/json?faulty_rows=leave_out&primary_key=k';
    const answer = await service.post(path, { data });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT v::int FROM inferred ORDER BY k'), [{ v: 1 }, { v: 2 }]);
  });

  for (const mode of ['truncate', 'replace']) {
    test(`if_exists=${mode} leaves out rows, too`, async () => {
      await service.rows(
        'DROP TABLE IF EXISTS old; CREATE TABLE old (id integer PRIMARY KEY, n integer); INSERT INTO old VALUES (9, 9)',
      );
      const table = {
        columns: [
          { name: 'id', type: 'integer', is_nullable: false },
          { name: 'n', type: 'integer' },
        ],
        constraints: { primary_key: { name: 'old_pkey', columns: ['id'] } },
      };
      const data = [{ id: 1 }, { id: 'x' }, { id: 1 }, { id: 9 }];
      const answer = await service.post(`/table/old/upload/json?if_exists=${mode}&faulty_rows=leave_out`, {
        table,
        data,
      });
      assert.equal(answer.status, mode === 'replace' ? 201 : 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows_left_out, 2);
      assert.deepEqual(await service.rows('SELECT id FROM old ORDER BY id'), [{ id: 1 }, { id: 9 }]);
    });
  }

  test('a text that is no range, and a key that is too long for its index, are left out', async () => {
    await service.rows('CREATE TABLE odd (r int4range, t text, UNIQUE (t))');
    const data = [
      { r: '[1,5)', t: 'a' },
      { r: 'none', t: 'b' },
      { r: null, t: randomText(200_000) },
      { r: null, t: 'a' },
    ];
    const answer = await service.post('/table/odd/upload/json?if_exists=append&faulty_rows=leave_out', {
      data,
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT t FROM odd'), [{ t: 'a' }]);
    const created = await service.post('/table/odd_new/upload/json?faulty_rows=leave_out', {
      table: {
        columns: [{ name: 't', type: 'text' }],
        constraints: { unique: [{ name: '', columns: ['t'] }] },
      },
      data: data.map(({ t }) => ({ t })),
    });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.deepEqual(await service.rows('SELECT t FROM odd_new ORDER BY t'), [{ t: 'a' }, { t: 'b' }]);
  });

  test('many rows that PostgreSQL refuses are described in short steps', async (context) => {
    await service.rows(`CREATE TABLE chained (id integer PRIMARY KEY, next integer REFERENCES chained)`);
    const client = startThreadClient();
    try {
      const upload = async (rows: number): Promise<ThreadAnswer> =>
        client.send({
          url: new URL(`/api/v1/table/chained/upload/json?if_exists=append&${leaveOut}`, service.url).href,
          method: 'POST',
          headers: { authorization: `Bearer ${await service.token()}`, 'content-type': 'application/json' },
          // Each row refers to the next one, and the last one to none.
          body: JSON.stringify({ data: Array.from({ length: rows }, (_, id) => ({ id, next: id + 1 })) }),
        });
      assert.equal((await upload(100)).status, 422);
      let answer: ThreadAnswer | undefined;
      const steps = await measureSteps(async () => {
        answer = await upload(20_000);
      });
      context.diagnostic(
        `the longest of ${steps.totalMs.toFixed(0)} ms took ${steps.longestMs.toFixed(0)} ms`,
      );
      assert.equal(answer!.status, 422, answer!.text);
      assertShortSteps(steps);
    } finally {
      await client.end();
    }
  });
});

function randomText(length: number): string {
  const pick = randomNumbers(3);
  return Array.from({ length }, () => String.fromCharCode(33 + pick(90))).join('');
}
