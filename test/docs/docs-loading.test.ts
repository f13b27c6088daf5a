/**
 * Tests that docs/loading.md is true: its requests are sent to the running service in the order of the page, and get the
 * answers that are shown. Every row of its tables is tried, and the tables have every code.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { warningCodes } from '../../src/core/warning-codes.ts';
import { codeOf, lineAt, rowsUnder } from '../support/markdown.ts';
import { startTestService, type TestService } from '../support/service.ts';

const docs = join(import.meta.dirname, '..', '..', 'docs');
const page = readFileSync(join(docs, 'loading.md'), 'utf8');

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(/```sql\n(.*?)\n```/s.exec(page)![1]!);
});
after(() => service.stop());

interface Example {
  line: number;
  /** The path and the body of the request, and the status of its answer; or the rows that a query returns. */
  path?: string;
  mediaType?: string;
  body?: string;
  status?: number;
  /** The member of the answer that is shown; undefined: the whole answer. */
  member?: string;
  query?: string;
  shown?: string;
}

const json = '```json\\n((?:(?!```).)*)\\n```';
const sent = json.replace('json', '(json|ndjson)');
const requests = new RegExp(
  `\`POST (/\\S+)\` (?:with|and)\\n\\n${sent}\\n\\n(?:is answered with (\\d{3})(?: and|, and \`(\\w+)\` is)\\n\\n${json})?`,
  'gs',
);
const queries = new RegExp(`\`(SELECT [^\`]+)\` gives\\n\\n${json}`, 'gs');

const examples: Example[] = [
  ...[...page.matchAll(requests)].map((match) => {
    const [, path, language, body, status, member, shown] = match;
    return {
      line: lineAt(page, match.index),
      path: path!,
      mediaType: language === 'json' ? 'application/json' : 'application/x-ndjson',
      body: body!,
      ...(status !== undefined && { status: Number(status), shown: shown! }),
      ...(member !== undefined && { member }),
    };
  }),
  ...[...page.matchAll(queries)].map((match) => ({
    line: lineAt(page, match.index),
    query: match[1]!,
    shown: match[2]!,
  })),
].sort((a, b) => a.line - b.line);

test('every block of the page is sent or compared', () => {
  const blocks = examples.reduce(
    (sum, { body, shown }) => sum + (body === undefined ? 0 : 1) + (shown === undefined ? 0 : 1),
    0,
  );
  assert.equal(blocks, page.split(/```(?:nd)?json\n/).length - 1);
  assert.ok(examples.length >= 20);
});

for (const { line, path, mediaType, body, status, member, query, shown } of examples) {
  test(`line ${line}: ${path ?? query}`, async () => {
    if (query !== undefined) {
      const { rows } = await service.database.pool.query(query);
      assert.equal(comparable(rows), comparable(JSON.parse(shown!)));
      return;
    }
    const answer = await service.request('POST', path!, {
      body: body!,
      headers: { 'content-type': mediaType! },
    });
    if (status === undefined) {
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return;
    }
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    const received = member === undefined ? answer.body : answer.body[member];
    assert.equal(comparable(received), comparable(JSON.parse(shown!)));
  });
}

/** Returns JSON with its members in their order. Request ids and times differ from one answer to the next. */
function comparable(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/urn:uuid:[\da-f-]{36}/, 'urn:uuid:')
    .replace(/(^|"load": )\{\s+"id": "[\da-f-]{36}",/, '$1{')
    .replace(/"duration_ms": \d+/, '"duration_ms": 0');
}

const inferred = rowsUnder(page, '| values | type | |').flatMap(([values, type]) =>
  codeOf(values!).map((list) => ({ list, type: codeOf(type!)[0]! })),
);

for (const { list, type } of inferred) {
  test(`the values ${list} make a column of the type ${type}, and every value comes back`, async () => {
    const elements = elementsOf(list);
    const data = elements.map((element) => `{"v":${element}}`).join();
    const answer = await service.request('POST', '/table/inferred/upload/json?if_exists=replace', {
      body: `{"data":[${data}]}`,
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.table.columns[0].type, type);
    const stored = await service.rows('SELECT v::text FROM inferred ORDER BY ctid');
    assert.equal(stored.length, elements.length);
    if (type !== 'text') return;
    const texts = elements.map((element) => {
      const value = JSON.parse(element);
      return value === null || typeof value === 'string' ? value : element;
    });
    assert.deepEqual(
      stored.map(({ v }) => v),
      texts,
    );
  });
}

/** Returns the elements of a list as they are written. */
function elementsOf(list: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 1;
  let isString = false;
  for (let at = 1; at < list.length - 1; at += 1) {
    const character = list[at]!;
    if (character === '"') isString = !isString;
    if (isString) continue;
    if ('[{'.includes(character)) depth += 1;
    if (']}'.includes(character)) depth -= 1;
    if (character === ',' && depth === 0) {
      elements.push(list.slice(start, at).trim());
      start = at + 1;
    }
  }
  return [...elements, list.slice(start, -1).trim()];
}

const problems = rowsUnder(page, '| code | type | value | detail |').map(([code, type, value, detail]) => ({
  code: codeOf(code!)[0]!,
  type: codeOf(type!)[0]!,
  isNullable: !type!.endsWith(' not null'),
  value: codeOf(value!)[0]!,
  detail: detail!.replaceAll('\\|', '|'),
}));

for (const { code, type, isNullable, value, detail } of problems) {
  test(`${value} for ${type} is the problem ${code}`, async () => {
    const table = { columns: [{ name: 'v', type, is_nullable: isNullable }] };
    const answer = await service.request('POST', '/table/nothing/upload/json', {
      body: `{"table":${JSON.stringify(table)},"data":[{"v":${value}}]}`,
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    assert.equal(answer.body.error_count, 1);
    const [problem] = answer.body.errors;
    assert.deepEqual([problem.code, problem.detail], [code, detail]);
    const pointer = code === 'null-element' ? '/data/0/v/1' : '/data/0/v';
    assert.deepEqual([problem.row, problem.column, problem.pointer], [1, 'v', pointer]);
  });
}

test('the page lists the declared codes of warnings with their meanings', () => {
  const withoutLinks = (text: string) => text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1');
  const listed = rowsUnder(page, '| warning | |').map(([code, meaning]) => [
    ...codeOf(code!),
    withoutLinks(meaning!),
  ]);
  assert.deepEqual(listed, Object.entries(warningCodes));
});

test('the page has exactly the codes of problems in the data', () => {
  const errors = readFileSync(join(docs, 'errors.md'), 'utf8');
  const section = errors.split('\n## invalid-data\n')[1]!.split('\n## ')[0]!;
  const known = [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap((row) => codeOf(row[1]!));
  const own = page.split('\n## Problems\n')[1]!.split('\n## Interruptions\n')[0]!;
  const told = [...own.matchAll(/^\| (`.*?`) \|/gm)].flatMap((row) => codeOf(row[1]!));
  assert.deepEqual([...new Set(told)].sort(), known.toSorted());
});
