/**
 * Finds things that must not remain when no operation is running: in PostgreSQL, in the folder for temporary files, and in the
 * process.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadTexts } from './ledger.ts';
import { sessionsTable } from './ledger.ts';
import type { Machinery } from './machinery.ts';
import { connectionsOf, storedFolder } from './machinery.ts';

/** How long things that are closed after an answer may take to close on a busy machine. */
const settleTimeoutMs = 20_000;

/** The service prepares a few kinds of statements by name. The number must not grow with the operations. */
const mostPreparedStatements = 40;

interface Question {
  what: string;
  sql: string;
}

/** The queries. Each returns a row for everything that remains. */
const questions: Question[] = [
  {
    what: 'a connection that is in the middle of something',
    sql: `SELECT pid, state, left(query, 80) FROM pg_stat_activity WHERE application_name = 'tablewright' AND state <> 'idle'`,
  },
  {
    what: 'a lock',
    sql: `SELECT l.mode, l.relation::regclass FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'tablewright'`,
  },
  { what: 'a prepared transaction', sql: 'SELECT gid FROM pg_prepared_xacts' },
  {
    what: 'a temporary table',
    sql: `SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname LIKE 'pg\\_temp%'`,
  },
  {
    what: 'a relation with an internal name',
    sql: `SELECT relname FROM pg_class WHERE relname LIKE 'tablewright%'`,
  },
  {
    what: 'a column with an internal name',
    sql: `SELECT attrelid::regclass, attname FROM pg_attribute WHERE attname LIKE 'tablewright%' AND NOT attisdropped`,
  },
  {
    what: 'a constraint, type, function or trigger with an internal name',
    sql: `SELECT conname FROM pg_constraint WHERE conname LIKE 'tablewright%' UNION ALL SELECT typname FROM pg_type WHERE typname LIKE 'tablewright%'
      UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'tablewright%' UNION ALL SELECT tgname FROM pg_trigger WHERE tgname LIKE 'tablewright%'`,
  },
  {
    what: 'a sequence of no column',
    sql: `SELECT relname FROM pg_class c WHERE relkind = 'S' AND relnamespace::regnamespace::text <> 'tablewright_service'
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype IN ('a', 'i'))`,
  },
  {
    what: 'a statement, cursor or advisory lock in the session of a load',
    sql: `SELECT * FROM ${sessionsTable} WHERE prepared > ${mostPreparedStatements} OR cursors > 0 OR advisory_locks > 0`,
  },
];

/** Creates the table `sessionsTable`, with a trigger that writes down what is in the session that loads it. */
export const sessionsTableSql = `
  CREATE TABLE ${sessionsTable} (id bigint, prepared integer, cursors integer, advisory_locks integer);
  CREATE FUNCTION soak_note_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    SELECT count(*) INTO NEW.prepared FROM pg_catalog.pg_prepared_statements;
    SELECT count(*) INTO NEW.cursors FROM pg_catalog.pg_cursors WHERE is_holdable;
    SELECT count(*) INTO NEW.advisory_locks FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid();
    RETURN NEW;
  END $$;
  CREATE TRIGGER note BEFORE INSERT ON ${sessionsTable} FOR EACH ROW EXECUTE FUNCTION soak_note_session();
  ALTER TABLE ${sessionsTable} OWNER TO tablewright`;

/** Returns the things that remain after a moment. */
export async function findLeftovers(machinery: Machinery, read: ReadTexts): Promise<string[]> {
  const giveUpAt = performance.now() + settleTimeoutMs;
  for (;;) {
    const left = [...(await inDatabase(read, connectionsOf(machinery))), ...inProcesses(machinery)];
    if (left.length === 0 || performance.now() > giveUpAt) return left;
    await sleep(20);
  }
}

async function inDatabase(read: ReadTexts, mostConnections: number): Promise<string[]> {
  const left: string[] = [];
  const [[connections]] = (await read(
    `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tablewright'`,
  )) as [[string]];
  if (Number(connections) > mostConnections)
    left.push(`connections beyond the size of the pool: ${connections}`);
  for (const { what, sql } of questions) {
    for (const row of await read(sql)) left.push(`${what}: ${row.join(' ')}`);
  }
  return left;
}

function inProcesses({ spoolFolder, services }: Machinery): string[] {
  const left = readdirSync(spoolFolder)
    .filter((name) => name !== storedFolder)
    .map((name) => `a temporary file: ${name}`);
  for (const { child } of services) {
    const files = openFiles(child.pid!).filter((path) => path.startsWith(spoolFolder));
    left.push(...files.map((path) => `an open temporary file: ${path}`));
    left.push(...childProcesses(child.pid!).map((process) => `a child process: ${process}`));
  }
  return left;
}

/** Waits until all loads have ended and their stored bodies are removed. Returns what remains. */
export async function findUnended({ spoolFolder }: Machinery, read: ReadTexts): Promise<string[]> {
  const giveUpAt = performance.now() + settleTimeoutMs;
  const folder = `${spoolFolder}/${storedFolder}`;
  for (;;) {
    const loads = await read(`SELECT id, state FROM tablewright_service.loads WHERE ended_at IS NULL`);
    const files = existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
    const left = [
      ...loads.map(([id, state]) => `the load ${id}, which is ${state}`),
      ...files.filter((name) => name.endsWith('.body')).map((name) => `a stored upload: ${name}`),
    ];
    if (left.length === 0 || performance.now() > giveUpAt) return left;
    await sleep(100);
  }
}

/** Returns the files that a process has open; none if the platform does not provide them. */
function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      // The file was closed meanwhile.
      return [];
    }
  });
}

/** Returns the processes that a process has started; none if the platform does not provide them. */
export function childProcesses(pid: number): number[] {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return listed.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // A process that has ended counts as ended even if its parent has not read its status.
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}
