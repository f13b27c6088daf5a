/** Reads and checks the body of Save Profile: what is wrong without a table is refused when it is written. */
import Type from 'typebox';
import { AppError, type Problem } from '../../../core/errors.ts';
import { pointerTo } from '../../../core/json-pointer.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { LimitsConfig } from '../../../core/settings/config.ts';
import { UploadDefinitionSchema } from '../../../engine/tables/definition.ts';
import { draftDefinition } from '../../../engine/tables/draft-definition.ts';
import type { ProfileContent } from '../../profiles/profile.ts';
import { uploadExcel } from '../routes/upload-excel.ts';
import { uploadJson } from '../routes/upload-json.ts';
import { parseDefinitionBody } from '../uploads/definition-body.ts';
import { allParameters, type Endpoint } from '../uploads/parameters.ts';
import { uploadChoices } from '../uploads/upload.ts';
import { requireName } from './sent-query.ts';

/** The most bytes of the parameters and headers of a profile. A list of profiles has both. */
const maxListedBytes = 64 * 1024;

/** Parameters that belong to one upload, so a profile cannot have them. */
const ofOneUpload = ['profile', 'dry_run'];

export const ProfileBody = Type.Object(
  {
    parameters: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([Type.String(), Type.Boolean(), Type.Integer()]),
          description:
            'Upload parameters with their values, as in a query. All but `dry_run` and `profile`. Numbers and booleans become their texts. `table` names the table for which the profile is made: a page proposes it, and an upload takes the table from its path.',
          examples: [{ if_exists: 'append', on_conflict: 'update', rename: 'Order no:order_no' }],
        },
      ),
    ),
    table: Type.Optional(UploadDefinitionSchema),
    headers: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 1600,
        description:
          'The column names of the file for which the profile is made. The service keeps them, so that a page can offer the profile for the next file with this header.',
      }),
    ),
  },
  { title: 'ProfileContent' },
);

/**
 * Reads the content of a profile.
 *
 * @param text the body of the request
 * @param schema the schema in which a definition is checked, if the parameters name none
 * @throws AppError `invalid-json`, `invalid-profile`, `invalid-parameter`, `invalid-definition`, `limit-exceeded`
 */
export async function readProfileBody(
  text: Buffer,
  limits: LimitsConfig,
  { schema, extraFunctions }: { schema: string; extraFunctions: readonly string[] },
): Promise<ProfileContent> {
  const { parameters: given, table, headers = null } = await parseBody(text, limits);
  const parameters = parametersOf(given ?? {});
  checkHeaders(headers);
  const listed = Buffer.byteLength(JSON.stringify([parameters, headers]));
  if (listed > maxListedBytes)
    throw limitExceeded('The parameters and headers of the profile are too large', maxListedBytes, 'bytes');
  checkParameters(parameters);
  if (table === undefined || table === null) return { parameters, definition: null, headers };
  await checkDefinition(table, parameters, parameters.schema ?? schema, extraFunctions);
  return { parameters, definition: JSON.stringify(table), headers };
}

/** The codes of problems that columns from the rows may remove. */
const codesOfMissingColumns = ['unknown-column', 'missing'];

/** Checks a definition as far as possible without the database. @throws AppError `invalid-definition` */
async function checkDefinition(
  table: unknown,
  { extra_columns: extra }: Record<string, string>,
  schema: string,
  extraFunctions: readonly string[],
): Promise<void> {
  // With `extra_columns=add` the columns that a definition lacks come from the rows.
  const isPartial = extra === 'add' && typeof table === 'object';
  const whole = isPartial ? { columns: [], ...table } : table;
  const { problems } = await draftDefinition({ schema, name: 'profile', table: whole, extraFunctions });
  const listed = await problems.list();
  const errors = isPartial ? listed.filter(({ code }) => !codesOfMissingColumns.includes(code)) : listed;
  if (errors.length === 0) return;
  const errorCount = isPartial ? errors.length : problems.count;
  throw new AppError('invalid-definition', 'The table definition is not valid.', { errors, errorCount });
}

interface Members {
  parameters?: object | null;
  table?: unknown;
  headers?: string[] | null;
}

/** Parses the body in turns, with the parser of definitions: it is put into a body as that parser expects it. */
async function parseBody(text: Buffer, limits: LimitsConfig): Promise<Members> {
  const body = Buffer.concat([Buffer.from('{"table":'), text, Buffer.from('}')]);
  const value = await parseDefinitionBody(body, limits).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'invalid-json' || error.code === 'invalid-definition') throw withoutPrefix(error);
    throw error;
  });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(bodyForm);
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(ProfileBody.properties, name));
  if (unknown !== undefined)
    throw invalid(`The body has a member "${unknown.slice(0, 63)}". ${bodyForm}`, pointerTo(unknown));
  const { parameters = {}, headers = [] } = value as Members;
  if (typeof parameters !== 'object' || Array.isArray(parameters))
    throw invalid('The member "parameters" must be an object.', '/parameters');
  if (headers !== null && !Array.isArray(headers))
    throw invalid('The member "headers" must be an array of texts.', '/headers');
  return value as Members;
}

const bodyForm =
  'The body must be {"parameters": {…}, "table": {…}, "headers": […]}; each member may be left out.';

/** Returns the error about the body that was sent. */
function withoutPrefix({ code, errors }: AppError): AppError {
  if (code === 'invalid-json') return new AppError('invalid-json', `The body is not JSON. ${bodyForm}`);
  const own = errors?.map((one) => ({ ...one, pointer: one.pointer?.replace(/^\/table/, '') ?? '' }));
  const repeated = own?.find(({ code: problem }) => problem === 'repeated-key');
  return invalid(repeated ? `The body has a key twice: ${repeated.pointer}.` : bodyForm, repeated?.pointer);
}

/** Returns the values as texts of a query. @throws AppError `invalid-profile` */
function parametersOf(given: object): Record<string, string> {
  const entries = Object.entries(given).map(([name, value]) => {
    const isValue = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
    if (ofOneUpload.includes(name))
      throw invalid(
        `A profile cannot have the parameter ${name}, which belongs to one upload.`,
        pointerOf(name),
      );
    if (!isValue)
      throw invalid(
        `The parameter ${name.slice(0, 63)} must be a text, a whole number or a boolean.`,
        pointerOf(name),
      );
    if (!String(value).isWellFormed())
      throw invalid(`The parameter ${name.slice(0, 63)} has half of a surrogate pair.`, pointerOf(name));
    return [name, String(value)];
  });
  return Object.fromEntries(entries.sort(([one], [other]) => (one! < other! ? -1 : 1)));
}

/** Checks the parameters as an upload would. @throws AppError `invalid-parameter` with the place of each problem */
function checkParameters({ table, ...parameters }: Record<string, string>): void {
  const isOn = (endpoint: Endpoint, other: Endpoint) =>
    allParameters.some(
      ([name, { on }]) => Object.hasOwn(parameters, name) && on.includes(endpoint) && !on.includes(other),
    );
  const operation = isOn('upload-json', 'upload-excel') ? uploadJson : uploadExcel;
  try {
    if (table !== undefined) requireName('table', table);
    const query = operation.parseQuery(parameters);
    uploadChoices(query);
    operation.check(query as never, {});
  } catch (error) {
    if (!(error instanceof AppError) || error.errors === undefined) throw error;
    const errors: Problem[] = error.errors.map((one) => ({
      ...one,
      pointer: pointerOf(one.parameter ?? ''),
    }));
    throw new AppError('invalid-parameter', error.detail, { errors });
  }
}

function checkHeaders(headers: unknown[] | null): void {
  const isName = (one: unknown) => typeof one === 'string' && one.isWellFormed();
  const wrong = headers?.findIndex((one) => !isName(one)) ?? -1;
  if (wrong >= 0) throw invalid('Each of "headers" must be a text.', `/headers/${wrong}`);
}

function pointerOf(parameter: string): string {
  return `/parameters${pointerTo(parameter)}`;
}

function invalid(detail: string, pointer = ''): AppError {
  return new AppError('invalid-profile', detail, {
    errors: [{ pointer, code: 'invalid-parameter', detail }],
  });
}
