/**
 * Finds how far the texts of a header of several rows reach. The name of a group of columns has only one cell, above the first column of its
 * group:
 *
 *     Region | 2025 |    | 2026 |
 *            | Q1   | Q2 | Q1   | Q2
 */

/** Some rows of cells. Rows and columns count from 0. */
export interface HeaderCells {
  rows: number;
  columns: number;
  hasText(row: number, column: number): boolean;
  /** Returns the last column of the merged area that begins in this cell; undefined: no area has more than one column. */
  lastMerged?: ((row: number, column: number) => number) | undefined;
}

/**
 * For each header row except the lowest, returns from which column each column takes its text; -1: it has none. With merged cells, a text
 * applies to the columns of its area that also have a text further below. Without merged cells it applies to the columns up to the next
 * text in its row or in a row above, if its own column has a text further below and it is not a title: the only text of its row, above the
 * first column. Otherwise it is a part of the name of its own column only.
 */
export function spreadHeader(cells: HeaderCells): Int32Array[] {
  const { rows, columns, hasText, lastMerged } = cells;
  const spread = Array.from({ length: rows }, () => new Int32Array(columns).fill(-1));
  // `lowest`: the last row that has a text in the column. The other array: whether a row above the current one has a text there.
  const lowest = new Int32Array(columns).fill(-1);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) if (hasText(row, column)) lowest[column] = row;
  }
  const firstColumn = lowest.findIndex((last) => last >= 0);
  const isBorder = new Uint8Array(columns);
  for (let row = 0; row < rows; row++) {
    const isTitle = isOnlyText(cells, row, firstColumn);
    let from = -1;
    let until = -1;
    for (let column = 0; column < columns; column++) {
      if (hasText(row, column)) {
        from = column;
        until = reachOf(cells, row, column, lowest[column]! > row && !isTitle);
      } else if (isBorder[column] === 1 && lastMerged === undefined) from = -1;
      if (from === column || (from >= 0 && column <= until && lowest[column]! > row))
        spread[row]![column] = from;
    }
    for (let column = 0; column < columns; column++) if (hasText(row, column)) isBorder[column] = 1;
  }
  return spread;
}

function isOnlyText({ columns, hasText }: HeaderCells, row: number, firstColumn: number): boolean {
  for (let column = 0; column < columns; column++) {
    if (hasText(row, column) !== (column === firstColumn)) return false;
  }
  return true;
}

function reachOf(
  { columns, lastMerged }: HeaderCells,
  row: number,
  column: number,
  isGroup: boolean,
): number {
  if (lastMerged !== undefined) return lastMerged(row, column);
  return isGroup ? columns - 1 : column;
}
