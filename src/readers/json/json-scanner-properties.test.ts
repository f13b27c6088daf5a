/** Random documents that are cut at random places: compares the scanner with `JSON.parse`. */

import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Cell, cutsEvery, scanInChunks } from '../../../test/support/collecting-sink.ts';
import { sized } from '../../../test/support/sized.ts';
import { ARRAY, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE } from '../../core/cells/cell-kind.ts';
import { AppError } from '../../core/errors.ts';
import { Utf8Checker } from '../bytes/utf8-checker.ts';

/** A number as its text, so that two numbers are equal only if every digit is. */
class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function parseExactly(text: string): unknown {
  const reviver = (_key: string, value: unknown, context: { source: string }) =>
    typeof value === 'number' ? new NumberText(context.source) : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

function valueIn(cell: Cell): unknown {
  switch (cell.kind) {
    case NULL:
      return null;
    case FALSE:
      return false;
    case TRUE:
      return true;
    case NUMBER:
      return new NumberText(cell.text);
    case STRING:
      return cell.text;
    default:
      assert.equal(cell.kind, cell.text.startsWith('{') ? OBJECT : ARRAY);
      return parseExactly(cell.text);
  }
}

const asMaps = (rows: Cell[][]) => rows.map((row) => new Map(row.map((cell) => [cell.name, valueIn(cell)])));

// The generated documents are texts and not values, because their spelling matters.

const blank = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 2 });
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 20 });
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits.map((text) => `7${text}`),
    ),
    fc.option(
      digits.map((text) => `.${text}`),
      { nil: '' },
    ),
    fc.option(
      fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-', 'e-'), digits).map((parts) => parts.join('')),
      { nil: '' },
    ),
  )
  .map((parts) => parts.join(''));

const escaped = (code: number, upper: boolean) => {
  const hex = code.toString(16).padStart(4, '0');
  return `\\u${upper ? hex.toUpperCase() : hex}`;
};
const character = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...'abcxyz 09{}[]:,/_-') },
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.constantFrom('é', '€', '漢', '😀', '\u2028', '\uFEFF', '\u007f', '߿', 'ࠀ', '\uFFFF', '𐀀', '\u{10FFFF}'),
  fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t'),
  fc.tuple(fc.integer({ min: 0, max: 0xd7ff }), fc.boolean()).map(([code, upper]) => escaped(code, upper)),
  fc
    .tuple(fc.integer({ min: 0xd800, max: 0xdbff }), fc.integer({ min: 0xdc00, max: 0xdfff }))
    .map(([high, low]) => escaped(high, false) + escaped(low, true)),
);
const string = fc.array(character, { maxLength: 12 }).map((parts) => `"${parts.join('')}"`);

/**
 * A key of one character that is written as an escape has a separate test, because V8 13.6 (Node 24) reads
 * `{"ab":1,"":2,"\u0061":3}` as an object with the key `\`.
 */
const key = string.filter((text) => !text.includes('\\') || (JSON.parse(text) as string).length > 1);

const { value } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.constantFrom('null', 'true', 'false', '0', '-0', '""'),
    number,
    string,
    tie('array'),
    tie('object'),
  ),
  array: fc
    .array(fc.tuple(blank, tie('value'), blank), { maxLength: 4 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
  object: fc
    .array(fc.tuple(blank, key, blank, fc.constant(':'), blank, tie('value'), blank), { maxLength: 4 })
    .map((items) => `{${items.map((item) => item.join('')).join(',')}}`),
}));

/**
 * Often the same names in the same order, sometimes in another order, sometimes other names. The same name is spelled in
 * different ways.
 */
const name = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '"a"',
      '"b"',
      '"ab"',
      '"\\u0061b"',
      '"__proto__"',
      '"constructor"',
      '""',
      '"7"',
    ),
  },
  key,
);
const row = fc
  .uniqueArray(fc.tuple(blank, name, blank, fc.constant(':'), blank, value, blank), {
    maxLength: 6,
    selector: (member) => JSON.parse(member[1]) as string,
  })
  .map((members) => `{${members.map((member) => member.join('')).join(',')}}`);

const document = fc
  .tuple(
    blank,
    fc.array(fc.tuple(blank, row, blank), { maxLength: 6 }),
    blank,
    fc.constantFrom('', 'before', 'after'),
    value,
    fc.constantFrom('"data"', '"d\\u0061ta"'),
  )
  .map(([space, rows, end, where, table, key]) => {
    const data = `${key}${space}:${end}[${rows.map((parts) => parts.join('')).join(',')}${rows.length > 0 ? '' : space}]`;
    const definition = `${end}"table"${end}:${space}${table}${space}`;
    const members = where === 'before' ? [definition, data] : where === 'after' ? [data, definition] : [data];
    return `${space}{${space}${members.join(`${end},${space}`)}${end}}${space}`;
  });

const cutPlaces = fc.array(fc.nat(), { maxLength: 20 });

function cutsWithin(places: number[], length: number): number[] {
  return [...new Set(places.map((place) => place % (length + 1)))].sort((a, b) => a - b);
}

test('a random document cut at random places has the cells that JSON.parse finds', () => {
  fc.assert(
    fc.property(document, cutPlaces, fc.integer({ min: 1, max: 9 }), (text, places, size) => {
      const body = Buffer.from(text);
      const parsed = parseExactly(text) as { data: Record<string, unknown>[]; table?: unknown };
      const expected = parsed.data.map((object) => new Map(Object.entries(object)));
      for (const cuts of [[], cutsWithin(places, body.length), cutsEvery(size, body.length)]) {
        const { sink, scanner } = scanInChunks(body, cuts);
        assert.deepEqual(asMaps(sink.rows), expected);
        assert.deepEqual(sink.faults, []);
        assert.equal(scanner.row, expected.length);
        const table = scanner.table === undefined ? null : parseExactly(scanner.table.toString());
        assert.deepEqual(table, parsed.table ?? null);
      }
    }),
    { numRuns: sized(300, 1500) },
  );
});

/** Returns whether `JSON.parse` accepts the text, and whether the text violates only the additional rules of the scanner. */
function judge(text: string): 'valid' | 'invalid' | 'lone surrogate' {
  try {
    let isWellFormed = true;
    JSON.parse(text, (key, item) => {
      if (!key.isWellFormed() || (typeof item === 'string' && !item.isWellFormed())) isWellFormed = false;
      return item;
    });
    // If a key is repeated, the reviver does not get the earlier value, so escapes in it are checked separately.
    if (isWellFormed && /\\u[dD][89a-fA-F]/.test(text)) isWellFormed = hasPairedEscapes(text);
    return isWellFormed ? 'valid' : 'lone surrogate';
  } catch {
    return 'invalid';
  }
}

function hasPairedEscapes(text: string): boolean {
  const strings = text.match(/"(?:[^"\\]|\\.)*"/gs) ?? [];
  return strings.every((quoted) => (JSON.parse(quoted) as string).isWellFormed());
}

test('a damaged document is refused exactly where JSON.parse refuses it', () => {
  const pieces = fc.constantFrom(
    ...'{}[]:,"\\/0123456789+-.eE utfnrbalse\n\t\0\u0001',
    '\\u',
    '\\ud800',
    '\\udc00',
    'null',
    'true',
    '\uFEFF',
    '\u00a0',
    '//',
    '1e',
    '01',
  );
  const counts = { valid: 0, invalid: 0, 'lone surrogate': 0 };
  fc.assert(
    fc.property(
      document,
      fc.array(fc.tuple(fc.nat(), fc.nat(2), pieces), { minLength: 1, maxLength: 2 }),
      cutPlaces,
      (original, damages, places) => {
        let text = original;
        for (const [place, removed, inserted] of damages) {
          const at = place % (text.length + 1);
          text = text.slice(0, at) + inserted + text.slice(at + removed);
        }
        const body = Buffer.from(text);
        // Encoding the text to bytes has turned half a surrogate pair into U+FFFD, so the text is read back.
        text = body.toString().replace(/^\uFEFF/, '');
        const verdict = judge(text);
        counts[verdict]++;
        for (const cuts of [[], cutsWithin(places, body.length), cutsEvery(1, body.length)]) {
          let code = 'accepted';
          try {
            scanInChunks(body, cuts);
          } catch (error) {
            if (!(error instanceof AppError)) throw error;
            code = error.code;
          }
          if (verdict === 'valid') assert.notEqual(code, 'invalid-json', text);
          // A body that is valid JSON up to the error may already be refused because of its members.
          else assert.notEqual(code, 'accepted', text);
        }
      },
    ),
    { numRuns: sized(400, 2000) },
  );
  assert.ok(Math.min(counts.valid, counts.invalid) > sized(15, 100), JSON.stringify(counts));
});

test('the UTF-8 check finds the first wrong byte, wherever the chunks end', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3 }).map((text) => Buffer.from(text)),
    fc
      .array(
        fc.constantFrom(0x41, 0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xa0, 0xef, 0xf0, 0xf4, 0x90, 0xf5, 0xff),
        {
          maxLength: 3,
        },
      )
      .map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), cutPlaces, (parts, places) => {
      const body = Buffer.concat(parts);
      // The position of the first byte after which no continuation makes the text valid.
      const fault = body.findIndex((_, i) => !canGoOn(body.subarray(0, i + 1)));
      const checker = new Utf8Checker();
      let start = 0;
      let found = -1;
      for (const cut of [...cutsWithin(places, body.length), body.length]) {
        const position = checker.check(body.subarray(0, cut), start);
        if (position >= 0) {
          found = position;
          break;
        }
        start = cut;
      }
      assert.equal(found, fault);
    }),
    { numRuns: sized(1000, 5000) },
  );
});

function canGoOn(prefix: Buffer): boolean {
  const tails = [
    '',
    '80',
    'bf',
    '8080',
    'bfbf',
    '808080',
    '90',
    '9080',
    '908080',
    'a080',
    'a0',
    '9f80',
    '8f8080',
    'bf80',
  ];
  return tails.some((tail) => isUtf8(Buffer.concat([prefix, Buffer.from(tail, 'hex')])));
}
