import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { TEXT, TEXT_AFTER_QUOTE } from '../../../core/cells/cell-kind.ts';
import { AppError } from '../../../core/errors.ts';
import { CsvScanner } from './csv-scanner.ts';

/** `record:column` and the text. A text with a problem follows `!`. */
type Cells = string[];

const noLimits = { maxCellBytes: 1_000_000, maxColumns: 1_000_000 };

/** Returns the cells of the text, scanned in slices of so many bytes. */
function scan(
  text: string,
  sliceBytes: number,
  delimiter = ',',
  limits = noLimits,
  quote = 0x22,
  comment = 0,
): Cells {
  const cells: Cells = [];
  let record = 0;
  let isOpen = false;
  const scanner = new CsvScanner(
    {
      beginRow(next) {
        assert.ok(next > record);
        assert.equal(isOpen, false);
        isOpen = true;
        // The scanner skips blank records, so their numbers are added here.
        if (comment === 0) for (record++; record < next; record++) cells.push(`${record}`);
        record = next;
        cells.push(`${record}`);
      },
      cell(column, kind, bytes, start, end) {
        assert.ok(isOpen && end > start && kind === TEXT);
        cells.push(`${record}:${column} ${bytes.toString('utf8', start, end)}`);
      },
      fault(column, fault, bytes, start, end) {
        assert.ok(isOpen && fault === TEXT_AFTER_QUOTE);
        cells.push(`${record}:${column} !${bytes.toString('utf8', start, end)}`);
      },
      endRow() {
        assert.ok(isOpen);
        isOpen = false;
      },
    },
    { delimiter: delimiter.charCodeAt(0), quote, comment },
    limits,
  );
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    // A separate slice, so that changes to it are not visible elsewhere.
    scanner.push(Buffer.from(bytes.subarray(at, at + sliceBytes)));
  }
  scanner.finish();
  assert.equal(isOpen, false);
  return cells;
}

/** Reads the text by the rules of `CsvScanner`, in the simplest code. The scanner must give the same cells. */
function expectedCells(text: string, delimiter = ','): Cells {
  const cells: Cells = [];
  const unquoted = new RegExp(`[^${delimiter}\r\n]*`, 'y');
  const quoted = /"((?:[^"]|"")*)"(?!")/y;
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at += found[0].length;
    return found;
  };
  for (let record = 1; at < text.length; record++) {
    cells.push(`${record}`);
    for (let column = 0; ; column++) {
      if (text[at] === '"') {
        const found = take(quoted);
        if (found === null) throw new Error(`record ${record},`);
        const value = found[1]!.replaceAll('""', '"');
        const rest = take(unquoted)![0].replace(/^[ \t]+/, '');
        if (rest !== '') cells.push(`${record}:${column} !${value}"${rest}`);
        else if (value !== '') cells.push(`${record}:${column} ${value}`);
      } else {
        const value = take(unquoted)![0];
        if (value !== '') cells.push(`${record}:${column} ${value}`);
      }
      if (text[at] !== delimiter) break;
      at++;
    }
    take(/\r\n|\r|\n|$/y);
  }
  return cells;
}

function outcome(run: () => Cells): Cells | string {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof AppError)) return (error as Error).message;
    assert.equal(error.code, 'invalid-file');
    return /record \d+,/.exec(error.detail)![0];
  }
}

test('any text is read by the rules at every slice size', () => {
  for (const delimiter of [',', '\t', ';']) {
    const character = fc.constantFrom(delimiter, '"', '"', '\n', '\r', ' ', '\t', 'x', '1', 'é', '漢', '😀');
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 30 }), (text) => {
        const expected = outcome(() => expectedCells(text, delimiter));
        for (let sliceBytes = 1; sliceBytes <= Buffer.byteLength(text) + 1; sliceBytes++) {
          assert.deepEqual(
            outcome(() => scan(text, sliceBytes, delimiter)),
            expected,
          );
        }
      }),
      { numRuns: 700 },
    );
  }
});

test('any table can be read back from its text', () => {
  const field = fc.string({
    unit: fc.constantFrom(',', '"', '\n', '\r', ' ', 'x', 'é'),
    minLength: 1,
    maxLength: 6,
  });
  const table = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(
      table,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.boolean(),
      fc.integer({ min: 1, max: 9 }),
      (rows, lineEnd, isEnded, slice) => {
        const lines = rows.map((row) => row.map((value) => `"${value.replaceAll('"', '""')}"`).join(','));
        const expected = rows.flatMap((row, index) => [
          `${index + 1}`,
          ...row.map((value, column) => `${index + 1}:${column} ${value}`),
        ]);
        assert.deepEqual(scan(lines.join(lineEnd) + (isEnded ? lineEnd : ''), slice), expected);
      },
    ),
    { numRuns: 500 },
  );
});

const examples: [title: string, text: string, cells: Cells][] = [
  ['nothing', '', []],
  ['empty records count', '\n\r\n\rx', ['1', '2', '3', '4', '4:0 x']],
  ['empty fields are no cells', ',"",x,\n', ['1', '1:2 x']],
  ['a line break in quotes', '"a\r\nb",c\nd', ['1', '1:0 a\r\nb', '1:1 c', '2', '2:0 d']],
  ['doubled quotes', '"""a""b""",""""', ['1', '1:0 "a"b"', '1:1 "']],
  ['a quote within a field', `6" pipe,a"",x`, ['1', '1:0 6" pipe', '1:1 a""', '1:2 x']],
  ['a quote after a blank', ' "a"', ['1', '1:0  "a"']],
  ['blanks after a closing quote', '"a" \t,"b"  ', ['1', '1:0 a', '1:1 b']],
  ['a quote that was not doubled', '"say "hi"",x', ['1', '1:0 !say "hi""', '1:1 x']],
  ['blanks before text after a closing quote', '"a"  b ', ['1', '1:0 !a"b ']],
];

for (const [title, text, cells] of examples) {
  test(title, () => {
    for (const sliceBytes of [1, 2, 3, 1000]) assert.deepEqual(scan(text, sliceBytes), cells);
  });
}

test('most of many blank records are skipped, and count', () => {
  for (const lineEnd of ['\n', '\r', '\r\n', '\n\r']) {
    const begun: number[] = [];
    const sink = { beginRow: (record: number) => begun.push(record), cell() {}, fault() {}, endRow() {} };
    const dialect = { delimiter: 0x2c, quote: 0x22, comment: 0 };
    const scanner = new CsvScanner(sink, dialect, noLimits, 500);
    const text = lineEnd.repeat(1000);
    const records = text.replaceAll('\r\n', '\n').length;
    scanner.push(Buffer.from(`${text}x`));
    scanner.finish();
    // Only these records reach the sink: the header, the last blank record and the one with a value.
    assert.deepEqual(begun, [500, records, records + 1]);
  }
});

test('a quote that is never closed names its record and column', () => {
  const text = 'a,b\n"x\ny",1\nz,"never\nclosed,2\n';
  assert.throws(() => scan(text, 5), { code: 'invalid-file', detail: /record 3, column B/ });
});

test('long fields, records and column counts are refused', () => {
  const limits = { maxCellBytes: 10, maxColumns: 3 };
  const ten = '0123456789';
  for (const sliceBytes of [1, 4, 100]) {
    assert.deepEqual(scan(`${ten},"${ten}" `, sliceBytes, ',', limits).length, 3);
    for (const text of [`${ten}x`, `"${ten}x"`, `,"${ten}""",`]) {
      assert.throws(() => scan(`\n${text}`, sliceBytes, ',', limits), {
        code: 'limit-exceeded',
        detail: /record 2, column [AB] is too long.*10 bytes/,
      });
    }
    assert.throws(() => scan(`"${ten}xy`, sliceBytes, ',', limits), { detail: /is its quote ever closed/ });
    assert.deepEqual(scan(',,x,,,,', sliceBytes, ',', limits), ['1', '1:2 x']);
    assert.throws(() => scan('\n,,,x', sliceBytes, ',', limits), {
      code: 'limit-exceeded',
      detail: /Record 2 .* 3 columns/,
    });
  }
});

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const HASH = 0x23;

suite('another dialect', () => {
  for (const sliceBytes of [1, 2, 3, 1000]) {
    test(`comments are ignored and count as records, in slices of ${sliceBytes} bytes`, () => {
      const text = '# a "comment\na,b\r\n#x\r\n#\n1,#2\n"#3",4\n#end';
      const cells = scan(text, sliceBytes, ',', noLimits, QUOTE, HASH);
      const expected = ['2', '2:0 a', '2:1 b', '5', '5:0 1', '5:1 #2', '6', '6:0 #3', '6:1 4'];
      assert.deepEqual(cells, expected);
    });

    test(`another quote is used, in slices of ${sliceBytes} bytes`, () => {
      const cells = scan(`a,'b, "c" ''d'''\n'',"e"`, sliceBytes, ',', noLimits, APOSTROPHE);
      assert.deepEqual(cells, ['1', '1:0 a', `1:1 b, "c" 'd'`, '2', '2:1 "e"']);
    });

    test(`no quote is used, in slices of ${sliceBytes} bytes`, () => {
      const cells = scan('"a,b"\n"c,"""\n', sliceBytes, ',', noLimits, 0);
      assert.deepEqual(cells, ['1', '1:0 "a', '1:1 b"', '2', '2:0 "c', '2:1 """']);
    });
  }
});
