/** `if_exists=replace`: the new table replaces the old one in one step, or nothing changes. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { columns } from '../support/columns.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';
import { until } from '../support/until.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('r');
const replace = (name: string, body: unknown, query = '') =>
  service.post(`/table/${name}/upload/json?if_exists=replace${query}`, body);

/** Returns everything with a separate name: constraints, indexes, sequences. */
async function namesOf(name: string): Promise<string[]> {
  const rows = await service.rows(
    `SELECT 'constraint ' || conname AS name FROM pg_constraint WHERE conrelid = $1::regclass AND contype <> 'n'
     UNION ALL SELECT 'index ' || indexrelid::regclass FROM pg_index WHERE indrelid = $1::regclass
     UNION ALL SELECT 'sequence ' || objid::regclass FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
       WHERE d.refobjid = $1::regclass AND d.classid = 'pg_class'::regclass
     ORDER BY 1`,
    [name],
  );
  return rows.map((row) => row.name as string);
}

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
    const fresh = await namesOf(name);
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
      assert.deepEqual(await namesOf(name), fresh);
    }
    const other = await replace(name, { table: table(['code', 'parent']), data });
    assert.equal(other.status, 201);
    assert.ok((await namesOf(name)).includes(`index ${name}_code_parent_key`));
    assert.ok(!(await namesOf(name)).includes(`index ${name}_code_key`));
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

async function untilWaitsForLock(): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await until('a session that waits for a lock', async () => (await service.rows(waiting)).length > 0);
}

suite('readers and writers during a replace', () => {
  test('readers see the old rows until the new rows are committed, and never wait long', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['generation', 'integer'], ['n', 'integer']),
      constraints: { primary_key: { name: '', columns: ['n'] } },
    };
    const count = sized(50_000, 200_000);
    const generation = (g: number) => ({
      table,
      data: Array.from({ length: count }, (_, n) => ({ generation: g, n })),
    });
    assert.equal((await replace(name, generation(1))).status, 201);
    let isDone = false;
    const seen = new Set<string>();
    const reading = (async () => {
      while (!isDone) {
        const [row] = await service.rows(
          `SELECT count(*)::int AS rows, min(generation) AS low, max(generation) AS high FROM (SELECT generation FROM ${name} LIMIT 1000) t`,
        );
        seen.add(JSON.stringify(row));
        await sleep(2);
      }
    })();
    const answer = await replace(name, generation(2));
    isDone = true;
    await reading;
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [last] = await service.rows(`SELECT count(*)::int AS rows, min(generation) AS low FROM ${name}`);
    assert.deepEqual(last, { rows: count, low: 2 });
    const possible = [1, 2].map((g) => JSON.stringify({ rows: 1000, low: g, high: g }));
    assert.ok(
      [...seen].every((row) => possible.includes(row)),
      [...seen].join(),
    );
    assert.ok(seen.has(possible[0]!), 'the old rows were seen meanwhile');
  });

  // replace-under-readers.test.ts tests readers during a replace, and a replace that continues after waiting.
  test('a replace fails with 503 if a reader locks the table for longer than the lock timeout', async () => {
    const hasty = await startTestService({ LOCK_TIMEOUT_MS: '1000' });
    const replaceThere = (data: unknown[]) =>
      hasty.post('/table/held/upload/json?if_exists=replace', { data });
    const holder = await hasty.database.pool.connect();
    try {
      await replaceThere([{ a: 1 }]);
      await holder.query('BEGIN');
      await holder.query('SELECT * FROM held');
      const answer = await replaceThere([{ a: 2 }]);
      assertProblem(answer, 503, 'database-busy');
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      await holder.query('COMMIT');
      assert.deepEqual(await hasty.rows('SELECT * FROM held'), [{ a: '1' }]);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
      await hasty.stop();
    }
  });

  for (const [what, statement] of [
    ['dropped', 'DROP TABLE'],
    ['renamed', 'ALTER TABLE'],
  ]) {
    test(`a replace fails with 409 and leaves no temporary table if the table is ${what} meanwhile`, async () => {
      const name = nextTable();
      await replace(name, { data: [{ a: 1 }] });
      const holder = await service.database.pool.connect();
      try {
        await holder.query('BEGIN');
        await holder.query(`${statement} ${name} ${what === 'renamed' ? `RENAME TO ${name}_old` : ''}`);
        const replacing = replace(name, { data: [{ a: 2 }] });
        await untilWaitsForLock();
        await holder.query('COMMIT');
        const { detail } = assertProblem(await replacing, 409, 'write-conflict');
        assert.match(detail, /dropped or renamed/);
      } finally {
        holder.release();
      }
      assert.deepEqual(
        await service.rows("SELECT relname FROM pg_class WHERE relname LIKE 'tablewright%'"),
        [],
      );
      assert.equal((await replace(name, { data: [{ a: 3 }] })).status, 201);
    });
  }

  for (const [what, create] of [
    ['a sequence', (name: string) => `CREATE SEQUENCE ${name}; GRANT USAGE ON SEQUENCE ${name} TO PUBLIC`],
    [
      'an index',
      (name: string) => `CREATE TABLE ${name}_other (a int); CREATE INDEX ${name} ON ${name}_other (a)`,
    ],
    ['a composite type', (name: string) => `CREATE TYPE ${name} AS (a int)`],
    ['a view', (name: string) => `CREATE VIEW ${name} AS SELECT 1 AS a`],
    ['a materialized view', (name: string) => `CREATE MATERIALIZED VIEW ${name} AS SELECT 1 AS a`],
  ] as const) {
    for (const query of ['replace', 'append', 'truncate', 'append&extra_columns=add']) {
      test(`an upload with if_exists=${query} fails with 409 if ${what} takes the name of the table meanwhile`, async () => {
        const name = nextTable();
        await replace(name, { data: [{ a: 1 }] });
        const holder = await service.database.pool.connect();
        try {
          await holder.query(`BEGIN; DROP TABLE ${name}`);
          const body = { data: [{ a: 2, b: 3 }] };
          const loading = service.post(`/table/${name}/upload/json?if_exists=${query}`, body);
          await untilWaitsForLock();
          await holder.query(`${create(name)}; COMMIT`);
          const { detail } = assertProblem(await loading, 409, 'write-conflict');
          assert.match(detail, /dropped or renamed/);
        } finally {
          holder.release();
        }
      });
    }
  }

  // The caches of the catalogue may have the new table before the snapshot of a statement does.
  test('a replace of a table that others drop and create again and again succeeds or fails with a conflict', async () => {
    const name = nextTable();
    await replace(name, { data: [{ a: 1 }] });
    let isDone = false;
    const changing = (async () => {
      while (!isDone) {
        await service.rows(`DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (a text)`);
      }
    })();
    changing.catch(() => {});
    for (let i = 0; i < sized(4, 12); i++) {
      const answer = await replace(name, { data: [{ a: 2 }] });
      const isExpected = answer.status === 201 || answer.status === 409;
      assert.ok(isExpected, JSON.stringify(answer.body));
    }
    isDone = true;
    await changing.catch(() => {});
  });

  /** Locks the table, so that the replace has checked it and waits for its lock when `change` is made. */
  async function changeBeforeTheLock(name: string, body: unknown, change: string) {
    const holder = await service.database.pool.connect();
    try {
      await holder.query(`BEGIN; LOCK TABLE ${name} IN ACCESS SHARE MODE`);
      const replacing = replace(name, body);
      const tries = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND query LIKE '%LOCK TABLE "public"."${name}" IN ACCESS EXCLUSIVE%'`;
      await until('the replace to lock the table', async () => (await service.rows(tries)).length > 0);
      await service.rows(change);
      await holder.query('COMMIT');
      return await replacing;
    } finally {
      holder.release();
    }
  }

  const changes: [string, (name: string) => string, RegExp][] = [
    ['a view', (name) => `CREATE VIEW ${name}_late AS SELECT a FROM ${name}`, /view r\d+_late/],
    [
      'a function over its rows',
      (name) => `CREATE FUNCTION ${name}_late(${name}) RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
      /function r\d+_late/,
    ],
    [
      'a column of its row type',
      (name) => `CREATE TABLE ${name}_late (whole ${name})`,
      /column whole of table r\d+_late/,
    ],
    [
      'a default over its sequence',
      (name) => `CREATE TABLE ${name}_late (n integer DEFAULT nextval('${name}_id_seq'))`,
      /default value for column n of table r\d+_late/,
    ],
  ];
  const numbered = { columns: columns(['id', 'serial'], ['a', 'integer']) };
  for (const [what, statement, named] of changes) {
    test(`a replace fails with 409 that names ${what} created between the check and the lock`, async () => {
      const name = nextTable();
      await replace(name, { table: numbered, data: [{ a: 1 }] });
      const answer = await changeBeforeTheLock(name, { table: numbered, data: [{ a: 2 }] }, statement(name));
      const { errors } = assertProblem(answer, 409, 'dependent-objects');
      assert.match(errors[0]!.value!, named);
      assert.deepEqual(await service.rows(`SELECT a FROM ${name}`), [{ a: 1 }]);
    });
  }

  test('a replace keeps grants, comments and options that are set between the check and the lock', async () => {
    const name = nextTable();
    await replace(name, { table: numbered, data: [{ a: 1 }] });
    const answer = await changeBeforeTheLock(
      name,
      { table: numbered, data: [{ a: 2 }] },
      `GRANT SELECT ON ${name} TO PUBLIC; GRANT UPDATE (a) ON ${name} TO PUBLIC; COMMENT ON SEQUENCE ${name}_id_seq IS 'late';
       CREATE SEQUENCE ${name}_late OWNED BY ${name}.a`,
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [facts] = await service.rows(
      `SELECT has_table_privilege('public', '${name}', 'SELECT') AS reads, has_column_privilege('public', '${name}', 'a', 'UPDATE') AS updates,
         obj_description('${name}_id_seq'::regclass, 'pg_class') AS comment`,
    );
    assert.deepEqual(facts, { reads: true, updates: true, comment: 'late' });
    assert.deepEqual(answer.body.load.warnings, [
      { code: 'lost-by-replace', detail: `Replacing the table removed sequence ${name}_late.` },
    ]);
  });

  test('two replaces at the same time both succeed, one after the other', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'serial'], ['a', 'integer']),
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    await replace(name, { table, data: [{ a: 0 }] });
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        [1, 2].map((a) => replace(name, { table, data: Array.from({ length: 1000 }, () => ({ a })) })),
      );
      // The second replace waits for the first one, before any lock on the table.
      for (const answer of answers) assert.equal(answer.status, 201, JSON.stringify(answer.body));
      const [row] = await service.rows(
        `SELECT count(*)::int AS rows, count(DISTINCT a)::int AS kinds FROM ${name}`,
      );
      assert.deepEqual(row, { rows: 1000, kinds: 1 });
      assert.deepEqual(await namesOf(name), [
        `constraint ${name}_pkey`,
        `index ${name}_pkey`,
        `sequence ${name}_id_seq`,
      ]);
    }
  });

  test('rows that are added during a replace are kept or refused, never lost without an error', async () => {
    const name = nextTable();
    const table = { columns: columns(['a', 'integer']) };
    await replace(name, { table, data: [] });
    const append = () => service.post(`/table/${name}/upload/json?if_exists=append`, { data: [{ a: 1 }] });
    const answers = await Promise.all([
      replace(name, { table, data: [{ a: 2 }] }),
      ...Array.from({ length: 5 }, append),
    ]);
    for (const answer of answers) assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body));
    const [row] = await service.rows(`SELECT count(*) FILTER (WHERE a = 2)::int AS replaced FROM ${name}`);
    assert.deepEqual(row, { replaced: 1 });
  });
});
