/**
 * Functions that quote identifiers and literals for SQL in which a value cannot be bound, such as DDL.
 */
import { randomBytes } from 'node:crypto';

export interface Statement {
  text: string;
  values?: unknown[];
  /**
   * The statement may be prepared under this name, once per connection, because planning it takes longer than running it
   * (own-session.ts). Each name must belong to one text only.
   */
  preparedName?: string;
}

/** Quotes an identifier, even if it needs no quotes (PostgreSQL 4.1.1). PostgreSQL refuses a name that contains NUL. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Returns a name for an object that exists in one transaction only. The name is random, because a user's function may have left an
 * object with a fixed name in the session.
 */
export function randomName(purpose: string): string {
  return `tablewright ${purpose} ${randomBytes(12).toString('hex')}`;
}

/** Returns a quoted name such as `"schema"."name"`. */
export function quoteQualified(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
}

/**
 * Quotes a string constant (PostgreSQL 4.1.2.1). A text with a backslash becomes an escape string (`E'…'`), so the result does not
 * depend on `standard_conforming_strings`.
 */
export function quoteLiteral(text: string): string {
  if (!text.includes("'") && !text.includes('\\')) return `'${text}'`;
  // The text is quoted byte by byte, because `replaceAll` takes 60 ms for a million quotes. Half a surrogate pair becomes U+FFFD, as in every statement that is sent.
  const bytes = Buffer.from(text);
  const out = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    out[length++] = byte;
    if (byte === quote || byte === backslash) out[length++] = byte;
  }
  const quoted = `'${out.toString('utf8', 0, length)}'`;
  return text.includes('\\') ? `E${quoted}` : quoted;
}

const quote = 0x27;
const backslash = 0x5c;

/**
 * Returns an expression that has the text as its value and consists of ASCII characters only. Its value does not depend on
 * `client_encoding` and `standard_conforming_strings`, so it is safe after code of other users ran in the transaction.
 */
export function asciiLiteral(text: string): string {
  return `pg_catalog.convert_from(${bytesLiteral(Buffer.from(text))}, 'UTF8')`;
}

/** Returns an expression that has the bytes as its value of the type `bytea` and consists of ASCII characters only. */
export function bytesLiteral(bytes: Buffer): string {
  return `pg_catalog.decode('${bytes.toString('hex')}', 'hex')`;
}
