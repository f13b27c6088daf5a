/** A table of a plan: as it was planned, and while it is loaded. */
import type { AppError } from '../../../core/errors.ts';
import type { TypeInference } from '../../../encoding/infer/infer-types.ts';
import type { LoadedUpload } from '../end-load.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import type { LoadContext, LoadRequest } from '../request/load-request.ts';

/** One table of a plan. No other table of the plan has the same schema and name. */
export interface PlannedTable {
  request: LoadRequest;
  /** The definition that was sent, which nothing has checked yet; undefined: none. */
  definition: unknown;
  /** Opens the rows for `use`, and closes them. It may be called several times, so that not all files are open at once. */
  withInput<Result>(definition: unknown, use: (input: LoadInput) => Promise<Result>): Promise<Result>;
}

/** A table while it is loaded. */
export interface Part extends PlannedTable {
  /** Its number in the plan, from 1. */
  part: number;
  schema: string;
  name: string;
  context: LoadContext;
  /** The rows are added to an existing table, which may be emptied before (`if_exists` is not `replace`). */
  isExisting: boolean;
  inferred: TypeInference | undefined;
  /** The other tables of the plan to which its foreign keys refer. */
  refersTo: Part[];
  /** The foreign keys that are added after all tables are loaded. */
  withheld: unknown[];
  loaded: LoadedUpload | undefined;
  error: AppError | undefined;
}
