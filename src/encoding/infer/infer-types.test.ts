import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as kind from '../../core/cells/cell-kind.ts';
import { AppError } from '../../core/errors.ts';
import { TypeInference } from './infer-types.ts';

interface Cell {
  kind: number;
  bytes: Buffer;
}

const none = Buffer.alloc(0);
const missing = undefined;
const nil: Cell = { kind: kind.NULL, bytes: none };
const yes: Cell = { kind: kind.TRUE, bytes: none };
const no: Cell = { kind: kind.FALSE, bytes: none };
const number = (text: string): Cell => ({ kind: kind.NUMBER, bytes: Buffer.from(text) });
const string = (text: string): Cell => ({ kind: kind.STRING, bytes: Buffer.from(text) });
const object = (text: string): Cell => ({ kind: kind.OBJECT, bytes: Buffer.from(text) });
const array = (text: string): Cell => ({ kind: kind.ARRAY, bytes: Buffer.from(text) });
const date: Cell = { kind: kind.DATE, bytes: none };
const timestamp: Cell = { kind: kind.TIMESTAMP, bytes: none };
const time: Cell = { kind: kind.TIME, bytes: none };
const interval: Cell = { kind: kind.INTERVAL, bytes: none };

const UUID = '018f4c1e-7b0a-7cc3-9d2e-0123456789ab';

function infer(cells: (Cell | undefined)[]) {
  const inference = newInference();
  inference.column(0, 'c');
  for (const [row, cell] of cells.entries()) {
    inference.beginRow(row + 1);
    if (cell !== undefined) push(inference, 0, cell);
    inference.endRow();
  }
  return inference.columns()[0]!;
}

function newInference(): TypeInference {
  return new TypeInference({ maxColumns: 1600, maxRows: 1_000_000 }, () => assert.fail('no fault was sent'));
}

/** Pushes a cell as a source does, with other bytes around it. */
function push(inference: TypeInference, column: number, cell: Cell): void {
  if (cell.kind >= kind.DATE) {
    inference.moment(column, cell.kind, 1, 2);
    return;
  }
  const around = Buffer.from('9.e"-');
  const bytes = Buffer.concat([around, cell.bytes, around]);
  inference.cell(column, cell.kind, bytes, around.length, around.length + cell.bytes.length);
}

const digits = (count: number) => '7'.repeat(count);

const rules: [rule: string, type: string, columns: (Cell | undefined)[][]][] = [
  ['never a value', 'text', [[], [nil], [missing, nil, missing]]],
  ['truth values', 'boolean', [[yes], [no], [yes, nil, no, missing]]],
  [
    'whole numbers in the range of bigint',
    'bigint',
    [
      [number('0')],
      [number('-0')],
      [number('-17'), nil, number('123456789012345678')],
      [number('9223372036854775807')],
      [number('-9223372036854775808')],
      [number('9223372036854775799')],
      [number('1000000000000000000')],
    ],
  ],
  [
    'whole numbers beyond it',
    'numeric',
    [
      [number('9223372036854775808')],
      [number('-9223372036854775809')],
      [number('9300000000000000000')],
      [number('10000000000000000000')],
      [number('-12345678901234567890123')],
      [number('1'), number(digits(131_072))],
      [number(`-${digits(131_072)}`)],
    ],
  ],
  [
    'fractions and exponents, alone or with whole numbers',
    'numeric',
    [
      [number('1.0')],
      [number('-0.0')],
      [number('1e3')],
      [number('1E+3')],
      [number('12345678901234567890.12')],
      [number('1'), number('0.1'), number('9223372036854775808')],
      [number('0.5'), number('1')],
      [number('1e131071')],
      [number('-1e131071')],
      [number('1e400')],
      [number('1e-16383')],
      [number('-1.25e-16381')],
      [number(`0.${digits(16_383)}`)],
      [number(`${digits(131_000)}e72`)],
      [number(`1.${digits(20_000)}e4000`)],
    ],
  ],
  [
    'numbers that numeric cannot hold and a double can',
    'double precision',
    [
      [number('0e-16384')],
      [number('-0e999999999999999999999')],
      [number(`1.${'0'.repeat(16_384)}`)],
      [number(`-123.456${'0'.repeat(16_384)}`), nil],
      [number(`0.${'0'.repeat(16_000)}1${'0'.repeat(32_400)}e16001`)],
    ],
  ],
  [
    'numbers that neither can hold, and doubles amid exact numbers',
    'text',
    [
      [number('1e131072')],
      [number('-1e131072')],
      [number('1e-16384')],
      [number('1.1e-16383')],
      [number('1.5'), number('1e131072')],
      [number('1e99999999999999999999')],
      [number('1e-99999999999999999999')],
      [number(`1e${digits(400)}`)],
      [number(`1e-${digits(400)}`)],
      [number(digits(131_073))],
      [number(`0.${digits(16_384)}`)],
      [number(`1.234567890123456${'0'.repeat(16_384)}`)],
      [number(`1.${'0'.repeat(16_383)}1`)],
      [number(`0.${'0'.repeat(400)}1${'0'.repeat(16_000)}`)],
      [number('0e-16384'), number('1')],
      [number('1.5'), number('0e-16384')],
    ],
  ],
  [
    'ISO 8601 dates',
    'date',
    [
      [string('2024-02-29')],
      [string('0001-01-01'), nil, string('9999-12-31')],
      [string('2000-02-29')],
      [string('2023-04-30')],
      [string('2023-01-31')],
    ],
  ],
  [
    'strings that are nearly dates',
    'text',
    [
      '0000-01-01',
      '2023-02-29',
      '1900-02-29',
      '2023-04-31',
      '2023-06-31',
      '2023-09-31',
      '2023-11-31',
      '2023-01-32',
      '2023-01-00',
      '2023-00-10',
      '2023-13-10',
      '2023/01/10',
      '2023-01/10',
      '20230110',
      '2023-1-10',
      '2023-01-1x',
      '2023-0x-10',
      'x023-01-10',
      '20x3-01-10',
      ' 2023-01-1',
      '10.01.2023',
      '+2023-1-10',
      '12023-01-10',
      '2023-01-10 ',
    ].map((text) => [string(text)]),
  ],
  [
    'ISO 8601 date-times without an offset',
    'timestamp without time zone',
    [
      [string('2024-02-29T00:00:00')],
      [string('2024-02-29T23:59:59'), string('2024-02-29T23:59:59.5')],
      [string('2024-02-29T23:59:59.123456')],
      [string('2024-02-29T23:59:59.1234560')],
      [string('2024-02-29T23:59:59.123456000')],
    ],
  ],
  [
    'ISO 8601 date-times with an offset',
    'timestamp with time zone',
    [
      [string('2024-02-29T00:00:00Z')],
      [string('2024-02-29T00:00:00+01:00'), string('2024-02-29T00:00:00.25-15:59')],
      [string('2024-02-29T00:00:00.123456+00:00')],
      [string('2024-02-29T00:00:00.123456000+05:30')],
      [string('2024-02-29T00:00:00-00:30')],
      [string('2024-02-29T00:00:00.1Z')],
    ],
  ],
  [
    'strings that are nearly date-times',
    'text',
    [
      '2024-02-30T00:00:00',
      '2024-02-29 00:00:00',
      '2024-02-29t00:00:00',
      '2024-02-29T24:00:00',
      '2024-02-29T00:60:00',
      '2024-02-29T23:59:60',
      '2024-02-29T0x:00:00',
      '2024-02-29T00-00:00',
      '2024-02-29T00:00-00',
      '2024-02-29T00:00',
      '2024-02-29T00:00Z',
      '2024-02-29T00:00:00.',
      '2024-02-29T00:00:00.Z',
      '2024-02-29T00:00:00,5',
      '2024-02-29T00:00:00.1234567',
      '2024-02-29T00:00:00.123456001Z',
      '2024-02-29T00:00:00.1234560000',
      '2024-02-29T00:00:00.5x',
      '2024-02-29T00:00:00z',
      '2024-02-29T00:00:00ZZ',
      '2024-02-29T00:00:00+01',
      '2024-02-29T00:00:00+0100',
      '2024-02-29T00:00:00+01-00',
      '2024-02-29T00:00:00+16:00',
      '2024-02-29T00:00:00+01:60',
      '2024-02-29T00:00:00-00:00',
      '2024-02-29T00:00:00*01:00',
      '2024-02-29T00:00:00+0x:00',
      '2024-02-29T00:00:00 +01:00',
      '2024-02-29T00:00:00+01:00:00',
    ].map((text) => [string(text)]),
  ],
  [
    'UUIDs in small letters',
    'uuid',
    [[string(UUID)], [string(UUID), nil, string('0'.repeat(8) + UUID.slice(8))]],
  ],
  [
    'strings that are nearly UUIDs',
    'text',
    [
      UUID.toUpperCase(),
      UUID.replaceAll('-', ''),
      `{${UUID}}`,
      ` ${UUID.slice(1)}`,
      `${UUID.slice(0, -1)}g`,
      `${UUID.slice(0, -1)}`,
      `${UUID.slice(0, 9)}-${UUID.slice(10)}`,
      UUID.replace('-', '0'),
      ...[8, 13, 18, 23].map((place) => `${UUID.slice(0, place)}_${UUID.slice(place + 1)}`),
    ].map((text) => [string(text)]),
  ],
  [
    'other strings, strings of digits among them',
    'text',
    [[string('')], [string('007')], [string('42')], [string('true')], [string('null')], [string('Łódź')]],
  ],
  [
    'objects and arrays',
    'jsonb',
    [
      [object('{}')],
      [array('[]')],
      [object('{"a":[1.5e3,-2,{"b":"\\"x\\\\"}],"c":null}'), array('[true,false]'), nil],
      [array('["\\\\u0000","1e999999","\\u0001"]')],
      [array(`[${digits(131_072)},9223372036854775808]`)],
    ],
  ],
  [
    'nested values that jsonb refuses',
    'text',
    [
      [object('{"a":"\\u0000"}')],
      [object('{"\\u0000":1}')],
      [array('["a\\\\\\u0000"]')],
      [array('[1e131072]')],
      [array('[[0],{"a":-1E-16384}]')],
      [array('[0e-16384]')],
      [array(`[1,${digits(131_073)}]`)],
    ],
  ],
  [
    'date cells, date strings amid them too',
    'date',
    [[date], [date, nil, date], [date, string('2024-01-01')]],
  ],
  [
    'timestamp cells, alone or with dates or date-time strings',
    'timestamp without time zone',
    [[timestamp], [date, timestamp], [timestamp, date], [timestamp, string('2024-01-01T00:00:00'), date]],
  ],
  ['time cells', 'time without time zone', [[time, nil, time]]],
  ['interval cells', 'interval', [[interval, interval]]],
];

describe('the type of a column', () => {
  for (const [rule, type, columns] of rules) {
    it(`${rule} gives ${type}`, () => {
      for (const cells of columns) {
        const shown = cells.map((cell) => cell?.bytes.subarray(0, 60).toString()).join(' | ');
        assert.equal(infer(cells).type, type, shown);
      }
    });
  }

  it('the type of a column of mixed values is text, in any order', () => {
    const cells: [group: string, cell: Cell][] = [
      ['boolean', yes],
      ['number', number('1')],
      ['number', number('1.5')],
      ['double', number('0e-16384')],
      ['date', string('2024-01-01')],
      ['date', date],
      ['timestamp string', string('2024-01-01T00:00:00')],
      ['timestamptz', string('2024-01-01T00:00:00Z')],
      ['uuid', string(UUID)],
      ['text', string('a')],
      ['nested', object('{}')],
      ['time', time],
      ['interval', interval],
    ];
    for (const [group, first] of cells) {
      for (const [otherGroup, second] of cells) {
        const isDateInTimestamps = first === date && otherGroup === 'timestamp string';
        const isTimestampsWithDate = group === 'timestamp string' && second === date;
        if (group === otherGroup || isDateInTimestamps || isTimestampsWithDate) continue;
        assert.equal(infer([first, second]).type, 'text', `${group}, ${otherGroup}`);
        assert.equal(infer([first, nil, second, first, missing]).type, 'text', `${group}, ${otherGroup}`);
      }
    }
    assert.equal(infer([timestamp, string('2024-01-01')]).type, 'text');
    assert.equal(infer([timestamp, time]).type, 'text');
    assert.equal(infer([string('a'), timestamp, date]).type, 'text');
  });

  it('the type of a column does not depend on the order of the rows', () => {
    const samples = rules
      .flatMap(([, , columns]) => columns.flat())
      .filter((cell) => (cell?.bytes.length ?? 0) < 50);
    fc.assert(
      fc.property(
        fc
          .array(fc.constantFrom(...samples), { maxLength: 4 })
          .chain((cells) =>
            fc.tuple(fc.constant(cells), fc.shuffledSubarray(cells, { minLength: cells.length })),
          ),
        ([cells, shuffled]) => assert.equal(infer(shuffled).type, infer(cells).type),
      ),
    );
  });
});

describe('the columns of an inference', () => {
  it('include columns with only NULL or missing cells, in order of first appearance', () => {
    const inference = newInference();
    inference.column(0, 'full');
    inference.column(1, 'null');
    inference.beginRow(1);
    push(inference, 0, number('1'));
    push(inference, 1, nil);
    inference.endRow();
    inference.beginRow(5);
    inference.column(2, 'late');
    push(inference, 2, yes);
    push(inference, 0, number('2'));
    inference.endRow();
    assert.equal(inference.rowCount, 2);
    assert.deepEqual(inference.columns(), [
      { name: 'full', type: 'bigint', column: 0, firstValue: '1' },
      { name: 'null', type: 'text', column: 1 },
      { name: 'late', type: 'boolean', column: 2 },
    ]);
    assert.equal(inference.drain(), undefined);
  });

  const oddityOf = (...cells: (Cell | undefined)[]) => infer(cells).oddity;
  const many = (count: number, cell: Cell) => new Array<Cell>(count).fill(cell);

  it('inference names the value that made a column text after values of another type', () => {
    const expected = { first: { row: 4, value: 'n/a' }, type: 'numeric' };
    assert.deepEqual(oddityOf(number('1'), nil, number('2.5'), string('n/a'), string('x')), expected);
    assert.deepEqual(oddityOf(number('1'), nil, number('2.5'), string('n/a'), number('3')), expected);
    const texts = many(100, string('x'));
    assert.deepEqual(oddityOf(number('1'), ...texts), { first: { row: 2, value: 'x' }, type: 'bigint' });
    assert.equal(oddityOf(number('1'), number('1e400')), undefined);
  });

  it('inference names and counts the odd values at the beginning if the other values have one type', () => {
    const expected = { first: { row: 1, value: 'n/a' }, type: 'numeric', counts: { odd: 1, typed: 3 } };
    assert.deepEqual(oddityOf(string('n/a'), number('1'), number('2.5'), nil, number('3')), expected);
    assert.deepEqual(oddityOf(string('unit'), string('kg'), ...many(20, number('1'))), {
      first: { row: 1, value: 'unit' },
      type: 'bigint',
      counts: { odd: 2, typed: 20 },
    });
    assert.deepEqual(oddityOf(nil, number('2024'), ...many(10, date)), {
      first: { row: 2, value: '2024' },
      type: 'date',
      counts: { odd: 1, typed: 10 },
    });
    assert.deepEqual(oddityOf(date, string('x'), ...many(50, number('1')), yes, object('{}')), {
      first: { row: 1, value: '2000-01-02' },
      type: 'bigint',
      counts: { odd: 4, typed: 50 },
    });
  });

  it('inference counts more than twenty odd values while they are rare', () => {
    const mostly = [...many(300, number('1')), string('x')];
    const cells = [string('n/a'), ...new Array(30).fill(mostly).flat()] as Cell[];
    assert.deepEqual(oddityOf(...cells)?.counts, { odd: 31, typed: 9000 });
  });

  it('inference has no warning if the odd values are not few', () => {
    assert.equal(oddityOf(string('n/a'), number('1')), undefined);
    assert.equal(oddityOf(string('n/a'), number('1'), number('2')), undefined);
    assert.equal(oddityOf(string('x'), string('y'), ...many(19, number('1'))), undefined);
    assert.equal(oddityOf(string('x'), string('y')), undefined);
    assert.equal(oddityOf(string('x')), undefined);
    // The column has become text before the numbers come, so there is no odd value.
    assert.equal(oddityOf(...many(20, string('x')), ...many(5000, number('1'))), undefined);
    const half = [...many(30, number('1')), ...many(30, date)];
    assert.equal(oddityOf(string('x'), ...half, ...many(5000, date)), undefined);
  });

  it('inference keeps the state of each column when columns are added', () => {
    const inference = newInference();
    inference.beginRow(1);
    for (let column = 0; column < 1600; column++) {
      inference.column(column, `c${column}`);
      push(inference, column, column % 2 === 0 ? yes : number('1'));
    }
    inference.endRow();
    const columns = inference.columns();
    assert.equal(columns.length, 1600);
    for (const [column, inferred] of columns.entries()) {
      const type = column % 2 === 0 ? 'boolean' : 'bigint';
      const firstValue = type === 'bigint' ? { firstValue: '1' } : {};
      assert.deepEqual(inferred, { name: `c${column}`, type, column, ...firstValue });
    }
  });

  it('inference refuses more columns and rows than the limits', () => {
    const inference = new TypeInference({ maxColumns: 2, maxRows: 1 });
    inference.beginRow(1);
    inference.column(0, 'a');
    inference.column(1, 'b');
    const isLimit = (limit: RegExp) => (error: unknown) =>
      error instanceof AppError && error.code === 'limit-exceeded' && limit.test(error.detail);
    assert.throws(() => inference.column(2, 'c'), isLimit(/too many columns: the limit is 2 columns/));
    inference.endRow();
    assert.throws(() => inference.beginRow(2), isLimit(/too many rows: the limit is 1 row \(MAX_ROWS\)/));
  });

  it('pass problems on and count such a cell as missing', () => {
    const faults: unknown[] = [];
    const inference = new TypeInference({ maxColumns: 9, maxRows: 9 }, (column, fault, bytes, start, end) =>
      faults.push([inference.row, column, fault, bytes.toString('utf8', start, end)]),
    );
    inference.beginRow(3);
    inference.column(0, 'a');
    inference.fault(0, kind.ERROR_CELL, Buffer.from('x#N/Ax'), 1, 5);
    inference.endRow();
    inference.beginRow(4);
    inference.fault(-1, kind.ROW_NOT_AN_OBJECT, Buffer.from('7'), 0, 1);
    inference.endRow();
    assert.deepEqual(faults, [
      [3, 0, kind.ERROR_CELL, '#N/A'],
      [4, -1, kind.ROW_NOT_AN_OBJECT, '7'],
    ]);
    assert.deepEqual(inference.columns(), [{ name: 'a', type: 'text', column: 0 }]);
  });
});
