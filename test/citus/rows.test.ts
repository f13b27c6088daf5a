/**
 * Loads rows into tables of Citus: in a distributed schema, and distributed by a column. Answers are those of an ordinary table, and
 * never name a shard or a worker.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';
import type { TestAnswer } from '../support/service.ts';
import { sheetOf } from '../support/workbook.ts';

let service: CitusService;
before(async () => {
  service = await startCitusService();
  await service.rows('CREATE SCHEMA ordinary');
  await service.rows('CREATE SCHEMA sales');
  await service.rows('CREATE SCHEMA tenant');
  await service.rows(`SELECT citus_schema_distribute('tenant')`);
});
after(() => service?.stop());

/** A kind of schema and table that a test runs with. */
interface Place {
  name: string;
  schema: string;
  /** Makes a table sharded that was created in the schema. */
  distribute: (table: string) => string[];
  /** Makes a table that others refer to. */
  refer: (table: string) => string[];
}

const places: Place[] = [
  { name: 'in an ordinary table', schema: 'ordinary', distribute: () => [], refer: () => [] },
  { name: 'in a distributed schema', schema: 'tenant', distribute: () => [], refer: () => [] },
  {
    name: 'distributed by a column',
    schema: 'public',
    distribute: (table) => [`SELECT create_distributed_table('${table}', 'k')`],
    refer: (table) => [`SELECT create_reference_table('${table}')`],
  },
];

/** A name that Citus shortens when it adds the number of a shard. */
const longName = 'orders_code_must_be_unique_in_each_region_and_never_repeated';

for (const place of places) {
  describe(place.name, () => {
    const orders = `${place.schema}.orders`;
    const regions = `${place.schema}.regions`;

    beforeEach(async () => {
      await service.rows(`DROP TABLE IF EXISTS ${orders}, ${regions}`);
      const statements = [
        `CREATE TABLE ${regions} (id integer PRIMARY KEY)`,
        ...place.refer(regions),
        `INSERT INTO ${regions} VALUES (1), (2), (3)`,
        `CREATE TABLE ${orders} (k integer, id integer, code text, amount numeric CONSTRAINT positive CHECK (amount > 0), note varchar(10),
          sent timestamptz, PRIMARY KEY (k, id), CONSTRAINT ${longName} UNIQUE (k, code))`,
        ...place.distribute(orders),
        `ALTER TABLE ${orders} ADD CONSTRAINT of_region FOREIGN KEY (k) REFERENCES ${regions}`,
        `INSERT INTO ${orders} (k, id, code) VALUES (1, 1, 'a'), (2, 1, 'a')`,
      ];
      for (const statement of statements) await service.rows(statement);
    });

    const load = (data: unknown[], query = '') =>
      service
        .post(`/table/orders/upload/json?schema=${place.schema}&if_exists=append${query}`, { data })
        .then(withoutShards);
    const stored = () =>
      service.rows(`SELECT k, id, code, amount::float, note FROM ${orders} ORDER BY k, id`);
    const two = [
      { k: 1, id: 1, code: 'a', amount: null, note: null },
      { k: 2, id: 1, code: 'a', amount: null, note: null },
    ];

    test('rows are added, and rows without a key get the default', async () => {
      const answer = await load([
        { k: 3, id: 1, code: 'x', amount: 1.5 },
        { k: 3, id: 2 },
        { k: 1, id: 2, note: 'n' },
      ]);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 3);
      assert.equal((await stored()).length, 5);
    });

    test('every problem of the rows is answered with its row, column and value', async () => {
      const answer = await load([
        { k: 1, id: 1 },
        { k: 3, id: 1, code: 'x' },
        { k: 3, id: 2, code: 'x' },
        { k: 9, id: 1 },
        { k: 3, id: 3, amount: -1 },
        { k: 2, id: 2, code: 'a' },
      ]);
      assert.deepEqual(problemsOf(answer), [
        {
          row: 1,
          column: 'k, id',
          value: '1, 1',
          code: 'not-unique',
          detail: 'must be unique: the table already has it',
        },
        {
          row: 3,
          column: 'k, code',
          value: '3, x',
          code: 'not-unique',
          detail: 'must be unique: also in row 2',
        },
        {
          row: 4,
          column: 'k',
          value: '9',
          code: 'no-such-reference',
          detail: `has no match in ${regions} (id)`,
        },
        {
          row: 5,
          column: 'amount',
          value: '-1',
          code: 'check-violation',
          detail: 'does not pass the check "positive": (amount > (0)::numeric)',
        },
        {
          row: 6,
          column: 'k, code',
          value: '2, a',
          code: 'not-unique',
          detail: 'must be unique: the table already has it',
        },
      ]);
      assert.deepEqual(await stored(), two);
    });

    test('a row without the distribution column is a problem of the cell', async () => {
      const answer = await load([{ k: 3, id: 1 }, { k: null, id: 2 }, { id: 3 }]);
      const found = problemsOf(answer).map(({ row, column, code }) => ({ row, column, code }));
      assert.deepEqual(found, [
        { row: 2, column: 'k', code: 'null-not-allowed' },
        { row: 3, column: 'k', code: 'null-not-allowed' },
      ]);
    });

    test('a workbook gets the addresses of cells', async () => {
      const file = await sheetOf([
        ['k', 'id', 'amount'],
        [3, 1, 5],
        [3, 2, -5],
        [1, 1, 5],
      ]);
      const answer = withoutShards(
        await service.upload(`/table/orders/upload/excel?schema=${place.schema}&if_exists=append`, file),
      );
      assert.equal(answer.status, 422);
      assert.deepEqual(
        answer.body.errors.map((one: { cell: string }) => one.cell),
        ['Sheet1!C3', 'Sheet1!A4'],
      );
    });

    test('on_conflict=skip counts the rows that were added and skipped', async () => {
      const answer = await load(
        [
          { k: 1, id: 1, note: 'new' },
          { k: 3, id: 1, note: 'new' },
          { k: 3, id: 1, note: 'again' },
        ],
        '&on_conflict=skip',
      );
      assert.deepEqual(countsOf(answer), { rows: 1, skipped: 2, updated: 0 });
      assert.deepEqual(await stored(), [...two, { k: 3, id: 1, code: null, amount: null, note: 'new' }]);
    });

    test('on_conflict=update counts the rows that were added and updated, also of several sets of columns', async () => {
      const answer = await load(
        [
          { k: 1, id: 1, note: 'new' },
          { k: 3, id: 1, note: 'new' },
          { k: 2, id: 1, amount: 7 },
          { k: 2, id: 5 },
        ],
        '&on_conflict=update',
      );
      assert.deepEqual(countsOf(answer), { rows: 2, skipped: 0, updated: 2 });
      assert.deepEqual(await stored(), [
        { k: 1, id: 1, code: 'a', amount: null, note: 'new' },
        { k: 2, id: 1, code: 'a', amount: 7, note: null },
        { k: 2, id: 5, code: null, amount: null, note: null },
        { k: 3, id: 1, code: null, amount: null, note: 'new' },
      ]);
    });

    test('with on_conflict=update, rows that break another rule are answered', async () => {
      const answer = await load(
        [
          { k: 1, id: 1, amount: -4 },
          { k: 2, id: 7, code: 'a' },
        ],
        '&on_conflict=update',
      );
      assert.deepEqual(
        problemsOf(answer).map(({ row, column, code }) => ({ row, column, code })),
        [
          { row: 1, column: 'amount', code: 'check-violation' },
          { row: 2, column: 'k, code', code: 'not-unique' },
        ],
      );
    });

    test('faulty rows are left out', async () => {
      const answer = await load(
        [
          { k: 1, id: 1 },
          { k: 3, id: 1 },
          { k: 9, id: 1 },
          { k: 3, id: 2, amount: -1 },
          { k: 3, id: 1 },
          { k: 3, id: 4, note: 'much too long for it' },
        ],
        '&faulty_rows=leave_out',
      );
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 1);
      assert.equal(answer.body.load.rows_left_out, 5);
      assert.deepEqual(await stored(), [...two, { k: 3, id: 1, code: null, amount: null, note: null }]);
    });

    test('faulty rows are left out if PostgreSQL must judge each of them', async () => {
      const answer = await load(
        [
          { k: 3, id: 1, code: 'x' },
          { k: 3, id: 2, code: 'x' },
          { k: 3, id: 1, code: 'y' },
          { k: 3, id: 3, code: 'z' },
          { k: 1, id: 1, code: 'b' },
        ],
        '&faulty_rows=leave_out',
      );
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 2);
      assert.equal(answer.body.load.rows_left_out, 3);
      for (const { code } of answer.body.load.left_out) assert.equal(code, 'not-unique');
      assert.equal((await stored()).length, 4);
    });

    test('the row of a key is found if other keys have names that begin equally', async () => {
      await service.rows(`ALTER TABLE ${orders} ADD CONSTRAINT ${longName}_too UNIQUE (k, note)`);
      await service.rows(`ALTER TABLE ${orders} ADD CONSTRAINT ${longName}_two UNIQUE (k, sent)`);
      const rows = [
        { k: 3, id: 1, code: 'x', note: 'x' },
        { k: 3, id: 2, code: 'x' },
        { k: 3, id: 3, code: 'y', note: 'x' },
      ];
      const answer = await load(rows, '&faulty_rows=leave_out');
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.deepEqual(
        answer.body.load.left_out.map(({ code, column }: Record<string, unknown>) => [code, column]),
        [
          ['not-unique', 'k, code'],
          ['not-unique', 'k, note'],
        ],
      );
    });

    test('faulty rows are left out with on_conflict=update', async () => {
      const answer = await load(
        [
          { k: 1, id: 1, amount: -4 },
          { k: 1, id: 1, amount: 5 },
          { k: 2, id: 7, code: 'a' },
          { k: 2, id: 8, code: 'b' },
          { k: 2, id: 9, code: 'b' },
        ],
        '&faulty_rows=leave_out&on_conflict=update',
      );
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.deepEqual(countsOf(answer), { rows: 1, skipped: 0, updated: 1 });
      assert.equal(answer.body.load.rows_left_out, 3);
      const leftOut = answer.body.load.left_out.map(({ row, code }: Record<string, unknown>) => [row, code]);
      assert.deepEqual(leftOut, [
        [1, 'check-violation'],
        [3, 'not-unique'],
        [5, 'not-unique'],
      ]);
    });

    test('an exclusion constraint or another rule that no query checks is answered with the name of the rule', async () => {
      await service.rows(`ALTER TABLE ${orders} ADD CONSTRAINT not_twice EXCLUDE (k WITH =, note WITH =)`);
      const answer = await load([
        { k: 3, id: 1, note: 'x' },
        { k: 3, id: 2, note: 'y' },
        { k: 3, id: 3, note: 'x' },
      ]);
      assert.equal(answer.status, 422);
      const [problem] = answer.body.errors;
      assert.equal(problem.row, 3);
      assert.match(problem.detail, /"not_twice"/);
    });

    test('an error of a function that a check, a generated column or an index calls is a problem of its row', async () => {
      for (const statement of [
        `DROP TABLE ${orders}`,
        `CREATE OR REPLACE FUNCTION public.judge(v integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
           IF v = 13 THEN RAISE EXCEPTION '% is unlucky', v USING ERRCODE = 'AB123', DETAIL = 'Ask again.'; END IF;
           IF v = 14 THEN RAISE EXCEPTION '% is unlucky, too', v; END IF;
           RETURN 1 / v;
         END $$`,
        `CREATE TABLE ${orders} (k integer PRIMARY KEY, a integer CHECK (public.judge(a) >= 0), b integer,
           c integer GENERATED ALWAYS AS (public.judge(b)) STORED, d integer)`,
        ...place.distribute(orders),
        `CREATE INDEX ON ${orders} (public.judge(d))`,
      ])
        await service.rows(statement);
      const faulty = { a: 13, b: 0, d: 14 };
      const details = { a: '13 is unlucky', b: 'division by zero', d: '14 is unlucky, too' };
      for (const [column, detail] of Object.entries(details)) {
        const value = faulty[column as keyof typeof faulty];
        const data = Array.from({ length: 30 }, (_, k) => ({ k, [column]: k === 20 ? value : 1 }));
        const expected = [{ row: 21, code: 'refused-by-postgresql', detail }];
        for (const query of ['', '&on_conflict=update'])
          assert.deepEqual(problemsOf(await load(data, query)), expected, column + query);
      }
      const data = Array.from({ length: 30 }, (_, k) => ({
        k,
        ...(k === 20 ? faulty : { a: 1, b: 1, d: 1 }),
      }));
      const answer = await load([...data, { k: 30, b: 0 }], '&faulty_rows=leave_out');
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 29);
      assert.deepEqual(
        answer.body.load.left_out.map(({ row, code }: Record<string, unknown>) => [row, code]),
        [
          [21, 'refused-by-postgresql'],
          [31, 'refused-by-postgresql'],
        ],
      );
      assert.equal((await service.rows(`SELECT FROM ${orders}`)).length, 29);
    });

    test('truncate, extra_columns=add and dry_run', async () => {
      const added = await load(
        [{ k: 3, id: 1, more: 'x', when: '2024-01-01T10:00:00Z' }],
        '&extra_columns=add',
      );
      assert.equal(added.status, 200, JSON.stringify(added.body));
      const dry = await service.post(
        `/table/orders/upload/json?schema=${place.schema}&if_exists=truncate&dry_run=true`,
        { data: [{ k: 3, id: 9 }] },
      );
      assert.equal(dry.status, 200, JSON.stringify(dry.body));
      assert.equal((await stored()).length, 3);
      const emptied = await service.post(
        `/table/orders/upload/json?schema=${place.schema}&if_exists=truncate`,
        {
          data: [{ k: 3, id: 9 }],
        },
      );
      assert.equal(emptied.status, 200, JSON.stringify(emptied.body));
      assert.deepEqual(
        (await stored()).map(({ k, id }) => ({ k, id })),
        [{ k: 3, id: 9 }],
      );
    });

    test('rows without any column get defaults', async () => {
      await service.rows(`DROP TABLE ${orders}`);
      await service.rows(
        `CREATE TABLE ${orders} (k integer DEFAULT 1, id bigint GENERATED BY DEFAULT AS IDENTITY, note text DEFAULT 'n')`,
      );
      for (const statement of place.distribute(orders)) await service.rows(statement);
      const answer = await load([{}, {}, { note: 'x' }]);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 3);
      assert.deepEqual(await service.rows(`SELECT k, id::int, note FROM ${orders} ORDER BY id`), [
        { k: 1, id: 1, note: 'n' },
        { k: 1, id: 2, note: 'n' },
        { k: 1, id: 3, note: 'x' },
      ]);
    });

    test('values that PostgreSQL reads from text, and times, are those of the service', async () => {
      await service.rows(`DROP TABLE ${orders}`);
      await service.rows(
        `CREATE TABLE ${orders} (k integer PRIMARY KEY, sent timestamptz CHECK (date_trunc('day', sent) = sent), area box, words tsvector)`,
      );
      for (const statement of place.distribute(orders)) await service.rows(statement);
      await service.adminRows(
        `SELECT run_command_on_workers('ALTER SYSTEM SET timezone = ''Asia/Kathmandu''')`,
      );
      await service.adminRows(`SELECT run_command_on_workers('SELECT pg_reload_conf()')`);
      try {
        const answer = await load([
          { k: 1, sent: '2024-03-31T00:00:00Z', area: '(1,1),(0,0)', words: 'a b' },
        ]);
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        const rows = await service.get(`/table/orders/rows?schema=${place.schema}`);
        assert.equal(rows.status, 200, JSON.stringify(rows.body));
        assert.deepEqual(rows.body.rows, [
          { k: 1, sent: '2024-03-31T00:00:00+00:00', area: '(1,1),(0,0)', words: "'a' 'b'" },
        ]);
        const refused = await load([{ k: 2, sent: '2024-03-31T18:15:00Z' }]);
        assert.equal(refused.status, 422);
      } finally {
        await service.adminRows(`SELECT run_command_on_workers('ALTER SYSTEM RESET timezone')`);
        await service.adminRows(`SELECT run_command_on_workers('SELECT pg_reload_conf()')`);
      }
    });
  });
}

const newTables = [
  { schema: 'ordinary', distribution: undefined },
  { schema: 'tenant', distribution: undefined },
  { schema: 'sales', distribution: { kind: 'column', column: 'k' } },
];

for (const { schema, distribution } of newTables) {
  describe(`a new table in the schema ${schema}`, () => {
    const path = `/table/made/upload/json?schema=${schema}`;
    const table = {
      columns: [
        { name: 'k', type: 'integer', is_nullable: true },
        { name: 'id', type: 'bigserial' },
        { name: 't', type: 'text' },
      ],
      constraints: { unique: [{ name: 'made_t', columns: ['k', 't'] }] },
      ...(distribution && { distribution }),
    };
    const upload = async (data: unknown[], query = '') =>
      withoutShards(await service.post(`${path}${query}`, { table, data }));
    const stored = () => service.rows(`SELECT k, t FROM ${schema}.made ORDER BY k, t`);

    beforeEach(() => service.rows(`DROP TABLE IF EXISTS ${schema}.made`));

    test('names the rows with the same key', async () => {
      const data = Array.from({ length: 40 }, (_, row) => ({ k: row % 7, t: `t${row}` }));
      const refused = await upload([...data, { k: 3, t: 't17' }, { k: 2, t: 't9' }]);
      assert.deepEqual(problemsOf(refused), [
        {
          row: 41,
          column: 'k, t',
          value: '3, t17',
          code: 'not-unique',
          detail: 'must be unique: also in row 18',
        },
        {
          row: 42,
          column: 'k, t',
          value: '2, t9',
          code: 'not-unique',
          detail: 'must be unique: also in row 10',
        },
      ]);
      assert.equal((await upload(data)).status, 201);
      assert.equal((await stored()).length, 40);
    });

    test('leaves out rows with problems', async () => {
      const answer = await upload(
        [
          { k: 1, t: 'a' },
          { k: 2, t: 'b' },
          { k: 1, t: 'a' },
          { k: 'x', t: 'c' },
        ],
        '&faulty_rows=leave_out',
      );
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows_left_out, 2);
      assert.deepEqual(await stored(), [
        { k: 1, t: 'a' },
        { k: 2, t: 'b' },
      ]);
    });

    test('uses the last row with a key with on_conflict=update, and is replaced', async () => {
      const first = await upload(
        [
          { k: 1, t: 'a' },
          { k: 2, t: 'b' },
          { k: 1, t: 'a' },
        ],
        '&on_conflict=update',
      );
      assert.equal(first.status, 201, JSON.stringify(first.body));
      assert.equal((await stored()).length, 2);
      const replaced = await upload([{ k: 5, t: 'e' }], '&if_exists=replace');
      assert.equal(replaced.status, 201, JSON.stringify(replaced.body));
      assert.deepEqual(await stored(), [{ k: 5, t: 'e' }]);
    });
  });
}

test('a new table refuses rows without a value for its distribution column', async () => {
  const table = {
    columns: [
      { name: 'k', type: 'integer' },
      { name: 't', type: 'text' },
    ],
    distribution: { kind: 'column', column: 'k' },
  };
  const data = [{ k: 1 }, { t: 'x' }];
  const refused = await service.post('/table/needs_k/upload/json?schema=sales', { table, data });
  assert.deepEqual(
    problemsOf(refused).map(({ row, column, code }) => ({ row, column, code })),
    [{ row: 2, column: 'k', code: 'null-not-allowed' }],
  );
});

test('a new table names the rows whose references have no match', async () => {
  await service.rows('CREATE TABLE sales.kinds (kind text PRIMARY KEY)');
  await service.rows(`SELECT create_reference_table('sales.kinds')`);
  await service.rows(`INSERT INTO sales.kinds VALUES ('a')`);
  const table = {
    columns: [
      { name: 'k', type: 'integer' },
      { name: 'kind', type: 'text' },
    ],
    constraints: {
      foreign_keys: [
        { column: 'kind', reference_table: 'kinds', reference_column: 'kind', reference_schema: 'sales' },
      ],
    },
    distribution: { kind: 'column', column: 'k' },
  };
  const data = [
    { k: 1, kind: 'a' },
    { k: 2, kind: 'b' },
    { k: 3, kind: 'a' },
  ];
  const refused = withoutShards(
    await service.post('/table/of_kinds/upload/json?schema=sales', { table, data }),
  );
  assert.deepEqual(problemsOf(refused), [
    {
      row: 2,
      column: 'kind',
      value: 'b',
      code: 'no-such-reference',
      detail: 'has no match in sales.kinds (kind)',
    },
  ]);
});

/** The problems of a refused upload, without the places of the body. */
function problemsOf(answer: TestAnswer): Record<string, unknown>[] {
  assert.equal(answer.status, 422, JSON.stringify(answer.body));
  assert.equal(answer.body.code, 'invalid-data');
  return answer.body.errors.map(({ pointer: _, ...problem }: Record<string, unknown>) => problem);
}

function countsOf(answer: TestAnswer): Record<string, number> {
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { rows, skipped, updated } = answer.body.load;
  return { rows, skipped, updated };
}

/** Asserts that the answer names neither a shard nor a worker. */
function withoutShards(answer: TestAnswer): TestAnswer {
  const text = JSON.stringify(answer.body);
  assert.doesNotMatch(text, /_10\d{4}\b|127\.0\.0\.1|localhost|\bshard\b/i);
  return answer;
}
