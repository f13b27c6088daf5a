/**
 * Checks the `Authorization` header (bearer tokens, RFC 6750), and the scopes and schemas of a verified token.
 */
import { AppError } from '../../../core/errors.ts';
import type { TokenGrants } from './grants.ts';
import { invalidToken } from './invalid-token.ts';
import type { TokenVerifier, VerifiedGrants } from './token-verifier.ts';

/** The permissions of a request. */
export interface Grants extends TokenGrants {
  /** The service's own schema, which no token allows. */
  serviceSchema: string;
}

export type Scope =
  | 'table:create'
  | 'table:load'
  | 'table:replace'
  | 'table:alter'
  | 'table:drop'
  | 'table:read'
  | 'table:export'
  | 'load:from-url'
  | 'load:read-all'
  | 'load:cancel-all'
  | 'event:read'
  | 'webhook:manage'
  | 'profile:manage';

/**
 * The form of the header (RFC 6750 section 2.1). A second "Bearer" is accepted, because users who paste a whole header into a
 * field for the token, as on the reference page, send two.
 */
const authorizationForm = /^Bearer +(?:Bearer +)?([A-Za-z0-9._~+/-]+=*) *$/i;

/**
 * Verifies the `Authorization` header.
 *
 * @throws AppError `missing-token`, `invalid-token` (401, with `WWW-Authenticate` of RFC 6750 section 3), `token-keys-unavailable`
 */
export async function authenticate(
  header: string | undefined,
  tokens: TokenVerifier,
): Promise<VerifiedGrants> {
  if (header === undefined || header === '') {
    throw new AppError('missing-token', 'Send the access token as "Authorization: Bearer <token>".', {
      headers: { 'www-authenticate': 'Bearer realm="tablewright"' },
    });
  }
  const match = authorizationForm.exec(header);
  if (!match)
    throw invalidToken('The Authorization header does not have the form "Bearer <token>".', 'malformed');
  return tokens.verify(match[1]!);
}

/**
 * Refuses a request whose token does not have a scope.
 *
 * @throws AppError `insufficient-scope` (403), which names the missing scope
 */
export function requireScope(grants: TokenGrants, scope: Scope): void {
  if (grants.scopes.has(scope)) return;
  throw new AppError(
    'insufficient-scope',
    `This needs the scope ${scope}, which the access token does not have.`,
    {
      headers: {
        'www-authenticate': `Bearer realm="tablewright", error="insufficient_scope", scope="${scope}"`,
      },
    },
  );
}

/**
 * Refuses the schema of the service, and a schema that the token's claim `schemas` does not contain.
 *
 * @throws AppError `schema-forbidden` (403)
 */
export function requireSchema(grants: Grants, schema: string): void {
  if (schema === grants.serviceSchema) {
    throw new AppError('schema-forbidden', `The schema "${schema}" belongs to the service itself.`);
  }
  if (allowsSchema(grants, schema)) return;
  throw new AppError('schema-forbidden', `The access token does not allow the schema "${schema}".`);
}

/** Returns whether the token allows the schema. No token allows the schema of the service. */
export function allowsSchema({ schemas, serviceSchema }: Grants, schema: string): boolean {
  if (schema === serviceSchema) return false;
  return schemas === undefined || schemas.some((pattern) => matchesPattern(pattern, schema));
}

/**
 * Returns whether the name matches the pattern, in which `*` means any characters. Each part between two `*` is searched once,
 * from left to right.
 */
function matchesPattern(pattern: string, name: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return pattern === name;
  if (!name.startsWith(start)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - end.length >= at && name.endsWith(end);
}
