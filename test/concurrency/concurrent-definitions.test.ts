/**
 * Other sessions create and drop the same table meanwhile. A request succeeds, or is answered with 409 and the advice to send
 * it again. No error blames the data or the definition, and none is internal.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { lookUpDefinition } from '../../src/engine/tables/catalog/look-up-definition.ts';
import { toDescription } from '../../src/engine/tables/describe-table.ts';
import { draftDefinition } from '../../src/engine/tables/draft-definition.ts';
import { refuseDependents } from '../../src/engine/tables/replace/refuse-dependents.ts';
import { resolveDraft } from '../../src/engine/tables/resolve-definition.ts';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

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

/** Makes the changes in a transaction that commits when a statement of the request waits for it. */
async function changeMeanwhile(changes: string, send: () => Promise<TestAnswer>): Promise<TestAnswer> {
  const holder = await service.database.pool.connect();
  try {
    await holder.query(`BEGIN; ${changes}`);
    const answer = send();
    await untilWaitsForLock(service.database);
    await holder.query('COMMIT');
    return await answer;
  } finally {
    holder.release();
  }
}

for (const [what, change] of [
  ['renames the column that', 'ALTER TABLE target RENAME COLUMN id TO number'],
  ['drops the column that', 'ALTER TABLE target DROP COLUMN id'],
  ['drops the table that', 'DROP TABLE target'],
  ['puts a view in the place of the table that', 'DROP TABLE target; CREATE VIEW target AS SELECT 1 AS id'],
]) {
  test(`a session that ${what} a foreign key refers to makes the upload fail with 409`, async () => {
    await service.rows(`DROP VIEW IF EXISTS target`).catch(() => {});
    await service.rows(
      'DROP TABLE IF EXISTS target, referring; CREATE TABLE target (id int PRIMARY KEY, more int)',
    );
    const referring = {
      columns: [{ name: 'ref', type: 'int' }],
      constraints: {
        foreign_keys: [{ name: '', column: 'ref', reference_table: 'target', reference_column: 'id' }],
      },
    };
    const answer = await changeMeanwhile(change!, () =>
      service.post('/table/referring/upload/json', { table: referring, data: [{ ref: null }] }),
    );
    assertProblem(answer, 409, 'write-conflict');
    assert.deepEqual(await service.rows(`SELECT to_regclass('referring') AS found`), [{ found: null }]);
  });
}

/** Sends rows, and returns when the upload has created a table that is not committed. After `mayEnd` the row `{"id":2}` and the end are sent. */
async function uploadSlowly(
  path: string,
  begin: string,
): Promise<{ loading: Promise<TestAnswer>; mayEnd: () => void }> {
  const { promise, resolve: mayEnd } = Promise.withResolvers<void>();
  // The service opens the table when it has received enough to begin with.
  const filler = ' '.repeat(1024 * 1024);
  const body = new ReadableStream({
    start: async (controller) => {
      controller.enqueue(Buffer.from(begin + filler));
      await promise;
      controller.enqueue(Buffer.from(',{"id":2}]}'));
      controller.close();
    },
  });
  const loading = service.request('POST', path, { body, headers: { 'content-type': 'application/json' } });
  // Other sessions see the locks of a table that is not committed, but not the table.
  const made = `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.mode = 'AccessExclusiveLock'
      AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = l.relation)`;
  await until('a table that is not committed', async () => (await service.rows(made)).length > 0);
  return { loading, mayEnd };
}

test('a load whose key gets another name keeps the given name of its sequence', async () => {
  const definition = {
    columns: [{ name: 'id', type: 'serial', sequence: { name: 'loaded_numbers' } }],
    constraints: { primary_key: { name: '', columns: ['id'] } },
  };
  const begin = `{"table":${JSON.stringify(definition)},"data":[{"id":1}`;
  const { loading, mayEnd } = await uploadSlowly('/table/loaded/upload/json', begin);
  await service.rows('CREATE TABLE loaded_pkey (a int)');
  mayEnd();
  const { status, body } = await loading;
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(body.table.constraints.primary_key.name, 'loaded_pkey1');
  assert.equal(body.table.columns[0].sequence.name, 'loaded_numbers');
});

for (const action of ['skip', 'update']) {
  test(`a session that drops the unique index concurrently makes on_conflict=${action} fail with 409`, async () => {
    await service.rows('DROP TABLE IF EXISTS indexed; CREATE TABLE indexed (id int)');
    await service.rows('CREATE UNIQUE INDEX indexed_id ON indexed (id)');
    const { loading, mayEnd } = await uploadSlowly(
      `/table/indexed/upload/json?if_exists=append&on_conflict=${action}`,
      '{"data":[{"id":1}',
    );
    const dropping = service.rows('DROP INDEX CONCURRENTLY indexed_id');
    await until('the index to be invalid', async () => {
      const invalid = await service.rows(
        `SELECT FROM pg_index WHERE indexrelid = 'indexed_id'::regclass AND NOT indisvalid`,
      );
      return invalid.length > 0;
    });
    mayEnd();
    const { detail } = assertProblem(await loading, 409, 'write-conflict');
    assert.match(detail, /unique index/);
    await dropping;
    assert.deepEqual(await service.rows('SELECT * FROM indexed'), []);
  });
}

test('a constraint that another session drops while the table is described is left out', async () => {
  const facts = {
    ...{
      oid: 1,
      kind: 'r',
      maySee: true,
      isCitus: false,
      isUnlogged: false,
      partitioning: null,
      isRead: true,
      comment: null,
    },
    columns: [
      {
        id: 1,
        name: 'a',
        type: 'integer',
        notNull: false,
        default: null,
        identity: '',
        numbering: null,
        generated: '',
        comment: null,
      },
    ],
    constraints: [
      {
        name: 'positive',
        kind: 'c',
        definition: '',
        ownCode: null,
        qualifiedTypes: null,
        columns: [1],
        deferrable: null,
        isValid: true,
        key: null,
        reference: null,
      },
    ],
    indexes: null,
    types: null,
  };
  const { constraints } = await toDescription('public', 'race', facts, [], undefined);
  assert.deepEqual(constraints, { unique: [], primary_key: { name: '', columns: [] }, foreign_keys: [] });
});

suite('with the help of a superuser', () => {
  let admin: pg.Client;
  const noAdmin = process.env.TEST_ADMIN_DATABASE_URL === undefined && 'the test server has no superuser';

  before(async () => {
    if (noAdmin) return;
    admin = new pg.Client(service.database.adminUrl);
    await admin.connect();
  });
  after(async () => {
    if (!noAdmin) await admin.end();
  });

  /** Stops the next statement of this kind, makes the changes, and lets the statement continue. */
  async function changeAt(
    event: string,
    tag: string,
    changes: string[],
    send: () => Promise<TestAnswer>,
  ): Promise<TestAnswer> {
    await admin.query(`
      CREATE FUNCTION wait_for_change() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_catalog.pg_advisory_xact_lock_shared(7447);
      END $$;
      CREATE EVENT TRIGGER wait_for_change ON ${event} WHEN TAG IN ('${tag}') EXECUTE FUNCTION wait_for_change()`);
    try {
      await admin.query('SELECT pg_advisory_lock(7447)');
      const answer = send();
      await untilWaitsForLock(service.database);
      // The event trigger does not wait in this session, which has the lock.
      await admin.query(changes.join('; '));
      await admin.query('SELECT pg_advisory_unlock(7447)');
      return await answer;
    } finally {
      await admin.query('SELECT pg_advisory_unlock_all()');
      await admin.query('DROP EVENT TRIGGER wait_for_change; DROP FUNCTION wait_for_change()');
    }
  }

  test('a session that renames the schema while a table is created makes the request fail with 409 that says whether the table was created', {
    skip: noAdmin,
  }, async () => {
    await service.rows('CREATE SCHEMA moving');
    const answer = await changeAt(
      'ddl_command_end',
      'CREATE TABLE',
      ['ALTER SCHEMA moving RENAME TO moved'],
      () => service.post('/table/race?schema=moving', { table }),
    );
    const { detail } = assertProblem(answer, 409, 'write-conflict');
    // An older PostgreSQL notices the new name before the table can be described, and nothing is created.
    const [row] = await service.rows(`SELECT to_regclass('moved.race') IS NOT NULL AS exists`);
    assert.equal(/was created/.test(detail), row!.exists, detail);
  });

  for (const type of ['short_lived', 'short_lived[]']) {
    test(`a session that drops the type of a column of ${type} while the table is created makes the upload fail with 409`, {
      skip: noAdmin,
    }, async () => {
      await service.rows(
        'DROP TABLE IF EXISTS race; DROP DOMAIN IF EXISTS short_lived; CREATE DOMAIN short_lived AS int',
      );
      const answer = await changeAt('ddl_command_end', 'CREATE TABLE', ['DROP DOMAIN short_lived'], () =>
        service.post('/table/race/upload/json', { table: { columns: [{ name: 'v', type }] }, data: [] }),
      );
      assertProblem(answer, 409, 'write-conflict');
      assert.deepEqual(await service.rows(`SELECT to_regclass('race') AS found`), [{ found: null }]);
    });
  }

  test('an event trigger that appears while a table is created changes the table and is in the answer', {
    skip: noAdmin,
  }, async () => {
    await service.rows('DROP TABLE IF EXISTS race');
    const other = await service.database.pool.connect();
    try {
      await other.query('BEGIN; CREATE TABLE race (a int)');
      const answer = service.post('/table/race', { table });
      await untilWaitsForLock(service.database);
      await admin.query(`
        CREATE FUNCTION comment_table() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
          COMMENT ON TABLE public.race IS 'by the trigger';
        END $$;
        CREATE EVENT TRIGGER comment_table ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION comment_table()`);
      await other.query('ROLLBACK');
      const { status, body } = await answer;
      assert.equal(status, 201, JSON.stringify(body));
      assert.equal(body.table.comment, 'by the trigger');
    } finally {
      other.release(true);
      await admin.query(
        'DROP EVENT TRIGGER IF EXISTS comment_table; DROP FUNCTION IF EXISTS comment_table()',
      );
    }
  });

  test('a role that is dropped while its grants are copied does not make the replace fail', {
    skip: noAdmin,
  }, async () => {
    const role = `grantee_${process.pid}`;
    await service.rows('DROP TABLE IF EXISTS race; CREATE TABLE race (id int)');
    await admin.query(`CREATE ROLE ${role}; GRANT SELECT ON race TO ${role}`);
    const answer = await changeAt(
      'ddl_command_start',
      'GRANT',
      [`DROP OWNED BY ${role}`, `DROP ROLE ${role}`],
      () => service.post('/table/race/upload/json?if_exists=replace', { data: [{ id: 1 }] }),
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows(`SELECT relacl FROM pg_class WHERE oid = 'race'::regclass`), [
      { relacl: null },
    ]);
  });

  test('a dependent object that another session drops at this moment does not prevent a replace', {
    skip: noAdmin,
  }, async () => {
    await service.rows('DROP TABLE IF EXISTS race; CREATE TABLE race (id int)');
    await admin.query('BEGIN; SET LOCAL allow_system_table_mods = on');
    // The catalogue still has the dependency of an object that no longer exists.
    await admin.query(
      `INSERT INTO pg_depend VALUES ('pg_class'::regclass, 4000000000, 0, 'pg_class'::regclass, 'race'::regclass, 0, 'n')`,
    );
    await refuseDependents(admin, 'public', 'race').finally(() => admin.query('ROLLBACK'));
  });
});
