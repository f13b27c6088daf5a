import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as cell from '../../core/cells/cell-kind.ts';
import type { ColumnType } from '../columns/load-column.ts';
import * as problems from '../problems/cell-problems.ts';
import { columnEncoder } from './column-encoder.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { encodeCell, encodeMoment } from './encode-cell.ts';

function base(oid: number, typmod = -1): ColumnType {
  return { oid, name: `type ${oid}`, typmod, kind: 'base' };
}

const bool = base(16);
const int2 = base(21);
const int4 = base(23);
const int8 = base(20);
const text = base(25);
const date = base(1082);
const time = base(1083);
const timestamp = base(1114);
const timestamptz = base(1184);
const interval = base(1186);
const uuid = base(2950);
const jsonb = base(3802);
const arrayOf = (element: ColumnType): ColumnType => ({ ...element, oid: 99, kind: 'array', element });
const ints: ColumnType = { oid: 1007, name: 'integer[]', typmod: -1, kind: 'array', element: int4 };

/** Returns the field's payload in hexadecimal, or the number of the problem. */
function encode(type: ColumnType, kind: number, value: string): string | number {
  const out = new CopyBuffer(8);
  const bytes = Buffer.from(value);
  const problem = encodeCell(out, columnEncoder(type)!, kind, bytes, 0, bytes.length);
  return problem === 0 ? payload(out) : problem;
}

function moment(type: ColumnType, kind: number, days: number, microseconds: number): string | number {
  const out = new CopyBuffer(8);
  const problem = encodeMoment(out, columnEncoder(type)!, kind, days, microseconds);
  return problem === 0 ? payload(out) : problem;
}

function payload(out: CopyBuffer): string {
  const field = Buffer.from(out.bytes.subarray(0, out.position));
  out.rewind();
  const length = field.readInt32BE(0);
  assert.equal(field.length, 4 + Math.max(length, 0));
  return length < 0 ? 'NULL' : field.toString('hex', 4);
}

const textOf = (hex: string | number) => (typeof hex === 'number' ? hex : Buffer.from(hex, 'hex').toString());

test('NULL is a length of -1 whatever the type', () => {
  for (const type of [bool, int4, text, jsonb, ints]) assert.equal(encode(type, cell.NULL, ''), 'NULL');
});

test('a whole number is stored in an integer, however it is written', () => {
  const whole: [string, number][] = [
    ['42', 42],
    ['42.0', 42],
    ['4.2e1', 42],
    ['420e-1', 42],
    ['-0.0', 0],
    ['0e99999999999', 0],
    ['1E+3', 1000],
    ['120.50e1', 1205],
    ['-3276800e-2', -32768],
    ['0.0032767e7', 32767],
  ];
  for (const [written, value] of whole) {
    const expected = Buffer.alloc(2);
    expected.writeInt16BE(value);
    assert.equal(encode(int2, cell.NUMBER, written), expected.toString('hex'), written);
  }
  assert.equal(encode(int8, cell.NUMBER, '9223372036854775807.000'), '7fffffffffffffff');
  assert.equal(encode(int8, cell.NUMBER, '-922337203685477580.8e1'), '8000000000000000');
  assert.equal(encode(int8, cell.NUMBER, '1e15'), '00038d7ea4c68000');
});

test('a number with a fraction or outside of the range is refused for an integer', () => {
  for (const written of ['42.5', '1e-1', '0.1', '10.01e1', '1e-99999999999']) {
    for (const type of [int2, int4, int8]) {
      assert.equal(encode(type, cell.NUMBER, written), problems.NOT_A_WHOLE_NUMBER, written);
    }
  }
  assert.equal(encode(int2, cell.NUMBER, '32768'), problems.OUT_OF_RANGE);
  assert.equal(encode(int4, cell.NUMBER, '2147483648'), problems.OUT_OF_RANGE);
  assert.equal(encode(int8, cell.NUMBER, '9223372036854775808'), problems.OUT_OF_RANGE);
  assert.equal(encode(int8, cell.NUMBER, '1e99999999999'), problems.OUT_OF_RANGE);
  assert.equal(encode(int4, cell.STRING, '42.0'), problems.NOT_A_WHOLE_NUMBER);
});

test('booleans are stored in bool, text and json, but not in numbers', () => {
  assert.deepEqual([encode(bool, cell.TRUE, ''), encode(bool, cell.FALSE, '')], ['01', '00']);
  assert.deepEqual([encode(text, cell.TRUE, ''), encode(text, cell.FALSE, '')].map(textOf), [
    'true',
    'false',
  ]);
  assert.equal(textOf(encode(jsonb, cell.TRUE, '')), '\x01true');
  assert.equal(encode(int4, cell.TRUE, ''), problems.NOT_A_WHOLE_NUMBER);
  assert.equal(encode(base(1700), cell.FALSE, ''), problems.NOT_A_NUMBER);
  assert.equal(encode(base(1043, 7), cell.FALSE, ''), problems.TOO_LONG);
});

test('numbers do not become dates, times, uuids or bytes', () => {
  assert.equal(encode(date, cell.NUMBER, '20240102'), problems.NOT_A_DATE);
  assert.equal(encode(time, cell.NUMBER, '040506'), problems.NOT_A_TIME);
  assert.equal(encode(timestamp, cell.NUMBER, '20240102'), problems.NOT_A_TIMESTAMP);
  assert.equal(encode(interval, cell.NUMBER, '5'), problems.NOT_AN_INTERVAL);
  assert.equal(encode(uuid, cell.NUMBER, '1'.repeat(32)), problems.NOT_A_UUID);
  assert.equal(encode(base(17), cell.NUMBER, '1'), problems.NOT_BYTES);
});

test('objects and arrays are stored only in json and text, and arrays also in arrays', () => {
  assert.equal(textOf(encode(text, cell.OBJECT, '{"a": 1}')), '{"a": 1}');
  assert.equal(textOf(encode(jsonb, cell.ARRAY, '[1]')), '\x01[1]');
  assert.equal(encode(int4, cell.OBJECT, '{}'), problems.NESTED_VALUE);
  assert.equal(encode(int4, cell.ARRAY, '[]'), problems.NESTED_VALUE);
  assert.equal(encode(ints, cell.OBJECT, '{}'), problems.NOT_AN_ARRAY);
  assert.equal(encode(ints, cell.ARRAY, '[1,{}]'), problems.NESTED_VALUE);
  assert.equal(encode(ints, cell.NUMBER, '1'), problems.NOT_AN_ARRAY);
  assert.equal(encode(ints, cell.ARRAY, '[[1],[2,3]]'), problems.RAGGED_ARRAY);
  assert.equal(encode(ints, cell.ARRAY, '[[[[[[[1]]]]]]]'), problems.TOO_MANY_DIMENSIONS);
});

test('an array has at most a million elements, whatever its dimensions', () => {
  const ones = (count: number) => `${'1,'.repeat(count - 1)}1`;
  for (const kind of [cell.ARRAY, cell.STRING]) {
    const [open, close] = kind === cell.ARRAY ? ['[', ']'] : ['{', '}'];
    const half = `${open}${ones(500_000)}${close}`;
    assert.equal(typeof encode(ints, kind, `${open}${half},${half}${close}`), 'string');
    assert.equal(encode(ints, kind, `${open}${ones(1_000_001)}${close}`), problems.TOO_MANY_ELEMENTS);
  }
});

test('an array of a type whose encoder takes longer has fewer elements', () => {
  const most: [ColumnType, string, number][] = [
    [interval, '1s', 200_000],
    [date, '2026-01-01', 500_000],
    [timestamptz, '2026-01-01', 500_000],
    [base(650), '10.0.0.0/8', 500_000],
  ];
  for (const [type, value, count] of most) {
    for (const kind of [cell.ARRAY, cell.STRING]) {
      const [open, close] = kind === cell.ARRAY ? ['[', ']'] : ['{', '}'];
      const elements = (count: number) => `${open}${`"${value}",`.repeat(count - 1)}"${value}"${close}`;
      assert.equal(typeof encode(arrayOf(type), kind, elements(count)), 'string');
      assert.equal(encode(arrayOf(type), kind, elements(count + 1)), problems.TOO_MANY_ELEMENTS);
    }
  }
});

test('the strings of an array are unescaped as JSON.parse unescapes them', () => {
  const texts: ColumnType = { oid: 1009, name: 'text[]', typmod: -1, kind: 'array', element: text };
  const escaped = (value: string) =>
    value.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const check = (json: string) => {
    const expected = Buffer.from(JSON.parse(json)[0]);
    // The header has dimensions, flag, element type, size and lower bound. Then comes the only element.
    const header = `00000001${'0'.repeat(8)}00000019${'00000001'.repeat(2)}`;
    const length = expected.length.toString(16).padStart(8, '0');
    assert.equal(encode(texts, cell.ARRAY, json), header + length + expected.toString('hex'));
  };
  check('["\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00€😀"]');
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 8 }), (value) => {
      const storable = value.replaceAll('\0', '');
      check(JSON.stringify([storable]));
      check(`[ "${escaped(storable)}" ]`);
    }),
  );
});

test('U+0000 is found anywhere in a text', () => {
  for (const length of [1, 3, 4, 5, 40, 200, 5_000]) {
    for (const at of [0, length >> 1, length - 1]) {
      const value = `${'x'.repeat(at)}\0${'x'.repeat(length - at - 1)}`;
      const out = new CopyBuffer();
      const bytes = Buffer.from(value);
      const encoder = columnEncoder(text)!;
      // From the second time on, the buffer copies the text by words of four bytes.
      for (let time = 0; time < 3; time++) {
        const problem = encodeCell(out, encoder, cell.STRING, bytes, 0, length);
        assert.equal(problem, problems.NUL_CHARACTER, `${at} of ${length}`);
      }
    }
  }
  assert.equal(encode(jsonb, cell.STRING, 'a\0'), problems.NOT_FOR_JSONB);
  assert.equal(textOf(encode(base(114), cell.STRING, 'a\0')), '"a\\u0000"');
  assert.equal(encode(base(17), cell.STRING, 'a\0'), problems.NUL_CHARACTER);
  assert.equal(encode({ ...ints, element: text }, cell.ARRAY, '["a\\u0000"]'), problems.NUL_CHARACTER);
});

test('texts of every length are copied exactly', () => {
  const source = Buffer.from(
    Array.from({ length: 700 }, (_, index) => String.fromCharCode(33 + (index % 200))).join(''),
  );
  const encoder = columnEncoder(text)!;
  const out = new CopyBuffer(8);
  for (let start = 0; start < 8; start++) {
    for (let end = start; end < 400; end++) {
      out.rewind();
      assert.equal(encodeCell(out, encoder, cell.STRING, source, start, end), 0);
      assert.ok(out.bytes.subarray(4, out.position).equals(source.subarray(start, end)));
    }
  }
});

const noon = 43_200_000_000;

test('a moment is stored in the types that can store it', () => {
  assert.equal(moment(date, cell.DATE, -1, 0), 'ffffffff');
  assert.equal(moment(date, cell.TIMESTAMP, 8_765, noon), '0000223d');
  for (const type of [timestamp, timestamptz]) {
    assert.equal(moment(type, cell.TIMESTAMP, -1, noon), hex64(-noon));
    assert.equal(moment(type, cell.DATE, 1, 0), hex64(86_400_000_000));
    assert.equal(moment(type, cell.TIME, 0, noon), problems.NOT_A_TIMESTAMP);
  }
  assert.equal(moment(time, cell.TIME, 0, noon), hex64(noon));
  assert.equal(moment(time, cell.TIMESTAMP, 9, noon), hex64(noon));
  assert.equal(moment(time, cell.INTERVAL, 0, noon), hex64(noon));
  assert.equal(moment(time, cell.INTERVAL, 1, noon), problems.OUT_OF_RANGE);
  assert.equal(moment(time, cell.DATE, 1, 0), problems.NOT_A_TIME);
  assert.equal(moment(base(1266), cell.TIME, 0, noon), `${hex64(noon)}00000000`);
  assert.equal(moment(interval, cell.INTERVAL, 2, noon), `${hex64(noon)}0000000200000000`);
  assert.equal(moment(interval, cell.DATE, 2, 0), problems.NOT_AN_INTERVAL);
  assert.equal(moment(date, cell.TIME, 0, noon), problems.NOT_A_DATE);
  assert.equal(moment(int4, cell.DATE, 1, 0), problems.MOMENT_NOT_ALLOWED);
});

function hex64(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes.toString('hex');
}

test('a moment is written as ISO 8601 in text and json', () => {
  const asText = (kind: number, days: number, microseconds: number) =>
    textOf(moment(text, kind, days, microseconds));
  assert.equal(asText(cell.DATE, 8_825, 0), '2024-02-29');
  assert.equal(asText(cell.TIMESTAMP, 0, noon + 250_000), '2000-01-01T12:00:00.25');
  assert.equal(asText(cell.TIME, 0, 86_399_999_999), '23:59:59.999999');
  assert.equal(asText(cell.INTERVAL, 1, 7_384_000_000), 'P1DT2H3M4S');
  assert.equal(asText(cell.INTERVAL, 0, 500_000), 'PT0.5S');
  assert.equal(asText(cell.INTERVAL, 0, 0), 'P0D');
  assert.equal(textOf(moment(jsonb, cell.DATE, 0, 0)), '\x01"2000-01-01"');
  assert.equal(moment(base(1043, 9), cell.DATE, 0, 0), problems.TOO_LONG);
});

test('every day from 1900 to 9999 is written as JavaScript writes it', () => {
  const encoder = columnEncoder(text)!;
  const out = new CopyBuffer();
  const epoch = Date.UTC(2000, 0, 1);
  for (let days = -36_524; days <= 2_921_939; days += 13) {
    out.rewind();
    assert.equal(encodeMoment(out, encoder, cell.DATE, days, 0), 0);
    const expected = new Date(epoch + days * 86_400_000).toISOString().slice(0, 10);
    assert.equal(out.bytes.toString('latin1', 4, out.position), expected);
  }
});
