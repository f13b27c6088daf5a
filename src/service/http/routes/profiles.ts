/** `/api/v1/profiles`: named sets of upload parameters, with a definition, which uploads and inspections name with `profile`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { type ErrorCode, wrongParameter } from '../../../core/errors.ts';
import { checkSchemaName, refuseSystemSchema } from '../../../core/identifiers.ts';
import { readDefinition } from '../../../engine/loading/inputs/read-definition.ts';
import { UploadDefinitionSchema } from '../../../engine/tables/definition.ts';
import { optionalText } from '../../../engine/tables/name-schemas.ts';
import { type Profile, profileTag } from '../../profiles/profile.ts';
import { keptVersions, type ProfileAddress } from '../../profiles/profile-statements.ts';
import { type ChangeOptions, maxProfilesPerOwner, type Profiles } from '../../profiles/profiles.ts';
import { type AdmittedRequest, admitRequest } from '../admission/table-request.ts';
import { tagCheckOf } from '../answers/definition-tag.ts';
import { readPlace, writePlace } from '../answers/list-places.ts';
import { isUuid, nullable } from '../answers/load-answers.ts';
import type { HttpContext } from '../context.ts';
import { auditing, noteChange } from '../observing/audit.ts';
import { bodyErrors, jsonAnswer, operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { ProfileBody, readProfileBody } from '../profiles/profile-body.ts';
import { readerOf, requireName } from '../profiles/sent-query.ts';
import { queryParser } from '../query.ts';
import { type Grants, requireSchema, type Scope } from '../tokens/auth.ts';
import { readDefinitionText } from '../uploads/definition-body.ts';

const ProfilePath = Type.Object({
  name: Type.String({
    description: 'The name of the profile: 1 to 63 bytes of UTF-8, case-sensitive.',
    examples: ['monthly-orders'],
  }),
});

const sharedWith = (description: string) => Type.Optional(Type.String({ description }));
const Address = Type.Object({
  shared_with: sharedWith(
    'The schema with which the profile is shared. Without it the profile is the own one of the subject.',
  ),
});
const Read = Type.Object({
  shared_with: sharedWith(
    'Only the profile that is shared with this schema. Without it: the own one of the subject, or else the shared one.',
  ),
  version: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `One of the newest ${keptVersions} versions. Default: the newest.`,
    }),
  ),
});
const List = Type.Object({
  name: optionalText('Only profiles with this name.'),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 50,
    description: 'The maximum number of profiles of the answer.',
  }),
  after: optionalText('The value of `next` of the page before.'),
});

const members = {
  name: Type.String(),
  version: Type.Integer({ description: 'From 1. Each change makes a new version.' }),
  shared_with: nullable(
    Type.String({ description: 'The schema whose tokens may use the profile. null: only its subject.' }),
  ),
  is_own: Type.Boolean({ description: 'Whether the subject of the token may change and delete it.' }),
  subject: nullable(Type.String({ description: 'The subject that has created the profile.' })),
  parameters: Type.Record(Type.String(), Type.String(), {
    description: 'The upload parameters, with their values as in a query.',
  }),
  headers: nullable(
    Type.Array(Type.String(), { description: 'The column names of the file for which it was made.' }),
  ),
  saved_at: Type.String({ format: 'date-time', description: 'When the version was saved.' }),
};
const ListedProfile = Type.Object({ ...members, has_table: Type.Boolean() }, { title: 'ListedProfile' });
const ShownProfile = Type.Object(
  { ...members, table: nullable(UploadDefinitionSchema) },
  { title: 'Profile' },
);
const ProfilePage = Type.Object(
  {
    profiles: Type.Array(ListedProfile),
    next: nullable(
      Type.String({ description: 'Send it as `after` to get the next page. null: this is the last page.' }),
    ),
  },
  { title: 'ProfileList' },
);

const usualErrors = [...tokenErrors, 'database-busy', 'not-enabled', 'invalid-parameter'] as const;
const changeErrors = [
  ...usualErrors,
  'schema-forbidden',
  'profile-not-owned',
  'precondition-failed',
] as const;
const tag = { ETag: { type: 'string', description: 'The version, for `If-Match`.' } };
const documented = (id: string, description: string, ...errors: ErrorCode[]) => ({
  ...operation('profiles', id),
  description,
  response: problemResponses(...errors),
});
const conditions = Type.Object({
  'If-Match': optionalText(
    'The `ETag` of the version that the request replaces, so that two editors do not overwrite each other (412).',
  ),
  'If-None-Match': optionalText('`*`: only if there is no such profile (412).'),
});

/** Registers Save Profile, which has a body. */
export function saveProfileRoute(app: FastifyInstance, context: HttpContext): void {
  const { response, ...about } = documented(
    'saveProfile',
    `Saves upload parameters, a definition and the names of a file's columns under a name. Another content makes a new version; the same content keeps the version. What no upload accepts is refused. A subject may have ${maxProfilesPerOwner.toLocaleString('en')} profiles, and the newest ${keptVersions} versions of each are kept. Only the subject that has created a shared profile may change it. Needs the scope \`profile:manage\`.`,
    ...changeErrors,
    ...bodyErrors,
    ...(['schema-not-found', 'invalid-profile', 'invalid-definition'] as const),
  );
  const schema = {
    ...about,
    params: ProfilePath,
    querystring: Address,
    headers: conditions,
    body: ProfileBody,
    response: {
      200: jsonAnswer('The profile, with its version.', ShownProfile, tag),
      201: jsonAnswer('The profile was created.', ShownProfile, tag),
      ...response,
    },
  };
  const parseQuery = queryParser(Address);
  const { limits, database } = context.config;
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const { shared_with: shared } = parseQuery(request.query);
    const { profiles, ...admitted } = await admit(request, reply, context, 'profile:manage');
    const { grants, caller, signal } = admitted;
    const address = addressOf(request, grants, shared);
    const text = await readDefinitionText(request, context, admitted);
    const checked = { schema: shared ?? 'public', extraFunctions: database.defaultFunctions };
    const check = tagCheckOf(request, 'profile') ?? (() => {});
    const { profile, outcome } = await context.lines.creates.use({ caller }, signal, async () => {
      const content = await readProfileBody(text, limits, checked);
      return profiles.save(address, content, grants.subject, check, optionsOf(context, signal));
    });
    const { name, version } = profile;
    const of = { profile: name, version, ...(shared !== undefined && { sharedWith: shared }) };
    if (outcome !== 'unchanged')
      noteChange(request, { outcome: 'committed', change: 'profile-saved', ...of });
    if (outcome === 'created') reply.code(201);
    return shownWhole(reply, profile, grants);
  };
  app.put('/api/v1/profiles/:name', { schema }, auditing('save-profile', handle));
}

/** Registers the operations without a body. */
export function profileRoutes(app: FastifyInstance, context: HttpContext): void {
  listRoute(app, context);
  readRoute(app, context);
  deleteRoute(app, context);
}

function listRoute(app: FastifyInstance, context: HttpContext): void {
  const { response, ...about } = documented(
    'listProfiles',
    'Lists the profiles of the subject of the token, and those that are shared with schemas that the token may use, ordered by name.',
    ...usualErrors,
  );
  const parseQuery = queryParser(List);
  const schema = {
    ...about,
    querystring: List,
    response: { 200: jsonAnswer('The profiles.', ProfilePage), ...response },
  };
  app.get('/api/v1/profiles', { schema }, async (request, reply) => {
    const { name, limit, after } = parseQuery(request.query);
    const { profiles, grants, caller, signal } = await admit(request, reply, context);
    const place = after === undefined ? undefined : placeOf(after);
    const found = await context.lines.describes.use({ caller }, signal, () =>
      // One profile more than the page has is read, to find out whether there is another page.
      profiles.list(readerOf(grants), { name, after: place, limit: limit + 1 }),
    );
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      profiles: page.map((one) => ({ ...shown(one, grants), has_table: one.hasDefinition })),
      next: found.length > limit ? writePlace({ schema: last!.id, name: last!.name }) : null,
    };
  });
}

/** Reads a place of the list of profiles. An id is written where lists of tables have a schema. @throws AppError `invalid-parameter` */
function placeOf(text: string): { id: string; name: string } {
  const { schema: id, name } = readPlace(text);
  if (isUuid(id)) return { id, name };
  throw wrongParameter('after', 'The query parameter after must be the value of next in the answer before.');
}

function readRoute(app: FastifyInstance, context: HttpContext): void {
  const { response, ...about } = documented(
    'readProfile',
    'Returns the profile that an upload with this name would use, or an earlier version of it.',
    ...usualErrors,
    'profile-not-found',
  );
  const parseQuery = queryParser(Read);
  const schema = {
    ...about,
    params: ProfilePath,
    querystring: Read,
    response: { 200: jsonAnswer('The profile.', ShownProfile, tag), ...response },
  };
  app.get('/api/v1/profiles/:name', { schema }, async (request, reply) => {
    const { shared_with: shared, version } = parseQuery(request.query);
    const { profiles, grants, caller, signal } = await admit(request, reply, context);
    const choice = { name: nameOf(request), sharedWith: shared, preferred: shared, version };
    const profile = await context.lines.describes.use({ caller }, signal, () =>
      profiles.read(readerOf(grants), choice),
    );
    return shownWhole(reply, profile, grants);
  });
}

function deleteRoute(app: FastifyInstance, context: HttpContext): void {
  const { response, ...about } = documented(
    'deleteProfile',
    'Removes a profile with all its versions. Loads that were accepted with it are not affected. Needs the scope `profile:manage`.',
    ...changeErrors,
    'profile-not-found',
  );
  const parseQuery = queryParser(Address);
  const schema = {
    ...about,
    params: ProfilePath,
    querystring: Address,
    headers: conditions,
    response: { 204: { description: 'The profile was removed.' }, ...response },
  };
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const { shared_with: shared } = parseQuery(request.query);
    const { profiles, grants, caller, signal } = await admit(request, reply, context, 'profile:manage');
    const address = addressOf(request, grants, shared);
    const check = tagCheckOf(request, 'profile') ?? (() => {});
    await context.lines.creates.use({ caller }, signal, () =>
      profiles.remove(address, check, optionsOf(context, signal)),
    );
    const of = { profile: address.name, ...(shared !== undefined && { sharedWith: shared }) };
    noteChange(request, { outcome: 'committed', change: 'profile-deleted', ...of });
    reply.code(204);
  };
  app.delete('/api/v1/profiles/:name', { schema }, auditing('delete-profile', handle));
}

async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  scope?: Scope,
): Promise<AdmittedRequest & { profiles: Profiles }> {
  const admitted = await admitRequest(request, reply, context, scope);
  return { ...admitted, profiles: context.records.require().profiles };
}

function optionsOf({ config }: HttpContext, signal: AbortSignal): ChangeOptions {
  const { statementTimeoutMs, lockTimeoutMs } = config.database;
  return { statementTimeoutMs, lockTimeoutMs, signal };
}

/** Returns the name in the path. `.` and `..` mean folders in a URL, so most clients could not address such a profile. */
function nameOf(request: FastifyRequest): string {
  const name = requireName('name', (request.params as { name: string }).name);
  if (name !== '.' && name !== '..') return name;
  throw wrongParameter('name', `A profile cannot be named "${name}".`, { code: 'invalid-name', value: name });
}

/** Returns the address of the profile to change. @throws AppError `invalid-parameter`, `schema-forbidden` */
function addressOf(request: FastifyRequest, grants: Grants, shared: string | undefined): ProfileAddress {
  if (shared !== undefined) {
    checkSchemaName(shared);
    refuseSystemSchema(shared);
    requireSchema(grants, shared);
  }
  return { name: nameOf(request), owner: grants.owner, sharedWith: shared };
}

async function shownWhole(reply: FastifyReply, profile: Profile, grants: Grants): Promise<object> {
  const { definition } = profile;
  reply.header('etag', profileTag(profile));
  const table = definition === null ? null : await readDefinition(Buffer.from(definition));
  return { ...shown(profile, grants), table };
}

function shown(profile: Omit<Profile, 'definition'>, { owner }: Grants): Record<string, unknown> {
  return {
    name: profile.name,
    version: profile.version,
    shared_with: profile.sharedWith,
    is_own: profile.owner.equals(owner),
    subject: profile.subject,
    parameters: profile.parameters,
    headers: profile.headers,
    saved_at: profile.createdAt,
  };
}
