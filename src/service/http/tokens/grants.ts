/** Reads from a verified token what it allows. The settings name the claims. */
import { createHash } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { identifierProblem } from '../../../core/identifiers.ts';
import { isArrayIndex, parsePointer } from '../../../core/json-pointer.ts';
import type { ClaimSettings } from '../../../core/settings/token-settings.ts';
import { invalidToken } from './invalid-token.ts';

/** The permissions of a verified token. */
export interface TokenGrants {
  /** The claim `sub` of the token for the log, shortened; undefined: there is none. */
  subject: string | undefined;
  /** Identifies the caller by the issuer and subject of the token. Without a subject, each token counts as a separate caller. */
  owner: Buffer;
  scopes: ReadonlySet<string>;
  /** Patterns of schema names with `*`; undefined: every schema. */
  schemas: string[] | undefined;
  /** The PostgreSQL role to run under; undefined: the service's own. */
  role: string | undefined;
}

const maxShownSubject = 200;

/** Returns what a verified token allows. @throws AppError `invalid-token` if a claim is not text or a list of texts */
export function grantsOf(payload: JWTPayload, settings: ClaimSettings): TokenGrants {
  const { sub } = payload;
  // A claim of another type is refused. If it were ignored, the caller would get the rights and limits of a token without a subject.
  for (const name of ['iss', 'sub'] as const) {
    if (payload[name] !== undefined && typeof payload[name] !== 'string')
      throw invalidToken(`The access token's claim "${name}" is not text.`);
  }
  const scopeClaim = settings.scope.find((claim) => claimAt(payload, claim) !== undefined);
  const schemas = claimAt(payload, settings.schemas);
  const isUnlimited = schemas === undefined && !settings.schemasRequired;
  return {
    subject: sub?.slice(0, maxShownSubject),
    owner: ownerOf(payload),
    scopes: new Set(scopeClaim === undefined ? [] : wordsOf(claimAt(payload, scopeClaim), scopeClaim)),
    // Patterns with NUL are left out, because no schema can match them and PostgreSQL cannot store them.
    schemas: isUnlimited
      ? undefined
      : wordsOf(schemas, settings.schemas).filter((pattern) => !pattern.includes('\0')),
    role: roleOf(claimAt(payload, settings.role), settings.role) ?? settings.defaultRole,
  };
}

function ownerOf(payload: JWTPayload): Buffer {
  const { iss, sub } = payload;
  const identity = sub ? { iss, sub } : payload;
  return createHash('sha256').update(JSON.stringify(identity)).digest();
}

/**
 * Returns the value of a claim; undefined: the token does not have it.
 *
 * @param claim the name of a claim, or a JSON Pointer (RFC 6901), which begins with `/`
 */
function claimAt(payload: JWTPayload, claim: string): unknown {
  let value: unknown = payload;
  for (const step of stepsOf(claim)) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !isArrayIndex(step)) return undefined;
    // Only own members count, because members of Object.prototype, such as `constructor`, are not claims.
    if (!Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** Returns the names on the way to a claim. The settings were checked at the start, so the pointer is valid. */
export function stepsOf(claim: string): string[] {
  return claim.startsWith('/') ? parsePointer(claim)! : [claim];
}

/** Returns the words of a claim, which is a list, or a text whose words are separated by spaces or commas. */
function wordsOf(claim: unknown, name: string): string[] {
  if (claim === undefined || claim === '') return [];
  if (Array.isArray(claim)) return claim.map((word) => textOf(word, name));
  return textOf(claim, name)
    .split(/[ ,]+/)
    .filter((word) => word !== '');
}

/**
 * Returns the role of the token; undefined: it has none. A list with one value is accepted, because many identity providers send
 * that. A name that is too long is refused, because PostgreSQL would cut it, perhaps to the name of another role. `none` is
 * refused, because in `SET ROLE` it means the service's own role, even in quotes.
 */
function roleOf(claim: unknown, name: string): string | undefined {
  const roles = Array.isArray(claim) ? claim : [claim];
  if (roles.length > 1) throw invalidToken(`The access token's claim "${name}" names more than one role.`);
  if (roles[0] === undefined) return undefined;
  const role = textOf(roles[0], name);
  if (role === 'none') throw invalidToken(`The access token's claim "${name}" names no role.`);
  const problem = identifierProblem(role);
  if (problem !== undefined) throw invalidToken(`The access token's claim "${name}" ${problem}.`);
  return role;
}

function textOf(claim: unknown, name: string): string {
  if (typeof claim === 'string' && claim !== '') return claim;
  throw invalidToken(`The access token's claim "${name}" is not text.`);
}
