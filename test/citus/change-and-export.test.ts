/** Alter Table, exports, and `misfits=widen` for each kind of table of Citus. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';
import { assertProblem, places } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';

let service: CitusService;

before(async () => {
  service = await startCitusService();
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA tenant');
  await service.rows('CREATE TABLE size (id int PRIMARY KEY); INSERT INTO size VALUES (1), (2)');
  await service.rows(`SELECT create_reference_table('size')`);
});
after(() => service?.stop());

const distributions = {
  column: { kind: 'column', column: 'id' },
  reference: { kind: 'reference' },
  local: { kind: 'local' },
  schema: undefined,
};

// biome-ignore lint/suspicious/noExplicitAny: a definition that tests change
type Table = any;

function column(table: Table, name: string): Table {
  return table.columns.find((one: Table) => one.name === name);
}

type Edit = (table: Table) => unknown;

/** Edits of the description of a table, in their order, and the changes that they make. */
const changes: [changes: string[], Edit][] = [
  [['add-column'], ({ columns }) => columns.push({ name: 'state', type: 'text', default: 'new' })],
  [
    ['rename-column'],
    (table) => {
      Object.assign(column(table, 'note'), { name: 'label', renamed_from: 'note' });
      delete table.indexes;
    },
  ],
  [['change-type'], (table) => Object.assign(column(table, 'size'), { type: 'bigint' })],
  [['change-type'], (table) => Object.assign(column(table, 'code'), { type: 'int' })],
  [['set-not-null'], (table) => Object.assign(column(table, 'size'), { is_nullable: false })],
  [['add-index'], ({ indexes }) => indexes.push({ columns: [{ column: 'size' }] })],
  [
    ['drop-index'],
    (table) => {
      table.indexes = table.indexes.filter((index: Table) => index.columns[0].column !== 'label');
    },
  ],
  [['add-constraint'], ({ constraints }) => constraints.checks.push({ expression: 'size > 0' })],
  [['add-constraint'], ({ constraints }) => constraints.unique.push({ columns: ['id', 'label'] })],
  [['add-constraint'], ({ constraints }) => constraints.foreign_keys.push(toSize('size'))],
  [['drop-constraint'], ({ constraints }) => constraints.checks.pop()],
  [['drop-column'], ({ columns }) => columns.pop()],
  [['set-comment'], (table) => Object.assign(table, { comment: 'changed' })],
];

function toSize(column: string) {
  return { column, reference_table: 'size', reference_column: 'id', reference_schema: 'public' };
}

/** Edits that no rows of the table allow. */
const brokenByRows: [code: string, Edit][] = [
  ['not-a-whole-number', (table) => Object.assign(column(table, 'note'), { type: 'int' })],
  ['null-not-allowed', (table) => Object.assign(column(table, 'empty'), { is_nullable: false })],
  ['check-violation', ({ constraints }) => constraints.checks.push({ expression: 'size < 0' })],
  ['no-such-reference', ({ constraints }) => constraints.foreign_keys.push(toSize('wrong'))],
];

/** Edits that Citus does not make for tables at its workers. */
const refusedByCitus: [pointer: string, Edit][] = [
  ['/table/columns/6', ({ columns }) => columns.push({ name: 'number', type: 'bigserial' })],
  [
    '/table/columns/0',
    (table) => Object.assign(column(table, 'id'), { type: 'bigint', default: null, identity: undefined }),
  ],
  ['/table/constraints/primary_key', ({ constraints }) => (constraints.primary_key.name += '_new')],
  ['/table/constraints/checks/0', ({ constraints }) => (constraints.checks[0].name += '_new')],
];

for (const [kind, distribution] of Object.entries(distributions)) {
  const schema = kind === 'schema' ? 'tenant' : 'public';
  const of = `?schema=${schema}`;
  const contents = (table: string) =>
    service.rows(`TABLE ${schema}.${table} ORDER BY id`) as Promise<Table[]>;

  async function load(name: string, type = 'bigserial', extra = ''): Promise<void> {
    const table = {
      columns: [
        { name: 'id', type },
        { name: 'note', type: 'text' },
        { name: 'size', type: 'int' },
        { name: 'code', type: 'text' },
        { name: 'empty', type: 'int' },
        { name: 'wrong', type: 'int' },
      ],
      constraints: { primary_key: { columns: ['id'] }, checks: [{ expression: 'wrong > 0' }] },
      indexes: [{ columns: [{ column: 'note' }] }],
      ...(distribution && { distribution }),
    };
    const row = (index: number) => ({
      ...(type !== 'bigserial' && { id: index }),
      ...{ note: `n, ${index}`, size: 1 + (index % 2), code: `${index}`, wrong: 77 },
    });
    const data = extra === 'no rows' ? [] : Array.from({ length: 20 }, (_, index) => row(index));
    const loaded = await service.post(`/table/${name}/upload/json${of}`, { table, data });
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
  }

  async function describe(name: string): Promise<Table> {
    const { table } = (await service.get(`/table/${name}${of}`)).body;
    delete table.distribution.bytes;
    return table;
  }

  async function edit(name: string, change: Edit): Promise<TestAnswer> {
    const table = await describe(name);
    change(table);
    return service.request('PUT', `/table/${name}${of}&allow=drop_columns,drop_constraints,drop_indexes`, {
      body: JSON.stringify({ table }),
      headers: { 'content-type': 'application/json' },
    });
  }

  suite(`a table of the kind ${kind}`, () => {
    test('becomes what its definition says', async () => {
      const name = `${kind}_changed`;
      await load(name);
      for (const [expected, change] of changes) {
        const { status, body } = await edit(name, change);
        assert.equal(status, 200, `${change}: ${JSON.stringify(body)}`);
        assert.deepEqual(
          body.changes.map((one: { change: string }) => one.change),
          expected,
        );
        assert.deepEqual(await describe(name), body.table);
      }
      const rows = await contents(name);
      assert.deepEqual(
        rows.map(({ id: _, ...row }) => row).toSorted((a, b) => a.code - b.code),
        Array.from({ length: 20 }, (_, code) => ({
          ...{ label: `n, ${code}`, size: String(1 + (code % 2)), code, empty: null, wrong: 77 },
        })),
      );
    });

    test('stays as it is if its rows or Citus do not allow a change', async () => {
      const name = `${kind}_kept`;
      await load(name);
      const before = await describe(name);
      for (const [code, change] of brokenByRows) {
        const { errors } = assertProblem(await edit(name, change), 422, 'invalid-data');
        assert.deepEqual([errors.length, ...new Set(errors.map((one) => one.code))], [20, code]);
        assert.ok(errors.every(({ key }) => key?.id));
      }
      if (kind !== 'local')
        for (const [pointer, change] of refusedByCitus) {
          const { errors, detail } = assertProblem(await edit(name, change), 422, 'invalid-definition');
          assert.deepEqual(places(errors), [{ pointer, code: 'not-supported' }]);
          assert.match(detail, /Citus cannot .*; (keep|send)/);
        }
      assert.deepEqual(await describe(name), before);
    });

    test('gets a rule that its rows break only as one that is not valid', async () => {
      const name = `${kind}_not_valid`;
      await load(name);
      const add: Edit = ({ constraints }) => {
        if (kind !== 'local') constraints.foreign_keys.push({ ...toSize('wrong'), not_valid: true });
        constraints.checks.push({ expression: 'size < 0', not_valid: true });
      };
      const added = await edit(name, add);
      assert.equal(added.status, 200, JSON.stringify(added.body));
      const before = await describe(name);
      // Citus makes the other rules of an ordinary table valid if it gets a foreign key to a reference table.
      const skipped = kind === 'local' ? 1 : 0;
      const rules: [code: string, Edit][] = [
        [
          'no-such-reference',
          ({ constraints }) => Object.assign(constraints.foreign_keys[0], { not_valid: false }),
        ],
        [
          'check-violation',
          ({ constraints }) => Object.assign(constraints.checks.at(-1), { not_valid: false }),
        ],
      ];
      for (const [code, change] of rules.slice(skipped)) {
        const { errors } = assertProblem(await edit(name, change), 422, 'invalid-data');
        assert.deepEqual([errors.length, ...new Set(errors.map((one) => one.code))], [20, code]);
      }
      assert.deepEqual(await describe(name), before);
      await service.rows(`UPDATE ${schema}.${name} SET wrong = 1, size = -1`);
      for (const [, change] of rules.slice(skipped)) {
        const { status, body } = await edit(name, change);
        assert.deepEqual(
          [status, body.changes?.map((one: Table) => one.change)],
          [200, ['validate-constraint']],
          JSON.stringify(body),
        );
      }
    });

    test('is exported in each format, and the file loads again', async () => {
      const name = `${kind}_exported`;
      await load(name, 'bigint');
      const rows = await contents(name);
      assert.equal(rows.length, 20);
      for (const format of ['csv', 'xlsx', 'ndjson', 'json']) {
        const answer = await fetch(
          `${service.url}/api/v1/table/${name}/rows${of}&format=${format}&order=id`,
          { headers: { authorization: `Bearer ${await service.token()}` } },
        );
        const bytes = Buffer.from(await answer.arrayBuffer());
        assert.equal(answer.status, 200, `${format}: ${bytes}`);
        const copy = `${kind}_from_${format}`;
        await load(copy, 'bigint', 'no rows');
        const isText = format.endsWith('json');
        const type = format === 'json' ? 'application/json' : 'application/x-ndjson';
        const sent = isText
          ? await service.request('POST', `/table/${copy}/upload/json${of}&if_exists=append`, {
              body: bytes,
              headers: { 'content-type': type },
            })
          : await service.upload(`/table/${copy}/upload/excel${of}&if_exists=append`, bytes);
        assert.equal(sent.status, 200, `${format}: ${JSON.stringify(sent.body)}`);
        assert.deepEqual(await contents(copy), rows, format);
      }
    });

    test('is widened if it is an ordinary table, and is refused and unchanged otherwise', async () => {
      const name = `${kind}_widened`;
      await load(name, 'bigint');
      const before = await describe(name);
      const answer = await service.post(`/table/${name}/upload/json${of}&if_exists=append&misfits=widen`, {
        data: [{ id: 100, size: 3_000_000_000 }],
      });
      if (kind === 'local') {
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        assert.deepEqual(answer.body.load.widened, [{ column: 'size', from: 'integer', to: 'bigint' }]);
      } else {
        assert.match(
          assertProblem(answer, 409, 'dependent-objects').detail,
          /cannot widen a distributed table/,
        );
        assert.deepEqual(await describe(name), before);
        const change = await edit(name, (table) => Object.assign(column(table, 'size'), { type: 'bigint' }));
        assert.equal(change.status, 200, JSON.stringify(change.body));
      }
    });
  });
}
