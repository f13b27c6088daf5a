/** Types, values and definitions that try the limits of the service and of PostgreSQL, chosen by random numbers. */
import type { TestDatabase } from './database.ts';
import type { RandomNumbers } from './random-numbers.ts';

/** Creates types of each kind that the template database lacks, and returns the names of all types that a definition may name. */
export async function hostileTypes({ pool }: TestDatabase): Promise<string[]> {
  await pool.query(`
    CREATE TYPE mood AS ENUM ('', 'ok', 'so "so"', '${'x'.repeat(63)}');
    CREATE TYPE no_mood AS ENUM ();
    CREATE TYPE pair AS (a numeric, b text);
    CREATE TYPE pairs AS (a pair[], b pair, "c ""quoted""" char(20));
    CREATE TYPE nothing AS ();
    CREATE TYPE text_range AS RANGE (subtype = text);
    CREATE TYPE pair_range AS RANGE (subtype = pair);
    CREATE DOMAIN short_text AS varchar(3) CHECK (value <> 'no');
    CREATE DOMAIN amounts AS numeric(10,2)[] CHECK (array_length(value, 1) < 5);
    CREATE DOMAIN pair_with_check AS pair CHECK ((value).a > 0);
    CREATE DOMAIN always_sent AS int NOT NULL;
    CREATE DOMAIN fails AS int CHECK (1 / value > 0);
    CREATE DOMAIN of_domain AS amounts NOT NULL;
    CREATE DOMAIN ranges AS int4multirange CHECK (NOT isempty(value));`);
  // The row type of a table is found only with its schema.
  const { rows } = await pool.query<{ name: string }>(`
    SELECT CASE WHEN coalesce(e.typrelid, t.typrelid) = 0 THEN format_type(t.oid, NULL)
        ELSE format('%I.%I', n.nspname, coalesce(e.typname, t.typname)) || CASE WHEN e.oid IS NULL THEN '' ELSE '[]' END END AS name
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_type e ON e.typarray = t.oid
    WHERE t.typisdefined AND t.typtype <> 'p' AND coalesce(e.typtype, '') <> 'p' AND n.nspname <> 'tablewright' ORDER BY 1`);
  return [...rows.map(({ name }) => name), ...typesWithModifiers];
}

const typesWithModifiers = [
  ...['varchar(1)', 'varchar(20)[]', 'char(5)', 'char(10485760)', 'char(1000)[]', 'bit(3)', 'bit(83886080)'],
  ...['varbit(5)', 'bit(64)[]', 'numeric(12,2)', 'numeric(1000,1000)', 'numeric(3,-5)', 'numeric(5,2)[]'],
  ...['timestamp(0)', 'timestamptz(3)[]', 'time(2)', 'timetz(6)', 'interval(3)', 'interval year to month'],
  ...['interval day to second(2)', 'serial', 'bigserial', 'smallserial', 'float(1)', 'string', 'number'],
];

/** Values as JSON: some are not valid in JSON, and those are sent alone. */
const tokens: string[] = [
  ...['null', 'true', '0', '-0', '1e131071', '-1e-16383', '1e131072', '1e400', '1e-400', '1E+2147483648'],
  ...[
    '1e99999999999999999999',
    '9223372036854775808',
    '-32769',
    '4294967296',
    '0.1',
    '123456789012345678901',
  ],
  ...[
    '{}',
    '[]',
    '[[]]',
    '[null]',
    '[[1,2],[3]]',
    '[[1],2]',
    '[1,[2]]',
    '[[[[[[[1]]]]]]]',
    '{"a":{"a":{"a":1}}}',
  ],
  ...['{"a":1,"a":2}', '{"":null}', '["a","b"]', '[{"a":1},{"b":2}]', '[1e131071,1e131071]', '["NaN"]'],
];
const texts: string[] = [
  ...[
    '',
    ' ',
    '\t\n',
    "'",
    "''",
    '"',
    '""',
    '\\',
    '\\\\',
    '\\x',
    '\\x0',
    '\\xzz',
    '\\000',
    "'; DROP TABLE x; --",
  ],
  ...[
    '\0',
    'a\0b',
    '\u{1f600}',
    '\u202e',
    '\ufeff1',
    '\uffff',
    '\u0661',
    'NULL',
    'null',
    'NaN',
    '-NaN',
    'nan',
  ],
  ...[
    'Infinity',
    '-infinity',
    'inf',
    'infinity BC',
    'now',
    'today',
    'epoch',
    'allballs',
    '1e131071',
    '1e-16383',
  ],
  ...[
    '0x1p1023',
    `0x${'f'.repeat(40)}`,
    '0b11',
    '1_000',
    '٣',
    '1,5',
    '99999999999999999999',
    '1'.repeat(300),
  ],
  ...[
    '0000-00-00',
    '2024-02-30',
    '294277-01-01',
    '4714-11-24 BC',
    '4714-11-23 BC',
    '5874898-01-01',
    '10000-01-01',
  ],
  ...[
    '2024-01-01T24:00:00.0000001+99:99',
    '24:00:00',
    '25:00',
    '00:00:60',
    '2024-01-01 00:00:00 Nowhere/Zone',
  ],
  ...[
    'P1Y',
    'P9999999999Y',
    '178000001 years',
    '1 month ago',
    '@ 1 hour',
    '-2147483648 days',
    '00:00:00.0000001',
  ],
  ...[
    '{}',
    '{{}}',
    '{{1,2},{3}}',
    '[0:1]={1,2}',
    '[2147483647:2147483647]={1}',
    '[-5:-6]={}',
    '{1',
    '{"',
    '{NULL}',
  ],
  ...[
    '{null,"null"}',
    '{{{{{{{1}}}}}}}',
    '(,)',
    '(1,a)',
    '("(1,a)",)',
    '("',
    '()',
    '(1,2,3)',
    'empty',
    '[1,2)',
  ],
  ...[
    '[2,1]',
    '(,)',
    '[,]',
    '{[1,2),[2,3)}',
    '{(,)}',
    '[a,"',
    '[1,1)',
    '{[',
    '(1,1)',
    '((0,0),(1,1))',
    '<(0,0),-1>',
  ],
  ...['{1,0,0}', '{0,0,0}', '[(0,0)]', '((1e308,1e308),(-1e308,-1e308))', '(NaN,NaN)', '[(0,0),(0,0)]'],
  ...[
    '1.2.3.4/33',
    '::1',
    '::ffff:1.2.3.4/128',
    '00:00:00:00:00:0g',
    'ffffffffffff',
    '08002b0102030405',
    '0/0',
  ],
  ...['FFFFFFFF/FFFFFFFF', '(0,1)', '(4294967296,0)', '1:2:', '10:20:10,14', '18446744073709551616', '-1'],
  ...[
    `${'!'.repeat(33)}a`,
    `${'('.repeat(500)}a`,
    'a <16385> b',
    'a & ',
    "'a' <-> 'b':*ABCD",
    'a:1,2,3D',
    `a:${'9'.repeat(20)}`,
  ],
  ...[
    '<a/>',
    '<a>',
    '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    '<?xml version="9"?>',
    ']]>',
    '$',
    '$.a[*] ? (@ > 1)',
  ],
  ...[
    '$.** ? (@ like_regex "(")',
    '$[last]',
    '{"a":"\\u0000"}',
    '{"a":"\\ud800"}',
    '[1e131071]',
    '"',
    'pg_class',
  ],
  ...[
    'no_such_table',
    '-',
    '1',
    'int4',
    '+(int,int)',
    'now()',
    '"a"."b"."c"',
    'a.b.c.d',
    'english',
    'public',
    '=UC/x',
  ],
  ...[
    'postgres=r/postgres',
    'é'.repeat(40),
    'x'.repeat(64),
    '101',
    '2',
    `B'${'1'.repeat(70)}'`,
    '{a',
    '(a,b]',
    '1-2',
  ],
];

/** Returns every value, as JSON. */
export const hostileTokens = [...tokens, ...texts.map((text) => JSON.stringify(text))];

/** Values that make the whole body invalid. They are sent alone. */
export const poisonTokens = [
  ...[
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\x"',
    '"\\u00g0"',
    '"\u0001"',
    '"',
    'NaN',
    '01',
    '1e',
    '-',
    '[',
    '{"a"}',
    '[1,]',
  ],
  ...[
    '['.repeat(200) + ']'.repeat(200),
    `${'{"a":'.repeat(129)}1${'}'.repeat(129)}`,
    `${'9'.repeat(200_000)}`,
    'tru',
  ],
];

type MakeText = (length: number) => string;

const fill =
  (unit: string): MakeText =>
  (length) =>
    unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
const inside =
  (before: string, unit: string, after: string): MakeText =>
  (length) =>
    before + unit.repeat(Math.floor(length / unit.length)) + after;
const nested =
  (before: string, middle: string, after: string): MakeText =>
  (length) => {
    const levels = Math.floor(length / (before.length + after.length));
    return before.repeat(levels) + middle + after.repeat(levels);
  };

/** Texts of any length: what a type reads slowly, deeply or into much memory. */
const longTexts: MakeText[] = [
  ...[
    'x',
    ' ',
    '9',
    "'",
    '"',
    '\\',
    '\\\\',
    'é',
    '{',
    '(',
    '[',
    '!',
    ',',
    '1,',
    '00',
    '-',
    '\t',
    'a ',
    'a&',
    '$.a',
    'a:1 ',
  ].map(fill),
  inside('{', '1,', '1}'),
  inside('{', '{1},', '{1}}'),
  inside('{', 'NULL,', 'NULL}'),
  inside('{', '1e131071,', '1}'),
  inside('{', '"(1e131071,x)",', '"(1,x)"}'),
  inside('{', '"[1,2)",', '"[1,2)"}'),
  inside('{', '[1,2),', '[5,6)}'),
  inside('{', '"(,)",', '"(,)"}'),
  inside('[', '1e131071,', '1]'),
  inside('[', '{},', '{}]'),
  inside('[', '"\\u0041",', '1]'),
  inside('{"a":[', 'null,', 'null]}'),
  inside('', '"a"=>"b",', '"a"=>NULL'),
  inside('(', '(1,2),', '(1,2))'),
  inside('((', '1e308,', '1))'),
  inside('[', '(0,0),', '(0,0)]'),
  inside('<r>', '<a/>', '</r>'),
  inside('<r ', 'a="1" ', '/>'),
  inside('', 'a & ', 'b'),
  inside('', 'a | !', 'b'),
  inside('', 'a <-> ', 'b'),
  inside('', '1 day ', ''),
  inside('', '1+', '1'),
  inside('', '$.a ? (@.b == ', '1'),
  inside('10:20:', '10,', '11'),
  inside('\\x', 'ff', ''),
  inside('', '\\377', ''),
  inside("B'", '1', "'"),
  inside('', '=r/postgres,', '=r/postgres'),
  nested('[', '1', ']'),
  nested('{', '1', '}'),
  nested('(', 'a', ')'),
  nested('{"a":', '1', '}'),
  nested('<a>', '', '</a>'),
  nested('!(', 'a', ')'),
  nested('"(', 'a', ')"'),
];

export function longText(random: RandomNumbers, length: number): string {
  return longTexts[random(longTexts.length)]!(length);
}

export interface ColumnSent {
  name: string;
  type: string;
  default?: string;
  is_nullable?: boolean;
}
export interface DefinitionSent {
  columns: ColumnSent[];
  constraints?: Record<string, unknown>;
}

const one = <Value>(random: RandomNumbers, values: readonly Value[]): Value => values[random(values.length)]!;
const list = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));
const columnsOf = (count: number, type: string): ColumnSent[] =>
  list(count, (index) => ({ name: `c${index}`, type }));
/** Returns names that differ only in their last characters and are as long as possible. */
const longName = (index: number): string => `${index}`.padStart(63, 'n');

/** Deep and wide definitions. */
export const hostileDefinitions: Record<
  string,
  (random: RandomNumbers, types: readonly string[]) => DefinitionSent
> = {
  'columns of any types with long names': (random, types) => ({
    columns: list(1 + random(1600), (index) => ({ name: longName(index), type: one(random, types) })),
  }),
  'columns of the same type': (random, types) => ({
    columns: columnsOf(1 + random(1700), one(random, types)),
  }),
  'defaults of any types': (random, types) => ({
    columns: list(1 + random(100), (index) => ({
      ...{ name: `c${index}`, type: one(random, types) },
      default: String(JSON.parse(one(random, hostileTokens))),
    })),
  }),
  'long defaults': (random) => ({
    columns: list(1 + random(10), (index) => ({
      name: `c${index}`,
      type: one(random, [
        'text',
        'jsonb',
        'numeric[]',
        'pair[]',
        'tsvector',
        'xml',
        'bytea',
        'path',
        'int4multirange',
      ]),
      default: longText(random, 90_000),
    })),
  }),
  'one long default': (random, types) => ({
    columns: [{ name: 'a', type: one(random, types), default: longText(random, 1_000_000) }],
  }),
  'calls in calls': (random) => {
    const [name, end] = one(random, [
      ['upper', "'a'"],
      ['abs', '1e131071'],
      ['to_jsonb', "'1'::text"],
    ] as const);
    const levels = 1 + random(20_000);
    const call = `${name}(`.repeat(levels) + end + ')'.repeat(levels);
    return { columns: [{ name: 'a', type: 'text', default: call }] };
  },
  'casts of casts': (random) => ({
    columns: [{ name: 'a', type: 'text', default: `'1'${'::text::int'.repeat(1 + random(10_000))}` }],
  }),
  'many arguments': (random) => ({
    columns: [
      {
        name: 'a',
        type: 'jsonb',
        default: `jsonb_build_array(${list(1 + random(100_000), () => '1').join()})`,
      },
    ],
  }),
  'long calls': (random) => ({
    columns: list(40, (index) => ({
      ...{ name: `c${index}`, type: 'text' },
      default: one(random, [
        ...[
          "repeat('x', 1000000000)",
          "lpad('x', 500000000)",
          "format('%1000000s', 'x')",
          "to_char(1, repeat('9', 100000))",
        ],
        ...[
          "repeat(repeat('x', 30000), 30000)",
          'generate_series(1, 1000000000)',
          'pg_sleep(100)',
          'factorial(100000)',
        ],
        ...[
          "array_fill(1, '{100000000}')",
          'power(10::numeric, 131071)',
          "now() + '1e9 years'",
          "string_to_array('a', NULL)",
        ],
        ...[
          "convert_from('\\xff', 'UTF8')",
          "pg_read_file('/etc/passwd')",
          "nextval('none')",
          "json_build_object('a')",
        ],
      ]),
    })),
  }),
  'types that are long or deep': (random) => ({
    columns: [
      {
        name: 'a',
        type: one(random, [
          ...[
            `int${'[]'.repeat(10_000)}`,
            `${'('.repeat(100_000)}`,
            `${'"'.repeat(99_999)}`,
            'a.'.repeat(100_000),
          ],
          ...[
            `numeric(${'9'.repeat(100_000)})`,
            `numeric(${list(50_000, () => '1').join()})`,
            'x'.repeat(1_000_000),
          ],
          ...[
            'int[1000000000]',
            'varchar(0)',
            'varchar(10485761)',
            'bit(0)',
            'numeric(1001)',
            'numeric(1,-1001)',
          ],
          ...[
            'setof int',
            'int; DROP TABLE x',
            'pg_class%rowtype',
            'a\0b',
            '\ud800',
            '"',
            '.',
            '[]',
            'int array[4]',
          ],
        ]),
      },
    ],
  }),
  'many unique constraints': (random) => {
    const count = 1 + random(300);
    const columns = columnsOf(count, one(random, ['int', 'text', 'point', 'jsonb', 'text_range']));
    const names = columns.map(({ name }) => name);
    const unique = list(count, (index) => ({
      name: longName(index),
      columns: names.slice(index % 200).slice(0, 1 + random(40)),
    }));
    return { columns, constraints: { unique } };
  },
  'many foreign keys': (random) => {
    const count = 1 + random(500);
    const foreign_keys = list(count, (index) => ({
      name: index % 3 === 0 ? '' : `k${random(count)}`,
      ...{
        column: `c${random(count + 1)}`,
        reference_table: one(random, ['hostile', 'none', 'pg_class', '']),
      },
      reference_column: `c${random(count)}`,
    }));
    return {
      columns: columnsOf(count, 'int'),
      constraints: { primary_key: { name: '', columns: ['c0'] }, foreign_keys },
    };
  },
  'names that are odd or occur twice': (random) => ({
    columns: list(1 + random(200), () => ({
      name: one(random, [
        'a',
        'A',
        '',
        ' ',
        '"',
        "'",
        '\\',
        '\n',
        '\0',
        'é'.repeat(32),
        'ctid',
        'xmin',
        '__proto__',
        'constructor',
        '\u202e',
        '\ud800',
        'x'.repeat(100_000),
      ]),
      type: 'text',
    })),
  }),
  'domains with checks': (random) => ({
    columns: list(1 + random(1600), (index) => ({
      name: `c${index}`,
      type: one(random, ['short_text', 'pair_with_check', 'fails', 'ranges', 'amounts', 'of_domain']),
      ...(random(4) === 0 && { default: one(random, ['no', '(1,a)', '0', '1', '{[1,2)}', '{1}', '{}']) }),
    })),
  }),
};
