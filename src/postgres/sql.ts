/**
 * The two functions through which text becomes SQL where a value cannot be bound: identifiers and literals in DDL.
 */
import { randomBytes } from 'node:crypto';

export interface Statement {
  text: string;
  values?: unknown[];
  /**
   * The statement may be prepared under this name, once per connection, because planning it takes longer than running it
   * (own-session.ts). A name stands for one text.
   */
  preparedName?: string;
}

/** Quotes an identifier, always (PostgreSQL 4.1.1). The name must not hold NUL; PostgreSQL refuses it. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A name for an object that exists in one transaction only. A function of somebody else may have left an object with a name that is
 * always the same in the session.
 */
export function randomName(purpose: string): string {
  return `tablewright ${purpose} ${randomBytes(12).toString('hex')}`;
}

/** `"schema"."name"` */
export function quoteQualified(schema: string, name: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
}

/**
 * Quotes a string constant (PostgreSQL 4.1.2.1). A backslash makes it an escape string (`E'…'`), so that the
 * result means the same whatever `standard_conforming_strings` says.
 */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
  return text.includes('\\') ? `E${quoted}` : quoted;
}
