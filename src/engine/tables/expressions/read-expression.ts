/**
 * Reads an expression of a definition from PostgreSQL's parse tree. Everything that is not in the lists here is refused: a kind of node,
 * a member of a node, a function or an operator. No text of the caller is kept but the names and the literals, which are quoted again.
 */
import { shorten } from '../../../core/identifiers.ts';
import { quoteIdentifier, quoteLiteral } from '../../../postgres/sql.ts';
import { namesObjects, parseTypeName, reservedTypeNames, type TypeName } from '../column-types.ts';
import type { ExpressionNode } from './expression.ts';
import {
  constant,
  form,
  largest,
  listed,
  nodesOf,
  type Read,
  Reader,
  type ReadOptions,
  Refusal,
  sum,
  textsOf,
  type Value,
} from './expression-reader.ts';
import type { Parsed, Parser, RawFields, RawNode } from './parse-sql.ts';
import { configurationOf, readCall } from './read-calls.ts';
import { operatorOf, readOperator } from './read-operators.ts';

export type ReadExpression = { node: ExpressionNode; problem?: undefined } | { problem: string };

/** Parses and reads an expression. @returns a problem that completes a sentence whose subject is the expression */
export async function readExpression(
  parser: Parser,
  text: string,
  options: ReadOptions,
): Promise<ReadExpression> {
  const parsed = await parser.parse(text);
  if (parsed.problem !== undefined) return { problem: withPlace(parsed, text) };
  try {
    return { node: new Reader(text, options, readers).read(parsed.node, 0).node };
  } catch (error) {
    if (error instanceof Refusal) return { problem: error.message };
    throw error;
  }
}

function withPlace({ problem, place }: Extract<Parsed, { problem: string }>, text: string): string {
  const rest = place === undefined ? '' : text.slice(place).trim();
  return rest === '' || problem.includes(' near ') ? problem : `${problem}, at "${shorten(rest)}"`;
}

const readers: Record<string, Read> = {
  ColumnRef(reader, fields) {
    const [field, second] = fields.fields;
    const name = field?.String?.sval;
    if (name === undefined || second !== undefined)
      reader.refuse('names a column in another way than by its name', fields);
    if (reader.use === 'default') reader.refuse('is a default, and cannot name a column', fields);
    return { node: { kind: 'column', name }, size: 1, made: 0 };
  },
  A_Const: readConstant,
  A_Expr: readOperator,
  TypeCast: readCast,
  FuncCall: readCall,
  BoolExpr(reader, fields, depth) {
    reader.only(fields, 'boolop', 'args');
    const values = reader.readAll(fields.args, depth);
    const nodes = nodesOf(values);
    const separator = fields.boolop === 'AND_EXPR' ? ' AND ' : ' OR ';
    const parts =
      fields.boolop === 'NOT_EXPR' ? ['(NOT ', nodes[0]!, ')'] : ['(', ...listed(nodes, separator), ')'];
    return reader.value(form(parts), values, fields);
  },
  NullTest(reader, fields, depth) {
    reader.only(fields, 'arg', 'nulltesttype');
    const test = fields.nulltesttype === 'IS_NULL' ? ' IS NULL)' : ' IS NOT NULL)';
    return testOf(reader, reader.read(fields.arg, depth), test, fields);
  },
  BooleanTest(reader, fields, depth) {
    reader.only(fields, 'arg', 'booltesttype');
    const test = String(fields.booltesttype).replaceAll('_', ' ');
    if (!/^IS (NOT )?(TRUE|FALSE|UNKNOWN)$/.test(test))
      reader.refuse('has a form that is not possible here', fields);
    return testOf(reader, reader.read(fields.arg, depth), ` ${test})`, fields);
  },
  CaseExpr: readCase,
  CoalesceExpr: (reader, fields, depth) => readChoice(reader, fields, depth, 'COALESCE'),
  MinMaxExpr: (reader, fields, depth) =>
    readChoice(reader, fields, depth, fields.op === 'IS_LEAST' ? 'LEAST' : 'GREATEST'),
  A_ArrayExpr(reader, fields, depth) {
    reader.only(fields, 'elements', 'list_start', 'list_end');
    const elements = reader.readAll(fields.elements, depth);
    return reader.value(form(['ARRAY[', ...listed(nodesOf(elements)), ']']), elements, fields, sum(elements));
  },
  A_Indirection: readSubscripts,
  CollateClause(reader, fields, depth) {
    reader.only(fields, 'arg', 'collname');
    const names = textsOf(fields.collname);
    const name = names.at(-1)!;
    if (names.length === 2 && names[0] !== 'pg_catalog')
      reader.refuse('can have only collations of PostgreSQL itself', fields);
    const value = reader.read(fields.arg, depth);
    const parts = ['(', value.node, ` COLLATE pg_catalog.${quoteIdentifier(name)})`];
    return { ...value, node: form(parts, [value.node]) };
  },
  SQLValueFunction(reader, fields) {
    const sql = Object.hasOwn(keywords, fields.op) ? keywords[fields.op] : undefined;
    if (reader.use !== 'default' || sql === undefined)
      reader.refuse('cannot have a value that depends on the moment or on the session', fields);
    const { typmod } = fields;
    const precision = fields.op.endsWith('_N') ? `(${Number(typmod ?? 0)})` : '';
    return constant({ kind: 'constant', sql: `${sql}${precision}` });
  },
};

function testOf(reader: Reader, value: Value, test: string, fields: RawFields): Value {
  return reader.value(form(['(', value.node, test]), [value], fields);
}

const keywords: Record<string, string> = {
  SVFOP_CURRENT_DATE: 'CURRENT_DATE',
  SVFOP_CURRENT_TIME: 'CURRENT_TIME',
  SVFOP_CURRENT_TIME_N: 'CURRENT_TIME',
  SVFOP_CURRENT_TIMESTAMP: 'CURRENT_TIMESTAMP',
  SVFOP_CURRENT_TIMESTAMP_N: 'CURRENT_TIMESTAMP',
  SVFOP_LOCALTIME: 'LOCALTIME',
  SVFOP_LOCALTIME_N: 'LOCALTIME',
  SVFOP_LOCALTIMESTAMP: 'LOCALTIMESTAMP',
  SVFOP_LOCALTIMESTAMP_N: 'LOCALTIMESTAMP',
  SVFOP_CURRENT_ROLE: 'CURRENT_ROLE',
  SVFOP_CURRENT_USER: 'CURRENT_USER',
  SVFOP_USER: 'USER',
  SVFOP_SESSION_USER: 'SESSION_USER',
};

function readConstant(reader: Reader, fields: RawFields): Value {
  if (fields.sval !== undefined) {
    const text: string = fields.sval.sval ?? '';
    reader.countDigits(text, fields);
    return constant({ kind: 'text', text });
  }
  let sql: string;
  if (fields.isnull) sql = 'NULL';
  else if (fields.boolval !== undefined) sql = fields.boolval.boolval ? 'true' : 'false';
  else if (fields.ival !== undefined) sql = String(Number(fields.ival.ival ?? 0));
  else if (fields.bsval !== undefined) {
    const bits: string = fields.bsval.bsval ?? '';
    if (!/^(b[01]*|x[0-9a-f]*)$/i.test(bits)) reader.refuse('has bits that are not possible', fields);
    sql = `${bits[0]!.toUpperCase()}'${bits.slice(1)}'`;
  } else {
    // PostgreSQL also reads 0x1F and 1_000.
    sql = String(fields.fval?.fval).replaceAll('_', '');
    if (!/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^-?0[xob][0-9a-f]+$/i.test(sql))
      reader.refuse('has a number that is not possible', fields);
    reader.countDigits(sql, fields);
    // PostgreSQL 15 does not read the other bases.
    if (/^-?0[xob]/i.test(sql)) sql = String((sql.startsWith('-') ? -1n : 1n) * BigInt(sql.replace('-', '')));
  }
  return constant({ kind: 'constant', sql: sql.startsWith('-') ? `(${sql})` : sql });
}

function readCase(reader: Reader, fields: RawFields, depth: number): Value {
  reader.only(fields, 'arg', 'args', 'defresult');
  // `CASE x WHEN …` is written as `CASE WHEN x = …`.
  const depthOfTest = fields.arg ? depth + 1 : depth;
  const subject = fields.arg && reader.read(fields.arg, depthOfTest);
  const results: Value[] = [];
  const tests: Value[] = [];
  const parts: (string | ExpressionNode)[] = ['CASE'];
  for (const { CaseWhen: when } of fields.args as RawNode[]) {
    const right = reader.read(when!.expr, depthOfTest);
    const test = subject ? operatorOf(reader, { name: '=', left: subject, right }, when!) : right;
    const result = reader.read(when!.result, depth);
    results.push(result);
    tests.push(test);
    parts.push(' WHEN ', test.node, ' THEN ', result.node);
  }
  if (fields.defresult !== undefined) {
    const result = reader.read(fields.defresult, depth);
    results.push(result);
    parts.push(' ELSE ', result.node);
  }
  const node = form([...parts, ' END'], nodesOf(results));
  return { ...reader.value(node, [...tests, ...results], fields), size: largest(results) };
}

function readChoice(reader: Reader, fields: RawFields, depth: number, name: string): Value {
  reader.only(fields, 'args', 'op');
  const values = reader.readAll(fields.args, depth);
  const nodes = nodesOf(values);
  const node = form([`${name}(`, ...listed(nodes), ')'], nodes);
  return { ...reader.value(node, values, fields), size: largest(values) };
}

function readSubscripts(reader: Reader, fields: RawFields, depth: number): Value {
  reader.only(fields, 'arg', 'indirection');
  const values = [reader.read(fields.arg, depth)];
  const parts: (string | ExpressionNode)[] = ['(', values[0]!.node, ')'];
  const add = (raw: RawNode) => {
    const value = reader.read(raw, depth);
    values.push(value);
    parts.push(value.node);
  };
  for (const { A_Indices: indices } of fields.indirection as RawNode[]) {
    if (indices === undefined) return reader.refuse('cannot have a field of a composite value', fields);
    reader.only(indices, 'is_slice', 'lidx', 'uidx');
    parts.push('[');
    if (indices.lidx) add(indices.lidx);
    if (indices.is_slice) parts.push(':');
    if (indices.uidx) add(indices.uidx);
    parts.push(']');
  }
  return reader.value({ kind: 'form', parts, values: [], isElement: true }, values, fields, values[0]!.size);
}

function readCast(reader: Reader, fields: RawFields, depth: number): Value {
  reader.only(fields, 'arg', 'typeName');
  const type = typeOf(reader, fields.typeName, fields);
  const value = reader.read(fields.arg, depth - 1);
  const argument = value.node;
  if (type.name === 'regconfig' && argument.kind === 'text')
    return constant(configurationOf(reader, argument.text, fields));
  if (namesObjects.test(type.name ?? '') && (type.schema ?? 'pg_catalog') === 'pg_catalog')
    reader.refuse('cannot name an object of the database', fields);
  // A text is padded to this length for each row.
  const [, length] = /^\((\d+)\)$/.exec(type.modifiers) ?? [];
  if (/^(bpchar|bit)$/.test(type.name ?? '') && Number(length) > 1000)
    reader.refuse('cannot have a cast to a type that pads its values to more than 1,000 characters', fields);
  const node: ExpressionNode = { kind: 'cast', argument, type };
  return { ...reader.value(node, [value], fields, Math.max(0, value.size - 1)), size: value.size };
}

/** Returns the name of a type. PostgreSQL's parser has already read its own spellings, such as `double precision`. */
function typeOf(reader: Reader, raw: RawFields, fields: RawFields): TypeName {
  reader.only(raw, 'names', 'typmods', 'typemod', 'arrayBounds');
  const names = textsOf(raw.names);
  if (names.length > 2) reader.refuse('has a type with too many names', fields);
  const name = names.at(-1)!;
  const isArray = (raw.arrayBounds ?? []).length > 0;
  if (names.length === 1 && reservedTypeNames.includes(name) && raw.typmods === undefined)
    return { ...parseTypeName(name)!, isArray };
  const modifiers = (raw.typmods ?? []).map((modifier: RawNode) => {
    const { ival, sval } = modifier.A_Const ?? {};
    if (ival !== undefined) return String(Number(ival.ival ?? 0));
    // `geometry(Point)`: a name is a text for the type.
    const text = sval?.sval ?? textsOf(modifier.ColumnRef?.fields).at(0);
    return text === undefined
      ? reader.refuse('has a type with a modifier that is not possible', fields)
      : quoteLiteral(text);
  });
  return {
    spelling: undefined,
    schema: names.length === 2 ? names[0] : undefined,
    name,
    isQuoted: names.length === 1,
    modifiers: modifiers.length === 0 ? '' : `(${modifiers.join(',')})`,
    isArray,
  };
}
