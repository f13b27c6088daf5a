/**
 * Replaces a table by another one at the end of a load (the swap). The replacement was built under a temporary name. It gets
 * the name, the owner, the grants, the storage parameters and the comments of the existing table, and the names of its parts.
 * Readers of the existing table wait only for these few statements and the commit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { AppError, type Problem } from '../../core/errors.ts';
import { isShortExpression } from '../postgres/expression-trees.ts';
import { pipeline } from '../postgres/pipeline.ts';
import { refuseUnless, wasRefused } from '../postgres/refuse-unless.ts';
import { rollBackAndRelease, rollBackTo, savepoint, setSavepoint } from '../postgres/savepoints.ts';
import { apartInCallersPath, enterCallersPath, readRowsInCallersPath } from '../postgres/search-path.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../postgres/sql.ts';
import {
  conditionOf,
  isCatalogueRace,
  isNameClash,
  isOtherKindOfObject,
  isUndefinedObject,
  isUndefinedTable,
} from '../postgres/sqlstate.ts';
import type { TransactionEdges } from '../postgres/transaction.ts';
import { describeRelation, type TableFacts } from './catalog.ts';
import { nameConflict } from './create-table.ts';
import type { Naming } from './ddl.ts';
import type { TableDescription } from './definition.ts';
import { isTable, toDescription } from './describe-table.ts';
import { describeDistribution } from './distribution/describe-distribution.ts';
import { type ObjectNames, relationNames } from './object-names.ts';
import type { PreparedTable } from './prepared-table.ts';

/**
 * The time for one attempt to lock the table. It is short, because while a session waits for this lock, every later reader must
 * wait, too.
 */
const lockTryMs = 50;
const lockPauseMs = 100;
/** How long an automatic VACUUM or ANALYZE with a conflicting lock may take to end by itself. */
const vacuumWaitMs = 1000;

/**
 * Refuses to replace a table on which other objects depend.
 *
 * @param replacement the quoted name of the replacement, whose defaults may use the sequences of the existing table
 * @throws AppError `dependent-objects` (409), which names everything that prevents dropping the table or would be dropped with
 * it
 */
export async function refuseDependents(
  client: ClientBase,
  schema: string,
  name: string,
  replacement: string | null = null,
): Promise<void> {
  const relation = quoteQualified(schema, name);
  const { rows } = await client.query<{ found: { dependent: string }[] }>(dependents, [
    relation,
    replacement,
  ]);
  const { found } = rows[0]!;
  if (found.length === 0) return;
  const errors = found.slice(0, 100).map(({ dependent }): Problem => {
    return { value: dependent, code: 'dependent-object', detail: `${dependent} depends on the table` };
  });
  const referring = await client.query(references, [relation]);
  const remedy =
    referring.rows[0].found.length === 0
      ? 'send if_exists=truncate'
      : 'send if_exists=append&on_conflict=update (if_exists=truncate cannot empty it either, because foreign keys of other tables refer to it)';
  throw new AppError(
    'dependent-objects',
    `The table "${schema}"."${name}" cannot be replaced: other objects depend on it. Drop them first, or keep the table: ${remedy}.`,
    { errors, errorCount: found.length },
  );
}

/** The table that will replace the existing one. */
export interface Replacement {
  table: PreparedTable;
  /** Its temporary names. */
  aside: Naming;
  extraFunctions: readonly string[];
}

export interface SwapOptions {
  /** The time limit for all attempts to lock the table; 0: none. */
  lockTimeoutMs: number;
  signal: AbortSignal;
}

export interface Swapped {
  description: TableDescription;
  /** PostgreSQL's descriptions of the objects and properties that the old table had and the new table does not have. */
  lost: string[];
}

/** The most attempts to plan the swap, because the old table may change between the plan and the lock. */
const maxTries = 10;

/**
 * Replaces the existing table with the new one and ends the transaction. Call `plan` and `commit` in turn until `commit` returns true.
 *
 * Readers wait only while PostgreSQL runs the one message of `commit`. It locks the old table, checks that nothing about the table has
 * changed since the plan was made, drops it, renames the new table, and commits. Everything else is done before.
 */
export class TableSwap {
  readonly #client: ClientBase;
  readonly #replacement: Replacement;
  readonly #lock: LockTries;
  #statements: string[] = [];
  #tries = 0;

  constructor(client: ClientBase, replacement: Replacement, options: SwapOptions) {
    this.#client = client;
    this.#replacement = replacement;
    this.#lock = new LockTries(client, replacement.table, options);
  }

  /**
   * Does the part of the swap that needs no lock on the old table.
   *
   * @returns what `commit` will do
   * @throws AppError `dependent-objects`, `write-conflict` (the table was dropped or renamed, or it changed again and again)
   */
  async plan(): Promise<Swapped> {
    for (;;) {
      this.#tries += 1;
      await setSavepoint(this.#client, 'swap');
      try {
        const { statements, swapped } = await planSwap(this.#client, this.#replacement);
        this.#statements = statements;
        return swapped;
      } catch (error) {
        await this.#undo(error);
      }
    }
  }

  /**
   * Swaps the tables as planned, and ends the transaction.
   *
   * @returns false: the plan is no longer valid, and nothing was swapped
   * @throws AppError `database-busy` (the table stayed locked), `write-conflict`; the signal's reason
   */
  async commit(edges: TransactionEdges): Promise<boolean> {
    try {
      await this.#lock.run(this.#statements, edges);
      return true;
    } catch (error) {
      await this.#undo(error);
      return false;
    }
  }

  /** Rolls back the plan if another one may succeed. Otherwise throws. */
  async #undo(error: unknown): Promise<void> {
    if (isUndefinedTable(error) || isOtherKindOfObject(error)) throw droppedMeanwhile(error);
    const isClash = isNameClash(error);
    if (!isClash && !isChange(error)) throw error;
    const isLast = this.#tries === maxTries;
    if (isLast && !isClash) throw changedMeanwhile(error);
    await rollBackTo(this.#client, 'swap', error);
    if (!isClash) return;
    const { table } = this.#replacement;
    table.names = await table.chooseNamesAgain(this.#client);
    if (isLast) throw nameConflict(error);
  }
}

function droppedMeanwhile(cause?: unknown): AppError {
  const detail =
    'The table was dropped or renamed while its replacement was loaded. Send the request again to create the table.';
  return new AppError('write-conflict', detail, { cause });
}

function changedMeanwhile(cause: unknown): AppError {
  const detail = 'Other sessions kept changing the definition of the table. Send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

interface SwapPlan {
  /** The statements to run under the lock. The first one checks that the plan is still valid. */
  statements: string[];
  swapped: Swapped;
}

/** Compares both tables, and does the part of the swap that needs no lock on the old table. */
async function planSwap(client: ClientBase, replacement: Replacement): Promise<SwapPlan> {
  const { table, aside } = replacement;
  const { schema, name } = table;
  const old = quoteQualified(schema, name);
  const built = quoteQualified(schema, aside.name);
  // The fingerprint is read first, so every later change is noticed.
  const { rows } = await client.query<{ fingerprint: string | null; kind: string | null }>(
    `SELECT ${fingerprint(old)} AS fingerprint, (SELECT relkind::text FROM pg_class WHERE oid = to_regclass(${quoteLiteral(old)})) AS kind`,
  );
  const { fingerprint: before, kind } = rows[0]!;
  if (before === null || kind === null || !isTable(kind)) throw droppedMeanwhile();
  await refuseDependents(client, schema, name, built);
  const [inherited, lost, described] = await pipeline(client, [
    { text: inheritanceQuery, values: [old, built] },
    { text: lostQuery, values: [old, built] },
    describeRelation(schema, aside.name, true),
  ]);
  const inheritance: Inheritance = inherited!.rows[0];
  const facts: TableFacts | null = described!.rows[0].found;
  // Another session has renamed the schema.
  if (facts === null) throw droppedMeanwhile();
  const statements = inheritanceStatements(inheritance, built);
  if (statements.length > 0) await pipeline(client, apartInCallersPath(...statements));
  return {
    statements: [
      refuseUnless(
        `${fingerprint(old)} OPERATOR(pg_catalog.=) ${quoteLiteral(before)}`,
        'the table has changed',
      ),
      // Functions of event triggers expect the callers' path.
      `SELECT ${enterCallersPath}`,
      // The new table continues to use these sequences, so they must not be dropped with the old one.
      ...inheritance.sequences.map(
        ({ sequence, column }) => `ALTER SEQUENCE ${sequence} OWNED BY ${built}.${quoteIdentifier(column)}`,
      ),
      `DROP TABLE ${old}`,
      `ALTER TABLE ${built} RENAME TO ${quoteIdentifier(name)}`,
      ...renames(schema, withActualSequences(aside.names, inheritance), table.names),
    ],
    swapped: {
      description: await describeSwapped(client, facts, replacement, inheritance),
      lost: (lost!.rows[0].found as { what: string }[]).map(({ what }) => what),
    },
  };
}

/** Returns the description that the new table will have after the swap. */
async function describeSwapped(
  client: ClientBase,
  facts: TableFacts,
  replacement: Replacement,
  { sequences }: Inheritance,
): Promise<TableDescription> {
  const { table, aside, extraFunctions } = replacement;
  const { schema, name, names } = table;
  const before = relationNames(aside.names);
  const after = new Map(relationNames(names).map((name, index) => [before[index], name]));
  const kept = new Set(sequences.map(({ column }) => column));
  return toDescription(
    schema,
    name,
    {
      ...facts,
      columns:
        facts.columns?.map((column) =>
          column.default && kept.has(column.name)
            ? { ...column, default: { ...column.default, ownsSequence: true } }
            : column,
        ) ?? null,
      constraints:
        facts.constraints?.map((constraint) => {
          const { reference } = constraint;
          const isSelf = reference?.schema === schema && reference.table === aside.name;
          return {
            ...constraint,
            name: after.get(constraint.name) ?? constraint.name,
            reference: isSelf ? { ...reference, table: name } : reference,
          };
        }) ?? null,
    },
    extraFunctions,
    await describeDistribution(client, facts),
  );
}

/**
 * Refuses to empty a table that foreign keys of other tables refer to. PostgreSQL refuses TRUNCATE for such a table, even if no row
 * refers to it.
 *
 * @throws AppError `dependent-objects` (409), which names these foreign keys
 */
export async function refuseReferences(client: ClientBase, schema: string, name: string): Promise<void> {
  const { rows } = await client.query<{ found: { dependent: string }[] }>(references, [
    quoteQualified(schema, name),
  ]);
  const { found } = rows[0]!;
  if (found.length === 0) return;
  const errors = found.slice(0, 100).map(({ dependent }): Problem => {
    return { value: dependent, code: 'dependent-object', detail: `${dependent} refers to the table` };
  });
  throw new AppError(
    'dependent-objects',
    `The table "${schema}"."${name}" cannot be emptied: foreign keys of other tables refer to it. Send if_exists=append (with on_conflict=update to change existing rows), or drop the foreign keys first.`,
    { errors, errorCount: found.length },
  );
}

/** Runs statements under an exclusive lock of a table. Other sessions that use the table never wait long for it. */
class LockTries {
  readonly #client: ClientBase;
  readonly #relation: string;
  readonly #isCitus: boolean;
  readonly #options: SwapOptions;
  readonly #startedAt = performance.now();
  #hasInsisted = false;

  constructor(client: ClientBase, { schema, name, placement }: PreparedTable, options: SwapOptions) {
    this.#client = client;
    this.#relation = quoteQualified(schema, name);
    this.#isCitus = placement !== undefined;
    this.#options = options;
  }

  /**
   * Locks the table, runs the statements and ends the transaction.
   *
   * @throws AppError `database-busy`; the signal's reason; the error of a statement, after which the savepoint "swap" still exists
   */
  async run(statements: string[], edges: TransactionEdges): Promise<void> {
    const { signal } = this.#options;
    let tryMs = lockTryMs;
    for (;;) {
      signal.throwIfAborted();
      try {
        const all = [
          savepoint('lock'),
          `SET LOCAL lock_timeout = ${tryMs}`,
          `LOCK TABLE ${this.#relation} IN ACCESS EXCLUSIVE MODE`,
          ...statements,
        ];
        await edges.endAtOnce(all, this.#isCitus);
        return;
      } catch (error) {
        if (conditionOf(error) !== 'lock_not_available') throw error;
        await rollBackAndRelease(this.#client, 'lock', error);
        tryMs = await this.#nextTryMs(error);
      }
      await sleep(lockPauseMs, undefined, { signal });
    }
  }

  async #nextTryMs(error: unknown): Promise<number> {
    const { lockTimeoutMs } = this.#options;
    const elapsedMs = performance.now() - this.#startedAt;
    if (lockTimeoutMs > 0 && elapsedMs > lockTimeoutMs) {
      const detail =
        'Other transactions kept the table locked for too long (LOCK_TIMEOUT_MS), so it was not replaced. Try again later.';
      throw new AppError('database-busy', detail, { headers: { 'retry-after': '10' }, cause: error });
    }
    if (this.#hasInsisted || elapsedMs < vacuumWaitMs) return lockTryMs;
    const waitMs = await maintenanceWaitMs(this.#client, this.#relation);
    this.#hasInsisted = waitMs > 0;
    return lockTryMs + waitMs;
  }
}

/**
 * Returns how long an attempt must wait until PostgreSQL cancels an automatic VACUUM or ANALYZE of the table, which may otherwise take
 * hours. PostgreSQL cancels it for a session that has waited for `deadlock_timeout`, and never for shorter attempts. 0: none runs.
 */
async function maintenanceWaitMs(client: ClientBase, relation: string): Promise<number> {
  const { rows } = await client.query<{ wait: number }>(maintenanceWait, [relation]);
  return rows[0]!.wait;
}

/** Returns the statements that copy settings, grants, comments and the owner from the old table to the new one. */
function inheritanceStatements(inheritance: Inheritance, built: string): string[] {
  const { owner, grants, revoked, ownRights, settings, comment, columnComments, sequenceComments } =
    inheritance;
  const statements: string[] = [];
  if (settings !== null) statements.push(`ALTER TABLE ${built} SET (${settings})`);
  for (const { grantee, sequence } of revoked) {
    statements.push(`REVOKE ALL ON ${grantTarget(built, sequence)} FROM ${roleName(grantee)}`);
  }
  for (const { grantee, privilege, column, sequence, withGrantOption } of grants) {
    const what = column === null ? privilege : `${privilege} (${quoteIdentifier(column)})`;
    const option = withGrantOption ? ' WITH GRANT OPTION' : '';
    statements.push(`GRANT ${what} ON ${grantTarget(built, sequence)} TO ${roleName(grantee)}${option}`);
  }
  if (comment !== null) statements.push(`COMMENT ON TABLE ${built} IS ${quoteLiteral(comment)}`);
  for (const { column, text } of columnComments) {
    statements.push(`COMMENT ON COLUMN ${built}.${quoteIdentifier(column)} IS ${quoteLiteral(text)}`);
  }
  for (const { sequence, text } of sequenceComments) {
    statements.push(`COMMENT ON SEQUENCE ${sequence} IS ${quoteLiteral(text)}`);
  }
  // The owner changes near the end, because a role that is no longer the owner may not change the table.
  if (owner !== null) statements.push(`ALTER TABLE ${built} OWNER TO ${quoteIdentifier(owner)}`);
  for (const { role, privilege, sequence } of ownRights) {
    statements.push(`REVOKE ${privilege} ON ${grantTarget(built, sequence)} FROM ${quoteIdentifier(role)}`);
  }
  return statements;
}

interface Inheritance {
  /** null: the owner does not change. */
  owner: string | null;
  /** The roles that have privileges on the new table and its sequences because of the default privileges. */
  revoked: Pick<Grant, 'grantee' | 'sequence'>[];
  grants: Grant[];
  /** The storage parameters as SQL; null: the table has none. */
  settings: string | null;
  comment: string | null;
  columnComments: { column: string; text: string }[];
  /** The comments on the sequences of identity columns. The sequence is quoted, and has its name from before the swap. */
  sequenceComments: { sequence: string; text: string }[];
  /** The privileges that the owner of the old table has revoked from itself. */
  ownRights: { role: string; privilege: string; sequence: string | null }[];
  /** The sequences of the old table that a default of the new table uses, quoted. They would be dropped with the old table. */
  sequences: { sequence: string; column: string }[];
  /** The names of the sequences of the new table's identity columns. */
  identities: { sequence: string; column: string }[];
}

interface Grant {
  /** The role that has the privilege; null: PUBLIC. */
  grantee: string | null;
  privilege: string;
  column: string | null;
  /** The sequence, quoted, with its name from before the swap; null: the grant is on the table. */
  sequence: string | null;
  withGrantOption: boolean;
}

function grantTarget(built: string, sequence: string | null): string {
  return sequence === null ? `TABLE ${built}` : `SEQUENCE ${sequence}`;
}

function roleName(role: string | null): string {
  return role === null ? 'PUBLIC' : quoteIdentifier(role);
}

/**
 * Returns the names that the parts of the new table have. Citus makes an ordinary table one of its own if a foreign key needs it, and then
 * replaces the sequences of its identity columns by others, which have the names that PostgreSQL chooses.
 */
function withActualSequences(names: ObjectNames, { identities }: Inheritance): ObjectNames {
  const actual = new Map(identities.map(({ column, sequence }) => [column, sequence]));
  const sequences = [...names.sequences].map(
    ([column, name]) => [column, actual.get(column) ?? name] as const,
  );
  return { ...names, sequences: new Map(sequences) };
}

/** Returns the statements that give indexes, their constraints, and sequences their final names. */
function renames(schema: string, before: ObjectNames, after: ObjectNames): string[] {
  const sequences = new Set(before.sequences.values());
  const finalNames = relationNames(after);
  return relationNames(before).map((name, index) => {
    const kind = sequences.has(name) ? 'SEQUENCE' : 'INDEX';
    return `ALTER ${kind} ${quoteQualified(schema, name)} RENAME TO ${quoteIdentifier(finalNames[index]!)}`;
  });
}

/**
 * Returns whether the old table has changed since the plan was made. The first statement of the swap reports it, or PostgreSQL found
 * the change: another session may have dropped a role that had privileges on the table.
 */
function isChange(error: unknown): boolean {
  return isCatalogueRace(error) || isUndefinedObject(error) || wasRefused(error, 'the table has changed');
}

/**
 * Returns an SQL expression whose value changes if anything changes that the plan of a swap depends on: the rows of the catalogue for
 * the table, for the objects that are dropped with it, and for the objects that depend on these. VACUUM and ANALYZE change none of them.
 */
function fingerprint(relation: string): string {
  const oid = `to_regclass(${quoteLiteral(relation)})`;
  return `(
WITH dropped AS MATERIALIZED (
  SELECT oid, reltype FROM pg_class WHERE oid = ${oid}
  UNION ALL
  SELECT indexrelid, 0 FROM pg_index WHERE indrelid = ${oid}
  UNION ALL
  SELECT s.oid, 0 FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ${oid}
    AND d.deptype IN ('a', 'i'))
SELECT md5(string_agg(fact, ',' ORDER BY fact)) FROM (
  SELECT concat_ws(' ', 'class', c.oid, c.xmin) AS fact FROM dropped JOIN pg_class c USING (oid)
  UNION ALL
  SELECT concat_ws(' ', 'toast', t.xmin) FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = ${oid}
  UNION ALL
  SELECT concat_ws(' ', 'column', attnum, xmin) FROM pg_attribute WHERE attrelid = ${oid}
  UNION ALL
  SELECT concat_ws(' ', 'constraint', oid, xmin) FROM pg_constraint WHERE conrelid = ${oid}
  UNION ALL
  SELECT concat_ws(' ', 'index', indexrelid, xmin) FROM pg_index WHERE indrelid = ${oid}
  UNION ALL
  SELECT concat_ws(' ', 'sequence', q.seqrelid, q.xmin) FROM dropped JOIN pg_sequence q ON q.seqrelid = dropped.oid
  UNION ALL
  SELECT concat_ws(' ', 'depend', d.classid::oid, d.objid, d.objsubid, d.refobjid, d.refobjsubid, d.deptype)
  FROM dropped JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = dropped.oid
  UNION ALL
  SELECT concat_ws(' ', 'type', d.classid::oid, d.objid, d.objsubid, d.refobjid, d.deptype)
  FROM dropped JOIN pg_type t ON t.oid = dropped.reltype
  JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)
  UNION ALL
  SELECT concat_ws(' ', 'comment', d.objoid, d.objsubid, d.xmin)
  FROM dropped JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = dropped.oid
  UNION ALL
  SELECT concat_ws(' ', 'comment', d.objoid, d.xmin)
  FROM pg_constraint k JOIN pg_description d ON d.classoid = 'pg_constraint'::regclass AND d.objoid = k.oid
  WHERE k.conrelid = ${oid}
  UNION ALL
  SELECT concat_ws(' ', 'label', l.objsubid, l.provider) FROM pg_seclabel l
  WHERE l.classoid = 'pg_class'::regclass AND l.objoid = ${oid}
  UNION ALL
  SELECT concat_ws(' ', 'subscription', srsubid) FROM pg_subscription_rel WHERE srrelid = ${oid}
) facts)`;
}

// Views, foreign keys and extensions prevent a DROP. Triggers, rules, policies, partitions, publications and subscriptions would be
// dropped with the table without an error. A new table without row-level security or security labels (which mask columns, for
// example) would show its rows to everybody who has privileges on the old table.
const dependents = readRowsInCallersPath(`
WITH target AS (
  SELECT c.oid, c.reltype, t.typarray, c.relkind, c.relrowsecurity, c.relforcerowsecurity FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
  WHERE c.oid = to_regclass($1)
),
-- The table and the sequences that are dropped with it.
dropped AS (
  SELECT oid FROM target
  UNION ALL
  SELECT s.oid FROM target t
  JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i')
  JOIN pg_class s ON d.classid = 'pg_class'::regclass AND s.oid = d.objid AND s.relkind = 'S'
)
SELECT DISTINCT dependent FROM (
  SELECT coalesce(
    (SELECT pg_describe_object('pg_class'::regclass, v.oid, 0)
     FROM pg_rewrite r JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
     WHERE d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid),
    -- The caller does not know the temporary name of the new table.
    (SELECT format('the default of column %I in the new definition', n.attname)
     FROM pg_attrdef a JOIN pg_attribute n ON n.attrelid = a.adrelid AND n.attnum = a.adnum
     WHERE d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid AND a.adrelid = to_regclass($2)),
    pg_describe_object(d.classid, d.objid, d.objsubid)) AS dependent
  FROM pg_depend d JOIN target t
    ON (d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM dropped))
    OR (d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.reltype, t.typarray))
  WHERE d.deptype = 'n'
    AND NOT (d.classid = 'pg_constraint'::regclass
             AND EXISTS (SELECT FROM pg_constraint c WHERE c.oid = d.objid AND c.conrelid = t.oid))
    AND NOT (d.classid = 'pg_attrdef'::regclass
             AND EXISTS (SELECT FROM pg_attrdef a WHERE a.oid = d.objid AND (a.adrelid = t.oid OR a.adrelid = to_regclass($2) AND EXISTS (
               SELECT FROM pg_depend o WHERE o.classid = d.refclassid AND o.objid = d.refobjid AND o.refobjid = t.oid AND o.deptype = 'a'))))
    AND NOT (d.classid = 'pg_class'::regclass AND d.objid = t.oid)
  UNION ALL
  SELECT pg_describe_object('pg_trigger'::regclass, g.oid, 0)
  FROM pg_trigger g JOIN target t ON g.tgrelid = t.oid WHERE NOT g.tgisinternal
  UNION ALL
  SELECT pg_describe_object('pg_rewrite'::regclass, r.oid, 0)
  FROM pg_rewrite r JOIN target t ON r.ev_class = t.oid
  UNION ALL
  SELECT pg_describe_object('pg_policy'::regclass, p.oid, 0) FROM pg_policy p JOIN target t ON p.polrelid = t.oid
  UNION ALL
  SELECT pg_describe_object('pg_publication_rel'::regclass, p.oid, 0)
  FROM pg_publication_rel p JOIN target t ON p.prrelid = t.oid
  UNION ALL
  SELECT pg_describe_object('pg_class'::regclass, i.inhrelid, 0) FROM pg_inherits i JOIN target t ON i.inhparent = t.oid
  UNION ALL
  SELECT 'its place in ' || pg_describe_object('pg_class'::regclass, i.inhparent, 0)
  FROM pg_inherits i JOIN target t ON i.inhrelid = t.oid
  UNION ALL
  SELECT 'its partitioning' FROM target WHERE relkind = 'p'
  UNION ALL
  SELECT 'its row-level security' FROM target WHERE relrowsecurity OR relforcerowsecurity
  UNION ALL
  SELECT format('the security label of %s', pg_describe_object('pg_class'::regclass, l.objoid, l.objsubid))
  FROM pg_seclabel l WHERE l.classoid = 'pg_class'::regclass AND l.objoid IN (SELECT oid FROM dropped)
  UNION ALL
  SELECT 'its place in ' || pg_describe_object('pg_subscription'::regclass, r.srsubid, 0)
  FROM pg_subscription_rel r JOIN target t ON r.srrelid = t.oid
  UNION ALL
  SELECT 'its place in ' || pg_describe_object(d.refclassid, d.refobjid, 0)
  FROM pg_depend d JOIN target t ON d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e'
) found
-- The description of an object that another session drops at this moment is NULL.
WHERE dependent IS NOT NULL ORDER BY 1`);

// SHARE UPDATE EXCLUSIVE is the lock of VACUUM and ANALYZE. Not every role may see which session has it.
const maintenanceWait = `
SELECT coalesce((
  SELECT s.setting::int FROM pg_settings s WHERE s.name = 'deadlock_timeout' AND EXISTS (
    SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.relation = to_regclass($1) AND l.granted
      AND l.mode = 'ShareUpdateExclusiveLock' AND l.pid <> pg_backend_pid())), 0) AS wait`;

// The partitions of a table are emptied with it, so their foreign keys that refer to it are left out.
const references = readRowsInCallersPath(`
SELECT dependent FROM pg_constraint, pg_describe_object('pg_constraint'::regclass, oid, 0) AS dependent
WHERE dependent IS NOT NULL AND confrelid = to_regclass($1) AND contype = 'f'
  AND conrelid <> confrelid AND conrelid NOT IN (SELECT relid FROM pg_partition_tree(to_regclass($1))) ORDER BY 1`);

const ownedSequences = (table: string) => `
  SELECT s.*, o.attname AS column_name, d.deptype AS dependency FROM ${table}
  JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid = ${table}.oid AND d.deptype IN ('a', 'i')
  JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_attribute o ON o.attrelid = ${table}.oid AND o.attnum = d.refobjsubid`;

const inheritanceQuery = `
WITH old AS (SELECT * FROM pg_class WHERE oid = $1::regclass), new AS (SELECT * FROM pg_class WHERE oid = $2::regclass),
old_sequences AS (${ownedSequences('old')}),
new_sequences AS (${ownedSequences('new')}),
-- An access list that was never changed is NULL and means the owner's defaults.
table_grants AS (
  SELECT a.*, NULL::name AS column_name, NULL::text AS sequence FROM old, aclexplode(old.relacl) a
),
sequence_grants AS (
  SELECT a.*, NULL::name AS column_name, format('%s.%I', n.relnamespace::regnamespace, n.relname) AS sequence
  FROM old_sequences o JOIN new_sequences n USING (column_name), aclexplode(o.relacl) a
),
column_grants AS (
  SELECT a.*, o.attname AS column_name, NULL::text AS sequence
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped,
  aclexplode(o.attacl) a
)
SELECT
  (SELECT CASE WHEN old.relowner <> new.relowner THEN pg_get_userbyid(old.relowner) END FROM old, new) AS owner,
  (SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object(
     'grantee', CASE WHEN a.grantee = 0 THEN NULL ELSE pg_get_userbyid(a.grantee) END, 'sequence', made.sequence)), '[]')
   FROM (SELECT relacl, NULL AS sequence FROM new
         UNION ALL SELECT relacl, format('%s.%I', relnamespace::regnamespace, relname) FROM new_sequences) made,
     aclexplode(made.relacl) a, new WHERE a.grantee <> new.relowner) AS revoked,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
     'grantee', CASE WHEN g.grantee = 0 THEN NULL ELSE pg_get_userbyid(g.grantee) END,
     'privilege', g.privilege_type, 'column', g.column_name, 'sequence', g.sequence,
     'withGrantOption', g.is_grantable)), '[]')
   FROM (TABLE table_grants UNION ALL TABLE column_grants UNION ALL TABLE sequence_grants) g, old
   WHERE g.grantee <> old.relowner) AS grants,
  -- The parameters of the TOAST table are set with those of the table.
  (SELECT string_agg(format('%s%I = %L', o.prefix, split_part(o.setting, '=', 1),
     substr(o.setting, strpos(o.setting, '=') + 1)), ', ')
   FROM (SELECT '' AS prefix, unnest(reloptions) AS setting FROM old
         UNION ALL SELECT 'toast.', unnest(t.reloptions) FROM old JOIN pg_class t ON t.oid = old.reltoastrelid) o) AS settings,
  obj_description($1::regclass, 'pg_class') AS comment,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('column', o.attname, 'text', d.description)), '[]')
   FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
   JOIN pg_description d ON d.objoid = old.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = o.attnum
   JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped
  ) AS "columnComments",
  (SELECT coalesce(jsonb_agg(jsonb_build_object('sequence', format('%s.%I', n.relnamespace::regnamespace, n.relname),
     'text', d.description)), '[]')
   FROM old_sequences o JOIN new_sequences n USING (column_name)
   JOIN pg_description d ON d.objoid = o.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0
   WHERE n.dependency = 'i') AS "sequenceComments",
  (SELECT coalesce(jsonb_agg(jsonb_build_object('role', pg_get_userbyid(own.relowner), 'privilege', r.privilege_type,
     'sequence', own.sequence)), '[]')
   FROM (SELECT relowner, relacl, 'r'::"char" AS kind, NULL AS sequence FROM old
         UNION ALL
         SELECT o.relowner, o.relacl, 's', format('%s.%I', n.relnamespace::regnamespace, n.relname)
         FROM old_sequences o JOIN new_sequences n USING (column_name) WHERE n.dependency = 'i') own,
     aclexplode(acldefault(own.kind, own.relowner)) r
   WHERE own.relacl IS NOT NULL AND r.grantee = own.relowner AND NOT EXISTS (
     SELECT FROM aclexplode(own.relacl) a WHERE a.grantee = own.relowner AND a.privilege_type = r.privilege_type)) AS "ownRights",
  (SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object('sequence', format('%s.%I', s.relnamespace::regnamespace, s.relname),
     'column', n.attname)), '[]')
   FROM old_sequences s
   JOIN pg_depend used ON used.classid = 'pg_attrdef'::regclass AND used.refclassid = 'pg_class'::regclass AND used.refobjid = s.oid
   JOIN pg_attrdef d ON d.oid = used.objid
   JOIN new ON d.adrelid = new.oid JOIN pg_attribute n ON n.attrelid = new.oid AND n.attnum = d.adnum
   WHERE s.dependency = 'a') AS sequences,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('sequence', relname, 'column', column_name)), '[]')
   FROM new_sequences WHERE dependency = 'i') AS identities`;

// The text of a constraint, without the name of the table in a foreign key to the table itself, because the two tables have different
// names. NULL: the text may be too long, so it equals no other one. The kinds n (NOT NULL) and t (of a trigger) are compared with the columns
// and the triggers.
const constraintText = (constraint: string) => `
  CASE WHEN ${constraint}.conbin IS NULL OR ${isShortExpression(`${constraint}.conbin`)}
    THEN replace(pg_get_constraintdef(${constraint}.oid), ' REFERENCES ' || ${constraint}.conrelid::regclass || '(', ' REFERENCES (') END`;

const lostQuery = readRowsInCallersPath(`
WITH old AS (SELECT * FROM pg_class WHERE oid = $1::regclass), new AS (SELECT * FROM pg_class WHERE oid = $2::regclass)
SELECT what FROM (
  SELECT 0 AS place, format('column %I', o.attname) AS what
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  WHERE NOT EXISTS (SELECT FROM new JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped)
  UNION ALL
  SELECT 1, pg_describe_object('pg_constraint'::regclass, c.oid, 0)
  FROM pg_constraint c JOIN old ON c.conrelid = old.oid
  WHERE c.contype IN ('p', 'u', 'f', 'c', 'x') AND NOT EXISTS (
    SELECT FROM pg_constraint n JOIN new ON n.conrelid = new.oid
    WHERE n.contype = c.contype AND ${constraintText('n')} = ${constraintText('c')})
  UNION ALL
  SELECT 2, pg_describe_object('pg_class'::regclass, i.indexrelid, 0)
  FROM pg_index i JOIN old ON i.indrelid = old.oid
  WHERE NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = old.oid AND c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
  UNION ALL
  SELECT 3, pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0)
  FROM pg_statistic_ext s JOIN old ON s.stxrelid = old.oid
  UNION ALL
  SELECT 4, 'its being unlogged' FROM old, new WHERE old.relpersistence = 'u' AND new.relpersistence = 'p'
  UNION ALL
  SELECT 5, 'its replica identity' FROM old WHERE relreplident <> 'd'
  UNION ALL
  SELECT 6, 'its tablespace' FROM old, new WHERE old.reltablespace <> new.reltablespace
  UNION ALL
  SELECT 7, 'its access method' FROM old, new WHERE old.relam <> new.relam
  UNION ALL
  SELECT 8, 'its being clustered by ' || pg_describe_object('pg_class'::regclass, i.indexrelid, 0)
  FROM pg_index i JOIN old ON i.indrelid = old.oid WHERE i.indisclustered
  UNION ALL
  SELECT 9, format('the %s of column %I', setting.what, o.attname)
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  JOIN pg_type t ON t.oid = o.atttypid
  JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped
  LEFT JOIN pg_attrdef od ON od.adrelid = old.oid AND od.adnum = o.attnum
  LEFT JOIN pg_attrdef nd ON nd.adrelid = new.oid AND nd.adnum = n.attnum
  CROSS JOIN LATERAL (VALUES
    ('type ' || format_type(o.atttypid, o.atttypmod), (o.atttypid, o.atttypmod) <> (n.atttypid, n.atttypmod)),
    ('NOT NULL', o.attnotnull AND NOT n.attnotnull AND NOT EXISTS (
      SELECT FROM pg_constraint p WHERE p.conrelid = old.oid AND p.contype = 'p' AND o.attnum = ANY (p.conkey))),
    ('generation', o.attgenerated <> '' AND n.attgenerated = ''),
    ('identity', o.attidentity <> '' AND n.attidentity = ''),
    ('GENERATED ALWAYS', o.attidentity = 'a' AND n.attidentity = 'd'),
    ('default', o.attgenerated = '' AND n.attidentity = '' AND od.oid IS NOT NULL AND nd.oid IS NULL),
    ('collation', o.attcollation NOT IN (0, t.typcollation, n.attcollation)),
    ('storage', o.attstorage NOT IN (t.typstorage, n.attstorage)),
    ('compression', o.attcompression NOT IN ('', n.attcompression)),
    ('statistics target', coalesce(o.attstattarget, -1) >= 0),
    -- Some builds of PostgreSQL add a setting of their own to every column. The new column then has it, too.
    ('settings', EXISTS (
      SELECT option_name FROM pg_options_to_table(o.attoptions)
      EXCEPT SELECT option_name FROM pg_options_to_table(n.attoptions)))) AS setting (what, is_lost)
  WHERE setting.is_lost
  UNION ALL
  SELECT 9, format('the %s of %s', setting.what, pg_describe_object('pg_class'::regclass, i.oid, 0))
  FROM old JOIN pg_constraint c ON c.conrelid = old.oid AND c.contype IN ('p', 'u', 'x') JOIN pg_class i ON i.oid = c.conindid
  CROSS JOIN LATERAL (VALUES ('settings', i.reloptions IS NOT NULL), ('tablespace', i.reltablespace <> 0)) AS setting (what, is_lost)
  WHERE setting.is_lost AND EXISTS (
    SELECT FROM pg_constraint n JOIN new ON n.conrelid = new.oid
    WHERE n.contype = c.contype AND ${constraintText('n')} = ${constraintText('c')})
  UNION ALL
  SELECT 9, 'its row type ' || reloftype::regtype FROM old WHERE reloftype <> 0
  UNION ALL
  -- A sequence that the table owns, if the default of its column does not use it. Other sequences are lost with a default, or
  -- the new table continues to use them.
  SELECT 9, pg_describe_object('pg_class'::regclass, s.oid, 0)
  FROM (${ownedSequences('old')}) s
  WHERE s.dependency = 'a' AND NOT EXISTS (
    SELECT FROM pg_depend used JOIN pg_attrdef d ON d.oid = used.objid
    LEFT JOIN pg_attribute o ON o.attrelid = d.adrelid AND o.attnum = d.adnum
    WHERE used.classid = 'pg_attrdef'::regclass AND used.refclassid = 'pg_class'::regclass AND used.refobjid = s.oid
      AND (d.adrelid = (SELECT oid FROM new) OR d.adrelid = (SELECT oid FROM old) AND o.attname = s.column_name))
  UNION ALL
  SELECT 10, format('the numbering of column %I: START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s%s', column_name,
    os.seqstart, os.seqincrement, os.seqmin, os.seqmax, os.seqcache, CASE WHEN os.seqcycle THEN ' CYCLE' END)
  FROM (${ownedSequences('old')}) o JOIN (${ownedSequences('new')}) n USING (column_name)
  JOIN pg_sequence os ON os.seqrelid = o.oid JOIN pg_sequence ns ON ns.seqrelid = n.oid
  WHERE (o.dependency = 'i' OR EXISTS (
      SELECT FROM pg_depend used JOIN pg_attrdef d ON d.oid = used.objid JOIN old ON d.adrelid = old.oid
      WHERE used.classid = 'pg_attrdef'::regclass AND used.refclassid = 'pg_class'::regclass AND used.refobjid = o.oid))
    AND n.dependency = 'i' AND (os.seqstart, os.seqincrement, os.seqmin, os.seqmax, os.seqcache, os.seqcycle)
    IS DISTINCT FROM (ns.seqstart, ns.seqincrement, ns.seqmin, ns.seqmax, ns.seqcache, ns.seqcycle)
  UNION ALL
  SELECT 11, 'the comment on ' || pg_describe_object(d.classoid, d.objoid, 0)
  FROM old, pg_description d
  WHERE (d.classoid = 'pg_constraint'::regclass AND d.objoid IN (SELECT oid FROM pg_constraint WHERE conrelid = old.oid))
     OR (d.classoid = 'pg_class'::regclass AND d.objoid IN (SELECT indexrelid FROM pg_index WHERE indrelid = old.oid))
) lost WHERE what IS NOT NULL ORDER BY place, what COLLATE "C"`);
