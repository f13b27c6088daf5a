/**
 * `POST /api/v1/inspect/excel`
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sheetXml } from '../support/workbook.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

let service: TestService;
let orders: Buffer;
before(async () => {
  service = await startTestService();
  orders = await readFile(new URL('../../examples/orders.xlsx', import.meta.url));
});
after(() => service.stop());

const inspect = (query = '') => service.upload(`/api/v1/inspect/excel${query}`, orders);

test('lists the sheets with their sizes and visibility', async () => {
  const { status, body } = await inspect();
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    body.sheets.map(({ name, visibility }: Record<string, string>) => [name, visibility]),
    [
      ['Orders', 'visible'],
      ['Summary', 'visible'],
      ['Discounts', 'hidden'],
    ],
  );
  assert.equal(body.sheets[0].rows, 300);
  assert.equal(body.sheets[0].columns, body.sheet.header.length);
  assert.ok(body.sheets[2].rows > 0);
});

test('shows the header, the definition and the first rows as text, and writes nothing', async () => {
  const { body } = await inspect();
  const { sheet } = body;
  assert.equal(sheet.name, 'Orders');
  assert.equal(sheet.header[0], 'Order no');
  assert.equal(sheet.rows.length, 20);
  assert.ok(sheet.rows.every((row: unknown[]) => row.length === sheet.header.length));
  assert.match(sheet.rows[0][0], /^0\d+$/);
  const types = Object.fromEntries(
    sheet.definition.columns.map(({ name, type }: Record<string, string>) => [name, type]),
  );
  assert.equal(types['Ordered on'], 'date');
  assert.equal(types['Article code'], 'text');
  assert.equal(sheet.error_count, 0);
  assert.deepEqual(
    await service.rows("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"),
    [],
  );
});

test('proposes a definition that loads the same sheet', async () => {
  const { body } = await inspect();
  const loaded = await service.upload('/table/orders/upload/excel', orders, { table: body.sheet.definition });
  assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
  assert.equal(loaded.body.load.rows, 300);
});

test('an inspection accepts another sheet, another range and other names', async () => {
  const hidden = await inspect('?sheet=Discounts');
  assert.equal(hidden.body.sheet.name, 'Discounts');
  const part = await inspect('?range=A1:B11&column_names=snake_case');
  assert.deepEqual(part.body.sheet.header.length, 2);
  assert.equal(part.body.sheet.header[0], 'order_no');
  assert.equal(part.body.sheets[0].rows, 10);
  const unknown = await inspect('?sheet=Nowhere');
  assert.equal(unknown.status, 422);
  assert.match(unknown.body.detail, /Orders/);
});

test('reports a sheet that cannot be loaded, and still shows the others', async () => {
  const wide = Array.from({ length: 1601 }, (_, n) => `c${n}`);
  const row = (cells: string[]) => sheetXml([cells]);
  const book = buildWorkbook({
    sheets: [
      { name: 'Small', xml: row(['a', 'b']) },
      { name: 'Wide', xml: row(wide) },
      { name: 'Last', xml: sheetXml([['c'], [1]]) },
    ],
  });
  const { status, body } = await service.upload('/api/v1/inspect/excel', book);
  assert.equal(status, 200, JSON.stringify(body));
  const [small, tooWide, last] = body.sheets;
  const { proposal: _, ...sizeOfSmall } = small;
  assert.deepEqual(sizeOfSmall, { name: 'Small', visibility: 'visible', rows: 0, columns: 2 });
  const { proposal: ofLast, ...sizeOfLast } = last;
  assert.deepEqual(sizeOfLast, { name: 'Last', visibility: 'visible', rows: 1, columns: 1 });
  assert.equal(ofLast.range, 'A1:A2');
  assert.equal(tooWide.proposal, undefined);
  assert.equal(tooWide.problem.code, 'limit-exceeded');
  assert.match(tooWide.problem.detail, /1,600 columns.*range/);
  const chosen = await service.upload('/api/v1/inspect/excel?sheet=Wide', book);
  assertProblem(chosen, 413, 'limit-exceeded');
  assert.equal(
    chosen.body.detail,
    `Sheet "Wide": ${tooWide.problem.detail} The other sheets are: "Small", "Last". Choose one with \`sheet\`.`,
  );
  const part = await service.upload('/api/v1/inspect/excel?sheet=Wide&range=A:C', book);
  assert.deepEqual(part.body.sheet.header, ['c0', 'c1', 'c2']);
});

test('shows columns in the order of the sheet, whatever their headers', async () => {
  const { body } = await service.upload('/api/v1/inspect/excel', Buffer.from(',a,\n1,2,\n3,4,5\n'));
  assert.deepEqual(body.sheet.header, ['column_A', 'a', 'column_C']);
  assert.deepEqual(body.sheet.rows, [
    ['1', '2', null],
    ['3', '4', '5'],
  ]);
});

test('shows the problems and warnings that a load would have', async () => {
  const { body } = await service.upload('/api/v1/inspect/excel', Buffer.from('ctid,n\n1,2\n3,n/a\n'));
  assert.deepEqual(body.sheet.errors, [
    {
      cell: 'A1',
      column: 'ctid',
      code: 'invalid-name',
      detail:
        'cannot be the name of a column: it is the name of a system column of every table. Rename it with `rename`, in the header or in the keys of the rows',
    },
  ]);
  assert.equal(body.sheet.error_count, 1);
  assert.deepEqual(body.sheet.warnings, [
    {
      code: 'mixed-column',
      column: 'n',
      detail:
        'Column "n" became text because of "n/a" in B3; every value above it is a whole number (bigint). Send null_values=n/a to load this as NULL.',
      choices: [{ parameters: { null_values: 'n/a' } }],
    },
  ]);
});

test('needs the scope table:load', async () => {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(orders)]), 'orders.xlsx');
  const token = await service.token({ scope: 'table:read' });
  const answer = await service.request('POST', '/api/v1/inspect/excel', { token, body: form });
  assert.equal(answer.status, 403);
});

test('an inspection takes the query of an upload, and still refuses unknown parameters', async () => {
  const query =
    '?faulty_rows=leave_out&max_faulty_rows=5&if_exists=append&empty_cells=null&trim=true&primary_key=a';
  const { sheet } = (await service.upload(`/api/v1/inspect/excel${query}`, Buffer.from('a, b\n1, x\n'))).body;
  assert.deepEqual([sheet.header, sheet.rows], [['a', 'b'], [['1', 'x']]]);
  const misspelled = await service.upload('/api/v1/inspect/excel?faulty_row=leave_out', Buffer.from('a\n'));
  assert.equal(misspelled.status, 422);
});
