/** Finds the changes of constraints and indexes. Names that the request does not give match by content, and a name alone is changed by renaming. */
import { shorten } from '../../../../core/identifiers.ts';
import { qualified } from '../../../../postgres/callers-statement.ts';
import { quoteIdentifier, quoteQualified } from '../../../../postgres/sql.ts';
import { foreignKeyClause } from '../../ddl.ts';
import type { KeyDefinition, TableDescription } from '../../definition.ts';
import type { DefinitionProblems } from '../../definition-problems.ts';
import { createIndex } from '../../indexes/create-index.ts';
import type { IndexDefinition } from '../../indexes/index-definition.ts';
import { describeKeyOptions, keyClause } from '../../key-options.ts';
import type { PreparedForeignKey, PreparedTable } from '../../prepared-table.ts';
import type { NewRule } from '../broken-rows.ts';
import type { PartBelow } from './alter-facts.ts';
import type { Change, Lock } from './change.ts';
import { plain, type Target } from './column-changes.ts';
import type { KeptPart, SentDefinition } from './sent-definition.ts';

/** The changes by the time at which they can be made. */
export interface PartChanges {
  dropped: Change[];
  renamed: Change[];
  added: Change[];
}

/** A constraint or an index that the request wants and that the table may have. */
interface WantedPart {
  pointer: string;
  name: string | undefined;
  content: string;
  /** The statement that adds it, and what is known about it. */
  add: () => Pick<Change, 'detail' | 'statements' | 'scans' | 'lock' | 'rule' | 'trial'>;
  /** Whether rows may break it (NOT VALID); undefined: the request does not say it. */
  notValid?: boolean | undefined;
}

interface ExistingPart {
  name: string;
  content: string;
  notValid?: boolean | undefined;
}

/** Constraints or indexes of one kind. */
interface Parts {
  isIndex?: boolean;
  /** `the check "…"` */
  what: string;
  existing: ExistingPart[];
  /** The parts of the request that the table may not have yet. */
  wanted: WantedPart[];
  /** undefined: the request does not have the member, so all parts stay except those that fall with a column. */
  kept: KeptPart[] | undefined;
  /** A part that comes again with the same content is not lost. */
  isSafeToReplace?: boolean;
}

/** @param fallen the names of the constraints and indexes that a dropped column takes with it */
export function partChanges(
  existing: TableDescription,
  sent: SentDefinition,
  target: Target,
  fallen: ReadonlySet<string>,
  problems: DefinitionProblems,
): PartChanges {
  const { schema, name } = target.prepared;
  const all = partsOf(existing, sent, target);
  const context = { relation: quoteQualified(schema, name), schema, fallen, problems };
  const changes = all.map((parts) => changesOf(parts, context));
  const others: Change[] = (existing.constraints.others ?? [])
    .filter((other) => fallen.has(other.name))
    .map((other) => drop({ isIndex: other.definition.startsWith('CREATE ') }, other.name, context));
  const [foreignKeys, ...rest] = changes;
  // Foreign keys are dropped first and added last, because they may need the keys of the same table.
  const result = {
    dropped: [...changes.flatMap(({ dropped }) => dropped), ...others],
    renamed: changes.flatMap(({ renamed }) => renamed),
    added: [...rest, foreignKeys!].flatMap(({ added }) => added),
  };
  refuseUsedNames(all, result, problems);
  return result;
}

/** Returns the kinds of parts, the foreign keys first. */
function partsOf(
  { constraints, indexes = [], distribution }: TableDescription,
  sent: SentDefinition,
  { prepared, described }: Target,
): Parts[] {
  const relation = quoteQualified(prepared.schema, prepared.name);
  const { names } = prepared;
  const { primary_key: primaryKey, unique, checks = [] } = constraints;
  const wantedKeys = prepared.primaryKey === undefined ? [] : [prepared.primaryKey];
  return [
    {
      what: 'foreign key',
      existing: existingForeignKeys(constraints.foreign_keys),
      wanted: prepared.foreignKeys.map((key, place) => {
        // Citus does not check the rows for a foreign key without a name.
        const name = distribution === undefined ? key.name : names.foreignKeys[place];
        return wantedForeignKey(key, prepared, relation, name);
      }),
      kept: sent.foreignKeys,
      isSafeToReplace: true,
    },
    {
      what: 'primary key',
      existing: primaryKey.columns.length === 0 ? [] : [existingKey(primaryKey)],
      wanted: wantedKeys.map((key) => wantedKey('PRIMARY KEY', key, relation, names.primaryKey!)),
      kept: sent.saysPrimaryKey ? [] : undefined,
    },
    {
      what: 'unique constraint',
      existing: unique.map(existingKey),
      wanted: prepared.unique.map((key, place) => wantedKey('UNIQUE', key, relation, names.unique[place]!)),
      kept: sent.saysUnique ? [] : undefined,
    },
    {
      what: 'check',
      existing: checks.map(({ name, expression, not_valid }) => ({
        ...{ name, content: expression, notValid: not_valid === true },
      })),
      wanted: wantedChecks(prepared, described, relation),
      kept: sent.checks,
    },
    {
      isIndex: true,
      what: 'index',
      existing: indexes.map(({ name, ...content }) => ({ name, content: JSON.stringify(content) })),
      wanted: wantedIndexes(prepared, described, relation),
      kept: sent.indexes,
    },
  ];
}

function wantedChecks(prepared: PreparedTable, described: TableDescription, relation: string): WantedPart[] {
  const expressions = new Map(described.constraints.checks?.map((one) => [one.name, one.expression]));
  return prepared.checks.map(({ pointer, name, sql, notValid }, place) => {
    const content = expressions.get(String(place)) ?? '';
    const added = { name, clause: `CHECK (${sql})`, notValid };
    const add = () => addConstraint('check', relation, added, `over ${shorten(content)}`);
    return { pointer, name, content, notValid, add };
  });
}

function wantedIndexes(
  { indexes, names }: PreparedTable,
  { indexes: descriptions = [] }: TableDescription,
  relation: string,
): WantedPart[] {
  // PostgreSQL may make one of them in a way that a definition cannot say. Then all of them are made anew.
  const areDescribed = descriptions.length === indexes.length;
  return indexes.map((index, place) => {
    const { name: _, ...content } = areDescribed ? descriptions[place]! : { name: '' };
    const { pointer, name } = index;
    const add = () => ({
      detail: `the table gets ${name === undefined ? 'an index' : `the index "${shorten(name)}"`}`,
      statements: [createIndex(relation, index, name)],
      scans: true,
      lock: 'SHARE' as const,
      rule: ruleOfIndex(index, names.indexes[place]!),
      trial: undefined,
    });
    return { pointer, name, content: JSON.stringify(content), add };
  });
}

/** The names of parts that stay cannot be given to new ones. */
function refuseUsedNames(
  all: Parts[],
  { dropped, renamed, added }: PartChanges,
  problems: DefinitionProblems,
) {
  const used = new Set(all.flatMap(({ existing }) => existing.map(({ name }) => name)));
  for (const { name } of [...dropped, ...renamed]) used.delete(name!);
  const created = added.filter(({ change }) => change !== 'validate-constraint');
  for (const { name: oldName, newName: name = oldName, pointer } of [...renamed, ...created]) {
    if (name === undefined || !used.has(name)) continue;
    const detail = `the name "${shorten(name)}" is already used by another constraint or index of the table`;
    problems.add({ pointer: `${pointer}/name`, code: 'name-taken', detail, value: shorten(name) });
  }
}

interface Context {
  relation: string;
  schema: string;
  fallen: ReadonlySet<string>;
  problems: DefinitionProblems;
}

function changesOf(parts: Parts, context: Context): PartChanges {
  const { existing, wanted, kept, what } = parts;
  const { fallen, problems } = context;
  const result: PartChanges = { dropped: [], renamed: [], added: [] };
  const left = new Map(existing.map((part) => [part.name, part]));
  // Keys are always complete in `wanted`. Of the other kinds that the request does not have, nothing is wanted.
  const isUnsaid = kept === undefined && wanted.length === 0;
  const stay = kept ?? existing.filter((part) => isUnsaid && !fallen.has(part.name));
  for (const { name, newName } of stay as KeptPart[]) {
    left.delete(name);
    if (kept !== undefined && fallen.has(name)) {
      const detail = `the ${what} "${shorten(name)}" needs a column that the definition does not have; leave it out, too`;
      problems.add({ pointer: '/table/columns', code: 'unknown-column', detail, value: shorten(name) });
    }
    if (newName !== undefined)
      result.renamed.push(rename(parts, name, newName, context, '/table/constraints'));
  }
  const isMissing = (part: WantedPart) => {
    const found = left.get(part.name ?? '');
    if (found?.content !== part.content) return true;
    left.delete(found.name);
    result.added.push(...validate(parts, part, found, context));
    return false;
  };
  const others = wanted.filter(isMissing);
  const byContent = Map.groupBy(left.values(), ({ content }) => content);
  for (const part of others) {
    const found = byContent.get(part.content)?.find(({ name }) => left.has(name));
    if (found !== undefined) {
      left.delete(found.name);
      if (part.name !== undefined)
        result.renamed.push(rename(parts, found.name, part.name, context, part.pointer));
      result.added.push(...validate(parts, part, found, context));
      continue;
    }
    const isIndex = parts.isIndex === true;
    const change = isIndex ? 'add-index' : 'add-constraint';
    const { name, pointer } = part;
    result.added.push({ ...plain, change, name, ...part.add(), pointer });
  }
  const again = new Set(others.map(({ content }) => keyOfContent(content)));
  for (const { name, content } of left.values()) {
    const change = drop(parts, name, context);
    const isReplaced = parts.isSafeToReplace && again.has(keyOfContent(content));
    result.dropped.push(isReplaced ? { ...change, loses: null } : change);
  }
  return result;
}

/** Returns the change that lets PostgreSQL check the rows of a constraint that was not valid. */
function validate(
  { what }: Parts,
  { name, pointer, notValid }: WantedPart,
  found: ExistingPart,
  { relation, problems }: Context,
): Change[] {
  if (notValid === undefined || notValid === (found.notValid ?? false)) return [];
  if (notValid) {
    const detail = `the ${what} "${shorten(found.name)}" is valid already; leave not_valid out, or drop the ${what} and add it anew, in two requests`;
    problems.add({ pointer: `${pointer}/not_valid`, code: 'not-supported', detail });
    return [];
  }
  const kind = what === 'check' ? 'check' : 'foreign key';
  const now = name ?? found.name;
  return [
    {
      ...plain,
      change: 'validate-constraint',
      name: now,
      detail: `all rows are checked against the ${what} "${shorten(now)}"`,
      statements: [qualified`ALTER TABLE ${relation} VALIDATE CONSTRAINT ${quoteIdentifier(now)}`],
      scans: true,
      lock: 'SHARE UPDATE EXCLUSIVE',
      pointer: `${pointer}/not_valid`,
      rule: { kind, name: now },
    },
  ];
}

/** Returns the part of the content of a foreign key that has no rules. */
function keyOfContent(content: string): string {
  return content.slice(0, content.indexOf('\n') + 1);
}

function drop(
  { isIndex, what = isIndex ? 'index' : 'constraint' }: { isIndex?: boolean; what?: string },
  name: string,
  { relation, schema }: Pick<Context, 'relation' | 'schema'>,
): Change {
  const statement = isIndex
    ? qualified`DROP INDEX ${quoteQualified(schema, name)}`
    : qualified`ALTER TABLE ${relation} DROP CONSTRAINT ${quoteIdentifier(name)}`;
  return {
    ...plain,
    change: isIndex ? 'drop-index' : 'drop-constraint',
    name,
    detail: `the ${what} "${shorten(name)}" is dropped`,
    statements: [statement],
    loses: isIndex ? 'drop_indexes' : 'drop_constraints',
    pointer: isIndex ? '/table/indexes' : '/table/constraints',
  };
}

const kindsBelow: Record<string, string> = {
  ...{ c: 'check', f: 'foreign key', p: 'primary key', u: 'unique constraint' },
};

/** Returns the change that drops a part of a table below. PostgreSQL would drop it together with a column, and name it nowhere. */
export function dropBelow({ schema, table, name, isIndex, kind }: PartBelow): Change {
  const relation = quoteQualified(schema, table);
  const what = isIndex ? 'index' : (kindsBelow[kind!] ?? 'constraint');
  const change = drop({ isIndex, what }, name, { relation, schema });
  const detail = `the ${what} "${shorten(name)}" of the table "${shorten(schema)}"."${shorten(table)}" is dropped`;
  return { ...change, detail, isBelow: true };
}

function rename(
  { isIndex, what }: Parts,
  name: string,
  newName: string,
  { relation, schema }: Context,
  pointer: string,
): Change {
  const statement = isIndex
    ? qualified`ALTER INDEX ${quoteQualified(schema, name)} RENAME TO ${quoteIdentifier(newName)}`
    : qualified`ALTER TABLE ${relation} RENAME CONSTRAINT ${quoteIdentifier(name)} TO ${quoteIdentifier(newName)}`;
  return {
    ...plain,
    change: isIndex ? 'rename-index' : 'rename-constraint',
    name,
    newName,
    detail: `the ${what} "${shorten(name)}" is named "${shorten(newName)}"`,
    statements: [statement],
    pointer,
  };
}

type KeyDescription = TableDescription['constraints']['unique'][number];

function existingKey({ name, columns, ...options }: KeyDescription): ExistingPart {
  return { name, content: JSON.stringify([columns, Object.entries(options).sort()]) };
}

function wantedKey(
  kind: 'PRIMARY KEY' | 'UNIQUE',
  { pointer, name, columns, options }: KeyDefinition,
  relation: string,
  chosenName: string,
): WantedPart {
  const content = JSON.stringify([columns, Object.entries(describeKeyOptions(options)).sort()]);
  const clause = keyClause(kind, columns.map(quoteIdentifier).join(', '), options);
  const nullsNotDistinct = !options.areNullsDistinct;
  const rule: NewRule = { kind: 'unique', name: chosenName, columns, nullsNotDistinct };
  const what = kind === 'UNIQUE' ? 'unique constraint' : 'primary key';
  const over = `over ${columns.map((column) => `"${shorten(column)}"`).join(', ')}`;
  return {
    pointer,
    name,
    content,
    add: () => ({ ...addConstraint(what, relation, { name, clause }, over), rule }),
  };
}

function wantedForeignKey(
  key: PreparedForeignKey,
  table: { schema: string; name: string },
  relation: string,
  chosenName: string | undefined,
): WantedPart {
  const { schema, table: target, pairs, rules, name } = key;
  const columns = pairs.map((pair) => [pair.column, pair.referenceColumn]);
  const rulesOf = [rules.onDelete, rules.onUpdate, rules.deferrable ?? null];
  const content = foreignKeyContent(schema, target, columns, rulesOf);
  const { notValid } = rules;
  const to = `to "${shorten(schema)}"."${shorten(target)}"`;
  const add = () => ({
    ...addConstraint(
      'foreign key',
      relation,
      { name: chosenName, clause: foreignKeyClause(table, key), notValid },
      to,
    ),
    lock: 'SHARE ROW EXCLUSIVE' as const,
  });
  return { pointer: pairs[0]!.pointer, name, content, notValid, add };
}

function existingForeignKeys(pairs: TableDescription['constraints']['foreign_keys']): ExistingPart[] {
  return [...Map.groupBy(pairs, ({ name }) => name)].map(([name, own]) => {
    const { reference_schema: schema, reference_table: table, on_delete, on_update, deferrable } = own[0]!;
    const columns = own.map(({ column, reference_column }) => [column, reference_column]);
    const rules = [on_delete, on_update, deferrable ?? null];
    const notValid = own[0]!.not_valid === true;
    return { name, content: foreignKeyContent(schema, table, columns, rules), notValid };
  });
}

function foreignKeyContent(
  schema: string,
  table: string,
  columns: string[][],
  [onDelete, onUpdate, deferrable]: (string | null | undefined)[],
): string {
  const rules = [onDelete ?? 'no action', onUpdate ?? 'no action', deferrable];
  return `${JSON.stringify([schema, table, columns])}\n${JSON.stringify(rules)}`;
}

/** Returns the rule of a unique index over columns. The rows that break another index cannot be searched. */
function ruleOfIndex({ isUnique, columns, where }: IndexDefinition, name: string): NewRule | undefined {
  if (!isUnique || where !== undefined || columns.some(({ column }) => column === '')) return undefined;
  return { kind: 'unique', name, columns: columns.map(({ column }) => column), nullsNotDistinct: false };
}

function addConstraint(
  what: 'check' | 'foreign key' | 'unique constraint' | 'primary key',
  relation: string,
  {
    name,
    clause,
    notValid = false,
  }: { name: string | undefined; clause: string; notValid?: boolean | undefined },
  over: string,
) {
  const constraint = name === undefined ? '' : `CONSTRAINT ${quoteIdentifier(name)} `;
  const named = name === undefined ? `a ${what}` : `the ${what} "${shorten(name)}"`;
  const statement = qualified`ALTER TABLE ${relation} ADD ${constraint}${clause}`;
  const unchecked = qualified`${statement} NOT VALID`;
  const hasTrial = !notValid && (what === 'check' || what === 'foreign key');
  return {
    detail: `the table gets ${named} ${over}${notValid ? ', which existing rows may break' : ''}`,
    statements: [notValid ? unchecked : statement],
    scans: !notValid,
    lock: 'ACCESS EXCLUSIVE' as Lock,
    rule: undefined,
    trial: hasTrial ? { kind: what, statement: unchecked } : undefined,
  };
}
