/** Short numbers with many digits, from which expressions of the table compute longer ones: the service bounds what PostgreSQL holds and writes. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { withBackendMemory } from '../support/backend-memory.ts';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';

const mib = 2 ** 20;
let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
});
after(async () => {
  await service?.stop('SIGTERM');
});

afterEach(() => service.database.pool.query('DROP TABLE IF EXISTS digits'));

const list = <Item>(length: number, item: (index: number) => Item) =>
  Array.from({ length }, (_, i) => item(i));
const rowsOf = (count: number, row: string) => list(count, () => row).join();
const generated = (count: number, type: string, expression: string) =>
  list(count, (index) => ({ name: `g${index}`, type, generated: expression }));
const columns = (types: Record<string, string>) =>
  Object.entries(types).map(([name, type]) => ({ name, type }));
const numbers = columns({ b: 'numeric', c: 'numeric' });
const checks = (count: number, expression: string) => ({
  checks: list(count, () => ({ name: '', expression })),
});
const row = '{"b":1e131000,"c":1e-16000}';
const sum = '(b + c)::text';
/** Computes in pairs, so that the expression has few levels. */
const computed = (count: number, value: string, operator: string): string =>
  count === 1
    ? value
    : `(${computed(Math.ceil(count / 2), value, operator)} ${operator} ${computed(Math.floor(count / 2), value, operator)})`;

/** Sends rows as they are, because JavaScript would write the numbers in another way. */
const send = (method: string, path: string, body: string) =>
  service.request(method, path, { body, headers: { 'content-type': 'application/json' } });

/** Checks what a backend held, and what PostgreSQL wrote into its log. */
async function measured(work: () => Promise<TestAnswer>): Promise<TestAnswer> {
  const { pool } = service.database;
  const place = async () =>
    (await pool.query('SELECT pg_current_wal_insert_lsn()::text AS place')).rows[0].place;
  const start = await place();
  const { result, backendBytes = 0 } = await withBackendMemory(service.database, work);
  const { rows } = await pool.query(
    `SELECT pg_wal_lsn_diff('${await place()}', '${start}')::float8 AS bytes, coalesce(pg_total_relation_size(to_regclass('digits')), 0)::float8 AS size`,
  );
  assert.ok(backendBytes < 200 * mib, `a backend held ${backendBytes / mib} MiB`);
  // The log has no rows of a table that the same transaction has made.
  const bytes = Math.max(rows[0].bytes, rows[0].size);
  // One attempt writes 64 MiB, or 250 times the bytes of the rows. If rows are refused, there are several attempts.
  assert.ok(bytes < 500 * mib, `${bytes / mib} MiB were written`);
  return result;
}

type Table = { columns: { name: string; generated?: string }[]; constraints?: object };

const ofNumbers: [name: string, table: Table, rows: string][] = [
  ['10 sums', { columns: [...numbers, ...generated(10, 'numeric', 'b + c')] }, rowsOf(1000, row)],
  [
    '50 texts of 16 sums',
    { columns: [...numbers, ...generated(50, 'text', Array(16).fill(sum).join(' || '))] },
    row,
  ],
  [
    'checks of texts of sums',
    { columns: numbers, constraints: checks(60, Array(30).fill(`${sum} > 'x'`).join(' AND ')) },
    row,
  ],
  [
    'arrays of sums',
    { columns: [...numbers, ...generated(60, 'text[]', `ARRAY[${Array(30).fill(sum).join()}]`)] },
    row,
  ],
  [
    'texts of products',
    { columns: [...numbers, ...generated(100, 'text', `${computed(14, '(b + c)', '*')}::text`)] },
    list(150, (index) => `{"b":${index + 1}1e4500,"c":${index + 1}7e-500}`).join(),
  ],
];
const precise: typeof ofNumbers = [
  [
    'columns of the greatest precision',
    {
      columns: [
        ...columns({ a: 'integer' }),
        ...generated(400, 'numeric(1000,990)', 'a::numeric(1000,990) / 99991'),
      ],
      // PostgreSQL keeps the table for each of 400 changes, so they are not made.
      constraints: {},
    },
    rowsOf(3000, '{"a":7}'),
  ],
];
const defaults: typeof ofNumbers = [
  [
    'a long default',
    {
      columns: [
        { name: 'b', type: 'numeric', default: '1e131000' } as { name: string },
        ...generated(4, 'numeric', 'b / 99991'),
      ],
    },
    rowsOf(5000, '{}'),
  ],
  [
    'scales of a column',
    {
      columns: [
        ...columns({ a: 'numeric(1000,900)' }),
        ...generated(20, 'numeric', `${computed(40, 'a', '/')} / 99991`),
      ],
    },
    rowsOf(2000, '{"a":1}'),
  ],
];

for (const [name, table, rows] of [...ofNumbers, ...defaults]) {
  test(`${name}: an upload is refused before PostgreSQL computes too many digits`, async () => {
    const created = await measured(() =>
      send('POST', '/table/digits/upload/json', `{"table":${JSON.stringify(table)},"data":[${rows}]}`),
    );
    assertRefused(created);
    assert.equal((await service.post('/table/digits', { table })).status, 201);
    for (const faulty of ['fail', 'leave_out']) {
      const path = `/table/digits/upload/json?if_exists=append&faulty_rows=${faulty}`;
      const answer = await measured(() => send('POST', path, `{"data":[${rows}]}`));
      if (answer.status === 200) assert.equal((answer.body as { loaded_rows: number }).loaded_rows, 0);
      else assertRefused(answer);
    }
  });
}

for (const [name, table, rows] of ofNumbers.filter(([, { constraints }]) => constraints === undefined)) {
  test(`${name}: a table with rows does not get them`, async () => {
    await loadPlain(table, rows);
    const answer = await measured(() => send('PUT', '/table/digits', JSON.stringify({ table })));
    assertRefused(answer);
  });
}

/** Loads rows into a table without the generated columns. */
async function loadPlain(table: Table, rows: string): Promise<void> {
  const plain = { columns: table.columns.filter((column) => column.generated === undefined) };
  const body = `{"table":${JSON.stringify(plain)},"data":[${rows}]}`;
  const loaded = await send('POST', '/table/digits/upload/json', body);
  assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
}

/** What makes a long number of a short value: the type, the expression and the value. */
const ofTexts: [type: string, expression: string, value: string][] = [
  ['text', 'a::numeric', '"1e131000"'],
  ['json', "(a->>'x')::numeric", '{"x":1e131000}'],
  ['jsonb', "(a->>'x')::numeric", '{"x":"1\\u0065131000"}'],
  ['jsonb', "(a->'x')::numeric", '{"x":1e131000}'],
  ['numeric[]', 'a[1]', '[1e131000]'],
  ['numrange', 'upper(a)', '"[1,1e131000)"'],
  ['text', "replace(a, 'x', '')::numeric", '"1xex131x000"'],
  ['text', "replace(a, 'x', 'e')::numeric", '"1x131000"'],
  ['text', 'substr(a, 2)::numeric', '"x1e131000"'],
  ['text', "('1' || a)::numeric", '"e131000"'],
  ['text', "regexp_replace(a,'[^0-9e]','','g')::numeric", '"1x\\\\e131000"'],
  ['text', "regexp_replace(a,'[^0-9e]','','g')::numeric", '"1x\\"e131000"'],
  ['text[]', "replace(a[1],'x','')::numeric", '"{1x\\\\e131000}"'],
  ['name', 'a::numeric', '"1e131000"'],
  ['uuid', 'left(a::text, 8)::numeric', '"1e131000-0000-0000-0000-000000000000"'],
  ['macaddr', "left(replace(a::text, ':', ''), 8)::numeric", '"1e:13:10:00:00:00"'],
  ['pg_lsn', "replace(a::text,'/','')::numeric", '"1/E131000"'],
  ['point', "regexp_replace(a::text,'[(),]','','g')::numeric", '"(1e+130,100)"'],
  ['int', "('1e' || a::text)::numeric", '131000'],
  ['int', "((a * 1e131::float8)::text || '000')::numeric", '1'],
];
/** Those that a definition cannot have. */
const ofSql: typeof ofTexts = [
  ['jsonb', "((a->>'x')::jsonb->>'y')::numeric", '{"x":"{\\"y\\":\\"1\\\\u0065131000\\"}"}'],
  ['jsonb', "jsonb_path_query_first(a, '$.x * 1')::numeric", '{"x":1e131000}'],
  ['numeric', '10 ^ a', '131000'],
];
const bounded: typeof ofNumbers = [
  ...ofTexts.map(([type, expression, value]): (typeof ofNumbers)[number] => [
    `${expression} of ${type} ${value}`,
    { columns: [...columns({ a: type }), ...generated(20, 'numeric', `${expression} / 99991`)] },
    rowsOf(600, `{"a":${value}}`),
  ]),
  [
    'products of rounded numbers',
    {
      columns: [
        ...columns({ a: 'numeric' }),
        ...generated(300, 'numeric', computed(4, '(round(a, 1000) / 99991)', '*')),
      ],
    },
    rowsOf(900, '{"a":1}'),
  ],
  [
    'texts of numbers',
    { columns: [...columns({ a: 'text' }), ...generated(20, 'text', '(a::numeric / 99991)::text')] },
    rowsOf(3000, '{"a":"1e131000"}'),
  ],
  [
    'many short rows',
    { columns: [...columns({ a: 'name' }), ...generated(20, 'numeric', 'a::numeric / 99991')] },
    rowsOf(30_000, '{"a":"1e131000"}'),
  ],
  [
    'default rows',
    {
      columns: [
        { name: 'a', type: 'text', default: '1e131000' } as { name: string },
        ...generated(20, 'numeric', 'a::numeric / 99991'),
      ],
    },
    rowsOf(1000, '{}'),
  ],
  [
    'checks of intervals',
    {
      columns: columns({ a: 'interval' }),
      constraints: checks(60, "('1' || substr(a::text,4,1) || '131000')::numeric / 99991 > 0"),
    },
    rowsOf(30, '{"a":"1 year"}'),
  ],
  [
    'checks of booleans',
    {
      columns: columns({ a: 'boolean' }),
      constraints: checks(60, "('1' || right(to_json(a)::text,1) || '131000')::numeric / 99991 > 0"),
    },
    rowsOf(30, '{"a":true}'),
  ],
  [
    'checks of a generated text',
    {
      columns: [...columns({ a: 'text', b: 'text' }), ...generated(1, 'text', 'a || b')],
      constraints: checks(20, `${computed(40, 'g0::numeric', '+')} > 0`),
    },
    '{"a":"1e","b":"131000"}',
  ],
];

for (const [name, table, rows] of [...bounded, ...precise]) {
  test(`${name}: PostgreSQL neither holds nor writes much, whether the rows are loaded or not`, async () => {
    const body = (more: object) =>
      `{${JSON.stringify(more).slice(1, -1)}${'table' in more ? ',' : ''}"data":[${rows}]}`;
    const path = '/table/digits/upload/json';
    assertEnded(await measured(() => send('POST', path, body({ table }))));
    await service.database.pool.query('DROP TABLE IF EXISTS digits');
    const made = await service.post('/table/digits', { table });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    for (const more of ['', '&faulty_rows=leave_out'])
      assertEnded(await measured(() => send('POST', `${path}?if_exists=append${more}`, body({}))));
    if (table.constraints !== undefined) return;
    await service.database.pool.query('DROP TABLE digits');
    await loadPlain(table, rowsOf(60, oneOf(rows)));
    assertEnded(await measured(() => send('PUT', '/table/digits', JSON.stringify({ table }))));
  });
}

/** Returns the row that a list of equal rows has, as it is, because JavaScript reads long numbers as Infinity. */
const oneOf = (rows: string) => rows.slice(0, rows.indexOf('},{') + 1) || rows;

for (const [type, expression, value] of ofSql) {
  test(`${expression} of ${type} ${value}: PostgreSQL neither holds nor writes much`, async () => {
    const stored = list(20, (n) => `g${n} numeric GENERATED ALWAYS AS (${expression} / 99991) STORED`);
    await service.database.pool.query(`CREATE TABLE digits (a ${type}, ${stored})`);
    const body = `{"data":[${rowsOf(600, `{"a":${value}}`)}]}`;
    assertEnded(await measured(() => send('POST', '/table/digits/upload/json?if_exists=append', body)));
  });
}

/** Checks that rows were loaded, or refused because of a limit. */
function assertEnded(answer: TestAnswer): void {
  if (answer.status > 201) assertRefused(answer);
}

test('rows with a key are measured', async () => {
  const table = {
    columns: [...columns({ id: 'int', a: 'name' }), ...generated(20, 'numeric', 'a::numeric / 99991')],
    constraints: { primary_key: { name: '', columns: ['id'] } },
  };
  assert.equal((await service.post('/table/digits', { table })).status, 201);
  const rowsWith = (value: string) => list(3000, (id) => `{"id":${id},"a":"${value}"}`).join();
  const path = '/table/digits/upload/json?if_exists=append&on_conflict=update';
  const few = await measured(() => send('POST', path, `{"data":[${rowsWith('2')}]}`));
  assert.equal(few.status, 200, JSON.stringify(few.body));
  assert.equal((few.body as { load: { rows: number } }).load.rows, 3000);
  assertRefused(await measured(() => send('POST', path, `{"data":[${rowsWith('1e131000')}]}`)));
  const { rows } = await service.database.pool.query(
    'SELECT count(*)::int AS count, sum(a::text::int)::int AS sum FROM digits',
  );
  assert.deepEqual(rows[0], { count: 3000, sum: 6000 });
});

for (const expression of [
  'xmlforest(%)',
  'xmlconcat(xmlelement(name a, n), %)',
  'JSON_ARRAY(% RETURNING json)',
]) {
  test(`${expression} of long numbers: PostgreSQL holds little`, async (context) => {
    const parts = list(2000, (index) =>
      expression.startsWith('xmlf')
        ? `n AS a${index}`
        : expression.startsWith('xmlc')
          ? 'xmlelement(name b, n)'
          : 'n',
    );
    const { pool } = service.database;
    const { rows } = await pool.query("SELECT current_setting('server_version_num')::int AS version");
    if (expression.startsWith('JSON') && rows[0].version < 160000)
      return context.skip('PostgreSQL 16 or newer');
    const sql = expression.replace('%', parts.join());
    const type = expression.startsWith('xml') ? 'xml' : 'json';
    await pool.query(`CREATE TABLE digits (n numeric, j ${type} GENERATED ALWAYS AS (${sql}) STORED)`);
    assertEnded(
      await measured(() =>
        send('POST', '/table/digits/upload/json?if_exists=append', '{"data":[{"n":1e131000}]}'),
      ),
    );
    const few = await send('POST', '/table/digits/upload/json?if_exists=append', '{"data":[{"n":1.5}]}');
    assert.equal(few.status, 200, JSON.stringify(few.body));
  });
}

test('rows that refer to later ones are measured, also if they are moved again because of a broken reference', async () => {
  const table = {
    columns: [
      ...columns({ id: 'int', a: 'text', parent: 'int' }),
      ...generated(20, 'numeric', 'a::numeric / 99991'),
    ],
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      foreign_keys: [{ name: '', columns: ['parent'], reference_table: 'digits', reference_columns: ['id'] }],
    },
  };
  const made = await service.post('/table/digits', { table });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const rowsWith = (parents: Record<number, number>) =>
    list(700, (id) => `{"id":${id},"a":"1e131000","parent":${parents[id] ?? null}}`).join();
  for (const more of ['', '&on_conflict=update', '&faulty_rows=leave_out'])
    for (const parents of [{ 0: 699 }, { 0: 699, 690: 999 }]) {
      const path = `/table/digits/upload/json?if_exists=append${more}`;
      assertRefused(await measured(() => send('POST', path, `{"data":[${rowsWith(parents)}]}`)));
    }
});

test('numbers that expressions make of new sequences are not added', async () => {
  await service.database.pool.query(
    'CREATE TABLE digits (id int); INSERT INTO digits SELECT generate_series(1, 800)',
  );
  const table = {
    columns: [
      ...columns({ id: 'integer', a: 'serial' }),
      ...generated(20, 'numeric', "('1e13' || (1000 + mod(a, 70))::text)::numeric / 99991"),
    ],
  };
  assertRefused(await measured(() => send('PUT', '/table/digits', JSON.stringify({ table }))));
});

test('tables with a few indexes of numbers in texts take many short rows', async () => {
  await service.database.pool.query(`CREATE TABLE digits (no text);
    CREATE INDEX ON digits ((no::numeric)); CREATE INDEX ON digits ((no::numeric * 2)); CREATE INDEX ON digits ((no::numeric / 7))`);
  const body = `{"data":[${rowsOf(26_000, '{"no":"7"}')}]}`;
  const answer = await send('POST', '/table/digits/upload/json?if_exists=append', body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
});

test('indexes of long numbers are not made', async () => {
  const table = {
    columns: columns({ a: 'text' }),
    indexes: list(30, (n) => ({ columns: [{ expression: `a::numeric / ${99991 + 2 * n}` }] })),
  };
  const rows = rowsOf(3000, '{"a":"1e4700"}');
  const body = `{"table":${JSON.stringify(table)},"data":[${rows}]}`;
  assertRefused(await measured(() => send('POST', '/table/digits/upload/json', body)));
  const some = `{"table":${JSON.stringify(table)},"data":[{"a":"none"},${rows}]}`;
  assertRefused(await measured(() => send('POST', '/table/digits/upload/json?faulty_rows=leave_out', some)));
  assert.equal((await service.post('/table/digits', { table })).status, 201);
  assertRefused(
    await measured(() => send('POST', '/table/digits/upload/json?if_exists=append', `{"data":[${rows}]}`)),
  );
});

function assertRefused({ status, body }: TestAnswer): void {
  const { code, errors } = body as { code: string; errors?: { code: string }[] };
  const found = `${status} ${JSON.stringify(body).slice(0, 500)}`;
  if (code === 'limit-exceeded') return;
  assert.equal(code, 'invalid-data', found);
  assert.ok(
    errors!.every((error) => error.code === 'too-complex'),
    found,
  );
}

test('ordinary numbers, and ordinary texts that are read as numbers, are loaded', async () => {
  const table = {
    columns: [
      ...columns({ price: 'numeric', count: 'int', raw: 'text', doc: 'jsonb' }),
      { name: 'small', type: 'numeric(12,2)', default: '0' },
      ...generated(8, 'numeric', 'round(price * count * (1 - small / 100) * 1.19, 2)'),
      {
        name: 'eur',
        type: 'numeric',
        generated: "replace(split_part(raw, ' ', 1), ',', '.')::numeric / 100",
      },
      { name: 'net', type: 'numeric', generated: "(doc->>'net')::numeric * 2 + price" },
    ],
    constraints: { checks: [{ expression: 'price >= 0 AND price * count < 1e12' }] },
    indexes: [{ columns: [{ expression: 'price * count' }] }],
  };
  const data = list(30_000, (index) => ({
    price: index / 100,
    count: index % 50,
    raw: `${index},25 EUR`,
    doc: { net: `${index}.5`, text: `Order ${index} delivered 2026-01-01`, hash: '5e1234567890abcdef' },
  }));
  const created = await service.post('/table/ordinary/upload/json', { table, data });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const added = await service.post('/table/ordinary/upload/json?if_exists=append', { data });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  const plain = { ...table, columns: table.columns.slice(0, 5), indexes: [], constraints: {} };
  assert.equal((await service.post('/table/plain/upload/json', { table: plain, data })).status, 201);
  const altered = await send('PUT', '/table/plain', JSON.stringify({ table }));
  assert.equal(altered.status, 200, JSON.stringify(altered.body));
});

test('a number with many digits is loaded if few expressions read it', async () => {
  const table = {
    columns: [...numbers, ...generated(3, 'numeric', 'b + c')],
    constraints: checks(1, 'b > c'),
  };
  const answer = await send(
    'POST',
    '/table/few/upload/json',
    `{"table":${JSON.stringify(table)},"data":[${row}]}`,
  );
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const many = { columns: [...numbers, ...generated(90, 'numeric', 'b + c + b')] };
  const refused = await send(
    'POST',
    '/table/few/upload/json?if_exists=replace',
    `{"table":${JSON.stringify(many)},"data":[${row}]}`,
  );
  const { errors } = assertProblem(refused, 422, 'invalid-data');
  assert.match(
    errors[0]!.detail,
    /because expressions of the table compute with its digits: round the number, or use numeric\(p,s\)$/,
  );
});

const uuid = '5e123456-1e50-4abc-8def-000000000017';
const doc = (index: number, more: object) => ({
  doc: { ...more, text: `Order ${index} delivered 2026-01-01`, id: uuid, hash: '5e1234567890abcdef' },
});
/** Ordinary columns that read numbers from texts. */
const ordinary: [
  types: Record<string, string>,
  type: string,
  expression: string,
  row: (index: number) => object,
][] = [
  [
    { a: 'float8' },
    'numeric',
    'round(a::numeric * a::numeric * 1.19 + a::numeric, 2)',
    (a) => ({ a: a / 3 }),
  ],
  [
    { no: 'text' },
    'numeric',
    "split_part(no,'-',3)::numeric",
    (index) => ({ no: `2026-RE-${10_000 + index}` }),
  ],
  [
    { raw: 'text' },
    'numeric',
    "regexp_replace(raw,'[^0-9.]','','g')::numeric",
    (index) => ({ raw: `${index} pieces of 100 g` }),
  ],
  [
    { raw: 'text' },
    'numeric',
    "replace(split_part(raw,' ',1), ',', '.')::numeric",
    (index) => ({ raw: `${index},25 EUR per 1000` }),
  ],
  [{ raw: 'text' }, 'numeric', "replace(raw, ',', '.')::numeric", (index) => ({ raw: `1,${index}E+005` })],
  [{ c: 'char(12)' }, 'numeric', "nullif(trim(c), '')::numeric", (index) => ({ c: `${index}.25` })],
  [{ a: 'text[]' }, 'numeric', 'a[1]::numeric', (index) => ({ a: [`${index}`, 'hash 5e123456'] })],
  [
    { doc: 'jsonb' },
    'numeric',
    "CASE WHEN jsonb_typeof(doc->'price')='number' THEN (doc->>'price')::numeric END",
    (index) => doc(index, { price: index / 4 }),
  ],
  [
    { doc: 'jsonb' },
    'numeric',
    "((doc->>'whole') || '.' || (doc->>'cents'))::numeric",
    (index) => doc(index, { whole: index, cents: '25' }),
  ],
  [
    { doc: 'jsonb' },
    'numeric(10,2)',
    "coalesce(nullif(replace(doc->>'price', ',', '.'), '')::numeric, 0)",
    (index) => doc(index, { price: `${index},25`, sku: '12E4567', mac: '5e12345' }),
  ],
];

for (const [types, type, expression, row] of ordinary) {
  test(`${expression} into ${type} is computed for ordinary rows`, async () => {
    const table = { columns: [...columns({ id: 'int', ...types }), ...generated(1, type, expression)] };
    const rowsFrom = (start: number, count: number) =>
      list(count, (i) => ({ id: start + i, ...row(start + i) }));
    const load = (path: string, body: object) => service.post(`/table/digits/upload/json${path}`, body);
    const answers = [await load('', { table, data: rowsFrom(0, 3000) })];
    for (const [start, count] of [
      [3000, 3000],
      [6000, 5],
    ] as const)
      answers.push(await load('?if_exists=append', { data: rowsFrom(start, count) }));
    const sums = `SELECT count(*)::int AS count, count(g0)::int AS computed, sum(g0)::text AS sum FROM digits WHERE id < 1200`;
    const { rows: before } = await service.database.pool.query(sums);
    await service.database.pool.query('DELETE FROM digits WHERE id >= 1200; ALTER TABLE digits DROP g0');
    answers.push(await send('PUT', '/table/digits', JSON.stringify({ table })));
    for (const { status, body } of answers) assert.ok(status <= 201, JSON.stringify(body));
    const { rows: after } = await service.database.pool.query(sums);
    assert.deepEqual(after, before);
    assert.equal(after[0].computed, 1200);
  });
}
