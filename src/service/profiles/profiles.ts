/**
 * Profiles in the service's own schema. Nothing of them is kept in memory, so all replicas read the same. A profile belongs to its
 * owner; one that is shared with a schema can be read and used by every token that may use the schema.
 */
import { randomUUID } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { AppError, wrongParameter } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import { inTransaction, readRows, type TransactionOptions } from '../../postgres/transaction.ts';
import { type Profile, type ProfileContent, profileTag } from './profile.ts';
import {
  deleteProfile,
  type FoundProfile,
  insertProfile,
  type ListedProfile,
  listProfiles,
  lockProfiles,
  type ProfileAddress,
  type ProfileChoice,
  type ProfilePlace,
  type ProfileReader,
  readProfile,
  readProfileAt,
  readProfileSizes,
  readSchema,
  updateProfile,
} from './profile-statements.ts';

export const maxProfilesPerOwner = 1000;
/** The most bytes of all versions of the profiles of an owner. */
const maxProfileBytesPerOwner = 64 * 1024 * 1024;

/** Checks the tag of the profile that a change would replace; undefined: there is none. */
export type RequireTag = (tag: string | undefined) => void;

/** How a change of a profile runs. */
export type ChangeOptions = Pick<TransactionOptions, 'signal' | 'statementTimeoutMs' | 'lockTimeoutMs'>;

export class Profiles {
  readonly #schema: ServiceSchema;
  readonly #pool: Pool;

  constructor(schema: ServiceSchema, pool: Pool) {
    this.#schema = schema;
    this.#pool = pool;
  }

  /**
   * Writes a profile, as a new version if its content is another one.
   *
   * @throws AppError `profile-not-owned`, `schema-not-found`, `limit-exceeded`; what `requireTag` throws
   */
  async save(
    address: ProfileAddress,
    content: ProfileContent,
    subject: string | undefined,
    requireTag: RequireTag,
    options: ChangeOptions,
  ): Promise<{ profile: Profile; outcome: 'created' | 'changed' | 'unchanged' }> {
    return this.#change(address, requireTag, options, async (client, current) => {
      if (current !== undefined && hasContent(current, content))
        return { profile: current, outcome: 'unchanged' };
      const bytes = bytesOf(content);
      await this.#requireRoom(client, address, current === undefined, bytes);
      const version = (current?.version ?? 0) + 1;
      const written = { ...content, id: current?.id ?? randomUUID(), version, bytes };
      const statements = current
        ? updateProfile(this.#schema, written)
        : insertProfile(this.#schema, address, subject, written);
      for (const statement of statements) await run(client, statement);
      const [profile] = await run<Profile>(client, readProfileAt(this.#schema, address));
      return { profile: profile!, outcome: current ? 'changed' : 'created' };
    });
  }

  /** Removes a profile with all its versions. @throws AppError `profile-not-found`, `profile-not-owned`; what `requireTag` throws */
  async remove(address: ProfileAddress, requireTag: RequireTag, options: ChangeOptions): Promise<void> {
    await this.#change(address, requireTag, options, async (client, current) => {
      if (current === undefined) throw profileNotFound(address.name);
      await run(client, deleteProfile(this.#schema, current.id));
    });
  }

  /**
   * Reads a profile that the caller may see: the own one of this name if there is one, and otherwise the shared one.
   *
   * @throws AppError `profile-not-found`; `invalid-parameter` if several shared ones have the name and `choice` prefers none of them
   */
  async read(reader: ProfileReader, choice: ProfileChoice): Promise<Profile> {
    const [found] = await readRows<FoundProfile>(this.#pool, readProfile(this.#schema, reader, choice));
    if (found === undefined) throw profileNotFound(choice.name, choice.version);
    const { schemas, ...profile } = found;
    const isOneOfSeveral = profile.sharedWith !== null && schemas!.length > 1;
    if (isOneOfSeveral && profile.sharedWith !== choice.preferred) throw severalShared(choice.name, schemas!);
    return profile;
  }

  /** Reads a page of the profiles that the caller may see. */
  list(
    reader: ProfileReader,
    page: { name: string | undefined; after: ProfilePlace | undefined; limit: number },
  ): Promise<ListedProfile[]> {
    return readRows(this.#pool, listProfiles(this.#schema, reader, page));
  }

  /** Runs a change in a transaction in which no other change of profiles runs. */
  #change<Result>(
    address: ProfileAddress,
    requireTag: RequireTag,
    options: ChangeOptions,
    work: (client: ClientBase, current: Profile | undefined) => Promise<Result>,
  ): Promise<Result> {
    return inTransaction(this.#pool, { ...options, runsNoCode: true }, async (client) => {
      await run(client, lockProfiles(this.#schema));
      const [current] = await run<Profile>(client, readProfileAt(this.#schema, address));
      if (current !== undefined && !current.owner.equals(address.owner)) throw notOwned(address);
      requireTag(current && profileTag(current));
      return work(client, current);
    });
  }

  async #requireRoom(
    client: ClientBase,
    { owner, sharedWith }: ProfileAddress,
    isNew: boolean,
    bytes: number,
  ): Promise<void> {
    if (isNew && sharedWith !== undefined && (await run(client, readSchema(sharedWith))).length === 0)
      throw new AppError('schema-not-found', `There is no schema "${sharedWith}".`);
    const [size] = await run<{ count: number; bytes: number }>(client, readProfileSizes(this.#schema, owner));
    const remedy = 'Delete a profile first.';
    if (isNew && size!.count >= maxProfilesPerOwner)
      throw limitExceeded('The subject has too many profiles', maxProfilesPerOwner, 'profiles', remedy);
    if (size!.bytes + bytes > maxProfileBytesPerOwner) {
      const what = 'The versions of the profiles of the subject are too large';
      throw limitExceeded(what, maxProfileBytesPerOwner, 'bytes', remedy);
    }
  }
}

async function run<Row>(client: ClientBase, { text, values = [] }: Statement): Promise<Row[]> {
  return (await client.query(text, values)).rows as Row[];
}

function hasContent(profile: Profile, content: ProfileContent): boolean {
  return textOf(profile) === textOf(content);
}

function bytesOf(content: ProfileContent): number {
  return Buffer.byteLength(textOf(content));
}

function textOf({ parameters, definition, headers }: ProfileContent): string {
  const sorted = Object.entries(parameters).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([sorted, definition, headers]);
}

function profileNotFound(name: string, version?: number): AppError {
  const detail =
    version === undefined
      ? `There is no profile "${name}" of the subject of the access token, and none is shared with a schema that the token may use. GET /api/v1/profiles lists them.`
      : `There is no version ${version} of a profile "${name}", or it is no longer kept.`;
  return new AppError('profile-not-found', detail);
}

function notOwned({ name, sharedWith }: ProfileAddress): AppError {
  const detail = `The profile "${name}" of the schema "${sharedWith}" belongs to another subject. Use another name, or leave shared_with out to have a profile of your own.`;
  return new AppError('profile-not-owned', detail);
}

function severalShared(name: string, schemas: string[]): AppError {
  const listed = schemas.map((schema) => `"${schema}"`).join(', ');
  const detail = `Several schemas have a profile "${name}": ${listed}. An upload uses that of its parameter schema; elsewhere send shared_with.`;
  return wrongParameter('profile', detail, { value: name });
}
