/**
 * Loads rows without a definition in one pass over them.
 *
 * The types of the columns are inferred from all rows. Without this folder each upload is read twice: to infer the types, and to load the
 * rows. But all rows nearly always have the types that the first rows have (the head). So the table is created with the types of the
 * head, and one pass gives each cell to two sinks: one encodes it for this table, and the other infers types from all rows, as always. If
 * both have the same types at the end, the load is done. If not, everything is rolled back, and the rows are read once more and loaded
 * with the types that this pass has found.
 *
 * The table, the rows and the warnings are always those of two passes, and so are the errors of the data.
 */
import { AppError } from '../../errors.ts';
import type { CellSink } from '../../sources/cell-sink.ts';
import { ReadAgain } from '../../sources/row-source.ts';
import { Inferring } from '../infer-definition.ts';
import type { InferenceLimits, TypeInference } from '../infer-types.ts';
import { type InputWrapper, wrapInput } from '../inputs/wrap-input.ts';
import type { HeadSize, LoadInput } from '../load-input.ts';
import { TeeSink } from './tee-sink.ts';

/** A longer head has the types of all rows more often. A shorter head takes less time. */
export const usualHead: HeadSize = { bytes: 1024 * 1024, cells: 50_000 };

export interface OnePassOptions {
  headSize: HeadSize;
  limits: InferenceLimits;
  signal: AbortSignal;
}

/** The types of a new table. */
export interface TableTypes {
  /** The inferred types. Before the rows are loaded in one pass they are the types of the first rows. undefined: none are inferred. */
  readonly inferred: TypeInference | undefined;
}

/**
 * The result if everything is done. If not, `inferred` has the types for a second pass, or is undefined if both passes must be
 * done.
 */
export type Outcome<Result> = { result: Result } | { inferred: TypeInference | undefined };

/**
 * Tries to load the rows in one pass.
 *
 * @param load loads the input in a transaction of its own, which it rolls back if the input throws
 */
export async function loadInOnePass<Result>(
  input: LoadInput,
  { headSize, limits, signal }: OnePassOptions,
  load: (input: LoadInput, types: TableTypes) => Promise<Result>,
): Promise<Outcome<Result>> {
  const head = new Inferring(limits, input);
  const part = await input.readHead?.(head.inference, headSize, signal);
  if (part === undefined) return { inferred: undefined };
  if (part === 'whole') return { inferred: head.end(true) };
  if (!isLoadable(head)) return { inferred: undefined };

  const pass = new OnePass(input, head.inference, limits);
  try {
    return { result: await load(pass.input, pass) };
  } catch (error) {
    signal.throwIfAborted();
    // Perhaps the table cannot have the columns of the head, but can have those of all rows.
    if (error instanceof ReadAgain || pass.inferring === undefined) return { inferred: undefined };
    if (error instanceof TypesDiffer) return { inferred: pass.inferring.end(true) };
    throw error;
  }
}

/** Returns whether a table can have the types of the head. */
function isLoadable(head: Inferring): boolean {
  try {
    head.end(true);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** The first rows do not have the types of all rows. */
class TypesDiffer extends Error {
  override name = 'TypesDiffer';
  constructor() {
    super('the first rows do not have the types of all rows');
  }
}

class OnePass implements TableTypes, InputWrapper {
  /** The first pass over this input also infers types. It throws `TypesDiffer` at its end if they are not those of the head. */
  readonly input: LoadInput;
  readonly keepsRows = true;
  /** undefined: the pass has not begun. */
  inferring: Inferring | undefined;
  readonly #original: LoadInput;
  readonly #head: TypeInference;
  readonly #limits: InferenceLimits;
  #tee: TeeSink | undefined;

  constructor(input: LoadInput, head: TypeInference, limits: InferenceLimits) {
    this.#original = input;
    this.#head = head;
    this.#limits = limits;
    this.input = wrapInput(input, this);
  }

  get inferred(): TypeInference {
    return this.inferring?.inference ?? this.#head;
  }

  through(encoder: CellSink): CellSink {
    if (this.#tee !== undefined) return encoder;
    this.inferring = new Inferring(this.#limits, this.#original);
    this.#tee = new TeeSink(this.inferring.inference, encoder, this.#head);
    return this.#tee;
  }

  afterPass(): void {
    // A definition that comes after the rows decides the types.
    if (this.#original.definition !== undefined || !this.#tee!.hasAgreed()) throw new TypesDiffer();
  }

  warnings(): [] {
    return [];
  }
}
