/** Infers columns from all rows, for a new table without a definition or for columns that are added to a table. */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { withSecondReading } from '../../../core/cells/row-source.ts';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { didYouMean } from '../../../core/identifiers.ts';
import { looseName } from '../../../encoding/columns/column-matching.ts';
import {
  type InferenceLimits,
  type InferredColumn,
  type TypeChoices,
  TypeInference,
} from '../../../encoding/infer/infer-types.ts';
import { impossibleNames } from '../../../encoding/infer/inferred-columns.ts';
import { addRowFault, headerProblems, Problems, shortenValue } from '../../../encoding/problems/problems.ts';
import { maxColumns } from '../../tables/definition.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { nothingToLoad } from '../inputs/nothing-to-load.ts';
import { columnsToMake, originNames } from '../provenance/provenance.ts';
import type { LoadContext, LoadRequest } from '../request/load-request.ts';
import type { LoadTarget } from './load-target.ts';

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
    const begun = new Inferring(context.limits, input, request.types);
    await input.readAndKeep(begun.inference, request.signal);
    return begun;
  });
  return inferring.end(mayBeNew);
}

/** One inference of types from the rows of an input. */
export class Inferring {
  readonly inference: TypeInference;
  readonly #input: LoadInput;
  /** The problems of single rows are not reported from here, because the pass that loads the rows finds them again. They are needed only if there is nothing to load. */
  readonly #faultyRows = new Problems();

  constructor(limits: InferenceLimits, input: LoadInput, choices: TypeChoices) {
    this.#input = input;
    const onFault: CellSink['fault'] = (column, fault, bytes, start, end) => {
      const { row } = this.inference;
      if (column < 0) addRowFault(this.#faultyRows, input.locate, row, fault, bytes, start, end);
    };
    this.inference = new TypeInference(limits, onFault, choices);
  }

  /**
   * Returns the inferred types, after the rows were read.
   *
   * @param mayBeNew a table may be created
   * @throws AppError `invalid-data` if no table can have the columns; `nothing-to-load`
   */
  end(mayBeNew: boolean): TypeInference {
    const ofNames = new Problems();
    for (const problem of impossibleNames(this.inference, this.#input.locate)) ofNames.add(problem);
    if (ofNames.count > 0) for (const problem of headerProblems(this.#input)) ofNames.add(problem);
    ofNames.throwIfAny();
    if (mayBeNew && this.#input.definition === undefined && this.inference.columns().length === 0) {
      this.#faultyRows.throwIfAny();
      throw nothingToLoad(this.#input);
    }
    return this.inference;
  }
}

/**
 * Returns the sent definition with the inferred columns that it lacks, and with the columns for `provenance`. Without a definition it has
 * all inferred columns.
 */
export function definitionToMake(
  { extraColumns, primaryKey, provenance }: LoadRequest,
  input: LoadInput,
  inferred: TypeInference | undefined,
): unknown {
  const origins = columnsToMake(provenance);
  const ofData = inferred?.columns().map(({ name, type }) => ({ name, type })) ?? [];
  // If the data has a column with such a name, it is refused when the rows are read.
  const columns = columnsBeside(originNames(provenance), ofData, input);
  const sent = input.definition;
  if (sent === undefined) return { columns: [...columns, ...origins], ...keyOf(primaryKey, columns, input) };
  if (primaryKey !== undefined) {
    const detail =
      'A definition has the primary key in `constraints.primary_key`: leave the parameter `primary_key` out.';
    throw wrongParameter('primary_key', detail);
  }
  const extended = extraColumns === 'add' ? extendDefinition(sent, columns, input) : sent;
  const hasColumns = (extended as DefinedColumns | null)?.columns !== undefined;
  return hasColumns ? extendDefinition(extended, origins, { nameMatching: 'exact' }) : extended;
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
  const exact = new Set(names);
  // The first one of several columns with the same loose name is used.
  const loose = new Map(
    nameMatching === 'loose' ? names.toReversed().map((name) => [looseName(name), name]) : [],
  );
  const found = primaryKey.map((wanted) => {
    const name = exact.has(wanted) ? wanted : loose.get(looseName(wanted));
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
function extendDefinition(sent: unknown, columns: { name: string }[], input: Matching): unknown {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return sent;
  const { columns: defined = [] } = sent as DefinedColumns;
  if (!Array.isArray(defined) || defined.length > maxColumns) return sent;
  const added = columnsBeside(namesOf(sent as DefinedColumns), columns, input);
  return { ...sent, columns: [...defined, ...added] };
}

type Matching = Pick<LoadInput, 'nameMatching'>;

/** The part of a definition that inference reads. `columns` may be absent, if the definition has constraints only and all columns are inferred. */
interface DefinedColumns {
  columns?: { name?: unknown }[];
}

function namesOf({ columns = [] }: DefinedColumns): string[] {
  return columns.flatMap((column) => (typeof column?.name === 'string' ? [column.name] : []));
}

/** Returns the inferred columns that the load has made: those that the existing table or the definition did not have. */
export function columnsMade(inferred: TypeInference, input: LoadInput, target: LoadTarget): InferredColumn[] {
  const columns = inferred.columns();
  if (!target.isNew) return columns.filter(({ name }) => target.added.includes(name));
  if (input.definition === undefined) return columns;
  return columnsBeside(namesOf(input.definition as DefinedColumns), columns, input);
}

/** Returns the columns that are not among the known ones. */
export function columnsBeside<Column extends { name: string }>(
  known: string[],
  columns: Column[],
  input: Matching,
): Column[] {
  const isLoose = input.nameMatching === 'loose';
  const names = new Set(isLoose ? known.map(looseName) : known);
  return columns.filter((column) => !names.has(isLoose ? looseName(column.name) : column.name));
}
