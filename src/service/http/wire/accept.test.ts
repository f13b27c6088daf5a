import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptsCsv, acceptsJson, prefersCsv } from './accept.ts';

const cases: [accept: string | undefined, json: boolean, csv: boolean, prefersCsv: boolean][] = [
  [undefined, true, false, false],
  ['', true, false, false],
  ['*/*', true, true, false],
  ['application/*', true, false, false],
  ['application/problem+json', true, false, false],
  ['text/html', false, false, false],
  ['text/*', false, true, true],
  ['text/csv', false, true, true],
  ['Text/CSV; charset=utf-8', false, true, true],
  ['text/csv;q=0', false, false, false],
  ['text/csv, */*', true, true, true],
  ['text/csv, */*;q=0.1', true, true, true],
  ['text/csv;q=0.5, */*', true, true, false],
  ['text/csv, application/json', true, true, false],
  ['application/json;q=0.9, text/csv', true, true, true],
  ['application/json, text/csv;q=0.9', true, true, false],
  ['application/json;q=0, text/csv', false, true, true],
  ['text/*;q=0.5, application/json', true, true, false],
  ['text/*, application/*', true, true, false],
  ['text/*, */*', true, true, true],
  ['application/json;q=0.9, */*', true, true, false],
  ['application/json;q=0, */*', false, true, true],
  ['application/json;q=0, */*; q=0.0', false, false, false],
  ['application/json;q=0.5, text/html', true, false, false],
  ['application/json;q=0, application/problem+json', true, false, false],
  ['nonsense, text/csv', false, true, true],
];

for (const [accept, json, csv, prefers] of cases) {
  test(`Accept: ${accept}`, () => {
    assert.deepEqual([acceptsJson(accept), acceptsCsv(accept), prefersCsv(accept)], [json, csv, prefers]);
  });
}
