/** Uploads that widen the columns of an existing table (`misfits`), over HTTP. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { endOf } from '../support/load-ends.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { warningsOf } from '../support/uploads.ts';
import { bookOf, sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('m');

type Mode = 'fail' | 'widen' | 'widen_text';

function send(table: string, data: unknown[], misfits: Mode = 'widen', query = ''): Promise<TestAnswer> {
  return service.post(`/table/${table}/upload/json?if_exists=append&misfits=${misfits}${query}`, { data });
}

async function create(columns: string, rows?: string): Promise<string> {
  const table = nextTable();
  await service.rows(`CREATE TABLE ${table} (${columns})`);
  if (rows !== undefined) await service.rows(`INSERT INTO ${table} ${rows}`);
  return table;
}

async function typeOf(table: string, column = 'a'): Promise<string> {
  const [row] = await service.rows(
    'SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2',
    [table, column],
  );
  return String(row!.type);
}

/** The texts of the column in the order in which the rows were added. */
async function textsOf(table: string, column = 'a'): Promise<unknown[]> {
  const rows = await service.rows(`SELECT to_jsonb(${column})#>>'{}' AS v FROM ${table} ORDER BY ctid`);
  return rows.map(({ v }) => v);
}

interface Pair {
  type: string;
  old: string;
  sent: unknown;
  /** The type with `widen`; undefined: refused. */
  widen: string | undefined;
  /** The type with `widen_text`, if it is another one. */
  text?: string;
  /** The texts afterwards, if the type with `widen` is given. */
  texts?: unknown[];
}

const pairs: Pair[] = [
  { type: 'smallint', old: '7', sent: 40_000, widen: 'integer', texts: ['7', '40000'] },
  { type: 'smallint', old: '7', sent: 3_000_000_000, widen: 'bigint' },
  { type: 'smallint', old: '7', sent: 1.5, widen: 'numeric', texts: ['7', '1.5'] },
  { type: 'integer', old: '7', sent: '3000000000', widen: 'bigint', texts: ['7', '3000000000'] },
  { type: 'integer', old: '7', sent: 42, widen: 'integer' },
  { type: 'integer', old: '7', sent: 'N/A', widen: undefined, text: 'text', texts: ['7', 'N/A'] },
  { type: 'integer', old: '7', sent: 'NaN', widen: undefined, text: 'text' },
  { type: 'integer', old: '7', sent: true, widen: undefined, text: 'text', texts: ['7', 'true'] },
  { type: 'integer', old: '7', sent: { b: 1 }, widen: undefined, text: 'text', texts: ['7', '{"b":1}'] },
  {
    type: 'bigint',
    old: '7',
    sent: '12345678901234567890.125',
    widen: 'numeric',
    texts: ['7', '12345678901234567890.125'],
  },
  { type: 'numeric', old: '1.50', sent: 'abc', widen: undefined, text: 'text', texts: ['1.50', 'abc'] },
  { type: 'numeric(5,2)', old: '1.50', sent: 1.234, widen: 'numeric(6,3)', texts: ['1.500', '1.234'] },
  { type: 'numeric(5,2)', old: '1.50', sent: 12345.6, widen: 'numeric(7,2)', texts: ['1.50', '12345.60'] },
  { type: 'numeric(5,2)', old: '1.50', sent: '1.5000', widen: 'numeric(5,2)' },
  { type: 'numeric(5,2)', old: '1.50', sent: '1e-3', widen: 'numeric(6,3)', texts: ['1.500', '0.001'] },
  { type: 'numeric(3,-2)', old: '1200', sent: 1234, widen: 'numeric(5,0)', texts: ['1200', '1234'] },
  { type: 'numeric(5,2)', old: '1.50', sent: 'Infinity', widen: undefined, text: 'text' },
  { type: 'numeric(5,2)', old: '1.50', sent: `1${'0'.repeat(1200)}`, widen: 'numeric' },
  {
    type: 'real',
    old: '0.1',
    sent: 1.2345678901,
    widen: 'double precision',
    texts: ['0.1', '1.2345678901'],
  },
  { type: 'real', old: '0.1', sent: 0.25, widen: 'real' },
  { type: 'real', old: '0.1', sent: '9e-45', widen: 'double precision' },
  { type: 'real', old: '0.1', sent: 16_777_217, widen: 'double precision', texts: ['0.1', '16777217'] },
  { type: 'real', old: '0.1', sent: 1e300, widen: 'double precision' },
  {
    type: 'double precision',
    old: '0.1',
    sent: '1e400',
    widen: undefined,
    text: 'text',
    texts: ['0.1', '1e400'],
  },
  {
    type: 'date',
    old: '2026-01-02',
    sent: '2026-01-03 10:00:00',
    widen: 'timestamp without time zone',
    texts: ['2026-01-02T00:00:00', '2026-01-03T10:00:00'],
  },
  { type: 'date', old: '2026-01-02', sent: '2026-01-03', widen: 'date' },
  {
    type: 'date',
    old: '2026-01-02',
    sent: 'soon',
    widen: undefined,
    text: 'text',
    texts: ['2026-01-02', 'soon'],
  },
  {
    type: 'timestamp',
    old: '2026-01-02 10:00',
    sent: '2026-01-03T10:00:00Z',
    widen: 'timestamp without time zone',
  },
  {
    type: 'timestamp',
    old: '2026-01-02 10:00',
    sent: 'soon',
    widen: undefined,
    text: 'text',
    texts: ['2026-01-02 10:00:00', 'soon'],
  },
  {
    type: 'timestamp(0)',
    old: '2026-01-02 10:00',
    sent: '2026-01-03 10:00:00.125',
    widen: 'timestamp(3) without time zone',
  },
  {
    type: 'timestamptz(0)',
    old: '2026-01-02 10:00Z',
    sent: '2026-01-03 10:00:00.123456Z',
    widen: 'timestamp with time zone',
  },
  {
    type: 'time(0)',
    old: '10:00',
    sent: '10:00:00.5',
    widen: 'time(1) without time zone',
    texts: ['10:00:00', '10:00:00.5'],
  },
  { type: 'interval(0)', old: '1 day', sent: '1.25 seconds', widen: 'interval(2)' },
  { type: 'interval', old: '1 day', sent: 'long', widen: undefined, text: 'text', texts: ['1 day', 'long'] },
  { type: 'varchar(3)', old: 'abc', sent: 'abcde', widen: 'character varying(5)', texts: ['abc', 'abcde'] },
  { type: 'varchar(3)', old: 'abc', sent: 'äöüß', widen: 'character varying(4)' },
  { type: 'varchar(3)', old: 'abc', sent: 'a     ', widen: 'character varying(6)', texts: ['abc', 'a     '] },
  { type: 'char(3)', old: 'abc', sent: 'abcde', widen: 'character(5)' },
  { type: 'char(3)', old: 'abc', sent: 'a     ', widen: 'character(3)' },
  { type: 'char(3)', old: 'abc', sent: 'abcd  ', widen: 'character(4)' },
  { type: 'varchar(3)', old: 'abc', sent: true, widen: 'character varying(4)', texts: ['abc', 'true'] },
  { type: 'varchar(3)', old: 'abc', sent: 12345, widen: 'character varying(5)', texts: ['abc', '12345'] },
  { type: 'boolean', old: 'true', sent: 'maybe', widen: undefined, text: 'text', texts: ['true', 'maybe'] },
  { type: 'uuid', old: '00000000-0000-0000-0000-000000000001', sent: 'x', widen: undefined, text: 'text' },
  { type: 'inet', old: '192.0.2.1', sent: 'x', widen: undefined, text: 'text', texts: ['192.0.2.1', 'x'] },
  { type: 'bytea', old: '\\x6869', sent: '\\x6', widen: undefined, text: 'text', texts: ['\\x6869', '\\x6'] },
  { type: 'mood', old: 'glad', sent: 'sad', widen: undefined, text: 'text', texts: ['glad', 'sad'] },
  { type: 'small_number', old: '7', sent: 3_000_000_000, widen: undefined },
  {
    type: 'smallint[]',
    old: '{1}',
    sent: [1, 40_000, null, 3_000_000_000],
    widen: 'bigint[]',
    texts: ['[1]', '[1, 40000, null, 3000000000]'],
  },
  {
    type: 'integer[]',
    old: '{{1}}',
    sent: '{{1.5},{2}}',
    widen: 'numeric[]',
    texts: ['[[1]]', '[[1.5], [2]]'],
  },
  {
    type: 'integer[]',
    old: '{1}',
    sent: [1.5, 'N/A'],
    widen: undefined,
    text: 'text[]',
    texts: ['["1"]', '["1.5", "N/A"]'],
  },
  { type: 'integer[]', old: '{1}', sent: [[1], [2, 3]], widen: undefined },
  { type: 'integer[]', old: '{1}', sent: 7, widen: undefined },
  {
    type: 'numeric(5,2)[]',
    old: '{1.5}',
    sent: [1.25, 1.125],
    widen: 'numeric(6,3)[]',
    texts: ['[1.500]', '[1.250, 1.125]'],
  },
  {
    type: 'varchar(3)[]',
    old: '{abc}',
    sent: ['a', 'abcde', 'b   '],
    widen: 'character varying(5)[]',
    texts: ['["abc"]', '["a", "abcde", "b   "]'],
  },
  {
    type: 'real[]',
    old: '{0.1}',
    sent: [1.2345678901],
    widen: 'double precision[]',
    texts: ['[0.1]', '[1.2345678901]'],
  },
  { type: 'date[]', old: '{2026-01-02}', sent: ['2026-01-02 10:00'], widen: 'timestamp without time zone[]' },
  {
    type: 'inet[]',
    old: '{192.0.2.1}',
    sent: ['x'],
    widen: undefined,
    text: 'text[]',
    texts: ['["192.0.2.1"]', '["x"]'],
  },
  { type: 'mood[]', old: '{glad}', sent: ['sad'], widen: undefined, text: 'text[]' },
  { type: 'money', old: '1', sent: 'x', widen: undefined },
];

suite('a value that does not fit', () => {
  before(() =>
    service.rows(
      `CREATE TYPE mood AS ENUM ('glad'); CREATE DOMAIN small_number AS integer CHECK (VALUE > 0)`,
    ),
  );

  for (const { type, old, sent, widen, text, texts } of pairs) {
    test(`${JSON.stringify(sent).slice(0, 40)} in ${type} gives ${widen ?? 'a problem'}${text ? `, or ${text}` : ''}`, async () => {
      const values = `VALUES ('${old}')`;
      const modes: [Mode, string | undefined][] = [
        ['widen', widen],
        ['widen_text', text ?? widen],
      ];
      const refused = await send(await create(`a ${type}`, values), [{ a: sent }], 'fail');
      if (refused.status !== 200 && !type.endsWith('[]')) {
        const [problem] = assertProblem(refused, 422, 'invalid-data').errors;
        const hint = /misfits=widen would make the column (.*)$/.exec(problem!.detail);
        assert.equal(hint?.[1], widen, problem!.detail);
      }
      for (const [mode, expected] of modes) {
        const table = await create(`a ${type}`, values);
        const original = await typeOf(table);
        const answer = await send(table, [{ a: sent }], mode);
        if (expected === undefined) {
          assertProblem(answer, 422, 'invalid-data');
          assert.equal(await typeOf(table), original);
          assert.equal((await textsOf(table)).length, 1);
          continue;
        }
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        assert.equal(await typeOf(table), expected);
        const widened = expected === original ? undefined : [{ column: 'a', from: original, to: expected }];
        assert.deepEqual(answer.body.load.widened, widened);
        assert.equal(
          warningsOf(answer).filter((one) => one.startsWith('widened-column')).length,
          widened === undefined ? 0 : 1,
        );
        assert.equal(answer.body.table.columns[0].type, expected);
        if (texts !== undefined && expected === (widen ?? text))
          assert.deepEqual(await textsOf(table), texts);
      }
    });
  }

  test('without misfits nothing changes: it is a problem, or PostgreSQL rounds it', async () => {
    const table = await create('a integer, b numeric(5,2)');
    assertProblem(await send(table, [{ a: 1.5 }], 'fail'), 422, 'invalid-data');
    assert.equal((await send(table, [{ b: 1.234 }], 'fail')).status, 200);
    assert.equal(await typeOf(table, 'b'), 'numeric(5,2)');
  });
});

suite('misfits with other parameters', () => {
  test('all values of all rows decide', async () => {
    const table = await create('a smallint, b varchar(2), c date');
    const data = [
      { a: 1, b: 'abc', c: '2026-01-01' },
      { a: 40_000, b: 'abcdef', c: '2026-01-01 12:00' },
      { a: 2.25, b: 'ab', c: null },
      { a: 3_000_000_000 },
    ];
    const { body } = await send(table, data);
    assert.deepEqual(body.load.widened, [
      { column: 'a', from: 'smallint', to: 'numeric' },
      { column: 'b', from: 'character varying(2)', to: 'character varying(6)' },
      { column: 'c', from: 'date', to: 'timestamp without time zone' },
    ]);
    assert.equal(body.load.rows, 4);
    assert.deepEqual(await textsOf(table), ['1', '40000', '2.25', '3000000000']);
  });

  test('the next small append sees the new type', async () => {
    const table = await create('a integer');
    for (const value of [1, 2]) assert.equal((await send(table, [{ a: value }])).status, 200);
    assert.equal((await send(table, [{ a: 5_000_000_000 }])).body.load.widened.length, 1);
    const next = await send(table, [{ a: 6_000_000_000 }]);
    assert.deepEqual([next.status, next.body.load.widened], [200, undefined]);
    assert.equal((await send(table, [{ a: 7_000_000_000 }], 'fail')).status, 200);
    assert.deepEqual(await textsOf(table), ['1', '2', '5000000000', '6000000000', '7000000000']);
  });

  test('a value that a known table would round widens it', async () => {
    const table = await create('a numeric(5,2)');
    for (const value of [1, 2]) await send(table, [{ a: value }]);
    assert.equal((await send(table, [{ a: 1.234 }])).body.load.widened[0].to, 'numeric(6,3)');
  });

  test('the role must own the table, also one that small appends know', async () => {
    const role = `widen_${randomBytes(6).toString('hex')}`;
    const table = await create('a integer');
    const [{ name } = {}] = await service.rows('SELECT current_user AS name');
    await service.rows(`CREATE ROLE ${role}; GRANT ${role} TO "${name}"; GRANT USAGE, CREATE ON SCHEMA public TO ${role};
      GRANT SELECT, INSERT ON ${table} TO ${role}`);
    try {
      const token = await service.token({ role });
      const append = (query: string) =>
        service.post(`/table/${table}/upload/json?if_exists=append${query}`, { data: [{ a: 1 }] }, { token });
      for (let n = 0; n < 2; n++) assert.equal((await append('')).status, 200);
      const { detail } = assertProblem(await append('&misfits=widen'), 403, 'permission-denied');
      assert.match(detail, /does not own .* as misfits=widen needs it/);
      await service.rows(`ALTER TABLE ${table} OWNER TO ${role}`);
      for (let n = 0; n < 2; n++) assert.equal((await append('&misfits=widen')).status, 200);
    } finally {
      await service.rows(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  test('a dry run says what would be widened and changes nothing', async () => {
    const table = await create('a integer', 'VALUES (1)');
    const { body } = await send(table, [{ a: 1.5 }], 'widen', '&dry_run=true');
    assert.deepEqual(body.load.widened, [{ column: 'a', from: 'integer', to: 'numeric' }]);
    assert.equal(body.table.columns[0].type, 'numeric');
    assert.equal(await typeOf(table), 'integer');
    assert.deepEqual(await textsOf(table), ['1']);
  });

  test('on_conflict=update and skip find the rows by a key that is widened', async () => {
    for (const action of ['update', 'skip']) {
      const table = await create('a integer PRIMARY KEY, b varchar(2)', `VALUES (1, 'x')`);
      const data = [
        { a: 1, b: 'long' },
        { a: 5_000_000_000, b: 'y' },
      ];
      const { body } = await send(table, data, 'widen', `&on_conflict=${action}`);
      assert.deepEqual([body.load.rows, body.load.updated + body.load.skipped], [1, 1]);
      assert.equal(await typeOf(table), 'bigint');
      const [first] = await service.rows(`SELECT b FROM ${table} WHERE a = 1`);
      assert.equal(first!.b, action === 'update' ? 'long' : 'x');
    }
  });

  test('rows that are left out change no type', async () => {
    const table = await create('a integer, b date, c integer NOT NULL');
    const data = [
      { a: 1, b: '2026-01-01', c: 1 },
      { a: 2.5, b: 'never', c: 1 },
      { a: 2.5, c: null },
      { a: 2.5 },
      { a: 5_000_000_000, b: '2026-01-02', c: 2 },
    ];
    const { status, body } = await send(table, data, 'widen', '&faulty_rows=leave_out');
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.load.widened, [{ column: 'a', from: 'integer', to: 'bigint' }]);
    assert.deepEqual([body.load.rows, body.load.rows_left_out], [2, 3]);
    assert.deepEqual(
      body.load.left_out
        .filter(({ column }: { column: string }) => column === 'b')
        .map(({ row }: { row: number }) => row),
      [2],
    );
  });

  test('extra_columns=add adds columns and widens others', async () => {
    const table = await create('a integer', 'VALUES (1)');
    const { body } = await send(table, [{ a: 1.5, b: 'x' }], 'widen', '&extra_columns=add');
    assert.equal(body.load.widened[0].to, 'numeric');
    assert.deepEqual(
      body.table.columns.map(({ type }: { type: string }) => type),
      ['numeric', 'text'],
    );
  });

  test('truncate widens the emptied table', async () => {
    const table = await create('a integer', 'VALUES (1)');
    const path = `/table/${table}/upload/json?if_exists=truncate&misfits=widen`;
    const { body } = await service.post(path, { data: [{ a: 1.5 }] });
    assert.equal(body.load.widened[0].to, 'numeric');
    assert.deepEqual(await textsOf(table), ['1.5']);
  });

  test('a definition before or after the rows must agree with the table before it is widened', async () => {
    const ours = { columns: [{ name: 'a', type: 'integer' }] };
    const other = { columns: [{ name: 'a', type: 'numeric' }] };
    const data = [{ a: 1.5 }];
    for (const body of [(one: object) => ({ table: one, data }), (one: object) => ({ data, table: one })]) {
      const table = await create('a integer');
      const path = `/table/${table}/upload/json?if_exists=append&misfits=widen`;
      assertProblem(await service.post(path, body(other)), 422, 'invalid-definition');
      assert.equal(await typeOf(table), 'integer');
      assert.equal((await service.post(path, body(ours))).status, 200);
      assert.equal(await typeOf(table), 'numeric');
    }
  });

  test('files widen, too: CSV, also with a notation, and workbooks', async () => {
    const path = (table: string, query = '') =>
      `/table/${table}/upload/excel?if_exists=append&misfits=widen${query}`;
    const csv = await create('a integer, b date');
    const file = Buffer.from('a;b\n1,5;31.12.2026 10:30\n');
    const read = '&date_order=dmy&decimal_sign=,';
    const answer = await service.upload(path(csv, read), file);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual([await typeOf(csv), await typeOf(csv, 'b')], ['numeric', 'timestamp without time zone']);
    assert.deepEqual(await textsOf(csv, 'b'), ['2026-12-31T10:30:00']);
    const sheet = await create('a integer, b varchar(2)');
    const rows = sheetOf([
      ['a', 'b'],
      [2.5, 'long'],
      [1, 'x'],
    ]);
    assert.equal((await service.upload(path(sheet), rows)).body.load.widened.length, 2);
    assert.deepEqual(await textsOf(sheet), ['2.5', '1']);
    const moments = await create('a date, b varchar(9), c integer');
    const cell = { attributes: 's="1"', content: '<v>46082.5</v>' };
    const book = bookOf(
      {
        S: [
          ['a', 'b'],
          [cell, cell],
        ],
      },
      { formats: ['yyyy-mm-dd hh:mm'] },
    );
    assert.equal((await service.upload(path(moments), book)).status, 200);
    assert.deepEqual(await textsOf(moments), ['2026-03-01T12:00:00']);
    assert.deepEqual(await textsOf(moments, 'b'), ['2026-03-01T12:00:00']);
    const natural = await create('a integer, b date');
    const people = Buffer.from('a;b\n"1.234,50";17. Jan. 1994 10:30\n"2,5";1. Feb. 1994 0:00\n');
    const answered = await service.upload(path(natural, '&values=natural'), people);
    assert.equal(answered.status, 200, JSON.stringify(answered.body));
    assert.deepEqual(await textsOf(natural), ['1234.50', '2.5']);
    const words = await create('a integer', 'VALUES (1234)');
    const text = await service.upload(
      path(words, read).replace('misfits=widen', 'misfits=widen_text'),
      Buffer.from('a\n"1,5"\n-\n'),
    );
    assert.equal(text.body.load.widened[0].to, 'text');
    assert.deepEqual(await textsOf(words), ['1234', '1,5', '-']);
  });

  test('a large body is read twice', async () => {
    const table = await create('a integer');
    const data = Array.from({ length: 30_000 }, (_, n) => ({ a: n === 29_999 ? 0.5 : n }));
    const { body } = await send(table, data);
    assert.deepEqual([body.load.rows, body.load.widened[0].to], [30_000, 'numeric']);
  });

  test('an asynchronous load and a repeated request say what was widened', async () => {
    const table = await create('a integer');
    const path = `/table/${table}/upload/json?if_exists=append&misfits=widen`;
    const key = randomBytes(8).toString('hex');
    const headers = { 'idempotency-key': key };
    const first = await service.post(path, { data: [{ a: 1.5 }] }, { headers });
    const again = await service.post(path, { data: [{ a: 1.5 }] }, { headers });
    assert.deepEqual(again.body, first.body);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    const record = await service.get(`/api/v1/loads/${first.body.load.id}`);
    assert.deepEqual(record.body.answer.body.load.widened, first.body.load.widened);
    const [event] = await service.rows(
      `SELECT event->'data'->'widened' AS widened FROM tablewright_service.events
       WHERE event->>'type' = 'rows.loaded' AND event->'data'->>'load' = $1`,
      [first.body.load.id],
    );
    assert.deepEqual(event!.widened, first.body.load.widened);
    const other = await create('a date');
    const later = await service.post(
      `/table/${other}/upload/json?if_exists=append&misfits=widen_text`,
      { data: [{ a: 'x' }] },
      { headers: { prefer: 'respond-async' } },
    );
    assert.equal(later.status, 202);
    const { state } = await endOf(service, later.body.id ?? later.headers.get('load-id'));
    assert.deepEqual([state, await typeOf(other)], ['committed', 'text']);
  });

  test('without an existing table the parameter is refused, or new tables do not need it', async () => {
    const body = { data: [{ a: 1 }] };
    for (const query of ['', '&if_exists=replace']) {
      const answer = await service.post(`/table/${nextTable()}/upload/json?misfits=widen${query}`, body);
      const { errors } = assertProblem(answer, 422, 'invalid-parameter');
      assert.equal(errors[0]!.parameter, 'misfits');
    }
    const table = nextTable();
    assert.equal((await send(table, [{ a: 1 }])).status, 201);
  });
});

suite('columns with numbering', () => {
  test('the sequence of a serial or identity column follows', async () => {
    for (const type of ['serial', 'integer GENERATED BY DEFAULT AS IDENTITY']) {
      const table = await create(`a ${type}, b text`);
      await send(table, [{ a: 5_000_000_000, b: 'x' }]);
      assert.equal(await typeOf(table), 'bigint');
      const [sequence] = await service.rows(
        `SELECT format_type(seqtypid, NULL) AS type, seqmax FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence($1, 'a')::regclass`,
        [table],
      );
      assert.deepEqual(sequence, { type: 'bigint', seqmax: '9223372036854775807' });
      assert.equal((await send(table, [{ b: 'y' }])).status, 200);
    }
  });

  test('an identity column becomes no numeric and no text', async () => {
    const table = await create('a integer GENERATED BY DEFAULT AS IDENTITY');
    assertProblem(await send(table, [{ a: 1.5 }], 'widen_text'), 422, 'invalid-data');
    assert.equal(await typeOf(table), 'integer');
  });
});

suite('what stands in the way', () => {
  const dependents: [name: string, setUp: (table: string) => string][] = [
    ['view v_', (t) => `CREATE VIEW v_${t} AS SELECT a FROM ${t}`],
    ['constraint f_', (t) => `CREATE TABLE o_${t} (a int CONSTRAINT f_${t} REFERENCES ${t} (a))`],
    [
      'constraint g_',
      (t) =>
        `CREATE TABLE p_${t} (a int PRIMARY KEY); ALTER TABLE ${t} ADD CONSTRAINT g_${t} FOREIGN KEY (a) REFERENCES p_${t}`,
    ],
    ['index i_', (t) => `CREATE INDEX i_${t} ON ${t} ((a / 2))`],
    ['policy p_', (t) => `CREATE POLICY p_${t} ON ${t} USING (a > 0)`],
    [
      'trigger r_',
      (t) =>
        `CREATE TRIGGER r_${t} BEFORE UPDATE OF a ON ${t} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
    ],
    ['generated column g', (t) => `ALTER TABLE ${t} ADD g int GENERATED ALWAYS AS (a * 2) STORED`],
    ['constraint c_', (t) => `ALTER TABLE ${t} ADD CONSTRAINT c_${t} CHECK (a / 2 < 5)`],
    ['column r of table q_', (t) => `CREATE TABLE q_${t} (r ${t})`],
    [
      'function n_',
      (t) => `CREATE FUNCTION n_${t}() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT a FROM ${t} LIMIT 1; END`,
    ],
  ];

  for (const [name, setUp] of dependents) {
    test(`${name}… is named, and nothing is changed`, async () => {
      const table = await create('a integer UNIQUE, b integer');
      await service.rows(setUp(table));
      const answer = await send(table, [{ a: 1.5 }]);
      const { errors } = assertProblem(answer, 409, 'dependent-objects');
      assert.equal(errors.length, 1);
      assert.ok(String(errors[0]!.value).includes(name), String(errors[0]!.value));
      assert.equal(await typeOf(table), 'integer');
      // All columns belong to the row type.
      const others = name.startsWith('column r') ? 409 : 200;
      assert.equal((await send(table, [{ b: 1.5 }])).status, others);
    });
  }

  test('partition keys and partitions are named; other columns of a partitioned table are widened', async () => {
    const table = nextTable();
    await service.rows(`CREATE TABLE ${table} (a integer, b integer) PARTITION BY RANGE (a);
      CREATE TABLE ${table}_1 PARTITION OF ${table} FOR VALUES FROM (0) TO (100)`);
    const { errors } = assertProblem(await send(table, [{ a: 1.5 }]), 409, 'dependent-objects');
    assert.deepEqual(
      errors.map(({ value }) => value),
      ['its partition key'],
    );
    const ofPart = assertProblem(await send(`${table}_1`, [{ a: 1, b: 1.5 }]), 409, 'dependent-objects');
    assert.match(String(ofPart.errors[0]!.value), /^its place in table/);
    assert.equal((await send(table, [{ a: 1, b: 1.5 }])).status, 200);
    assert.equal(await typeOf(`${table}_1`, 'b'), 'numeric');
  });

  test('a foreign key of or to a partitioned table is named once', async () => {
    const [parent, table] = [nextTable(), nextTable()];
    const partition = (name: string) => `CREATE TABLE ${name}_1 PARTITION OF ${name} DEFAULT`;
    await service.rows(`CREATE TABLE ${parent} (a integer, b integer, PRIMARY KEY (a, b)) PARTITION BY LIST (b); ${partition(parent)};
      CREATE TABLE ${table} (a integer, b integer, c integer, FOREIGN KEY (a, b) REFERENCES ${parent}) PARTITION BY LIST (c); ${partition(table)}`);
    for (const widened of [parent, table]) {
      const { errors } = assertProblem(await send(widened, [{ a: 1.5, b: 1 }]), 409, 'dependent-objects');
      assert.deepEqual(
        errors.map(({ value }) => value),
        [`constraint ${table}_a_b_fkey on table ${table}`],
      );
    }
  });

  test('keys, indexes, checks of integers and defaults are made anew', async () => {
    const table = await create(`a integer PRIMARY KEY DEFAULT 7 CHECK (a > 0), b varchar(3) COLLATE "C"`);
    await service.rows(`CREATE INDEX ON ${table} (lower(b))`);
    assert.equal((await send(table, [{ a: 5_000_000_000, b: 'abcd' }])).status, 200);
    assertProblem(await send(table, [{ a: -5_000_000_000 }]), 422, 'invalid-data');
    assert.equal((await send(table, [{ b: 'x' }])).status, 200);
    const [column] = await service.rows(
      `SELECT collname FROM pg_attribute a JOIN pg_collation c ON c.oid = attcollation WHERE attrelid = $1::regclass AND attname = 'b'`,
      [table],
    );
    assert.equal(column!.collname, 'C');
  });

  test('a constant default that would be another value in new rows is named', async () => {
    const kept: [type: string, text: string, value: unknown, mode?: 'widen_text'][] = [
      ['real', "'0.5'", 0.123456789012],
      ['numeric(3,1)', '1.5', 2.25],
      ['varchar(2)', "'ab'", 'abc'],
      ['timestamp(0)', 'now()', '2026-01-01 10:00:00.5'],
      ['smallint', '5', 70_000],
    ];
    const changed: typeof kept = [
      ['real', "'0.1'", 0.123456789012],
      ['real[]', "'{0.1}'", [0.123456789012]],
      ['numeric(3,1)', '0.25', 2.25],
      ['varchar(2)', "'ab   '", 'abc'],
      ['timestamp(0)', "'2026-01-01 10:00:00.7'", '2026-01-01 10:00:00.5'],
      ['smallint', '1.5', 2.5],
      ['numeric(3,1)', '0.25', 'x', 'widen_text'],
    ];
    for (const [type, text, value, mode] of kept) {
      const table = await create(`a ${type} DEFAULT ${text}`);
      const { status, body } = await send(table, [{ a: value }], mode);
      assert.equal(status, 200, `${type} ${text} ${JSON.stringify(body)}`);
    }
    for (const [type, text, value, mode] of changed) {
      const table = await create(`a ${type} DEFAULT ${text}`);
      const { errors } = assertProblem(await send(table, [{ a: value }], mode), 409, 'dependent-objects');
      assert.equal(errors[0]!.value, `default value for column a of table ${table}`);
    }
    const parent = await create('a real');
    await service.rows(
      `CREATE TABLE ${parent}_child () INHERITS (${parent}); ALTER TABLE ${parent}_child ALTER a SET DEFAULT '0.1'`,
    );
    const { errors } = assertProblem(await send(parent, [{ a: 0.123456789012 }]), 409, 'dependent-objects');
    assert.equal(errors[0]!.value, `default value for column a of table ${parent}_child`);
  });

  test('intervals with fields do not become wider', async () => {
    for (const type of ['interval day to second(0)', 'interval second(1)', 'interval day to second(0)[]']) {
      const table = await create(`a ${type}, b int`);
      for (const a of ['00:00:00.2555', 'N/A']) {
        const data = [{ a: type.endsWith('[]') ? [a] : a, b: 1 }];
        const isBad = a === 'N/A';
        const { status, body } = await send(table, data);
        assert.equal(status, isBad ? 422 : 200, `${type} ${a} ${JSON.stringify(body)}`);
      }
    }
  });

  test('checks do not prevent more digits or a longer text', async () => {
    const table = await create(
      `a numeric(4,1) CHECK (a < 1000), b varchar(2) CHECK (b <> 'xyz'), c timestamp(0)[]`,
    );
    assert.equal((await send(table, [{ a: 2.25, b: 'abc' }])).status, 200);
    assertProblem(await send(table, [{ a: 2000.125, b: 'xyz' }]), 422, 'invalid-data');
    assert.deepEqual(await service.rows(`SELECT a::text, b FROM ${table}`), [{ a: '2.25', b: 'abc' }]);
  });

  test('a column keeps how its values are stored', async () => {
    const table = await create('a varchar(3)');
    await service.rows(`ALTER TABLE ${table} ALTER a SET STORAGE EXTERNAL, ALTER a SET COMPRESSION pglz`);
    assert.equal((await send(table, [{ a: 'abcd' }])).status, 200);
    const [column] = await service.rows(
      `SELECT attstorage, attcompression FROM pg_attribute WHERE attrelid = $1::regclass AND attname = 'a'`,
      [table],
    );
    assert.deepEqual(column, { attstorage: 'e', attcompression: 'p' });
  });

  test('the default of a moment that becomes text is named, because it would depend on the session', async () => {
    const table = await create('a timestamptz DEFAULT now()');
    const { errors } = assertProblem(await send(table, [{ a: 'x' }], 'widen_text'), 409, 'dependent-objects');
    assert.match(String(errors[0]!.value), /default value for column a/);
  });

  test('old values that the new type cannot store refuse the upload', async () => {
    const table = await create('a date', `VALUES ('500000-01-01')`);
    const answer = await send(table, [{ a: '2026-01-01 10:00' }]);
    const { errors } = assertProblem(answer, 422, 'invalid-parameter');
    assert.match(errors[0]!.detail, /out of range/);
    assert.equal(await typeOf(table), 'date');
  });

  test('a table that stays locked gives database-busy', async () => {
    const table = await create('a integer');
    const short = await startTestService({ LOCK_TIMEOUT_MS: '200' });
    try {
      await short.rows(`CREATE TABLE ${table} (a integer)`);
      const reader = await short.database.pool.connect();
      await reader.query(`BEGIN; SELECT FROM ${table}`);
      const path = `/table/${table}/upload/json?if_exists=append&misfits=widen`;
      assertProblem(await short.post(path, { data: [{ a: 1.5 }] }), 503, 'database-busy');
      assert.equal((await short.post(path, { data: [{ a: 1 }] })).status, 200);
      await reader.query('ROLLBACK');
      reader.release();
    } finally {
      await short.stop();
    }
  });

  test('a value that would pad all rows of the table too much is refused, and the table stays as it is', async () => {
    const table = await create('a char(3)', `SELECT 'ab' FROM generate_series(1, 50)`);
    const sentence = /lengthen the rows of the table too much: the limit is 64 MiB/;
    const { detail } = assertProblem(
      await send(table, [{ a: 'x'.repeat(2_000_000) }]),
      413,
      'limit-exceeded',
    );
    assert.match(detail, sentence);
    assert.equal(await typeOf(table), 'character(3)');
    assert.equal((await send(table, [{ a: 'x'.repeat(5000) }])).status, 200);
    assert.equal(await typeOf(table), 'character(5000)');
  });

  test('an array whose elements would be padded too much refuses a longer type of its elements', async () => {
    const table = await create('a char(3)[]', `SELECT array_fill('a'::char(3), ARRAY[100])`);
    const { detail } = assertProblem(
      await send(table, [{ a: ['x'.repeat(200_000)] }]),
      413,
      'limit-exceeded',
    );
    assert.match(detail, /lengthen a row too much: the limit is 16 MiB/);
    assert.equal((await send(table, [{ a: ['x'.repeat(2000)] }])).status, 200);
    assert.equal(await typeOf(table), 'character(2000)[]');
  });
});
