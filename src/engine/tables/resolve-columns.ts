/** Turns the columns of a definition into columns that can be created, with the names that were looked up. */
import type { Problem, Warning } from '../../core/errors.ts';
import { isSystemSchema, shorten } from '../../core/identifiers.ts';
import { forEachInTurns } from '../../core/pause-for-others.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { quoteLiteral, quoteQualified } from '../../postgres/sql.ts';
import type { CatalogSequence, LookUpRequest } from './catalog/look-up-definition.ts';
import { type CatalogType, namesObjects, type TypeName, typeSql } from './column-types.ts';
import type { Found } from './complete-look-up.ts';
import {
  expressionSql,
  type Mentions,
  mentionsOf,
  type Names,
  type ParsedDefault,
  takesNumbers,
} from './defaults.ts';
import { isAdmitted } from './dotted-name.ts';
import { type ColumnDraft, type DefinitionDraft, functionRequest, typeKey } from './draft-definition.ts';
import { explainPresent } from './moment-defaults.ts';
import { type PaddedColumn, widthProblem } from './padded-width.ts';
import type { PreparedColumn } from './prepared-table.ts';
import { parseRelationName } from './sql-tokens.ts';
import { warnOfTextDefault } from './text-defaults.ts';
import type { ColumnTrial } from './try-columns.ts';

export interface ResolvedColumns {
  /** The columns without a problem. */
  columns: PreparedColumn[];
  trials: ColumnTrial[];
  warnings: Warning[];
  /** The problems of unknown types, to which the names of similar types are added later. */
  unknownTypes: Problem[];
}

/** The columns so far, and what is needed to resolve the next one. */
export interface Resolution extends ResolvedColumns, Pick<DefinitionDraft, 'problems' | 'admitSchema'> {
  known: KnownNames;
  padded: PaddedColumn[];
}

/** Resolves the columns, and adds the problems of names that were not found. It works in turns. */
export async function resolveColumns(draft: DefinitionDraft, found: Found): Promise<Resolution> {
  const { definition, problems, admitSchema } = draft;
  const known = await knownNames(draft.request, found);
  const lists = { columns: [], trials: [], warnings: [], unknownTypes: [], padded: [] };
  const resolution: Resolution = { ...lists, problems, admitSchema, known };
  const keyColumns = new Set(definition.primaryKey?.columns);
  await forEachInTurns(draft.columns, (column) =>
    resolveColumn(resolution, column, keyColumns.has(column.column.name)),
  );
  const width = await widthProblem(resolution.padded, known.find);
  if (width !== undefined) problems.add(width);
  return resolution;
}

/** Adds the column, unless its type has a problem. */
function resolveColumn(resolution: Resolution, draft: ColumnDraft, isInPrimaryKey: boolean): void {
  const { column, pointer } = draft;
  const type = draft.type && checkedType(resolution, draft.type, column.type, `${pointer}/type`);
  const defaultIsKnown =
    draft.default === undefined ||
    checkMentions(resolution, draft.default, column.default!, `${pointer}/default`);
  if (type === undefined) return;
  const sql = typeSql(draft.type!, type);
  const prepared: PreparedColumn = {
    pointer,
    name: column.name,
    typeText: column.type,
    typeSql: sql,
    typeName: draft.type!,
    type,
    generated: column.generated && { ...column.generated, sql: undefined },
    isNullable: column.isNullable && !draft.isSerial && !isInPrimaryKey,
    identity: identityOf(draft),
    sequenceType: column.sequence?.type,
    numbering: column.numbering,
    defaultSql: undefined,
    comment: column.comment,
  };
  const trial: ColumnTrial = { pointer, type, typeName: draft.type!, typeText: column.type, typeSql: sql };
  if (draft.default !== undefined && defaultIsKnown && isOfEachRow(resolution, draft.default, draft, type)) {
    trial.default = defaultTrial(draft.default, column.default!, resolution.known);
    prepared.defaultSql = trial.default.sql;
    const warning = warnOfTextDefault(column.name, column.default!, draft.default, type.category);
    if (warning !== undefined) resolution.warnings.push(warning);
  }
  const { literal, expression } = trial.default ?? {};
  resolution.padded.push({ pointer, type, typeName: draft.type!, literal, expression });
  if (trial.default !== undefined || draft.type!.modifiers !== '') resolution.trials.push(trial);
  resolution.columns.push(prepared);
}

function identityOf({ isSerial, column }: ColumnDraft): PreparedColumn['identity'] {
  if (!isSerial) return 'none';
  if (column.sequence !== undefined) return 'sequence';
  return column.identityAlways ? 'always' : 'by default';
}

/** Refuses a default that the caller means for each row but that PostgreSQL would read only once (`now` as a text). */
function isOfEachRow(
  { problems, known }: Resolution,
  parsed: ParsedDefault,
  { column, pointer }: ColumnDraft,
  type: CatalogType,
): boolean {
  const reason = explainPresent(parsed, type, known.find);
  if (reason === undefined) return true;
  const value = shorten(column.default!);
  const detail = `"${value}" ${reason}`;
  problems.add({ pointer: `${pointer}/default`, code: 'invalid-default', detail, value });
  return false;
}

function defaultTrial(
  parsed: ParsedDefault,
  text: string,
  names: Names,
): NonNullable<ColumnTrial['default']> {
  if (parsed.kind === 'literal') {
    const { text: literal, hint } = parsed;
    return { text, sql: quoteLiteral(literal), literal, hint, isComputed: false, takesNumbers: false };
  }
  const { expression } = parsed;
  const sql = expressionSql(expression, names);
  return { text, sql, expression, isComputed: true, takesNumbers: takesNumbers(expression) };
}

export function checkedType(
  { problems, admitSchema, known, unknownTypes }: Resolution,
  name: TypeName,
  text: string,
  pointer: string,
): CatalogType | undefined {
  const value = shorten(text);
  const refuse = (code: ProblemCode, detail: string) => {
    const problem: Problem = { pointer, code, detail, value };
    const mayBeListed = problems.add(problem);
    if (code === 'unknown-type' && mayBeListed) unknownTypes.push(problem);
    return undefined;
  };
  const type = known.find(name);
  if (!type || !mayKnow(type, admitSchema) || (type.lacksQuotes && !type.mayUse))
    return refuse('unknown-type', `there is no type "${value}".`);
  if (type.lacksQuotes) {
    const detail = `there is no type "${value}". For the row type of the table send "${type.display}"`;
    problems.add({ pointer, code: 'unknown-type', detail, value });
    return undefined;
  }
  if (namesObjects.test(type.name) && !isAdmitted('pg_catalog', admitSchema)) {
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
function mayKnow({ schema, isOfExtension }: CatalogType, admitSchema: (schema: string) => void): boolean {
  return isSystemSchema(schema) || isOfExtension || isAdmitted(schema, admitSchema);
}

function checkMentions(
  resolution: Resolution,
  parsed: ParsedDefault,
  text: string,
  pointer: string,
): boolean {
  if (parsed.kind === 'literal') return true;
  const { problems, known } = resolution;
  const before = problems.count;
  const refuse = (code: ProblemCode, detail: string) =>
    problems.add({ pointer, code, detail, value: shorten(text) });
  const mentions: Mentions = { types: [], functions: [], sequences: [] };
  mentionsOf(parsed.expression, mentions);
  for (const type of mentions.types) checkedType(resolution, type, type.name ?? type.spelling!, pointer);
  for (const name of mentions.functions) {
    if (known.function(name) === null) {
      refuse('unknown-function', `the connected PostgreSQL has no function ${name.name}()`);
    }
  }
  for (const sequence of mentions.sequences) {
    const problem = sequenceProblem(resolution, sequence);
    if (problem !== undefined) refuse('unknown-sequence', problem);
  }
  if (mentions.functions.filter((name) => name.name === 'nextval').length > mentions.sequences.length) {
    refuse('invalid-default', "nextval takes the name of a sequence in quotes: nextval('orders_id_seq')");
  }
  return problems.count === before;
}

export function sequenceProblem({ known, admitSchema }: Resolution, text: string): string | undefined {
  const shown = shorten(text);
  const sequence = known.findSequence(text);
  // A sequence that does not exist is checked here, so that the error does not reveal that. `admitSequences` checks an existing one.
  const written = parseRelationName(text)?.schema;
  if (sequence === null && written !== undefined) admitSchema(written);
  if (sequence === null) return `there is no sequence "${shown}"`;
  if (sequence.kind !== 'S') return `"${shown}" is not a sequence`;
  return sequence.mayUse ? undefined : `the role may not use the sequence "${shown}"`;
}

/** The results of the look-up. They are null for a name that the catalogue does not have. */
interface KnownNames extends Names {
  find: (type: TypeName) => CatalogType | null | undefined;
  findSequence: (text: string) => CatalogSequence | null;
}

async function knownNames(request: LookUpRequest, found: Found): Promise<KnownNames> {
  const types = await byKey(request.types, found.types, (type) =>
    typeKey({ ...type, isArray: type.array, modifiers: '' }),
  );
  const functions = await byKey(request.functions, found.functions, (name) => JSON.stringify(name));
  const sequences = await byKey(request.sequences, found.sequences, (name) => JSON.stringify(name));
  const find = (type: TypeName) => types.get(typeKey(type));
  const findSequence = (text: string) => sequences.get(JSON.stringify(parseRelationName(text))) ?? null;
  return {
    find,
    findSequence,
    type: (type) => typeSql(type, find(type)!),
    function: (name) => functions.get(JSON.stringify(functionRequest(name)))!,
    sequence(text) {
      const { schema, name } = findSequence(text)!;
      return quoteQualified(schema, name);
    },
  };
}

/** Returns a map from the key of each requested item to the result. Both lists have the same order. It works in turns. */
export async function byKey<Asked, Found>(
  asked: Asked[],
  found: Found[],
  toKey: (asked: Asked) => string,
): Promise<Map<string, Found>> {
  const map = new Map<string, Found>();
  await forEachInTurns(asked, (entry, index) => map.set(toKey(entry), found[index]!));
  return map;
}
