/** `if_exists=replace`: the new table replaces the old one in one step, or nothing changes. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { columns } from '../support/columns.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { namesOf, tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('r');
const replace = (name: string, body: unknown, query = '') =>
  service.post(`/table/${name}/upload/json?if_exists=replace${query}`, body);

suite('the new table', () => {
  const table = (unique: string[] = ['code']) => ({
    columns: columns(['id', 'serial'], ['code', 'text'], ['parent', 'integer']),
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      unique: [{ name: '', columns: unique }],
      foreign_keys: [] as object[],
    },
  });
  const data = [{ code: 'a' }, { code: 'b' }];

  test('the constraints and sequences of a replaced table have the names that they have in a fresh table', async () => {
    const name = nextTable();
    await service.post(`/table/${name}`, { table: table() });
    const fresh = await namesOf(service, name);
    assert.deepEqual(fresh, [
      `constraint ${name}_code_key`,
      `constraint ${name}_pkey`,
      `index ${name}_code_key`,
      `index ${name}_pkey`,
      `sequence ${name}_id_seq`,
    ]);
    for (let round = 0; round < 3; round += 1) {
      const answer = await replace(name, { table: table(), data });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(await namesOf(service, name), fresh);
    }
    const other = await replace(name, { table: table(['code', 'parent']), data });
    assert.equal(other.status, 201);
    assert.ok((await namesOf(service, name)).includes(`index ${name}_code_parent_key`));
    assert.ok(!(await namesOf(service, name)).includes(`index ${name}_code_key`));
  });

  test('a replaced table gets the constraint names of its definition, although the old table has them too', async () => {
    const name = nextTable();
    const named = {
      columns: columns(['id', 'integer'], ['code', 'text']),
      constraints: {
        primary_key: { name: `${name}_p`, columns: ['id'] },
        unique: [{ name: `${name}_u`, columns: ['code'] }],
      },
    };
    const rows = [{ id: 1, code: 'x' }];
    for (let round = 0; round < 2; round += 1) {
      const answer = await replace(name, { table: named, data: rows });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.equal(answer.body.table.constraints.primary_key.name, `${name}_p`);
      assert.deepEqual(answer.body.table.constraints.unique, [{ name: `${name}_u`, columns: ['code'] }]);
    }
    const swapped = {
      ...named,
      constraints: {
        primary_key: { name: `${name}_u`, columns: ['id'] },
        unique: [{ name: `${name}_p`, columns: ['code'] }],
      },
    };
    const answer = await replace(name, { table: swapped, data: rows });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.table.constraints.primary_key.name, `${name}_u`);
  });

  test('a replaced table generates numbers after the numbers of its rows', async () => {
    const name = nextTable();
    await replace(name, { table: table(), data });
    await replace(name, { table: table(), data });
    const inserted = await service.rows(`INSERT INTO ${name} (code) VALUES ('c') RETURNING id`);
    assert.deepEqual(inserted, [{ id: 3 }]);
    const appended = await service.post(`/table/${name}/upload/json?if_exists=append`, {
      data: [{ code: 'd' }],
    });
    assert.equal(appended.status, 200, JSON.stringify(appended.body));
    assert.deepEqual(await service.rows(`SELECT id, code FROM ${name} ORDER BY id`), [
      { id: 1, code: 'a' },
      { id: 2, code: 'b' },
      { id: 3, code: 'c' },
      { id: 4, code: 'd' },
    ]);
  });

  test('a replaced table can have a foreign key to itself', async () => {
    const name = nextTable();
    const self = table();
    self.constraints.foreign_keys = [
      { name: '', column: 'parent', reference_table: name, reference_column: 'id' },
    ];
    const family = [
      { id: 2, code: 'child', parent: 1 },
      { id: 1, code: 'root', parent: null },
    ];
    for (let round = 0; round < 2; round += 1) {
      const answer = await replace(name, { table: self, data: family });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(answer.body.table.constraints.foreign_keys, [
        {
          name: `${name}_parent_fkey`,
          column: 'parent',
          reference_table: name,
          reference_column: 'id',
          reference_schema: 'public',
        },
      ]);
    }
    await assert.rejects(service.rows(`INSERT INTO ${name} (code, parent) VALUES ('x', 99)`), {
      code: '23503',
    });
    const orphans = [{ id: 1, code: 'x', parent: 7 }];
    const { errors } = assertProblem(
      await replace(name, { table: self, data: orphans }),
      422,
      'invalid-data',
    );
    assert.deepEqual(
      errors.map(({ row, column, value }) => [row, column, value]),
      [[1, 'parent', '7']],
    );
    assert.equal((await service.rows(`SELECT * FROM ${name}`)).length, 2);
  });

  test('a replaced table keeps the owner, grants, storage parameters and comments of the old table', async () => {
    const name = nextTable();
    const [reader, owner] = [`reader_${process.pid}`, `owner_${process.pid}`];
    const admin = new pg.Client(service.database.adminUrl);
    await admin.connect();
    try {
      const [{ user }] = (await service.rows('SELECT current_user AS user')) as [{ user: string }];
      await admin.query(
        `CREATE ROLE ${reader}; CREATE ROLE ${owner}; GRANT ${owner} TO "${user}"; GRANT CREATE ON SCHEMA public TO ${owner}`,
      );
      await service.post(`/table/${name}`, { table: table() });
      await service.rows(`COMMENT ON TABLE ${name} IS 'it''s "ours"'`);
      await service.rows(`COMMENT ON COLUMN ${name}.code IS 'the code'`);
      await service.rows(`COMMENT ON COLUMN ${name}.parent IS 'goes with its column'`);
      await service.rows(`GRANT SELECT, INSERT ON ${name} TO ${reader}`);
      await service.rows(`GRANT UPDATE (code) ON ${name} TO ${reader} WITH GRANT OPTION`);
      await service.rows(`GRANT SELECT ON ${name} TO PUBLIC`);
      await service.rows(`GRANT USAGE ON SEQUENCE ${name}_id_seq TO ${reader} WITH GRANT OPTION`);
      await service.rows(`ALTER TABLE ${name} SET (fillfactor = 70, toast.autovacuum_enabled = off)`);
      await service.rows(`COMMENT ON SEQUENCE ${name}_id_seq IS 'the numbers'`);
      await service.rows(`ALTER TABLE ${name} OWNER TO ${owner}`);
      await service.rows(`REVOKE DELETE, TRUNCATE ON ${name} FROM ${owner}`);
      await service.rows(`REVOKE UPDATE ON SEQUENCE ${name}_id_seq FROM ${owner}`);
      const facts = `SELECT pg_get_userbyid(relowner) AS owner, relacl::text[] AS acl, obj_description(oid, 'pg_class') AS comment,
        (SELECT attacl::text[] FROM pg_attribute WHERE attrelid = c.oid AND attname = 'code') AS code_acl,
        col_description(oid, 2) AS code_comment, reloptions AS settings,
        (SELECT reloptions FROM pg_class t WHERE t.oid = c.reltoastrelid) AS toast_settings,
        obj_description(pg_get_serial_sequence($1, 'id')::regclass, 'pg_class') AS sequence_comment,
        (SELECT relacl::text[] FROM pg_class s WHERE s.oid = pg_get_serial_sequence($1, 'id')::regclass) AS sequence_acl
        FROM pg_class c WHERE oid = $1::regclass`;
      const before = await service.rows(facts, [name]);
      const answer = await replace(name, {
        table: { columns: columns(['id', 'serial'], ['code', 'text']) },
        data,
      });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(await service.rows(facts, [name]), before);
      assert.deepEqual(before[0]!.settings, ['fillfactor=70']);
      assert.equal(before[0]!.sequence_comment, 'the numbers');
      assert.doesNotMatch(
        String(before[0]!.acl),
        new RegExp(`${owner}=[a-zA-Z]*[dD]`),
        'what the owner revoked from itself',
      );
      assert.equal(before[0]!.owner, owner);
      assert.equal(before[0]!.comment, `it's "ours"`);
    } finally {
      await service.rows(`DROP TABLE IF EXISTS ${name}`);
      await admin.query(`DROP OWNED BY ${reader}, ${owner}; DROP ROLE ${reader}, ${owner}`);
      await admin.end();
    }
  });
});

suite('the warnings lost-by-replace', () => {
  const gone = async (name: string, body: unknown, query = '') => {
    const answer = await replace(name, body, query);
    assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body));
    const warnings = answer.body.load.warnings as { code: string; detail: string }[];
    assert.deepEqual(
      warnings.filter(({ code }) => code !== 'lost-by-replace'),
      [],
    );
    return warnings.map(({ detail }) => detail.replace(/^Replacing the table removed (.*)\.$/, '$1'));
  };
  const table = (name: string) => ({
    columns: columns(['id', 'integer'], ['code', 'text'], ['parent', 'integer'], ['other', 'integer']),
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      unique: [{ name: '', columns: ['code', 'id'] }],
      foreign_keys: [
        { name: '', column: 'parent', reference_table: name, reference_column: 'id' },
        { name: '', column: 'other', reference_table: `${name}_other`, reference_column: 'id' },
      ],
    },
  });
  const make = async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name}_other (id integer PRIMARY KEY)`);
    assert.equal((await service.post(`/table/${name}`, { table: table(name) })).status, 201);
    return name;
  };

  test('a replace with the same definition has no warning', async () => {
    const name = await make();
    assert.deepEqual(await gone(name, { table: table(name), data: [{ id: 1 }] }), []);
  });

  test('a replace warns of each part of the old table that the definition does not have', async () => {
    const name = await make();
    await service.rows(`
      ALTER TABLE ${name} ADD CONSTRAINT ${name}_check CHECK (id > 0), REPLICA IDENTITY FULL;
      CREATE INDEX ${name}_index ON ${name} (lower(code));
      CREATE UNIQUE INDEX ${name}_part ON ${name} (code) WHERE parent IS NULL;
      CREATE STATISTICS ${name}_statistics ON id, code FROM ${name}`);
    const expected = [
      `constraint ${name}_check on table ${name}`,
      `index ${name}_index`,
      `index ${name}_part`,
      `statistics object ${name}_statistics`,
      'its replica identity',
    ];
    assert.deepEqual(await gone(name, { table: table(name), data: [{ id: 1 }] }, '&dry_run=true'), expected);
    assert.deepEqual(await gone(name, { table: table(name), data: [{ id: 1 }] }), expected);
  });

  test('a replace warns of properties of columns and constraints that a definition cannot have', async () => {
    const name = await make();
    await service.rows(`
      CREATE COLLATION IF NOT EXISTS plain FROM "C";
      ALTER TABLE ${name} ALTER code TYPE text COLLATE plain, ALTER code SET STORAGE EXTERNAL, ALTER id SET STATISTICS 7,
        ALTER id SET (n_distinct = 3);
      ALTER TABLE ${name} CLUSTER ON ${name}_pkey;
      COMMENT ON CONSTRAINT ${name}_pkey ON ${name} IS 'the key'`);
    assert.deepEqual(await gone(name, { table: table(name), data: [{ id: 1 }] }), [
      `its being clustered by index ${name}_pkey`,
      'the collation of column code',
      'the settings of column id',
      'the statistics target of column id',
      'the storage of column code',
      `the comment on constraint ${name}_pkey on table ${name}`,
    ]);
  });

  test('a replace does not warn of a sequence that the new table continues to use', async () => {
    const name = nextTable();
    await service.rows(`CREATE SEQUENCE ${name}_numbers; CREATE TABLE ${name} (id int DEFAULT nextval('${name}_numbers'), v text);
      ALTER SEQUENCE ${name}_numbers OWNED BY ${name}.id; INSERT INTO ${name} (v) VALUES ('a'), ('b')`);
    const { body } = await service.get(`/table/${name}`);
    assert.deepEqual(await gone(name, { table: body.table, data: [{ v: 'c' }] }), []);
    assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), [{ id: 3, v: 'c' }]);
    assert.deepEqual(await service.rows(`SELECT pg_get_serial_sequence('${name}', 'id') AS s`), [
      { s: `public.${name}_numbers` },
    ]);
  });

  test('a replace does not warn of a default that is only spelled in another way', async () => {
    const name = nextTable();
    await service.rows(
      `CREATE TABLE ${name} (a numeric(10,2) DEFAULT 0, b bigint DEFAULT 3, c double precision DEFAULT 1.5)`,
    );
    const { body } = await service.get(`/table/${name}`);
    assert.deepEqual(await gone(name, { table: body.table, data: [{ a: 1 }] }), []);
  });

  test('a replace whose new default uses the sequence of an old identity column is refused', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id int GENERATED BY DEFAULT AS IDENTITY, n int)`);
    const table = { columns: [{ name: 'id', type: 'int', default: `nextval('${name}_id_seq')` }] };
    const { errors } = assertProblem(
      await replace(name, { table, data: [{ id: 1 }] }),
      409,
      'dependent-objects',
    );
    assert.equal(errors[0]!.value, 'the default of column id in the new definition');
  });

  test('a replace warns of the sequence options of an identity column', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (
      id bigint GENERATED BY DEFAULT AS IDENTITY (START WITH 1000 INCREMENT BY 10 CYCLE CACHE 5), v text)`);
    const { body } = await service.get(`/table/${name}`);
    assert.deepEqual(await gone(name, { table: body.table, data: [{ v: 'c' }] }), []);
    body.table.columns[0].numbering = null;
    assert.deepEqual(await gone(name, { table: body.table, data: [{ v: 'c' }] }), [
      'the numbering of column id: START 1000 INCREMENT 10 MINVALUE 1 MAXVALUE 9223372036854775807 CACHE 5 CYCLE',
    ]);
  });

  test('a replace warns of the sequence of a column if the new column uses another sequence or none', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id serial, v text);
      CREATE SEQUENCE ${name}_further OWNED BY ${name}.v; CREATE SEQUENCE ${name}_second OWNED BY ${name}.id`);
    const table = { columns: columns(['id', 'serial'], ['v', 'text']) };
    assert.deepEqual(await gone(name, { table, data: [{ v: 'c' }] }), [
      `sequence ${name}_further`,
      `sequence ${name}_second`,
    ]);
  });

  test('a replace warns of the sequence options of a serial column', async () => {
    const name = nextTable();
    await service.rows(
      `CREATE TABLE ${name} (id serial, v text); ALTER SEQUENCE ${name}_id_seq INCREMENT BY 10 CYCLE`,
    );
    const table = { columns: columns(['id', 'serial'], ['v', 'text']) };
    assert.deepEqual(await gone(name, { table, data: [{ v: 'c' }] }), [
      'the numbering of column id: START 1 INCREMENT 10 MINVALUE 1 MAXVALUE 2147483647 CACHE 1 CYCLE',
    ]);
  });

  test('a column that owns a sequence keeps the comment and the grants of its sequence, and a replace warns of its options', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id serial, v text);
      CREATE SEQUENCE ${name}_second OWNED BY ${name}.id; COMMENT ON SEQUENCE ${name}_second IS 'of no default';
      ALTER SEQUENCE ${name}_id_seq INCREMENT BY 10 CACHE 5; COMMENT ON SEQUENCE ${name}_id_seq IS 'the numbers';
      REVOKE UPDATE ON SEQUENCE ${name}_id_seq FROM CURRENT_USER`);
    const facts = `SELECT obj_description(oid, 'pg_class') AS comment, relacl::text[] AS acl
      FROM pg_class WHERE oid = '${name}_id_seq'::regclass`;
    const before = await service.rows(facts);
    const { body } = await service.get(`/table/${name}`);
    body.table.columns[0].numbering = null;
    assert.deepEqual(await gone(name, { table: body.table, data: [{ v: 'c' }] }), [
      `sequence ${name}_second`,
      'the numbering of column id: START 1 INCREMENT 10 MINVALUE 1 MAXVALUE 2147483647 CACHE 5',
    ]);
    assert.deepEqual(await service.rows(facts), before);
  });

  test('a replace warns of the index settings of a constraint that is kept', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id integer PRIMARY KEY WITH (fillfactor = 50))`);
    const table = {
      columns: columns(['id', 'integer']),
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    assert.deepEqual(await gone(name, { table, data: [{ id: 1 }] }), [`the settings of index ${name}_pkey`]);
  });

  test('a replace warns of the type that the old table was created from', async () => {
    const name = nextTable();
    await service.rows(`CREATE TYPE ${name}_type AS (a bigint); CREATE TABLE ${name} OF ${name}_type`);
    assert.deepEqual(await gone(name, { data: [{ a: 1 }] }), [`its row type ${name}_type`]);
  });

  test('a replace warns of columns that are removed and of types that change', async () => {
    const name = nextTable();
    await service.rows(`
      CREATE TABLE ${name} (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, code varchar(8) NOT NULL, qty integer DEFAULT 0,
        kept text NOT NULL DEFAULT 'x', twice integer GENERATED ALWAYS AS (qty * 2) STORED, "Going" date, gone text)`);
    await service.rows(`ALTER TABLE ${name} DROP COLUMN gone`);
    const definition = {
      columns: [
        ...columns(['id', 'integer'], ['code', 'varchar(9)'], ['qty', 'integer'], ['twice', 'integer']),
        { name: 'kept', type: 'text', is_nullable: false, default: 'x' },
      ],
    };
    assert.deepEqual(await gone(name, { table: definition, data: [{ id: 1, code: 'x' }] }), [
      'column "Going"',
      `constraint ${name}_pkey on table ${name}`,
      'the NOT NULL of column code',
      'the default of column qty',
      'the generation of column twice',
      'the identity of column id',
      'the type character varying(8) of column code',
    ]);
  });

  test('a replace does not confuse a foreign key with one to a table of a similar name', async () => {
    const name = nextTable();
    await service.rows(
      `CREATE TABLE "a ${name}" (id integer PRIMARY KEY); CREATE TABLE a_${name} (id integer PRIMARY KEY)`,
    );
    const foreign = [`a_${name}`, `a ${name}`].map((reference_table, index) => ({
      name: '',
      column: `k${index}`,
      reference_table,
      reference_column: 'id',
    }));
    const referring = {
      columns: columns(['k0', 'integer'], ['k1', 'integer']),
      constraints: { foreign_keys: foreign },
    };
    assert.equal((await service.post(`/table/${name}`, { table: referring })).status, 201);
    assert.deepEqual(await gone(name, { table: referring, data: [{ k0: null }] }), []);
  });

  test('a replace without a definition warns of the keys of the old table', async () => {
    const name = await make();
    assert.deepEqual(await gone(name, { data: [{ id: 1, code: 'x' }] }), [
      'column other',
      'column parent',
      `constraint ${name}_code_id_key on table ${name}`,
      `constraint ${name}_other_fkey on table ${name}`,
      `constraint ${name}_parent_fkey on table ${name}`,
      `constraint ${name}_pkey on table ${name}`,
      'the type integer of column id',
    ]);
  });

  test('a replace of an unlogged table warns that the new table is logged', async () => {
    const name = nextTable();
    await service.rows(`CREATE UNLOGGED TABLE ${name} (a bigint)`);
    assert.deepEqual(await gone(name, { data: [{ a: 1 }] }), ['its being unlogged']);
  });
});

suite('objects that depend on the old table', () => {
  const table = {
    columns: columns(['id', 'integer']),
    constraints: { primary_key: { name: '', columns: ['id'] } },
  };
  const cases: [string, (name: string) => string[], RegExp][] = [
    ['a view', (name) => [`CREATE VIEW ${name}_view AS SELECT id FROM ${name}`], /view r\d+_view/],
    [
      'a materialized view',
      (name) => [`CREATE MATERIALIZED VIEW ${name}_mat AS SELECT id FROM ${name}`],
      /materialized view r\d+_mat/,
    ],
    [
      'a foreign key',
      (name) => [`CREATE TABLE ${name}_child (parent integer REFERENCES ${name})`],
      /constraint r\d+_child_parent_fkey on table r\d+_child/,
    ],
    [
      'a trigger',
      (name) => [
        `CREATE FUNCTION ${name}_f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
        `CREATE TRIGGER ${name}_trigger BEFORE INSERT ON ${name} FOR EACH ROW EXECUTE FUNCTION ${name}_f()`,
      ],
      /trigger r\d+_trigger on table r\d+/,
    ],
    [
      'a rule of its own',
      (name) => [`CREATE RULE ${name}_rule AS ON DELETE TO ${name} DO INSTEAD NOTHING`],
      /rule r\d+_rule on table r\d+/,
    ],
    [
      'a policy',
      (name) => [`CREATE POLICY ${name}_policy ON ${name} USING (true)`],
      /policy r\d+_policy on table/,
    ],
    [
      'a function over its rows',
      (name) => [`CREATE FUNCTION ${name}_g(${name}) RETURNS integer LANGUAGE sql AS 'SELECT 1'`],
      /function r\d+_g/,
    ],
    ['a partition', (name) => [`CREATE TABLE ${name}_heir () INHERITS (${name})`], /table r\d+_heir/],
  ];
  for (const [title, statements, named] of cases) {
    test(`${title} prevents the replace with 409 that names it, and nothing is changed`, async () => {
      const name = nextTable();
      await service.post(`/table/${name}/upload/json`, { table, data: [{ id: 1 }] });
      for (const statement of statements(name)) await service.rows(statement);
      const before = await service.rows('SELECT $1::regclass::oid AS oid', [name]);
      const answer = await replace(name, { table, data: [{ id: 2 }] });
      const { detail, errors } = assertProblem(answer, 409, 'dependent-objects');
      const isReferredTo = title.includes('foreign key');
      assert.match(
        detail,
        isReferredTo ? /send if_exists=append&on_conflict=update/ : /send if_exists=truncate\.$/,
      );
      assert.equal(errors.length, 1);
      assert.match(errors[0]!.value!, named);
      assert.deepEqual(await service.rows('SELECT $1::regclass::oid AS oid', [name]), before);
      assert.deepEqual(await service.rows(`SELECT id FROM ONLY ${name}`), [{ id: 1 }]);
    });
  }
});

suite('objects that only a superuser can create', () => {
  const cases: [string, (name: string) => string[], RegExp][] = [
    [
      'a security label',
      (name) => [
        'SET allow_system_table_mods = on',
        `INSERT INTO pg_seclabel VALUES ('${name}'::regclass, 'pg_class'::regclass, 2, 'masks', 'MASKED')`,
      ],
      /the security label of column code of table r\d+/,
    ],
    [
      'a place in a subscription',
      (name) => [
        `CREATE SUBSCRIPTION ${name}_subscription CONNECTION 'dbname=nowhere' PUBLICATION p WITH (connect = false, slot_name = NONE, enabled = false)`,
        'SET allow_system_table_mods = on',
        `INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate)
         SELECT oid, '${name}'::regclass, 'r' FROM pg_subscription WHERE subname = '${name}_subscription'`,
      ],
      /its place in subscription r\d+_subscription/,
    ],
    [
      'a place in an extension',
      (name) => [`ALTER EXTENSION plpgsql ADD TABLE ${name}`],
      /its place in extension plpgsql/,
    ],
  ];
  for (const [title, statements, named] of cases) {
    test(`${title} prevents the replace with 409 that names it`, async () => {
      const name = nextTable();
      const table = { columns: columns(['id', 'integer'], ['code', 'text']) };
      await service.post(`/table/${name}`, { table });
      const admin = new pg.Client(service.database.adminUrl);
      await admin.connect();
      try {
        for (const statement of statements(name)) await admin.query(statement);
        const { errors } = assertProblem(
          await replace(name, { table, data: [{ id: 2 }] }),
          409,
          'dependent-objects',
        );
        assert.equal(errors.length, 1);
        assert.match(errors[0]!.value!, named);
      } finally {
        if (title === 'a place in an extension')
          await admin.query(`ALTER EXTENSION plpgsql DROP TABLE ${name}`);
        await admin.query(`DROP SUBSCRIPTION IF EXISTS ${name}_subscription`);
        await admin.end();
      }
    });
  }
});

suite('a replace that fails', () => {
  for (const [title, body, status, code] of [
    [
      'invalid data',
      { table: { columns: columns(['a', 'integer']) }, data: [{ a: 1 }, { a: 'x' }] },
      422,
      'invalid-data',
    ],
    [
      'repeated keys',
      {
        table: {
          columns: columns(['a', 'integer']),
          constraints: { primary_key: { name: '', columns: ['a'] } },
        },
        data: [{ a: 1 }, { a: 1 }],
      },
      422,
      'invalid-data',
    ],
    [
      'an invalid definition',
      { table: { columns: columns(['a', 'nonesuch']) }, data: [] },
      422,
      'invalid-definition',
    ],
    ['neither rows nor a definition', { data: [] }, 422, 'nothing-to-load'],
  ] as const) {
    test(`a replace with ${title} is refused and keeps the old table`, async () => {
      const name = nextTable();
      await replace(name, { data: [{ old: 1 }] });
      const before = await service.rows('SELECT $1::regclass::oid AS oid', [name]);
      assertProblem(await replace(name, body), status, code);
      assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), [{ old: '1' }]);
      assert.deepEqual(await service.rows('SELECT $1::regclass::oid AS oid', [name]), before);
      assert.deepEqual(
        await service.rows("SELECT relname FROM pg_class WHERE relname LIKE 'tablewright%'"),
        [],
        'nothing is left aside',
      );
    });
  }
});
