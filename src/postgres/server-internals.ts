/**
 * Names and formats from PostgreSQL's source code. No documentation promises them, so a decision depends on them only if neither the
 * SQLSTATE nor a field of the error distinguishes the cases. No other file contains such names, except citus/worker-errors.ts for Citus.
 * server-internals.database.test.ts causes each of these errors on a real server, and test/matrix/all-servers.matrix.ts runs that test with
 * the other versions of PostgreSQL. If a new version changes one of the names, a message or a place becomes less exact.
 *
 * `routine` is the C function that raised an error.
 */
import type { DatabaseError } from 'pg';

type Fields = Partial<Pick<DatabaseError, 'code' | 'message' | 'routine' | 'where' | 'detail'>>;

/**
 * Returns whether RAISE of PL/pgSQL made the error. Then the owner of the table wrote the message for the people who send rows,
 * with any SQLSTATE. Messages of PostgreSQL itself may contain values of other users.
 */
export function isRaised({ routine }: Fields): boolean {
  return routine === routineOfRaise;
}

export const routineOfRaise = 'exec_stmt_raise';

/**
 * Returns whether RAISE of PL/pgSQL made the error, from the context (`where`). Use it if `routine` is not that of the original
 * error, for example if Citus passes on the error of a worker. The first line of the context is about the innermost function:
 * "PL/pgSQL function f() line 1 at RAISE". PL/pgSQL does not translate these words.
 */
export function isRaisedAt(where: string): boolean {
  return /^PL\/pgSQL.*\bRAISE$/m.test(where.split('\n', 1)[0]!);
}

/** Returns SQL for `isRaisedAt`. @param where an SQL expression */
export const isRaisedAtInSql = (where: string) =>
  `pg_catalog.split_part(${where}, pg_catalog.chr(10), 1) OPERATOR(pg_catalog.~~) 'PL/pgSQL%RAISE'`;

/**
 * Returns whether the error arose within a function, for example that of a trigger. The SQLSTATE is then about the statements of that
 * function, not about the statement of the service. The context has one line for each function, with the function's language:
 * "PL/pgSQL function f() line 1 at RAISE", "función PL/pgSQL …", "SQL-Funktion …". The text in double quotes is a query,
 * and is ignored.
 */
export function isOfFunction(error: Fields): boolean {
  if (isRaised(error)) return true;
  const lines = (error.where ?? '').replace(/"[^"]*"/g, '').split('\n');
  return lines.some((line) => !line.startsWith('COPY ') && /\bPL\/|\bSQL\b/.test(line));
}

/** Returns whether a policy of row-level security forbids the row. A missing privilege has the same SQLSTATE, 42501, and no other mark. */
export function isPolicyViolation(error: unknown): error is Error {
  return error instanceof Error && (error as Fields).routine === 'ExecWithCheckOptions';
}

/** The functions of postgres_fdw and dblink that report errors of another server, or of the connection to it. */
const foreignRoutines = [
  'connect_pg_server',
  'pgfdw_report_error',
  'dblink_connect',
  'dblink_get_conn',
  'dblink_res_error',
];

/** Returns whether the error is that of a foreign server. A pooler and the own connection have errors with the same SQLSTATEs. */
export function isOfForeignServer({ routine = '' }: Fields): boolean {
  return foreignRoutines.includes(routine);
}

/**
 * How the messages of internal errors (XX000) begin if another session has changed the catalogue: a regular expression for
 * PostgreSQL and for JavaScript. PostgreSQL does not translate these messages.
 */
export const changesOfCatalogue =
  '(cache lookup failed for|could not open relation with OID|could not find (pg_class )?tuple for|pg_attribute catalog is missing|tuple (concurrently|already) |relation [0-9]+ (has been )?deleted)';
const raceMessages = new RegExp(`^${changesOfCatalogue}`);

/** Returns whether an internal error (XX000) says that another session changed or dropped an object that the statement uses. */
export function isChangeOfCatalogue({ message = '' }: Fields): boolean {
  return raceMessages.test(message);
}

/**
 * Returns whether the message names an object by its identifier, in any language: "relation with OID 16384 does not exist".
 * PostgreSQL had found the name before, so the object was dropped meanwhile.
 */
export function namesByIdentifier({ message = '' }: Fields): boolean {
  return /\bOID \d/.test(message);
}

/** Returns whether ON CONFLICT DO UPDATE found two rows with the same key. The SQLSTATE is not enough: a subquery that returns too many rows has the same. */
export function isSecondUpdate({ routine }: Fields): boolean {
  return routine === 'ExecOnConflictUpdate';
}

/** The C function that stores a row. COPY calls it for rows that it has collected: see `storesRowsTogether`. */
const storingRoutine = 'RelationGetBufferForTuple';
const rowSizeRoutines = [storingRoutine, 'heap_form_tuple', 'raw_heap_insert'];

/**
 * The number of rows that COPY collects before it stores them (MAX_BUFFERED_TUPLES of copyfrom.c). If storing fails, the line
 * in the context is that of the last collected row.
 */
export const maxRowsStoredTogether = 1000;

/** Returns whether the error came when COPY stored the rows that it had collected. */
export function storesRowsTogether({ routine }: Fields): boolean {
  return routine === storingRoutine;
}

/**
 * Returns the sizes in a message such as "row is too big: size 32520, maximum size 8160", in any language; undefined: the error is
 * not about a row. Other things that are too large, such as the entry of an index, have the same SQLSTATE.
 */
export function rowSizes({ routine, message = '' }: Fields): { size: string; max: string } | undefined {
  if (!rowSizeRoutines.includes(routine ?? '')) return undefined;
  const [size, max, ...more] = message.match(/\d+/g) ?? [];
  return size === undefined || max === undefined || more.length > 0 ? undefined : { size, max };
}

/** The function that finds the partition of a row. */
const partitionRoutine = 'ExecFindPartition';

/** Marks an error as one about a missing partition. It is needed for an error that PL/pgSQL has caught, because such an error has no `routine`. */
export function markMissingPartition(error: Fields): void {
  error.routine = partitionRoutine;
}

/**
 * Returns the partition key of a row for which no partition exists, from "Partition key of the failing row contains (k) =
 * (200).", in any language. No field of the error names the column.
 */
export function partitionKeyOf({
  routine,
  detail = '',
}: Fields): { columns: string; values: string } | undefined {
  const [, columns, values] =
    (routine === partitionRoutine && /^[^(]*\((.*)\) = \((.*)\)/s.exec(detail)) || [];
  return columns === undefined ? undefined : { columns, values: values! };
}

/**
 * Returns the key in "Key (a, b)=(1, 2) already exists.", in any language. No field of the error has the columns or their
 * values.
 */
export function repeatedKeyOf({ detail = '' }: Fields): { columns: string; values: string } | undefined {
  const [, columns, values] = /^[^(]*\((.*?)\)=\((.*)\)/s.exec(detail) ?? [];
  return columns === undefined ? undefined : { columns, values: values! };
}

/**
 * Returns the line of a COPY at which PostgreSQL stopped, and the column if it is named, from "COPY t, line 3, column a: …".
 * The word for "line" is in the server's language. Lines of triggers' functions come before it. No field of the error has the
 * line.
 */
export function copyLineOf({ where = '' }: Fields): { line: number; column: string | undefined } | undefined {
  const context = where.split('\n').findLast((line) => line.startsWith('COPY '));
  const [, line, column] = /^COPY .*?, \S+ (\d+)(?:, \S+ ([^:]+))?/.exec(context ?? '') ?? [];
  return line === undefined ? undefined : { line: Number(line), column };
}
