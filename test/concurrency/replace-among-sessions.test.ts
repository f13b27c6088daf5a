/** `if_exists=replace` while other sessions read, lock, change, drop or replace the same table. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { namesOf, tableNames } from '../support/tables.ts';
import { until } from '../support/until.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('r');
const replace = (name: string, body: unknown, query = '') =>
  service.post(`/table/${name}/upload/json?if_exists=replace${query}`, body);

suite('readers and writers during a replace', () => {
  test('readers see the old rows until the new rows are committed, and never wait long', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['generation', 'integer'], ['n', 'integer']),
      constraints: { primary_key: { name: '', columns: ['n'] } },
    };
    const count = sized(50_000, 200_000);
    const generation = (g: number) => ({
      table,
      data: Array.from({ length: count }, (_, n) => ({ generation: g, n })),
    });
    assert.equal((await replace(name, generation(1))).status, 201);
    let isDone = false;
    const seen = new Set<string>();
    const reading = (async () => {
      while (!isDone) {
        const [row] = await service.rows(
          `SELECT count(*)::int AS rows, min(generation) AS low, max(generation) AS high FROM (SELECT generation FROM ${name} LIMIT 1000) t`,
        );
        seen.add(JSON.stringify(row));
      }
    })();
    await until('a reading of the old rows', () => seen.size > 0);
    const answer = await replace(name, generation(2));
    isDone = true;
    await reading;
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [last] = await service.rows(`SELECT count(*)::int AS rows, min(generation) AS low FROM ${name}`);
    assert.deepEqual(last, { rows: count, low: 2 });
    const possible = [1, 2].map((g) => JSON.stringify({ rows: 1000, low: g, high: g }));
    assert.ok(
      [...seen].every((row) => possible.includes(row)),
      [...seen].join(),
    );
    assert.ok(seen.has(possible[0]!), 'the old rows were seen meanwhile');
  });

  // replace-under-readers.test.ts tests readers during a replace, and a replace that continues after waiting.
  test('a replace fails with 503 if a reader locks the table for longer than the lock timeout', async () => {
    const hasty = await startTestService({ LOCK_TIMEOUT_MS: '1000' });
    const replaceThere = (data: unknown[]) =>
      hasty.post('/table/held/upload/json?if_exists=replace', { data });
    const holder = await hasty.database.pool.connect();
    try {
      await replaceThere([{ a: 1 }]);
      await holder.query('BEGIN');
      await holder.query('SELECT * FROM held');
      const answer = await replaceThere([{ a: 2 }]);
      assertProblem(answer, 503, 'database-busy');
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      await holder.query('COMMIT');
      assert.deepEqual(await hasty.rows('SELECT * FROM held'), [{ a: '1' }]);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
      await hasty.stop();
    }
  });

  for (const [what, statement] of [
    ['dropped', 'DROP TABLE'],
    ['renamed', 'ALTER TABLE'],
  ]) {
    test(`a replace fails with 409 and leaves no temporary table if the table is ${what} meanwhile`, async () => {
      const name = nextTable();
      await replace(name, { data: [{ a: 1 }] });
      const holder = await service.database.pool.connect();
      try {
        await holder.query('BEGIN');
        await holder.query(`${statement} ${name} ${what === 'renamed' ? `RENAME TO ${name}_old` : ''}`);
        const replacing = replace(name, { data: [{ a: 2 }] });
        await untilWaitsForLock(service.database);
        await holder.query('COMMIT');
        const { detail } = assertProblem(await replacing, 409, 'write-conflict');
        assert.match(detail, /dropped or renamed/);
      } finally {
        holder.release();
      }
      assert.deepEqual(
        await service.rows("SELECT relname FROM pg_class WHERE relname LIKE 'tablewright%'"),
        [],
      );
      assert.equal((await replace(name, { data: [{ a: 3 }] })).status, 201);
    });
  }

  for (const [what, create] of [
    ['a sequence', (name: string) => `CREATE SEQUENCE ${name}; GRANT USAGE ON SEQUENCE ${name} TO PUBLIC`],
    [
      'an index',
      (name: string) => `CREATE TABLE ${name}_other (a int); CREATE INDEX ${name} ON ${name}_other (a)`,
    ],
    ['a composite type', (name: string) => `CREATE TYPE ${name} AS (a int)`],
    ['a view', (name: string) => `CREATE VIEW ${name} AS SELECT 1 AS a`],
    ['a materialized view', (name: string) => `CREATE MATERIALIZED VIEW ${name} AS SELECT 1 AS a`],
  ] as const) {
    for (const query of ['replace', 'append', 'truncate', 'append&extra_columns=add']) {
      test(`an upload with if_exists=${query} fails with 409 if ${what} takes the name of the table meanwhile`, async () => {
        const name = nextTable();
        await replace(name, { data: [{ a: 1 }] });
        const holder = await service.database.pool.connect();
        try {
          await holder.query(`BEGIN; DROP TABLE ${name}`);
          const body = { data: [{ a: 2, b: 3 }] };
          const loading = service.post(`/table/${name}/upload/json?if_exists=${query}`, body);
          await untilWaitsForLock(service.database);
          await holder.query(`${create(name)}; COMMIT`);
          const { detail } = assertProblem(await loading, 409, 'write-conflict');
          assert.match(detail, /dropped or renamed/);
        } finally {
          holder.release();
        }
      });
    }
  }

  // The caches of the catalogue may have the new table before the snapshot of a statement does.
  test('a replace of a table that others drop and create again and again succeeds or fails with a conflict', async () => {
    const name = nextTable();
    await replace(name, { data: [{ a: 1 }] });
    let isDone = false;
    const changing = (async () => {
      while (!isDone) {
        await service.rows(`DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (a text)`);
      }
    })();
    changing.catch(() => {});
    for (let i = 0; i < sized(4, 12); i++) {
      const answer = await replace(name, { data: [{ a: 2 }] });
      const isExpected = answer.status === 201 || answer.status === 409;
      assert.ok(isExpected, JSON.stringify(answer.body));
    }
    isDone = true;
    await changing.catch(() => {});
  });

  /** Locks the table, so that the replace has checked it and waits for its lock when `change` is made. */
  async function changeBeforeTheLock(name: string, body: unknown, change: string) {
    const holder = await service.database.pool.connect();
    try {
      await holder.query(`BEGIN; LOCK TABLE ${name} IN ACCESS SHARE MODE`);
      const replacing = replace(name, body);
      const tries = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND query LIKE '%LOCK TABLE "public"."${name}" IN ACCESS EXCLUSIVE%'`;
      await until('the replace to lock the table', async () => (await service.rows(tries)).length > 0);
      await service.rows(change);
      await holder.query('COMMIT');
      return await replacing;
    } finally {
      holder.release();
    }
  }

  const changes: [string, (name: string) => string, RegExp][] = [
    ['a view', (name) => `CREATE VIEW ${name}_late AS SELECT a FROM ${name}`, /view r\d+_late/],
    [
      'a function over its rows',
      (name) => `CREATE FUNCTION ${name}_late(${name}) RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
      /function r\d+_late/,
    ],
    [
      'a column of its row type',
      (name) => `CREATE TABLE ${name}_late (whole ${name})`,
      /column whole of table r\d+_late/,
    ],
    [
      'a default over its sequence',
      (name) => `CREATE TABLE ${name}_late (n integer DEFAULT nextval('${name}_id_seq'))`,
      /default value for column n of table r\d+_late/,
    ],
  ];
  const numbered = { columns: columns(['id', 'serial'], ['a', 'integer']) };
  for (const [what, statement, named] of changes) {
    test(`a replace fails with 409 that names ${what} created between the check and the lock`, async () => {
      const name = nextTable();
      await replace(name, { table: numbered, data: [{ a: 1 }] });
      const answer = await changeBeforeTheLock(name, { table: numbered, data: [{ a: 2 }] }, statement(name));
      const { errors } = assertProblem(answer, 409, 'dependent-objects');
      assert.match(errors[0]!.value!, named);
      assert.deepEqual(await service.rows(`SELECT a FROM ${name}`), [{ a: 1 }]);
    });
  }

  test('a replace keeps grants, comments and options that are set between the check and the lock', async () => {
    const name = nextTable();
    await replace(name, { table: numbered, data: [{ a: 1 }] });
    const answer = await changeBeforeTheLock(
      name,
      { table: numbered, data: [{ a: 2 }] },
      `GRANT SELECT ON ${name} TO PUBLIC; GRANT UPDATE (a) ON ${name} TO PUBLIC; COMMENT ON SEQUENCE ${name}_id_seq IS 'late';
       CREATE SEQUENCE ${name}_late OWNED BY ${name}.a`,
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [facts] = await service.rows(
      `SELECT has_table_privilege('public', '${name}', 'SELECT') AS reads, has_column_privilege('public', '${name}', 'a', 'UPDATE') AS updates,
         obj_description('${name}_id_seq'::regclass, 'pg_class') AS comment`,
    );
    assert.deepEqual(facts, { reads: true, updates: true, comment: 'late' });
    assert.deepEqual(answer.body.load.warnings, [
      { code: 'lost-by-replace', detail: `Replacing the table removed sequence ${name}_late.` },
    ]);
  });

  test('two replaces at the same time both succeed, one after the other', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'serial'], ['a', 'integer']),
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    await replace(name, { table, data: [{ a: 0 }] });
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        [1, 2].map((a) => replace(name, { table, data: Array.from({ length: 1000 }, () => ({ a })) })),
      );
      // The second replace waits for the first one, before any lock on the table.
      for (const answer of answers) assert.equal(answer.status, 201, JSON.stringify(answer.body));
      const [row] = await service.rows(
        `SELECT count(*)::int AS rows, count(DISTINCT a)::int AS kinds FROM ${name}`,
      );
      assert.deepEqual(row, { rows: 1000, kinds: 1 });
      assert.deepEqual(await namesOf(service, name), [
        `constraint ${name}_pkey`,
        `index ${name}_pkey`,
        `sequence ${name}_id_seq`,
      ]);
    }
  });

  test('sessions that add rows during a replace all succeed, in the old table or in the new one', async () => {
    const name = nextTable();
    const table = { columns: columns(['a', 'integer']) };
    await replace(name, { table, data: [] });
    const append = () => service.post(`/table/${name}/upload/json?if_exists=append`, { data: [{ a: 1 }] });
    const answers = await Promise.all([
      replace(name, { table, data: [{ a: 2 }] }),
      ...Array.from({ length: 5 }, append),
    ]);
    for (const answer of answers) assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body));
    const [row] = await service.rows(`SELECT count(*) FILTER (WHERE a = 2)::int AS replaced FROM ${name}`);
    assert.deepEqual(row, { replaced: 1 });
  });
});
