/**
 * Writes an expression as SQL that means the same in every search path: every function, operator, type and collation has its schema.
 *
 * A type of an extension may have its own operators and functions with the names of PostgreSQL's: `=` of citext compares without case.
 * They are used if an operand has such a type, as PostgreSQL itself would do it.
 */
import { shorten } from '../../../core/identifiers.ts';
import { firstOwnOid } from '../../../encoding/columns/load-column.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../postgres/sql.ts';
import { type CatalogType, type TypeName, typeSql } from '../column-types.ts';
import type { CatalogFunction, FunctionName } from '../defaults.ts';
import {
  extensionFunctions,
  functionRules,
  growing,
  pairingOperators,
  rulesOfDefaults,
} from './allowed-functions.ts';
import { type CallNode, type ExpressionNode, type OperatorNode, visitExpression } from './expression.ts';
import type { ExtensionObject } from './extension-objects.ts';

/** The maximum number of characters of the SQL. `a BETWEEN b AND c` writes `a` twice. */
const maxSqlLength = 65_536;

/** How often functions and casts that may double a value may follow each other. */
const maxTimesLengthened = 2;

/** What is known of the names in an expression. */
export interface ExpressionNames {
  columns: ReadonlyMap<string, CatalogType>;
  findType(type: TypeName): CatalogType | null | undefined;
  function(name: FunctionName): CatalogFunction | null | undefined;
  sequence(text: string): string;
  ofExtensions: ExtensionObject[];
}

/** Why an expression whose names were looked up is refused. The message completes a sentence whose subject is the expression. */
export class RefusedExpression extends Error {}

/** @throws RefusedExpression */
export function expressionSql(node: ExpressionNode, names: ExpressionNames): string {
  const times = new Map<ExpressionNode, number>();
  countLengthened(node, times);
  if ([...times.values()].some((count) => count > maxTimesLengthened))
    throw new RefusedExpression('lengthens a value several times, one after the other');
  return writtenSql(node, names);
}

function writtenSql(node: ExpressionNode, names: ExpressionNames): string {
  const write = (part: ExpressionNode) => writtenSql(part, names);
  const sql = sqlOf(node, names, write);
  if (sql.length > maxSqlLength) throw new RefusedExpression('is too long when it is written out');
  return sql;
}

function sqlOf(
  node: ExpressionNode,
  names: ExpressionNames,
  write: (node: ExpressionNode) => string,
): string {
  switch (node.kind) {
    case 'column':
      return quoteIdentifier(node.name);
    case 'constant':
      return node.sql;
    case 'text':
      return quoteLiteral(node.text);
    case 'sequence':
      return `pg_catalog.nextval(${quoteLiteral(names.sequence(node.name))}::pg_catalog.regclass)`;
    case 'operator': {
      const operator = `OPERATOR(${quoteIdentifier(schemaOfOperator(node, names))}.${node.name})`;
      const right = node.of === undefined ? write(node.right) : `${node.of} (${write(node.right)})`;
      return `(${node.left === undefined ? '' : write(node.left)} ${operator} ${right})`;
    }
    case 'call':
      return callSql(node, names, node.arguments.map(write));
    case 'cast': {
      const type = names.findType(node.type)!;
      if (type.kind === 'd' && dependsOnRow(node.argument))
        throw new RefusedExpression(`cannot check a value of each row as the domain ${type.display}`);
      if (readsSlowly(type, node.argument, names))
        throw new RefusedExpression(`cannot read the text of each row as ${type.display}`);
      return `(${write(node.argument)})::${typeSql(node.type, type)}`;
    }
    case 'form':
      return node.parts.map((part) => (typeof part === 'string' ? part : write(part))).join('');
  }
}

function callSql(node: CallNode, names: ExpressionNames, args: string[]): string {
  const { schema, name } = functionOf(node, names);
  const removed = name === 'array_remove' ? node.arguments[1] : undefined;
  if (removed && dependsOnRow(removed)) throw new RefusedExpression(comparesElements);
  if (node.syntax !== undefined && schema === 'pg_catalog') return standardSql(node, args);
  const last = node.isVariadic ? args.length - 1 : -1;
  const list = args.map((argument, index) => (index === last ? `VARIADIC ${argument}` : argument));
  return `${quoteQualified(schema, name)}(${list.join(', ')})`;
}

/** Returns a call in the form of the SQL standard, which always means a function of `pg_catalog`. */
function standardSql({ syntax = [] }: CallNode, args: string[]): string {
  const [first, second] = args;
  const [head = ''] = syntax;
  if (head === 'zone') return `(${second} AT TIME ZONE ${first})`;
  if (head === 'POSITION') return `POSITION((${second}) IN (${first}))`;
  if (head.startsWith('TRIM')) return `${head}${second ?? ''} FROM ${first})`;
  return args.map((part, index) => `${syntax[index]}${part}`).join('') + syntax.at(-1);
}

function functionOf(node: CallNode, names: ExpressionNames): CatalogFunction {
  const { name } = node;
  const unknown = () =>
    new RefusedExpression(`calls ${shorten(name.name)}(), which the database does not have`);
  if (node.from === 'setting') {
    const found = names.function(name);
    if (!found) throw unknown();
    return found;
  }
  const types = node.arguments.map((argument) => typeIdOf(argument, names));
  const named = names.ofExtensions.filter(
    (object) =>
      !object.isOperator &&
      object.name === name.name &&
      (name.schema === undefined || name.schema === object.schema),
  );
  const own = named.find((object) => takesOwnType(object, types));
  if (node.from === 'pg_catalog')
    return own && name.schema === undefined ? own : { schema: 'pg_catalog', name: name.name };
  const found = own ?? named[0];
  if (found === undefined) throw unknown();
  return found;
}

function schemaOfOperator(node: OperatorNode, names: ExpressionNames): string {
  const { schema, name, left, right, of } = node;
  if (of !== undefined && left !== undefined) refuseElements(node, left, names);
  if (pairingOperators.has(name) && left !== undefined) refuseTwoLong(name, left, right, names);
  const found = operatorOf(node, names);
  if (found !== undefined) return found.schema;
  if (schema === undefined || schema === 'pg_catalog') return 'pg_catalog';
  throw new RefusedExpression(
    `has the operator ${shorten(`${schema}.${name}`)}, which no extension has for these types`,
  );
}

/** Returns the operator of an extension that an operator means. */
function operatorOf(
  { schema, name, left, right, of }: OperatorNode,
  names: ExpressionNames,
): ExtensionObject | undefined {
  if (schema === 'pg_catalog') return undefined;
  const types = [left, ...(of === undefined ? [right] : [])].map(
    (operand) => operand && typeIdOf(operand, names),
  );
  return names.ofExtensions.find(
    (object) =>
      object.isOperator &&
      object.name === name &&
      (schema === undefined || object.schema === schema) &&
      (takesOwnType(object, types) || (object.isAlone && object.types[0] === types[0])),
  );
}

const takesOwnType = (object: ExtensionObject, types: (number | undefined)[]): boolean =>
  types.some((type) => type !== undefined && type >= firstOwnOid && object.types.includes(type));

/** Returns the type of the value, if it is known without the rules of PostgreSQL: that of a column, of a cast, or of a function of an extension. */
function typeIdOf(node: ExpressionNode, names: ExpressionNames): number | undefined {
  switch (node.kind) {
    case 'column':
      return names.columns.get(node.name)?.baseOid;
    case 'cast':
      return names.findType(node.type)?.baseOid;
    case 'operator':
      return operatorOf(node, names)?.result;
    case 'call':
      return node.from === 'extension'
        ? names.ofExtensions.find((object) => !object.isOperator && object.name === node.name.name)?.result
        : undefined;
    case 'form':
      return node.values.map((value) => typeIdOf(value, names)).find((type) => type !== undefined);
    default:
      return undefined;
  }
}

function categoryOf(node: ExpressionNode, names: ExpressionNames): string | undefined {
  if (node.kind === 'column') return names.columns.get(node.name)?.category;
  return node.kind === 'cast' ? names.findType(node.type)?.category : undefined;
}

/** Refuses to pair the parts of two values of a row, each of which may have a million. PostgreSQL cannot be interrupted in it. */
function refuseTwoLong(
  operator: string,
  left: ExpressionNode,
  right: ExpressionNode,
  names: ExpressionNames,
): void {
  // A difference or a distance of two elements is mostly one of numbers or points.
  const areElementsLong = operator !== '-' && operator !== '<->';
  if ([left, right].every((node) => mayHaveParts(node, names, areElementsLong)))
    throw new RefusedExpression('compares the parts of two long values of a row');
}

/**
 * Refuses to compare a long value of the row with each element of an array of the row, if each comparison reads the whole value: `=` and `<>` compare the
 * lengths first, except those of `bpchar`, which ignore trailing spaces.
 */
function refuseElements({ name, right }: OperatorNode, left: ExpressionNode, names: ExpressionNames): void {
  if (!dependsOnRow(left) || !dependsOnRow(right)) return;
  const isPadded = typeIdOf(left, names) === BPCHAR || typeIdOf(right, names) === ARRAY_OF_BPCHAR;
  if (isPadded || (name !== '=' && name !== '<>')) throw new RefusedExpression(comparesElements);
}

const comparesElements = 'compares a value with each element of an array of the row';
const BPCHAR = 1042;
const ARRAY_OF_BPCHAR = 1014;

/**
 * Returns how many functions and casts that may double a text, because they escape its characters, follow each other up to this value.
 *
 * @param times receives the number of each node. Several may share one
 */
function countLengthened(node: ExpressionNode, times: Map<ExpressionNode, number>): number {
  const before = times.get(node);
  if (before !== undefined) return before;
  const { parts, isSmall, isLonger } = lengthening(node);
  let most = 0;
  for (const part of parts) if (typeof part === 'object') most = Math.max(most, countLengthened(part, times));
  const count = isSmall ? 0 : most + (isLonger ? 1 : 0);
  times.set(node, count);
  return count;
}

/** Returns the parts of the expression, whether its value is always short, and whether it may double the length of its parts. */
function lengthening(node: ExpressionNode): {
  parts: (ExpressionNode | string | undefined)[];
  isSmall?: boolean | undefined;
  isLonger?: boolean;
} {
  switch (node.kind) {
    case 'cast':
      return { parts: [node.argument], isLonger: mayBeEscaped(node.argument) };
    case 'call': {
      const { name } = node.name;
      const isSmall = node.from === 'pg_catalog' && functionRules.get(name)?.isSmall;
      const isLonger =
        /^(quote_ident|encode)$/.test(name) || (name === 'concat' && node.arguments.some(isArray));
      return { parts: node.arguments, isSmall, isLonger };
    }
    case 'operator':
      return { parts: [node.left, node.right] };
    case 'form':
      return { parts: node.parts };
    default:
      return { parts: [] };
  }
}

/** Returns whether the text of the value may have escapes: that of an array or of JSON. */
function mayBeEscaped(node: ExpressionNode): boolean {
  if (node.kind === 'call') return /json|array/.test(node.name.name);
  if (node.kind === 'cast') return node.type.isArray || /json/.test(node.type.name ?? '');
  return node.kind === 'form';
}

const isArray = (node: ExpressionNode): boolean =>
  (node.kind === 'form' && node.parts[0] === 'ARRAY[') ||
  (node.kind === 'call' && node.name.name.includes('array'));

/** jsonb, path and polygon (pg_type.dat). */
const typesOfParts = [3802, 602, 604];

/** Returns whether the value depends on the row and may have many parts. */
function mayHaveParts(node: ExpressionNode, names: ExpressionNames, areElementsLong: boolean): boolean {
  const mayHave = (part: ExpressionNode | undefined) =>
    part !== undefined && mayHaveParts(part, names, areElementsLong);
  if (!dependsOnRow(node)) return false;
  switch (node.kind) {
    case 'column':
    case 'cast':
      return categoryOf(node, names) === 'A' || typesOfParts.includes(typeIdOf(node, names)!);
    case 'operator':
      return growing.has(node.name) && [node.left, node.right].some(mayHave);
    case 'call':
      if (node.from === 'pg_catalog') return /json|array/.test(node.name.name);
      return node.from === 'setting' || typesOfParts.includes(typeIdOf(node, names)!);
    case 'form':
      if (node.isElement === true) return mayElementHaveParts(node.parts, names) ?? areElementsLong;
      return node.values.some(mayHave);
    default:
      return false;
  }
}

/** jsonb itself, which has elements, and the arrays of the types with parts (pg_type.dat). */
const typesOfElements = [3802, 3807, 1019, 1027];

/** Returns undefined if the type of the array is not known. @param parts those of `a[1]` */
function mayElementHaveParts(
  parts: (string | ExpressionNode)[],
  names: ExpressionNames,
): boolean | undefined {
  const array = parts.find((part) => typeof part !== 'string');
  const type = array && typeIdOf(array, names);
  return type === undefined ? undefined : typesOfElements.includes(type);
}

function dependsOnRow(node: ExpressionNode): boolean {
  let hasColumn = false;
  visitExpression(node, ({ kind }) => {
    hasColumn ||= kind === 'column';
  });
  return hasColumn;
}

/** The types whose values PostgreSQL reads from any text in little time and memory (pg_type.dat): bool, bytea, numbers, uuid, addresses, bits. */
const typesReadFast = [16, 17, 18, 20, 21, 23, 26, 650, 700, 701, 790, 829, 869, 1560, 1562, 1700, 2950];

/** The arrays of such types and of texts. `numeric[]` is none of them, because its text may be much longer than those of its elements. */
const arraysReadFast = [
  1000, 1001, 1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1028, 651, 791, 1040, 1041, 1561,
  1563, 2951,
];

/** Returns whether PostgreSQL may read texts of the row for the cast, as a type that takes much time or memory. */
function readsSlowly(type: CatalogType, argument: ExpressionNode, names: ExpressionNames): boolean {
  const { baseOid, category } = type;
  if (category === 'S' || typesReadFast.includes(baseOid)) return false;
  if (mayBeText(argument, names)) return true;
  if (category !== 'A' || arraysReadFast.includes(baseOid)) return false;
  return dependsOnRow(argument) && typeIdOf(argument, names) !== baseOid;
}

/** Returns whether the value may be a text that depends on the row. */
function mayBeText(node: ExpressionNode, names: ExpressionNames): boolean {
  switch (node.kind) {
    case 'column':
    case 'cast': {
      const category = categoryOf(node, names);
      return category === undefined || category === 'S' || category === 'X';
    }
    case 'operator':
      return ['||', '->', '->>', '#>>'].includes(node.name);
    case 'call': {
      if (node.from === 'extension') return typeIdOf(node, names) === TEXT;
      const rule = functionRules.get(node.name.name) ?? rulesOfDefaults.get(node.name.name);
      return (
        node.from === 'setting' || (!rule?.isSmall && !/(json|array|range)(?!.*_text$)/.test(node.name.name))
      );
    }
    case 'form':
      return node.isElement === true || node.values.some((value) => mayBeText(value, names));
    default:
      return false;
  }
}

const TEXT = 25;

/** Returns the names of functions and operators that may be those of an extension. */
export function namesOfExtensions(
  node: ExpressionNode,
  into: { functions: Set<string>; operators: Set<string> },
): void {
  visitExpression(node, (part) => {
    if (part.kind === 'operator') into.operators.add(part.name);
    if (part.kind === 'call') into.functions.add(part.name.name);
  });
}

/** Returns whether the expression calls a function of an extension, or has an operator that is probably one of an extension. */
export function needsExtension(node: ExpressionNode): boolean {
  let needs = false;
  visitExpression(node, (part) => {
    if (part.kind === 'call') needs ||= part.from === 'extension' && extensionFunctions.has(part.name.name);
    if (part.kind === 'operator')
      needs ||= (part.schema ?? 'pg_catalog') !== 'pg_catalog' || /^(<?%|%>)$/.test(part.name);
  });
  return needs;
}
