/** Files as people have them, and what a person who works with data expects of them. */

export interface MessyFile {
  name: string;
  content: Buffer;
  /** The media type of files that are sent to `upload/json`. */
  mediaType?: string;
  /** The requests in their order. Each but the first has the remedy that the answer before it names. */
  tries: Try[];
}

/** A request and its expected answer. */
export interface Try {
  query?: string;
  mediaType?: string;
  /** The definition that is sent with the file. */
  definition?: unknown;
  /** The names and types of a new table: `id bigint, name text`. */
  columns?: string;
  /** The rows, each with ` | ` between its values. */
  rows?: string[];
  /** All warnings in their order: code, column and place, as in `mixed-column amount B3`. Default: none. */
  warnings?: string[];
  /** The status and the code, if the upload is refused: `422 invalid-data`. */
  error?: string;
  /** A part of the detail of a refused upload, which says what to do. */
  says?: string;
  /** All problems of a refused upload in their order: code, column and place. Default: none. */
  problems?: string[];
}

/** Returns a text file of these lines, each with LF at its end. */
export const lines = (...list: string[]): Buffer => Buffer.from(`${list.join('\n')}\n`);
