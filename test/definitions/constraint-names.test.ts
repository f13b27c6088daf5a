/**
 * Constraints have the names of the definition in every operation, and unnamed constraints have the names that PostgreSQL would
 * choose.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

let service: TestService;
let admin: pg.Client;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  await service.rows('CREATE TABLE target (a integer PRIMARY KEY, b integer UNIQUE)');
  for (const schema of ['created', 'uploaded', 'replaced']) await service.rows(`CREATE SCHEMA ${schema}`);
});
after(async () => {
  await admin.end();
  await service.stop();
});

interface Key {
  name: string;
  columns: string[];
}
interface Reference {
  name: string;
  column: string;
  self: boolean;
  reference_column: string;
}
interface Definition {
  serial: boolean;
  primary: Key | undefined;
  unique: Key[];
  references: Reference[];
}

const columns = ['id', 'a', 'b', 'c'];
/** Names of constraints. Most of them equal names that the service chooses for other objects. */
const names = [
  'pkey',
  'a_key',
  'a_b_key',
  'id_key',
  'a_fkey',
  'b_fkey',
  'id_seq',
  'a_not_null',
  'id_not_null',
  'pkey1',
].map((ending) => `t_${ending}`);

const keyColumns = fc.uniqueArray(fc.constantFrom(...columns), { minLength: 1, maxLength: 2 });
const given = fc.option(fc.constantFrom(...names, 'own 1', 'own 2', 'Own "3"'), { nil: '' });
const definition: fc.Arbitrary<Definition> = fc
  .record({
    serial: fc.boolean(),
    primary: fc.option(fc.record({ name: given, columns: keyColumns }), { nil: undefined }),
    unique: fc.uniqueArray(fc.record({ name: given, columns: keyColumns }), {
      maxLength: 4,
      selector: (key) => JSON.stringify(key.columns),
    }),
    references: fc.array(
      fc.record({
        name: given,
        column: fc.constantFrom('a', 'b', 'c'),
        self: fc.boolean(),
        reference_column: fc.constantFrom('a', 'b'),
      }),
      { maxLength: 3 },
    ),
  })
  .map((made) => {
    const used = new Set<string>();
    const once = <T extends { name: string }>(named: T): T => {
      if (named.name === '' || !used.has(named.name)) {
        used.add(named.name);
        return named;
      }
      return { ...named, name: '' };
    };
    const primary = made.primary && once(made.primary);
    const unique = made.unique.map(once);
    // A foreign key can only refer to a column that is unique by itself.
    const alone = new Set(
      [primary, ...unique].map((key) => (key?.columns.length === 1 ? key.columns[0]! : '')),
    );
    const references = made.references
      .map((key) => ({ ...key, self: key.self && alone.has(key.reference_column) }))
      .map(once);
    return { serial: made.serial, primary, unique, references };
  });

const toTable = ({ serial, primary, unique, references }: Definition, schema: string) => ({
  columns: columns.map((name) => ({ name, type: name === 'id' && serial ? 'serial' : 'integer' })),
  constraints: {
    primary_key: primary ?? { name: '', columns: [] },
    unique,
    foreign_keys: references.map(({ self, ...key }) => ({
      ...key,
      reference_table: self ? 't' : 'target',
      reference_schema: self ? schema : 'public',
    })),
  },
});

/** Returns the answer without the parts that differ between two schemas. */
function shape(answer: TestAnswer, schema: string) {
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return JSON.parse(JSON.stringify(answer.body.table).replaceAll(`"${schema}"`, '"its own schema"'));
}

async function leftovers() {
  return service.rows(`
    SELECT relname AS name FROM pg_class WHERE relname LIKE '%tablewright%'
    UNION ALL SELECT conname FROM pg_constraint WHERE conname LIKE '%tablewright%'`);
}

async function reset() {
  for (const schema of ['created', 'uploaded', 'replaced'])
    await service.rows(`DROP TABLE IF EXISTS ${schema}.t`);
}

const create = (schema: string, table: unknown) => service.post(`/table/t?schema=${schema}`, { table });
const upload = (schema: string, table: unknown, ifExists = 'fail') =>
  service.post(`/table/t/upload/json?schema=${schema}&if_exists=${ifExists}`, { table, data: [] });

test('a random definition gives equal tables when it is created, uploaded and used for a replace', async () => {
  await fc.assert(
    fc.asyncProperty(definition, definition, async (wanted, earlier) => {
      await reset();
      const created = shape(await create('created', toTable(wanted, 'created')), 'created');
      const uploaded = shape(await upload('uploaded', toTable(wanted, 'uploaded')), 'uploaded');
      assert.equal((await create('replaced', toTable(earlier, 'replaced'))).status, 201);
      const replaced = shape(await upload('replaced', toTable(wanted, 'replaced'), 'replace'), 'replaced');
      assert.deepEqual(uploaded, created);
      assert.deepEqual(replaced, created);
      const described = await service.get('/table/t?schema=replaced');
      assert.deepEqual(
        shape({ ...described, status: 201 }, 'replaced'),
        created,
        'the answer is what the database has',
      );
      assert.deepEqual(await leftovers(), []);

      // The answer has every sent constraint, under its name and in its place.
      const { primary_key, unique, foreign_keys } = created.constraints;
      assert.deepEqual(
        unique.map((key: Key) => key.columns),
        wanted.unique.map((key) => key.columns),
      );
      for (const [index, key] of wanted.unique.entries())
        assert.ok(['', unique[index].name].includes(key.name));
      assert.deepEqual(primary_key.columns, wanted.primary?.columns ?? []);
      assert.ok(['', primary_key.name].includes(wanted.primary?.name ?? ''));
      assert.equal(foreign_keys.length, wanted.references.length);
      for (const { name } of wanted.references) {
        if (name !== '')
          assert.ok(
            foreign_keys.some((key: Reference) => key.name === name),
            name,
          );
      }

      // The answer can be sent again as a definition of the same table.
      const sent = (await service.get('/table/t?schema=created')).body.table;
      const again = await upload('created', sent, 'replace');
      assert.deepEqual(shape(again, 'created'), created);
      assert.deepEqual(
        again.body.load.warnings.filter(({ code }: { code: string }) => code !== 'no-rows'),
        [],
      );
      await service.rows('DROP TABLE created.t');
      assert.deepEqual(shape(await create('created', sent), 'created'), created);
    }),
    { numRuns: sized(3, 25) },
  );
});

test('an unnamed constraint has the name that PostgreSQL would choose', async () => {
  const letters = fc.constantFrom('a', 'é', '漢', '😀', '_', ' ', 'Z');
  const identifier = fc
    .string({ unit: letters, minLength: 1, maxLength: 60 })
    .filter((text) => Buffer.byteLength(text) <= 63 && text !== 'target');
  await service.rows('CREATE SCHEMA plain; CREATE SCHEMA chosen');
  await fc.assert(
    fc.asyncProperty(
      identifier,
      fc.uniqueArray(identifier, { minLength: 3, maxLength: 3 }),
      async (name, [x, y, z]) => {
        const quote = (text: string) => pg.escapeIdentifier(text);
        await service.rows(`DROP TABLE IF EXISTS plain.${quote(name)}, chosen.${quote(name)}`);
        await service.rows(`CREATE TABLE plain.${quote(name)} (
        ${quote(x!)} integer GENERATED BY DEFAULT AS IDENTITY, ${quote(y!)} integer NOT NULL, ${quote(z!)} integer REFERENCES target,
        PRIMARY KEY (${quote(x!)}), UNIQUE (${quote(y!)}, ${quote(z!)}), UNIQUE (${quote(z!)}, ${quote(y!)}), UNIQUE (${quote(z!)}))`);
        const answer = await service.post(`/table/${encodeURIComponent(name)}?schema=chosen`, {
          table: {
            columns: [
              { name: x, type: 'serial' },
              { name: y, type: 'integer', is_nullable: false },
              { name: z, type: 'integer' },
            ],
            constraints: {
              primary_key: { columns: [x] },
              unique: [{ columns: [y, z] }, { columns: [z, y] }, { columns: [z] }],
              foreign_keys: [{ column: z, reference_table: 'target', reference_column: 'a' }],
            },
          },
        });
        assert.equal(answer.status, 201, JSON.stringify(answer.body));
        assert.deepEqual(await everyName('chosen', name), await everyName('plain', name));
        await service.rows(`DROP TABLE plain.${quote(name)}, chosen.${quote(name)}`);
      },
    ),
    { numRuns: sized(5, 40) },
  );
});

async function everyName(schema: string, table: string) {
  return service.rows(
    `SELECT 'constraint' AS kind, conname AS name FROM pg_constraint WHERE conrelid = format('%I.%I', $1::text, $2::text)::regclass
     UNION ALL SELECT relkind::text, relname FROM pg_class
     WHERE relnamespace = $1::regnamespace AND relkind IN ('i', 'S') AND relname NOT LIKE 'own%'
     ORDER BY 1, 2`,
    [schema, table],
  );
}

test('tables whose constraint names are cut to the same text get different names', async () => {
  const start = 'a name that is so long that the end of it is never kept, ';
  const table = {
    columns: [{ name: 'id', type: 'serial' }],
    constraints: { primary_key: { columns: ['id'] } },
  };
  const keys = new Set<string>();
  for (let index = 10; index < 40; index += 1) {
    const answer = await service.post(`/table/${encodeURIComponent(start + index)}?schema=created`, {
      table,
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    keys.add(answer.body.table.constraints.primary_key.name);
  }
  assert.equal(keys.size, 30);
});

suite('a given name that another relation already has', () => {
  const table = {
    columns: [{ name: 'a', type: 'integer' }],
    constraints: { unique: [{ name: 'taken', columns: ['a'] }] },
  };
  const others: [string, string, string][] = [
    ['a table', 'CREATE TABLE uploaded.taken ()', 'DROP TABLE uploaded.taken'],
    ['a view', 'CREATE VIEW uploaded.taken AS SELECT 1', 'DROP VIEW uploaded.taken'],
    ['a sequence', 'CREATE SEQUENCE uploaded.taken', 'DROP SEQUENCE uploaded.taken'],
    [
      'an index of the table uploaded.other',
      'CREATE TABLE uploaded.other (a integer CONSTRAINT taken UNIQUE)',
      'DROP TABLE uploaded.other',
    ],
    [
      'a sequence of the table uploaded.other',
      'CREATE TABLE uploaded.other (a integer GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME uploaded.taken))',
      'DROP TABLE uploaded.other',
    ],
  ];
  for (const [what, make, drop] of others) {
    test(`a given name that another relation already has is refused with its place in all operations: ${what}`, async () => {
      await reset();
      await service.rows(make);
      const answers = [
        await create('uploaded', table),
        await upload('uploaded', table),
        await upload('uploaded', table, 'replace'),
      ];
      await service.rows('CREATE TABLE uploaded.t (b text)');
      answers.push(await upload('uploaded', table, 'replace'));
      await service.rows(drop);
      for (const answer of answers) {
        const { errors } = assertProblem(answer, 422, 'invalid-definition');
        assert.deepEqual(errors, [
          {
            pointer: '/table/constraints/unique/0/name',
            code: 'name-taken',
            detail: `the name "taken" is already used by ${what}; use another name or leave it empty`,
            value: 'taken',
          },
        ]);
      }
    });
  }

  test('a given name that another relation already has is refused with its place if another session uses it while the rows arrive', async () => {
    await reset();
    for (const [schema, ifExists] of [
      ['uploaded', 'fail'],
      ['replaced', 'replace'],
    ] as const) {
      if (ifExists === 'replace') await service.rows('CREATE TABLE replaced.t (b text)');
      async function* body() {
        yield Buffer.from(`{"table":${JSON.stringify(table)},"data":[{"a":1}`);
        await until('the upload to create its table', async () => (await pending()) > 0);
        await service.rows(`CREATE TABLE ${schema}.taken ()`);
        yield Buffer.from(']}');
      }
      const answer = await service.request(
        'POST',
        `/table/t/upload/json?schema=${schema}&if_exists=${ifExists}`,
        {
          headers: { 'content-type': 'application/json' },
          body: ReadableStream.from(body()),
        },
      );
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      assert.equal(errors[0]!.pointer, '/table/constraints/unique/0/name');
      assert.equal(errors[0]!.code, 'name-taken');
      await service.rows(`DROP TABLE ${schema}.taken`);
      assert.deepEqual(await leftovers(), []);
    }
  });

  test('a given name that another relation already has is no problem if the service chose it', async () => {
    await reset();
    const unnamed = { ...table, constraints: { unique: [{ name: '', columns: ['a'] }] } };
    await service.rows('CREATE TABLE replaced.t (b text)');
    async function* body() {
      yield Buffer.from(`{"table":${JSON.stringify(unnamed)},"data":[{"a":1}`);
      await until('the upload to create its table', async () => (await pending()) > 0);
      await service.rows('CREATE TABLE replaced.t_a_key ()');
      yield Buffer.from(']}');
    }
    const answer = await service.request('POST', '/table/t/upload/json?schema=replaced&if_exists=replace', {
      headers: { 'content-type': 'application/json' },
      body: ReadableStream.from(body()),
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.table.constraints.unique[0].name, 't_a_key1');
    await service.rows('DROP TABLE replaced.t_a_key');
  });
});

/** Returns the number of open transactions that have created a table. */
async function pending(): Promise<number> {
  const { rows } = await admin.query(
    `SELECT count(*)::int AS count FROM pg_locks JOIN pg_database d ON d.oid = database
     WHERE datname = current_database() AND locktype = 'relation' AND mode = 'AccessExclusiveLock' AND granted`,
  );
  return rows[0].count;
}
