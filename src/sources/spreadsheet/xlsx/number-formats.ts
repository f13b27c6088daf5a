/**
 * Number formats → what a number in such a cell means (ECMA-376 part 1, 18.8.30 and 18.8.31).
 *
 * Only the meaning counts and not the look: percent, currency and colour change nothing, a date is a date in any
 * order of its fields.
 */

/** The number counts as it is. */
export const PLAIN = 0;
/** Days. With a fraction it is a point in time all the same. */
export const DATE_ONLY = 1;
export const DATE_AND_TIME = 2;
export const TIME_ONLY = 3;
/** `[h]:mm`: hours that may exceed a day. */
export const ELAPSED_TIME = 4;
/** Built-in formats that are a date in one East Asian locale and a time in another: the value decides. */
export const DATE_OR_TIME = 5;
/** `00000`: text with leading zeros, see `NumberFormat.mask`. */
export const ZERO_PADDED = 6;

export interface NumberFormat {
  meaning: number;
  /** Of `ZERO_PADDED`: the format with its literals, each `0` a digit: `00000-0000`. */
  mask: string;
}

const plain: NumberFormat = { meaning: PLAIN, mask: '' };

/** Excel's own limit is 255 characters; whatever is longer is no format that it wrote. */
const maxCodeLength = 1024;

/** The meaning of a built-in format id, which files use without a code. */
export function builtInFormat(id: number): NumberFormat {
  for (const [from, to, meaning] of builtInRanges) if (id >= from && id <= to) return { meaning, mask: '' };
  return plain;
}

/** 18.8.30, with the ids of the East Asian and Thai locales. */
const builtInRanges: [from: number, to: number, meaning: number][] = [
  [14, 17, DATE_ONLY],
  [18, 21, TIME_ONLY],
  [22, 22, DATE_AND_TIME],
  [27, 31, DATE_ONLY],
  [32, 33, TIME_ONLY],
  [34, 35, DATE_OR_TIME],
  [36, 36, DATE_ONLY],
  [45, 45, TIME_ONLY],
  [46, 46, ELAPSED_TIME],
  [47, 47, TIME_ONLY],
  [50, 54, DATE_ONLY],
  [55, 56, DATE_OR_TIME],
  [57, 58, DATE_ONLY],
  [71, 74, DATE_ONLY],
  [75, 76, TIME_ONLY],
  [77, 77, DATE_AND_TIME],
  [78, 78, TIME_ONLY],
  [79, 79, ELAPSED_TIME],
  [80, 80, TIME_ONLY],
  [81, 81, DATE_ONLY],
];

/** The meaning of a format code: of its first section, which positive numbers go by. */
export function parseFormatCode(code: string): NumberFormat {
  if (code.length > maxCodeLength) return plain;
  const section = readFirstSection(code);
  if (section.fields.length === 0 || section.hasDigits) {
    return isPadding(section.mask) ? { meaning: ZERO_PADDED, mask: section.mask } : plain;
  }
  return { meaning: dateMeaning(section.fields), mask: '' };
}

interface Section {
  /** Runs of one letter, lower case: `yyyy`, `mm`; `[h]` for elapsed time, `am/pm`. */
  fields: string[];
  /** Digit placeholders, which no date has: a `0` is one too, unless it is a fraction of a second. */
  hasDigits: boolean;
  /** The section's zeros and literals; empty once it holds something that zero padding does not. */
  mask: string;
}

/** Quoted, escaped, filler, bracket, half of the day, word that is no field, run of a letter, fraction, the rest. */
const token =
  /"([^"]*)"?|\\(.?)|[_*].?|\[([^\]]*)\]|(AM\/PM|A\/P|上午\/下午|午前\/午後|오전\/오후)|(E[+-]|General|Standard)|(([a-z])\7*)|(\.0+)|./gis;

const elapsedUnit = /^(h+|m+|s+)$/i;
const fieldLetter = /^[ymdhsegab]/;
/** Literals that separate digits, as in `00000-0000`; with any other the format is more than padding. */
const separators = /^[-/ ().]*$/;

function readFirstSection(code: string): Section {
  const section: Section = { fields: [], hasDigits: false, mask: '' };
  let canPad = true;
  for (const [text, quoted, escaped, bracket, halfDay, word, run, , fraction] of code.matchAll(token)) {
    if (text === ';') break;
    if (quoted !== undefined || escaped !== undefined) {
      const literal = quoted ?? escaped ?? '';
      section.mask += literal;
      if (!separators.test(literal)) canPad = false;
    } else if (bracket !== undefined) {
      if (elapsedUnit.test(bracket)) section.fields.push(`[${bracket[0]!.toLowerCase()}]`);
      // `[$€-407]` shows a currency, `[$-409]` only says the language.
      if (/^\$[^-]/.test(bracket)) canPad = false;
    } else if (halfDay !== undefined) {
      section.fields.push('am/pm');
    } else if (word !== undefined) {
      section.hasDigits = true;
      canPad = false;
    } else if (run !== undefined) {
      const field = run.toLowerCase();
      if (fieldLetter.test(field)) section.fields.push(field);
      canPad = false;
    } else if (fraction !== undefined) {
      if (!/^\[?s/.test(section.fields.at(-1) ?? '')) section.hasDigits = true;
      canPad = false;
    } else if (text === '0' || separators.test(text)) {
      if (text === '0') section.hasDigits = true;
      section.mask += text;
    } else if (text[0] !== '_' && text[0] !== '*') {
      if (text === '#' || text === '?') section.hasDigits = true;
      canPad = false;
    }
  }
  if (!canPad) section.mask = '';
  return section;
}

/** One zero is how a whole number is shown; two say that somebody wants leading zeros. */
function isPadding(mask: string): boolean {
  return mask.replaceAll(/[^0]/g, '').length >= 2;
}

function dateMeaning(fields: string[]): number {
  let hasDate = false;
  let hasTime = false;
  let hasElapsed = false;
  fields.forEach((field, index) => {
    if (field.startsWith('[')) hasElapsed = true;
    else if (field === 'am/pm' || /^[hs]/.test(field)) hasTime = true;
    else if (/^m{1,2}$/.test(field) && isMinute(fields, index)) hasTime = true;
    else hasDate = true;
  });
  if (hasDate) return hasTime || hasElapsed ? DATE_AND_TIME : DATE_ONLY;
  return hasElapsed ? ELAPSED_TIME : TIME_ONLY;
}

/** `m` is a minute right after hours or right before seconds (18.8.31). */
function isMinute(fields: string[], index: number): boolean {
  const before = fields[index - 1] ?? '';
  const after = fields[index + 1] ?? '';
  return /^\[?h/.test(before) || /^\[?s/.test(after);
}
