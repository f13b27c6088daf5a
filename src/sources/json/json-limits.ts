export interface JsonLimits {
  /** Levels of arrays and objects inside a cell or the definition. */
  maxDepth: number;
  /** Bytes of the JSON text of `table`. */
  maxTableBytes: number;
  /** Different keys in all rows. */
  maxColumns: number;
  /** Bytes of one cell: of a string unescaped, of any other value as it was sent. */
  maxCellBytes: number;
  /** Bytes of one row, as it was sent; counted by slices, so that a row may be longer by two of them. */
  maxRowBytes: number;
}
