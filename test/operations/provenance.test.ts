/** `provenance`: columns that say where each row came from, whatever way the rows take into the table. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { endOf } from '../support/load-ends.ts';
import { assertProblem } from '../support/problem.ts';
import { type RandomNumbers, randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';
import { warningsOf } from '../support/uploads.ts';
import { type CellSpec, sheetXml } from '../support/workbook.ts';
import { buildWorkbook, buildZip } from '../support/xlsx-builder.ts';

let service: TestService;
/** The role of some tokens. It owns nothing. */
const role = `origin_${randomBytes(6).toString('hex')}`;

before(async () => {
  service = await startTestService();
  const [{ name } = {}] = await service.rows('SELECT current_user AS name');
  await service.rows(
    `CREATE ROLE ${role}; GRANT ${role} TO "${name}"; GRANT USAGE ON SCHEMA public TO ${role}`,
  );
});
after(async () => {
  await service?.rows(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await service?.stop();
});

const nextTable = tableNames('origin');
const origins = 'load_id:_load,loaded_at:_at,source_file:_file,source_sheet:_sheet,source_row:_row';
const all = `provenance=${origins}`;
const originColumns = '_load uuid, _at timestamptz, _file text, _sheet text, _row bigint';

const sendJson = (table: string, query: string, body: unknown, headers = {}): Promise<TestAnswer> =>
  service.post(`/table/${table}/upload/json?${all}&${query}`, body, { headers });

function sendFile(table: string, query: string, file: Buffer | string, name = 'in.csv', body?: unknown) {
  const form = new FormData();
  form.append('file', new Blob([Buffer.from(file as string) as Uint8Array<ArrayBuffer>]), name);
  if (body !== undefined) form.append('body', JSON.stringify(body));
  return service.request('POST', `/table/${table}/upload/excel?${query}`, { body: form });
}

/** Asserts the origin of each row of the load. The column `n` has the row in which it was sent. */
async function assertOrigins(
  answer: TestAnswer,
  table: string,
  rows: readonly number[],
  [file, sheet]: [string | null, string | null] = [null, null],
): Promise<void> {
  assert(answer.status < 300, JSON.stringify(answer.body));
  const id = answer.headers.get('load-id');
  const { body: load } = await service.get(`/api/v1/loads/${id}`);
  const found = await service.rows(
    `SELECT n::text, _row::text AS row, _load::text AS load, _at AS at, _file AS file, _sheet AS sheet FROM "${table}" WHERE _load = $1 ORDER BY _row`,
    [id],
  );
  const at = new Date(load.started_at);
  assert.deepEqual(
    found,
    rows.map((n) => ({ n: `${n}`, row: `${n}`, load: id, at, file, sheet })),
  );
}

const data = [1, 2, 3].map((n) => ({ n, a: `x${n}` }));
const withDefault = [{ n: 1, a: 'x' }, { n: 2 }, { a: 'y', n: 3 }];
const columns = [
  { name: 'n', type: 'integer' },
  { name: 'a', type: 'text' },
];
const bad = [{ n: 1, a: 'x1' }, { n: 'no' }, { n: 3, a: 'x3' }];
const leaveOut = 'if_exists=append&faulty_rows=leave_out';

/** The ways of rows into a table: [what, the table before, the query, the body, the rows that are loaded]. */
const ways: [what: string, before: string, query: string, body: object, rows: number[]][] = [
  ['a new table with inferred types', '', '', { data }, [1, 2, 3]],
  ['a new table with a primary key', '', 'primary_key=n', { data }, [1, 2, 3]],
  ['a new table with a definition', '', '', { table: { columns }, data }, [1, 2, 3]],
  ['a definition after the rows', '', '', { data, table: { columns } }, [1, 2, 3]],
  ['a definition with some columns', '', 'extra_columns=add', { table: { columns: [] }, data }, [1, 2, 3]],
  ['all inferred columns text', '', 'all_text=true', { data }, [1, 2, 3]],
  ['straight COPY', `n int, a text, ${originColumns}`, 'if_exists=append', { data }, [1, 2, 3]],
  ['columns that are added', 'n int, a text', 'if_exists=append', { data }, [1, 2, 3]],
  [
    'columns that are added to a full table',
    'n int',
    'if_exists=append&extra_columns=add',
    { data },
    [1, 2, 3],
  ],
  [
    'rows of several shapes',
    `n serial, a text DEFAULT now()::text, ${originColumns}`,
    'if_exists=append',
    { data: withDefault },
    [1, 2, 3],
  ],
  [
    'truncate',
    `n int, a text, ${originColumns}`,
    'if_exists=truncate',
    { table: { columns }, data },
    [1, 2, 3],
  ],
  ['replace', 'n int, b text', 'if_exists=replace', { data }, [1, 2, 3]],
  [
    'skip',
    `n int PRIMARY KEY, a text, ${originColumns}`,
    'if_exists=append&on_conflict=skip',
    { data: [...data, ...data] },
    [1, 2, 3],
  ],
  [
    'update',
    `n int PRIMARY KEY, a text, ${originColumns}`,
    'if_exists=append&on_conflict=update',
    { data },
    [1, 2, 3],
  ],
  [
    'a type that is read from text',
    `n int, a tsquery, ${originColumns}`,
    'if_exists=append',
    { data },
    [1, 2, 3],
  ],
  ['cells with problems are left out', `n int, a text, ${originColumns}`, leaveOut, { data: bad }, [1, 3]],
  ['judged rows are left out', `n int CHECK (n <> 2), a text, ${originColumns}`, leaveOut, { data }, [1, 3]],
  [
    'a new table with judged keys',
    '',
    'faulty_rows=leave_out&primary_key=a',
    { data: [...data, { n: 4, a: 'x1' }] },
    [1, 2, 3],
  ],
  [
    'an integer for the row',
    `_row int, n int, a text, _load uuid, _at timestamptz, _file text, _sheet text`,
    'if_exists=append',
    { data },
    [1, 2, 3],
  ],
  [
    'wider types',
    `n smallint, a varchar(1), ${originColumns}`,
    'if_exists=append&misfits=widen',
    { data },
    [1, 2, 3],
  ],
  ['flattened objects', '', 'flatten=true', { data: data.map(({ n, a }) => ({ n, o: { a } })) }, [1, 2, 3]],
  [
    'values=natural',
    '',
    'values=natural',
    { data: data.map(({ n }) => ({ n, day: '3 May 2026' })) },
    [1, 2, 3],
  ],
];

suite('rows of JSON', () => {
  for (const [what, columns, query, body, rows] of ways)
    for (const headers of [{}, { prefer: 'respond-async' }])
      test(`${what}${'prefer' in headers ? ', later' : ''}`, async () => {
        const table = nextTable();
        if (columns) await service.rows(`CREATE TABLE ${table} (${columns})`);
        const answer = await sendJson(table, query, body, headers);
        if (answer.status !== 202) return assertOrigins(answer, table, rows);
        const { state, answer: kept } = await endOf(service, answer.body.id);
        assert.equal(state, 'committed', JSON.stringify(kept));
        await assertOrigins(answer, table, rows);
      });

  test('lines, with the number of the line', async () => {
    const table = nextTable();
    const answer = await service.request('POST', `/table/${table}/upload/json?${all}`, {
      headers: { 'content-type': 'application/x-ndjson' },
      body: '{"n":1}\n\n{"n":3}\n',
    });
    await assertOrigins(answer, table, [1, 3]);
  });

  test('a table with partitions, and one with row-level security', async () => {
    const table = nextTable();
    await service.rows(`CREATE TABLE ${table} (n int, ${originColumns}) PARTITION BY RANGE (_at);
      CREATE TABLE ${table}_all PARTITION OF ${table} DEFAULT`);
    await assertOrigins(await sendJson(table, 'if_exists=append', { data: [{ n: 1 }] }), table, [1]);
    const guarded = nextTable();
    await service.rows(`CREATE TABLE ${guarded} (n int, a text, ${originColumns}); GRANT ALL ON ${guarded} TO ${role};
      ALTER TABLE ${guarded} ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON ${guarded} USING (true)`);
    const token = await service.token({ role });
    const path = `/table/${guarded}/upload/json?${all}&if_exists=append`;
    await assertOrigins(await service.post(path, { data }, { token }), guarded, [1, 2, 3]);
  });

  test('a dry run changes nothing, and shows the columns', async () => {
    const table = nextTable();
    await service.rows(`CREATE TABLE ${table} (n int)`);
    const { status, body } = await sendJson(table, 'if_exists=append&dry_run=true', { data: [{ n: 1 }] });
    assert.equal(status, 200);
    const shown = body.table.columns.map(
      ({ name, type }: { name: string; type: string }) => `${name} ${type}`,
    );
    assert.deepEqual(
      shown.slice(1).join(', '),
      originColumns.replace('timestamptz', 'timestamp with time zone'),
    );
    assert.match(warningsOf({ body } as TestAnswer).join(), /added-column: The table had no column "_load"/);
    const { body: after } = await service.get(`/table/${table}`);
    assert.deepEqual(after.table.columns.length, 1);
  });

  test('an update moves the origin of the rows that it changes, and no other upload changes it', async () => {
    const table = nextTable();
    const first = await sendJson(table, 'primary_key=n', { data });
    const changes = [{ n: 9 }, { n: 9 }, { n: 9 }, { n: 2, a: 'new' }, data[2]];
    const second = await sendJson(table, 'if_exists=append&on_conflict=update', { data: changes });
    assert.equal(second.body.load.unchanged, 3);
    const path = `/table/${table}/upload/json?if_exists=append`;
    assert.equal((await service.post(path, { data: [{ n: 7 }] })).status, 200);
    const found = await service.rows(
      `SELECT n::int, _load AS load, _row::int AS row FROM ${table} ORDER BY n`,
    );
    const [one, two] = [first, second].map(({ headers }) => headers.get('load-id'));
    assert.deepEqual(
      found.map(({ n, load, row }) => [n, load, row]),
      [
        [1, one, 1],
        [2, two, 4],
        [3, one, 3],
        [7, null, null],
        [9, two, 3],
      ],
    );
  });

  test('an empty list of rows adds the columns', async () => {
    const table = nextTable();
    await service.rows(`CREATE TABLE ${table} (n int)`);
    const { status, body } = await sendJson(table, 'if_exists=append', { data: [] });
    assert.deepEqual([status, body.load?.rows, body.table?.columns.length], [200, 0, 6]);
  });

  test('a repeated request with its key is answered again, and its rows keep their origin', async () => {
    const table = nextTable();
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const first = await sendJson(table, '', { data }, headers);
    const again = await sendJson(table, '', { data }, headers);
    assert.equal(again.headers.get('load-id'), first.headers.get('load-id'));
    await assertOrigins(again, table, [1, 2, 3]);
  });

  test('names with signs are escaped', async () => {
    const table = nextTable();
    const query = `provenance=${encodeURIComponent('source_row:a\\,b\\:c\\\\')}`;
    const { body } = await service.post(`/table/${table}/upload/json?${query}`, { data: [{ n: 1 }] });
    assert.equal(body.table.columns[1].name, 'a,b:c\\');
  });
});

suite('a load in one pass', () => {
  const many = Array.from({ length: 40_000 }, (_, index) => ({ n: index + 1, a: 'x'.repeat(30), b: 1 }));
  const numbers = many.map(({ n }) => n);
  /** [what, the last row] */
  const ends: [what: string, last: object][] = [
    ['whose types do not change', { b: 2 }],
    ['whose table is changed', { b: 'x' }],
    ['with a column that comes late', { late: true }],
  ];
  for (const [what, last] of ends)
    test(`${what} has the columns of the origin at the end`, async () => {
      const table = nextTable();
      const rows = [...many.slice(0, -1), { ...many.at(-1), ...last }];
      const answer = await sendJson(table, '', { data: rows });
      await assertOrigins(answer, table, numbers);
      const names = answer.body.table.columns.map(({ name }: { name: string }) => name).join();
      assert.match(names, /^n,a,b(,late)?,_load,_at,_file,_sheet,_row$/);
    });
});

suite('files', () => {
  const table = () => nextTable();
  test('a text file, with its name and no sheet', async () => {
    const name = table();
    await assertOrigins(
      await sendFile(name, all, 'n\n2\n3\n', 'a b,ü.csv'),
      name,
      [2, 3],
      ['a b,ü.csv', null],
    );
    await assertOrigins(
      await sendFile(name, `${all}&if_exists=append`, 'n\r\n2\r\n', 'C:\\x\\y.csv'),
      name,
      [2],
      ['y.csv', null],
    );
  });

  test('a packed file and a file in a zip file have the name of the file that was sent', async () => {
    const gzip = table();
    await assertOrigins(
      await sendFile(gzip, all, gzipSync('n\n2\n'), 'in.csv.gz'),
      gzip,
      [2],
      ['in.csv.gz', null],
    );
    const zip = table();
    const file = buildZip([{ name: 'deep/other.csv', data: 'n\n2\n' }]);
    await assertOrigins(await sendFile(zip, all, file, 'in.zip'), zip, [2], ['in.zip', null]);
  });

  test('a file name that is too long or has half a character is refused, and only if a column needs it', async () => {
    const name = table();
    const long = `${'x'.repeat(252)}.csv`;
    assertProblem(await sendFile(name, all, 'n\n2\n', long), 422, 'invalid-parameter');
    assert.equal((await sendFile(name, 'provenance=source_row:_row', 'n\n2\n', long)).status, 201);
    const other = table();
    const just = long.slice(1);
    await assertOrigins(await sendFile(other, all, 'n\n2\n', just), other, [2], [just, null]);
  });

  test('a file with corrections', async () => {
    const name = table();
    const form = new FormData();
    form.append('patch', JSON.stringify([{ row: 2, column: 'n', value: 4 }]));
    form.append('file', new Blob(['title\nn\n3\n9\n']), 'in.csv');
    const answer = await service.request('POST', `/table/${name}/upload/excel?${all}&header_row=2`, {
      body: form,
    });
    await assertOrigins(answer, name, [3, 4], ['in.csv', null]);
  });

  test('each sheet and range of a workbook', async () => {
    const rows = (first: number): CellSpec[][] =>
      Array.from({ length: 8 }, (_, row) =>
        row + 1 < first ? ['title'] : [row + 1 === first ? 'n' : row + 1],
      );
    const tables = ['<table id="1" name="T" displayName="T" ref="A3:A6"><tableColumns/></table>'];
    const sheets = [
      { name: 'One', xml: sheetXml(rows(3)).replace('<row r="5"', '<row r="5" hidden="1"'), tables },
      { name: 'Two & more', xml: sheetXml(rows(1)) },
    ];
    const book = buildWorkbook({ sheets });
    const parts: [query: string, rows: number[], sheet: string][] = [
      ['header_row=3', [4, 5, 6, 7, 8], 'One'],
      ['header_row=3&hidden=skip', [4, 6, 7, 8], 'One'],
      ['table_range=T', [4, 5, 6], 'One'],
      ['sheet=Two %26 more', [2, 3, 4, 5, 6, 7, 8], 'Two & more'],
      ['sheet=2&range=A4:A6&header=false&rename=column_A:n', [4, 5, 6], 'Two & more'],
    ];
    for (const [query, expected, sheet] of parts) {
      const name = table();
      const answer = await sendFile(name, `${all}&${query}`, book, 'book.xlsx');
      await assertOrigins(answer, name, expected, ['book.xlsx', sheet]);
    }
  });
});

/** Returns a random text file whose column `n` has the record in which the row is. */
function randomCsv(random: RandomNumbers): { file: string; query: string; rows: number[] } {
  const lines: string[] = [];
  const preamble = random(3);
  for (let line = 0; line < preamble; line++) lines.push('"some\nnote"');
  lines.push('n,"a\nb"');
  const header = lines.length;
  const rows: number[] = [];
  for (let row = 0; row < 1 + random(40); row++) {
    if (random(4) === 0) lines.push('');
    if (random(5) === 0) lines.push('#x');
    rows.push(lines.length + 1);
    lines.push(`${lines.length + 1},${['', 'x', '"1\n2\n"', '"a""b"'][random(4)]}`);
  }
  const end = ['\n', '\r\n'][random(2)]!;
  return { file: lines.join(end), query: `comment=%23&header_row=${header}`, rows };
}

function randomBook(random: RandomNumbers): { file: Buffer; query: string; rows: number[] } {
  const header = 1 + random(4);
  const cells: CellSpec[][] = Array.from({ length: header - 1 }, () => ['x', 'y', 'z']);
  cells.push([null, 'n', 'a']);
  let xml = '';
  const rows: number[] = [];
  const hidden: number[] = [];
  for (let row = header + 1; row <= header + 1 + random(40); row++) {
    const isEmpty = random(4) === 0;
    cells.push(isEmpty ? [] : ['out', row, ['x', null, 1][random(3)]!]);
    if (random(4) === 0) hidden.push(row);
    else if (!isEmpty) rows.push(row);
  }
  xml = sheetXml(cells);
  for (const row of hidden) xml = xml.replace(`<row r="${row}"`, `<row r="${row}" hidden="1"`);
  const file = buildWorkbook({ sheets: [{ name: 'S', xml }] });
  return { file, query: `hidden=skip&range=B${header}:C${cells.length + 5}`, rows };
}

test('random files: the row of each origin is the row of the file', async () => {
  for (let seed = 1; seed <= sized(10, 75); seed++) {
    const isCsv = seed % 2 === 0;
    const { file, query, rows } = (isCsv ? randomCsv : randomBook)(randomNumbers(seed));
    if (rows.length === 0) continue;
    const name = nextTable();
    const answer = await sendFile(name, `${all}&${query}`, file, 'f');
    await assertOrigins(answer, name, rows, ['f', isCsv ? null : 'S']).catch((cause: unknown) => {
      throw new Error(`seed ${seed}: ${query} ${JSON.stringify(String(file))}`, { cause });
    });
  }
});

suite('what is refused', () => {
  const wrong: [value: string, why: RegExp][] = [
    ['', /cannot be ""/],
    ['load_id', /one column for load_id/],
    ['load_id:a:b', /one column for load_id/],
    ['load_id:', /must not be empty/],
    ['who:a', /cannot be "who".*The choices are load_id, loaded_at/],
    ['toString:a', /cannot be "toString"/],
    ['load_id:a,load_id:b', /load_id twice/],
    ['load_id:a,source_row:a', /column "a" twice/],
    [`load_id:${'x'.repeat(64)}`, /at most 63 bytes/],
  ];
  test('lists that are wrong', async () => {
    for (const [value, why] of wrong) {
      const path = `/table/no/upload/json?provenance=${encodeURIComponent(value)}`;
      assert.match(assertProblem(await service.post(path, { data }), 422, 'invalid-parameter').detail, why);
    }
  });

  const unfit: [columns: string, why: RegExp][] = [
    ['_load text', /type text; it must be uuid/],
    ['_at timestamp', /type timestamp without time zone; it must be timestamp with time zone/],
    ['_at timestamptz(0)', /must be timestamp with time zone/],
    ['_file varchar(20)', /must be text/],
    ['_row numeric', /must be bigint or integer/],
    ['_row bigint GENERATED ALWAYS AS IDENTITY', /gets its values from PostgreSQL/],
    ['_row bigint GENERATED ALWAYS AS (n) STORED', /gets its values from PostgreSQL/],
    ['_row bigint UNIQUE DEFERRABLE', /is in a key of the table/],
    ['_load uuid, PRIMARY KEY (n, _load)', /is in a key of the table/],
    ['_file text NOT NULL', /NOT NULL, and the rows have no source_file/],
  ];
  for (const [column, why] of unfit)
    test(`a column ${column}`, async () => {
      const table = nextTable();
      await service.rows(`CREATE TABLE ${table} (n int, a text, ${column})`);
      const { detail } = assertProblem(
        await sendJson(table, 'if_exists=append', { data }),
        422,
        'invalid-parameter',
      );
      assert.match(detail, why);
    });

  test('columns of a definition of another type or in a key, and of primary_key', async () => {
    const table = nextTable();
    const refuse = async (definition: object, why: RegExp) => {
      const answer = await sendJson(table, '', { table: definition, data });
      assert.match(assertProblem(answer, 422, 'invalid-parameter').detail, why);
    };
    await refuse({ columns: [...columns, { name: '_load', type: 'text' }] }, /must be uuid/);
    const key = { name: '', columns: ['n', '_load'] };
    await refuse({ columns, constraints: { primary_key: key } }, /in a key/);
    await refuse(
      { columns, constraints: { unique: [{ ...key, deferrable: 'initially deferred' }] } },
      /in a key/,
    );
    assertProblem(await sendJson(table, 'primary_key=_load', { data }), 422, 'invalid-parameter');
  });

  test('columns that the data has, too', async () => {
    const row = { n: 1, _row: 2 };
    const table = nextTable();
    for (const query of [
      '',
      'extra_columns=ignore',
      'extra_columns=add&if_exists=append',
      'if_exists=append',
    ]) {
      if (query.includes('append')) await service.rows(`CREATE TABLE IF NOT EXISTS ${table} (n int)`);
      const { errors } = assertProblem(await sendJson(table, query, { data: [row] }), 422, 'invalid-data');
      assert.deepEqual(
        [errors.length, errors[0]!.code, errors[0]!.column],
        [1, 'repeated-column', '_row'],
        query,
      );
      assert.match(errors[0]!.detail, /`provenance` fills/);
    }
    const { errors } = assertProblem(await sendFile(nextTable(), all, 'n,_ROW\n1,2\n'), 422, 'invalid-data');
    assert.equal(errors[0]!.code, 'repeated-column');
  });

  test('columns are added only with the scope table:create and by the owner, and are filled without them', async () => {
    const table = nextTable();
    await service.rows(`CREATE TABLE ${table} (n int, a text); GRANT INSERT ON ${table} TO ${role}`);
    const path = `/table/${table}/upload/json?${all}&if_exists=append`;
    const loader = await service.token({ scope: 'table:load' });
    const other = await service.token({ role });
    assertProblem(await service.post(path, { data }, { token: loader }), 403, 'insufficient-scope');
    const { detail } = assertProblem(
      await service.post(path, { data }, { token: other }),
      403,
      'permission-denied',
    );
    assert.match(detail, /does not own .* provenance needs it to add the columns "_load"/);
    assert.equal((await service.post(path, { data })).status, 200);
    for (const token of [loader, other]) {
      const answer = await service.post(path, { data }, { token });
      await assertOrigins(answer, table, [1, 2, 3]);
    }
  });

  test('rows that are too long with their origin', async () => {
    const small = await startTestService({ MAX_CELL_BYTES: '1024', MAX_ROW_BYTES: '1024' });
    try {
      const path = (query: string) => `/table/${nextTable()}/upload/json${query}`;
      const data = [{ a: 'x'.repeat(1000) }];
      assert.equal((await small.post(path('?provenance=source_sheet:_sheet'), { data })).status, 201);
      assertProblem(await small.post(path(`?${all}`), { data }), 413, 'limit-exceeded');
    } finally {
      await small.stop();
    }
  });

  test('too many columns', async () => {
    const table = nextTable();
    const wide = Array.from({ length: 1597 }, (_, n) => ({ name: `c${n}`, type: 'boolean' }));
    const answer = await sendJson(table, '', { table: { columns: wide } });
    assert.match(
      JSON.stringify(assertProblem(answer, 422, 'invalid-definition').errors),
      /at most 1600 columns/,
    );
    await service.rows(`CREATE TABLE ${table} (${wide.map(({ name }) => `${name} boolean`).join()})`);
    const added = await sendJson(table, 'if_exists=append', { data: [{ c1: true }] });
    assert.match(
      assertProblem(added, 422, 'invalid-definition').detail,
      /more columns than PostgreSQL allows/,
    );
  });
});
