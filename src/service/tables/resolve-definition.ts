/**
 * Looks up all names in a definition, in one round trip, and changes the definition into a table that can be created. It
 * collects all problems. `try-columns.ts` finds the problems that PostgreSQL reports only when it tries a type or a default.
 */

import type { ClientBase } from 'pg';
import type { Problem, Warning } from '../../core/errors.ts';
import { AppError } from '../../core/errors.ts';
import { checkTableName, isSystemSchema, refuseSystemSchema, shorten } from '../../core/identifiers.ts';
import { forEachInTurns, mapInTurns } from '../../core/pause-for-others.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { firstOwnOid } from '../../encoding/columns/load-column.ts';
import { pipeline } from '../postgres/pipeline.ts';
import { quoteLiteral, quoteQualified, type Statement } from '../postgres/sql.ts';
import type {
  CatalogSequence,
  DomainBase,
  LookUpRequest,
  LookUpResult,
  RelationName,
  TakenName,
  TypeRequest,
} from './catalog.ts';
import { findDomainBases, findTypeParts, lookUpDefinition } from './catalog.ts';
import { checkKeyTypes, checkReferences } from './check-keys.ts';
import { checkStructure } from './check-structure.ts';
import type { CatalogType, TypeName } from './column-types.ts';
import { parseTypeName, serialBase, typeSql } from './column-types.ts';
import type { CatalogFunction, FunctionName, Mentions, Names, ParsedDefault } from './defaults.ts';
import { expressionSql, isBuiltIn, mentionsOf, parseDefault } from './defaults.ts';
import type { KeyDefinition, TableDefinition } from './definition.ts';
import { columnPointer, weightOfKey } from './definition.ts';
import { DefinitionProblems } from './definition-problems.ts';
import { choosePlacement, refuseDistribution } from './distribution/choose-placement.ts';
import type { Placement } from './distribution/placement.ts';
import { isAdmitted } from './dotted-name.ts';
import { lacksCreate, schemaNotFound } from './find-load-target.ts';
import { checkGivenNames, chooseFreeNames, chooseNamesAgain } from './free-names.ts';
import { explainPresent } from './moment-defaults.ts';
import { chooseNames, type ObjectNames, relationNames } from './object-names.ts';
import { type PaddedColumn, widthProblem } from './padded-width.ts';
import { parseDefinition } from './parse-definition.ts';
import type { ExistingObject, PreparedColumn, PreparedForeignKey, PreparedTable } from './prepared-table.ts';
import { parseRelationName } from './sql-tokens.ts';
import { warnOfTextDefault } from './text-defaults.ts';
import type { ColumnTrial } from './try-columns.ts';
import { explainUnknownTypes, remedyOfType } from './type-problems.ts';
import { type TypeNode, typeWidths } from './type-width.ts';

export interface PrepareOptions {
  schema: string;
  /** The table's name as the caller knows it. The table may be created with a temporary name (`ddl.ts`). */
  name: string;
  /** The `table` of the request: any JSON value. */
  table: unknown;
  /** Functions that defaults may call in addition to the built-in ones: `name` or `schema.name`. */
  extraFunctions?: readonly string[];
  /** Throws if the caller may not refer to the tables of the schema or take numbers from its sequences. */
  admitSchema?: (schema: string) => void;
}

export interface ResolvedDefinition {
  /** The table can be created if there are no problems and the trials succeed. */
  table: PreparedTable;
  trials: ColumnTrial[];
  problems: DefinitionProblems;
  /**
   * Checks that the caller may take numbers from the sequences in the defaults. Call it before the table is created.
   *
   * @throws AppError `schema-forbidden`
   */
  admitSequences: () => void;
}

/** A definition whose texts are parsed, and whose names are not looked up yet. */
export interface DefinitionDraft {
  schema: string;
  name: string;
  definition: TableDefinition;
  columns: ColumnDraft[];
  problems: DefinitionProblems;
  /** The names to look up (`lookUpDefinition`). */
  request: LookUpRequest;
  admitSchema: (schema: string) => void;
}

/**
 * Checks a definition and finds what it names in the catalogue.
 *
 * @param before a statement that is sent in the same round trip, before the catalogue is read
 * @throws the errors of `draftDefinition` and `resolveDraft`
 */
export async function resolveDefinition(
  client: ClientBase,
  options: PrepareOptions,
  before: Statement[] = [],
): Promise<ResolvedDefinition> {
  const draft = await draftDefinition(options);
  const results = await pipeline(client, [...before, await lookUpDefinition(draft.request)]);
  const { found } = results.at(-1)!.rows[0] as { found: LookUpResult };
  return resolveDraft(client, draft, found);
}

/**
 * Checks a definition as far as possible without the database, and collects the names to look up. It works in
 * turns, because a definition may have 1 MiB.
 *
 * @throws AppError `invalid-parameter` (a name that PostgreSQL does not allow), `schema-forbidden`
 */
export async function draftDefinition(options: PrepareOptions): Promise<DefinitionDraft> {
  const { schema, name, extraFunctions = [] } = options;
  checkTableName(schema, name);
  refuseSystemSchema(schema);
  const { admitSchema = () => {} } = options;
  const problems = new DefinitionProblems();
  const definition = await parseDefinition(options.table, problems);
  for (const other of new Set(definition.foreignKeys.map((key) => key.schema))) admitSchema(other);
  await checkStructure(name, definition, problems);
  const columns = await mapInTurns(definition.columns, (column, index) =>
    draftColumn(column, columnPointer(index), extraFunctions, problems),
  );
  // A definition with problems needs no names, and it may have thousands of equal constraints.
  const names = problems.count > 0 ? noNames : await chooseNames(name, definition, () => true);
  const request = await requestOf(schema, name, definition, columns, names);
  return { schema, name, definition, columns, problems, request, admitSchema };
}

/**
 * Completes the definition with what was found in the catalogue. It works in turns.
 *
 * @throws AppError `schema-not-found`, `permission-denied`
 */
export async function resolveDraft(
  client: ClientBase,
  draft: DefinitionDraft,
  answer: LookUpResult,
): Promise<ResolvedDefinition> {
  const { schema, name, definition, problems, request } = draft;
  const found = await complete(client, answer);
  refuseMissingSchema(schema, found);
  const resolver = new Resolver(await knownObjects(request, found), problems, draft.admitSchema);
  const columns = await resolveColumns(resolver, draft);
  await explainUnknownTypes(client, resolver.unknownTypes, draft.admitSchema);
  const existing = found.existing ?? undefined;
  const sequences = new Set(found.sequences.map((sequence) => sequence?.oid));
  const isFreed = (taken: TakenName) => isFreedBy(existing, sequences, taken);
  const relations = await byKey(request.relations, found.relations, (name) => name);
  for (const problem of checkGivenNames({ schema, name, definition, isFreed }, relations))
    problems.add(problem);
  await checkKeyTypes(definition, columns, problems);
  const foreignKeys = definition.foreignKeys.map((key) => ({
    ...key,
    isSelf: key.schema === schema && key.table === name,
  }));
  await checkReferences(
    client,
    foreignKeys,
    definition,
    columns,
    request.targets,
    found.targets,
    draft.admitSchema,
    problems,
  );
  const { primaryKey, unique } = definition;
  const placement = await placementOf(client, draft, found, columns, foreignKeys);
  const named = { schema, name, definition, isFreed };
  const names = problems.count > 0 ? noNames : await chooseFreeNames(client, named, relations);
  return {
    table: {
      schema,
      name,
      columns,
      primaryKey,
      unique,
      foreignKeys,
      placement,
      distribution: definition.distribution,
      names,
      chooseNamesAgain: (client) => chooseNamesAgain(client, named),
      existing,
      warnings: resolver.warnings,
    },
    trials: resolver.trials,
    problems,
    admitSequences: () => admitSequences(draft, found),
  };
}

/**
 * Returns where Citus puts the table. Takes a round trip if the database has Citus.
 *
 * @throws AppError `distribution-unavailable`
 */
async function placementOf(
  client: ClientBase,
  { schema, name, definition, problems, request }: DefinitionDraft,
  found: Found,
  columns: PreparedColumn[],
  foreignKeys: PreparedForeignKey[],
): Promise<Placement | undefined> {
  const { distribution, primaryKey, unique } = definition;
  if (!found.schema!.isCitus) {
    refuseDistribution(distribution);
    return undefined;
  }
  const keys = primaryKey ? [primaryKey, ...unique] : unique;
  const { targets } = request;
  const table = { schema, name, distribution, columns, keys, foreignKeys, targets };
  return choosePlacement(client, table, problems);
}

/** @throws AppError `schema-not-found`; `permission-denied` if the table does not exist and the role may not create it */
function refuseMissingSchema(schema: string, found: Found): void {
  if (found.schema === null) throw schemaNotFound(schema);
  const { role, mayCreate } = found.schema;
  if (mayCreate || found.existing !== null) return;
  throw lacksCreate(role, schema);
}

/** Returns the columns without a problem, and adds the problems of the others. It works in turns. */
async function resolveColumns(
  resolver: Resolver,
  { definition, columns, problems }: DefinitionDraft,
): Promise<PreparedTable['columns']> {
  const keyColumns = new Set(definition.primaryKey?.columns);
  const resolved = await mapInTurns(columns, (draft) =>
    resolver.column(draft, keyColumns.has(draft.column.name)),
  );
  const width = await widthProblem(resolver.padded, (type) => resolver.find(type));
  if (width !== undefined) problems.add(width);
  return resolved.filter((column) => column !== undefined);
}

/** @throws AppError `schema-forbidden` */
function admitSequences({ request, admitSchema }: DefinitionDraft, found: Found): void {
  for (const [index, { schema: written }] of request.sequences.entries()) {
    const schema = written ?? found.sequences[index]?.schema;
    if (schema !== undefined) admitSchema(schema);
  }
}

/** A column whose texts are parsed, and whose names are not looked up yet. */
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
  problems: DefinitionProblems,
): ColumnDraft {
  const serial = serialBase(column.type);
  const type = column.type === '' ? undefined : parseTypeName(serial ?? column.type);
  if (type === undefined && column.type !== '') {
    const value = shorten(column.type);
    const remedy = remedyOfType(value);
    const detail = remedy
      ? `"${value}" is not the name of a type.${remedy}`
      : `"${value}" is not the name of a type: write one as PostgreSQL does, such as text, varchar(20) or integer[]`;
    problems.add({ pointer: `${pointer}/type`, code: 'unknown-type', detail, value });
  }
  if (column.identityAlways && serial === undefined && column.type !== '') {
    const detail = 'only serial, bigserial and smallserial columns have an identity';
    problems.add({ pointer: `${pointer}/identity`, code: 'not-supported', detail });
  }
  if (serial !== undefined && column.default !== undefined) {
    const detail = `PostgreSQL numbers a ${column.type} column itself; its default must be null`;
    problems.add({
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

async function requestOf(
  schema: string,
  table: string,
  definition: TableDefinition,
  drafts: ColumnDraft[],
  names: ObjectNames,
): Promise<LookUpRequest> {
  const keys = definition.primaryKey ? [definition.primaryKey, ...definition.unique] : definition.unique;
  const keyColumns = new Set<string>();
  const addKeyColumns = (key: KeyDefinition) => {
    for (const column of key.columns) keyColumns.add(column);
  };
  await forEachInTurns(keys, addKeyColumns, weightOfKey);
  const mentions: Mentions = { types: [], functions: [], sequences: [] };
  const types = new Map<string, TypeRequest>();
  await forEachInTurns(drafts, ({ type, column, default: parsed }) => {
    if (type !== undefined) addType(types, type, keyColumns.has(column.name));
    if (parsed?.kind === 'expression') mentionsOf(parsed.expression, mentions);
  });
  await forEachInTurns(mentions.types, (type) => addType(types, type, false));
  const targets = definition.foreignKeys
    .filter((key) => key.table !== '' && !(key.schema === schema && key.table === table))
    .map((key) => ({ schema: key.schema, table: key.table }));
  return {
    schema,
    table,
    types: [...types.values()],
    functions: await distinct(mentions.functions.map(functionRequest)),
    sequences: await distinct(
      (await mapInTurns(mentions.sequences, parseRelationName)).filter((name) => name !== undefined),
    ),
    targets: await distinct(targets),
    relations: [...new Set([...keys.flatMap((key) => key.name ?? []), ...relationNames(names)])],
  };
}

function addType(types: Map<string, TypeRequest>, type: TypeName, isKey: boolean): void {
  const key = typeKey(type);
  const { spelling, schema, name, isQuoted, isArray: array } = type;
  const known = types.get(key) ?? { spelling, schema, name, isQuoted, array, isKey: false };
  // All of SQL's own types, and arrays of them, can be in a key.
  known.isKey ||= isKey && spelling === undefined;
  types.set(key, known);
}

/** Returns a key that differs if two types must be looked up separately. */
function typeKey({ spelling, schema, name, isQuoted, isArray }: TypeName): string {
  return JSON.stringify([spelling, schema, name, isQuoted, isArray]);
}

function functionRequest(name: FunctionName): FunctionName {
  return isBuiltIn(name) ? { schema: 'pg_catalog', name: name.name } : name;
}

async function distinct<T>(values: T[]): Promise<T[]> {
  const byText = new Map<string, T>();
  await forEachInTurns(values, (value) => byText.set(JSON.stringify(value), value));
  return [...byText.values()];
}

/** Completes the answer. Takes a round trip if it contains domains or other types that contain types. */
async function complete(client: ClientBase, found: LookUpResult): Promise<Found> {
  const { types, functions = [], sequences = [], targets = [], relations = [] } = found;
  const result = { ...found, types: types ?? [], functions, sequences, targets, relations };
  await resolveParts(client, result);
  return result;
}

type Found = {
  [Key in keyof LookUpResult]-?: Key extends 'schema' | 'existing'
    ? LookUpResult[Key]
    : NonNullable<LookUpResult[Key]>;
};

/**
 * Gives domains their base types, and types that contain others their widths. Takes a round trip if there are any.
 *
 * @throws AppError `write-conflict` if another session has dropped one of the domains since they were looked up
 */
async function resolveParts(client: ClientBase, found: Found): Promise<void> {
  const domains = found.types.filter((type) => type !== null).filter((type) => type.kind === 'd');
  const columns = found.targets.flatMap(
    (target) => target?.columns.filter((column) => column.isDomain) ?? [],
  );
  const oids = [...domains, ...columns].map((entry) => entry.baseOid);
  const wide = found.types.filter((type) => type !== null && mayContainTypes(type)) as CatalogType[];
  if (oids.length === 0 && wide.length === 0) return;
  const [based, contained] = await pipeline(client, [
    findDomainBases(oids),
    findTypeParts(wide.map(({ oid }) => oid)),
  ]);
  const widthOf = typeWidths(contained!.rows[0].nodes as TypeNode[]);
  for (const type of wide) type.width = widthOf(type.oid, -1);
  const { bases } = based!.rows[0] as { bases: Record<string, DomainBase> };
  if (oids.some((oid) => bases[oid] === undefined)) throw domainDropped();
  for (const domain of domains) Object.assign(domain, bases[domain.baseOid]);
  for (const column of columns) column.baseOid = bases[column.baseOid]!.baseOid;
}

/** Returns whether values of the type may contain values of other types. What PostgreSQL's own types contain is known. */
function mayContainTypes({ oid, kind, category }: CatalogType): boolean {
  if (kind === 'd' || kind === 'c') return true;
  return oid >= firstOwnOid && (kind === 'r' || kind === 'm' || category === 'A');
}

function domainDropped(): AppError {
  const detail =
    'Another session dropped a domain that the definition uses at the same moment; send the request again.';
  return new AppError('write-conflict', detail);
}

/** Changes drafts into columns with the result of the look-up, and reports names that were not found. */
class Resolver implements Names {
  readonly trials: ColumnTrial[] = [];
  readonly padded: PaddedColumn[] = [];
  readonly warnings: Warning[] = [];
  /** The problems of unknown types, to which the names of similar types are added later. */
  readonly unknownTypes: Problem[] = [];
  private readonly types: Map<string, CatalogType | null>;
  private readonly functions: Map<string, CatalogFunction | null>;
  private readonly sequences: Map<string, CatalogSequence | null>;
  private readonly problems: DefinitionProblems;
  private readonly admitSchema: (schema: string) => void;

  constructor(
    { types, functions, sequences }: KnownObjects,
    problems: DefinitionProblems,
    admitSchema: (schema: string) => void,
  ) {
    this.types = types;
    this.functions = functions;
    this.sequences = sequences;
    this.problems = problems;
    this.admitSchema = admitSchema;
  }

  /** Returns undefined if the column's type has a problem. */
  column(draft: ColumnDraft, isInPrimaryKey: boolean): PreparedColumn | undefined {
    const { column, pointer } = draft;
    const type = draft.type && this.checkedType(draft.type, column.type, `${pointer}/type`);
    const defaultIsKnown =
      draft.default === undefined || this.checkMentions(draft.default, column.default!, `${pointer}/default`);
    if (type === undefined) return undefined;
    const sql = typeSql(draft.type!, type);
    const prepared: PreparedColumn = {
      name: column.name,
      typeText: column.type,
      typeSql: sql,
      type,
      isNullable: column.isNullable && !draft.isSerial && !isInPrimaryKey,
      identity: draft.isSerial ? (column.identityAlways ? 'always' : 'by default') : 'none',
      defaultSql: undefined,
    };
    const trial: ColumnTrial = { pointer, type, typeName: draft.type!, typeText: column.type, typeSql: sql };
    if (draft.default !== undefined && defaultIsKnown && this.isOfEachRow(draft.default, draft, type)) {
      trial.default = this.defaultTrial(draft.default, column.default!);
      prepared.defaultSql = trial.default.sql;
      const warning = warnOfTextDefault(column.name, column.default!, draft.default, type.category);
      if (warning !== undefined) this.warnings.push(warning);
    }
    const { literal, expression } = trial.default ?? {};
    this.padded.push({ pointer, type, typeName: draft.type!, literal, expression });
    if (trial.default !== undefined || draft.type!.modifiers !== '') this.trials.push(trial);
    return prepared;
  }

  find(type: TypeName): CatalogType | null | undefined {
    return this.types.get(typeKey(type));
  }

  type(type: TypeName): string {
    return typeSql(type, this.types.get(typeKey(type))!);
  }

  function(name: FunctionName): CatalogFunction {
    return this.functions.get(JSON.stringify(functionRequest(name)))!;
  }

  sequence(text: string): string {
    const { schema, name } = this.findSequence(text)!;
    return quoteQualified(schema, name);
  }

  /** Refuses a default that means the present, but is read only once. */
  private isOfEachRow(parsed: ParsedDefault, { column, pointer }: ColumnDraft, type: CatalogType): boolean {
    const reason = explainPresent(parsed, type, (name) => this.find(name));
    if (reason === undefined) return true;
    const value = shorten(column.default!);
    const detail = `"${value}" ${reason}`;
    this.problems.add({ pointer: `${pointer}/default`, code: 'invalid-default', detail, value });
    return false;
  }

  private defaultTrial(parsed: ParsedDefault, text: string): NonNullable<ColumnTrial['default']> {
    if (parsed.kind === 'literal') {
      return { text, sql: quoteLiteral(parsed.text), literal: parsed.text, hint: parsed.hint };
    }
    return { text, sql: expressionSql(parsed.expression, this), expression: parsed.expression };
  }

  private checkedType(name: TypeName, text: string, pointer: string): CatalogType | undefined {
    const value = shorten(text);
    const refuse = (code: ProblemCode, detail: string) => {
      const problem: Problem = { pointer, code, detail, value };
      const mayBeListed = this.problems.add(problem);
      if (code === 'unknown-type' && mayBeListed) this.unknownTypes.push(problem);
      return undefined;
    };
    const type = this.types.get(typeKey(name));
    if (!type || !this.mayKnow(type) || (type.lacksQuotes && !type.mayUse))
      return refuse('unknown-type', `there is no type "${value}".`);
    if (type.lacksQuotes) {
      const detail = `there is no type "${value}". For the row type of the table send "${type.display}"`;
      this.problems.add({ pointer, code: 'unknown-type', detail, value });
      return undefined;
    }
    if (namesObjects.test(type.name) && !isAdmitted('pg_catalog', this.admitSchema)) {
      const detail = `a value of the type "${value}" can name an object in every schema, and the access token allows some schemas only`;
      return refuse('permission-denied', detail);
    }
    if (type.kind === 'p')
      return refuse('unsupported-type', `"${value}" is a pseudo-type: no column can have it`);
    if (!type.mayUse) return refuse('permission-denied', `the role may not use the type "${value}"`);
    return type;
  }

  /**
   * Returns whether the access token allows the caller to use the type. A type of another schema shows its labels and checks to
   * the caller, and a column of a table's row type prevents changes of that table. Types of extensions contain no data, so they
   * are allowed.
   */
  private mayKnow({ schema, isOfExtension }: CatalogType): boolean {
    return isSystemSchema(schema) || isOfExtension || isAdmitted(schema, this.admitSchema);
  }

  private checkMentions(parsed: ParsedDefault, text: string, pointer: string): boolean {
    if (parsed.kind === 'literal') return true;
    const before = this.problems.count;
    const refuse = (code: ProblemCode, detail: string) =>
      this.problems.add({ pointer, code, detail, value: shorten(text) });
    const mentions: Mentions = { types: [], functions: [], sequences: [] };
    mentionsOf(parsed.expression, mentions);
    for (const type of mentions.types) this.checkedType(type, type.name ?? type.spelling!, pointer);
    for (const name of mentions.functions) {
      if (this.function(name) === null) {
        refuse('unknown-function', `the connected PostgreSQL has no function ${name.name}()`);
      }
    }
    for (const sequence of mentions.sequences) {
      const problem = this.sequenceProblem(sequence);
      if (problem !== undefined) refuse('unknown-sequence', problem);
    }
    if (mentions.functions.filter((name) => name.name === 'nextval').length > mentions.sequences.length) {
      refuse('invalid-default', "nextval takes the name of a sequence in quotes: nextval('orders_id_seq')");
    }
    return this.problems.count === before;
  }

  private findSequence(text: string): CatalogSequence | null {
    const name: RelationName | undefined = parseRelationName(text);
    return this.sequences.get(JSON.stringify(name)) ?? null;
  }

  private sequenceProblem(text: string): string | undefined {
    const shown = shorten(text);
    const sequence = this.findSequence(text);
    // `admitSequences` checks a sequence that exists.
    const written = parseRelationName(text)?.schema;
    if (sequence === null && written !== undefined) this.admitSchema(written);
    if (sequence === null) return `there is no sequence "${shown}"`;
    if (sequence.kind !== 'S') return `"${shown}" is not a sequence`;
    return sequence.mayUse ? undefined : `the role may not use the sequence "${shown}"`;
  }
}

/** `regclass` and similar types. Their input functions show whether an object exists. */
const namesObjects =
  /^reg(class|collation|config|dictionary|namespace|oper|operator|proc|procedure|role|type)$/;

/** What the catalogue knows about the objects that a definition mentions; null: nothing. */
interface KnownObjects {
  types: Map<string, CatalogType | null>;
  functions: Map<string, CatalogFunction | null>;
  sequences: Map<string, CatalogSequence | null>;
}

async function knownObjects(request: LookUpRequest, found: Found): Promise<KnownObjects> {
  return {
    types: await byKey(request.types, found.types, (type) =>
      typeKey({ ...type, isArray: type.array, modifiers: '' }),
    ),
    functions: await byKey(request.functions, found.functions, (name) => JSON.stringify(name)),
    sequences: await byKey(request.sequences, found.sequences, (name) => JSON.stringify(name)),
  };
}

/** Returns a map from the key of each requested item to the result. Both lists have the same order. It works in turns. */
async function byKey<Asked, Found>(
  asked: Asked[],
  found: Found[],
  toKey: (asked: Asked) => string,
): Promise<Map<string, Found>> {
  const map = new Map<string, Found>();
  await forEachInTurns(asked, (entry, index) => map.set(toKey(entry), found[index]!));
  return map;
}

/**
 * Returns whether a name becomes free when a table is replaced. The names of its indexes and sequences become free, except for
 * sequences that the new table continues to use.
 *
 * @param usedSequences the object identifiers of the sequences in the new table's defaults
 */
function isFreedBy(
  existing: ExistingObject | undefined,
  usedSequences: ReadonlySet<number | undefined>,
  taken: TakenName,
): boolean {
  return existing !== undefined && taken.owner === existing.oid && !usedSequences.has(taken.oid);
}

const noNames: ObjectNames = {
  primaryKey: undefined,
  unique: [],
  foreignKeys: [],
  sequences: new Map(),
  notNull: new Map(),
};
