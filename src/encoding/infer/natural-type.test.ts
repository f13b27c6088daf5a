/** With `values=natural`, the notation of a column does not depend on the order of its rows, and each value is read as it was meant or stays text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NULL, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import { ForwardingSink } from '../../core/cells/forwarding-sink.ts';
import { englishWords } from '../text-reading/natural/language-words.ts';
import { NaturalReadingSink } from '../text-reading/natural/natural-reading.ts';
import { type InferredColumn, TypeInference, usualChoices } from './infer-types.ts';

const choices = { ...usualChoices, isNatural: true };

function infer(texts: string[], kind: number): InferredColumn {
  const inference = new TypeInference({ maxColumns: 1, maxRows: 1000 }, undefined, choices);
  inference.column(0, 'c');
  for (const [row, text] of texts.entries()) {
    inference.beginRow(row + 1);
    const bytes = Buffer.from(text);
    inference.cell(0, kind, bytes, 0, bytes.length);
    inference.endRow();
  }
  return inference.columns()[0]!;
}

/** Returns the texts as they are read in the notation of their column. */
function read(texts: string[], { reading }: InferredColumn): string[] {
  const found: string[] = [];
  const inference = new TypeInference({ maxColumns: 1, maxRows: 1000 });
  class Texts extends ForwardingSink {
    override cell(_column: number, kind: number, bytes: Buffer, start: number, end: number): void {
      found.push(kind === NULL ? 'null' : bytes.toString('utf8', start, end));
    }
  }
  const sink = new NaturalReadingSink(new Texts(inference), () => reading?.notation, englishWords);
  sink.column(0, 'c');
  for (const text of texts) {
    const bytes = Buffer.from(text);
    sink.cell(0, TEXT, bytes, 0, bytes.length);
  }
  return found;
}

const pools = [
  [
    '01/02/2026',
    '13/02/2026',
    '02/13/2026',
    '2026-01-05',
    '03/03/2026',
    '1/2/26',
    '26/1/2',
    '3-Feb-26',
    'May 5, 2026',
  ],
  [
    '5 May 2026 10:00',
    '5 May 2026 10:00Z',
    '2026-05-05T10:00:00',
    '05/05/2026',
    '2026-05-05',
    '5.5.2026 3:00 PM',
  ],
  [
    '1',
    '1.5',
    '1.500',
    '1,500',
    '1.234,5',
    '€ 1',
    '€ 2,50',
    '$ 1',
    '(1.500)',
    '5 %',
    '-1',
    '1 500',
    "1'000",
    '1e+5',
    '.5',
    '007',
  ],
  ['99999999999999999999', '1.000', '1.000.000', '9.999.999.999.999.999.999', '12'],
  ['14:30', '2:30 PM', '26:15', '00:30.5', '26:15:00', '1:00:00.1234567'],
  ['true', 'FALSE', 'Yes', 'no', 'y', 'N', 't', 'ja'],
  ['-', 'n/a', ' 1,5', ' ', '2026-01-01 ', '####', 'x'],
];

test('the type and the notation of a column do not depend on the order of its rows', () => {
  const column = fc
    .tuple(fc.constantFrom(...pools), fc.constantFrom(...pools), fc.constantFrom(TEXT, STRING))
    .chain(([one, other, kind]) =>
      fc.record({
        kind: fc.constant(kind),
        texts: fc.array(
          fc.oneof({ arbitrary: fc.constantFrom(...one), weight: 9 }, fc.constantFrom(...other)),
          {
            minLength: 1,
            maxLength: 5,
          },
        ),
      }),
    )
    .chain(({ kind, texts }) =>
      fc.record({
        kind: fc.constant(kind),
        texts: fc.constant(texts),
        shuffled: fc.shuffledSubarray(texts, { minLength: texts.length }),
      }),
    );
  const shown = ({ type, reading }: InferredColumn) => ({ type, notation: reading?.notation });
  fc.assert(
    fc.property(column, ({ kind, texts, shuffled }) => {
      assert.deepEqual(shown(infer(texts, kind)), shown(infer(shuffled, kind)));
    }),
    { numRuns: 20_000 },
  );
});

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const two = (value: number) => String(value).padStart(2, '0');

/** Ways to write a date, by its year, month and day. */
const dateFormats: ((y: number, m: number, d: number) => string)[] = [
  (y, m, d) => `${d}/${m}/${y}`,
  (y, m, d) => `${two(m)}/${two(d)}/${y}`,
  (y, m, d) => `${y}/${m}/${d}`,
  (y, m, d) => `${d}.${m}.${two(y % 100)}`,
  (y, m, d) => `${two(y % 100)}-${two(m)}-${two(d)}`,
  (y, m, d) => `${d}-${months[m - 1]!.slice(0, 3).toUpperCase()}-${two(y % 100)}`,
  (y, m, d) => `${months[m - 1]} ${d}, ${y}`,
  (y, m, d) => `${y}-${months[m - 1]!.slice(0, 3)}-${two(d)}`,
  (y, m, d) => `${d} ${months[m - 1]} ${y}`,
];

test('dates of one way of writing become the dates that were written, or stay text', () => {
  const date = fc.record({
    y: fc.integer({ min: 1970, max: 2069 }),
    m: fc.integer({ min: 1, max: 12 }),
    d: fc.integer({ min: 1, max: 28 }),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...dateFormats),
      fc.array(date, { minLength: 1, maxLength: 6 }),
      (format, dates) => {
        const texts = dates.map(({ y, m, d }) => format(y, m, d));
        const column = infer(texts, TEXT);
        if (column.type === 'text') return;
        assert.equal(column.type, 'date');
        assert.deepEqual(
          read(texts, column),
          dates.map(({ y, m, d }) => `${y}-${two(m)}-${two(d)}`),
        );
      },
    ),
    { numRuns: 3000 },
  );
});

test('amounts of one way of writing become the numbers that were written, or stay text', () => {
  const signs = fc.constantFrom([',', '.'], ['.', ','], [' ', ','], ["'", '.'], ['', '.'], ['', ',']);
  const around = fc.constantFrom('€ #', '#€', '(#)', '#-', '# %', '-#', '#');
  const number = fc.tuple(fc.integer({ min: 0, max: 9_999_999 }), fc.stringMatching(/^\d{0,3}$/));
  fc.assert(
    fc.property(
      signs,
      around,
      fc.array(number, { minLength: 1, maxLength: 6 }),
      ([group, decimal], frame, numbers) => {
        const texts = numbers.map(([whole, fraction]) => {
          const grouped = String(whole).replaceAll(/\B(?=(\d{3})+$)/g, group!);
          return frame.replace('#', grouped + (fraction === '' ? '' : decimal + fraction));
        });
        const column = infer(texts, TEXT);
        if (column.type === 'text' || column.reading === undefined) return;
        const isNegative = frame.includes('-') || frame.includes('(');
        const expected = numbers.map(([whole, fraction]) => {
          const value = `${whole}${fraction === '' ? '' : `.${fraction}`}`;
          return (isNegative ? '-' : '') + value + (frame.includes('%') ? 'e-2' : '');
        });
        assert.deepEqual(read(texts, column), expected);
      },
    ),
    { numRuns: 5000 },
  );
});
