/**
 * Checks a definition against the database and resolves everything in it, before anything is made. All faults come in
 * one error. Takes two round trips for a good definition: what it mentions is looked up in one, its defaults are tried
 * in the other.
 */
import type { ClientBase, DatabaseError } from 'pg';
import type { Problem } from '../errors.ts';
import { AppError } from '../errors.ts';
import type { Statement } from '../postgres/sql.ts';
import { quoteLiteral, quoteQualified } from '../postgres/sql.ts';
import { attempt, findFaults } from './attempt.ts';
import type { LookUpRequest, LookUpResult } from './catalog.ts';
import { lockTableName, lookUpDefinition } from './catalog.ts';
import { checkKeyTypes, checkReferences } from './check-keys.ts';
import { checkStructure } from './check-structure.ts';
import type { CatalogType, TypeName } from './column-types.ts';
import { parseTypeName, serialBase, typeSql } from './column-types.ts';
import type { CatalogFunction, FunctionName, Mentions, Names, ParsedDefault } from './defaults.ts';
import { expressionSql, isBuiltIn, mentionsOf, parseDefault } from './defaults.ts';
import type { TableDefinition } from './definition.ts';
import { columnPointer } from './definition.ts';
import { identifierFault, isSystemSchema, shorten } from './identifiers.ts';
import { parseDefinition } from './parse-definition.ts';
import type { PreparedColumn, PreparedTable } from './prepared-table.ts';
import type { DefaultTrial } from './try-defaults.ts';
import { tryDefaults } from './try-defaults.ts';
import { explainTypeError, explainUnknownTypes } from './type-faults.ts';

export type { PreparedTable };

export interface PrepareOptions {
  schema: string;
  /** The table's name as the caller knows it; it may be made under another one (`ddl.ts`). */
  name: string;
  /** The request's `table`: JSON of any shape. */
  table: unknown;
  /** Functions that defaults may call beside the built-in ones: `name` or `schema.name`. */
  extraFunctions?: readonly string[];
}

/**
 * Must run inside a transaction. Takes a lock on the table's name that lasts as long as the transaction: of several
 * creations of one table the first goes on, the others wait here and then find it standing.
 *
 * @throws AppError `invalid-parameter` (a name that cannot be one), `schema-forbidden`, `schema-not-found`,
 *   `permission-denied`, `invalid-definition` with every fault
 */
export async function prepareTable(client: ClientBase, options: PrepareOptions): Promise<PreparedTable> {
  return resolveTable(client, options, lockTableName(options.schema, options.name));
}

/** `prepareTable` without its lock: for a definition that nothing will be made from. */
export async function resolveTable(
  client: ClientBase,
  options: PrepareOptions,
  lock?: Statement,
): Promise<PreparedTable> {
  const { schema, name, extraFunctions = [] } = options;
  checkTableName(schema, name);
  const { definition, problems } = parseDefinition(options.table);
  problems.push(...checkStructure(name, definition));
  const drafts = definition.columns.map((column, index) =>
    draftColumn(column, columnPointer(index), extraFunctions, problems),
  );
  const request = requestOf(schema, name, definition, drafts);
  const found = await lookUp(client, request, lock);
  if (found.result.schema === null) {
    throw new AppError('schema-not-found', `There is no schema "${schema}".`);
  }
  if (!found.result.schema.mayCreate && found.result.standing === null) {
    throw new AppError('permission-denied', `The role may not create tables in the schema "${schema}".`);
  }
  const resolver = new Resolver(request, found, problems);
  const keyColumns = definition.primaryKey?.columns ?? [];
  const columns = drafts.map((draft) => resolver.column(draft, keyColumns.includes(draft.column.name)));
  await resolver.explainUnknownTypes(client);
  checkTakenNames(definition, found.result, problems);
  const resolved = columns.filter((column) => column !== undefined);
  checkKeyTypes(definition, resolved, problems);
  const foreignKeys = definition.foreignKeys.map((key) => ({
    ...key,
    isSelf: key.schema === schema && key.table === name,
  }));
  await checkReferences(
    client,
    foreignKeys,
    definition,
    resolved,
    request.targets,
    found.result.targets,
    problems,
  );
  await tryDefaults(client, resolver.trials, problems);
  throwIfAny(problems);
  return {
    schema,
    name,
    columns: resolved,
    primaryKey: definition.primaryKey,
    unique: definition.unique,
    foreignKeys,
    standing: found.result.standing ?? undefined,
  };
}

/** @throws AppError `invalid-parameter`, `schema-forbidden` */
export function checkTableName(schema: string, name: string): void {
  for (const [what, value] of [
    ['schema', schema],
    ['table_name', name],
  ] as const) {
    const fault = identifierFault(value);
    if (fault !== undefined) throw new AppError('invalid-parameter', `${what} ${fault}.`);
  }
  if (isSystemSchema(schema)) {
    throw new AppError('schema-forbidden', `The schema "${schema}" belongs to PostgreSQL itself.`);
  }
}

const maxProblems = 100;

/** Numbers in pointers count as numbers: the order in which the faults stand in the request. */
const pointerOrder = new Intl.Collator('en', { numeric: true });

function throwIfAny(problems: Problem[]): void {
  if (problems.length === 0) return;
  problems.sort((a, b) => pointerOrder.compare(a.pointer ?? '', b.pointer ?? ''));
  const detail =
    problems.length === 1 ? problems[0]!.detail : `${problems.length} faults were found; see "errors"`;
  const isPermission = problems.every((problem) => problem.code === 'permission-denied');
  throw new AppError(isPermission ? 'permission-denied' : 'invalid-definition', detail, {
    errors: problems.slice(0, maxProblems),
    errorCount: problems.length,
  });
}

/** A column whose texts are parsed and whose names are not looked up yet. */
interface ColumnDraft {
  pointer: string;
  column: TableDefinition['columns'][number];
  type: TypeName | undefined;
  isSerial: boolean;
  default: ParsedDefault | undefined;
}

function draftColumn(
  column: TableDefinition['columns'][number],
  pointer: string,
  extraFunctions: readonly string[],
  problems: Problem[],
): ColumnDraft {
  const serial = serialBase(column.type);
  const type = column.type === '' ? undefined : parseTypeName(serial ?? column.type);
  if (type === undefined && column.type !== '') {
    const value = shorten(column.type);
    const detail = `"${value}" is not the name of a type: write one as PostgreSQL does, such as text, varchar(20) or integer[]`;
    problems.push({ pointer: `${pointer}/type`, code: 'unknown-type', detail, value });
  }
  if (column.identityAlways && serial === undefined && column.type !== '') {
    const detail = 'only serial, bigserial and smallserial columns have an identity';
    problems.push({ pointer: `${pointer}/identity`, code: 'not-supported', detail });
  }
  if (serial !== undefined && column.default !== undefined) {
    const detail = `a ${column.type} column numbers itself; its default must be null`;
    problems.push({
      pointer: `${pointer}/default`,
      code: 'invalid-default',
      detail,
      value: shorten(column.default),
    });
  }
  const hasDefault = serial === undefined && column.default !== undefined;
  return {
    pointer,
    column,
    type,
    isSerial: serial !== undefined,
    default: hasDefault ? parseDefault(column.default!, extraFunctions) : undefined,
  };
}

function requestOf(
  schema: string,
  table: string,
  definition: TableDefinition,
  drafts: ColumnDraft[],
): LookUpRequest {
  const mentions: Mentions = { types: [], functions: [], sequences: [] };
  for (const draft of drafts) {
    if (draft.type !== undefined) mentions.types.push(draft.type);
    if (draft.default?.kind === 'expression') mentionsOf(draft.default.expression, mentions);
  }
  const keys = definition.primaryKey ? [definition.primaryKey, ...definition.unique] : definition.unique;
  const targets = definition.foreignKeys
    .filter((key) => key.table !== '' && !(key.schema === schema && key.table === table))
    .map((key) => ({ schema: key.schema, table: key.table }));
  return {
    schema,
    table,
    types: distinct(mentions.types.map(typeRequest)),
    functions: distinct(mentions.functions.map(functionRequest)),
    sequences: distinct(mentions.sequences),
    targets: distinct(targets),
    indexNames: keys.flatMap((key) => key.name ?? []),
  };
}

function typeRequest(type: TypeName): LookUpRequest['types'][number] {
  return { lookup: type.lookup, alias: type.aliasLookup, array: type.isArray };
}

function functionRequest(name: FunctionName): FunctionName {
  return isBuiltIn(name) ? { schema: 'pg_catalog', name: name.name } : name;
}

function distinct<T>(values: T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

interface LookUp {
  result: LookUpResult;
  /** What PostgreSQL refused even to look up, by its text. */
  typeErrors: Map<string, DatabaseError>;
  sequenceErrors: Map<string, DatabaseError>;
}

async function lookUp(client: ClientBase, request: LookUpRequest, lock?: Statement): Promise<LookUp> {
  const typeErrors = new Map<string, DatabaseError>();
  const sequenceErrors = new Map<string, DatabaseError>();
  const first = await attempt<{ found: LookUpResult }>(client, lookUpDefinition(request), lock);
  if (first.error === undefined) return { result: filled(first.row.found), typeErrors, sequenceErrors };

  const resolve = (call: string) => (items: string[]) => ({
    text: `SELECT ${items.map((item) => `${call}(${quoteLiteral(item)})`).join(', ')}`,
  });
  const lookups = [
    ...new Set(
      request.types.flatMap((type) => (type.alias === undefined ? type.lookup : [type.lookup, type.alias])),
    ),
  ];
  await findFaults(client, lookups, resolve('to_regtype'), ignore, (item, error) =>
    typeErrors.set(item, error),
  );
  await findFaults(client, request.sequences, resolve('to_regclass'), ignore, (item, error) =>
    sequenceErrors.set(item, error),
  );
  // Positions are kept; `_` names no type and no sequence.
  const second = await attempt<{ found: LookUpResult }>(
    client,
    lookUpDefinition({
      ...request,
      types: request.types.map((type) =>
        typeErrors.has(type.lookup) || typeErrors.has(type.alias ?? type.lookup)
          ? { lookup: '_', alias: undefined, array: false }
          : type,
      ),
      sequences: request.sequences.map((text) => (sequenceErrors.has(text) ? '_' : text)),
    }),
  );
  if (second.error !== undefined) throw second.error;
  return { result: filled(second.row.found), typeErrors, sequenceErrors };
}

function ignore(): void {}

/** `json_agg` of nothing is null. */
function filled(result: LookUpResult): LookUpResult {
  return {
    ...result,
    types: result.types ?? [],
    functions: result.functions ?? [],
    sequences: result.sequences ?? [],
    targets: result.targets ?? [],
  };
}

/** Turns drafts into columns with what was looked up, and tells what was not found. */
class Resolver implements Names {
  readonly trials: DefaultTrial[] = [];
  private readonly types = new Map<string, CatalogType | null>();
  private readonly functions = new Map<string, CatalogFunction | null>();
  private readonly sequences = new Map<string, LookUpResult['sequences'][number]>();
  private readonly found: LookUp;
  private readonly problems: Problem[];
  private readonly unknownTypes: Problem[] = [];

  constructor(request: LookUpRequest, found: LookUp, problems: Problem[]) {
    this.found = found;
    this.problems = problems;
    const { result } = found;
    for (const [index, type] of request.types.entries())
      this.types.set(JSON.stringify(type), result.types[index]!);
    for (const [index, name] of request.functions.entries()) {
      this.functions.set(JSON.stringify(name), result.functions[index]!);
    }
    for (const [index, text] of request.sequences.entries())
      this.sequences.set(text, result.sequences[index]!);
  }

  /** Undefined where the column's type is faulty. */
  column(draft: ColumnDraft, isInPrimaryKey: boolean): PreparedColumn | undefined {
    const { column, pointer } = draft;
    const type = draft.type && this.checkedType(draft.type, column.type, `${pointer}/type`);
    const defaultIsKnown =
      draft.default === undefined || this.checkMentions(draft.default, column.default!, pointer);
    if (type === undefined) return undefined;
    const prepared: PreparedColumn = {
      name: column.name,
      typeText: column.type,
      typeSql: typeSql(draft.type!, type),
      type,
      isNullable: column.isNullable && !draft.isSerial && !isInPrimaryKey,
      identity: draft.isSerial ? (column.identityAlways ? 'always' : 'by default') : 'none',
      defaultSql: undefined,
    };
    if (draft.default !== undefined && defaultIsKnown)
      this.addDefault(prepared, draft.default, column.default!, pointer);
    return prepared;
  }

  async explainUnknownTypes(client: ClientBase): Promise<void> {
    await explainUnknownTypes(client, this.unknownTypes);
  }

  type(type: TypeName): string {
    return typeSql(type, this.types.get(JSON.stringify(typeRequest(type)))!);
  }

  function(name: FunctionName): CatalogFunction {
    return this.functions.get(JSON.stringify(functionRequest(name)))!;
  }

  sequence(text: string): string {
    const { schema, name } = this.sequences.get(text)!;
    return quoteQualified(schema, name);
  }

  private addDefault(column: PreparedColumn, parsed: ParsedDefault, text: string, pointer: string): void {
    const { type, typeText, typeSql } = column;
    const trial = { pointer: `${pointer}/default`, text, type, typeText, typeSql };
    if (parsed.kind === 'literal') {
      column.defaultSql = quoteLiteral(parsed.text);
      this.trials.push({ ...trial, literal: parsed.text, hint: parsed.hint });
    } else {
      column.defaultSql = expressionSql(parsed.expression, this);
      this.trials.push({ ...trial, expression: parsed.expression, sql: column.defaultSql });
    }
  }

  private checkedType(name: TypeName, text: string, pointer: string): CatalogType | undefined {
    const value = shorten(text);
    const refuse = (code: string, detail: string) => {
      this.problems.push({ pointer, code, detail, value });
      return undefined;
    };
    const error = this.found.typeErrors.get(name.lookup) ?? this.found.typeErrors.get(name.aliasLookup ?? '');
    if (error !== undefined) {
      const fault = explainTypeError(error, name, value);
      if (fault.code !== 'unknown-type') return refuse(fault.code, fault.detail);
    }
    const type = error === undefined ? this.types.get(JSON.stringify(typeRequest(name))) : null;
    if (type === null || type === undefined) {
      const problem: Problem = {
        pointer,
        code: 'unknown-type',
        detail: `there is no type "${value}".`,
        value,
      };
      this.problems.push(problem);
      this.unknownTypes.push(problem);
      return undefined;
    }
    if (type.kind === 'p') {
      return refuse('unsupported-type', `"${value}" is a pseudo-type: no column can have it`);
    }
    if (!type.mayUse) return refuse('permission-denied', `the role may not use the type "${value}"`);
    return type;
  }

  private checkMentions(parsed: ParsedDefault, text: string, columnPointer: string): boolean {
    if (parsed.kind === 'literal') return true;
    const before = this.problems.length;
    const pointer = `${columnPointer}/default`;
    const value = shorten(text);
    const mentions: Mentions = { types: [], functions: [], sequences: [] };
    mentionsOf(parsed.expression, mentions);
    for (const type of mentions.types) this.checkedType(type, type.lookup, pointer);
    for (const name of mentions.functions) {
      if (this.function(name) !== null) continue;
      const detail = `the connected PostgreSQL has no function ${name.name}()`;
      this.problems.push({ pointer, code: 'unknown-function', detail, value });
    }
    for (const sequence of mentions.sequences) {
      const detail = this.sequenceFault(sequence);
      if (detail !== undefined) this.problems.push({ pointer, code: 'unknown-sequence', detail, value });
    }
    if (mentions.functions.filter((name) => name.name === 'nextval').length > mentions.sequences.length) {
      const detail = "nextval takes the name of a sequence in quotes: nextval('orders_id_seq')";
      this.problems.push({ pointer, code: 'invalid-default', detail, value });
    }
    return this.problems.length === before;
  }

  private sequenceFault(text: string): string | undefined {
    const shown = shorten(text);
    const sequence = this.sequences.get(text) ?? null;
    if (this.found.sequenceErrors.has(text) || sequence === null) return `there is no sequence "${shown}"`;
    if (sequence.kind !== 'S') return `"${shown}" is not a sequence`;
    return sequence.mayUse ? undefined : `the role may not use the sequence "${shown}"`;
  }
}

/** An index shares its names with all relations of the schema. What the standing table owns may go with it. */
function checkTakenNames(definition: TableDefinition, found: LookUpResult, problems: Problem[]): void {
  const keys = definition.primaryKey ? [definition.primaryKey, ...definition.unique] : definition.unique;
  for (const { name, pointer } of keys) {
    const taken = found.taken.find((entry) => entry.name === name);
    if (taken === undefined || (taken.owner !== null && taken.owner === found.standing?.oid)) continue;
    const detail = `the name "${name}" is taken by another object of the schema; leave it empty to have one chosen`;
    problems.push({ pointer: `${pointer}/name`, code: 'name-taken', detail, value: name! });
  }
}
