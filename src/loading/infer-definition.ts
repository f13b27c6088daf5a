/** Infers columns from all rows, for a new table without a definition or for columns that are added to a table. */
import { AppError, type Warning, wrongParameter } from '../errors.ts';
import { withSecondReading } from '../sources/row-source.ts';
import { didYouMean } from '../tables/identifiers.ts';
import { looseName } from './column-matching.ts';
import { headerOfValues } from './header-of-values.ts';
import { type InferredColumn, TypeInference } from './infer-types.ts';
import { mixedColumns, otherReadings, unfitNames } from './inferred-columns.ts';
import type { LoadInput } from './load-input.ts';
import type { LoadContext, LoadRequest } from './load-request.ts';
import type { LoadTarget } from './load-target.ts';
import { addedColumn } from './load-warnings.ts';
import { nothingToLoad } from './nothing-to-load.ts';
import { addRowFault, headerProblems, Problems, shortenValue } from './problems.ts';

/**
 * Infers types if a table will be created without a definition, or if columns may be added. Otherwise returns undefined.
 *
 * @param mayBeNew a table may be created
 * @throws AppError `invalid-data`, `nothing-to-load`
 */
export async function inferWhereNeeded(
  context: LoadContext,
  request: LoadRequest,
  input: LoadInput,
  mayBeNew: boolean,
): Promise<TypeInference | undefined> {
  const isNeeded = request.extraColumns === 'add' || (mayBeNew && input.definition === undefined);
  if (!isNeeded) return undefined;
  const inferring = await withSecondReading(async () => {
    const begun = beginInference(context, input);
    await input.readAndKeep(begun.inference, request.signal);
    return begun;
  });
  return endInference(inferring, input, mayBeNew);
}

/** An inference of types, and the rows that it could not read. */
export interface Inferring {
  inference: TypeInference;
  faultyRows: Problems;
}

export function beginInference({ limits }: LoadContext, input: LoadInput): Inferring {
  // The pass that loads the rows finds these problems again, together with all others. Here they matter only if there is nothing to load.
  const faultyRows = new Problems();
  const inference = new TypeInference(limits, (row, column, _name, fault, bytes, start, end) => {
    if (column < 0) addRowFault(faultyRows, input.locate, row, fault, bytes, start, end);
  });
  return { inference, faultyRows };
}

/**
 * Returns the inferred types, after the rows were read.
 *
 * @param mayBeNew a table may be created
 * @throws AppError `invalid-data` if no table can have the columns; `nothing-to-load`
 */
export function endInference(
  { inference, faultyRows }: Inferring,
  input: LoadInput,
  mayBeNew: boolean,
): TypeInference {
  const unfit = new Problems();
  for (const problem of unfitNames(inference, input.locate)) unfit.add(problem);
  if (unfit.count > 0) for (const problem of headerProblems(input)) unfit.add(problem);
  unfit.throwIfAny();
  if (mayBeNew && input.definition === undefined && inference.columns().length === 0) {
    faultyRows.throwIfAny();
    throw nothingToLoad(input);
  }
  return inference;
}

/** Returns the sent definition with the inferred columns that it lacks. Without a definition it has all inferred columns. */
export function definitionToMake(
  { extraColumns, primaryKey }: LoadRequest,
  input: LoadInput,
  inferred: TypeInference | undefined,
): unknown {
  const columns = inferred?.columns().map(({ name, type }) => ({ name, type })) ?? [];
  const sent = input.definition;
  if (sent === undefined) return { columns, ...keyOf(primaryKey, columns, input) };
  if (primaryKey !== undefined) {
    const detail =
      'A definition has the primary key in `constraints.primary_key`: leave the parameter `primary_key` out.';
    throw wrongParameter('primary_key', detail);
  }
  return extraColumns === 'add' ? extendDefinition(sent, columns, input) : sent;
}

/**
 * Returns the primary key of the definition.
 *
 * @throws AppError `invalid-parameter` if the data has no such column
 */
function keyOf(
  primaryKey: readonly string[] | undefined,
  columns: { name: string }[],
  { nameMatching }: LoadInput,
): { constraints?: unknown } {
  if (primaryKey === undefined) return {};
  const names = columns.map(({ name }) => name);
  const found = primaryKey.map((wanted) => {
    const isSame = (name: string) => nameMatching === 'loose' && looseName(name) === looseName(wanted);
    const name = names.includes(wanted) ? wanted : names.find(isSame);
    if (name !== undefined) return name;
    const shown = names.slice(0, 20).map((known) => `"${shortenValue(known)}"`);
    const more = names.length > shown.length ? ', …' : '';
    const detail = `The data has no column "${shortenValue(wanted)}".${didYouMean(wanted, names, 0)} Its columns are ${shown.join(', ')}${more}.`;
    throw wrongParameter('primary_key', detail);
  });
  return { constraints: { primary_key: { name: '', columns: found } } };
}

/** Changes an error about the primary key into an error about the parameter, because the caller sent no definition. */
export function asKeyProblem(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'invalid-definition') return error;
  const problem = error.errors?.find(({ pointer }) => pointer?.startsWith('/table/constraints/primary_key'));
  return problem === undefined
    ? error
    : wrongParameter('primary_key', `No primary key can have these columns: ${problem.detail}.`);
}

/**
 * Adds the inferred columns to the sent definition. An invalid definition is returned unchanged, because the checks refuse it
 * later.
 */
function extendDefinition(sent: unknown, columns: { name: string }[], input: LoadInput): unknown {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return sent;
  const { columns: defined = [] } = sent as DefinedColumns;
  if (!Array.isArray(defined)) return sent;
  const added = columnsBeside(namesOf(sent as DefinedColumns), columns, input);
  return { ...sent, columns: [...defined, ...added] };
}

/** A definition may have constraints alone, if all columns are inferred. */
interface DefinedColumns {
  columns?: { name?: unknown }[];
}

function namesOf({ columns = [] }: DefinedColumns): string[] {
  return columns.map((column) => String(column?.name));
}

/** Returns the warnings about inferred columns: those that an existing table or the definition lacks, or all of them. */
export function inferredColumnWarnings(
  inferred: TypeInference | undefined,
  input: LoadInput,
  target: LoadTarget,
): Warning[] {
  if (inferred === undefined) return [];
  const made = columnsMade(inferred, input, target);
  const isAdded = !target.isBare;
  const headerRow = isAdded || input.definition !== undefined ? undefined : input.reading?.headerRow;
  return [
    ...(isAdded ? made.map(addedColumn) : []),
    ...headerOfValues(made, headerRow),
    ...mixedColumns(made, input.locate),
    ...otherReadings(made, input.locate),
  ];
}

function columnsMade(inferred: TypeInference, input: LoadInput, target: LoadTarget): InferredColumn[] {
  const columns = inferred.columns();
  if (!target.isBare) return columns.filter(({ name }) => target.added.includes(name));
  if (input.definition === undefined) return columns;
  return columnsBeside(namesOf(input.definition as DefinedColumns), columns, input);
}

/** Returns the columns that are not among the known ones. */
export function columnsBeside<Column extends { name: string }>(
  known: string[],
  columns: Column[],
  input: LoadInput,
): Column[] {
  const isLoose = input.nameMatching === 'loose';
  const names = new Set(isLoose ? known.map(looseName) : known);
  return columns.filter((column) => !names.has(isLoose ? looseName(column.name) : column.name));
}
