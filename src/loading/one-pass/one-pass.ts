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
import { ReadAgain } from '../../sources/row-source.ts';
import type { Inferring } from '../infer-definition.ts';
import type { TypeInference } from '../infer-types.ts';
import { wrapInput } from '../inputs/wrap-input.ts';
import type { HeadSize, LoadInput } from '../load-input.ts';
import { TeeSink } from './tee-sink.ts';

/** A longer head has the types of all rows more often. A shorter head takes less time. */
export const usualHead: HeadSize = { bytes: 1024 * 1024, cells: 50_000 };

export interface OnePassOptions {
  headSize: HeadSize;
  signal: AbortSignal;
  beginInference: () => Inferring;
  /**
   * Returns the types if a table can have them.
   *
   * @throws AppError `invalid-data`, `nothing-to-load`
   */
  endInference: (inferring: Inferring) => TypeInference;
}

/**
 * The result if everything is done. If not, `inferred` has the types for a second pass, or is undefined if both passes must be
 * done.
 */
export type Outcome<Result> = { result: Result } | { inferred: TypeInference | undefined };

/**
 * Tries to load the rows in one pass.
 *
 * @param load loads the input in a transaction of its own, which it rolls back if the input throws. `inferred` returns the types of the
 *   head, and after the pass those of all rows
 */
export async function loadInOnePass<Result>(
  input: LoadInput,
  options: OnePassOptions,
  load: (input: LoadInput, inferred: () => TypeInference) => Promise<Result>,
): Promise<Outcome<Result>> {
  const head = options.beginInference();
  const part = await input.readHead?.(head.inference, options.headSize, options.signal);
  if (part === undefined) return { inferred: undefined };
  if (part === 'whole') return { inferred: options.endInference(head) };
  if (!isLoadable(head, options)) return { inferred: undefined };

  const pass = new OnePass(input, head.inference, options);
  try {
    return { result: await load(pass.input, () => pass.inferred) };
  } catch (error) {
    options.signal.throwIfAborted();
    // Perhaps the table cannot have the columns of the head, but can have those of all rows.
    if (error instanceof ReadAgain || !pass.hasBegun) return { inferred: undefined };
    if (error instanceof TypesDiffer) return { inferred: options.endInference(pass.inferring!) };
    throw error;
  }
}

function isLoadable(head: Inferring, { endInference }: OnePassOptions): boolean {
  try {
    endInference(head);
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

class OnePass {
  /** The first pass over this input also infers types. It throws `TypesDiffer` at its end if they are not those of the head. */
  readonly input: LoadInput;
  inferring: Inferring | undefined;
  readonly #head: TypeInference;
  #tee: TeeSink | undefined;

  constructor(input: LoadInput, head: TypeInference, { beginInference }: OnePassOptions) {
    this.#head = head;
    this.input = wrapInput(input, {
      keepsRows: true,
      through: (encoder) => {
        if (this.#tee !== undefined) return encoder;
        this.inferring = beginInference();
        this.#tee = new TeeSink(this.inferring.inference, encoder, head);
        return this.#tee;
      },
      afterPass: () => {
        // A definition that comes after the rows decides the types.
        if (input.definition !== undefined || !this.#tee!.hasAgreed()) throw new TypesDiffer();
      },
      warnings: () => [],
    });
  }

  get hasBegun(): boolean {
    return this.#tee !== undefined;
  }

  /** The types of the head, or after the pass those of all rows. */
  get inferred(): TypeInference {
    return this.inferring?.inference ?? this.#head;
  }
}
