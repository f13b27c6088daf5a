/**
 * Writes kept rows as CSV (RFC 4180). A text file gets the delimiter and the quotes that give the same cells with the same parameters: a field
 * in quotes is not always the same as one without. In other files each text is in quotes, as in exports.
 */
import { COMMA, CR, HASH, LF, QUOTE, SPACE, TAB } from '../../../core/bytes/ascii.ts';
import { FALSE, NULL, NUMBER, ROUNDED_NUMBER, STRING, TEXT, TRUE } from '../../../core/cells/cell-kind.ts';
import { problemColumn } from '../../../core/identifiers.ts';
import type { Chunks } from '../../tables/export/chunks.ts';
import { nullWordOf, numberText } from './format-fit.ts';
import type { RowsWriter } from './rows-writer.ts';
import type { SentColumn } from './sent-column.ts';
import type { SentRowReader, WrittenTable } from './sent-rows.ts';

export function csvRows({
  names,
  columns,
  delimiter,
  quoted,
  notation,
  ofTable,
  hasReasons,
}: WrittenTable): RowsWriter {
  const isText = delimiter !== undefined;
  const separator = isText ? delimiter.charCodeAt(0) : COMMA;
  const signs = { separator, keepsSpace: quoted !== 'text' };
  const nullText = Buffer.from((notation && nullWordOf(notation)) ?? '');
  const formula = isText && quoted === undefined;
  const endLine = (reason: string, out: Chunks) => {
    if (hasReasons) {
      appendByte(out, separator);
      appendQuoted(out, Buffer.from(reason));
    }
    appendByte(out, LF);
  };
  return {
    begin(out) {
      // Other signs would not be found, because the reasons have spaces and signs, too.
      if (isText && !usualDelimiters.includes(delimiter)) out.append(Buffer.from(`sep=${delimiter}\n`));
      for (const [index, name] of names.entries()) {
        if (index > 0) appendByte(out, separator);
        appendField(out, Buffer.from(name), index === 0, signs);
      }
      endLine(problemColumn, out);
    },
    row(row, out) {
      for (const [index, column] of columns.entries()) {
        if (index > 0) appendByte(out, separator);
        const cell = row.cellOf.get(column);
        if (cell === undefined) continue;
        const kind = row.kinds[cell]!;
        const at = ofTable?.[index];
        const isNumber = kind === NUMBER || kind === ROUNDED_NUMBER;
        const text = textOf(row, cell, at);
        const value =
          kind === NULL
            ? nullText
            : isNumber
              ? Buffer.from(numberText(text.toString('latin1'), at, notation))
              : text;
        if (kind === STRING && formula) appendQuoted(out, asFormula(value));
        else if (kind === STRING || (kind === TEXT && value.length === 0)) appendQuoted(out, value);
        else appendField(out, value, index === 0, signs);
      }
      endLine(row.reason, out);
    },
    end() {},
  };
}

const usualDelimiters = [',', ';', '\t', '|'];
const trueText = Buffer.from('true');
const falseText = Buffer.from('false');
const noText = Buffer.alloc(0);

/**
 * Returns the value of a cell as text: for a number of a workbook the digits that it showed, or all digits if the column stores them.
 *
 * @param at the column of the table; undefined: the table is not known
 */
export function textOf(
  { bytes, kinds, starts, ends }: SentRowReader,
  cell: number,
  at: SentColumn | undefined,
): Buffer {
  const kind = kinds[cell]!;
  if (kind === NULL) return noText;
  if (kind === TRUE || kind === FALSE) return kind === TRUE ? trueText : falseText;
  const value = bytes.subarray(starts[cell]!, ends[cell]!);
  if (kind !== ROUNDED_NUMBER) return value;
  return at?.type === 'float' ? value.subarray(value.indexOf(0) + 1) : value.subarray(0, value.indexOf(0));
}

function appendByte(out: Chunks, byte: number): void {
  out.reserve(1);
  out.bytes[out.length++] = byte;
}

interface Signs {
  separator: number;
  /** Quotes change nothing but keep white space around a value. */
  keepsSpace: boolean;
}

function appendField(out: Chunks, value: Buffer, isFirst: boolean, signs: Signs): void {
  if (needsQuotes(value, isFirst, signs)) appendQuoted(out, value);
  else out.append(value);
}

function needsQuotes(value: Buffer, isFirst: boolean, { separator, keepsSpace }: Signs): boolean {
  if (value.length === 0) return false;
  if (isFirst && value[0] === HASH) return true;
  if (keepsSpace && (isSpace(value[0]!) || isSpace(value[value.length - 1]!))) return true;
  for (const byte of value)
    if (byte === separator || byte === QUOTE || byte === LF || byte === CR) return true;
  return false;
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

function appendQuoted(out: Chunks, value: Buffer): void {
  out.reserve(2 * value.length + 2);
  const to = out.bytes;
  let at = out.length;
  to[at++] = QUOTE;
  for (const byte of value) {
    if (byte === QUOTE) to[at++] = QUOTE;
    to[at++] = byte;
  }
  to[at++] = QUOTE;
  out.length = at;
}

/** Returns the formula `="…"`, by which programs write texts that look like numbers. */
function asFormula(value: Buffer): Buffer {
  return Buffer.from(`="${value.toString().replaceAll('"', '""')}"`);
}
