/**
 * Finds what a number in a cell means from its number format (ECMA-376 part 1, 18.8.30 and 18.8.31).
 *
 * Parts of the format that change only how a number looks (percent, currency, colour) are ignored, and the order of the fields of a
 * date does not matter.
 */

/** The number is used unchanged. */
export const PLAIN = 0;
/** A date. A number with a fraction is a date with a time of day even in this format. */
export const DATE_ONLY = 1;
export const DATE_AND_TIME = 2;
export const TIME_ONLY = 3;
/** A duration in hours that may exceed a day, such as `[h]:mm`. */
export const ELAPSED_TIME = 4;
/** A built-in format that is a date in one East Asian locale and a time in another. The value decides. */
export const DATE_OR_TIME = 5;
/** Digits with leading zeros, such as `00000`, which are loaded as text. See `NumberFormat.mask`. */
export const ZERO_PADDED = 6;
/** The number decides which section of the format applies, as in `[>100]yyyy;0`. See `NumberFormat.sections`. */
export const BY_VALUE = 7;

export interface NumberFormat {
  meaning: number;
  /** If the meaning is `ZERO_PADDED`, the digits and their separators. Each `0` is a digit: `00000-0000`. */
  mask: string;
  /**
   * If the meaning is `BY_VALUE`, the sections with their conditions. The first section whose condition a number meets applies
   * to it. A number that meets none is `PLAIN`. For other meanings the list is empty.
   */
  sections: FormatSection[];
}

export interface FormatSection {
  /** `<`, `<=`, `>`, `>=`, `=` or `<>`; empty: every number meets the condition. */
  operator: string;
  operand: number;
  /** The meaning, which is never `BY_VALUE`. */
  meaning: number;
  mask: string;
}

/** Returns whether a number meets the condition. */
export function meetsCondition({ operator, operand }: Condition, value: number): boolean {
  switch (operator) {
    case '<':
      return value < operand;
    case '<=':
      return value <= operand;
    case '>':
      return value > operand;
    case '>=':
      return value >= operand;
    case '=':
      return value === operand;
    case '<>':
      return value !== operand;
    default:
      return true;
  }
}

type Condition = Pick<FormatSection, 'operator' | 'operand'>;

const plain: NumberFormat = { meaning: PLAIN, mask: '', sections: [] };

/** A longer format code is ignored: its cells are read as plain numbers, even if the code is of a date. Excel's own limit is 255 characters. */
const maxCodeLength = 1024;

/** Returns the format of a built-in id, which files use without a code. */
export function builtInFormat(id: number): NumberFormat {
  for (const [from, to, meaning] of builtInRanges) if (id >= from && id <= to) return { ...plain, meaning };
  return plain;
}

/** The ranges of 18.8.30, with the ids of the East Asian and Thai locales. */
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

/** Parses a format code. Without conditions the section for positive numbers decides, otherwise all sections. */
export function parseFormatCode(code: string): NumberFormat {
  if (code.length > maxCodeLength) return plain;
  const sections = readSections(code);
  const hasCondition = sections.some(({ condition }) => condition !== undefined);
  return hasCondition ? formatByValue(sections) : formatOf(sections[0]);
}

function formatOf(section: Section): NumberFormat {
  if (section.fields.length > 0 && !section.hasDigits)
    return { ...plain, meaning: dateMeaning(section.fields) };
  const mask = maskOf(section);
  return isPadding(mask) ? { ...plain, meaning: ZERO_PADDED, mask } : plain;
}

/** The maximum number of sections of a format that are for numbers. A fourth section is for texts. */
const maxNumberSections = 3;

function formatByValue(allSections: [Section, ...Section[]]): NumberFormat {
  const all = allSections.slice(0, maxNumberSections);
  const formats = paddedAlike(all, all.map(formatOf));
  const sections = all.map((_, index) => ({ ...conditionOf(all, index), ...formats[index]! }));
  const [first] = formats;
  const isSame = formats.every(({ meaning, mask }) => meaning === first!.meaning && mask === first!.mask);
  const isForAll = first!.meaning === PLAIN || sections.at(-1)!.operator === '';
  if (isSame && isForAll) return first!;
  return {
    meaning: BY_VALUE,
    mask: '',
    sections: sections.map(({ operator, operand, meaning, mask }) => ({ operator, operand, meaning, mask })),
  };
}

/** Returns the condition of a section. If another section has a condition, a section without one has an implied condition. */
function conditionOf(sections: Section[], index: number): Condition {
  const { condition } = sections[index]!;
  if (condition !== undefined) return condition;
  const isLast = index === sections.length - 1;
  return isLast ? { operator: '', operand: 0 } : { operator: index === 0 ? '>' : '<', operand: 0 };
}

/**
 * Gives sections the same mask if they add leading zeros in the same way. In `[<=9999999]###-####;(000) 000-0000` no section counts
 * as padding: if small numbers get no leading zeros, large ones do not either. In `[>=0]0000;-00` both sections pad alike, because
 * the second one only shows the sign.
 */
function paddedAlike(sections: Section[], formats: NumberFormat[]): NumberFormat[] {
  const small = formats[smallSection(sections)] ?? plain;
  const isOfSigns = (sections[0]!.condition?.operand ?? 0) <= 0;
  return formats.map((format) => {
    const isNumber = format.meaning === PLAIN || format.meaning === ZERO_PADDED;
    if (!isNumber) return format;
    if (small.meaning !== ZERO_PADDED) return plain;
    return isOfSigns ? small : format;
  });
}

/** Returns the index of the section for small positive numbers. */
function smallSection([first]: Section[]): number {
  const { operator, operand } = first!.condition ?? { operator: '>', operand: 0 };
  if (operator === '=') return 1;
  if (operator === '<>') return 0;
  return operator.startsWith('<') === operand > 0 ? 0 : 1;
}

interface Section {
  /** Runs of the same letter in lower case, such as `yyyy` or `mm`; also `[h]` for elapsed time and `am/pm`. */
  fields: string[];
  /** The section has digit placeholders, which a date never has. A `0` is one, unless it is a fraction of a second. */
  hasDigits: boolean;
  /** The digits begin with `#`, as in `#000`. A digit at `#` is shown only if the number has it. */
  hasOptionalDigits: boolean;
  /** The zeros of the section and their separators. */
  mask: string;
  /** The section has only digits, separators and words. */
  canPad: boolean;
  /** The section has a word before the digits, or after them, such as `"KD-"0000" x"`. Words are not part of the mask. */
  hasWordBefore: boolean;
  hasWordAfter: boolean;
  /** The condition in brackets, such as `[<=99999]`. */
  condition: Condition | undefined;
}

function emptySection(): Section {
  return {
    fields: [],
    hasDigits: false,
    hasOptionalDigits: false,
    mask: '',
    canPad: true,
    hasWordBefore: false,
    hasWordAfter: false,
    condition: undefined,
  };
}

/**
 * Matches the parts of a format code: quoted text, escaped character, filler, bracket, half of the day, word that is not a field,
 * run of a letter, fraction, and any other character.
 */
const token =
  /"([^"]*)"?|\\(.?)|[_*].?|\[([^\]]*)\]|(AM\/PM|A\/P|上午\/下午|午前\/午後|오전\/오후)|(E[+-]|General|Standard)|(([a-z])\7*)|(\.0+)|./gis;

const elapsedUnit = /^(h+|m+|s+)$/i;
const fieldLetter = /^[ymdhsegab]/;
/** Literals that separate digits, as in `00000-0000`. All other literals are words. */
const separators = /^[-/ ().]*$/;
const conditionText = /^(<=|>=|<>|[<>=]) *(-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)$/i;
/** A quoted `"0"` before digits counts as a digit that is always shown. */
const zeros = /^0+$/;

function readSections(code: string): [Section, ...Section[]] {
  let section = emptySection();
  const sections: [Section, ...Section[]] = [section];
  for (const [text, quoted, escaped, bracket, halfDay, word, run, , fraction] of code.matchAll(token)) {
    if (text === ';') {
      section = emptySection();
      sections.push(section);
    } else if (quoted !== undefined || escaped !== undefined) {
      const literal = quoted ?? escaped ?? '';
      if (separators.test(literal) || zeros.test(literal)) section.mask += literal;
      else if (section.mask.includes('0')) section.hasWordAfter = true;
      else section.hasWordBefore = true;
    } else if (bracket !== undefined) {
      if (elapsedUnit.test(bracket)) section.fields.push(`[${bracket[0]!.toLowerCase()}]`);
      // `[$€-407]` shows a currency sign. `[$-409]` only names the language.
      if (/^\$[^-]/.test(bracket)) section.canPad = false;
      section.condition = readCondition(bracket) ?? section.condition;
    } else if (halfDay !== undefined) {
      section.fields.push('am/pm');
    } else if (word !== undefined) {
      section.hasDigits = true;
      section.canPad = false;
    } else if (run !== undefined) {
      const field = run.toLowerCase();
      if (fieldLetter.test(field)) section.fields.push(field);
      section.canPad = false;
    } else if (fraction !== undefined) {
      if (!/^\[?s/.test(section.fields.at(-1) ?? '')) section.hasDigits = true;
      section.canPad = false;
    } else if (text === '0' || (text === '#' && section.mask.includes('0'))) {
      // After a zero all further digits are shown too, as if they were zeros.
      section.hasDigits = true;
      section.hasWordAfter = false;
      section.mask += '0';
    } else if (separators.test(text)) {
      // In `#-00` the separator is shown even if there is no digit before it, so it is no padding.
      if (section.hasOptionalDigits && !section.mask.includes('0')) section.canPad = false;
      section.mask += text;
    } else if (text === '#' && section.mask === '') {
      // `#000` pads to the same length as `000`.
      section.hasDigits = true;
      section.hasOptionalDigits = true;
    } else if (text[0] !== '_' && text[0] !== '*') {
      if (text === '#' || text === '?') section.hasDigits = true;
      section.canPad = false;
    }
  }
  return sections;
}

/**
 * Returns the mask of a section, such as `0000` for `"KD-"0000`. A word before the digits, with the separators next to it, is
 * only shown and is not part of the value. If there is a word after the digits and none before them, the word is a unit: the
 * number is a quantity and is not padded.
 */
function maskOf({ mask, canPad, hasWordBefore, hasWordAfter }: Section): string {
  if (!canPad || (hasWordAfter && !hasWordBefore)) return '';
  return hasWordBefore ? mask.replace(/^[^0]+|[^0]+$/g, '') : mask;
}

/** Returns a condition such as `<=99999`, or undefined if the bracket has something else. */
function readCondition(bracket: string): Condition | undefined {
  const [, operator, number] = conditionText.exec(bracket) ?? [];
  const operand = Number(number);
  return operator === undefined || !Number.isFinite(operand) ? undefined : { operator, operand };
}

/** Returns whether the mask pads. One zero shows a normal whole number, but two zeros mean that leading zeros are wanted. */
function isPadding(mask: string): boolean {
  return countDigits(mask) >= 2;
}

function countDigits(mask: string): number {
  return mask.replaceAll(/[^0]/g, '').length;
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

/** Returns whether an `m` means minutes: directly after hours or directly before seconds (ECMA-376 part 1, 18.8.31). */
function isMinute(fields: string[], index: number): boolean {
  const before = fields[index - 1] ?? '';
  const after = fields[index + 1] ?? '';
  return /^\[?h/.test(before) || /^\[?s/.test(after);
}
