/** Reads a call of a function in an expression. Only the functions of allowed-functions.ts and of DEFAULT_FUNCTIONS are called. */
import { shorten } from '../../../core/identifiers.ts';
import { parseRelationName } from '../sql-tokens.ts';
import {
  extensionFunctions,
  type FunctionRule,
  functionRules,
  maxGroups,
  maxPatternLength,
  rulesOfDefaults,
} from './allowed-functions.ts';
import type { CallNode, ExpressionNode } from './expression.ts';
import { constant, nodesOf, type Reader, sum, textsOf, type Value } from './expression-reader.ts';
import type { RawFields, RawNode } from './parse-sql.ts';
import { checkPattern } from './read-operators.ts';

export function readCall(reader: Reader, fields: RawFields, depth: number): Value {
  reader.only(fields, 'funcname', 'args', 'func_variadic', 'funcformat');
  const names = textsOf(fields.funcname);
  const name = { schema: names.length > 1 ? names[0] : undefined, name: names.at(-1)! };
  const from = originOf(reader, name);
  if (names.length > 2 || from === undefined)
    return reader.refuse(`cannot call the function ${shorten(names.join('.'))}()`, fields);
  if (from.kind === 'pg_catalog' && name.name === 'nextval') return readNumber(reader, fields);
  const values = reader.readAll(fields.args, depth);
  const args = nodesOf(values);
  const { rule } = from;
  if (args.length > 100 || args.length > (rule.most ?? 100))
    reader.refuse(`calls ${name.name}() with too many arguments`, fields);
  // PostgreSQL sorts the keys of an object and cannot be interrupted meanwhile, and an array may have a million.
  if (fields.func_variadic === true && name.name === 'jsonb_build_object')
    reader.refuse('makes an object of an array', fields);
  if (rule.hasConfiguration && args[0]?.kind === 'text' && args.length > 1)
    args[0] = configurationOf(reader, args[0].text, fields);
  checkArguments(reader, name.name, rule, args, fields);
  const node: CallNode = {
    kind: 'call',
    name: from.name ?? name,
    from: from.kind,
    arguments: args,
    isVariadic: fields.func_variadic === true,
    syntax: fields.funcformat === 'COERCE_SQL_SYNTAX' ? syntaxOf(name.name, args) : undefined,
  };
  return reader.value(node, values, fields, rule.isSmall ? 0 : sum(values));
}

function originOf(
  reader: Reader,
  name: CallNode['name'],
): { kind: CallNode['from']; rule: FunctionRule; name?: CallNode['name'] } | undefined {
  if (name.schema === undefined || name.schema === 'pg_catalog') {
    const rule =
      functionRules.get(name.name) ?? (reader.use === 'default' ? rulesOfDefaults.get(name.name) : undefined);
    if (rule !== undefined) return { kind: 'pg_catalog', rule };
  }
  const ofSetting = reader.functionOfSetting(name);
  if (ofSetting !== undefined) return { kind: 'setting', rule: {}, name: ofSetting };
  const rule = name.schema === 'pg_catalog' ? undefined : extensionFunctions.get(name.name);
  return rule && { kind: 'extension', rule };
}

/** Reads `nextval('…')` with the name of a sequence. */
function readNumber(reader: Reader, fields: RawFields): Value {
  const [argument, second] = (fields.args ?? []) as RawNode[];
  const literal =
    argument?.TypeCast?.typeName.names.at(-1).String.sval === 'regclass' ? argument.TypeCast.arg : argument;
  const sequence = literal?.A_Const?.sval?.sval;
  if (typeof sequence !== 'string' || second !== undefined)
    reader.refuse("needs the name of a sequence in quotes: nextval('orders_id_seq')", fields);
  return constant({ kind: 'sequence', name: sequence });
}

function checkArguments(
  reader: Reader,
  name: string,
  rule: FunctionRule,
  args: ExpressionNode[],
  fields: RawFields,
): void {
  const isOfNumbers = name === 'substring' && args[1] !== undefined && isNumber(args[1]);
  for (const index of isOfNumbers ? [] : (rule.literals ?? [])) {
    const argument = args[index];
    if (argument === undefined) continue;
    const text = literalOf(argument);
    if (text === undefined || text.length > maxPatternLength) {
      const detail = `needs a literal text of at most ${maxPatternLength} characters as argument ${index + 1} of ${name}()`;
      reader.refuse(detail, fields);
    }
    if (index === rule.pattern) checkPattern(reader, argument, true, fields);
    if (rule.hasGroups && text.split('(').length - 1 > maxGroups)
      reader.refuse(`has a regular expression with more than ${maxGroups} groups in ${name}()`, fields);
  }
  if (rule.replaces) checkReplacement(reader, name, rule, args, fields);
}

/** Checks that no replacement has more bytes than what it replaces: of `translate` each character, and of a regular expression at least one byte. */
function checkReplacement(
  reader: Reader,
  name: string,
  { replaces, pattern }: FunctionRule,
  args: ExpressionNode[],
  fields: RawFields,
): void {
  const [search = '', replacement = ''] = replaces!.map(
    (index) => (args[index] && literalOf(args[index])) ?? '',
  );
  if (pattern !== undefined && /^\\[1-9&]$/.test(replacement)) return;
  const characters = [...replacement];
  const parts =
    name === 'translate'
      ? [...search].map((character, index) => [character, characters[index] ?? ''])
      : [[pattern === undefined ? search : ' ', replacement]];
  if (parts.some(([before, after]) => Buffer.byteLength(after!) > Buffer.byteLength(before!)))
    reader.refuse(`replaces a text with a longer one in ${name}()`, fields);
}

function literalOf(node: ExpressionNode): string | undefined {
  if (node.kind === 'cast') return literalOf(node.argument);
  return node.kind === 'text' ? node.text : undefined;
}

/** Returns whether the value is certainly a number. */
function isNumber(node: ExpressionNode): boolean {
  if (node.kind === 'constant') return /^\(?-?\d+\)?$/.test(node.sql);
  if (node.kind === 'operator') return node.name === '+' || node.name === '-';
  return node.kind === 'call' && /^(strpos|position|length|char_length)$/.test(node.name.name);
}

/** Returns the SQL between the arguments of a call that PostgreSQL writes in the form of the SQL standard. */
function syntaxOf(name: string, args: ExpressionNode[]): string[] | undefined {
  const [first] = args;
  const count = args.length;
  if (name === 'timezone' && count === 2) return ['zone'];
  if (name === 'extract' && first?.kind === 'text' && /^[a-z_]+$/.test(first.text))
    return ['EXTRACT(', ' FROM ', ')'];
  if (name === 'position') return ['POSITION'];
  if (name === 'substring' && isNumber(args[1]!))
    return ['SUBSTRING(', ' FROM ', ...(count === 3 ? [' FOR '] : []), ')'];
  if (name === 'overlay') return ['OVERLAY(', ' PLACING ', ' FROM ', ...(count === 4 ? [' FOR '] : []), ')'];
  const trim = { btrim: 'BOTH', ltrim: 'LEADING', rtrim: 'TRAILING' }[name];
  return trim === undefined ? undefined : [`TRIM(${trim} `];
}

/** Returns the SQL of a text search configuration. Those of PostgreSQL itself have simple names. */
export function configurationOf(reader: Reader, text: string, fields: RawFields): ExpressionNode {
  const { schema = 'pg_catalog', name } = parseRelationName(text) ?? { name: '' };
  if (schema !== 'pg_catalog' || !/^[a-z]+$/.test(name))
    reader.refuse('can have only text search configurations of PostgreSQL itself', fields);
  return { kind: 'constant', sql: `'pg_catalog.${name}'::pg_catalog.regconfig` };
}
