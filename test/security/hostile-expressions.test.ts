/**
 * Expressions of definitions that are made to run something else: each is refused with its place, or means what it says. Whatever comes out, no
 * function of the callers has run, and no object was made.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { columns } from '../support/columns.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE TABLE ran (what text)');
  await service.rows(`CREATE FUNCTION public.effect(anyelement) RETURNS boolean VOLATILE LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO public.ran VALUES (current_query()); RETURN true; END $$`);
  for (const [name, from] of [
    ['lower', 'text'],
    ['length', 'text'],
    ['compare', 'text, text'],
  ])
    await service.rows(`CREATE FUNCTION public.${name}(${from}) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
      AS $$ BEGIN INSERT INTO public.ran VALUES ('${name}'); RETURN true; END $$`);
  await service.rows('CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.compare)');
  await service.rows(
    'CREATE OPERATOR public.=~ (LEFTARG = text, RIGHTARG = text, FUNCTION = public.compare)',
  );
});
after(() => service.stop());

const own = columns(['a', 'text'], ['n', 'integer'], [`x" > 0); DROP TABLE ran; --`, 'text'], ["q'", 'text']);

/** What must never be done. */
const effects = fc.constantFrom(
  'public.effect(1)',
  'effect(a)',
  'pg_sleep(1) IS NULL',
  "pg_read_file('/etc/passwd')",
  "set_config('role', 'postgres', false)",
  "current_setting('data_directory')",
  "nextval('ran') > 0",
  "lo_import('/etc/passwd') > 0",
  "dblink('x', 'y')",
  "query_to_xml('DELETE FROM ran', true, true, '') IS NULL",
  'pg_advisory_lock(1) IS NULL',
  'pg_terminate_backend(1)',
  "repeat('x', 1000000000) = a",
  'lpad(a, 1000000000) = a',
  'a = ANY (SELECT what FROM ran)',
  'EXISTS (SELECT FROM ran)',
  '(SELECT effect(1))',
  '(TABLE ran) IS NULL',
  'count(*) > 0',
  'row_number() OVER () > 0',
  'generate_series(1, 9) > 0',
  "'ran'::regclass IS NULL",
  'a::public.ran IS NULL',
  "(ROW(1, 'x')::ran).what = a",
  'a OPERATOR(public.=) a',
  'a =~ a',
  '$1',
  '$1::text = a',
  'ctid IS NULL',
  'tableoid > 0',
  'ran.what = a',
  'xmlparse(document a) IS NULL',
  "U&'\\0065ffect'(1)",
  'U&"\\0065ffect"(1)',
  "E'\\x65'(1)",
  'pg_catalog.effect(1)',
  '"pg_catalog"."pg_sleep"(1) IS NULL',
  'a COLLATE public.own = a',
  'CAST(a AS unknown_type) IS NULL',
  'MERGE_ACTION() IS NULL',
);

/** Texts that hide something, or end a part of SQL too early. */
const noise = fc.constantFrom(
  '',
  ' ',
  '\n',
  '/* */',
  '/* /* */ */',
  '/*',
  '*/',
  '--',
  '-- \n',
  ';',
  ');',
  '))',
  '((',
  "'",
  "''",
  '"',
  '""',
  '$$',
  '$x$',
  "E'\\'",
  "U&'\\+000027'",
  "U&'!0027' UESCAPE '!'",
  "N'x'",
  "X'1'",
  '\\',
  '\u0001',
  '\u2028',
  '\u00a0',
  '\ufeff',
  '😀',
  ') CHECK (true',
  ') NO INHERIT, CHECK (true',
  ') STORED, z text DEFAULT (effect(1)',
  '; COMMIT; DROP TABLE ran; --',
  ') FROM ran WHERE (true',
  ' UNION SELECT effect(1)',
  ' AS x',
  ', effect(1)',
  ' AND ',
  ' OR NOT ',
  ' IS NULL ',
  '::text',
  ' COLLATE "C"',
  '[1]',
  '.x',
);
const wraps = fc.constantFrom<(inner: string) => string>(
  (inner) => inner,
  (inner) => `(${inner})`,
  (inner) => `NOT (${inner})`,
  (inner) => `CASE WHEN ${inner} THEN true ELSE false END`,
  (inner) => `coalesce((${inner})::text, 'x') = a`,
  (inner) => `n > 0 AND (${inner}) IS NOT NULL`,
  (inner) => `lower((${inner})::text) LIKE 'x'`,
  (inner) => `ARRAY[(${inner})::text] = ARRAY[a]`,
  (inner) => `nullif((${inner})::text, a) IS NULL`,
  (inner) => `$$${inner}$$ = a`,
  (inner) => `'${inner.replaceAll("'", "''")}' <> a`,
  (inner) => `"${inner.replaceAll('"', '""')}" IS NULL`,
  (inner) => `${'('.repeat(60)}${inner}${')'.repeat(60)}`,
);
const place = fc.constantFrom('check', 'generated', 'default', 'where', 'index');

function tableWith(at: string, text: string): object {
  const column = { name: 'g', type: 'boolean' };
  const table = { columns: own };
  if (at === 'check') return { ...table, constraints: { checks: [{ expression: text }] } };
  if (at === 'generated') return { columns: [...own, { ...column, generated: text }] };
  if (at === 'default')
    return { columns: [...own, { ...column, default: text, default_is_expression: true }] };
  const index =
    at === 'where' ? { columns: [{ column: 'a' }], where: text } : { columns: [{ expression: text }] };
  return { ...table, indexes: [index] };
}

const counts =
  "SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace)::int AS objects, (SELECT count(*) FROM ran)::int AS ran";

test('500 hostile expressions have no effect, and those that are refused name their place', async () => {
  const hostile = fc.record({
    text: fc
      .tuple(noise, wraps, noise, effects, noise, wraps, noise)
      .map(
        ([first, outer, second, effect, third, inner, last]) =>
          `${first}${outer(inner(`${second}${effect}${third}`))}${last}`,
      ),
    place,
  });
  const [known] = await service.rows(counts);
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(hostile, async ({ text, place }) => {
      const table = tableWith(place, text);
      const { status, body } = await service.post('/table/attacked', { table });
      if (status === 201) await service.rows('DROP TABLE attacked');
      else {
        refused++;
        assert.equal(status, 422, `${text}: ${JSON.stringify(body)}`);
        for (const { pointer, detail } of body.errors) {
          assert.match(pointer, /\/(expression|generated|default|where)$|^\/table\/indexes\/0$/, text);
          assert.ok(detail.length > 10);
        }
      }
      assert.deepEqual(await service.rows(counts), [known], text);
    }),
    { numRuns: 500 },
  );
  // The others are texts in quotes, and names of columns.
  assert.ok(refused > 350, String(refused));
});

/** Expressions of each kind of value. The columns are in the table below. */
const { number, texts, truth, day } = fc.letrec<Record<'number' | 'texts' | 'truth' | 'day', string>>(
  (tie) => {
    const [n, s, b, d] = [tie('number'), tie('texts'), tie('truth'), tie('day')];
    const of = (template: (...parts: string[]) => string, ...parts: fc.Arbitrary<string>[]) =>
      fc.tuple(...parts).map((values) => template(...values));
    const literal = fc.string({ maxLength: 5 }).filter((text) => !text.includes('\0') && text.isWellFormed());
    const quoted = literal.map((text) => `'${text.replaceAll("'", "''")}'::text`);
    const operator = (...names: string[]) => fc.constantFrom(...names);
    return {
      number: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(
          'i',
          'm',
          '(i)',
          '7',
          '-3',
          '1.5',
          'length(s)',
          'extract(year from d)',
          "(j ->> 'n')::int",
        ),
        of((x, o, y) => `(${x} ${o} ${y})`, n, operator('+', '-', '*', '/'), n),
        of((x) => `round((${x})::numeric, 2)`, n),
        of((x, y) => `coalesce(${x}, ${y})`, n, n),
        of((x, y, z) => `CASE WHEN ${x} THEN ${y} ELSE ${z} END`, b, n, n),
        of((x) => `position('x' in ${x})`, s),
      ),
      texts: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom('s', '"T"', 'v', 'upper(s)', "j ->> 'k'", 'tags[1]'),
        quoted,
        of((x, y) => `(${x} || ${y})`, s, s),
        of((x) => `lower(${x})`, s),
        of((x) => `substring(${x} from 2 for 3)`, s),
        of((x) => `trim(both 'x' from ${x})`, s),
        of((x, y) => `nullif(${x}, ${y})`, s, s),
      ),
      truth: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(
          'i > 0',
          "s <> ''",
          'b',
          'b IS TRUE',
          "mood = 'ok'",
          "mood IN ('ok', 'sad')",
          "tags @> '{a}'",
        ),
        of((x, o, y) => `(${x}) ${o} (${y})`, n, operator('=', '<>', '<', '>=', 'IS DISTINCT FROM'), n),
        of((x, o, y) => `(${x}) ${o} (${y})`, s, operator('=', '<>', '<', 'IS NOT DISTINCT FROM'), s),
        of((x, o, y) => `(${x}) ${o} (${y})`, b, operator('AND', 'OR'), b),
        of((x) => `NOT (${x})`, b),
        of((x, y, z) => `(${x}) BETWEEN (${y}) AND (${z})`, n, n, n),
        of((x, y) => `(${x}) IN (1, ${y})`, n, n),
        of((x) => `(${x}) LIKE 'a%' OR (${x}) ~* '^[ab]+$'`, s),
        of((x) => `(${x}) IS NULL`, fc.oneof(n, s, d)),
        of((x, y) => `(${x}) > (${y})`, d, d),
      ),
      day: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom('d', "DATE '2026-11-28'", "at AT TIME ZONE 'utc'", "date_trunc('month', d)"),
        of((x, y) => `greatest(${x}, ${y})`, d, d),
      ),
    };
  },
);

test('an expression to which PostgreSQL adds many casts and levels comes back, and can be sent again', async () => {
  const words = Array.from({ length: 70 }, (_, index) => `v = 'w${index}'`).join(' OR ');
  const between = (levels: number) => `${'b BETWEEN b AND ('.repeat(levels)}b${')'.repeat(levels)}`;
  const casts = Array.from({ length: 70 }, () => 'j::text IS NULL').join(' OR ');
  const checks = [words, between(25), casts].map((expression) => ({ expression }));
  const list = columns(['v', 'varchar(20)'], ['j', 'jsonb'], ['b', 'boolean'], ['g', 'boolean']);
  const table = {
    columns: list.map((column) => (column.name === 'g' ? { ...column, generated: words } : column)),
    constraints: { checks },
  };
  const { status, body } = await service.post('/table/cast', { table });
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(body.table.constraints.others, undefined);
  const again = await service.post('/table/cast_again', { table: body.table });
  assert.equal(again.status, 201, JSON.stringify(again.body));
  assert.deepEqual(again.body.table.constraints.checks, body.table.constraints.checks);
  const deeper = { columns: list, constraints: { checks: [{ expression: between(26) }] } };
  assert.match((await service.post('/table/deeper', { table: deeper })).body.errors[0].detail, /50 levels/);
});

test('what is allowed comes back, and is the same when it is sent again', async () => {
  await service.rows(`CREATE TYPE mood AS ENUM ('sad', 'ok')`);
  const list = columns(
    ...([
      ['i', 'integer'],
      ['m', 'numeric'],
      ['s', 'text'],
      ['T', 'text'],
      ['v', 'varchar(20)'],
      ['b', 'boolean'],
      ['d', 'date'],
      ['at', 'timestamptz'],
      ['j', 'jsonb'],
      ['tags', 'text[]'],
      ['mood', 'mood'],
    ] as [string, string][]),
  );
  const facts = (table: string) =>
    service.rows(
      `SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conrelid = '${table}'::regclass ORDER BY oid`,
    );
  let made = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(truth, number, texts, day), { minLength: 1, maxLength: 4 }),
      async (expressions) => {
        const checks = expressions.map((text) => ({ expression: `(${text}) IS NOT NULL` }));
        const { status, body } = await service.post('/table/first', {
          table: { columns: list, constraints: { checks } },
        });
        if (status !== 201) {
          // Types that do not fit, and copies without bound.
          for (const { code } of body.errors) assert.equal(code, 'invalid-expression', JSON.stringify(body));
          return;
        }
        made++;
        assert.equal(body.table.constraints.others, undefined, JSON.stringify(body.table.constraints));
        const again = await service.post('/table/second', { table: body.table });
        assert.equal(again.status, 201, JSON.stringify(again.body));
        assert.deepEqual(again.body.table.constraints.checks, body.table.constraints.checks);
        assert.deepEqual(await facts('second'), await facts('first'));
        await service.rows('DROP TABLE first, second');
      },
    ),
    { numRuns: 100 },
  );
  assert.ok(made > 50, String(made));
});
