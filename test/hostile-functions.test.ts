/**
 * Tests that the statements of the service only use functions and operators of PostgreSQL itself, and that the code of a table
 * runs in the search path that its author expects.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { startTestService, type TestAnswer, type TestService } from './support/service.ts';

let service: TestService;

/** The strictest case: the administrator puts `public` before `pg_catalog`, so that equal signatures are enough. */
before(async () => {
  service = await startTestService({}, async ({ url, pool }) => {
    await pool.query(`DO $$ BEGIN EXECUTE pg_catalog.format('ALTER DATABASE %I SET search_path = public, pg_catalog',
      pg_catalog.current_database()); END $$`);
    return url;
  });
  await prepareTables();
});

after(async () => {
  await service.stop();
});

test("no function or operator in public is called instead of PostgreSQL's own", async () => {
  const sent: string[] = [];
  const stopRecording = recordStatements(sent);
  const answersBefore = await exercise('before').finally(stopRecording);
  assert(sent.length > 100);
  const functions = await setTraps(sent);
  for (const name of ['json_build_object', 'format_type', 'pg_get_expr', 'setval', 'count', 'to_regclass'])
    assert(functions.includes(name), name);
  // Check that the hostile functions would be called.
  await assert.rejects(service.rows("SELECT json_build_object('a', true, 'b', 'c'::name)"), /hostile/);
  await assert.rejects(service.rows('SELECT 1 = 2'), /hostile/);
  await assert.rejects(service.rows("SELECT to_regclass('x')"), /hostile/);
  await service.rows('ALTER SEQUENCE public.hostile_calls RESTART');

  assert.deepEqual(await exercise('behind'), answersBefore);
  assert.deepEqual(await service.rows('SELECT last_value, is_called FROM public.hostile_calls'), [
    { last_value: '1', is_called: false },
  ]);
});

test('statements in the callers’ search path qualify every function and operator', async () => {
  const { rows } = await service.database.pool.query('SELECT DISTINCT proname FROM pg_catalog.pg_proc');
  const known = new Set(rows.map(({ proname }) => proname as string));
  const sent: string[] = [];
  const stopRecording = recordStatements(sent);
  await exercise('between').finally(stopRecording);
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
      .replace(/OPERATOR\([a-z_]+\.[^)]*\)/g, ' ')
      .replace(/::/g, ' ');
    assert.doesNotMatch(outside, /[=<>|+~@#&%^!]| IN \(|LIKE|BETWEEN| - /, part);
    for (const [, type] of bare.matchAll(/::\s*([a-z_0-9.]+)/g))
      assert(/^(int|boolean|pg_catalog\.)/.test(type!), `::${type} in ${part}`);
  }
});

test('another role’s function with closer argument types does not run as the service', async () => {
  const victim = await startTestService();
  try {
    await victim.rows(`CREATE SCHEMA secret; CREATE TABLE secret.users (pw text); INSERT INTO secret.users VALUES ('hunter2');
      CREATE TABLE public.loot (what text);
      CREATE FUNCTION public.json_build_object(text, boolean, text, name) RETURNS json LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.loot SELECT pw FROM secret.users;
        RETURN pg_catalog.json_build_object($1, $2, $3, $4); END $$`);
    const created = await victim.post('/table/orders', { table: { columns: [{ name: 'a', type: 'int' }] } });
    assert.equal(created.status, 201);
    assert.deepEqual(await victim.rows('SELECT * FROM public.loot'), []);
  } finally {
    await victim.stop();
  }
});

test("triggers, checks, defaults, domains and generated columns find objects by the callers' search path", async () => {
  const host = await startTestService();
  try {
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
  } finally {
    await host.stop();
  }
});

test('keys of a type from another schema are compared by the operators of that type', async () => {
  const host = await startTestService({}, async ({ url, adminUrl }) => {
    const admin = new pg.Client(adminUrl ?? url);
    await admin.connect();
    await admin.query('CREATE EXTENSION citext');
    await admin.end();
    return url;
  });
  try {
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
  } finally {
    await host.stop();
  }
});

async function prepareTables(): Promise<void> {
  await service.rows(`CREATE TYPE public.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN public.small AS int CHECK (VALUE < 100);
    CREATE TABLE public.parents (id int PRIMARY KEY, name text UNIQUE); INSERT INTO public.parents VALUES (1, 'one');
    CREATE SEQUENCE public.numbers`);
}

/** Sends requests of every kind and returns their answers. */
async function exercise(prefix: string): Promise<string[]> {
  const answers: string[] = [];
  const note = (answer: TestAnswer) => {
    const errors = (answer.body.errors ?? []).map(({ code }: { code: string }) => code);
    answers.push([answer.status, answer.body.code, ...new Set(errors)].join(' '));
  };
  const table = (name: string) => `/table/${prefix}_${name}`;
  const columns = [
    { name: 'id', type: 'serial' },
    { name: 'parent', type: 'int', default: '1' },
    { name: 'feeling', type: 'mood', default: 'ok' },
    { name: 'few', type: 'small' },
    { name: 'word', type: 'varchar(5)', default: "'abc'::text" },
    { name: 'at', type: 'timestamptz', default: 'now()' },
    { name: 'tags', type: 'text[]' },
    { name: 'span', type: 'int4range' },
    { name: 'number', type: 'bigint', default: "nextval('numbers')" },
    { name: 'price', type: 'numeric(8,2)', default: '0' },
  ];
  const definition = {
    columns,
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      unique: [{ name: '', columns: ['word', 'parent'] }],
      foreign_keys: [{ name: '', column: 'parent', reference_table: 'parents', reference_column: 'id' }],
    },
  };
  note(await service.post(table('made'), { table: definition }));
  note(await service.post(table('made'), { table: definition }));
  note(await service.post(`${table('made')}?if_not_exists=true`, { table: definition }));
  note(await service.get(table('made')));
  note(await service.get(table('lacking')));
  note(
    await service.post(table('faulty'), {
      table: {
        columns: [
          { name: 'a', type: 'moood' },
          { name: 'b', type: 'int', default: 'x' },
          { name: 'c', type: 'varchar(0)' },
          { name: 'd', type: 'small', default: '1000' },
          { name: 'e', type: 'date', default: "to_char(now(), 'YYYY')" },
          { name: 'f', type: 'int' },
          { name: 'g', type: 'bigint' },
        ],
        constraints: {
          primary_key: { name: 'parents_pkey', columns: ['f'] },
          foreign_keys: [
            { name: '', column: 'f', reference_table: 'Parents', reference_column: 'id' },
            { name: '', column: 'g', reference_table: 'parents', reference_column: 'id' },
          ],
        },
      },
    }),
  );
  const made = `${table('made')}/upload/json`;
  const data = [
    { word: 'one', feeling: 'sad', few: 1, span: '[1,2)' },
    { word: 'two', parent: 1, tags: ['x'] },
  ];
  note(await service.post(`${made}?if_exists=append`, { data }));
  note(await service.post(`${made}?if_exists=append`, { data: [{ id: 1, few: 200 }, { parent: 7 }] }));
  for (const onConflict of ['skip', 'update']) {
    const path = `${made}?if_exists=append&on_conflict=${onConflict}`;
    note(await service.post(path, { data: [{ id: 1, price: 2 }, { id: 1, word: 'x' }, { id: 50 }] }));
    note(
      await service.post(path, {
        data: [
          { id: 60, parent: 9 },
          { id: 61, word: 'x', parent: 1 },
        ],
      }),
    );
  }
  note(await service.post(`${made}?if_exists=append&dry_run=true`, { table: definition, data }));
  note(
    await service.post(`${made}?if_exists=append&extra_columns=add`, {
      data: [{ more: true, when: '2024-01-01' }],
    }),
  );
  note(await service.post(`${made}?if_exists=truncate`, { data }));
  note(
    await service.post(`${made}?if_exists=replace`, { table: definition, data: [{ word: 'a' }, { id: 9 }] }),
  );
  note(
    await service.post(`${made}?if_exists=replace`, {
      table: definition,
      data: [{ id: 1 }, { id: 1, parent: 5 }],
    }),
  );
  note(await service.post(`/table/parents/upload/json?if_exists=replace`, { data: [{ id: 1 }] }));
  note(await service.post(`/table/parents/upload/json?if_exists=truncate`, { data: [{ id: 1 }] }));

  await service.rows(`CREATE TABLE public.${prefix}_strict (a int PRIMARY KEY, b int CHECK (b OPERATOR(pg_catalog.>) 0),
      c small, d int DEFAULT (1 OPERATOR(pg_catalog./) 0), e text, f int, p int, q text, span pg_catalog.int4range,
      UNIQUE NULLS NOT DISTINCT (f), FOREIGN KEY (p) REFERENCES public.parents);
    CREATE UNIQUE INDEX ON public.${prefix}_strict (e) WHERE b OPERATOR(pg_catalog.>) 5`);
  const strict = `${table('strict')}/upload/json?if_exists=append`;
  const row = { d: 1, b: 9, e: 'x' };
  note(await service.post(strict, { data: [{ a: 1, ...row, f: 1 }] }));
  note(
    await service.post(strict, {
      data: [
        { ...row, a: 2, b: 0 },
        { ...row, a: 3 },
        { ...row, a: 4, c: 500, p: 8 },
      ],
    }),
  );
  note(await service.post(strict, { data: [{ a: 5, b: 1 }] }));
  note(
    await service.post(`${strict}&on_conflict=skip`, {
      data: [
        { ...row, a: 1 },
        { ...row, a: 6, b: -1, span: 'x' },
      ],
    }),
  );
  note(
    await service.post(`${strict}&on_conflict=update`, {
      data: [
        { a: 1, d: 2 },
        { a: 1, d: 3, e: 'y' },
        { a: 7, d: 0, b: 1 },
      ],
    }),
  );
  note(
    await service.post(`${table('free')}.dotted/upload/json`, {
      data: [{ a: 1.5, b: 'x', c: { d: 1 } }, {}],
    }),
  );
  note(
    await service.upload(`${table('sheet')}/upload/excel`, Buffer.from('a,b\n1,2024-01-01\n2,2024-01-02\n')),
  );
  note(await service.post('/inspect/excel', {}));
  return answers;
}

/** Records the text of every statement that is sent to PostgreSQL. */
function recordStatements(sent: string[]): () => void {
  const prototype = pg.Connection.prototype as unknown as {
    query(text: string): void;
    parse(query: { text: string }): void;
  };
  const { query, parse } = prototype;
  prototype.query = function (text) {
    sent.push(text);
    query.call(this, text);
  };
  prototype.parse = function (...args) {
    sent.push(args[0].text);
    parse.apply(this, args);
  };
  return () => Object.assign(prototype, { query, parse });
}

/**
 * Creates a hostile function in `public` for every function that the statements call, and a hostile operator for every
 * operator. They have the signatures of PostgreSQL's own ones. Functions that accept any type cannot be copied, so they get
 * exact signatures.
 *
 * @returns the names of the functions
 */
async function setTraps(sent: string[]): Promise<string[]> {
  const text = sent.map(withoutQuotes).join('\n');
  const words = new Set([...text.matchAll(/\b([a-z_][a-z_0-9]*)\s*\(/g)].map(([, word]) => word!));
  const symbols = new Set([...(text.match(/[-+*/<>=~!@#%^&|`?]+/g) ?? []), '~~', '=', '<>']);
  const client = new pg.Client(service.database.url);
  await client.connect();
  try {
    await client.query('SET search_path TO pg_catalog; CREATE SEQUENCE public.hostile_calls');
    const functions = await client.query<Signature>(calledFunctions, [[...words]]);
    const signatures = functions.rows.flatMap(hostileSignatures);
    const operators = await client.query<Signature>(usedOperators, [[...symbols]]);
    const statements = [
      ...signatures.map(({ name, types, result }) => hostileFunction(`"${name}"`, types, result)),
      ...operators.rows.map(
        ({ name, types, result }) => `${hostileFunction('hostile', types, result)};
CREATE OPERATOR public.${name} (LEFTARG = ${types[0]}, RIGHTARG = ${types[1]}, FUNCTION = public.hostile)`,
      ),
    ];
    await client.query(`DO $do$ DECLARE statement text; BEGIN
      FOREACH statement IN ARRAY ARRAY[${statements.map((one) => pg.escapeLiteral(one)).join(',\n')}] LOOP
        BEGIN EXECUTE statement; EXCEPTION WHEN OTHERS THEN NULL; END;
      END LOOP; END $do$`);
    const made = await client.query<{ name: string }>(
      `SELECT DISTINCT proname::text AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    );
    return made.rows.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

interface Signature {
  name: string;
  types: string[];
  result: string;
}

const calledFunctions = `
SELECT proname::text AS name, result,
  ARRAY(SELECT t::regtype::text FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS a(t, place) ORDER BY place) AS types
FROM pg_proc, LATERAL (SELECT CASE WHEN typtype = 'p' AND typname NOT LIKE 'any%' THEN 'json' ELSE prorettype::regtype::text END AS result
  FROM pg_type WHERE pg_type.oid = prorettype) r
WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY ($1::text[])`;

const usedOperators = `
SELECT oprname::text AS name, ARRAY[oprleft::regtype::text, oprright::regtype::text] AS types, oprresult::regtype::text AS result
FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b' AND oprname = ANY ($1::text[])`;

const commonTypes = ['text', 'name', '"char"', 'boolean', 'smallint', 'integer', 'bigint', 'oid', 'json'];

function hostileSignatures({ name, types, result }: Signature): Signature[] {
  if (!types.includes('"any"')) return [{ name, types, result }];
  const pairs = commonTypes.flatMap((a) => commonTypes.map((b) => [a, b]));
  return [
    ...commonTypes.map((type) => [type]),
    ...pairs,
    ...pairs.map(([a, b]) => ['text', a!, b!]),
    ...pairs.map(([a, b]) => ['text', a!, 'text', b!]),
  ].map((exact) => ({ name, types: exact, result }));
}

function hostileFunction(name: string, types: string[], result: string): string {
  return `CREATE FUNCTION public.${name}(${types.join(', ')}) RETURNS ${result} LANGUAGE plpgsql AS
'BEGIN PERFORM pg_catalog.nextval(''public.hostile_calls''); RAISE EXCEPTION ''hostile''; END'`;
}

/** Returns the statements of a text that run in the callers' search path. */
function inCallersPath(text: string): string[] {
  const statements = text.split(/;\n|; /);
  const start = statements.findIndex(
    (one) => one.startsWith('SELECT pg_catalog.set_config(') && !one.includes(' AS entered'),
  );
  const end = statements.findIndex((one) => one.startsWith('SET LOCAL search_path'));
  return start < 0 ? [] : statements.slice(start + 1, end < start ? undefined : end);
}

function withoutQuotes(text: string): string {
  return text
    .replace(/--.*$/gm, ' ')
    .replace(/E?'(?:[^']|'')*'/g, "''")
    .replace(/"(?:[^"]|"")*"/g, '"x"');
}

/** The names of functions that are also SQL names of types. */
const sqlWords = new Set(['numeric', 'bit', 'interval', 'time', 'timestamp']);
