/** CSV has only texts. A value of another kind comes back as the same value with the same parameters, or the service refuses to write CSV. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { bookOf, type CellSpec } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => service.rows('DROP TABLE IF EXISTS amounts'));

const columns = 'id integer, n numeric, t text';

/** Returns the stored rows as text, and empties the table. */
async function stored(): Promise<string[]> {
  const rows = await service.rows('SELECT amounts::text AS row FROM amounts ORDER BY id');
  await service.rows('TRUNCATE amounts');
  return rows.map(({ row }) => String(row));
}

function formOf(file: Buffer | string, patch?: object[]): FormData {
  const body = new FormData();
  if (patch !== undefined) body.append('patch', JSON.stringify(patch));
  body.append('file', new Blob([file as string]), 'amounts');
  return body;
}

const upload = (file: Buffer | string, query: string, patch?: object[]) =>
  service.request('POST', `/table/amounts/upload/excel?if_exists=append${query}`, {
    body: formOf(file, patch),
  });

const repairedAnswer = (file: Buffer | string, query: string, patch?: object[]) =>
  service.request('POST', `/api/v1/inspect/excel?${query.slice(1)}`, {
    body: formOf(file, patch),
    headers: { accept: 'text/csv' },
  });

/** Loads the file, and then its repaired rows. Returns both results, and the file. */
async function bothWays(file: Buffer | string, query: string, patch?: object[]) {
  const direct = await upload(file, query, patch);
  assert.equal(direct.status, 200, JSON.stringify(direct.body));
  const expected = await stored();
  const { status, body } = await repairedAnswer(file, query, patch);
  assert.equal(status, 200, JSON.stringify(body));
  const again = await upload(body as string, `${query}&quoted=exact`);
  assert.equal(again.status, 200, `${body}\n${JSON.stringify(again.body)}`);
  return { expected, found: await stored(), csv: body as string };
}

const comma = '&decimal_sign=,&thousands_sign=.';
const book = (...rows: CellSpec[][]) => bookOf({ Sheet: [['id', 'n', 't'], ...rows] });

suite('a number has the decimal sign of the request', () => {
  test('in the repaired rows of a workbook', async () => {
    await service.rows(`CREATE TABLE amounts (${columns})`);
    const { expected, found, csv } = await bothWays(
      book([1, 1.234, 'a'], [2, '1.234,50', 'b'], [3, -12345, 'c'], [4, 1e-7, 'd']),
      comma,
    );
    assert.deepEqual(expected, ['(1,1.234,a)', '(2,1234.50,b)', '(3,-12345,c)', '(4,0.0000001,d)']);
    assert.deepEqual(found, expected, csv);
  });

  test('in a text file with a correction', async () => {
    await service.rows(`CREATE TABLE amounts (${columns})`);
    const patch = [{ row: 1, column: 'n', value: 1.234 }];
    const { expected, found, csv } = await bothWays('id;n;t\n1;x;a\n2;1.234,5;b\n', comma, patch);
    assert.deepEqual(expected, ['(1,1.234,a)', '(2,1234.5,b)']);
    assert.deepEqual(found, expected, csv);
  });

  test('with values=natural and a preferred sign', async () => {
    await service.rows(`CREATE TABLE amounts (${columns})`);
    const sheet = book([1, 1.234, 'a'], [2, 12.345, 'b']);
    for (const query of ['&values=natural', `&values=natural${comma}`]) {
      const { expected, found, csv } = await bothWays(sheet, query);
      assert.deepEqual(expected, ['(1,1.234,a)', '(2,12.345,b)']);
      assert.deepEqual(found, expected, csv);
    }
  });

  test('in the faulty rows of JSON', async () => {
    await service.rows(`CREATE TABLE amounts (${columns})`);
    const refused = await service.post(`/table/amounts/upload/json?if_exists=append${comma}`, {
      data: [{ id: 'x', n: 1.234, t: 'a' }],
    });
    assertProblem(refused, 422, 'invalid-data');
    const path = `/api/v1/loads/${refused.headers.get('load-id')}/faulty-rows?format=csv`;
    const csv = (await service.get(path)).body as string;
    const again = await upload(csv.replace('"x"', '1'), `${comma}&quoted=exact`);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.deepEqual(await stored(), ['(1,1.234,a)']);
  });
});

suite('NULL is the first word of null_values', () => {
  test('so that it replaces an old value, and neither a default nor fill_down replaces it', async () => {
    await service.rows('CREATE TABLE amounts (id integer PRIMARY KEY, n numeric DEFAULT 7, t text)');
    const query = '&null_values=-,none&fill_down=t&on_conflict=update';
    const patch = [
      { row: 1, column: 'n', value: null },
      { row: 2, column: 't', value: null },
    ];
    const { expected, found, csv } = await bothWays('id,n,t\n1,5,a\n2,,b\n', query, patch);
    assert.deepEqual(expected, ['(1,,a)', '(2,7,)']);
    assert.deepEqual(found, expected, csv);
    assert.equal(csv, 'id,n,t\n1,-,a\n2,,-\n');
  });

  test('or an empty field with empty_cells=null', async () => {
    await service.rows('CREATE TABLE amounts (id integer, n numeric DEFAULT 7, t text)');
    const refused = await upload('id,n,t\nx,5,a\n', '&empty_cells=null', [
      { row: 1, column: 'n', value: null },
    ]);
    assertProblem(refused, 422, 'invalid-data');
    const path = `/api/v1/loads/${refused.headers.get('load-id')}/faulty-rows`;
    assert.match((await service.get(path)).body as string, /^id,n,t,"_problem"\nx,,a,/);
  });
});

suite('CSV is refused, with the row and the column', () => {
  const emptied = [{ row: 1, column: 't', value: '' }];
  const refusals: [string, Buffer | string, string, object[] | undefined, RegExp][] = [
    [
      'a number that is a null word',
      book([1, 5, 'a'], [2, -1, 'b']),
      '&null_values=-1,999',
      undefined,
      /row 2, column "n": -1 is/,
    ],
    [
      'a boolean that is a null word',
      book([1, 5, true]),
      '&null_values=true',
      undefined,
      /row 1, column "t": true is/,
    ],
    [
      'NULL without a word for it',
      'id,n,t\n1,5,a\n',
      '',
      [{ row: 1, column: 'n', value: null }],
      /row 1, column "n": NULL would be/,
    ],
    [
      'a number beside texts',
      book([1, 1.234, 'a'], [2, '€ 1.234,50', 'b']),
      '&values=natural',
      undefined,
      /row 1, column "n": 1.234 is a number/,
    ],
    ['a row of a text file that a correction empties', 't,n\nx,\n', '', emptied, /row 1: all of its cells/],
    ['a row that has only white space', 't\nx\n', '', [{ row: 1, column: 't', value: ' ' }], /row 1: all/],
    [
      'a row of a workbook that a correction empties',
      bookOf({ S: [['t'], ['x']] }),
      '',
      emptied,
      /row 1: all/,
    ],
  ];
  for (const [name, file, query, patch, expected] of refusals)
    test(`for ${name}`, async () => {
      const refused = await repairedAnswer(file, query, patch);
      assert.match(assertProblem(refused, 422, 'invalid-parameter').detail, expected);
    });

  test('for the faulty rows of a load, and NDJSON gives them', async () => {
    await service.rows(`CREATE TABLE amounts (${columns})`);
    const refused = await service.post('/table/amounts/upload/json?if_exists=append&null_values=-1', {
      data: [
        { id: 1, n: -1, t: 'a' },
        { id: 'x', n: -1, t: 'a' },
      ],
    });
    assertProblem(refused, 422, 'invalid-data');
    const path = `/api/v1/loads/${refused.headers.get('load-id')}/faulty-rows?format=`;
    const { detail } = assertProblem(await service.get(`${path}csv`), 422, 'invalid-parameter');
    assert.match(detail, /row 2, column "n": -1 .*format=ndjson/);
    assert.match((await service.get(`${path}ndjson`)).body as string, /^\{"id":"x","n":-1,/);
  });
});

test('a row that a correction makes the empty text stays one with quoted=exact', async () => {
  const emptied = [{ row: 1, column: 'id', value: '' }];
  const { status, body } = await repairedAnswer('id,n\nx,\n', '&quoted=exact', emptied);
  assert.deepEqual([status, body], [200, 'id,n\n"",\n']);
});

test('ordinary workbooks with values=natural come back', async () => {
  await service.rows(`CREATE TABLE amounts (${columns})`);
  const day = { attributes: 's="1"', content: '<v>46023.5</v>' };
  const file = bookOf(
    {
      Sheet: [
        ['id', 'n', 't'],
        [1, 1.5, day],
        [2, 1234.567, 'x 1'],
        [3, null, true],
      ],
    },
    { formats: [22] },
  );
  const { expected, found, csv } = await bothWays(file, '&values=natural');
  assert.deepEqual(found, expected, csv);
});
