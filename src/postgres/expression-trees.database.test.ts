/** Tests that PostgreSQL writes the trees of expressions as expression-trees.ts expects, and that the estimates are not too low. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { longestNumber } from '../core/cells/number-lengths.ts';
import {
  callsFunctions,
  columnsIn,
  digitsOf,
  mostDigits,
  ownBytesIn,
  treeBytes,
  typesOfConstants,
  typesOfNumbers,
} from './expression-trees.ts';
import { numbersInTree } from './number-trees.ts';

let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await createTestDatabase();
  client = new pg.Client(database.url);
  await client.connect();
  await client.query(
    "CREATE TYPE pair AS (a numeric, b text); CREATE TYPE colour AS ENUM ('red'); CREATE TYPE numbers AS (a int[])",
  );
});
after(async () => {
  await client.end();
  await database.drop();
});

interface Facts {
  tree: string;
  text: number;
  bytes: number;
  most: string;
  calls: boolean;
}

async function factsOf(type: string, expression: string): Promise<Facts> {
  await client.query(`DROP TABLE IF EXISTS t; CREATE TABLE t (a ${type} DEFAULT ${expression})`);
  const { rows } = await client.query<Facts>(`
    SELECT adbin::text AS tree, octet_length(pg_get_expr(adbin, 0)) AS text, ${treeBytes('adbin')} AS bytes,
      ${mostDigits('adbin')} AS most, ${callsFunctions('adbin')} AS calls FROM pg_attrdef WHERE adrelid = 't'::regclass`);
  return rows[0]!;
}

const withNumbers: [type: string, text: string][] = [
  ['numeric', '1e131071'],
  ['numeric', '-1.5e100000'],
  ['numeric', '1e-16383'],
  ['numeric[]', '{1e131071,2,3e1000,1e131071}'],
  ['numrange', '[1,1e131071]'],
  ['nummultirange', '{[1,2],[3,1e131071]}'],
  ['jsonb', '{"a":[1e131071,{"b":1e1000}],"text":"some words"}'],
  ['jsonb[]', '{1e131071,1e10000}'],
  ['pair', '(1e131071,text)'],
  ['pair[]', '{"(1e131071,text)","(1e1000,)"}'],
];

for (const [type, text] of withNumbers) {
  test(`the digits of ${text} as ${type} are estimated, not too low`, async () => {
    const { tree, text: length, most } = await factsOf(type, `'${text}'`);
    const digits = await digitsOf(tree, () => true);
    assert.ok(digits + 200 > length, `${digits} digits for a text of ${length}`);
    assert.ok(digits < 1.1 * length + 1000, `${digits} digits for a text of ${length}`);
    assert.ok(Number(most) + 200 > length, `at most ${most} digits for a text of ${length}`);
  });
}

const withoutNumbers: [type: string, expression: string][] = [
  ['text', `'${'some text '.repeat(300)}'`],
  ['text[]', `'{a,b,c}'`],
  ['colour', `'red'`],
  ['integer', '1'],
  ['timestamptz', 'now()'],
  ['bytea', `'\\x${'00ff'.repeat(1000)}'`],
];

for (const [type, expression] of withoutNumbers) {
  test(`${expression.slice(0, 20)} as ${type} has no digits, and its text is not longer than its tree`, async () => {
    const { tree, text, bytes, most } = await factsOf(type, expression);
    assert.equal(Number(most), 0);
    assert.equal(await digitsOf(tree, () => true), 0);
    assert.ok(text <= bytes);
  });
}

test('calls of functions and operators are found, and implicit casts are not', async () => {
  for (const [type, expression, calls] of [
    ['text', "to_char(now(), 'J')", true],
    ['text', "'a' || current_user", true],
    ['varchar(5)', "'a'", false],
    ['char(5)', "'a'", false],
    ['text', "'a'", false],
  ] as const) {
    assert.equal((await factsOf(type, expression)).calls, calls, expression);
  }
});

test("the types with numbers are PostgreSQL's own", async () => {
  const { rows } = await client.query<{ oid: number }>(`
    SELECT t.oid::int AS oid FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
    WHERE coalesce(e.typname, t.typname) IN ('numeric', 'numrange', 'nummultirange', 'jsonb', 'jsonpath') AND t.typnamespace = 'pg_catalog'::regnamespace`);
  assert.deepEqual(typesOfNumbers.toSorted(), rows.map(({ oid }) => oid).toSorted());
});

test('a type of a user without numbers is not searched', async () => {
  const { tree } = await factsOf('numbers', `'("{${Array.from({ length: 2000 }, (_, n) => n)}}")'`);
  const asked: number[] = [];
  const hasNumbers = (type: number) => asked.push(type) === 0;
  assert.equal(await digitsOf(tree, hasNumbers), 0);
  assert.deepEqual(asked, typesOfConstants([tree]));
  const { rows } = await client.query("SELECT 'numbers'::regtype::oid::int AS oid");
  assert.deepEqual(asked, [rows[0].oid]);
});

test('other work goes on while a long constant is searched, whatever its bytes are', async () => {
  const { tree } = await factsOf('pair', "'(1.5,)'");
  const constant = /:constlen.*\]/.exec(tree)![0];
  // Every fourth byte looks like the beginning of a number that extends almost to the end.
  const count = 500_000;
  const bytes = Array.from({ length: count }, () => '0 32 8 0').join(' ');
  const hostile = tree.replace(
    constant,
    `:constlen -1 :constbyval false :constvalue ${4 * count} [ ${bytes} ]`,
  );
  let turns = 0;
  const turn = () => {
    turns++;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await digitsOf(hostile, () => true);
  clearImmediate(next);
  assert.ok(turns >= 3, `${turns} turns`);
});

const values: [expression: string, ownBytes: [least: number, most: number], times: number][] = [
  ['lower(a)', [0, 0], 1],
  ["a || 'twenty characters :)' || a", [20, 40], 2],
  ["md5(a || 'x')", [32, 200], 1],
  ['a::char(1000)', [1000, 1100], 1],
  ['a::bit(300)::text', [300, 400], 1],
  ['a::varchar(1000)', [0, 20], 1],
  ["CASE WHEN n > 5 THEN 'many' ELSE a END", [4, 30], 1],
];

for (const [expression, [least, most], times] of values) {
  test(`the value of ${expression} has about as many bytes of its own as estimated`, async () => {
    await client.query(`DROP TABLE IF EXISTS g;
      CREATE TABLE g (n numeric, a text, g text GENERATED ALWAYS AS (${expression}) STORED)`);
    const { rows } = await client.query<{ bytes: number; times: number }>(`
      SELECT (${ownBytesIn('adbin::text')})::int AS bytes, (
        SELECT count(*)::int FROM (${columnsIn('adbin::text')}) AS c (number) WHERE number = 2) AS times
      FROM pg_attrdef WHERE adrelid = 'g'::regclass`);
    const [found] = rows;
    assert.ok(found!.bytes >= least && found!.bytes <= most, `${found!.bytes} bytes`);
    assert.equal(found!.times, times);
  });
}

const numbers: [expression: string, digitCopies: number, digits: number, constantDigits?: number][] = [
  ['n + 1.5', 1, 32],
  ['round(n * n, 2)', 2, 160],
  ['CASE WHEN n > 5 THEN round(n / 7, 2) * round(n, 100) END', 6, 320],
  ['f::numeric * 1.19', 2, 352],
  ['n::numeric(1000, 900)', 1, 1000],
  ['n + 1e1000 + 1e-500', 2, 64, 1500],
  ['length(a) + 1', 1, 0],
  ["replace(a, ',', '.')::numeric(10, 2)", 3, 10],
  ['(d -> 0)::numeric(10, 2)', 3, 10],
  ['round((f / 2.5::float8)::numeric, 2)', 2, 448],
  ['CASE WHEN i > 0 THEN round(n / 7, 2) END', 3, 160],
  ['round(extract(epoch FROM s) / n, 1)', 3, 160],
  ['round(round(round(n, 2) / 3, 1), length(substr(a, 2)) / 2)', 6, longestNumber],
  ['round(coalesce(nullif(round(n + n * (n - n / (n + 1)), 2), 0), n), 2)', 10, 416],
  ['round(n, i) + i / 2', 3, longestNumber],
  ['round(n, 1000)', 1, longestNumber],
  ['round(n, i) + substr(a, 1, 2)::int', 5, longestNumber],
  ['round(n, i + 5)', 1, longestNumber],
  ['trunc(n, length(a))', 1, longestNumber],
  ['10 ^ n', 2, longestNumber],
  ['exp(n)', 1, longestNumber],
  ['a::numeric', 1, longestNumber],
  ["(a::json ->> 'price')::numeric", 3, longestNumber],
  ['(d -> 0)::numeric', 2, longestNumber],
  ["jsonb_path_query_first(d, '$.x * $.y')::numeric", 2, longestNumber],
  ["nullif(replace(a, ',', '.'), '')::numeric", 3, longestNumber],
  ['left(u::text, 8)::numeric', 3, longestNumber],
];

for (const [expression, digitCopies, digits, constantDigits = 0] of numbers) {
  test(`the numbers of ${expression} are found`, async () => {
    await client.query(`DROP TABLE IF EXISTS g;
      CREATE TABLE g (n numeric, a text, f float8, i int, d jsonb, u uuid, s timestamp, g numeric GENERATED ALWAYS AS (${expression}) STORED)`);
    const { rows } = await client.query(`
      SELECT n.digit_copies::int, n.digits::int, n.constant_digits::int
      FROM pg_attrdef, LATERAL (${numbersInTree('adbin::text')}) n WHERE adrelid = 'g'::regclass`);
    const { constant_digits: ofConstants, ...found } = rows[0];
    assert.deepEqual(found, { digit_copies: digitCopies, digits });
    assert.ok(ofConstants >= constantDigits && ofConstants < constantDigits + 100, `${ofConstants} digits`);
  });
}
