/** How many digits a `numeric` of PostgreSQL may have (PostgreSQL 8.1.2). */

/** The maximum number of digits before the point, and after it. */
export const mostWholeDigits = 131_072;
export const mostFractionDigits = 16_383;

/** The maximum number of characters of a number: its digits, the point and the sign. */
export const longestNumber = mostWholeDigits + mostFractionDigits + 2;
