/**
 * Notes the values of an upload that do not fit the types of an existing table's columns (`misfits=widen`), and finds the narrowest types that
 * keep them. The encoding sink passes it each value that its encoder refuses, and each value of a type that may lose a part of it.
 */
import * as kinds from '../../core/cells/cell-kind.ts';
import { formatMoment, momentText } from '../../core/cells/moment-text.ts';
import type { ColumnType, LoadColumn } from '../columns/load-column.ts';
import type { EncodeElement } from '../encoders/array-shape.ts';
import { encodeArray } from '../encoders/arrays.ts';
import { type ColumnEncoder, columnEncoder } from '../encoders/column-encoder.ts';
import { CopyBuffer } from '../encoders/copy-buffer.ts';
import { encodeCell, encodeMoment } from '../encoders/encode-cell.ts';
import { losses } from '../encoders/losses.ts';
import { TOO_COSTLY } from '../problems/cell-problems.ts';
import type { TargetColumn } from '../sink/target-column.ts';
import { isKept, type Loss, lossOf, NOTHING } from './kept-values.ts';
import { arrayOf, text, wideningType, widerTypes } from './wider-types.ts';

/** A column that must get another type before the rows can be loaded. */
export interface Widening {
  column: LoadColumn;
  to: ColumnType;
}

/** Thrown after all rows were read, if columns must be widened. The load is then rolled back and done again. */
export class MisfitsFound extends Error {
  override name = 'MisfitsFound';
  readonly widenings: Widening[];

  constructor(widenings: Widening[]) {
    super('values do not fit the types of the table');
    this.widenings = widenings;
  }
}

/** A type that a column, or the elements of an array, have or get, and how its values are encoded. */
interface Fitting {
  type: ColumnType;
  encoder: ColumnEncoder;
  loss: Loss;
}

function fittingOf(type: ColumnType, encoder: ColumnEncoder): Fitting {
  return { type, encoder, loss: lossOf(type, encoder) };
}

export class Misfits {
  readonly #toText: boolean;
  #targets: TargetColumn[] = [];
  #columns: LoadColumn[] = [];
  /** The types of the table, by target; undefined: the column keeps its type. */
  #original: (Fitting | undefined)[] = [];
  /** The types that fit all rows so far. */
  #current: (Fitting | undefined)[] = [];
  /** The types that the current row has replaced in `#current`. */
  readonly #replaced: { target: number; fitting: Fitting }[] = [];
  /** The number of refused values of the current row for which there is a type. */
  #solved = 0;
  readonly #scratch = new CopyBuffer(1024);
  readonly #arrayScratch = new CopyBuffer(1024);

  /** @param toText a column may become text */
  constructor(toText: boolean) {
    this.#toText = toText;
  }

  /** Begins a pass over all rows. */
  begin(targets: TargetColumn[]): void {
    this.#targets = targets;
    this.#columns = targets.map(({ column }) => column);
    this.#original = targets.map(({ column, encoder }) => {
      const type = wideningType(column);
      return type && fittingOf(type, encoder.element ?? encoder);
    });
    this.#current = [...this.#original];
  }

  beginRow(): void {
    this.#replaced.length = 0;
    this.#solved = 0;
  }

  /** @param refusals the number of reasons for which the sink refused the row. If one remains, the row is not loaded, so it changes no type */
  endRow(refusals: number): void {
    if (refusals <= this.#solved) return;
    for (const { target, fitting } of this.#replaced.reverse()) this.#current[target] = fitting;
  }

  /**
   * Takes a value after the sink has encoded it, and before the sink has read `losses`.
   *
   * @param problem the result of the encoder. If it is 0, `encoded` has the field from `at` on
   */
  cell(
    target: number,
    problem: number,
    encoded: Buffer,
    at: number,
    kind: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    const original = this.#original[target];
    if (original === undefined || kind === kinds.NULL || problem === TOO_COSTLY) return;
    if (problem === 0 && original.loss.kind === NOTHING) return;
    if (this.#columns[target]!.type.kind === 'array') {
      this.#array(target, problem, kind, bytes, start, end);
      return;
    }
    if (problem === 0 && isKept(original.loss, encoded, at, kind, bytes, start, end)) return;
    if (this.#fitCell(target, problem, kind, bytes, start, end) && problem !== 0) this.#solved += 1;
  }

  /** Finds a type for each element that does not fit. If one of them has none, the sink has refused the row. */
  #array(target: number, problem: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const original = this.#original[target]!;
    const { encoder } = this.#targets[target]!;
    if (kind !== kinds.ARRAY && kind !== kinds.STRING && kind !== kinds.TEXT) return;
    const noted = losses.ofCell;
    const out = this.#arrayScratch;
    out.rewind();
    const fitElement: EncodeElement = (_, element, of, text, from, to) => {
      const at = out.position;
      losses.ofCell = 0;
      const fault = encodeCell(out, element, of, text, from, to);
      if (fault === 0 && isKept(original.loss, out.bytes, at, of, text, from, to)) return 0;
      out.rewind(at);
      if (!this.#fitCell(target, fault, of, text, from, to) && fault !== 0) return fault;
      // NULL takes the place of the element.
      out.ensure(4);
      out.int32(-1);
      return 0;
    };
    const left = encodeArray(
      out,
      encoder,
      kind === kinds.TEXT ? kinds.STRING : kind,
      bytes,
      start,
      end,
      fitElement,
    );
    losses.ofCell = noted;
    out.clear();
    if (left === 0 && problem !== 0) this.#solved += 1;
  }

  #fitCell(
    target: number,
    problem: number,
    kind: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): boolean {
    const encode = (encoder: ColumnEncoder) => encodeCell(this.#scratch, encoder, kind, bytes, start, end);
    return this.#fit(target, problem, encode, kind, bytes, start, end);
  }

  /** Takes a moment, like `cell`. */
  moment(
    target: number,
    problem: number,
    encoded: Buffer,
    at: number,
    kind: number,
    days: number,
    microseconds: number,
  ): void {
    const original = this.#original[target];
    if (original === undefined || (problem === 0 && original.loss.kind === NOTHING)) return;
    const length = formatMoment(kind, days, microseconds);
    if (problem === 0 && isKept(original.loss, encoded, at, kind, momentText, 0, length)) return;
    const encode = (encoder: ColumnEncoder) => encodeMoment(this.#scratch, encoder, kind, days, microseconds);
    if (this.#fit(target, problem, encode, kind, momentText, 0, length) && problem !== 0) this.#solved += 1;
  }

  /** Takes a text that is not in the notation of the request. Only `text` stores it. */
  fault(target: number, fault: number): void {
    const current = this.#current[target];
    const { identity, type } = this.#columns[target]!;
    if (current === undefined || identity !== 'none' || type.kind === 'array') return;
    if (!this.#toText || (fault !== kinds.NOT_IN_NUMBER_FORM && fault !== kinds.NOT_IN_DATE_ORDER)) return;
    this.#solved += 1;
    if (current.type.oid !== text.oid) this.#replace(target, current, fittingOf(text, columnEncoder(text)!));
  }

  /** Whether columns must be widened, as far as the rows were read. */
  get areAny(): boolean {
    return this.#current.some((fitting, target) => fitting !== this.#original[target]);
  }

  /** Whether the rows before the current one need wider types, so that `throwIfAny` will throw whatever rows follow. Then no row must be sent. */
  get areCertain(): boolean {
    return this.#replaced.length === 0 && this.areAny;
  }

  /** @throws MisfitsFound if columns must be widened. Call it after the last row */
  throwIfAny(): void {
    if (!this.areAny) return;
    const widenings = this.#columns.flatMap((column, target): Widening[] => {
      const current = this.#current[target];
      if (current === this.#original[target]) return [];
      const { type } = current!;
      return [{ column, to: column.type.kind === 'array' ? arrayOf(column.type, type) : type }];
    });
    throw new MisfitsFound(widenings);
  }

  /** Finds the narrowest type for a value that its column does not keep. @returns whether there is one */
  #fit(
    target: number,
    problem: number,
    encode: (encoder: ColumnEncoder) => number,
    kind: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): boolean {
    const current = this.#current[target]!;
    const fits = (fitting: Fitting): boolean => {
      this.#scratch.rewind();
      losses.ofCell = 0;
      return (
        encode(fitting.encoder) === 0 && isKept(fitting.loss, this.#scratch.bytes, 0, kind, bytes, start, end)
      );
    };
    const noted = losses.ofCell;
    let found = fits(current) ? current : undefined;
    if (found === undefined) {
      // A value of which only a part is lost never makes the column text.
      const toText = this.#toText && problem !== 0;
      const { identity } = this.#columns[target]!;
      const types = widerTypes(current.type, identity, toText, kind, bytes, start, end);
      for (const type of types) {
        // Intervals with fields have no encoder.
        const encoder = columnEncoder(type);
        if (encoder === undefined) continue;
        const fitting = fittingOf(type, encoder);
        if (!fits(fitting)) continue;
        found = fitting;
        break;
      }
      if (found !== undefined) this.#replace(target, current, found);
    }
    losses.ofCell = noted;
    this.#scratch.rewind();
    this.#scratch.shrink();
    return found !== undefined;
  }

  #replace(target: number, before: Fitting, fitting: Fitting): void {
    this.#replaced.push({ target, fitting: before });
    this.#current[target] = fitting;
  }
}
