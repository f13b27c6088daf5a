/**
 * Internal errors of PostgreSQL (XX000). One that a single value causes is a problem of this value. One that another session causes, by a
 * change of the catalogue, is a conflict.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t'));

/** PostgreSQL reads at most 32 operators in a row: "tsquery stack too small". */
const unreadable = `${'!'.repeat(33)}x`;
const row = { a: unreadable, b: 2 };
const good = { a: 'x', b: 1 };
const tables: [what: string, sql: string][] = [
  ['a value', 'b int PRIMARY KEY, a tsquery'],
  ['an element of an array', 'b int PRIMARY KEY, a tsquery[]'],
  ['a CHECK', 'b int PRIMARY KEY, a text CHECK (a::tsquery IS NOT NULL)'],
  ['a generated column', 'b int PRIMARY KEY, a text, c tsquery GENERATED ALWAYS AS (a::tsquery) STORED'],
  ['a default', `b int PRIMARY KEY, a text, c tsquery DEFAULT (pg_catalog.repeat('!', 33) || 'x')::tsquery`],
];
const isDefault = (what: string) => what === 'a default';

for (const [what, columns] of tables)
  test(`an internal error in ${what} is a problem of the row`, async () => {
    await service.rows(`CREATE TABLE t (${columns})`);
    const inArray = what === 'an element of an array';
    const rows = [good, row].map(({ a, b }) => ({
      a: inArray ? [a] : a,
      b,
      ...(isDefault(what) && b === 1 && { c: 'x' }),
    }));
    for (const query of ['', '&on_conflict=skip', '&on_conflict=update']) {
      const path = `/table/t/upload/json?if_exists=append${query}`;
      const { errors } = assertProblem(await service.post(path, { data: rows }), 422, 'invalid-data');
      const shown = `${query} ${JSON.stringify(errors)}`;
      assert.deepEqual(
        errors.map(({ row }) => row),
        [2],
        shown,
      );
      const { code, detail } = errors[0]!;
      if (isDefault(what)) assert.equal(code, 'failing-default', shown);
      // Before PostgreSQL 16 the service tries each text by itself, and knows only that PostgreSQL cannot read it.
      else assert.match(code, /^(refused-by-postgresql|invalid-input)$/, shown);
      if (code !== 'invalid-input') assert.match(detail, /tsquery stack too small/);
      const taken = await service.post(`${path}&faulty_rows=leave_out&dry_run=true`, { data: rows });
      assert.equal(taken.status, 200, `${query} ${JSON.stringify(taken.body)}`);
      assert.deepEqual([taken.body.load.rows, taken.body.load.rows_left_out], [1, 1], query);
    }
  });

test('an internal error in the default of a definition is a problem of the default', async () => {
  for (const [type, value] of [
    ['tsquery', unreadable],
    ['tsquery', `'${unreadable}'::tsquery`],
    ['tsquery[]', `{${unreadable}}`],
  ]) {
    const table = { columns: [{ name: 'a', type, default: value }] };
    const { errors } = assertProblem(await service.post('/table/t', { table }), 422, 'invalid-definition');
    assert.deepEqual(
      errors.map(({ code, pointer }) => [code, pointer]),
      [['invalid-default', '/table/columns/0/default']],
    );
  }
});

suite('an internal error about the catalogue', () => {
  test('an object that was dropped at the same moment is a conflict and never a problem of a row', async () => {
    await service.rows(`
      CREATE FUNCTION lose_type() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE id oid; BEGIN
        CREATE TYPE pg_temp.lost AS (a integer);
        id := 'pg_temp.lost'::regtype;
        DROP TYPE pg_temp.lost;
        PERFORM pg_catalog.array_in('{}', id, -1);
        RETURN NEW;
      END $$;
      CREATE TABLE t (b int);
      CREATE TRIGGER u BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION lose_type()`);
    for (const query of ['', '&faulty_rows=leave_out']) {
      const answer = await service.post(`/table/t/upload/json?if_exists=append${query}`, {
        data: [{ b: 1 }],
      });
      assertProblem(answer, 409, 'write-conflict');
    }
  });
});
