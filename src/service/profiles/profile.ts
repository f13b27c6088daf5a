/** A profile: a named set of upload parameters with a definition, which counts as if the uploader had sent it. */

/** What a version of a profile has. A version never changes. */
export interface ProfileContent {
  /** The values as in a query, by the names of the parameters. */
  parameters: Record<string, string>;
  /** The JSON text of `table`; null: none. */
  definition: string | null;
  /** The names of the columns of the file for which the profile was made; null: not known. */
  headers: string[] | null;
}

export interface Profile extends ProfileContent {
  /** Identifies the profile. A profile that is created again has another id, because its versions begin anew. */
  id: string;
  name: string;
  owner: Buffer;
  /** The subject of the token that created it, as people read it. */
  subject: string | null;
  /** The schema whose users may read and use it; null: only its owner. */
  sharedWith: string | null;
  version: number;
  /** When the version was written. */
  createdAt: Date;
}

/** The profile of a load, as its record names it. */
export interface UsedProfile {
  name: string;
  version: number;
  shared_with?: string;
}

/** Returns what the record of a load names. */
export function usedProfile({ name, version, sharedWith }: Profile): UsedProfile {
  return { name, version, ...(sharedWith !== null && { shared_with: sharedWith }) };
}

/** Returns a text that changes with each version: for `ETag`, and for the digest of an idempotency key. */
export function profileTag({ id, version }: Pick<Profile, 'id' | 'version'>): string {
  return `"${id}.${version}"`;
}
