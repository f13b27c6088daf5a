/**
 * Random sequences of uploads to random tables, with `on_conflict`, `missing_rows`, `faulty_rows`, `provenance` and corrections, compared with a simple
 * implementation (`test/support/returning-rows.ts`): the table afterwards, each count, each listed change and the rows that come back as a file are
 * equal, and a dry run or a refused upload changes nothing. The rows that come back are repaired and sent again. `MODEL_CASES` sets the number of
 * sequences.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { RowChange } from '../../src/engine/loading/request/row-change.ts';
import {
  isCheckFault,
  isComparable,
  isFault,
  type Key,
  keyOf,
  keys,
  type Outcome,
  predict,
  type Row,
  type Stored,
  thisLoad,
  type Upload,
} from '../support/returning-rows.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('model');

const rowWith = (n: fc.Arbitrary<Row['n']>) =>
  fc.record({
    a: fc.option(fc.nat({ max: 6 }), { freq: 6 }),
    b: fc.constantFrom('x', 'x', 'y', null),
    region: fc.constantFrom('n', 's', 'w', null),
    n,
  });

// 60 violates a check of the table, and x is no number.
const sentRow = rowWith(fc.constantFrom(1, 2, 3, 4, null, undefined, 60, 'x')).map(
  ({ n, ...row }): Row => ({ ...row, ...(n !== undefined && { n }) }),
);

const correction = fc.record({ at: fc.nat({ max: 9 }), value: fc.constantFrom(1, 5, 'x', null) });

const upload = fc.record({
  sent: fc.array(sentRow, { maxLength: 10 }),
  /** The upload has the rows of the table, too. */
  repeats: fc.boolean(),
  isClean: fc.boolean(),
  hasKeyFault: fc.constantFrom(false, false, false, false, true),
  action: fc.constantFrom<Upload['action']>('keep', 'delete', 'delete', 'mark'),
  conflict: fc.constantFrom<Upload['conflict']>('update', 'update', 'skip'),
  faulty: fc.constantFrom<Upload['faulty']>('fail', 'leave_out', 'leave_out'),
  within: fc.constantFrom<Upload['within']>([], [], ['region'], ['region', 'b']),
  max: fc.constantFrom('0', '2', '10%', '50%', '100%', '100%', '100%'),
  hasProvenance: fc.boolean(),
  corrections: fc.array(correction, { maxLength: 2 }),
});
type Choice = typeof upload extends fc.Arbitrary<infer T> ? T : never;

const sequence = fc.record({
  keyName: fc.constantFrom<keyof typeof keys>('one', 'two', 'nulls'),
  isPartitioned: fc.boolean(),
  markType: fc.constantFrom('boolean', 'timestamptz'),
  old: fc.array(fc.tuple(rowWith(fc.nat({ max: 9 })), fc.boolean()), { maxLength: 10 }),
  uploads: fc.array(upload, { minLength: 2, maxLength: 4 }),
});
type Sequence = typeof sequence extends fc.Arbitrary<infer T> ? T : never;

interface ModelTable {
  name: string;
  key: Key;
  markType: string;
  rows: Stored[];
}

async function createTable({ keyName, isPartitioned, markType, old }: Sequence): Promise<ModelTable> {
  const key = keys[keyName];
  const name = nextTable();
  const rows = old.map(([row, gone]) => ({ ...row, gone, load_no: null, row_no: null }) as Stored);
  const isFirst = (row: Stored, at: number) =>
    !isComparable(row, key) ||
    rows.findIndex((other) => keyOf(other, key.columns) === keyOf(row, key.columns)) === at;
  const stored = rows.filter((row, at) => isFirst(row, at) && !(keyName === 'one' && row.a === null));
  const mark = markType === 'boolean' ? 'boolean NOT NULL DEFAULT false' : markType;
  await service.rows(`
    CREATE TABLE ${name} (a int, b text, region text, n int CHECK (n < 50), gone ${mark}, load_no uuid, row_no bigint, ${key.sql})
    ${isPartitioned ? 'PARTITION BY LIST (a)' : ''}`);
  if (isPartitioned)
    await service.rows(`
      CREATE TABLE ${name}_low PARTITION OF ${name} FOR VALUES IN (0, 1, 2);
      CREATE TABLE ${name}_rest PARTITION OF ${name} DEFAULT`);
  for (const { a, b, region, n, gone } of stored) {
    const marked = markType === 'boolean' ? gone : gone ? '2026-01-01' : null;
    await service.rows(`INSERT INTO ${name} VALUES ($1, $2, $3, $4, $5)`, [a, b, region, n, marked]);
  }
  return { name, key, markType, rows: stored };
}

interface SentRow {
  sent: Row;
  /** The row with its correction. */
  counting: Row;
  correction?: unknown;
}

/** Returns the rows of an upload. */
function rowsOf(choice: Choice, { key, rows }: ModelTable): SentRow[] {
  const repeated = choice.repeats ? rows.slice(1).map(({ a, b, region, n }) => ({ a, b, region, n })) : [];
  const all: Row[] = [...repeated, ...choice.sent].filter(({ a }) => key.columns.length > 1 || a !== null);
  if (choice.hasKeyFault) all.push({ a: 'zz', b: 'x', region: 'n' });
  const corrected = all.map((sent, place): SentRow => {
    const correction = choice.corrections.find(({ at }) => at === place)?.value;
    if (correction === undefined || sent.n === undefined) return { sent, counting: sent };
    return { sent, counting: { ...sent, n: correction }, correction };
  });
  if (choice.isClean) return corrected.filter(({ counting }) => !isFault(counting));
  // Whether a row that another row replaces breaks a check is not always found out, so such rows have keys of their own.
  const isAlone = (row: Row) =>
    corrected.every(
      ({ counting }) => counting === row || keyOf(counting, key.columns) !== keyOf(row, key.columns),
    );
  return corrected.filter(({ counting }) => !isCheckFault(counting) || isAlone(counting));
}

function queryOf({ action, conflict, faulty, within, max, hasProvenance }: Upload): string {
  return [
    `if_exists=append&on_conflict=${conflict}&faulty_rows=${faulty}`,
    `missing_rows=${action === 'mark' ? 'mark:gone' : action}`,
    ...(action === 'keep' ? [] : [`max_missing_rows=${encodeURIComponent(max)}`]),
    ...(within.length > 0 ? [`missing_within=${within.join()}`] : []),
    ...(hasProvenance ? ['provenance=load_id:load_no,source_row:row_no'] : []),
  ].join('&');
}

/** Sends an upload, first as a dry run, and compares what happens with the expected outcome. Returns this outcome. */
async function send(table: ModelTable, upload: Upload, body: object): Promise<Outcome> {
  const expected = predict(table.rows, upload, table.key);
  const query = queryOf(upload);
  for (const isDry of [true, false]) {
    const answer = await service.post(`/table/${table.name}/upload/json?${query}&dry_run=${isDry}`, body);
    const about = JSON.stringify({ table, body, query, answer: answer.body, expected });
    assert.equal(answer.status, expected.status, about);
    const id = answer.headers.get('load-id')!;
    if (!isDry)
      table.rows = expected.table.map((row) => (row.load_no === thisLoad ? { ...row, load_no: id } : row));
    assert.deepEqual(await storedIn(table), sorted(table.rows), about);
    if (expected.status !== 200) continue;
    const { load } = answer.body;
    const found = Object.keys(expected.counts!).map((count) => [count, load[count]]);
    assert.deepEqual(Object.fromEntries(found), expected.counts, about);
    await compareChanges(id, expected, about);
    if (expected.leftOut!.length > 0) assert.deepEqual(await faultyRows(answer), expected.leftOut, about);
  }
  return expected;
}

async function storedIn({ name, markType }: ModelTable): Promise<string[]> {
  const gone = markType === 'boolean' ? 'gone' : 'gone IS NOT NULL AS gone';
  return sorted(await service.rows(`SELECT a, b, region, n, ${gone}, load_no, row_no::int FROM ${name}`));
}

const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();

async function compareChanges(id: string, { changes, counts }: Outcome, about: string): Promise<void> {
  const { body } = await service.get(`/api/v1/loads/${id}/changes`);
  const { inserted, changed, unchanged, missing, deleted, marked, unmarked } = counts!;
  const shown = { inserted, changed, unchanged, missing, deleted, marked, unmarked };
  assert.deepEqual(body.counts, changes === undefined ? null : JSON.parse(JSON.stringify(shown)), about);
  assert.deepEqual(inOrder(body.changes), inOrder(changes ?? []), about);
}

/** Puts the missing rows in an order, and the cells of each row. */
function inOrder(changes: RowChange[]): unknown[] {
  const ordered = changes.map(({ cells, ...change }) => ({
    ...change,
    cells: cells
      .map(({ column, old, ...values }) => {
        // A mark is false or NULL, or true or a time.
        const isMarked = old !== null && old !== 'f' && old !== 'false';
        return [column, column === 'gone' ? isMarked : old, values] as const;
      })
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  }));
  const isMissing = ({ row }: { row?: number }) => row === undefined;
  return [
    ...sorted(ordered.filter(isMissing)),
    ...ordered
      .filter((change) => !isMissing(change))
      .map((change) => JSON.stringify(Object.entries(change).sort())),
  ];
}

async function faultyRows({ headers }: TestAnswer): Promise<Row[]> {
  const { body } = await service.get(`/api/v1/loads/${headers.get('load-id')}/faulty-rows?format=ndjson`);
  return String(body)
    .trim()
    .split('\n')
    .map((line) => {
      const { _problem: problem, ...row } = JSON.parse(line);
      assert.match(problem, /^(a|n): /);
      return row;
    });
}

async function trySequence(chosen: Sequence, note: (outcome: string) => void): Promise<void> {
  const table = await createTable(chosen);
  for (const choice of chosen.uploads) {
    const rows = rowsOf(choice, table);
    const patch = rows.flatMap(({ correction }, at) =>
      correction === undefined ? [] : { row: at + 1, column: 'n', value: correction },
    );
    const {
      status,
      counts,
      leftOut = [],
    } = await send(
      table,
      { ...choice, sent: rows.map(({ counting }) => counting) },
      { ...(patch.length > 0 && { patch }), data: rows.map(({ sent }) => sent) },
    );
    note(
      status === 200 ? `${choice.action} ${(counts!.missing ?? 0) > 0 ? 'some' : 'none'}` : String(status),
    );
    if (leftOut.length === 0) continue;
    const repaired = leftOut.map((row) => ({
      ...row,
      a: row.a === 'zz' ? 6 : row.a,
      ...(row.n !== undefined && { n: 7 }),
    }));
    const again = { ...choice, sent: repaired, action: 'keep', faulty: 'fail' } as const;
    const data = repaired.map((row) => ({ ...row, _problem: 'n: it was wrong' }));
    assert.equal((await send(table, again, { data })).status, 200);
    note('repaired');
  }
  await service.rows(`DROP TABLE ${table.name}`);
}

test('random uploads leave the tables, and answer what a simple implementation gives', async (t) => {
  const counts = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(sequence, (chosen) =>
      trySequence(chosen, (outcome) => counts.set(outcome, (counts.get(outcome) ?? 0) + 1)),
    ),
    { numRuns: Number(process.env.MODEL_CASES ?? sized(12, 50)), endOnFailure: true },
  );
  t.diagnostic(JSON.stringify([...counts]));
});
