/**
 * Other sessions create and drop the same table meanwhile. A request succeeds, or is answered with 409 and the advice to send
 * it again. No error blames the data or the definition, and none is internal.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { lookUpDefinition } from '../src/tables/catalog.ts';
import { draftDefinition, resolveDraft } from '../src/tables/resolve-definition.ts';
import { assertProblem } from './support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from './support/service.ts';
import { sized } from './support/sized.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ RATE_LIMIT_PER_MINUTE: '100000' });
});
after(() => service.stop());

const table = {
  columns: [
    { name: 'id', type: 'serial' },
    { name: 'v', type: 'text' },
  ],
  constraints: { primary_key: { name: '', columns: ['id'] } },
};
let rows = 1000;
const body = () => ({ table, data: [{ id: rows++, v: 'one' }] });

const requests: Record<string, () => Promise<TestAnswer>> = {
  create: () => service.post('/table/race', { table }),
  'create if_not_exists': () => service.post('/table/race?if_not_exists=true', { table }),
  fail: () => service.post('/table/race/upload/json', body()),
  append: () => service.post('/table/race/upload/json?if_exists=append', body()),
  'append and update': () =>
    service.post('/table/race/upload/json?if_exists=append&on_conflict=update', body()),
  truncate: () => service.post('/table/race/upload/json?if_exists=truncate', body()),
  replace: () => service.post('/table/race/upload/json?if_exists=replace', body()),
};

for (const [what, send] of Object.entries(requests)) {
  test(`${what}, while another session creates and drops the table`, async () => {
    let isDone = false;
    const other = await service.database.pool.connect();
    const meddle = async () => {
      while (!isDone) {
        await other.query('CREATE TABLE IF NOT EXISTS race (id serial PRIMARY KEY, v text)');
        await other.query('DROP TABLE IF EXISTS race');
      }
    };
    const meddling = meddle().catch((error) => error);
    try {
      for (let round = 0; round < sized(4, 12); round++) {
        for (const answer of await Promise.all([send(), send()])) {
          const shown = `${answer.status} ${JSON.stringify(answer.body)}`;
          if (answer.status === 200 || answer.status === 201) continue;
          assert.equal(answer.status, 409, shown);
          assert.ok(['table-exists', 'write-conflict'].includes(answer.body.code), shown);
          assert.doesNotMatch(shown, /pg_type|pg_class/);
        }
      }
    } finally {
      isDone = true;
      const failure = await meddling;
      other.release();
      // The other session may lose a race for a name, too.
      if (failure) assert.match(failure.message, /duplicate key|already exists|concurrently/);
    }
  });
}

test('a constraint name that is already used is reported, with every kind of upload', async () => {
  await service.rows(
    'DROP TABLE IF EXISTS race; CREATE TABLE IF NOT EXISTS other (id int CONSTRAINT used_name UNIQUE)',
  );
  const named = {
    columns: [{ name: 'id', type: 'int' }],
    constraints: { unique: [{ name: 'used_name', columns: ['id'] }] },
  };
  for (const query of ['', '?if_exists=append', '?if_exists=replace']) {
    const answer = await service.post(`/table/race/upload/json${query}`, { table: named, data: [{ id: 1 }] });
    const { detail } = assertProblem(answer, 422, 'invalid-definition');
    assert.match(JSON.stringify(answer.body), /used_name/, detail);
  }
});

test('a domain that another session drops between two queries of the service is a conflict', async () => {
  const definitions = {
    'of a column': { columns: [{ name: 'v', type: 'short_lived' }] },
    'of a referenced column': {
      columns: [{ name: 'v', type: 'text' }],
      constraints: {
        foreign_keys: [{ name: '', column: 'v', reference_table: 'short', reference_column: 'v' }],
      },
    },
  };
  for (const [what, definition] of Object.entries(definitions)) {
    await service.rows(
      'CREATE DOMAIN short_lived AS text; CREATE TABLE short (v short_lived PRIMARY KEY); DROP TABLE IF EXISTS race',
    );
    const draft = await draftDefinition({ schema: 'public', name: 'race', table: definition });
    const { rows } = await service.database.pool.query(await lookUpDefinition(draft.request));
    await service.rows('DROP TABLE short; DROP DOMAIN short_lived');
    const client = await service.database.pool.connect();
    await assert
      .rejects(resolveDraft(client, draft, rows[0].found), { code: 'write-conflict' }, what)
      .finally(() => client.release());
  }
});
