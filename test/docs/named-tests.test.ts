/** Tests that the tests named in docs/reliability.md and SECURITY.md exist. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');
/** A file, and the titles of tests in it: `test/x.test.ts`: "title", "another one". */
const named = /`([\w/.-]+\.(?:test|matrix)\.ts)`: ("[^"]+"(?:, "[^"]+")*)/g;

for (const page of ['docs/reliability.md', 'SECURITY.md']) {
  test(`each row with a promise in ${page} names tests that exist`, () => {
    const text = readFileSync(join(root, page), 'utf8');
    const tables = text.split(/\n\n/).filter((block) => /^\| \w+ \| test \|\n/.test(block));
    const rows = tables.flatMap((table) => table.trim().split('\n').slice(2));
    assert.ok(rows.length > 15);
    for (const row of rows) {
      const files = [...row.matchAll(named)];
      assert.ok(files.length > 0 || row.includes('](docs/'), `no test is named: ${row}`);
      for (const [, file, titles] of files) {
        const source = readFileSync(join(root, file!), 'utf8');
        for (const [, title] of titles!.matchAll(/"([^"]+)"/g)) {
          const begins = new RegExp(`\\b(test|suite|describe)\\(\\s*(['"\`])${RegExp.escape(title!)}`);
          assert.match(source, begins, `${file} has no test "${title}"`);
        }
      }
    }
  });
}
