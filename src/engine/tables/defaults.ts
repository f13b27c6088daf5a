/**
 * Reads the `default` of a column in a definition: one rule in three steps (docs/definitions.md), with PostgreSQL's lexical rules.
 *
 * 1. `'…'`, `'…'::type` or `B'…'`: an SQL literal. (Escape strings, `$$…$$` and adjoining strings are step 3.)
 * 2. A call of an allowed function, or a keyword such as CURRENT_TIMESTAMP. Arguments are literals, with or without a
 *    cast, or such calls again: `timezone('utc', now())`. In parentheses, each of these may have a cast, as PostgreSQL writes it:
 *    `(CURRENT_DATE)::timestamp`. A call that could make another time zone name for each row is step 3.
 * 3. Anything else is literal text in the input syntax of the column's type. A literal that means the present, such as `now` in a
 *    timestamp column, is refused (moment-defaults.ts).
 *
 * The SQL is written from the tokens, not copied from the caller's text.
 */
import { quoteLiteral, quoteQualified } from '../../postgres/sql.ts';
import { parseTypeName, readTypeName, type TypeName } from './column-types.ts';
import type { NumberingFacts } from './numbering.ts';
import { type Token, TokenReader, tokenize } from './sql-tokens.ts';

/**
 * The functions of `pg_catalog` that a default may call. They are useful in a default, and they cannot sleep, read files or settings,
 * write, or take locks. The setting DEFAULT_FUNCTIONS adds more functions, each as `name` or `schema.name`.
 */
const allowedFunctions = new Set([
  'now',
  'transaction_timestamp',
  'statement_timestamp',
  'clock_timestamp',
  'timezone',
  'date_trunc',
  'to_timestamp',
  'to_char',
  'make_date',
  'make_interval',
  'random',
  'gen_random_uuid',
  'uuidv4',
  'uuidv7',
  'nextval',
  'json_build_array',
  'json_build_object',
  'jsonb_build_array',
  'jsonb_build_object',
]);

/** The keywords that are expressions by themselves (PostgreSQL 9.9.5 and 9.27.1); true: a precision in parentheses may follow. */
const keywords: Record<string, boolean> = {
  current_timestamp: true,
  current_time: true,
  localtime: true,
  localtimestamp: true,
  current_date: false,
  current_user: false,
  session_user: false,
};

/** The keywords in upper case, as messages show them. */
export const valueKeywords = Object.keys(keywords).map((keyword) => keyword.toUpperCase());

/** The maximum depth of calls inside calls. */
const maxDepth = 8;

export type ParsedDefault =
  | { kind: 'literal'; text: string; hint: string }
  | { kind: 'expression'; expression: Expression };

export type Expression =
  | { kind: 'string'; text: string; cast: TypeName | undefined }
  /** A number, `B'…'` or a keyword. */
  | { kind: 'word'; sql: string; cast: TypeName | undefined }
  | { kind: 'call'; name: FunctionName; arguments: Expression[] }
  /** PostgreSQL writes a call that it converts in this form: `(CURRENT_DATE)::timestamp with time zone`. */
  | { kind: 'cast'; argument: Expression; cast: TypeName };

/** Returns the expression and all expressions in it. */
export function expressionsIn(expression: Expression): Expression[] {
  if (expression.kind === 'cast') return [expression, ...expressionsIn(expression.argument)];
  return expression.kind === 'call'
    ? [expression, ...expression.arguments.flatMap(expressionsIn)]
    : [expression];
}

export interface FunctionName {
  schema: string | undefined;
  name: string;
}

/** A function that was found in the catalogue. */
export interface CatalogFunction {
  schema: string;
  name: string;
}

/**
 * Parses a default of a definition.
 *
 * @param extraFunctions names (`name` or `schema.name`) that the service's settings allow beside the built-in ones
 */
export function parseDefault(text: string, extraFunctions: readonly string[]): ParsedDefault {
  const literal: ParsedDefault = { kind: 'literal', text, hint: hintOf(text, extraFunctions) };
  const tokens = tokenize(text);
  if (tokens === undefined || tokens.length === 0) return literal;
  const first = tokens[0]!;
  if (tokens.length === 1 && first.kind === 'string') return { kind: 'literal', text: first.text, hint: '' };
  const reader = new DefaultReader(tokens, extraFunctions);
  const expression = readExpression(reader, 0);
  if (expression === undefined || !reader.ended || !isDefault(expression)) return literal;
  if (makesZones(expression)) return literal;
  if (expression.kind === 'string' && expression.cast === undefined)
    return { ...literal, text: expression.text };
  return { kind: 'expression', expression };
}

/** Writes a text as the literal of step 1, in which a backslash means itself. */
export function literalDefault(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns whether the expression can be a default (step 2). Numbers, true, false and null are expressions only as arguments. As a default they are text (step 3). */
function isDefault(expression: Expression): boolean {
  if (expression.kind === 'cast') return isDefault(expression.argument);
  if (expression.kind !== 'word') return true;
  if (expression.cast !== undefined) return expression.sql.startsWith("B'");
  return expression.sql.startsWith("B'") || /^(current|local|session)/.test(expression.sql);
}

/** Expressions in which other programs write defaults, and which cannot be a default here, with what to send instead. */
const foreignDefaults: [RegExp, string][] = [
  [/^\(*(current_timestamp|now\s*\(\s*\))\s+at\s+time\s+zone\b/i, "Send timezone('utc', now())."],
  [/^\(*array\s*\[/i, 'Send an array as text: {} or {1,2}.'],
  [/^(uuid_generate_v[14]|uuid|newid|newsequentialid|gen_uuid)\s*\(\s*\)$/i, 'Send gen_random_uuid().'],
  [
    /^(sysdate|getdate\s*\(\s*\)|getutcdate\s*\(\s*\)|systimestamp|sysdatetime\s*\(\s*\)|utc_timestamp(\s*\(\s*\))?)$/i,
    'Send now().',
  ],
  [/^(curdate\s*\(\s*\)|date\s*\(\s*'now'\s*\))$/i, 'Send CURRENT_DATE.'],
];

/** Returns the advice to add to the message if PostgreSQL refuses the text as a literal. */
function hintOf(text: string, extraFunctions: readonly string[]): string {
  const trimmed = text.trim();
  if (trimmed === '' || /^null$/i.test(trimmed)) return 'For no default send null.';
  const known = foreignDefaults.find(([pattern]) => pattern.test(trimmed));
  const isAllowedHere = extraFunctions.some((name) => trimmed.startsWith(`${name}(`));
  if (known !== undefined && !isAllowedHere) return known[1];
  const call = /^([\w$."]+)\s*\(/.exec(trimmed);
  if (call === null) return '';
  const names = [...allowedFunctions, ...extraFunctions].join(', ');
  return `A default can call only these functions, with literal arguments: ${names}.`;
}

class DefaultReader extends TokenReader {
  readonly extraFunctions: readonly string[];

  constructor(tokens: Token[], extraFunctions: readonly string[]) {
    super(tokens);
    this.extraFunctions = extraFunctions;
  }
}

function readExpression(reader: DefaultReader, depth: number): Expression | undefined {
  if (depth > maxDepth) return undefined;
  const token = reader.next();
  switch (token?.kind) {
    case 'string':
      return withCast(reader, { kind: 'string', text: token.text, cast: undefined });
    case 'bits':
      return withCast(reader, { kind: 'word', sql: `B'${token.text}'`, cast: undefined });
    case 'number':
      return withCast(reader, { kind: 'word', sql: token.text, cast: undefined });
    case 'symbol':
      return readSymbol(reader, token.text, depth);
    case 'word':
      return readWord(reader, token.text, depth);
    case 'quoted':
      return readCall(reader, token.text, depth);
    default:
      return undefined;
  }
}

/** Reads `-1`, and `(-1)::numeric`, which is how PostgreSQL writes constants that it converts. */
function readSymbol(reader: DefaultReader, symbol: string, depth: number): Expression | undefined {
  const isOpen = symbol === '(';
  const sign = symbol === '-' || (isOpen && reader.symbol('-')) ? '-' : '';
  if (sign === '' && !isOpen) return undefined;
  const digits = reader.kind('number');
  if (digits === undefined && isOpen && sign === '') return readConverted(reader, depth);
  if (digits === undefined || (isOpen && !reader.symbol(')'))) return undefined;
  // A cast binds more strongly than a sign without parentheses (PostgreSQL 4.1.6), so a cast is read only after parentheses.
  const number: Expression = { kind: 'word', sql: `(${sign}${digits})`, cast: undefined };
  return isOpen ? withCast(reader, number) : number;
}

/** Reads what follows `(`: a call or a keyword, then `)` and a cast. */
function readConverted(reader: DefaultReader, depth: number): Expression | undefined {
  const argument = readExpression(reader, depth + 1);
  if (argument === undefined || !isDefault(argument)) return undefined;
  if (argument.kind === 'string' && argument.cast === undefined) return undefined;
  if (!reader.symbol(')') || !reader.symbol('::')) return undefined;
  const cast = readTypeName(reader);
  return cast && { kind: 'cast', argument, cast };
}

function readWord(reader: DefaultReader, word: string, depth: number): Expression | undefined {
  if (word === 'true' || word === 'false' || word === 'null') {
    return withCast(reader, { kind: 'word', sql: word, cast: undefined });
  }
  if (!Object.hasOwn(keywords, word)) return readCall(reader, word, depth);
  let sql = word;
  if (keywords[word] && reader.symbol('(')) {
    const precision = reader.kind('number');
    if (precision === undefined || !/^\d$/.test(precision) || !reader.symbol(')')) return undefined;
    sql = `${word}(${precision})`;
  }
  return { kind: 'word', sql, cast: undefined };
}

function withCast(
  reader: TokenReader,
  literal: Extract<Expression, { kind: 'string' | 'word' }>,
): Expression | undefined {
  if (!reader.symbol('::')) return literal;
  const cast = readTypeName(reader);
  if (cast === undefined) return undefined;
  // `unknown` is PostgreSQL's type of a literal without a cast. The cast is left out, because such a literal fits an argument of any type.
  return isType(cast, 'unknown') ? literal : { ...literal, cast };
}

function isType(type: TypeName, name: string): boolean {
  const isOwn = type.schema === undefined ? !type.isQuoted : type.schema === 'pg_catalog';
  return type.name === name && isOwn && !type.isArray;
}

function readCall(reader: DefaultReader, first: string, depth: number): Expression | undefined {
  const name: FunctionName = { schema: undefined, name: first };
  if (reader.symbol('.')) {
    const second = reader.kind('word') ?? reader.kind('quoted');
    if (second === undefined) return undefined;
    name.schema = first;
    name.name = second;
  }
  if (!isAllowed(name, reader.extraFunctions) || !reader.symbol('(')) return undefined;
  const args: Expression[] = [];
  if (!reader.symbol(')')) {
    do {
      const argument = readExpression(reader, depth + 1);
      if (argument === undefined) return undefined;
      args.push(argument);
    } while (reader.symbol(','));
    if (!reader.symbol(')')) return undefined;
  }
  return { kind: 'call', name, arguments: args };
}

function isAllowed(name: FunctionName, extraFunctions: readonly string[]): boolean {
  if (isBuiltIn(name)) return true;
  const full = name.schema === undefined ? name.name : `${name.schema}.${name.name}`;
  return extraFunctions.includes(full);
}

/**
 * Returns whether a function is an allowed built-in one. These functions are always those of `pg_catalog`, even if another
 * schema has a function with the same name.
 */
export function isBuiltIn(name: FunctionName): boolean {
  return (name.schema === undefined || name.schema === 'pg_catalog') && allowedFunctions.has(name.name);
}

/** The types, functions and sequences that the expression names. */
export interface Mentions {
  types: TypeName[];
  functions: FunctionName[];
  /** Arguments of `nextval`, in the input syntax of `regclass`. */
  sequences: string[];
}

export function mentionsOf(expression: Expression, into: Mentions): void {
  if (expression.kind === 'cast') mentionsOf(expression.argument, into);
  if (expression.kind !== 'call') {
    if (expression.cast !== undefined) into.types.push(expression.cast);
    return;
  }
  into.functions.push(expression.name);
  const sequence = sequenceOf(expression);
  if (sequence !== undefined) into.sequences.push(sequence);
  else for (const argument of expression.arguments) mentionsOf(argument, into);
}

/** Returns the name of the sequence if the expression is `nextval('…')` or `nextval('…'::regclass)`. */
function sequenceOf(expression: Expression): string | undefined {
  if (expression.kind !== 'call' || expression.name.name !== 'nextval' || !isBuiltIn(expression.name)) {
    return undefined;
  }
  const [argument] = expression.arguments;
  if (expression.arguments.length !== 1 || argument?.kind !== 'string') return undefined;
  return argument.cast === undefined || isType(argument.cast, 'regclass') ? argument.text : undefined;
}

/** Returns whether the expression takes a number from a sequence when it is evaluated. */
export function takesNumbers(expression: Expression): boolean {
  return calls(expression, ['nextval']);
}

/**
 * Returns whether each row may get another name of a time zone from the expression, because it computes the name or reads a
 * computed text as a time: `timezone(to_char(clock_timestamp(), …), now())`. PostgreSQL keeps each name in memory (zone-names.ts).
 */
function makesZones(expression: Expression): boolean {
  return expressionsIn(expression).some((part) => {
    if (part.kind === 'cast') return calls(part.argument, textMakers) && calls(part.argument, rowMakers);
    if (part.kind !== 'call') return false;
    const { name, arguments: args } = part;
    const zone = name.name === 'timezone' ? args[0] : name.name === 'date_trunc' ? args[2] : undefined;
    return zone !== undefined && calls(zone, zoneMakers);
  });
}

const textMakers: readonly string[] = ['to_char'];
/** The functions that return another value for each row. */
const rowMakers = ['random', 'nextval', 'clock_timestamp', 'gen_random_uuid', 'uuidv4', 'uuidv7'];
const zoneMakers = [...allowedFunctions].filter((name) => name !== 'make_interval');

function calls(expression: Expression, names: readonly string[]): boolean {
  return expressionsIn(expression).some((part) => part.kind === 'call' && names.includes(part.name.name));
}

/** Returns the SQL for the types, functions and sequences that an expression mentions, after they were looked up. */
export interface Names {
  type(type: TypeName): string;
  function(name: FunctionName): CatalogFunction;
  /** Returns the sequence as SQL, qualified and quoted. */
  sequence(text: string): string;
}

export function expressionSql(expression: Expression, names: Names): string {
  switch (expression.kind) {
    case 'string': {
      const literal = quoteLiteral(expression.text);
      return expression.cast === undefined ? literal : `CAST(${literal} AS ${names.type(expression.cast)})`;
    }
    case 'word':
      return expression.cast === undefined
        ? expression.sql
        : `CAST(${expression.sql} AS ${names.type(expression.cast)})`;
    case 'cast':
      return `CAST(${expressionSql(expression.argument, names)} AS ${names.type(expression.cast)})`;
    case 'call': {
      const { schema, name } = names.function(expression.name);
      const sequence = sequenceOf(expression);
      const list =
        sequence === undefined
          ? expression.arguments.map((argument) => expressionSql(argument, names)).join(', ')
          : `${quoteLiteral(names.sequence(sequence))}::pg_catalog.regclass`;
      return `${quoteQualified(schema, name)}(${list})`;
    }
  }
}

/** A column's default in the catalogue (see `describeRelation` in catalog/describe-relation.ts). */
export interface DefaultFacts extends WrittenDefault {
  /** The types in the expression whose names a definition would read as other types, each with its qualified name (`qualifiedTypes`); null: none. */
  qualifiedTypes: Record<string, string> | null;
  /** The default takes numbers from a sequence that belongs to the column, as that of `serial` does. */
  ownSequence: { name: string; isInSchema: boolean; numbering: NumberingFacts } | null;
}

interface WrittenDefault {
  expression: string;
  /** `pg_type.typcategory` of the column. */
  category: string;
  /** The type of the column, or the base type of its domain, is a number type with fractions. */
  takesFractions: boolean;
}

/**
 * Changes PostgreSQL's text of a default (`pg_get_expr`) into the `default` of a definition.
 *
 * @returns `text` undefined: there is no default; `isExpression`: a definition cannot express the default, because its text
 * would be read as literal text
 */
export function describeDefault(
  facts: WrittenDefault,
  extraFunctions: readonly string[],
): { text: string | undefined; isExpression: boolean } {
  const { expression } = facts;
  if (/^NULL::/.test(expression) && parseTypeName(expression.slice(6)) !== undefined) {
    return { text: undefined, isExpression: false };
  }
  const text = bareConstant(facts) ?? asCastLiteral(expression);
  if (text === expression && isBare(expression)) return { text, isExpression: false };
  const isExpression =
    parseDefault(text, extraFunctions).kind === 'literal' && !/^'(?:[^']|'')*'$/.test(text);
  return { text: isExpression ? expression : text, isExpression };
}

/** Writes the types of an expression so that a definition reads them as the same types. @param expression as `pg_get_expr` writes it */
export function writeTypes({
  expression,
  qualifiedTypes,
}: Pick<DefaultFacts, 'expression' | 'qualifiedTypes'>): string {
  if (qualifiedTypes === null) return expression;
  return expression.replace(/'(?:[^']|'')*'|::(\w+|"(?:[^"]|"")*")|"(?:[^"]|"")*"/g, (text, name?: string) =>
    name !== undefined && Object.hasOwn(qualifiedTypes, name) ? `::${qualifiedTypes[name]}` : text,
  );
}

const bareNumber = /^-?(\d+(\.\d*)?|\.\d+)$/;

function isBare(expression: string): boolean {
  return bareNumber.test(expression) || expression === 'true' || expression === 'false';
}

/**
 * Returns the default for a constant that PostgreSQL writes without a cast: a boolean, an integer or a numeric with a point. If the
 * column has a type of the same kind, the default is the text of the constant. Otherwise it needs a cast to the constant's type.
 */
function bareConstant(facts: WrittenDefault): string | undefined {
  const { expression, category, takesFractions } = facts;
  if (!isBare(expression)) return undefined;
  if (!bareNumber.test(expression)) return category === 'B' ? expression : `'${expression}'::boolean`;
  const isWhole = !expression.includes('.');
  if (category === 'N' && (isWhole || takesFractions)) return expression;
  return `'${expression}'::${isWhole ? 'integer' : 'numeric'}`;
}

/** Rewrites `(0)::numeric` and `ARRAY[]::text[]` as literals with a cast. */
function asCastLiteral(expression: string): string {
  const constant = /^\(?(-?[\d.]+|true|false)\)?::(.+)$/.exec(expression);
  if (constant !== null) return `'${constant[1]}'::${constant[2]}`;
  const emptyArray = /^ARRAY\[\]::(.+)$/.exec(expression);
  return emptyArray === null ? expression : `'{}'::${emptyArray[1]}`;
}
