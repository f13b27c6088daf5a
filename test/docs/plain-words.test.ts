/** Tests that README.md and the guides can be read fast: few words, short paragraphs, plain headings and plain words. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');
const pages = ['README.md', ...globSync('docs/*.md', { cwd: root })].map((file) => ({
  file,
  text: readFileSync(join(root, file), 'utf8'),
}));

const maxWords = 80;

/** The maximum of all pages together, as `wc -w` counts: code, and the signs between cells of tables, are words, too. */
const maxTotal = 45_000;

test('README.md and the guides have at most 45,000 words together', () => {
  const total = pages.reduce((sum, { text }) => sum + text.trim().split(/\s+/).length, 0);
  assert.ok(total <= maxTotal, `They have ${total} words. Say less, or say it on one page and link to it.`);
});

test('no paragraph, item of a list or cell of a table has more than 80 words', () => {
  const long = pages.flatMap(({ file, text }) =>
    blocksOf(text)
      .map((block) => ({ block, count: wordsOf(block).length }))
      .filter(({ count }) => count > maxWords)
      .map(({ block, count }) => `${file}: ${count} words: ${block.slice(0, 60)}`),
  );
  assert.deepEqual(long, []);
});

test('no heading begins with "Of" or a similar word', () => {
  const odd = pages.flatMap(({ file, text }) =>
    [...withoutCode(text).matchAll(/^#+ (Of|From|With|To|Those|That) .*$/gm)]
      .map(([heading]) => `${file}: ${heading}`)
      .filter((heading) => !allowedHeadings.includes(heading.replace(/^.*#+ /, ''))),
  );
  assert.deepEqual(odd, []);
});

/** It is a subject: the way of a request. */
const allowedHeadings = ['From a request to rows'];

test('limits are maximum numbers, and rows have problems', () => {
  const odd = pages.flatMap(({ file, text }) =>
    [...withoutCode(text).matchAll(/\b(?:is|are) the most \w+s\b|\bat fault\b/gi)].map(
      ([words]) => `${file}: ${words}`,
    ),
  );
  assert.deepEqual(odd, []);
});

test('the checks see long paragraphs, items and cells, and not code', () => {
  const long = Array.from({ length: 81 }, () => 'word').join(' ');
  const text = `# Heading\n\n${long}\n\n- short\n- ${long}\n\n| a | b |\n|---|---|\n| short | ${long} |\n\n\`\`\`sh\n${long}\n\`\`\`\n`;
  assert.equal(blocksOf(text).filter((block) => wordsOf(block).length > maxWords).length, 3);
});

/** Returns the paragraphs, the items of lists and the cells of tables. */
function blocksOf(text: string): string[] {
  return withoutCode(text)
    .split(/\n(?:\s*\n|(?=\s*(?:[-*]|\d+\.) |\||#))/)
    .flatMap((block) => (block.startsWith('|') ? block.split(/(?<!\\)\|/) : [block]));
}

function withoutCode(text: string): string {
  return text.replace(/^ *```.*?^ *```$/gms, '');
}

/** Returns the words as a reader counts them: code in backquotes is one word, and the address of a link is none. */
function wordsOf(block: string): string[] {
  const read = block.replace(/\]\([^)]*\)/g, ']').replace(/`[^`]+`/g, 'code');
  return read.match(/[\p{L}\p{N}][^\s]*/gu) ?? [];
}
