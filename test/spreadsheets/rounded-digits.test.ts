/** The warning about numbers of workbooks that lose digits after the 15th, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { type CellSpec, sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('rounded_');

interface Warned {
  code: string;
  column?: string;
  detail: string;
  choices?: unknown;
}

const roundedIn = (warnings: Warned[]): Warned[] => warnings.filter(({ code }) => code === 'digits-rounded');
const number = (text: string): CellSpec => ({ attributes: '', content: `<v>${text}</v>` });
const sheet = (values: string[]): Buffer => sheetOf([['x'], ...values.map((text) => [number(text)])]);

const asDouble = {
  table: { columns: [{ name: 'x', type: 'double precision' }] },
};

/** Uploads one column of numbers. @returns the warnings about rounded digits and the stored values */
async function load(
  values: string[],
  body?: unknown,
): Promise<{ warnings: Warned[]; stored: string[]; type: string }> {
  const name = nextTable();
  const answer = await service.upload(`/table/${name}/upload/excel`, sheet(values), body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const rows = await service.rows(`SELECT x::text FROM ${name}`);
  return {
    warnings: roundedIn(answer.body.load.warnings),
    stored: rows.map(({ x }) => x as string),
    type: answer.body.table.columns[0].type,
  };
}

test('a column of doubles that lose digits gets a warning with the first cell and the type that keeps them', async () => {
  const pick = randomNumbers(11);
  const doubles = Array.from({ length: 200 }, () => String((pick(1_000_000_007) + 0.5) / 1_000_000_007 / 3));
  const { warnings, type } = await load(['0.5', ...doubles]);
  assert.equal(type, 'numeric');
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!.detail, /^Digits of \d{3} values of "x" .* \(first in Sheet1!A\d+\)/);
  assert.deepEqual(warnings[0]!.choices, [
    { parameters: { extra_columns: 'add' }, type: 'double precision' },
  ]);
  const kept = await load(['0.5', ...doubles], asDouble);
  assert.deepEqual(kept.warnings, []);
  assert.deepEqual(kept.stored.map(Number), [0.5, ...doubles.map(Number)]);
});

test('the inspection and columns of text and numeric warn, too', async () => {
  const values = ['1', '0.2379646270918914'];
  const { body } = await service.upload('/api/v1/inspect/excel', sheet(values));
  const [warning] = roundedIn(body.sheet.warnings);
  assert.match(warning!.detail, /^Digits of values of "x" .* would be rounded \(first in Sheet1!A3\)/);
  for (const type of ['text', 'numeric', 'jsonb']) {
    const { warnings } = await load(values, { table: { columns: [{ name: 'x', type }] } });
    assert.equal(warnings.length, 1, type);
    assert.match(warnings[0]!.detail, /^Digits of one value of "x" .* were rounded/);
    assert.equal(warnings[0]!.choices, undefined);
  }
  // The type itself rounds.
  const { warnings } = await load(values, { table: { columns: [{ name: 'x', type: 'numeric(12,2)' }] } });
  assert.deepEqual(warnings, []);
});

test('artefacts of arithmetic, zeros and whole numbers give no warning', async () => {
  const { warnings, stored } = await load([
    '0.30000000000000004',
    '1.1000000000000001',
    '1234567890.3000002',
    '-99.989999999999995',
    '0.123456789012345000',
    '1.23456789012345000e-7',
    '12345678901234567890',
    '2.9999999999999996',
  ]);
  assert.deepEqual(warnings, []);
  assert.deepEqual(stored.slice(0, 4), ['0.3', '1.1', '1234567890.3', '-99.99']);
});

test('digits before the point count, and so do numbers with an exponent', async () => {
  for (const value of [
    '123456789012345.67',
    '1.2345678901234567e-7',
    '-0.00012345678901234567',
    '0.99999999999999511',
  ]) {
    assert.equal((await load([value])).warnings.length, 1, value);
  }
});
