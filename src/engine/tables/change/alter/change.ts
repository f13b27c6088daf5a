/** One step of a plan that makes a table what a definition says. */
import type { CallersStatement } from '../../../../postgres/callers-statement.ts';
import type { Conversion } from '../../conversion/conversion.ts';
import type { NewRule } from '../broken-rows.ts';

export const changeKinds = [
  'create-table',
  'rename-column',
  'drop-constraint',
  'drop-index',
  'rename-constraint',
  'rename-index',
  'set-logged',
  'set-unlogged',
  'drop-column',
  'add-column',
  'change-type',
  'change-identity',
  'drop-expression',
  'set-default',
  'drop-default',
  'set-not-null',
  'drop-not-null',
  'add-constraint',
  'validate-constraint',
  'add-index',
  'set-comment',
] as const;

/** The values of `allow`, each of which permits one kind of loss. */
export const losses = ['drop_columns', 'drop_constraints', 'drop_indexes', 'lossy_types'] as const;
export type Loss = (typeof losses)[number];

/** The locks of a table that changes take (PostgreSQL 13.3.1), from the weakest on. Only the last one makes readers wait. */
export const locks = ['SHARE UPDATE EXCLUSIVE', 'SHARE', 'SHARE ROW EXCLUSIVE', 'ACCESS EXCLUSIVE'] as const;
export type Lock = (typeof locks)[number];

export interface Change {
  change: (typeof changeKinds)[number];
  /** The column, constraint or index; undefined: the table. */
  name?: string | undefined;
  /** The constraint or index belongs to a table below: a partition, or a table that inherits. */
  isBelow?: boolean;
  /** For a renamed constraint or index. */
  newName?: string;
  /** What happens, as a sentence. */
  detail: string;
  statements: CallersStatement[];
  /** Statements that come after all others, and in the service's own search path, because an expression that PostgreSQL has written there is part of them. */
  ownStatements?: string[];
  /** PostgreSQL writes all rows anew. */
  rewrites: boolean;
  /** PostgreSQL or the service reads all rows, and may refuse some of them. */
  scans: boolean;
  lock: Lock;
  /** What is needed in `allow`, because the change loses something; null: nothing is lost. */
  loses: Loss | null;
  /** The JSON Pointer of the part of the definition that wants the change. */
  pointer: string;
  /** Clauses of ALTER TABLE that can be run together with those of the changes before and after it, so that the rows are read and written only once. */
  clauses?: string[];
  /** For a new type. */
  conversion?: Conversion;
  /** For a new rule: its rows that break it are searched when PostgreSQL has refused it. undefined: the service cannot search them. */
  rule?: NewRule | undefined;
  /** For a new foreign key or check: the statement that adds it without reading the rows. */
  trial?: { kind: 'foreign key' | 'check'; statement: CallersStatement } | undefined;
}

/**
 * Returns the statements of the changes in their order. Changes that have clauses become one statement, for which PostgreSQL reads and writes the
 * rows once.
 *
 * @param isDistributed only new types become one statement, because Citus cannot run all clauses together
 */
export function mergeStatements(
  changes: Change[],
  alter: (clauses: string[]) => CallersStatement,
  isDistributed: boolean,
): CallersStatement[] {
  const statements: CallersStatement[] = [];
  let clauses: string[] = [];
  const end = () => {
    if (clauses.length > 0) statements.push(alter(clauses));
    clauses = [];
  };
  for (const change of changes) {
    const isMerged = !isDistributed || change.conversion !== undefined;
    if (change.clauses !== undefined && isMerged) clauses.push(...change.clauses);
    else {
      end();
      statements.push(...change.statements);
    }
  }
  end();
  return statements;
}
