/** Finds the type that `misfits=widen` would give a column for one refused value, so that the problem of the value can name this remedy. */
import { FALSE, NUMBER, ROUNDED_NUMBER, STRING, TEXT, TRUE } from '../../core/cells/cell-kind.ts';
import type { LoadColumn } from '../columns/load-column.ts';
import { columnEncoder } from '../encoders/column-encoder.ts';
import { CopyBuffer } from '../encoders/copy-buffer.ts';
import { encodeCell } from '../encoders/encode-cell.ts';
import { losses } from '../encoders/losses.ts';
import { isKept, lossOf } from './kept-values.ts';
import { wideningType, widerTypes } from './wider-types.ts';

const kinds: ReadonlySet<number> = new Set([FALSE, NUMBER, ROUNDED_NUMBER, STRING, TEXT, TRUE]);
/** The maximum length of a value for which a type is searched. */
const maxBytes = 64 * 1024;

/** Returns the end of the problem's detail; '': no wider type stores the value. Arrays get no hint. */
export function hintAtWidening(
  column: LoadColumn,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): string {
  const type = column.type.kind === 'array' ? undefined : wideningType(column);
  if (type === undefined || !kinds.has(kind) || end - start > maxBytes) return '';
  const scratch = new CopyBuffer(1024);
  const noted = losses.ofCell;
  const found = widerTypes(type, column.identity, false, kind, bytes, start, end).find((one) => {
    const encoder = columnEncoder(one)!;
    scratch.rewind();
    losses.ofCell = 0;
    const problem = encodeCell(scratch, encoder, kind, bytes, start, end);
    return problem === 0 && isKept(lossOf(one, encoder), scratch.bytes, 0, kind, bytes, start, end);
  });
  losses.ofCell = noted;
  return found === undefined ? '' : `; misfits=widen would make the column ${found.name}`;
}
