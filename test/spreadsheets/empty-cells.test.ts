/** `empty_cells`: what an empty cell of a spreadsheet means for a column with a default and for an update. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type CellSpec, sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

beforeEach(() =>
  service.rows(`DROP TABLE IF EXISTS people;
CREATE TABLE people (id integer PRIMARY KEY, name text NOT NULL DEFAULT 'nobody', note text DEFAULT 'new', day date);
INSERT INTO people VALUES (1, 'Ada', 'first', '2026-01-01'), (2, 'Bob', 'second', '2026-01-02')`),
);

const update = '/table/people/upload/excel?if_exists=append&on_conflict=update';
const content = () => service.rows('SELECT id, name, note, day::text FROM people ORDER BY id');

const files: Record<string, (rows: CellSpec[][]) => Buffer> = {
  'a workbook': (rows) => sheetOf(rows),
  'a text file': (rows) => Buffer.from(rows.map((row) => row.map((cell) => cell ?? '').join(',')).join('\n')),
};

for (const [kind, fileOf] of Object.entries(files)) {
  const file = fileOf([
    ['id', 'note', 'name', 'day'],
    [1, null, 'Ada', null],
    [2, 'kept', 'Bert', null],
    [3, null, 'Cy', null],
  ]);

  test(`${kind}: an empty cell changes nothing in an update, and takes the default in a new row`, async () => {
    const answer = await service.upload(update, file);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await content(), [
      { id: 1, name: 'Ada', note: 'first', day: '2026-01-01' },
      { id: 2, name: 'Bert', note: 'kept', day: '2026-01-02' },
      { id: 3, name: 'Cy', note: 'new', day: null },
    ]);
  });

  test(`${kind}: with empty_cells=null an empty cell clears the column, and is NULL in a new row`, async () => {
    const answer = await service.upload(`${update}&empty_cells=null`, file);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await content(), [
      { id: 1, name: 'Ada', note: null, day: null },
      { id: 2, name: 'Bert', note: 'kept', day: null },
      { id: 3, name: 'Cy', note: null, day: null },
    ]);
  });

  test(`${kind}: with empty_cells=null an empty cell of a NOT NULL column is a problem that names the cell`, async () => {
    const faulty = fileOf([
      ['id', 'name'],
      [1, 'Ada'],
      [2, null],
    ]);
    // A row needs a value that makes it a row; the second has its id.
    const { errors } = assertProblem(
      await service.upload(`${update}&empty_cells=null`, faulty),
      422,
      'invalid-data',
    );
    const [{ code, column, cell, row }] = errors as [(typeof errors)[0]];
    assert.deepEqual([code, column, row], ['null-not-allowed', 'name', 2]);
    assert.match(cell!, /B3$/);
    assert.equal((await service.upload(update, faulty)).status, 200);
  });

  test(`${kind}: with empty_cells=null a new table has NULL in place of defaults`, async () => {
    const table = {
      columns: [
        { name: 'a', type: 'integer' },
        { name: 'b', type: 'text', default: 'x' },
      ],
    };
    const rows = fileOf([
      ['a', 'b'],
      [1, null],
    ]);
    const path = '/table/fresh/upload/excel?if_exists=replace';
    assert.equal((await service.upload(path, rows, { table })).status, 201);
    assert.deepEqual(await service.rows('SELECT * FROM fresh'), [{ a: 1, b: 'x' }]);
    assert.equal((await service.upload(`${path}&empty_cells=null`, rows, { table })).status, 201);
    assert.deepEqual(await service.rows('SELECT * FROM fresh'), [{ a: 1, b: null }]);
  });
}

test('a field that is missing at the end of a line is empty, and a column that the file lacks keeps its value', async () => {
  const answer = await service.upload(`${update}&empty_cells=null`, Buffer.from('id,name,note\n1,Ada\n'));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual((await content())[0], { id: 1, name: 'Ada', note: null, day: '2026-01-01' });
});

test('an error cell that is NULL by cell_errors, and merged cells, are empty only once', async () => {
  const error = { attributes: 't="e"', content: '<v>#N/A</v>' };
  const file = sheetOf([
    ['id', 'note'],
    [1, error],
  ]);
  const answer = await service.upload(`${update}&empty_cells=null&cell_errors=null`, file);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal((await content())[0]!.note, null);
});

test('types are inferred as without it, and JSON has no such parameter', async () => {
  const file = sheetOf([
    ['a', 'b'],
    [1, null],
    [2, 'x'],
  ]);
  const answer = await service.upload('/table/inferred/upload/excel?empty_cells=null', file);
  assert.deepEqual(
    answer.body.table.columns.map(({ type }: { type: string }) => type),
    ['bigint', 'text'],
  );
  const json = await service.post('/table/inferred/upload/json?empty_cells=null', { data: [] });
  assertProblem(json, 422, 'invalid-parameter');
});
