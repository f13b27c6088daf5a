/**
 * Another session drops the role, its rights, the schema, the table or the connection that a load needs, at each stage of the load: its state and
 * its code say what happened.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: TestService;
let admin: pg.Client;
let spool: string;
/** Holds the locks for which loads wait. */
let holder: pg.PoolClient;
let own: string;

before(async () => {
  spool = await mkdtemp(join(tmpdir(), 'tablewright-rights-'));
  // One asynchronous load runs at a time.
  service = await startTestService({ SPOOL_DIR: spool, MAX_UPLOADS: '2', MAX_UPLOADS_PER_SUBJECT: '2' });
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  holder = await service.database.pool.connect();
  own = String((await service.rows('SELECT current_user AS own'))[0]!.own);
  await service.rows('CREATE TABLE public.first (a bigint)');
});

after(async () => {
  holder.release();
  await admin.end();
  await service.stop();
  await rm(spool, { recursive: true, force: true });
});

/** A schema with a table, into which every role may load, because a role with rights of its own cannot be dropped. Its name is that of a role. */
interface Place {
  name: string;
  token: string;
  table: string;
}

async function makePlace(triggers = ''): Promise<Place> {
  const name = `lost_${randomBytes(6).toString('hex')}`;
  const table = `${name}.t`;
  await admin.query(`CREATE ROLE ${name}; GRANT ${name} TO "${own}"`);
  await service.rows(`CREATE SCHEMA ${name}; CREATE TABLE ${table} (a bigint);
    GRANT USAGE ON SCHEMA ${name} TO PUBLIC; GRANT SELECT, INSERT ON ${table} TO PUBLIC`);
  if (triggers !== '')
    await service.rows(`CREATE FUNCTION ${name}.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_catalog.pg_advisory_xact_lock(7); RETURN NEW; END $$;
      ${triggers.replaceAll('%', name)}`);
  return { name, table, token: await service.token({ role: name, scope: 'table:create table:load' }) };
}

async function dropPlace({ name }: Place): Promise<void> {
  await service.rows(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
  const { rows } = await admin.query('SELECT FROM pg_roles WHERE rolname = $1', [name]);
  if (rows.length > 0) await admin.query(`DROP ROLE ${name}`);
}

const send = ({ name, token }: Place, headers: Record<string, string> = {}) =>
  service.post(
    `/table/t/upload/json?if_exists=append&schema=${name}`,
    { data: [{ a: 1 }] },
    { headers, token },
  );

/** Waits until a session of the service waits for a lock. @returns the number of its process */
async function untilWaiting(): Promise<number> {
  let pid = 0;
  await until('a load that waits', async () => {
    const [row] = await service.rows(`SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE NOT l.granted AND a.application_name = 'tablewright' AND a.datname = current_database()`);
    pid = (row?.pid as number | undefined) ?? 0;
    return pid !== 0;
  });
  return pid;
}

/** What a load waits for while another session works. */
interface Stage {
  triggers?: string;
  /** Returns the statement of the session that the load waits for. */
  hold: (place: Place) => string;
  /** The load is not begun. */
  isQueued?: boolean;
}

const stages: Record<string, Stage> = {
  'waits in the queue': { hold: () => 'LOCK TABLE public.first', isQueued: true },
  'waits for its table': { hold: ({ table }) => `LOCK TABLE ${table}` },
  'adds its rows': {
    hold: () => 'SELECT pg_advisory_xact_lock(7)',
    triggers: 'CREATE TRIGGER t BEFORE INSERT ON %.t FOR EACH ROW EXECUTE FUNCTION %.wait()',
  },
  'checks its constraints': {
    hold: () => 'SELECT pg_advisory_xact_lock(7)',
    triggers: deferred('t'),
  },
  commits: {
    hold: () => 'SELECT pg_advisory_xact_lock(7)',
    // The service runs deferred triggers before the COMMIT. Only what they defer again runs in the COMMIT.
    triggers: `CREATE TABLE %.late (a bigint); GRANT INSERT ON %.late TO PUBLIC; ${deferred('late')};
      CREATE FUNCTION %.later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        SET CONSTRAINTS ALL DEFERRED; INSERT INTO %.late VALUES (1); RETURN NEW; END $$;
      CREATE CONSTRAINT TRIGGER t AFTER INSERT ON %.t DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION %.later()`,
  },
};

function deferred(table: string): string {
  return `CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON %.${table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION %.wait()`;
}

/** What another session does before the load goes on. */
const losses: Record<string, (place: Place, pid: number) => Promise<unknown>> = {
  'its role is dropped': ({ name }) => admin.query(`DROP ROLE ${name}`),
  'the rights of its role are revoked': ({ name, table }) =>
    holder.query(`REVOKE ALL ON SCHEMA ${name} FROM PUBLIC; REVOKE ALL ON ${table} FROM PUBLIC`),
  'its role is revoked from the service': ({ name }) => admin.query(`REVOKE ${name} FROM "${own}"`),
  'its schema is dropped': ({ name }) => holder.query(`DROP SCHEMA ${name} CASCADE`),
  'its table is dropped': ({ table }) => holder.query(`DROP TABLE ${table}`),
  'its connection is ended': (_, pid) => service.rows('SELECT pg_terminate_backend($1)', [pid]),
};

const denied = ['refused', 'permission-denied'];
const committed = ['committed', undefined];

/** The state and the code with which a load ends that was at a stage. */
const ends: Record<string, Record<string, (string | undefined)[]>> = {
  'waits in the queue': {
    'its role is dropped': denied,
    'the rights of its role are revoked': denied,
    'its role is revoked from the service': denied,
    'its schema is dropped': ['refused', 'schema-not-found'],
    // The role may not create it.
    'its table is dropped': denied,
  },
  'waits for its table': {
    'its role is dropped': denied,
    'the rights of its role are revoked': denied,
    'its role is revoked from the service': denied,
    'its schema is dropped': ['refused', 'schema-not-found'],
    'its table is dropped': ['refused', 'write-conflict'],
  },
  'adds its rows': {
    'its role is dropped': denied,
    'the rights of its role are revoked': denied,
    'its role is revoked from the service': denied,
    'its connection is ended': committed,
  },
  'checks its constraints': {
    'its role is dropped': denied,
    'the rights of its role are revoked': denied,
    'its role is revoked from the service': denied,
  },
  // Nothing is checked any more.
  commits: {
    'its role is dropped': committed,
    'the rights of its role are revoked': committed,
    'its role is revoked from the service': committed,
    'its connection is ended': committed,
  },
};

for (const [at, expected] of Object.entries(ends)) {
  suite(`an asynchronous load that ${at}`, () => {
    for (const [what, [state, code]] of Object.entries(expected)) {
      test(`is ${state}${code ? ` with ${code}` : ''} if ${what}`, async () => {
        const stage = stages[at]!;
        const place = await makePlace(stage.triggers);
        try {
          await holder.query(`BEGIN; ${stage.hold(place)}`);
          const later = { prefer: 'respond-async' };
          if (stage.isQueued)
            await service.post(
              '/table/first/upload/json?if_exists=append',
              { data: [{ a: 1 }] },
              { headers: later },
            );
          const { status, body } = await send(place, later);
          assert.equal(status, 202, JSON.stringify(body));
          await losses[what]!(place, await untilWaiting());
          await holder.query('COMMIT');
          let load = body;
          await until('the end of the load', async () => {
            load = (await service.get(`/api/v1/loads/${body.id}`)).body;
            return load.ended_at !== null;
          });
          assert.deepEqual([load.state, load.answer.body.code], [state, code], JSON.stringify(load.answer));
          const [found] = await service.rows('SELECT to_regclass($1) IS NOT NULL AS "isThere"', [
            place.table,
          ]);
          if (found!.isThere) {
            const rows = await service.rows(`SELECT FROM ${place.table}`);
            assert.equal(rows.length, state === 'committed' ? 1 : 0);
          }
        } finally {
          await holder.query('ROLLBACK');
          await dropPlace(place);
        }
      });
    }
  });
}

test('an upload whose role is dropped while it waits is refused, and says so', async () => {
  const place = await makePlace();
  try {
    await holder.query(`BEGIN; LOCK TABLE ${place.table}`);
    const sending = send(place);
    await untilWaiting();
    await losses['its role is dropped']!(place, 0);
    await holder.query('COMMIT');
    const { detail } = assertProblem(await sending, 403, 'permission-denied');
    assert.equal(
      detail,
      `The access token's role "${place.name}" does not exist, or this service may not use it.`,
    );
  } finally {
    await holder.query('ROLLBACK');
    await dropPlace(place);
  }
});

test('a creation whose role is dropped while it waits is refused', async () => {
  const place = await makePlace();
  await service.rows(`GRANT CREATE ON SCHEMA ${place.name} TO PUBLIC;
    GRANT REFERENCES ON ${place.table} TO PUBLIC; ALTER TABLE ${place.table} ADD PRIMARY KEY (a)`);
  try {
    const token = await service.token({ role: place.name, scope: 'table:create' });
    const reference = {
      name: '',
      column: 'a',
      reference_table: 't',
      reference_column: 'a',
      reference_schema: place.name,
    };
    const table = { columns: [{ name: 'a', type: 'bigint' }], constraints: { foreign_keys: [reference] } };
    await holder.query(`BEGIN; LOCK TABLE ${place.table}`);
    const creating = service.post(`/table/child?schema=${place.name}`, { table }, { token });
    await untilWaiting();
    // The new table belongs to the role, so DROP ROLE would wait until the creation has ended.
    await losses['its role is revoked from the service']!(place, 0);
    await holder.query('COMMIT');
    assertProblem(await creating, 403, 'permission-denied');
  } finally {
    await holder.query('ROLLBACK');
    await dropPlace(place);
  }
});
