/** Fills the parameters of a profile into the query of an upload or an inspection (`profile=NAME`). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { identifierProblem } from '../../../core/identifiers.ts';
import { profileTag, type UsedProfile, usedProfile } from '../../profiles/profile.ts';
import type { ProfileReader } from '../../profiles/profile-statements.ts';
import { type AdmittedRequest, admitRequest } from '../admission/table-request.ts';
import { likePatterns } from '../answers/load-answers.ts';
import type { HttpContext } from '../context.ts';
import type { Grants } from '../tokens/auth.ts';

/** The query of a request, with the parameters of its profile. */
export interface SentQuery {
  query: Record<string, unknown>;
  /** What else the profile gives; undefined: the request names none. */
  profile?: {
    used: UsedProfile;
    /** Identifies the version, for the digest of an idempotency key. */
    tag: string;
    /** The JSON text of `table`; undefined: none. */
    definition: string | undefined;
  };
  /** The admitted request. To read the profile, the request had to be admitted first. */
  admitted?: AdmittedRequest;
}

/**
 * Returns the query with the parameters of the profile that it names. The parameters that were sent win. Nothing is read if the
 * request names no profile.
 *
 * @param isKnown returns whether the endpoint has a parameter; the others of the profile are left out. Default: none is left out
 * @throws the errors of `admitRequest`; AppError `profile-not-found`, `invalid-parameter`, `not-enabled`
 */
export async function sentQueryOf(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  isKnown: (name: string) => boolean = () => true,
): Promise<SentQuery> {
  const query = request.query as Record<string, unknown>;
  if (query.profile === undefined) return { query };
  const admitted = await admitRequest(request, reply, context, undefined);
  const { grants, caller, signal } = admitted;
  const { profiles } = context.records.require();
  const name = requireName('profile', query.profile);
  const schema = typeof query.schema === 'string' && isStorable(query.schema) ? query.schema : undefined;
  const profile = await context.lines.describes.use({ caller }, signal, () =>
    profiles.read(readerOf(grants), { name, preferred: schema }),
  );
  const kept = Object.entries(profile.parameters).filter(
    ([parameter]) => parameter !== 'table' && isKnown(parameter) && !isNeedless(parameter, query),
  );
  return {
    query: { ...Object.fromEntries(kept), ...query },
    profile: {
      used: usedProfile(profile),
      tag: profileTag(profile),
      definition: profile.definition ?? undefined,
    },
    admitted,
  };
}

/** Parameters that say more about another parameter, and the value of that parameter with which they are refused. */
const details: Record<string, [parameter: string, value: string]> = {
  conflict_key: ['on_conflict', 'fail'],
  max_faulty_rows: ['faulty_rows', 'fail'],
  max_missing_rows: ['missing_rows', 'keep'],
};

/** Returns whether the request sends a value of another parameter with which the parameter of the profile has no meaning. */
function isNeedless(parameter: string, sent: Record<string, unknown>): boolean {
  const [other, value] = details[parameter] ?? [];
  return other !== undefined && sent[other] === value;
}

/** Runs a check of the parameters. If it refuses one that the profile has, the error says so. */
export function checkSent<Result>({ query, profile }: SentQuery, sent: unknown, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (profile === undefined || !(error instanceof AppError)) throw error;
    const isOfProfile = (name = '') => Object.hasOwn(query, name) && !Object.hasOwn(sent as object, name);
    if (!error.errors?.some(({ parameter }) => isOfProfile(parameter))) throw error;
    const { name, version } = profile.used;
    throw error.with({
      detail: `${error.detail} The profile "${name}" (version ${version}) has this parameter.`,
    });
  }
}

/** Returns which profiles a token may see. */
export function readerOf({ owner, schemas }: Grants): ProfileReader {
  return { owner, schemas: likePatterns(schemas) };
}

/** Returns the name of a profile or a table. @throws AppError `invalid-parameter` */
export function requireName(parameter: string, value: unknown): string {
  const problem =
    typeof value === 'string' ? identifierProblem(value) : 'must be sent once, with the name of a profile';
  if (problem === undefined) return value as string;
  const detail = `The name given as ${parameter} ${problem}.`;
  throw wrongParameter(parameter, detail, { code: 'invalid-name', value: String(value) });
}

function isStorable(text: string): boolean {
  return identifierProblem(text) === undefined;
}
