/** The numbers of rows that an upload does not have, in its answer and its event. */
import Type from 'typebox';

export const missingCounts = {
  missing: Type.Optional(
    Type.Integer({
      description:
        'Rows of the table that the upload does not have. Present if `missing_rows` was sent and the rows could be compared.',
    }),
  ),
  deleted: Type.Optional(
    Type.Integer({ description: 'Missing rows that were deleted (`missing_rows=delete`).' }),
  ),
  marked: Type.Optional(
    Type.Integer({ description: 'Missing rows that were marked (`missing_rows=mark:…`).' }),
  ),
};
