import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ClientBase } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import type { Problem } from '../../../core/errors.ts';
import { Problems } from '../../../encoding/problems/problems.ts';
import { inTransaction } from '../../../postgres/transaction.ts';
import { findBrokenRows, type NewRule } from './broken-rows.ts';
import { readNamedRows } from './named-rows.ts';

type UniqueRule = Extract<NewRule, { kind: 'unique' }>;

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

async function inTable(definition: string, work: (client: ClientBase) => Promise<void>): Promise<void> {
  await inTransaction(database.pool, { rollback: true }, async (client) => {
    await client.query(
      `SET LOCAL search_path TO public; ${definition}; SET LOCAL search_path TO pg_catalog, pg_temp`,
    );
    await work(client);
  });
}

async function broken(client: ClientBase, rules: NewRule[], mayRead = true): Promise<Problems> {
  const problems = new Problems();
  await findBrokenRows(client, await readNamedRows(client, 'public', 't', mayRead), rules, problems);
  return problems;
}

function told(problems: Problems): Pick<Problem, 'key' | 'column' | 'value' | 'code' | 'detail'>[] {
  return problems.listed();
}

test('each row that breaks a rule is named by its key', async () => {
  const definition = `CREATE TABLE r (k integer PRIMARY KEY); INSERT INTO r VALUES (1);
    CREATE DOMAIN d AS integer CONSTRAINT low CHECK (VALUE > 0);
    CREATE TABLE t (id d PRIMARY KEY, a integer, b text); INSERT INTO t VALUES (1, 1, 'x'), (2, 1, 'x'), (3, NULL, NULL), (4, NULL, NULL), (5, 7, 'y');
    ALTER TABLE t ADD CONSTRAINT refers FOREIGN KEY (a) REFERENCES r NOT VALID, ADD CONSTRAINT low CHECK (a < 5) NOT VALID`;
  await inTable(definition, async (client) => {
    const nulls = await broken(client, [{ kind: 'not null', column: 'a' }]);
    const reason = { column: 'a', code: 'null-not-allowed', detail: told(nulls)[0]!.detail };
    assert.deepEqual(told(nulls), [
      { key: { id: '3' }, ...reason },
      { key: { id: '4' }, ...reason },
    ]);
    const key: UniqueRule = { kind: 'unique', name: 'k', columns: ['a', 'b'], nullsNotDistinct: false };
    const repeated = { column: 'a, b', code: 'not-unique' };
    assert.deepEqual(told(await broken(client, [key])), [
      { key: { id: '2' }, value: '1, x', ...repeated, detail: 'must be unique: also in the row with id 1' },
    ]);
    assert.deepEqual(
      told(await broken(client, [{ ...key, nullsNotDistinct: true }])).map(({ key: id }) => id),
      [{ id: '2' }, { id: '4' }],
    );
    assert.deepEqual(
      told(
        await broken(client, [
          { kind: 'foreign key', name: 'refers' },
          { kind: 'check', name: 'low' },
        ]),
      ),
      [
        {
          key: { id: '5' },
          column: 'a',
          value: '7',
          code: 'no-such-reference',
          detail: 'has no match in public.r (k)',
        },
        {
          key: { id: '5' },
          column: 'a',
          value: '7',
          code: 'check-violation',
          detail: 'does not pass the check "low": (a < 5)',
        },
      ],
    );
  });
});

test('a foreign key to the table itself, and rows of partitions without a key', async () => {
  const definition = `CREATE TABLE t (a integer, b integer) PARTITION BY LIST (a); CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
    CREATE TABLE t2 PARTITION OF t DEFAULT; INSERT INTO t VALUES (1, NULL), (2, NULL), (2, 3)`;
  await inTable(definition, async (client) => {
    const found = await broken(client, [{ kind: 'not null', column: 'b' }]);
    assert.deepEqual(
      found.listed().map(({ key }) => key),
      [
        { tableoid: 't1', ctid: '(0,1)' },
        { tableoid: 't2', ctid: '(0,1)' },
      ],
    );
    const [repeated] = told(
      await broken(client, [{ kind: 'unique', name: 'k', columns: ['a'], nullsNotDistinct: false }]),
    );
    assert.equal(repeated!.detail, 'must be unique: also in the row with tableoid t2, ctid (0,1)');
  });
  const own = `CREATE TABLE t (id integer PRIMARY KEY, parent integer); INSERT INTO t VALUES (1, NULL), (2, 1), (3, 4);
    ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (parent) REFERENCES t NOT VALID`;
  await inTable(own, async (client) => {
    const found = await broken(client, [{ kind: 'foreign key', name: 'f' }]);
    assert.deepEqual(
      found.listed().map(({ key, value }) => [key, value]),
      [[{ id: '3' }, '4']],
    );
  });
});

test('many problems are counted, and their rows are shown only to those who may read them', async () => {
  const definition = `CREATE TABLE t (id integer PRIMARY KEY, a text); INSERT INTO t SELECT n, 'secret' FROM generate_series(1, 3000) n`;
  await inTable(definition, async (client) => {
    const rule: UniqueRule = { kind: 'unique', name: 'k', columns: ['a'], nullsNotDistinct: false };
    const shown = await broken(client, [rule]);
    assert.deepEqual([shown.count, shown.listed().length, shown.groups()![0]!.count], [2999, 100, 2999]);
    const hidden = await broken(client, [rule], false);
    assert.deepEqual([hidden.count, hidden.listed().length], [2999, 1]);
    assert.doesNotMatch(JSON.stringify([hidden.listed(), hidden.groups()]), /secret|"key"|"value"/);
  });
});

test('a check that fails with an error, or that is not there, is one problem without rows', async () => {
  const definition = `CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 0);
    ALTER TABLE t ADD CONSTRAINT c CHECK (10 / a > 1) NOT VALID`;
  await inTable(definition, async (client) => {
    const found = await broken(client, [
      { kind: 'check', name: 'c' },
      { kind: 'foreign key', name: 'f' },
    ]);
    assert.deepEqual(told(found), [
      {
        column: 'a',
        code: 'check-violation',
        detail: 'rows of the table break the check "c". The role of this request cannot find them',
      },
      {
        code: 'no-such-reference',
        detail: 'rows of the table break the foreign key "f". The role of this request cannot find them',
      },
    ]);
    // The transaction can go on.
    await client.query('SELECT 1');
  });
});

test('a reference to a table whose rows row-level security hides is one problem without rows', async () => {
  const definition = `CREATE TABLE r (k integer PRIMARY KEY); ALTER TABLE r ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1);
    ALTER TABLE t ADD CONSTRAINT refers FOREIGN KEY (a) REFERENCES r NOT VALID`;
  await inTable(definition, async (client) => {
    const [problem] = told(await broken(client, [{ kind: 'foreign key', name: 'refers' }]));
    assert.deepEqual([problem!.key, problem!.code], [undefined, 'no-such-reference']);
  });
});
