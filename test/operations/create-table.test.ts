/** Create Table and the description of a table, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { rawRequest } from '../support/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE SCHEMA sales');
  await service.rows('CREATE SCHEMA elsewhere');
});
after(() => service.stop());

/** A definition with every field of the request's `table`. */
const orders = {
  columns: [
    { name: 'id', type: 'bigserial', is_nullable: false, default: null },
    { name: 'number', type: 'varchar(20)', is_nullable: false, default: null },
    { name: 'line', type: 'int', is_nullable: false, default: '1' },
    { name: 'customer_id', type: 'bigint', is_nullable: true, default: null },
    { name: 'shop', type: 'text', is_nullable: true, default: null },
    { name: 'shelf', type: 'integer', is_nullable: true, default: null },
    { name: 'amount', type: 'numeric(12,2)', is_nullable: false, default: '0' },
    { name: 'status', type: 'text', is_nullable: false, default: 'pending' },
    { name: 'created_at', type: 'timestamptz', is_nullable: false, default: 'now()' },
  ],
  constraints: {
    unique: [
      { name: 'orders_number', columns: ['number', 'line'] },
      { name: '', columns: ['created_at'] },
      { name: '', columns: [] },
    ],
    primary_key: { name: 'orders_pk', columns: ['id'] },
    foreign_keys: [
      {
        name: 'orders_customer',
        column: 'customer_id',
        reference_table: 'customers',
        reference_column: 'id',
      },
      {
        name: 'orders_place',
        column: 'shop',
        reference_table: 'places',
        reference_column: 'shop',
        reference_schema: 'sales',
      },
      {
        name: 'orders_place',
        column: 'shelf',
        reference_table: 'places',
        reference_column: 'shelf',
        reference_schema: 'sales',
      },
    ],
  },
};

const described = {
  name: 'orders',
  schema: 'public',
  columns: [
    { id: 1, name: 'id', type: 'bigserial', is_nullable: false, default: null },
    { id: 2, name: 'number', type: 'character varying(20)', is_nullable: false, default: null },
    { id: 3, name: 'line', type: 'integer', is_nullable: false, default: '1' },
    { id: 4, name: 'customer_id', type: 'bigint', is_nullable: true, default: null },
    { id: 5, name: 'shop', type: 'text', is_nullable: true, default: null },
    { id: 6, name: 'shelf', type: 'integer', is_nullable: true, default: null },
    { id: 7, name: 'amount', type: 'numeric(12,2)', is_nullable: false, default: "'0'::numeric" },
    { id: 8, name: 'status', type: 'text', is_nullable: false, default: "'pending'::text" },
    { id: 9, name: 'created_at', type: 'timestamp with time zone', is_nullable: false, default: 'now()' },
  ],
  constraints: {
    unique: [
      { name: 'orders_number', columns: ['number', 'line'] },
      { name: 'orders_created_at_key', columns: ['created_at'] },
    ],
    primary_key: { name: 'orders_pk', columns: ['id'] },
    foreign_keys: [
      {
        name: 'orders_customer',
        column: 'customer_id',
        reference_table: 'customers',
        reference_column: 'id',
        reference_schema: 'public',
      },
      {
        name: 'orders_place',
        column: 'shop',
        reference_table: 'places',
        reference_column: 'shop',
        reference_schema: 'sales',
      },
      {
        name: 'orders_place',
        column: 'shelf',
        reference_table: 'places',
        reference_column: 'shelf',
        reference_schema: 'sales',
      },
    ],
  },
};

suite('a definition with every field', () => {
  before(async () => {
    await service.rows('CREATE TABLE customers (id bigint PRIMARY KEY)');
    await service.rows('CREATE TABLE sales.places (shop text, shelf integer, UNIQUE (shop, shelf))');
  });

  test('a definition with every field is created, and the answer has every field', async () => {
    const answer = await service.post('/table/orders', { table: orders });
    assert.equal(answer.status, 201);
    assert.match(answer.headers.get('content-type')!, /^application\/json/);
    assert.equal(answer.headers.get('location'), '/api/v1/table/orders?schema=public');
    assert.deepEqual(answer.body, { table: described });
  });

  test('a definition with every field is described at the URL in Location', async () => {
    const answer = await service.get('/api/v1/table/orders?schema=public');
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { table: described });
  });

  test('a definition with every field is the table in PostgreSQL', async () => {
    await service.rows('INSERT INTO customers VALUES (7)');
    await service.rows("INSERT INTO sales.places VALUES ('north', 1)");
    const [row] = await service.rows(
      `INSERT INTO orders (number, customer_id, shop, shelf) VALUES ('A1', 7, 'north', 1)
       RETURNING id, line, amount, status, created_at = now() AS is_now`,
    );
    assert.deepEqual(row, { id: '1', line: 1, amount: '0.00', status: 'pending', is_now: true });
    for (const [sqlstate, insert] of [
      ['23505', "(number) VALUES ('A1')"],
      ['23503', "(number, customer_id) VALUES ('A2', 8)"],
      ['23503', "(number, shop, shelf) VALUES ('A3', 'north', 2)"],
      ['22001', `(number) VALUES ('${'x'.repeat(21)}')`],
      ['23502', "(number, amount) VALUES ('A4', NULL)"],
    ]) {
      await assert.rejects(service.rows(`INSERT INTO orders ${insert}`), { code: sqlstate });
    }
  });

  test('an answer that is sent again creates an equal table', async () => {
    const inOther = await service.post('/table/orders?schema=elsewhere', { table: described });
    assert.equal(inOther.status, 201);
    assert.deepEqual(inOther.body, { table: { ...described, schema: 'elsewhere' } });

    await service.rows('DROP TABLE orders');
    const again = await service.post('/table/orders', { table: described });
    assert.equal(again.status, 201);
    assert.deepEqual(again.body, { table: described });
  });
});

suite('optional parts of a definition', () => {
  const plain = { name: 'a', type: 'text' };
  const column = { id: 1, name: 'a', type: 'text', is_nullable: true, default: null };
  const none = { unique: [], primary_key: { name: '', columns: [] }, foreign_keys: [] };

  const tables: [string, object][] = [
    ['nothing but names and types', { columns: [plain] }],
    ['constraints null', { columns: [plain], constraints: null }],
    ['constraints empty', { columns: [plain], constraints: {} }],
    [
      'constraints in their initial shapes',
      {
        columns: [plain],
        constraints: {
          unique: [{ name: '', columns: [] }],
          primary_key: { name: '', columns: [] },
          foreign_keys: [],
        },
      },
    ],
    [
      'each constraint null',
      {
        columns: [plain],
        constraints: { unique: null, primary_key: null, foreign_keys: null },
      },
    ],
    ['defaults of the fields said', { columns: [{ ...plain, is_nullable: true, default: null }] }],
    ['fields of the answer, ignored', { name: 'x', schema: 'y', columns: [{ ...plain, id: 77 }] }],
  ];
  for (const [index, [title, table]] of tables.entries()) {
    test(title, async () => {
      const answer = await service.post(`/table/short_${index}`, { table });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      const expected = { name: `short_${index}`, schema: 'public', columns: [column], constraints: none };
      assert.deepEqual(answer.body, { table: expected });
    });
  }

  test('empty constraint names become the names that PostgreSQL would choose', async () => {
    const answer = await service.post('/table/named', {
      table: {
        columns: [
          { name: 'a', type: 'integer' },
          { name: 'b', type: 'integer' },
          { name: 'parent', type: 'integer' },
        ],
        constraints: {
          unique: [{ name: '', columns: ['b'] }],
          primary_key: { name: '', columns: ['a'] },
          foreign_keys: [{ name: '', column: 'parent', reference_table: 'named', reference_column: 'a' }],
        },
      },
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(answer.body.table.constraints, {
      unique: [{ name: 'named_b_key', columns: ['b'] }],
      primary_key: { name: 'named_pkey', columns: ['a'] },
      foreign_keys: [
        {
          name: 'named_parent_fkey',
          column: 'parent',
          reference_table: 'named',
          reference_column: 'a',
          reference_schema: 'public',
        },
      ],
    });
    assert.equal(answer.body.table.columns[0].is_nullable, false, 'a key’s column is never nullable');
  });
});

suite('names', () => {
  for (const name of [
    'Order Lines',
    'select',
    'naïve 🙂 "quoted"',
    "O'Brien; DROP TABLE x",
    '%41',
    'a/b',
    'x'.repeat(63),
  ]) {
    test(`${name} is used exactly as written`, async () => {
      const path = `/table/${encodeURIComponent(name)}?schema=sales`;
      const made = await service.post(path, { table: { columns: [{ name, type: 'text' }] } });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      assert.equal(made.body.table.name, name);
      assert.equal(made.body.table.columns[0].name, name);
      const found = await service.get(made.headers.get('location')!);
      assert.deepEqual(found.body, made.body);
      const rows = await service.rows(
        "SELECT to_regclass('sales.' || quote_ident($1)) IS NOT NULL AS is_there",
        [name],
      );
      assert.deepEqual(rows, [{ is_there: true }]);
    });
  }

  for (const name of ['.', '..']) {
    test(`"${name}" is refused, because a client could not use its URL`, async () => {
      // `fetch` would not send it.
      const request = `POST /api/v1/table/${name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${await service.token()}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
      const { errors } = assertProblem(await rawRequest(service.url, request), 422, 'invalid-parameter');
      assert.equal(errors[0]!.code, 'invalid-name');
    });
  }

  test('a default of a text column that looks like SQL gives a warning, but not if it is in quotes', async () => {
    const suspicious = [
      'NULL',
      'gen_random_uid()',
      'nw()',
      'CURENT_USER',
      "lower('X')",
      'ARRAY[]::text[]',
      "now() + '1 day'",
      'CURRENT_DATE + 1',
      '(SELECT 1)',
      "'a' || 'b'",
      '0::text',
    ];
    const plain = ['user', 'order', 'Unknown (yet)', 'now', "O'Brien", "'nw()'", 'now()', 'CURRENT_USER', ''];
    const columns = [...suspicious, ...plain].map((value, i) => ({
      name: `c${i}`,
      type: 'text',
      default: value,
    }));
    const made = await service.post('/table/text_defaults', { table: { columns } });
    assert.equal(made.status, 201);
    assert.deepEqual(
      made.body.warnings.map(({ code, column }: { code: string; column: string }) => `${code} ${column}`),
      suspicious.map((_, i) => `text-default c${i}`),
    );
    assert.match(
      made.body.warnings[3].detail,
      /^The default looks like SQL but is stored as the text CURENT_USER\. Did you mean CURRENT_USER\? If you mean the text, send it in quotes: 'CURENT_USER'\.$/,
    );
    const table = { columns: [{ name: 'a', type: 'varchar(20)', default: 'nw()' }] };
    const body = { table, data: [{ a: 'x' }] };
    const loaded = await service.post('/table/text_defaults_loaded/upload/json', body);
    assert.equal(loaded.body.load.warnings[0].code, 'text-default');
    const again = await service.post('/table/text_defaults_loaded/upload/json?if_exists=append', body);
    assert.deepEqual(again.body.load.warnings, [], 'the table exists');
  });

  test('a table that is not found is answered with tables of a similar name that the role may use', async () => {
    const table = { columns: [{ name: 'a', type: 'text' }] };
    await service.post('/table/shoppers', { table });
    const { detail } = assertProblem(await service.get('/table/SHOPPERS'), 404, 'table-not-found');
    assert.equal(detail, 'There is no table "SHOPPERS" in the schema "public". Did you mean "shoppers"?');
  });

  test('a separate length is refused with the type to write instead', async () => {
    const table = { columns: [{ name: 'a', type: 'varchar', length: 5 }] };
    const { errors } = assertProblem(
      await service.post('/table/with_length', { table }),
      422,
      'invalid-definition',
    );
    assert.equal(
      errors[0]!.detail,
      '"length" is not known here. A length is part of the type: write "varchar(5)".',
    );
  });

  test('a name like schema.table gives a warning, or a hint if there is no such table', async () => {
    const table = { columns: [{ name: 'a', type: 'text' }] };
    const made = await service.post('/table/sales.dotted', { table });
    assert.equal(made.status, 201);
    const detail =
      'The dot is part of the name of this table, "public"."sales.dotted". To make "dotted" in the schema "sales", send the table name "dotted" and schema=sales.';
    assert.deepEqual(made.body.warnings, [{ code: 'dotted-name', detail }]);
    const loaded = await service.post('/table/sales.loaded/upload/json', { table, data: [{ a: 'x' }] });
    assert.deepEqual(
      loaded.body.load.warnings.map(({ code }: { code: string }) => code),
      ['dotted-name'],
    );
    assert.equal(
      (await service.post('/table/2026.dotted', { table })).body.warnings,
      undefined,
      'no such schema',
    );
    const token = await service.token({ schemas: ['public'] });
    const narrow = await service.post('/table/sales.hidden', { table }, { token });
    assert.equal(narrow.status, 201);
    assert.equal(narrow.body.warnings, undefined, 'a schema that the token may not see');
    const missing = assertProblem(await service.get('/table/sales.missing'), 404, 'table-not-found');
    assert.match(
      missing.detail,
      /For "missing" in the schema "sales", send the table name "missing" and schema=sales\.$/,
    );
  });

  const faulty: [string, string, string][] = [
    ['a name of 64 bytes', `/table/${'x'.repeat(64)}`, 'table_name'],
    ['a name of 66 bytes in 33 characters', `/table/${encodeURIComponent('é'.repeat(33))}`, 'table_name'],
    ['a name with NUL', '/table/a%00b', 'table_name'],
    ['an empty schema', '/table/a?schema=', 'schema'],
    ['a schema of 64 bytes', `/table/a?schema=${'x'.repeat(64)}`, 'schema'],
  ];
  for (const [title, path, parameter] of faulty) {
    test(`${title} is refused`, async () => {
      const answer = await service.post(path, { table: { columns: [{ name: 'a', type: 'text' }] } });
      const { errors } = assertProblem(answer, 422, 'invalid-parameter');
      assert.equal(errors[0]!.parameter, parameter);
    });
  }
});

suite('an existing table', () => {
  const table = {
    columns: [
      { name: 'a', type: 'integer', is_nullable: false },
      { name: 'b', type: 'text', default: 'x' },
    ],
    constraints: { primary_key: { name: '', columns: ['a'] } },
  };
  before(async () => {
    await service.post('/table/existing', { table });
    await service.rows('INSERT INTO existing VALUES (1)');
  });

  test('an existing table is not created again', async () => {
    const { detail } = assertProblem(await service.post('/table/existing', { table }), 409, 'table-exists');
    assert.equal(
      detail,
      'Table "public"."existing" already exists. Send if_not_exists=true, or use another name.',
    );
    const loaded = assertProblem(
      await service.post('/table/existing/upload/json', { data: [{ a: 1 }] }),
      409,
      'table-exists',
    );
    assert.equal(
      loaded.detail,
      'Table "public"."existing" already exists. Send if_exists=append, truncate or replace, or use another name.',
    );
    assertProblem(await service.post('/table/existing?if_not_exists=false', { table }), 409, 'table-exists');
  });

  test('an existing table is described unchanged with if_not_exists', async () => {
    const answer = await service.post('/table/existing?if_not_exists=true', { table });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.differences, []);
    assert.deepEqual(answer.body.table, (await service.get('/table/existing')).body.table);
  });

  test('an existing table is unchanged, and its differences from another definition are reported', async () => {
    const other = {
      columns: [
        { name: 'a', type: 'bigint', is_nullable: false },
        { name: 'b', type: 'text' },
        { name: 'c', type: 'date' },
      ],
    };
    const before = await service.get('/table/existing');
    const answer = await service.post('/table/existing?if_not_exists=true', { table: other });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.table, before.body.table);
    assert.deepEqual(answer.body.differences, [
      'the column "a" is of type integer, not bigint',
      `the column "b" has the default 'x'::text`,
      'the table has no column "c"',
      'the table has a primary key',
    ]);
    assert.deepEqual(await service.rows('SELECT * FROM existing'), [{ a: 1, b: 'x' }]);
  });

  test('a create with if_not_exists creates the table if it does not exist', async () => {
    const answer = await service.post('/table/not_existing?if_not_exists=true', { table });
    assert.equal(answer.status, 201);
    assert.equal('differences' in answer.body, false);
  });

  test('a view with the name is refused with table-exists', async () => {
    await service.rows('CREATE VIEW existing_view AS SELECT 1 AS one');
    const { detail } = assertProblem(
      await service.post('/table/existing_view?if_not_exists=true', { table }),
      409,
      'table-exists',
    );
    assert.match(detail, /^View "public"\."existing_view" already exists\. .*Use another name\.$/);
    assertProblem(await service.get('/table/existing_view'), 404, 'table-not-found');
  });

  test('exactly one of two creations at the same moment creates the table', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => service.post('/table/raced', { table })));
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409, 409]);
    for (const answer of answers.filter(({ status }) => status === 409))
      assertProblem(answer, 409, 'table-exists');
  });
});

suite('ids of columns', () => {
  test('ids of columns are kept when a column is renamed, and are never used again', async () => {
    const table = {
      columns: [
        { name: 'a', type: 'text' },
        { name: 'b', type: 'text' },
      ],
    };
    await service.post('/table/ids', { table });
    await service.rows('ALTER TABLE ids RENAME a TO renamed');
    await service.rows('ALTER TABLE ids DROP b');
    await service.rows('ALTER TABLE ids ADD c text');
    const { body } = await service.get('/table/ids');
    assert.deepEqual(
      body.table.columns.map(({ id, name }: { id: number; name: string }) => [id, name]),
      [
        [1, 'renamed'],
        [3, 'c'],
      ],
    );
  });
});

suite('invalid definitions', () => {
  const a = { name: 'a', type: 'integer' };
  const cases: [string, unknown, string][] = [
    ['no columns', { columns: [] }, '/table/columns'],
    ['columns missing', {}, '/table/columns'],
    ['columns not an array', { columns: { a: 'text' } }, '/table/columns'],
    ['a column that is no object', { columns: ['a'] }, '/table/columns/0'],
    ['a name missing', { columns: [{ type: 'text' }] }, '/table/columns/0/name'],
    ['a name empty', { columns: [{ name: '', type: 'text' }] }, '/table/columns/0/name'],
    ['a name of 64 bytes', { columns: [{ name: 'x'.repeat(64), type: 'text' }] }, '/table/columns/0/name'],
    ['a name twice', { columns: [a, a] }, '/table/columns/1/name'],
    ['a type missing', { columns: [{ name: 'a' }] }, '/table/columns/0/type'],
    ['a type unknown', { columns: [{ name: 'a', type: 'intejer' }] }, '/table/columns/0/type'],
    ['a pseudo-type', { columns: [{ name: 'a', type: 'record' }] }, '/table/columns/0/type'],
    ['SQL as type', { columns: [{ name: 'a', type: 'text); DROP TABLE x; --' }] }, '/table/columns/0/type'],
    ['is_nullable as text', { columns: [{ ...a, is_nullable: 'yes' }] }, '/table/columns/0/is_nullable'],
    ['a default that is no text', { columns: [{ ...a, default: [0] }] }, '/table/columns/0/default'],
    ['a default that does not fit', { columns: [{ ...a, default: 'many' }] }, '/table/columns/0/default'],
    ['a misspelled field', { columns: [{ ...a, nullable: false }] }, '/table/columns/0/nullable'],
    ['a misspelled constraint', { columns: [a], constraints: { uniq: [] } }, '/table/constraints/uniq'],
    [
      'a key over a missing column',
      { columns: [a], constraints: { primary_key: { name: '', columns: ['b'] } } },
      '/table/constraints/primary_key/columns/0',
    ],
    [
      'a named key without columns',
      { columns: [a], constraints: { unique: [{ name: 'u', columns: [] }] } },
      '/table/constraints/unique/0/columns',
    ],
    [
      'a foreign key to a missing table',
      {
        columns: [a],
        constraints: {
          foreign_keys: [{ name: '', column: 'a', reference_table: 'gone', reference_column: 'id' }],
        },
      },
      '/table/constraints/foreign_keys/0/reference_table',
    ],
  ];
  for (const [title, table, pointer] of cases) {
    test(title, async () => {
      const answer = await service.post('/table/wrong', { table });
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      assert.deepEqual(
        errors.map((error) => error.pointer),
        [pointer],
      );
      assertProblem(await service.get('/table/wrong'), 404, 'table-not-found');
    });
  }

  test('all errors are reported in one answer', async () => {
    const table = {
      columns: [{ name: 'a', type: 'nonesuch' }, { name: '' }, { name: 'c', type: 'date', default: 'soon' }],
      constraints: { primary_key: { name: '', columns: ['missing'] } },
    };
    const { errors, error_count: count } = assertProblem(
      await service.post('/table/wrong', { table }),
      422,
      'invalid-definition',
    );
    assert.deepEqual(errors.map((error) => error.pointer).sort(), [
      '/table/columns/0/type',
      '/table/columns/1/name',
      '/table/columns/1/type',
      '/table/columns/2/default',
      '/table/constraints/primary_key/columns/0',
    ]);
    assert.equal(count, 5);
  });

  const bodies: [string, unknown, RegExp][] = [
    ['table missing', {}, /`table` is missing/],
    ['table null', { table: null }, /`table` is missing/],
    ['a body that is an array', [], /must be an object/],
    [
      'rows beside the table',
      { table: { columns: [a] }, data: [] },
      /"data"; only "table" is known here\. Send rows to upload\/json/,
    ],
    [
      'an unknown field beside the table',
      { table: { columns: [a] }, tabel: {} },
      /"tabel"; only "table" is known here\.$/,
    ],
  ];
  for (const [title, body, expected] of bodies) {
    test(title, async () => {
      const { detail } = assertProblem(await service.post('/table/wrong', body), 422, 'invalid-definition');
      assert.match(detail, expected);
    });
  }
});

suite('the detail of a single error', () => {
  const errorOf = async (table: unknown, options = {}) =>
    assertProblem(await service.post('/table/nothing_made', { table }, options), 422, 'invalid-definition')
      .detail;

  test('the detail of a single error is a complete sentence', async () => {
    assert.equal(
      await errorOf({ columns: [{ name: 'a', type: 7 }] }),
      'The value at /table/columns/0/type must be a string, not a number: a PostgreSQL type such as text, bigint or numeric(12,2)',
    );
    assert.equal(
      await errorOf({ columns: [{ name: 'a', type: 'txt' }] }),
      'At /table/columns/0/type: there is no type "txt". Did you mean "text"?',
    );
  });

  test('the detail of a single error for an empty body names only members that the body may have', async () => {
    const answer = await service.request('POST', '/table/nothing_made', {
      headers: { 'content-type': 'application/json' },
      body: '',
    });
    assert.equal(
      assertProblem(answer, 400, 'invalid-json').detail,
      'The body is empty; expected an object that holds "table".',
    );
  });

  test('suggests a referenced table of another schema or case if the token may see it', async () => {
    await service.rows(
      'CREATE TABLE sales.regional_totals (a integer PRIMARY KEY); CREATE TABLE "Found_Here" (a integer PRIMARY KEY)',
    );
    const referring = (reference_table: string) => ({
      columns: [{ name: 'a', type: 'integer' }],
      constraints: { foreign_keys: [{ column: 'a', reference_table, reference_column: 'a' }] },
    });
    assert.match(await errorOf(referring('regional_totals')), /Did you mean "sales"\."regional_totals"\?$/);
    assert.match(await errorOf(referring('found_here')), /Did you mean "public"\."Found_Here"\?$/);
    assert.match(await errorOf(referring('Found_Hree')), /Did you mean "public"\."Found_Here"\?$/);
    const token = await service.token({ schemas: ['public'] });
    assert.match(
      await errorOf(referring('regional_totals'), { token }),
      /there is no table "public"\."regional_totals"\.$/,
    );
  });
});

suite('schemas', () => {
  const table = { columns: [{ name: 'a', type: 'text' }] };

  test('a table is created in the schema public by default', async () => {
    const answer = await service.post('/table/in_public', { table });
    assert.equal(answer.body.table.schema, 'public');
    assert.equal((await service.get('/table/in_public?schema=public')).status, 200);
    assertProblem(await service.get('/table/in_public?schema=sales'), 404, 'table-not-found');
  });

  test('a schema that does not exist is refused', async () => {
    assertProblem(await service.post('/table/a?schema=nowhere', { table }), 404, 'schema-not-found');
    assertProblem(await service.get('/table/a?schema=nowhere'), 404, 'schema-not-found');
  });
});

test('a JSON number or boolean as a default is its text, with every digit', async () => {
  const columns = [
    '{"name":"n","type":"numeric","default":12345678901234567890.120}',
    '{"name":"z","type":"integer","default":0}',
    '{"name":"b","type":"boolean","default":false}',
    '{"name":"t","type":"text","default":1.50}',
  ];
  const body = `{"table":{"columns":[${columns.join()}]}}`;
  const headers = { 'content-type': 'application/json' };
  const created = await service.request('POST', '/table/plain_defaults', { body, headers });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const loaded = await service.request('POST', '/table/plain_defaults_2/upload/json', { body, headers });
  assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
  for (const name of ['plain_defaults', 'plain_defaults_2']) {
    await service.rows(`INSERT INTO ${name} DEFAULT VALUES`);
    assert.deepEqual(await service.rows(`SELECT n::text, z, b, t FROM ${name}`), [
      { n: '12345678901234567890.120', z: 0, b: false, t: '1.50' },
    ]);
  }
});

test('a JSON body in another charset than UTF-8 is refused', async () => {
  const body = '{"table":{"columns":[{"name":"a","type":"int"}]}}';
  for (const charset of ['iso-8859-1', '"UTF-16"', 'latin1']) {
    for (const path of ['/table/other_charset', '/table/other_charset/upload/json']) {
      const headers = { 'content-type': `application/json; charset=${charset}` };
      const answer = await service.request('POST', path, { body, headers });
      const { detail } = assertProblem(answer, 415, 'unsupported-media-type');
      assert.match(detail, /UTF-8/);
    }
  }
  for (const [index, charset] of ['utf-8', '"UTF-8"', 'utf8'].entries()) {
    const headers = { 'content-type': `application/json; charset=${charset}` };
    assert.equal((await service.request('POST', `/table/charset_${index}`, { body, headers })).status, 201);
  }
});
