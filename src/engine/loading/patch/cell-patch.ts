/** The corrections of cells that come with an upload (the part `patch` of a form, or the member `patch` of a JSON body). */

import { AppError, wrongParameter } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { ProblemCode } from '../../../core/problem-codes.ts';
import { findRepeatedKey, repeatedKey } from '../../../encoding/encoders/repeated-keys.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';

export const maxPatchBytes = 1024 * 1024;
const maxCorrections = 10_000;

/** A number with every digit of its JSON text. It is a class, so that no object of the text is one. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type PatchValue = string | boolean | null | JsonNumber;

export interface CellPatch {
  /** The number of the data row, from 1, as problems name it; undefined: `cell` is set. */
  row: number | undefined;
  /** The address of the cell. */
  cell: CellAddress | undefined;
  /** The header or key of the column. */
  column: string | undefined;
  value: PatchValue;
}

export interface CellAddress {
  /** undefined: the sheet that is read. */
  sheet: string | undefined;
  /** For example `B`. */
  letters: string;
  sheetRow: number;
}

/**
 * Reads `[{"row": 3, "column": "amount", "value": "12.50"}, {"cell": "Orders!B4", "value": null}, …]`.
 *
 * @throws AppError `invalid-parameter` with the place in the list; `limit-exceeded`
 */
export function parsePatch(text: Buffer): CellPatch[] {
  if (text.length > maxPatchBytes) throw limitExceeded('The part patch is too long', maxPatchBytes, 'bytes');
  return correctionsOf(parseKeepingDigits(text));
}

/** Reads a list that `parseKeepingDigits` has parsed. @throws the errors of `parsePatch` */
export function correctionsOf(list: unknown): CellPatch[] {
  if (!Array.isArray(list)) throw wrongParameter('patch', `The corrections must be a list: ${example}.`);
  if (list.length > maxCorrections)
    throw limitExceeded('There are too many corrections', maxCorrections, 'corrections');
  return list.map(correctionOf);
}

const example = '[{"row": 3, "column": "amount", "value": "12.50"}]';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses JSON whose numbers become `JsonNumber`. @throws AppError `invalid-parameter`, also if an object names a key twice */
export function parseKeepingDigits(text: Buffer): unknown {
  // The third parameter is that of the proposal "JSON.parse source text access", which the types of TypeScript lack.
  const keepDigits = (_key: string, value: unknown, { source }: { source?: string } = {}): unknown =>
    typeof value === 'number' && source !== undefined ? new JsonNumber(source) : value;
  let parsed: unknown;
  try {
    parsed = JSON.parse(utf8.decode(text), keepDigits as (key: string, value: unknown) => unknown);
  } catch {
    throw wrongParameter('patch', `The corrections are not JSON in UTF-8. Send ${example}.`);
  }
  if (findRepeatedKey(text, 0, text.length)) {
    const key = shortenValue(text.toString('utf8', repeatedKey.start, repeatedKey.end));
    throw wrongParameter('patch', `A correction has the key "${key}" twice; send it once.`);
  }
  return parsed;
}

function correctionOf(entry: unknown, index: number): CellPatch {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry) || entry instanceof JsonNumber)
    throw faultAt(index, '', 'wrong-type', `Each correction is an object, as in ${example}.`);
  const { row, cell, column, value, ...others } = entry as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw faultAt(index, '', 'unknown-key', 'A correction has `row` or `cell`, `column` and `value`.');
  if ((row === undefined) === (cell === undefined))
    throw faultAt(
      index,
      '',
      'wrong-type',
      'A correction names its cell by `row` and `column`, or by `cell`.',
    );
  if (column !== undefined && typeof column !== 'string')
    throw faultAt(index, '/column', 'wrong-type', 'The name of the column is a text.');
  if (row !== undefined && column === undefined)
    throw faultAt(index, '', 'wrong-type', 'A correction with `row` needs `column`.');
  return {
    row: row === undefined ? undefined : rowOf(row, index),
    cell: cell === undefined ? undefined : addressOf(cell, index),
    column,
    value: patchValue(value, index),
  };
}

function rowOf(row: unknown, index: number): number {
  const number = row instanceof JsonNumber ? Number(row.text) : 0;
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw faultAt(index, '/row', 'wrong-type', '`row` is the number of the data row, from 1.');
}

function addressOf(cell: unknown, index: number): CellAddress {
  const found =
    typeof cell === 'string'
      ? /^(?:(?<sheet>.*)!)?\$?(?<letters>[A-Z]{1,3})\$?(?<row>\d{1,15})$/is.exec(cell.trim())
      : null;
  if (found === null)
    throw faultAt(index, '/cell', 'wrong-type', '`cell` is an address such as B4 or Orders!B4.');
  const { sheet, letters, row } = found.groups as { sheet?: string; letters: string; row: string };
  const quoted = sheet === undefined ? null : /^'(.*)'$/s.exec(sheet);
  return {
    sheet: quoted === null ? sheet : quoted[1]!.replaceAll("''", "'"),
    letters: letters.toUpperCase(),
    sheetRow: Number(row),
  };
}

function patchValue(value: unknown, index: number): PatchValue {
  if (value === null || typeof value === 'boolean' || value instanceof JsonNumber) return value;
  if (typeof value === 'string' && value.isWellFormed()) return value;
  const detail = '`value` is a text, a number, true, false or null.';
  throw faultAt(index, '/value', 'wrong-type', detail);
}

/** @param member the JSON Pointer of the member within the correction */
export function faultAt(index: number, member: string, code: ProblemCode, detail: string): AppError {
  return new AppError('invalid-parameter', detail, {
    errors: [{ parameter: 'patch', pointer: `/${index}${member}`, code, detail }],
  });
}
