/** Finds the changes that make a table what a definition says. It needs no database: PostgreSQL has described the table and the definition before. */

import { qualified } from '../../../../postgres/callers-statement.ts';
import { quoteIdentifier, quoteQualified } from '../../../../postgres/sql.ts';
import { commentOn } from '../../ddl.ts';
import type { TableDescription } from '../../definition.ts';
import type { DefinitionProblems } from '../../definition-problems.ts';
import type { PartBelow } from './alter-facts.ts';
import type { Change } from './change.ts';
import { changedTypes, columnChanges, plain, shown, type Target } from './column-changes.ts';
import type { MatchedColumns } from './match-columns.ts';
import { dropBelow, partChanges } from './part-changes.ts';
import type { KeptPart, SentDefinition } from './sent-definition.ts';

/** The table, and what a request says about it. */
export interface Comparison {
  /** The table, with the new names of its columns. */
  existing: TableDescription;
  matched: MatchedColumns;
  sent: SentDefinition;
  /** The names of the constraints and indexes that a dropped column takes with it. */
  fallen: ReadonlySet<string>;
  fallenBelow: PartBelow[];
}

/** Returns the changes in the order in which they can be made, and adds a problem for each change that is not possible. */
export function diffDefinition(
  { existing, matched, sent, fallen, fallenBelow }: Comparison,
  target: Target,
  problems: DefinitionProblems,
): Change[] {
  const { schema, name } = target.prepared;
  const relation = quoteQualified(schema, name);
  const parts = partChanges(existing, sent, target, fallen, problems);
  const columns = columnChanges(sent.columns, target, problems);
  const { comment } = target.prepared;
  const isSameStorage = sent.keepsUnlogged || target.prepared.isUnlogged === (existing.unlogged ?? false);
  const hasComment = sent.keepsComment || comment === existing.comment;
  const mayBeRenamed = sent.columns.some((column) => column.existing === undefined);
  return [
    ...matched.renames.map(([from, to]) => renameColumn(relation, from, to)),
    ...fallenBelow.map(dropBelow),
    ...parts.dropped,
    ...parts.renamed,
    ...dropColumns(relation, existing, matched.dropped, mayBeRenamed),
    ...columns,
    ...(isSameStorage ? [] : [setStorage(relation, target.prepared.isUnlogged)]),
    ...parts.added,
    ...(hasComment ? [] : [setComment(relation, comment)]),
  ];
}

/**
 * Finds the differences that are left after the changes, and what has changed although the request keeps it. It needs no query.
 *
 * @param table the table after the changes, which `matched` compares with the request
 */
export function differencesAfter(
  { existing, sent }: Comparison,
  target: Target,
  table: TableDescription,
  matched: MatchedColumns,
  problems: DefinitionProblems,
): Pick<Change, 'pointer' | 'detail'>[] {
  const retyped = new Set(changedTypes(sent.columns, target.described).map(({ name }) => name));
  const now = new Map(table.columns.map((column) => [column.name, column]));
  const columns = sent.columns.map((column) => ({
    ...column,
    existing: now.get(column.name),
    keepsDefault: column.keepsDefault && !retyped.has(column.name),
  }));
  const renamed = (parts: KeptPart[] | undefined) =>
    parts?.map(({ name, newName = name }) => ({ name: newName, newName: undefined }));
  const [foreignKeys, checks, indexes] = [sent.foreignKeys, sent.checks, sent.indexes].map(renamed);
  const after = { existing: table, matched, sent: { ...sent, columns, foreignKeys, checks, indexes } };
  const left = diffDefinition({ ...after, fallen: new Set(), fallenBelow: [] }, target, problems);
  const before = new Map(existing.columns.map((column) => [column.name, column]));
  const lost = columns.filter(({ name, keepsDefault, keepsGenerated, keepsComment }) => {
    const [old, found] = [before.get(name), now.get(name)];
    if (old === undefined || found === undefined) return false;
    const isSame =
      (!keepsDefault || old.default === found.default) &&
      (!keepsGenerated || old.generated === found.generated) &&
      (!keepsComment || old.comment === found.comment);
    return !isSame;
  });
  return [
    ...left,
    ...lost.map(({ name, pointer }) => ({ pointer, detail: `${shown(name)} keeps what it has` })),
  ];
}

function renameColumn(relation: string, from: string, to: string): Change {
  return {
    ...plain,
    change: 'rename-column',
    name: from,
    detail: `${shown(from)} is named "${to}"`,
    statements: [
      qualified`ALTER TABLE ${relation} RENAME COLUMN ${quoteIdentifier(from)} TO ${quoteIdentifier(to)}`,
    ],
    pointer: '/table/columns',
  };
}

/** Generated columns go first, because they need the others. */
function dropColumns(
  relation: string,
  existing: TableDescription,
  dropped: string[],
  mayBeRenamed: boolean,
): Change[] {
  const hint = mayBeRenamed
    ? '; to rename it instead, write its name into `renamed_from` of the new column'
    : '';
  const generated = new Set(existing.columns.filter((one) => one.generated).map(({ name }) => name));
  const ordered = dropped.toSorted((a, b) => Number(generated.has(b)) - Number(generated.has(a)));
  return ordered.map((name) => ({
    ...plain,
    change: 'drop-column',
    name,
    detail: `${shown(name)} is dropped with its values${hint}`,
    statements: [qualified`ALTER TABLE ${relation} DROP COLUMN ${quoteIdentifier(name)}`],
    clauses: [`DROP COLUMN ${quoteIdentifier(name)}`],
    loses: 'drop_columns',
    pointer: '/table/columns',
  }));
}

function setStorage(relation: string, isUnlogged: boolean): Change {
  return {
    ...plain,
    change: isUnlogged ? 'set-unlogged' : 'set-logged',
    detail: isUnlogged ? 'the table is unlogged, and empty after a crash' : 'the table is logged',
    statements: [qualified`ALTER TABLE ${relation} SET ${isUnlogged ? 'UNLOGGED' : 'LOGGED'}`],
    rewrites: true,
    pointer: '/table/unlogged',
  };
}

function setComment(relation: string, comment: string | undefined): Change {
  return {
    ...plain,
    change: 'set-comment',
    detail: `the table has ${comment === undefined ? 'no comment' : 'another comment'}`,
    statements: [commentOn(`TABLE ${relation}`, comment)],
    lock: 'SHARE UPDATE EXCLUSIVE',
    pointer: '/table/comment',
  };
}
