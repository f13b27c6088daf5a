/** `header_row=auto`: rows that repeat the header, as printed pages and joined files have them, are left out. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { type CellSpec, sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => service.rows('DROP TABLE IF EXISTS sales'));

const upload = (query: string, file: Buffer) => service.upload(`/table/sales/upload/excel?${query}`, file);
const values = async () =>
  (await service.rows('SELECT * FROM sales')).map((row) => Object.values(row).map((value) => value));

const rows: CellSpec[][] = [
  ['shop', 'day', 'amount'],
  ['A', '2026-01-01', 1],
  ['B', '2026-01-02', 2],
  ['shop', 'day', 'amount'],
  ['shop', '2026-01-03', 3],
  ['shop', 'day', 4],
  ['C', '2026-01-04', 5],
  ['shop', 'day', 'amount'],
];
const textOf = (lines: CellSpec[][]) =>
  Buffer.from(lines.map((row) => row.map((cell) => cell ?? '').join(',')).join('\n'));
const files: Record<string, (lines: CellSpec[][]) => Buffer> = { workbook: sheetOf, 'text file': textOf };

for (const [kind, fileOf] of Object.entries(files)) {
  test(`a ${kind}: only rows that equal the whole header are left out, and the warning names them`, async () => {
    const { status, body } = await upload('header_row=auto&all_text=true', fileOf(rows));
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(await values(), [
      ['A', '2026-01-01', '1'],
      ['B', '2026-01-02', '2'],
      ['shop', '2026-01-03', '3'],
      ['shop', 'day', '4'],
      ['C', '2026-01-04', '5'],
    ]);
    const [warning] = body.load.warnings.filter(
      ({ code }: { code: string }) => code === 'header-rows-left-out',
    );
    assert.equal(
      warning.detail,
      '2 rows repeat the header and were left out (header_row=auto): rows 4, 8. With header_row=1 they are values.',
    );
  });

  test(`a ${kind}: the types are those of the other rows`, async () => {
    const numbers = rows.filter(([, day, amount]) => day !== 'day' || amount === 'amount');
    const { body } = await upload('header_row=auto', fileOf(numbers));
    assert.equal(body.load.rows, 4);
    assert.deepEqual(
      body.table.columns.map(({ type }: { type: string }) => type),
      ['text', 'date', 'bigint'],
      JSON.stringify(body.load.warnings),
    );
  });

  test(`a ${kind}: with a number for header_row every row is a value`, async () => {
    const { body } = await upload('header_row=1', fileOf(rows));
    assert.equal(body.load.rows, 7);
  });

  test(`a ${kind}: a problem has the row of the file, also below a row that was left out`, async () => {
    const query = `header_row=auto&faulty_rows=leave_out&if_exists=append`;
    await service.rows('CREATE TABLE sales (shop text, day date, amount bigint)');
    const { body } = await upload(query, fileOf(rows));
    assert.deepEqual(
      body.load.left_out.map(({ cell }: { cell: string }) => cell.replace('Sheet1!', '')),
      ['B6'],
    );
  });
}

test('white space around the texts does not matter, and a column without a name must be empty', async () => {
  const file = Buffer.from('shop, amount,\nA,1,x\n shop ,amount,\nB,2,\nshop,amount,y\n');
  const { body } = await upload('header_row=auto', file);
  assert.deepEqual(
    await values(),
    [
      ['A', '1', 'x'],
      ['B', '2', null],
      ['shop', 'amount', 'y'],
    ],
    JSON.stringify(body),
  );
});
