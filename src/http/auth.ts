/**
 * Verifies bearer tokens (RFC 6750) and reads what they allow.
 */
import { type JWTPayload, errors as joseErrors, jwtVerify } from 'jose';
import type { TokenSettings } from '../config.ts';
import { AppError } from '../errors.ts';
import { identifierProblem } from '../tables/identifiers.ts';

/** What a verified token says. */
export interface TokenGrants {
  /** The claim `sub` of the token for the log, shortened; undefined: there is none. */
  subject: string | undefined;
  scopes: ReadonlySet<string>;
  /** Patterns of schema names with `*`; undefined: every schema. */
  schemas: string[] | undefined;
  /** The PostgreSQL role to run under; undefined: the service's own. */
  role: string | undefined;
}

/** The permissions of a request. */
export interface Grants extends TokenGrants {
  /** The schema of the service, which no token allows. */
  serviceSchema: string;
}

export type Scope = 'table:create' | 'table:load' | 'table:replace' | 'table:read';

const expired = 'The access token has expired.';

const maxShownSubject = 200;

/** The most that the clocks of the token's issuer and of the service may differ. */
const clockSkewSeconds = 30;

/**
 * The form of the header (RFC 6750 section 2.1). A second "Bearer" is accepted, because users who paste a whole header into a
 * field for the token, as on the reference page, send two.
 */
const authorizationForm = /^Bearer +(?:Bearer +)?([A-Za-z0-9._~+/-]+=*) *$/i;

/**
 * Verifies the `Authorization` header.
 *
 * @throws AppError `missing-token`, `invalid-token` (401, with `WWW-Authenticate` of RFC 6750 section 3)
 */
export async function authenticate(
  header: string | undefined,
  settings: TokenSettings,
): Promise<TokenGrants> {
  if (header === undefined || header === '') {
    throw new AppError('missing-token', 'Send the access token as "Authorization: Bearer <token>".', {
      headers: { 'www-authenticate': 'Bearer realm="tablewright"' },
    });
  }
  const match = authorizationForm.exec(header);
  if (!match) throw invalidToken('The Authorization header does not have the form "Bearer <token>".');
  const token = match[1]!;
  const known = knownTokens(settings);
  const { grants, expiresAt } = known.get(token) ?? (await admit(token, settings, known));
  if (Date.now() / 1000 < expiresAt + clockSkewSeconds) return grants;
  known.delete(token);
  throw invalidToken(expired);
}

interface KnownToken {
  grants: TokenGrants;
  /** The time in seconds since 1970. */
  expiresAt: number;
}

/**
 * The valid tokens that were verified before, the newest last. They are kept because verifying a token takes longer than the
 * rest of a small request.
 */
const knownBySettings = new WeakMap<TokenSettings, Map<string, KnownToken>>();
const maxKnownTokens = 1000;

function knownTokens(settings: TokenSettings): Map<string, KnownToken> {
  const known = knownBySettings.get(settings) ?? new Map<string, KnownToken>();
  knownBySettings.set(settings, known);
  return known;
}

async function admit(
  token: string,
  settings: TokenSettings,
  known: Map<string, KnownToken>,
): Promise<KnownToken> {
  const payload = await verify(token, settings);
  const admitted = { grants: grantsOf(payload), expiresAt: expiryOf(payload) };
  if (known.size === maxKnownTokens) known.delete(known.keys().next().value!);
  known.set(token, admitted);
  return admitted;
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

/** The last second of the year 9999. A later time is a mistake, or the token is meant to be valid forever. */
const latestTime = 253_402_300_799;

function expiryOf({ exp }: JWTPayload): number {
  if (exp !== undefined && exp <= latestTime) return exp;
  throw invalidToken('The access token\'s claim "exp" is not a time before the year 10000.');
}

async function verify(token: string, settings: TokenSettings): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, settings.secret, {
      algorithms: ['HS256'],
      clockTolerance: clockSkewSeconds,
      requiredClaims: ['exp'],
      ...(settings.issuer && { issuer: settings.issuer }),
      ...(settings.audience && { audience: settings.audience }),
    });
    return payload;
  } catch (error) {
    throw invalidToken(reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof joseErrors.JWTExpired) return expired;
  if (error instanceof joseErrors.JWTClaimValidationFailed) {
    const { claim, payload } = error;
    if (error.reason === 'invalid') return `The access token's claim "${claim}" is not a number.`;
    if (claim === 'nbf' && payload.nbf! <= latestTime) {
      return `The access token is not valid before ${new Date(payload.nbf! * 1000).toISOString()}.`;
    }
    return `The access token's claim "${error.claim}" is missing or does not have the expected value.`;
  }
  if (error instanceof joseErrors.JWSSignatureVerificationFailed) {
    return 'The access token is signed with another key.';
  }
  if (error instanceof joseErrors.JOSEAlgNotAllowed)
    return 'The access token is signed with another algorithm.';
  return 'The access token is malformed.';
}

export function invalidToken(detail: string): AppError {
  return new AppError('invalid-token', detail, {
    headers: {
      'www-authenticate': `Bearer realm="tablewright", error="invalid_token", error_description="${detail.replaceAll('"', "'")}"`,
    },
  });
}

function grantsOf(payload: JWTPayload): TokenGrants {
  const { sub, scope, scp, schemas, role } = payload;
  return {
    subject: typeof sub === 'string' ? sub.slice(0, maxShownSubject) : undefined,
    scopes: new Set(wordsOf(scope ?? scp, 'scope')),
    schemas: schemas === undefined ? undefined : wordsOf(schemas, 'schemas'),
    role: role === undefined ? undefined : roleOf(role),
  };
}

/** Returns the words of a claim, which is a list, or a text whose words are separated by spaces or commas. */
function wordsOf(claim: unknown, name: string): string[] {
  if (claim === undefined) return [];
  if (Array.isArray(claim)) return claim.map((word) => textOf(word, name));
  if (claim === '') return [];
  return textOf(claim, name)
    .split(/[ ,]+/)
    .filter((word) => word !== '');
}

/**
 * Returns the role of the token. PostgreSQL would cut a name that is too long, perhaps to the name of another role. In `SET ROLE` the
 * name `none`, even in quotes, means the service's own role.
 */
function roleOf(claim: unknown): string {
  const role = textOf(claim, 'role');
  if (role === 'none') throw invalidToken('The access token\'s claim "role" names no role.');
  const problem = identifierProblem(role);
  if (problem !== undefined) throw invalidToken(`The access token's claim "role" ${problem}.`);
  return role;
}

function textOf(claim: unknown, name: string): string {
  if (typeof claim === 'string' && claim !== '') return claim;
  throw invalidToken(`The access token's claim "${name}" is not text.`);
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
