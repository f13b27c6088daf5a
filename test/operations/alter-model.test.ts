/**
 * Random tables with random rows become random other definitions (Alter Table), or stay as they are. A table that is created with the same
 * definition says what the changed one must look like. `MODEL_CASES` sets the number of tables; each changes several times.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { wrongValue } from '../support/alter-model/exact-values.ts';
import { type Change, type Json, makeChange, randomChange } from '../support/alter-model/random-changes.ts';
import { valuesOf } from '../support/alter-model/values-of-types.ts';
import { definition, objects, quoted } from '../support/random-definitions.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.database.pool.query(`${objects};
    INSERT INTO "Target ""T""." SELECT n, n, n::text FROM generate_series(0, 7) AS n`);
});
after(() => service.stop());

const pathOf = (name: string, schema: string): string =>
  `/table/${encodeURIComponent(name)}?schema=${schema}`;

const put = (name: string, table: Json, query = ''): Promise<TestAnswer> =>
  service.request('PUT', `${pathOf(name, 'here')}${query}`, {
    body: JSON.stringify({ table }),
    headers: { 'content-type': 'application/json' },
  });

/** Everything of the table: its description, its catalogue entries and its rows. */
interface State {
  described: Json;
  catalogue: unknown;
  rows: Record<string, string | null>[];
}

const catalogue = `
  SELECT json_build_object('comment', obj_description(c.oid, 'pg_class'), 'options', c.reloptions, 'persistence', c.relpersistence,
      'sequences', (SELECT json_agg(to_json(q) ORDER BY q.seqrelid) FROM pg_sequence q JOIN pg_depend d ON d.objid = q.seqrelid AND d.refobjid = c.oid), 'columns', (
      SELECT json_agg(json_build_array(a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
        pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)) ORDER BY a.attnum)
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = c.oid AND a.attnum > 0),
    'constraints', (SELECT json_agg(json_build_array(k.oid, k.conname, pg_get_constraintdef(k.oid)) ORDER BY k.conname) FROM pg_constraint k WHERE k.conrelid = c.oid),
    'indexes', (SELECT json_agg(json_build_array(i.indexrelid, i.indisvalid, pg_get_indexdef(i.indexrelid)) ORDER BY i.indexrelid) FROM pg_index i WHERE i.indrelid = c.oid),
    'others', (SELECT json_agg(r.relname ORDER BY r.relname) FROM pg_class r WHERE r.relnamespace = c.relnamespace)) AS found
  FROM pg_class c WHERE c.oid = $1::regclass`;

async function stateOf(name: string): Promise<State> {
  const relation = `here.${quoted(name)}`;
  const { body } = await service.get(pathOf(name, 'here'));
  const texts = body.table.columns.map((column: Json) => `${quoted(column.name)}::text`);
  const { rows } = await service.database.pool.query({
    text: `SELECT ${texts.join(', ')} FROM ${relation} ORDER BY ctid`,
    rowMode: 'array',
  });
  const names = body.table.columns.map((column: Json) => column.name);
  const named = rows.map((row: Json) =>
    Object.fromEntries(names.map((key: string, at: number) => [`_${key}`, row[at]])),
  );
  const [found] = await service.rows(catalogue, [relation]);
  return { described: body.table, catalogue: found, rows: named };
}

/** Adds rows one by one; those that a rule of the table refuses are left out. */
async function addRows(name: string, described: Json, seeds: number[]): Promise<void> {
  const columns = described.columns.filter(
    (column: Json) => column.identity !== 'always' && !column.generated,
  );
  for (const seed of seeds) {
    const chosen = columns.filter((_: Json, at: number) => (seed >> (at % 16)) % 5 !== 0);
    const values = chosen.map(({ type }: Json, at: number) => {
      const list = valuesOf(type);
      return (seed + at) % 7 === 0 || list.length === 0 ? null : list[(seed * (at + 3)) % list.length];
    });
    const names = chosen.map((column: Json) => quoted(column.name)).join(', ');
    const places = values.map((_: unknown, at: number) => `$${at + 1}`).join(', ');
    const into = `INSERT INTO here.${quoted(name)}`;
    const text = names === '' ? `${into} DEFAULT VALUES` : `${into} (${names}) VALUES (${places})`;
    await service.database.pool.query(text, values).catch(() => {});
  }
}

const constant =
  /^(?:'((?:[^']|'')*)'|\((-?[\d.]+)\)|(-?[\d.]+|true|false))(?:::[^'()]+(?:\([\d,]+\))?[^'()]*)?$/;

/** Returns the value of a constant without its type and without spaces at its end, which a column of `char(n)` adds. */
function constantOf(text: Json): Json {
  const found = typeof text === 'string' ? constant.exec(text) : null;
  return found ? (found[1] ?? found[2] ?? found[3])!.trimEnd() : text;
}

/**
 * Returns the description without ids, names of parts and the order of columns and parts.
 *
 * @param retyped the columns that have another type than before. A default that stays may be written with another cast.
 */
function comparable(table: Json, retyped: ReadonlySet<string>): Json {
  const text = (value: unknown) => JSON.stringify(value);
  const sorted = (list: Json[] = []) =>
    list.map(({ name: _, ...part }) => part).toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  const { constraints } = table;
  const groups = Map.groupBy(constraints.foreign_keys as Json[], ({ name }) => name);
  const foreignKeys = [...groups.values()].map((pairs) => ({
    pairs: sorted(
      pairs.map((pair) => (pair.reference_schema === 'public' ? pair : { ...pair, reference_schema: 'own' })),
    ),
  }));
  const { name: _, ...primaryKey } = constraints.primary_key;
  return {
    comment: table.comment,
    unlogged: table.unlogged,
    columns: (table.columns as Json[])
      .map(({ id, sequence, ...column }) => (sequence ? { ...column, default: 'sequence' } : column))
      .map((column) =>
        retyped.has(column.name) ? { ...column, default: constantOf(column.default) } : column,
      )
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    primaryKey,
    unique: sorted(constraints.unique),
    foreignKeys: sorted(foreignKeys),
    checks: sorted(constraints.checks),
    indexes: sorted(table.indexes),
  };
}

/** Returns a type for texts as PostgreSQL writes it. */
const canonical = (type: string): string =>
  type.replace(/^varchar\b/, 'character varying').replace(/^char\b/, 'character');

/** Creates a table with the definition in another schema, and drops it again. */
async function createWanted(name: string, wanted: Json, old: Json): Promise<TestAnswer> {
  const oldTypes = new Map(old.columns.map(({ id, type }: Json) => [id, type]));
  const text = JSON.stringify(wanted).replaceAll('"reference_schema":"here"', '"reference_schema":"there"');
  const { types: _, ...table } = JSON.parse(text);
  for (const column of table.columns) {
    delete column.sequence?.name;
    // A default of text that stays is read by the new type.
    const isRetyped = column.id !== undefined && canonical(column.type) !== oldTypes.get(column.id);
    if (isRetyped && typeof column.default === 'string' && !column.default_is_expression)
      column.default = column.default.replace(/^('(?:[^']|'')*')::(text|character varying)$/, '$1');
  }
  const answer = await service.post(`${pathOf(name, 'there')}&new_names=true`, { table });
  if (answer.status === 201) await service.rows(`DROP TABLE there.${quoted(name)} CASCADE`);
  return answer;
}

const counts = { changed: 0, refused: 0, codes: new Map<string, number>() };

async function tryChange(name: string, { edits, absent, allow }: Json): Promise<void> {
  const old = await stateOf(name);
  const change = makeChange(old.described, edits, absent);
  const { sent, wanted } = change;
  const about = () => JSON.stringify({ sent, allow, old: old.described, rows: old.rows }, undefined, 1);
  const query = allow.length === 0 ? '' : `&allow=${allow.join(',')}`;
  const plan = await put(name, sent, `${query}&dry_run=true`);
  assert.ok(plan.status < 500, `${JSON.stringify(plan.body)} ${about()}`);
  assert.deepEqual(await stateOf(name), old, `a dry run changed something: ${about()}`);
  const expected = await createWanted(name, wanted, old.described);
  const done = await put(name, sent, query);
  const now = await stateOf(name);
  const says = `${done.status} ${JSON.stringify(done.body)} ${about()}`;
  if (done.status !== 200) {
    counts.refused += 1;
    for (const code of new Set([
      done.body.code,
      ...(done.body.errors ?? []).map((error: Json) => `${done.body.code}/${error.code}`),
    ]))
      counts.codes.set(code, (counts.codes.get(code) ?? 0) + 1);
    assert.ok(done.status >= 400 && done.status < 500, says);
    assert.deepEqual(now, old, `a refused change changed something: ${says}`);
    const isAllowed = [...change.loses].every((loss) => allow.includes(loss));
    assert.ok(change.isRisky || !isAllowed, `nothing could prevent the change: ${says}`);
    return;
  }
  counts.changed += 1;
  assert.equal(plan.status, 200, `the dry run was refused with ${JSON.stringify(plan.body)}: ${says}`);
  const withoutRows = (steps: Json[]) => steps.map(({ rows: _, ...step }) => step);
  assert.deepEqual(withoutRows(done.body.changes), withoutRows(plan.body.changes), about());
  for (const loss of change.loses) assert.ok(allow.includes(loss), `lost ${loss}: ${says}`);
  assert.equal(expected.status, 201, `create refuses it with ${JSON.stringify(expected.body)}: ${says}`);
  const types = new Map(old.described.columns.map(({ id, type }: Json) => [id, type]));
  const columns = now.described.columns.filter(({ id, type }: Json) => types.get(id) !== type);
  const retyped = new Set<string>(columns.map((column: Json) => column.name));
  assert.deepEqual(comparable(now.described, retyped), comparable(expected.body.table, retyped), says);
  assert.deepEqual(done.body.table, now.described, says);
  assertNames(wanted, now.described, says);
  assertRows(change, old, now, allow.includes('lossy_types'), says);
  const again = await put(name, sent, query);
  assert.deepEqual(
    [again.status, again.body.changes],
    [200, []],
    `again: ${JSON.stringify(again.body)} ${says}`,
  );
  assert.deepEqual(await stateOf(name), now, `the same request changed something: ${says}`);
}

/** Parts with a name have it, and columns keep their ids. */
function assertNames(wanted: Json, now: Json, says: string): void {
  const namesOf = ({ constraints, indexes = [] }: Json): string[] =>
    [
      constraints.primary_key,
      ...constraints.unique,
      ...constraints.foreign_keys,
      ...(constraints.checks ?? []),
      ...indexes,
    ].map(({ name }: Json) => name);
  const found = new Set(namesOf(now));
  assert.deepEqual(
    namesOf(wanted).filter((name) => name && !found.has(name)),
    [],
    says,
  );
  const ids = new Map(now.columns.map((column: Json) => [column.name, column.id]));
  for (const { name, id } of wanted.columns) if (id !== undefined) assert.equal(ids.get(name), id, says);
}

function assertRows(change: Change, old: State, now: State, mayLose: boolean, says: string): void {
  assert.equal(now.rows.length, old.rows.length, says);
  const typesOf = ({ described }: State) =>
    new Map<string, string>(described.columns.map((column: Json) => [column.name, column.type]));
  const [before, after] = [typesOf(old), typesOf(now)];
  for (const [name, oldName] of change.oldNames) {
    for (const [index, row] of old.rows.entries()) {
      const [value, found] = [row[`_${oldName}`]!, now.rows[index]![`_${name}`]!];
      if (value === null || found === null) assert.equal(found, value, `${name}: ${says}`);
      else {
        const wrong = wrongValue(before.get(oldName)!, value, after.get(name)!, found, mayLose);
        assert.equal(wrong, undefined, says);
      }
    }
  }
}

suite('a table becomes what any definition says, or stays as it is', () => {
  test('with the values of its rows', async (t) => {
    const cases = fc.record({
      definition,
      seeds: fc.array(fc.nat({ max: 100_000 }), { maxLength: 6 }),
      changes: fc.array(randomChange, { minLength: 1, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ definition: { table: name, ...table }, seeds, changes }) => {
        // A URL cannot contain these names of folders.
        if (name === '.' || name === '..') return;
        try {
          const created = await service.post(pathOf(name, 'here'), { table });
          assert.equal(created.status, 201, JSON.stringify(created.body));
          await addRows(name, created.body.table, seeds);
          for (const change of changes) await tryChange(name, change);
        } finally {
          await service.rows(
            'DROP SCHEMA here CASCADE; CREATE SCHEMA here; DROP SCHEMA there CASCADE; CREATE SCHEMA there',
          );
        }
      }),
      { numRuns: Number(process.env.MODEL_CASES ?? sized(5, 30)), endOnFailure: true },
    );
    t.diagnostic(
      `${counts.changed} changes were made and ${counts.refused} refused: ${JSON.stringify([...counts.codes])}`,
    );
  });
});
