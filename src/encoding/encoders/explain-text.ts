/** Says what is wrong with a text, outside of an upload. */
import { TEXT } from '../../core/cells/cell-kind.ts';
import type { ColumnType } from '../columns/load-column.ts';
import { type CellProblem, describeCellProblem } from '../problems/cell-problems.ts';
import { columnEncoder } from './column-encoder.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { encodeCell } from './encode-cell.ts';
import { losses } from './losses.ts';

/** Returns the problem that the text of a file would have in a column of the type; undefined: it would have none, or only PostgreSQL reads the type. */
export function explainText(text: string, type: ColumnType): CellProblem | undefined {
  const encoder = columnEncoder(type);
  if (encoder === undefined) return undefined;
  const bytes = Buffer.from(text);
  const problem = encodeCell(new CopyBuffer(bytes.length + 64), encoder, TEXT, bytes, 0, bytes.length);
  losses.ofCell = 0;
  return problem === 0 ? undefined : describeCellProblem(problem, type);
}
