/**
 * Converts random values between pairs of types, and compares the judgement of each value with an oracle that knows nothing of the service: exact
 * decimals for numbers, `Date` for dates, `JSON.parse` for JSON.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { ClientBase } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { sized } from '../../../../test/support/sized.ts';
import { Problems } from '../../../encoding/problems/problems.ts';
import { inTransaction } from '../../../postgres/transaction.ts';
import { readNamedRows } from '../change/named-rows.ts';
import { readLoadColumns } from '../loading/read-load-columns.ts';
import type { Conversion } from './conversion.ts';
import { readCastFacts, readTargetColumns } from './conversion-facts.ts';
import { findUnconvertible } from './find-unconvertible.ts';
import { planConversion } from './plan-conversion.ts';

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  await database.pool.query(`CREATE TYPE color AS ENUM ('red', 'green', 'blue'); CREATE TYPE short_color AS ENUM ('red', 'blue', 'black');
    CREATE DOMAIN percent AS integer CHECK (VALUE BETWEEN 0 AND 100); CREATE DOMAIN whole AS integer; CREATE DOMAIN code AS text CHECK (VALUE ~ '^[a-z]+$')`);
});
after(() => database.drop());

async function plan(client: ClientBase, table: string, to: string): Promise<Conversion> {
  const from = (await readLoadColumns(client, 'public', table)).find(({ name }) => name === 'v')!;
  const [target] = await readTargetColumns(client, [{ name: 'v', typeSql: to }]);
  const change = { from, to: target! };
  const planned = planConversion(change, await readCastFacts(client, [change]));
  if ('refused' in planned) throw new Error(planned.refused);
  return planned;
}

async function convert(client: ClientBase, table: string, { typeSql, using }: Conversion): Promise<void> {
  const expression = using === undefined ? '' : ` USING ${using}`;
  await client.query(`ALTER TABLE public.${table} ALTER COLUMN v TYPE ${typeSql}${expression}`);
}

/** The result for each value, by its number. */
interface Judged {
  /** The code of its problem. */
  problems: Map<number, string>;
  /** The values after the conversion, as text, of those without a problem. */
  converted: Map<number, string>;
  /** The values after a second conversion, back to their first type, where PostgreSQL has one. */
  back: Map<number, string>;
  losses: number;
}

/** Converts the values in a transaction that is rolled back. */
async function judge(from: string, to: string, values: string[], allowsLosses = false): Promise<Judged> {
  return inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(`CREATE TABLE public.t (id integer PRIMARY KEY, v ${from})`);
    await client.query(
      `INSERT INTO public.t SELECT n, x::${from} FROM unnest($1::text[]) WITH ORDINALITY AS x(x, n)`,
      [values],
    );
    const conversion = await plan(client, 't', to);
    const rows = await readNamedRows(client, 'public', 't', true);
    const found = new Problems();
    const losses = await findUnconvertible(client, rows, [conversion], allowsLosses, found);
    const listed = found.listed();
    assert.equal(found.count, listed.length, 'not more values than an answer lists');
    const problems = new Map(listed.map(({ key, code }) => [Number(key!.id), code]));
    await client.query('DELETE FROM public.t WHERE id = ANY ($1)', [[...problems.keys()]]);
    const read = async () => {
      const { rows: all } = await client.query('SELECT id, v::text AS v FROM public.t ORDER BY id');
      return new Map(all.map(({ id, v }) => [id as number, v as string]));
    };
    await convert(client, 't', conversion);
    const converted = await read();
    const back = allowsLosses ? undefined : await plan(client, 't', from).catch(() => undefined);
    if (back !== undefined) await convert(client, 't', back);
    return {
      problems,
      converted,
      back: back === undefined ? new Map() : await read(),
      losses: losses[0]?.rows ?? 0,
    };
  });
}

/** A decimal number as a text that is the same for equal numbers. */
function decimal(text: string): string {
  const found = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text);
  if (found === null) return text;
  const [, sign, whole, fraction, exponent = '0'] = found;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction!.length + digits.length - kept.length;
  return kept === '' ? '0' : `${sign}${kept}e${power}`;
}

const isSpecial = (text: string) => /NaN|Infinity/.test(text);
/** Returns the digits after the point that are needed. */
const scaleOf = (text: string) => Math.max(0, -Number(/e(.*)$/.exec(decimal(text))?.[1] ?? 0));
/** Returns the digits before the point that are needed. */
const wholeOf = (text: string) => {
  const [digits, power = '0'] = decimal(text).replace(/^-/, '').split('e');
  return Math.max(0, digits!.length + Number(power));
};
const isWhole = (text: string) => !isSpecial(text) && scaleOf(text) === 0;
const isBetween = (text: string, bits: bigint) => {
  const [digits, power = '0'] = decimal(text).split('e');
  if (Number(power) > 30) return false;
  const value = BigInt(digits!) * 10n ** BigInt(Math.max(0, Number(power)));
  return value >= -(2n ** (bits - 1n)) && value < 2n ** (bits - 1n);
};
const isInteger = (text: string, bits: bigint) => isWhole(text) && isBetween(text, bits);
/** A `real` keeps each decimal of up to 6 digits, and its text has at most 9. */
const significant = (text: string) => decimal(text).replace(/^-/, '').split('e')[0]!.length;
const isInRangeOfReal = (text: string) =>
  Number(text) === 0 || (Math.abs(Number(text)) > 1.41e-45 && Math.abs(Number(text)) < 3.4028235e38);
const isPlainNumber = (text: string) => /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) && !/^-0(\.0+)?$/.test(text);
const isDay = (text: string) => {
  const date = new Date(`${text}T00:00:00Z`);
  return (
    !text.startsWith('0000') &&
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(date.getTime()) &&
    date.toISOString().startsWith(text)
  );
};
const hasMoment = (text: string, end: RegExp) => {
  const [, date = '', rest = ''] = /^(.{10})[T ](.*)$/.exec(text) ?? [];
  return isDay(date) && end.test(rest);
};
const hasRepeatedKey = (text: string) => {
  const keys = [...text.matchAll(/"(k\d)" *:/g)].map(([, key]) => key);
  return new Set(keys).size < keys.length;
};

const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((list) => list.join(''));
const sign = fc.constantFrom('', '', '-', '+');
const numberText = fc.oneof(
  fc.tuple(sign, digits(1, 12), fc.constantFrom('', '.'), digits(0, 4)).map((parts) => parts.join('')),
  fc.constantFrom(
    '1,5',
    '007',
    '1e3',
    ' 5',
    '',
    'abc',
    '12.50',
    '-0',
    '0.0',
    'NaN',
    '1_000',
    '0x10',
    '2147483648',
  ),
  fc.constantFrom('1', '-17', '99999999.99', '100000000', '0.005', '1.234'),
);
const double = fc.oneof(
  fc.double({ noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
  fc.integer({ min: -9999, max: 9999 }).map((n) => String(n / 8)),
  fc.constantFrom(
    'NaN',
    'Infinity',
    '-Infinity',
    '-0',
    '1e15',
    '1e300',
    '1e-310',
    '5e-324',
    '3.4028234663852886e38',
    '3.5e38',
  ),
);
const numeric = fc.oneof(
  fc
    .tuple(fc.constantFrom('', '-'), digits(1, 8), digits(0, 6))
    .map(([minus, whole, rest]) => `${minus}${whole}${rest === '' ? '' : `.${rest}`}`),
  fc.constantFrom(
    'NaN',
    'Infinity',
    '1e400',
    '1e-400',
    '2147483647.4',
    '2147483647.5',
    '-2147483648.5',
    '0.1',
    '3.0',
  ),
);
const pad = (n: number, width = 2) => String(n).padStart(width, '0');
const dayText = fc.oneof(
  fc
    .tuple(
      fc.integer({ min: 1, max: 9999 }),
      fc.integer({ min: 1, max: 13 }),
      fc.integer({ min: 1, max: 31 }),
    )
    .map(([y, m, d]) => `${pad(y, 4)}-${pad(m)}-${pad(d)}`),
  fc.constantFrom(
    'today',
    '20240101',
    '2024-1-5',
    '01/02/2024',
    '2024-02-29',
    '2023-02-29',
    'Jan 5 2024',
    '0000-01-01',
  ),
);
const clockText = fc.oneof(
  fc
    .tuple(fc.nat(24), fc.nat(60), fc.nat(60), digits(0, 8))
    .map(([h, m, s, f]) => `${pad(h)}:${pad(m)}:${pad(s)}${f === '' ? '' : `.${f}`}`),
  fc.constantFrom('10:00', '10:00:00.', '9:00:00', '10:00:00.1230000'),
);
const momentText = fc
  .tuple(
    dayText,
    fc.constantFrom('T', ' ', '  ', 't'),
    clockText,
    fc.constantFrom('', 'Z', '+02', '+05:30', '-00:00', ' UTC', '+0130'),
  )
  .map((parts) => parts.join(''));
const clockPattern = String.raw`([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6}0*)?)?`;
const timestamp = fc
  .tuple(
    fc.integer({ min: 1, max: 9999 }),
    fc.constantFrom('00:00:00', '10:20:30', '23:59:59.999999', '00:00:00.5', '12:00:00.25'),
  )
  .map(([year, time]) => `${pad(year, 4)}-03-04 ${time}`);
const word = fc.oneof(
  fc.string({ maxLength: 8 }).filter((text) => !text.includes('\0') && text.isWellFormed()),
  fc.constantFrom('ab  ', 'éé', 'abc'),
);
const small = fc.integer({ min: -40_000, max: 40_000 });
const json = fc
  .array(
    fc.tuple(
      fc.constantFrom('k1', 'k2', 'k3'),
      fc.constantFrom('1', '"a:\\"b"', '"\\u003a"', '"\\u003A:"', '[1, 2]', '{"x": 1}'),
    ),
    { maxLength: 3 },
  )
  .map((members) => `{${members.map(([key, value]) => `"${key}" : ${value}`).join(', ')}}`);

interface Pair {
  from: string;
  to: string;
  values: fc.Arbitrary<string>;
  /** The oracle, about the text of the value as PostgreSQL stores it. */
  isExact: (text: string) => boolean;
  /** Converting back gives an equal number instead of the same text. */
  comparesNumbers?: boolean;
  /** Converting back gives another spelling of the same value. */
  spells?: boolean;
}

const pairs: Pair[] = [
  {
    from: 'text',
    to: 'integer',
    values: numberText,
    isExact: (x) => /^(0|-?[1-9]\d*)$/.test(x) && isBetween(x, 32n),
  },
  { from: 'text', to: 'numeric', values: numberText, isExact: isPlainNumber },
  {
    from: 'text',
    to: 'numeric(10,2)',
    values: numberText,
    isExact: (x) => isPlainNumber(x) && scaleOf(x) <= 2 && wholeOf(x) <= 8,
    comparesNumbers: true,
  },
  {
    from: 'varchar',
    to: 'double precision',
    values: numberText,
    isExact: (x) =>
      (isPlainNumber(x) && decimal(String(Number(x))) === decimal(x)) || x === '-0' || x === 'NaN',
    comparesNumbers: true,
  },
  { from: 'text', to: 'date', values: dayText, isExact: isDay },
  {
    from: 'text',
    to: 'timestamp',
    values: fc.oneof(momentText, dayText),
    isExact: (x) => isDay(x) || hasMoment(x, new RegExp(`^${clockPattern}$`)),
    spells: true,
  },
  {
    from: 'text',
    to: 'timestamptz',
    values: momentText,
    isExact: (x) => hasMoment(x, new RegExp(`^${clockPattern}(Z|(?!-00)[+-]\\d\\d(:?\\d\\d)?)$`)),
    spells: true,
  },
  {
    from: 'text',
    to: 'time(3)',
    values: clockText,
    isExact: (x) => /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3}0*)?)?$/.test(x),
    spells: true,
  },
  {
    from: 'text',
    to: 'boolean',
    values: fc.constantFrom('true', 'false', 'TRUE', 'yes', 't', '1', ' true', ''),
    isExact: (x) => /^(true|false)$/.test(x),
  },
  {
    from: 'text',
    to: 'uuid',
    values: fc.oneof(
      fc.uuid(),
      fc.uuid().map((id) => id.toUpperCase()),
      fc.uuid().map((id) => `{${id}}`),
      word,
    ),
    isExact: (x) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(x),
    spells: true,
  },
  {
    from: 'text',
    to: 'jsonb',
    values: fc.oneof(
      json,
      word.filter((x) => !/^\s*(\d|-\d|true|false|null|"|\{")/.test(x)),
    ),
    isExact: (x) => (x.startsWith('{"') && !hasRepeatedKey(x)) || /^\{ *\}$/.test(x) || x.trim() === '[]',
    spells: true,
  },
  { from: 'json', to: 'jsonb', values: json, isExact: (x) => !hasRepeatedKey(x), spells: true },
  {
    from: 'text',
    to: 'public.color',
    values: fc.constantFrom('red', 'blue', 'Red', ' red', '', 'black'),
    isExact: (x) => ['red', 'blue', 'green'].includes(x),
  },
  {
    from: 'public.color',
    to: 'public.short_color',
    values: fc.constantFrom('red', 'blue', 'green'),
    isExact: (x) => x !== 'green',
  },
  { from: 'text', to: 'varchar(5)', values: word, isExact: (x) => [...x].length <= 5 },
  { from: 'text', to: 'char(5)', values: word, isExact: (x) => [...x].length <= 5 && !x.endsWith(' ') },
  { from: 'text', to: 'public.percent', values: numberText, isExact: (x) => /^(0|[1-9]\d?|100)$/.test(x) },
  { from: 'text', to: 'public.code', values: word, isExact: (x) => /^[a-z]+$/.test(x) },
  {
    from: 'text',
    to: 'bytea',
    values: fc.constantFrom('\\x00ff', '\\x', '\\x0', 'abc', '\\xAB', '\\\\'),
    isExact: (x) => /^\\x([\da-f]{2})*$/.test(x),
  },
  {
    from: 'text',
    to: 'integer[]',
    values: fc.constantFrom('{1,2}', '{}', '{1, 2}', '1,2', '{01}', '{NULL}', '{{1},{2}}'),
    isExact: (x) => ['{1,2}', '{}', '{NULL}', '{{1},{2}}'].includes(x),
  },
  {
    from: 'text',
    to: 'inet',
    values: fc.constantFrom('10.0.0.1', '10.0.0.1/32', '10.0.0.0/8', '10.0.0', '::1', '300.1.1.1'),
    isExact: (x) => ['10.0.0.1', '10.0.0.1/32', '10.0.0.0/8', '::1'].includes(x),
    spells: true,
  },
  { from: 'double precision', to: 'numeric', values: double, isExact: (x) => x !== '-0' },
  {
    from: 'double precision',
    to: 'integer',
    values: double,
    isExact: (x) => x !== '-0' && isInteger(x, 32n),
  },
  { from: 'double precision', to: 'bigint', values: double, isExact: (x) => x !== '-0' && isInteger(x, 64n) },
  {
    from: 'double precision',
    to: 'real',
    // It depends on the number whether a `real` keeps 7 to 9 digits.
    values: double.filter((x) => isSpecial(x) || significant(x) < 7 || significant(x) > 9),
    isExact: (x) => isSpecial(x) || (significant(x) < 7 && isInRangeOfReal(x)),
  },
  {
    from: 'real',
    to: 'double precision',
    values: fc
      .float()
      .map((x) => String(x))
      .filter((x) => x !== '0'),
    isExact: () => true,
  },
  {
    from: 'numeric',
    to: 'integer',
    values: numeric,
    isExact: (x) => isInteger(x, 32n),
    comparesNumbers: true,
  },
  {
    from: 'numeric',
    to: 'numeric(6,2)',
    values: numeric,
    isExact: (x) => x === 'NaN' || (!isSpecial(x) && scaleOf(x) <= 2 && wholeOf(x) <= 4),
    comparesNumbers: true,
  },
  {
    from: 'numeric(14,4)',
    to: 'numeric(12,-2)',
    values: fc.integer().map((x) => String(x * 10)),
    isExact: (x) => decimal(x) === '0' || Number(/e(.*)$/.exec(decimal(x))![1]) >= 2,
  },
  {
    from: 'numeric',
    to: 'double precision',
    values: numeric,
    isExact: (x) => isSpecial(x) || decimal(String(Number(x))) === decimal(x),
    comparesNumbers: true,
  },
  {
    from: 'bigint',
    to: 'double precision',
    // PostgreSQL may write more digits of a large number than JavaScript, because it avoids texts halfway between two numbers.
    values: fc
      .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
      .map(String)
      .filter((x) => BigInt(Number(x)) !== BigInt(x) || decimal(String(Number(x))) === decimal(x)),
    isExact: (x) => BigInt(Number(x)) === BigInt(x),
  },
  { from: 'bigint', to: 'smallint', values: small.map(String), isExact: (x) => isBetween(x, 16n) },
  {
    from: 'integer',
    to: 'boolean',
    values: fc.constantFrom('0', '1', '2', '-1'),
    isExact: (x) => x === '0' || x === '1',
  },
  {
    from: 'integer',
    to: 'public.percent',
    values: small.map(String),
    isExact: (x) => Number(x) >= 0 && Number(x) <= 100,
  },
  { from: 'timestamp', to: 'date', values: timestamp, isExact: (x) => x.endsWith(' 00:00:00') },
  { from: 'timestamp', to: 'timestamp(1)', values: timestamp, isExact: (x) => !/\.\d\d/.test(x) },
  {
    from: 'date',
    to: 'timestamp',
    values: fc.constantFrom(
      '2024-01-02',
      'infinity',
      '-infinity',
      '294276-12-31',
      '294277-01-01',
      '0044-03-15 BC',
    ),
    isExact: (x) => x !== '294277-01-01',
  },
  {
    from: 'interval',
    to: 'interval day to hour',
    values: fc.constantFrom('1 day', '30 days', '1 mon', '1 day 02:00:00', '1 day 02:03:00'),
    isExact: (x) => (!x.includes(':03') && !x.includes('mon')) || x === '1 mon',
  },
  {
    from: 'integer[]',
    to: 'smallint[]',
    values: fc
      .array(small, { maxLength: 3 })
      .map((list) => `{${list.map((n) => (n % 7 === 0 ? 'NULL' : n))}}`),
    isExact: (x) =>
      x
        .slice(1, -1)
        .split(',')
        .every((n) => Math.abs(Number(n) + 0.5) < 32768.5 || n === 'NULL'),
  },
  {
    from: 'numeric[]',
    to: 'integer[]',
    values: fc.constantFrom('{1,2}', '{1.5}', '{2.0,NULL}', '{{1},{3000000000}}'),
    isExact: (x) => !/1\.5|3000/.test(x),
    comparesNumbers: true,
  },
  {
    from: 'text[]',
    to: 'varchar(2)[]',
    values: fc.constantFrom('{a,bb}', '{ccc}', '{}', '{NULL,"d  "}'),
    isExact: (x) => x === '{a,bb}' || x === '{}',
  },
  {
    from: 'numeric[]',
    to: 'numeric(3,1)[]',
    values: fc.constantFrom('{1.5,99.9}', '{100}', '{1.25}', '{NaN}'),
    isExact: (x) => x === '{1.5,99.9}' || x === '{NaN}',
  },
  {
    from: 'text',
    to: 'interval',
    values: fc.constantFrom('1 day', '01:30:00', 'P1D', '90', '1 mon -00:00:01'),
    isExact: (x) => x !== 'P1D' && x !== '90',
  },
  {
    from: 'text',
    to: 'int4range',
    values: fc.constantFrom('[1,5)', '[1,4]', 'empty', '(,)', '1,2'),
    isExact: (x) => x === '[1,5)' || x === 'empty' || x === '(,)',
  },
  {
    from: 'text',
    to: 'xml',
    values: fc.constantFrom('<a>1</a>', '<a', '<?xml version="1.0"?><a/>', 'x'),
    isExact: (x) => x !== '<a',
  },
  { from: 'jsonb', to: 'json', values: json, isExact: () => true },
  { from: 'public.color', to: 'text', values: fc.constantFrom('red', 'blue'), isExact: () => true },
  {
    from: 'inet',
    to: 'cidr',
    values: fc.constantFrom('10.0.0.1', '10.0.0.1/8', '10.0.0.0/8'),
    isExact: (x) => x !== '10.0.0.1/8',
  },
  {
    from: 'bit varying',
    to: 'bit(3)',
    values: fc.constantFrom('101', '1', '1010', '000'),
    isExact: (x) => x.length === 3,
  },
];

for (const { from, to, values, isExact, comparesNumbers = false, spells = false } of pairs) {
  test(`${from} becomes ${to} exactly or not at all`, async () => {
    for (let round = 0; round < sized(1, 8); round++) {
      const seed = Number(process.env.TEST_SEED ?? Date.now()) + round;
      const sent = [...new Set(fc.sample(values, { numRuns: 90, seed }))];
      const kept = await stored(from, sent);
      const { problems, converted, back } = await judge(
        from,
        to,
        kept.map(({ sent: text }) => text),
      );
      for (const [index, { text }] of kept.entries()) {
        const id = index + 1;
        const where = `${JSON.stringify(text)} (seed ${seed}): ${problems.get(id) ?? converted.get(id)}`;
        assert.equal(problems.has(id), !isExact(text), where);
        if (problems.has(id) || spells || back.size === 0) continue;
        const sameText = from === 'text' || from === 'varchar' ? converted.get(id)! : back.get(id)!;
        if (comparesNumbers) assert.equal(numbersIn(sameText), numbersIn(text), where);
        else assert.equal(sameText.trimEnd(), text.trimEnd(), where);
      }
    }
  });
}

/** Returns the text with each number as `decimal` writes it. */
function numbersIn(text: string): string {
  return text.replace(/[^{},]+/g, decimal);
}

/** Returns the values that the type accepts, with their texts. */
async function stored(type: string, sent: string[]): Promise<{ sent: string; text: string }[]> {
  const kept: { sent: string; text: string }[] = [];
  for (const one of sent) {
    try {
      const { rows } = await database.pool.query(`SELECT ($1::${type})::text AS text`, [one]);
      kept.push({ sent: one, text: rows[0].text });
    } catch {
      // For example 1e400 for a type with a smaller range.
    }
  }
  return kept;
}

test('with losses allowed, a value is rounded or has a problem, and the conversion never fails', async () => {
  const lossy = pairs.filter(({ to }) => !['public.percent', 'public.code'].includes(to));
  let losses = 0;
  for (const { from, to, values, isExact } of lossy) {
    const kept = await stored(from, [...new Set(fc.sample(values, { numRuns: 90 }))]);
    const judged = await judge(
      from,
      to,
      kept.map(({ sent }) => sent),
      true,
    );
    const inexact = kept.filter(({ text }) => !isExact(text)).length;
    assert.equal(judged.losses + judged.problems.size, inexact, `${from} to ${to}`);
    losses += judged.losses;
  }
  assert.ok(losses > 100);
});

test('a real keeps its digits as double precision, also inside arrays', async () => {
  const values = ['0.1', '-0', '3.4028235e+38', '1e-45', 'NaN', '-Infinity', '16777216'];
  const { problems, converted, back } = await judge('real', 'double precision', values);
  assert.equal(problems.size, 0);
  assert.deepEqual([...converted.values()], values);
  assert.deepEqual([...back.values()], values.with(-1, '1.6777216e+07'));
  assert.equal((await judge('real[]', 'float8[]', ['{0.1,NULL}'])).converted.get(1), '{0.1,NULL}');
});

test('only numbers and times lose something, and the problem names the value that they would become', async () => {
  const losing: [from: string, to: string, value: string, loss: string, becomes: string][] = [
    ['numeric', 'integer', '1.5', 'fraction', '2'],
    ['double precision', 'bigint', '2.5', 'fraction', '3'],
    ['double precision', 'real', '0.123456789', 'precision', '0.12345679'],
    ['timestamp', 'date', '2024-01-02 03:04:05', 'time of day', '2024-01-02'],
  ];
  for (const [from, to, value, loss, becomes] of losing) {
    const { problems, converted, losses } = await judge(from, to, [value], true);
    assert.deepEqual([problems.size, converted.get(1), losses], [0, becomes, 1], `${from} ${to}`);
    const detail = await detailOf(from, to, value);
    assert.match(
      detail,
      new RegExp(`^as .* it would become ${becomes}, and lose its ${loss}: .*allow=lossy_types$`),
    );
  }
  assert.equal(
    await detailOf('text', 'integer', '007'),
    'as integer it would become 7, which is not the same: correct the value first',
  );
  assert.match(await detailOf('text', 'numeric', '1,5'), /not a number/);
  assert.match(await detailOf('text', 'smallint', '40000'), /out of range/);
});

async function detailOf(from: string, to: string, value: string): Promise<string> {
  return inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(`CREATE TABLE public.t AS SELECT 1 AS id, $1::text::${from} AS v`, [value]);
    const rows = await readNamedRows(client, 'public', 't', true);
    const problems = new Problems();
    await findUnconvertible(client, rows, [await plan(client, 't', to)], false, problems);
    const [problem] = problems.listed();
    assert.deepEqual(problem?.key, { ctid: '(0,1)' });
    assert.equal(problem?.value, value);
    return problem!.detail;
  });
}

test('the plan says if PostgreSQL writes the table anew and if rows are read', async () => {
  const cases: [from: string, to: string, rewrites: boolean, scans: boolean][] = [
    ['varchar(10)', 'varchar(20)', false, false],
    ['varchar(10)', 'varchar', false, false],
    ['varchar(10)', 'text', false, false],
    ['text', 'varchar', false, false],
    ['varchar(20)', 'varchar(10)', true, true],
    ['text', 'varchar(10)', true, true],
    ['char(5)', 'text', true, false],
    ['numeric(5,2)', 'numeric(8,2)', false, false],
    ['numeric(5,2)', 'numeric', false, false],
    ['numeric(5,2)', 'numeric(6,4)', true, true],
    ['numeric(5,2)', 'numeric(9,4)', true, false],
    ['numeric(8,2)', 'numeric(5,2)', true, true],
    ['timestamp(3)', 'timestamp(6)', false, false],
    ['timestamp(3)', 'timestamp', false, false],
    ['timestamptz', 'timestamptz(6)', false, false],
    ['timestamp(6)', 'timestamp(3)', true, true],
    ['time(3)', 'time', false, false],
    ['interval(3)', 'interval', false, false],
    ['interval', 'interval(3)', true, true],
    ['varbit(3)', 'varbit(5)', false, false],
    ['varbit(3)', 'varbit', false, false],
    ['bit(3)', 'varbit', false, false],
    ['bit(3)', 'varbit(5)', true, false],
    ['cidr', 'inet', false, false],
    ['integer', 'bigint', true, false],
    ['integer', 'numeric', true, false],
    ['bigint', 'integer', true, true],
    ['integer', 'public.whole', false, false],
    ['public.whole', 'integer', false, false],
    ['integer', 'public.percent', true, true],
    ['public.percent', 'integer', false, false],
    ['public.percent', 'bigint', true, false],
    ['text', 'numeric', true, true],
    ['jsonb', 'text', true, false],
    ['public.color', 'text', true, false],
    ['integer[]', 'bigint[]', true, false],
    ['integer[]', 'text', true, false],
  ];
  for (const [from, to, rewrites, scans] of cases) {
    const seen = await inTransaction(database.pool, { rollback: true }, async (client) => {
      await client.query(`CREATE TABLE public.t (v ${from})`);
      const file = async () =>
        (await client.query("SELECT pg_relation_filenode('public.t') AS file")).rows[0].file;
      const planned = await plan(client, 't', to);
      const before = await file();
      await convert(client, 't', planned);
      return { planned: planned.rewrites, actual: (await file()) !== before, scans: planned.scans };
    });
    assert.deepEqual(seen, { planned: rewrites, actual: rewrites, scans }, `${from} to ${to}`);
  }
});

test('a column keeps its own collation', async () => {
  await inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query('CREATE TABLE public.t (v varchar(10) COLLATE "C")');
    assert.equal((await plan(client, 't', 'text')).typeSql, 'pg_catalog.text COLLATE pg_catalog."C"');
    assert.equal((await plan(client, 't', 'integer')).typeSql, 'integer');
  });
});

test('a change is refused by name if PostgreSQL has no cast, or the time zone decides', async () => {
  const refused: [from: string, to: string, reason: RegExp][] = [
    [
      'timestamptz',
      'timestamp',
      /^a column of the type timestamp with time zone cannot become .* AT TIME ZONE/,
    ],
    ['timestamp', 'timestamptz', /AT TIME ZONE/],
    ['timestamptz', 'date', /AT TIME ZONE/],
    ['date', 'timestamptz', /AT TIME ZONE/],
    ['timetz', 'time', /AT TIME ZONE/],
    ['timestamp', 'time', /add a column/],
    ['bigint', 'boolean', /add a column/],
    ['integer', 'date', /add a column/],
    ['bit(8)', 'integer', /add a column/],
    ['integer', 'oid', /add a column/],
    ['text', 'regclass', /add a column/],
    ['regclass', 'text', /add a column/],
    ['jsonb', 'integer', /add a column/],
    ['integer', 'integer[]', /add a column/],
    ['integer', 'public.color', /add a column/],
    ['money', 'numeric', /add a column/],
  ];
  for (const [from, to, reason] of refused) {
    await inTransaction(database.pool, { rollback: true }, async (client) => {
      await client.query(`CREATE TABLE public.t (v ${from})`);
      await assert.rejects(plan(client, 't', to), { message: reason }, `${from} to ${to}`);
    });
  }
});

test('a cast of another role is never run', async () => {
  await inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(`CREATE TYPE public.mood AS ENUM ('sad', 'ok');
      CREATE TABLE public.called ();
      CREATE FUNCTION public.evil(text) RETURNS public.mood LANGUAGE plpgsql AS 'BEGIN DROP TABLE public.called; RETURN NULL; END';
      CREATE FUNCTION public.evil(public.mood) RETURNS text LANGUAGE plpgsql AS 'BEGIN DROP TABLE public.called; RETURN NULL; END';
      CREATE TABLE public.t (v text); INSERT INTO public.t VALUES ('sad')`);
    assert.equal((await plan(client, 't', 'public.mood')).rewrites, true);
    await client.query(
      'SAVEPOINT a; CREATE CAST (text AS public.mood) WITH FUNCTION public.evil(text) AS IMPLICIT',
    );
    await assert.rejects(
      plan(client, 't', 'public.mood'),
      /belongs neither to PostgreSQL nor to an extension/,
    );
    await client.query(
      'ROLLBACK TO a; CREATE CAST (public.mood AS text) WITH FUNCTION public.evil(public.mood)',
    );
    await assert.rejects(
      plan(client, 't', 'public.mood'),
      /belongs neither to PostgreSQL nor to an extension/,
    );
    await client.query('ALTER TABLE public.t ALTER COLUMN v TYPE public.mood[] USING NULL');
    await assert.rejects(plan(client, 't', 'text[]'), /belongs neither to PostgreSQL nor to an extension/);
  });
});

test('more problems than an answer lists are counted, and without the right to read them only counted', async () => {
  await inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(`CREATE TABLE public.t (a integer, b text, v text, PRIMARY KEY (b, a));
      INSERT INTO public.t SELECT n, 'x', CASE WHEN n > 50 THEN 'secret' ELSE '0' || n END FROM generate_series(1, 5000) n`);
    const conversion = await plan(client, 't', 'integer');
    const shown = new Problems();
    await findUnconvertible(
      client,
      await readNamedRows(client, 'public', 't', true),
      [conversion],
      true,
      shown,
    );
    assert.deepEqual([shown.count, shown.listed().length], [5000, 100]);
    assert.deepEqual(shown.listed()[0]!.key, { b: 'x', a: '1' });
    const hidden = new Problems();
    await findUnconvertible(
      client,
      await readNamedRows(client, 'public', 't', false),
      [conversion],
      true,
      hidden,
    );
    assert.equal(hidden.count, 5000);
    assert.doesNotMatch(JSON.stringify([hidden.listed(), hidden.groups()]), /secret|0\d|"key"|"value"/);
  });
});

test('a domain that is NOT NULL refuses NULL, also in arrays', async () => {
  await inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(`CREATE DOMAIN public.present AS integer NOT NULL;
      CREATE TABLE public.t (id integer PRIMARY KEY, v text, w integer[]); INSERT INTO public.t VALUES (1, NULL, NULL), (2, '5', '{1,NULL}')`);
    const rows = await readNamedRows(client, 'public', 't', true);
    const problems = new Problems();
    await findUnconvertible(client, rows, [await plan(client, 't', 'public.present')], false, problems);
    assert.deepEqual(
      problems.listed().map(({ key, code }) => [key, code]),
      [[{ id: '1' }, 'null-not-allowed']],
    );
    await client.query('ALTER TABLE public.t DROP COLUMN v; ALTER TABLE public.t RENAME w TO v');
    const ofArray = new Problems();
    await findUnconvertible(client, rows, [await plan(client, 't', 'public.present[]')], false, ofArray);
    assert.deepEqual(
      ofArray.listed().map(({ key }) => key),
      [{ id: '2' }],
    );
  });
});

test('texts are compared byte by byte, whatever the collation of the column is', async () => {
  await inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(`CREATE COLLATION public.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE TABLE public.t (id integer PRIMARY KEY, v text COLLATE public.any_case); INSERT INTO public.t VALUES (1, 'TRUE'), (2, 'true')`);
    const problems = new Problems();
    const rows = await readNamedRows(client, 'public', 't', true);
    await findUnconvertible(client, rows, [await plan(client, 't', 'boolean')], false, problems);
    assert.deepEqual(
      problems.listed().map(({ key }) => key),
      [{ id: '1' }],
    );
  });
});

test('rows that row-level security hides from the role cannot be overlooked', async () => {
  await inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(`CREATE TABLE public.t (v text); ALTER TABLE public.t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
      CREATE POLICY p ON public.t USING (false)`);
    await assert.rejects(readNamedRows(client, 'public', 't', true), { code: 'permission-denied' });
  });
});
