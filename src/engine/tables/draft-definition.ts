/** Checks a definition as far as possible without the database, and collects the names that must be looked up. */

import { checkTableName, refuseSystemSchema, shorten } from '../../core/identifiers.ts';
import { forEachInTurns, mapInTurns } from '../../core/pause-for-others.ts';
import type { LookUpRequest, TypeRequest } from './catalog/look-up-definition.ts';
import { checkCount, checkStructure } from './check-structure.ts';
import { parseTypeName, serialBase, type TypeName } from './column-types.ts';
import {
  type FunctionName,
  isBuiltIn,
  type Mentions,
  mentionsOf,
  type ParsedDefault,
  parseDefault,
} from './defaults.ts';
import {
  columnPointer,
  type KeyDefinition,
  keysOf,
  type TableDefinition,
  weightOfKey,
} from './definition.ts';
import { DefinitionProblems } from './definition-problems.ts';
import { addMentions, draftExpressions, type ExpressionDraft } from './expressions/draft-expressions.ts';
import { forgetNames, namedRelations } from './free-names.ts';
import { chooseNames, noNames, type ObjectNames, relationNames } from './object-names.ts';
import { parseDefinition } from './parse-definition.ts';
import { parseRelationName } from './sql-tokens.ts';
import { remedyOfType } from './type-problems.ts';
import { OwnTypes } from './types/type-definition.ts';

export interface PrepareOptions {
  schema: string;
  /** The table's name in the request. While it is loaded, the table may have a temporary name (`ddl.ts`). */
  name: string;
  /** The `table` of the request: any JSON value. */
  table: unknown;
  /** The names of keys, foreign keys, indexes and sequences in the definition are left out. */
  newNames?: boolean;
  /** Functions that defaults may call in addition to the built-in ones: `name` or `schema.name`. */
  extraFunctions?: readonly string[];
  /** Throws if the caller may not refer to the tables of the schema or take numbers from its sequences. */
  admitSchema?: (schema: string) => void;
}

/** A definition whose texts are parsed, but whose names were not looked up in the database yet. */
export interface DefinitionDraft {
  schema: string;
  name: string;
  definition: TableDefinition;
  columns: ColumnDraft[];
  /** Which types of the definition it needs. */
  ownTypes: OwnTypes;
  expressions: ExpressionDraft[];
  problems: DefinitionProblems;
  /** The names to look up (`lookUpDefinition`). */
  request: LookUpRequest;
  admitSchema: (schema: string) => void;
  extraFunctions: readonly string[];
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
  if (options.newNames) forgetNames(definition);
  for (const other of new Set(definition.foreignKeys.map((key) => key.schema))) admitSchema(other);
  await checkStructure(name, definition, problems);
  const columns = await mapInTurns(definition.columns, (column, index) =>
    draftColumn(column, columnPointer(index), extraFunctions, problems),
  );
  const ofParser = columns.filter((draft) => draft.hasExpression).map(({ column }) => column.name);
  const expressions = await draftExpressions(definition, new Set(ofParser), extraFunctions, problems);
  // A definition with problems needs no names, and it may have thousands of equal constraints.
  const names = problems.count > 0 ? noNames : await chooseNames(name, definition, () => true);
  const ownTypes = new OwnTypes(schema, definition.types);
  const draft = {
    schema,
    name,
    definition,
    columns,
    expressions,
    ownTypes,
    problems,
    admitSchema,
    extraFunctions,
  };
  const request = await requestOf(draft, names);
  const numbered = columns.filter(({ isSerial }) => isSerial).length + request.sequences.length;
  checkCount('/table/columns', numbered, 'sequences that number its columns', problems);
  return { ...draft, request };
}

/** A column whose texts are parsed, but whose names were not looked up in the database yet. */
export interface ColumnDraft {
  pointer: string;
  column: TableDefinition['columns'][number];
  type: TypeName | undefined;
  isSerial: boolean;
  default: ParsedDefault | undefined;
  /** The default is an expression for the parser (expressions/). */
  hasExpression: boolean;
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
  if (
    column.sequence !== undefined &&
    (serial === undefined || column.identityAlways) &&
    column.type !== ''
  ) {
    const detail =
      'only a column of the type serial, bigserial or smallserial that is no identity column has a sequence';
    problems.add({ pointer: `${pointer}/sequence`, code: 'not-supported', detail });
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
  if (serial !== undefined && column.generated !== undefined) {
    const detail = `a ${column.type} column cannot be generated from others; use the type ${serial}`;
    problems.add({ pointer: `${pointer}/type`, code: 'not-supported', detail });
  }
  const hasDefault = serial === undefined && column.default !== undefined;
  const parsed = hasDefault ? parseDefault(column.default!, extraFunctions) : undefined;
  const hasExpression = column.defaultIsExpression && parsed?.kind === 'literal';
  return {
    pointer,
    column,
    type,
    isSerial: serial !== undefined,
    default: hasExpression ? undefined : parsed,
    hasExpression,
  };
}

async function requestOf(
  draft: Omit<DefinitionDraft, 'request'>,
  names: ObjectNames,
): Promise<LookUpRequest> {
  const { schema, name: table, definition, columns: drafts, ownTypes } = draft;
  const keys = keysOf(definition);
  const keyColumns = new Set<string>();
  const addKeyColumns = (key: KeyDefinition) => {
    for (const column of key.columns) keyColumns.add(column);
  };
  await forEachInTurns(keys, addKeyColumns, weightOfKey);
  const mentions: Mentions = { types: [], functions: [], sequences: [] };
  const types = new Map<string, TypeRequest>();
  await forEachInTurns(drafts, ({ type, column, default: parsed }) => {
    ownTypes.claim(type);
    if (type !== undefined) addType(types, type, keyColumns.has(column.name));
    if (parsed?.kind === 'expression') mentionsOf(parsed.expression, mentions);
  });
  await addMentions(draft.expressions, mentions);
  await forEachInTurns(mentions.types, (type) => {
    ownTypes.claim(type);
    addType(types, type, false);
  });
  // A domain comes after the types below it.
  for (const { name, base } of definition.types.toReversed())
    if (base !== undefined && ownTypes.needed.has(name)) ownTypes.claim(parseTypeName(base));
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
    relations: [
      ...new Set([...namedRelations(definition).map(({ name }) => name!), ...relationNames(names)]),
    ],
  };
}

function addType(types: Map<string, TypeRequest>, type: TypeName, isKey: boolean): void {
  const key = typeKey(type);
  const { spelling, schema, name, isQuoted, isArray: array, ownSchema } = type;
  const known = types.get(key) ?? { spelling, schema, name, isQuoted, array, ownSchema, isKey: false };
  // All of SQL's own types, and arrays of them, can be in a key.
  known.isKey ||= isKey && spelling === undefined;
  types.set(key, known);
}

/** Returns a text that two types share if one look-up is enough for both. */
export function typeKey({ spelling, schema, name, isQuoted, isArray }: TypeName): string {
  return JSON.stringify([spelling, schema, name, isQuoted, isArray]);
}

export function functionRequest(name: FunctionName): FunctionName {
  return isBuiltIn(name) ? { schema: 'pg_catalog', name: name.name } : name;
}

async function distinct<T>(values: T[]): Promise<T[]> {
  const byText = new Map<string, T>();
  await forEachInTurns(values, (value) => byText.set(JSON.stringify(value), value));
  return [...byText.values()];
}
