/**
 * Splits the text of types and defaults into tokens by PostgreSQL's lexical rules (4.1). The service writes SQL from the tokens and never
 * copies the text of a caller. A text that contains anything else has no tokens.
 */

export interface Token {
  /** `word`: unquoted, folded to lower case as PostgreSQL folds it. `bits`: `B'…'`. */
  kind: 'word' | 'quoted' | 'string' | 'bits' | 'number' | 'symbol';
  /** The value without quotes; doubled quotes are made single. */
  text: string;
}

/** The most tokens of a text. Real types and calls have fewer; the limit bounds the time for a hostile text. */
const maxTokens = 1000;

/** The patterns in the order in which they are tried. */
const patterns: [Token['kind'] | 'space', RegExp][] = [
  ['space', /[ \t\n\r\f\v]+/y],
  ['bits', /[bB]'([01]*)'/y],
  // A word directly before a quote is refused, because as a prefix it changes the meaning of the string (`E'…'`, `U&'…'`, `N'…'`).
  ['word', /([A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)(?![\w$\u0080-\uffff'"&])/y],
  ['number', /((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w$.\u0080-\uffff])/y],
  ['symbol', /(::|[()[\],.-])/y],
];

/** Returns the tokens of `text`; undefined if it contains anything else (comments, operators, `E'…'`, `$$`). */
export function tokenize(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const found = nextToken(text, at);
    if (found === undefined) return undefined;
    at = found.end;
    // Two strings in a row are refused. In SQL they are one string or an error, which depends on the space between them.
    if (found.kind === 'string' && tokens.at(-1)?.kind === 'string') return undefined;
    if (tokens.length === maxTokens) return undefined;
    if (found.kind !== 'space') tokens.push({ kind: found.kind, text: tokenText(found.kind, found.text) });
  }
  return tokens;
}

function nextToken(text: string, at: number) {
  if (text[at] === "'") return quotedToken('string', text, at);
  if (text[at] === '"') return quotedToken('quoted', text, at);
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) return { kind, text: match[1] ?? '', end: pattern.lastIndex };
  }
  return undefined;
}

/** Reads a quoted token in a loop, because the stack of a pattern overflows on a literal of some megabytes. */
function quotedToken(kind: 'string' | 'quoted', text: string, start: number) {
  const quote = text[start]!;
  let end = text.indexOf(quote, start + 1);
  while (end !== -1 && text[end + 1] === quote) end = text.indexOf(quote, end + 2);
  if (end === -1 || (kind === 'quoted' && end === start + 1)) return undefined;
  return { kind, text: text.slice(start + 1, end), end: end + 1 };
}

function tokenText(kind: Token['kind'], text: string): string {
  if (kind === 'word') return foldCase(text);
  if (kind === 'quoted') return text.replaceAll('""', '"');
  return kind === 'string' ? text.replaceAll("''", "'") : text;
}

/** Reads tokens from left to right. */
export class TokenReader {
  private readonly tokens: Token[];
  private at = 0;

  constructor(tokens: Token[]) {
    this.tokens = tokens;
  }

  get ended(): boolean {
    return this.at >= this.tokens.length;
  }

  get position(): number {
    return this.at;
  }

  set position(at: number) {
    this.at = at;
  }

  next(): Token | undefined {
    return this.tokens[this.at++];
  }

  /** Reads the next token if it is this symbol. */
  symbol(text: string): boolean {
    return this.take('symbol', text);
  }

  /** Reads the next token if it is this word without quotes. */
  word(text: string): boolean {
    return this.take('word', text);
  }

  /** Reads the next token if it is of this kind, and returns its value. */
  kind(kind: Token['kind']): string | undefined {
    const token = this.tokens[this.at];
    if (token?.kind !== kind) return undefined;
    this.at++;
    return token.text;
  }

  private take(kind: Token['kind'], text: string): boolean {
    const token = this.tokens[this.at];
    if (token?.kind !== kind || token.text !== text) return false;
    this.at++;
    return true;
  }
}

/** Reads the name of a relation as `regclass` does (PostgreSQL 8.19): `seq`, `"Seq"`, `schema.seq`. */
export function parseRelationName(text: string): { schema: string | undefined; name: string } | undefined {
  const tokens = tokenize(text) ?? [];
  const isName = (token: Token | undefined) => token?.kind === 'word' || token?.kind === 'quoted';
  const [first, dot, second] = tokens;
  if (tokens.length === 1 && isName(first)) return { schema: undefined, name: first!.text };
  if (tokens.length === 3 && isName(first) && dot!.text === '.' && dot!.kind === 'symbol' && isName(second)) {
    return { schema: first!.text, name: second!.text };
  }
  return undefined;
}

/** Folds ASCII letters to lower case, as PostgreSQL does in a UTF-8 database. */
function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
