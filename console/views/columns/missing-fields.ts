/** The fields for rows of the table that the file does not have. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { canMissRows, markColumns } from '../../derived/missing-rows.ts';
import type { MissingRows, State } from '../../state.ts';
import { field, select, textInput } from '../parts.ts';

const choices: [MissingRows['action'], string][] = [
  ['keep', 'stay'],
  ['delete', 'are deleted'],
  ['mark', 'are marked in a column'],
];

export function missingFields(state: State, actions: Actions): (VNode | false)[] {
  if (!canMissRows(state)) return [];
  const { missing } = state.rows;
  const { action, column, max, within } = missing;
  const change = (to: Partial<MissingRows>) => actions.changeRows({ missing: { ...missing, ...to } });
  const columns = ['', ...markColumns(state)].map((name) => [name, name || 'Choose a column'] as const);
  return [
    field(
      'Rows of the table that the file does not have',
      select(action, choices, (to) => change({ action: to }), { name: 'missing_rows' }),
    ),
    action === 'mark' &&
      field(
        'Column that marks them',
        select(column, columns, (to) => change({ column: to }), { name: 'missing_column' }),
        'A boolean, a date or a timestamp',
      ),
    action !== 'keep' &&
      field(
        'At most so many',
        textInput(max, (to) => change({ max: to }), { name: 'max_missing_rows', placeholder: '10%' }),
        'A number of rows, or a share of the table',
      ),
    action !== 'keep' &&
      field(
        'Only rows whose values in these columns are in the file',
        textInput(within, (to) => change({ within: to }), {
          name: 'missing_within',
          placeholder: 'region,month',
        }),
        'If the file is a part of the table. Separated by commas',
      ),
  ];
}
