/** Reads the parameters about rows of the table that the upload does not have: `missing_rows`, `max_missing_rows`, `missing_within`. */
import { wrongParameter } from '../../../core/errors.ts';
import type { MissingRows } from '../../../engine/loading/request/load-request.ts';
import { namesIn } from './column-parameters.ts';
import type { UploadQuery } from './parameters.ts';
import { rowLimitOf } from './row-limit-parameter.ts';
import { splitList } from './split-list.ts';

/** What the request says about missing rows. */
export type MissingChoices = Omit<MissingRows, 'areKeysShown'>;

/**
 * @returns undefined: the rows are kept, and not counted
 * @throws AppError `invalid-parameter`
 */
export function missingRowsOf(
  query: Pick<
    UploadQuery,
    'missing_rows' | 'max_missing_rows' | 'missing_within' | 'on_conflict' | 'if_exists'
  >,
): MissingChoices | undefined {
  const { missing_rows, max_missing_rows, missing_within, on_conflict, if_exists } = query;
  const { action, column } = actionOf(missing_rows);
  if (max_missing_rows !== undefined && action === 'keep') {
    const detail = 'max_missing_rows needs missing_rows=delete or missing_rows=mark:<column>.';
    throw wrongParameter('max_missing_rows', detail);
  }
  if (missing_within !== undefined && missing_rows === undefined)
    throw wrongParameter('missing_within', 'missing_within needs missing_rows.');
  if (on_conflict === 'fail' || if_exists !== 'append') {
    if (action === 'keep') return undefined;
    const detail = `missing_rows=${action} needs if_exists=append and on_conflict=update or skip, because it compares the rows of an existing table by their key.`;
    throw wrongParameter('missing_rows', detail, on_conflict === 'fail' ? { code: 'no-key' } : {});
  }
  if (missing_rows === undefined) return undefined;
  const within = namesIn('missing_within', missing_within) ?? [];
  return {
    action,
    ...(column !== undefined && { column }),
    max: rowLimitOf(max_missing_rows ?? '10%'),
    within,
  };
}

function actionOf(text = 'keep'): Pick<MissingRows, 'action' | 'column'> {
  if (text === 'keep' || text === 'delete') return { action: text };
  const [action, column, ...more] = splitList(text, ':');
  if (action === 'mark' && column && more.length === 0) return { action, column };
  const detail =
    'missing_rows must be keep, delete or mark:<column>, as in missing_rows=mark:is_gone. Write a backslash before a colon or backslash in the name.';
  throw wrongParameter('missing_rows', detail, { value: text });
}
