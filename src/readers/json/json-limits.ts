export interface JsonLimits {
  /** The maximum number of levels of arrays and objects inside a cell or the definition. */
  maxDepth: number;
  /** The maximum number of bytes of the JSON text of `table`. */
  maxTableBytes: number;
  /** The maximum number of different keys in all rows. */
  maxColumns: number;
  /** The maximum number of bytes of one cell. A string counts unescaped, any other value as it was sent. */
  maxCellBytes: number;
  /** The maximum number of bytes of one row, as it was sent. A row is measured in slices, so it may be longer by two slices. */
  maxRowBytes: number;
}
