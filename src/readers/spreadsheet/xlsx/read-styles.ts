/** Reads what numbers mean from the styles part of an .xlsx workbook. */

import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { StyleReader, type Styles } from '../values/styles.ts';

/**
 * Reads `numFmts` and `cellXfs` (ECMA-376 part 1, 18.8). `cellStyleXfs` is not read, because its styles do not apply to cells.
 */
export async function readStyles(container: ZipContainer, part: ZipPart): Promise<Styles> {
  const reader = new StyleReader();
  await readSmallPart(container, part, (tag, path) => {
    if (path === 'styleSheet/numFmts/numFmt')
      reader.addCode(Number(attributeOf(tag, 'numFmtId')), attributeOf(tag, 'formatCode') ?? '');
    else if (path === 'styleSheet/cellXfs/xf') reader.addStyle(Number(attributeOf(tag, 'numFmtId') ?? 0));
  });
  return reader.styles();
}
