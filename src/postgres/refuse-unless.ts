/**
 * Makes a transaction of the service fail if a condition is not true when it is about to commit. The service need not read the condition
 * before, so there is no round trip between the check and the COMMIT. In SQL without a procedural language, a statement can fail only by an
 * expression that fails. The expression here casts a text that is not a number, and PostgreSQL's error contains this text.
 */
import { randomBytes } from 'node:crypto';
import { type CallersStatement, qualified } from './callers-statement.ts';
import { conditionOf } from './sqlstate.ts';

export type Reason =
  | 'the table has changed'
  | 'an expression has code of others'
  | 'the database has event triggers'
  | 'the load has ended or is cancelled'
  | 'another request has the idempotency key'
  | 'the server is read-only'
  | 'a row is too long to be exported'
  | 'the computed values are too long';

/** A random mark in the text. A function of a table does not know it, so it cannot raise an error that looks like such a refusal. */
const mark = randomBytes(8).toString('hex');

/**
 * Returns a query that fails unless the condition, an SQL expression, is true. It may follow a WITH clause. If the query runs in
 * another search path than the service's own, its condition must qualify all names.
 */
export function refuseUnless(condition: string, reason: Reason): CallersStatement {
  return qualified`SELECT ${failUnless(condition, reason)}`;
}

/** Returns an expression that is 0, or fails unless the condition is true. A query evaluates it for each row. */
export function failUnless(condition: string, reason: Reason): string {
  return `CAST(CASE WHEN ${condition} THEN '0' ELSE '${textOf(reason)}' END AS pg_catalog.int4)`;
}

/** Returns whether the error comes from `refuseUnless` or `failUnless` of this process, with this reason. */
export function wasRefused(error: unknown, reason: Reason): boolean {
  return (
    conditionOf(error) === 'invalid_text_representation' && (error as Error).message.includes(textOf(reason))
  );
}

/** Returns a regular expression of PostgreSQL over the SQLSTATE, a space and the message of such a refusal. */
export function patternOf(reason: Reason): string {
  return `^22P02 .*${textOf(reason).replace(/[()]/g, '.')}`;
}

function textOf(reason: Reason): string {
  return `tablewright: ${reason} (${mark})`;
}
