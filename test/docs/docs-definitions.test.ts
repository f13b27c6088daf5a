/**
 * Tests that docs/definitions.md is true: every request on the page is sent to the running service in the order of the page,
 * and gets the answer that is shown. Its tables are complete. The examples of test/definitions/refused-definitions.md, which has each code of a
 * problem, are tested in the same way.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { allProblemCodes, problemCodes } from '../../src/core/problem-codes.ts';
import { reservedTypeNames } from '../../src/engine/tables/column-types.ts';
import { codeOf, lineAt, rowsUnder } from '../support/markdown.ts';
import { startTestService, type TestService } from '../support/service.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');
const definitionsPage = read('docs', 'definitions.md');
const furtherExamples = read('test', 'definitions', 'refused-definitions.md');
/** The requests are sent in this order. */
const page = `${definitionsPage}\n${furtherExamples}`;
const loadsPage = read('docs', 'loads.md');

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(/```sql\n(.*?)\n```/s.exec(page)![1]!);
  for (let level = 1; level <= 18; level++) {
    const inner = level === 1 ? 'integer' : `level${level - 1}`;
    await service.rows(`CREATE TYPE level${level} AS (a ${inner}, b ${inner})`);
  }
});

after(() => service.stop());

interface Example {
  method: string;
  path: string;
  body: string | undefined;
  status: number;
  /** The text of the block, which is JSON; undefined: the answer is not shown. */
  shown: string | undefined;
  /** The member of the answer that is shown; `answer`: the whole answer. */
  part: string;
  /** The number of blocks of the page for this example. */
  blocks: number;
  line: number;
}

/** A column with a default in a row of the table of defaults. */
interface DefaultRow {
  text: string | null;
  type: string;
  /** The answer as the cell shows it. */
  answered: string;
}

const json = '```json\\n((?:(?!```).)*)\\n```';
const examples = [...requestExamples(), ...problemExamples()].sort((a, b) => a.line - b.line);
const codes = [...page.matchAll(/^### `([\w-]+)`$/gm)].map((match) => match[1]!);

/** Returns the examples of a `POST …` with a body (or with a number of columns or indexes) and the whole answer. */
function requestExamples(): Example[] {
  const request = `\`(GET|POST|PUT) (/\\S+)\` (?:with\\n\\n${json}\\n\\n|with ([\\d,]+) (columns|indexes) )?`;
  const answer = `is answered with (\\d{3})(?: and|, and \`(\\w+)\` is)\\n\\n${json}`;
  const pattern = new RegExp(`${request}(?:${answer}|creates )`, 'gs');
  return [...page.matchAll(pattern)].map((match) => {
    const [, method, path, sent, count, items, status = '201', part = 'answer', shown] = match;
    return {
      method: method!,
      path: path!,
      body: count === undefined ? sent : definitionOf(Number(count.replace(',', '')), items!),
      status: Number(status),
      shown,
      part,
      blocks: (sent === undefined ? 0 : 1) + (shown === undefined ? 0 : 1),
      line: lineAt(page, match.index),
    };
  });
}

/** Returns the definitions that are directly followed by the problems they get. */
function problemExamples(): Example[] {
  const pattern = new RegExp(`${json}\\n\\n${json}`, 'gs');
  return [...page.matchAll(pattern)].map((match) => ({
    method: 'POST',
    path: '/api/v1/table/new',
    body: `{"table": ${match[1]}}`,
    status: 422,
    shown: match[2]!,
    part: 'errors',
    blocks: 2,
    line: lineAt(page, match.index),
  }));
}

function definitionOf(count: number, items: string): string {
  const columns = Array.from({ length: items === 'columns' ? count : 1 }, (_, index) => ({
    name: `c${index + 1}`,
    type: 'integer',
  }));
  const indexes = Array(items === 'indexes' ? count : 0).fill({ columns: [{ column: 'c1' }] });
  return JSON.stringify({ table: { columns, indexes } });
}

const typesIn = (text: string) =>
  rowsUnder(text, '| type | answered |').map(([sent, answered]) => ({
    sent: codeOf(sent!),
    answered: codeOf(answered!)[0]!,
  }));
const types = typesIn(page);

const defaults = rowsUnder(page, '| default | for a column of type | means | answered |').map(
  ([text, type, , answered]): DefaultRow => ({
    text: JSON.parse(codeOf(text!)[0]!),
    type: codeOf(type!)[0]!,
    answered: answered!,
  }),
);

test('every block and every row of the pages is sent', () => {
  assert.ok(types.length >= 35 && defaults.length >= 50 && examples.length >= 30);
  const blocks = examples.reduce((sum, example) => sum + example.blocks, 0);
  assert.equal(blocks, page.split('```json\n').length - 1);
});

test('the page has every alias of a type', () => {
  const named = new Set(typesIn(definitionsPage).flatMap(({ sent }) => sent));
  assert.deepEqual(
    reservedTypeNames.filter((name) => !named.has(name)),
    [],
  );
});

test('the types are answered as the page shows', async () => {
  for (const [index, { sent, answered }] of types.entries()) {
    const columns = sent.map((type, position) => ({ name: `c${position}`, type }));
    const { status, body } = await service.post(`/table/types${index}`, { table: { columns } });
    assert.equal(status, 201, `${sent}: ${JSON.stringify(body)}`);
    const received = body.table.columns.map((column: { type: string }) => column.type);
    assert.deepEqual(received, sent.fill(answered));
  }
});

test('the defaults are answered as the page shows', async () => {
  for (const [index, { text, type, answered }] of defaults.entries()) {
    const columns = [{ name: 'c', type, default: text }];
    const { status, body } = await service.post(`/table/defaults${index}`, { table: { columns } });
    const shown = codeOf(answered)[0]!;
    const place = `${JSON.stringify(text)} for ${type}`;
    if (answered.startsWith('refused: ')) {
      assert.equal(status, 422, place);
      // The error lists the functions.
      const { detail } = body.errors[0];
      const end = detail.indexOf(' A default can call only these functions');
      assert.equal(end === -1 ? detail : `${detail.slice(0, end)} …`, shown);
      assert.deepEqual([body.errors[0].code, body.error_count], ['invalid-default', 1]);
    } else {
      assert.equal(status, 201, `${place}: ${JSON.stringify(body)}`);
      const [column] = body.table.columns;
      assert.equal(withoutChance(JSON.stringify(column.default)), withoutChance(shown), place);
      assert.equal(column.default_is_expression, undefined, place);
    }
  }
});

test('an answered default means the same when it is sent', async () => {
  for (const [index, { text, type, answered }] of defaults.entries()) {
    if (answered.startsWith('refused: ')) continue;
    const columns = [{ name: 'c', type, default: text }];
    const first = await service.post(`/table/once${index}`, { table: { columns } });
    const again = await service.post(`/table/again${index}`, { table: first.body.table });
    assert.equal(again.status, 201, `${text}: ${JSON.stringify(again.body)}`);
    assert.deepEqual(again.body.table.columns, first.body.table.columns);
  }
});

test('the page has exactly the allowed functions', async () => {
  const columns = [{ name: 'c', type: 'integer', default: 'nothing()' }];
  const { body } = await service.post('/table/new', { table: { columns } });
  const told = /: ([\w, ]+)\.$/.exec(body.detail)![1]!.split(', ');
  const listed = rowsUnder(definitionsPage, '| for | functions |').flatMap(([, names]) => codeOf(names!));
  assert.deepEqual(listed.toSorted(), told.toSorted());
});

for (const { method, path, body, status, shown, part, line } of examples) {
  test(`line ${line}: ${method} ${path} is answered as the page shows`, async (context) => {
    if (shown?.includes('"unknown-function"') && !(await forgetFunction('uuidv7'))) {
      context.skip('takes a superuser, or a PostgreSQL before 18');
      return;
    }
    const answer = await service.request(method, path, {
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
    });
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    if (shown === undefined) return;
    const member = part === 'answer' ? answer.body : answer.body[part];
    const received = part === 'errors' && member.length === 1 ? member[0] : member;
    assert.equal(inOrder(received), inOrder(JSON.parse(shown)));
  });
}

/** Renames a function, so that PostgreSQL is like an older version without it. Returns whether the function is now absent. */
async function forgetFunction(name: string): Promise<boolean> {
  const functions = await service.rows(
    `SELECT oid::regprocedure::text AS signature FROM pg_proc WHERE proname = $1`,
    [name],
  );
  if (functions.length === 0) return true;
  if (service.database.adminUrl === undefined) return false;
  const admin = new pg.Client(service.database.adminUrl);
  await admin.connect();
  for (const [index, { signature }] of functions.entries()) {
    await admin.query(`ALTER FUNCTION pg_catalog.${signature} RENAME TO forgotten_${index}`);
  }
  await admin.end();
  return true;
}

/** Returns JSON with its members in their order, so that the order is compared, too. */
function inOrder(value: unknown): string {
  return withoutChance(JSON.stringify(value, null, 2));
}

/** Ids and times differ from one answer to the next. */
function withoutChance(text: string): string {
  return text
    .replace(/urn:uuid:[\da-f-]{36}/, 'urn:uuid:')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00/, 'a moment');
}

test('each code of a problem is in an example of its own section', () => {
  const sections = furtherExamples.split(/^(?=##+ )/m).filter((section) => section.startsWith('### `'));
  for (const [index, code] of codes.entries())
    assert.ok(sections[index]!.includes(`"code": "${code}"`), code);
});

/** Only a database with Citus has these problems: test/citus/. */
const ofCitus = ['type-not-hashable', 'key-without-distribution-column', 'reference-not-colocated'];

test('every code that a definition can get has an example', () => {
  const declared = Object.keys(problemCodes['invalid-definition']).filter((code) => !ofCitus.includes(code));
  assert.deepEqual(
    declared.filter((code) => !codes.includes(code)),
    [],
  );
  const known: string[] = allProblemCodes;
  assert.deepEqual(
    codes.filter((code) => !known.includes(code)),
    [],
  );
});

test('a creation takes as many round trips as the page says', async () => {
  assert.match(definitionsPage, /A creation takes two round trips/);
  const plain = { name: 'id', type: 'bigint' };
  const reference = { name: '', reference_table: 'customers', reference_column: 'id' };
  const trips = (name: string, table: object) => roundTrips(() => service.post(`/table/${name}`, { table }));
  const rich = {
    columns: [
      plain,
      { name: 'c', type: 'varchar(3)', default: 'abc' },
      { name: 'at', type: 'date', default: 'now()' },
    ],
    constraints: { primary_key: { columns: ['id'] }, foreign_keys: [{ ...reference, column: 'id' }] },
  };
  assert.equal(await trips('two', rich), 2);
  assert.equal(await trips('domain', { columns: [plain, { name: 'p', type: 'percentage' }] }), 3);
  const unlike = {
    columns: [{ name: 'customer', type: 'integer' }],
    constraints: { foreign_keys: [{ ...reference, column: 'customer' }] },
  };
  assert.equal(await trips('unlike', unlike), 3);
  const headers = { 'idempotency-key': 'trips' };
  const keyed = () => service.post('/table/keyed', { table: rich }, { headers });
  // Another connection claims the key in one round trip.
  assert.equal(await roundTrips(keyed), 3);
  assert.match(loadsPage, /A creation with a key takes two round trips to PostgreSQL more/);
});

/**
 * Returns the number of round trips on the connection that makes the table: how often the service sends statements there when all
 * earlier ones are answered. Other connections do not count, because the service also uses them between requests.
 */
async function roundTrips(work: () => Promise<{ status: number }>): Promise<number> {
  const prototype = pg.Client.prototype as { query: (...sent: unknown[]) => unknown };
  const { query } = prototype;
  const connections = new Map<unknown, { trips: number; unanswered: number; created: boolean }>();
  prototype.query = function (this: unknown, ...sent) {
    const connection = connections.get(this) ?? { trips: 0, unanswered: 0, created: false };
    connections.set(this, connection);
    if (connection.unanswered === 0) connection.trips += 1;
    connection.unanswered += 1;
    connection.created ||= /create table/i.test(textOf(sent[0]));
    return (query.apply(this, sent) as Promise<unknown>).finally(() => {
      connection.unanswered -= 1;
    });
  };
  try {
    assert.equal((await work()).status, 201);
  } finally {
    prototype.query = query;
  }
  const creating = [...connections.values()].filter(({ created }) => created);
  assert.equal(creating.length, 1);
  return creating[0]!.trips;
}

/** Returns the statement that a call of `query` sends. */
function textOf(sent: unknown): string {
  return typeof sent === 'string' ? sent : ((sent as { text?: string }).text ?? '');
}
