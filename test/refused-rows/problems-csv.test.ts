/** `Accept: text/csv`: an upload with problems answers all of them as a file. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE TABLE keyed (id integer PRIMARY KEY, n integer CHECK (n >= 0))');
});
after(() => service.stop());

const csv = { accept: 'text/csv' };
const header = 'sheet,cell,row,column,value,code,reason';
const table = {
  columns: [
    { name: 'id', type: 'integer' },
    { name: 'n', type: 'integer' },
  ],
};

async function refused(
  path: string,
  body: unknown,
  headers: Record<string, string> = csv,
): Promise<string[]> {
  const answer = await service.post(path, body, { headers });
  assert.equal(answer.status, 422, JSON.stringify(answer.body));
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const lines = (answer.body as string).split('\r\n');
  assert.equal(lines[0], header);
  assert.equal(lines.pop(), '');
  return lines.slice(1);
}

test('a refused upload answers more problems than JSON lists, in the order of the rows', async () => {
  const data = Array.from({ length: 1000 }, (_, id) => ({
    id: id % 2 === 0 ? id : 1,
    n: id % 3 === 0 ? 'x' : id - 4,
  }));
  const lines = await refused('/table/keyed/upload/json?if_exists=append', { data });
  const answer = await service.post('/table/keyed/upload/json?if_exists=append', { data });
  const { error_count } = assertProblem(answer, 422, 'invalid-data');
  assert.ok(error_count! > 600);
  assert.equal(lines.length, error_count);
  const rows = lines.map((line) => Number(line.split(',')[2]));
  assert.deepEqual(
    rows,
    rows.toSorted((a, b) => a - b),
  );
  assert.equal(lines[0], ',,1,n,x,not-a-whole-number,"not a whole number, as integer needs it"');
  assert.equal(lines[1], ',,2,n,-3,check-violation,"does not pass the check ""keyed_n_check"": (n >= 0)"');
});

test('a workbook has the sheets and cells, and formulas in values are guarded', async () => {
  const file = sheetOf([
    ['id', 'n'],
    [1, '=1+1'],
    [2, 'a "b"'],
  ]);
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(file)]), 'x.xlsx');
  form.append('body', JSON.stringify({ table }));
  const answer = await service.request('POST', '/table/sheet/upload/excel', { headers: csv, body: form });
  assert.equal(answer.status, 422);
  const lines = (answer.body as string).split('\r\n');
  assert.equal(
    lines[1],
    'Sheet1,Sheet1!B2,1,n,\'=1+1,not-a-whole-number,"not a whole number, as integer needs it"',
  );
  assert.equal(
    lines[2],
    'Sheet1,Sheet1!B3,2,n,"a ""b""",not-a-whole-number,"not a whole number, as integer needs it"',
  );
});

test('a load that leaves rows out answers their problems, and a load without problems answers JSON', async () => {
  const path = '/table/parts/upload/json?if_exists=replace&faulty_rows=leave_out&max_faulty_rows=500';
  const data = Array.from({ length: 400 }, (_, id) => ({ id, n: id < 300 ? 'x' : 1 }));
  const answer = await service.post(path, { table, data }, { headers: csv });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal((answer.body as string).split('\r\n').length, 302);
  assert.equal((await service.rows('SELECT * FROM parts')).length, 100);
  const clean = await service.post(path, { table, data: data.slice(300) }, { headers: csv });
  assert.equal(clean.status, 201);
  assert.equal(clean.body.load.rows, 100);
});

test('rows that only a trigger refuses are in the file, too', async () => {
  await service.rows(`CREATE TABLE guarded (n integer);
    CREATE FUNCTION refuse_odd() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.n % 2 = 1 THEN RAISE EXCEPTION '% is odd', NEW.n; END IF; RETURN NEW; END $$;
    CREATE TRIGGER g BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION refuse_odd()`);
  const path = '/table/guarded/upload/json?if_exists=append&faulty_rows=leave_out&max_faulty_rows=500';
  const data = Array.from({ length: 500 }, (_, n) => ({ n }));
  const answer = await service.post(path, { data }, { headers: csv });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const lines = (answer.body as string).split('\r\n').slice(1, -1);
  assert.equal(lines.length, 250);
  assert.equal(lines[249], ',,500,,,refused-by-postgresql,499 is odd');
});

test('the preferred media type is answered', async () => {
  const path = '/table/kinds/upload/json';
  const body = { table, data: [{ n: 'x' }] };
  for (const accept of ['text/csv, */*', 'application/json;q=0.5, text/csv', 'TEXT/CSV']) {
    assert.equal((await refused(path, body, { accept })).length, 1, accept);
  }
  for (const accept of [
    '*/*',
    'application/json',
    'text/csv;q=0.5, application/json',
    'application/json, text/csv',
  ]) {
    assertProblem(await service.post(path, body, { headers: { accept } }), 422, 'invalid-data');
  }
  assertProblem(
    await service.post(path, body, { headers: { accept: 'text/csv;q=0' } }),
    406,
    'not-acceptable',
  );
  assertProblem(await service.get('/table/keyed', { headers: csv }), 406, 'not-acceptable');
});

test('errors that are no problems of rows are JSON', async () => {
  const answer = await service.post('/table/kinds/upload/json?if_exists=never', { table }, { headers: csv });
  assertProblem(answer, 422, 'invalid-parameter');
  const definition = await service.post(
    '/table/kinds/upload/json',
    { table: { columns: 1 } },
    { headers: csv },
  );
  assertProblem(definition, 422, 'invalid-definition');
});

test('a problem that is found before any row is in the file', async () => {
  const lines = await refused('/table/kinds/upload/json', { data: [{ a: 1, ctid: 2 }] });
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^,,1,ctid,,invalid-name,/);
});

test('text/* accepts the problems as CSV, and the answer of a successful upload as JSON', async () => {
  const headers = { accept: 'text/*' };
  const path = '/table/keyed/upload/json?if_exists=append&dry_run=true';
  assert.equal((await refused(path, { data: [{ id: 1, n: 'x' }] }, headers)).length, 1);
  const loaded = await service.post(path, { data: [{ id: 1, n: 2 }] }, { headers });
  assert.equal(loaded.status, 200);
  assert.match(loaded.headers.get('content-type')!, /^application\/json/);
});
