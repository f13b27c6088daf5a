import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBlank, trimmedEnd, trimmedStart, trimText } from './white-space.ts';

function isSpace(character: string): boolean {
  const isControl = character > '\0' && character < ' ';
  return isControl || /[\p{White_Space}\u{feff}\u{200b}]/u.test(character);
}

test('every character is white space in texts exactly if it is white space in bytes', () => {
  const wrong: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    const bytes = Buffer.from(character);
    const expected = isSpace(character);
    const isTrimmed = trimText(character) === '';
    if (isBlank(bytes, 0, bytes.length) !== expected || isTrimmed !== expected) wrong.push(code.toString(16));
  }
  assert.deepEqual(wrong, []);
});

test('white space at both ends is removed, and white space within a text stays', () => {
  for (const inner of ['a', 'a b', 'é\u00a0漢', '\0', 'a\u200bb', '😀']) {
    for (const outer of ['', ' ', '\u3000\t', '\u200b\ufeff\u00a0', '\r\n\u001a', '\u0085']) {
      const text = outer + inner + outer;
      const bytes = Buffer.from(text);
      const start = trimmedStart(bytes, 0, bytes.length);
      const end = trimmedEnd(bytes, start, bytes.length);
      assert.equal(bytes.toString('utf8', start, end), inner);
      assert.equal(trimText(text), inner);
      assert.equal(isBlank(bytes, 0, bytes.length), false);
      assert.equal(isBlank(Buffer.from(outer), 0, Buffer.byteLength(outer)), true);
    }
  }
});

test('a character that is cut at the end of the range is not white space', () => {
  const bytes = Buffer.from('\u3000');
  assert.equal(isBlank(bytes, 0, 2), false);
  assert.equal(trimmedEnd(bytes, 0, 2), 2);
});
