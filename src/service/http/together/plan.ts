/** The plan of a load of several tables: its form, and the checks of its tables before their files are read. */
import Type, { type TSchema } from 'typebox';
import { AppError, type Problem } from '../../../core/errors.ts';
import { pointerTo } from '../../../core/json-pointer.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { LimitsConfig } from '../../../core/settings/config.ts';
import { readDefinition } from '../../../engine/loading/inputs/read-definition.ts';
import {
  type CellPatch,
  correctionsOf,
  parseKeepingDigits,
} from '../../../engine/loading/patch/cell-patch.ts';
import { namingTable } from '../../../engine/loading/together/problems-of-tables.ts';
import { UploadDefinitionSchema } from '../../../engine/tables/definition.ts';
import { ArrayFinder } from '../../../readers/json/array-finder.ts';
import type { SpreadsheetOptions } from '../../../readers/spreadsheet/spreadsheet-options.ts';
import { tableKey } from '../admission/lines.ts';
import { admitTable } from '../admission/table-request.ts';
import { queryParser } from '../query.ts';
import type { Grants } from '../tokens/auth.ts';
import { requireUploadScopes } from '../uploads/admit-upload.ts';
import { scanInTurns } from '../uploads/definition-body.ts';
import { querySchema } from '../uploads/parameters.ts';
import { optionsOf, PatchSchema } from '../uploads/spreadsheet.ts';
import { type UploadChoices, uploadChoices } from '../uploads/upload.ts';

/** The maximum number of tables of a plan, and so of its files. */
const maxPlannedTables = 100;

/** The maximum length of a plan with all its definitions. It is parsed at once. */
export const maxPlanBytes = 1024 * 1024;

/** Parameters of uploads that a table of a plan cannot have, and what to do instead. */
const refused: Record<string, string> = {
  dry_run: 'It is for the whole plan: send it in the URL, as in ?dry_run=true.',
  profile: 'Write the parameters of the profile into the plan.',
  misfits: 'Widen the columns first (PUT), or load the table alone.',
  from_url: 'Send {"from_url": "https://…"} as a part of the form, and name it in `file`.',
};

const {
  dry_run: _dryRun,
  profile: _profile,
  misfits: _misfits,
  ...parameters
} = querySchema('upload-excel').properties;
const Parameters = Type.Object(parameters);

/** Returns the parameters as optional members without defaults, because some client generators require a member with a default. */
function optionalMembers(schemas: Record<string, TSchema>): Record<string, TSchema> {
  const entries = Object.entries(schemas).map(([name, schema]) => {
    const { default: _, ...others } = schema as { default?: unknown };
    return [name, Type.Optional(others as TSchema)];
  });
  return Object.fromEntries(entries);
}

const PlannedTableSchema = Type.Object(
  {
    table: Type.String({ description: 'The name of the table.', examples: ['orders'] }),
    file: Type.String({
      description:
        'The name of the part of the form with the file, or with its link. Several tables may use the same file.',
      examples: ['orders.csv'],
    }),
    definition: Type.Optional(UploadDefinitionSchema),
    patch: Type.Optional(PatchSchema),
    ...optionalMembers(parameters),
  },
  { title: 'PlannedTable', description: 'A table, its file, and the parameters of its upload.' },
);

export const PlanSchema = Type.Object(
  { tables: Type.Array(PlannedTableSchema, { minItems: 1, maxItems: maxPlannedTables }) },
  { title: 'LoadPlan' },
);

const parseAllParameters = queryParser(querySchema('upload-excel'));
const parseParameters = queryParser(Parameters);

/** The query of a table, with the defaults of the parameters that a plan cannot have. */
export type PlannedQuery = ReturnType<typeof parseAllParameters>;

/** The query of an upload in which no parameter was sent. */
export const defaultQuery: PlannedQuery = parseAllParameters({});

/** One table of a plan. */
export interface PlannedPart {
  part: number;
  schema: string;
  name: string;
  /** The name of the part of the form with its file. */
  file: string;
  /** The definition, which nothing has checked yet; undefined: none. */
  definition: unknown;
  /** The corrections of cells of its file. */
  patch: readonly CellPatch[];
  query: PlannedQuery;
  choices: UploadChoices;
  options: SpreadsheetOptions;
}

/**
 * Reads the plan.
 *
 * @throws AppError `invalid-json`, `invalid-parameter` (each error names its table), `invalid-definition` (a key twice), `limit-exceeded`
 */
export async function readPlan(
  text: Buffer,
  limits: LimitsConfig,
  signal: AbortSignal,
): Promise<PlannedPart[]> {
  const plan = await parsePlan(text, limits.maxJsonDepth);
  const tables = Object.keys(plan).length === 1 ? (plan as { tables?: unknown }).tables : undefined;
  if (!Array.isArray(tables) || tables.length === 0)
    throw invalidPlan('', 'The plan must be {"tables": […]}.');
  if (tables.length > maxPlannedTables)
    throw limitExceeded('The plan has too many tables', maxPlannedTables, 'tables');
  const parts: PlannedPart[] = [];
  const patches = tables.some((entry) => entry?.patch !== undefined) ? patchesOf(text) : [];
  for (const [index, entry] of tables.entries())
    parts.push(await plannedPart(entry, patches[index], index, signal));
  const seen = new Map<string, number>();
  for (const { part, schema, name } of parts) {
    const key = tableKey({ schema, name });
    const first = seen.get(key);
    if (first !== undefined) {
      const detail = `The tables ${first} and ${part} of the plan are the same one, "${schema}"."${name}". Join their files, or load them one after the other.`;
      throw invalidPlan(`/tables/${part - 1}`, detail, part);
    }
    seen.set(key, part);
  }
  return parts;
}

/** Checks that the token may do everything that the plan says. @throws AppError `insufficient-scope`, `schema-forbidden`, `invalid-parameter` */
export async function admitPlan(parts: PlannedPart[], grants: Grants, signal: AbortSignal): Promise<void> {
  for (const part of parts) {
    await namingTable(part, signal, async () => {
      admitTable(grants, part.schema, part.name);
      requireUploadScopes(part.query, part.choices, grants);
    });
  }
}

async function parsePlan(text: Buffer, maxDepth: number): Promise<object> {
  const nothing = { maxTableBytes: 0, maxColumns: 0, maxCellBytes: 0, maxRowBytes: 0 };
  try {
    await scanInTurns(text, new ArrayFinder({ ...nothing, maxDepth }));
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid-json') throw error;
    throw new AppError(
      'invalid-json',
      'The part plan is not JSON. Send {"tables": [{"table": …, "file": …}]}.',
    );
  }
  const plan = await readDefinition(text, '');
  return typeof plan === 'object' && plan !== null ? plan : {};
}

/** Returns the corrections of each table. The other members of a plan are parsed without all digits of their numbers. */
function patchesOf(text: Buffer): unknown[] {
  const { tables } = parseKeepingDigits(text) as { tables: ({ patch?: unknown } | null)[] };
  return tables.map((entry) => entry?.patch);
}

async function plannedPart(
  entry: unknown,
  patch: unknown,
  index: number,
  signal: AbortSignal,
): Promise<PlannedPart> {
  const pointer = `/tables/${index}`;
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw invalidPlan(pointer, `Table ${index + 1} of the plan must be an object.`, index + 1);
  const { table: name, file, definition, patch: _, ...sent } = entry as Record<string, unknown>;
  for (const [member, value] of Object.entries({ table: name, file, ...sent })) {
    const remedy = Object.hasOwn(refused, member) ? refused[member] : undefined;
    if (remedy !== undefined)
      throw invalidPlan(
        pointer + pointerTo(member),
        `Table ${index + 1} of the plan cannot have "${member}". ${remedy}`,
        index + 1,
      );
    const isText = typeof value === 'string';
    const isScalar = isText || typeof value === 'number' || typeof value === 'boolean';
    const isOfName = member === 'table' || member === 'file';
    if (isOfName ? !isText || value === '' : !isScalar)
      throw invalidPlan(
        pointer + pointerTo(member),
        `"${member}" of table ${index + 1} of the plan must be a ${isOfName ? 'text' : 'text, a number, true or false'}.`,
        index + 1,
      );
  }
  const texts = Object.fromEntries(Object.entries(sent).map(([member, value]) => [member, String(value)]));
  const named = { part: index + 1, schema: texts.schema ?? 'public', name: name as string };
  return namingTable(named, signal, async () => {
    const query = { ...defaultQuery, ...parseParameters(texts) };
    const choices = uploadChoices(query);
    const corrections = patch === undefined ? [] : correctionsOf(patch);
    const ofFile = { file: file as string, definition, patch: corrections };
    return { ...named, ...ofFile, query, choices, options: optionsOf(query) };
  });
}

/** @param part the number of the table; undefined: the error is about the whole plan */
function invalidPlan(pointer: string, detail: string, part?: number): AppError {
  const problem: Problem = { parameter: 'plan', pointer, code: 'invalid-parameter', detail };
  const errors = [part === undefined ? problem : { part, ...problem }];
  return new AppError('invalid-parameter', detail, { errors });
}
