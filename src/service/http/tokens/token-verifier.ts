/** Verifies access tokens (JWT, RFC 7519) and remembers those that are valid. */
import { type JWTPayload, type JWTVerifyGetKey, errors as joseErrors, jwtVerify } from 'jose';
import { AppError } from '../../../core/errors.ts';
import type { TokenSettings } from '../../../core/settings/token-settings.ts';
import type { Log } from '../../../postgres/log.ts';
import { grantsOf, type TokenGrants } from './grants.ts';
import { invalidToken } from './invalid-token.ts';
import { ProviderKeys } from './provider-keys.ts';
import { fixedKey, type TokenKeys } from './token-keys.ts';

/** The clocks of the token's issuer and of the service may differ by at most this many seconds. */
const clockSkewSeconds = 30;
const maxKnownTokens = 1000;
const expired = 'The access token has expired.';

/** What a token allows, and how long. */
export interface VerifiedGrants extends TokenGrants {
  /** The time, in milliseconds since 1970, after which the token is refused. */
  validUntilMs: number;
}

interface KnownToken {
  grants: VerifiedGrants;
  /** The version of the keys with which the token was verified. */
  keysVersion: number;
}

/** Returns a verifier. Keys of an identity provider are fetched first. @throws Error if the provider's document is of another issuer */
export async function startTokenVerifier(settings: TokenSettings, log: Log): Promise<TokenVerifier> {
  const { source, issuer } = settings;
  if (source.kind !== 'provider') return new TokenVerifier(settings, fixedKey(source));
  const keys = new ProviderKeys({ jwksUrl: source.jwksUrl, issuer }, log);
  await keys.start();
  return new TokenVerifier(settings, keys);
}

export class TokenVerifier {
  readonly #settings: TokenSettings;
  readonly #keys: TokenKeys;
  /**
   * The valid tokens that were verified before, the newest last. They are remembered because verifying a token takes longer than
   * the rest of a small request.
   */
  readonly #known = new Map<string, KnownToken>();

  constructor(settings: TokenSettings, keys: TokenKeys) {
    this.#settings = settings;
    this.#keys = keys;
  }

  /** Checks that tokens can be verified. @throws AppError `token-keys-unavailable` */
  check(): void {
    this.#keys.check();
  }

  /** Returns what the token allows. @throws AppError `invalid-token`, `token-keys-unavailable` */
  async verify(token: string): Promise<VerifiedGrants> {
    const nowMs = Date.now();
    if (nowMs >= this.#keys.refreshAtMs) await this.#keys.refresh(nowMs);
    let known = this.#known.get(token);
    if (known === undefined || known.keysVersion !== this.#keys.version) known = await this.#admit(token);
    if (nowMs < known.grants.validUntilMs) return known.grants;
    this.#known.delete(token);
    throw invalidToken(expired, 'expired');
  }

  async #admit(token: string): Promise<KnownToken> {
    const known = this.#known;
    known.delete(token);
    // The keys may change while the token is verified. With the version from before, the token is verified again at its next use.
    const keysVersion = this.#keys.version;
    const payload = await verifyToken(token, this.#settings, this.#keys.find);
    const grants = grantsOf(payload, this.#settings.claims);
    const validUntilMs = (expiryOf(payload) + clockSkewSeconds) * 1000;
    const admitted = { grants: { ...grants, validUntilMs }, keysVersion };
    if (known.size === maxKnownTokens) known.delete(known.keys().next().value!);
    known.set(token, admitted);
    return admitted;
  }
}

/** The last second of the year 9999. A later time is a mistake, or the token is meant to be valid forever. */
const latestTime = 253_402_300_799;

function expiryOf({ exp }: JWTPayload): number {
  if (exp !== undefined && exp <= latestTime) return exp;
  throw invalidToken('The access token\'s claim "exp" is not a time before the year 10000.', 'claim');
}

async function verifyToken(
  token: string,
  settings: TokenSettings,
  find: JWTVerifyGetKey,
): Promise<JWTPayload> {
  const { algorithms, issuer, audience } = settings;
  const options = {
    algorithms,
    clockTolerance: clockSkewSeconds,
    requiredClaims: ['exp'],
    ...(issuer && { issuer }),
    ...(audience && { audience }),
  };
  try {
    const { payload, protectedHeader } = await jwtVerify(token, find, options).catch((error: unknown) => {
      if (error instanceof joseErrors.JWKSMultipleMatchingKeys) return verifyWithEach(error, token, options);
      throw error;
    });
    refuseOtherType(protectedHeader.typ);
    return payload;
  } catch (error) {
    throw error instanceof AppError ? error : refusalOf(error);
  }
}

/**
 * Refuses a token whose header says that it has another purpose (RFC 8725 section 3.11), such as `logout+jwt`. Most access tokens
 * have the type `JWT`, which does not say the purpose, or `at+jwt` (RFC 9068).
 */
function refuseOtherType(type: unknown): void {
  if (type === undefined) return;
  if (typeof type !== 'string')
    throw invalidToken('The access token\'s header "typ" is not text.', 'malformed');
  if (!/\+jwt$/i.test(type) || /(^|[/-])at\+jwt$/i.test(type)) return;
  throw invalidToken('The token is not an access token: its header "typ" names another kind of token.');
}

/** Tries every key that fits the token's header, because a token without `kid` may fit several. */
async function verifyWithEach(
  keys: joseErrors.JWKSMultipleMatchingKeys,
  token: string,
  options: object,
): ReturnType<typeof jwtVerify> {
  for await (const key of keys) {
    try {
      return await jwtVerify(token, key, options);
    } catch (error) {
      if (!(error instanceof joseErrors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new joseErrors.JWSSignatureVerificationFailed();
}

function refusalOf(error: unknown): AppError {
  if (error instanceof joseErrors.JWTExpired) return invalidToken(expired, 'expired');
  if (error instanceof joseErrors.JWTClaimValidationFailed) {
    const { claim, payload } = error;
    if (error.reason === 'invalid') {
      return invalidToken(`The access token's claim "${claim}" is not a number.`, 'claim');
    }
    if (claim === 'nbf' && payload.nbf! <= latestTime) {
      const since = new Date(payload.nbf! * 1000).toISOString();
      return invalidToken(`The access token is not valid before ${since}.`, 'not-yet-valid');
    }
    return invalidToken(
      `The access token's claim "${error.claim}" is missing or does not have the expected value.`,
      'claim',
    );
  }
  if (
    error instanceof joseErrors.JWSSignatureVerificationFailed ||
    error instanceof joseErrors.JWKSNoMatchingKey
  ) {
    return invalidToken('The access token is signed with another key.', 'signature');
  }
  if (error instanceof joseErrors.JOSEAlgNotAllowed) {
    return invalidToken('The access token is signed with another algorithm.', 'algorithm');
  }
  return invalidToken('The access token is malformed.', 'malformed');
}
