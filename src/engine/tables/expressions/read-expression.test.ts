import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { CatalogType } from '../column-types.ts';
import type { ExpressionUse } from './expression.ts';
import { type ExpressionNames, RefusedExpression } from './expression-types.ts';
import type { ExtensionObject } from './extension-objects.ts';
import { Parser } from './parse-sql.ts';
import { readExpression } from './read-expression.ts';
import { expressionSql } from './write-expression.ts';

function typeNamed(name: string, oid: number, category: string): CatalogType {
  const plain = { kind: 'b', lacksQuotes: false, isOrdered: true, mayUse: true, isOfExtension: false };
  return { ...plain, oid, baseOid: oid, schema: 'pg_catalog', name, display: name, category };
}

const text = typeNamed('text', 25, 'S');
const integer = typeNamed('int4', 23, 'N');
const date = typeNamed('date', 1082, 'D');
const tags = typeNamed('text', 1009, 'A');
const dates = typeNamed('date', 1182, 'A');
const jsonb = typeNamed('jsonb', 3802, 'U');
const citext = { ...typeNamed('citext', 20_000, 'S'), schema: 'public' };
const types = [
  text,
  integer,
  date,
  jsonb,
  tags,
  dates,
  citext,
  typeNamed('varchar', 1043, 'S'),
  typeNamed('interval', 1186, 'T'),
];

const ofCitext = { schema: 'public', types: [20_000, 20_000], result: 16, isAlone: true };
const ofExtensions: ExtensionObject[] = [
  { ...ofCitext, isOperator: true, name: '=' },
  { ...ofCitext, isOperator: false, name: 'strpos' },
  { ...ofCitext, isOperator: false, name: 'similarity', types: [25, 25] },
  { ...ofCitext, isOperator: true, name: '%', types: [25, 25] },
];

const names: ExpressionNames = {
  columns: new Map([
    ['a', text],
    ['n', integer],
    ['d', date],
    ['t', tags],
    ['u', tags],
    ['j', jsonb],
    ['c', citext],
    ['A b', text],
  ]),
  findType: ({ name, spelling, isArray }) =>
    types.find(
      (type) =>
        type.name === (name ?? spelling?.replace('pg_catalog.', '')) && (type.category === 'A') === isArray,
    ),
  function: ({ name }) => ({ schema: 'public', name }),
  sequence: (sequence) => `"public"."${sequence}"`,
  ofExtensions,
};

async function write(expression: string, use: ExpressionUse = 'check'): Promise<string> {
  const read = await readExpression(new Parser(), expression, {
    use,
    extraFunctions: ['own', 'public.other'],
  });
  if (read.problem !== undefined) return `refused: ${read.problem}`;
  try {
    return expressionSql(read.node, names)
      .replaceAll('OPERATOR("pg_catalog".', '@(')
      .replaceAll('"pg_catalog".', '');
  } catch (error) {
    if (error instanceof RefusedExpression) return `refused: ${error.message}`;
    throw error;
  }
}

/** Expressions, and how they are written: `@(` is OPERATOR("pg_catalog". and the schema pg_catalog is left out. */
const written: [string, string][] = [
  ['array_cat(t, u)::text[] IS NULL', '(("array_cat"("t", "u"))::"text"[] IS NULL)'],
  ["'{2026-11-28}'::date[] IS NULL", `(('{2026-11-28}')::"date"[] IS NULL)`],
  [`a > 'x' -- it's`, `("a" @(>) 'x')`],
  ['"A b" /* ; */ <> $q$\'$q$', `("A b" @(<>) '''')`],
  [`a = U&'\\0041' || E'\\\\'`, `("a" @(=) ('A' @(||) E'\\\\'))`],
  [`n + -1 >= 1.50e2`, `(("n" @(+) (-1)) @(>=) 1.50e2)`],
  [`n BETWEEN 1 AND 2`, `(("n" @(>=) 1) AND ("n" @(<=) 2))`],
  [`n NOT BETWEEN 1 AND 2`, `(("n" @(<) 1) OR ("n" @(>) 2))`],
  [`a IN ('x', 'y"z')`, `("a" @(=) ANY (E'{"x","y\\\\"z"}'))`],
  [`n NOT IN (1, n)`, `(("n" @(<>) 1) AND ("n" @(<>) "n"))`],
  [`a IS DISTINCT FROM 'x'`, `(NOT COALESCE(("a" @(=) 'x'), (("a" IS NULL) AND ('x' IS NULL))))`],
  [`nullif(a, '') IS NULL`, `(CASE WHEN ("a" @(=) '') THEN NULL ELSE "a" END IS NULL)`],
  [`CASE n WHEN 1 THEN true ELSE false END`, `CASE WHEN ("n" @(=) 1) THEN true ELSE false END`],
  [
    `(a)::text = ANY ((ARRAY['a'::character varying])::text[])`,
    `(("a")::"text" @(=) ANY ((ARRAY[('a')::"varchar"])::"text"[]))`,
  ],
  [`a LIKE 'x!%' ESCAPE '!'`, `("a" @(~~) "like_escape"('x!%', '!'))`],
  [
    `a ~ '^[a-z]+$' AND NOT n > 1 OR d IS NULL`,
    `((("a" @(~) '^[a-z]+$') AND (NOT ("n" @(>) 1))) OR ("d" IS NULL))`,
  ],
  [`extract(year from d) > 2000`, `(EXTRACT('year' FROM "d") @(>) 2000)`],
  [`d AT TIME ZONE 'utc' IS NOT NULL`, `(("d" AT TIME ZONE 'utc') IS NOT NULL)`],
  [`n = 0x1F`, `("n" @(=) 31)`],
  [`position('@' in a) > 0`, `(POSITION(('@') IN ("a")) @(>) 0)`],
  [`trim(both 'x' from a) <> ''`, `(TRIM(BOTH 'x' FROM "a") @(<>) '')`],
  [`greatest(n, coalesce(n, 0)) > 1`, `(GREATEST("n", COALESCE("n", 0)) @(>) 1)`],
  [
    `to_tsvector('english', a) IS NULL`,
    `("to_tsvector"('pg_catalog.english'::pg_catalog.regconfig, "a") IS NULL)`,
  ],
  [`t[1] = 'x' AND t @> '{a}'`, `((("t")[1] @(=) 'x') AND ("t" @(@>) '{a}'))`],
  [`(j ->> 'n')::integer > 0`, `((("j" @(->>) 'n'))::"int4" @(>) 0)`],
  [`a COLLATE "C" < 'b'`, `(("a" COLLATE pg_catalog."C") @(<) 'b')`],
  [`a::string <> B'1' OR n = 0`, `((("a")::"text" @(<>) B'1') OR ("n" @(=) 0))`],
  // A type of an extension has operators and functions of its own.
  [`c = 'x' OR c > 'y'`, `(("c" OPERATOR("public".=) 'x') OR ("c" @(>) 'y'))`],
  [
    `strpos(c, 'x') > 0 AND strpos(a, 'x') > 0`,
    `(("public"."strpos"("c", 'x') @(>) 0) AND ("strpos"("a", 'x') @(>) 0))`,
  ],
  [`a % 'x' OR n % 2 = 0`, `(("a" OPERATOR("public".%) 'x') OR (("n" @(%) 2) @(=) 0))`],
  [`similarity(a, 'x') > 0.5`, `("public"."similarity"("a", 'x') @(>) 0.5)`],
  [`own(a) AND public.other(a)`, `("public"."own"("a") AND "public"."other"("a"))`],
];

suite('an expression is written again', () => {
  for (const [expression, sql] of written)
    test(expression, async () => {
      assert.equal(await write(expression), sql);
    });

  test('a default', async () => {
    assert.equal(await write(`now() + interval '1' day`, 'default'), `("now"() @(+) ('1')::"interval"(8))`);
    assert.equal(await write('CURRENT_TIMESTAMP(3)', 'default'), 'CURRENT_TIMESTAMP(3)');
    const numbers = `'no' || nextval('s'::regclass)`;
    assert.equal(
      await write(numbers, 'default'),
      `('no' @(||) pg_catalog.nextval('"public"."s"'::pg_catalog.regclass))`,
    );
  });
});

/** Expressions, and why they are refused. */
const refused: [string, RegExp][] = [
  ['a +', /syntax error/],
  ['', /syntax error/],
  ['a; DROP TABLE x', /syntax error/],
  ['1) FROM (SELECT 2', /not one expression/],
  ['1), (2', /not one expression/],
  ['1) AS (x', /syntax error/],
  ['1) UNION (SELECT 1', /not one expression|syntax error/],
  ['(SELECT 1)', /a subquery, at "\(\(SELECT 1\)"/],
  ['n IN (SELECT 1)', /a subquery/],
  ['EXISTS (SELECT FROM pg_authid)', /a subquery/],
  ['ARRAY(SELECT 1)', /a subquery/],
  ['(1, 2)', /a row/],
  ['$1', /a parameter/],
  ['DEFAULT', /DEFAULT/],
  ['x.a', /names a column/],
  ['a.*', /names a column/],
  ['count(*)', /form that is not possible/],
  ['max(n)', /cannot call the function max\(\)/],
  ['row_number() OVER ()', /form that is not possible/],
  ['length(DISTINCT a)', /form that is not possible/],
  ['length(a) FILTER (WHERE true)', /form that is not possible/],
  ['generate_series(1, n)', /cannot call/],
  ['pg_sleep(1)', /cannot call the function pg_sleep\(\), at "pg_sleep\(1\)"/],
  ['public.lower(a)', /cannot call/],
  ['"LOWER"(a)', /cannot call/],
  ['x.pg_catalog.lower(a)', /cannot call/],
  ['now() > d', /cannot call/],
  ['CURRENT_DATE > d', /moment/],
  ["nextval('s') > 0", /cannot call/],
  ['repeat(a, 1000)', /cannot call/],
  ["replace(a, 'x', 'xyz')", /longer one/],
  ["regexp_replace(a, 'x', 'xyz')", /longer one/],
  ['strpos(a, a) > 0', /literal text/],
  ['d AT TIME ZONE a IS NULL', /literal text/],
  ['a ~ a', /literal text/],
  ["a ~ '(a)\\1'", /back references/],
  ["a ~ '((a{99}){99}){99}'", /too many repetitions/],
  [`a LIKE '${'x'.repeat(513)}'`, /more than 512/],
  ["a = 'x'::regclass::text", /object of the database/],
  ["to_tsvector('public.own', a) IS NULL", /text search configurations/],
  ['a::char(2000) = a', /pads/],
  ['a::date > d', /text of each row as date/],
  ["(j ->> 'x')::jsonb IS NULL", /text of each row as jsonb/],
  ["jsonb_extract_path_text(j, 'x')::jsonb IS NULL", /text of each row as jsonb/],
  ['t::date[] IS NULL', /text of each row as date/],
  ['array_cat(t, u)::date[] IS NULL', /text of each row as date/],
  ['ARRAY[a]::date[] IS NULL', /text of each row as date/],
  ['t @> u', /two long values/],
  ['a OPERATOR(public.=) a', /no extension has/],
  ['a OPERATOR(public.==>) a', /cannot have the operator/],
  ['n ^ n > 1', /operator \^/],
  ['a IS DOCUMENT', /XML/],
  ['(j).x IS NULL', /field of a composite/],
  ['n = 1e99999', /too many digits/],
  [`a = '1e131071'`, /too many digits/],
  ['a COLLATE public.own < a', /collations/],
  [`${'('.repeat(9)}${'NOT '.repeat(60)}true${')'.repeat(9)}`, /more than 50 levels/],
  [`a = '${'x'.repeat(16_384)}'`, /more than 16,384 characters/],
  [`n IN (${'1,'.repeat(4000)}1)`, /more than 2,000 words/],
  [`${'a || '.repeat(20)}a = ''`, /too many copies/],
  [
    '(a || a || a || a || a) BETWEEN a AND a AND (a || a || a || a || a || a) BETWEEN a AND a',
    /too many copies/,
  ],
  // A cast copies the whole array.
  [`ARRAY[${'t,'.repeat(29)}t]${'::bigint[]::int[]'.repeat(2)} IS NULL`, /too many copies/],
];

suite('an expression is refused', () => {
  for (const [expression, reason] of refused)
    test(expression.slice(0, 60), async () => {
      const found = await write(expression);
      assert.match(found, /^refused: /);
      assert.match(found, reason);
    });

  test('a default names no column', async () => {
    assert.match(await write('lower(a)', 'default'), /cannot name a column/);
    assert.match(await write('nextval(a)', 'default'), /name of a sequence/);
  });

  test('what is written several times is not written without bound', async () => {
    let expression = 'n';
    for (let level = 0; level < 18; level++) expression = `nullif(${expression}, 1)`;
    assert.match(await write(`${expression} > 0`), /too long when it is written out/);
  });
});
