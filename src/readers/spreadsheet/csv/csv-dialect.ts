/** The signs of a delimited text. */
export interface CsvDialect {
  /** An ASCII byte that is neither a quote nor a line end. */
  delimiter: number;
  /** An ASCII byte; 0: there are no quotes. */
  quote: number;
  /** A line that begins with this ASCII byte is a comment: it is left out, but counts as a record; 0: there are no comments. */
  comment: number;
  /** White space before an opening quote is not part of the value. If this is not set, a quote after white space is text. */
  skipsSpace?: boolean;
  /**
   * `text`: fields in quotes are strings, as in JSON. `exact`: an empty field in quotes is the empty text, and `="…"` is a text, as in files of COPY. If
   * this is not set, it makes no difference whether a field is in quotes.
   */
  quoted?: 'text' | 'exact';
  /** White space at the beginning of every field is not part of the value. */
  dropsSpace?: boolean;
}
