/** The numbers of rows that an upload does not have, in its answer and its event. */
import { optionalInteger } from '../../../engine/tables/name-schemas.ts';

export const missingCounts = {
  missing: optionalInteger(
    'Rows of the table that the upload does not have. Present if `missing_rows` was sent and the rows could be compared.',
  ),
  deleted: optionalInteger('Missing rows that were deleted (`missing_rows=delete`).'),
  marked: optionalInteger('Missing rows that were marked (`missing_rows=mark:…`).'),
  unmarked: optionalInteger('Marked rows that the upload has again. Absent: none.'),
};
