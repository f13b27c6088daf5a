/** What is known of the types in an expression without the rules of PostgreSQL: those of columns, casts and functions. */
import { firstOwnOid } from '../../../encoding/columns/load-column.ts';
import type { CatalogType, TypeName } from '../column-types.ts';
import type { CatalogFunction, FunctionName } from '../defaults.ts';
import { comparisons, functionRules, rulesOfDefaults } from './allowed-functions.ts';
import { type CallNode, type ExpressionNode, type OperatorNode, visitExpression } from './expression.ts';
import type { ExtensionObject } from './extension-objects.ts';

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

/** Returns the type of the value, if it is known: that of a column, of a cast, or of a function or operator of an extension. */
export function typeIdOf(node: ExpressionNode, names: ExpressionNames): number | undefined {
  switch (node.kind) {
    case 'column':
      return names.columns.get(node.name)?.baseOid;
    case 'cast':
      return names.findType(node.type)?.baseOid;
    case 'operator':
      return operatorOfExtension(node, names)?.result;
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

/** Returns `pg_type.typcategory` of a column or a cast. */
export function categoryOf(node: ExpressionNode, names: ExpressionNames): string | undefined {
  if (node.kind === 'column') return names.columns.get(node.name)?.category;
  return node.kind === 'cast' ? names.findType(node.type)?.category : undefined;
}

/** Returns the operator of an extension that an operator means. */
export function operatorOfExtension(
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

/** Returns whether one of the types belongs to an extension, and the function or operator takes it. */
export const takesOwnType = (object: ExtensionObject, types: (number | undefined)[]): boolean =>
  types.some((type) => type !== undefined && type >= firstOwnOid && object.types.includes(type));

export function dependsOnRow(node: ExpressionNode): boolean {
  return mentions(node, ({ kind }) => kind === 'column');
}

/** Returns whether the condition is true for the expression or for one in it. */
export function mentions(node: ExpressionNode, condition: (part: ExpressionNode) => boolean): boolean {
  let isMentioned = false;
  visitExpression(node, (part) => {
    isMentioned ||= condition(part);
  });
  return isMentioned;
}

/** What a value is. The text of a value that is no text may be longer than the value: `\x` and two digits for each byte, or escapes. */
export interface ValueKind {
  kind: 'text' | 'other' | 'unknown';
  /** The value has at most some bytes whatever the row has. The digits of numbers are counted apart (number-trees.ts). */
  isShort: boolean;
}

const short: ValueKind = { kind: 'other', isShort: true };
const text: ValueKind = { kind: 'text', isShort: false };
const other: ValueKind = { kind: 'other', isShort: false };
const unknown: ValueKind = { kind: 'unknown', isShort: false };

export function valueKindOf(node: ExpressionNode, names: ExpressionNames): ValueKind {
  switch (node.kind) {
    case 'column':
      return kindOfCategory(categoryOf(node, names));
    case 'cast': {
      const kind = kindOfCategory(categoryOf(node, names));
      return { ...kind, isShort: kind.isShort || valueKindOf(node.argument, names).isShort };
    }
    case 'text':
      return text;
    case 'operator':
      return kindOfOperator(node, names);
    case 'call':
      return kindOfCall(node, names);
    case 'form':
      if (node.parts[0] === 'ARRAY[') return other;
      if (node.isElement === true) return kindOfElement(node.parts, names);
      return node.values.length === 0 ? short : common(node.values.map((value) => valueKindOf(value, names)));
    default:
      return short;
  }
}

function kindOfCategory(category: string | undefined): ValueKind {
  if (category === undefined) return unknown;
  if (category === 'S') return text;
  // Booleans, dates and times, enums, network addresses, numbers, intervals.
  return 'BDEINT'.includes(category) ? short : other;
}

/** @param parts those of `a[1]` or `a[1:2]` */
function kindOfElement(parts: (string | ExpressionNode)[], names: ExpressionNames): ValueKind {
  if (parts.includes(':')) return other;
  const array = parts.find((part) => typeof part !== 'string')!;
  if (array.kind === 'call') return /^(string_to_array|regexp_match)$/.test(array.name.name) ? text : unknown;
  const type = typeIdOf(array, names)!;
  if (arraysOfTexts.includes(type)) return text;
  return arraysOfShort.includes(type) ? short : unknown;
}

/** The arrays of text, varchar, bpchar and "char"; of booleans, numbers, dates, times, intervals and UUIDs (pg_type.dat). */
const arraysOfTexts = [1009, 1015, 1014, 1002];
const arraysOfShort = [1000, 1005, 1007, 1016, 1021, 1022, 1231, 1182, 1115, 1185, 1183, 1270, 1187, 2951];

function kindOfOperator({ name, left, right }: OperatorNode, names: ExpressionNames): ValueKind {
  if (comparisons.has(name)) return short;
  if (name === '->>' || name === '#>>') return text;
  const operands = (left === undefined ? [right] : [left, right]).map((operand) =>
    valueKindOf(operand, names),
  );
  if (name !== '||') return operands.every(({ isShort }) => isShort) ? short : other;
  return operands.some(({ kind, isShort }) => kind === 'text' && !isShort) ? text : common(operands);
}

function kindOfCall(node: CallNode, names: ExpressionNames): ValueKind {
  const { name } = node.name;
  if (node.from === 'setting') return unknown;
  if (node.from === 'extension') return typeIdOf(node, names) === TEXT ? text : unknown;
  if ((functionRules.get(name) ?? rulesOfDefaults.get(name))?.isSmall) return short;
  if (textFunctions.has(name)) return text;
  const [first] = node.arguments;
  if (!functionsLikeFirst.has(name) || first === undefined) return other;
  const kind = valueKindOf(first, names);
  return kind.kind === 'text' ? kind : unknown;
}

const TEXT = 25;
/** The functions that always return texts, and those whose value has the type of their first argument, or of its bounds: texts, `bytea`, bits and ranges. */
const textFunctions = new Set(
  `initcap concat textcat quote_ident encode to_char host abbrev split_part replace translate regexp_replace regexp_substr
  jsonb_extract_path_text json_extract_path_text`.split(/\s+/),
);
const functionsLikeFirst = new Set(
  'lower upper reverse left right substr substring overlay btrim ltrim rtrim'.split(' '),
);

/** Returns what a value is that is one of these values, or joins them. */
function common(kinds: ValueKind[]): ValueKind {
  const long = kinds.filter(({ isShort }) => !isShort);
  if (long.length === 0)
    return kinds.every(({ kind }) => kind === 'other') ? short : { ...text, isShort: true };
  return long.every(({ kind }) => kind === long[0]!.kind) ? long[0]! : unknown;
}
