/** What the parts that read an expression share: the values that they return, and how they refuse. */
import { shorten } from '../../../core/identifiers.ts';
import type { CallNode, ExpressionNode, ExpressionUse } from './expression.ts';
import { maxExpressionLength, type RawFields, type RawNode } from './parse-sql.ts';

/** The maximum number of expressions within expressions. */
const maxDepth = 50;
/**
 * How often an expression may copy the values of its columns. A value may have 16 MiB, and PostgreSQL keeps each copy until the end of the row.
 * A cast is no level, and the copy of one value by a cast is not counted, because PostgreSQL adds casts when it writes the expression:
 * `(v)::text = 'x'`. Most copy nothing; an upload counts one copy for each of the others (`copiesIn` in postgres/expression-trees.ts).
 */
const maxCopies = 64;

export interface ReadOptions {
  use: ExpressionUse;
  /** See `PrepareOptions`. */
  extraFunctions: readonly string[];
}

/** Why an expression is refused. The message completes a sentence whose subject is the expression. */
export class Refusal extends Error {}

/** An expression that was read. Both numbers count in values of columns. */
export interface Value {
  node: ExpressionNode;
  /** The length of its value. */
  size: number;
  /** The lengths of all values that PostgreSQL makes to compute it. */
  made: number;
}

export class Reader {
  readonly #text: Buffer;
  readonly #options: ReadOptions;
  readonly #readers: Record<string, Read>;
  #digits = 0;

  /** @param readers the functions that read the nodes, by their kinds */
  constructor(text: string, options: ReadOptions, readers: Record<string, Read>) {
    this.#readers = readers;
    this.#text = Buffer.from(`SELECT (${text}`);
    this.#options = options;
  }

  read(raw: RawNode, depth: number): Value {
    const [kind = '', fields = {}] = Object.entries(raw)[0] ?? [];
    if (depth > maxDepth) this.refuse(`has more than ${maxDepth} levels`, fields);
    const read = Object.hasOwn(this.#readers, kind) ? this.#readers[kind] : undefined;
    if (read === undefined) return this.refuse(`cannot have ${namesOfKinds[kind] ?? 'this'}`, fields);
    return read(this, fields, depth + 1);
  }

  refuse(problem: string, fields: RawFields): never {
    const location = fields.location as number | undefined;
    const rest = location === undefined || location < 0 ? '' : this.#text.toString('utf8', location).trim();
    throw new Refusal(rest === '' ? problem : `${problem}, at "${shorten(rest)}"`);
  }

  /** Refuses members of a node that are not read. */
  only(fields: RawFields, ...names: string[]): void {
    const other = Object.keys(fields).find(
      (name) => !names.includes(name) && !/^(name_)?location$/.test(name),
    );
    if (other !== undefined) this.refuse('has a form that is not possible here', fields);
  }

  readAll(list: RawNode[] | undefined, depth: number): Value[] {
    return (list ?? []).map((raw) => this.read(raw, depth));
  }

  get use(): ExpressionUse {
    return this.#options.use;
  }

  /** Returns the function of DEFAULT_FUNCTIONS that a name means. PostgreSQL writes a function of the search path without its schema. */
  functionOfSetting({ schema, name }: CallNode['name']): CallNode['name'] | undefined {
    const { extraFunctions } = this.#options;
    if (extraFunctions.includes(schema === undefined ? name : `${schema}.${name}`)) return { schema, name };
    const found = schema === undefined ? extraFunctions.find((full) => full.endsWith(`.${name}`)) : undefined;
    return found === undefined ? undefined : { schema: found.slice(0, -name.length - 1), name };
  }

  /** @param parts the expressions that are computed for this one, each as often as it is computed @param size the length of the value, if it is new */
  value(node: ExpressionNode, parts: Value[], fields: RawFields, size = 0): Value {
    const made = parts.reduce((total, part) => total + part.made, size);
    if (made > maxCopies) this.refuse('makes too many copies of the values of its columns', fields);
    return { node, size, made };
  }

  /** Counts the digits of a number as PostgreSQL writes them again for a description of the table. */
  countDigits(text: string, fields: RawFields): void {
    for (const [, exponent] of text.matchAll(/[\d.]e\s*[+-]?(\d+)/gi)) this.#digits += Number(exponent);
    if (!(this.#digits <= maxExpressionLength)) this.refuse('has numbers with too many digits', fields);
  }
}

export type Read = (reader: Reader, fields: RawFields, depth: number) => Value;

/** Returns a value that depends on no column. */
export const constant = (node: ExpressionNode): Value => ({ node, size: 0, made: 0 });
export const largest = (values: Value[]): number => Math.max(0, ...values.map(({ size }) => size));
export const sum = (values: Value[]): number => values.reduce((total, { size }) => total + size, 0);
export const nodesOf = (values: Value[]): ExpressionNode[] => values.map(({ node }) => node);

/** Returns SQL with expressions between its parts. @param values the expressions one of which is the value */
export function form(parts: (string | ExpressionNode)[], values: ExpressionNode[] = []): ExpressionNode {
  return { kind: 'form', parts, values };
}

export function listed(nodes: ExpressionNode[], separator = ', '): (string | ExpressionNode)[] {
  return nodes.flatMap((node, index) => (index === 0 ? [node] : [separator, node]));
}

const namesOfKinds: Record<string, string> = {
  SubLink: 'a subquery',
  ParamRef: 'a parameter',
  RowExpr: 'a row',
  XmlExpr: 'an XML function',
  SetToDefault: 'DEFAULT',
  GroupingFunc: 'GROUPING',
  NamedArgExpr: 'a named argument',
};

export function textsOf(list: { String?: { sval?: string } }[] | undefined): string[] {
  return (list ?? []).map((item) => item.String?.sval ?? '');
}
