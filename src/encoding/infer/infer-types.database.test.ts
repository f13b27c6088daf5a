/** Asks PostgreSQL itself whether the inferred type stores every value of the column and returns it unchanged. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { ARRAY, NUMBER, STRING, TRUE } from '../../core/cells/cell-kind.ts';
import { type InferredType, TypeInference } from './infer-types.ts';

interface Value {
  kind: number;
  text: string;
}

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const ofKind = (kind: number, texts: fc.Arbitrary<string>): fc.Arbitrary<Value> =>
  texts.map((text) => ({ kind, text }));

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });
const wholes = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n) - 20n, max: -(2n ** 63n) + 20n }).map(String),
  fc.bigInt({ min: 2n ** 63n - 20n, max: 2n ** 63n + 20n }).map(String),
  fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String),
  fc.integer().map(String),
  fc.constant('-0'),
);
const exponents = fc.oneof(
  fc.integer({ min: -30, max: 30 }),
  fc.integer({ min: -16_390, max: -16_370 }),
  fc.integer({ min: 131_060, max: 131_080 }),
  fc.constantFrom(0, -20_000, 400, -330, 2_000_000_000, -2_000_000_000),
);
const numbers = fc.oneof(
  wholes,
  fc
    .tuple(wholes, fc.option(digits(1, 20)), fc.option(exponents))
    .map(([whole, fraction, exponent]) =>
      [whole, fraction === null ? '' : `.${fraction}`, exponent === null ? '' : `e${exponent}`].join(''),
    ),
  fc.constantFrom(
    '0e-20000',
    `2.5${'0'.repeat(16_390)}`,
    '9'.repeat(131_072),
    '9'.repeat(131_073),
    `0.${'3'.repeat(16_384)}`,
  ),
);

const twoDigits = (min: number, max: number) =>
  fc.integer({ min, max }).map((value) => String(value).padStart(2, '0'));
const dates = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.constantFrom(1900, 2000, 2023, 2024)),
    twoDigits(0, 13),
    twoDigits(0, 32),
  )
  .map(([year, month, day]) => `${String(year).padStart(4, '0')}-${month}-${day}`);
const times = fc
  .tuple(twoDigits(0, 24), twoDigits(0, 60), twoDigits(0, 60), fc.option(digits(1, 10)))
  .map(
    ([hour, minute, second, fraction]) =>
      `${hour}:${minute}:${second}${fraction === null ? '' : `.${fraction}`}`,
  );
const offsets = fc.oneof(
  fc.constant('Z'),
  fc
    .tuple(fc.constantFrom('+', '-'), twoDigits(0, 16), twoDigits(0, 60))
    .map(([sign, hour, minute]) => `${sign}${hour}:${minute}`),
);
const timestamps = fc.tuple(dates, fc.constantFrom('T', 'T', 'T', ' '), times).map((parts) => parts.join(''));

/** Most of these columns have at most two kinds of values. With more, the inferred type would nearly always be `text`. */
const columns = fc.oneof(
  ...[
    ofKind(TRUE, fc.constant('true')),
    ofKind(NUMBER, numbers),
    ofKind(NUMBER, wholes),
    ofKind(STRING, dates),
    ofKind(STRING, timestamps),
    ofKind(
      STRING,
      fc.tuple(timestamps, offsets).map((parts) => parts.join('')),
    ),
    ofKind(
      STRING,
      fc.oneof(
        fc.uuid(),
        fc.uuid().map((uuid) => uuid.toUpperCase()),
      ),
    ),
    ofKind(
      STRING,
      fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0')),
    ),
    ofKind(
      ARRAY,
      fc.oneof(
        // V8's JSON.parse reads the key `\"` as `\` after an object with the key `\` and the same keys before it.
        fc
          .jsonValue()
          .map((value) => JSON.stringify([value]))
          .filter((text) => !text.includes('\\\\')),
        numbers.map((text) => `[${text}]`),
      ),
    ),
  ].map((values) => fc.array(values, { minLength: 1, maxLength: 3 })),
);

it('the inferred type stores every value and returns it unchanged', { timeout: 120_000 }, async () => {
  const types = new Map<InferredType, number>();
  await fc.assert(
    fc.asyncProperty(columns, async (values) => {
      const type = inferType(values);
      types.set(type, (types.get(type) ?? 0) + 1);
      const texts = values.map(({ text }) => text);
      const { rows } = await database.pool.query({
        text: `SELECT value::${type}::text FROM unnest($1::text[]) WITH ORDINALITY AS sent (value, row) ORDER BY row`,
        values: [texts],
        rowMode: 'array',
      });
      for (const [row, text] of texts.entries()) assertSame(type, rows[row]![0], text);
    }),
    { numRuns: 1500 },
  );
  for (const type of inferredFromJson) assert.ok((types.get(type) ?? 0) > 3, `${type} was hardly met`);
});

const inferredFromJson: InferredType[] = [
  'boolean',
  'bigint',
  'numeric',
  'date',
  'timestamp without time zone',
  'timestamp with time zone',
  'uuid',
  'jsonb',
  'text',
];

function inferType(values: Value[]): InferredType {
  const inference = new TypeInference({ maxColumns: 1, maxRows: values.length }, () => assert.fail());
  inference.column(0, 'c');
  for (const [row, { kind, text }] of values.entries()) {
    const bytes = Buffer.from(text);
    inference.beginRow(row + 1);
    inference.cell(0, kind, bytes, 0, bytes.length);
    inference.endRow();
  }
  return inference.columns()[0]!.type as InferredType;
}

function assertSame(type: InferredType, got: string, sent: string): void {
  const meaning = meaningOf(type);
  assert.deepEqual(meaning(got), meaning(sent), `${type}: ${sent.slice(0, 100)}`);
}

/** Returns one canonical spelling for a value, from a type's output or from the text that was sent. */
function meaningOf(type: InferredType): (text: string) => unknown {
  switch (type) {
    case 'bigint':
      return BigInt;
    case 'numeric':
    case 'double precision':
      return decimal;
    case 'timestamp without time zone':
      return (text) => microseconds(`${text}Z`);
    case 'timestamp with time zone':
      return microseconds;
    case 'jsonb':
      return parseExactly;
    default:
      return (text) => text;
  }
}

/** Returns JSON with the digits of numbers instead of their values. */
function parseExactly(text: string): unknown {
  // The library's types do not have the third argument yet.
  const keepDigits = (_key: string, value: unknown, context?: { source: string }) =>
    typeof value === 'number' ? { number: decimal(context!.source) } : value;
  return JSON.parse(text, keepDigits);
}

/** Returns the canonical spelling of a number: its digits without outer zeros, and the exponent. */
function decimal(text: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(
    text,
  )!;
  const all = whole! + fraction;
  let first = 0;
  while (first < all.length && all[first] === '0') first++;
  let end = all.length;
  while (end > first && all[end - 1] === '0') end--;
  if (first === end) return '0';
  return `${sign}${all.slice(first, end)}e${Number(exponent) - fraction.length + all.length - end}`;
}

/** Returns the instant in microseconds, from ISO 8601 or from PostgreSQL's output (its time zone may have seconds). */
function microseconds(text: string): bigint {
  const [, sign, year, month, day, hour, minute, second, fraction = '', zone, bc] =
    /^(\+?)(\d+)-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-][\d:]+)( BC)?$/.exec(text)!;
  assert.equal(sign, '');
  const moment = new Date(0);
  moment.setUTCFullYear(bc === undefined ? Number(year) : 1 - Number(year), Number(month) - 1, Number(day));
  moment.setUTCHours(Number(hour), Number(minute), Number(second));
  const [hours, minutes = '0', seconds = '0'] = zone === 'Z' ? ['0'] : zone!.slice(1).split(':');
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  const utc = moment.getTime() / 1000 - (zone!.startsWith('-') ? -offset : offset);
  return BigInt(utc) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}
