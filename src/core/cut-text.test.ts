import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutMiddle, cutText } from './cut-text.ts';

test('a text that is cut has no half of a surrogate pair', () => {
  assert.equal(cutText('abc', 3), 'abc');
  assert.equal(cutText('abcd', 3), 'ab…');
  assert.equal(cutText('a😀bc', 3), 'a…');
  assert.equal(cutText('😀😀😀', 4), '😀…');
  assert.equal(cutMiddle('abcdef', 3, 3), 'abcdef');
  assert.equal(cutMiddle('abcdefg', 3, 3), 'abc…efg');
  assert.equal(cutMiddle('a😀cd😀g', 2, 2), 'a…g');
});
