/** The signs of a delimited text. */
export interface CsvDialect {
  /** An ASCII byte that is neither a quote nor a line end. */
  delimiter: number;
  /** An ASCII byte; 0: there are no quotes. */
  quote: number;
  /** Lines that begin with this ASCII byte are left out, and count as records; 0: there are none. */
  comment: number;
  /** White space before an opening quote is not part of the value. Without it, such quotes are text. */
  skipsSpace?: boolean;
  /** Fields in quotes are strings, as in JSON. Without it, the quotes make no difference. */
  quoted?: 'text';
  /** White space at the beginning of every field is not part of the value. */
  dropsSpace?: boolean;
}
