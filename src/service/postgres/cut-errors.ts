/** Cuts the texts of PostgreSQL's errors. Other people decide how long they are: the value in a message, and RAISE with all its fields. */
import type { DatabaseError } from 'pg';
import { cutMiddle, cutText } from '../../core/cut-text.ts';

/** The lengths of the beginning and the end of a detail or a context that are kept. The names of 32 columns of a key fit into the beginning. */
export const keptOfDetail = { first: 3000, last: 1000 };

/** The texts whose end is read, too: it has the line of a COPY, the address of a worker of Citus, or the end of a key. */
const readToTheEnd: ReadonlySet<string> = new Set(['detail', 'where', 'internalQuery']);

/** Cuts the texts of an error in place. `Error` does not list `message` among its properties. */
export function cutError(error: DatabaseError): void {
  error.message = cutText(error.message);
  const fields = error as unknown as Record<string, unknown>;
  for (const [field, text] of Object.entries(fields)) {
    if (typeof text !== 'string') continue;
    const { first, last } = keptOfDetail;
    fields[field] = readToTheEnd.has(field) ? cutMiddle(text, first, last) : cutText(text);
  }
}
