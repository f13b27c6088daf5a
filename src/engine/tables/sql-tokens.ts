/**
 * Splits the text of types and defaults into tokens by PostgreSQL's lexical rules (PostgreSQL 4.1). The service writes SQL from the
 * tokens and never copies the text of a caller. If a text contains anything that is not such a token, the whole text is refused.
 */

export interface Token {
  /** `word`: an unquoted word in lower case, as PostgreSQL folds it. `bits`: `B'…'`. */
  kind: 'word' | 'quoted' | 'string' | 'bits' | 'number' | 'symbol';
  /** The value without quotes. A doubled quote inside is a single quote. */
  text: string;
}

/** The maximum number of tokens. Texts with more tokens are refused, to bound the time for a hostile text. Real types and calls have fewer. */
const maxTokens = 1000;

/**
 * Returns the tokens of `text`; undefined if it contains anything else (comments, operators, `E'…'`, `$$`). It reads codes instead of
 * matching patterns, because a definition of 1 MiB may have hundreds of thousands of tokens.
 */
export function tokenize(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    if (tokens.length === maxTokens) return undefined;
    at = isSpace(text.charCodeAt(at)) ? at + 1 : readToken(text, at, tokens);
    if (at < 0) return undefined;
  }
  return tokens;
}

const quote = 0x27;
const doubleQuote = 0x22;
const dollar = 0x24;
const ampersand = 0x26;
const plus = 0x2b;
const minus = 0x2d;
const point = 0x2e;
const underscore = 0x5f;

/** Adds the token that begins at `at`. @returns the position after it; -1: no token begins there */
function readToken(text: string, at: number, tokens: Token[]): number {
  const code = text.charCodeAt(at);
  if (code === quote) {
    // Two strings in a row are refused, because SQL joins them or refuses them depending on the white space between them.
    return tokens.at(-1)?.kind === 'string' ? -1 : readQuoted(text, at, 'string', tokens);
  }
  if (code === doubleQuote) return readQuoted(text, at, 'quoted', tokens);
  if (isWordStart(code)) {
    const isPrefix = text.charCodeAt(at + 1) === quote;
    return isPrefix ? readBits(text, at, tokens) : readWord(text, at, tokens);
  }
  if (isDigit(code) || code === point) {
    const end = endOfNumber(text, at);
    if (end >= 0) tokens.push({ kind: 'number', text: text.slice(at, end) });
    if (end >= 0 || code !== point) return end;
  }
  const symbol = text.startsWith('::', at) ? '::' : text[at]!;
  if (symbol !== '::' && !'()[],.-'.includes(symbol)) return -1;
  tokens.push({ kind: 'symbol', text: symbol });
  return at + symbol.length;
}

function readQuoted(text: string, start: number, kind: 'string' | 'quoted', tokens: Token[]): number {
  const sign = text[start]!;
  let end = text.indexOf(sign, start + 1);
  while (end !== -1 && text[end + 1] === sign) end = text.indexOf(sign, end + 2);
  if (end === -1 || (kind === 'quoted' && end === start + 1)) return -1;
  // A loop is used, because `replaceAll` takes twice as long for a million quotes.
  tokens.push({
    kind,
    text: text
      .slice(start + 1, end)
      .split(sign + sign)
      .join(sign),
  });
  return end + 1;
}

/** Reads `B'101'`. Other prefixes of a string, such as `E'…'` and `N'…'`, change its meaning and are refused. */
function readBits(text: string, start: number, tokens: Token[]): number {
  if (text[start] !== 'b' && text[start] !== 'B') return -1;
  const first = start + 2;
  let end = first;
  while (text[end] === '0' || text[end] === '1') end++;
  if (text.charCodeAt(end) !== quote) return -1;
  tokens.push({ kind: 'bits', text: text.slice(first, end) });
  return end + 1;
}

/** Reads a word. A word directly before a quote or `&` is refused, because it may be the prefix of a string (`U&'…'`). */
function readWord(text: string, start: number, tokens: Token[]): number {
  let end = start + 1;
  while (isWordPart(text.charCodeAt(end))) end++;
  const next = text.charCodeAt(end);
  if (next === quote || next === doubleQuote || next === ampersand) return -1;
  tokens.push({ kind: 'word', text: foldCase(text.slice(start, end)) });
  return end;
}

/** Returns the position after the number; -1: it is not a number, or a letter, a digit or a point follows it. */
function endOfNumber(text: string, start: number): number {
  let end = endOfDigits(text, start);
  if (text.charCodeAt(end) === point) {
    const fraction = end + 1;
    end = endOfDigits(text, fraction);
    if (end === fraction && fraction === start + 1) return -1;
  }
  end = endOfExponent(text, end);
  const next = text.charCodeAt(end);
  return isWordPart(next) || next === point ? -1 : end;
}

/** Returns the position after the exponent (`e-3`); if there is none, `start`. */
function endOfExponent(text: string, start: number): number {
  // The letter e or E.
  if ((text.charCodeAt(start) | 0x20) !== 0x65) return start;
  const sign = text.charCodeAt(start + 1);
  const digits = sign === plus || sign === minus ? start + 2 : start + 1;
  const end = endOfDigits(text, digits);
  return end === digits ? start : end;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end++;
  return end;
}

/** Returns whether a character is white space: tab, line feed, vertical tab, form feed, carriage return or space. */
function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isWordStart(code: number): boolean {
  const lower = code | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || code === underscore || code >= 0x80;
}

function isWordPart(code: number): boolean {
  return isWordStart(code) || isDigit(code) || code === dollar;
}

/** Reads tokens from left to right. */
export class TokenReader {
  readonly #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  get ended(): boolean {
    return this.#at >= this.#tokens.length;
  }

  get position(): number {
    return this.#at;
  }

  set position(at: number) {
    this.#at = at;
  }

  next(): Token | undefined {
    return this.#tokens[this.#at++];
  }

  /** Reads the next token if it is this symbol. */
  symbol(text: string): boolean {
    return this.#take('symbol', text);
  }

  /** Reads the next token if it is this word without quotes. */
  word(text: string): boolean {
    return this.#take('word', text);
  }

  /** Reads the next token if it is of this kind, and returns its value. */
  kind(kind: Token['kind']): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind) return undefined;
    this.#at++;
    return token.text;
  }

  #take(kind: Token['kind'], text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind || token.text !== text) return false;
    this.#at++;
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
