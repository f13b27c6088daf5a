/**
 * Expressions of a definition in which PostgreSQL cannot be interrupted: they search a long text for a pattern, or pair the parts of two values.
 * They are refused, or their values are short enough.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { withBackendMemory } from '../support/backend-memory.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.rows('CREATE DOMAIN word AS text CHECK (length(VALUE) < 100)');
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS searched; DROP DOMAIN IF EXISTS searched_text'));

const columns = Object.entries({
  a: 'text',
  b: 'text',
  n: 'numeric',
  m: 'numeric',
  j: 'jsonb',
  k: 'jsonb',
  l: 'text[]',
  p: 'path',
  q: 'path',
  o: 'polygon',
  ps: 'path[]',
  i: 'int[]',
  r: 'numrange',
  d: 'date',
  e: 'date',
  y: 'bytea',
  t: 'tsquery',
  v: 'tsvector',
  u: 'uuid',
  ds: 'date[]',
  ip: 'inet',
  qs: 'tsquery[]',
  w: 'uuid',
}).map(([name, type]) => ({ name, type }));

const checks = (...expressions: string[]) => ({
  constraints: { checks: expressions.map((expression) => ({ name: '', expression })) },
});
const words = (count: number) => Array.from({ length: count }, (_, n) => `w${n}`);
const long = `${'x'.repeat(500)}y`;
const joined = (value: string) => `(${value}||${value})`;
/** Sixteen copies of a, with the fewest values between. */
const sixteen = joined(joined(joined(joined('a'))));
const searches = (count: number, value: string) =>
  Array.from({ length: count }, (_, n) => `${value} NOT LIKE '%${long}${n}%'`).join(' AND ');

const create = (expressions: string[]) =>
  service.post('/table/searched', { table: { columns, ...checks(...expressions) } });

suite('an expression is refused whose time or memory has no bound', () => {
  for (const expression of [
    'length(normalize(a, NFKD)) > 1',
    "length(translate(a, 'xy', 'x€')) > 1",
    "length(replace(a, 'x', '€')) > 1",
    "length(regexp_replace(a, '', '€', 'g')) > 1",
    'j @> k',
    'j ?| l',
    'j ?& l',
    '(j - l) is not null',
    '(p <-> q) > 1',
    'o ~= o',
    "(j->'a') @> (k->'a')",
    "coalesce(j, '[]') @> k",
    'to_jsonb(l) @> j',
    "(j['a'] - l) is not null",
    '(ps[1] <-> ps[2]) > -1',
    'jsonb_build_object(VARIADIC l) is not null',
    'length(a::public.word) > 1',
    'length(quote_ident(quote_ident(quote_ident(a)))) > 1',
    "length(encode(convert_to(encode(convert_to(encode(y, 'hex'), 'UTF8'), 'hex'), 'UTF8'), 'hex')) > 1",
    'length(to_jsonb(to_jsonb(to_jsonb(a)::text)::text)::text) > 1',
    'length(concat(array[concat(array[concat(array[a])])])) > 1',
    'a::bpchar <> all(l)',
    'a > all(l)',
    'array_remove(l, a) is not null',
    'length(substr(substr(substr(a::bytea::text, 3)::bytea::text, 3)::bytea::text, 3)::bytea) > 1',
    "length(convert_to(convert_to(convert_to(a, 'UTF8')::text, 'UTF8')::text, 'UTF8')::text) > 1",
    'length(concat(to_json(concat(to_json(a))))) > 1',
    "length(regexp_match(regexp_match(regexp_match(a, '.*')::text, '.*')::text, '.*')::text) > 1",
    "length(('{' || ('{' || ('{' || l || a)::text || l)::text || l)::text) > 1",
    "length(encode(convert_to(to_json(a)::text, 'UTF8'), 'hex')) > 1",
    "length(concat(jsonb_build_object('a', encode(y, 'escape')))) > 1",
    "cardinality(regexp_match(a, '(((((((((((.*)))))))))))')) > 1",
    'numnode(qs[1] && qs[1]) > 1',
    'cardinality(i::char(1000)[]) > 0',
    'cardinality(i::bit(1000)[]) > 0',
    'length((i::numeric(1000,990)[])::text) > 1',
    'cardinality(l::name[]) > 0',
    'numnode(t && t) > 1',
    'numnode(t <-> t) > 1',
    "numnode(plainto_tsquery('simple', a) || t) > 1",
    'length(p + p) > 1',
    'length(ps[1] + p) > 1',
  ])
    test(expression, async () => {
      assertProblem(await create([expression]), 422, 'invalid-definition');
      assert.deepEqual(await service.rows("SELECT FROM pg_class WHERE relname = 'searched'"), []);
    });
});

test('expressions whose values are short, or of which one is a literal, are created', async () => {
  const answer = await create([
    "translate(a, 'äöü€', 'aoue') <> 'x'",
    "replace(a, 'ss', 'ß') <> 'x'",
    "regexp_replace(a, '\\s+', ' ', 'g') <> 'x'",
    'n - m > 0',
    'upper(r) - lower(r) > 1',
    'd - e > 1',
    'coalesce(n, 0) - coalesce(m, 0) >= 0',
    "(j->>'x')::numeric - (k->>'y')::numeric > 0",
    `j @> '{"a": 1}'`,
    "(j - 'secret') is not null",
    "j ?| array['a', 'b']",
    "l && array['a']",
    'a <> all(l)',
    "array_remove(l, 'b') is not null",
    'array_remove(i, 0) is not null',
    'length(to_jsonb(a)::text) > 1',
    "encode(sha256(convert_to(concat(a, n::text), 'UTF8')), 'hex') <> 'x'",
    "encode(sha256(convert_to(json_build_object('a', a, 'j', to_json(l))::text, 'UTF8')), 'hex') <> 'x'",
    "not (ip <<= '10.0.0.0/8') and host(ip) <> 'x'",
    'n >= all(i) and d > any(ds)',
    // The pattern of addresses in HTML.
    "a ~ '^[a-zA-Z0-9.!#$%&''*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$'",
    'greatest(n, m, 1) > 0',
    "l[1] = 'a' and j['a'] is not null",
    "a like '%@%.%' and b not ilike '%x%'",
    "(p <-> path '((0,0),(1,1))') > 1",
    'length(p) + 1 > 1 and numnode(t) + 1 > 1',
    "u::text || '-' || w::text || '-' || (n::text || m) <> 'x'",
    "l[1] || ' ' || l[2] || ' ' || lower(trim(a)) || l[3] || i[1] <> 'x'",
    'i[1] + i[2] > 0',
    "lower(trim(j->>'a')) || ' ' || (j->>'b') || (k->'a'->>'b') <> 'x'",
    "setweight(to_tsvector('english', coalesce(a, '')), 'A') || setweight(to_tsvector('english', coalesce(j->>'b', '')), 'B') || v is not null",
    "jsonb_build_object('a', jsonb_build_object('b', jsonb_build_object('c', a))) is not null",
    "upper(substr(a, 1, 1)) || lower(substr(a, 2)) <> 'x'",
    "encode(sha256(convert_to(lower(concat(a, '|', b, '|', d::timestamp)), 'UTF8')), 'hex') <> 'x'",
  ]);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const row = {
    a: 'a@b.c',
    n: 2,
    m: 1,
    d: '2026-01-03',
    e: '2026-01-01',
    u: '00000000-0000-0000-0000-000000000001',
    t: 'a & b',
    v: 'a b',
    j: { a: 1, x: 2 },
    k: { y: 1 },
    l: ['a'],
    i: [0, 1],
    ds: ['2026-01-01'],
    ip: '192.0.2.1',
  };
  const loaded = await service.post('/table/searched/upload/json?if_exists=append', { data: [row] });
  assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
});

const hostile: [name: string, checks: string[], indexes: string[], length: number][] = [
  ['LIKE', Array.from({ length: 100 }, (_, n) => `a NOT LIKE '%${long}${n}%'`), [], 100_000],
  ['LIKE with another case', Array.from({ length: 60 }, (_, n) => `a NOT ILIKE '%x${n}%'`), [], 8_000_000],
  ['strpos', Array.from({ length: 400 }, (_, n) => `strpos(a, '${n}${long}') = 0`), [], 100_000],
  ['translate', [`length(translate(a, '${'y'.repeat(500)}', '')) > 1`], [], 4_000_000],
  ['LIKE in indexes', [], Array.from({ length: 30 }, (_, n) => `a NOT LIKE '%${long}${n}%'`), 3_000_000],
];

suite('a text is refused that is too long for the searches in it', () => {
  for (const [name, expressions, wheres, length] of hostile)
    test(name, async () => {
      const indexes = wheres.map((where) => ({ columns: [{ column: 'b' }], where }));
      const table = {
        columns: columns.slice(0, 2),
        ...checks(...expressions),
        indexes,
      };
      const data = (bytes: number) => [{ a: 'x'.repeat(bytes), b: 'x' }];
      const refused = await service.post('/table/searched/upload/json', { table, data: data(length) });
      assert.equal(assertProblem(refused, 422, 'invalid-data').errors[0]?.code, 'too-complex');
      const loaded = await service.post('/table/searched/upload/json', { table, data: data(length / 50) });
      assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
      const appended = await service.post('/table/searched/upload/json?if_exists=append', {
        data: data(length),
      });
      assert.equal(assertProblem(appended, 422, 'invalid-data').errors[0]?.code, 'too-complex');
    });
});

/** What takes long for a value of the column `a`: a part of a definition, the type of the column, and a value of this length. */
const costly: [
  name: string,
  part: object,
  type: string,
  value: (length: number) => unknown,
  length: number,
][] = [
  [
    'checks of a domain',
    { types: [{ name: 'searched_text', base: 'text', check: searches(20, 'VALUE') }] },
    'searched_text',
    (length) => 'x'.repeat(length),
    500_000,
  ],
  [
    'checks of the elements of an array',
    { types: [{ name: 'searched_text', base: 'text', check: searches(20, 'VALUE') }] },
    'searched_text[]',
    (length) => ['x'.repeat(length)],
    500_000,
  ],
  ['an array', checks(`a && '{${words(900)}}'`), 'text[]', (length) => Array(length).fill('zzzzz'), 50_000],
  [
    'a list of keys',
    checks(`a ?| '{${words(900)}}'::text[]`),
    'jsonb',
    (length) => Array(length).fill('zzzzz'),
    50_000,
  ],
  [
    'the distance from a path',
    checks(`(a <-> path '(${Array(300).fill('(1,1)')})') > -1`),
    'path',
    (length) => `(${Array(length).fill('(5,5)')})`,
    50_000,
  ],
  [
    'words',
    checks("numnode(plainto_tsquery('simple', a)) >= 0"),
    'text',
    (length) => 'word '.repeat(length),
    1_000_000,
  ],
  [
    'parts of a text as JSON',
    checks(
      "jsonb_array_length(to_jsonb(string_to_array(a, ','))) >= 0",
      "to_jsonb(string_to_array(a, ',')) is not null",
    ),
    'text',
    (length) => ','.repeat(length),
    10_000_000,
  ],
  [
    'matches of a pattern',
    checks(...Array.from({ length: 12 }, (_, n) => `regexp_count(a, '') > ${n}`)),
    'text',
    (length) => 'x'.repeat(length),
    14_000_000,
  ],
  [
    'slices of an array',
    checks(...Array(3).fill(Array(60).fill('a[1:] is not null').join(' and '))),
    'text[]',
    (length) => ['x'.repeat(length)],
    10_000_000,
  ],
  [
    'elements of an array',
    checks(...Array(30).fill(Array(60).fill('a[900000] is not null').join(' and '))),
    'text[]',
    (length) => Array(length).fill('x'),
    500_000,
  ],
  [
    'searches in a generated column beside its source',
    {
      columns: [
        { name: 'a', type: 'text' },
        { name: 'g', type: 'text', generated: sixteen },
      ],
      ...checks(...words(20).map((word) => `g not like '%${long}${word}%' and a is not null`)),
    },
    'text',
    (length) => 'x'.repeat(length),
    45_000,
  ],
  [
    'products in a domain',
    {
      types: [
        {
          name: 'searched_text',
          base: 'numeric',
          check: words(200)
            .map((_, n) => `VALUE * VALUE > ${n}`)
            .join(' and '),
        },
      ],
    },
    'searched_text',
    (length) => '1'.repeat(length),
    65_000,
  ],
  [
    'documents in a domain',
    {
      types: [
        {
          name: 'searched_text',
          base: 'jsonb',
          check: `jsonb_array_length(jsonb_build_array(${Array(60).fill('VALUE')})) > 0`,
        },
      ],
    },
    'searched_text',
    (length) => Array(length).fill(1),
    400_000,
  ],
  [
    'products of texts that are numbers',
    checks(...words(300).map((_, n) => `a::numeric * a::numeric > ${n}`)),
    'text',
    (length) => '1'.repeat(length),
    120_000,
  ],
  [
    'products of numbers in strings of JSON',
    checks(...words(300).map((_, n) => `(a->>'n')::numeric * (a->>'n')::numeric > ${n}`)),
    'jsonb',
    (length) => ({ n: '1'.repeat(length) }),
    120_000,
  ],
  [
    'padded elements',
    checks(`length(concat(${Array(60).fill('a')})) > 0`),
    'char(1000)[]',
    (length) => Array(length).fill('x'),
    20_000,
  ],
  [
    'elements that a check pads',
    {
      types: [{ name: 'searched_text', base: 'int', check: `VALUE::char(1000) not like '%${long}%'` }],
    },
    'searched_text[]',
    (length) => Array(length).fill(1),
    30_000,
  ],
  [
    'groups of a match',
    checks(...words(30).map((_, n) => `cardinality(regexp_match(a, '((((.*))))')) > ${n}`)),
    'text',
    (length) => 'x'.repeat(length),
    6_000_000,
  ],
  [
    'searches in a joined text',
    checks(...words(12).map((word) => `concat(${Array(60).fill('a')}) not like '%${long}${word}%'`)),
    'text',
    (length) => 'x'.repeat(length),
    20_000,
  ],
  [
    'texts of JSON',
    checks(...Array(6).fill(`length(concat(${Array(10).fill('to_json(a)')})) > 0`)),
    'text',
    (length) => '"'.repeat(length),
    1_000_000,
  ],
  [
    'elements of names',
    checks(...Array(20).fill("array_cat(a, '{y}') is not null")),
    'name[]',
    (length) => Array(length).fill('y'),
    600_000,
  ],
  [
    'the greatest value',
    checks(...Array(20).fill(`greatest(${Array(48).fill('a')}) is not null`)),
    'jsonb',
    (length) => Array.from({ length }, (_, n) => n),
    300_000,
  ],
  [
    'comparisons that ignore spaces',
    checks(...Array(2).fill(`a::bpchar <> all('{${words(900)}}')`)),
    'text',
    (length) => ' '.repeat(length),
    4_000_000,
  ],
  [
    'many calls',
    checks(
      ...Array.from({ length: 20 }, (_, n) =>
        Array.from({ length: 100 }, (_, m) => `length(a) <> ${n * 100 + m}`).join(' and '),
      ),
    ),
    'text',
    (length) => 'é'.repeat(length),
    5_000_000,
  ],
];

suite('a value is refused that is too long for what its expressions do with it', () => {
  for (const [name, part, type, value, length] of costly)
    test(name, async () => {
      const table = { columns: [{ name: 'a', type }], ...part };
      const created = await service.post('/table/searched', { table });
      assert.equal(created.status, 201, JSON.stringify(created.body));
      const load = (size: number) =>
        service.post('/table/searched/upload/json?if_exists=append', { data: [{ a: value(size) }] });
      const refused = assertProblem(await load(length), 422, 'invalid-data').errors[0];
      assert.equal(refused?.code, 'too-complex');
      assert.match(refused.detail, /because expressions (or indexes )?of the table compute with its?[ :]/);
      const loaded = await load(Math.ceil(length / 500));
      assert.ok(
        loaded.status === 200 || loaded.body.errors[0].code === 'check-violation',
        JSON.stringify(loaded.body),
      );
    });
});

test('all expressions of an index count together when its table is loaded at once', async () => {
  const expressions = words(20).map((word) => ({ expression: `(a like '%${long}${word}%')` }));
  for (const [generated, length] of [
    [false, 800_000],
    [true, 50_000],
  ] as const) {
    const g = { name: 'g', type: 'text', generated: sixteen };
    const table = {
      columns: [...columns.slice(0, 1), ...(generated ? [g] : [])],
      indexes: [
        {
          columns: generated
            ? expressions.map(({ expression }) => ({ expression: expression.replace('(a', '(g') }))
            : expressions,
        },
      ],
    };
    const load = (size: number) =>
      service.post('/table/searched/upload/json', { table, data: [{ a: 'x'.repeat(size) }] });
    assert.equal(assertProblem(await load(length), 422, 'invalid-data').errors[0]?.code, 'too-complex');
    const loaded = await load(100);
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    await service.rows('DROP TABLE searched');
  }
});

test('the checks of a domain count in a row type, and in an array of it', async () => {
  await service.rows(
    `CREATE DOMAIN searched_text AS text CHECK (${searches(20, 'VALUE')}); CREATE TABLE parts (a searched_text)`,
  );
  const table = {
    columns: Object.entries({ a: 'public.parts', b: 'public.parts[]' }).map(([name, type]) => ({
      name,
      type,
    })),
  };
  const created = await service.post('/table/searched', { table });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const load = (value: object) =>
    service.post('/table/searched/upload/json?if_exists=append', { data: [value] });
  const part = (length: number) => `(${'x'.repeat(length)})`;
  for (const value of [{ a: part(500_000) }, { b: [part(500_000)] }]) {
    const { errors } = assertProblem(await load(value), 422, 'invalid-data');
    assert.equal(errors[0]?.code, 'too-complex', JSON.stringify(value).slice(0, 9));
  }
  assert.equal((await load({ a: part(1000), b: [part(1000)] })).status, 200);
  await service.rows('DROP TABLE searched, parts');
});

test('padding, long defaults and what defaults compute count in each row', async () => {
  const padded = `concat(${Array(60).fill("'x'::char(1000)")}) not like '%${long}%'`;
  const products = Array.from({ length: 300 }, (_, n) => `t * t > ${n}`);
  for (const part of [
    {
      columns: [{ name: 't', type: 'char(1000000)' }],
      ...checks(...words(20).map((word) => `t not like '%${long}${word}%'`)),
    },
    { columns: [{ name: 't', type: 'numeric', default: '7'.repeat(60_000) }], ...checks(...products) },
    {
      columns: words(100).map((name) => ({
        ...{ name, type: 'boolean', default: padded, default_is_expression: true },
      })),
    },
    { columns: [], ...checks(...words(100).map((word) => `n::text <> '${word}' and ${padded}`)) },
  ]) {
    const table = { ...part, columns: [{ name: 'n', type: 'int' }, ...part.columns] };
    const created = await service.post('/table/searched', { table });
    assert.equal(created.status, 201, JSON.stringify(created.body).slice(0, 500));
    const load = service.post('/table/searched/upload/json?if_exists=append', { data: [{ n: 7 }] });
    assertProblem(await load, 413, 'limit-exceeded');
    await service.rows('DROP TABLE searched');
  }
});

async function isVirtualPossible(): Promise<boolean> {
  const [server] = await service.rows("SELECT current_setting('server_version_num')::int AS number");
  return Number(server!.number) >= 180_000;
}

test('a default and a generated value count in the searches of other expressions', async () => {
  const text = 'y'.repeat(16_000);
  const search = (name: string) =>
    checks(...words(12).map((word) => `concat(${Array(60).fill(name)}) not like '%${long}${word}%'`));
  const columns = [{ name: 'n', type: 'int' }];
  const load = () => service.post('/table/searched/upload/json?if_exists=append', { data: [{ n: 7 }] });
  for (const column of [
    { name: 't', type: 'text', default: text },
    { name: 't', type: 'text', generated: `n || '${text}'` },
    ...((await isVirtualPossible())
      ? [{ name: 't', type: 'text', generated: `n || '${text}'`, generated_kind: 'virtual' }]
      : []),
  ]) {
    const table = { columns: [...columns, column], ...search('t') };
    assert.equal((await service.post('/table/searched', { table })).status, 201);
    assertProblem(await load(), 413, 'limit-exceeded');
    await service.rows('DROP TABLE searched');
    const plain = { columns: [...columns, column] };
    assert.equal((await service.post('/table/searched', { table: plain })).status, 201);
    assert.equal((await load()).status, 200);
    const altered = await service.request('PUT', '/table/searched', {
      body: JSON.stringify({ table }),
      headers: { 'content-type': 'application/json' },
    });
    assertProblem(altered, 413, 'limit-exceeded');
    await service.rows('DROP TABLE searched');
  }
});

test('a virtual column counts each time that an expression has it', async (t) => {
  if (!(await isVirtualPossible())) return t.skip('PostgreSQL 18 has virtual columns');
  const generated = `a NOT LIKE '%${long}%'`;
  const all = Array(150).fill('g').join(' and ');
  const table = {
    columns: [
      { name: 'a', type: 'text' },
      { name: 'g', type: 'boolean', generated, generated_kind: 'virtual' },
    ],
    ...checks(...Array(8).fill(all)),
  };
  const created = await service.post('/table/searched', { table });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const refused = await service.post('/table/searched/upload/json?if_exists=append', {
    data: [{ a: 'x'.repeat(100_000) }],
  });
  assert.equal(assertProblem(refused, 422, 'invalid-data').errors[0]?.code, 'too-complex');
});

test('Alter Table adds no search in a stored text that is too long for it', async () => {
  const table = { columns: columns.slice(0, 2) };
  const loaded = await service.post('/table/searched/upload/json', {
    table,
    data: [{ a: 'x'.repeat(3_000_000) }],
  });
  assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
  const wheres = Array.from({ length: 100 }, (_, n) => `a NOT LIKE '%${long}${n}%'`);
  const indexes = wheres.slice(0, 30).map((where) => ({ columns: [{ column: 'b' }], where }));
  for (const added of [checks(...wheres), { indexes }]) {
    const answer = await service.request('PUT', '/table/searched', {
      body: JSON.stringify({ table: { ...table, ...added } }),
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(assertProblem(answer, 422, 'invalid-data').errors[0]?.code, 'too-complex');
  }
});

test('values that become longer count as the copies that they are', async () => {
  const generated = [
    ...Array.from({ length: 5 }, () => "encode(y, 'escape')"),
    ...Array.from({ length: 5 }, () => "regexp_replace(a, '', '-', 'g')"),
  ].map((expression, index) => ({ name: `g${index}`, type: 'text', generated: expression }));
  const table = { columns: [{ name: 'a', type: 'text' }, { name: 'y', type: 'bytea' }, ...generated] };
  assert.equal((await service.post('/table/searched', { table })).status, 201);
  for (const row of [{ a: 'x'.repeat(14_000_000) }, { y: `\\x${'ff'.repeat(7_000_000)}` }]) {
    const { result, backendBytes = 0 } = await withBackendMemory(service.database, () =>
      service.post('/table/searched/upload/json?if_exists=append', { data: [row] }),
    );
    assert.ok(backendBytes < 512 * 1024 * 1024, `${backendBytes} bytes`);
    assert.equal(assertProblem(result, 422, 'invalid-data').errors[0]?.code, 'too-complex');
  }
});

test('the numbers of a long `json` count for each call that reads it', async () => {
  const list = checks(...Array.from({ length: 40 }, (_, n) => `json_array_length(a) <> ${n}`));
  const table = { columns: [{ name: 'a', type: 'json' }], ...list };
  assert.equal((await service.post('/table/searched', { table })).status, 201);
  for (const [elements, status] of [
    [100_000, 200],
    [2_000_000, 422],
  ] as const) {
    const { result, backendBytes = 0 } = await withBackendMemory(service.database, () =>
      service.post('/table/searched/upload/json?if_exists=append', {
        data: [{ a: Array(elements).fill(1) }],
      }),
    );
    assert.equal(result.status, status, JSON.stringify(result.body));
    assert.ok(backendBytes < 512 * 1024 * 1024, `${backendBytes} bytes`);
  }
});
