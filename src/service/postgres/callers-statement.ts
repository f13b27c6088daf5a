/** The type of the statements that run in the callers' search path (search-path.ts), where anybody may have made a closer function or operator. */

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
