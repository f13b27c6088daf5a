/** Reads parts of a page of the documentation. */

/** Returns the rows of every table with this head, cell by cell. */
export function rowsUnder(page: string, head: string): string[][] {
  return page
    .split(`${head}\n`)
    .slice(1)
    .flatMap((rest) => {
      const rows = rest.slice(0, rest.search(/\n(?!\|)/)).split('\n');
      return rows.slice(1).map((row) => row.slice(2, -2).split(' | '));
    });
}

/** Returns the texts between backquotes. */
export function codeOf(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
}

/** Returns the number of the line with the character at `index`. */
export function lineAt(page: string, index: number): number {
  return page.slice(0, index).split('\n').length;
}
