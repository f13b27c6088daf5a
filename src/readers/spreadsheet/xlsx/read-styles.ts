/** Reads what numbers mean from the styles part of an .xlsx workbook. */

import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { type NumberFormat, parseFormatCode } from '../values/number-formats.ts';
import { maxStyles, type Styles, toStyles } from '../values/styles.ts';

/**
 * Reads `numFmts` and `cellXfs` (ECMA-376 part 1, 18.8). `cellStyleXfs` is not read, because its styles do not apply to cells.
 */
export async function readStyles(container: ZipContainer, part: ZipPart): Promise<Styles> {
  const custom = new Map<number, NumberFormat>();
  const formatIds: number[] = [];
  await readSmallPart(container, part, (tag, path) => {
    if (path === 'styleSheet/numFmts/numFmt') {
      custom.set(Number(attributeOf(tag, 'numFmtId')), parseFormatCode(attributeOf(tag, 'formatCode') ?? ''));
    } else if (path === 'styleSheet/cellXfs/xf') {
      if (formatIds.length === maxStyles)
        throw limitExceeded('The workbook has too many styles', maxStyles, 'styles');
      formatIds.push(Number(attributeOf(tag, 'numFmtId') ?? 0));
    }
  });
  return toStyles(formatIds, custom);
}
