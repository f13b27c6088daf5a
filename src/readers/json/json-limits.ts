export interface JsonLimits {
  /** The most levels of arrays and objects inside a cell or the definition. */
  maxDepth: number;
  /** The most bytes of the JSON text of `table`. */
  maxTableBytes: number;
  /** The most different keys in all rows. */
  maxColumns: number;
  /** The most bytes of one cell. A string counts unescaped, any other value as it was sent. */
  maxCellBytes: number;
  /** The most bytes of one row, as it was sent. Slices are counted, so a row may be longer by two slices. */
  maxRowBytes: number;
}
