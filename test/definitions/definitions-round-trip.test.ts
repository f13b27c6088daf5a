/**
 * Any valid definition that is created, described, and sent again in another schema or another database gives the same table. `ROUND_TRIPS` sets
 * the number of definitions.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { createTableWithin } from '../../src/service/tables/create-table.ts';
import type { TableDescription } from '../../src/service/tables/definition.ts';
import { describeTable } from '../../src/service/tables/describe-table.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { rolledBack } from '../support/rolled-back.ts';
import { sized } from '../support/sized.ts';

let database: TestDatabase;
/** Has the same objects, so only what a description says can differ. */
let elsewhere: TestDatabase;

const objects = `
    CREATE SCHEMA "here"; CREATE SCHEMA "there"; CREATE SCHEMA "O'Neil ""types"".🙂";
    CREATE TYPE "O'Neil ""types"".🙂"."mood (of)" AS ENUM ('glad', 'so ''so''');
    CREATE TYPE pair AS (a integer, b text);
    CREATE DOMAIN positive AS integer CHECK (value > 0);
    CREATE DOMAIN short AS varchar(5);
    CREATE DOMAIN "serial" AS integer;
    CREATE TABLE owners (id integer, name text);
    CREATE SEQUENCE "Order ""Numbers""";
    CREATE TABLE "Target ""T""." (id bigint PRIMARY KEY, a integer, b text, UNIQUE (a, b))`;

before(async () => {
  [database, elsewhere] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  await Promise.all([database.pool.query(objects), elsewhere.pool.query(objects)]);
});

after(() => Promise.all([database.drop(), elsewhere.drop()]));

const mood = `"O'Neil ""types"".🙂"."mood (of)"`;

/** Types, and defaults for each of them, written in every allowed way. */
const typesWithDefaults: [string, string[]][] = [
  [
    'text',
    [
      '',
      'pending',
      'null',
      'user',
      "O'Brien",
      '1; drop table x',
      'now',
      '$$x$$',
      '\\',
      "'it''s'",
      "'x'::text",
      'now()',
      'CURRENT_USER',
      '{}',
      '-- x',
      "E'x'",
      '  ',
      'current_date',
      'gen_random_uuid()',
      "to_char(now(), 'YYYY')",
      '1',
      'true',
      '(1)::text',
      "'1'::integer",
    ],
  ],
  ['string', ["'a'::varchar(3)", '🙂']],
  ['varchar(20)', ['x', "'abc'::text", '5']],
  ['character varying ( 5 )', ['abcde']],
  ['char(3)', ['ab']],
  ['char', ['x']],
  ['bpchar', ['x']],
  ['"char"', ['x']],
  ['name', ['x']],
  ['smallint', ['0', '-1', "'7'"]],
  ['int', ['0', '-2147483648', "'-5'::int", 'nextval(\'"Order ""Numbers"""\')']],
  ['bigint', ['9007199254740993', '-1', 'nextval(\'"Order ""Numbers"""\'::regclass)']],
  ['numeric(12,2)', ['1.005', '-3', '1e3', "'5'::smallint", 'NaN']],
  ['numeric', ['12345678901234567890.12', '0', '-0.5', 'Infinity']],
  ['number', ['1']],
  ['decimal(5,-2)', ['100']],
  ['real', ['1.5', '-1e-10', 'NaN']],
  ['double', ['0.1', 'Infinity', 'random()']],
  ['float(10)', ['1']],
  ['boolean', ['true', 'f', 'yes']],
  ['money', ['1.50']],
  ['date', ['2024-02-29', 'infinity', 'CURRENT_DATE', 'now()', 'make_date(2024, 1, 1)']],
  ['datetime', ['2024-02-29 12:00:00.123456', 'localtimestamp', "timezone('utc', now())", 'now()']],
  [
    'timestamp(3) with time zone',
    [
      '2024-02-29T12:00:00+02',
      'CURRENT_TIMESTAMP(3)',
      "date_trunc('day', now())",
      'pg_catalog.now()',
      'to_timestamp(0)',
    ],
  ],
  ['time', ['12:00', 'LOCALTIME']],
  ['time(2) with time zone', ['12:00+01', 'CURRENT_TIME(2)']],
  ['interval', ['1 day', 'make_interval(1, 2)', '-1 mon +2 days']],
  ['interval day to second(3)', ['1 day 02:03:04.5678']],
  ['interval year to month', ['14 mons']],
  ['uuid', ['gen_random_uuid()', '00000000-0000-0000-0000-000000000000']],
  ['bytea', ['\\x00ff', 'abc']],
  ['json', ['{}', '{"a": "\'"}', 'null', '"x"', 'json_build_object()']],
  ['jsonb', ['{}', '{"a": [1, "\\u00e9"]}', 'null', "jsonb_build_object('a', 1, 'b', null, 'c', true)"]],
  ['text[]', ['{}', '{"a,b",NULL}', "'{x}'::text[]"]],
  ['int[][]', ['{{1,2},{3,4}}']],
  ['numeric(4,1) array', ['{1.5}']],
  ['bit(3)', ['101', "B'110'"]],
  ['bit', ['1']],
  ['bit varying(5)', ['11', "B''"]],
  ['inet', ['10.0.0.1/8']],
  ['macaddr', ['08:00:2b:01:02:03']],
  ['point', ['(1,2)']],
  ['tsvector', ["'a' 'b'"]],
  ['xml', ['<a/>']],
  ['int4range', ['[1,5)', 'empty']],
  ['nummultirange', ['{[1,2]}']],
  ['oid', ['1']],
  ['regclass', ['pg_class', "'pg_type'::regclass"]],
  [mood, ['glad', "so 'so'", `'glad'::${mood}`]],
  [`${mood}[]`, ['{glad}']],
  ['pair', ['(1,x)', '\'(2,"y z")\'::pair']],
  ['positive', ['3', "'4'::positive"]],
  ['public.short', ['abc']],
  ['"short"[]', ['{abc}', `'{a}'::"short"[]`]],
  ['public."Target ""T""."', ['(1,2,x)']],
  ['public.owners', ['(1,x)', `'(2,"y z")'::public.owners`, `'(3,"it''s")'::"owners"`]],
  ['"owners"[]', ['{"(1,x)"}']],
  ['public.serial', ['5', "'6'::public.serial"]],
];

/** Types that cannot be in keys, because they have no btree order. */
const unordered = /^(json|point|xml|interval year to month\[\])/;

const name = fc
  .oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 63 }) },
    {
      weight: 3,
      arbitrary: fc.string({
        unit: fc.constantFrom('"', "'", '.', ' ', '\\', '$', '(', 'é', '🙂', 'A', 'a', '\n', '--', '%'),
        minLength: 1,
        maxLength: 12,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'select',
        'user',
        'order',
        'table',
        'null',
        'constructor',
        '__proto__',
        'primary',
        'x'.repeat(63),
        `${'é'.repeat(31)}x`,
        '🙂'.repeat(15),
      ),
    },
  )
  .map((text) => cut(text.replaceAll('\0', '')))
  .filter((text) => text !== '' && !['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'].includes(text));

function cut(text: string): string {
  let result = '';
  for (const character of text) if (Buffer.byteLength(result + character) <= 63) result += character;
  return result;
}

const column = fc.constantFrom(...typesWithDefaults).chain(([type, defaults]) =>
  fc.record({
    type: fc.constant(type),
    default: fc.option(fc.constantFrom(...defaults), { nil: null }),
    is_nullable: fc.boolean(),
  }),
);

const numbering = fc.record(
  {
    start: fc.integer({ min: 1, max: 900 }),
    increment: fc.integer({ min: 1, max: 5 }),
    min: fc.integer({ min: -5, max: 1 }),
    max: fc.constantFrom(1000, 32767, '32767'),
    cache: fc.integer({ min: 1, max: 3 }),
    cycle: fc.boolean(),
  },
  { requiredKeys: [] },
);

const serial = fc
  .constantFrom('serial', 'bigserial', 'SmallSerial')
  .chain((type) =>
    fc
      .record({ type: fc.constant(type), default: fc.constant(null), is_nullable: fc.boolean() }, {})
      .chain((record) =>
        fc
          .constantFrom<object>({}, { identity: 'always' }, { sequence: { name: null } })
          .chain((identity) =>
            fc.option(numbering).map((numbering) => ({ ...record, ...identity, numbering })),
          ),
      ),
  );

const label = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => cut(text.replaceAll('\0', '')));

/** Enums, and a domain with a check over an array of the first one. */
const types = fc
  .record({
    names: fc.uniqueArray(name, { minLength: 3, maxLength: 3 }),
    labels: fc.array(fc.uniqueArray(label, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 2 }),
  })
  .map(({ names: [first, second, third], labels }) => [
    { name: first!, labels: labels[0]! },
    { name: second!, labels: labels[1]! },
    { name: third!, base: `here.${quoted(first!)}[]`, check: 'cardinality(VALUE) < 9' },
  ]);

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

const action = fc.constantFrom('no action', 'restrict', 'cascade', 'set null', 'set default');
const time = fc.constantFrom('initially immediate', 'initially deferred');

const definition = fc
  .uniqueArray(name, { minLength: 1, maxLength: 8 })
  .chain((names) =>
    fc.record({
      names: fc.constant(names),
      columns: fc.array(fc.oneof({ weight: 6, arbitrary: column }, { weight: 1, arbitrary: serial }), {
        minLength: names.length,
        maxLength: names.length,
      }),
      constraintNames: fc
        .uniqueArray(fc.option(name, { nil: '' }), { minLength: 8, maxLength: 8 })
        .map((list) => [...list, '', '', '', '', '', '']),
      order: fc.shuffledSubarray(names),
      table: name,
      types,
      typed: fc.array(fc.nat({ max: 8 }), { minLength: names.length, maxLength: names.length }),
      direction: fc.record(
        { order: fc.constantFrom('asc', 'desc'), nulls: fc.constantFrom('first', 'last') },
        { requiredKeys: [] },
      ),
      options: fc.record(
        { deferrable: fc.option(time), nulls_not_distinct: fc.boolean(), include: fc.subarray(names) },
        { requiredKeys: [] },
      ),
      comment: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\0', '')),
      rules: fc.record(
        { on_delete: action, on_update: action, deferrable: time, not_valid: fc.boolean() },
        { requiredKeys: [] },
      ),
      unlogged: fc.boolean(),
      not_valid: fc.tuple(fc.boolean(), fc.boolean()),
    }),
  )
  .map(({ names, columns, constraintNames, order, rules, direction, options, comment, ...others }) => {
    const { types, typed, unlogged } = others;
    const table = types.some(({ name }) => name === others.table) ? 'another table' : others.table;

    const defined = names.map((columnName, index) => {
      const own = types[typed[index]!];
      const literal = own?.labels === undefined ? null : `'${own.labels[0]!.replaceAll("'", "''")}'`;
      const ofOwn = own && { type: `here.${quoted(own.name)}`, default: literal, is_nullable: true };
      return { name: columnName, comment, ...(ofOwn ?? columns[index]!) };
    });
    const typeOf = (columnName: string) => defined.find((entry) => entry.name === columnName)!.type;
    const keyable = order.filter(
      (columnName) => !unordered.test(typeOf(columnName)) && typeOf(columnName) !== 'json',
    );
    const free = constraintNames.filter((constraint) => constraint !== table);
    const key = (at: number, list: string[]) => ({ name: list.length === 0 ? '' : free[at]!, columns: list });
    const foreignKeys: object[] = [];
    for (const columnName of names) {
      const type = typeOf(columnName);
      if (type === 'bigint' || type === 'int' || type === 'smallint') {
        foreignKeys.push({
          name: free[3],
          column: columnName,
          reference_table: 'Target "T".',
          reference_column: 'id',
          ...rules,
        });
        break;
      }
    }
    const [first] = keyable;
    if (first !== undefined) {
      foreignKeys.push({
        name: free[4],
        column: first,
        reference_table: table,
        reference_schema: 'here',
        reference_column: first,
      });
    }
    const ints = names.find((columnName) => typeOf(columnName) === 'int');
    const texts = names.find((columnName) => typeOf(columnName) === 'text');
    if (ints !== undefined && texts !== undefined && free[5] !== '') {
      const shared = { name: free[5], reference_table: 'Target "T".' };
      if (rules.deferrable === undefined) {
        foreignKeys.push(
          { ...shared, column: texts, reference_column: 'b' },
          { ...shared, column: ints, reference_column: 'a', ...rules },
        );
      } else {
        foreignKeys.push({ ...shared, columns: [texts, ints], reference_columns: ['b', 'a'], ...rules });
      }
    }
    const indexes = keyable.slice(0, 2).map((column, index) => ({
      name: index === 0 ? '' : free[0] === '' ? '' : `${cut(`i${free[0]}`)}`,
      columns: [{ column, ...direction }, ...(index === 0 ? [] : [{ column: keyable[0]! }])],
      include: keyable.slice(1, 3),
    }));
    const unique = [
      { ...key(1, keyable), ...options },
      { ...key(2, keyable.slice(1)), ...options },
    ];
    const conditions: [string | undefined, (column: string) => string][] = [
      [ints, (column) => `${column} > 0 OR ${column} % 2 = 1`],
      [texts, (column) => `length(${column}) < 100 AND ${column} ~ '^[a-z]'`],
    ];
    const checks = conditions.flatMap(([column, condition], index) =>
      column === undefined
        ? []
        : {
            name: free[6 + index],
            expression: condition(quoted(column)),
            not_valid: others.not_valid[index],
          },
    );
    return {
      table,
      types,
      unlogged,
      indexes,
      comment,
      columns: defined,
      constraints: {
        primary_key: { ...key(0, keyable.slice(0, 1)), include: options.include },
        unique: keyable.length > 1 ? unique : [],
        foreign_keys: foreignKeys,
        checks,
      },
    };
  });

/**
 * Returns the description without the parts that may differ: ids start at 1 in both tables, but the schema differs, also in
 * references of a table to itself.
 */
function comparable(table: TableDescription): TableDescription {
  const { foreign_keys } = table.constraints;
  const constraints = {
    ...table.constraints,
    foreign_keys: foreign_keys.map((key) =>
      key.reference_schema === 'public' ? key : { ...key, reference_schema: 'own' },
    ),
  };
  // The other schema uses the types of the first one.
  const { types: _, ...others } = table;
  return { ...others, schema: 'any', constraints };
}

/** Everything that PostgreSQL's catalogue has of the table, as text, without object identifiers. */
const catalogue = `
  SELECT json_build_object('comment', obj_description(c.oid, 'pg_class'), 'persistence', c.relpersistence, 'columns', (
      SELECT json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum), pg_get_serial_sequence($2, a.attname),
        (SELECT json_build_array(format_type(q.seqtypid, NULL), seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle)
          FROM pg_sequence q WHERE q.seqrelid = pg_get_serial_sequence($2, a.attname)::regclass),
        (SELECT json_agg(pg_get_constraintdef(k.oid)) FROM pg_constraint k WHERE k.contypid = a.atttypid),
        (SELECT json_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = a.atttypid)) ORDER BY a.attnum)
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0),
    'constraints', (SELECT json_agg(json_build_array(k.conname, pg_get_constraintdef(k.oid)) ORDER BY k.conname)
      FROM pg_constraint k WHERE k.conrelid = c.oid),
    'indexes', (SELECT json_agg(pg_get_indexdef(i.indexrelid) ORDER BY i.indexrelid::regclass::text) FROM pg_index i WHERE i.indrelid = c.oid)) AS found
  FROM pg_class c WHERE c.oid = $1::regclass`;

async function catalogueOf(client: PoolClient, name: string): Promise<unknown> {
  const relation = `here.${quoted(name)}`;
  return (await client.query(catalogue, [relation, relation])).rows[0].found;
}

test('a valid definition comes back as one that creates the same table', async () => {
  await fc.assert(
    fc.asyncProperty(definition, async ({ table: name, ...sent }) => {
      await rolledBack(database.pool, async (client) => {
        const first = await createTableWithin(client, {
          schema: 'here',
          name,
          table: sent,
          ifNotExists: false,
        });
        const text = JSON.stringify(first.table).replaceAll(
          '"reference_schema":"here"',
          '"reference_schema":"there"',
        );
        const again = await createTableWithin(client, {
          schema: 'there',
          name,
          table: JSON.parse(text),
          ifNotExists: false,
        });
        assert.deepEqual(comparable(again.table), comparable(first.table));
        assert.deepEqual(await describeTable(client, 'here', name), first.table);
        assert.deepEqual(
          first.table.columns.map((described) => described.name),
          sent.columns.map((defined) => defined.name),
        );
        assert.ok(first.table.columns.every((described) => !described.default_is_expression));
        const same = await createTableWithin(client, {
          schema: 'here',
          name,
          table: sent,
          ifNotExists: true,
        });
        assert.deepEqual(same.differences, []);
        const original = await catalogueOf(client, name);
        await rolledBack(elsewhere.pool, async (other) => {
          const sending = { schema: 'here', name, table: first.table, ifNotExists: false };
          const copy = await createTableWithin(other, sending);
          assert.deepEqual(copy.table, first.table);
          assert.deepEqual(await catalogueOf(other, name), original);
        });
      });
    }),
    { numRuns: Number(process.env.ROUND_TRIPS ?? sized(15, 250)) },
  );
});
