/**
 * Tests that the statements of the service only use functions, operators, types and tables of PostgreSQL itself, and that the code of a table
 * runs in the search path that its author expects.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import type { TestDatabase } from '../support/database.ts';
import { objectsOfOperations, runEveryOperation, settingsOfOperations } from '../support/every-operation.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';
import {
  type HostileTypes,
  recordCalls,
  recordStatements,
  setTraps,
  withoutQuotes,
} from '../support/traps.ts';

/** The statements of the service in a database without hostile objects, and its answers. */
const sent: string[] = [];
let answers: string[];
/** The names of all functions of PostgreSQL. */
let known: Set<string>;

before(async () => {
  const stopRecording = recordStatements(sent);
  const prepare = async (database: TestDatabase) => {
    await asOwner(database, objectsOfOperations);
    return database.serviceUrl;
  };
  const service = await startTestService(settingsOfOperations, prepare);
  try {
    answers = await runEveryOperation(service);
    const names = await service.rows('SELECT DISTINCT proname FROM pg_catalog.pg_proc');
    known = new Set(names.map(({ proname }) => proname as string));
  } finally {
    await service.stop();
    stopRecording();
  }
  assert(sent.length > 100);
});

/**
 * The strictest case is the first one: the administrator puts `public` before `pg_catalog`, so that equal names and signatures are enough. In the usual path, a closer
 * signature or a name that PostgreSQL does not have is needed.
 */
const searchPaths: [path: string, types: HostileTypes][] = [
  ['public, pg_catalog', 'domains'],
  ['"$user", public', 'tables'],
];
for (const [path, types] of someOf(1, searchPaths)) {
  test(`with the search path ${path}, no object that another role made in public is used, and all answers are the same`, async () => {
    const calls: string[] = [];
    const stopRecording = recordCalls(calls);
    const role = `hostile_${process.pid}_${Date.now()}`;
    let admin: pg.Client | undefined;
    const prepare = async (database: TestDatabase) => {
      admin = new pg.Client(database.adminUrl ?? database.url);
      await admin.connect();
      const hostile = await prepareDatabase(database, admin, { role, path });
      await checkTraps(database, await setTraps(hostile, sent, types), types, calls);
      return database.serviceUrl;
    };
    const service = await startTestService(settingsOfOperations, prepare);
    try {
      const received = await runEveryOperation(service);
      assert.deepEqual(calls, []);
      assert.deepEqual(received, answers);
    } finally {
      stopRecording();
      // If this fails, the service is stopped all the same: its connections would keep the process of the tests from its end.
      try {
        await admin!.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
      } finally {
        await admin!.end();
        await service.stop();
      }
    }
  });
}

/** Makes the objects of the operations and a role that may only make objects in `public`. @returns the URL of the role */
async function prepareDatabase(
  database: TestDatabase,
  admin: pg.Client,
  { role, path }: { role: string; path: string },
): Promise<string> {
  await asOwner(database, objectsOfOperations);
  await admin.query(
    `CREATE ROLE ${role} LOGIN PASSWORD 'hostile'; GRANT USAGE, CREATE ON SCHEMA public TO ${role}`,
  );
  await asOwner(
    database,
    `DO $$ BEGIN EXECUTE pg_catalog.format('ALTER DATABASE %I SET search_path = ${path}', pg_catalog.current_database()); END $$`,
  );
  const url = new URL(database.url);
  url.username = role;
  url.password = 'hostile';
  return url.href;
}

/** Checks that there are traps of every kind, and that they would be used. */
async function checkTraps(
  database: TestDatabase,
  made: Record<string, number>,
  types: HostileTypes,
  calls: string[],
): Promise<void> {
  for (const kind of ['functions', 'operators', types, 'views', 'collations', 'configurations', 'casts'])
    assert.ok(made[kind]! > 0, `${kind}: ${JSON.stringify(made)}`);
  const uses = [
    "SELECT json_build_object('a', true, 'b', 'c'::pg_catalog.name)",
    "SELECT concat('a'::pg_catalog.name)",
    ...(types === 'domains'
      ? [
          'SELECT 1 = 2',
          'SELECT FROM pg_class',
          "SELECT 'a'::string",
          "SELECT 'a'::jsonb",
          "SELECT to_regclass('x')",
        ]
      : ["INSERT INTO string VALUES ('a')"]),
  ];
  for (const use of uses) await assert.rejects(asOwner(database, use), /hostile/, use);
  assert.equal(calls.length, uses.length);
  assert.match(calls[0]!, /^hostile: function json_build_object\(.*\) ran as /);
  calls.length = 0;
}

/** Runs statements as the role that the service connects as. */
async function asOwner(database: TestDatabase, sql: string): Promise<void> {
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

test('statements in the callers’ search path qualify every function and operator', () => {
  const parts = sent.flatMap(inCallersPath);
  assert(parts.length > 30);
  for (const part of parts) {
    const bare = withoutQuotes(part);
    for (const [, name] of bare.matchAll(/(?<![.\w"])([a-z_][a-z_0-9]*)\s*\(/g)) {
      assert(!known.has(name!) || sqlWords.has(name!), `${name}( in ${part}`);
    }
    const assignments = /("x"|[a-z_]+) = (excluded|t)\.("x"|[a-z_]+)/g;
    const outside = bare
      .replace(assignments, ' ')
      .replace(/OPERATOR\((?:[a-z_]+|"x")\.[^)]*\)/g, ' ')
      .replace(/::/g, ' ');
    assert.doesNotMatch(outside, /[=<>|+~@#&%^!]| IN \(|LIKE|BETWEEN| - /, part);
    for (const [, type] of bare.matchAll(/::\s*([a-z_0-9.]+)/g))
      assert(/^(int|boolean|pg_catalog\.)/.test(type!), `::${type} in ${part}`);
  }
});

suite('a service with the usual search path', () => {
  let host: TestService;
  before(async () => {
    host = await startTestService({}, async ({ url, adminUrl }) => {
      const admin = new pg.Client(adminUrl ?? url);
      await admin.connect();
      await admin.query('CREATE EXTENSION citext');
      await admin.end();
      return url;
    });
  });
  after(() => host.stop());

  test("triggers, checks, defaults, domains and generated columns find objects by the callers' search path", async () => {
    await host.rows(`CREATE TABLE public.settings (factor int); INSERT INTO public.settings VALUES (3);
      CREATE FUNCTION public.factor() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT factor FROM settings); END $$;
      CREATE FUNCTION public.fixed_factor() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN factor(); END $$;
      CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted SELECT factor() * NEW.a; RETURN NEW; END $$;
      CREATE TABLE public.noted (n int);
      CREATE DOMAIN public.small AS int CHECK (VALUE < 100 * factor());
      CREATE TABLE public.scaled (a int PRIMARY KEY CHECK (a < 1000 * factor()), d int DEFAULT factor(), s small,
        g int GENERATED ALWAYS AS (a * fixed_factor()) STORED);
      CREATE TRIGGER now BEFORE INSERT ON public.scaled FOR EACH ROW EXECUTE FUNCTION note();
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON public.scaled DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION note()`);
    const path = '/table/scaled/upload/json?if_exists=append';
    const straight = await host.post(path, { data: [{ a: 1, s: 5 }, { a: 2 }] });
    assert.equal(straight.status, 200, JSON.stringify(straight.body));
    const staged = await host.post(`${path}&on_conflict=update`, { data: [{ a: 2, s: 6 }, { a: 4 }] });
    assert.equal(staged.status, 200, JSON.stringify(staged.body));
    assert.deepEqual(await host.rows('SELECT * FROM public.scaled ORDER BY a'), [
      { a: 1, d: 3, s: 5, g: 3 },
      { a: 2, d: 3, s: 6, g: 6 },
      { a: 4, d: 3, s: null, g: 12 },
    ]);
    // The trigger runs before each sent row, and at the end for each inserted row.
    assert.deepEqual(await host.rows('SELECT count(*)::int AS n FROM public.noted'), [{ n: 7 }]);
    const refused = await host.post(path, { data: [{ a: 5, s: 300 }, { a: 6 }, { a: 9000 }] });
    assert.equal(refused.status, 422);
    assert.deepEqual(
      refused.body.errors.map(({ row, code }: { row: number; code: string }) => [row, code]),
      [
        [1, 'check-violation'],
        [3, 'check-violation'],
      ],
    );
  });

  test('keys of a type from another schema are compared by the operators of that type', async () => {
    await host.rows(`CREATE TABLE public.people (email citext PRIMARY KEY, n int);
      INSERT INTO public.people VALUES ('Ann@x.org', 1);
      CREATE TABLE public.letters (receiver citext REFERENCES public.people)`);
    const path = '/table/people/upload/json?if_exists=append';
    const repeated = await host.post(path, { data: [{ email: 'bob@x.org' }, { email: 'ann@X.ORG' }] });
    assert.deepEqual(
      repeated.body.errors.map(({ row, code }: { row: number; code: string }) => [row, code]),
      [[2, 'not-unique']],
    );
    const updated = await host.post(`${path}&on_conflict=update`, {
      data: [
        { email: 'ANN@x.org', n: 2 },
        { email: 'BOB@x.org', n: 3 },
        { email: 'bob@x.org', n: 4 },
      ],
    });
    assert.deepEqual([updated.status, updated.body.load.rows, updated.body.load.updated], [200, 1, 2]);
    const letters = await host.post('/table/letters/upload/json?if_exists=append', {
      data: [{ receiver: 'aNN@x.org' }, { receiver: 'eve@x.org' }],
    });
    assert.deepEqual(
      letters.body.errors.map(({ row, code }: { row: number; code: string }) => [row, code]),
      [[2, 'no-such-reference']],
    );
    const described = await host.get('/table/people');
    assert.equal(described.body.table.columns[0].type, 'citext');
  });

  test('another role’s function with closer argument types does not run as the service', async () => {
    await host.rows(`CREATE SCHEMA secret; CREATE TABLE secret.users (pw text); INSERT INTO secret.users VALUES ('hunter2');
      CREATE TABLE public.loot (what text);
      CREATE FUNCTION public.json_build_object(text, boolean, text, name) RETURNS json LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.loot SELECT pw FROM secret.users;
        RETURN pg_catalog.json_build_object($1, $2, $3, $4); END $$`);
    const created = await host.post('/table/orders', { table: { columns: [{ name: 'a', type: 'int' }] } });
    assert.equal(created.status, 201);
    assert.deepEqual(await host.rows('SELECT * FROM public.loot'), []);
  });
});

/** Returns the statements of a text that run in the callers' search path. */
function inCallersPath(text: string): string[] {
  const statements = text.split(/;\n|; /);
  const start = statements.findIndex(
    (one) => one.startsWith('SELECT pg_catalog.set_config(') && !one.includes(' AS entered'),
  );
  const end = statements.findIndex((one) => one.startsWith('SET LOCAL search_path'));
  return start < 0 ? [] : statements.slice(start + 1, end < start ? undefined : end);
}

/** The names of functions that are also SQL names of types. */
const sqlWords = new Set(['numeric', 'bit', 'interval', 'time', 'timestamp']);
