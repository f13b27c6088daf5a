/** Returns the cell that `@e965/xlsx` should give by the rules of docs/spreadsheets.md, in the form of recorded-cells.ts. */
import { type CellObject, SSF } from '@e965/xlsx';

export interface OracleCell {
  text: string;
  /** The change that a rule made to the value of the library. */
  note?: string;
}

const errorTexts: Record<number, string> = {
  0: '#NULL!',
  7: '#DIV/0!',
  15: '#VALUE!',
  23: '#REF!',
  29: '#NAME?',
  36: '#NUM!',
  42: '#N/A',
  43: '#GETTING_DATA',
};

/** Returns undefined for a cell without content. */
export function describeOracleCell(cell: CellObject | undefined, is1904: boolean): OracleCell | undefined {
  if (!cell || cell.t === 'z' || cell.v === undefined || cell.v === '') {
    const isFormula = cell?.f !== undefined && cell.v === undefined;
    return isFormula ? { text: 'fault FORMULA_WITHOUT_VALUE' } : undefined;
  }
  switch (cell.t) {
    case 'n':
      return describeNumber(cell.v as number, (cell.z ?? 'General') as string, is1904);
    case 'b':
      return { text: String(cell.v) };
    case 'e':
      return { text: `fault ERROR_CELL ${errorTexts[cell.v as number] ?? cell.v}` };
    default:
      return { text: `string ${cell.v}` };
  }
}

function describeNumber(value: number, format: string, is1904: boolean): OracleCell {
  // The library's own reading of formats, and its own calendar.
  if (SSF.is_date(format)) return { text: describeDate(value, format, is1904) };
  const isPadded = /^0[0-]*0$/.test(format) && Number.isInteger(value) && value >= 0;
  if (isPadded) return { text: `string ${SSF.format(format, value)}`, note: 'padded with zeros' };
  if (Number.isInteger(value)) return { text: `number ${value}` };
  const rounded = String(Number(value.toPrecision(15)));
  return rounded === String(value)
    ? { text: `number ${value}` }
    : { text: `number ${rounded}`, note: 'rounded to 15 digits' };
}

function describeDate(value: number, format: string, is1904: boolean): string {
  const date = SSF.parse_date_code(value, { date1904: is1904 });
  if (date === null) return `fault SERIAL_OUT_OF_RANGE ${value}`;
  const two = (number: number): string => String(number).padStart(2, '0');
  const fraction = date.u < 1e-6 ? '' : `.${date.u.toFixed(6).slice(2)}`;
  const clock = `${two(date.H)}:${two(date.M)}:${two(date.S)}${fraction}`;
  if (/^(\[\$?-?[\w-]*\])*\[(h+|m+|s+)\]/i.test(format)) return `interval ${Math.floor(value)}d ${clock}`;
  const hasDate = /[yd]/i.test(format.replace(/"[^"]*"|\[[^\]]*\]|AM\/PM|\\./gi, ''));
  if (!hasDate && value < 1) return `time ${clock}`;
  const day = `${String(date.y).padStart(4, '0')}-${two(date.m)}-${two(date.d)}`;
  const hasTime = /[hs]/i.test(format.replace(/"[^"]*"|\[\$[^\]]*\]|\\./gi, '')) || value % 1 !== 0;
  return hasTime ? `timestamp ${day} ${clock}` : `date ${day}`;
}

/** Returns whether a column's name can be made from this header: trimmed, and with a suffix if the header occurs twice. */
export function namesHeader(name: string, header: string): boolean {
  const text = header.replace(/^(number|string|date|time|timestamp|interval|fault \w+) ?/, '').trim();
  const asTimestamp = text.replace(' ', 'T');
  return [text, asTimestamp, text.toUpperCase()].some(
    (wanted) =>
      name === wanted ||
      (name.startsWith(`${wanted}_`) && /_\d+$/.test(name)) ||
      (wanted === '' && /^column_/.test(name)),
  );
}
