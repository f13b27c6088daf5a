/** Corrections of cells in the console: their places, what is sent, and what the check says of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../client/client.ts';
import { planColumns } from '../../console/derived/columns.ts';
import { curlText } from '../../console/derived/commands.ts';
import {
  type CellEdit,
  correctionsFault,
  keptCorrections,
  patchOf,
  placesOfProblems,
  problemsLike,
  reasonsNow,
  replacement,
  verdicts,
  withEdits,
} from '../../console/derived/corrections.ts';
import { reasonInWords } from '../../console/derived/problems.ts';
import { requestText, uploadPlan } from '../../console/derived/request.ts';
import { jsonWithMembers } from '../../console/file/json-with-members.ts';
import { emptyWork, initialState } from '../../console/initial-state.ts';
import type { Inspection } from '../../console/inspection.ts';
import type { State } from '../../console/state.ts';

const inspection = {
  sheets: [],
  sheet: 'Orders',
  rowsAt: undefined,
  header: ['No', 'v'],
  types: ['bigint', 'numeric'],
  counts: [{ letters: 'A' }, { letters: 'B' }],
  rows: [],
  warnings: [],
} as unknown as Inspection;

function stateOf(kind: 'json' | 'spreadsheet', to: Partial<State> = {}): State {
  const session = { token: 'a', subject: undefined, scopes: [], problem: undefined, signIn: undefined };
  const counts =
    kind === 'json' ? inspection.counts.map((one) => ({ ...one, letters: undefined })) : inspection.counts;
  return {
    ...initialState(session, { page: 'load' }),
    ...emptyWork(),
    file: { name: `f.${kind}`, size: 1, kind, content: new File(['x'], 'f', { lastModified: 5 }) },
    inspection: { is: 'ready', value: { ...inspection, counts } },
    columns: planColumns({ ...inspection, counts }, []),
    columnsOf: 'Orders',
    ...to,
  };
}

const problem = (more: Partial<Problem>): Problem => ({ code: 'not-a-number', detail: 'no number', ...more });
const at = (cell: string, from: string | null, to: string | null, header = 'v'): CellEdit => ({
  cell,
  row: undefined,
  header,
  from,
  to,
});

test('the cell of a problem is named as the file names it', () => {
  const ofSheet = placesOfProblems(stateOf('spreadsheet'));
  const place = { cell: 'A7', row: undefined, header: 'No' };
  assert.deepEqual(ofSheet(problem({ cell: "'My Sheet'!A7", row: 3, column: 'no' })), place);
  // A key over several columns, a header, and a whole row are no cells.
  assert.equal(ofSheet(problem({ cell: 'A7', row: 3, column: 'No, v' })), undefined);
  assert.equal(ofSheet(problem({ column: 'No' })), undefined);
  assert.equal(ofSheet(problem({ cell: '7:7', row: 3 })), undefined);
  const byRow = problem({ row: 3, column: 'v', pointer: '/data/2/v' });
  assert.deepEqual(placesOfProblems(stateOf('json'))(byRow), { cell: undefined, row: 3, header: 'v' });
  const elsewhere = { is: 'ready', value: { ...inspection, rowsAt: '/a/b' } } as const;
  assert.equal(placesOfProblems(stateOf('json', { inspection: elsewhere }))(byRow), undefined);
});

test('a cell keeps its first value as the old one, and has no correction when it gets this value again', () => {
  const state = stateOf('spreadsheet');
  const once = withEdits(state, [at('B2', 'x', '1'), at('B3', null, '2')]);
  const twice = withEdits({ ...state, corrections: once }, [at('B2', '1', 'y')]);
  assert.deepEqual(
    twice.map(({ cell, from, to, part }) => [cell, from, to, part]),
    [
      ['B3', null, '2', 'Orders'],
      ['B2', 'x', 'y', 'Orders'],
    ],
  );
  assert.deepEqual(withEdits({ ...state, corrections: once }, [at('B3', '2', null)]).length, 1);
  const other = withEdits({ corrections: once, columnsOf: 'Other' }, [at('B2', 'q', '9')]);
  assert.equal(other.length, 3);
  assert.deepEqual(patchOf({ ...state, corrections: other, columnsOf: 'Other' }), [
    { cell: 'B2', column: 'v', value: '9' },
  ]);
});

test('corrections change the request, and JSON gets numbers with all their digits', async () => {
  const state = stateOf('json');
  const values = ['12', '1.50', '12345678901234567890', 'x', null];
  const corrections = withEdits(
    state,
    values.map((to, index) => ({ cell: undefined, row: index + 1, header: 'v', from: '?', to })),
  );
  const changed = { ...state, corrections };
  assert.notEqual(requestText(changed), requestText(state));
  const { patch } = uploadPlan(changed);
  assert.deepEqual(
    patch?.map(({ value }) => value),
    [12, '1.50', 12345678901234567890n, 'x', null],
  );
  const body = await jsonWithMembers(new Blob(['[{"v":1}]']), 'json', {
    table: undefined,
    patch: patch?.slice(2, 3),
  });
  const text = '{"patch":[{"row":3,"column":"v","value":12345678901234567890}],"data":[{"v":1}]}';
  assert.equal(await body.text(), text);
  assert.match(
    curlText(uploadPlan(changed), 'f.json', 'http://a'),
    /'\{patch: \$patch, data: \(\.data\? \/\/ \.\)\}'/,
  );
  const sheet = stateOf('spreadsheet');
  const plan = uploadPlan({ ...sheet, corrections: withEdits(sheet, [at('B2', 'x', "it's; @1")]) });
  assert.match(
    curlText(plan, 'f.csv', 'http://a'),
    /--form-string 'patch=\[\{"cell":"B2","column":"v","value":"it'\\''s; @1"\}\]'/,
  );
});

test('the page knows how many corrections the service takes, and how long they may be', () => {
  const state = stateOf('spreadsheet');
  const many = (count: number, to: string) =>
    correctionsFault({
      ...state,
      corrections: withEdits(
        state,
        Array.from({ length: count }, (_, index) => at(`B${index + 2}`, 'x', to)),
      ),
    });
  assert.equal(many(10_000, '1'), undefined);
  assert.match(many(10_001, '1')!, /At most 10,000 cells/);
  assert.match(many(1000, 'ü'.repeat(600))!, /longer than 1 MB/);
});

test('the check says of each correction whether it was accepted, refused, or is not known', () => {
  const state = stateOf('spreadsheet');
  const corrections = withEdits(state, [at('B2', 'x', '1'), at('B3', 'x', 'y')]);
  const checkOf = (errors: Problem[], errorCount: number): State['check'] => {
    const failure = { errors, errorCount } as NonNullable<
      Extract<State['check'], { is: 'ready' }>['value']['failure']
    >;
    const value = { failure, all: undefined } as Extract<State['check'], { is: 'ready' }>['value'];
    return { is: 'ready', value };
  };
  const wordsOf = (errors: Problem[], errorCount: number, isOld = false) => {
    const verdictOf = verdicts({ ...state, corrections, check: checkOf(errors, errorCount) }, isOld);
    return corrections.map((one) => verdictOf(one).is);
  };
  const left = problem({ cell: 'B3', row: 2, column: 'v', value: 'y' });
  assert.deepEqual(wordsOf([left], 1), ['accepted', 'refused']);
  assert.deepEqual(wordsOf([left], 500), ['unknown', 'refused']);
  assert.deepEqual(wordsOf([left], 1, true), ['checking', 'checking']);
  const first = problem({ cell: 'B2', row: 1, column: 'v', value: 'x' });
  const old = checkOf([first, left], 2);
  const reasons = (isOld: boolean) =>
    [first, left].map(reasonsNow({ ...state, corrections, check: old }, isOld));
  assert.deepEqual(reasons(true), ['is being checked', 'is being checked']);
  assert.deepEqual(
    reasons(false),
    [first, left].map((one) => `refused: ${reasonInWords(one)}`),
  );
  assert.equal(reasonsNow({ ...state, check: old }, true)(left), reasonInWords(left));
  const gone = problem({ parameter: 'patch', pointer: '/0', code: 'no-such-cell' });
  assert.deepEqual(wordsOf([gone], 1), ['refused', 'accepted']);
});

test('only cells of the same column with the same value are like a correction, and no shortened value is', () => {
  const state = stateOf('spreadsheet');
  const [x] = withEdits(state, [at('B2', 'x', '1')]);
  const listed = ['B2', 'B3', 'A3', 'B4'].map((cell, index) =>
    problem({ cell, row: 2, column: cell[0] === 'A' ? 'No' : 'v', value: index === 3 ? 'X' : 'x' }),
  );
  const like = problemsLike({ ...state, corrections: [x!] }, listed, x!, placesOfProblems(state));
  assert.deepEqual(
    like.map(({ cell }) => cell),
    ['B3'],
  );
  const replaced = (own: Problem[]) =>
    replacement({ ...state, corrections: [x!] }, [...own, ...listed], placesOfProblems(state));
  assert.deepEqual(replaced([]), { newest: x, like });
  const refused = problem({ cell: 'B2', row: 1, column: 'v', value: '1' });
  assert.equal(replaced([refused]), undefined);
  const long = `${'x'.repeat(99)}…`;
  const cut = problem({ cell: 'B5', row: 4, column: 'v', value: long });
  assert.deepEqual(problemsLike(state, [cut], { ...x!, from: long }, placesOfProblems(state)), []);
});

test('corrections stay if the same file is chosen again, and not for a file that was changed', () => {
  const state = stateOf('spreadsheet');
  const corrections = withEdits(state, [at('B2', 'x', '1')]);
  const file = { ...state.file!, size: 1 };
  assert.equal(
    keptCorrections({ ...state, file, corrections }, { size: 1, lastModified: 5 }).corrections,
    corrections,
  );
  assert.deepEqual(keptCorrections({ ...state, file, corrections }, { size: 1, lastModified: 6 }), {});
});

test('reasons of problems do not speak of parameters', () => {
  const reasons: [code: string, detail: string, words: string][] = [
    [
      'error-cell',
      'the cell holds an error: fix its formula, or load such cells as NULL with cell_errors=null',
      'the cell holds an error: fix its formula',
    ],
    [
      'not-in-date-order',
      'not a date in the order that date_order says, or with values=natural the other values of its column: with date_order=dmy it is written as in 21/11/2026',
      'not a date in the chosen order',
    ],
    [
      'out-of-range',
      'above the range of integer; misfits=widen would make the column bigint',
      'above the range of integer',
    ],
    [
      'unknown-column',
      'The table has no such column. Leave it out, or send extra_columns=ignore.',
      'The table has no such column.',
    ],
    ['not-a-number', 'not a number: expected digits with a point, as in -1234.5 or 1e6', 'not a number'],
    ['not-a-whole-number', 'not a whole number, as bigint needs it', 'not a whole number'],
    ['out-of-range', 'out of range for bigint', 'out of range for whole numbers'],
    ['out-of-range', 'out of range for smallint', 'out of range for smallint'],
  ];
  for (const [code, detail, words] of reasons) assert.equal(reasonInWords({ code, detail }), words);
});
