/**
 * Tests that docs/loading.md, existing-tables.md, faulty-rows.md and warnings.md are true: their requests are sent to the running
 * service in the order of the page, and get the answers that are shown. The tables of inferred types and of warnings are complete.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { warningCodes } from '../../src/core/warning-codes.ts';
import { codeOf, lineAt, rowsUnder } from '../support/markdown.ts';
import { startTestService, type TestService } from '../support/service.ts';

const docs = join(import.meta.dirname, '..', '..', 'docs');
const read = (name: string) => readFileSync(join(docs, name), 'utf8');
const loading = read('loading.md');

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

/** Returns the requests and queries of a page in their order. */
function examplesOf(page: string): Example[] {
  return [
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
}

for (const name of ['loading.md', 'existing-tables.md', 'faulty-rows.md']) {
  suite(`docs/${name}`, () => {
    const page = read(name);
    const examples = examplesOf(page);
    let service: TestService;
    before(async () => {
      service = await startTestService();
      const [, objects] = /```sql\n(.*?)\n```/s.exec(page) ?? [];
      if (objects !== undefined) await service.rows(objects);
    });
    after(() => service.stop());

    test('every block of the page is sent or compared', () => {
      const blocks = examples.reduce(
        (sum, { body, shown }) => sum + (body === undefined ? 0 : 1) + (shown === undefined ? 0 : 1),
        0,
      );
      assert.equal(blocks, page.split(/```(?:nd)?json\n/).length - 1);
      assert.ok(examples.length >= 2);
    });

    for (const example of examples)
      test(`line ${example.line}: ${example.path ?? example.query}`, () => sendAndCompare(example, service));
  });
}

async function sendAndCompare(example: Example, service: TestService): Promise<void> {
  const { path, mediaType, body, status, member, query, shown } = example;
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
    assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body));
    return;
  }
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  const received = member === undefined ? answer.body : answer.body[member];
  assert.equal(comparable(received), comparable(JSON.parse(shown!)));
}

/** Returns JSON with its members in their order. Request ids and times differ from one answer to the next. */
function comparable(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/urn:uuid:[\da-f-]{36}/, 'urn:uuid:')
    .replace(/(^|"load": )\{\s+"id": "[\da-f-]{36}",/, '$1{')
    .replace(/"duration_ms": \d+/, '"duration_ms": 0');
}

const inferred = rowsUnder(loading, '| values | type | |').flatMap(([values, type]) =>
  codeOf(values!).map((list) => ({ list, type: codeOf(type!)[0]! })),
);

suite('the types in docs/loading.md', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

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
});

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

test('docs/warnings.md lists the declared codes of warnings with their meanings', () => {
  const withoutLinks = (text: string) => text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1');
  const listed = rowsUnder(read('warnings.md'), '| warning | |').map(([code, meaning]) => [
    ...codeOf(code!),
    withoutLinks(meaning!),
  ]);
  assert.deepEqual(listed, Object.entries(warningCodes));
});
