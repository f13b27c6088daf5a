/**
 * Any valid definition that is created, described, and sent again in another schema or another database gives the same table. `ROUND_TRIPS` sets
 * the number of definitions.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { createTableWithin } from '../../src/engine/tables/create-table.ts';
import type { TableDescription } from '../../src/engine/tables/definition.ts';
import { describeTable } from '../../src/engine/tables/describe-table.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { definition, objects, quoted } from '../support/random-definitions.ts';
import { rolledBack } from '../support/rolled-back.ts';
import { sized } from '../support/sized.ts';

let database: TestDatabase;
/** Has the same objects, so only what a description says can differ. */
let elsewhere: TestDatabase;

before(async () => {
  [database, elsewhere] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  await Promise.all([database.pool.query(objects), elsewhere.pool.query(objects)]);
});

after(() => Promise.all([database.drop(), elsewhere.drop()]));

/**
 * Returns the description without the parts that may differ: ids start at 1 in both tables, but the schema differs, also in
 * references of a table to itself.
 */
function comparable(table: TableDescription): TableDescription {
  const { foreign_keys } = table.constraints;
  const constraints = {
    ...table.constraints,
    foreign_keys: foreign_keys.map((key) =>
      key.reference_schema === 'public' ? key : { ...key, reference_schema: 'own' },
    ),
  };
  // The other schema uses the types of the first one.
  const { types: _, ...others } = table;
  return { ...others, schema: 'any', constraints };
}

/** Everything that PostgreSQL's catalogue has of the table, as text, without object identifiers. */
const catalogue = `
  SELECT json_build_object('comment', obj_description(c.oid, 'pg_class'), 'persistence', c.relpersistence, 'columns', (
      SELECT json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum), pg_get_serial_sequence($2, a.attname),
        (SELECT json_build_array(format_type(q.seqtypid, NULL), seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle)
          FROM pg_sequence q WHERE q.seqrelid = pg_get_serial_sequence($2, a.attname)::regclass),
        (SELECT json_agg(pg_get_constraintdef(k.oid)) FROM pg_constraint k WHERE k.contypid = a.atttypid),
        (SELECT json_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = a.atttypid)) ORDER BY a.attnum)
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0),
    'constraints', (SELECT json_agg(json_build_array(k.conname, pg_get_constraintdef(k.oid)) ORDER BY k.conname)
      FROM pg_constraint k WHERE k.conrelid = c.oid),
    'indexes', (SELECT json_agg(pg_get_indexdef(i.indexrelid) ORDER BY i.indexrelid::regclass::text) FROM pg_index i WHERE i.indrelid = c.oid)) AS found
  FROM pg_class c WHERE c.oid = $1::regclass`;

async function catalogueOf(client: PoolClient, name: string): Promise<unknown> {
  const relation = `here.${quoted(name)}`;
  return (await client.query(catalogue, [relation, relation])).rows[0].found;
}

test('a valid definition comes back as one that creates the same table', async () => {
  await fc.assert(
    fc.asyncProperty(definition, async ({ table: name, ...sent }) => {
      await rolledBack(database.pool, async (client) => {
        const first = await createTableWithin(client, {
          schema: 'here',
          name,
          table: sent,
          ifNotExists: false,
        });
        const text = JSON.stringify(first.table).replaceAll(
          '"reference_schema":"here"',
          '"reference_schema":"there"',
        );
        const again = await createTableWithin(client, {
          schema: 'there',
          name,
          table: JSON.parse(text),
          ifNotExists: false,
        });
        assert.deepEqual(comparable(again.table), comparable(first.table));
        assert.deepEqual(await describeTable(client, 'here', name), first.table);
        assert.deepEqual(
          first.table.columns.map((described) => described.name),
          sent.columns.map((defined) => defined.name),
        );
        assert.ok(first.table.columns.every((described) => !described.default_is_expression));
        const same = await createTableWithin(client, {
          schema: 'here',
          name,
          table: sent,
          ifNotExists: true,
        });
        assert.deepEqual(same.differences, []);
        const original = await catalogueOf(client, name);
        await rolledBack(elsewhere.pool, async (other) => {
          const sending = { schema: 'here', name, table: first.table, ifNotExists: false };
          const copy = await createTableWithin(other, sending);
          assert.deepEqual(copy.table, first.table);
          assert.deepEqual(await catalogueOf(other, name), original);
        });
      });
    }),
    { numRuns: Number(process.env.ROUND_TRIPS ?? sized(15, 125)) },
  );
});
