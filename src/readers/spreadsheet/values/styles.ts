/** Maps the style index of a cell to the meaning of its number format. */

import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { forEachInTurns, HEAVY } from '../../../core/pause-for-others.ts';
import { builtInFormat, type NumberFormat, PLAIN, parseFormatCode } from './number-formats.ts';

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
const maxStyles = 100_000;

/** The styles of a workbook without any. A cell that names no style has the style 0, so it always exists. */
export const withoutStyles: Styles = { meanings: new Uint8Array([PLAIN]), masks: [], sections: [] };

/** The limits for the formats that a workbook defines. Excel allows about 250 of at most 255 characters. */
const maxCodes = 10_000;
const maxCodeCharacters = 512 * 1024;

/** The cell formats of a workbook (`cellXfs`), and the number formats that it defines, while they are read. */
export class StyleReader {
  readonly #formatIds: number[] = [];
  readonly #codes = new Map<number, string>();
  #characters = 0;

  /** Adds a number format. @throws AppError `limit-exceeded` */
  addCode(id: number, code: string): void {
    this.#codes.set(id, code);
    this.#characters += code.length;
    if (this.#codes.size > maxCodes)
      throw limitExceeded('The workbook has too many number formats', maxCodes, 'formats');
    if (this.#characters > maxCodeCharacters)
      throw limitExceeded('The number formats of the workbook are too long', maxCodeCharacters, 'characters');
  }

  /** Adds the format of the next style index. @throws AppError `limit-exceeded` */
  addStyle(formatId: number): void {
    if (this.#formatIds.length === maxStyles)
      throw limitExceeded('The workbook has too many styles', maxStyles, 'styles');
    this.#formatIds.push(formatId);
  }

  /** Returns the styles. Only the number formats that a style has are parsed, in turns. */
  async styles(): Promise<Styles> {
    if (this.#formatIds.length === 0) return withoutStyles;
    const formats = new Map<number, NumberFormat>();
    const parse = (id: number) => {
      const code = this.#codes.get(id);
      formats.set(id, code === undefined ? builtInFormat(id) : parseFormatCode(code));
    };
    await forEachInTurns([...new Set(this.#formatIds)], parse, () => HEAVY);
    return stylesOf(this.#formatIds.map((id) => formats.get(id)!));
  }
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
