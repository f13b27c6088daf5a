/** Problems and warnings about a workbook name its own cells and rows, never the number of a data row. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { type CellSpec, sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('places_');

/** The header is row 3, and row 5 is empty: data row n is row 3 + n of the sheet. */
const fileOf = (...rows: CellSpec[][]): Buffer =>
  sheetOf([['Report'], [], rows[0]!, rows[1]!, [], ...rows.slice(2)], 'Sales Data');

const load = (name: string, file: Buffer, query = '', table?: unknown): Promise<TestAnswer> =>
  service.upload(`/table/${name}/upload/excel?header_row=3${query}`, file, table && { table });

/** Returns all texts of an answer that a person reads. */
function textsOf({ body }: TestAnswer): string[] {
  const lists = [body.errors, body.warnings, body.load?.warnings].flatMap((list) => list ?? []);
  const texts = [body.detail ?? '', ...lists.map(({ detail }: { detail: string }) => detail)];
  for (const text of texts) assert.doesNotMatch(text, /\brows? \d/, 'no number of a data row');
  return texts;
}

function assertText(answer: TestAnswer, expected: RegExp): void {
  const texts = textsOf(answer);
  assert.ok(
    texts.some((text) => expected.test(text)),
    `${expected} in ${answer.status} ${JSON.stringify(texts)}`,
  );
}

test('a repeated key names the cell with the same key', async () => {
  const file = fileOf(['no', 'name'], [1, 'Ann'], [2, 'Bob'], [1, 'Cid']);
  assertText(await load(nextTable(), file, '&primary_key=no'), /^must be unique: also in 'Sales Data'!A4$/);
  const twice = fileOf(['no', 'line'], [1, 1], [2, 1], [1, 1]);
  assertText(await load(nextTable(), twice, '&primary_key=no,line'), /also in 'Sales Data'!A4$/);
});

test('rows without a key are named as rows of the sheet', async () => {
  const name = nextTable();
  await service.post(`/table/${name}`, {
    table: {
      columns: [
        { name: 'no', type: 'bigint' },
        { name: 'name', type: 'text' },
      ],
      constraints: { unique: [{ name: '', columns: ['no'] }] },
    },
  });
  const file = fileOf(['no', 'name'], [1, 'Ann'], [null, 'Bob'], [null, 'Cid']);
  const answer = await load(name, file, '&if_exists=append&on_conflict=update');
  assertText(answer, /^2 rows have no complete key .* The first is 'Sales Data'!6:6\./);
});

test('odd values, lost parts and other notations are named by their cells', async () => {
  const numbers = Array.from({ length: 20 }, (_, index): CellSpec[] => [index]);
  assertText(await load(nextTable(), fileOf(['n'], ...numbers, ['n/a'])), /"n\/a" in 'Sales Data'!A25/);
  const years = fileOf(['day'], ['21/11/26'], ['22/11/26']);
  assertText(await load(nextTable(), years, '&date_order=dmy'), /'Sales Data'!A4/);
  const times = fileOf(['day'], ['2026-11-21'], ['2026-11-21T10:00:00']);
  const table = { columns: [{ name: 'day', type: 'date' }] };
  assertText(await load(nextTable(), times, '', table), /'Sales Data'!A6/);
});

test('a row that PostgreSQL refuses is named by its place', async () => {
  const name = nextTable();
  await service.rows(`CREATE TABLE public."${name}" (n bigint)`);
  await service.rows(
    `CREATE FUNCTION public."${name}_f"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.n = 2 THEN RAISE ''not two''; END IF; RETURN NEW; END'`,
  );
  await service.rows(
    `CREATE TRIGGER t BEFORE INSERT ON public."${name}" FOR EACH ROW EXECUTE FUNCTION public."${name}_f"()`,
  );
  const answer = await load(name, fileOf(['n'], [1], [2], [3]), '&if_exists=append');
  assert.equal(answer.status, 422, JSON.stringify(answer.body));
  assertText(answer, /not two/);
  assert.deepEqual(
    answer.body.errors.map(({ cell }: { cell: string }) => cell),
    ["'Sales Data'!6:6"],
  );
});

test('a check, a missing value and a reference are named by their cells', async () => {
  const name = nextTable();
  await service.rows(`CREATE TABLE public."${name}_to" (id bigint PRIMARY KEY)`);
  await service.rows(
    `CREATE TABLE public."${name}" (n bigint CHECK (n < 3), must text NOT NULL, r bigint REFERENCES public."${name}_to")`,
  );
  const file = fileOf(['n', 'must', 'r'], [1, 'a', null], [5, 'b', null], [2, null, null], [2, 'c', 7]);
  const answer = await load(name, file, '&if_exists=append');
  textsOf(answer);
  assert.deepEqual(
    answer.body.errors.map(({ cell, code }: { cell: string; code: string }) => [cell, code]),
    [
      ["'Sales Data'!A6", 'check-violation'],
      ["'Sales Data'!B7", 'null-not-allowed'],
      ["'Sales Data'!C8", 'no-such-reference'],
    ],
  );
});
