/**
 * Random definitions of tables: of all types that PostgreSQL has, with defaults in every allowed form, any names, keys, foreign keys, indexes and
 * comments.
 */
import fc from 'fast-check';

/** Makes the objects that the definitions refer to. */
export const objects = `
    CREATE SCHEMA "here"; CREATE SCHEMA "there"; CREATE SCHEMA "O'Neil ""types"".🙂";
    CREATE TYPE "O'Neil ""types"".🙂"."mood (of)" AS ENUM ('glad', 'so ''so''');
    CREATE TYPE pair AS (a integer, b text);
    CREATE DOMAIN positive AS integer CHECK (value > 0);
    CREATE DOMAIN short AS varchar(5);
    CREATE DOMAIN "serial" AS integer;
    CREATE TABLE owners (id integer, name text);
    CREATE SEQUENCE "Order ""Numbers""";
    CREATE TABLE "Target ""T""." (id bigint PRIMARY KEY, a integer, b text, UNIQUE (a, b))`;

const mood = `"O'Neil ""types"".🙂"."mood (of)"`;

/** Types, and defaults for each of them, written in every allowed way. */
export const typesWithDefaults: [string, string[]][] = [
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

/** Arrays of types with a modifier, which cannot be in foreign keys. */
const limitedArray = /\).*(\[\]|array)$/;

/** Types that cannot be in keys, because they have no btree order. */
export const unordered = /^(json|point|xml|interval year to month\[\])/;

export const name = fc
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

export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

const action = fc.constantFrom('no action', 'restrict', 'cascade', 'set null', 'set default');
const time = fc.constantFrom('initially immediate', 'initially deferred');

/** The definition of a table in the schema `here`. `table` is its name. */
export const definition = fc
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
    if (first !== undefined && !limitedArray.test(typeOf(first))) {
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
