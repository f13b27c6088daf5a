/** Tables with foreign keys at every place that Citus has for a table: they are created, loaded, extended and replaced over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';

let service: CitusService;

const columns = [
  { name: 'k', type: 'bigint', is_nullable: false },
  { name: 'id', type: 'bigserial', is_nullable: false },
  { name: 'parent', type: 'bigint' },
];
const local = { kind: 'local' };
const reference = { kind: 'reference' };
const byColumn = { kind: 'column', column: 'k' };
const bySchema = { kind: 'schema' };
const idAlone = { name: '', columns: ['id'] };
const withColumn = { name: '', columns: ['k', 'id'] };
const rows = Array.from({ length: 20 }, (_, id) => ({ k: id, id, parent: id }));

interface Kind {
  distribution: { kind: string };
  /** The referenced table; undefined: the table itself. */
  target?: string;
}

const kinds: Record<string, Kind> = {
  'an ordinary table that refers to a reference table': { distribution: local, target: 'reference' },
  'an ordinary table that refers to a table that Citus manages': { distribution: local, target: 'managed' },
  'an ordinary table that refers to an ordinary table': { distribution: local, target: 'ordinary' },
  'an ordinary table that refers to itself': { distribution: local },
  'a reference table that refers to a reference table': { distribution: reference, target: 'reference' },
  'a reference table that refers to a table that Citus manages': {
    distribution: reference,
    target: 'managed',
  },
  'a reference table that refers to itself': { distribution: reference },
  'a table by column that refers to a reference table': { distribution: byColumn, target: 'reference' },
  'a table by column that refers to a colocated table': { distribution: byColumn, target: 'colocated' },
  'a table by column that refers to itself': { distribution: byColumn },
  'a table of a distributed schema that refers to a reference table': {
    distribution: bySchema,
    target: 'reference',
  },
  'a table of a distributed schema that refers to a table of its schema': {
    distribution: bySchema,
    target: 'within',
  },
  'a table of a distributed schema that refers to itself': { distribution: bySchema },
};

before(async () => {
  service = await startCitusService();
  await service.rows('CREATE SCHEMA sales');
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA tenant');
  const parents: [string, { kind: string }][] = [
    ['sales.reference', reference],
    ['sales.colocated', byColumn],
    ['sales.ordinary', local],
    ['sales.managed', local],
    ['tenant.within', bySchema],
  ];
  for (const [relation, distribution] of parents) {
    const [schema, name] = relation.split('.');
    const primary_key = distribution === byColumn ? withColumn : idAlone;
    const table = { columns: columns.slice(0, 2), constraints: { primary_key }, distribution };
    await send(`${name}/upload/json?schema=${schema}`, { table, data: rows.map(({ k, id }) => ({ k, id })) });
  }
  // Citus makes a table one of its own, at the coordinator, because a reference table refers to it.
  await service.rows('CREATE TABLE sales.manager (id bigint REFERENCES sales.managed)');
  await service.rows(`SELECT create_reference_table('sales.manager')`);
});
after(() => service?.stop());

interface Answer {
  table: { constraints: { foreign_keys: { name: string }[] } };
  load: { warnings: object[] };
}

/** Sends a request that succeeds, and returns its answer. */
async function send(path: string, body: object): Promise<Answer> {
  const answer = await service.post(`/table/${path}`, body);
  assert.ok([200, 201].includes(answer.status), `${path}: ${JSON.stringify(answer.body)}`);
  refuteShards(answer.body);
  return answer.body;
}

function refuteShards(answer: object): void {
  assert.doesNotMatch(JSON.stringify(answer), /_\d{6}/);
}

let tables = 0;

/** Returns a new table of the kind. */
function tableOf({ distribution, target }: Kind) {
  tables += 1;
  const name = `t${tables}`;
  const schema = distribution === bySchema ? 'tenant' : 'sales';
  const isTogether = distribution === byColumn && target !== 'reference';
  const key = {
    name: 'of_parent',
    reference_schema: target === undefined || target === 'within' ? schema : 'sales',
    reference_table: target ?? name,
  };
  const foreignKeys = [
    ...(isTogether ? [{ ...key, column: 'k', reference_column: 'k' }] : []),
    { ...key, column: 'parent', reference_column: 'id' },
  ];
  const own = distribution === byColumn ? withColumn : idAlone;
  const constraints = { primary_key: own, unique: [own], foreign_keys: foreignKeys };
  return {
    schema,
    relation: `${schema}.${name}`,
    path: `${name}/upload/json?schema=${schema}`,
    createPath: `${name}?schema=${schema}`,
    definition: { columns, constraints, distribution },
    foreignKeys,
  };
}

async function stored(relation: string): Promise<Record<string, unknown>> {
  const [found] = await service.rows(
    `SELECT count(*)::int AS count, sum(parent)::int AS parents, max(id)::int AS last FROM ${relation}`,
  );
  return found!;
}

for (const [title, kind] of Object.entries(kinds)) {
  suite(title, () => {
    test('is created by an upload, and the next rows are numbered after those of the upload', async () => {
      const { path, relation, definition, foreignKeys } = tableOf(kind);
      const { table } = await send(path, { table: definition, data: rows });
      assert.equal(table.constraints.foreign_keys.length, foreignKeys.length);
      assert.equal(table.constraints.foreign_keys[0]!.name, 'of_parent');
      await send(`${path}&if_exists=append`, { data: [{ k: 1 }, { k: 2, parent: 2 }] });
      assert.deepEqual(await stored(relation), { count: 22, parents: 192, last: 21 });
    });

    test('is not created by an upload with a row that breaks the foreign key, which is named', async () => {
      const { path, definition } = tableOf(kind);
      const orphan = { k: 5, id: 500, parent: 700 };
      const { status, body } = await service.post(`/table/${path}`, {
        table: definition,
        data: [...rows, orphan],
      });
      assert.equal(status, 422, JSON.stringify(body));
      const found = body.errors.map(({ code, row }: Record<string, unknown>) => [code, row]);
      assert.deepEqual(found, [['no-such-reference', 21]]);
      refuteShards(body);
    });

    test('is created with the foreign key alone', async () => {
      if (kind.target === undefined) return;
      const { path, relation, definition } = tableOf(kind);
      const { foreign_keys } = definition.constraints;
      await send(path, { table: { ...definition, constraints: { foreign_keys } }, data: rows });
      assert.equal((await stored(relation)).count, 20);
    });

    test('is created by Create Table', async () => {
      const { createPath, definition, foreignKeys } = tableOf(kind);
      const { table } = await send(createPath, { table: definition });
      assert.equal(table.constraints.foreign_keys.length, foreignKeys.length);
    });

    test('has the rules that Citus has, and any other is refused by its name', async () => {
      const { relation, schema, createPath, definition: numbered, foreignKeys } = tableOf(kind);
      // Citus drops no constraint of a table with an identity column.
      const definition = {
        ...numbered,
        columns: columns.map((column) => ({ ...column, type: 'bigint' })),
      };
      const bare = { ...definition.constraints, foreign_keys: [] };
      await send(createPath, { table: { ...definition, constraints: bare } });
      const { reference_schema, reference_table } = foreignKeys[0]!;
      const target = `${reference_schema}.${reference_table}`;
      for (const member of ['on_delete', 'on_update']) {
        for (const rule of ['restrict', 'cascade', 'set null', 'set default']) {
          const foreign_keys = foreignKeys.map((key) => ({
            ...key,
            [member]: rule,
            ...(kind.target === undefined && { reference_table: 'ruled' }),
          }));
          const table = { ...definition, constraints: { ...definition.constraints, foreign_keys } };
          const answer = await service.post(`/table/ruled?schema=${schema}`, { table });
          const own = foreignKeys.map((key) => key.column);
          const others = foreignKeys.map((key) => key.reference_column);
          const added = service.rows(
            `ALTER TABLE ${relation} ADD CONSTRAINT ruled FOREIGN KEY (${own}) REFERENCES ${target} (${others}) ${member.replace('_', ' ')} ${rule}`,
          );
          const isKept = await added.then(
            () => true,
            () => false,
          );
          const what = `${member} ${rule}: ${JSON.stringify(answer.body)}`;
          assert.equal(answer.status, isKept ? 201 : 422, what);
          if (isKept) {
            assert.equal(answer.body.table.constraints.foreign_keys[0][member], rule);
            await service.rows(`ALTER TABLE ${relation} DROP CONSTRAINT ruled`);
            await service.rows(`DROP TABLE ${schema}.ruled`);
          } else {
            assert.deepEqual(
              answer.body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
              [[`/table/constraints/foreign_keys/0/${member}`, 'distribution-conflict']],
              what,
            );
          }
        }
      }
    });

    test('gets columns from rows', async () => {
      const { path, relation, definition } = tableOf(kind);
      await send(path, { table: definition, data: rows });
      const added = [
        { k: 3, id: 900, parent: 3, a: 1, b: 'x' },
        { k: 4, id: 901, parent: 4, a: 2 },
      ];
      await send(`${path}&if_exists=append&extra_columns=add`, { data: added });
      const found = await service.rows(`SELECT a::int, b FROM ${relation} WHERE id >= 900 ORDER BY id`);
      assert.deepEqual(found, [
        { a: 1, b: 'x' },
        { a: 2, b: null },
      ]);
    });

    test('is emptied and loaded again', async () => {
      const { path, relation, definition } = tableOf(kind);
      await send(path, { table: definition, data: rows });
      await send(`${path}&if_exists=truncate`, { data: rows.slice(0, 10) });
      assert.deepEqual(await stored(relation), { count: 10, parents: 45, last: 9 });
    });

    test('is replaced by an equal table, whose next rows are numbered after those of the upload', async () => {
      const { path, relation, definition } = tableOf(kind);
      await send(path, { table: definition, data: rows.slice(0, 10) });
      const [before] = await service.rows(`SELECT pg_get_serial_sequence($1, 'id') AS name`, [relation]);
      const replace = `${path}&if_exists=replace`;
      await send(`${replace}&dry_run=true`, { table: definition, data: rows });
      const { load } = await send(replace, { table: definition, data: rows });
      assert.deepEqual(load.warnings, []);
      const [after] = await service.rows(`SELECT pg_get_serial_sequence($1, 'id') AS name`, [relation]);
      assert.deepEqual(after, before);
      await send(`${path}&if_exists=append`, { data: [{ k: 1 }] });
      assert.deepEqual(await stored(relation), { count: 21, parents: 190, last: 20 });
    });

    const distributions = kind.distribution === bySchema ? [bySchema] : [local, reference, byColumn];
    const others: [string, object][] = [
      ['an inferred table', {}],
      ...distributions.map((distribution): [string, object] => [
        `a table without foreign keys (${distribution.kind})`,
        { table: { columns, distribution } },
      ]),
    ];
    for (const [shown, other] of others) {
      test(`is replaced by ${shown}, which the first table replaces again`, async () => {
        const { path, relation, definition } = tableOf(kind);
        const replace = `${path}&if_exists=replace`;
        await send(path, { table: definition, data: rows.slice(0, 10) });
        await send(replace, { ...other, data: rows });
        assert.deepEqual(await stored(relation), { count: 20, parents: 190, last: 19 });
        await send(replace, { table: definition, data: rows });
        assert.deepEqual(await stored(relation), { count: 20, parents: 190, last: 19 });
      });
    }
  });
}
