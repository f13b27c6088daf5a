/**
 * The bits of the number that inference keeps for each text column: the forms and shapes that all of its values so far may have, and facts
 * about them (text-forms.ts, text-shapes.ts). A bit of a form or a shape is removed by the first value that does not have it. A fact is set
 * by the first value that shows it. The bits of all forms come first, and those of the shapes from 16 on; facts are between and after them.
 */

/** The orders of dates, as in the parameter `date_order`. */
export const DMY = 1 << 0;
export const MDY = 1 << 1;
export const YMD = 1 << 2;
export const DATE_FORMS = DMY | MDY | YMD;

/** The notations of numbers, as in the parameters `decimal_sign` and `thousands_sign`. `…_AND_COMMA`: the named sign between thousands, and a comma before the decimals. */
export const COMMA_ALONE = 1 << 3;
export const GROUPED_BY_COMMA = 1 << 4;
export const GROUPED_BY_SPACE = 1 << 5;
export const GROUPED_BY_APOSTROPHE = 1 << 6;
export const GROUPED_BY_POINT = 1 << 7;
export const SPACE_AND_COMMA = 1 << 8;
export const APOSTROPHE_AND_COMMA = 1 << 9;
/** The forms with a decimal comma: `1.5` is not a number, and `1.500` is 1500. */
export const COMMA_FORMS = COMMA_ALONE | GROUPED_BY_POINT | SPACE_AND_COMMA | APOSTROPHE_AND_COMMA;
export const NUMBER_FORMS = COMMA_FORMS | GROUPED_BY_COMMA | GROUPED_BY_SPACE | GROUPED_BY_APOSTROPHE;

/** Every value is a number in PostgreSQL's form, at most with white space around it. */
export const PLAIN_NUMBER = 1 << 10;
/** The forms in which a point is the decimal sign. */
export const POINT_FORMS = PLAIN_NUMBER | GROUPED_BY_COMMA | GROUPED_BY_SPACE | GROUPED_BY_APOSTROPHE;
/** Every value is a date in ISO 8601, at most with white space around it. */
export const PLAIN_DATE = 1 << 11;
export const PLAIN_FORMS = PLAIN_NUMBER | PLAIN_DATE;
/** All forms of dates and numbers that parameters can name, or that need no parameter. */
export const NOTATIONS = DATE_FORMS | NUMBER_FORMS | PLAIN_FORMS;
/** The column has a value with white space around it. */
export const HAS_SPACE = 1 << 14;
/** The column has a value that PostgreSQL cannot read without one of these forms. */
export const IS_NEEDED = 1 << 15;

/** The shapes that all values of a column may have. */
export const AMOUNT = 1 << 16;
export const PERCENT = 1 << 17;
export const EXPONENT = 1 << 18;
export const TIME = 1 << 19;
export const DURATION = 1 << 20;
export const TRUE_FALSE = 1 << 21;
export const YES_NO = 1 << 22;
export const WORD_SHAPES = TRUE_FALSE | YES_NO;
export const SHAPES = AMOUNT | PERCENT | EXPONENT | TIME | DURATION | TRUE_FALSE | YES_NO;

/** Signs that at least one value of a column has. Without such a sign the values do not show the shape. */
export const HAS_CURRENCY = 1 << 23;
export const HAS_PARENTHESES = 1 << 24;
export const HAS_MINUS_BEHIND = 1 << 25;
export const HAS_PERCENT_SIGN = 1 << 26;
export const HAS_EXPONENT = 1 << 27;
/** The column has the whole word `true` or `false`, which alone shows booleans. Other words (`t`, `yes`) count only if there is one for true and one for false. */
export const HAS_WHOLE_WORD = 1 << 28;
export const HAS_TRUE = 1 << 29;
export const HAS_FALSE = 1 << 30;
/** The column has a number that begins with its point: `.5`. */
export const HAS_POINT_FIRST = 1 << 12;
/** The column has a number without any of these signs. */
export const HAS_BARE_NUMBER = 1 << 13;
const SIGNS = HAS_CURRENCY | HAS_PARENTHESES | HAS_MINUS_BEHIND | HAS_PERCENT_SIGN | HAS_EXPONENT;
const WORDS = HAS_WHOLE_WORD | HAS_TRUE | HAS_FALSE;
export const SHAPE_FACTS = SIGNS | WORDS | HAS_POINT_FIRST | HAS_BARE_NUMBER;

/** The signs that only `values=natural` reads. */
export const DECORATIONS =
  HAS_CURRENCY | HAS_PARENTHESES | HAS_MINUS_BEHIND | HAS_PERCENT_SIGN | HAS_EXPONENT | HAS_POINT_FIRST;

export const NUMBER_SHAPES = AMOUNT | PERCENT | EXPONENT;

export const FACTS = HAS_SPACE | IS_NEEDED | SHAPE_FACTS;

/** The bits of a column without values: all forms are still possible. */
export const ALL_FORMS = DATE_FORMS | NUMBER_FORMS | PLAIN_FORMS | SHAPES;
