/** Roles that lack some privileges: the missing privilege is named, and problems that are known are reported. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: pg.Client;
let token: string;
const role = `porter_${process.pid}_${Date.now()}`;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl);
  await admin.connect();
  const [{ user }] = (await service.rows('SELECT current_user AS user')) as [{ user: string }];
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO "${user}"`);
  token = await service.token({ role });
});
after(async () => {
  await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

beforeEach(async () => {
  await service.rows(`
    DROP TABLE IF EXISTS orders, customers;
    CREATE TABLE customers (id integer PRIMARY KEY);
    INSERT INTO customers VALUES (1);
    CREATE TABLE orders (number text PRIMARY KEY, customer integer REFERENCES customers, quantity integer CHECK (quantity > 0));
    INSERT INTO orders VALUES ('a', 1, 1)`);
});

const load = (data: unknown[], query = 'if_exists=append', more = {}) =>
  service.post(`/table/orders/upload/json?${query}`, { ...more, data }, { token });

suite('a privilege that is missing', () => {
  const orders = 'on the table "public"."orders"';
  for (const [query, granted, missing] of [
    ['if_exists=append', 'SELECT', `lacks INSERT ${orders}`],
    ['if_exists=truncate', 'SELECT, INSERT', `lacks TRUNCATE ${orders}`],
    ['if_exists=append&on_conflict=skip', 'INSERT', `lacks SELECT ${orders}`],
    ['if_exists=append&on_conflict=update', 'INSERT', `lacks SELECT and UPDATE ${orders}`],
    ['if_exists=append&on_conflict=skip&missing_rows=delete', 'SELECT, INSERT', `lacks DELETE ${orders}`],
    ['if_exists=append&on_conflict=skip&missing_rows=mark:gone', 'SELECT, INSERT', `lacks UPDATE ${orders}`],
    ['if_exists=replace', 'ALL', 'does not own the table "public"."orders", as if_exists=replace needs it'],
    [
      'if_exists=append&extra_columns=add',
      'ALL',
      'does not own the table "public"."orders", as extra_columns=add needs it',
    ],
  ] as const) {
    test(`a privilege that is missing for ${query} is named, with role and table`, async () => {
      await service.rows(`GRANT ${granted} ON orders TO ${role}`);
      const { detail } = assertProblem(await load([{ number: 'b' }], query), 403, 'permission-denied');
      assert.equal(detail, `The role "${role}" ${missing}.`);
    });
  }

  test('a privilege that is missing on the schema is named', async () => {
    await service.rows('CREATE SCHEMA closed; CREATE TABLE closed.t (a integer)');
    const path = '/table/t/upload/json?schema=closed&if_exists=append';
    const usage = assertProblem(
      await service.post(path, { data: [{ a: 1 }] }, { token }),
      403,
      'permission-denied',
    );
    assert.equal(
      usage.detail,
      `The role "${role}" lacks USAGE on the schema "closed". Ask the administrator of the database for the privilege USAGE on the schema "closed" for the role "${role}".`,
    );
    const table = { columns: [{ name: 'a', type: 'text' }] };
    for (const [at, body] of [
      ['/table/new?schema=closed', { table }],
      ['/table/new/upload/json?schema=closed', { data: [{ a: 1 }] }],
    ] as const) {
      const { detail } = assertProblem(await service.post(at, body, { token }), 403, 'permission-denied');
      assert.equal(
        detail,
        `The role "${role}" lacks CREATE on the schema "closed". Ask the administrator of the database for the privileges USAGE and CREATE on the schema "closed" for the role "${role}".`,
      );
    }
  });

  test('rows with a definition that has indexes need no privilege on the schema, and if_not_exists compares them', async () => {
    await service.rows(
      `DROP TABLE IF EXISTS indexed; CREATE TABLE indexed (id int); CREATE INDEX ON indexed (id);
       GRANT SELECT, INSERT ON indexed TO ${role}`,
    );
    const { body } = await service.get('/table/indexed');
    const path = '/table/indexed/upload/json?if_exists=append';
    const answer = await service.post(path, { table: body.table, data: [{ id: 1 }] }, { token });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const compared = await service.post(
      '/table/indexed?if_not_exists=true',
      { table: body.table },
      { token },
    );
    assert.deepEqual([compared.status, compared.body.differences], [200, []], JSON.stringify(compared.body));
  });

  test('a privilege that is missing on some columns is named, and rows without these columns are loaded', async () => {
    await service.rows(`GRANT INSERT (number, customer) ON orders TO ${role}`);
    const loaded = await load([{ number: 'b', customer: 1 }, { number: 'c' }]);
    assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
    assert.equal(loaded.body.load.rows, 2);
    const refused = await load([{ number: 'd', customer: 1, quantity: 1 }]);
    const { detail } = assertProblem(refused, 403, 'permission-denied');
    assert.equal(
      detail,
      `The role "${role}" lacks INSERT on these columns of the table "public"."orders": "quantity".`,
    );
    assert.deepEqual(await service.rows('SELECT number FROM orders ORDER BY number'), [
      { number: 'a' },
      { number: 'b' },
      { number: 'c' },
    ]);
  });

  test('a privilege that is missing on a table to which a trigger writes is named', async () => {
    await service.rows(`CREATE TABLE IF NOT EXISTS audit (a text);
      CREATE OR REPLACE FUNCTION write_audit() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO audit VALUES ('x'); RETURN NEW; END $$;
      CREATE TRIGGER audited BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION write_audit();
      GRANT INSERT ON orders TO ${role}`);
    const { detail } = assertProblem(await load([{ number: 'b' }]), 403, 'permission-denied');
    assert.match(detail, /permission denied for table audit/);
  });
});

suite('rows that violate a rule, under a role that may only add rows', () => {
  beforeEach(() => service.rows(`GRANT INSERT ON orders TO ${role}`));

  test('a reference to a table that it may not read is a problem', async () => {
    const data = [
      { number: 'b', customer: 1 },
      { number: 'c', customer: 9 },
    ];
    const { errors } = assertProblem(await load(data), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, code }) => [row, code]),
      [[2, 'no-such-reference']],
    );
    assert.match(errors[0]!.detail, /^has no match in public\.customers/);
  });

  test('a key that exists in the table is a problem', async () => {
    const { errors } = assertProblem(await load([{ number: 'b' }, { number: 'a' }]), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, code }) => [row, code]),
      [[2, 'not-unique']],
    );
    assert.equal(errors[0]!.detail, 'must be unique: the table already has it');
  });

  test('rules that the role can check, and those that only PostgreSQL can check, are checked for all rows', async () => {
    const data = [{ number: 'a' }, { number: 'b' }, { number: 'b' }, { number: 'c', quantity: 0 }];
    const { errors } = assertProblem(await load(data), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, code }) => [row, code]),
      [
        [1, 'not-unique'],
        [3, 'not-unique'],
        [4, 'check-violation'],
      ],
    );
  });

  test('a row that refers to no row is named although earlier rows refer to later ones, in a table that it may not read', async () => {
    await service.rows(`CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree);
      INSERT INTO tree VALUES (100);
      GRANT INSERT ON tree TO ${role}`);
    const parents = [4, 100, 99, null, 98, 100];
    const data = parents.map((parent, index) => ({ id: index + 1, parent }));
    const answer = await service.post('/table/tree/upload/json?if_exists=append', { data }, { token });
    await service.rows('DROP TABLE tree');
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, column, code }) => [row, column, code]),
      [
        [3, 'parent', 'no-such-reference'],
        [5, 'parent', 'no-such-reference'],
      ],
    );
  });

  test('a row that refers to no row is named although more than 100 rows before it refer to rows of the table', async () => {
    await service.rows(`CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree);
      INSERT INTO tree VALUES (1000);
      GRANT INSERT ON tree TO ${role}`);
    const parents = [4, ...Array<number>(120).fill(1000), 999, 3];
    const data = parents.map((parent, index) => ({ id: index + 1, parent }));
    const answer = await service.post('/table/tree/upload/json?if_exists=append', { data }, { token });
    await service.rows('DROP TABLE tree');
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, code }) => [row, code]),
      [[122, 'no-such-reference']],
    );
  });
});

suite('without TEMPORARY on the database', () => {
  before(() => admin.query(`REVOKE TEMPORARY ON DATABASE ${admin.database} FROM PUBLIC`));
  after(() => admin.query(`GRANT TEMPORARY ON DATABASE ${admin.database} TO PUBLIC`));
  beforeEach(() => service.rows(`GRANT ALL ON orders TO ${role}`));

  test('rows are loaded, and a refused row is reported with its number', async () => {
    assert.equal((await load([{ number: 'b' }])).status, 200);
    const { errors } = assertProblem(await load([{ number: 'c' }, { number: 'a' }]), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, code }) => [row, code]),
      [[2, 'refused-by-postgresql']],
    );
  });

  test('a row that refers to a row with other keys is refused, not the role', async () => {
    await service.rows(`CREATE TABLE tree (id int PRIMARY KEY, p int REFERENCES tree, u uuid DEFAULT gen_random_uuid());
      GRANT ALL ON tree TO ${role}`);
    const data = [
      { id: 1, p: 2 },
      { id: 2, u: null },
    ];
    const answer = await service.post('/table/tree/upload/json?if_exists=append', { data }, { token });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['refused-by-postgresql'],
    );
    await service.rows('DROP TABLE tree');
  });

  test('on_conflict is refused with the name of the privilege', async () => {
    const answer = await load([{ number: 'a' }], 'if_exists=append&on_conflict=skip');
    const { detail } = assertProblem(answer, 403, 'permission-denied');
    assert.equal(
      detail,
      `The role "${role}" lacks TEMPORARY on the database "${admin.database}", which on_conflict=skip needs.`,
    );
  });

  test('a definition for an existing table is refused with the name of the privilege', async () => {
    const table = { columns: [{ name: 'number', type: 'text', is_nullable: false }] };
    const answers = [
      await load([{ number: 'b' }], 'if_exists=append', { table }),
      await service.post('/table/orders?if_not_exists=true', { table }, { token }),
    ];
    for (const answer of answers) {
      const { detail } = assertProblem(answer, 403, 'permission-denied');
      assert.match(detail, /lacks the privilege TEMPORARY on the database/);
    }
  });

  test('a new table with a type that PostgreSQL reads from text is refused with the name of the privilege', async () => {
    const table = { columns: [{ name: 'place', type: 'point' }] };
    const body = { table, data: [{ place: '(1,2)' }] };
    await service.rows(`GRANT CREATE ON SCHEMA public TO ${role}`);
    const answer = await service.post('/table/places/upload/json', body, { token });
    await service.rows(`REVOKE CREATE ON SCHEMA public FROM ${role}`);
    const { detail } = assertProblem(answer, 403, 'permission-denied');
    assert.match(detail, /lacks the privilege TEMPORARY on the database/);
  });
});
