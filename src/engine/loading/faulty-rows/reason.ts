/** Makes the text in the column with the reasons from the problems of a row. */

import { cutText } from '../../../core/cut-text.ts';
import type { Problem } from '../../../core/errors.ts';

/** The reasons of one row have at most about this many characters, because a cell of a workbook has at most 32,767. */
const maxCharacters = 4000;

export function reasonOf(problems: readonly Problem[]): string {
  const reasons: string[] = [];
  let length = 0;
  for (const { column, value, detail } of problems) {
    // The file has the value of a cell, but not a row that is no object.
    const ofRow = value === undefined ? detail : `${detail}: ${value}`;
    const reason = cutText(column === undefined ? ofRow : `${column}: ${detail}`, maxCharacters);
    if (length > 0 && length + reason.length > maxCharacters) break;
    length += reason.length;
    reasons.push(reason);
  }
  const more = problems.length - reasons.length;
  return reasons.join('; ') + (more > 0 ? `; and ${more} more problems` : '');
}
