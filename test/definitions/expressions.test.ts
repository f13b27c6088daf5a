/** Expressions of definitions: they are made, come back, can be sent again, and refuse rows. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ DEFAULT_FUNCTIONS: 'public.own_upper' });
  await service.rows(
    `CREATE FUNCTION public.own_upper(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.upper($1)'`,
  );
  await service.rows(`CREATE TYPE mood AS ENUM ('sad', 'ok')`);
  await service.rows('CREATE SEQUENCE order_numbers');
});
after(() => service.stop());

const own = [
  ...columns(
    ['id', 'integer'],
    ['Name', 'text'],
    ['net', 'numeric(12,2)'],
    ['day', 'date'],
    ['mood', 'mood'],
  ),
  { name: 'gross', type: 'numeric(12,2)', generated: 'net * 1.19' },
  { name: 'due', type: 'timestamptz', default: "now() + interval '14 days'", default_is_expression: true },
  { name: 'number', type: 'text', default: "'no ' || nextval('order_numbers')", default_is_expression: true },
];
const definition = {
  columns: own,
  constraints: {
    checks: [
      { name: 'not negative', expression: 'net >= 0' },
      { expression: `"Name" <> '' AND length("Name") < 10` },
      { name: 'mood of day', expression: `mood IN ('sad', 'ok') OR day IS NULL` },
      { name: 'own', expression: `own_upper("Name") <> 'X'` },
    ],
  },
  indexes: [{ name: '', unique: true, columns: [{ expression: 'lower("Name")' }], where: 'net > 1' }],
};
const rows = [
  { id: 1, Name: 'a', net: 2 },
  { id: 2, Name: 'b', net: 3, mood: 'ok', day: '2026-11-28' },
];

async function factsOf(table: string): Promise<unknown> {
  return service.rows(
    `SELECT conname::text AS name, pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conrelid = '${table}'::regclass AND contype = 'c'
     UNION ALL SELECT a.attname, pg_get_expr(adbin, adrelid) || attgenerated::text FROM pg_attrdef JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum
       WHERE adrelid = '${table}'::regclass
     UNION ALL SELECT '', replace(pg_get_indexdef(indexrelid), '${table}', 'TABLE') FROM pg_index WHERE indrelid = '${table}'::regclass ORDER BY 1, 2`,
  );
}

const facts = [
  {
    name: '',
    text: 'CREATE UNIQUE INDEX "TABLE_expr_idx" ON public."TABLE" USING btree (lower("Name")) WHERE (net > (1)::numeric)',
  },
  { name: 'due', text: "(now() + '14 days'::interval)" },
  { name: 'gross', text: '(net * 1.19)s' },
  { name: 'mood of day', text: "CHECK (((mood = ANY ('{sad,ok}'::mood[])) OR (day IS NULL)))" },
  { name: 'not negative', text: 'CHECK ((net >= (0)::numeric))' },
  { name: 'number', text: "('no '::text || nextval('order_numbers'::regclass))" },
  { name: 'own', text: `CHECK ((own_upper("Name") <> 'X'::text))` },
  { name: 'TABLE_Name_check', text: `CHECK ((("Name" <> ''::text) AND (length("Name") < 10)))` },
];

for (const [way, path, body] of [
  ['Create Table', '/table/made', {}],
  ['an upload', '/table/made/upload/json', { data: rows }],
  ['a replacing upload', '/table/made/upload/json?if_exists=replace', { data: rows }],
] as const) {
  test(`${way} makes the expressions, and the answer can be sent again`, async () => {
    if (way !== 'a replacing upload') await service.rows('DROP TABLE IF EXISTS made');
    const { status, body: answer } = await service.post(path, { table: definition, ...body });
    assert.equal(status, 201, JSON.stringify(answer));
    const expected = facts.map((fact) => ({
      name: fact.name.replace('TABLE', 'made'),
      text: fact.text
        .replaceAll('"TABLE_expr_idx"', 'TABLE_expr_idx')
        .replace('public."TABLE"', 'public.TABLE'),
    }));
    const byText = (list: unknown) => (list as { text: string }[]).map(({ text }) => text).sort();
    assert.deepEqual(byText(await factsOf('made')), byText(expected));
    const described = (await service.get('/table/made')).body.table;
    assert.deepEqual(described, answer.table);
    assert.equal(described.constraints.others, undefined);
    assert.deepEqual(
      described.constraints.checks.map(({ name }: { name: string }) => name),
      ['not negative', 'made_Name_check', 'mood of day', 'own'],
    );
    await service.rows('DROP TABLE IF EXISTS copied');
    const indexes = described.indexes.map((index: object) => ({ ...index, name: '' }));
    const copy = await service.post('/table/copied', { table: { ...described, indexes } });
    assert.equal(copy.status, 201, JSON.stringify(copy.body));
    assert.deepEqual(byText(await factsOf('copied')), byText(expected));
    for (const table of [definition, described]) {
      const again = await service.post('/table/made?if_not_exists=true', { table });
      assert.deepEqual(again.body.differences, []);
    }
  });
}

test('rows that a new table refuses are named, as those of an existing table are', async () => {
  const data = [
    ...rows,
    { id: 3, Name: 'A', net: 5 },
    { id: 4, Name: '', net: -1 },
    { id: 5, Name: 'B', net: 0 },
  ];
  const found = async (path: string, body: object) => {
    const { status, body: answer } = await service.post(path, body);
    assert.equal(status, 422, JSON.stringify(answer));
    return answer.errors.map(({ row, code, detail }: Record<string, string>) => `${row} ${code} ${detail}`);
  };
  const checks = [
    '4 check-violation does not pass the check "not negative": (net >= (0)::numeric)',
    /^4 check-violation .*Name/,
  ];
  for (const path of ['/table/fresh/upload/json', '/table/made/upload/json?if_exists=truncate']) {
    const errors = await found(path, path.includes('fresh') ? { table: definition, data } : { data });
    assert.ok(errors.includes(checks[0]), errors.join('\n'));
    assert.ok(
      errors.some((error: string) => (checks[1] as RegExp).test(error)),
      errors.join('\n'),
    );
  }
  const repeated = await found('/table/fresh/upload/json', { table: definition, data: data.slice(0, 3) });
  assert.equal(repeated.length, 1, repeated.join('\n'));
  assert.match(repeated[0], /^3 .*fresh_expr_idx/);
  const left = await service.post('/table/fresh/upload/json?faulty_rows=leave_out', {
    table: definition,
    data,
  });
  assert.equal(left.status, 201, JSON.stringify(left.body));
  assert.deepEqual(await service.rows('SELECT id FROM fresh ORDER BY id'), [{ id: 1 }, { id: 2 }, { id: 5 }]);
});

test('differences of expressions are named', async () => {
  const table = {
    columns: own.map((column) => (column.name === 'gross' ? { ...column, generated: 'net * 1.07' } : column)),
    constraints: { checks: [{ name: 'other', expression: 'net >= 0' }, { expression: 'net < 100' }] },
    indexes: [{ columns: [{ expression: 'upper("Name")' }] }],
  };
  const { body } = await service.post('/table/made?if_not_exists=true', { table });
  assert.deepEqual(body.differences, [
    'the column "gross" is generated from other columns (stored): (net * 1.19)',
    'the check is named "not negative" in the table',
    'the table has no check (net < (100)::numeric)',
    'the table has the check "made_Name_check", which the definition does not have',
    'the table has the check "mood of day", which the definition does not have',
    'the table has the check "own", which the definition does not have',
    'the table has no index over upper("Name")',
    'the table has the index "made_expr_idx", which the definition does not have',
  ]);
  const load = await service.post('/table/made/upload/json?if_exists=append', {
    table,
    data: [{ id: 9, Name: 'z' }],
  });
  assert.deepEqual(
    load.body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`),
    ['/table/columns/5/generated differs', '/table/constraints/checks/1 differs'],
  );
});

suite('what is refused, with its place', () => {
  const refuse = async (table: object, expected: [string, string, RegExp][]) => {
    for (const path of ['/table/refused', '/table/refused/upload/json']) {
      const { status, body } = await service.post(path, { table });
      assert.equal(status, 422, JSON.stringify(body));
      assert.deepEqual(
        body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
        expected.map(([pointer, code]) => [pointer, code]),
      );
      for (const [index, [, , detail]] of expected.entries()) assert.match(body.errors[index].detail, detail);
    }
    assert.deepEqual(await service.rows(`SELECT FROM pg_class WHERE relname = 'refused'`), []);
  };
  const checks = (...texts: string[]) => ({
    columns: own.slice(0, 4),
    constraints: { checks: texts.map((expression) => ({ expression })) },
  });
  const at = (index: number) => `/table/constraints/checks/${index}/expression`;

  test('by the service', () =>
    refuse(checks('repeat("Name", 9) = $1', 'name > 1', "'x'::nothing IS NULL", '"Name"::jsonb IS NULL'), [
      [at(0), 'invalid-expression', /"repeat\(.*a parameter|cannot call/],
      [at(1), 'unknown-column', /capital letters in double quotes/],
      [at(2), 'unknown-type', /no type "nothing"/],
      [at(3), 'invalid-expression', /text of each row as jsonb/],
    ]));

  test('by PostgreSQL', () =>
    refuse(
      {
        columns: [...own.slice(0, 4), { name: 'g', type: 'integer', generated: '"Name" || id' }],
        constraints: {
          checks: [{ expression: '"Name" > 1' }, { expression: 'id > 0' }, { expression: 'id' }],
        },
      },
      [
        ['/table/columns/4/generated', 'invalid-expression', /"g" is of type integer/],
        [at(0), 'invalid-expression', /operator does not exist/],
        [at(2), 'invalid-expression', /must be type boolean/],
      ],
    ));

  test('by PostgreSQL, in a table of half as many columns as possible', () =>
    refuse(
      {
        columns: [
          { name: 'a', type: 'integer' },
          ...Array.from({ length: 900 }, (_, index) => ({
            name: `c${index}`,
            type: index === 500 ? 'date' : 'integer',
            generated: 'a',
          })),
        ],
      },
      [['/table/columns/501/generated', 'invalid-expression', /"c500" is of type date/]],
    ));

  test('a generated column of another one, and one with a default', () =>
    refuse(
      {
        columns: [
          { name: 'a', type: 'integer', generated: 'b' },
          { name: 'b', type: 'integer', generated: '1' },
          { name: 'c', type: 'integer', generated: '1', default: '2' },
          { name: 'd', type: 'serial', generated: '1' },
        ],
      },
      [
        ['/table/columns/0/generated', 'invalid-expression', /names a generated column/],
        ['/table/columns/2/default', 'not-supported', /leave it out/],
        ['/table/columns/3/type', 'not-supported', /use the type integer/],
      ],
    ));

  test('a generated column in keys', async () => {
    const [{ version }] = (await service.rows(
      `SELECT current_setting('server_version_num')::int AS version`,
    )) as [{ version: number }];
    await refuse(
      {
        columns: [
          { name: 'a', type: 'integer', generated: '1', generated_kind: 'virtual' },
          { name: 'b', type: 'integer', generated: '1' },
        ],
        constraints: {
          primary_key: { columns: ['a'] },
          foreign_keys: [
            { column: 'b', reference_table: 'made', reference_column: 'id', on_update: 'cascade' },
          ],
        },
      },
      [
        ...(version < 180_000
          ? [['/table/columns/0/generated_kind', 'not-supported', /./] as [string, string, RegExp]]
          : []),
        ['/table/constraints/foreign_keys/0', 'not-supported', /foreign key/],
        ['/table/constraints/foreign_keys/0/reference_column', 'reference-not-unique', /./],
        ['/table/constraints/primary_key/columns', 'not-supported', /virtual/],
      ],
    );
  });

  test('too many expressions, and too long ones', async () => {
    const { body } = await service.post('/table/refused', { table: checks(...Array(1601).fill('id > 0')) });
    assert.match(body.errors[0].detail, /1,601 expressions/);
    const long = `id > ${' '.repeat(16_000)}0`;
    const { body: other } = await service.post('/table/refused', { table: checks(...Array(17).fill(long)) });
    assert.match(other.errors[0].detail, /too long/);
  });
});

test('a table with as many checks as are possible is made and described', async () => {
  const expressions = Array.from({ length: 1600 }, (_, index) => ({ expression: `id <> ${index}` }));
  const table = { columns: columns(['id', 'integer']), constraints: { checks: expressions } };
  const { status, body } = await service.post('/table/many', { table });
  assert.equal(status, 201, JSON.stringify(body).slice(0, 1000));
  assert.equal(body.table.constraints.checks.length, 1600);
});

suite('an expression that is accepted comes back and can be sent again', () => {
  const all = columns(
    ['j', 'jsonb'],
    ['n', 'numeric'],
    ['v', 'varchar(20)'],
    ['i', 'bigint'],
    ['t', 'text'],
    ['m', 'mood'],
  );

  /** Creates the table, and returns whether it was accepted. undefined: the predicate of an index is too long for PostgreSQL 15. */
  async function comesBack(table: {
    columns: unknown[];
    [name: string]: unknown;
  }): Promise<boolean | undefined> {
    await service.rows('DROP TABLE IF EXISTS near_limit, near_limit_again');
    const { status, body } = await service.post('/table/near_limit', { table });
    if (status === 422) {
      if (/row is too big/.test(body.errors[0].detail)) return undefined;
      assert.equal(body.errors[0].code, 'invalid-expression', JSON.stringify(body).slice(0, 1000));
      assert.match(body.errors[0].detail, /more than|too (long|many|deeply)/);
      return false;
    }
    assert.equal(status, 201, JSON.stringify(body).slice(0, 1000));
    assert.equal(body.table.constraints.others, undefined);
    const { name: _, schema: _schema, ...again } = body.table;
    const copied = await service.post('/table/near_limit_again', {
      table: {
        ...again,
        constraints: {
          checks: (again.constraints.checks ?? []).map((check: object) => ({ ...check, name: '' })),
        },
        indexes: (again.indexes ?? []).map((index: object) => ({ ...index, name: '' })),
      },
    });
    assert.equal(copied.status, 201, JSON.stringify(copied.body).slice(0, 1000));
    return true;
  }

  /** Puts the expression in the places that an expression can have. */
  const placesOf = (condition: string): { columns: unknown[]; [name: string]: unknown }[] => [
    { columns: all, constraints: { checks: [{ expression: condition }] } },
    { columns: [...all, { name: 'g', type: 'boolean', generated: condition }] },
    { columns: all, indexes: [{ name: '', columns: [{ column: 'i' }], where: condition }] },
    { columns: all, indexes: [{ name: '', columns: [{ expression: condition }] }] },
  ];

  const repeated = (part: (index: number) => string, count: number, separator = ' AND '): string =>
    Array.from({ length: count }, (_, index) => part(index)).join(separator);

  for (const [what, expression, accepted] of [
    ['casts', repeated(() => 'j::text IS NOT NULL', 250), false],
    ['fewer casts', repeated(() => 'j::text IS NOT NULL', 160), true],
    ['nested casts', `i${'::int::bigint'.repeat(300)} > 0`, false],
    ['nested casts that mean nothing', `i${'::bigint'.repeat(600)} > 0`, true],
    ['a list of numbers', `n IN (${repeated(String, 1900, ',')})`, false],
    ['a short list of numbers', `n IN (${repeated(String, 150, ',')})`, true],
    ['a list of texts', `v IN (${repeated((index) => `'a${index}'`, 1900, ',')})`, true],
  ] as const) {
    test(`or is refused: ${what}`, async () => {
      for (const table of placesOf(expression)) assert.equal((await comesBack(table)) ?? accepted, accepted);
    });
  }

  test('or is refused: random expressions near the limits', async (context) => {
    const seed = Number(process.env.TEST_SEED ?? Date.now() % 1e9);
    context.diagnostic(`TEST_SEED=${seed}`);
    const random = randomNumbers(seed);
    const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;
    const number = () => String(random(1000));
    const makers: (() => string)[] = [
      () => `j::text IS NOT NULL`,
      () => `n IN (${repeated(number, 1 + random(200), ', ')})`,
      () => `v IN (${repeated((index) => `'${'x'.repeat(1 + random(20))}${index}'`, 2 + random(300), ',')})`,
      () => `n BETWEEN ${number()} AND ${number()}`,
      () => `v <> 'a'`,
      () => `i = ANY (ARRAY[${repeated(number, 1 + random(200), ',')}])`,
      () => `v = ANY (ARRAY[${repeated((index) => `'${index}'`, 1 + random(200), ',')}])`,
      () => `coalesce(n, i, ${number()}) > ${number()}`,
      () => `CASE WHEN i > ${number()} THEN v = 'x' ELSE n < ${number()} END`,
      () => `m IN ('sad', 'ok')`,
      () => `t IS DISTINCT FROM v`,
      () => `i + ${repeated(number, 1 + random(40), ' + ')} > n`,
      () => `t LIKE 'a%' OR lower(v) || t <> '${'ü'.repeat(random(100))}'`,
    ];
    const seen = { accepted: 0, refused: 0 };
    for (let round = 0; round < sized(25, 150); round += 1) {
      const kinds = Array.from({ length: 1 + random(3) }, () => pick(makers));
      const words = 300 + random(1800);
      let text = pick(kinds)();
      while ((text.match(/\w+|[^\s\w'",]/g)?.length ?? 0) < words) {
        const next = `${text} ${pick(['AND', 'OR'])} ${pick(kinds)()}`;
        if (next.length > 16_384) break;
        text = next;
      }
      const isAccepted = await comesBack(pick(placesOf(text)));
      seen[isAccepted ? 'accepted' : 'refused'] += 1;
    }
    context.diagnostic(JSON.stringify(seen));
    assert.ok(seen.accepted > 0 && seen.refused > 0, JSON.stringify(seen));
  });

  test('or is refused: all expressions of a table together', async () => {
    const expression = repeated(() => 'j::text IS NOT NULL', 100);
    const checks = Array.from({ length: 105 }, () => ({ expression }));
    assert.equal(await comesBack({ columns: all, constraints: { checks } }), false);
  });
});
