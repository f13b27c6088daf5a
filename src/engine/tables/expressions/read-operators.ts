/**
 * Reads an operator in an expression. Some forms of SQL use the operator `=` of the search path. They are read as forms that name an operator:
 * `x IN (a, b)` as `x = a OR x = b`, `NULLIF(a, b)` as `CASE WHEN a = b THEN NULL ELSE a END`.
 */
import { shorten } from '../../../core/identifiers.ts';
import { isCostlyExpression } from '../../../encoding/columns/pattern-cost.ts';
import * as allowed from './allowed-functions.ts';
import type { ExpressionNode } from './expression.ts';
import { constant, form, listed, nodesOf, type Reader, textsOf, type Value } from './expression-reader.ts';
import type { RawFields, RawNode } from './parse-sql.ts';

export function readOperator(reader: Reader, fields: RawFields, depth: number): Value {
  reader.only(fields, 'kind', 'name', 'lexpr', 'rexpr', 'rexpr_list_start', 'rexpr_list_end');
  const names = textsOf(fields.name);
  const list: RawNode[] | undefined = fields.rexpr.List?.items;
  const inner = depth + (moreLevels[fields.kind] ?? 0);
  const left = fields.lexpr && reader.read(fields.lexpr, inner);
  const rights = list === undefined ? [reader.read(fields.rexpr, inner)] : reader.readAll(list, inner);
  const right = rights[0]!;
  const operate = (name: string, of?: 'ANY' | 'ALL', schema?: string) =>
    operatorOf(reader, { schema, name, left, right, of }, fields);
  switch (fields.kind) {
    case 'AEXPR_OP':
      if (list !== undefined) break;
      return operate(names.at(-1)!, undefined, names.length > 1 ? names[0] : undefined);
    case 'AEXPR_OP_ANY':
    case 'AEXPR_OP_ALL':
      if (list !== undefined) break;
      return operate(
        names.at(-1)!,
        fields.kind === 'AEXPR_OP_ANY' ? 'ANY' : 'ALL',
        names.length > 1 ? names[0] : undefined,
      );
    case 'AEXPR_LIKE':
    case 'AEXPR_ILIKE':
    case 'AEXPR_SIMILAR':
      return operate(names[0]!);
    case 'AEXPR_IN':
      return readIn(reader, left, rights, names[0]!, fields);
    case 'AEXPR_BETWEEN':
    case 'AEXPR_NOT_BETWEEN': {
      const [from, to] = rights as [Value, Value];
      const isNot = fields.kind === 'AEXPR_NOT_BETWEEN';
      const low = operatorOf(reader, { name: isNot ? '<' : '>=', left, right: from }, fields);
      const high = operatorOf(reader, { name: isNot ? '>' : '<=', left, right: to }, fields);
      const parts = ['(', low.node, isNot ? ' OR ' : ' AND ', high.node, ')'];
      return reader.value(form(parts), [low, high], fields);
    }
    case 'AEXPR_DISTINCT':
    case 'AEXPR_NOT_DISTINCT': {
      const equal = operate('=');
      const areNull = [', ((', left.node, ' IS NULL) AND (', right.node, ' IS NULL)))'];
      const isNot = fields.kind === 'AEXPR_DISTINCT';
      const parts = [isNot ? '(NOT COALESCE(' : 'COALESCE(', equal.node, ...areNull, ...(isNot ? [')'] : [])];
      return reader.value(form(parts), [equal, left, right], fields);
    }
    case 'AEXPR_NULLIF': {
      const equal = operate('=');
      const parts = ['CASE WHEN ', equal.node, ' THEN NULL ELSE ', left.node, ' END'];
      return { ...reader.value(form(parts, [left.node]), [equal, left], fields), size: left.size };
    }
  }
  return reader.refuse('has a form that is not possible here', fields);
}

/** How many more levels the operands have when the form is written out. */
const moreLevels: Record<string, number> = {
  AEXPR_IN: 1,
  AEXPR_BETWEEN: 1,
  AEXPR_NOT_BETWEEN: 1,
  AEXPR_DISTINCT: 3,
  AEXPR_NOT_DISTINCT: 2,
  AEXPR_NULLIF: 1,
};

/** Reads `x IN (…)` as `x = ANY ('{…}')` if all items are texts, because then PostgreSQL gives them the type of `x`. */
function readIn(reader: Reader, left: Value, items: Value[], name: string, fields: RawFields): Value {
  const texts = items.map(({ node }) => (node.kind === 'text' ? node.text : undefined));
  if (items.length > 1 && texts.every((text) => text !== undefined)) {
    const text = `{${texts.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
    const of = name === '=' ? 'ANY' : 'ALL';
    return operatorOf(reader, { name, left, right: constant({ kind: 'text', text }), of }, fields);
  }
  const tests = items.map((right) => operatorOf(reader, { name, left, right }, fields));
  if (tests.length === 1) return tests[0]!;
  return reader.value(
    form(['(', ...listed(nodesOf(tests), name === '=' ? ' OR ' : ' AND '), ')']),
    tests,
    fields,
  );
}

interface Operation {
  schema?: string | undefined;
  name: string;
  left: Value | undefined;
  right: Value;
  of?: 'ANY' | 'ALL' | undefined;
}

export function operatorOf(
  reader: Reader,
  { schema, name, left, right, of }: Operation,
  fields: RawFields,
): Value {
  const known = name === '!=' ? '<>' : name;
  const isComparison = allowed.comparisons.has(known);
  if (!isComparison && !allowed.arithmetic.has(known) && !allowed.growing.has(known))
    reader.refuse(`cannot have the operator ${shorten(name)}`, fields);
  if (left !== undefined && allowed.patternOperators.has(known))
    checkPattern(reader, right.node, allowed.regularExpressions.has(known), fields);
  const node: ExpressionNode = {
    kind: 'operator',
    schema,
    name: known,
    left: left?.node,
    right: right.node,
    ...(of && { of }),
  };
  const size = (left?.size ?? 0) + (known === '||' || left === undefined ? right.size : 0);
  return reader.value(
    node,
    left === undefined ? [right] : [left, right],
    fields,
    allowed.growing.has(known) ? size : 0,
  );
}

/**
 * Checks the pattern of `~`, `LIKE` or a function: it must be a short literal, or an array of them. A cast or an escape around it is allowed.
 * `isRegular`: it is a regular expression, which must not be costly to match.
 */
export function checkPattern(
  reader: Reader,
  node: ExpressionNode,
  isRegular: boolean,
  fields: RawFields,
): void {
  const inner =
    node.kind === 'cast'
      ? node.argument
      : node.kind === 'call' && /^(like|similar_to)_escape$/.test(node.name.name)
        ? node.arguments[0]
        : undefined;
  if (inner !== undefined) {
    checkPattern(reader, inner, isRegular, fields);
    return;
  }
  if (node.kind === 'form' && node.parts[0] === 'ARRAY[') {
    for (const part of node.parts)
      if (typeof part !== 'string') checkPattern(reader, part, isRegular, fields);
    return;
  }
  if (node.kind !== 'text') reader.refuse('needs a pattern that is a literal text', fields);
  if (node.text.length > allowed.maxPatternLength)
    reader.refuse(`has a pattern of more than ${allowed.maxPatternLength} characters`, fields);
  if (isRegular && (/\\\d/.test(node.text) || isCostlyExpression(node.text)))
    reader.refuse('has a regular expression with back references or too many repetitions', fields);
}
