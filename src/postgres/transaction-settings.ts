/**
 * The settings of PostgreSQL that results depend on, as statements that set them for one transaction.
 *
 * They are not sent when a connection starts: a pooler such as PgBouncer refuses startup parameters or drops them, and in
 * its transaction mode each transaction may run in another session, which another program may have changed.
 */
import { settingsOfCluster } from './citus/session-settings.ts';
import { askForSession, type SessionFacts } from './own-session.ts';
import { refuseUnless } from './refuse-unless.ts';
import { ownPath } from './search-path.ts';
import { quoteIdentifier, type Statement } from './sql.ts';

export interface TransactionSettings {
  /** The role to run under (`SET LOCAL ROLE`). Default: the role that the service connects as. */
  role?: string | undefined;
  /** The time limit for each statement; a COPY whose rows arrive over time has none (`copyRows`). 0: none. Default: the server's setting. */
  statementTimeoutMs?: number | undefined;
  /** The time limit for each wait for a lock. 0: none. Default: the server's setting. */
  lockTimeoutMs?: number | undefined;
  readOnly?: boolean | undefined;
}

/**
 * The time limits of the service's own transactions, which record loads, events and webhooks. The server ends a statement before
 * its client gives up, so no server process continues to work for nobody. The wait for a lock is short, because a caller's COMMIT
 * may hold the row of its load or key for long, and other callers need the connection.
 */
export const ownLimits = { statementTimeoutMs: 10_000, lockTimeoutMs: 1000 } as const;

/**
 * Settings that have the same values in every transaction, whatever the settings of the server, database, role and session are.
 *
 * The `valueSettings` decide what a text means and how a value is written as text. Citus also sends them to its workers.
 */
const valueSettings: Record<string, string> = {
  TimeZone: "'UTC'",
  DateStyle: "'ISO, YMD'",
  IntervalStyle: "'postgres'",
  extra_float_digits: '1',
  bytea_output: "'hex'",
  xmloption: "'content'",
  standard_conforming_strings: 'on',
  array_nulls: 'on',
};
const fixedSettings: Record<string, string> = {
  client_encoding: "'UTF8'",
  quote_all_identifiers: 'off',
  // With "off", a statement fails instead of leaving out the rows that a policy hides.
  row_security: 'on',
  // Only PostgreSQL's own functions and operators are used: see search-path.ts.
  search_path: ownPath,
  // Resets the role, because an earlier transaction of the session may have left another one.
  role: 'DEFAULT',
  // The transaction waits while a client sends its body. BODY_IDLE_TIMEOUT_MS and MIN_BODY_BYTES_PER_SECOND limit this.
  idle_in_transaction_session_timeout: '0',
  // Compiling one of the service's short statements takes longer than running it.
  jit: 'off',
  // The statements read the catalogue and rows that were just loaded, which are in memory, so random access is cheap. With PostgreSQL's
  // default, a prepared plan that reads a small catalogue table completely would still do so after the table has grown.
  random_page_cost: '1.1',
};

const setValueSettings = toStatements(valueSettings);
const setFixedSettings = toStatements(fixedSettings).join('; ');

function toStatements(settings: Record<string, string>): string[] {
  return Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} TO ${value}`);
}

/** Switches off `transaction_timeout`, which PostgreSQL 17 introduced. */
const setTransactionTimeout = `SELECT pg_catalog.set_config('transaction_timeout', '0', true)
  WHERE pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL`;

/** An SQL condition that is true if the transaction, or the session outside of one, may write. */
export const isWritable = `pg_catalog.current_setting('transaction_read_only') OPERATOR(pg_catalog.=) 'off'`;

/**
 * Returns the statements that begin a transaction, as one text.
 *
 * @param heedsReadOnlyDefault true: the transaction is refused if `default_transaction_read_only` is on. false: this setting has no effect
 * @param session undefined: the session is not known yet, or a pooler chooses a new one each time. The last result is then needed for
 *   `noteSession`
 */
export function beginStatements(
  settings: TransactionSettings,
  session: SessionFacts | undefined,
  heedsReadOnlyDefault = false,
): string {
  const { role, statementTimeoutMs } = settings;
  const access = settings.readOnly ? 'READ ONLY ' : heedsReadOnlyDefault ? '' : 'READ WRITE ';
  const statements = [
    `BEGIN ISOLATION LEVEL READ COMMITTED ${access}NOT DEFERRABLE`,
    ...(access === '' ? [refuseUnless(isWritable, 'the server is read-only')] : []),
    ...(session?.hasCitus ? [settingsOfWorkers(settings)] : settingsForWorkers(settings)),
    setFixedSettings,
  ];
  if (statementTimeoutMs !== undefined) statements.push(setStatementTimeout(statementTimeoutMs));
  if (session === undefined) statements.push(setTransactionTimeout);
  else if (session.limitsTransactions) statements.push('SET LOCAL transaction_timeout TO 0');
  if (role !== undefined) statements.push(`SET LOCAL ROLE ${quoteIdentifier(role)}`);
  if (session === undefined) statements.push(askForSession);
  return statements.join('; ');
}

/** The settings that the workers of Citus need, too: those that decide what a value means, and the time limit for locks. */
function settingsForWorkers({ lockTimeoutMs }: TransactionSettings): string[] {
  if (lockTimeoutMs === undefined) return setValueSettings;
  return [...setValueSettings, setLockTimeout(lockTimeoutMs)];
}

/**
 * Returns the statement that makes the settings at the workers of Citus. It is needed only if `beginStatements` did not know that
 * the session has Citus.
 */
export function settingsOfWorkers(settings: TransactionSettings): string {
  return settingsOfCluster(settingsForWorkers(settings));
}

/** Returns statements that run others under the role that the service connects as, and then return to the transaction's role. */
export function underOwnRole<Query>(role: string, statements: Query[]): (Query | string)[] {
  return ['SET LOCAL role TO DEFAULT', ...statements, `SET LOCAL ROLE ${quoteIdentifier(role)}`];
}

/** Returns a statement that fails if the role cannot be set. Outside a transaction it has no lasting effect. */
export function tryRole(role: string): Statement {
  return { text: `SELECT pg_catalog.set_config('role', $1, true)`, values: [role] };
}

/** Returns the statement that limits each following wait for a lock in the transaction. 0: no limit. */
export function setLockTimeout(timeoutMs: number): string {
  return `SET LOCAL lock_timeout TO ${Math.trunc(timeoutMs)}`;
}

/** Returns the statement that limits the time of each following statement of the transaction. 0: no limit. */
export function setStatementTimeout(timeoutMs: number): string {
  return `SET LOCAL statement_timeout TO ${Math.trunc(timeoutMs)}`;
}
