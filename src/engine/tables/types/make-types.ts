/** Makes the enums and domains of a definition that are missing, and refuses those that exist with another content. */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { shorten } from '../../../core/identifiers.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { isNameClash } from '../../../postgres/named-objects.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { runAndUndo, withSavepoint } from '../../../postgres/savepoints.ts';
import { apartInCallersPath, readInCallersPath } from '../../../postgres/search-path.ts';
import { quoteLiteral, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { isStatementError } from '../../../postgres/sqlstate.ts';
import { type LookUpResult, lookUpDefinition } from '../catalog/look-up-definition.ts';
import { namespaceOid } from '../catalog/relations.ts';
import { completeLookUp, namesOfFunctions } from '../complete-look-up.ts';
import { type DefinitionDraft, draftDefinition } from '../draft-definition.ts';
import { RefusedExpression } from '../expressions/expression-types.ts';
import { codeOfDomain, reasonAgainst } from '../expressions/prove-expressions.ts';
import { resolveExpressions } from '../expressions/resolve-expressions.ts';
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
          if (type.base !== undefined) await makeDomain(client, type, found.get(type.name)?.facts, draft);
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

/**
 * Makes a domain. One that exists is compared with a domain of another name, which is undone. A check with the text of the existing one is not
 * read, because it may call functions that a definition cannot call.
 *
 * @param existing undefined: the domain is missing
 */
async function makeDomain(
  client: ClientBase,
  type: TypeDefinition,
  existing: TypeFacts | undefined,
  draft: DefinitionDraft,
): Promise<void> {
  const { schema } = draft;
  const isSame = existing !== undefined && existing.check === (type.check ?? null);
  const parts = await domainParts(client, isSame ? { ...type, check: undefined } : type, draft);
  if (parts === undefined) return;
  if (existing === undefined) return createDomain(client, type, parts, draft);
  await runAndUndo(client, 'domain', async () => {
    const trial = { ...type, name: randomName('domain') };
    await createDomain(client, trial, parts, draft);
    const wanted = await findTypes(client, schema, [trial]);
    const { base, check } = wanted?.get(trial.name)?.facts ?? {};
    type.base = base ?? type.base;
    if (!isSame) type.check = check ?? type.check;
  });
}

interface DomainParts {
  base: string;
  check: string | undefined;
  /** See `PreparedTable`. */
  allowedCode: string[];
}

/**
 * Creates a domain. If PostgreSQL refuses its check, or if the check would call code of other roles (prove-expressions.ts), it adds a problem and
 * creates the domain without the check, so that the columns can be checked.
 */
async function createDomain(
  client: ClientBase,
  type: TypeDefinition,
  { base, check, allowedCode }: DomainParts,
  draft: DefinitionDraft,
): Promise<void> {
  const { name, pointer } = type;
  const { schema, problems } = draft;
  const domain = quoteQualified(schema, name);
  const clause = check === undefined ? '' : ` CHECK (${check})`;
  const create = qualified`CREATE DOMAIN ${domain} AS ${base}${clause}`;
  try {
    await withSavepoint(client, 'new domain', async () => {
      const results = await pipeline(client, [...apartInCallersPath(create), codeOfDomain(domain)]);
      const reason = reasonAgainst(results.at(-1)!.rows[0].found, allowedCode);
      if (reason !== undefined) throw new RefusedExpression(`it ${reason}`);
    });
  } catch (error) {
    const isRefused = error instanceof RefusedExpression || (isStatementError(error) && !isNameClash(error));
    if (check === undefined || !isRefused) throw error;
    const detail = `PostgreSQL cannot make this expression: ${shorten(error.message)}`;
    problems.add({ pointer: `${pointer}/check`, code: 'invalid-expression', detail });
    await createDomain(client, type, { base, check: undefined, allowedCode }, draft);
  }
}

/**
 * Returns the parts of a domain in SQL; undefined: it has a problem. The base is looked up and tried like the type of a column, and the check is
 * read like that of a table with this column.
 */
async function domainParts(
  client: ClientBase,
  { pointer, name, base, check }: TypeDefinition,
  { schema, definition, problems, admitSchema, extraFunctions }: DefinitionDraft,
): Promise<DomainParts | undefined> {
  const others = new Set(definition.types.map((type) => type.name).filter((other) => other !== name));
  const types = [...others].map((other) => ({ name: other, labels: [] }));
  const checks = check === undefined ? [] : [{ expression: check }];
  const table = { columns: [{ name: 'value', type: base }], types, constraints: { checks } };
  const draft = await draftDefinition({ schema, admitSchema, extraFunctions, name: 'domain', table });
  const [looked] = await pipeline(client, [await lookUpDefinition(draft.request)]);
  const found = await completeLookUp(client, looked!.rows[0].found as LookUpResult);
  const resolution = await resolveColumns(draft, found);
  await explainUnknownTypes(client, resolution.unknownTypes, admitSchema);
  await resolveExpressions(client, draft.expressions, draft.definition, resolution);
  await tryColumns(client, resolution.trials, draft.problems);
  for (const problem of await draft.problems.list()) {
    const isOfCheck = problem.pointer?.startsWith('/table/constraints/');
    const detail =
      problem.code === 'unknown-column' ? 'a check of a domain can name only VALUE' : problem.detail;
    problems.add({ ...problem, detail, pointer: `${pointer}/${isOfCheck ? 'check' : 'base'}` });
  }
  if (draft.problems.count > 0) return undefined;
  const allowedCode = namesOfFunctions(found);
  return { base: resolution.columns[0]!.typeSql, check: draft.definition.checks[0]?.sql, allowedCode };
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
