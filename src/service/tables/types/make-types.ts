/** Makes the enums and domains of a definition that are missing, and refuses those that exist with another content. */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { shorten } from '../../../core/identifiers.ts';
import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import { isNameClash } from '../../postgres/named-objects.ts';
import { pipeline } from '../../postgres/pipeline.ts';
import { runAndUndo, withSavepoint } from '../../postgres/savepoints.ts';
import { apartInCallersPath, readInCallersPath } from '../../postgres/search-path.ts';
import { quoteLiteral, quoteQualified, randomName } from '../../postgres/sql.ts';
import { type LookUpResult, lookUpDefinition } from '../catalog/look-up-definition.ts';
import { namespaceOid } from '../catalog/relations.ts';
import { completeLookUp } from '../complete-look-up.ts';
import { type DefinitionDraft, draftDefinition } from '../draft-definition.ts';
import { resolveColumns } from '../resolve-columns.ts';
import { tryColumns } from '../try-columns.ts';
import { explainUnknownTypes } from '../type-problems.ts';
import { type TypeFacts, typeFacts } from './describe-types.ts';
import type { TypeDefinition } from './type-definition.ts';

/** Returns whether the `table` of a request has types, so `makeTypes` may change something. */
export function saysTypes(table: unknown): boolean {
  const { types } = (table ?? {}) as { types?: unknown };
  return Array.isArray(types) && types.length > 0;
}

/** The maximum number of attempts, if another session makes a type with one of the names at the same moment. */
const maxTries = 3;

/**
 * Makes the types that the definition needs. Enums come first, in the order of their names, so that two sessions make them in the same order,
 * and then the domains. Takes a round trip for the enums, and some for each domain.
 */
export async function makeTypes(client: ClientBase, draft: DefinitionDraft): Promise<void> {
  const { definition, schema, ownTypes, problems } = draft;
  const before = problems.count;
  const needed = definition.types.filter(({ name }) => ownTypes.needed.has(name));
  for (let tries = 1; needed.length > 0; tries++) {
    const found = await findTypes(client, schema, needed);
    // Later checks report a missing schema.
    if (found === undefined) return;
    const isMissing = ({ name }: TypeDefinition) => found.get(name)?.facts === undefined;
    const isMeant = ({ name }: TypeDefinition) => ownTypes.needed.get(name) || !found.get(name)?.isBuiltIn;
    const types = needed.filter(isMeant);
    const byName = (a: TypeDefinition, b: TypeDefinition) => (a.name < b.name ? -1 : 1);
    const enums = types.filter(({ labels }) => labels !== undefined).sort(byName);
    try {
      await withSavepoint(client, 'types', async () => {
        const create = enums.filter(isMissing).map((type) => createEnum(schema, type));
        if (create.length > 0) await pipeline(client, apartInCallersPath(...create));
        for (const type of types)
          if (type.base !== undefined) await makeDomain(client, type, isMissing(type), draft);
      });
    } catch (error) {
      if (!isNameClash(error)) throw error;
      if (tries < maxTries) continue;
      const detail =
        'Other sessions make types with the same names at the same moment. Send the request again.';
      throw new AppError('write-conflict', detail, { cause: error });
    }
    if (problems.count > before) return;
    for (const type of types) compare(type, found.get(type.name)?.facts, draft);
    return;
  }
}

/** Makes a domain. One that exists is compared with a domain of another name, which is undone. */
async function makeDomain(
  client: ClientBase,
  type: TypeDefinition,
  isMissing: boolean,
  draft: DefinitionDraft,
): Promise<void> {
  const { schema, problems } = draft;
  if (isMissing && type.check !== undefined) {
    const detail = `a domain with a check cannot be made here, and there is no domain "${type.name}": create it in PostgreSQL with CREATE DOMAIN`;
    problems.add({ pointer: `${type.pointer}/check`, code: 'not-supported', detail });
  }
  const sql = await baseSql(client, type, draft);
  if (sql === undefined) return;
  const create = (name: string) => {
    const statement = qualified`CREATE DOMAIN ${quoteQualified(schema, name)} AS ${sql}`;
    return pipeline(client, apartInCallersPath(statement));
  };
  if (isMissing) await create(type.name);
  else {
    await runAndUndo(client, 'domain', async () => {
      const name = randomName('domain');
      await create(name);
      const wanted = await findTypes(client, schema, [{ ...type, name }]);
      type.base = wanted?.get(name)?.facts?.base ?? type.base;
    });
  }
}

/** Returns the base type of a domain in SQL; undefined: it has a problem. It is looked up and tried like the type of a column. */
async function baseSql(
  client: ClientBase,
  { pointer, name, base }: TypeDefinition,
  { schema, definition, problems, admitSchema }: DefinitionDraft,
): Promise<string | undefined> {
  const others = new Set(definition.types.map((type) => type.name).filter((other) => other !== name));
  const types = [...others].map((other) => ({ name: other, labels: [] }));
  const table = { columns: [{ name: 'value', type: base }], types };
  const draft = await draftDefinition({ schema, admitSchema, name: 'domain', table });
  const [looked] = await pipeline(client, [await lookUpDefinition(draft.request)]);
  const found = await completeLookUp(client, looked!.rows[0].found as LookUpResult);
  const { columns, trials, unknownTypes } = await resolveColumns(draft, found);
  await explainUnknownTypes(client, unknownTypes, draft.admitSchema);
  await tryColumns(client, trials, draft.problems);
  for (const problem of await draft.problems.list()) problems.add({ ...problem, pointer: `${pointer}/base` });
  return draft.problems.count > 0 ? undefined : columns[0]?.typeSql;
}

function createEnum(schema: string, { name, labels }: TypeDefinition): CallersStatement {
  return qualified`CREATE TYPE ${quoteQualified(schema, name)} AS ENUM (${labels!.map(quoteLiteral).join(', ')})`;
}

interface FoundType {
  /** Undefined: the schema has no type of the name. */
  facts: TypeFacts | undefined;
  /** `pg_catalog` has a type of the name, which a name without a schema means. */
  isBuiltIn: boolean;
}

/** Returns what the schema has under the names; undefined: there is no such schema. */
async function findTypes(
  client: ClientBase,
  schema: string,
  types: TypeDefinition[],
): Promise<Map<string, FoundType> | undefined> {
  const { rows } = await client.query<{ found: (FoundType & { name: string })[] | null }>(lookUpTypes, [
    schema,
    types.map(({ name }) => name),
  ]);
  const found = rows[0]!.found;
  return found === null
    ? undefined
    : new Map(found.map(({ name, facts, isBuiltIn }) => [name, { facts: facts ?? undefined, isBuiltIn }]));
}

const lookUpTypes = readInCallersPath(`(
  SELECT json_agg(json_build_object('name', x.name,
    'facts', (SELECT ${typeFacts('t')} FROM pg_type t WHERE t.typname = x.name AND t.typnamespace = n.oid),
    'isBuiltIn', EXISTS (SELECT FROM pg_type t WHERE t.typname = x.name AND t.typnamespace = 'pg_catalog'::regnamespace)))
  FROM (SELECT ${namespaceOid('$1')} AS oid) n, unnest($2::text[]) AS x(name) WHERE n.oid IS NOT NULL)`);

/** Adds a problem if the type that exists has another content. */
function compare(
  type: TypeDefinition,
  facts: TypeFacts | undefined,
  { schema, problems }: DefinitionDraft,
): void {
  if (facts === undefined) return;
  const difference = differenceOf(type, facts);
  if (difference === undefined) return;
  const detail = `the type "${schema}"."${type.name}" exists, and ${difference}. Use another name, or leave this type out to use the one that exists`;
  problems.add({ pointer: type.pointer, code: 'type-differs', detail });
}

function differenceOf(
  type: TypeDefinition,
  { kind, labels, base, check, isWhole }: TypeFacts,
): string | undefined {
  if (type.labels !== undefined) {
    if (kind !== 'e') return 'it is no enum';
    if (JSON.stringify(labels) === JSON.stringify(type.labels)) return undefined;
    return `its labels are ${shorten(labels!.map((label) => `"${label}"`).join(', '))}`;
  }
  if (kind !== 'd') return 'it is no domain';
  if (base !== type.base) return `its base is ${base}`;
  if (check !== (type.check ?? null))
    return check === null ? 'it has no check' : `its check is ${shorten(check)}`;
  return isWhole ? undefined : 'it has a default, NOT NULL or a collation of its own';
}
