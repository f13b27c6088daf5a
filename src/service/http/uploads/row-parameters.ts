/** Defines the parameters that say what happens to rows with problems. */
import Type, { type Static } from 'typebox';
import { wrongParameter } from '../../../core/errors.ts';
import { choice } from '../query.ts';

/**
 * The default of `max_faulty_rows`. An answer lists as many problems, so that by default it names each row that is left out.
 */
const defaultMaxFaultyRows = 100;

export const rowParameters = {
  faulty_rows: choice(['fail', 'leave_out'], {
    default: 'fail',
    description:
      'What to do with rows that have a problem: in a cell, by a key, reference or CHECK, or because a trigger refuses them. `fail`: nothing is loaded. `leave_out`: these rows are left out and all others are loaded. `load.rows_left_out` counts the rows that were left out, and `load.left_out` lists their problems. Of several rows with the same key, the first one without another problem stays.',
  }),
  max_faulty_rows: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `With \`faulty_rows=leave_out\`: the most rows that may be left out. If more rows have problems, nothing is loaded. Default: ${defaultMaxFaultyRows}.`,
    }),
  ),
};

const rowQuery = Type.Object(rowParameters);

/**
 * Reads `faulty_rows` and `max_faulty_rows`.
 *
 * @returns the most rows that may be left out; undefined: no row may be left out
 * @throws AppError `invalid-parameter`
 */
export function maxFaultyRowsOf(query: Static<typeof rowQuery>): number | undefined {
  const { faulty_rows, max_faulty_rows } = query;
  if (faulty_rows === 'leave_out') return max_faulty_rows ?? defaultMaxFaultyRows;
  if (max_faulty_rows === undefined) return undefined;
  throw wrongParameter('max_faulty_rows', 'max_faulty_rows needs faulty_rows=leave_out.');
}
