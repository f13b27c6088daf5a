/** Reads the parameters for reading text. They are the same for JSON strings, text files and text cells of workbooks. */
import { wrongParameter } from '../../../core/errors.ts';
import type { TypeChoices } from '../../../encoding/infer/infer-types.ts';
import { preferredForms } from '../../../encoding/infer/notation-forms.ts';
import {
  englishWords,
  LanguageWords,
  maxLanguages,
} from '../../../encoding/text-reading/natural/language-words.ts';
import type { TextReading } from '../../../encoding/text-reading/text-reading.ts';
import type { SentNotation } from '../../../engine/loading/faulty-rows/format-fit.ts';
import type { QueryOnBoth } from './parameters.ts';
import { splitList } from './split-list.ts';

const maxNullValues = 100;

type TextQuery = QueryOnBoth<'inspect-json', 'inspect-excel'>;

/**
 * Returns how text is read.
 *
 * @returns undefined if all parameters have their defaults
 * @throws AppError `invalid-parameter`
 */
export function textReadingOf(query: TextQuery): TextReading | undefined {
  const { null_values, date_order, decimal_sign, thousands_sign, trim, values } = query;
  if (decimal_sign === thousands_sign) {
    throw wrongParameter('thousands_sign', 'thousands_sign and decimal_sign must not be the same sign.');
  }
  const nullValues = null_values === undefined ? [] : splitList(null_values, ',');
  if (nullValues.length > maxNullValues) {
    throw wrongParameter('null_values', `null_values has more than ${maxNullValues} items.`);
  }
  // With values=natural each column has its own notation. The parameters then decide only for columns that several notations fit.
  const notation =
    values === 'natural'
      ? usualNotation
      : { dateOrder: date_order, decimalSign: decimal_sign, thousandsSign: thousands_sign };
  const isUsual =
    notation.dateOrder === 'iso' && notation.decimalSign === '.' && notation.thousandsSign === 'none';
  if (nullValues.length === 0 && isUsual && !trim) return undefined;
  return { ...notation, nullValues, trim, words: wordsOf(query) };
}

/** The other parameters that decide what a cell means. Each endpoint has some of them. */
interface CellQuery {
  empty_cells?: string;
  fill_down?: string | undefined;
  flatten?: boolean;
  on_conflict?: string;
}

/** Returns how a file is read that the service makes for the same parameters. */
export function sentNotationOf(query: TextQuery & CellQuery): SentNotation {
  return {
    decimalSign: query.decimal_sign,
    nullValues: query.null_values === undefined ? [] : splitList(query.null_values, ','),
    trims: query.trim,
    isNatural: query.values === 'natural',
    emptyIsNull: query.empty_cells === 'null',
    fillsEmpty: query.on_conflict === 'update' || query.fill_down !== undefined,
    flattens: query.flatten === true,
  };
}

const usualNotation = { dateOrder: 'iso', decimalSign: '.', thousandsSign: 'none' } as const;

/**
 * Returns how types are inferred.
 *
 * @throws AppError `invalid-parameter`
 */
export function typeChoicesOf(query: TextQuery): TypeChoices {
  const { values, all_text, date_order, decimal_sign, thousands_sign } = query;
  if (all_text && values === 'natural')
    throw wrongParameter('values', 'all_text=true makes every column text. Leave values=natural out.');
  const notation = { dateOrder: date_order, decimalSign: decimal_sign, thousandsSign: thousands_sign };
  return {
    allText: all_text,
    isNatural: values === 'natural',
    preferred: values === 'natural' ? preferredForms(notation) : 0,
    words: wordsOf(query),
  };
}

function wordsOf({ languages, values, date_order }: TextQuery): LanguageWords {
  if (languages === undefined) return englishWords;
  if (values === 'strict' && date_order === 'iso')
    throw wrongParameter('languages', 'languages needs values=natural or date_order=dmy, mdy or ymd.');
  const names = splitList(languages, ',').map((name) => name.trim());
  if (names.length > maxLanguages)
    throw wrongParameter('languages', `languages has more than ${maxLanguages} items.`);
  try {
    return new LanguageWords(names);
  } catch (error) {
    if (error instanceof RangeError) throw wrongParameter('languages', error.message);
    throw error;
  }
}
