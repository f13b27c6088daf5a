/**
 * The expressions of a definition (CHECK, generated columns, defaults, indexes) after they are read, and before their names are looked up. Only
 * the texts in `constant` and `form` reach SQL as they are, and the service itself wrote them.
 */

import type { TypeName } from '../column-types.ts';
import type { FunctionName } from '../defaults.ts';

export type ExpressionNode =
  | { kind: 'column'; name: string }
  /** A number, bits, `true`, `false`, `NULL` or a keyword such as `CURRENT_DATE`. */
  | { kind: 'constant'; sql: string }
  | { kind: 'text'; text: string }
  | { kind: 'sequence'; name: string }
  | OperatorNode
  | CallNode
  | { kind: 'cast'; argument: ExpressionNode; type: TypeName }
  | FormNode;

/** SQL of the service, and expressions in it. The same expression may be in several places. */
export interface FormNode {
  kind: 'form';
  parts: (string | ExpressionNode)[];
  /** The expressions one of which is the value: the results of CASE. Empty: the value is another one. */
  values: ExpressionNode[];
  isElement?: boolean;
}

export interface OperatorNode {
  kind: 'operator';
  /** Undefined: the caller named no schema. */
  schema: string | undefined;
  name: string;
  left: ExpressionNode | undefined;
  right: ExpressionNode;
  /** The right operand is an array, and this says how many of its elements must fit. */
  of?: 'ANY' | 'ALL';
}

export interface CallNode {
  kind: 'call';
  name: FunctionName;
  /** `pg_catalog`: one of the own list; `extension`: of an extension; `setting`: of DEFAULT_FUNCTIONS. */
  from: 'pg_catalog' | 'extension' | 'setting';
  arguments: ExpressionNode[];
  isVariadic: boolean;
  /** SQL between the arguments, for a call that SQL writes in another way: `EXTRACT(year FROM …)`. */
  syntax?: string[] | undefined;
}

/** What an expression is used for. A default names no column, and only it may call functions of time and chance. */
export type ExpressionUse = 'check' | 'generated' | 'default' | 'index';

/** Calls `visit` once for the expression and each expression in it. */
export function visitExpression(
  node: ExpressionNode,
  visit: (node: ExpressionNode) => void,
  visited = new Set<ExpressionNode>(),
): void {
  if (visited.has(node)) return;
  visited.add(node);
  visit(node);
  for (const part of partsOf(node)) visitExpression(part, visit, visited);
}

export function partsOf(node: ExpressionNode): ExpressionNode[] {
  switch (node.kind) {
    case 'operator':
      return node.left === undefined ? [node.right] : [node.left, node.right];
    case 'call':
      return node.arguments;
    case 'cast':
      return [node.argument];
    case 'form':
      return node.parts.filter((part) => typeof part !== 'string');
    default:
      return [];
  }
}
