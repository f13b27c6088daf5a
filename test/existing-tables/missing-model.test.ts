/**
 * Random uploads with `missing_rows` to random tables, compared with a simple implementation here: the table afterwards and each number of the answer are
 * equal, and a refused upload changes nothing. `MODEL_CASES` sets the number of uploads.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('model');

interface Row {
  a: number | null;
  b: string | null;
  region: string | null;
  n: number | string | null;
}
interface Stored extends Row {
  gone: boolean;
}

/** The keys of the tables. With `nulls`, NULL equals NULL. */
const keys = {
  one: { sql: 'PRIMARY KEY (a)', columns: ['a'], nulls: false },
  two: { sql: 'UNIQUE (a, b)', columns: ['a', 'b'], nulls: false },
  nulls: { sql: 'UNIQUE NULLS NOT DISTINCT (a, b)', columns: ['a', 'b'], nulls: true },
} as const;

const row = (n: fc.Arbitrary<number | string | null>) =>
  fc.record({
    a: fc.option(fc.nat({ max: 6 }), { freq: 6 }),
    b: fc.constantFrom('x', 'x', 'y', null),
    region: fc.constantFrom('n', 's', 'w', null),
    n,
  });

const upload = fc.record({
  key: fc.constantFrom('one', 'two', 'nulls'),
  isPartitioned: fc.boolean(),
  markType: fc.constantFrom('boolean', 'timestamptz'),
  old: fc.array(fc.tuple(row(fc.nat({ max: 9 })), fc.boolean()), { maxLength: 10 }),
  // 60 violates a check of the table, and x is no number.
  sent: fc.array(row(fc.constantFrom(1, 2, 3, 4, null, 60, 'x')), { maxLength: 10 }),
  isClean: fc.boolean(),
  action: fc.constantFrom('keep', 'delete', 'delete', 'mark'),
  conflict: fc.constantFrom('update', 'update', 'skip'),
  faulty: fc.constantFrom('fail', 'leave_out', 'leave_out'),
  within: fc.constantFrom<(keyof Row)[]>([], [], ['region'], ['region', 'b']),
  max: fc.constantFrom('0', '2', '10%', '50%', '100%', '100%', '100%'),
});
type Case = typeof upload extends fc.Arbitrary<infer T> ? T : never;

const keyOf = (one: Row, columns: readonly string[]) =>
  JSON.stringify(columns.map((name) => one[name as keyof Row]));
const isEncodingFault = ({ n }: Row) => n === 'x';
const isCheckFault = ({ n }: Row) => n === 60;

/** Returns the rows without those whose keys repeat, because the table or the model could not have them. */
function distinct<Item>(rows: Item[], rowOf: (item: Item) => Row, key: (typeof keys)[Case['key']]): Item[] {
  const seen = new Set<string>();
  return rows.filter((item) => {
    const one = rowOf(item);
    const value = keyOf(one, key.columns);
    if (key.columns.length === 1 && one.a === null) return false;
    const isComparable = key.nulls || !key.columns.some((name) => one[name] === null);
    if (isComparable && seen.has(value)) return false;
    seen.add(value);
    return true;
  });
}

interface Outcome {
  status: number;
  counts?: Record<string, number | undefined>;
  table: Stored[];
}

/** The simple implementation. */
function expected(
  { action, conflict, faulty, within, max }: Case,
  key: (typeof keys)[Case['key']],
  old: Stored[],
  sent: Row[],
): Outcome {
  const refused = (status: number): Outcome => ({ status, table: old });
  const changes = action !== 'keep';
  const isComparable = (one: Row) => key.nulls || !key.columns.some((name) => one[name] === null);
  const encodable = sent.filter((one) => !isEncodingFault(one));
  if (faulty === 'fail' && encodable.length < sent.length) return refused(422);
  if (encodable.length === 0 && (changes || sent.length > 0)) return refused(422);
  if (changes && !sent.some(isComparable)) return refused(422);
  const present = new Set(sent.filter(isComparable).map((one) => keyOf(one, key.columns)));
  const combinations = new Set(sent.map((one) => keyOf(one, within)));
  const isPresent = (one: Row) => isComparable(one) && present.has(keyOf(one, key.columns));
  const missing = old.filter(
    (one) =>
      isComparable(one) &&
      !isPresent(one) &&
      combinations.has(keyOf(one, within)) &&
      !(action === 'mark' && one.gone),
  );
  const allowed = max.endsWith('%') ? (old.length * Number.parseInt(max, 10)) / 100 : Number(max);
  if (changes && missing.length > allowed) return refused(409);
  const good = encodable.filter((one) => !isCheckFault(one));
  if (faulty === 'fail' && good.length < encodable.length) return refused(422);
  if (good.length === 0 && sent.length > 0) return refused(422);

  let table = old.map((one) => ({ ...one }));
  if (action === 'delete') table = table.filter((_, at) => !missing.includes(old[at]!));
  if (action === 'mark') for (const one of table) if (isPresent(one)) one.gone = false;
  if (action === 'mark')
    for (const [at, one] of table.entries()) if (missing.includes(old[at]!)) one.gone = true;
  const before = new Set(table);
  let rows = 0;
  let met = 0;
  for (const one of good) {
    const same = isComparable(one)
      ? table.find((other) => isComparable(other) && keyOf(other, key.columns) === keyOf(one, key.columns))
      : undefined;
    if (same === undefined) table.push({ ...one, gone: false });
    else if (conflict === 'update') Object.assign(same, one);
    if (same === undefined) rows += 1;
    else met += 1;
  }
  assert.equal(table.filter((one) => !before.has(one)).length, rows);
  const counts = {
    rows,
    updated: conflict === 'update' ? met : 0,
    skipped: conflict === 'skip' ? met : 0,
    // Without rows the data has no key.
    missing: sent.length === 0 ? undefined : missing.length,
    ...(action === 'delete' && { deleted: missing.length }),
    ...(action === 'mark' && { marked: missing.length }),
    ...(faulty === 'leave_out' && { rows_left_out: sent.length - good.length }),
  };
  return { status: 200, counts, table };
}

const sorted = (rows: object[]) => rows.map((one) => JSON.stringify(Object.entries(one).sort())).sort();

async function tryUpload(chosen: Case): Promise<string> {
  const { key: name, isPartitioned, markType, action, conflict, faulty, within, max, isClean } = chosen;
  const key = keys[name];
  const table = nextTable();
  const old = distinct(chosen.old, ([one]) => one, key).map(([one, gone]) => ({ ...one, gone }));
  const isFault = (one: Row) => isEncodingFault(one) || isCheckFault(one);
  const wanted = isClean ? chosen.sent.filter((one) => !isFault(one)) : chosen.sent;
  // Whether a row that another row replaces breaks a check is not always found out, so such rows have keys of their own.
  const isAlone = (one: Row) =>
    wanted.every((other) => other === one || keyOf(other, key.columns) !== keyOf(one, key.columns));
  const sent = wanted.filter(
    (one) => (!isCheckFault(one) || isAlone(one)) && !(key.columns.length === 1 && one.a === null),
  );
  await service.rows(`
    CREATE TABLE ${table} (a int, b text, region text, n int CHECK (n < 50), gone ${markType} ${markType === 'boolean' ? 'NOT NULL DEFAULT false' : ''}, ${key.sql})
    ${isPartitioned ? 'PARTITION BY LIST (a)' : ''}`);
  if (isPartitioned)
    await service.rows(`
      CREATE TABLE ${table}_low PARTITION OF ${table} FOR VALUES IN (0, 1, 2);
      CREATE TABLE ${table}_rest PARTITION OF ${table} DEFAULT`);
  for (const { a, b, region, n, gone } of old) {
    const mark = markType === 'boolean' ? gone : gone ? '2026-01-01' : null;
    await service.rows(`INSERT INTO ${table} VALUES ($1, $2, $3, $4, $5)`, [a, b, region, n, mark]);
  }
  const query = [
    `if_exists=append&on_conflict=${conflict}&faulty_rows=${faulty}`,
    `missing_rows=${action === 'mark' ? 'mark:gone' : action}`,
    ...(action === 'keep' ? [] : [`max_missing_rows=${encodeURIComponent(max)}`]),
    ...(within.length > 0 ? [`missing_within=${within.join()}`] : []),
  ].join('&');
  const wish = expected(chosen, key, old, sent);
  const stored = async () =>
    sorted(
      await service.rows(
        `SELECT a, b, region, n, ${markType === 'boolean' ? 'gone' : 'gone IS NOT NULL AS gone'} FROM ${table}`,
      ),
    );
  for (const isDry of [true, false]) {
    const { status, body } = await service.post(`/table/${table}/upload/json?${query}&dry_run=${isDry}`, {
      data: sent,
    });
    const about = JSON.stringify({ key: name, old, sent, query, status, body, wish });
    assert.equal(status, wish.status, about);
    assert.deepEqual(await stored(), sorted(isDry ? old : wish.table), about);
    if (status !== 200) continue;
    const found = Object.keys(wish.counts!).map((count) => [count, body.load[count]]);
    assert.deepEqual(Object.fromEntries(found), wish.counts, about);
    assert.equal('deleted' in body.load, action === 'delete');
    assert.equal('marked' in body.load, action === 'mark');
  }
  await service.rows(`DROP TABLE ${table}`);
  return wish.status === 200
    ? `${action} ${(wish.counts!.missing ?? 0) > 0 ? 'some' : 'none'}`
    : String(wish.status);
}

suite('an upload that decides about missing rows', () => {
  test('leaves the table and answers the numbers that a simple implementation gives', async (t) => {
    const counts = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(upload, async (chosen) => {
        const outcome = await tryUpload(chosen);
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      }),
      { numRuns: Number(process.env.MODEL_CASES ?? sized(40, 300)), endOnFailure: true },
    );
    t.diagnostic(JSON.stringify([...counts]));
  });
});
