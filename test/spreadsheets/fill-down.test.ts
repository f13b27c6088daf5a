/** `fill_down`: empty cells of named columns take the value above them. */
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
beforeEach(() => service.rows('DROP TABLE IF EXISTS sales'));

const upload = (query: string, file: Buffer | string) =>
  service.upload(`/table/sales/upload/excel?${query}`, Buffer.from(file as string));
const content = () => service.rows('SELECT * FROM sales');

const rows: CellSpec[][] = [
  ['Region', 'day', 'shop', 'note'],
  [null, null, 'A', null],
  ['North', '2026-01-01', 'B', 'x'],
  [null, null, 'C', null],
  [null, '2026-01-02', 'D', null],
  [null, null, null, null],
  ['South', null, 'E', 'y'],
  ['  ', null, 'F', null],
];

const files: Record<string, Buffer> = {
  'a workbook': sheetOf(rows),
  'a text file': Buffer.from(rows.map((row) => row.map((cell) => cell ?? '').join(',')).join('\n')),
};

for (const [kind, file] of Object.entries(files)) {
  test(`${kind}: empty cells of the named columns take the value above, others stay empty`, async () => {
    const { status, body } = await upload('fill_down=region,day', file);
    assert.equal(status, 201, JSON.stringify(body));
    const found = await service.rows('SELECT "Region" AS region, day::text, shop, note FROM sales');
    assert.deepEqual(
      found.map(({ region, day, shop, note }) => [region, day, shop, note]),
      [
        [null, null, 'A', null],
        ['North', '2026-01-01', 'B', 'x'],
        ['North', '2026-01-01', 'C', null],
        ['North', '2026-01-02', 'D', null],
        ['South', '2026-01-02', 'E', 'y'],
        ['South', '2026-01-02', 'F', null],
      ],
    );
  });

  test(`${kind}: without fill_down no cell is filled`, async () => {
    await upload('', file);
    assert.equal((await content()).filter(({ Region }) => /\S/.test(`${Region ?? ''}`)).length, 2);
  });
}

test('with quoted=exact an empty field in quotes is the empty text, and is not filled', async () => {
  const file = 'region,shop\nNorth,A\n"",B\n,C\nSouth,D\n,E\n';
  const { status, body } = await upload('fill_down=region&quoted=exact', file);
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(
    (await content()).map(({ region }) => region),
    ['North', '', '', 'South', 'South'],
  );
});

test('a name that the sheet does not have gives a warning, and too many names are refused', async () => {
  const { body } = await upload('fill_down=area', 'region,shop\nN,A\n,B\n');
  assert.deepEqual(
    body.load.warnings.map(({ code, column }: { code: string; column: string }) => [code, column]),
    [['nothing-filled', 'area']],
  );
  const names = Array.from({ length: 11 }, (_, n) => `c${n}`).join(',');
  for (const query of [`fill_down=${names}`, 'fill_down=a,a', 'fill_down='])
    assertProblem(await upload(query, 'a\n1\n'), 422, 'invalid-parameter');
});

test('below a cell with a problem empty cells have the same problem', async () => {
  const text = 'region,n\n"N" x,1\n,2\nS,3\n,4\n';
  const answer = await upload('fill_down=region&quotes=strict', text);
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.deepEqual(
    errors!.map(({ cell }) => cell),
    ['A2', 'A3'],
  );
  assert.equal((await upload('fill_down=region&quotes=strict&faulty_rows=leave_out', text)).status, 201);
  assert.deepEqual(await content(), [
    { region: 'S', n: '3' },
    { region: 'S', n: '4' },
  ]);
});

test('a column is filled under the name of the header, before it is renamed, and inspections fill it, too', async () => {
  const text = 'region,n\nN,1\n,2\n';
  assert.equal((await upload('fill_down=region&rename=region:area', text)).status, 201);
  assert.deepEqual(await service.rows('SELECT area FROM sales'), [{ area: 'N' }, { area: 'N' }]);
  const { body } = await service.upload('/api/v1/inspect/excel?fill_down=region', Buffer.from(text));
  assert.deepEqual(body.sheet.rows, [
    ['N', '1'],
    ['N', '2'],
  ]);
});

test('long values are not repeated, and short ones only as far as the size of the file allows', async () => {
  const long = `a,b\n${'x'.repeat(1001)},1\n`;
  assert.equal((await upload('fill_down=a', long)).status, 201);
  assertProblem(await upload('fill_down=a&if_exists=replace', `${long},2\n`), 413, 'limit-exceeded');
  const many = `a,b\n${'x'.repeat(1000)},1\n${',2\n'.repeat(120_000)}`;
  const { detail } = assertProblem(
    await upload('fill_down=a&if_exists=replace', many),
    413,
    'limit-exceeded',
  );
  assert.match(detail, /fill_down repeats/);
});

for (const [name, row, expected] of [
  ['a value', 1, ['North', 'North', 'North']],
  ['an empty cell', 2, ['Nroth', 'North', 'North']],
] as const)
  test(`a correction of ${name} also fills the cells below`, async () => {
    const table = [
      ['region', 'n'],
      ['Nroth', 1],
      [null, 2],
      [null, 3],
    ];
    const text = table.map((cells) => cells.map((cell) => cell ?? '').join(',')).join('\n');
    for (const file of [text, sheetOf(table)]) {
      const body = new FormData();
      body.append('patch', JSON.stringify([{ row, column: 'region', value: 'North' }]));
      body.append('file', new Blob([file as string]), 'sales.csv');
      const path = '/table/sales/upload/excel?if_exists=replace&fill_down=region';
      const answer = await service.request('POST', path, { body });
      assert.ok(answer.status < 300, JSON.stringify(answer.body));
      assert.deepEqual(
        (await content()).map(({ region }) => region),
        expected,
      );
    }
  });
