/**
 * Creates access tokens for development, signed with the service's own secret. In production another service issues the tokens.
 */

import { join } from 'node:path';
import { SignJWT } from 'jose';
import type { Config, TokenSettings } from './config.ts';
import { readOrCreateSecret } from './postgres/embedded/secret-file.ts';
import { makeDataDir } from './postgres/embedded.ts';

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

export const allScopes = 'table:create table:load table:replace table:read';

/** Returns a token (JWT, RFC 7519; HS256) that a service with the same settings accepts. */
export async function signDevToken(settings: TokenSettings, options: DevTokenOptions): Promise<string> {
  const { scope, schemas, role, subject = 'development', ttlSeconds } = options;
  const token = new SignJWT({ scope, ...(schemas && { schemas }), ...(role && { role }) })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(subject)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1000) + ttlSeconds);
  if (settings.issuer !== undefined) token.setIssuer(settings.issuer);
  if (settings.audience !== undefined) token.setAudience(settings.audience);
  return token.sign(settings.secret);
}

/** Returns the settings of tokens. The secret is TOKEN_SECRET, or else the secret in the data folder, which is created if it does not exist. */
export async function resolveTokenSettings(config: Config): Promise<TokenSettings> {
  const { secret, issuer, audience } = config.tokens;
  if (secret !== undefined) return { secret: Buffer.from(secret), issuer, audience };
  await makeDataDir(config.dataDir);
  return { secret: Buffer.from(await readOrCreateSecret(secretPath(config))), issuer, audience };
}

export function secretPath({ dataDir }: Config): string {
  return join(dataDir, 'token-secret');
}
