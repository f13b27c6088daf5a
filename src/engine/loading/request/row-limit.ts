/** A limit on rows: a number, or a share of all rows in percent. */
export type RowLimit = number | { percent: number };

/**
 * Returns the limit as a number of rows. A share has at most three decimals, and is multiplied as a whole number, because 0.29 % of 10,000 is
 * 28.999… as doubles.
 *
 * @param rows the number of all rows
 */
export function rowsOfLimit(limit: RowLimit, rows: number): number {
  return typeof limit === 'number' ? limit : Math.floor((Math.round(limit.percent * 1000) * rows) / 100_000);
}

/** Returns the limit as callers write it. */
export function textOfLimit(limit: RowLimit): string {
  return typeof limit === 'number' ? String(limit) : `${limit.percent}%`;
}
