/**
 * Writes an expression as SQL that means the same in every search path: every function, operator, type and collation has its schema.
 *
 * A type of an extension may have its own operators and functions with the names of PostgreSQL's: `=` of citext compares without case.
 * They are used if an operand has such a type, as PostgreSQL itself would do it.
 */
import { shorten } from '../../../core/identifiers.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../postgres/sql.ts';
import { typeSql } from '../column-types.ts';
import type { CatalogFunction } from '../defaults.ts';
import { extensionFunctions } from './allowed-functions.ts';
import { type CallNode, type ExpressionNode, type OperatorNode, visitExpression } from './expression.ts';
import {
  type ExpressionNames,
  operatorOfExtension,
  RefusedExpression,
  takesOwnType,
  typeIdOf,
} from './expression-types.ts';
import { refuseCostly } from './refuse-costly.ts';

/** The maximum number of characters of the SQL. `a BETWEEN b AND c` writes `a` twice. */
const maxSqlLength = 65_536;

/** @throws RefusedExpression */
export function expressionSql(node: ExpressionNode, names: ExpressionNames): string {
  refuseCostly(node, names);
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
    case 'cast':
      return `(${write(node.argument)})::${typeSql(node.type, names.findType(node.type)!)}`;
    case 'form':
      return node.parts.map((part) => (typeof part === 'string' ? part : write(part))).join('');
  }
}

function callSql(node: CallNode, names: ExpressionNames, args: string[]): string {
  const { schema, name } = functionOf(node, names);
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
  const { schema, name } = node;
  const found = operatorOfExtension(node, names);
  if (found !== undefined) return found.schema;
  if (schema === undefined || schema === 'pg_catalog') return 'pg_catalog';
  throw new RefusedExpression(
    `has the operator ${shorten(`${schema}.${name}`)}, which no extension has for these types`,
  );
}

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
