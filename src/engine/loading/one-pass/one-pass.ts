/**
 * Loads rows without a definition in one pass over them.
 *
 * The types of the columns are inferred from all rows. Without this folder each upload is read twice: to infer the types, and to load the
 * rows. But all rows nearly always have the types that the first rows have (the head). So the table is created with the types of the
 * head, and one pass gives each cell to two sinks: one encodes it for this table, and the other infers types from all rows, as always. If
 * both have the same types at the end, the load is done.
 *
 * If a row needs another type, the encoder stops before it, and the pass finds the types of all rows. If PostgreSQL can convert the rows
 * that the table has without loss, it does so (table-change.ts), and a second pass copies the rows from that one on. If not, everything is
 * rolled back, and a second pass copies all rows.
 *
 * The table, the rows and the warnings are always those of two passes, and so are the errors of the data.
 */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { ReadAgain } from '../../../core/cells/row-source.ts';
import { AppError } from '../../../core/errors.ts';
import type { InferenceLimits, TypeChoices, TypeInference } from '../../../encoding/infer/infer-types.ts';
import type { HeadSize, LoadInput } from '../inputs/load-input.ts';
import { inferredNotations, readInferred } from '../inputs/read-naturally.ts';
import { type InputWrapper, wrapInput } from '../inputs/wrap-input.ts';
import { Inferring } from '../target/infer-definition.ts';
import { changeOfTable, type TableChange } from '../target/table-change.ts';
import { RestSink } from './rest-sink.ts';
import { TeeSink } from './tee-sink.ts';
import { TypesDiffer } from './types-differ.ts';

/** The size of the head. A longer head has the types of all rows more often. A shorter one takes less time. */
export const usualHead: HeadSize = { bytes: 1024 * 1024, cells: 50_000 };

export interface OnePassOptions {
  headSize: HeadSize;
  choices: TypeChoices;
  limits: InferenceLimits;
  signal: AbortSignal;
}

/** The types of a new table. */
export interface TableTypes {
  /** The inferred types. Before the rows are loaded in one pass they are the types of the first rows. undefined: none are inferred. */
  readonly inferred: TypeInference | undefined;
  /** undefined: the types are those of all rows. */
  readonly changing?: ChangingTypes;
}

/** The types of a table whose rows are loaded in one pass. */
export interface ChangingTypes {
  /** Set this before the rows are read, if the table can be changed after them. If it is false, a pass whose types differ throws `TypesDiffer`. */
  mayChange: boolean;
  /** How the table gets the types of all rows, known after the rows were read; undefined: it already has these types. */
  readonly change: TableChange | undefined;
  /** The rows that must still be copied after the change. */
  readonly rest: LoadInput;
}

/**
 * The result of the load if one pass was enough. Otherwise `inferred` has the types for a second pass; if it is undefined, the rows
 * must be read twice, to infer the types and to load them.
 */
export type Outcome<Result> = { result: Result } | { inferred: TypeInference | undefined };

/**
 * Tries to load the rows in one pass.
 *
 * @param load loads the input in a transaction of its own, which it rolls back if the input throws
 */
export async function loadInOnePass<Result>(
  input: LoadInput,
  { headSize, limits, choices, signal }: OnePassOptions,
  load: (input: LoadInput, types: TableTypes) => Promise<Result>,
): Promise<Outcome<Result>> {
  const head = new Inferring(limits, input, choices);
  const part = await input.readHead?.(head.inference, headSize, signal);
  if (part === undefined) return { inferred: undefined };
  if (part === 'whole') return { inferred: head.end(true) };
  if (!isLoadable(head)) return { inferred: undefined };

  const pass = new OnePass(input, head.inference, limits, choices);
  try {
    return { result: await load(pass.input, pass) };
  } catch (error) {
    signal.throwIfAborted();
    // The head failed, for example because it has too many columns. All rows may still have types with which the load succeeds.
    if (error instanceof ReadAgain || pass.inferring === undefined) return { inferred: undefined };
    if (error instanceof TypesDiffer) return { inferred: pass.inferring.end(true) };
    throw error;
  }
}

/** Returns whether a table with the types of the head can be created. */
function isLoadable(head: Inferring): boolean {
  try {
    head.end(true);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

class OnePass implements TableTypes, ChangingTypes, InputWrapper {
  /**
   * The first pass over this input also infers types. If they are not those of the head, and the table cannot get them by `change`, the
   * pass throws `TypesDiffer` at its end.
   */
  readonly input: LoadInput;
  readonly keepsRows = true;
  /** undefined: the pass has not begun. */
  inferring: Inferring | undefined;
  mayChange = false;
  change: TableChange | undefined;
  readonly #original: LoadInput;
  readonly #head: TypeInference;
  readonly notationOf: InputWrapper['notationOf'];
  readonly #limits: InferenceLimits;
  readonly #choices: TypeChoices;
  #tee: TeeSink | undefined;

  constructor(input: LoadInput, head: TypeInference, limits: InferenceLimits, choices: TypeChoices) {
    this.#original = input;
    this.#head = head;
    this.notationOf = inferredNotations(head);
    this.#limits = limits;
    this.#choices = choices;
    this.input = wrapInput(input, this);
  }

  get inferred(): TypeInference {
    return this.inferring?.inference ?? this.#head;
  }

  get changing(): ChangingTypes {
    return this;
  }

  get rest(): LoadInput {
    const row = this.#tee!.differingRow!;
    return wrapInput(this.#original, {
      through: (sink) => new RestSink(this.#natural(sink), row),
      warnings: () => [],
    });
  }

  through(encoder: CellSink): CellSink {
    if (this.#tee !== undefined) return encoder;
    this.inferring = new Inferring(this.#limits, this.#original, this.#choices);
    this.#tee = new TeeSink(this.inferring.inference, this.#natural(encoder), this.#head);
    return this.#tee;
  }

  /** Reads the cells for the encoder in the notations of the head. The inference gets the texts of the rows. */
  #natural(encoder: CellSink): CellSink {
    return readInferred(encoder, this.#head, this.#choices);
  }

  afterPass(): void {
    // A definition that comes after the rows decides the types, so the inferred ones cannot be used.
    if (this.#original.definition !== undefined) throw new TypesDiffer();
    const tee = this.#tee!;
    if (tee.hasAgreed()) return;
    const row = tee.differingRow;
    if (this.mayChange && row !== undefined)
      this.change = changeOfTable(this.#head.columns(), this.inferred, row);
    if (this.change === undefined) throw new TypesDiffer();
  }

  warnings(): [] {
    return [];
  }
}
