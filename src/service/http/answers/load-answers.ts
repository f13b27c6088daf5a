/** The parts that the endpoints for loads share: who may see a load, and how it is shown. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError, type Problem, wrongParameter } from '../../../core/errors.ts';
import { optionalText } from '../../../engine/tables/name-schemas.ts';
import type { KeptAnswer, LoadedPart } from '../../loads/load-record.ts';
import { loadStates } from '../../loads/load-state.ts';
import type { Visible } from '../../loads/load-statements.ts';
import type { LoadView } from '../../loads/load-view.ts';
import type { Loads } from '../../loads/loads.ts';
import { type AdmittedRequest, admitRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { allowsSchema, type Grants, type Scope } from '../tokens/auth.ts';
import { type LoadCaller, type ShownColumns, shownColumnsOf, shownProblems } from './stored-values.ts';

export const LoadPath = Type.Object({
  id: Type.String({ description: 'The id of the load.', examples: ['0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d'] }),
});

const answered = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.' }),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.Unknown({
      description:
        'The body as JSON, or as text if it is none. null: it was longer than 1 MiB and was not kept.',
    }),
  },
  {
    title: 'LoadAnswer',
    description: 'The answer of the upload, after the load has ended. null: nobody was left to be answered.',
  },
);

export const nullable = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const LoadProfile = Type.Object(
  {
    name: Type.String(),
    version: Type.Integer(),
    shared_with: optionalText('The schema of the profile. Absent: it was of the subject alone.'),
  },
  { description: 'The profile that the upload named, with the version that it had when it was accepted.' },
);

const tableName = { schema: Type.String(), name: Type.String() };

const members = {
  id: Type.String({ format: 'uuid' }),
  state: Type.String({ enum: [...loadStates], description: 'See docs/loads.md.' }),
  operation: Type.String({ examples: ['upload-json', 'upload-excel', 'load-tables'] }),
  table: Type.Object(tableName, { description: 'The table; of several tables the first one.' }),
  parts: Type.Optional(
    Type.Array(
      Type.Object({
        ...tableName,
        file: optionalText('The name of its file. Absent: none was sent, or it has not arrived.'),
        sheet: optionalText('The sheet that the plan names.'),
        file_in_zip: optionalText('The file in the zip file that the plan names.'),
      }),
      { description: 'All tables of a load of several tables, in the order of its plan.' },
    ),
  ),
  dry_run: Type.Boolean(),
  subject: nullable(Type.String({ description: 'The subject of the access token.' })),
  profile: Type.Optional(LoadProfile),
  file: nullable(
    Type.String({
      description: 'The name of the file. null: none was sent, as with JSON, or it has not arrived.',
    }),
  ),
  bytes_received: Type.Integer({ description: 'The bytes of the body that have arrived.' }),
  bytes_expected: nullable(Type.Integer({ description: 'The length of the body; null: it is not known.' })),
  rows_read: Type.Integer({ description: 'The rows that were read so far.' }),
  problems_found: Type.Integer({ description: 'The problems that were found so far.' }),
  faulty_rows: Type.Integer({
    description:
      'The number of stored rows with problems. `GET /api/v1/loads/{id}/faulty-rows` sends them as a file.',
  }),
  cancel_requested: Type.Boolean({ description: 'Somebody has asked to cancel the load.' }),
  created_at: Type.String({ format: 'date-time' }),
  started_at: nullable(Type.String({ format: 'date-time', description: 'When the work on the rows began.' })),
  ended_at: nullable(Type.String({ format: 'date-time' })),
};

export const ListedLoad = Type.Object(members, { title: 'ListedLoad' });
export const Load = Type.Object(
  {
    ...members,
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'The parameters of the request, with those of its profile. Absent: they are not known.',
      }),
    ),
    answer: Type.Optional(nullable(answered)),
  },
  { title: 'Load' },
);

/** Returns a load as its description shows it: with its answer, in which the caller sees the values of stored rows that it may read. */
export async function describedLoad(
  context: HttpContext,
  request: LoadCaller,
  view: LoadView,
): Promise<Record<string, unknown>> {
  const { answer } = view;
  return shownLoad(view, answer ? await shownAnswer(answer, shownColumnsOf(context, request, view)) : null);
}

/** Returns a load as the answers show it. @param answer the answer of the upload; undefined: it is not shown */
export function shownLoad(view: LoadView, answer?: object | null): Record<string, unknown> {
  return {
    id: view.id,
    state: view.state,
    operation: view.operation,
    table: { schema: view.schema, name: view.table },
    ...(view.parts && { parts: view.parts.map(shownPart) }),
    dry_run: view.dryRun,
    subject: view.subject,
    ...(view.profile && { profile: view.profile }),
    file: view.fileName,
    bytes_received: view.bytesReceived,
    bytes_expected: view.bytesExpected,
    rows_read: view.rowsRead,
    problems_found: view.problemsFound,
    faulty_rows: view.faultyRows,
    cancel_requested: view.cancelRequested,
    created_at: view.createdAt,
    started_at: view.startedAt,
    ended_at: view.endedAt,
    ...(answer !== undefined && { ...(view.parameters && { parameters: view.parameters }), answer }),
  };
}

function shownPart({ table: name, fileInZip, oid: _, ...part }: LoadedPart): object {
  return { ...part, name, file_in_zip: fileInZip };
}

async function shownAnswer({ status, headers, body }: KeptAnswer, columns: ShownColumns): Promise<object> {
  const text = body.toString();
  if (text === '') return { status, headers, body: null };
  if (!/[/+]json\b/.test(headers['content-type'] ?? '')) return { status, headers, body: text };
  const shown = JSON.parse(text) as { errors?: Problem[] };
  if (shown.errors) shown.errors = await shownProblems(shown.errors, columns);
  return { status, headers, body: shown };
}

export interface AdmittedLoadRequest extends AdmittedRequest, LoadCaller {
  loads: Loads;
  visible: Visible;
}

/**
 * Admits a request about loads. It needs no scope, because every token may see its own loads.
 *
 * @throws AppError 401, `not-enabled`, `shutting-down`
 */
export async function admitLoadRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
): Promise<AdmittedLoadRequest> {
  const admitted = await admitRequest(request, reply, context, undefined);
  const { loads } = context.records.require();
  const { grants, caller, signal } = admitted;
  const inLine: LoadCaller['inLine'] = (work) => context.lines.describes.use({ caller }, signal, work);
  return { ...admitted, loads, visible: loadsOf(grants, 'load:read-all'), inLine };
}

/** Returns the loads that a token may see: those of its own caller, or all if it has the scope. Only loads into schemas that the token allows are included. */
export function loadsOf(grants: Grants, scopeForAll: Scope): Visible {
  const { owner, scopes, schemas } = grants;
  return {
    maySee: (schema) => allowsSchema(grants, schema),
    owner: scopes.has(scopeForAll) ? undefined : owner,
    schemas: likePatterns(schemas),
  };
}

/** Returns patterns of names with `*` as patterns of LIKE. */
export function likePatterns(schemas: string[] | undefined): string[] | undefined {
  return schemas?.map((pattern) => pattern.replaceAll(/[\\%_]/g, '\\$&').replaceAll('*', '%'));
}

/** Returns the load id in the path. @throws AppError `load-not-found` if it is not a UUID */
export function loadIdOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  if (!isUuid(id)) throw loadNotFound();
  return id.toLowerCase();
}

/** Checks that a parameter is a UUID and returns it. @throws AppError `invalid-parameter` */
export function uuidParameter(name: string, value: string | undefined): string | undefined {
  if (value === undefined || isUuid(value)) return value;
  throw wrongParameter(name, `The query parameter ${name} must be the id of a load.`, { value });
}

export function isUuid(text: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
}

export function loadNotFound(): AppError {
  return new AppError(
    'load-not-found',
    'There is no load with this id, or the access token may not see it. A load whose process ended before it was recorded has left nothing behind.',
  );
}
