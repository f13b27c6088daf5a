/** The type of the statements that run in the callers' search path (search-path.ts), where anybody may have made a closer function or operator. */

import type { ServiceSchema } from './service-schema.ts';
import { bytesLiteral, type Statement } from './sql.ts';

/** Exists only in types, so that no other text is a `CallersStatement`. */
declare const isQualified: unique symbol;

/**
 * A statement without values that means the same in every search path, so it may run in the callers' path. Only `qualified` makes one. All
 * other statements of the service are a `string` or a `Statement`. They run in the service's own path and qualify nothing but the objects of callers.
 */
export type CallersStatement = string & { readonly [isQualified]: true };

/**
 * Makes a `CallersStatement` from a template. The template and the parts put into it must qualify every function, operator and type:
 * `pg_catalog.count(*)`, `OPERATOR(pg_catalog.=)`. test/security/hostile-functions.test.ts checks the statements that were sent.
 */
export function qualified(texts: TemplateStringsArray, ...parts: (string | number)[]): CallersStatement {
  return String.raw({ raw: texts }, ...parts) as CallersStatement;
}

/**
 * A statement of the service itself for a transaction in which code of other people may have run. It means the same in every search path, and
 * with literals it contains only ASCII characters.
 */
export interface OwnStatement {
  schema: ServiceSchema;
  /** The statement may be prepared under this name where no code of other people has run, because that code could have replaced it. */
  preparedName: string;
  values: (Buffer | null)[];
  /** Returns the statement with these expressions for its values. */
  write(...values: string[]): CallersStatement;
}

/** Returns the statement with its values as literals. */
export function withLiterals(own: OwnStatement): CallersStatement {
  return own.write(...own.values.map((value) => (value === null ? 'NULL' : bytesLiteral(value))));
}

/** Returns the statement to be prepared, for a transaction in which no code of other people has run. */
export function toPrepared({ schema, preparedName, values, write }: OwnStatement): Statement {
  const texts = preparedTexts.get(schema) ?? new Map<string, CallersStatement>();
  preparedTexts.set(schema, texts);
  const text =
    texts.get(preparedName) ?? write(...values.map((_, index) => `$${index + 1}::pg_catalog.bytea`));
  texts.set(preparedName, text);
  return { preparedName, text, values };
}

/** The texts of the statements, by their names. They are long, and each of them is sent once per connection. */
const preparedTexts = new WeakMap<ServiceSchema, Map<string, CallersStatement>>();
