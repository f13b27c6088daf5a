/**
 * Returns the letters of the column and the number of the row of an address such as `Orders!C7`; undefined: the text is none. The name
 * of the sheet is not searched, because it may consist of letters.
 */
export function partsOfAddress(cell = ''): { letters: string; row: string } | undefined {
  const [, letters, row] = /^([A-Z]{1,3})(\d+)$/.exec(cell.slice(cell.lastIndexOf('!') + 1)) ?? [];
  return letters === undefined ? undefined : { letters, row: row! };
}
