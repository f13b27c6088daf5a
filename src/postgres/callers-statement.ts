/** The type of the statements that run in the callers' search path (search-path.ts). There, anybody may have created a function or an operator that PostgreSQL prefers to its own. */

import type { ServiceSchema } from './service-schema.ts';
import { bytesLiteral, type Statement } from './sql.ts';

/** A symbol that only this file knows, so that no other text has the type `CallersStatement`. */
declare const isQualified: unique symbol;

/**
 * A statement without values that means the same in every search path, so it may run in the callers' path. Only `qualified` makes one. All other
 * statements of the service are of the type `string` or `Statement`. They run in the service's own path and qualify only the objects of callers.
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
 * A statement of the service itself for a transaction in which code of other users may have run. It means the same in every search
 * path. If its values are written as literals, it contains only ASCII characters, because that code may have changed `client_encoding`.
 */
export interface OwnStatement {
  schema: ServiceSchema;
  /** The name under which the statement may be prepared. It must not be used where code of other users has run, because that code could have prepared another statement with this name. */
  preparedName: string;
  values: (Buffer | null)[];
  /** Returns the statement with these expressions for its values. */
  write(...values: string[]): CallersStatement;
}

/** Returns the statement with its values as literals. */
export function withLiterals(own: OwnStatement): CallersStatement {
  return own.write(...own.values.map((value) => (value === null ? 'NULL' : bytesLiteral(value))));
}

/** Returns the statement in the form to be prepared, for a transaction in which no code of other users has run. */
export function toPrepared({ schema, preparedName, values, write }: OwnStatement): Statement {
  const texts = preparedTexts.get(schema) ?? new Map<string, CallersStatement>();
  preparedTexts.set(schema, texts);
  const text =
    texts.get(preparedName) ?? write(...values.map((_, index) => `$${index + 1}::pg_catalog.bytea`));
  texts.set(preparedName, text);
  return { preparedName, text, values };
}

/** The texts of the statements by schema and name. They are stored because they are long and always the same. */
const preparedTexts = new WeakMap<ServiceSchema, Map<string, CallersStatement>>();
