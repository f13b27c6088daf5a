/** Maps the style index of a cell to the meaning of its number format. */

import { builtInFormat, type NumberFormat, PLAIN } from './number-formats.ts';

export interface Styles {
  /** The meaning (number-formats.ts) by style index. A damaged file may name an index that does not exist. */
  meanings: Uint8Array;
  /** The masks by style index, for formats that pad with zeros. */
  masks: (Buffer | undefined)[];
  /** The sections by style index, for formats whose meaning depends on the number. */
  sections: (ValueSection[] | undefined)[];
}

/** A `FormatSection` with its mask as bytes. */
export interface ValueSection {
  operator: string;
  operand: number;
  meaning: number;
  mask: Buffer | undefined;
}

/** The maximum number of styles. A workbook with more is refused. Excel allows 65,490 cell formats. */
export const maxStyles = 100_000;

/** The styles of a workbook without any. A cell that names no style has the style 0, so it always exists. */
export const withoutStyles: Styles = { meanings: new Uint8Array([PLAIN]), masks: [], sections: [] };

/**
 * Returns the styles for a list of format ids.
 *
 * @param formatIds the formats in the order of the style indexes
 * @param custom the formats that the workbook itself defines
 */
export function toStyles(formatIds: number[], custom: Map<number, NumberFormat>): Styles {
  if (formatIds.length === 0) return withoutStyles;
  return stylesOf(formatIds.map((id) => custom.get(id) ?? builtInFormat(id)));
}

/**
 * Returns the styles for a list of formats.
 *
 * @param formats the formats in the order of the style indexes
 */
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
