/**
 * Lets a transaction of the service fail if a condition is not true when it commits. The service need not read the condition first, so no
 * round trip passes between the check and the COMMIT. In SQL without a procedural language a statement can fail only by an expression
 * that fails: a cast of a text that is not a number. PostgreSQL's error contains the text.
 */
import { randomBytes } from 'node:crypto';
import { type CallersStatement, qualified } from './callers-statement.ts';
import { conditionOf } from './sqlstate.ts';

export type Reason =
  | 'the table has changed'
  | 'the database has event triggers'
  | 'the load has ended or is cancelled'
  | 'another request has the idempotency key'
  | 'the server is read-only';

/** A random mark of this process. A function of a table does not know it, so it cannot raise an error that looks like a refusal. */
const mark = randomBytes(8).toString('hex');

/**
 * Returns a query, which may follow a WITH clause. It fails unless the condition, an SQL expression, is true. The condition of a query that
 * runs in another path than the service's own must qualify its names.
 */
export function refuseUnless(condition: string, reason: Reason): CallersStatement {
  return qualified`SELECT CAST(CASE WHEN ${condition} THEN '0' ELSE '${textOf(reason)}' END AS pg_catalog.int4)`;
}

/** Returns whether `refuseUnless` of this process caused the error, for this reason. */
export function wasRefused(error: unknown, reason: Reason): boolean {
  return (
    conditionOf(error) === 'invalid_text_representation' && (error as Error).message.includes(textOf(reason))
  );
}

function textOf(reason: Reason): string {
  return `tablewright: ${reason} (${mark})`;
}
