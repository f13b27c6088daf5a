/** Loads an upload, and widens columns of the table whose types its values do not fit (`misfits=widen`). */
import { AppError } from '../../../core/errors.ts';
import { MisfitsFound, type Widening } from '../../../encoding/widening/misfits.ts';

/**
 * What a load does with values that do not fit the table: `seek`: it looks for wider types, and throws `MisfitsFound` after the last row. A list: it
 * first gives these types to the columns. undefined: the values are problems.
 */
export type WideningStep = 'seek' | Widening[] | undefined;

/** Thrown if a column has another type than the one from which it was to be widened, because another session has changed it. */
export class TypesChanged extends Error {
  override name = 'TypesChanged';
}

/** How often the rows are read again because another session has changed the types, for example with another such upload. */
const maxTries = 5;

/**
 * Loads the rows. If values do not fit, the transaction is rolled back, and another one locks the table, widens it and loads the rows again.
 * So the types are known before the table is locked, and the lock is never strengthened, because that would deadlock two uploads.
 *
 * @throws the errors of `load`; AppError `write-conflict` if other sessions change the types again and again
 */
export async function widenWhereNeeded<Result>(
  load: (step: WideningStep) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await load('seek');
    } catch (found) {
      if (!(found instanceof MisfitsFound)) throw found;
      try {
        return await load(found.widenings);
      } catch (error) {
        if (!(error instanceof TypesChanged)) throw error;
        if (tries === maxTries) throw changedAgain(error);
      }
    }
  }
}

function changedAgain(cause: unknown): AppError {
  const detail = 'Other sessions kept changing the types of the table. Send the request again.';
  return new AppError('write-conflict', detail, { cause });
}
