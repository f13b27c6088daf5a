/** The statements about profiles. A profile has one row, and one row for each of its newest versions. */
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import type { Profile, ProfileContent } from './profile.ts';

/** How many versions of a profile are kept. */
export const keptVersions = 20;

/** Whose profiles a request may see. */
export interface ProfileReader {
  owner: Buffer;
  /** Patterns of LIKE for the schemas that the token may use; undefined: all. */
  schemas: string[] | undefined;
}

/** The address of one profile: that of the owner, or that of a schema. */
export interface ProfileAddress {
  name: string;
  owner: Buffer;
  /** undefined: the owner's own. */
  sharedWith: string | undefined;
}

const view = `p.id, p.name, p.owner, p.subject, p.shared_with AS "sharedWith", v.version, v.parameters, v.headers,
  v.created_at AS "createdAt"`;

const isVisible = `(CASE WHEN p.shared_with IS NULL THEN p.owner = $1
  ELSE $2::text[] IS NULL OR p.shared_with LIKE ANY ($2::text[]) END)`;

/** Serializes the changes of profiles, so that two editors see each other's versions, and each change counts the profiles before it. */
export function lockProfiles({ quoted }: ServiceSchema): Statement {
  return {
    text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
    values: [`tablewright profiles in ${quoted}`],
  };
}

export interface FoundProfile extends Profile {
  /** Some of the schemas with which profiles of this name are shared, among those that the caller may see. */
  schemas: string[] | null;
}

/** Which of the visible profiles of a name is read. */
export interface ProfileChoice {
  name: string;
  /** Only the profile that is shared with this schema. */
  sharedWith?: string | undefined;
  /** Of several shared profiles, the one of this schema comes first. */
  preferred?: string | undefined;
  /** undefined: the newest version. */
  version?: number | undefined;
}

/** Reads a profile as a `FoundProfile`: the caller's own one if there is one, and otherwise one that is shared. */
export function readProfile(
  { quoted }: ServiceSchema,
  { owner, schemas }: ProfileReader,
  { name, sharedWith, preferred, version }: ProfileChoice,
): Statement {
  return {
    text: `WITH visible AS MATERIALIZED (SELECT * FROM ${quoted}.profiles p
        WHERE p.name = $3 AND ${isVisible} AND ($4::text IS NULL OR p.shared_with = $4)),
      chosen AS (SELECT * FROM visible
        ORDER BY shared_with IS NOT NULL, shared_with IS DISTINCT FROM $5, shared_with LIMIT 1)
      SELECT ${view}, v.definition, (SELECT array_agg(shared_with) FROM (
        SELECT shared_with FROM visible WHERE shared_with IS NOT NULL ORDER BY 1 LIMIT 10) shown) AS schemas
      FROM chosen p JOIN ${quoted}.profile_versions v ON v.profile = p.id AND v.version = coalesce($6, p.version)`,
    values: [owner, schemas ?? null, name, sharedWith ?? null, preferred ?? null, version ?? null],
  };
}

/** Reads the profile at an address, whoever has written it. */
export function readProfileAt(
  { quoted }: ServiceSchema,
  { name, owner, sharedWith }: ProfileAddress,
): Statement {
  return {
    text: `SELECT ${view}, v.definition FROM ${quoted}.profiles p
      JOIN ${quoted}.profile_versions v ON v.profile = p.id AND v.version = p.version
      WHERE p.name = $1 AND p.shared_with IS NOT DISTINCT FROM $2 AND ($2 IS NOT NULL OR p.owner = $3)`,
    values: [name, sharedWith ?? null, owner],
  };
}

/** A profile in a list. */
export interface ListedProfile extends Omit<Profile, 'definition'> {
  hasDefinition: boolean;
}

/** A place in the list. Profiles of one name are ordered by their ids. */
export interface ProfilePlace {
  name: string;
  id: string;
}

/** Reads a page of the visible profiles, ordered by name. @param after the place of the last profile of the page before */
export function listProfiles(
  { quoted }: ServiceSchema,
  { owner, schemas }: ProfileReader,
  { name, after, limit }: { name: string | undefined; after: ProfilePlace | undefined; limit: number },
): Statement {
  return {
    text: `SELECT ${view}, v.definition IS NOT NULL AS "hasDefinition" FROM ${quoted}.profiles p
      JOIN ${quoted}.profile_versions v ON v.profile = p.id AND v.version = p.version
      WHERE ${isVisible} AND ($3::text IS NULL OR p.name = $3)
        AND ($4::uuid IS NULL OR (p.name, p.id) > ($5::text, $4::uuid))
      ORDER BY p.name, p.id LIMIT $6`,
    values: [owner, schemas ?? null, name ?? null, after?.id ?? null, after?.name ?? null, limit],
  };
}

/** Reads how many profiles a caller has, and the bytes of all their versions: rows with `count` and `bytes`. */
export function readProfileSizes({ quoted }: ServiceSchema, owner: Buffer): Statement {
  return {
    text: `SELECT count(DISTINCT p.id)::int4 AS count, coalesce(sum(v.bytes), 0)::float8 AS bytes
      FROM ${quoted}.profiles p JOIN ${quoted}.profile_versions v ON v.profile = p.id WHERE p.owner = $1`,
    values: [owner],
  };
}

/** Returns a row if the schema exists. */
export function readSchema(schema: string): Statement {
  return { text: 'SELECT oid FROM pg_namespace WHERE nspname = $1', values: [schema] };
}

export interface WrittenVersion extends ProfileContent {
  id: string;
  version: number;
  bytes: number;
}

/** Returns the statements that write a profile with its first version. */
export function insertProfile(
  schema: ServiceSchema,
  { name, owner, sharedWith }: ProfileAddress,
  subject: string | undefined,
  written: WrittenVersion,
): Statement[] {
  return [
    {
      text: `INSERT INTO ${schema.quoted}.profiles (id, name, owner, subject, shared_with, version)
        VALUES ($1, $2, $3, $4, $5, $6)`,
      // PostgreSQL stores neither NUL nor half of a surrogate pair.
      values: [
        written.id,
        name,
        owner,
        subject?.replaceAll('\0', '').toWellFormed() ?? null,
        sharedWith ?? null,
        written.version,
      ],
    },
    insertVersion(schema, written),
  ];
}

/** Returns the statements that write another version of a profile, and remove versions that are too old. */
export function updateProfile(schema: ServiceSchema, written: WrittenVersion): Statement[] {
  const { id, version } = written;
  return [
    { text: `UPDATE ${schema.quoted}.profiles SET version = $2 WHERE id = $1`, values: [id, version] },
    insertVersion(schema, written),
    {
      text: `DELETE FROM ${schema.quoted}.profile_versions WHERE profile = $1 AND version <= $2`,
      values: [id, version - keptVersions],
    },
  ];
}

function insertVersion({ quoted }: ServiceSchema, written: WrittenVersion): Statement {
  const { id, version, parameters, definition, headers, bytes } = written;
  return {
    text: `INSERT INTO ${quoted}.profile_versions (profile, version, parameters, definition, headers, bytes)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    values: [id, version, JSON.stringify(parameters), definition, headers && JSON.stringify(headers), bytes],
  };
}

export function deleteProfile({ quoted }: ServiceSchema, id: string): Statement {
  return { text: `DELETE FROM ${quoted}.profiles WHERE id = $1`, values: [id] };
}
