import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../../../../test/support/growth.ts';
import * as formats from './number-formats.ts';
import { builtInFormat, parseFormatCode } from './number-formats.ts';

const meanings: [code: string, meaning: number][] = [
  ['General', formats.PLAIN],
  ['general;[Red]-General', formats.PLAIN],
  ['@', formats.PLAIN],
  ['0', formats.PLAIN],
  ['0.00', formats.PLAIN],
  ['#,##0.00 "days"', formats.PLAIN],
  ['0.00E+00', formats.PLAIN],
  ['##0.0E-0', formats.PLAIN],
  ['# ?/?', formats.PLAIN],
  ['0%', formats.PLAIN],
  ['[$€-407]#,##0.00', formats.PLAIN],
  ['[$USD] #,##0', formats.PLAIN],
  ['#,##0 USD', formats.PLAIN],
  ['_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', formats.PLAIN],
  ['[Red][>=100]0.0;[Blue]0', formats.PLAIN],
  [';;;', formats.PLAIN],
  ['', formats.PLAIN],
  ['"ymd"', formats.PLAIN],
  ['\\d0', formats.PLAIN],
  ['_y0', formats.PLAIN],
  ['00.00', formats.PLAIN],
  ['000,000', formats.PLAIN],
  ['#0', formats.PLAIN],
  ['#-000', formats.PLAIN],
  ['#,000', formats.PLAIN],
  ['#-###', formats.PLAIN],
  ['[>=1000]#,##0;0', formats.PLAIN],
  ['[<=9999999]###-####;(000) 000-0000', formats.PLAIN],
  ['[=1]"Yes";[=0]"No";00', formats.PLAIN],
  ['00" kg"', formats.PLAIN],
  ['[$$-409]00', formats.PLAIN],
  ['yyyy-mm-dd', formats.DATE_ONLY],
  ['[$-409]d\\-mmm\\-yy;@', formats.DATE_ONLY],
  ['[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy', formats.DATE_ONLY],
  ['DD.MM.YYYY', formats.DATE_ONLY],
  ['[Red]d/m', formats.DATE_ONLY],
  ['mmm', formats.DATE_ONLY],
  ['mm', formats.DATE_ONLY],
  ['[$-411]ge.m.d', formats.DATE_ONLY],
  ['yyyy"年"m"月"d"日"', formats.DATE_ONLY],
  ['yyyy-mm-dd hh:mm', formats.DATE_AND_TIME],
  ['m/d/yy h:mm AM/PM', formats.DATE_AND_TIME],
  ['yyyy\\-mm\\-dd"T"hh:mm:ss.000', formats.DATE_AND_TIME],
  ['h:mm', formats.TIME_ONLY],
  ['hh:mm:ss.000', formats.TIME_ONLY],
  ['mm:ss', formats.TIME_ONLY],
  ['mm:ss.0', formats.TIME_ONLY],
  ['h AM/PM', formats.TIME_ONLY],
  ['h:mm a/p', formats.TIME_ONLY],
  ['[h]:mm', formats.ELAPSED_TIME],
  ['[hh]:mm:ss', formats.ELAPSED_TIME],
  ['[mm]:ss', formats.ELAPSED_TIME],
  ['[ss].00', formats.ELAPSED_TIME],
  ['[Blue][h]:mm;@', formats.ELAPSED_TIME],
  ['00000', formats.ZERO_PADDED],
  ['00000;-00000', formats.ZERO_PADDED],
  ['[Red]0000', formats.ZERO_PADDED],
  ['00000\\-0000', formats.ZERO_PADDED],
  ['000-00-0000', formats.ZERO_PADDED],
  ['#000', formats.ZERO_PADDED],
  ['##00', formats.ZERO_PADDED],
  ['"INV-"00000', formats.ZERO_PADDED],
  ['0# ## ## ## ##', formats.ZERO_PADDED],
  ['[<=99999]00000;00000-0000', formats.BY_VALUE],
  ['[>=0]0000;-00', formats.ZERO_PADDED],
  ['[=0]"";00000', formats.ZERO_PADDED],
  ['[>100]yyyy;0', formats.BY_VALUE],
  ['[<100]0;yyyy', formats.BY_VALUE],
  ['[>100]yyyy', formats.BY_VALUE],
  ['[<1]h:mm;h:mm', formats.TIME_ONLY],
  ['yyyy;[Red]0', formats.DATE_ONLY],
];

for (const [code, meaning] of meanings) {
  test(`the format ${JSON.stringify(code)} has its meaning`, () =>
    assert.equal(parseFormatCode(code).meaning, meaning));
}

test('the mask of a padding format has its literals', () => {
  assert.equal(parseFormatCode('00000\\-0000').mask, '00000-0000');
  assert.equal(parseFormatCode('[$-409]"("000") "000').mask, '(000) 000');
  assert.equal(parseFormatCode('0# ## ## ## ##').mask, '00 00 00 00 00');
});

test('words are not part of a mask', () => {
  for (const code of ['"KD-"0000', '\\K\\D\\-0000', '"No. "0000\\ "x"', '"K"\\000"0"']) {
    assert.equal(parseFormatCode(code).mask, '0000', code);
  }
  assert.equal(parseFormatCode('"A"000"B"000').mask, '000000');
});

test('the sections of a format with conditions are chosen by the value', () => {
  const { PLAIN, DATE_ONLY, TIME_ONLY, ZERO_PADDED } = formats;
  const expected: [code: string, value: number, meaning: number, mask: string][] = [
    ['[<=99999]00000;00000-0000', 99_999, ZERO_PADDED, '00000'],
    ['[<=99999]00000;00000-0000', 100_000, ZERO_PADDED, '00000-0000'],
    ['[>99999]00000-0000;00000', 7, ZERO_PADDED, '00000'],
    ['[<=9999999]000-0000;000-000-0000', 5_551_234, ZERO_PADDED, '000-0000'],
    ['[>100]yyyy;0', 101, DATE_ONLY, ''],
    ['[>100]yyyy;0', 100, PLAIN, ''],
    ['[>100]yyyy', 50, PLAIN, ''],
    ['[=0]"";yyyy', 0, PLAIN, ''],
    ['[=0]"";yyyy', 1, DATE_ONLY, ''],
    ['[<>5]yyyy;0', 5, PLAIN, ''],
    ['[<1]h:mm;[<100]0;yyyy', 0.5, TIME_ONLY, ''],
    ['[<1]h:mm;[<100]0;yyyy', 99, PLAIN, ''],
    ['[<1]h:mm;[<100]0;yyyy', 100, DATE_ONLY, ''],
    ['[>=100]0;h:mm;yyyy', -1, TIME_ONLY, ''],
    ['[>=100]0;h:mm;yyyy', 5, DATE_ONLY, ''],
  ];
  for (const [code, value, meaning, mask] of expected) {
    const format = parseFormatCode(code);
    assert.equal(format.meaning, formats.BY_VALUE, code);
    const section = format.sections.find((each) => formats.meetsCondition(each, value));
    assert.equal(section?.meaning ?? PLAIN, meaning, `${code} of ${value}`);
    assert.equal(section?.mask ?? '', mask, `${code} of ${value}`);
  }
});

test('sections that only show the sign have the same mask', () => {
  assert.equal(parseFormatCode('[>=0]0000;-00').mask, '0000');
  assert.equal(parseFormatCode('000000;-00').mask, '000000');
});

test('built-in formats need no code', () => {
  const expected: [id: number, meaning: number][] = [
    [0, formats.PLAIN],
    [13, formats.PLAIN],
    [14, formats.DATE_ONLY],
    [17, formats.DATE_ONLY],
    [18, formats.TIME_ONLY],
    [21, formats.TIME_ONLY],
    [22, formats.DATE_AND_TIME],
    [23, formats.PLAIN],
    [31, formats.DATE_ONLY],
    [32, formats.TIME_ONLY],
    [34, formats.DATE_OR_TIME],
    [45, formats.TIME_ONLY],
    [46, formats.ELAPSED_TIME],
    [48, formats.PLAIN],
    [49, formats.PLAIN],
    [58, formats.DATE_ONLY],
    [164, formats.PLAIN],
    [Number.NaN, formats.PLAIN],
  ];
  for (const [id, meaning] of expected) assert.equal(builtInFormat(id).meaning, meaning, `id ${id}`);
});

test('the time to read a code grows linearly with its length', async () => {
  for (const piece of ['[', '"', 'y', '\\', '.0', 's.0', '_'])
    await assertLinear((size) => parseFormatCode(piece.repeat(size)), 100_000);
});
