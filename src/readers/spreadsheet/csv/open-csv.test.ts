import assert from 'node:assert/strict';
import process from 'node:process';
import { test } from 'node:test';
import { randomNumbers } from '../../../../test/support/random-numbers.ts';
import { type RecordedRows, recordRows } from '../../../../test/support/recorded-cells.ts';
import { sized } from '../../../../test/support/sized.ts';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import { memoryFile } from '../../../../test/support/xlsx-builder.ts';
import { withSecondReading } from '../../../core/cells/row-source.ts';
import { AppError } from '../../../core/errors.ts';
import { openSpreadsheet } from '../open-spreadsheet.ts';
import type { SheetSource } from '../sheet-source.ts';
import type { SpreadsheetOptions } from '../spreadsheet-options.ts';

const limits = spreadsheetLimits({ maxRows: 1000 });

type Options = Partial<SpreadsheetOptions>;

function open(content: string | Buffer, options: Options = {}): Promise<SheetSource> {
  const file = memoryFile(Buffer.from(content as string));
  return openSpreadsheet(file, { columnNames: 'exact', cellErrors: 'problem', ...options }, limits);
}

async function read(
  content: string | Buffer,
  options: Options = {},
): Promise<RecordedRows & { source: SheetSource }> {
  const source = await open(content, options);
  const sink = await withSecondReading(async () => {
    const first = recordRows();
    await source.read(first, new AbortController().signal);
    return first;
  });
  return { ...sink, source };
}

const plainRows = ({ rows }: RecordedRows): [number, Record<string, string>][] =>
  rows.map(({ row, cells }) => [row, { ...cells }]);

test('cells have the kind that their text looks like', async () => {
  const result = await read(
    'id,zip,price,day,ok,loud\r\n1,01234,1.50,2024-02-29,true,TRUE\r\n,,,,,\r\n-2,"","3",,,',
  );
  assert.deepEqual(result.columns, ['id', 'zip', 'price', 'day', 'ok', 'loud']);
  assert.deepEqual(plainRows(result), [
    [
      1,
      {
        id: 'number 1',
        zip: 'string 01234',
        price: 'number 1.50',
        day: 'string 2024-02-29',
        ok: 'true',
        loud: 'string TRUE',
      },
    ],
    [3, { id: 'number -2', price: 'number 3' }],
  ]);
  assert.deepEqual(result.source.warnings, []);
  assert.deepEqual(result.source.locate(3, 2, 'price'), { cell: 'C4' });
  assert.deepEqual(result.source.locate(3, -1, ''), { cell: '4:4' });
});

test('a record with line breaks is one row, and an empty record is a gap', async () => {
  const result = await read('a,b\n"x\n\ny",1\n\nz,2\n');
  assert.deepEqual(plainRows(result), [
    [1, { a: 'string x\n\ny', b: 'number 1' }],
    [3, { a: 'string z', b: 'number 2' }],
  ]);
  assert.deepEqual(result.source.locate(3, 0, 'a'), { cell: 'A4' });
});

test('header row, range and names work as for every spreadsheet', async () => {
  const text = '\nReport\nno,First name,x,x,\n0,A,1,2,3\n0,B,4,5,6\n';
  const second = await read(text, { headerRow: 3, range: 'B:E' });
  assert.deepEqual(second.columns, ['First name', 'x', 'x_2', 'column_E']);
  assert.deepEqual(
    second.source.warnings.map(({ code }) => code),
    ['repeated-header', 'blank-header'],
  );
  const part = await read(text, { range: 'B3:B4', columnNames: 'snake_case' });
  assert.deepEqual(part.columns, ['first_name']);
  assert.deepEqual(plainRows(part), [[1, { first_name: 'string A' }]]);
  assert.deepEqual(part.source.locate(1, 0, ''), { cell: 'B4' });
  const first = await read(text);
  assert.deepEqual(first.columns.slice(0, 2), ['Report', 'column_B']);
});

test('a text file may have more rows than a sheet', async () => {
  const result = await read(`a\n${'\n'.repeat(1_048_600)}last\n`);
  assert.deepEqual(plainRows(result), [[1_048_601, { a: 'string last' }]]);
});

test('any number of records without a value may come before the header', async () => {
  assert.deepEqual(plainRows(await read(`${'\n'.repeat(400_000)}a\n1\n`)), [[1, { a: 'number 1' }]]);
});

const encodings: [title: string, bytes: Buffer, warning: string | undefined][] = [
  ['UTF-8', Buffer.from('naïve,größe\n漢,1\n'), undefined],
  ['UTF-8 with its mark', Buffer.from('\ufeffnaïve,größe\n漢,1\n'), undefined],
  ['UTF-16', Buffer.from('\ufeffnaïve,größe\n漢,1\n', 'utf16le'), 'UTF-16'],
  ['UTF-16, big end first', Buffer.from('\ufeffnaïve,größe\n漢,1\n', 'utf16le').swap16(), 'UTF-16'],
  ['UTF-16 without its mark', Buffer.from('naïve,größe\n漢,1\n', 'utf16le'), 'UTF-16'],
  ['Windows-1252', Buffer.from('na\xefve,gr\xf6\xdfe\n\x80,1\n', 'latin1'), 'Windows-1252'],
];

for (const [title, bytes, warning] of encodings) {
  test(title, async () => {
    const result = await read(bytes);
    const sign = warning === 'Windows-1252' ? '€' : '漢';
    assert.deepEqual(plainRows(result), [[1, { naïve: `string ${sign}`, größe: 'number 1' }]]);
    assert.deepEqual(
      result.source.warnings.map(({ code }) => code),
      warning === undefined ? [] : ['encoding'],
    );
    if (warning !== undefined) assert.ok(result.source.warnings[0]!.detail.includes(warning));
  });
}

test('one invalid byte at the end means that the whole file is not UTF-8', async () => {
  const read = async (line: string) => {
    const source = await openSpreadsheet(
      memoryFile(Buffer.from(`a,b\n${line.repeat(20_000)}x\xe9,1\n`, 'latin1')),
      { columnNames: 'exact', cellErrors: 'problem' },
      { ...limits, maxRows: 100_000 },
    );
    const sink = recordRows();
    await source.read(sink, new AbortController().signal);
    return sink.rows;
  };
  const rows = await read('grosse,1\n');
  assert.equal(rows[0]!.cells.a, 'string grosse');
  assert.equal(rows.at(-1)!.cells.a, 'string xé');
  await assert.rejects(read('gr\xc3\xb6\xc3\x9fe,1\n'), {
    code: 'invalid-file',
    detail: /^Line 20002 of the file \(byte 200006\) is not UTF-8/,
  });
});

test('texts that cross the borders of chunks are read', async () => {
  const bytes = Buffer.from(`\ufeffa;b\n${'"größe ""漢""";1\n'.repeat(9000)}`);
  for (const encoded of [bytes, Buffer.from(bytes.toString(), 'utf16le')]) {
    const source = await openSpreadsheet(
      memoryFile(encoded),
      { columnNames: 'exact', cellErrors: 'problem' },
      { ...limits, maxRows: 9000 },
    );
    for (let pass = 0; pass < 2; pass++) {
      const sink = recordRows();
      await source.read(sink, new AbortController().signal);
      assert.equal(sink.rows.length, 9000);
      for (const { cells } of sink.rows) {
        assert.deepEqual({ ...cells }, { a: 'string größe "漢"', b: 'number 1' });
      }
      assert.equal(source.warnings[0]!.code, 'delimiter');
    }
  }
});

test('a delimiter other than a comma gives a warning', async () => {
  const warningsOf = async (text: string): Promise<string[]> =>
    (await read(text)).source.warnings.map(({ detail }) => detail);
  assert.match((await warningsOf('a;b\n1;2\n'))[0]!, /semicolons/);
  assert.match((await warningsOf('a\tb\n1\t2\n'))[0]!, /tabs/);
  assert.match((await warningsOf('sep=|\na|b\n1|2\n'))[0]!, /"\|"/);
  const stated = await read('\ufeffsep=;\r\na;b\r\n1,5;2\r\n');
  assert.deepEqual(plainRows(stated), [[1, { a: 'string 1,5', b: 'number 2' }]]);
  // The line `sep=` does not count, because spreadsheet programs do not show it.
  assert.deepEqual(stated.source.locate(1, 0, 'a'), { cell: 'A2' });
});

test('text after a closing quote is a problem of its cell', async () => {
  assert.deepEqual(plainRows(await read('a,b\n"say "hi"",1\n', { text: { quotes: 'strict' } })), [
    [1, { a: 'fault TEXT_AFTER_QUOTE say "hi""', b: 'number 1' }],
  ]);
});

test('files without rows give a warning', async () => {
  assert.deepEqual((await read('a,b')).columns, ['a', 'b']);
  for (const text of ['\n\n', '\ufeff', ' \n', ',,\n']) assert.deepEqual((await read(text)).columns, []);
});

const refused: [title: string, content: string | Buffer, options: Options, code: string, detail: RegExp][] = [
  ['a sheet', 'a\n1\n', { sheet: 'Data' }, 'invalid-parameter', /no sheets/],
  ['a second sheet', 'a\n1\n', { sheet: '2' }, 'invalid-parameter', /no sheets/],
  ['a range that is none', 'a\n1\n', { range: 'x' }, 'invalid-parameter', /range/],
  ['an open quote', 'a,b\n1,"2\n3\n', {}, 'invalid-file', /record 2, column B/],
  [
    'a broken mark',
    Buffer.from('\xef\xbb\xbfa\n\xe9\n', 'latin1'),
    {},
    'invalid-file',
    /not UTF-8 in line 2 \(byte 6\)/,
  ],
  ['half a character', Buffer.from('\xff\xfea\0\n', 'latin1'), {}, 'invalid-file', /UTF-16 up to byte 5,/],
  ['NUL at once', 'a,b\n1,\0\n', {}, 'unsupported-file', /a NUL byte in line 2 \(byte 6\)\./],
  ['NUL after a mark', '\ufeffa\n\0\n', {}, 'unsupported-file', /a NUL byte in line 2 \(byte 5\)\./],
  ['NUL later', `${'a,b\n'.repeat(1000)}\0`, {}, 'unsupported-file', /NUL byte in line 1001 \(byte 4000\)/],
  [
    'NUL in UTF-16',
    Buffer.from('\ufeffa,b\n1,\0\n', 'utf16le'),
    {},
    'unsupported-file',
    /a NUL character in line 2\./,
  ],
  ['rows', `a\n${'1\n'.repeat(1001)}`, {}, 'limit-exceeded', /1,000 rows/],
  ['columns', 'x,'.repeat(51), {}, 'limit-exceeded', /50 columns/],
  ['more columns than a sheet has', `a\n${','.repeat(16_384)}x`, {}, 'limit-exceeded', /16,384 columns/],
  ['a cell', `a\n${'x'.repeat(100_001)}`, {}, 'limit-exceeded', /100,000 bytes/],
  ['a header', '"0123456789",'.repeat(16_000), {}, 'limit-exceeded', /column names/],
];

for (const [title, content, options, code, detail] of refused) {
  test(`${title} is refused`, async () => {
    await assert.rejects(read(content, options), (error) => {
      assert.ok(error instanceof AppError, String(error));
      assert.equal(error.code, code, error.detail);
      assert.match(error.detail, detail);
      return true;
    });
  });
}

test('the only sheet may be chosen by its number', async () => {
  assert.deepEqual((await read('a\n1\n', { sheet: '1' })).columns, ['a']);
});

test('a pass ends with the reason of its signal', async () => {
  const source = await open(`a\n${'1\n'.repeat(900)}`);
  await assert.rejects(source.read(recordRows(), AbortSignal.abort(new Error('cancelled'))), /cancelled/);
  const controller = new AbortController();
  const sink = { ...recordRows(), drain: () => Promise.resolve(controller.abort(new Error('left'))) };
  await assert.rejects(source.read(sink, controller.signal), /left/);
});

test('the source waits for the sink', async () => {
  const source = await open(`a\n${`${'x'.repeat(1000)}\n`.repeat(900)}`);
  const sink = recordRows();
  const { beginRow } = sink;
  let isWaiting = false;
  sink.beginRow = (row) => {
    assert.equal(isWaiting, false);
    beginRow(row);
  };
  sink.drain = async () => {
    isWaiting = true;
    await new Promise((resolve) => setTimeout(resolve, 2));
    isWaiting = false;
  };
  await source.read(sink, new AbortController().signal);
  assert.equal(sink.rows.length, 900);
});

test('a sink that takes long gets few rows between two pauses', async () => {
  const file = memoryFile(Buffer.from(`a\n${'1\n'.repeat(100_000)}`));
  const source = await openSpreadsheet(
    file,
    { columnNames: 'exact', cellErrors: 'problem' },
    { ...limits, maxRows: 1e9 },
  );
  let rows = 0;
  let most = 0;
  const sink = { ...recordRows(), column() {}, beginRow: () => void rows++, cell() {} };
  sink.drain = () => {
    most = Math.max(most, rows);
    rows = 0;
    return Promise.resolve();
  };
  await source.read(sink, new AbortController().signal);
  assert.ok(most > 0 && most <= 2048, `${most}`);
});

test('other work runs while a long text is read from memory', async () => {
  const bytes = Buffer.alloc(40_000_000, 'some text,123,2024-01-15,"quoted ""text"""\n');
  const file = memoryFile(bytes);
  const source = await openSpreadsheet(
    file,
    { columnNames: 'exact', cellErrors: 'problem' },
    { ...limits, maxRows: 1e9 },
  );
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const idle = { ...recordRows(), column() {}, beginRow() {}, cell() {} };
  // The processor time of this thread is measured, because the machine may be busy.
  const start = process.threadCpuUsage();
  await source.read(idle, new AbortController().signal);
  const { user, system } = process.threadCpuUsage(start);
  clearInterval(timer);
  const milliseconds = (user + system) / 1000;
  assert.ok(turns >= Math.floor(milliseconds / 40), `${turns} turns in ${milliseconds} ms`);
});

test('every mutated text is read or refused', async () => {
  const text =
    'sep=;\r\nid;name;note\r\n1;"a ""b"";\r\nc";é\r\n2;;"漢"\r\n;;\r\n3;x;1.5\r\n4;"y";"z"\r\n5;true;2024-01-15\r\n';
  const originals = [
    Buffer.from(text),
    Buffer.from(`\ufeff${text}`, 'utf16le'),
    Buffer.from(text, 'utf16le'),
  ];
  const interesting = Buffer.from('",;\t\r\n \0\xff\xfe\xef\xc3\x8019a=', 'latin1');
  const random = randomNumbers(1);
  const seen = new Map<string, number>();
  for (let run = 0; run < sized(400, 2000); run++) {
    let mutant = Buffer.from(originals[random(originals.length)]!);
    if (random(4) === 0) mutant = mutant.subarray(random(mutant.length));
    for (let changes = 1 + random(4); changes > 0 && mutant.length > 0; changes--) {
      mutant[random(mutant.length)] = interesting[random(interesting.length)]!;
    }
    const outcome = await read(mutant).then(
      () => 'read',
      (error: unknown) => {
        assert.ok(
          error instanceof AppError,
          `not an answer: ${error instanceof Error ? error.stack : error}`,
        );
        assert.ok(error.status >= 400 && error.status < 500, error.message);
        return error.code;
      },
    );
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  for (const outcome of ['read', 'invalid-file', 'unsupported-file']) {
    assert.ok(seen.get(outcome)! > 20, JSON.stringify([...seen]));
  }
});

test('Ctrl-Z at the end of the file is not a row', async () => {
  for (const end of ['\x1a', '\r\n\x1a', '\r\n\x1a\r\n', '\x1a\x1a']) {
    const result = await read(`id,name\r\n1,Ann${end}`);
    assert.deepEqual(plainRows(result), [[1, { id: 'number 1', name: 'string Ann' }]], JSON.stringify(end));
  }
  assert.deepEqual(plainRows(await read('a,b\n1,x\x1ay\n')), [[1, { a: 'number 1', b: 'string x\x1ay' }]]);
});

test('a control character at the beginning of a text is read like a later one', async () => {
  const early = await read('id,name\n1,a\x02b\n2,c\n');
  assert.deepEqual(plainRows(early)[0], [1, { id: 'number 1', name: 'string a\x02b' }]);
  await assert.rejects(
    read(Buffer.from(Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? 1 : 65)))),
    (error) => {
      assert.ok(error instanceof AppError);
      assert.match(error.detail, /type that is not recognized/);
      return true;
    },
  );
});

test('rows with another number of fields than the header give a warning with both numbers', async () => {
  const detailsOf = async (content: string, options: Options = {}) =>
    (await read(content, options)).source.warnings
      .filter(({ code }) => code === 'short-rows' || code === 'long-rows')
      .map(({ detail }) => detail);
  const empty =
    ' The missing fields are empty. If a value contains a line break, put the value in double quotes.';
  const atTheEnd = ' The last row is one of them: is the file complete?';
  const quotes =
    ' If a value contains the delimiter, put the value in double quotes, or name the quotation mark of the file with `quote`. If the header lacks a name, add it.';
  const cases: [content: string, details: string[], options?: Options][] = [
    [
      'a,b,c\n1,2,3\n4,5\n\n6,7,8\n9\n',
      [
        `2 rows have fewer fields than the header, which has 3. The first is row 3, which has 2 fields.${empty}${atTheEnd}`,
      ],
    ],
    ['a,b,c\n4\n1,2,3\n', [`Row 2 has 1 field, the header has 3.${empty}`]],
    ['a,b,\n1,2\n3,\n', []],
    [
      'title\na,b,c\n1,2,3\n1\n',
      [`Row 4 has 1 field, the header has 3.${empty}${atTheEnd}`],
      { headerRow: 2 },
    ],
    ['a,b\n1,2\n3,4,5\n', [`Row 3 has 3 fields, the header has 2.${quotes}`]],
    [
      'a,b\n1,2,,4\n3,4,5\n6\n7,8\n',
      [
        `Row 4 has 1 field, the header has 2.${empty}`,
        `2 rows have more fields than the header, which has 2. The first is row 2, which has 4 fields.${quotes}`,
      ],
    ],
    [
      'a,b\n1,2,\n3,4,"",\n',
      [
        `2 rows have more fields than the header, which has 2. The first is row 2, which has 3 fields. The last fields of these rows are empty, and their other values may be in wrong columns.${quotes}`,
      ],
    ],
    ['a,b,\n1,2,3\n', []],
    ['a,b\n1,2,3\n', [], { range: 'A:B' }],
    [
      'a,b\n1,2,3\n',
      [
        'Row 2 has 3 fields, the first row has 2. If a value contains the delimiter, put the value in double quotes, or name the quotation mark of the file with `quote`.',
      ],
      { hasHeader: false },
    ],
  ];
  for (const [content, details, options] of cases)
    assert.deepEqual(await detailsOf(content, options), details, content);
});

test('below a blank header a line break in quotes is a value, and other white space is none', async () => {
  const inRows = async (content: string): Promise<[string[], unknown]> => {
    const result = await read(content);
    return [result.columns, plainRows(result).map(([, cells]) => cells)];
  };
  assert.deepEqual(await inRows('a\n1,"\n"\n2,\n'), [
    ['a', 'column_B'],
    [{ a: 'number 1', column_B: 'string \n' }, { a: 'number 2' }],
  ]);
  assert.deepEqual(await inRows('a,,b\n" ","  ",1\n2,\t,3\n,"\n",\n'), [
    ['a', 'b'],
    [
      { a: 'string  ', b: 'number 1' },
      { a: 'number 2', b: 'number 3' },
    ],
  ]);
});
