import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertLinear } from '../../../test/support/growth.ts';
import { quoteQualified } from '../../postgres/sql.ts';
import { constantOf } from './compare-definition.ts';
import type { Names } from './defaults.ts';
import { describeDefault, expressionSql, parseDefault, takesNumbers } from './defaults.ts';

const names: Names = {
  type: (type) => `<${type.spelling ?? type.name}${type.modifiers}>`,
  function: ({ schema, name }) => ({ schema: schema ?? 'found', name }),
  sequence: (text) => quoteQualified('found', text),
};

/** Returns `= text` for a literal, or else the expression in SQL. */
function read(text: string, extraFunctions: string[] = []): string {
  const parsed = parseDefault(text, extraFunctions);
  return parsed.kind === 'literal' ? `= ${parsed.text}` : expressionSql(parsed.expression, names);
}

test('step 1 reads SQL literals', () => {
  assert.equal(read("'pending'"), '= pending');
  assert.equal(read(" '' "), '= ');
  assert.equal(read("'O''Brien'"), "= O'Brien");
  assert.equal(read("'a'::int"), "CAST('a' AS <int>)");
  assert.equal(read("'1' :: numeric(5, 2)[]"), "CAST('1' AS <numeric(5,2)>)");
  assert.equal(read("'\\'::text"), "CAST(E'\\\\' AS <text>)");
  assert.equal(read("B'101'"), "B'101'");
  assert.equal(read('B\'101\'::"bit"'), "CAST(B'101' AS <bit>)");
});

test('step 2 reads allowed calls and keywords', () => {
  assert.equal(read('now()'), '"found"."now"()');
  assert.equal(read(' NOW ( ) '), '"found"."now"()');
  assert.equal(read('pg_catalog.now()'), '"pg_catalog"."now"()');
  assert.equal(read('"now"()'), '"found"."now"()');
  assert.equal(read("nextval('a b')"), `"found"."nextval"('"found"."a b"'::pg_catalog.regclass)`);
  assert.equal(read("nextval('s'::regclass)"), `"found"."nextval"('"found"."s"'::pg_catalog.regclass)`);
  assert.equal(
    read("timezone('utc'::text, now())"),
    `"found"."timezone"(CAST('utc' AS <text>), "found"."now"())`,
  );
  assert.equal(read('make_interval(-1, 2.5, null, TRUE)'), '"found"."make_interval"((-1), 2.5, null, true)');
  assert.equal(
    read('to_timestamp((-0)::double precision)'),
    '"found"."to_timestamp"(CAST((-0) AS <double precision>))',
  );
  for (const keyword of ['CURRENT_TIMESTAMP', 'current_date', 'LocalTime', 'CURRENT_USER', 'session_user']) {
    assert.equal(read(keyword), keyword.toLowerCase());
  }
  assert.equal(read('CURRENT_TIMESTAMP ( 3 )'), 'current_timestamp(3)');
  assert.equal(read('my_id()', ['my_id']), '"found"."my_id"()');
  assert.equal(read('app.my_id(1)', ['app.my_id']), '"app"."my_id"(1)');
});

test('step 3 reads anything else as literal text, exactly as written', () => {
  const literal = [
    '',
    ' ',
    '0',
    '-1',
    'true',
    'null',
    'NULL',
    'user',
    'order',
    'now',
    'pending',
    "O'Brien",
    '{}',
    '1; drop table x',
    'pg_sleep(10)',
    "pg_read_file('/etc/passwd')",
    'evil.now()',
    'now',
    'now(',
    'now())',
    'now() --',
    'now() + 1',
    "now()::date'",
    'now(), now()',
    'now(pg_sleep(1))',
    'now(select 1)',
    "'a' || 'b'",
    "'a' 'b'",
    "'a'::int; drop table x",
    "'a'::int default 1",
    "E'x'",
    "U&'x'",
    '$$x$$',
    '(1)',
    '(1)::text',
    '1::int',
    'true::boolean',
    '-1::int',
    'CURRENT_DATE(1)',
    'CURRENT_TIMESTAMP(99)',
    'CURRENT_TIMESTAMP()',
    '"current_timestamp"',
    'constructor()',
    'current_role',
    "'x'::no such type",
    'app.my_id()',
    `${'timezone(1,'.repeat(20)}now()${')'.repeat(20)}`,
  ];
  for (const text of literal) assert.equal(read(text), `= ${text}`, text);
});

test('a refused literal gets a hint at what was probably meant', () => {
  const hint = (text: string) => {
    const parsed = parseDefault(text, ['my_id']);
    return parsed.kind === 'literal' ? parsed.hint : undefined;
  };
  assert.match(hint('pg_sleep(1)')!, /gen_random_uuid.*my_id/);
  assert.match(hint('')!, /send null/);
  assert.match(hint('NULL')!, /send null/);
  assert.equal(hint('abc'), '');
});

test('the text of an SQL literal is kept completely, and always quoted in SQL', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const quoted = `'${value.replaceAll("'", "''")}'`;
      assert.equal(read(quoted), `= ${value}`);
      const sql = read(`now(${quoted})`);
      const inner = sql.replace(/^"found"."now"\(E?'/, '').replace(/'\)$/, '');
      assert.ok(!/(?<!')'(?:'')*(?!')/.test(inner.replaceAll('\\\\', '')), sql);
    }),
  );
});

test('a default that takes a number from a sequence is recognized', () => {
  const takes = (text: string) => {
    const parsed = parseDefault(text, []);
    return parsed.kind === 'expression' && takesNumbers(parsed.expression);
  };
  assert.ok(takes("nextval('s')"));
  assert.ok(takes("to_char(nextval('s'), 'FM000')"));
  assert.ok(!takes('now()'));
});

test("PostgreSQL's text of a default becomes the default of a definition", () => {
  const describe = (expression: string, category = 'S', takesFractions = false) =>
    describeDefault({ expression, category, takesFractions }, ['my_id']);
  const says = (text: string) => ({ text, isExpression: false });
  assert.deepEqual(describe('0', 'N'), says('0'));
  assert.deepEqual(describe('0'), says("'0'::integer"));
  assert.deepEqual(describe('1.5', 'N', true), says('1.5'));
  assert.deepEqual(describe('1.5', 'N'), says("'1.5'::numeric"));
  assert.deepEqual(describe('true', 'B'), says('true'));
  assert.deepEqual(describe('true'), says("'true'::boolean"));
  assert.deepEqual(describe('(0)::numeric', 'N', true), says("'0'::numeric"));
  assert.deepEqual(describe('ARRAY[]::text[]', 'A'), says("'{}'::text[]"));
  assert.deepEqual(describe("'a'::text"), says("'a'::text"));
  assert.deepEqual(describe('now()'), says('now()'));
  assert.deepEqual(describe('my_id()'), says('my_id()'));
  assert.deepEqual(describe('NULL::character varying'), { text: undefined, isExpression: false });
  assert.deepEqual(describe("('now'::text)::date"), says("('now'::text)::date"));
  for (const text of ["lower('A'::text)", '(1 + 2)', "('a'::text || 'b'::text)"]) {
    assert.deepEqual(describe(text), { text, isExpression: true });
  }
});

test('a call to which PostgreSQL adds a cast is read back', () => {
  for (const text of [
    "date_trunc('month'::text, (CURRENT_DATE)::timestamp with time zone)",
    "to_timestamp((nextval('q'::regclass))::double precision)",
    '(CURRENT_DATE)::timestamp',
    "to_char(('2020-01-01'::date)::timestamp with time zone, 'HH'::text)",
  ]) {
    assert.equal(parseDefault(text, []).kind, 'expression', text);
  }
  for (const text of ["('x')::text", '(CURRENT_DATE)', '(now()', '(sleep(1))::text', '((1))::int']) {
    assert.equal(parseDefault(text, []).kind, 'literal', text);
  }
});

test('two spellings of a constant are equal, and a long text is compared in linear time', async () => {
  assert.equal(constantOf("'0'::bigint"), constantOf('0'));
  assert.equal(constantOf("'a'::character varying(5)[]"), constantOf("'a'"));
  assert.notEqual(constantOf("'a'::text || 'b'"), constantOf("'a'"));
  await assertLinear((size) => constantOf(`'a'::${'x'.repeat(size)}(`), 2000);
});
