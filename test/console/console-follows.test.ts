/** What the console concludes from what it knows: names, requests, fixes, bars. These are pure functions; console.matrix.ts has the page. */
import assert from 'node:assert/strict';
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  ConnectionError,
  type ListedLoad,
  type ListedTable,
  type Load,
  type LoadedTable,
  type Problem,
  ProblemError,
  type TableDescription,
} from '../../client/client.ts';
import { uploadParameters } from '../../client/parameters.ts';
import { offeredChoices, withJointChoices } from '../../console/derived/choices.ts';
import { definitionOf, planColumns, reasonOf, withKey, withPlans } from '../../console/derived/columns.ts';
import { curlText, psqlText } from '../../console/derived/commands.ts';
import { linkIn, nameOfLink, readingQuery } from '../../console/derived/file.ts';
import { fileParameters } from '../../console/derived/file-parameters.ts';
import { canLeaveOut, fixesOf, withFix } from '../../console/derived/fixes.ts';
import {
  appendedTo,
  isAllLoaded,
  isRunning,
  keptLoadOf,
  losesWork,
  lostWords,
  rowsBar,
  sendingBar,
  sortOfAppended,
} from '../../console/derived/load.ts';
import { cellOf, fullPlaceOf, groupProblems, placeOf, rowOfSheet } from '../../console/derived/problems.ts';
import { planFaults, uploadPlan } from '../../console/derived/request.ts';
import { hashOf, routeOf } from '../../console/derived/routes.ts';
import { claimsOf, linkedToken, pastedToken, withoutTokenFailures } from '../../console/derived/session.ts';
import { canShow, shownStep } from '../../console/derived/steps.ts';
import {
  filesInWords,
  loadTimes,
  nextSort,
  orderOf,
  renamedWords,
  renameOf,
  shownLoads,
  shownTables,
} from '../../console/derived/table.ts';
import {
  allowedLosses,
  lossWords as changeLossWords,
  columnsToSend,
  costsOf,
  doneWords,
  draftFault,
  draftOf,
  hasOpenLosses,
  losesDraft,
  newColumn,
  withColumnNames,
} from '../../console/derived/table-draft.ts';
import { lossWords, tableNameOf, unseenWords } from '../../console/derived/target.ts';
import { agoInWords, sizeInWords, withVisibleControls } from '../../console/derived/words.ts';
import type { Failure, Warning } from '../../console/failure.ts';
import { ChangedFileError, changeOf } from '../../console/file/chosen-file.ts';
import { collectFile } from '../../console/file/collect-file.ts';
import { pastedFile } from '../../console/file/pasted-file.ts';
import { rowOfJson } from '../../console/file/row-of-json.ts';
import { emptyReading, emptyWork, initialState } from '../../console/initial-state.ts';
import type { Inspection } from '../../console/inspection.ts';
import { type Ended, endOf, endOfAnswer, endOfRefusal } from '../../console/load-outcome.ts';
import type { ColumnPlan, DraftColumn, LoadProgress, PlannedChange, State } from '../../console/state.ts';

const inspection: Inspection = {
  sheets: [],
  sheet: 'Orders',
  headerRow: 1,
  headerRows: 1,
  range: 'A1:C3',
  proposals: [],
  names: [],
  arrays: [],
  rowsAt: undefined,
  header: ['no', 'day', 'note'],
  types: ['bigint', 'date', 'text'],
  counts: [
    { letters: 'A', values: 2, empty: 0 },
    { letters: 'B', values: 1, empty: 1 },
    { letters: 'C', values: 0, empty: 2 },
  ],
  rows: [
    ['1', '2026-11-20', null],
    ['2', null, null],
  ],
  rowNumbers: [2, 3],
  rowCount: 2,
  errors: [],
  errorCount: 0,
  warnings: [],
};

function stateWith(change: (columns: ColumnPlan[]) => ColumnPlan[], name = 'orders.xlsx'): State {
  const session = { token: 'a', subject: undefined, scopes: [], problem: undefined, signIn: undefined };
  const kind = name.endsWith('.json') ? ('json' as const) : ('spreadsheet' as const);
  return {
    ...initialState(session, { page: 'load' }),
    ...emptyWork(),
    file: { name, size: 1000, kind, content: new File(['x'], name) },
    inspection: { is: 'ready', value: inspection },
    columns: change(planColumns(inspection, [])),
    target: { schema: 'public', table: 'orders', ifExists: 'fail', onConflict: 'fail' },
  };
}

const same = (columns: ColumnPlan[]): ColumnPlan[] => columns;
const changed =
  (index: number, to: Partial<ColumnPlan>) =>
  (columns: ColumnPlan[]): ColumnPlan[] =>
    columns.map((column, at) => (at === index ? { ...column, ...to } : column));

test('a file name becomes the name of a table', () => {
  assert.equal(tableNameOf('Orders 2026 (final).xlsx'), 'orders_2026_final');
  assert.equal(tableNameOf('Größe.csv'), 'größe');
  assert.equal(tableNameOf('orders.csv.gz'), 'orders');
  assert.equal(tableNameOf('Orders.ZST'), 'orders');
  assert.equal(tableNameOf('---.csv'), 'rows');
  assert.equal(Buffer.byteLength(tableNameOf(`${'ü'.repeat(100)}.csv`)), 62);
});

test('a type has a reason with the number of values', () => {
  assert.equal(reasonOf('date', 4212, 3, []), 'because all 4,212 values are dates; 3 empty');
  assert.equal(reasonOf('text', 0, 9, []), 'because no row has a value');
  const warning = { code: 'mixed-column', detail: 'Column "a" became text because of "x".' };
  assert.equal(reasonOf('text', 5, 0, [warning]), warning.detail);
});

test('a file that is not changed is sent without a definition', () => {
  const { query, definition } = uploadPlan(stateWith(same));
  assert.deepEqual([query, definition], [{}, undefined]);
});

test('a changed type, a key and a column that is left out make a definition', () => {
  const state = stateWith((columns) =>
    withKey(changed(1, { type: 'text' })(changed(2, { isIncluded: false })(columns)), 0, true),
  );
  const { query, definition } = uploadPlan(state);
  assert.deepEqual(query, { extra_columns: 'ignore' });
  assert.deepEqual(definition, {
    columns: [
      { name: 'no', type: 'bigint', is_nullable: false },
      { name: 'day', type: 'text' },
    ],
    constraints: { primary_key: { columns: ['no'] } },
  });
});

test('a new name of a column is sent as rename, with its signs escaped', () => {
  const { query, definition } = uploadPlan(stateWith(changed(0, { name: 'a,b:c' })));
  assert.deepEqual([query.rename, definition], ['no:a\\,b\\:c', undefined]);
});

test('an existing table that rows are added to decides the types', () => {
  const table = {
    name: 'orders',
    schema: 'public',
    columns: [],
    constraints: { unique: [], primary_key: null, foreign_keys: [] },
  };
  const state = {
    ...stateWith(changed(0, { type: 'text' })),
    existing: { is: 'ready', value: table } as unknown as State['existing'],
  };
  const append = { ...state, target: { ...state.target, ifExists: 'append' as const } };
  assert.equal(uploadPlan(append).definition, undefined);
  const replace = { ...state, target: { ...state.target, ifExists: 'replace' as const } };
  assert.notEqual(uploadPlan(replace).definition, undefined);
});

test('columns keep their places in the key when one of them leaves it', () => {
  const columns = planColumns(inspection, []);
  const three = withKey(withKey(withKey(columns, 2, true), 0, true), 1, true);
  assert.deepEqual(definitionOf(three).constraints?.primary_key?.columns, ['note', 'no', 'day']);
  assert.deepEqual(definitionOf(withKey(three, 0, false)).constraints?.primary_key?.columns, ['note', 'day']);
});

test('names that are missing, repeated or too long are faults', () => {
  assert.deepEqual(planFaults(stateWith(same)), []);
  assert.match(planFaults(stateWith(changed(1, { name: 'no' })))[0]!, /Two columns/);
  assert.match(planFaults(stateWith(changed(1, { name: '' })))[0]!, /Name the column/);
  assert.match(planFaults(stateWith(changed(1, { name: 'ü'.repeat(32) })))[0]!, /63 bytes/);
});

test('a file that is read again keeps what the person has changed', () => {
  const before = changed(0, { type: 'text', name: 'number' })(planColumns(inspection, []));
  const after = planColumns({ ...inspection, types: ['numeric', 'text', 'text'] }, before);
  assert.deepEqual(
    after.map(({ name, type }) => [name, type]),
    [
      ['number', 'text'],
      ['day', 'text'],
      ['note', 'text'],
    ],
  );
});

test('the command quotes every name for the shell', () => {
  const state = stateWith(changed(0, { type: 'text', default: "it's" }), "it's; rm.xlsx");
  const text = curlText(
    uploadPlan({ ...state, target: { ...state.target, table: 'a b/c' } }),
    "it's; rm.xlsx",
    'http://localhost',
  );
  assert.match(text, /-F 'file=@"it'\\''s; rm\.xlsx"'/);
  assert.match(text, /'http:\/\/localhost\/api\/v1\/table\/a%20b%2Fc\/upload\/excel'$/);
  assert.match(text, /"default":"it'\\''s"/);
  assert.equal(
    psqlText('public', `a"b'`),
    `psql "$DATABASE_URL" -c 'SELECT * FROM "public"."a""b'\\''" LIMIT 20'`,
  );
});

test('the command sends a link instead of a file', () => {
  const link = "https://example.com/it's.csv?signature=1";
  const text = curlText(uploadPlan(stateWith(changed(0, {}))), 'x', 'http://localhost', link);
  assert.match(
    text,
    /-F 'source=\{"from_url":"https:\/\/example\.com\/it'\\''s\.csv\?signature=1"\};type=application\/json'/,
  );
});

test('a pasted text becomes a file whose name says what it is', async () => {
  const paste = (text: string, files: File[] = []) => pastedFile({ getData: () => text, files });
  for (const [text, name] of [
    ['a\tb\n1\t2', 'pasted.tsv'],
    ['a\n1', 'pasted.csv'],
    ['\n {"data": [{"a": 1}]}', 'pasted.json'],
    ['[\n{"a": 1}\n]', 'pasted.json'],
    ['{"a": 1}\r\n{"a": 2}', 'pasted.ndjson'],
    ['{\n"a":\n{}}', 'pasted.json'],
  ] as const) {
    const file = paste(text)!;
    assert.deepEqual([file.name, await file.text()], [name, text]);
  }
  const copied = new File(['x'], 'copied.xlsx');
  assert.equal(paste('', [copied]), copied);
  assert.equal(paste(' \n'), undefined);
});

test('a text is a link only if it is one URL and the user may use links', () => {
  const scopes = ['load:from-url'];
  assert.equal(linkIn(' https://example.com/a b ', scopes), undefined);
  assert.equal(linkIn(' https://example.com/a.csv\n', scopes), 'https://example.com/a.csv');
  assert.equal(linkIn('https://example.com/a.csv', []), undefined);
  assert.equal(linkIn('file:///etc/passwd', scopes), undefined);
  assert.deepEqual(['https://h/a/b.csv?x', 'https://h/a/', 'https://h'].map(nameOfLink), ['b.csv', 'a', 'h']);
});

test('problems are grouped by column and kind, with the counts of the service', () => {
  const problem = (column: string, row: number) => ({
    column,
    row,
    code: 'not-a-number',
    detail: 'no number',
    value: 'n/a',
  });
  const groups = groupProblems(
    [problem('a', 1), problem('b', 1), problem('a', 2)],
    [{ column: 'a', code: 'not-a-number', count: 500, first: {} }],
  );
  assert.deepEqual(
    groups.map(({ column, count, problems }) => [column, count, problems.length]),
    [
      ['a', 500, 2],
      ['b', 1, 1],
    ],
  );
  assert.deepEqual(
    fixesOf(groups[0]!, false, emptyReading).map(({ label }) => label),
    ['Treat “n/a” as empty', 'Make “a” text'],
  );
  assert.deepEqual(
    fixesOf(groups[0]!, true, emptyReading).map(({ label }) => label),
    ['Treat “n/a” as empty'],
  );
});

test('words for yes and no in a boolean column are read as such, and never offered to be treated as empty', () => {
  const fixes = (code: string, ...values: string[]) => {
    const problems = values.map((value) => ({ code, detail: '', column: 'a', value }) as Problem);
    return fixesOf(
      { key: '', column: 'a', code, count: values.length, detail: '', problems },
      true,
      emptyReading,
    );
  };
  const [read, ...others] = fixes('not-a-boolean', 'Ja', 'nein', 'Ja');
  assert.equal(read!.label, 'Read “Ja” and “nein” as true and false');
  assert.deepEqual(others, []);
  const { reading } = withFix(stateWith(same), read!);
  assert.deepEqual([reading.isNatural, reading.languages], [true, 'de']);
  assert.equal(fixes('not-a-boolean', 'oui')[0]!.label, 'Read “oui” and “non” as true and false');
  assert.equal(fixes('not-a-boolean', 'n/a')[0]!.label, 'Treat “n/a” as empty');
  assert.equal(fixes('not-a-number', 'ja', 'nein')[0]!.label, 'Treat “ja” as empty');
});

const tableOf = (...names: string[]) =>
  ({
    name: 'orders',
    columns: names.map((name) => ({ name, type: 'text', is_nullable: true, default: null })),
    constraints: { primary_key: { columns: [] } },
  }) as unknown as TableDescription;
const existing: State['existing'] = { is: 'ready', value: tableOf('no', 'day', 'note') };
const targeted = (to: Partial<State['target']>): State => {
  const state = stateWith(same);
  return { ...state, existing, target: { ...state.target, ...to } };
};

test('a key that an existing table has is updated or kept, and a new table without a key has no rule for keys', () => {
  const repeated = { key: '', column: 'no', code: 'not-unique', count: 1, detail: '', problems: [] };
  assert.deepEqual(
    fixesOf(repeated, true, emptyReading).map(({ label }) => label),
    ['Update the existing rows', 'Keep the existing rows'],
  );
  const fixed = withFix(targeted({ ifExists: 'append' }), fixesOf(repeated, true, emptyReading)[0]!);
  assert.equal(uploadPlan(fixed).query.on_conflict, 'update');
  const replaced = { ...fixed, target: { ...fixed.target, ifExists: 'replace' as const } };
  assert.equal(uploadPlan(replaced).query.on_conflict, undefined);
  const keyed = { ...replaced, columns: withKey(replaced.columns, 0, true) };
  assert.equal(uploadPlan(keyed).query.on_conflict, 'update');
});

test('what happens to an existing table must be chosen, and the loss of its rows is said', () => {
  assert.deepEqual(planFaults(targeted({})), ['Choose what happens to the existing table.']);
  assert.deepEqual(planFaults(targeted({ ifExists: 'append' })), []);
  assert.equal(lossWords(targeted({ ifExists: 'append' })), undefined);
  const emptied = targeted({ ifExists: 'truncate' });
  assert.equal(lossWords(emptied), 'The existing rows of public.orders are deleted first.');
  assert.match(lossWords(targeted({ ifExists: 'replace' }))!, /^A new table .* replaces public\.orders\.$/);
  assert.equal(lossWords({ ...emptied, existing: { is: 'ready', value: null } }), undefined);
});

test('rows can be left out for problems of rows, not for problems of the header', () => {
  assert.equal(canLeaveOut([{ code: 'not-a-number' }, { code: 'not-unique' }]), true);
  assert.equal(canLeaveOut([{ code: 'not-a-number' }, { code: 'unknown-column' }]), false);
});

test('a file that was changed or removed after it was chosen is recognized', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-changed-'));
  try {
    const path = join(folder, 'a.csv');
    await writeFile(path, 'a');
    const chosen = { name: 'a.csv', content: await openAsBlob(path) };
    assert.equal(await changeOf(chosen), undefined);
    await writeFile(path, 'longer');
    const change = await changeOf(chosen);
    assert.ok(change instanceof ChangedFileError);
    assert.equal(change.message, 'a.csv was changed or removed after you chose it. Choose it again.');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a fix changes the request', () => {
  const state = stateWith(same);
  const fixed = withFix(withFix(state, { is: 'null-value', value: 'n/a', label: '' }), {
    is: 'null-value',
    value: 'a,b',
    label: '',
  });
  assert.equal(uploadPlan(fixed).query.null_values, 'n/a,a\\,b');
  assert.equal(uploadPlan(withFix(state, { is: 'errors-null', label: '' })).query.cell_errors, 'null');
  assert.equal(
    uploadPlan(withFix(state, { is: 'leave-out', count: 500, label: '' })).query.max_faulty_rows,
    500,
  );
});

test('only what the service says of a load ends it', () => {
  const refusal = (status: number, body: object | string) =>
    new ProblemError(
      status,
      new Headers({ 'content-type': typeof body === 'string' ? 'text/html' : 'application/problem+json' }),
      typeof body === 'string' ? body : JSON.stringify(body),
    );
  const refused = endOfRefusal(refusal(422, { code: 'invalid-data', title: 'No', detail: 'no' }));
  assert.ok(refused?.is === 'not-loaded');
  assert.deepEqual([refused.failure.code, refused.isCancelled], ['invalid-data', false]);
  const stopped = endOfRefusal(refusal(409, { code: 'load-cancelled', title: 'No' }));
  assert.equal(stopped?.is === 'not-loaded' && stopped.isCancelled, true);
  for (const error of [
    refusal(503, { code: 'database-unavailable', title: 'No' }),
    refusal(504, 'Gateway Timeout'),
    refusal(413, 'too large for the proxy'),
    new ConnectionError('no answer'),
    new Error('aborted'),
  ])
    assert.equal(endOfRefusal(error), undefined, error.message);
  const afterLostAnswer = refusal(401, { code: 'invalid-token', title: 'No' });
  assert.notEqual(endOfRefusal(afterLostAnswer), undefined);
  afterLostAnswer.followsLostAnswer = true;
  assert.equal(endOfRefusal(afterLostAnswer), undefined);
  const record = {
    id: 'a',
    state: 'committed',
    table: { schema: 's', name: 't' },
    rows_read: 3,
    created_at: '2026-01-01T00:00:00Z',
    ended_at: '2026-01-01T00:00:02Z',
    answer: null,
  } as unknown as Load;
  const end = endOf(record);
  assert.ok(end.is === 'loaded');
  const { table, load } = end.result;
  assert.deepEqual([table.name, load.rows, load.duration_ms], ['t', 3, 2000]);
  const cancelled = endOf({ ...record, state: 'cancelled' });
  assert.equal(cancelled.is === 'not-loaded' && cancelled.isCancelled, true);
  const { load: of } = end.result;
  const withLeftOut = { ...end, result: { ...end.result, load: { ...of, rows_left_out: 1 } } };
  const allLoaded = [end, withLeftOut, cancelled].map((outcome) => isAllLoaded({ outcome } as LoadProgress));
  assert.deepEqual(allLoaded, [true, false, false]);
  // @ts-expect-error an end is made only from what the service says
  const made: Ended = { is: 'loaded', result: end.result };
  assert.ok(made);
});

test('each sheet and each array keeps its own choices of columns', () => {
  const chosen = (plans: ColumnPlan[], type: string): ColumnPlan[] =>
    plans.map((plan) => ({ ...plan, type }));
  const none = { columns: [], columnsOf: undefined, plans: {} };
  const first = withPlans(none, inspection);
  const changed = { ...first, columns: chosen(first.columns, 'text') };
  const other = withPlans(changed, { ...inspection, sheet: 'Summary' });
  assert.deepEqual(
    other.columns.map(({ type }) => type),
    inspection.types,
  );
  const back = withPlans(other, inspection);
  assert.deepEqual(
    back.columns.map(({ type }) => type),
    ['text', 'text', 'text'],
  );
  const array = withPlans(back, { ...inspection, sheet: '', rowsAt: '/a' });
  assert.notEqual(array.columns[0]?.type, 'text');
});

test('rows that were added to a table are looked for at the end of its key', () => {
  const table = { constraints: { primary_key: { columns: ['day', 'no'] } } } as TableDescription;
  const existing = { is: 'ready', value: table } as const;
  const target = { schema: 'public', table: 'days', ifExists: 'append', onConflict: 'fail' } as const;
  const last = { column: 'day', isDescending: true };
  assert.deepEqual(sortOfAppended(appendedTo({ existing, target })), last);
  assert.equal(appendedTo({ existing, target: { ...target, ifExists: 'truncate' } }), undefined);
  assert.equal(appendedTo({ existing: { is: 'ready', value: null }, target }), undefined);
  const keyless = { constraints: { primary_key: { columns: [] as string[] } } } as TableDescription;
  assert.equal(sortOfAppended(keyless), undefined);
});

test('the row of a problem has all columns, also those whose cell is empty, and cells of no column', () => {
  const sheet = {
    columns: [
      { letters: 'A', values: 1, empty: 0 },
      { letters: 'E', values: 1, empty: 0 },
    ],
    rows: [['7', 'beside']],
  };
  const answer = { sheet } as unknown as Parameters<typeof rowOfSheet>[0];
  assert.deepEqual(rowOfSheet(answer, planColumns(inspection, []), { row: 7, marked: 2 }), {
    names: ['no', 'day', 'note', 'E'],
    values: ['7', null, null, 'beside'],
    places: [
      { cell: 'A7', row: undefined, header: 'no' },
      { cell: 'B7', row: undefined, header: 'day' },
      { cell: 'C7', row: undefined, header: 'note' },
      undefined,
    ],
    marked: 1,
  });
  const empty = { sheet: { columns: [], rows: [] } } as unknown as typeof answer;
  const { names, values, marked } = rowOfSheet(empty, planColumns(inspection, []), { row: 7, marked: 3 });
  assert.deepEqual([names, values, marked], [['no', 'day', 'note'], [null, null, null], 2]);
});

test('the row of a problem is found in a JSON file of any size, with all digits of its numbers', async () => {
  const items = Array.from(
    { length: 60_000 },
    (_, n) => `{"n":${n},"t":"a \\"]}{[ ${'x'.repeat(40)}","deep":[{"n":-1}]}`,
  );
  items[50_000] = '{"n":12345678901234567890.12}';
  const list = `[${items.join(',')}]`;
  assert.ok(list.length > 5_000_000);
  const found = async (text: string, kind: 'json' | 'ndjson', place: { pointer: string }) =>
    (await rowOfJson(new Blob([text]), kind, place))?.n;
  const n = '12345678901234567890.12';
  assert.equal(await found(list, 'json', { pointer: '/50000/n' }), n);
  // The page adds a definition, and puts the rows below "data".
  assert.equal(await found(list, 'json', { pointer: '/data/50000/n' }), n);
  assert.equal(await found(`{"data":${list}}`, 'json', { pointer: '/data/50000' }), n);
  const elsewhere = `\ufeff{"x":{"a/b":[{"n":1}]},"a\\u002fb":{"items":${list}}}`;
  assert.equal(await found(elsewhere, 'json', { pointer: '/a~1b/items/50000/n' }), n);
  assert.equal(await found(elsewhere, 'json', { pointer: '/a~1b/other/5' }), undefined);
  assert.equal(await found(list, 'json', { pointer: '/60000/n' }), undefined);
  const lines = `\n${items.join('\r\n')}`;
  assert.equal(await found(lines, 'ndjson', { pointer: '/data/50000/n' }), n);
  assert.equal(await found(lines, 'ndjson', { pointer: '/data/59999' }), 59_999);
  assert.equal(await found(lines, 'ndjson', { pointer: '/data/70000' }), undefined);
});

test('the bars say what is done, how fast, and how long it still takes', () => {
  const load: LoadProgress = {
    isOfParts: false,
    fileName: 'a',
    fileBytes: 10_000_000,
    expectedRows: 100_000,
    sentBytes: 2_500_000,
    startedAt: 1000,
    rowsSince: 5000,
    key: undefined,
    isCancelling: false,
    outcome: { is: 'sending' },
    rows: undefined,
    rowsFailure: undefined,
  };
  assert.deepEqual(sendingBar(load, 2000), {
    share: 0.25,
    words: '2.5 MB of 10 MB',
    rate: '2.5 MB per second',
    left: '3 seconds left',
  });
  const record = { state: 'running', rows_read: 50_000, ended_at: null } as Load;
  const running: LoadProgress = { ...load, outcome: { is: 'running', record } };
  assert.deepEqual(rowsBar(running, 6000), {
    share: 0.5,
    words: '50,000 of 100,000 rows',
    rate: '50,000 rows per second',
    left: '1 second left',
  });
  assert.equal(sendingBar(running, 9000).share, 1);
});

test('a load that the page cannot follow still runs, and is not called failed', () => {
  const reason = { detail: 'no answer' } as Failure;
  const lost = { is: 'unknown' as const, reason, record: { id: 'a' } as Load };
  assert.equal(isRunning({ outcome: lost } as LoadProgress), true);
  assert.equal(lostWords(lost), 'The connection is lost. The load goes on at the service.');
  const unrecorded = { ...lost, record: undefined };
  assert.equal(isRunning({ outcome: unrecorded } as LoadProgress), false);
  assert.match(lostWords(unrecorded), /Look under Loads/);
  assert.match(lostWords({ ...lost, reason: { ...reason, code: 'load-not-found' } }), /does not say/);
  assert.equal(isRunning({ outcome: { is: 'unsent', failure: reason } } as LoadProgress), false);
});

test('pages have addresses, whatever the names of tables are', () => {
  for (const route of [
    { page: 'table', schema: 'a/b', name: '#?% ü' },
    { page: 'loads' },
    { page: 'load' },
  ] as const) {
    assert.deepEqual(routeOf(hashOf(route)), route);
  }
  assert.deepEqual(routeOf('#/tables/%E0%A4%A'), { page: 'tables' });
});

test('a new token removes only the failures of the earlier token', () => {
  const failed = (code: string) => ({
    is: 'failed' as const,
    failure: {
      title: '',
      detail: '',
      code,
      errors: [],
      errorCount: 0,
      groups: [],
      warnings: [],
      loadId: undefined,
    },
  });
  const state: State = { ...stateWith(same), step: 'check', check: failed('invalid-token') };
  const after = withoutTokenFailures(state);
  assert.deepEqual([after.check.is, after.step, after.file?.name], ['none', 'columns', 'orders.xlsx']);
  const other: State = { ...state, check: failed('table-exists') };
  assert.deepEqual(withoutTokenFailures(other), other);
  const refused = new ProblemError(
    401,
    new Headers({ 'content-type': 'application/problem+json' }),
    JSON.stringify({ code: 'invalid-token', title: 'No' }),
  );
  const load = { outcome: endOfRefusal(refused)! } as LoadProgress;
  assert.equal(withoutTokenFailures({ ...other, load }).load, undefined);
  const lost = {
    is: 'unknown' as const,
    reason: failed('invalid-token').failure,
    record: { id: 'a' } as Load,
  };
  assert.ok(withoutTokenFailures({ ...other, load: { ...load, outcome: lost } }).load);
});

test('a sign-in link, a pasted token and a kept load are read as they are written', () => {
  assert.equal(linkedToken('#token=a.b.c'), 'a.b.c');
  assert.equal(linkedToken('#/tables/public/token'), undefined);
  assert.equal(pastedToken(' Bearer a.b.c\n'), 'a.b.c');
  assert.deepEqual(keptLoadOf('{"id":"a","fileName":"b.csv"}'), { id: 'a', fileName: 'b.csv' });
  assert.deepEqual(keptLoadOf('{"key":"k"}'), { key: 'k' });
  assert.equal(keptLoadOf('broken'), undefined);
  assert.equal(keptLoadOf(null), undefined);
});

test('a foreign key needs a column, unless an existing table decides the keys', () => {
  const reference = { schema: 'public', table: 'days', column: '' };
  const state = stateWith(changed(1, { reference }));
  assert.deepEqual(planFaults(state), ['Choose the column of “days” for the foreign key of “day”.']);
  const value = tableOf('no', 'day', 'note');
  const target = { ...state.target, ifExists: 'append' as const };
  assert.deepEqual(planFaults({ ...state, target, existing: { is: 'ready', value } }), []);
});

test('a request to rename a table has only what changes', () => {
  const before = { schema: 'public', name: 'a', comment: 'old' };
  assert.deepEqual(renameOf(before, before), {});
  const to = { schema: 'archive', name: 'a', comment: '' };
  assert.deepEqual(renameOf(before, to), { schema: 'archive', comment: null });
  assert.equal(renamedWords(before, to), 'The table public.a is now archive.a.');
  assert.equal(renamedWords(before, { ...before, comment: 'x' }), 'The comment of public.a was changed.');
});

test('a file is collected whole or not at all', async () => {
  const options = { maxBytes: 20_000_000, signal: new AbortController().signal, onBytes: () => {} };
  const streamOf = (chunks: number, error?: Error) => {
    let sent = 0;
    return new ReadableStream<Uint8Array>({
      pull(rest) {
        if (sent++ < chunks) rest.enqueue(new Uint8Array(3_000_000).fill(sent));
        else if (error) rest.error(error);
        else rest.close();
      },
    });
  };
  const whole = new Uint8Array(await (await collectFile(streamOf(6), options)).arrayBuffer());
  assert.equal(whole.length, 18_000_000);
  assert.deepEqual(
    [0, 5_999_999, 6_000_000, 17_999_999].map((at) => whole[at]),
    [1, 2, 3, 6],
  );
  await assert.rejects(collectFile(streamOf(7), options), /more than 20 MB/);
  await assert.rejects(collectFile(streamOf(2, new TypeError('reset')), options), /broke off/);
});

test('changed columns of a table are sent with what changes, and everything that is lost must be allowed', () => {
  const column = { id: 1, type: 'integer', is_nullable: false, default: null };
  const table = {
    columns: [
      { ...column, name: 'a', comment: 'first' },
      { ...column, name: 'b', default: 'now()', default_is_expression: true },
      { ...column, name: 'c', default: "'x'::text", is_nullable: true },
    ],
  };
  const draft = draftOf(table);
  assert.equal(draftFault(draft), 'Change something first.');
  const [a, b, c] = draft as [DraftColumn, DraftColumn, DraftColumn];
  const changed = [
    { ...a, name: 'x', comment: '' },
    { ...b, default: "now() + interval '1 day'" },
    { ...c, isRemoved: true },
    { ...newColumn, name: 'c', default: '0' },
  ];
  assert.equal(draftFault(changed), undefined);
  const route = { page: 'change-table', schema: 'a', name: 'b' } as const;
  const stateOf = (columns: DraftColumn[]) =>
    ({ route, draft: { is: 'ready', value: { columns } } }) as unknown as State;
  assert.deepEqual([draft, changed].map(stateOf).map(losesDraft), [false, true]);
  assert.equal(losesDraft({ ...stateOf(changed), route: { page: 'tables' } }), false);
  assert.deepEqual(columnsToSend(changed), [
    { name: 'x', renamed_from: 'a', comment: null },
    { name: 'b', default: "now() + interval '1 day'", default_is_expression: true },
    { name: 'c', type: 'text', is_nullable: true, default: '0' },
  ]);
  assert.deepEqual(columnsToSend([{ ...c, default: '' }]), [{ name: 'c', default: null }]);
  assert.match(draftFault([a, { ...b, name: 'a' }])!, /Two columns/);
  assert.match(draftFault([a, { ...newColumn }])!, /Name the new column/);
  const problem = { code: 'invalid-default', detail: 'x' };
  const named = withColumnNames([{ ...problem, pointer: '/table/columns/2/default' }, problem], changed);
  assert.deepEqual(named.map(fullPlaceOf), ['c', '']);
  const change = {
    change: 'drop-column',
    detail: 'x',
    sql: '',
    rewrites: false,
    scans: false,
    lock: 'SHARE',
  } as const;
  const changes: PlannedChange[] = [
    { ...change, loses: null },
    { ...change, loses: 'drop_columns' },
    { ...change, loses: 'drop_columns' },
    { ...change, loses: 'lossy_types', rows: 2 },
  ];
  assert.ok(hasOpenLosses({ changes, ticked: [1] }));
  assert.ok(!hasOpenLosses({ changes, ticked: [2, 1] }));
  assert.deepEqual(allowedLosses({ changes, ticked: [1, 2, 3] }), ['drop_columns', 'lossy_types']);
  assert.deepEqual(
    changes.map(changeLossWords).map((words) => words?.slice(0, 5)),
    [undefined, 'Yes, ', 'Yes, ', 'Round'],
  );
  assert.match(doneWords({ schema: 'a', name: 'b' }, changes), /4 changes\. 2 values were rounded or cut/);
  assert.equal(costsOf(change as PlannedChange), '');
  assert.match(costsOf({ ...changes[0]!, scans: true }), /reads all rows; .*nobody can change/);
  assert.deepEqual(allowedLosses({ changes, ticked: [] }), []);
});

test('characters without a shape are shown as their number, and letters and emoji as they are', () => {
  assert.equal(withVisibleControls('a\u202Eb\u0000\tc'), 'a‹U+202E›b‹U+0000›\tc');
  assert.equal(withVisibleControls('Größe 👩\u200d🔬'), 'Größe 👩\u200d🔬');
});

test('a problem of the definition has the name of its column as its place', () => {
  const { columns } = stateWith(changed(0, { isIncluded: false }));
  const problem = {
    pointer: '/table/columns/1/type',
    code: 'unknown-type',
    detail: '',
  } as unknown as Problem;
  assert.equal(placeOf(problem, columns), 'note');
  assert.equal(
    placeOf({ ...problem, pointer: '/table/constraints/unique/11/columns/0' }, columns),
    'table, constraints, unique, 12th, columns, 1st',
  );
  assert.equal(placeOf({ ...problem, pointer: '/a~1b' }), 'a/b');
  assert.equal(placeOf({ parameter: 'sheet', code: 'a', detail: '' }), 'parameter sheet');
  const row = { row: 4, pointer: '/data/3/price', column: 'price', code: 'a', detail: '' };
  assert.equal(fullPlaceOf(row), 'row 4, price');
});

test('leaving the page loses a file until its load has taken it', () => {
  const { file } = stateWith(same);
  const load = { outcome: { is: 'sending' } } as LoadProgress;
  const at = (state: string) => ({ outcome: { is: 'running', record: { state } } }) as LoadProgress;
  const result = {} as LoadedTable;
  const unsent = { is: 'unsent' as const, failure: {} as Failure };
  assert.equal(losesWork({ togetherFiles: [], file: undefined, load: undefined }), false);
  assert.equal(losesWork({ togetherFiles: [], file, load: undefined }), true);
  assert.equal(losesWork({ togetherFiles: [file!], file: undefined, load: undefined }), true);
  assert.equal(losesWork({ togetherFiles: [], file, load }), true);
  assert.equal(losesWork({ togetherFiles: [], file, load: at('receiving') }), true);
  assert.equal(losesWork({ togetherFiles: [], file, load: at('running') }), false);
  assert.equal(
    losesWork({ togetherFiles: [], file, load: { outcome: endOfAnswer(result) } as LoadProgress }),
    false,
  );
  assert.equal(losesWork({ togetherFiles: [], file, load: { outcome: unsent } as LoadProgress }), true);
});

test('places, sizes and tokens are read as they are written', () => {
  assert.deepEqual(cellOf("'It''s'!AB12"), { column: 28, row: 12 });
  assert.equal(placeOf({ row: 1234, code: 'a', detail: '' }), 'row 1,234');
  assert.deepEqual([999, 1000, 999_600, 12_345_678].map(sizeInWords), [
    '999 bytes',
    '1.0 kB',
    '1.0 MB',
    '12 MB',
  ]);
  const tokenWith = (claims: object): string =>
    `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  const usual = ['scope', 'scp'];
  const token = tokenWith({ sub: 'Zoë', scope: 'a b', scp: 'c', exp: 1 });
  assert.deepEqual(claimsOf(token, usual), { subject: 'Zoë', scopes: ['a', 'b'], expiresAt: 1 });
  assert.equal(claimsOf('nonsense', usual), undefined);
  assert.deepEqual(claimsOf(tokenWith({ scp: 'a,b' }), usual)!.scopes, ['a', 'b']);
  const nested = tokenWith({ resource: { 'a/b': { roles: ['table:load', 'table:drop'] } } });
  const pointer = '/resource/a~1b/roles';
  assert.deepEqual(claimsOf(nested, [...usual, pointer])!.scopes, ['table:load', 'table:drop']);
  assert.deepEqual(claimsOf(nested, ['/resource/x/roles'])!.scopes, []);
});

test('the choices of a warning become buttons that change only what they name', () => {
  const state = stateWith(same);
  const offered = (choices: object[], from: Partial<State> = {}, column = 'note') =>
    offeredChoices({ ...state, ...from }, { code: 'a', detail: '', column, choices } as Warning, 'header');
  const parameters = (...each: Record<string, string>[]) => each.map((one) => ({ parameters: one }));
  const dates = offered(parameters({ date_order: 'dmy', null_values: 'n/a,-' }, { date_order: 'mdy' }));
  assert.deepEqual(
    dates.map(({ label }) => label),
    ['Read dates as day, month, year, and treat “n/a”, “-” as empty', 'Read dates as month, day, year'],
  );
  assert.deepEqual(dates[0]!.reading, { ...state.reading, dateOrder: 'dmy', nullValues: 'n/a,-' });
  const numbers = parameters({ decimal_sign: ',', thousands_sign: '.' }, { decimal_sign: ',' });
  assert.deepEqual(
    offered(numbers).map(({ label }) => label),
    ['Read numbers such as 1.234,5', 'Read numbers such as 1234,5'],
  );
  const before = { ...state.reading, thousandsSign: ',' as const, nullValues: 'x\\,y,-' };
  const [decimal, nulls] = offered(parameters({ decimal_sign: ',' }, { null_values: '-,\\\\N' }), {
    reading: before,
  });
  assert.deepEqual(decimal!.reading, { ...before, decimalSign: ',', thousandsSign: 'none' });
  assert.equal(nulls!.reading.nullValues, 'x\\,y,-,\\\\N');
  assert.equal(nulls!.label, 'Treat “-”, “\\N” as empty');
  const [range] = offered(parameters({ range: 'A3:C5' }), { reading: { ...before, headerRow: 'auto' } });
  assert.deepEqual([range!.reading.range, range!.reading.headerRow], ['A3:C5', undefined]);
  const [rows] = offered(parameters({ header_row: '5', header_rows: '3' }));
  assert.equal(rows!.label, 'Take row 5 as the header, and join 3 rows to the header');
  assert.deepEqual(readingQuery(rows!.reading, 'spreadsheet'), { header_row: 5, header_rows: 3 });
  const below = { code: 'rows-not-read', detail: '', choices: parameters({ header_row: '5' }) };
  assert.deepEqual(
    offeredChoices({ ...state, reading: { ...before, headerRow: 'auto' } }, below, 'header').map(
      ({ label, reading }) => [label, reading.headerRow],
    ),
    [['Read these rows, too', 5]],
  );
  // Another header has one row.
  const [other] = offered(parameters({ header_row: '7' }), { reading: rows!.reading });
  assert.deepEqual(readingQuery(other!.reading, 'spreadsheet'), { header_row: 7 });
  assert.deepEqual(offered(parameters({ unknown: '#' }, { trim: 'false' })), []);
  const [typed] = offered([{ parameters: { extra_columns: 'add' }, type: 'boolean' }]);
  assert.equal(typed!.reading, state.reading);
  assert.deepEqual(
    typed!.columns.map(({ type }) => type),
    ['bigint', 'date', 'boolean'],
  );
  const typesOf = (type: string, column: string) =>
    offered([{ parameters: { extra_columns: 'add' }, type }], {}, column);
  const [first, , last] = state.columns.map(({ header }) => header) as [string, string, string];
  const numbersOf = [...typesOf('numeric', first), ...typesOf('numeric', last)];
  assert.deepEqual(
    withJointChoices(numbersOf).map(({ label, columns }) => [label, columns.map(({ type }) => type).join()]),
    [
      ['Make these 2 columns numbers', 'numeric,date,numeric'],
      [`Make “${first}” numbers`, 'numeric,date,text'],
      [`Make “${last}” numbers`, 'bigint,date,numeric'],
    ],
  );
  const others = [...typesOf('numeric', first), ...typesOf('boolean', last)];
  assert.deepEqual(withJointChoices(others), others);
});

test('every upload parameter has a control on the page, or a reason why it has none', () => {
  // What the page decides with its other controls.
  const elsewhere = [
    ...['schema', 'primary_key', 'rename', 'extra_columns', 'misfits', 'if_exists', 'on_conflict'],
    ...['dry_run', 'faulty_rows', 'max_faulty_rows', 'values', 'languages', 'null_values', 'date_order'],
    ...['trim', 'decimal_sign', 'thousands_sign', 'rows_at', 'sheet', 'header', 'header_row'],
    ...['header_rows', 'range', 'table_range', 'hidden', 'footer', 'cell_errors'],
    ...['missing_rows', 'max_missing_rows', 'missing_within'],
  ];
  // The page sees whether the table exists, and takes the first key of the table.
  const needless = ['if_missing', 'conflict_key'];
  // The page writes no columns that the file does not have, and sends the settings of a profile one by one.
  const notOffered = ['provenance', 'profile'];
  const fields = new Set(
    [...fileParameters('spreadsheet'), ...fileParameters('json')].map(({ name }) => name),
  );
  const known = new Set<string>([...fields, ...elsewhere, ...needless, ...notOffered]);
  const missing = uploadParameters.map(({ name }) => name).filter((name) => !known.has(name));
  assert.deepEqual(missing, []);
  assert.ok(!fileParameters('json').some(({ name }) => name === 'encoding'));
});

test('the choices of a text file become buttons', () => {
  const state = stateWith(same, 'orders.csv');
  const warning = (name: string, value: string): Warning => ({
    code: 'encoding',
    detail: '',
    choices: [{ parameters: { [name]: value } }],
  });
  const [encoding] = offeredChoices(state, warning('encoding', 'windows-1250'), 'header');
  assert.equal(encoding!.label, 'Read the file as windows-1250');
  assert.deepEqual(readingQuery(encoding!.reading, 'spreadsheet'), { encoding: 'windows-1250' });
  assert.deepEqual(readingQuery(encoding!.reading, 'json'), {});
  const after = { ...state, reading: encoding!.reading };
  assert.deepEqual(offeredChoices(after, warning('encoding', 'windows-1250'), 'header'), []);
  const [delimiter] = offeredChoices(after, warning('delimiter', ';'), 'header');
  assert.deepEqual(readingQuery(delimiter!.reading, 'spreadsheet'), {
    encoding: 'windows-1250',
    delimiter: ';',
  });
});

test('the browser shows no step that is not possible any more', () => {
  const state = stateWith(same);
  assert.equal(shownStep({ ...state, step: 'check' }), 'check');
  assert.equal(shownStep({ ...state, file: undefined, step: 'check' }), 'file');
  assert.deepEqual(
    [canShow(state, 'file'), canShow(state, 'columns'), canShow(state, 'check'), canShow(state, 'load')],
    [true, true, false, false],
  );
  const load = { outcome: { is: 'sending' } } as LoadProgress;
  assert.deepEqual([canShow({ ...state, load }, 'file'), canShow({ ...state, load }, 'load')], [false, true]);
});

test('a token that may not read tables can load into a table that may exist', () => {
  const failure = { code: 'insufficient-scope', detail: '' } as Failure;
  const unseen = { ...stateWith(same), existing: { is: 'failed' as const, failure } };
  assert.match(unseenWords(unseen)!, /table:read/);
  const target = { ...unseen.target, ifExists: 'append' as const };
  const rows = { ...unseen.rows, extraColumns: 'add' as const, misfits: 'widen' as const };
  assert.deepEqual(uploadPlan({ ...unseen, target, rows }).query, {
    if_exists: 'append',
    extra_columns: 'add',
    misfits: 'widen',
  });
  assert.deepEqual(uploadPlan({ ...unseen, rows }).query, {});
  assert.deepEqual(planFaults({ ...unseen, target }), []);
});

test('tables are sorted by name, rows, size and last load, and those without a value are last', () => {
  const table = (name: string, rows: number | null, bytes: number | null) =>
    ({ schema: 'public', name, estimated_rows: rows, bytes }) as ListedTable;
  const tables = [table('a', 5, null), table('b', null, 10), table('c', 50, 20)];
  const load = (name: string, at: string) =>
    ({ table: { schema: 'public', name }, created_at: at }) as ListedLoad;
  const loadedAt = loadTimes([load('b', '2026-03'), load('a', '2026-02'), load('b', '2026-01')]);
  const names = (by: 'name' | 'rows' | 'bytes' | 'loaded', isDescending: boolean, filter = '') =>
    shownTables({ tables, loadedAt }, filter, { by, isDescending })
      .map(({ name }) => name)
      .join('');
  assert.deepEqual(
    [names('name', false), names('name', true), names('name', true, 'LIC.a')],
    ['abc', 'cba', 'a'],
  );
  assert.deepEqual([names('rows', false), names('rows', true)], ['acb', 'cab']);
  assert.deepEqual([names('bytes', false), names('bytes', true)], ['bca', 'cba']);
  assert.deepEqual([names('loaded', false), names('loaded', true)], ['abc', 'bac']);
  const parts = [load('c', '').table, load('d', '').table];
  assert.deepEqual([...loadTimes([{ ...load('c', '2026-04'), parts }]).values()], ['2026-04', '2026-04']);
});

test('loads are found by table, file and person', () => {
  const load = { table: { schema: 'sales', name: 'orders' }, file: 'May.xlsx', subject: null } as ListedLoad;
  for (const text of ['', 'ORDERS', 'sales.o', 'may.x'])
    assert.equal(shownLoads([load], { text }).length, 1, text);
  assert.equal(shownLoads([load], { text: 'june' }).length, 0);
  const part = (name: string, file: string) => ({ schema: 'shop', name, file });
  const joint = { ...load, file: null, parts: [part('a', 'A.csv'), part('b', 'B.csv'), part('c', 'B.csv')] };
  assert.equal(filesInWords(joint), 'A.csv and 1 more');
  assert.equal(shownLoads([joint], { text: 'b.csv' }).length, 1);
});

test('a column sorts upwards, downwards and not, and its name is escaped', () => {
  const first = nextSort(undefined, 'a,b.c');
  assert.equal(orderOf(first!), 'a\\,b.c.asc');
  const second = nextSort(first, 'a,b.c');
  assert.equal(orderOf(second!), 'a\\,b.c.desc');
  assert.equal(nextSort(second, 'a,b.c'), undefined);
});

test('times are said as long ago, and after a week as a day', () => {
  const now = Date.parse('2026-11-28T12:00:00Z');
  const said = [
    '2026-11-28T11:59:30Z',
    '2026-11-28T11:58:00Z',
    '2026-11-28T11:00:00Z',
    '2026-11-26T11:00:00Z',
    '2026-11-01T00:00:00Z',
  ];
  assert.deepEqual(
    said.map((at) => agoInWords(at, now)),
    ['just now', '2 minutes ago', '1 hour ago', '2 days ago', '2026-11-01'],
  );
});
