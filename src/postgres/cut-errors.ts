/** Cuts the long texts of PostgreSQL's errors. Users decide how long they are: a message may contain a value, and RAISE sets all fields. */
import type { DatabaseError } from 'pg';
import { cutMiddle, cutText } from '../core/cut-text.ts';

/** The lengths of the beginning and the end of a detail or a context that are kept. The names of 32 columns of a key fit into the beginning. */
export const keptOfDetail = { first: 3000, last: 1000 };

/** The texts of which the end is kept, too, because it has the line of a COPY, the address of a Citus worker, or the end of a key. */
const readToTheEnd: ReadonlySet<string> = new Set(['detail', 'where', 'internalQuery']);

/** Cuts the texts of an error in place. `message` is cut separately, because it is not among the listed properties of an `Error`. */
export function cutError(error: DatabaseError): void {
  error.message = cutText(error.message);
  const fields = error as unknown as Record<string, unknown>;
  for (const [field, text] of Object.entries(fields)) {
    if (typeof text !== 'string') continue;
    const { first, last } = keptOfDetail;
    fields[field] = readToTheEnd.has(field) ? cutMiddle(text, first, last) : cutText(text);
  }
}
