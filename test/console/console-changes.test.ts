/** What the console concludes about loads that come again: differences, missing rows and repaired files. These are pure functions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadChanges, Profile, RowChange, TableDescription } from '../../client/client.ts';
import {
  cellOfChange,
  columnsOfChanges,
  differenceOf,
  isCompared,
  pageWords,
} from '../../console/derived/changes.ts';
import { repairedReading, repairedTarget } from '../../console/derived/faulty-rows.ts';
import { readingQuery } from '../../console/derived/file.ts';
import { countedMissing, markColumns, missingToAllow } from '../../console/derived/missing-rows.ts';
import {
  choicesOfProfile,
  fitsHeader,
  type ProfileChoices,
  profileOf,
} from '../../console/derived/profiles.ts';
import { planFaults, uploadPlan } from '../../console/derived/request.ts';
import { deletedWords } from '../../console/derived/target.ts';
import { emptyReading, initialState } from '../../console/initial-state.ts';
import type { LoadResult } from '../../console/load-outcome.ts';
import type { ColumnPlan, MissingRows, State } from '../../console/state.ts';

const load = (facts: Partial<LoadResult['load']>): LoadResult['load'] => ({
  ...{ rows: 0, skipped: 0, updated: 0, inserted: 0, changed: 0, unchanged: 0 },
  ...{ warnings: [], duration_ms: 1 },
  ...facts,
});

const changes: RowChange[] = [
  { kind: 'deleted', key: { id: '1' }, cells: [{ column: 'b', old: null }] },
  { kind: 'changed', row: 4, key: { id: '2' }, cells: [{ column: 'a', old: 'x', new: null }] },
  { kind: 'inserted', row: 5, key: { id: '3' }, cells: [{ column: 'a', new: 'y' }] },
];

test('only rows that were compared by a key have a difference', () => {
  assert.ok(!isCompared(load({ rows: 3, inserted: 3 })));
  assert.ok(!isCompared(load({ conflict_key: [], inserted: 3 })));
  assert.ok(!isCompared(load({ conflict_key: ['id'], skipped: 3 })));
  assert.ok(isCompared(load({ conflict_key: ['id'], updated: 3, unchanged: 3 })));
  const counts = differenceOf(load({ inserted: 1, unchanged: 2, missing: 4, marked: 3 }));
  assert.deepEqual(counts, [
    ['New', 1],
    ['Changed', 0],
    ['Unchanged', 2],
    ['Missing', 4],
    ['Marked', 3],
  ]);
});

test('a change has its old and its new value, and each column is listed once, the key first', () => {
  assert.deepEqual(columnsOfChanges(changes), ['id', 'b', 'a']);
  const [deleted, changed, inserted] = changes as [RowChange, RowChange, RowChange];
  assert.deepEqual(cellOfChange(deleted, 'id'), { old: '1', now: undefined });
  assert.deepEqual(cellOfChange(deleted, 'b'), { old: null, now: undefined });
  assert.deepEqual(cellOfChange(changed, 'id'), { old: undefined, now: '2' });
  assert.deepEqual(cellOfChange(changed, 'a'), { old: 'x', now: null });
  assert.equal(cellOfChange(changed, 'b'), undefined);
  assert.deepEqual(cellOfChange(inserted, 'a'), { old: undefined, now: 'y' });
});

test('a page says which changes it shows, and how many are not listed', () => {
  const list = { changes, changes_stored: 3, counts: { inserted: 1, changed: 1, unchanged: 9, missing: 1 } };
  assert.equal(pageWords(list as LoadChanges, 0), '1 to 3 of 3 changes');
  const part = { ...list, changes_stored: 10_000, counts: { inserted: 0, changed: 12_000, unchanged: 0 } };
  assert.equal(
    pageWords(part as LoadChanges, 100),
    '101 to 103 of 12,000 changes, of which the first 10,000 are listed',
  );
});

const columns = [
  { name: 'id', type: 'bigint', is_nullable: false },
  { name: 'gone:1', type: 'boolean', is_nullable: false },
  { name: 'gone_at', type: 'timestamp with time zone', is_nullable: true },
  { name: 'loaded_at', type: 'date', is_nullable: false },
];

function stateWith(missing: Partial<MissingRows>, target: Partial<State['target']> = {}): State {
  const session = { token: 'a', subject: undefined, scopes: [], problem: undefined, signIn: undefined };
  const state = initialState(session, { page: 'load' });
  const table = { columns, constraints: { primary_key: { columns: ['id'] } } } as unknown as TableDescription;
  return {
    ...state,
    existing: { is: 'ready', value: table },
    target: { schema: 'public', table: 'orders', ifExists: 'append', onConflict: 'update', ...target },
    rows: { ...state.rows, missing: { ...state.rows.missing, ...missing } },
  };
}

test('missing rows are decided about only where rows of an existing table are compared by a key', () => {
  const sent = (state: State) => uploadPlan(state).query;
  const update = { if_exists: 'append', on_conflict: 'update' };
  const remove = { action: 'delete', max: ' 5% ', within: 'region, month' } as const;
  assert.deepEqual(sent(stateWith(remove)), {
    ...update,
    missing_rows: 'delete',
    max_missing_rows: '5%',
    missing_within: 'region, month',
  });
  assert.deepEqual(sent(stateWith({ ...remove, action: 'keep' })), update);
  assert.deepEqual(sent(stateWith(remove, { onConflict: 'fail' })), { if_exists: 'append' });
  assert.equal(sent(stateWith(remove, { ifExists: 'truncate' })).missing_rows, undefined);
  assert.deepEqual(countedMissing(stateWith({})), { missing_rows: 'keep' });
  assert.deepEqual(countedMissing(stateWith({}, { onConflict: 'fail' })), {});
});

test('a column for the mark is boolean, or a date or timestamp that may be NULL', () => {
  const fault = 'Choose the column that marks missing rows.';
  assert.deepEqual(markColumns(stateWith({})), ['gone:1', 'gone_at']);
  assert.ok(planFaults(stateWith({ action: 'mark' })).includes(fault));
  const marked = stateWith({ action: 'mark', column: 'gone:1' });
  assert.ok(!planFaults(marked).includes(fault));
  assert.equal(uploadPlan(marked).query.missing_rows, 'mark:gone\\:1');
});

test('the refusal of missing rows says how many must be allowed', () => {
  const detail =
    'The upload lacks 150 of the 300 rows of the table, and max_missing_rows=10% allows 30. To delete them, send max_missing_rows=150. If the upload is only a part of the rows, name the part with missing_within.';
  assert.equal(missingToAllow(detail), '150');
  assert.equal(missingToAllow('The definition lacks parts of the table.'), undefined);
  const { target } = stateWith({});
  assert.match(
    deletedWords({ target }, load({ deleted: 2 }))!,
    /^2 rows of public\.orders .* are deleted\.$/,
  );
  assert.equal(deletedWords({ target }, load({ missing: 2 })), undefined);
});

test('a repaired file is read like the first one, but not at its place and not in its encoding', () => {
  const reading = {
    ...emptyReading,
    ...{ sheet: 'Data', headerRow: 3, range: 'B3:D9', nullValues: '-', dateOrder: 'dmy' as const },
    more: { encoding: 'windows-1250', delimiter: ';', column_names: 'snake_case' },
  };
  const query = (first: string, repaired: string) =>
    readingQuery(repairedReading(reading, { name: first }, { name: repaired }), 'spreadsheet');
  const values = { null_values: '-', date_order: 'dmy', column_names: 'snake_case' };
  assert.deepEqual(query('a.csv', 'a-faulty-rows.csv'), { ...values, delimiter: ';' });
  assert.deepEqual(query('a.csv', 'a-faulty-rows.xlsx'), values);
  assert.deepEqual(query('a.xlsx', 'a-faulty-rows.csv'), { ...values, quoted: 'exact' });
  assert.deepEqual(query('a.xlsx', 'a-faulty-rows.xlsx'), values);
});

test('repaired rows are added, so no row is deleted because it is not in their file', () => {
  const state = stateWith({ action: 'delete', max: '100%' }, { ifExists: 'truncate' });
  const { target, rows } = repairedTarget({
    ...state,
    rows: { ...state.rows, leaveOutFaulty: true, maxFaulty: 5000 },
  });
  assert.deepEqual([target.ifExists, target.onConflict], ['append', 'update']);
  assert.deepEqual([rows.missing.action, rows.leaveOutFaulty, rows.maxFaulty], ['keep', false, 100]);
});

test('saved settings make the choices from which they were saved', () => {
  const first = stateWith({ action: 'mark', column: 'gone:1', max: '5%', within: 'region' });
  const plan = { header: 'Order: no', name: 'id', isNamed: true, isIncluded: true } as ColumnPlan;
  const state: State = {
    ...first,
    file: { name: 'a.xlsx', size: 1, kind: 'spreadsheet', content: new File(['x'], 'a.xlsx') },
    columns: [plan],
    reading: {
      ...emptyReading,
      ...{ nullValues: 'a\\,b,-', dateOrder: 'dmy', decimalSign: ',', languages: 'de', headerRow: 3 },
      more: { column_names: 'snake_case' },
    },
    rows: { ...first.rows, leaveOutFaulty: true, maxFaulty: 7, misfits: 'widen' },
  };
  const { parameters } = profileOf(state);
  const texts = Object.fromEntries(Object.entries(parameters!).map(([name, value]) => [name, String(value)]));
  const choices = choicesOfProfile({ parameters: texts, table: null }) as ProfileChoices;
  assert.deepEqual(choices.reading, state.reading);
  assert.deepEqual(choices.rows, state.rows);
  assert.deepEqual(choices.target, {
    ifExists: 'append',
    onConflict: 'update',
    schema: 'public',
    table: 'orders',
  });
  assert.deepEqual(choices.columns([{ ...plan, name: 'Order: no', isNamed: false }]), [plan]);
});

test('settings for which the page has no field are not used', () => {
  const unknown = (parameters: Record<string, string>, table: object | null = null) =>
    choicesOfProfile({ parameters, table } as Pick<Profile, 'parameters' | 'table'>);
  assert.deepEqual(unknown({ provenance: 'load_id:_load', trim: 'true' }), ['provenance']);
  assert.deepEqual(unknown({ max_faulty_rows: '1%' }), ['max_faulty_rows']);
  const columns = [{ name: 'a', type: 'bigint', is_nullable: false }];
  const key = { primary_key: { columns: ['a'] } };
  const { columns: withTable } = unknown({}, { columns, constraints: key }) as ProfileChoices;
  const [kept, left] = withTable([{ name: 'a' }, { name: 'b' }] as ColumnPlan[]);
  assert.deepEqual([kept!.type, kept!.keyPlace, left!.isIncluded], ['bigint', 1, false]);
  const checks = [{ expression: 'a > 0' }];
  assert.deepEqual(unknown({}, { columns, constraints: { ...key, checks } }), ['a part of the definition']);
});

test('settings fit a file with the same header in any order', () => {
  assert.ok(fitsHeader({ headers: ['a', 'b'] }, ['b', 'a']));
  assert.ok(!fitsHeader({ headers: ['a', 'b'] }, ['a', 'b', 'c']));
  assert.ok(!fitsHeader({ headers: null }, []));
});

test('a column that is left out gets a name that the existing table does not have', () => {
  const plans = ['id', 'Gone', 'left_out_1'].map(
    (name, at) => ({ header: name, name, isIncluded: at === 0 }) as ColumnPlan,
  );
  const { query } = uploadPlan({ ...stateWith({}), columns: plans });
  assert.equal(query.extra_columns, 'ignore');
  assert.equal(query.rename, 'Gone:left_out_2,left_out_1:left_out_3');
});
