/** Columns that are text because of a few odd values: tests which value the warning `mixed-column` names, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sheetXml } from '../support/workbook.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

let tables = 0;

/** Returns the details of the warnings `mixed-column`. The upload must succeed. */
function mixed(answer: TestAnswer): string[] {
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const warnings = answer.body.load.warnings as { code: string; column: string; detail: string }[];
  return warnings.filter(({ code }) => code === 'mixed-column').map(({ detail }) => detail);
}

const uploadJson = async (values: unknown[]): Promise<string[]> => {
  const data = values.map((Price) => ({ Price }));
  return mixed(await service.post(`/table/mixed_${++tables}/upload/json`, { data }));
};
const uploadFile = async (file: Buffer): Promise<string[]> =>
  mixed(await service.upload(`/table/mixed_${++tables}/upload/excel`, file));

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const dates = (count: number) =>
  Array.from({ length: count }, (_, day) => new Date(Date.UTC(2024, 0, day + 1)).toISOString().slice(0, 10));

suite('JSON', () => {
  const cases: [title: string, values: unknown[], expected: string[]][] = [
    [
      'an odd value after others is named',
      [...numbers(40), 'Total', 41],
      ['"Total" in row 41; every value above it is a whole number (bigint).'],
    ],
    [
      'an odd first value is named',
      ['N/A', ...numbers(3)],
      [
        '"N/A" in row 1; its 3 other values are whole numbers (bigint). Send null_values=N/A to load this as NULL.',
      ],
    ],
    [
      'an odd first value that has a type itself is named',
      [2024, null, null, ...dates(2)],
      ['"2024-01-01" in row 4; every value above it is a whole number (bigint).'],
    ],
    [
      'a number above dates is named, not the first date',
      [null, 2024, ...dates(30), null],
      ['"2024" in row 2; its 30 other values are dates (date).'],
    ],
    [
      'few odd values are counted, and the first of them is named',
      ['EUR', ...numbers(30), 1.5, null, 'Total', true],
      ['3 values, the first is "EUR" in row 1; its 31 other values are numbers (numeric).'],
    ],
    ['two odd values of few are no reason for a warning', ['EUR', ...numbers(15), 'Total'], []],
    ['two numbers below a text are no reason for a warning', ['N/A', 1, 2], []],
    ['texts among which are numbers give no warning', ['a', 1, 'b', 2, 'c', 3], []],
    ['texts above many numbers give no warning', [...numbers(20).map(String), ...numbers(500)], []],
  ];
  for (const [title, values, expected] of cases) {
    test(title, async () => {
      const start = 'Column "Price" became text because of ';
      assert.deepEqual(
        await uploadJson(values),
        expected.map((reason) => start + reason),
      );
    });
  }
});

test('CSV: a row of units above a thousand numbers is named, and the column of units is text without a warning', async () => {
  const rows = numbers(1000).map((row) => `${row},${row}.50,pcs ${row}`);
  assert.deepEqual(await uploadFile(Buffer.from(['no,price,unit', 'n/a,EUR,kg', ...rows].join('\n'))), [
    'Column "no" became text because of "n/a" in A2; its 1000 other values are whole numbers (bigint). Send null_values=n/a to load this as NULL.',
    'Column "price" became text because of "EUR" in B2; its 1000 other values are numbers (numeric).',
  ]);
});

test('.xlsx: the cell of the odd value is named, first or last', async () => {
  const day = { attributes: 's="1"', content: '<v>46082</v>' };
  const rows = numbers(504).map((row) => [row, row === 1 ? 'day' : day]);
  const xml = sheetXml([['Price', 'Day'], ...rows, ['Total', day]]);
  const sheets = [{ name: 'Sales Data', xml }];
  assert.deepEqual(await uploadFile(buildWorkbook({ formats: [14], sheets })), [
    `Column "Price" became text because of "Total" in 'Sales Data'!A506; every value above it is a whole number (bigint).`,
    `Column "Day" became text because of "day" in 'Sales Data'!B2; its 504 other values are dates (date).`,
  ]);
});

test('with values=natural a column that one value made text is named, with the type of the others', async () => {
  const csv = 'day,price\n13.10.2026,"1,50"\n14.10.2026,"2,25"\n15.10.2026,"3,75"\n3l.10.2026,"4,5O"\n';
  const answer = await service.upload('/table/mixed_natural/upload/excel?values=natural', Buffer.from(csv));
  assert.deepEqual(mixed(answer), [
    'Column "day" became text because of "3l.10.2026" in A5; every value above it is a date (date).',
    'Column "price" became text because of "4,5O" in B5; every value above it is a number (numeric).',
  ]);
});

test('with values=natural a wrong date is named, too, if the dates above it fit several orders', async () => {
  const csv = 'day\n01.02.2026\n02.02.2026\n03.02.2026\n31.02.2026\n13.02.2026\n';
  const answer = await service.upload('/table/mixed_open/upload/excel?values=natural', Buffer.from(csv));
  assert.deepEqual(mixed(answer), [
    'Column "day" became text because of "31.02.2026" in A5; every value above it is a date (date).',
  ]);
});

test('a column is not offered as numbers if any of its values would change, wherever it is', async () => {
  const offers = async (values: string[]): Promise<[detail: string, types: string[]]> => {
    const answer = await service.upload(
      `/table/mixed_${++tables}/upload/excel`,
      Buffer.from(['code', ...values].join('\n')),
    );
    const [warning] = answer.body.load.warnings.filter(
      ({ code }: { code: string }) => code === 'mixed-column',
    );
    const types = (warning.choices ?? []).map(({ type }: { type: string }) => type);
    return [/(As a number .*)?$/.exec(warning.detail)![0], types];
  };
  const many = numbers(30).map(String);
  const zero = (place: string) => `As a number "007" in ${place} would lose its leading zero.`;
  assert.deepEqual(await offers(['abc', ...many]), ['', ['bigint']]);
  assert.deepEqual(await offers([...many, 'abc']), ['', ['bigint']]);
  assert.deepEqual(await offers(['abc', ...many, '007']), [zero('A33'), []]);
  assert.deepEqual(await offers(['12', 'abc', '007', ...many]), [zero('A4'), []]);
  assert.deepEqual(await offers([...many, 'abc', 'def', ' 007.50']), [
    'As a number " 007.50" in A34 would lose its leading zero.',
    [],
  ]);
  assert.deepEqual(await offers([...many, 'abc', '+49301234567']), [
    'As a number "+49301234567" in A33 would lose its plus sign.',
    [],
  ]);
  assert.deepEqual(await offers([...many, '1.5', 'abc', '12e5']), [
    'As a number "12e5" in A34 would be written in another way.',
    [],
  ]);
  assert.deepEqual(await offers([...many, '007', 'abc']), [
    'As a number it would lose its leading zero.',
    [],
  ]);
  assert.deepEqual(await offers([...many, 'abc', '01/02/2026']), ['', ['bigint']]);
});

test('zeros that a column of numbers cannot keep give a warning, but not those of a refused value', async () => {
  const csv = Buffer.from('a,b,c,d,e\n1,1,1,1,1\n007,-007.5,00,01,007\n0,0.5,0,0,0\n0012,x,1,1,1\n');
  const types = ['bigint', 'numeric', 'double precision', 'smallint', 'text'];
  const columns = types.map((type, index) => ({ name: 'abcde'[index], type }));
  const answer = await service.upload(
    `/table/mixed_${++tables}/upload/excel?faulty_rows=leave_out&dry_run=true`,
    csv,
    { table: { columns } },
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const lost = answer.body.load.warnings.filter(({ code }: { code: string }) => code === 'zeros-left-out');
  assert.deepEqual(
    lost.map(({ column, detail }: { column: string; detail: string }) => [
      column,
      /of (one value|\d values) of .*first in (\w+)/.exec(detail)!.slice(1).join(' '),
    ]),
    [
      ['a', '2 values A3'],
      ['b', 'one value B3'],
      ['c', 'one value C3'],
      ['d', 'one value D3'],
    ],
  );
});
