/** What the console concludes about the columns of a file: their places in an existing table, warnings in words, and the next step. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedProfile, TableDescription } from '../../client/client.ts';
import { emptyPlan } from '../../console/derived/columns.ts';
import {
  emptyColumns,
  placed,
  tableColumns,
  unplacedColumns,
  withPlace,
} from '../../console/derived/mapping.ts';
import { checksItself, nextStep } from '../../console/derived/next-step.ts';
import { fittingSettings, offeredSettings, profileOf, remembered } from '../../console/derived/profiles.ts';
import { planFaults, requestText, uploadPlan } from '../../console/derived/request.ts';
import { decisionsOf, isOpen, summaryOf, undecided, warningWords } from '../../console/derived/warnings.ts';
import { initialState } from '../../console/initial-state.ts';
import type { Inspection } from '../../console/inspection.ts';
import type { ColumnPlan, State } from '../../console/state.ts';

type Column = Partial<TableDescription['columns'][number]> & { name: string; type: string };

function stateOf(
  headers: [header: string, type: string][],
  table: Column[] | null,
  key: string[] = [],
): State {
  const session = { token: 'a', subject: undefined, scopes: [], problem: undefined, signIn: undefined };
  const columns = table?.map((one) => ({ is_nullable: true, default: null, ...one }));
  const value = { schema: 'public', name: 'shop', columns, constraints: { primary_key: { columns: key } } };
  const inspection = { header: headers.map(([header]) => header), warnings: [] as object[] } as Inspection;
  const state: State = {
    ...initialState(session, { page: 'load' }),
    step: 'columns',
    file: { name: 'a.csv', size: 100, kind: 'spreadsheet', content: new File(['x'], 'a.csv') },
    inspection: { is: 'ready', value: inspection },
    profiles: { is: 'ready', value: [] },
    existing: { is: 'ready', value: table === null ? null : (value as unknown as TableDescription) },
    target: {
      schema: 'public',
      table: 'shop',
      ifExists: table === null ? 'fail' : 'append',
      onConflict: 'fail',
    },
    columns: headers.map(
      ([header, type]): ColumnPlan => ({ ...emptyPlan, header, name: header, type, inferredType: type }),
    ),
  };
  return { ...state, columns: placed(state) };
}

const places = ({ columns }: Pick<State, 'columns'>) => columns.map(({ header, name }) => [header, name]);
const text = (...names: string[]): Column[] => names.map((name) => ({ name, type: 'text' }));

test('each column of a file gets the column of the table with the most similar name, and never two the same', () => {
  const state = stateOf(
    [
      ['Cust No', 'bigint'],
      ['Name', 'text'],
      ['Created', 'date'],
      ['qty', 'bigint'],
      ['Été', 'text'],
    ],
    [
      { name: 'customer_no', type: 'bigint' },
      ...text('full_name'),
      { name: 'created', type: 'date' },
      { name: 'Quantity', type: 'integer' },
      ...text('ete'),
    ],
  );
  assert.deepEqual(places(state), [
    ['Cust No', 'customer_no'],
    ['Name', 'full_name'],
    ['Created', 'created'],
    ['qty', 'Quantity'],
    ['Été', 'ete'],
  ]);
  assert.deepEqual(
    state.columns.map(({ isGuess }) => isGuess),
    [true, true, false, true, false],
  );
  assert.equal(
    uploadPlan(state).query.rename,
    'Cust No:customer_no,Name:full_name,Created:created,qty:Quantity,Été:ete',
  );
  assert.deepEqual(
    places(
      stateOf(
        [
          ['order id', 'bigint'],
          ['order_id', 'bigint'],
        ],
        [{ name: 'order_id', type: 'bigint' }],
      ),
    ),
    [
      ['order id', 'order id'],
      ['order_id', 'order_id'],
    ],
  );
});

test('a similar name is no proposal if the types do not fit, or if two columns are as similar', () => {
  assert.deepEqual(places(stateOf([['Name', 'text']], [{ name: 'name_no', type: 'bigint' }])), [
    ['Name', 'Name'],
  ]);
  assert.deepEqual(places(stateOf([['Name', 'text']], text('first_name', 'last_name'))), [['Name', 'Name']]);
  assert.deepEqual(
    places(
      stateOf(
        [['Price EUR', 'numeric']],
        [
          { name: 'price', type: 'numeric' },
          { name: 'eur', type: 'numeric' },
        ],
      ),
    ),
    [['Price EUR', 'Price EUR']],
  );
  // Of two headers for one column, the one whose values fit is taken.
  assert.deepEqual(
    places(
      stateOf(
        [
          ['order-no', 'text'],
          ['ORDER NO', 'bigint'],
        ],
        [{ name: 'order_no', type: 'bigint' }],
      ),
    ),
    [
      ['order-no', 'order-no'],
      ['ORDER NO', 'order_no'],
    ],
  );
});

test('the columns of a table that get nothing are listed, and a column of the file without a place is a fault', () => {
  const table: Column[] = [
    { name: 'id', type: 'bigserial', is_nullable: false },
    { name: 'note', type: 'text', is_nullable: false },
    { name: 'at', type: 'date', is_nullable: false, default: 'now()' },
    { name: 'made', type: 'text', generated: 'lower(note)' },
    { name: 'number', type: 'bigint', identity: 'always' },
  ];
  const state = stateOf([['extra', 'text']], table, ['id']);
  assert.deepEqual(
    tableColumns(state).map(({ name, isRequired, keyPlace }) => [name, isRequired, keyPlace]),
    [
      ['id', false, 1],
      ['note', true, 0],
      ['at', false, 0],
    ],
  );
  assert.deepEqual(
    emptyColumns(state).map(({ name }) => name),
    ['id', 'note', 'at'],
  );
  assert.deepEqual(planFaults(state), ['Choose a column of the table for “extra”, or leave it out.']);
  const ignored = { ...state, rows: { ...state.rows, extraColumns: 'ignore' as const } };
  assert.deepEqual(unplacedColumns(ignored), []);
  assert.equal(uploadPlan(ignored).query.extra_columns, 'ignore');
});

test('a chosen place takes the column from another one, a new column is added, and another table takes the proposals back', () => {
  const state = stateOf(
    [
      ['a', 'text'],
      ['b', 'text'],
      ['c', 'text'],
    ],
    text('a', 'b'),
  );
  const again = (columns: ColumnPlan[]): State => ({ ...state, columns: placed({ ...state, columns }) });
  const moved = again(withPlace(state.columns, 2, { column: 'a' }));
  assert.deepEqual(places(moved), [
    ['a', ''],
    ['b', 'b'],
    ['c', 'a'],
  ]);
  assert.deepEqual(
    unplacedColumns(moved).map(({ header }) => header),
    ['a'],
  );
  const added = again(withPlace(state.columns, 2, 'new'));
  assert.equal(uploadPlan(added).query.extra_columns, 'add');
  assert.deepEqual(planFaults(added), []);
  assert.match(planFaults(again(withPlace(added.columns, 0, 'none')))[0]!, /cannot leave out another one/);
  const left = again(withPlace(state.columns, 2, 'none'));
  assert.deepEqual(
    [uploadPlan(left).query.extra_columns, uploadPlan(left).query.rename],
    ['ignore', 'c:left_out_1'],
  );
  const other = stateOf([['Cust No', 'bigint']], [{ name: 'customer_no', type: 'bigint' }]);
  const isNew: State = { ...other, existing: { is: 'ready', value: null } };
  assert.deepEqual(places({ columns: placed(isNew) }), [['Cust No', 'Cust No']]);
});

test('warnings are shown without parameters, and what was decided is one line with its undo', () => {
  const words = (detail: string) => warningWords({ detail });
  assert.equal(
    words(
      'Column "a" became text because of "N/A" in C5; every value above it is a whole number (bigint). Send null_values=N/A to load this as NULL.',
    ),
    'Column "a" became text because of "N/A" in C5; every value above it is a whole number.',
  );
  assert.equal(
    words(
      'The file was read as Windows-1252 (Western European), since it is not valid UTF-8; if letters are wrong, send `encoding`.',
    ),
    'The file was read as Windows-1252 (Western European), since it is not valid UTF-8.',
  );
  assert.equal(
    words('Row 3 was read as the header of the table in A3:C6 (header_row=auto).'),
    'Row 3 was read as the header of the table in A3:C6.',
  );
  assert.equal(
    words(
      'Not read: A4:B6, a table with the same header (to load it, too, send range=A4:B6 and if_exists=append).',
    ),
    'Not read: A4:B6, a table with the same header.',
  );
  assert.equal(words('Column "a" (EUR) has no name.'), 'Column "a" (EUR) has no name.');
  assert.equal(words('Send sheet=B.'), 'Send sheet=B.');
  assert.equal(
    words('Row 4 looks like the header: send header_row=4 or header_row=auto.'),
    'Row 4 looks like the header.',
  );
  const natural = (column: string, as: string) => ({
    code: 'natural-values',
    column,
    detail: `Column "${column}" was read as ${as}. The first is "1" in A2.`,
  });
  const warnings = [
    natural('a', 'numbers'),
    natural('b', 'numbers'),
    natural('c', 'dates'),
    { code: 'proposal-taken', detail: 'Row 3 was read as the header.' },
  ];
  assert.deepEqual(decisionsOf(warnings), [
    { words: 'Row 3 was read as the header.', undo: { headerRow: undefined } },
    { words: 'Read as people write them: “a”, “b” as numbers; “c” as dates.', undo: { isNatural: false } },
  ]);
  const many = Array.from({ length: 7 }, (_, at) => ({ code: 'mixed-column', column: `c${at}`, detail: '' }));
  assert.equal(
    summaryOf('mixed-column', many),
    'Columns that are text because of a few values (7): “c0”, “c1”, “c2”, “c3”, “c4” and 2 more',
  );
  assert.ok(isOpen({ code: 'proposal-taken', detail: '', choices: [{ parameters: { header_row: '1' } }] }));
});

const loaded = {
  rows: 2,
  skipped: 0,
  updated: 0,
  inserted: 2,
  changed: 0,
  unchanged: 0,
  warnings: [] as object[],
  duration_ms: 1,
};

/** A state whose request was checked with this result. */
function checked(state: State, load: Partial<typeof loaded> = {}): State {
  const result = { table: {}, load: { ...loaded, ...load } };
  const value = { result, failure: undefined, all: undefined, isReadingAll: false, openGroup: undefined };
  return {
    ...state,
    checkedRequest: requestText(state),
    check: { is: 'ready', value } as unknown as State['check'],
  };
}

test('Load is the first button only if the check has passed and nothing is asked', () => {
  const state = stateOf([['a', 'bigint']], null);
  assert.ok(checksItself(state));
  assert.equal(nextStep(state).button, 'Check');
  assert.equal(nextStep(checked(state)).button, 'Load');
  assert.ok(!checksItself(checked(state)));
  const renamed = { ...checked(state), columns: state.columns.map((one) => ({ ...one, name: 'b' })) };
  assert.equal(nextStep(renamed).button, 'Check');
  assert.equal(nextStep(checked(state, { warnings: [{ code: 'same-file', detail: '' }] })).button, 'Check');
  assert.equal(nextStep(checked(state, { skipped: 1 })).button, 'Check');
  const warning = {
    code: 'other-notation',
    column: 'a',
    detail: '',
    choices: [{ parameters: { date_order: 'dmy' } }],
  };
  const asked = {
    ...state,
    inspection: { is: 'ready', value: { header: ['a'], warnings: [warning] } },
  } as unknown as State;
  assert.equal(nextStep(checked(asked)).button, 'Check');
  const doubted = (code: string) =>
    ({
      ...state,
      inspection: { is: 'ready', value: { header: ['a'], warnings: [{ code, detail: '' }] } },
    }) as unknown as State;
  assert.equal(nextStep(checked(doubted('encoding'))).button, 'Check');
  assert.equal(nextStep(checked(doubted('blank-header'))).button, 'Load');
  assert.match(nextStep(checked(doubted('encoding'))).words, / 1 warning is listed above\.$/);
  const mixed = doubted('mixed-column');
  assert.equal(undecided(mixed).length, 1);
  const [named] = mixed.inspection.is === 'ready' ? mixed.inspection.value.warnings : [];
  named!.column = 'a';
  const typed = mixed.columns.map((one) => ({ ...one, type: 'numeric' }));
  assert.deepEqual(undecided({ ...mixed, columns: typed }), []);
  const guessed = stateOf([['No', 'bigint']], [{ name: 'order_no', type: 'bigint' }]);
  assert.equal(nextStep(checked(guessed)).button, 'Check');
});

test('a check that would lock the rows of a table, and one of a large file, waits for the user', () => {
  const state = stateOf([['a', 'bigint']], [{ name: 'a', type: 'bigint' }]);
  const waits = (to: Partial<State>) => !checksItself({ ...state, ...to });
  assert.ok(!waits({}));
  for (const ifExists of ['truncate', 'replace', 'fail'] as const)
    assert.ok(waits({ target: { ...state.target, ifExists } }));
  assert.ok(waits({ rows: { ...state.rows, missing: { ...state.rows.missing, action: 'delete' } } }));
  assert.ok(waits({ file: { ...state.file!, size: 9_000_000 } }));
  assert.ok(waits({ existing: { is: 'failed', failure: {} as never } }));
  assert.ok(waits({ step: 'check' }));
});

test('the settings of a load into an existing table are used for the next file with the same header, unless a profile is', () => {
  const state = stateOf([['Cust No', 'bigint']], [{ name: 'customer_no', type: 'bigint' }]);
  const settings = remembered(state);
  assert.deepEqual(settings, [
    {
      headers: ['Cust No'],
      parameters: { if_exists: 'append', rename: 'Cust No:customer_no', table: 'shop' },
      isOfNewTable: false,
    },
  ]);
  const next = { ...stateOf([['Cust No', 'bigint']], null), remembered: settings };
  assert.equal(fittingSettings(next), settings[0]);
  const ofOwnName = { ...next, target: { ...next.target, table: 'own' } };
  assert.equal(fittingSettings(ofOwnName), settings[0]);
  const ofOwnTable = { ...ofOwnName, existing: state.existing };
  assert.equal(fittingSettings(ofOwnTable), undefined);
  assert.equal(offeredSettings(ofOwnTable), settings[0]);
  const forOther = { ...next, isTargetChosen: true, target: { ...next.target, table: 'other' } };
  assert.equal(fittingSettings(forOther), undefined);
  const ofNewTable = [{ ...settings[0]!, isOfNewTable: true }];
  assert.equal(fittingSettings({ ...next, remembered: ofNewTable }), undefined);
  const intoIt = { ...ofOwnTable, target: { ...next.target, table: 'shop' }, remembered: ofNewTable };
  assert.equal(fittingSettings(intoIt), undefined);
  assert.equal(fittingSettings({ ...intoIt, isTargetChosen: true }), ofNewTable[0]);
  const profile = {
    name: 'm',
    headers: ['Cust No'],
    parameters: { table: 'shop' },
  } as unknown as ListedProfile;
  const listed = (...value: ListedProfile[]): Pick<State, 'profiles'> => ({
    profiles: { is: 'ready', value },
  });
  // Which of them is used must not depend on which answer comes first.
  assert.equal(fittingSettings({ ...next, profiles: { is: 'busy', sentBytes: 0 } }), undefined);
  assert.equal(fittingSettings({ ...next, ...listed(profile) }), profile);
  assert.equal(fittingSettings({ ...next, ...listed(profile, { ...profile, name: 'n' }) }), undefined);
  assert.equal(
    fittingSettings({ ...next, remembered: [], ...listed({ ...profile, parameters: {} }) }),
    undefined,
  );
  const ofNew = remembered({ ...state, existing: { is: 'ready', value: null }, remembered: settings });
  assert.equal(fittingSettings({ ...next, remembered: ofNew }), undefined);
  const offered = offeredSettings({ ...forOther, remembered: ofNew });
  assert.deepEqual([offered?.parameters.table, offered?.parameters.if_exists], ['shop', 'append']);
  assert.equal(offeredSettings({ ...next, remembered: ofNew }), undefined);
  // A saved profile of a new table adds the rows of the next file; a table that was replaced is replaced again, but nothing is offered that replaces.
  const created: State = {
    ...state,
    existing: { is: 'ready', value: null },
    target: { ...state.target, ifExists: 'fail' },
  };
  const replaced: State = { ...state, target: { ...state.target, ifExists: 'replace' } };
  assert.deepEqual(
    [created, replaced].map((one) => profileOf(one).parameters?.if_exists),
    ['append', 'replace'],
  );
  assert.equal(remembered(replaced)[0]?.parameters.if_exists, 'append');
});
