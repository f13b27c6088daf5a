/**
 * Compares the definition of a request with the table, as far as this is possible without PostgreSQL. What the request does not say, or says
 * as the description of the table says it, stays unchanged and is not checked again. So the description of any table can be sent back.
 */
import { isDeepStrictEqual } from 'node:util';
import { serialBase } from '../../column-types.ts';
import {
  type ColumnDescription,
  columnPointer,
  DistributionSchema,
  type TableDescription,
} from '../../definition.ts';
import type { DefinitionProblems } from '../../definition-problems.ts';
import { parseForeignKey } from '../../parse-foreign-keys.ts';
import { keptEntry, readMembers, reportTo } from '../../read-members.ts';
import { isObject, type Json, type MatchedColumns } from './match-columns.ts';

export interface SentColumn {
  /** The JSON Pointer of the column in the request. */
  pointer: string;
  name: string;
  /** The column as the table has it, with its new name; undefined: it is a new column. */
  existing: ColumnDescription | undefined;
  keepsDefault: boolean;
  keepsGenerated: boolean;
  keepsComment: boolean;
  keepsNumbering: boolean;
}

/** A constraint or an index that stays. */
export interface KeptPart {
  name: string;
  /** Its new name; undefined: it keeps its name. */
  newName: string | undefined;
}

export interface SentDefinition {
  /** The definition that PostgreSQL must read: all columns and keys, but only those foreign keys, checks and indexes that the table may lack. */
  definition: unknown;
  columns: SentColumn[];
  keepsComment: boolean;
  keepsUnlogged: boolean;
  /** The parts that stay. undefined: the request does not have the member, so all of them stay. */
  foreignKeys: KeptPart[] | undefined;
  checks: KeptPart[] | undefined;
  indexes: KeptPart[] | undefined;
  /** Whether the request has these members. */
  saysPrimaryKey: boolean;
  saysUnique: boolean;
}

/**
 * Completes what the request says with what the table has.
 *
 * @param existing the table, with the new names of its columns
 * @param fallen the names of the constraints and indexes that a dropped column takes with it
 */
export function completeSent(
  existing: TableDescription,
  sent: unknown,
  { oldNames }: MatchedColumns,
  fallen: ReadonlySet<string>,
  problems: DefinitionProblems,
): SentDefinition {
  const table = isObject(sent) ? sent : {};
  const byName = new Map(existing.columns.map((column) => [column.name, column]));
  const columns: SentColumn[] = [];
  const complete = (entry: unknown, index: number): unknown => {
    if (!isObject(entry) || typeof entry.name !== 'string') return entry;
    const found = oldNames.has(entry.name) ? byName.get(entry.name) : undefined;
    const { column, ...keeps } = completeColumn(entry, found);
    columns.push({ pointer: columnPointer(index), name: entry.name, existing: found, ...keeps });
    return column;
  };
  const hasColumns = Object.hasOwn(table, 'columns');
  const entries = hasColumns ? table.columns : existing.columns.map(({ name, type }) => ({ name, type }));
  const list = Array.isArray(entries) ? entries.map(complete) : entries;
  const says = (member: string) =>
    table.constraints === null || (isObject(table.constraints) && Object.hasOwn(table.constraints, member));
  const constraints = isObject(table.constraints) ? { ...table.constraints } : {};
  refuseOthers(existing, constraints, problems);
  for (const member of ['foreign_keys', 'checks'])
    if (Object.hasOwn(constraints, member)) constraints[member] = withoutNull(constraints[member]);
  const unique = completeKeys(existing, constraints, says, fallen);
  const foreignKeys = says('foreign_keys') ? keepForeignKeys(existing, constraints, problems) : undefined;
  const checks = says('checks') ? keepEqual(constraints, 'checks', existing.constraints.checks) : undefined;
  const isReadable =
    table.constraints === undefined || table.constraints === null || isObject(table.constraints);
  const whole: Json = { ...table, columns: list, constraints: isReadable ? constraints : table.constraints };
  const indexes = Object.hasOwn(table, 'indexes') ? keepEqual(whole, 'indexes', existing.indexes) : undefined;
  // Foreign keys are checked with it.
  const keepsUnlogged = !Object.hasOwn(table, 'unlogged');
  if (keepsUnlogged) whole.unlogged = existing.unlogged ?? false;
  refuseDistribution(existing, whole, problems);
  return {
    definition: sent !== undefined && !isObject(sent) ? sent : whole,
    columns,
    keepsComment: !Object.hasOwn(table, 'comment'),
    keepsUnlogged,
    ...{ foreignKeys, checks, indexes },
    ...unique,
  };
}

function completeColumn(sent: Json, existing: ColumnDescription | undefined) {
  const { renamed_from: _, ...column } = sent;
  const has = (member: string) => Object.hasOwn(sent, member);
  if (existing === undefined)
    return {
      column,
      ...{ keepsDefault: false, keepsGenerated: false, keepsComment: false, keepsNumbering: false },
    };
  if (!has('type')) column.type = existing.type;
  column.is_nullable ??= existing.is_nullable;
  const keepsDefault = !has('default') || isSameDefault(sent, existing);
  if (keepsDefault) {
    delete column.default;
    if (typeof column.default_is_expression === 'boolean') delete column.default_is_expression;
  } else if (typeof column.default === 'string' && !column.default_is_expression) {
    // The same request may have changed the type from text before.
    column.default = withoutTextType(column.default);
  }
  const kind = existing.generated_kind ?? 'stored';
  const isSameKind = existing.generated === undefined || (column.generated_kind ?? kind) === kind;
  const isSame = !has('generated') || (sent.generated ?? undefined) === existing.generated;
  const keepsGenerated = isSame && isSameKind;
  if (keepsGenerated) delete column.generated;
  else if (!has('generated')) column.generated = existing.generated;
  if (isNumbered(column.type) && isNumbered(existing.type)) {
    if (!has('identity') && existing.identity) column.identity = existing.identity;
    const { sequence } = column;
    if (existing.sequence && !has('sequence')) column.sequence = { ...existing.sequence };
    else if (existing.sequence && isObject(sequence))
      column.sequence = {
        ...existing.sequence,
        ...sequence,
        name: isNone(sequence.name) ? existing.sequence.name : sequence.name,
      };
  }
  const keepsNumbering = !has('numbering');
  return { column, keepsDefault, keepsGenerated, keepsComment: !has('comment'), keepsNumbering };
}

/** Leaves out the type of a literal of text, which the type of the column then reads. PostgreSQL casts no text to most types by itself. */
function withoutTextType(text: string | null | undefined): string | null | undefined {
  return text?.replace(/^('(?:[^']|'')*')::(text|character varying)$/, '$1');
}

/** Returns whether a name is not given. A value of a wrong type is given, so that the parser reports it. */
function isNone(name: unknown): boolean {
  return name === undefined || name === null || name === '';
}

function isNumbered(type: unknown): boolean {
  return typeof type === 'string' && serialBase(type) !== undefined;
}

/** An older client does not know `default_is_expression` and sends the text of an expression alone. */
function isSameDefault(sent: Json, existing: ColumnDescription): boolean {
  const isExpression = sent.default_is_expression ?? existing.default_is_expression ?? false;
  if (typeof sent.default === 'object' && sent.default !== null) return false;
  const text = sent.default === null ? null : String(sent.default);
  return text === existing.default && isExpression === (existing.default_is_expression ?? false);
}

/** Constraints that a definition cannot have may be sent back, because they stay. */
function refuseOthers(existing: TableDescription, constraints: Json, problems: DefinitionProblems): void {
  const found = existing.constraints.others;
  if (found === undefined || !Object.hasOwn(constraints, 'others')) return;
  if (!isDeepStrictEqual(constraints.others, found)) {
    const detail =
      'these constraints and indexes cannot be changed here; leave "others" out, or change them in PostgreSQL';
    problems.add({ pointer: '/table/constraints/others', code: 'not-supported', detail });
  }
  delete constraints.others;
}

/** Completes the primary key and the unique constraints. They are never left out, because foreign keys may refer to them. */
function completeKeys(
  { constraints: { primary_key: primaryKey, unique } }: TableDescription,
  constraints: Json,
  says: (member: string) => boolean,
  fallen: ReadonlySet<string>,
) {
  const isKept = ({ name }: { name: string }) => name !== '' && !fallen.has(name);
  const saysPrimaryKey = says('primary_key');
  if (!saysPrimaryKey && isKept(primaryKey)) constraints.primary_key = primaryKey;
  else constraints.primary_key = completeKey(constraints.primary_key, [primaryKey]);
  const saysUnique = says('unique');
  if (!saysUnique) constraints.unique = unique.filter(isKept);
  else if (Array.isArray(constraints.unique))
    constraints.unique = constraints.unique.map((entry) => completeKey(entry, unique));
  return { saysPrimaryKey, saysUnique };
}

/** Gives a key the options of the existing key that it means, unless it says them itself. */
function completeKey(sent: unknown, existing: { name: string; columns: string[] }[]): unknown {
  if (!isObject(sent)) return sent;
  const same = existing.filter(({ columns }) => isDeepStrictEqual(columns, sent.columns));
  const found = same.find(({ name }) => name === sent.name) ?? (sent.name ? undefined : same[0]);
  return { ...found, ...sent };
}

/**
 * Finds the entries that the table has already, by their names or, without a name, by everything else. They are replaced by marks that the
 * parser leaves out, so that the pointers of the other entries stay.
 */
function keepEqual(
  parent: Json,
  member: 'checks' | 'indexes',
  existing: { name: string }[] = [],
): KeptPart[] {
  const kept = new Map<string, KeptPart>();
  const entries = parent[member];
  if (!Array.isArray(entries)) return [];
  const contentOf = ({ name: _, ...content }: Json) => JSON.stringify(Object.entries(content).sort());
  const byContent = Map.groupBy(existing, contentOf as never) as Map<string, { name: string }[]>;
  const take = (entry: unknown, matches: (name: string) => boolean): unknown => {
    if (!isObject(entry)) return entry;
    const found = byContent.get(contentOf(entry))?.find(({ name }) => !kept.has(name) && matches(name));
    if (found === undefined) return entry;
    kept.set(found.name, { name: found.name, newName: undefined });
    return keptEntry;
  };
  const named = entries.map((entry) => take(entry, (name) => name === (entry as Json | null)?.name));
  parent[member] = named.map((entry) =>
    isObject(entry) && isNone(entry.name) ? take(entry, () => true) : entry,
  );
  return [...kept.values()];
}

const rules = ['on_delete', 'on_update', 'deferrable', 'not_valid'] as const;
const defaultRules = { on_delete: 'no action', on_update: 'no action', deferrable: null, not_valid: false };

/** Finds the foreign keys that the table has already, and gives the others the rules of the existing key that they mean. */
function keepForeignKeys(
  existing: TableDescription,
  constraints: Json,
  problems: DefinitionProblems,
): KeptPart[] {
  const report = reportTo(problems);
  const entries = constraints.foreign_keys;
  if (!Array.isArray(entries)) return [];
  const completed: unknown[] = [...entries];
  const found = groupPairs(existing.constraints.foreign_keys as unknown as Json[]);
  const kept = new Map<string, KeptPart>();
  const sent = groupPairs(entries);
  const names = new Set(sent.map(({ name }) => name));
  for (const key of sent) {
    const isFree = ({ name }: ForeignKeyGroup) => !kept.has(name) && (name === key.name || !names.has(name));
    const same = found.filter(({ content }) => content === key.content).filter(isFree);
    const other = same.find(({ name }) => name === key.name) ?? same[0];
    if (other === undefined) continue;
    const old = other.entries[0]![0];
    // Under another name it is another key, so it has only the rules that the request gives.
    const inherits = key.name === '' || key.name === other.name;
    const isAbsent = (rule: string) => key.entries.every(([entry]) => !Object.hasOwn(entry, rule));
    const keptRules = Object.fromEntries(
      rules.filter((rule) => inherits && isAbsent(rule)).map((rule) => [rule, old[rule]]),
    );
    const isEqual = rules.every(
      (rule) => Object.hasOwn(keptRules, rule) || isSameRule(key.entries, rule, old[rule]),
    );
    const newName = key.name === '' || key.name === other.name ? undefined : key.name;
    if (isEqual) kept.set(other.name, { name: other.name, newName });
    for (const [entry, index] of key.entries) {
      if (isEqual) parseForeignKey(entry, `/table/constraints/foreign_keys/${index}`, report);
      const name = isNone(entry.name) ? other.name : entry.name;
      completed[index] = isEqual ? keptEntry : { ...keptRules, ...entry, name };
    }
  }
  constraints.foreign_keys = completed;
  return [...kept.values()];
}

/** Returns whether the entries have the rule of the existing key. A rule of one pair of columns is that of the whole key. */
function isSameRule(
  entries: [entry: Json, index: number][],
  rule: (typeof rules)[number],
  existing: unknown,
): boolean {
  const none = defaultRules[rule];
  const said = entries.filter(([entry]) => Object.hasOwn(entry, rule)).map(([entry]) => entry[rule] ?? none);
  return (said.length === 0 ? [none] : said).every((one) => one === (existing ?? none));
}

/** Says for each entry whose `not_valid` is null that it is valid. An absent `not_valid` is unchanged. */
function withoutNull(entries: unknown): unknown {
  if (!Array.isArray(entries)) return entries;
  return entries.map((one) => (isObject(one) && one.not_valid === null ? { ...one, not_valid: false } : one));
}

interface ForeignKeyGroup {
  /** '': the request gives none. */
  name: string;
  /** The target and the pairs of columns, as a text that can be compared. */
  content: string;
  entries: [entry: Json, index: number][];
}

/** Joins the entries of each foreign key, in both forms. */
function groupPairs(entries: unknown[]): ForeignKeyGroup[] {
  const groups = new Map<string, [Json, number][]>();
  for (const [index, entry] of entries.entries()) {
    if (!isObject(entry)) continue;
    const key = typeof entry.name === 'string' && entry.name !== '' ? `n${entry.name}` : `i${index}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [[entry, index]]);
    else group.push([entry, index]);
  }
  return [...groups.values()].map((members) => {
    const first = members[0]![0];
    const pairs = members.flatMap(([entry]): unknown[] =>
      Array.isArray(entry.columns) && Array.isArray(entry.reference_columns)
        ? entry.columns.map((column, place) => [column, (entry.reference_columns as unknown[])[place]])
        : [[entry.column, entry.reference_column]],
    );
    const targets = members.map(([entry]) => [entry.reference_schema || 'public', entry.reference_table]);
    const content = JSON.stringify([
      targets.every((one) => isDeepStrictEqual(one, targets[0])),
      targets[0],
      pairs,
    ]);
    return { name: typeof first.name === 'string' ? first.name : '', content, entries: members };
  });
}

/** The distribution stays. Citus moves all rows to change it, which takes long and which it does not undo with the transaction. */
function refuseDistribution(existing: TableDescription, whole: Json, problems: DefinitionProblems): void {
  const found = existing.distribution;
  const { distribution: sent } = whole;
  if (found === undefined || sent === undefined) return;
  delete whole.distribution;
  if (isObject(sent)) readMembers(DistributionSchema, sent, '/table/distribution', reportTo(problems));
  const same = isObject(sent)
    ? (['kind', 'column', 'shards'] as const).every(
        (member) => (sent[member] ?? found[member]) === found[member],
      )
    : sent === null && found.kind === 'local';
  if (same) return;
  const detail = `the distribution of an existing table (${found.kind}) is not changed here; change it in PostgreSQL, or load the table anew with if_exists=replace`;
  problems.add({ pointer: '/table/distribution', code: 'not-supported', detail });
}
