/**
 * Refuses expressions whose time or memory has no bound for the values of a row. PostgreSQL cannot be interrupted while it computes them, so no limit
 * of the service would help. What remains is counted by its copies (expression-reader.ts, postgres/expression-trees.ts).
 */
import { firstOwnOid } from '../../../encoding/columns/load-column.ts';
import type { CatalogType } from '../column-types.ts';
import { functionRules, growing, pairingOperators, rulesOfDefaults } from './allowed-functions.ts';
import { type ExpressionNode, type OperatorNode, partsOf, visitExpression } from './expression.ts';
import {
  categoryOf,
  dependsOnRow,
  type ExpressionNames,
  mentions,
  operatorOfExtension,
  RefusedExpression,
  typeIdOf,
  valueKindOf,
} from './expression-types.ts';

/** How many steps that may double a value may follow each other. The copies of such values count more (`timesLonger` in postgres/expression-trees.ts). */
const maxDoublings = 2;

/** @throws RefusedExpression */
export function refuseCostly(node: ExpressionNode, names: ExpressionNames): void {
  if (countDoublings(node, names, new Map()) > maxDoublings)
    throw new RefusedExpression('lengthens a value several times, one after the other');
  visitExpression(node, (part) => {
    if (part.kind === 'cast') refuseCast(part, names);
    if (part.kind === 'operator' && part.left !== undefined) refuseOperator(part, part.left, names);
    if (
      part.kind === 'call' &&
      part.name.name === 'array_remove' &&
      part.arguments.slice(1).some(dependsOnRow)
    )
      throw new RefusedExpression(comparesElements);
  });
}

/**
 * Returns how often a value may double up to this one.
 *
 * @param counts receives the number up to each node. Several may share one
 */
function countDoublings(
  node: ExpressionNode,
  names: ExpressionNames,
  counts: Map<ExpressionNode, number>,
): number {
  const before = counts.get(node);
  if (before !== undefined) return before;
  let most = 0;
  for (const part of partsOf(node))
    most = Math.max(most, countDoublings(part, names, counts) + doublingsOf(part, node, names));
  const count = most <= maxDoublings && valueKindOf(node, names).isShort ? 0 : most;
  counts.set(node, count);
  return count;
}

/**
 * Returns how often the value `node` doubles its part, at most: a cast of `bytea` writes two digits for each byte, and texts of arrays, JSON and `hstore`
 * have escapes. An escape of JSON or of `encode` has up to six characters, which counts as two doublings: a third one would not escape it again.
 */
function doublingsOf(part: ExpressionNode, node: ExpressionNode, names: ExpressionNames): number {
  const { kind, isShort } = valueKindOf(part, names);
  if (isShort) return 0;
  const asText = kind === 'text' || isJson(part) ? 0 : mentions(part, makesStrings) ? 2 : 1;
  switch (node.kind) {
    case 'cast': {
      const type = typeIdOf(part, names);
      return type !== undefined && type === typeIdOf(node, names) ? 0 : asText;
    }
    case 'call': {
      const { name } = node.name;
      if (node.from !== 'pg_catalog') return 1;
      if (name === 'concat') return asText;
      if (isJson(node)) return isJson(part) ? 0 : 2;
      if (name === 'encode') return isEscape(node.arguments[1]) ? 2 : 1;
      return name === 'quote_ident' ? 1 : /_path_text$/.test(name) ? asText : 0;
    }
    case 'operator':
      if (node.name === '->>' || node.name === '#>>') return asText;
      // What is joined with a text becomes a text.
      return node.name === '||' &&
        partsOf(node).some((operand) => valueKindOf(operand, names).kind !== 'other')
        ? asText
        : 0;
    default:
      return 0;
  }
}

/** Returns whether the value is a text of JSON, which is not escaped again within another one. */
const isJson = (node: ExpressionNode): boolean =>
  node.kind === 'call' && /^(to_json|json_build_(object|array))$/.test(node.name.name);

/** Returns whether texts become strings of `jsonb`, which are escaped only when they are written. */
const makesStrings = (node: ExpressionNode): boolean =>
  node.kind === 'call' && /^(to_jsonb|jsonb_build_(object|array)|jsonb_set)$/.test(node.name.name);

const isEscape = (format: ExpressionNode | undefined): boolean =>
  format?.kind !== 'text' || format.text.toLowerCase() === 'escape';

type CastNode = Extract<ExpressionNode, { kind: 'cast' }>;

function refuseCast(node: CastNode, names: ExpressionNames): void {
  const type = names.findType(node.type)!;
  if (!dependsOnRow(node.argument)) return;
  if (type.kind === 'd')
    throw new RefusedExpression(`cannot check a value of each row as the domain ${type.display}`);
  const isPadded = paddedArrays.includes(type.baseOid) && paddingOf(node.type.modifiers) > mostPadding;
  if (isPadded || type.baseOid === ARRAY_OF_NAME)
    throw new RefusedExpression(`cannot lengthen each element of an array of the row to ${type.display}`);
  if (readsSlowly(type, node.argument, names))
    throw new RefusedExpression(`cannot read the text of each row as ${type.display}`);
}

/** Arrays of `name`, whose elements have 64 bytes, and of char(n), bit(n) and numeric(p,s) (pg_type.dat). */
const ARRAY_OF_NAME = 1003;
const paddedArrays = [1014, 1561, 1231];
const mostPadding = 20;

/** Returns the length in `(10)`, or the scale in `(10,2)`. The precision of numeric(p) pads nothing, but is rarely so long. */
function paddingOf(modifiers: string): number {
  return Math.max(0, ...(modifiers.match(/\d+(?=\))/) ?? []).map(Number));
}

function refuseOperator(node: OperatorNode, left: ExpressionNode, names: ExpressionNames): void {
  const { name, right, of } = node;
  if (of !== undefined) refuseElements(node, left, names);
  if (pairingOperators.has(name)) refuseTwoLong(name, left, right, names);
  const types = joinedTypes[name];
  const isJoined = (operand: ExpressionNode) =>
    types !== undefined &&
    !valueKindOf(operand, names).isShort &&
    mentions(
      operand,
      (part) =>
        (part.kind === 'call' && types.includes(TSQUERY) && part.name.name === 'plainto_tsquery') ||
        types.includes(typeIdOf(part, names)!) ||
        (types.includes(PATH) && categoryOf(part, names) === 'A'),
    );
  if ([left, right].some((operand) => dependsOnRow(operand) && isJoined(operand)))
    throw new RefusedExpression(`joins values of the row with ${name}`);
}

const PATH = 602;
const TSQUERY = 3615;
/** tsquery and its arrays. */
const queries = [TSQUERY, 3645];
/** Operators that are arithmetic or comparisons for most types, and join values of these ones. `+` of the extension intarray joins arrays. */
const joinedTypes: Record<string, number[] | undefined> = {
  ...{ '+': [PATH], '-': [PATH], '*': [PATH], '/': [PATH] },
  ...{ '&&': queries, '||': queries, '<->': queries },
};

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
 * lengths first, except those of `bpchar`, which ignore trailing spaces, and of extensions: citext converts both texts.
 */
function refuseElements(node: OperatorNode, left: ExpressionNode, names: ExpressionNames): void {
  const { name, right } = node;
  if (!dependsOnRow(left) || !dependsOnRow(right) || valueKindOf(left, names).isShort) return;
  const isPadded = typeIdOf(left, names) === BPCHAR || typeIdOf(right, names) === ARRAY_OF_BPCHAR;
  const isOfExtension =
    operatorOfExtension(node, names) !== undefined ||
    mentions(left, (part) => categoryOf(part, names) === 'A' && typeIdOf(part, names)! >= firstOwnOid);
  if (isPadded || isOfExtension || (name !== '=' && name !== '<>'))
    throw new RefusedExpression(comparesElements);
}

const comparesElements = 'compares a value with each element of an array of the row';
const BPCHAR = 1042;
const ARRAY_OF_BPCHAR = 1014;

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
