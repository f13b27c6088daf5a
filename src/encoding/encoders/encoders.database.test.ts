/** Compares every encoder with PostgreSQL's own input functions: both store the same value, or both refuse it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import {
  compareWithServer,
  prepareComparison,
  refusedStrings,
  type Sample,
  serverVersion,
  strings,
} from '../../../test/support/compare-with-server.ts';
import { ARRAY, NUMBER, OBJECT, STRING } from '../../core/cells/cell-kind.ts';

let client: pg.Client;
let version: number;

before(async () => {
  const url = process.env.TEST_DATABASE_URL;
  assert.ok(url, 'TEST_DATABASE_URL is not set: run with --test-global-setup=test/support/global-setup.ts');
  client = new pg.Client(url);
  await client.connect();
  await prepareComparison(client);
  version = await serverVersion(client);
});

after(() => client?.end());

/** Compares the samples under each of the types. */
function agree(types: string[], samples: () => Sample[]): void {
  for (const type of types) {
    test(`${type} is stored as PostgreSQL stores it`, async () => {
      const { differences, stored } = await compareWithServer(client, type, samples());
      assert.deepEqual(differences, []);
      assert.ok(stored > 0, 'no value was accepted by both');
    });
  }
}

/** PostgreSQL 15 and 16 overflow without an error when they round these values to seconds. */
function endsOfIntervals(): Sample[] {
  return [
    ...strings(
      ...list('178956970 years 7 months 2147483647 days 2562047788:00:54.775806'),
      ...list('178956970 years 6 months 2147483647 days 2562047788:00:54.775807'),
      ...list('-178956970 years -8 months -2147483648 days -2562047788:00:54.775807'),
      ...list('-2562047788:00:54.775807|-2562047788:00:54.775809'),
    ),
    // If all fields have their largest or smallest values, they mean infinity from PostgreSQL 17 on.
    // test/existing-tables/values-as-postgresql.test.ts tests the refusal.
    ...refusedStrings(
      '178956970 years 7 months 2147483647 days 2562047788:00:54.775807',
      '-178956970 years -8 months -2147483648 days -2562047788:00:54.775808',
    ),
  ];
}

/** The values, separated by bars. */
function list(values: string): string[] {
  return values.split('|');
}

const SEED = 20_260_101;

function generated(count: number, arbitrary: fc.Arbitrary<string>, options: Partial<Sample> = {}): Sample[] {
  return fc
    .sample(arbitrary, { numRuns: count, seed: SEED })
    .map((text) => ({ kind: STRING, text, ...options }));
}

/** Texts of a few characters that occur in the forms of a type. Most are wrong, and some are valid. */
function soup(characters: string, maxLength: number): fc.Arbitrary<string> {
  return fc
    .array(fc.constantFrom(...characters), { minLength: 1, maxLength })
    .map((letters) => letters.join(''));
}

const digits = (maxLength: number) => soup('0123456789', maxLength);

agree(['boolean'], () => [
  ...strings(
    ...list('t|T|tr|true|TRUE|truex|f|fals|false|y|ye|yes|yess|n|no|non|o'),
    ...list('on|ON|onn|of|off|offf|1|0|11|| | true |\tf\n|2|-1|1.0|ja|ｔ'),
  ),
  ...generated(400, soup('tTrueYyesNnoOfF10 ', 5)),
  ...list('1|0|2|1.0').map((text) => ({ kind: NUMBER, text })),
]);

const integerTexts = [
  ...list('0|-0|+0|00|7|-7|+7| 42 |\t42\n|42 1|| |-|+|--1|+-1|1.0|1e3'),
  ...list('32767|32768|-32768|-32769|2147483647|2147483648|-2147483648|-2147483649|999999999'),
  ...list('1000000000|9007199254740991|9007199254740993|-9007199254740993|999999999999999999'),
  ...list('9223372036854775807|9223372036854775808|-9223372036854775808|-9223372036854775809'),
  ...[
    '9999999999999999999',
    '99999999999999999999999999',
    `${'0'.repeat(60)}12`,
    ...list('1_000|1__0|_1|1_|0_1'),
  ],
  ...list('0x1F|0X1f|-0xff|0x|0xg|0x_1|0x1_|0x1__2|0o17|0o18|0b101|0b|0b2|0x7fffffff'),
  ...list('0x80000000|-0x80000000|0x7fffffffffffffff|0x8000000000000000|-0x8000000000000000'),
  ...list('0xffffffffffffffff'),
  ...list('4294967295|4294967296|281474976710655|281474976710656|4294967296000000000'),
  ...list('1000000000000000000'),
  ...['١٢', '1,000', "1'000", ...list('1 000|0x1p3|1a|NaN')],
];

agree(['smallint', 'integer', 'bigint'], () => [
  ...strings(...integerTexts),
  ...generated(500, soup('0123456789-+_ xob', 6)),
  ...generated(500, fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String)),
  ...generated(300, fc.bigInt({ min: -(2n ** 33n), max: 2n ** 33n }).map(String)),
  ...generated(200, fc.integer({ min: -40_000, max: 40_000 }).map(String)),
]);

agree(['oid'], () => [
  ...strings(...list('0|1| 26 |4294967295|4294967296|x||1.5|99999999999')),
  ...refusedStrings(...list('-1|010|+5|1_0|0x10')),
  ...generated(300, fc.bigInt({ min: 0n, max: 2n ** 33n }).map(String)),
]);

/** Decimals in the middle of two numbers with so many bits, and near it. */
const besideMiddle = (bits: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.bigInt({ min: 2n ** BigInt(bits - 1), max: 2n ** BigInt(bits) - 1n }),
      fc.integer({ min: 1, max: 12 }),
      fc.constantFrom('', '1', '0000001'),
      fc.boolean(),
    )
    .map(([lower, places, further, isBelow]) => {
      const middle = ((2n * lower + 1n) * 5n ** BigInt(places)).toString().padStart(places + 1, '0');
      const text = `${middle.slice(0, -places)}.${middle.slice(-places)}`;
      return isBelow ? `${text.slice(0, -1)}4999` : text + further;
    });

const floatTexts = [
  ...list('0|-0|+0|.5|5.|-.5e1|.|-|+|e5|1e|1e+|1e-|1e5|1E+05|1e-5| 1.5 |1.5x'),
  ...list('NaN|nan|NAN|Infinity|inf|-inf|+Infinity|-INFINITY|infi|in f|| |1 5'),
  ...list('1e400|-1e400|1e-400|1e308|1.7976931348623157e308|1.7976931348623159e308|4.9e-324|2.5e-324'),
  ...list('2.4e-324|2.2250738585072011e-308|3.4028234663852886e38|3.4028235677973366e38'),
  ...list('3.4028235677973365e38'),
  ...list('3.4028235677973367e38|3.5e38|-3.5e38|1.4e-45|7.1e-46|7.0e-46|7.00649232162408535461e-46'),
  ...list('7.00649232162408535462e-46|0e999999|0e-999999|0.0e400|1e22|1e23|8.5e22|123456789012345678'),
  ...list('0.1|0.2|0.3|1.1000000000000001|9007199254740993|9007199254740992.5|1e999999999999|1__0'),
  ...list('1_0'),
  // Near, at and beyond a midpoint of two float4.
  ...list('1.00000005960464477539062|1.000000059604644775390625'),
  ...list('1.00000005960464477539062500000000000000000001'),
  ...list('16777217|16777217.0000000000001|16777216.9999999999999|16777219|-16777217'),
  ...list('-16777217.000000000001'),
  `1.000000059604644775390625${'0'.repeat(300)}1`,
  `0.${'0'.repeat(400)}1e400`,
  `${'1'.repeat(400)}e-400`,
  `${'9'.repeat(800)}`,
];

agree(['real', 'double precision'], () => [
  ...strings(...floatTexts),
  ...refusedStrings(...list('0x1p3|0x10|nan(1)|+nan|-nan')),
  ...generated(400, soup('0123456789.-+eE ', 7)),
  ...generated(400, fc.double().map(String)),
  ...generated(400, fc.float().map(String)),
  ...generated(1000, besideMiddle(53)),
  ...generated(1000, besideMiddle(24)),
  ...generated(
    1000,
    fc.tuple(digits(15), digits(15)).map(([a, b]) => `${a}.${b}`),
  ),
  ...generated(
    400,
    fc.tuple(digits(20), digits(20), fc.integer({ min: -60, max: 60 })).map(([a, b, e]) => `${a}.${b}e${e}`),
  ),
  ...fc
    .sample(fc.double({ noNaN: true, noDefaultInfinity: true }).map(String), { numRuns: 200, seed: 3 })
    .map((text) => ({ kind: NUMBER, text })),
]);

const decimalText = fc
  .tuple(fc.constantFrom('', '-', '+'), digits(14), fc.constantFrom('', '.'), digits(12))
  .map(([sign, whole, point, fraction]) => `${sign}${whole}${point}${point && fraction}`);

const numericTexts = [
  ...list('0|-0|0.0|0.00000|-0.000|.5|5.|.|-|+|+5|-.5|007|0007.700|10000|9999|99999'),
  ...list('0.0001|0.00001|0.000000001|10000.0001|100000000|1e5|1E+5|1.5e3|1.5e-3|12345e-10|1e-1'),
  ...list('1e|e1|1e+|1e1.5|1 e5|1e 5|0e5|0e-5|0.00e2|1.2.3|| | 1.5 |1.5x|abc'),
  ...list('NaN|nan|-NaN|+NaN|inf|-inf|+inf|Infinity|-Infinity|INFINITY| NaN |infinit'),
  ...list('1_000.5|1_000.000_5|1__0|1_.5|1._5|1e1_0|1e_1|_1|1_|0x1F|-0xff|0o17|0b11|0x|0xg|0x_f'),
  ...list('0xffffffffffffffffffffffffffff|12345678901234567890.12|99999999.994|99999999.995'),
  ...list('99999999.9949999'),
  ...list('99999999.99|100000000|-99999999.995|0.005|0.0049|0.995|9.995|999.5|994.9|995|949|950'),
  ...list('0.000995|0.000994|0.00099499|0.00999|0.000999499|0.0009995|9995|99949|99950|9994999|1e7'),
  ...list('1e131071|1e131072|9e131071|1e1073741823|1e99999999999'),
  ...list('0e2000000'),
  `${'9'.repeat(500)}.${'9'.repeat(500)}`,
  `${'1'.repeat(131_072)}`,
  `${'1'.repeat(131_073)}`,
  `${'0'.repeat(200_000)}1`,
  `1${'0'.repeat(20)}.${'0'.repeat(20)}`,
  `1${'0'.repeat(20)}e-20`,
];

agree(['numeric', 'numeric(10,2)', 'numeric(5)', 'numeric(3,6)', 'numeric(3,-2)', 'numeric(2,2)'], () => [
  ...strings(...numericTexts),
  // If numeric itself cannot store a value, the value is refused even if rounding to the scale would remove the excess, and the reverse.
  // way round.
  ...generated(400, decimalText),
  ...generated(
    400,
    fc.tuple(decimalText, fc.integer({ min: -30, max: 30 })).map(([text, e]) => `${text}e${e}`),
  ),
  ...generated(400, soup('0123456789.-+eE_ ', 7)),
  ...generated(300, soup('9999995.', 10)),
  ...generated(
    200,
    fc.tuple(soup('000009', 8), soup('00009', 24)).map(([a, b]) => `${a}.${b}`),
  ),
  ...fc
    .sample(decimalText, { numRuns: 200, seed: 4 })
    .filter((text) => /^-?\d/.test(text))
    .map((text) => ({ kind: NUMBER, text })),
]);

// With a scale, COPY and the encoder round these digits away before the limits are checked. A literal does not.
agree(['numeric'], () =>
  strings(
    ...list('1e-16383|1e-16384|0e-16384'),
    `0.${'0'.repeat(16_382)}1`,
    `0.${'0'.repeat(16_383)}1`,
    `1.${'0'.repeat(16_384)}`,
  ),
);

const someText = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  soup('aé€😀 ', 8),
);
const noNul = (arbitrary: fc.Arbitrary<string>) => arbitrary.map((text) => text.replaceAll('\0', ''));

agree(['text', 'character varying', 'character varying(5)', 'character(5)', 'character'], () => [
  ...strings(
    ...list('| |abc|abcde|abcdef|abcde |abcde   |abcde x|ééééé|éééééé|€€€€€ |😀😀😀😀😀|     |      '),
  ),
  ...strings(
    'a  ',
    'x'.repeat(95),
    'x'.repeat(96),
    'x'.repeat(97),
    'é'.repeat(5_000),
    ' '.repeat(500),
    `a${' '.repeat(500)}`,
  ),
  ...generated(500, noNul(someText)),
  ...generated(100, noNul(fc.string({ minLength: 50, maxLength: 300 }))),
  ...list('12.50|1e5|-0|123456').map((text) => ({ kind: NUMBER, text })),
  { kind: OBJECT, text: '{"a": 1}' },
  { kind: ARRAY, text: '[1]' },
]);

agree(['"char"'], () => [
  ...strings(...list('|a|~| |\\')),
  // The server keeps only the first byte of a longer text.
  ...refusedStrings(...list('ab|abc|é|\\4|\\400|\\12|\\1234|\\18a|12|  ')),
  { kind: NUMBER, text: '7' },
]);

test('"char" accepts every byte in the form in which PostgreSQL shows it', async () => {
  if (version < 16) return;
  const { differences, stored } = await compareWithServer(
    client,
    '"char"',
    strings(...list('\\000|\\101|\\200|\\303|\\377')),
  );
  assert.deepEqual([differences, stored], [[], 5]);
});

agree(['name'], () => [
  ...strings(...list('|abc| a '), 'x'.repeat(63), 'é'.repeat(31)),
  ...refusedStrings('x'.repeat(64), 'é'.repeat(32)),
  ...generated(100, noNul(someText)),
]);

const two = (min: number, max: number) =>
  fc.integer({ min, max }).map((value) => String(value).padStart(2, '0'));
const year = fc.oneof(
  { arbitrary: fc.integer({ min: 1900, max: 2100 }).map(String), weight: 3 },
  { arbitrary: fc.integer({ min: 0, max: 9999 }).map((value) => String(value).padStart(4, '0')), weight: 2 },
  {
    arbitrary: fc.integer({ min: 1, max: 6_000_000 }).map((value) => String(value).padStart(4, '0')),
    weight: 1,
  },
);
const dateText = fc.tuple(year, two(0, 13), two(0, 32)).map((parts) => parts.join('-'));
const fraction = fc.oneof(
  fc.constant(''),
  digits(6).map((text) => `.${text}`),
  digits(12).map((text) => `.${text}`),
);
const clock = fc
  .tuple(two(0, 25), two(0, 60), fc.option(two(0, 61), { nil: undefined }), fraction)
  .map(([hour, minute, second, part]) =>
    second === undefined ? `${hour}:${minute}` : `${hour}:${minute}:${second}${part}`,
  );
const zone = fc.oneof(
  fc.constantFrom('', 'Z', 'z', ' Z', ' UTC', '+00', '-00:00', ' +02'),
  fc
    .tuple(fc.constantFrom('+', '-'), two(0, 16), fc.constantFrom('', ':'), two(0, 60))
    .map((parts) => parts.join('')),
  fc
    .tuple(fc.constantFrom('+', '-'), two(0, 15), two(0, 59), two(0, 60))
    .map(([sign, ...parts]) => sign + parts.join(':')),
  fc.tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 17 })).map((parts) => parts.join('')),
);
const era = fc.oneof(
  { arbitrary: fc.constant(''), weight: 4 },
  { arbitrary: fc.constantFrom(' BC', ' bc', ' AD'), weight: 1 },
);
const dateTime = fc
  .tuple(dateText, fc.constantFrom('T', ' ', '  ', 't'), clock, zone, era)
  .map((parts) => parts.join(''));

const dateTexts = [
  ...list('2024-02-29|2023-02-29|2000-02-29|1900-02-29|2024-1-2|2024-01-2|0001-01-01|0000-01-01'),
  ...list('0001-01-01 BC'),
  ...list('0001-12-31 BC|0044-03-15 BC|0045-02-29 BC|4713-01-01 BC|4714-11-24 BC|4714-11-23 BC'),
  ...list('4715-01-01 BC'),
  ...list('294276-12-31|294277-01-01|5874897-12-31|5874898-01-01|99999-12-31|10000-01-01|20240102'),
  ...list('20241301'),
  ...list('2024-04-31|2024-13-01|2024-00-01|2024-01-00|2024-01-32| 2024-01-02 |2024-01-02 ad'),
  ...list(''),
  ...list('infinity|-infinity|Infinity|-INFINITY|epoch|EPOCH|| |x|2024|2024-01|2024-01-'),
  ...list('2024-01-02T|2024-01-02 x|2024-01-02T03|2024-01-02T03:04'),
  ...list('2024-01-02t03:04:05|2024-01-02 3:4:5'),
  ...list('2024-01-02T03:04:05.|2024-01-02T03:04:05.123456|2024-01-02T03:04:05.1234565'),
  ...list('2024-01-02T03:04:05.1234575'),
  ...list('2024-01-02T03:04:05.9999999|2024-12-31T23:59:59.9999999|2024-01-02 24:00:00'),
  ...list('2024-01-02 24:00:00.1|2024-01-02 23:59:60'),
  ...list('2024-01-02 23:59:60.5|2024-01-02 10:30:60|2024-01-02 10:60|2024-01-02 25:00'),
  ...list('2024-12-31 24:00:00|2024-01-02 00:00:61'),
  ...list('2024-01-02T03:04:05Z|2024-01-02T03:04:05 Z|2024-01-02T03:04:05+02'),
  ...list('2024-01-02T03:04:05+02:00|2024-01-02T03:04:05+0200'),
  ...list('2024-01-02T03:04:05-03:30:15|2024-01-02T03:04:05+2|2024-01-02T03:04:05+15:59:59'),
  ...list('2024-01-02T03:04:05+16|2024-01-02T03:04:05+02:60'),
  ...list('2024-01-02 03:04:05 UTC|2024-01-02 03:04:05 GMT|2024-01-02 03:04:05utc|2024-01-02T03:04Z'),
  ...list('2024-01-02 03:04+02|2024-01-02 03:04:05 +02:00'),
  ...list('20240102T030405|20240102T0304|20240102T030405Z|20240102T030405.5+0100|2024-01-02 030405'),
  ...list('2024-01-02T0304'),
  ...list('2024-01-02 03:04:05 PM|2024-01-02 12:00 AM|2024-01-02 12:00 pm|2024-01-02 13:00 PM'),
  ...list('2024-01-02 00:30 PM|2024-01-02 03:04PM'),
  ...list('0044-03-15 10:00:00 BC|0044-03-15 10:00:00+01 BC|0044-03-15 10:00:00Z BC'),
  ...list('2024-01-02 10:00:00 AD|4714-11-24 00:00:00 BC'),
  ...list('4714-11-24 00:00:00+01 BC|4714-11-23 23:00:00-01 BC|294276-12-31 23:59:59.999999'),
  ...list('294276-12-31 23:59:59.9999999'),
  ...list('294276-12-31 23:59:59-01|294277-01-01 00:00:00+01|1970-01-01|1999-12-31 23:59:59.999999'),
  ...list('2000-01-01 00:00:00|1999-12-31T24:00'),
];

/** Forms beyond ISO 8601 that PostgreSQL reads, or whose meaning depends on its settings. */
const otherDateTexts = [
  ...list('2024-01-02BC|2024-01-02-|2024-01-02T03:'),
  ...list('January 8, 1999|1/8/1999|08-Jan-1999|1999.008|J2451187|990108|now|today|tomorrow'),
  ...list('yesterday|allballs'),
  ...list('2024-01-02 03:04:05 Europe/Berlin|2024-01-02 03:04:05 PST|2024-01-02 03|2024/01/02'),
  ...list('2024-01-02Z|2024-01-02+02|20240102 03'),
  ...list('99-01-08|1-1-1|12-11-10|2024-01-02,03:04|Tue 2024-01-02|2024-W01-2'),
  ...list('2024-01-02 03:04:05+021530|2024-01-02T03|BC 0044-03-15'),
];

agree(['date', 'timestamp', 'timestamptz', 'timestamp(0)', 'timestamptz(3)'], () => [
  ...strings(...dateTexts),
  ...refusedStrings(...otherDateTexts),
  ...generated(300, dateText),
  ...generated(
    100,
    fc.tuple(dateText, era).map((parts) => parts.join('')),
  ),
  ...generated(600, dateTime),
  ...generated(300, soup('0123456789-:T. Z+', 12), { mayRefuse: true }),
]);

agree(['time', 'timetz', 'time(0)', 'timetz(2)'], () => [
  ...strings(
    ...list('04:05:06.789|04:05:06|04:05|040506|04:05 AM|04:05 PM|12:00 AM|12:59:59 pm|04:05:06+02'),
    ...list('04:05:06-08:00'),
  ),
  ...strings(
    ...list('04:05:06 Z|24:00:00|24:00:01|23:59:60|23:59:59.9999999|00:00|0:0|1:2:3||x|:'),
    ...list('04:60'),
  ),
  ...strings(
    ...list('2024-01-02|2024-01-02 03:04:05|2024-01-02T03:04:05+02:00|13:00 PM'),
    ...list('04:05:06+15:59|04:05:06+16|25:00'),
  ),
  ...refusedStrings(
    ...list('04:05:06 PST|0405|allballs|now|T040506|t04:05|2003-04-12 04:05:06 America/New_York'),
    ...list('infinity|epoch|04:|04:05:|04:05:06 BC'),
  ),
  ...generated(
    500,
    fc.tuple(clock, zone).map((parts) => parts.join('')),
  ),
  ...generated(100, dateTime),
  ...generated(300, soup('0123456789:. Z+-', 10), { mayRefuse: true }),
]);

const unit = fc.constantFrom(
  ...list('us|microseconds|ms|millisecond|s|sec|seconds|m|min|minutes|h|hr|hours|d|day|days'),
  ...list('w|weeks|mon|mons|months|y|yr|years|decade|c|centuries|mil|millennium|Days|MONTHS'),
);
const amount = fc.oneof(
  fc.integer({ min: -500, max: 500 }).map(String),
  fc.tuple(fc.integer({ min: -50, max: 50 }), digits(4)).map(([whole, part]) => `${whole}.${part}`),
);
const verbose = fc
  .tuple(
    fc.array(fc.tuple(amount, fc.constantFrom(' ', ''), unit), { minLength: 1, maxLength: 4 }),
    fc.constantFrom('', '', ' ago'),
  )
  .map(([fields, ago]) => fields.map((parts) => parts.join('')).join(' ') + ago);
const isoPart = (letters: string) =>
  fc
    .subarray([...letters])
    .chain((chosen) => fc.tuple(...chosen.map((letter) => amount.map((text) => text + letter))));
const isoInterval = fc
  .tuple(isoPart('YMWD'), isoPart('HMS'))
  .map(([date, time]) => `P${date.join('')}${time.length > 0 ? 'T' : ''}${time.join('')}`);

agree(['interval', 'interval(0)'], () => [
  ...strings(
    ...list('1 day 02:03:04|1 year 2 mons 3 days 04:05:06.789|-1 year -2 mons +3 days -04:05:06'),
    ...list('@ 1 day|@ 1 day ago|1 2:03:04'),
  ),
  ...strings(
    ...list('1-2|-1-2|1-2 3 4:05:06|1-12|5|5.5|-5|1.5 days|1.5 months|1.5 years|0.1 year|1.25 weeks'),
    ...list('0.5 h'),
  ),
  ...strings(
    ...list('02:03|2:3|-02:03:04|100:00:00|02:60|02:03:60|02:03:61|1 day 1 day|1 h 02:03|1 mon 1 week|'),
    ...list(' |x|day'),
  ),
  ...strings(...list('P+3M|P1DT2H|P1Y2M3W4DT5H6M7.8S|P|P1H|PT1D|P-1D|P1.5D|PT0.000001S|PT1.5M|P0D|-P1D|p1d')),
  ...strings(
    ...list('178000000 years|178956970 years 7 months|178956970 years 8 months'),
    ...list('-178956970 years -8 months|2147483647 days|2147483648 days'),
  ),
  ...(version < 17 ? [] : endsOfIntervals()),
  ...strings(
    ...list('2562047788:00:54.775807|2562047788:00:54.775808|100000000 hours|9223372036854 s'),
    ...list('9223372036855 s|1 sec 1 ms|1.5 sec 1 ms'),
  ),
  ...strings(
    ...list(
      '1 fortnight|1 days ago 2|1 ago|1 day ago|ago|1day2hours|1 day+2:00|0.0000005 s|0.0000015 s|1.0000005 s',
    ),
    ...list('00:00:00.0000005|00:00:01.9999999'),
  ),
  ...strings(
    ...list('P1Y2M10DT2H30M|00:00|1 month 1 mon|1 century 1 decade 1 year|1 s 1 us|2 weeks 3 days'),
    ...list('1e2 days|1 day-2:00|1 day 2|3 4'),
  ),
  ...strings(
    ...list('infinity|-infinity|+infinity|Infinity| infinity |infinityx|infinity ago|1 day infinity'),
    ...list('PT|PT.5S|PT-.5S|P.5D|P-.25Y|PT.S|PT-.S|P1D | P1D|\tPT1H|P1DT'),
  ),
  ...refusedStrings(
    ...list(
      '- infinity|P1|PT1|P0001-02-03T04:05:06|P20240102T030405|1.5:00|00:01.5|1 day -|@1 day|.5 day|5. day|1.0:00|00:01.0|1.0-2',
    ),
    ...list('1 timezone|epoch'),
  ),
  ...generated(500, verbose),
  ...generated(400, isoInterval),
  ...generated(
    300,
    fc
      .tuple(fc.constantFrom('', '-', '+'), fc.integer({ min: 0, max: 400 }), clock)
      .map(([sign, days, text]) => `${sign}${days} days ${text}`),
  ),
  ...generated(300, soup('0123456789:. -+PTDMYdaysgo@', 10), { mayRefuse: true }),
]);

agree(['uuid'], () => [
  ...strings(
    ...list('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'),
    ...list('{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'),
  ),
  ...strings(
    ...list('a0eebc999c0b4ef8bb6d6bb9bd380a11|a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11'),
    ...list('{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}'),
  ),
  ...strings(
    ...list(' a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1'),
    ...list('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a111|a0e-ebc999c0b4ef8bb6d6bb9bd380a11'),
  ),
  ...strings(
    ...list('{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'),
    ...list('a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a1|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-'),
  ),
  ...strings(
    ...list('|x|g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|-a0eebc999c0b4ef8bb6d6bb9bd380a11|{}'),
    ...list('{a0eebc999c0b4ef8bb6d6bb9bd380a1}'),
  ),
  ...generated(300, fc.uuid()),
  ...generated(
    200,
    fc
      .tuple(fc.uuid(), fc.nat(36), fc.constantFrom('', '-', 'x', '{', ' '))
      .map(([id, at, letter]) => id.slice(0, at) + letter + id.slice(at + 1)),
  ),
]);

agree(['bytea'], () => [
  ...strings(
    ...list('|\\x|\\xdeadBEEF|\\xde ad be ef|\\xd eadbeef|\\xdea|\\xzz|\\X00|abc|a\\\\b|\\000\\377'),
    ...list('\\400|\\38|\\|é|\\x0|\\x 00\n11\t22\r33 |\\x\u000b00|\\1'),
  ),
  ...generated(
    300,
    soup('0123456789abcdefAF \n', 12).map((text) => `\\x${text}`),
  ),
  ...generated(300, soup('01234567\\ab', 10)),
]);

agree(['inet', 'cidr'], () => [
  ...strings(
    ...list('192.0.2.1|192.0.2.0/24|192.0.2.1/24|0.0.0.0/0|255.255.255.255/32|1.2.3.4/33|1.2.3.4/'),
    ...list('1.2.3.4/-1|1.2.3.256|1.2.3.4.5||x|1.2.3.4/24/8'),
  ),
  ...strings(
    ...list('::|::1|1::|2001:db8::/32|2001:db8::1/64|1:2:3:4:5:6:7:8|1:2:3:4:5:6:7::|::2:3:4:5:6:7:8'),
    ...list('1::2::3|1:2:3:4:5:6:7|1:2:3:4:5:6:7:8:9|:1|1:|:::'),
  ),
  ...strings(
    ...list('::ffff:192.0.2.1|::192.0.2.1/128|1:2:3:4:5:6:1.2.3.4|1:2:3:4:5:6:7:1.2.3.4|FFFF::'),
    ...list('12345::|::g|::/0|::1/129|::/|2001:db8::/032'),
  ),
  ...refusedStrings(
    '1.2.3.4/032',
    '::1.2.3',
    ...list('10|10.1|192.168.1|10/8|10.1/16|192.168/24|172.16|224|224.1|240|10.|0x0a|1.2.3.4/8 '),
    ...list(' 1.2.3.4|01.2.3.4|1.2.3.04|127.1/8|128|192'),
  ),
  ...generated(
    300,
    fc
      .ipV4()
      .chain((ip) => fc.integer({ min: -1, max: 33 }).map((bits) => (bits < 0 ? ip : `${ip}/${bits}`))),
  ),
  ...generated(
    300,
    fc
      .ipV6()
      .chain((ip) => fc.integer({ min: -1, max: 129 }).map((bits) => (bits < 0 ? ip : `${ip}/${bits}`))),
  ),
  ...generated(400, soup('01289abf:./', 9), { mayRefuse: true }),
]);

agree(['cidr'], () => [
  ...strings(
    ...list('10|10.1|192.168.1|10/8|10.1/16|192.168/24|172.16|128|192|224|224.1|240|192.168.0.0/16'),
    ...list('192.168/16|10.1.2/8'),
  ),
]);

agree(['macaddr'], () => [
  ...strings(
    ...list('08:00:2b:01:02:03|08-00-2B-01-02-03|08002b:010203|08002b-010203|0800.2b01.0203'),
    ...list('0800-2b01-0203|08002b010203||x|08:00:2b:01:02|08:00:2b:01:02:0g'),
  ),
  ...refusedStrings(...list('8:0:2b:1:2:3| 08:00:2b:01:02:03 |08:00-2b:01:02:03')),
  ...generated(200, soup('0123456789abcdef:-.', 17), { mayRefuse: true }),
]);

test('enums, domains and their arrays are stored as PostgreSQL stores them', async () => {
  await client.query(`CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy', '', 'été', '1', 'Ok', ' ok');
    CREATE DOMAIN pg_temp.short AS varchar(3); CREATE DOMAIN pg_temp.shorter AS pg_temp.short CHECK (true);
    CREATE DOMAIN pg_temp.point AS int[]`);
  const labels = strings(...list('sad|ok|happy||été|1|Ok| ok|OK|ok |nope|sadx|sa'));
  const moods = await compareWithServer(client, 'pg_temp.mood', [...labels, { kind: NUMBER, text: '1' }]);
  const short = await compareWithServer(client, 'pg_temp.shorter', strings(...list('a|abc|abcd|abc |ééé')));
  const points = await compareWithServer(client, 'pg_temp.point', [
    { kind: ARRAY, text: '[1,2]', reference: '{1,2}' },
  ]);
  const many = await compareWithServer(
    client,
    'pg_temp.mood[]',
    strings(...list('{sad,ok}|{nope}|{" ok",Ok,""}')),
  );
  const shorts = await compareWithServer(
    client,
    'pg_temp.shorter[]',
    strings(...list('{a,abc}|{abcd}|{NULL}')),
  );
  const all = [moods, short, points, many, shorts];
  assert.deepEqual(
    all.flatMap(({ differences }) => differences),
    [],
  );
  assert.deepEqual(
    all.map(({ stored }) => stored),
    [9, 4, 1, 2, 2],
  );
});

const jsonTexts = fc.sample(fc.json({ maxDepth: 4 }), { numRuns: 300, seed: SEED });
const nestedTexts = [
  ...list('{}|[]|{"a":1}| {"a" : [1, 2.50, -0, 1e5] } |[null,true,false]'),
  ...list('["\\u00e9\\ud83d\\ude00\\n"]|[1e131071]|[0e5]'),
  ...list('[1e131072]|[1e-16383]|[1e-16384]|["\\u0000"]|{"\\u0000":1}|["\\\\u0000"]'),
  ...list('["a\\\\", "\\u0001"]|["1e999999"]|[-1e200000, 1]|{"a":1,"a":2}'),
];

agree(['json', 'jsonb'], () => [
  ...[...nestedTexts, ...jsonTexts.filter((text) => /^[[{]/.test(text))].map((text) => ({
    kind: OBJECT,
    text,
  })),
  ...list('0|-0|1.50|1e5|12345678901234567890.123|1E400|1e131072|-1e-20000').map((text) => ({
    kind: NUMBER,
    text,
  })),
]);

test('a string becomes a JSON string', async () => {
  const texts = [
    ...list('|{}|null|1|a"b\\c/|\b\f\n\r\t\u0001\u001f\u007f|é😀'),
    'x'.repeat(3_000),
    '"\n'.repeat(2_000),
  ];
  const samples = [...texts, ...fc.sample(noNul(someText), { numRuns: 300, seed: SEED })].map((text) => ({
    kind: STRING,
    text,
    reference: JSON.stringify(text),
  }));
  const { differences } = await compareWithServer(client, 'jsonb', samples);
  assert.deepEqual(differences, []);
});

type Nested = unknown[] | string | number | boolean | null;

/** Returns the value in the text form of PostgreSQL's arrays. */
function literal(value: Nested): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return `{${value.map((inner) => literal(inner as Nested)).join(',')}}`;
  return `"${String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

const arraysOf = (element: fc.Arbitrary<Nested>): fc.Arbitrary<Nested> =>
  fc.oneof(
    fc.array(element, { maxLength: 6 }),
    fc.array(fc.array(element, { maxLength: 3 }), { maxLength: 3 }),
    fc.array(fc.array(element, { minLength: 2, maxLength: 2 }), { maxLength: 3 }),
    fc.array(fc.array(fc.array(element, { minLength: 1, maxLength: 1 }), { minLength: 2, maxLength: 2 }), {
      maxLength: 3,
    }),
  );

function arraySamples(element: fc.Arbitrary<Nested>): Sample[] {
  return fc.sample(arraysOf(element), { numRuns: 250, seed: SEED }).flatMap((value, index) => [
    { kind: ARRAY, text: JSON.stringify(value, null, index % 3), reference: literal(value) },
    { kind: STRING, text: literal(value) },
  ]);
}

const arrayLiterals = [
  ...list('{}|{1}|{1,2}| { 1 , 2 } |{NULL,1}|{null}|{"NULL"}|{{1,2},{3,4}}|{{1,2},{3}}|{{1},2}'),
  ...list('{1,{2}}|{{}}|{{},{}}'),
  ...list('{|}|{1|{1,|{1,}|{,1}|{,}|{1}}|{1} x|{1}{2}|1||{1 2}|{"1"}|{"1" }|{ "1" }|{\\1}|{"\\1"}'),
  ...list('{1\\ }|{"a"b}'),
  ...list('{{{{{{1}}}}}}|{{{{{{{1}}}}}}}|{"1}|{"|{\\|{""}|{  }|{{1},{}}|{{},{1}}|{nullx}|{"a,b"}'),
  ...list('{{1},NULL}|{NULL,{1}}|{a"b}|{{1} {2}}'),
];

agree(['integer[]', 'text[]', 'varchar(3)[]'], () => [
  ...strings(...arrayLiterals),
  ...strings(
    ...list('[1:2]={1,2}|[0:0]={5}|[2]={1,2}|[-3:-2][0:1]={{1,2},{1,2}}| [0:1] = { 1 , 2 } |[0:1]={1,2}x'),
    ...list('[1:3]={1,2}|[1:2]={{1},{2}}|[0:1][0:0]={1,2}|[2:1]={}|[0:-1]={}|[1:1]={}|[0:1]|[0:1]=|[]={}'),
    ...list('[0:1]{1,2}|[a:b]={1,2}|[1:2={1,2}|[+1:+2]={1,2}|[-2147483648:-2147483647]={1,2}'),
    ...list('[2147483646:2147483646]={1}|[2147483647:2147483647]={1}'),
    ...list('[1:1][1:1][1:1][1:1][1:1][1:1][1:1]={{{{{{{1}}}}}}}|[1 :2]={1,2}|[:2]={1,2}|[1:]={1}|[0]={}'),
  ),
  ...refusedStrings('[99999999999:99999999999]={1}'),
  ...generated(200, soup('[]0123:-={},', 12), { mayRefuse: true }),
  ...generated(300, soup('{},12 "\\a', 9)),
]);
agree(['integer[]', 'numeric(6,2)[]', 'float8[]'], () =>
  arraySamples(fc.option(fc.integer({ min: -9_999, max: 9_999 }))),
);
agree(['text[]', 'varchar(4)[]'], () => arraySamples(fc.option(noNul(someText))));
agree(['boolean[]'], () => arraySamples(fc.boolean()));
agree(['timestamptz[]'], () => arraySamples(fc.option(dateTime)));
agree(['uuid[]'], () => arraySamples(fc.option(fc.uuid())));
agree(['bytea[]', 'inet[]', 'date[]', 'interval[]'], () => arraySamples(fc.constant(null)));
agree(['jsonb[]'], () =>
  fc
    .sample(fc.array(fc.option(fc.jsonValue({ maxDepth: 2 })), { maxLength: 4 }), {
      numRuns: 200,
      seed: SEED,
    })
    .map((values) => ({
      kind: ARRAY,
      text: JSON.stringify(values),
      reference: `{${values.map((value) => (value === null ? 'NULL' : literal(JSON.stringify(value)))).join(',')}}`,
    })),
);
