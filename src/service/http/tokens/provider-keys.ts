/**
 * The keys of an identity provider: a JWK set (RFC 7517 section 5), which the service fetches from the provider and keeps.
 *
 * `createRemoteJWKSet` of jose is not used: it drops its keys when a fetch fails, has no pause after a failed fetch, and reads an
 * answer of any size (docs/decisions/0031-keys-of-providers.md).
 */
import type { JsonWebKey } from 'node:crypto';
import {
  createLocalJWKSet,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  errors as joseErrors,
} from 'jose';
import { AppError } from '../../../core/errors.ts';
import { publicKeyOfJwk } from '../../../core/settings/public-key.ts';
import { isSafeKeyUrl } from '../../../core/settings/token-settings.ts';
import type { Log } from '../../../postgres/log.ts';
import { asObject, discover } from './discovery.ts';
import { fetchJson } from './fetch-json.ts';
import type { TokenKeys } from './token-keys.ts';

export interface ProviderSettings {
  /** The URL of the key set; undefined: the discovery document of the issuer has it. */
  jwksUrl: string | undefined;
  issuer: string | undefined;
}

/** When the keys are older than this, the next request starts a fetch but does not wait for it. */
const freshMs = 300_000;
/** When the keys are older than this, the next request waits for the fetch, so that a key that the provider has removed is no longer used. */
const staleMs = 600_000;
/** The shortest time from a fetch that failed or did not have a token's key to the next fetch. */
const pauseMs = 30_000;
/** The longest time for which keys are used while the provider cannot be reached. */
const maxOutageMs = 86_400_000;
const maxKeys = 100;

/** Reports that the discovery document belongs to another issuer. Retrying does not help; a person must fix the settings. */
class IssuerMismatch extends Error {}

export class ProviderKeys implements TokenKeys {
  version = 0;
  refreshAtMs = 0;
  readonly #settings: ProviderSettings;
  readonly #log: Log;
  /** The current keys; undefined: they were never fetched, or the last successful fetch is too long ago. */
  #keySet: ReturnType<typeof createLocalJWKSet> | undefined;
  /** The current keys as text, to recognize a change. */
  #text = '';
  #fetchedAtMs = 0;
  #attemptedAtMs = 0;
  #failedAtMs = 0;
  /** The error of the last fetch; undefined: it succeeded. */
  #failure: unknown;
  #running: Promise<void> | undefined;

  constructor(settings: ProviderSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** Fetches the keys for the first time. If the provider cannot be reached, later requests try again. @throws IssuerMismatch */
  async start(): Promise<void> {
    await this.#fetch();
    if (this.#failure instanceof IssuerMismatch) throw this.#failure;
  }

  async refresh(nowMs: number): Promise<void> {
    // If a fetch has just failed, older keys are used meanwhile, so that requests need not wait for the next failure.
    const isOutage = this.#failure !== undefined && nowMs < this.#failedAtMs + 2 * pauseMs;
    const maxAgeMs = isOutage ? maxOutageMs : staleMs;
    // Every request calls this function until the fetch ends. So if one request must wait, all others wait, too.
    const fetching = this.#fetch();
    if (nowMs >= this.#fetchedAtMs + maxAgeMs) await fetching;
  }

  find = async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
    try {
      return await this.#current()(header, token);
    } catch (error) {
      if (!(error instanceof joseErrors.JWKSNoMatchingKey)) throw error;
    }
    // The key of the token is not known. The provider may have added it since, so the keys are fetched again.
    if (this.#running !== undefined || Date.now() >= this.#attemptedAtMs + pauseMs) await this.#fetch();
    try {
      return await this.#current()(header, token);
    } catch (error) {
      if (error instanceof joseErrors.JWKSNoMatchingKey && this.#failure !== undefined)
        throw this.#unavailable();
      throw error;
    }
  };

  check(): void {
    if (this.#keySet !== undefined) return;
    if (Date.now() >= this.refreshAtMs) this.#fetch();
    throw this.#unavailable();
  }

  #current(): ReturnType<typeof createLocalJWKSet> {
    if (this.#keySet === undefined) throw this.#unavailable();
    return this.#keySet;
  }

  #unavailable(): AppError {
    const waitMs = this.#attemptedAtMs + pauseMs - Date.now();
    return new AppError(
      'token-keys-unavailable',
      'The service cannot fetch the keys that verify access tokens from the identity provider. Send the request again later.',
      { headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) } },
    );
  }

  /** Fetches the keys. Callers at the same time share one fetch. It never rejects. */
  #fetch(): Promise<void> {
    this.#running ??= this.#fetchOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #fetchOnce(): Promise<void> {
    this.#attemptedAtMs = Date.now();
    try {
      const url = this.#settings.jwksUrl ?? (await discoverJwksUrl(this.#settings.issuer!));
      this.#keep(await fetchJson(url));
      this.#failure = undefined;
      this.#fetchedAtMs = Date.now();
      this.refreshAtMs = this.#fetchedAtMs + freshMs;
    } catch (error) {
      this.#failure = error;
      this.#failedAtMs = Date.now();
      this.refreshAtMs = this.#failedAtMs + pauseMs;
      const isTooOld = this.#failedAtMs >= this.#fetchedAtMs + maxOutageMs;
      if (isTooOld && this.#keySet !== undefined) this.#replace(undefined, '');
      this.#log.warn(
        { err: error, provider: this.#address(), hasKeys: this.#keySet !== undefined },
        'The keys of the identity provider cannot be fetched. The service keeps the keys that it has, for at most 24 hours, and tries again',
      );
    }
  }

  /** Returns the address of the provider for the log. The query is left out, because it may contain a secret. */
  #address(): string {
    const { origin, pathname } = new URL(this.#settings.jwksUrl ?? this.#settings.issuer!);
    return origin + pathname;
  }

  #keep(document: unknown): void {
    const { keys, refused } = usableKeys(document);
    if (keys.length === 0) {
      // The provider did answer, and has no key that can be used. So it has removed the old keys, and they must not be used any more.
      if (this.#keySet !== undefined) this.#replace(undefined, '');
      throw new Error('the identity provider has no key that the service can use');
    }
    const text = JSON.stringify(keys.map((key) => JSON.stringify(key)).sort());
    if (text === this.#text) return;
    this.#replace(createLocalJWKSet({ keys } as JSONWebKeySet), text);
    this.#log.info({ keys: keys.map(({ kid }) => kid), refused }, 'The identity provider has new keys');
  }

  #replace(keySet: ReturnType<typeof createLocalJWKSet> | undefined, text: string): void {
    this.#keySet = keySet;
    this.#text = text;
    this.version += 1;
  }
}

/** Returns the URL of the key set. @throws IssuerMismatch */
async function discoverJwksUrl(issuer: string): Promise<string> {
  const { url, metadata } = await discover(issuer);
  if (metadata.issuer !== issuer) {
    throw new IssuerMismatch(
      `TOKEN_ISSUER is ${JSON.stringify(issuer)}, but ${url} is of the issuer ${JSON.stringify(metadata.issuer)}. Set TOKEN_ISSUER to exactly this text`,
    );
  }
  const { jwks_uri: jwksUrl } = metadata;
  if (typeof jwksUrl === 'string' && isSafeKeyUrl(jwksUrl)) return jwksUrl;
  throw new Error(`${url} has no "jwks_uri" that is an https URL`);
}

interface UsableKeys {
  keys: (JsonWebKey & { kid?: unknown })[];
  /** The reasons why other keys are not used. */
  refused: string[];
}

/** Returns the public keys of a JWK set that are strong enough. Other keys are ignored (RFC 7517 section 5). */
function usableKeys(document: unknown): UsableKeys {
  const { keys: all } = asObject(document);
  if (!Array.isArray(all)) throw new Error('the answer of the identity provider is not a JWK set (RFC 7517)');
  if (all.length > maxKeys) throw new Error(`the identity provider has more than ${maxKeys} keys`);
  const keys: UsableKeys['keys'] = [];
  const refused: string[] = [];
  for (const key of all.map(asObject)) {
    const read = publicKeyOfJwk(key);
    if ('problem' in read) refused.push(`${key.kid ?? 'a key'} ${read.problem}`);
    else keys.push(key);
  }
  return { keys, refused };
}
