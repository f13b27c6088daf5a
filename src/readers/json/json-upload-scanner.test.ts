import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CollectingSink,
  cutsEvery,
  scanInChunks,
  testLimits,
} from '../../../test/support/collecting-sink.ts';
import { NULL, NUMBER, OBJECT, REPEATED_KEY, ROW_NOT_AN_OBJECT, STRING } from '../../core/cells/cell-kind.ts';
import { AppError, type ErrorCode } from '../../core/errors.ts';
import type { JsonLimits } from './json-limits.ts';
import { JsonUploadScanner } from './json-upload-scanner.ts';

/** A document with everything that the end of a chunk may cut. */
const everything = Buffer.from(
  String.raw`
{ "data" : [
  {"id": 1, "name": "Ann", "tags": ["x", {"y": [null, -0.5e+10, "\uD83D\uDE00\n"]}], "ok": true, "none": null},
  {"id": 12345678901234567890.125E-7 , "name" : "\u0041\"\\\/\b\f\n\r\t\uD83D\uDE00é€😀", "tags":{}, "ok":false,"none":null},
  {"ok":true,"n\u0061me":"other order","id":-0,"new €":{"a":{"b":[[]]}},"":"","__proto__":1},
  {}, [1,"two"], 3, "four", null, true,
  {"id":1,"id":2,"id":{"x":"\""},"name":"a","n\u0061me":"b\n","tags":null,"tags":null},
  {"constructor":"x","k\"ey":"y","k\"ey":"z"},{"k\"ey":"w"}
] , "t\u0061ble" : {"columns":[{"name":"id \u20ac","type":"int"}]} } `,
);

test('the cells, problems and definition of a document are the same at every chunk size', () => {
  const whole = scanInChunks(everything, []);
  const texts = whole.sink.rows.map((row) => row.map((cell) => `${cell.name}=${cell.text}`));
  assert.deepEqual(whole.sink.names, [
    ...['id', 'name', 'tags', 'ok', 'none', 'new €', '', '__proto__', 'constructor', 'k"ey'],
  ]);
  assert.deepEqual(texts, [
    ['id=1', 'name=Ann', String.raw`tags=["x", {"y": [null, -0.5e+10, "\uD83D\uDE00\n"]}]`, 'ok=', 'none='],
    ['id=12345678901234567890.125E-7', 'name=A"\\/\b\f\n\r\t😀é€😀', 'tags={}', 'ok=', 'none='],
    ['ok=', 'name=other order', 'id=-0', 'new €={"a":{"b":[[]]}}', '=', '__proto__=1'],
    ...[[], [], [], [], [], []],
    ['id=1', 'name=a', 'tags='],
    ['constructor=x', 'k"ey=y'],
    ['k"ey=w'],
  ]);
  assert.deepEqual(
    whole.sink.faults.map(({ row, name, fault, text }) => [row, name, fault, text]),
    [
      [5, undefined, ROW_NOT_AN_OBJECT, '[1,"two"]'],
      [6, undefined, ROW_NOT_AN_OBJECT, '3'],
      [7, undefined, ROW_NOT_AN_OBJECT, '"four"'],
      [8, undefined, ROW_NOT_AN_OBJECT, 'null'],
      [9, undefined, ROW_NOT_AN_OBJECT, 'true'],
      [10, 'id', REPEATED_KEY, '2'],
      [10, 'id', REPEATED_KEY, '{"x":"\\""}'],
      [10, 'name', REPEATED_KEY, 'b\n'],
      [10, 'tags', REPEATED_KEY, 'null'],
      [11, 'k"ey', REPEATED_KEY, 'z'],
    ],
  );
  assert.equal(whole.scanner.table?.toString(), String.raw`{"columns":[{"name":"id \u20ac","type":"int"}]}`);
  assert.equal(whole.scanner.row, 12);

  for (let size = 1; size <= everything.length; size++) {
    const { sink, scanner } = scanInChunks(everything, cutsEvery(size, everything.length));
    assert.deepEqual(sink.names, whole.sink.names);
    assert.deepEqual(sink.rows, whole.sink.rows);
    assert.deepEqual(sink.faults, whole.sink.faults);
    assert.deepEqual(scanner.table, whole.scanner.table);
  }
});

test('every beginning of a document is refused as incomplete, with its length', () => {
  const complete = everything.toString('latin1').trimEnd().length;
  for (let length = 1; length < complete; length++) {
    assert.throws(
      () => scanInChunks(everything.subarray(0, length), []),
      (error) =>
        error instanceof AppError &&
        error.code === 'invalid-json' &&
        (error.detail.includes(`ends at byte ${length}`) || error.detail.includes('body is empty')),
    );
  }
});

test('a one-character key written as an escape is that character, whatever keys came before', () => {
  const { sink } = scanInChunks(Buffer.from(String.raw`{"data":[{"ab":1,"":2,"\u0061":3},{"a":4}]}`), []);
  assert.deepEqual(sink.names, ['ab', '', 'a']);
});

test('a key that has the raw bytes of an escaped key is refused', () => {
  const body = String.raw`{"data":[{"a\"b":1},{"a"b":1}]}`;
  assert.throws(
    () => scanInChunks(Buffer.from(body), []),
    /invalid-json: Byte 24 \(line 1, column 25; row 2\): expected ":"/,
  );
});

test('keys in any order, many columns, and keys with the same beginning are mapped to their columns', () => {
  const limits = { ...testLimits, maxColumns: 1000 };
  const names = Array.from({ length: 700 }, (_, i) => `c${i % 7 === 0 ? 'é'.repeat(i % 5) : ''}${i}`);
  const rows = Array.from({ length: 9 }, (_, turn) => {
    const shuffled = [...names.slice(turn * 50), ...names.slice(0, turn * 50)];
    if (turn % 2 === 1) shuffled.reverse();
    return Object.fromEntries(
      shuffled.filter((_, i) => (i + turn) % 3 !== 0).map((name) => [name, `${turn}${name}`]),
    );
  });
  const body = Buffer.from(JSON.stringify({ data: rows }));
  const { sink } = scanInChunks(body, cutsEvery(1000, body.length), limits);
  const found = sink.rows.map((row) => Object.fromEntries(row.map((cell) => [cell.name, cell.text])));
  assert.deepEqual(found, rows);
});

test('without a sink the scan stops once after the "[" of data, and then continues', () => {
  const body = Buffer.from('\uFEFF{"table":{"é":1},"data":[{"é":"é"}]}');
  for (let size = 1; size <= body.length; size++) {
    const sink = new CollectingSink();
    const scanner = new JsonUploadScanner(testLimits);
    let stops = 0;
    for (let start = 0; start < body.length; start += size) {
      const chunk = Buffer.from(body.subarray(start, start + size));
      let at = scanner.write(chunk);
      if (scanner.rowsSeen && scanner.sink === undefined) {
        stops++;
        assert.equal(start + at, body.indexOf('[') + 1);
        assert.throws(() => scanner.write(chunk, at), /need a sink/);
        scanner.sink = sink;
        if (at < chunk.length) at = scanner.write(chunk, at);
      }
      assert.equal(at, chunk.length);
    }
    scanner.end();
    assert.equal(stops, 1);
    assert.equal(scanner.table?.toString(), '{"é":1}');
    assert.deepEqual(sink.rows, [[{ name: 'é', kind: STRING, text: 'é' }]]);
  }
});

test('the offset continues over chunks and over the stop', () => {
  const body = Buffer.from('{"data":[{"a":1},{"a":x}]}');
  for (const size of [1, 5, 100]) {
    const scanner = new JsonUploadScanner(testLimits);
    const write = () => {
      for (let start = 0; start < body.length; start += size) {
        const chunk = body.subarray(start, start + size);
        const at = scanner.write(chunk);
        if (scanner.sink === undefined && scanner.rowsSeen) scanner.sink = new CollectingSink();
        if (at < chunk.length) scanner.write(chunk, at);
      }
    };
    assert.throws(write, /invalid-json: Byte 22 \(line 1, column 23; row 2\): expected a value, found "x"\./);
  }
});

function refusal(body: string | Buffer, limits: JsonLimits = testLimits): [ErrorCode, string, unknown?] {
  try {
    scanInChunks(Buffer.from(body), [], limits);
  } catch (error) {
    if (error instanceof AppError) {
      const pointer = error.errors?.[0]?.pointer;
      return pointer === undefined ? [error.code, error.detail] : [error.code, error.detail, pointer];
    }
    throw error;
  }
  return assert.fail('accepted');
}

test('errors say what is wrong, where, and what was expected', () => {
  const expected: [string | Buffer, string][] = [
    ['', 'The body is empty; expected an object that holds "table", "data" or both.'],
    [
      '{"data":[{"a":1},]}',
      'Byte 17 (line 1, column 18; row 2): JSON has no comma before ]; remove the comma.',
    ],
    [
      '{"data":[{"a":01}]}',
      'Byte 15 (line 1, column 16; row 1): a JSON number does not begin with 0; send the digits as a string if the zeros matter.',
    ],
    ['{"data":[{"a":1.}]}', 'Byte 16 (line 1, column 17; row 1): expected a digit in the number, found "}".'],
    [
      '{"data":[{"a":"\n"}]}',
      'Byte 15 (line 1, column 16; row 1): expected a control character to be escaped inside a string, found 0x0A.',
    ],
    [
      '{"data":[{"a":"\\q"}]}',
      'Byte 16 (line 1, column 17; row 1): expected one of "\\/bfnrtu after the backslash, found "q".',
    ],
    [
      '{"data":[{"a":"\\u12x4"}]}',
      'Byte 19 (line 1, column 20; row 1): expected four hexadecimal digits after \\u, found "x".',
    ],
    [
      '{"data":[{"a":"ab\\ud800\\n"}]}',
      'Byte 17 (line 1, column 18; row 1): \\uD800 is half a surrogate pair, not a character.',
    ],
    [
      '{"data":[{"a":"ab\\ud800\\ud801"}]}',
      'Byte 17 (line 1, column 18; row 1): \\uD800 is half a surrogate pair, not a character.',
    ],
    [
      '{"data":[{"a":["\\udc00"]}]}',
      'Byte 16 (line 1, column 17; row 1): \\uDC00 is half a surrogate pair, not a character.',
    ],
    ['{"data":[{"a":truE}]}', 'Byte 17 (line 1, column 18; row 1): expected "e" of true, found "E".'],
    [
      Buffer.from('{"data":[{},{"a":"é"}]}', 'latin1'),
      "Byte 19 (line 1, column 20; row 2): not UTF-8, found '\"'.",
    ],
    [
      '{\n "data": [\n  {"ü": 1,}\n]}',
      'Byte 24 (line 3, column 11; row 1): JSON has no comma before }; remove the comma.',
    ],
    ['{\n\n  "table": {,}}', 'Byte 15 (line 3, column 13): expected a key in quotes or "}", found ",".'],
    ['{"data":[]} {}', 'Byte 12 (line 1, column 13): expected nothing after the document, found "{".'],
    ['{"data":[{"a":"b', 'The body ends at byte 16 in row 1, inside a key or value.'],
    ['{"data":[{"a":1}', 'The body ends at byte 16 in row 1, before the object is closed.'],
  ];
  for (const [body, detail] of expected) assert.deepEqual(refusal(body), ['invalid-json', detail]);
});

test('JSON that is not an upload is refused with a pointer', () => {
  const array = 'The member "data" must be an array of row objects, not';
  const object = 'The body must be an object that holds "table", "data" or both, or an array of row objects.';
  assert.deepEqual(refusal('{"data":{"a":[1]}}'), [
    'invalid-data',
    `${array} an object. Put one row into an array: {"data": [{…}]}, or send rows_at=/data. A DataFrame of pandas needs orient="records".`,
    '/data',
  ]);
  assert.deepEqual(refusal('{"data":5}'), ['invalid-data', `${array} a number.`, '/data']);
  assert.deepEqual(refusal('{"data":"x"}'), [
    'invalid-data',
    `${array} a string. Send the array itself, not its JSON text.`,
    '/data',
  ]);
  for (const body of ['"x"', '5', ' -1.5e3 ', 'null', 'true']) {
    assert.deepEqual(refusal(body), ['invalid-data', object, '']);
  }
  assert.deepEqual(refusal('{"table":{},"da/t~a":[]}'), [
    'invalid-data',
    'The body has a member "da/t~a"; only "table" and "data" are known here. If the rows are an array inside this document, name it with the parameter rows_at, as in ?rows_at=/da~1t~0a; POST /api/v1/inspect/json lists the arrays of a document. If the body is one row, send rows_at= (without a value) or put it into an array. If the body has one object per line, send it as application/x-ndjson.',
    '/da~1t~0a',
  ]);
  assert.deepEqual(refusal('{"data":null,"d\\u0061ta":[]}'), [
    'invalid-data',
    'The body has the member "data" twice.',
    '/data',
  ]);
});

test('a body in another form or format is refused with what to send', () => {
  const [lines, perLine] = refusal('{"a":1}\n{"a":2}\n');
  assert.equal(lines, 'invalid-data');
  assert.match(perLine, /one object per line, send it as application\/x-ndjson/);
  const files: [string, Buffer][] = [
    ['.xlsx', Buffer.from('PK\u0003\u0004\u0014')],
    ['.xls', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
    ['CSV', Buffer.from('id,name\n1,a\n')],
  ];
  for (const [format, body] of files) {
    const [code, detail] = refusal(body);
    assert.equal(code, 'invalid-json', format);
    assert.match(
      detail!,
      /^Byte 0 \(line 1, column 1\): .* Send a workbook or a text file such as CSV to upload\/excel, /,
      format,
    );
  }
  assert.doesNotMatch(refusal('[{"a":1},')[1]!, /upload\/excel/);
  assert.doesNotMatch(refusal('{"data":[{"a":x')[1]!, /upload\/excel/);
});

test('members that are null count as absent', () => {
  const { scanner } = scanInChunks(Buffer.from('{"table":null,"data":null}'), []);
  assert.equal(scanner.table, undefined);
  assert.equal(scanner.rowsSeen, false);
});

test('limits are exact, whether a value is in one chunk or in several', () => {
  const limits = { maxDepth: 3, maxTableBytes: 10, maxColumns: 2, maxCellBytes: 8, maxRowBytes: 1_000_000 };
  const cell = 'Row 2: The value is too long: the limit is 8 bytes (MAX_CELL_BYTES).';
  const cases: [string, string, string][] = [
    ['{"data":[{},{"a":"12345678"}]}', '{"data":[{},{"a":"123456789"}]}', cell],
    ['{"data":[{},{"a":"1234567\\n"}]}', '{"data":[{},{"a":"12345678\\n"}]}', cell],
    ['{"data":[{},{"a":"1234\\ud83d\\ude00"}]}', '{"data":[{},{"a":"12345\\ud83d\\ude00"}]}', cell],
    ['{"data":[{},{"a":12345678}]}', '{"data":[{},{"a":123456789}]}', cell],
    ['{"data":[{},{"a":[1,2,34]}]}', '{"data":[{},{"a":[1,2,34 ]}]}', cell],
    ['{"data":[{},[1,2,34]]}', '{"data":[{},[1,2,34 ]]}', cell],
    [
      '{"data":[{"a":1},{"b":2}]}',
      '{"data":[{"a":1},{"b":1,"c":2}]}',
      'Row 2: The rows have too many different keys: the limit is 2 columns (MAX_COLUMNS).',
    ],
    [
      '{"data":[{"a":[[[]]]}]}',
      '{"data":[{"a":[[[[]]]]}]}',
      'Row 1: The value is nested too deeply: the limit is 3 levels (MAX_JSON_DEPTH).',
    ],
    [
      '{"table":{"a":1234}}',
      '{"table":{"a":12345}}',
      'The definition is too long: the limit is 10 bytes (MAX_DEFINITION_BYTES).',
    ],
    [
      `{"data":[{"${'k'.repeat(1024)}":1}]}`,
      `{"data":[{"${'k'.repeat(1025)}":1}]}`,
      'Row 1: The key is too long: the limit is 1 KiB.',
    ],
  ];
  for (const [within, over, detail] of cases) {
    for (const size of [1, 3, 5000]) {
      scanInChunks(Buffer.from(within), cutsEvery(size, within.length), limits);
      assert.throws(
        () => scanInChunks(Buffer.from(over), cutsEvery(size, over.length), limits),
        (error) => {
          assert.ok(error instanceof AppError && error.code === 'limit-exceeded');
          assert.equal(error.detail, detail);
          return true;
        },
      );
    }
  }
});

test('the bytes of a row are limited, however its cells are cut, and white space between rows does not count', () => {
  const limits = { ...testLimits, maxRowBytes: 5000 };
  const cells = Array.from({ length: 60 }, (_, index) => `"c${index}":"${'x'.repeat(90)}"`).join();
  const short = `{${cells.slice(0, 4000)}"}`;
  const scan = (data: string, size: number) => {
    const body = Buffer.from(`{"data":[${data}]}`);
    return scanInChunks(body, cutsEvery(size, body.length), limits).sink.rows.length;
  };
  for (const size of [1, 64, 250]) {
    assert.equal(scan(`${short},${short}${' '.repeat(9000)},${short}`, size), 3);
    assert.throws(
      () => scan(`${short},{${cells}}`, size),
      /Row 2 is too long: .*5,000 bytes \(MAX_ROW_BYTES\)/,
    );
    assert.throws(() => scan(`{"a":1${' '.repeat(9000)}}`, size), /Row 1 is too long/);
  }
});

test('a value in many chunks takes linear time', () => {
  const limits = { ...testLimits, maxCellBytes: 100_000_000, maxRowBytes: 100_000_000 };
  const secondsFor = (value: string) => {
    const body = Buffer.from(`{"data":[{"a":${value}}]}`);
    const chunks = cutsEvery(1024, body.length);
    const begin = process.cpuUsage();
    const { sink } = scanInChunks(body, chunks, limits);
    assert.ok(sink.rows[0]![0]!.text.length > 1_000_000);
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / 1e6;
  };
  const long = 8_000_000;
  for (const value of [
    `"${'a'.repeat(long)}"`,
    `"${'\\u20ac'.repeat(long / 6)}"`,
    `[${'1,'.repeat(long / 2)}1]`,
    '1'.repeat(long),
  ]) {
    // If the work were quadratic, it would be 8,000 chunks × 8 MB.
    assert.ok(secondsFor(value) < 3);
  }
});

test('scalar cells have their kinds', () => {
  const { sink } = scanInChunks(Buffer.from('{"data":[{"a":null,"b":-1.50,"c":"","d":{}}]}'), []);
  assert.deepEqual(
    sink.rows[0]!.map((cell) => [cell.kind, cell.text]),
    [
      [NULL, ''],
      [NUMBER, '-1.50'],
      [STRING, ''],
      [OBJECT, '{}'],
    ],
  );
});
