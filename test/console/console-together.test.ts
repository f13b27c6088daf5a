/** Several tables in one load: what the page finds in files, what it sends, and what it says about each table. These tests need no browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedProfile, Load, Problem } from '../../client/client.ts';
import { withNewestSettings } from '../../console/derived/homes.ts';
import { possibleLinks } from '../../console/derived/links.ts';
import { isPossible, shownStep, stepsOf } from '../../console/derived/steps.ts';
import { keyOfTable } from '../../console/derived/table.ts';
import {
  checksPlanItself,
  isPlanChecked,
  partFault,
  partOutcomes,
  partsOf,
  partsOfZip,
  placeInPart,
  planOf,
  planText,
  togetherFault,
  withUniqueNames,
} from '../../console/derived/together.ts';
import type { Failure } from '../../console/failure.ts';
import { namesInZip } from '../../console/file/names-in-zip.ts';
import { initialState } from '../../console/initial-state.ts';
import type { Inspection } from '../../console/inspection.ts';
import { endOf } from '../../console/load-outcome.ts';
import type { ChosenFile, LoadProgress, Part, State, Together } from '../../console/state.ts';
import { buildZip } from '../support/xlsx-builder.ts';

type Sheet = Inspection['sheets'][number];

const sheet = (name: string, to: Partial<Sheet> = {}): Sheet => ({
  name,
  isHidden: false,
  rows: 3,
  columns: 2,
  problem: undefined,
  table: { rows: 2, columns: 2 },
  ...to,
});
const fileOf = (name: string): ChosenFile => ({
  name,
  size: 10,
  kind: 'spreadsheet',
  content: new File(['0123456789'], name),
});
const inspected = (...sheets: Sheet[]) => ({ sheets }) as Inspection;
const together = (parts: Part[], to: Partial<Together> = {}): Together => ({
  schema: 'public',
  parts: withUniqueNames(parts),
  existing: new Set(),
  ...to,
});
const book = fileOf('Shop 2026.xlsx');

function stateWith(value: Together, files = [book]): State {
  const session = { token: 'a', subject: undefined, scopes: [], problem: undefined, signIn: undefined };
  return {
    ...initialState(session, { page: 'load' }),
    step: 'together',
    togetherFiles: files,
    together: { is: 'ready', value },
  };
}

test('each visible sheet with a table becomes a table, and the others are listed and left out', () => {
  const found = inspected(
    sheet('Order lines'),
    sheet('Empty', { rows: 0, table: undefined }),
    sheet('Notes', { table: undefined }),
    sheet('Old', { isHidden: true }),
    sheet('Odd', { problem: 'It is a chart.' }),
    sheet('Order-lines'),
  );
  const parts = withUniqueNames(partsOf(book, 0, found, true));
  assert.deepEqual(
    parts.map(({ sheet, table, isIncluded, obstacle }) => [sheet, table, isIncluded, obstacle]),
    [
      ['Order lines', 'order_lines', true, undefined],
      ['Notes', 'notes', false, undefined],
      ['Old', 'old', false, undefined],
      ['Odd', 'odd', false, 'It is a chart.'],
      ['Order-lines', 'order_lines_2', true, undefined],
    ],
  );
  assert.deepEqual([parts[0]!.rows, parts[1]!.rows], [2, 3]);
});

test('a file with one table has the name of the file, and the sheets of several workbooks that of their workbook, too', () => {
  const [only] = partsOf(fileOf('Towns.csv'), 1, inspected(sheet('', { table: undefined })), false);
  assert.deepEqual(
    [only!.table, only!.sheet, only!.isIncluded, only!.label],
    ['towns', undefined, true, 'Towns.csv'],
  );
  const [first] = partsOf(book, 0, inspected(sheet('A'), sheet('B')), false);
  assert.deepEqual([first!.table, first!.label, first!.origin], ['shop_2026_a', 'A', 'Shop 2026.xlsx']);
  const [empty] = partsOf(book, 0, inspected(sheet('A', { rows: 0 })), false);
  assert.deepEqual([empty!.isIncluded, empty!.obstacle], [false, 'It has no rows.']);
});

test('the plan has the included tables with their reading, and only their files', () => {
  const csv = fileOf('b.csv');
  const zip = fileOf('c.zip');
  const parts = [
    ...partsOf(book, 0, inspected(sheet('A')), false).map((part) => ({ ...part, isIncluded: false })),
    ...partsOf(csv, 1, inspected(sheet('', { table: undefined })), false).map(
      (part): Part => ({ ...part, ifExists: 'append' }),
    ),
    ...partsOfZip(zip, 2, ['x/d.csv', 'x/e.json']),
    ...partsOf(book, 3, inspected(sheet('A'), sheet('B')), false).slice(0, 1),
  ];
  const { tables, files } = planOf([book, csv, zip, book], together(parts, { schema: 'own' }));
  const base = { schema: 'own', values: 'natural' };
  assert.deepEqual(tables, [
    { ...base, table: 'b', file: 'f2', if_exists: 'append' },
    { ...base, table: 'd', file: 'f3', file_in_zip: 'x/d.csv' },
    { ...base, table: 'shop_2026_a', file: 'f4', sheet: 'A', header_row: 'auto' },
  ]);
  assert.deepEqual(Object.keys(files), ['f2', 'f3', 'f4']);
  assert.equal(files.f2!.file, csv.content);
});

test('the corrections of a part are sent with it, by the address of the cell if it has one', () => {
  const [first, second] = partsOf(book, 0, inspected(sheet('A'), sheet('B')), true) as [Part, Part];
  const problem = (to: Partial<Problem>) => placeInPart({ code: 'not-a-number', detail: '', ...to });
  const places = [problem({ cell: "It's! new!B4", row: 3, column: 'n' })!, problem({ row: 3, column: 'n' })!];
  // A problem of a key over two columns shows both values.
  assert.deepEqual([problem({ cell: 'A!B4', column: 'n, m' }), problem({ row: 1 })], [undefined, undefined]);
  const corrections = places.map((place) => ({ ...place, part: undefined, from: 'x', to: '1' }));
  const value = together([{ ...first, corrections }, second]);
  const [one, other] = planOf([book], value).tables;
  assert.deepEqual(one!.patch, [
    { cell: 'B4', value: '1' },
    { row: 3, column: 'n', value: '1' },
  ]);
  assert.equal(other!.patch, undefined);
  const before = together([first, second]);
  assert.notEqual(planText(stateWith(value)), planText(stateWith(before)));
});

test('names that are missing, equal or of existing tables must be chosen before the check', () => {
  const [first, second] = partsOf(book, 0, inspected(sheet('A'), sheet('B')), true) as [Part, Part];
  const fault = (one: Partial<Part>, to: Partial<Together> = {}) => {
    const all = { ...together([first, second], to), parts: [{ ...first, ...one }, second] };
    return [partFault(all, all.parts[0]!), togetherFault(all)];
  };
  assert.deepEqual(fault({}), [undefined, undefined]);
  assert.deepEqual(fault({ table: '' }), ['Name the table.', '1 table needs your choice.']);
  assert.deepEqual(fault({ table: 'b' }), ['Two tables have the name “b”.', '2 tables need your choice.']);
  assert.deepEqual(fault({ table: 'b', isIncluded: false }), [undefined, undefined]);
  const existing = new Set(['["public","a"]']);
  assert.deepEqual(fault({}, { existing })[0], 'Choose what happens to the existing table.');
  assert.deepEqual(fault({ ifExists: 'append' }, { existing }), [undefined, undefined]);
  assert.equal(fault({}, { schema: '' })[1], 'Name the schema.');
  assert.equal(togetherFault(together([])), 'Include at least one table.');
  const many = together(Array.from({ length: 102 }, () => first));
  assert.equal(togetherFault(many), 'A load has at most 100 tables. Leave out 2.');
});

test('small plans that keep all rows are checked by the page itself, once', () => {
  const parts = partsOf(book, 0, inspected(sheet('A'), sheet('B')), true);
  const state = stateWith(together(parts));
  assert.equal(checksPlanItself(state), true);
  const checked = { ...state, checkedPlan: planText(state) };
  assert.deepEqual([checksPlanItself(checked), isPlanChecked(checked)], [false, true]);
  const [first, ...others] = parts as [Part, ...Part[]];
  const changed = {
    ...checked,
    ...stateWith(together([{ ...first, table: 'c' }, ...others])),
    checkedPlan: planText(state),
  };
  assert.deepEqual([checksPlanItself(changed), isPlanChecked(changed)], [true, false]);
  assert.equal(checksPlanItself(stateWith(together([{ ...first, ifExists: 'truncate' }, ...others]))), false);
  assert.equal(checksPlanItself(stateWith(together(parts), [{ ...book, size: 9_000_000 }])), false);
});

const failure = (to: Partial<Failure>) => ({
  result: undefined,
  failure: {
    code: 'invalid-data',
    detail: '',
    errors: [],
    groups: [],
    warnings: [],
    errorCount: 0,
    ...to,
  } as unknown as Failure,
});

test('problems, warnings and refusals are said at the table that has them', () => {
  const errors = [
    { part: 2, cell: 'B!A2', column: 'n', code: 'not-a-number', detail: 'not a number' },
    { part: 2, cell: 'B!A3', column: 'n', code: 'not-a-number', detail: 'not a number' },
  ] as Problem[];
  const groups = [{ part: 2, column: 'n', code: 'not-a-number', count: 7, first: {} }];
  const warnings = [{ part: 1, code: 'mixed-column', detail: 'x' }];
  const detail = 'Table 2 of the plan, "public"."b": 7 problems.';
  const [first, second] = partOutcomes(failure({ errors, groups, warnings, detail }), 2);
  assert.deepEqual([first!.problems, first!.warnings.length, first!.refusal], [[], 1, undefined]);
  assert.deepEqual([second!.problems[0]!.count, second!.problems[0]!.problems.length], [7, 2]);
  assert.equal(second!.refusal, undefined);

  const taken = 'Table 1 of the plan, "public"."a ""b""": Table exists already.';
  const [refused, other] = partOutcomes(failure({ code: 'table-exists', detail: taken }), 2);
  assert.deepEqual([refused!.refusal, refused!.isTaken], ['Table exists already.', true]);
  assert.deepEqual([other!.refusal, other!.isTaken], [undefined, false]);

  const both = `Table 1 of the plan, "public"."a": It has no rows. Table 2 of the plan, "public"."b": 2 problems. Table 3 of the plan, "s"."c": The type is unknown.`;
  const wrong = {
    part: 3,
    code: 'unknown-type',
    pointer: '/columns/0/type',
    detail: 'Which type?',
  } as Problem;
  const all = partOutcomes(failure({ code: 'empty-upload', detail: both, errors: [...errors, wrong] }), 4);
  assert.deepEqual(
    all.map(({ refusal, problems }) => [refusal, problems[0]?.problems.length]),
    [
      ['It has no rows.', undefined],
      [undefined, 2],
      ['Which type?', undefined],
      [undefined, undefined],
    ],
  );
});

test('a column whose name and type fit the key of another new table can refer to it', () => {
  const found = { customers: 'id,name', orders: 'no,Customer id,country_no', countries: 'country_no,name' };
  const parts = Object.entries(found).map(([table, columns], index): Part => {
    const [part] = partsOf(fileOf(`${table}.csv`), index, inspected(sheet('')), false);
    return {
      ...part!,
      found: columns.split(',').map((name) => ({ name, type: name === 'name' ? 'text' : 'bigint' })),
    };
  });
  const linksOf = (value: Together) =>
    possibleLinks(value).map(({ column, to, toColumn }) => `${column} → ${to.table}.${toColumn}`);
  const all = together(parts);
  assert.deepEqual(linksOf(all), ['Customer id → customers.id', 'country_no → countries.country_no']);
  assert.deepEqual(linksOf({ ...all, existing: new Set(['["public","customers"]']) }), [
    'country_no → countries.country_no',
  ]);
  const [customers, orders, countries] = all.parts as [Part, Part, Part];
  const other = { ...customers, found: [{ name: 'id', type: 'text' }] };
  assert.deepEqual(linksOf({ ...all, parts: [other, orders] }), []);

  const chosen = { ...all, parts: [customers, { ...orders, links: ['Customer id'] }, countries] };
  const [first, second, third] = planOf([book, book, book], chosen).tables;
  assert.deepEqual(first!.definition!.constraints, { primary_key: { columns: ['id'] }, foreign_keys: [] });
  assert.deepEqual(second!.definition!.constraints, {
    foreign_keys: [
      {
        column: 'Customer id',
        reference_schema: 'public',
        reference_table: 'customers',
        reference_column: 'id',
      },
    ],
  });
  assert.equal(third!.definition, undefined);

  const two = { ...customers, found: ['id', 'no'].map((name) => ({ name, type: 'bigint' })) };
  const links = ['customer_id', 'customer_no'];
  const both = { ...orders, links, found: links.map((name) => ({ name, type: 'bigint' })) };
  const [target] = planOf([book, book], { ...all, parts: [two, both] }).tables;
  assert.deepEqual(target!.definition!.constraints, {
    primary_key: { columns: ['id'] },
    unique: [{ columns: ['no'] }],
    foreign_keys: [],
  });
});

test('the links between tables are found without comparing all columns with all others', () => {
  const [part] = partsOf(fileOf('t.csv'), 0, inspected(sheet('')), false);
  let reads = 0;
  const column = {
    get name() {
      reads++;
      return 'some_column';
    },
    type: 'text',
  };
  const found = Array.from({ length: 10 }, () => column);
  const parts = Array.from({ length: 20 }, (_, index): Part => ({ ...part!, table: `t_${index}`, found }));
  assert.deepEqual(possibleLinks(together(parts)), []);
  assert.equal(reads, 200);
});

test('the steps of several tables are the file, the tables and the load', () => {
  const state = stateWith(together([]));
  assert.equal(shownStep(state), 'together');
  assert.deepEqual(stepsOf(state), ['file', 'together', 'load']);
  assert.equal(isPossible(state, 'columns'), false);
  assert.equal(shownStep({ ...state, step: 'columns' }), 'together');
  assert.equal(shownStep({ ...state, step: 'file' }), 'file');
  assert.equal(shownStep({ ...state, file: book, step: 'columns' }), 'columns');
  const load = { isOfParts: false, outcome: { is: 'sending' } } as LoadProgress;
  assert.deepEqual(stepsOf({ ...state, step: 'load', load }), ['file', 'columns', 'check', 'load']);
});

test('the end of a load of several tables has all tables, also if its answer was not kept', () => {
  const record = {
    id: 'a',
    state: 'committed',
    table: { schema: 's', name: 't' },
    parts: [
      { schema: 's', name: 't' },
      { schema: 's', name: 'u' },
    ],
    rows_read: 3,
    created_at: '2026-01-01T00:00:00Z',
    ended_at: '2026-01-01T00:00:02Z',
    answer: null,
  } as unknown as Load;
  const end = endOf(record);
  assert.ok(end.is === 'tables-loaded');
  assert.deepEqual(
    end.result.tables.map(({ table }) => table.name),
    ['t', 'u'],
  );
  assert.deepEqual(end.result.load, { rows: 3, duration_ms: 2000 });
});

test('the tables in a zip file are listed, without other files, and a wrong zip file has none', async () => {
  const names = ['a.csv', 'x/ü.xlsx', 'readme.md', '__MACOSX/a.csv', 'x/.b.csv', 'c.csv.gz'];
  const zip = buildZip(names.map((name) => ({ name, data: 'a' })));
  const listed = (content: Buffer, name = 'a.zip') => namesInZip(new File([new Uint8Array(content)], name));
  assert.deepEqual(await listed(zip), ['a.csv', 'x/ü.xlsx', 'c.csv.gz']);
  const raw = (name: string, encoding: BufferEncoding, flags = 0) => ({
    ...{ name, nameBytes: Buffer.from(name, encoding), data: 'a', stated: { flags } },
  });
  // As code page 437, \x81 is ü.
  const odd = [raw('K\x81he.csv', 'latin1'), raw('Kühe2.csv', 'utf8'), raw('a\\b.csv', 'utf8')];
  assert.deepEqual(await listed(buildZip(odd)), ['Kühe.csv', 'Kühe2.csv', 'a/b.csv']);
  assert.deepEqual(await listed(zip, 'a.xlsx'), []);
  assert.deepEqual(await listed(Buffer.from('no zip file')), []);
  const wrong = Buffer.from(zip);
  wrong.writeUInt32LE(4_000_000_000, wrong.length - 6);
  assert.deepEqual(await listed(wrong), []);
});

test('a part is read with its saved settings as they are now, and not as they were when they were chosen', () => {
  const [first, second] = partsOf(book, 0, inspected(sheet('A'), sheet('B')), true) as [Part, Part];
  const parts = [first, second].map((part) => ({
    ...part,
    table: 'sales',
    settings: { name: part === first ? 'monthly' : undefined, parameters: { trim: 'true' } },
  }));
  const saved = (table: string, sign: string) =>
    ({
      name: 'monthly',
      parameters: { table, schema: 'public', decimal_sign: sign },
    }) as unknown as ListedProfile;
  const existing = new Set([keyOfTable({ schema: 'public', name: 'sales' })]);
  const now = withNewestSettings({ schema: 'public', parts, existing }, [
    saved('other', '.'),
    saved('sales', ','),
  ]);
  assert.deepEqual(
    now.map(({ settings }) => settings),
    [
      { name: 'monthly', parameters: { decimal_sign: ',' } },
      { name: undefined, parameters: { trim: 'true' } },
    ],
  );
});
