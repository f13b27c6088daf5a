/** Examples of valid and invalid JSON (RFC 8259), each as a cell, as the definition and as the whole body. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutsEvery, scanInChunks } from '../../../test/support/collecting-sink.ts';
import { ARRAY, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE } from '../../core/cells/cell-kind.ts';
import { AppError } from '../../core/errors.ts';

/**
 * Returns the result of the scanner. It must not depend on where the chunks end. The only exception is advice, for example about
 * UTF-16 or NaN: it is given only if one chunk has all bytes that show the cause.
 */
function verdict(body: Buffer): string {
  const all = [body.length + 1, 1, 2, 3, 7].map((size) => {
    try {
      scanInChunks(body, cutsEvery(size, body.length));
      return 'accepted';
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return `${error.code}: ${error.detail}`;
    }
  });
  const withoutWord = (said: string) =>
    said.replace(
      /^invalid-json: (Byte \d+( \(line [^)]*\))?: .*|The body is UTF-16.*)$/s,
      (_, fault, place) => (fault.startsWith('Byte 0 (') || place === undefined ? 'invalid-json' : place),
    );
  for (const other of all) {
    const isSame = other === all[0] || withoutWord(other) === withoutWord(all[0]!);
    assert.ok(isSame, `${body.toString('latin1').slice(0, 200)}\n${all[0]}\n${other}`);
  }
  return all[0]!;
}

const text = (parts: TemplateStringsArray) => Buffer.from(parts.raw[0]!);
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : Buffer.from(part))),
  );

const validValues: [Buffer, number][] = [
  [text`null`, NULL],
  [text`true`, TRUE],
  [text`false`, FALSE],
  [text`0`, NUMBER],
  [text`-0`, NUMBER],
  [text`7`, NUMBER],
  [text`-1`, NUMBER],
  [text`1234567890`, NUMBER],
  [text`0.5`, NUMBER],
  [text`-0.000000000000000000000000000000000000000000000000000000000000000000000000000001`, NUMBER],
  [text`0e1`, NUMBER],
  [text`0e+1`, NUMBER],
  [text`0.0e-0`, NUMBER],
  [text`1E22`, NUMBER],
  [text`1E-2`, NUMBER],
  [text`1E+2`, NUMBER],
  [text`123e45`, NUMBER],
  [text`123.456e78`, NUMBER],
  [text`1e9999`, NUMBER],
  [text`1e00000000000000000000001`, NUMBER],
  [text`123456789012345678901234567890.123456789012345678901234567890`, NUMBER],
  [text`""`, STRING],
  [text`" "`, STRING],
  [text`"a"`, STRING],
  [text`"a/*b*/c//d#e"`, STRING],
  [text`"'"`, STRING],
  [text`"\"\\\/\b\f\n\r\t"`, STRING],
  [text`"\u0000\u001f\u0020\u007F"`, STRING],
  [text`"\u0022\u005C\u00e9\u00E9\uFFFF\uFFFE\uFDD0"`, STRING],
  [text`"\uD801\udc37\uDBFF\uDFFF"`, STRING],
  [text`"\\u0041\\"`, STRING],
  [text`"é€漢😀  ﻿"`, STRING],
  [bytes('"', [0x7f], '"'), STRING],
  [bytes('"', [0xef, 0xbf, 0xbf], [0xf4, 0x8f, 0xbf, 0xbf], '"'), STRING],
  [text`[]`, ARRAY],
  [text`[ ]`, ARRAY],
  [text`[""]`, ARRAY],
  [text`[null, 1, "1", {}]`, ARRAY],
  [text`[1,null,null,null,2]`, ARRAY],
  [text`[[],[[]],[[],[]]]`, ARRAY],
  [text`["\uD834\uDD1E", "\"", -0.1e-1]`, ARRAY],
  [bytes('[1\n,\t2\r]'), ARRAY],
  [text`{}`, OBJECT],
  [text`{ }`, OBJECT],
  [text`{"":0}`, OBJECT],
  [text`{"a":"b","a":"b"}`, OBJECT],
  [text`{"a":[],"b":{"c":[{}]}}`, OBJECT],
  [text`{"\u0061\n":1}`, OBJECT],
  [text`{"a" : 1 , "b" : 2}`, OBJECT],
  [Buffer.from('['.repeat(64) + ']'.repeat(64)), ARRAY],
  [Buffer.from(`${'{"a":'.repeat(64)}0${'}'.repeat(64)}`), OBJECT],
];

const invalidValues: Buffer[] = [
  // Words
  text`nul`,
  text`nulll`,
  text`NULL`,
  text`Null`,
  text`tru`,
  text`True`,
  text`truth`,
  text`fals`,
  text`falsy`,
  text`undefined`,
  text`a`,
  text`*`,
  text`<null>`,
  text`NaN`,
  text`-NaN`,
  text`nan`,
  text`Infinity`,
  text`-Infinity`,
  text`+Inf`,
  // Numbers
  text`-`,
  text`--1`,
  text`+1`,
  text`++1`,
  text`- 1`,
  text`01`,
  text`-01`,
  text`00`,
  text`-012`,
  text`012.3`,
  text`.5`,
  text`-.5`,
  text`1.`,
  text`-2.`,
  text`1.e1`,
  text`0.e1`,
  text`.e1`,
  text`1e`,
  text`1E`,
  text`1e+`,
  text`1e-`,
  text`1ee2`,
  text`1e1e1`,
  text`1e1.5`,
  text`1.2.3`,
  text`1-2`,
  text`1+2`,
  text`1 2`,
  text`1 000`,
  text`1_000`,
  text`1,5`,
  text`0x1F`,
  text`0x`,
  text`0b1`,
  text`0o7`,
  text`1f`,
  text`1n`,
  text`1a`,
  text`-a`,
  text`0a`,
  text`1.a`,
  text`1ea`,
  text`9.3e+a`,
  Buffer.from('１'),
  // Strings
  text`"`,
  text`"a`,
  text`"\"`,
  text`"\\\"`,
  text`'a'`,
  text`a"`,
  text`"a" "b"`,
  text`"a"b"`,
  text`"\a"`,
  text`"\'"`,
  text`"\0"`,
  text`"\x41"`,
  text`"\v"`,
  text`"\U0041"`,
  text`"\ "`,
  text`"\é"`,
  text`"\😀"`,
  text`"\u"`,
  text`"\u0"`,
  text`"\u00"`,
  text`"\u004"`,
  text`"\u00G0"`,
  text`"\u-041"`,
  text`"\u+041"`,
  text`"\u 041"`,
  text`"\u{41}"`,
  text`"\uD800"`,
  text`"\uDBFFa"`,
  text`"\uDC00"`,
  text`"a\uDFFFb"`,
  text`"\uD800\n"`,
  text`"\uD800\u0041"`,
  text`"\uD800\uD800"`,
  text`"\uDC00\uD800"`,
  text`"\uDC00\uDC00"`,
  text`"\uD800\uDBFF\uDC00"`,
  text`"\uD834\uDd"`,
  text`"\uD834\u"`,
  text`"\uD834\"`,
  ...Array.from({ length: 0x20 }, (_, control) => bytes('"a', [control], 'b"')),
  bytes('"', [0x0a], '"'),
  bytes('"\\', [0x0a], '"'),
  bytes('"\\', [0x00], '"'),
  // Bytes that are not UTF-8
  bytes('"', [0x80], '"'),
  bytes('"', [0xbf], '"'),
  bytes('"', [0xc0, 0xaf], '"'),
  bytes('"', [0xc1, 0xbf], '"'),
  bytes('"', [0xc3], '"'),
  bytes('"', [0xc3, 0x28], '"'),
  bytes('"', [0xe0, 0x80, 0xaf], '"'),
  bytes('"', [0xe2, 0x82], '"'),
  bytes('"', [0xed, 0xa0, 0x80], '"'),
  bytes('"', [0xed, 0xa0, 0x81, 0xed, 0xb0, 0x80], '"'),
  bytes('"', [0xf0, 0x80, 0x80, 0xaf], '"'),
  bytes('"', [0xf0, 0x9f, 0x98], '"'),
  bytes('"', [0xf4, 0x90, 0x80, 0x80], '"'),
  bytes('"', [0xf5, 0x80, 0x80, 0x80], '"'),
  bytes('"', [0xf8, 0x88, 0x80, 0x80, 0x80], '"'),
  bytes('"', [0xfe], '"'),
  bytes('"', [0xff], '"'),
  bytes('"\\', [0xe5], '"'),
  bytes('"\\u', [0xe5], '"'),
  bytes([0xe5]),
  bytes('1', [0xe5]),
  bytes('1e1', [0xe5]),
  // Arrays
  text`[`,
  text`]`,
  text`[1`,
  text`[1,`,
  text`[,`,
  text`[,]`,
  text`[,1]`,
  text`[1,]`,
  text`[1,,2]`,
  text`[1,,]`,
  text`[1 2]`,
  text`["a" "b"]`,
  text`["a",`,
  text`["a"`,
  text`[1]]`,
  text`[1}`,
  text`[a]`,
  text`[:1]`,
  text`["a":1]`,
  text`[-]`,
  text`[*]`,
  text`[nul]`,
  text`[01]`,
  text`[1.]`,
  text`["\uD800"]`,
  text`["\x"]`,
  text`[1 true]`,
  text`[[]`,
  text`[{}`,
  text`[{]}`,
  bytes('["a', [0x0b], '"]'),
  bytes('[', [0x0c], ']'),
  bytes('[', [0xff], ']'),
  // Objects
  text`{`,
  text`{"a"`,
  text`{"a":`,
  text`{"a":1`,
  text`{"a":1,`,
  text`{"a":1,}`,
  text`{"a":1,,"b":2}`,
  text`{,"a":1}`,
  text`{,}`,
  text`{"a"}`,
  text`{"a":}`,
  text`{"a",1}`,
  text`{"a" 1}`,
  text`{"a"::1}`,
  text`{:1}`,
  text`{1:1}`,
  text`{a:1}`,
  text`{'a':1}`,
  text`{null:1}`,
  text`{[]:1}`,
  text`{"a":1 "b":2}`,
  text`{"a":1;"b":2}`,
  text`{"a"=1}`,
  text`{"a":1]`,
  text`{"a":1}}`,
  text`{"a":b}`,
  text`{"a":"b"#}`,
  text`{"\uD800":1}`,
  text`{"\x":1}`,
  text`{"a`,
  text`{}}`,
  text`{"a":1}/**/`,
  // Comments and other dialects
  text`/**/1`,
  text`1/**/`,
  text`//1`,
  text`1//`,
  text`#1`,
  text`[1,/**/2]`,
  text`{/**/}`,
  text`(1)`,
  text`1;`,
  text``,
  text`,`,
  text`:`,
  // Characters that JSON does not count as white space
  ...[
    [0x0b],
    [0x0c],
    [0x00],
    [0x08],
    [0x1f],
    [0xc2, 0xa0],
    [0xe2, 0x80, 0xa8],
    [0xe2, 0x81, 0xa0],
    [0xef, 0xbb, 0xbf],
  ].flatMap((space) => [
    bytes(space, '1'),
    bytes('1', space),
    bytes('[', space, '1]'),
    bytes('{', space, '"a":1}'),
  ]),
];

test('a valid value is a cell of its kind, also inside an array, an object and the definition', () => {
  for (const [value, kind] of validValues) {
    const body = bytes('{"data":[{"a":', [...value], '}]}');
    assert.equal(verdict(body), 'accepted', body.toString());
    const cell = scanInChunks(body, []).sink.rows[0]![0]!;
    assert.equal(cell.kind, kind);
    if (kind === STRING) assert.equal(cell.text, JSON.parse(value.toString()));
    else if (kind >= NUMBER) assert.equal(cell.text, value.toString());

    assert.equal(verdict(bytes('{"table":', [...value], '}')), 'accepted');
    assert.equal(verdict(bytes('{"data":[', [...value], ' ]}')), 'accepted');
    if (value.length < 100) {
      assert.equal(verdict(bytes('{"data":[{"a":[1,', [...value], ',2]}]}')), 'accepted');
      assert.equal(verdict(bytes('{"data":[{"a":{"b":', [...value], '}}]}')), 'accepted');
    }
  }
});

test('an invalid value is refused wherever it is', () => {
  const wholes: [before: string, after: string][] = [
    ['{"data":[{"a":', '}]}'],
    ['{"data":[{"a":', ' , "b":1}]}'],
    ['{"data":[{"a":[0,', ']}]}'],
    ['{"data":[{"a":{"b":', '}}]}'],
    ['{"table":', '}'],
    ['{"data":[0,', ']}'],
    ['', ''],
  ];
  for (const value of invalidValues) {
    for (const [before, after] of wholes) {
      const body = bytes(before, [...value], after);
      // In an array `1,5` is two values.
      if (/^\{.*\[0/.test(before) && value.toString() === '1,5') continue;
      // At the beginning of a body the byte order mark is allowed, but the text after it is not a valid body.
      if (before === '' && value.toString().startsWith('\uFEFF')) continue;
      // An object that is the whole body is refused because of its first key.
      const expected = before === '' && value[0] === 0x7b ? /^invalid-(json|data): / : /^invalid-json: /;
      assert.match(verdict(body), expected, body.toString('latin1'));
    }
  }
});

test('the parts of a body around the rows are accepted or refused by the grammar', () => {
  for (const body of [
    '{}',
    ' {\n}\t\r\n',
    '\uFEFF{}',
    '\uFEFF {"data":[]}',
    '{"data":null,"table":null}',
    '{"data":[ ]}',
    '{"data":[{},{ }]}',
    '{"table":{},"data":[]}',
    '{"data":[],"table":{}}',
  ]) {
    assert.equal(verdict(Buffer.from(body)), 'accepted', body);
  }
  for (const body of [
    '',
    ' ',
    '\n',
    '\uFEFF',
    '\uFEFF\uFEFF{}',
    ' \uFEFF{}',
    '{}\uFEFF',
    '{',
    '}',
    '{}{}',
    '{}}',
    '{} {}',
    '{}x',
    '{},',
    '{}//',
    '{}\0',
    '{"data":[]',
    '{"data":[',
    '{"data":',
    '{"data"',
    '{"data',
    '{"data":[]]}',
    '{"data":[}',
    '{"data":[{}}',
    '{"data":[{}',
    '{"data":[{},',
    '{"data":[{},]}',
    '{"data":[,{}]}',
    '{"data":[{},,{}]}',
    '{"data":[{}{}]}',
    '{"data":[{}:{}]}',
    '{"data":[{"a"}]}',
    '{"data":[{"a":1',
    '{"data":[{"a":1,}]}',
    '{"data":[{,"a":1}]}',
    '{"data":[{"a":1,,"b":1}]}',
    '{"data":[{"a":1"b":1}]}',
    '{"data":[{"a" "b":1}]}',
    '{"data":[{"a"1}]}',
    '{"data":[{a:1}]}',
    '{"data":[{"a":1}]},',
    '{"data":[],}',
    '{,"data":[]}',
    '{"data" []}',
    '{data:[]}',
    "{'data':[]}",
    '{"data":[];"table":{}}',
    '{"data":[]"table":{}}',
    '[1,]',
    '[',
    '"a',
    'nul',
    '-',
    '1.',
    '[] x',
    'not json',
    '{"d\\x":1}',
  ]) {
    assert.match(verdict(Buffer.from(body)), /^invalid-json: /, body);
  }
  // Byte order marks and text of other encodings.
  for (const encoding of ['utf16le', 'latin1'] as const) {
    assert.match(verdict(Buffer.from('\uFEFF{"data":[{"ä":1}]}', encoding)), /^invalid-json: /);
  }
  assert.match(verdict(bytes([0xef], '{}')), /^invalid-json: Byte 1/);
  assert.match(verdict(bytes([0xef, 0xbb], '{}')), /^invalid-json: Byte 2/);
});

test('nesting is refused at the limit, however deep it is', () => {
  for (const opening of ['[', '{"a":']) {
    for (const value of [opening.repeat(65), opening.repeat(100_000)]) {
      const body = Buffer.from(`{"data":[{"a":${value}`);
      assert.throws(
        () => scanInChunks(body, cutsEvery(4096, body.length)),
        (error) =>
          error instanceof AppError &&
          error.detail === 'Row 1: The value is nested too deeply: the limit is 64 levels (MAX_JSON_DEPTH).',
      );
    }
  }
  assert.match(verdict(Buffer.from('['.repeat(100_000).slice(0, 3000))), /^limit-exceeded: /);
});
