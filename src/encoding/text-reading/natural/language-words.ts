/**
 * The words of dates and booleans in English and in the languages that a request names: months, days of the week (from `Intl`), and the
 * pairs of words for true and false.
 */

import { WordList } from './word-list.ts';

/** The maximum number of languages that a request may name. */
export const maxLanguages = 10;

export class LanguageWords {
  /** The number of the month, 1 to 12. */
  readonly months: WordList;
  /** The number of the day, 1 (Monday) to 7. */
  readonly weekdays: WordList;
  /** For each word for true or false, the pairs to which it belongs: a bit for each pair, shifted by one, and the bit `IS_TRUE`. */
  readonly trueFalse: WordList;

  /** @throws RangeError that names the languages that cannot be read, or not together */
  constructor(languages: readonly string[]) {
    const all = [...new Set(['en', ...languages.map(baseLanguage)])];
    this.months = new WordList(monthNames(all));
    this.weekdays = new WordList(all.flatMap(weekdayNames));
    this.trueFalse = new WordList(trueFalseWords(all));
  }
}

/** In a value of `LanguageWords.trueFalse`: the word means true. */
export const IS_TRUE = 1;

/** Returns the language tag in its canonical form. @throws RangeError */
function baseLanguage(tag: string): string {
  let known: string[] = [];
  try {
    known = Intl.DateTimeFormat.supportedLocalesOf(tag);
  } catch {
    // The text is not a language tag.
  }
  if (known[0] === undefined) throw new RangeError(`"${tag}" is not a known language.`);
  return known[0];
}

/** Names that programs write but `Intl` does not have. */
const moreMonths: Record<string, [string, number]> = { en: ['sept', 9], de: ['mrz', 3] };

/** @throws RangeError if a name means different months in two languages, or if a language writes months with numbers */
function monthNames(languages: string[]): Map<string, number> {
  const found = new Map<string, { month: number; language: string }>();
  const add = (name: string, month: number, language: string): void => {
    const known = found.get(name);
    if (known !== undefined && known.month !== month) {
      const pair = `${known.language} and ${language}`;
      throw new RangeError(
        `"${name}" is the name of different months in ${pair}, so they cannot be named together.`,
      );
    }
    found.set(name, { month, language });
  };
  for (const language of languages) {
    const names = namesOf(language, 'month', 12, (month) => Date.UTC(2026, month - 1, 15));
    if (new Set(names.map(([, month]) => month)).size < 12)
      throw new RangeError(`The months have no names in the language ${language}.`);
    for (const [name, month] of names) add(name, month, language);
    const [more, number] = moreMonths[language.split('-')[0]!] ?? ['', 0];
    if (number > 0) add(more, number, language);
  }
  return new Map([...found].map(([name, { month }]) => [name, month]));
}

function weekdayNames(language: string): [string, number][] {
  // 2026-06-01 is a Monday, so the day of the month is the day of the week.
  return namesOf(language, 'weekday', 7, (day) => Date.UTC(2026, 5, day));
}

/** Returns the names of the months or days, long and short, alone and within a date, without a point at the end. */
function namesOf(
  language: string,
  field: 'month' | 'weekday',
  count: number,
  dateOf: (number: number) => number,
): [string, number][] {
  const names: [string, number][] = [];
  for (const style of ['long', 'short'] as const) {
    const alone = { calendar: 'gregory', timeZone: 'UTC', [field]: style };
    for (const options of [alone, { ...alone, day: 'numeric', year: 'numeric' } as const]) {
      const format = new Intl.DateTimeFormat(language, options);
      for (let number = 1; number <= count; number++) {
        const part = format.formatToParts(dateOf(number)).find(({ type }) => type === field);
        const name = part?.value.toLocaleLowerCase(language).replace(/\.$/, '') ?? '';
        // Names of several words, and names with digits, as in Chinese, are left out.
        if (/^\p{L}[\p{L}\p{M}]+$/u.test(name)) names.push([name, number]);
      }
    }
  }
  return names;
}

/** The pairs of words for true and false by language. Only English has the words that mean the same in all programs. */
const pairs: [language: string, ofTrue: string[], ofFalse: string[]][] = [
  ['en', ['true'], ['false']],
  ['en', ['t'], ['f']],
  ['en', ['yes'], ['no']],
  ['en', ['y'], ['n']],
  ['de', ['ja'], ['nein']],
  ['de', ['j'], ['n']],
  ['de', ['wahr'], ['falsch']],
  ['fr', ['oui'], ['non']],
  ['fr', ['o'], ['n']],
  ['fr', ['vrai'], ['faux']],
  ['es', ['sí', 'si'], ['no']],
  ['es', ['s'], ['n']],
  ['es', ['verdadero'], ['falso']],
  ['it', ['sì', 'si'], ['no']],
  ['it', ['vero'], ['falso']],
  ['pt', ['sim'], ['não', 'nao']],
  ['pt', ['s'], ['n']],
  ['pt', ['verdadeiro'], ['falso']],
  ['nl', ['ja'], ['nee']],
  ['nl', ['waar'], ['onwaar']],
  ['pl', ['tak'], ['nie']],
  ['pl', ['prawda'], ['fałsz']],
  ['sv', ['ja'], ['nej']],
  ['da', ['ja'], ['nej']],
  ['nb', ['ja'], ['nei']],
  ['fi', ['kyllä'], ['ei']],
  ['cs', ['ano'], ['ne']],
];

function trueFalseWords(languages: string[]): Map<string, number> {
  const known = new Set(languages.map((language) => language.split('-')[0]!));
  const words = new Map<string, number>();
  for (const [index, [language, ofTrue, ofFalse]] of pairs.entries()) {
    if (!known.has(language)) continue;
    const bit = 2 << index;
    for (const word of ofTrue) words.set(word, (words.get(word) ?? IS_TRUE) | bit);
    for (const word of ofFalse) words.set(word, (words.get(word) ?? 0) | bit);
  }
  return words;
}

/** The pairs of English, as bits of a value of `LanguageWords.trueFalse`. */
export const ENGLISH_PAIRS = 0b11110;

export const englishWords = new LanguageWords([]);
