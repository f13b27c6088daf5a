/**
 * Turns any JSON value into a definition, and reports every problem that can be found without a query, with its place. The parts
 * without a problem are kept, so the later checks can add their problems to the same answer.
 */

import type { Problem } from '../errors.ts';
import type { ProblemCode } from '../problem-codes.ts';
import type {
  ColumnDefinition,
  ForeignKeyDefinition,
  ForeignKeyPair,
  KeyDefinition,
  TableDefinition,
} from './definition.ts';
import { columnPointer } from './definition.ts';
import { didYouMean, identifierProblem, shorten } from './identifiers.ts';

export interface ParsedDefinition {
  definition: TableDefinition;
  problems: Problem[];
}

/** The limit for the entries of a list: more than any table can have, and few enough to report the problems of each entry. */
const maxEntries = 5000;

type JsonObject = Record<string, unknown>;
type Report = (pointer: string, code: ProblemCode, detail: string, value?: unknown) => void;

const tableProperties = ['columns', 'constraints', 'name', 'schema'];
const columnProperties = [
  'name',
  'type',
  'is_nullable',
  'default',
  'id',
  'identity',
  'generated',
  'default_is_expression',
];
const constraintProperties = ['unique', 'primary_key', 'foreign_keys', 'others'];
const keyProperties = ['name', 'columns'];
const foreignKeyProperties = ['name', 'column', 'reference_table', 'reference_column', 'reference_schema'];

/** Reads the `table` of a request (already parsed JSON, of any shape). Never throws. */
export function parseDefinition(value: unknown): ParsedDefinition {
  const problems: Problem[] = [];
  const report: Report = (pointer, code, detail, found) => {
    const problem: Problem = { pointer, code, detail };
    if (found !== undefined)
      problem.value = shorten(typeof found === 'string' ? found : JSON.stringify(found));
    problems.push(problem);
  };
  const definition: TableDefinition = { columns: [], primaryKey: undefined, unique: [], foreignKeys: [] };
  const table = asObject(value, '/table', tableProperties, report);
  if (table !== undefined) {
    definition.columns = parseColumns(table.columns, report);
    parseConstraints(table.constraints, definition, report);
  }
  return { definition, problems };
}

function parseColumns(value: unknown, report: Report): ColumnDefinition[] {
  const pointer = '/table/columns';
  if (value === undefined) {
    report(pointer, 'missing', '"columns" is missing: the list of the columns, each with a name and a type');
    return [];
  }
  const entries = asArray(value, pointer, report);
  if (entries === undefined) return [];
  if (entries.length === 0) report(pointer, 'missing', 'the table needs at least one column');
  return entries.map((entry, index) => parseColumn(entry, columnPointer(index), report));
}

function parseColumn(value: unknown, pointer: string, report: Report): ColumnDefinition {
  const column: ColumnDefinition = {
    name: '',
    type: '',
    isNullable: true,
    default: undefined,
    identityAlways: false,
  };
  const object = asObject(value, pointer, columnProperties, report);
  if (object === undefined) return column;
  column.name = requiredName(object, 'name', pointer, report);
  column.type = parseTypeText(object, pointer, report);
  // `refuseMembersOfAnswers` refuses this default, so its text is not checked.
  const cannotBeDefined = object.default_is_expression === true;
  column.default = cannotBeDefined ? undefined : parseDefaultText(object.default, pointer, report);
  const nullable = object.is_nullable ?? true;
  if (typeof nullable === 'boolean') column.isNullable = nullable;
  else
    report(
      `${pointer}/is_nullable`,
      'wrong-type',
      `must be true or false, not ${jsonType(nullable)}`,
      nullable,
    );
  const identity = object.identity ?? undefined;
  if (identity === 'always') column.identityAlways = true;
  else if (identity !== undefined) {
    report(`${pointer}/identity`, 'wrong-type', 'must be "always", or left out', identity);
  }
  refuseMembersOfAnswers(object, pointer, report);
  return column;
}

/** Refuses members that only answers have. Ignoring them would create a table that differs from the original. */
function refuseMembersOfAnswers(column: JsonObject, pointer: string, report: Report): void {
  if (column.generated !== undefined && column.generated !== null) {
    report(
      `${pointer}/generated`,
      'not-supported',
      'a generated column cannot be defined here; leave "generated" out for an ordinary column',
    );
  }
  if (column.default_is_expression === true) {
    report(
      `${pointer}/default`,
      'not-supported',
      'this default is an expression that cannot be defined here; leave "default" and "default_is_expression" out',
      column.default,
    );
  }
}

function parseTypeText(column: JsonObject, pointer: string, report: Report): string {
  const type = column.type;
  const at = `${pointer}/type`;
  if (type === undefined || type === null || type === '') {
    report(at, 'missing', '"type" is missing: a PostgreSQL type such as text, bigint or numeric(12,2)');
  } else if (typeof type !== 'string') {
    report(at, 'wrong-type', `must be a string, not ${jsonType(type)}`, type);
  } else if (isPlainText(type)) {
    return type;
  } else {
    report(at, 'invalid-text', 'must be valid Unicode without the character NUL');
  }
  return '';
}

function parseDefaultText(value: unknown, pointer: string, report: Report): string | undefined {
  if (value === undefined || value === null) return undefined;
  const at = `${pointer}/default`;
  if (typeof value !== 'string') {
    const remedy =
      typeof value === 'number' || typeof value === 'boolean'
        ? `: write "${value}"`
        : ', or null for no default';
    report(at, 'wrong-type', `must be a string, not ${jsonType(value)}${remedy}`, value);
  } else if (isPlainText(value)) {
    return value;
  } else {
    report(at, 'invalid-text', 'must be valid Unicode without the character NUL');
  }
  return undefined;
}

function parseConstraints(value: unknown, definition: TableDefinition, report: Report): void {
  if (value === undefined || value === null) return;
  const pointer = '/table/constraints';
  const constraints = asObject(value, pointer, constraintProperties, report);
  if (constraints === undefined) return;
  if (constraints.primary_key !== undefined && constraints.primary_key !== null) {
    definition.primaryKey = parseKey(constraints.primary_key, `${pointer}/primary_key`, report);
  }
  const unique = optionalArray(constraints.unique, `${pointer}/unique`, report);
  for (const [index, entry] of unique.entries()) {
    const key = parseKey(entry, `${pointer}/unique/${index}`, report);
    if (key !== undefined) definition.unique.push(key);
  }
  const foreignKeys = optionalArray(constraints.foreign_keys, `${pointer}/foreign_keys`, report);
  for (const [index, entry] of foreignKeys.entries()) {
    parseForeignKey(entry, `${pointer}/foreign_keys/${index}`, definition.foreignKeys, report);
  }
  if (optionalArray(constraints.others, `${pointer}/others`, report).length > 0) {
    report(
      `${pointer}/others`,
      'not-supported',
      'these constraints cannot be defined here; leave "others" out',
    );
  }
}

/** Returns undefined for an entry that means no key (an empty name and no columns), and for a value that is not a key. */
function parseKey(value: unknown, pointer: string, report: Report): KeyDefinition | undefined {
  const object = asObject(value, pointer, keyProperties, report);
  if (object === undefined) return undefined;
  const name = optionalName(object.name, `${pointer}/name`, report);
  const entries = optionalArray(object.columns, `${pointer}/columns`, report);
  if (entries.length === 0) {
    const isReadable =
      object.columns === undefined || object.columns === null || Array.isArray(object.columns);
    if (name !== undefined && isReadable) {
      report(`${pointer}/columns`, 'missing', `the constraint "${shorten(name)}" has no columns`);
    }
    return undefined;
  }
  const columns = entries.map((entry, index) => {
    const at = `${pointer}/columns/${index}`;
    if (typeof entry !== 'string')
      report(at, 'wrong-type', `must be a column's name, not ${jsonType(entry)}`, entry);
    else if (entry === '') report(at, 'missing', 'the name of a column is missing');
    else return entry;
    return '';
  });
  return { pointer, name, columns };
}

/** Adds a pair of columns to the foreign key with the same name, or adds a new foreign key. */
function parseForeignKey(
  value: unknown,
  pointer: string,
  into: ForeignKeyDefinition[],
  report: Report,
): void {
  const object = asObject(value, pointer, foreignKeyProperties, report);
  if (object === undefined) return;
  const name = optionalName(object.name, `${pointer}/name`, report);
  const schema = optionalName(object.reference_schema, `${pointer}/reference_schema`, report) ?? 'public';
  const table = requiredName(object, 'reference_table', pointer, report);
  const pair: ForeignKeyPair = {
    pointer,
    column: requiredName(object, 'column', pointer, report),
    referenceColumn: requiredName(object, 'reference_column', pointer, report),
  };
  const same = name === undefined ? undefined : into.find((key) => key.name === name);
  if (same === undefined) {
    into.push({ name, schema, table, pairs: [pair] });
    return;
  }
  same.pairs.push(pair);
  // An empty name marks a problem that is already reported, not another table.
  const hasTables = table !== '' && same.table !== '';
  if (hasTables && (same.table !== table || same.schema !== schema)) {
    report(
      pointer,
      'mixed-reference',
      `the foreign key "${shorten(name!)}" refers to more than one table; entries with the same name form one composite key`,
    );
    // It is not clear which table is meant, so the later checks get neither of them.
    same.table = '';
  }
}

/** Reads a required name. Returns '' if it is missing or not a string, and the name itself if only its text is invalid. */
function requiredName(object: JsonObject, property: string, pointer: string, report: Report): string {
  const value = object[property];
  const at = `${pointer}/${property}`;
  if (value === undefined || value === null || value === '') {
    report(at, 'missing', `"${property}" is missing`);
    return '';
  }
  return checkedName(value, at, report) ?? '';
}

/** Reads an optional name. Returns undefined if it is absent, null, empty or not a string. */
function optionalName(value: unknown, pointer: string, report: Report): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return checkedName(value, pointer, report);
}

function checkedName(value: unknown, pointer: string, report: Report): string | undefined {
  if (typeof value !== 'string') {
    report(pointer, 'wrong-type', `must be a string, not ${jsonType(value)}`, value);
    return undefined;
  }
  const problem = identifierProblem(value);
  if (problem === undefined) return value;
  report(pointer, 'invalid-name', `the name ${problem}`, value.toWellFormed());
  return undefined;
}

const lengthHint = ' A length is part of the type: write "varchar(5)".';
const precisionHint = ' Precision and scale are part of the type: write "numeric(12,2)".';

/** Members that definitions for other programs have, with advice. */
const typeModifiers = new Map([
  ['length', lengthHint],
  ['size', lengthHint],
  ['max_length', lengthHint],
  ['maxlength', lengthHint],
  ['precision', precisionHint],
  ['scale', precisionHint],
]);

function asObject(value: unknown, pointer: string, known: string[], report: Report): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(pointer, 'wrong-type', `must be an object, not ${jsonType(value)}`, value);
    return undefined;
  }
  for (const property of Object.keys(value)) {
    if (known.includes(property)) continue;
    const hint = typeModifiers.get(property.toLowerCase()) ?? didYouMean(property, known, 0);
    const detail = `"${shorten(property).toWellFormed()}" is not known here.${hint}`;
    report(`${pointer}/${escapePointer(property)}`, 'unknown-property', detail);
  }
  return value as JsonObject;
}

function asArray(value: unknown, pointer: string, report: Report): unknown[] | undefined {
  if (Array.isArray(value)) {
    if (value.length <= maxEntries) return value;
    report(
      pointer,
      'too-many-columns',
      `there can be at most ${maxEntries} entries here; there are ${value.length}`,
    );
    return value.slice(0, maxEntries);
  }
  report(pointer, 'wrong-type', `must be an array, not ${jsonType(value)}`, value);
  return undefined;
}

function optionalArray(value: unknown, pointer: string, report: Report): unknown[] {
  return value === undefined || value === null ? [] : (asArray(value, pointer, report) ?? []);
}

function isPlainText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function jsonType(value: unknown): string {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** RFC 6901 section 3. */
function escapePointer(property: string): string {
  return property.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}
