/**
 * Loads several tables in one transaction: all of them, or nothing.
 *
 * The types of new tables are inferred first, each from all rows of its file. Then the transaction locks the tables in the order of their names,
 * and loads each after the tables that it refers to. So foreign keys are checked as in a load of one table. Only foreign keys to a table that
 * comes later (tables may refer to each other in a circle), or that gets its name only at the end (`if_exists=replace`), are added last.
 *
 * If a table has problems, it is undone and the others are still checked, so that one answer has the problems of all tables.
 */
import type { ClientBase } from 'pg';
import { withSecondReading } from '../../../core/cells/row-source.ts';
import type { AppError, Warning } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { withSavepoint } from '../../../postgres/savepoints.ts';
import { inTransaction, type TransactionEdges } from '../../../postgres/transaction.ts';
import { addForeignKeys } from '../../tables/change/alter/add-foreign-keys.ts';
import { workSequentiallyTogether } from '../../tables/distribution/place-table.ts';
import { readSchemaVersion } from '../../tables/loading/schema-version.ts';
import { readReferencesAmong } from '../../tables/rules/references-among.ts';
import { describeLoaded, endUnlessRenamed, resultOf } from '../end-load.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { asLate, fillTable, inNotations } from '../load-table.ts';
import { addsRows, type LoadContext, type LoadObserver, type LoadResult } from '../request/load-request.ts';
import { inferWhereNeeded } from '../target/infer-definition.ts';
import { findTable } from '../target/open-target.ts';
import { emptyTables, lockExclusively, lockTables } from './lock-tables.ts';
import { inOrderOfReferences } from './order-of-references.ts';
import type { Part, PlannedTable } from './part.ts';
import { errorOfTables, isOfOneTable, namingLaterTables, namingTable } from './problems-of-tables.ts';
import { refuseSharedRows } from './refuse-shared-rows.ts';
import { sentForeignKeys, sentTargets, tableKey, withoutForeignKeys } from './sent-foreign-keys.ts';
import { swapWithin } from './swap-within.ts';

/** The maximum number of columns of all tables of a plan together. Until the end the service holds about 4 KB for each, and the answer describes it. */
const maxColumns = 20_000;

/** A table that will be committed. */
export interface LoadedTable {
  result: LoadResult;
  /** The input, which is closed. */
  input: LoadInput;
}

/**
 * Loads the tables.
 *
 * @param committing is called before the transaction ends
 * @throws AppError with the problems of all tables; PostgreSQL's errors; the signal's reason
 */
export async function loadTogether(
  context: LoadContext,
  planned: readonly PlannedTable[],
  signal: AbortSignal,
  committing: (loaded: LoadedTable[]) => void,
): Promise<LoadedTable[]> {
  const parts = partsOf(context, planned);
  for (const part of parts) {
    part.isExisting = await namingTable(part, signal, async () => {
      return (await findTable(context, part.request)) && addsRows(part.request);
    });
  }
  await forEachChecked(parts, signal, async (part) => {
    part.inferred = await part.withInput(part.definition, (input) =>
      inferWhereNeeded(part.context, part.request, input, !part.isExisting),
    );
  });
  throwIfAny(parts);
  const rollback = planned[0]!.request.dryRun;
  let isLate = false;
  const onLateCommit = (): void => {
    isLate = true;
  };
  const options = { ...context.transaction, rollback, onLateCommit };
  const loaded = await inTransaction(context.pool, options, (client, edges) =>
    loadWithin(client, edges, parts, signal, committing),
  );
  return isLate ? loaded.map(({ result, input }) => ({ result: asLate(result), input })) : loaded;
}

function partsOf(context: LoadContext, planned: readonly PlannedTable[]): Part[] {
  const observers = planned.map((_, part): LoadObserver => {
    const opened: LoadObserver['opened'] = (oid) => context.observer?.opened(oid, part);
    const nothing = { columns: [], notationOf: undefined, committing: () => {} };
    return { rows: () => 0, problems: () => 0, ...nothing, opened };
  });
  if (context.observer) {
    context.observer.rows = () => sumOf(observers.map(({ rows }) => rows()));
    context.observer.problems = () => sumOf(observers.map(({ problems }) => problems()));
  }
  return planned.map(({ request, definition, withInput }, index) => {
    const { schema, name } = request;
    const own = { ...context, observer: observers[index] };
    const nothing = { inferred: undefined, refersTo: [], withheld: [], loaded: undefined, error: undefined };
    const table = { part: index + 1, schema, name, request, definition, withInput, context: own };
    return { ...table, ...nothing, isExisting: false };
  });
}

function sumOf(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

async function loadWithin(
  client: ClientBase,
  edges: TransactionEdges,
  parts: Part[],
  signal: AbortSignal,
  committing: (loaded: LoadedTable[]) => void,
): Promise<LoadedTable[]> {
  await client.query(workSequentiallyTogether);
  const versions = await readVersions(client, parts);
  const byName = parts.toSorted((a, b) => (tableKey(a.schema, a.name) < tableKey(b.schema, b.name) ? -1 : 1));
  await lockTables(client, byName, signal);
  await refuseSharedRows(client, byName, signal);
  await findReferences(client, parts);
  await emptyTables(client, byName, signal);
  const ordered = inOrderOfReferences(byName, ({ refersTo }) => refersTo);
  await forEachChecked(ordered, signal, async (part) => {
    await loadPart(client, part, parts);
    const columns = sumOf(parts.map(({ loaded }) => loaded?.target.columns.length ?? 0));
    if (columns > maxColumns)
      throw limitExceeded('The tables of the plan have too many columns together', maxColumns, 'columns');
  });
  throwIfAny(parts);
  const lost = await swapReplaced(client, byName, signal);
  await forEachChecked(byName, signal, (part) => addWithheld(client, part));
  throwIfAny(parts);
  const loaded: LoadedTable[] = [];
  for (const part of parts) {
    const upload = part.loaded!;
    const described = await describeLoaded(client, part.request, part.context.extraFunctions);
    loaded.push({ result: resultOf(upload, described, lost.get(part) ?? []), input: upload.input });
  }
  committing(loaded);
  await endUnlessRenamed(edges, versions);
  return loaded;
}

/** Reads the versions of the schemas, before a statement names a table in them. */
async function readVersions(client: ClientBase, parts: Part[]): Promise<Map<string, string | undefined>> {
  const versions = new Map<string, string | undefined>();
  for (const schema of new Set(parts.map((part) => part.schema))) {
    const { rows } = await client.query<{ version: string }>(readSchemaVersion(schema));
    versions.set(schema, rows[0]?.version);
  }
  return versions;
}

/** Finds the tables of the plan to which each table refers. */
async function findReferences(client: ClientBase, parts: Part[]): Promise<void> {
  const sent = parts.map(({ isExisting, definition }) => (isExisting ? [] : sentTargets(definition)));
  const added = sent.flatMap((targets, from) => targets.map((target) => ({ from, ...target })));
  const found = await readReferencesAmong(client, parts, added);
  const places = new Map(parts.map(({ schema, name }, place) => [tableKey(schema, name), place]));
  // The catalogue does not have new tables yet.
  const named = added.map(({ from, schema, table }) => ({ from, to: places.get(tableKey(schema, table)) }));
  const references = [...named, ...found];
  for (const [place, part] of parts.entries()) {
    const others = new Set(references.filter(({ from }) => from === place).map(({ to = place }) => to));
    others.delete(place);
    part.refersTo = [...others].map((other) => parts[other]!);
  }
}

/** Loads one table. If this fails, everything that it did is undone. */
async function loadPart(client: ClientBase, part: Part, parts: Part[]): Promise<void> {
  const { request, context, inferred, isExisting } = part;
  // The table refers to one that is not loaded because something failed, so nearly all of its rows would look wrong.
  if (isExisting && part.refersTo.some(({ loaded }) => loaded === undefined) && parts.some(hasFailed)) return;
  const later = part.refersTo.filter(({ loaded }) => loaded === undefined || loaded.target.replaces);
  const keys = new Set(later.map(({ schema, name }) => tableKey(schema, name)));
  part.withheld = isExisting ? [] : sentForeignKeys(part.definition, keys);
  const definition = withoutForeignKeys(part.definition, part.withheld);
  part.loaded = await part.withInput(definition, (unread) =>
    withSecondReading(() =>
      withSavepoint(client, 'table', async () => {
        const input = await inNotations(request, unread, inferred, !isExisting);
        const upload = { context, request, input, mayBeNew: !isExisting, isEmptied: isExisting };
        return fillTable(client, upload, { inferred });
      }),
    ).catch((error: unknown) => {
      throw isExisting ? namingLaterTables(error, later) : error;
    }),
  );
}

/** Replaces the old tables by the new ones. Returns a warning for each object that a new table does not have. */
async function swapReplaced(
  client: ClientBase,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<Map<Part, Warning[]>> {
  const lost = new Map<Part, Warning[]>();
  const replaced = parts.filter(({ loaded }) => loaded!.target.replaces);
  await lockExclusively(client, replaced, signal);
  for (const part of replaced) {
    const target = part.loaded!.target;
    if (target.isNew)
      lost.set(part, await namingTable(part, signal, () => swapWithin(client, target, part.context)));
  }
  return lost;
}

function hasFailed({ error }: Part): boolean {
  return error !== undefined;
}

async function addWithheld(client: ClientBase, { withheld, request, context }: Part): Promise<void> {
  if (withheld.length === 0) return;
  const { schema, name, signal, admitSchema } = request;
  const { lockTimeoutMs = 0, statementTimeoutMs = 0 } = context.transaction;
  const { extraFunctions } = context;
  const limits = { signal, lockTimeoutMs, statementTimeoutMs };
  // Problems may show rows of the table, because the caller has sent all of them.
  await addForeignKeys(client, withheld, {
    schema,
    name,
    admitSchema,
    extraFunctions,
    mayRead: true,
    ...limits,
  });
}

/** Does work for each table. An error about one table is kept, and the others are still checked. */
async function forEachChecked(
  parts: readonly Part[],
  signal: AbortSignal,
  work: (part: Part) => Promise<void>,
): Promise<void> {
  for (const part of parts) {
    try {
      await work(part);
    } catch (error) {
      if (!isOfOneTable(error)) await namingTable(part, signal, () => Promise.reject(error));
      part.error = error as AppError;
    }
  }
}

function throwIfAny(parts: readonly Part[]): void {
  const failed = parts.flatMap((table) => (table.error === undefined ? [] : { table, error: table.error }));
  if (failed.length > 0) throw errorOfTables(failed);
}
