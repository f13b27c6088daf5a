/**
 * Creates access tokens for development, signed with the service's own secret. In production another service issues the tokens.
 */

import { join } from 'node:path';
import { SignJWT } from 'jose';
import type { Config } from '../../core/settings/config.ts';
import {
  type ClaimSettings,
  type TokenSettings,
  toTokenSettings,
} from '../../core/settings/token-settings.ts';
import { readOrCreateSecret } from '../../postgres/embedded/secret-file.ts';
import { makeDataDir } from '../../postgres/embedded.ts';
import { stepsOf } from '../http/tokens/grants.ts';

export interface DevTokenOptions {
  /** The scopes, separated by spaces. */
  scope: string;
  /** Names of schemas, which may contain `*`; undefined: all schemas. */
  schemas?: string[] | undefined;
  role?: string | undefined;
  /** The `sub` of the token. Default: `development`. */
  subject?: string | undefined;
  ttlSeconds: number;
}

export const allScopes =
  'table:create table:load table:replace table:alter table:drop table:read table:export load:from-url load:read-all load:cancel-all event:read webhook:manage profile:manage';

/** The settings with which tokens are signed. */
export interface SigningSettings {
  secret: Buffer;
  /** Default: HS256. */
  algorithm?: string;
  issuer: string | undefined;
  audience: string | undefined;
  /** The names of the claims that the service reads. Default: `scope`, `schemas` and `role`. */
  claims?: Pick<ClaimSettings, 'scope' | 'schemas' | 'role'>;
}

/** Returns the settings for signing; undefined: the service has no secret, because it verifies tokens with public keys. */
export function signingSettings(settings: TokenSettings): SigningSettings | undefined {
  const { source, algorithms, issuer, audience, claims } = settings;
  if (source.kind !== 'secret') return undefined;
  return { secret: source.secret, algorithm: algorithms[0]!, issuer, audience, claims };
}

/** Returns a token (JWT, RFC 7519) that a service with the same settings accepts. */
export async function signDevToken(settings: SigningSettings, options: DevTokenOptions): Promise<string> {
  const { algorithm = 'HS256', claims = usualClaims } = settings;
  const { scope, schemas, role, subject = 'development', ttlSeconds } = options;
  const payload: Claims = {};
  setClaim(payload, claims.scope[0]!, scope);
  if (schemas !== undefined) setClaim(payload, claims.schemas, schemas);
  if (role !== undefined) setClaim(payload, claims.role, role);
  const token = new SignJWT(payload)
    .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
    .setSubject(subject)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1000) + ttlSeconds);
  if (settings.issuer !== undefined) token.setIssuer(settings.issuer);
  if (settings.audience !== undefined) token.setAudience(settings.audience);
  return token.sign(settings.secret);
}

const usualClaims = { scope: ['scope'], schemas: 'schemas', role: 'role' };

interface Claims {
  [name: string]: Claims | string | string[];
}

/** Sets the claim at the place where the service reads it. */
function setClaim(payload: Claims, claim: string, value: string | string[]): void {
  const steps = stepsOf(claim);
  let object = payload;
  for (const step of steps.slice(0, -1)) {
    object[step] ??= {};
    object = object[step] as Claims;
  }
  object[steps.at(-1)!] = value;
}

/** Returns the settings of tokens. If no setting contains a key, it is the secret in the data folder, which is created if it does not exist. */
export function resolveTokenSettings(config: Config): Promise<TokenSettings> {
  return toTokenSettings(config.tokens, async () => {
    await makeDataDir(config.dataDir);
    return readOrCreateSecret(secretPath(config));
  });
}

export function secretPath({ dataDir }: Config): string {
  return join(dataDir, 'token-secret');
}
