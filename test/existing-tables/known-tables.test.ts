/**
 * Small appends to tables that the service knows from earlier appends. Whatever happens to the table between two appends or within one, the
 * next append must do and answer what it would without that knowledge. An upload of unknown length goes the usual way, which reads all facts anew.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized, someOf } from '../support/sized.ts';
import { startTurnCounter, type TurnCounter } from '../support/turn-counter.ts';

let service: TestService;
let counter: TurnCounter;
/** The role of the tokens. It owns nothing. */
const role = `known_${randomBytes(6).toString('hex')}`;
let token: string;

/** What the changes of tables refer to. */
const whatChangesUse = (reader: string) => `
    CREATE TABLE parents (id bigint PRIMARY KEY); INSERT INTO parents VALUES (7); GRANT SELECT ON parents TO ${reader};
    CREATE SEQUENCE numbers;
    CREATE TYPE mood AS ENUM ('glad', 'sad');
    CREATE FUNCTION shout() RETURNS text LANGUAGE sql AS $$ SELECT 'SHOUT' $$;
    CREATE FUNCTION loud(text) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT upper($1) $$;
    CREATE FUNCTION refuse(text) RETURNS boolean LANGUAGE sql AS $$ SELECT $1 <> 'xyz' $$;
    CREATE FUNCTION change_name() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := 'changed'; RETURN NEW; END $$;
    CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE FUNCTION complain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no rows today'; END $$`;

before(async () => {
  service = await startTestService({}, async (database) => {
    const url = new URL(database.serviceUrl);
    counter = await startTurnCounter(url.hostname, Number(url.port));
    url.hostname = '127.0.0.1';
    url.port = String(counter.port);
    return url.href;
  });
  const [{ name } = {}] = await service.rows('SELECT current_user AS name');
  await service.rows(
    `CREATE ROLE ${role}; GRANT ${role} TO "${name}"; GRANT USAGE ON SCHEMA public TO ${role}`,
  );
  token = await service.token({ role });
  await service.rows(whatChangesUse(role));
});
after(async () => {
  await service?.rows(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await service?.stop();
  await counter?.stop();
});

const columns = `id bigint PRIMARY KEY, name text, code varchar(9), price numeric(10,2) DEFAULT 1.5,
  day date NOT NULL DEFAULT '2026-01-02'`;
const row = { id: 1, name: 'xyz', code: 'abc', price: '12.55', day: '2026-11-24' };

/** Sends an append whose length the service knows, so that it may go the short way. */
function append(table: string, data: unknown): Promise<TestAnswer> {
  return service.post(`/table/${table}/upload/json?if_exists=append`, { data }, { token });
}

/** Sends an append whose length the service does not know, so that it goes the usual way. */
function appendUsual(table: string, data: unknown): Promise<TestAnswer> {
  const body = new Blob([JSON.stringify({ data })]).stream();
  const headers = { 'content-type': 'application/json' };
  return service.request('POST', `/table/${table}/upload/json?if_exists=append`, { token, headers, body });
}

/** The names of the two tables of a test. A table that the service cannot know stays unsuitable for some time, so each test has its own. */
let known = '';
let other = '';
let made = 0;

/** Makes two equal tables, of which the service knows the first one. */
async function makeTwins(definition = columns, more = ''): Promise<void> {
  made++;
  known = `known${made}`;
  other = `other${made}`;
  for (const table of [known, other]) {
    await service.rows(`CREATE TABLE ${table} (${definition});
      GRANT INSERT, SELECT ON ${table} TO ${role}; ${more.replaceAll('{t}', table)}`);
  }
  counter.reset();
  const answer = await append(known, [{ id: 1000 }]);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  // A pooler gets no prepared statement.
  const proofs = counter.turnsWith('prove table') + counter.turnsWith('the table has changed');
  assert.ok(proofs > 0, 'the table is not known');
  await service.rows(`DELETE FROM ${known}`);
}

/** Returns an answer without what differs from one table or one request to another. */
function comparable({ status, body }: TestAnswer): unknown {
  const text = JSON.stringify(body, (key, value) =>
    ['id', 'duration_ms', 'instance', 'request_id'].includes(key) && typeof value !== 'object'
      ? undefined
      : value,
  );
  return { status, body: JSON.parse(text.replaceAll(/\b(known|other)\d+/g, 'T')) };
}

async function assertTwins(data: unknown, what: string): Promise<void> {
  const answers = [await append(known, data), await appendUsual(other, data)];
  const [short, usual] = answers.map(comparable);
  assert.deepEqual(short, usual, what);
  const [ofKnown, ofOther] = await Promise.all(
    [known, other].map((table) => service.rows(`SELECT * FROM ${table}`).catch((error) => error.code)),
  );
  assert.deepEqual(ofKnown, ofOther, what);
}

/** Changes of a table `{t}`, after which the next append must know the new state. */
const changes = [
  'ALTER TABLE {t} ADD COLUMN more text',
  'ALTER TABLE {t} ADD COLUMN more int NOT NULL',
  "ALTER TABLE {t} ADD COLUMN more text NOT NULL DEFAULT 'm'",
  'ALTER TABLE {t} DROP COLUMN name',
  'ALTER TABLE {t} RENAME COLUMN name TO title',
  'ALTER TABLE {t} RENAME COLUMN name TO title; ALTER TABLE {t} RENAME COLUMN price TO name; ALTER TABLE {t} RENAME COLUMN title TO price',
  'ALTER TABLE {t} ALTER COLUMN id TYPE smallint',
  'ALTER TABLE {t} ALTER COLUMN id TYPE text',
  'ALTER TABLE {t} ALTER COLUMN price TYPE numeric(4,1)',
  'ALTER TABLE {t} ALTER COLUMN code TYPE varchar(2)',
  'ALTER TABLE {t} ALTER COLUMN code TYPE varchar(20)',
  'ALTER TABLE {t} ALTER COLUMN name TYPE varchar(1)',
  'ALTER TABLE {t} ALTER COLUMN name TYPE char(3)',
  'ALTER TABLE {t} ALTER COLUMN day TYPE timestamp',
  'ALTER TABLE {t} ALTER COLUMN day DROP NOT NULL',
  'ALTER TABLE {t} ALTER COLUMN name SET NOT NULL',
  'ALTER TABLE {t} ALTER COLUMN price SET DEFAULT 2.5',
  'ALTER TABLE {t} ALTER COLUMN price DROP DEFAULT',
  "ALTER TABLE {t} ALTER COLUMN name SET DEFAULT 'n'",
  'ALTER TABLE {t} ALTER COLUMN name SET DEFAULT upper(CURRENT_USER)',
  'ALTER TABLE {t} ALTER COLUMN name SET DEFAULT shout()',
  'ALTER TABLE {t} ADD CHECK (price > 100)',
  'ALTER TABLE {t} ADD CHECK (price > 100) NOT VALID',
  'ALTER TABLE {t} ADD CHECK (refuse(name))',
  'ALTER TABLE {t} ADD CONSTRAINT {t}_name UNIQUE (name)',
  'CREATE UNIQUE INDEX ON {t} (lower(name))',
  'CREATE INDEX ON {t} (loud(name))',
  'ALTER TABLE {t} DROP CONSTRAINT {t}_pkey',
  'ALTER TABLE {t} ADD FOREIGN KEY (id) REFERENCES parents (id)',
  'ALTER TABLE {t} ADD FOREIGN KEY (id) REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED',
  'ALTER TABLE {t} ADD COLUMN twice bigint GENERATED ALWAYS AS (id * 2) STORED',
  'ALTER TABLE {t} ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY',
  'ALTER TABLE {t} ADD COLUMN number serial',
  'ALTER TABLE {t} ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY',
  'CREATE TRIGGER change BEFORE INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION change_name()',
  'CREATE TRIGGER suppress BEFORE INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION suppress()',
  'CREATE TRIGGER complain AFTER INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION complain()',
  'CREATE TRIGGER complain AFTER INSERT ON {t} EXECUTE FUNCTION complain()',
  'CREATE RULE nothing AS ON INSERT TO {t} DO INSTEAD NOTHING',
  'ALTER TABLE {t} ENABLE ROW LEVEL SECURITY',
  'ALTER TABLE {t} ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON {t} WITH CHECK (id > 5)',
  `REVOKE INSERT ON {t} FROM ${role}`,
  `REVOKE INSERT ON {t} FROM ${role}; GRANT INSERT (id, name) ON {t} TO ${role}`,
  `REVOKE SELECT ON {t} FROM ${role}`,
  `REVOKE USAGE ON SCHEMA public FROM public, ${role}`,
  'DROP TABLE {t}',
  'DROP TABLE {t}; CREATE VIEW {t} AS SELECT 1 AS id',
  `DROP TABLE {t}; CREATE TABLE {t} (id int, other text); GRANT INSERT ON {t} TO ${role}`,
  `ALTER TABLE {t} RENAME TO {t}_before; CREATE TABLE {t} (day text, name text, id text); GRANT INSERT ON {t} TO ${role}`,
  'CREATE TABLE {t}_heir () INHERITS ({t})',
  `DROP TABLE {t}; CREATE TABLE {t} (${columns}) PARTITION BY RANGE (id); CREATE TABLE {t}_part PARTITION OF {t} DEFAULT; GRANT INSERT, SELECT ON {t} TO ${role}`,
  "ALTER TABLE {t} ALTER COLUMN name TYPE mood USING 'glad'::mood",
  'ALTER TABLE {t} ALTER COLUMN name TYPE text COLLATE "C"',
  'ALTER TABLE {t} SET UNLOGGED',
  'ALTER TABLE {t} DISABLE TRIGGER ALL',
  'VACUUM FULL pg_attribute',
];

for (const change of someOf(12, changes)) {
  test(`the next append knows this change: ${change}`, async () => {
    await makeTwins();
    for (const statement of change.startsWith('VACUUM')
      ? [change]
      : [known, other].map((t) => change.replaceAll('{t}', t)))
      await service.rows(statement);
    try {
      await assertTwins([row], change);
      await assertTwins([{ id: 2 }], change);
      await assertTwins(
        [
          { id: 3, name: 'sad' },
          { id: 4, name: 'n', more: 5 },
        ],
        change,
      );
    } finally {
      await service.rows(`GRANT USAGE ON SCHEMA public TO public, ${role}`);
    }
  });
}

test('what a table refers to may get another name between two appends', async () => {
  await makeTwins(
    'id bigint PRIMARY KEY, parent bigint',
    'ALTER TABLE {t} ADD FOREIGN KEY (parent) REFERENCES parents (id)',
  );
  for (const [change, back] of [
    ['ALTER TABLE parents RENAME TO elders', 'ALTER TABLE elders RENAME TO parents'],
    ['ALTER TABLE parents RENAME COLUMN id TO number', 'ALTER TABLE parents RENAME COLUMN number TO id'],
    [
      'CREATE SCHEMA far; ALTER TABLE parents SET SCHEMA far',
      'ALTER TABLE far.parents SET SCHEMA public; DROP SCHEMA far',
    ],
  ] as const) {
    await service.rows(change);
    await assertTwins([{ id: 1, parent: 7 }], change);
    await assertTwins([{ id: 2, parent: 8 }], change);
    await service.rows(`${back}; DELETE FROM ${known}; DELETE FROM ${other}`);
  }
});

test('the names in an answer are qualified as the search path of the caller needs it', async () => {
  await makeTwins(
    "id bigint PRIMARY KEY, number bigint DEFAULT nextval('numbers')",
    `GRANT USAGE ON SEQUENCE numbers TO ${role}`,
  );
  await assertTwins([{ id: 1, number: 1 }], 'before');
  await service.rows(`CREATE SCHEMA ${role} AUTHORIZATION ${role}; CREATE SEQUENCE ${role}.numbers`);
  try {
    const answer = await append(known, [{ id: 2, number: 2 }]);
    assert.equal(answer.body.table.columns[1].default, "nextval('public.numbers'::regclass)");
  } finally {
    await service.rows(`DROP SCHEMA ${role} CASCADE`);
  }
});

test('an append that waits for a change of the table sees the change', async () => {
  await makeTwins();
  const client = await service.database.pool.connect();
  try {
    await client.query(`BEGIN; ALTER TABLE ${known} ADD COLUMN must text NOT NULL`);
    const waiting = append(known, [row]);
    await untilWaitsForLock(service.database);
    await client.query('COMMIT');
    const { errors } = assertProblem(await waiting, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ column, code }) => [column, code]),
      [['must', 'null-not-allowed']],
    );
  } finally {
    client.release();
  }
});

test('an append to a known table takes two round trips', async () => {
  await makeTwins();
  for (let id = 10; id < 14; id++) assert.equal((await append(known, [{ ...row, id }])).status, 200);
  counter.reset();
  assert.equal((await append(known, [{ ...row, id: 20 }])).status, 200);
  const turns = counter.turnsWith(`COPY "public"."${known}"`);
  // A pooler gets no prepared statement, so the table is proved in a round trip of its own.
  assert.equal(turns, process.env.TEST_POOLER === undefined ? 2 : 4);
});

test('a load of a known table is recorded with its event, also if a function of the table has changed the session', async () => {
  await makeTwins(
    columns,
    "ALTER TABLE {t} ADD CHECK (set_config('search_path', 'nowhere', false) <> '' AND set_config('client_encoding', 'LATIN1', false) <> '')",
  );
  const answer = await append(known, [{ ...row, name: 'Möhre' }]);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { body } = await service.get(`/api/v1/loads/${answer.body.load.id}`);
  assert.deepEqual(
    [body.state, body.rows_read, body.answer?.body ?? null],
    ['committed', 1, body.answer?.body ?? null],
  );
  const events = await service.rows(
    "SELECT count(*)::int AS n FROM tablewright_service.events WHERE event->'data'->>'load' = $1",
    [answer.body.load.id],
  );
  assert.deepEqual(events, [{ n: 1 }]);
  assert.deepEqual(await service.rows(`SELECT name FROM ${known}`), [{ name: 'Möhre' }]);
});

test('random rows have the same result on both ways', async () => {
  await makeTwins(`id bigint PRIMARY KEY, n numeric(6,2), t varchar(4), d date, ts timestamptz, b boolean, f real, j jsonb,
    u uuid, a int[], s text NOT NULL DEFAULT 'é', CHECK (n <> 7)`);
  const value = fc.oneof(
    fc.constantFrom(
      null,
      0,
      7,
      -1.5,
      1e30,
      'x',
      '12',
      '2026-02-30',
      '2026-02-28',
      '2026-01-01T00:00:00Z',
      true,
      [1, 2],
      { a: [1] },
      'é',
      '',
    ),
    fc.integer(),
    fc.string({ maxLength: 5 }),
  );
  const rows = fc.array(
    fc.record(
      {
        id: fc.integer({ min: 1, max: 9 }),
        n: value,
        t: value,
        d: value,
        ts: value,
        b: value,
        f: value,
        j: value,
        u: value,
        a: value,
        s: value,
      },
      { requiredKeys: ['id'] },
    ),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(rows, async (data) => {
      await service.rows(`TRUNCATE ${known}; TRUNCATE ${other}`);
      await assertTwins(data, JSON.stringify(data));
    }),
    { numRuns: sized(60, 150) },
  );
});
