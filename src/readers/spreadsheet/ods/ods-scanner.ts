/**
 * Scans the cells of one sheet in `content.xml` (OpenDocument 1.3 part 3).
 *
 * The typed values are in attributes. Only texts are read from the paragraphs that a cell shows. Repeated rows and cells are
 * written once with a count, so a few bytes can mean billions of cells. Therefore repeated values are pushed in portions, and
 * their number is limited.
 */

import { LF, SPACE, TAB } from '../../../core/bytes/ascii.ts';
import { isBlank } from '../../../core/bytes/white-space.ts';
import { rowTooLong } from '../../../core/cells/row-limit.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { columnLetters, maxSheetColumn, maxSheetRow } from '../cell-address.ts';
import { CLOSE, equals, NEED_MORE, OPEN, TEXT, XmlTokens } from '../package/xml-tokens.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { SheetTarget } from '../values/cell-values.ts';
import { CellText } from './cell-text.ts';
import { attributeText, type OdsStyles } from './ods-styles.ts';
import {
  BOOLEAN,
  COVERED,
  EMPTY,
  ERROR,
  NO_RESULT,
  NO_VALUE,
  NUMBER,
  OdsValues,
  STRING,
  valueTypes,
} from './ods-values.ts';
import { SpanningCells } from './spanning-cells.ts';

/** The names of the elements and attributes that the scanner reads. */
const listed = `spreadsheet table table-column table-row table-cell covered-table-cell shapes forms p s c tab line-break ruby-text note
  annotation style-name default-cell-style-name number-columns-repeated number-rows-repeated formula value-type visibility`;
const names: Record<string, Buffer> = Object.fromEntries(
  listed.split(/\s+/).map((name) => [name, Buffer.from(name)]),
);

/** The depths of the elements that the scanner reads. */
const SPREADSHEET = 3;
const TABLE = 4;

/**
 * The type of a cell with an error value, which OpenDocument itself does not have. LibreOffice writes its own type
 * (`calcext:value-type="error"`). Older versions and other programs write a text. Excel writes the number 0 and shows the error
 * only in the paragraph.
 */
const errorType = Buffer.from('error');

const booleanFormula = /^(of:)?=(TRUE|FALSE)\(\)$/;

const maxRepeatedCells = 20_000_000;

/** The maximum number of cells that are repeated in one turn, which takes about 2 ms. If the cells are long, the target needs a pause earlier. */
const portionCells = 4096;

const hiddenVisibilities = [Buffer.from('collapse'), Buffer.from('filter')];

/** A repeated cell, or a cell of a repeated row. */
interface KeptCell {
  column: number;
  count: number;
  type: number;
  style: number;
  bytes: Buffer;
}

export interface OdsScannerOptions {
  partName: string;
  styles: OdsStyles;
  /** Dates that are stored as numbers count from 1904-01-01. */
  is1904: boolean;
  /** The index of the sheet. */
  sheet: number;
  limits: SpreadsheetLimits;
}

export class OdsScanner {
  readonly #xml: XmlTokens;
  readonly #target: SheetTarget;
  readonly #styles: OdsStyles;
  readonly #values: OdsValues;
  readonly #sheet: number;
  readonly #maxRowBytes: number;

  #depth = 0;
  /** The depth of an element whose content is skipped; 0 if none is open. */
  #skippedDepth = 0;
  #isInSpreadsheet = false;
  #tables = 0;
  #isInTable = false;
  #isDone = false;

  /** The current row (1-based), how often it is repeated, and its style. */
  #row = 0;
  #rowCount = 1;
  #rowDepth = 0;
  #rowStyle = 0;
  #isRowHidden = false;
  #isRowBegun = false;
  /** The number of bytes of the current row so far: its XML, and its values as often as they are repeated in it. */
  #rowBytes = 0;
  readonly #spanning = new SpanningCells();
  /** The cells that must be repeated `#repeatsLeft` times: one cell of the current row, or all cells of the previous row. */
  #kept: KeptCell[] = [];
  #repeatsLeft = 0;
  #isRowRepeated = false;
  /** The index of the next kept cell to repeat, and how often it was already repeated. */
  #nextKept = 0;
  #timesPut = 0;
  #repeatedCells = 0;

  /** The default style of each column, counted from 0, and how many columns the `table-column` elements have described. */
  #columnStyles = new Uint32Array(maxSheetColumn);
  #columns = 0;

  /** The column of the current cell, from 0. */
  #column = 0;
  #cellDepth = 0;
  #count = 1;
  #type = EMPTY;
  #style = 0;
  #isCovered = false;
  #isFormula = false;
  #hasValue = false;
  readonly #text: CellText;
  #isInParagraph = false;
  /** The paragraph only displays the value, which is in an attribute. */
  #isShown = false;

  constructor(target: SheetTarget, options: OdsScannerOptions) {
    this.#target = target;
    target.merged = this.#spanning.areas;
    this.#styles = options.styles;
    this.#values = new OdsValues(target, options.styles, options.is1904);
    this.#sheet = options.sheet;
    this.#maxRowBytes = options.limits.maxRowBytes;
    this.#xml = new XmlTokens(options.partName);
    this.#text = new CellText(options.limits.maxCellBytes);
  }

  /** Returns whether the sheet that is read has begun. Other sheets may be before it. */
  get hasBegun(): boolean {
    return this.#tables > this.#sheet;
  }

  /** Returns whether the sheet has ended. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Takes the next bytes of the part, which `run` then scans. */
  feed(chunk: Buffer): void {
    this.#xml.feed(chunk);
    if (this.#rowDepth !== 0) this.#countRowBytes(chunk.length);
  }

  /**
   * Scans the fed bytes.
   *
   * @returns false if `run` must be called again before the next bytes, because the target needs a pause, or because repeated cells are
   *   pushed in portions
   */
  run(): boolean {
    const xml = this.#xml;
    const target = this.#target;
    while (!this.#isDone) {
      if (target.isPauseDue === true) return false;
      if (this.#repeatsLeft > 0 && !this.#repeat()) return false;
      switch (xml.next()) {
        case NEED_MORE:
          return true;
        case OPEN:
          this.#depth++;
          this.#open();
          if (xml.isSelfClosing) this.#close();
          break;
        case CLOSE:
          if (this.#depth === 0) xml.fail('a closing tag without an opening one');
          this.#close();
          break;
        case TEXT:
          if (!this.#isInParagraph || this.#skippedDepth !== 0) break;
          if (this.#isShown) this.#text.show(xml.bytes, xml.textStart, xml.textEnd);
          else this.#text.append(xml.bytes, xml.textStart, xml.textEnd);
      }
    }
    return true;
  }

  /**
   * Ends the part.
   *
   * @throws AppError `invalid-file` if the document is incomplete
   */
  finish(): void {
    if (!this.#isDone) this.#xml.fail('it ends too early');
  }

  #open(): void {
    if (this.#skippedDepth !== 0) return;
    if (this.#isInParagraph) this.#openInParagraph();
    else if (this.#cellDepth !== 0) this.#openInCell();
    else if (this.#rowDepth !== 0) this.#openInRow();
    else if (this.#isInTable) this.#openInTable();
    else if (this.#depth === SPREADSHEET) this.#isInSpreadsheet = this.#xml.isNamed(names.spreadsheet!);
    else if (this.#depth === TABLE && this.#isInSpreadsheet && this.#xml.isNamed(names.table!)) {
      this.#isInTable = this.#tables++ === this.#sheet;
      if (!this.#isInTable) this.#skip();
    }
  }

  #close(): void {
    const depth = this.#depth--;
    if (this.#skippedDepth !== 0) {
      if (depth === this.#skippedDepth) this.#skippedDepth = 0;
    } else if (this.#cellDepth !== 0) {
      if (depth === this.#cellDepth) this.#closeCell();
      else if (depth === this.#cellDepth + 1) this.#isInParagraph = false;
    } else if (depth === this.#rowDepth) {
      this.#closeRow();
    } else if (depth === TABLE && this.#isInTable) {
      this.#isDone = true;
    } else if (depth === 1) {
      this.#xml.fail('the sheet is missing');
    }
  }

  #skip(): void {
    this.#skippedDepth = this.#depth;
  }

  #openInTable(): void {
    const xml = this.#xml;
    if (xml.isNamed(names['table-row']!)) {
      this.#rowDepth = this.#depth;
      this.#row++;
      this.#rowCount = this.#repetition(names['number-rows-repeated']!);
      this.#rowStyle = this.#styleOf(names['default-cell-style-name']!);
      this.#isRowHidden = this.#isHidden();
      this.#column = 0;
      this.#rowBytes = 0;
      this.#spanning.beginRow();
    } else if (xml.isNamed(names['table-column']!)) {
      const count = this.#repetition(names['number-columns-repeated']!);
      const style = this.#styleOf(names['default-cell-style-name']!);
      this.#columnStyles.fill(Math.max(0, style), this.#columns, this.#columns + count);
      const last = Math.min(this.#columns + count, maxSheetColumn) - 1;
      if (this.#columns <= last && this.#isHidden()) this.#target.hideColumns?.(this.#columns, last);
      this.#columns += count;
    } else if (xml.isNamed(names.shapes!) || xml.isNamed(names.forms!)) {
      this.#skip();
    }
  }

  /** Returns whether the row or column is hidden: by a person (`collapse`) or by a filter (19.749). */
  #isHidden(): boolean {
    const { bytes, attributes } = this.#xml;
    const at = this.#xml.attribute(names.visibility!);
    if (at < 0) return false;
    return hiddenVisibilities.some((text) => equals(bytes, attributes[at + 2]!, attributes[at + 3]!, text));
  }

  #openInRow(): void {
    const xml = this.#xml;
    this.#isCovered = xml.isNamed(names['covered-table-cell']!);
    if (!this.#isCovered && !xml.isNamed(names['table-cell']!)) {
      this.#skip();
      return;
    }
    this.#cellDepth = this.#depth;
    this.#count = this.#repetition(names['number-columns-repeated']!);
    if (!this.#isCovered) this.#spanning.take(xml, this.#column, this.#count);
    this.#text.clear();
    this.#type = EMPTY;
    this.#isFormula = xml.attribute(names.formula!) >= 0;
    this.#hasValue = false;
    this.#takeType();
    // LibreOffice stores TRUE of an Excel file as this formula with the number 1. The cell is a boolean.
    if (this.#isFormula && this.#type === NUMBER && booleanFormula.test(attributeText(xml, names.formula!))) {
      this.#type = BOOLEAN;
    }
    const style = this.#styleOf(names['style-name']!);
    if (style >= 0) this.#style = style;
    else if (this.#rowStyle >= 0) this.#style = this.#rowStyle;
    else this.#style = this.#columnStyles[this.#column] ?? 0;
  }

  /**
   * Reads the type of the cell. The first `value-type` is the one of the standard. LibreOffice adds a second one, which marks
   * errors.
   */
  #takeType(): void {
    const { attributes, attributeCount, bytes } = this.#xml;
    for (let at = 0; at < 4 * attributeCount; at += 4) {
      if (!equals(bytes, attributes[at]!, attributes[at + 1]!, names['value-type']!)) continue;
      const start = attributes[at + 2]!;
      const end = attributes[at + 3]!;
      const known = valueTypes.find(([name]) => equals(bytes, start, end, name));
      if (equals(bytes, start, end, errorType)) {
        this.#type = ERROR;
        this.#hasValue = false;
        this.#text.value.clear();
      } else if (known !== undefined && this.#type === EMPTY) {
        this.#type = known[1];
        this.#takeValue(known[2]);
      }
    }
  }

  #takeValue(name: Buffer): void {
    const xml = this.#xml;
    const at = xml.attribute(name);
    if (at < 0) return;
    this.#hasValue = true;
    this.#text.value.append(xml.bytes, xml.attributes[at + 2]!, xml.attributes[at + 3]!);
  }

  /** Reads paragraphs. They contain the values of texts and errors. In other cells they only show whether the value is an error. */
  #openInCell(): void {
    if (this.#xml.isNamed(names.table!)) this.#failTableInCell();
    if (!this.#xml.isNamed(names.p!)) {
      // Shapes and notes are attached to the cell. They are skipped, because they are not part of its text.
      this.#skip();
      return;
    }
    const isText = this.#type === EMPTY || this.#type === STRING || this.#type === ERROR;
    this.#isShown = !isText || this.#hasValue;
    this.#isInParagraph = true;
    if (!this.#isShown) this.#text.beginParagraph();
  }

  /**
   * Refuses a table within a cell. OpenDocument allows it (9.1.2, `is-sub-table`), but spreadsheet programs do not write it.
   */
  #failTableInCell(): never {
    const cell = `${columnLetters(this.#column + 1)}${this.#row}`;
    throw new AppError(
      'unsupported-file',
      `The cell ${cell} contains another table, which cannot be loaded. Move its rows into the sheet and save the file again.`,
    );
  }

  #openInParagraph(): void {
    const xml = this.#xml;
    if (this.#isShown) return;
    if (xml.isNamed(names.s!)) {
      // The text of a covered cell is not needed. It only matters whether there is any, so spaces are not repeated.
      this.#text.appendRepeated(SPACE, this.#isCovered ? 1 : this.#repetition(names.c!));
    } else if (xml.isNamed(names.tab!) || xml.isNamed(names['line-break']!)) {
      this.#text.appendRepeated(xml.isNamed(names.tab!) ? TAB : LF, 1);
    } else if (
      xml.isNamed(names['ruby-text']!) ||
      xml.isNamed(names.note!) ||
      xml.isNamed(names.annotation!)
    ) {
      this.#skip();
    }
  }

  #closeCell(): void {
    this.#cellDepth = 0;
    this.#isInParagraph = false;
    const type = this.#isCovered ? this.#takeCovered() : this.#typeAtEnd();
    const column = this.#column;
    this.#column += this.#count;
    if (type === EMPTY) return;
    if (this.#column > maxSheetColumn)
      this.#xml.fail(`a cell beyond the last column XFD in row ${this.#row}`);
    const { bytes, length } = this.#text.value;
    if (this.#rowCount === 1 && this.#count === 1) {
      this.#begin(this.#row);
      this.#values.put(column, type, this.#style, bytes, length);
      return;
    }
    this.#countRowBytes(length * this.#count);
    const kept = Buffer.from(bytes.subarray(0, length));
    this.#kept.push({ column, count: this.#count, type, style: this.#style, bytes: kept });
    if (this.#rowCount === 1) this.#repeatKept(1, false);
  }

  /** Limits the size of a row, because the sink keeps a row until it is complete. */
  #countRowBytes(bytes: number): void {
    this.#rowBytes += bytes;
    if (this.#rowBytes > this.#maxRowBytes) throw rowTooLong(`Row ${this.#row}`, this.#maxRowBytes);
  }

  #typeAtEnd(): number {
    if (this.#mayShowError() && this.#text.useShownError()) return ERROR;
    const isText = this.#type === EMPTY || this.#type === STRING;
    if (this.#text.value.length === 0) {
      const isWithout =
        this.#isFormula && (this.#type === EMPTY || (this.#type !== STRING && !this.#hasValue));
      if (this.#type === ERROR) return ERROR;
      if (isWithout) return NO_RESULT;
      if (isText || !this.#text.isShown) return EMPTY;
      // If no attribute has the value, the displayed text is shown as the value in the problem.
      this.#text.useShown();
      return NO_VALUE;
    }
    if (!isText) return this.#type;
    return this.#isFormula && this.#text.isErrorText() ? ERROR : STRING;
  }

  /** Returns whether the cell may display an error. The value of a text is in its attribute, so for a text the attribute must be empty and the cell must have a formula. */
  #mayShowError(): boolean {
    return this.#type !== STRING || (this.#isFormula && this.#text.value.length === 0);
  }

  /** Returns `COVERED` if the covered cell has a value. Covered cells beyond the last column are ignored. */
  #takeCovered(): number {
    const type = this.#typeAtEnd();
    const { value } = this.#text;
    const isText = type === EMPTY || type === STRING;
    if ((isText && isBlank(value.bytes, 0, value.length)) || this.#column >= maxSheetColumn) return EMPTY;
    this.#count = Math.min(this.#count, maxSheetColumn - this.#column);
    value.clear();
    return COVERED;
  }

  #closeRow(): void {
    this.#rowDepth = 0;
    this.#spanning.addAreas(this.#row);
    if (this.#isRowBegun) this.#target.endRow();
    this.#isRowBegun = false;
    if (this.#kept.length > 0) this.#repeatKept(this.#rowCount, true);
    else this.#row += this.#rowCount - 1;
  }

  #repeatKept(times: number, isRowRepeated: boolean): void {
    this.#repeatsLeft = times;
    this.#isRowRepeated = isRowRepeated;
    this.#nextKept = 0;
    this.#timesPut = 0;
  }

  /**
   * Repeats a portion of the kept cells.
   *
   * @returns false if cells are left for the next turn
   */
  #repeat(): boolean {
    let cells = 0;
    while (this.#repeatsLeft > 0) {
      const kept = this.#kept[this.#nextKept];
      if (kept === undefined) {
        this.#endRepetition();
        continue;
      }
      if (cells >= portionCells || this.#target.isPauseDue === true) return false;
      this.#begin(this.#row);
      if (++this.#repeatedCells > maxRepeatedCells)
        throw limitExceeded('The sheet repeats too many cells', maxRepeatedCells, 'cells');
      this.#values.put(kept.column + this.#timesPut, kept.type, kept.style, kept.bytes, kept.bytes.length);
      cells++;
      this.#timesPut++;
      if (this.#timesPut < kept.count) continue;
      this.#timesPut = 0;
      this.#nextKept++;
    }
    this.#kept = [];
    return true;
  }

  #endRepetition(): void {
    this.#nextKept = 0;
    this.#repeatsLeft--;
    if (!this.#isRowRepeated) return;
    this.#target.endRow();
    this.#isRowBegun = false;
    if (this.#repeatsLeft === 0) return;
    this.#spanning.addAreas(++this.#row);
  }

  #begin(row: number): void {
    if (row > maxSheetRow) this.#xml.fail(`a row beyond the last row ${maxSheetRow}`);
    if (this.#isRowBegun) return;
    this.#isRowBegun = true;
    this.#target.beginRow(row, this.#isRowHidden);
  }

  #repetition(name: Buffer): number {
    const at = this.#xml.attribute(name);
    if (at < 0) return 1;
    const text = attributeText(this.#xml, name);
    if (!/^\d{1,10}$/.test(text))
      this.#xml.fail(`a repetition count that is not a number in row ${this.#row}`);
    return Math.max(1, Number(text));
  }

  /** Returns the index of the style that the attribute names, or -1 if the attribute is missing. */
  #styleOf(name: Buffer): number {
    if (this.#xml.attribute(name) < 0) return -1;
    return this.#styles.indices.get(attributeText(this.#xml, name)) ?? 0;
  }
}
