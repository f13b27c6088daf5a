/** Rows on lines, in an array and inside another document, compared with `JSON.parse`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutsEvery, scanInChunks, testLimits } from '../../../test/support/collecting-sink.ts';
import { OBJECT, ROW_NOT_AN_OBJECT } from '../../core/cells/cell-kind.ts';
import { AppError } from '../../core/errors.ts';
import { pointerOf } from '../../core/json-pointer.ts';
import { ArrayFinder, type FoundArray } from './array-finder.ts';
import type { JsonForm } from './json-upload-scanner.ts';

const scan = (text: string, form: JsonForm, cuts: number[] = []) =>
  scanInChunks(Buffer.from(text), cuts, testLimits, form);

function refusal(text: string, form: JsonForm): AppError {
  const details = [text.length + 1, 1, 3].map((size) => {
    try {
      scan(text, form, cutsEvery(size, Buffer.byteLength(text)));
    } catch (error) {
      assert.ok(error instanceof AppError, String(error));
      return error;
    }
    return assert.fail(`accepted: ${text}`);
  });
  // The advice in a message is not compared, because it depends on whether one chunk has all bytes that show the cause.
  const withoutRemedy = ({ detail }: AppError) => detail.replace(/(\(line \d+, column \d+.*?\)): .*/s, '$1');
  assert.equal(withoutRemedy(details[1]!), withoutRemedy(details[0]!));
  assert.equal(withoutRemedy(details[2]!), withoutRemedy(details[0]!));
  return details[0]!;
}

/** Returns the rows as objects. A cell is its kind and its text, without white space inside nested values. */
function rowsOf({ sink }: ReturnType<typeof scan>): unknown[] {
  return sink.rows.map((row) =>
    Object.fromEntries(
      row.map(({ name, kind, text }) => [
        name,
        `${kind}:${kind >= OBJECT ? JSON.stringify(JSON.parse(text)) : text}`,
      ]),
    ),
  );
}

/** Returns what the scanner makes of the same rows in the usual form of a body. */
const expectedRows = (rows: unknown[]) => rowsOf(scan(JSON.stringify({ data: rows }), 'upload'));

const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, -1.5e-7),
  fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
  fc.integer(),
);
const name = fc.oneof(
  fc.constantFrom('a', 'b', 'items', 'table', 'data', 'a/b', '~', '0'),
  fc.string({ unit: 'grapheme' }),
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(name, tie('json'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const rows = fc.array(fc.dictionary(name, json, { maxKeys: 4, noNullPrototype: true }), { maxLength: 5 });
const blank = fc.constantFrom('', '', ' ', '\t', '\r');
const cutPlaces = fc.array(fc.nat(), { maxLength: 20 });
const cutsWithin = (places: number[], text: string): number[] =>
  [...new Set(places.map((place) => place % (Buffer.byteLength(text) + 1)))].sort((a, b) => a - b);

test('random rows on lines give the same cells as in an array, and the numbers of their lines', () => {
  const line = fc.tuple(
    fc.array(blank, { maxLength: 2 }),
    blank,
    fc.dictionary(name, json, { maxKeys: 4 }),
    blank,
  );
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 6 }),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      fc.constantFrom('', '\uFEFF'),
      cutPlaces,
      (lines, newline, endsWithNewline, mark, places) => {
        const texts = lines.flatMap(([blanks, before, row, after]) => [
          ...blanks,
          before + JSON.stringify(row) + after,
        ]);
        const body = mark + texts.join(newline) + (endsWithNewline ? newline : '');
        const scanned = scan(body, 'lines', cutsWithin(places, body));
        assert.deepEqual(rowsOf(scanned), expectedRows(lines.map(([, , row]) => row)));
        const numbers = texts.flatMap((text, index) => (text.includes('{') ? [index + 1] : []));
        assert.deepEqual(scanned.sink.numbers, numbers);
        assert.deepEqual(scanned.sink.faults, []);
      },
    ),
    { numRuns: 1000 },
  );
});

test('random rows anywhere in a random document are found by their pointer', () => {
  const level = fc.record({
    isArray: fc.boolean(),
    name,
    before: fc.array(fc.tuple(name, json), { maxLength: 3 }),
    after: fc.array(fc.tuple(name, json), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(
      fc.array(level, { maxLength: 4 }),
      rows,
      fc.constantFrom(0, 2),
      cutPlaces,
      (levels, data, indent, places) => {
        const steps: string[] = [];
        let document: unknown = data;
        for (const { isArray, name, before, after } of levels) {
          if (isArray) {
            document = [...before.map(([, value]) => value), document, ...after.map(([, value]) => value)];
            steps.unshift(String(before.length));
          } else {
            // Keys that look like integers would move to the front of the object. That is no problem, because any order is allowed here.
            document = Object.fromEntries([
              ...before,
              [name, document],
              ...after.filter(([key]) => key !== name),
            ]);
            steps.unshift(name);
          }
        }
        const body = JSON.stringify(document, null, indent);
        const scanned = scan(body, steps, cutsWithin(places, body));
        assert.deepEqual(rowsOf(scanned), expectedRows(data));
        assert.equal(scanned.scanner.locate(3, -1, '').pointer, `${pointerOf(steps)}/2`);
        const table =
          Array.isArray(document) || steps[0] === 'table'
            ? undefined
            : (document as { table?: unknown }).table;
        const isDefinition =
          steps.length > 0 && typeof table === 'object' && table !== null && !Array.isArray(table);
        assert.deepEqual(
          scanned.scanner.table === undefined ? undefined : JSON.parse(scanned.scanner.table.toString()),
          isDefinition ? JSON.parse(JSON.stringify(table)) : undefined,
        );
      },
    ),
    { numRuns: 1000 },
  );
});

test('a random object anywhere in a random document is one row, wherever the document is cut', () => {
  const row = fc
    .dictionary(name, json, { maxKeys: 4, noNullPrototype: true })
    .filter((object) => !areAllNested(object));
  fc.assert(
    fc.property(
      row,
      fc.array(name, { maxLength: 3 }),
      blank,
      json,
      cutPlaces,
      (one, steps, space, beside, places) => {
        const put = (inner: string, step: string) =>
          `{"beside ${step.length}":${JSON.stringify(beside)},${JSON.stringify(step)}:${inner}}`;
        const inner = `${space}${JSON.stringify(one, null, space === '' ? 0 : 1)}${space}`;
        const text = steps.reduceRight(put, inner);
        const scanned = scan(text, steps, cutsWithin(places, text));
        assert.deepEqual(rowsOf(scanned), expectedRows([one]));
        const [key] = Object.keys(one);
        const pointer = pointerOf(steps);
        assert.deepEqual(scanned.scanner.locate(1, -1, ''), { pointer });
        if (key !== undefined)
          assert.deepEqual(scanned.scanner.locate(1, 0, key), { pointer: pointer + pointerOf([key]) });
      },
    ),
  );
});

const areAllNested = (object: object): boolean => {
  const values = Object.values(object);
  return values.length > 0 && values.every((value) => typeof value === 'object' && value !== null);
};

test('an object whose values are all objects or arrays is no row', () => {
  for (const text of ['{"a":{"x":1},"b":{"x":2}}', '{"a":[1],"b":[2]}', '{"a":{}}'])
    for (const [whole, steps] of [
      [text, []],
      [`{"in":${text},"after":1}`, ['in']],
    ] as const) {
      const { errors, detail } = refusal(whole, steps);
      assert.equal(errors![0]!.code, 'rows-not-an-array');
      assert.equal(errors![0]!.pointer, pointerOf(steps));
      assert.match(detail, /values are all objects or arrays/);
    }
  assert.equal(scan('{"a":{"x":1},"b":null}', []).sink.rows.length, 1);
  assert.equal(scan('{}', []).sink.rows.length, 1);
});

test('nothing but white space may follow a document that is one row', () => {
  assert.match(refusal('{"a":1} {"a":2}', []).detail, /expected nothing after the document/);
  assert.match(refusal('{"a":1', []).detail, /ends at byte 6/);
  assert.match(
    refusal('{"in":{"a":1},}', ['in']).detail,
    /JSON has no comma before }|expected a key in quotes/,
  );
});

test('damaged lines are accepted exactly where JSON.parse accepts each of them', () => {
  const piece = fc.constantFrom(
    ...'{}[]:,"\\ 019.-eE',
    '\n',
    '\r',
    'null',
    'true',
    '{"a":1}',
    '{"a":{"b":[1]}}',
    '\t',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), cutPlaces, (pieces, places) => {
      const body = pieces.join('');
      const isValid = body.split('\n').every((line) => {
        try {
          return /^[ \t\r]*$/.test(line) || JSON.parse(line) !== undefined;
        } catch {
          return false;
        }
      });
      let isAccepted = true;
      try {
        scan(body, 'lines', cutsWithin(places, body));
      } catch (error) {
        assert.ok(error instanceof AppError);
        isAccepted = false;
      }
      assert.equal(isAccepted, isValid, JSON.stringify(body));
    }),
    { numRuns: 3000 },
  );
});

test('a line that is not an object is a problem of its row, and the last line may end without a newline', () => {
  const body = '{"a":1}\n\n[1,2]\n"x"\n{"a":2}\n42';
  for (const size of [1, 2, 100]) {
    const { sink } = scan(body, 'lines', cutsEvery(size, body.length));
    assert.deepEqual(sink.numbers, [1, 3, 4, 5, 6]);
    assert.deepEqual(
      sink.faults.map(({ row, fault, text }) => [row, fault, text]),
      [
        [3, ROW_NOT_AN_OBJECT, '[1,2]'],
        [4, ROW_NOT_AN_OBJECT, '"x"'],
        [6, ROW_NOT_AN_OBJECT, '42'],
      ],
    );
  }
});

test('an error in a line names the line, the column and what to do', () => {
  const whole = 'the line ends inside an object; send each row as one whole line (with jq, use -c)';
  const cases: [string, string][] = [
    ['{"a":1}\r\n\n{"ä": 1,}\n', 'Byte 19 (line 3, column 9): JSON has no comma before }; remove the comma.'],
    [
      '{"a":1} {"a":2}\n',
      'Byte 8 (line 1, column 9): expected the end of the line after the row, found "{".',
    ],
    [
      '{"a":1},\n{"a":2}\n',
      'Byte 7 (line 1, column 8): expected the end of the line after the row, found ",".',
    ],
    ['{\n  "a": 1\n}\n', `Byte 1 (line 1, column 2): ${whole}.`],
    ['{"a":1}\n{"a":[1,\n2]}', `Byte 16 (line 2, column 9): ${whole}.`],
    ['{"a":1}\n{"a":"x', 'The body ends at byte 15 in line 2, inside a key or value.'],
    ['{"a":1}\n{"a":"1"', 'The body ends at byte 16 in line 2, before the object is closed.'],
    ['{"a":1}\n{"a":1,"b":tru}\n', 'Byte 22 (line 2, column 15): expected "e" of true, found "}".'],
  ];
  for (const [body, detail] of cases) {
    const error = refusal(body, 'lines');
    assert.deepEqual([error.code, error.detail], ['invalid-json', detail]);
  }
});

test('a body without a line has no rows', () => {
  for (const body of ['', '\n', ' \r\n\t\n', '\uFEFF', '\uFEFF\n'])
    assert.deepEqual(scan(body, 'lines').sink.rows, []);
});

test('for a missing place the deepest existing part is named', () => {
  const nothing = (at: string, why: string) => `The document has nothing at ${at}. ${why}.`;
  const cases: [string, string[], string, string, string][] = [
    [
      '{"status":"ok","response":{"count":1,"rows":[]}}',
      ['response', 'items'],
      'rows-not-found',
      '/response',
      nothing('/response/items', 'The value at /response is an object with the members "count", "rows"'),
    ],
    ['{}', ['a'], 'rows-not-found', '', nothing('/a', 'The document is an object without members')],
    [
      '{"a":[{"b":[]}]}',
      ['a', 'b'],
      'rows-not-found',
      '/a',
      nothing('/a/b', 'The value at /a is an array; its elements have numbers, as in /a/0, not the name "b"'),
    ],
    [
      '{"a":[[]]}',
      ['a', '1'],
      'rows-not-found',
      '/a',
      nothing('/a/1', 'The value at /a is an array of one element, numbered from 0'),
    ],
    ['{"a":null,"b":1}', ['a', 'b'], 'rows-not-found', '/a', nothing('/a/b', 'The value at /a is null')],
    ['"a"', ['a'], 'rows-not-found', '', nothing('/a', 'The document is a string')],
    [
      '{"a":{"b":[]}}',
      ['a'],
      'rows-not-an-array',
      '/a',
      'The value at /a is an object whose values are all objects or arrays, so they may be rows or columns of their own. Put the rows into an array: [{…}]. A DataFrame of pandas needs orient="records".',
    ],
    [
      '{"a":"x"}',
      ['a'],
      'rows-not-an-array',
      '/a',
      'The value at /a is a string; rows_at must name an array of row objects, or one row object.',
    ],
    [
      ' 17',
      [],
      'rows-not-an-array',
      '',
      'The document is a number; rows_at must name an array of row objects, or one row object.',
    ],
  ];
  for (const [body, steps, code, pointer, detail] of cases) {
    const error = refusal(body, steps);
    assert.equal(error.code, 'invalid-parameter');
    assert.equal(error.detail, detail);
    const [problem] = error.errors!;
    assert.deepEqual([problem!.parameter, problem!.code, problem!.pointer], ['rows_at', code, pointer]);
  }
});

test('a document that has a member of the pointer, or the definition, twice is refused', () => {
  const cases: [string, string[], string][] = [
    ['{"a":{"b":[]},"a":{"b":[]}}', ['a', 'b'], '/a'],
    ['{"a":{"b":[{}],"b":[{}]}}', ['a', 'b'], '/a/b'],
    ['{"table":{},"a":[],"table":{}}', ['a'], '/table'],
  ];
  for (const [body, steps, pointer] of cases) {
    const error = refusal(body, steps);
    assert.deepEqual(
      [error.code, error.errors![0]!.code, error.errors![0]!.pointer],
      ['invalid-data', 'repeated-key', pointer],
    );
  }
  assert.equal(scan('{"x":{"a":1,"a":2},"a":[{"k":1}],"x":3}', ['a']).sink.rows.length, 1);
});

test('values around the rows are checked to the end', () => {
  for (const body of [
    '{"x":[1,],"a":[]}',
    '{"a":[],"x":tru}',
    '{"a":[]',
    '{"a":[{}]}]',
    '{"x":{"y":"\n"},"a":[]}',
    '{"a":[] "b":1}',
    '{"a":[],}',
  ]) {
    assert.equal(refusal(body, ['a']).code, 'invalid-json', body);
  }
});

test('lines and columns are counted over chunks and long lines', () => {
  const pretty = JSON.stringify({ x: ['é'.repeat(10), { y: [1, 2] }], data: [{ é: 1 }] }, null, 2);
  const broken = pretty.replace(/1\n {4}\}\n {2}\]\n\}$/, '1!');
  const at = Buffer.byteLength(broken) - 1;
  const lines = broken.split('\n');
  const expected = `Byte ${at} (line ${lines.length}, column ${lines.at(-1)!.length}; row 1): `;
  assert.ok(refusal(broken, ['data']).detail.startsWith(expected), expected);
  const long = `{"x":"${'a'.repeat(5000)}",\n"y":"${'a'.repeat(5000)}"!`;
  assert.match(refusal(long, ['data']).detail, /^Byte 10015 \(line 2\): /);
  assert.match(refusal(long.replace('\n', ''), ['data']).detail, /^Byte 10014: /);
});

/** Returns every array in the value in which most elements are objects, as `ArrayFinder` describes it. */
function arraysIn(value: unknown, pointer = ''): FoundArray[] {
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, member]) => arraysIn(member, pointer + pointerOf([name])));
  }
  const inside = value.length > 0 ? arraysIn(value[0], `${pointer}/0`) : [];
  const objects = value.filter((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
  return objects.length * 2 > value.length ? [...inside, { rowsAt: pointer, rows: value.length }] : inside;
}

test('the arrays of objects of a random document are found, wherever it is cut', () => {
  const element = fc.oneof(fc.dictionary(name, json, { maxKeys: 2, noNullPrototype: true }), json);
  const document = fc.oneof(
    fc.array(element, { maxLength: 4 }),
    fc.dictionary(name, fc.oneof(json, fc.array(element, { maxLength: 4 })), { noNullPrototype: true }),
  );
  const inOrder = (arrays: FoundArray[]) => arrays.map(({ rowsAt, rows }) => `${rows} ${rowsAt}`).sort();
  fc.assert(
    fc.property(document, fc.constantFrom(0, 1), cutPlaces, (value, indent, places) => {
      const text = JSON.stringify(value, null, indent);
      const body = Buffer.from(text);
      const finder = new ArrayFinder(testLimits);
      let start = 0;
      for (const cut of [...cutsWithin(places, text), body.length]) {
        finder.write(Buffer.from(body.subarray(start, cut)));
        start = cut;
      }
      finder.end();
      assert.deepEqual(inOrder(finder.arrays), inOrder(arraysIn(JSON.parse(text))));
    }),
    { numRuns: 1000 },
  );
});
