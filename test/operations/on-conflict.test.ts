/**
 * `on_conflict`, and the types that go through the staging table.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const items = {
  columns: [
    { name: 'sku', type: 'text', is_nullable: false },
    { name: 'name', type: 'text' },
    { name: 'stock', type: 'integer', default: '7' },
  ],
  constraints: { primary_key: { name: '', columns: ['sku'] } },
};

beforeEach(async () => {
  await service.database.pool.query('DROP TABLE IF EXISTS items');
});

const load = (data: unknown[], query: string) => service.post(`/table/items/upload/json?${query}`, { data });
const loadNew = (data: unknown[], query: string) =>
  service.post(`/table/items/upload/json?${query}`, { table: items, data });
const stored = () => service.rows('SELECT * FROM items ORDER BY sku');

test('skip keeps existing rows and the first row of the upload, and counts the others', async () => {
  await loadNew([{ sku: 'a', name: 'old', stock: 1 }], '');
  const answer = await load(
    [
      { sku: 'a', name: 'new' },
      { sku: 'b', name: 'first' },
      { sku: 'b', name: 'second' },
    ],
    'if_exists=append&on_conflict=skip',
  );
  assert.equal(answer.status, 200);
  const { rows, skipped, updated } = answer.body.load;
  assert.deepEqual({ rows, skipped, updated }, { rows: 1, skipped: 2, updated: 0 });
  assert.deepEqual(await stored(), [
    { sku: 'a', name: 'old', stock: 1 },
    { sku: 'b', name: 'first', stock: 7 },
  ]);
});

test('update uses the last row of the upload and keeps columns that a row does not have', async () => {
  await loadNew(
    [
      { sku: 'a', name: 'old', stock: 1 },
      { sku: 'b', name: 'old', stock: 2 },
    ],
    '',
  );
  const answer = await load(
    [
      { sku: 'a', name: 'new' },
      { sku: 'b', stock: 20 },
      { stock: 3, sku: 'c', name: 'x' },
      { sku: 'c', name: 'y' },
    ],
    'if_exists=append&on_conflict=update',
  );
  assert.equal(answer.status, 200);
  const { rows, skipped, updated } = answer.body.load;
  assert.deepEqual({ rows, skipped, updated }, { rows: 1, skipped: 0, updated: 3 });
  assert.deepEqual(await stored(), [
    { sku: 'a', name: 'new', stock: 1 },
    { sku: 'b', name: 'old', stock: 20 },
    { sku: 'c', name: 'y', stock: 7 },
  ]);
});

for (const [query, name] of [
  ['on_conflict=skip', 'first'],
  ['on_conflict=update', 'second'],
  ['if_exists=replace&on_conflict=update', 'second'],
]) {
  test(`within one upload into a new table, ${query} keeps one row for each key`, async () => {
    const answer = await loadNew(
      [
        { sku: 'a', name: 'first' },
        { sku: 'a', name: 'second' },
      ],
      query!,
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, 1);
    assert.deepEqual(await stored(), [{ sku: 'a', name, stock: 7 }]);
  });
}

test('rows with NULL in the key never conflict', async () => {
  const table = {
    columns: [{ name: 'k', type: 'text' }],
    constraints: { unique: [{ name: '', columns: ['k'] }] },
  };
  const data = [{ k: null }, { k: null }, { k: 'x' }, { k: 'x' }];
  const answer = await service.post('/table/items/upload/json?on_conflict=skip', { table, data });
  assert.equal(answer.body.load.rows, 3);
  assert.equal(answer.body.load.skipped, 1);
});

for (const [what, column, first, second] of [
  ['NULL, where the key says NULLS NOT DISTINCT', 'k text, UNIQUE NULLS NOT DISTINCT (k)', null, null],
  ['a range written in two ways', 'k int4range PRIMARY KEY', '[1,2]', '[1,3)'],
  ['an amount written in two ways', 'k money PRIMARY KEY', '1', '$1.00'],
  ['a text in a collation that ignores case', 'k text COLLATE ignoring_case PRIMARY KEY', 'a', 'A'],
] as const) {
  test(`two rows of one upload with the same key conflict: ${what}`, async () => {
    await service.rows(
      `CREATE COLLATION IF NOT EXISTS ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
    );
    const data = [
      { k: first, v: 1 },
      { k: second, v: 2 },
    ];
    for (const [action, counts, v] of [
      ['skip', { rows: 1, skipped: 1, updated: 0 }, 1],
      ['update', { rows: 1, skipped: 0, updated: 1 }, 2],
    ] as const) {
      await service.rows(`DROP TABLE IF EXISTS items; CREATE TABLE items (v integer, ${column})`);
      const answer = await load(data, `if_exists=append&on_conflict=${action}`);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const { rows, skipped, updated } = answer.body.load;
      assert.deepEqual({ rows, skipped, updated }, counts, action);
      assert.deepEqual(await service.rows('SELECT v FROM items'), [{ v }]);
      const again = await load([{ k: second, v: 3 }], `if_exists=append&on_conflict=${action}`);
      assert.deepEqual([again.body.load?.rows, again.status], [0, 200], JSON.stringify(again.body));
    }
    const { errors } = assertProblem(await load([{ k: first }], 'if_exists=append'), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, column: name, code }) => [row, name, code]),
      [[1, 'k', 'not-unique']],
    );
    await service.rows('TRUNCATE items');
    const both = assertProblem(await load(data, 'if_exists=append'), 422, 'invalid-data');
    assert.deepEqual(
      both.errors.map(({ row, detail }) => [row, detail]),
      [[2, 'must be unique: also in row 1']],
    );
  });
}

test('update needs a required column also in a row that updates an existing row, and the problem says so', async () => {
  await service.rows('CREATE TABLE items (sku text PRIMARY KEY, email text NOT NULL, n int)');
  await service.rows("INSERT INTO items VALUES ('a', 'a@example.com', 1)");
  const answer = await load([{ sku: 'a', n: 11 }], 'if_exists=append&on_conflict=update');
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.equal(
    errors[0]!.detail,
    'a value is needed here, also in a row that only updates an existing one: "email" is NOT NULL without a default, so send it in every row',
  );
});

test('a violation of another unique constraint is still a problem and names the rows', async () => {
  const table = {
    ...items,
    constraints: { ...items.constraints, unique: [{ name: '', columns: ['name'] }] },
  };
  await service.post('/table/items/upload/json', { table, data: [{ sku: 'a', name: 'taken' }] });
  const answer = await load(
    [
      { sku: 'a', name: 'other' },
      { sku: 'b', name: 'taken' },
      { sku: 'c', name: 'n' },
      { sku: 'd', name: 'n' },
    ],
    'if_exists=append&on_conflict=skip',
  );
  assert.equal(answer.status, 422);
  assert.deepEqual(
    answer.body.errors.map(({ row, column, code, detail }: Record<string, string>) => [
      row,
      column,
      code,
      detail,
    ]),
    [
      [2, 'name', 'not-unique', 'must be unique: the table already has it'],
      [4, 'name', 'not-unique', 'must be unique: also in row 3'],
    ],
  );
  assert.deepEqual(await stored(), [{ sku: 'a', name: 'taken', stock: 7 }]);
});

test('on_conflict is refused for a table without a key', async () => {
  const answer = await service.post('/table/items/upload/json?on_conflict=skip', {
    table: { columns: [{ name: 'a', type: 'text' }] },
    data: [{ a: 'x' }],
  });
  assert.equal(answer.status, 422);
  assert.equal(answer.body.code, 'invalid-parameter');
  assert.match(answer.body.detail, /primary key or a unique constraint/);
  assert.deepEqual(await service.rows("SELECT to_regclass('items') AS found"), [{ found: null }]);
});

test('a dry run counts and changes nothing', async () => {
  await loadNew([{ sku: 'a', name: 'old' }], '');
  const answer = await load([{ sku: 'a', name: 'new' }], 'if_exists=append&on_conflict=update&dry_run=true');
  assert.equal(answer.status, 200);
  assert.equal(answer.body.load.updated, 1);
  assert.deepEqual(await stored(), [{ sku: 'a', name: 'old', stock: 7 }]);
});

test('identity columns get generated numbers in rows that send none', async () => {
  const table = {
    columns: [
      { name: 'id', type: 'serial' },
      { name: 'k', type: 'text' },
      { name: 'v', type: 'integer' },
    ],
    constraints: { primary_key: { name: '', columns: ['id'] } },
  };
  await service.post('/table/items/upload/json', {
    table,
    data: [
      { k: 'a', v: 1 },
      { k: 'b', v: 2 },
    ],
  });
  const answer = await load(
    [{ id: 1, v: 10 }, { k: 'c' }, { k: 'd', v: 4 }],
    'if_exists=append&on_conflict=update',
  );
  assert.deepEqual([answer.body.load.rows, answer.body.load.updated], [2, 1], JSON.stringify(answer.body));
  assert.deepEqual(await service.rows('SELECT k, v FROM items ORDER BY k'), [
    { k: 'a', v: 10 },
    { k: 'b', v: 2 },
    { k: 'c', v: null },
    { k: 'd', v: 4 },
  ]);
});

test('types without a binary encoder are loaded through their text form', async () => {
  const table = {
    columns: [
      { name: 'at', type: 'point' },
      { name: 'span', type: 'int4range', default: '[1,2)' },
      { name: 'words', type: 'tsvector' },
      { name: 'price', type: 'money' },
    ],
  };
  const data = [
    { at: '(1,2)', words: 'a b', price: '12.50' },
    { at: null, span: '[3,9)', price: 3 },
  ];
  const answer = await service.post('/table/items/upload/json', { table, data });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal(answer.body.load.rows, 2);
  assert.deepEqual(
    await service.rows(
      'SELECT "at"::text, span::text, words::text, price::numeric::text FROM items ORDER BY span',
    ),
    [
      { at: '(1,2)', span: '[1,2)', words: "'a' 'b'", price: '12.50' },
      { at: null, span: '[3,9)', words: null, price: '3.00' },
    ],
  );
});

test('a value that such a type refuses is a problem that names its row', async () => {
  const table = {
    columns: [
      { name: 'n', type: 'integer' },
      { name: 'at', type: 'point' },
    ],
  };
  const data = [
    { n: 1, at: '(1,2)' },
    { n: 'x', at: '(1,2)' },
    { n: 3, at: 'nowhere' },
    { n: 4, at: 'here' },
  ];
  const answer = await service.post('/table/items/upload/json', { table, data });
  assert.equal(answer.status, 422);
  assert.deepEqual(
    answer.body.errors.map(({ row, column, value }: Record<string, string>) => [row, column, value]),
    [
      [2, 'n', 'x'],
      [3, 'at', 'nowhere'],
      [4, 'at', 'here'],
    ],
  );
});

test('rows without a generated key never conflict with each other', async () => {
  const table = {
    columns: [
      { name: 'id', type: 'serial' },
      { name: 'sku', type: 'text' },
      { name: 'name', type: 'text' },
    ],
    constraints: { primary_key: { name: '', columns: ['id'] }, unique: [{ name: '', columns: ['sku'] }] },
  };
  await service.post('/table/items/upload/json', { table, data: [{ sku: 'a', name: 'old' }] });
  const answer = await load(
    [
      { sku: 'a', name: 'new' },
      { sku: 'b', name: 'x' },
    ],
    'if_exists=append&on_conflict=update',
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual([answer.body.load.rows, answer.body.load.updated], [1, 1]);
  assert.deepEqual(await service.rows('SELECT sku, name FROM items ORDER BY sku'), [
    { sku: 'a', name: 'new' },
    { sku: 'b', name: 'x' },
  ]);
});

test('sent values for an identity column give a warning', async () => {
  const table = {
    columns: [
      { name: 'id', type: 'serial' },
      { name: 'k', type: 'text' },
    ],
  };
  await service.post('/table/items', { table });
  const answer = await load([{ id: 1, k: 'a' }], 'if_exists=append');
  assert.deepEqual(
    answer.body.load.warnings.map(({ code, column }: Record<string, string>) => [code, column]),
    [['own-numbers', 'id']],
  );
});

test('on_conflict accepts tables with column names that the service uses itself', async () => {
  await service.rows(
    'CREATE TABLE items (sku text PRIMARY KEY, "tablewright row" integer, "tablewright shape" integer, "tablewright ordinal" integer UNIQUE, "tablewright first" integer, "tablewright place" integer)',
  );
  const row = (sku: string, ordinal: number) => ({
    sku,
    'tablewright row': 5,
    'tablewright shape': 6,
    'tablewright ordinal': ordinal,
  });
  const answer = await load([row('a', 1), row('b', 2), row('a', 3)], 'if_exists=append&on_conflict=update');
  assert.deepEqual([answer.status, answer.body.load?.rows], [200, 2], JSON.stringify(answer.body));
  const refused = await load([row('c', 2), row('d', 2)], 'if_exists=append&on_conflict=update');
  const { errors } = assertProblem(refused, 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ row: number, column }) => [number, column]),
    [
      [1, 'tablewright ordinal'],
      [2, 'tablewright ordinal'],
      [2, 'tablewright ordinal'],
    ],
  );
});

const suppressed = [
  { code: 'suppressed-rows', detail: 'A trigger or a rule of the table left out one row.' },
];

test('skip counts the rows that a trigger leaves out as suppressed, not as skipped', async () => {
  await service.rows(`CREATE TABLE items (sku text PRIMARY KEY); INSERT INTO items VALUES ('taken');
CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF new.sku = ''left out'' THEN RETURN NULL; END IF; RETURN new; END';
CREATE TRIGGER leave_out BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION leave_out()`);
  const data = ['taken', 'left out', 'new', 'new'].map((sku) => ({ sku }));
  const answer = await load(data, 'if_exists=append&on_conflict=skip');
  const { rows, skipped, warnings } = answer.body.load;
  assert.deepEqual([rows, skipped, warnings], [1, 2, suppressed]);
});

test('with on_conflict=update a table may have a rule with a condition and a trigger before updates', async () => {
  await service.rows(`CREATE TABLE items (sku text PRIMARY KEY, n int); INSERT INTO items VALUES ('taken', 1);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER keep BEFORE UPDATE ON items FOR EACH ROW EXECUTE FUNCTION keep();
CREATE RULE leave_out AS ON INSERT TO items WHERE new.n % 2 = 0 DO INSTEAD NOTHING`);
  const data = ['taken', 'new'].map((sku) => ({ sku, n: 5 }));
  const { status, body } = await load(data, 'if_exists=append&on_conflict=update');
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.load.inserted, body.load.changed], [1, 1]);
});

for (const [action, skipped, updated] of [
  ['skip', 1, 0],
  ['update', 0, 1],
]) {
  test(`with on_conflict=${action} a row that a rule leaves out is suppressed`, async () => {
    await service.rows(`CREATE TABLE items (sku text PRIMARY KEY); INSERT INTO items VALUES ('taken');
CREATE RULE leave_out AS ON INSERT TO items WHERE new.sku = 'left out' DO INSTEAD NOTHING`);
    const data = ['taken', 'left out', 'new'].map((sku) => ({ sku }));
    const { load: counts } = (await load(data, `if_exists=append&on_conflict=${action}`)).body;
    assert.deepEqual(
      [counts.rows, counts.skipped, counts.updated, counts.warnings],
      [1, skipped, updated, suppressed],
    );
  });
}

/** Returns the warnings of an upload, except those about identity columns. */
const keyWarnings = (answer: TestAnswer): { code: string; detail: string }[] =>
  answer.body.load.warnings.filter(({ code }: { code: string }) => code === 'key-not-brought');

test('rows without a key are inserted with a warning, and the answer names the key', async () => {
  const name = 'keyless';
  const table = {
    columns: [
      { name: 'id', type: 'serial' },
      { name: 'email', type: 'text' },
      { name: 'note', type: 'text' },
    ],
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      unique: [{ name: '', columns: ['email'] }],
    },
  };
  const path = `/table/${name}/upload/json?if_exists=append`;
  await service.post(path, { table, data: [{ id: 100, email: 'ann@example.com' }] });
  const none = await service.post(`${path}&on_conflict=update`, { data: [{ note: 'a' }, { note: 'b' }] });
  assert.equal(none.status, 200, JSON.stringify(none.body));
  assert.deepEqual(none.body.load.conflict_key, []);
  assert.deepEqual(keyWarnings(none), [
    {
      code: 'key-not-brought',
      detail:
        '2 rows have no complete key ("id"), so on_conflict=update does not apply, and PostgreSQL inserts such rows each time that they are sent. The first is row 1. Send a value for "id" in every row, or add a unique constraint to columns that every row has.',
    },
  ]);
  const byEmail = await service.post(`${path}&on_conflict=skip`, {
    data: [{ email: 'ann@example.com' }, { email: null, note: 'c' }, { note: 'd' }],
  });
  assert.equal(byEmail.status, 200, JSON.stringify(byEmail.body));
  assert.deepEqual([byEmail.body.load.rows, byEmail.body.load.skipped], [2, 1]);
  assert.deepEqual(byEmail.body.load.conflict_key, ['email']);
  assert.match(
    keyWarnings(byEmail)[0]!.detail,
    /^2 rows have no complete key \("email"\).* The first is row 2\./,
  );
  const complete = await service.post(`${path}&on_conflict=update`, {
    data: [{ id: 100, email: 'ann@example.org' }],
  });
  assert.deepEqual(complete.body.load.conflict_key, ['id']);
  assert.deepEqual(keyWarnings(complete), []);
  const failing = await service.post(path, { data: [{ id: 200 }] });
  assert.equal('conflict_key' in failing.body.load, false);
});

test('a row of a sheet without a value in the key is named by its row in the sheet', async () => {
  await service.rows('CREATE TABLE keyless_sheet (a int, b int, note text, UNIQUE (a, b))');
  const rows = [['a', 'b', 'note'], [1, 1, 'x'], [], [2, null, 'y']];
  const answer = await service.upload(
    '/table/keyless_sheet/upload/excel?if_exists=append&on_conflict=update',
    sheetOf(rows, 'Data'),
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(answer.body.load.conflict_key, ['a', 'b']);
  assert.equal(
    keyWarnings(answer)[0]!.detail,
    'One row has no complete key ("a", "b"), so on_conflict=update does not apply, and PostgreSQL inserts such rows each time that they are sent. It is Data!4:4. Send values for all of "a", "b" in every row, or add a unique constraint to columns that every row has.',
  );
});

test('no-key says what to send for a table that the upload creates', async () => {
  const refusal = async (query: string, body: object): Promise<string> => {
    const answer = await service.post(`/table/newq/upload/json?on_conflict=update${query}`, body);
    assertProblem(answer, 422, 'invalid-parameter');
    assert.equal(answer.body.errors[0].code, 'no-key');
    return answer.body.errors[0].detail;
  };
  const needs = 'on_conflict=update needs a primary key or a unique constraint that is not deferrable';
  assert.equal(
    await refusal('&if_exists=append', { data: [{ a: 1 }] }),
    `${needs}. There is no table "newq" yet, and the rows do not define a key. Send primary_key=… with the names of its columns, or \`table\` with \`constraints.primary_key\`.`,
  );
  assert.equal(
    await refusal('', { table: { columns: [{ name: 'a', type: 'int' }] }, data: [{ a: 1 }] }),
    `${needs}, and the definition has none. Add \`constraints.primary_key\` to \`table\`.`,
  );
  await service.rows('CREATE TABLE newq (a int)');
  assert.equal(
    await refusal('&if_exists=replace', { data: [{ a: 1 }] }),
    `${needs}. A new table replaces "newq", and the rows do not define a key. Send primary_key=… with the names of its columns, or \`table\` with \`constraints.primary_key\`.`,
  );
});
