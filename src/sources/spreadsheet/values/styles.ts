/** The styles part as far as it says what numbers mean: style index of a cell → number format. */

import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { limitExceeded } from '../spreadsheet-limits.ts';
import { builtInFormat, type NumberFormat, PLAIN, parseFormatCode } from './number-formats.ts';

export interface Styles {
  /** The meaning (number-formats.ts) by style index; a damaged file may name an index that is not there. */
  meanings: Uint8Array;
  /** By style index, where the format pads with zeros. */
  masks: (Buffer | undefined)[];
  /** By style index, where the number decides. */
  sections: (ValueSection[] | undefined)[];
}

/** As `FormatSection`. */
export interface ValueSection {
  operator: string;
  operand: number;
  meaning: number;
  mask: Buffer | undefined;
}

/** Excel has no more than 65,490 cell formats. */
export const maxStyles = 100_000;

/** Cells name the style 0 if they name none, so that it is there in any workbook. */
export const withoutStyles: Styles = { meanings: new Uint8Array([PLAIN]), masks: [], sections: [] };

/** Reads `numFmts` and `cellXfs` (ECMA-376 part 1, 18.8); the styles of `cellStyleXfs` do not apply to cells. */
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

/** @param formatIds of the cell formats, in the order that cells count them; `custom`: the formats of the workbook itself */
export function toStyles(formatIds: number[], custom: Map<number, NumberFormat>): Styles {
  if (formatIds.length === 0) return withoutStyles;
  return stylesOf(formatIds.map((id) => custom.get(id) ?? builtInFormat(id)));
}

/** @param formats in the order that cells count them */
export function stylesOf(formats: NumberFormat[]): Styles {
  const masks = new Map<string, Buffer | undefined>([['', undefined]]);
  for (const { mask } of formats) if (!masks.has(mask)) masks.set(mask, Buffer.from(mask));
  const sections = new Map<NumberFormat, ValueSection[]>();
  for (const format of formats) {
    if (format.sections.length > 0 && !sections.has(format)) sections.set(format, toSections(format));
  }
  return {
    meanings: Uint8Array.from(formats, (format) => format.meaning),
    masks: formats.map((format) => masks.get(format.mask)),
    sections: formats.map((format) => sections.get(format)),
  };
}

function toSections({ sections }: NumberFormat): ValueSection[] {
  return sections.map(({ operator, operand, meaning, mask }) => ({
    operator,
    operand,
    meaning,
    mask: mask === '' ? undefined : Buffer.from(mask),
  }));
}
