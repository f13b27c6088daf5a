/** All rows of a file with the corrections: the inspections with `Accept: text/csv` or `application/x-ndjson`. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { bookOf, type CellSpec } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => service.rows('DROP TABLE IF EXISTS amounts'));

const csv = { accept: 'text/csv' };
const ndjson = { accept: 'application/x-ndjson' };

function formOf(file: string | Buffer, patch?: unknown, name = 'amounts.csv'): FormData {
  const body = new FormData();
  if (patch !== undefined) body.append('patch', JSON.stringify(patch));
  body.append('file', new Blob([file as string]), name);
  return body;
}

const repaired = async (file: string | Buffer, patch?: unknown, query = '') => {
  const body = formOf(file, patch);
  const answer = await service.request('POST', `/api/v1/inspect/excel${query}`, { body, headers: csv });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.match(answer.headers.get('content-disposition')!, /amounts-repaired\.csv/);
  return answer.body as string;
};

/** Returns the types and the rows of the table that the upload makes. */
async function loaded(file: string | Buffer, query: string, patch?: unknown): Promise<unknown> {
  const body = formOf(file, patch);
  const answer = await service.request('POST', `/table/amounts/upload/excel${query}`, { body });
  return storedRows(answer);
}

async function storedRows({ status, body }: TestAnswer): Promise<unknown> {
  assert.equal(status, 201, JSON.stringify(body));
  const types = body.table.columns.map(({ name, type }: Record<string, string>) => `${name} ${type}`);
  const rows = await service.rows('SELECT amounts::text AS row FROM amounts ORDER BY ctid');
  await service.rows('DROP TABLE amounts');
  return [types, rows.map(({ row }) => row)];
}

const text = 'Preface\n\nNo;Amount;Day ; Note\n007;"1x";2026-01-01;"a;""b"\n\n2;2,50;2026-01-32; c\n3;;;\n';
const ofText = [
  { row: 1, column: 'amount', value: '1,5' },
  { cell: 'C6', value: '2026-01-31' },
  { row: 4, column: 'Amount', value: '10' },
];
const day = { attributes: 's="1"', content: '<v>46023</v>' };
const sheet: CellSpec[][] = [
  ['Preface', null, null, null],
  [],
  ['No', 'Amount', 'Day', null],
  ['007', '1x', day, 'x'],
  [],
  ['2', 0.1, 'soon', null],
  ['3', { attributes: 't="e"', content: '<v>#N/A</v>' }, null, null],
];
const book = bookOf({ Other: [['a'], [1]], Sheet: sheet }, { formats: [14] });
const ofBook = [
  { row: 1, column: 'Amount', value: '1.5' },
  { cell: 'Sheet!C6', value: '2026-01-31' },
  { row: 4, column: 'Amount', value: '12345678901234567890.25' },
];

suite('the rows with the corrections', () => {
  test('of a text file keep its delimiter, its names and the text of each cell, and load the same', async () => {
    const file = await repaired(text, ofText, '?header_row=3');
    assert.equal(file, 'No;Amount;Day;Note\n007;1,5;2026-01-01;"a;""b"\n2;2,50;2026-01-31;" c"\n3;10;;\n');
    const [types, rows] = (await loaded(text, '?header_row=3&decimal_sign=,', ofText)) as [
      string[],
      string[],
    ];
    assert.deepEqual(types, ['No text', 'Amount numeric', 'Day date', 'Note text']);
    assert.deepEqual(await loaded(file, '?decimal_sign=,'), [types, rows]);
  });

  test('of a workbook have ISO dates and the shown digits, and load the same', async () => {
    const query = '?header_row=3&sheet=Sheet';
    const file = await repaired(book, ofBook, query);
    assert.equal(
      file,
      'No,Amount,Day,column_D\n"007",1.5,2026-01-01,"x"\n"2",0.1,2026-01-31,\n"3",12345678901234567890.25,,\n',
    );
    const expected = await loaded(book, query, ofBook);
    assert.deepEqual(await loaded(file, '?quoted=exact'), expected);
  });

  test('of JSON are one on each line, with every digit, and load the same', async () => {
    const body = `{"patch": [{"row": 2, "column": "n", "value": 12345678901234567890.25}, {"row": 1, "column": "t", "value": null}],
      "data": [{"t": "é", "o": {"a":\n [1]}}, {"n": "x", "b": true, "t": "007"}]}`;
    const headers = { 'content-type': 'application/json' };
    const sent = { body, headers: { ...headers, ...ndjson } };
    const answer = await service.request('POST', '/api/v1/inspect/json', sent);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(
      answer.body,
      '{"t":null,"o":{"a":  [1]}}\n{"n":12345678901234567890.25,"b":true,"t":"007"}\n',
    );
    const path = '/table/amounts/upload/json';
    const expected = await storedRows(await service.request('POST', path, { body, headers }));
    const lines = { body: answer.body, headers: { 'content-type': 'application/x-ndjson' } };
    assert.deepEqual(await storedRows(await service.request('POST', path, lines)), expected);
  });

  test('are those of the whole file, in many pieces, without holding them in memory', async () => {
    const lines = Array.from({ length: 200_000 }, (_, index) => `${index},${'x'.repeat(index % 90)}`);
    const file = `a,b\n${lines.join('\n')}\n`;
    const patch = [{ row: 150_001, column: 'b', value: 'new' }];
    lines[150_000] = '150000,new';
    assert.ok((await repaired(file, patch)) === `a,b\n${lines.join('\n')}\n`);
  });

  test('need no corrections', async () => {
    assert.equal(await repaired('a,b\n1,\n'), 'a,b\n1,\n');
  });
});

suite('an error is answered before the first byte', () => {
  const send = (file: string, patch: unknown, headers: Record<string, string> = csv) =>
    service.request('POST', '/api/v1/inspect/excel', { body: formOf(file, patch), headers });

  test('a cell that the file does not have', async () => {
    const { status, body } = await send('a\n1\n', [{ row: 2, column: 'a', value: 1 }]);
    assert.deepEqual([status, body.errors[0].code], [422, 'no-such-cell']);
  });

  test('a row that is no object', async () => {
    const headers = { 'content-type': 'application/json', ...ndjson };
    const sent = { body: '[{"a": 1}, 2]', headers };
    const { status, body } = await service.request('POST', '/api/v1/inspect/json', sent);
    assert.deepEqual([status, body.code], [422, 'invalid-data']);
  });

  test('a format that the endpoint does not have', async () => {
    assert.equal((await send('a\n1\n', undefined, ndjson)).status, 406);
    const headers = { 'content-type': 'application/json', ...csv };
    const { status } = await service.request('POST', '/api/v1/inspect/json', { body: '[]', headers });
    assert.equal(status, 406);
  });

  test('corrections of an inspection that answers JSON', async () => {
    const { status, body } = await send('a\n1\n', [], {});
    assert.deepEqual([status, body.errors[0].code], [422, 'unknown-part']);
  });
});
