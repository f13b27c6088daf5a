/** The keys that verify access tokens, whatever their source is. */
import type { JWTVerifyGetKey } from 'jose';
import type { KeySource } from '../../../core/settings/token-settings.ts';

export interface TokenKeys {
  /** Changes whenever the keys change. A token that was verified with an earlier version must be verified again. */
  readonly version: number;
  /** The time, in milliseconds since 1970, from which `refresh` must be called before the keys are used. */
  readonly refreshAtMs: number;
  /** Fetches the keys again. It resolves at once if the present keys may be used meanwhile, otherwise after the fetch. It never rejects: if there are no keys then, `find` throws. */
  refresh(nowMs: number): Promise<void>;
  /** Finds the key for the header of a token. @throws AppError `token-keys-unavailable`; an error of jose if there is no such key */
  find: JWTVerifyGetKey;
  /** Checks that there are keys. @throws AppError `token-keys-unavailable` */
  check(): void;
}

/** Returns the key that a setting contains. It never changes. */
export function fixedKey(source: Exclude<KeySource, { kind: 'provider' }>): TokenKeys {
  const key = source.kind === 'secret' ? source.secret : source.key;
  return {
    version: 0,
    refreshAtMs: Number.POSITIVE_INFINITY,
    refresh: async () => {},
    find: async () => key,
    check: () => {},
  };
}
