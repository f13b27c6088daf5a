/** What the styles of cells say numbers mean: style index of a cell → number format. */

import { builtInFormat, type NumberFormat, PLAIN } from './number-formats.ts';

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
