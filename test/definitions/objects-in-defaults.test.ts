/** A default that names an object means the same object in every operation, and its answer can be sent back. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE TABLE customers (id integer); CREATE TYPE mood AS ENUM ('glad');
    CREATE FUNCTION twice(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
    CREATE OPERATOR @%@ (FUNCTION = twice, RIGHTARG = integer);
    CREATE COLLATION own_order FROM "C"; CREATE TEXT SEARCH CONFIGURATION own_words (COPY = simple);
    CREATE TEXT SEARCH DICTIONARY own_dictionary (TEMPLATE = simple); CREATE SEQUENCE numbers;
    CREATE DOMAIN relation AS regclass CHECK (value IS NOT NULL)`);
});
after(() => service.stop());
beforeEach(() => service.rows('DROP TABLE IF EXISTS subject'));

/** Types of columns and defaults that name objects of the callers' search path. */
const defaults: [string, string][] = [
  ['regclass', "'customers'::regclass"],
  ['regclass', 'customers'],
  ['regclass', "'public.customers'::regclass"],
  ['regclass[]', "'{customers}'::regclass[]"],
  ['relation', "'customers'::regclass"],
  ['relation', "'customers'::relation"],
  ['oid', "'customers'::regclass"],
  ['text', "'customers'::regclass"],
  ['bigint', "'customers'::regclass"],
  ['regtype', "'mood'::regtype"],
  ['regtype', 'mood[]'],
  ['regproc', "'twice'::regproc"],
  ['regprocedure', "'twice(integer)'::regprocedure"],
  ['regoper', "'@%@'::regoper"],
  ['regoperator', "'@%@(none,integer)'::regoperator"],
  ['regcollation', "'own_order'::regcollation"],
  ['regconfig', "'own_words'::regconfig"],
  ['regdictionary', "'own_dictionary'::regdictionary"],
  ['regnamespace', "'public'::regnamespace"],
  ['int', "nextval('numbers')"],
  ['text', "'glad'::mood"],
];

test('a default that names an object is the same in every operation, and as the answer writes it', async () => {
  const upload = '/table/subject/upload/json?if_exists=';
  for (const [type, text] of someOf(6, defaults)) {
    const shown = `${type} ${text}`;
    await service.rows('DROP TABLE IF EXISTS subject');
    const definition = {
      columns: [
        { name: 'k', type: 'int' },
        { name: 'a', type, default: text },
      ],
    };
    const created = await service.post('/table/subject', { table: definition });
    assert.equal(created.status, 201, `${shown}: ${JSON.stringify(created.body)}`);
    // `if_not_exists` compares the whole definition, and the uploads create or compare it.
    for (const table of [definition, created.body.table]) {
      const again = await service.post('/table/subject?if_not_exists=true', { table });
      assert.deepEqual(
        [again.status, again.body.differences],
        [200, []],
        `${shown}: ${JSON.stringify(again.body)}`,
      );
      for (const [operation, status] of [
        ['append', 200],
        ['truncate', 200],
        ['replace', 201],
      ] as const) {
        const loaded = await service.post(upload + operation, { table, data: [{ k: 1 }] });
        assert.equal(loaded.status, status, `${shown} ${operation}: ${JSON.stringify(loaded.body)}`);
        assert.equal(loaded.body.table.columns[1].default, created.body.table.columns[1].default);
      }
      await service.rows('DROP TABLE subject');
      const made = await service.post(`${upload}fail`, { table, data: [{ k: 1 }] });
      assert.equal(made.status, 201, `${shown} new: ${JSON.stringify(made.body)}`);
    }
  }
});

test('a default that names no object, or has a wrong type, is refused in every operation', async () => {
  const requests = [
    ['/table/subject', {}],
    ['/table/subject/upload/json', { data: [{ k: 1 }] }],
  ] as const;
  for (const [type, text, reason] of [
    ['regclass', "'nobody'::regclass", /names an object that does not exist/],
    ['oid', "'nobody'::regclass", /names an object that does not exist/],
    ['date', "'customers'::regclass", /cannot be stored in a column of type date/],
    ['boolean', "'mood'::regtype", /cannot be stored in a column of type boolean/],
  ] as const) {
    for (const [path, body] of requests) {
      const table = {
        columns: [
          { name: 'k', type: 'int' },
          { name: 'a', type, default: text },
        ],
      };
      const answer = await service.post(path, { ...body, table });
      assert.equal(answer.status, 422, JSON.stringify(answer.body));
      assert.match(answer.body.errors[0].detail, reason);
    }
  }
});
