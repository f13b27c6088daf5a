/**
 * Scans the cells of one sheet in `content.xml` (OpenDocument 1.3 part 3).
 *
 * The typed values are in attributes. Only texts are read from the paragraphs that a cell shows. Repeated rows and cells are
 * written once with a count, so a few bytes can mean billions of cells. Therefore repeated values are pushed in portions, and
 * their number is limited.
 */

import { HASH, SPACE, UPPER_E } from '../../../core/bytes/ascii.ts';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { rowTooLong } from '../../../core/cells/row-limit.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { columnLetters, maxSheetColumn, maxSheetRow } from '../cell-address.ts';
import { TextCollector } from '../package/text-collector.ts';
import { CLOSE, equals, NEED_MORE, OPEN, TEXT, XmlTokens } from '../package/xml-tokens.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import { CellValues, type SheetTarget } from '../values/cell-values.ts';
import { parseIsoMoment } from '../values/iso-moment.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { parseDuration } from './duration.ts';
import { attributeText, type OdsStyles } from './ods-styles.ts';

const names = Object.fromEntries(
  [
    ...['spreadsheet', 'table', 'table-column', 'table-row', 'table-cell', 'covered-table-cell', 'shapes'],
    ...['forms', 'p', 's', 'c', 'tab', 'line-break', 'ruby-text', 'note', 'annotation', 'style-name'],
    ...[
      'default-cell-style-name',
      'number-columns-repeated',
      'number-rows-repeated',
      'formula',
      'value-type',
    ],
    'visibility',
    ...['value', 'date-value', 'time-value', 'boolean-value', 'string-value'],
  ].map((name) => [name, Buffer.from(name)]),
) as Record<string, Buffer>;

/** The depths of the elements that the scanner reads. */
const SPREADSHEET = 3;
const TABLE = 4;

/** The types of cells. */
const EMPTY = 0;
const NUMBER = 1;
const STRING = 2;
const BOOLEAN = 3;
const DATE = 4;
const TIME = 5;
const ERROR = 6;
const NO_RESULT = 7;
/** A cell that shows a number, boolean, date or time without an attribute that contains it. */
const NO_VALUE = 8;

const valueTypes: [name: Buffer, type: number, attribute: Buffer][] = [
  [Buffer.from('float'), NUMBER, names.value!],
  [Buffer.from('percentage'), NUMBER, names.value!],
  [Buffer.from('currency'), NUMBER, names.value!],
  [Buffer.from('string'), STRING, names['string-value']!],
  [Buffer.from('boolean'), BOOLEAN, names['boolean-value']!],
  [Buffer.from('date'), DATE, names['date-value']!],
  [Buffer.from('time'), TIME, names['time-value']!],
];

/**
 * The type of a cell with an error value, for which OpenDocument has no type. LibreOffice writes this type of its own
 * (`calcext:value-type="error"`), older versions and other programs write a text, and Excel writes the number 0 and shows the
 * error only in the paragraph.
 */
const errorType = Buffer.from('error');
const errorText = /^(#(N\/A|DIV\/0!|VALUE!|REF!|NAME\?|NUM!|NULL!|SPILL!|CALC!|ERROR!)|Err:\d{3})$/;

/**
 * Matches the text of a number, date or boolean cell that shows an error, in any language: `#DIV/0!`, `#BEZUG!`, `#NV`,
 * `#¡VALOR!`. Numbers shown as `#5` or `###` are not errors.
 */
const shownErrorText = /^(#[\p{L}¡][^\d#]*(\/0[!?])?|Err:\d{3})$/u;
const maxErrorBytes = 40;

const booleanFormula = /^(of:)?=(TRUE|FALSE)\(\)$/;

const maxRepeatedCells = 20_000_000;

/** The most cells that are repeated in one turn, which takes about 2 ms. If they are long, the target needs a pause earlier. */
const portionCells = 4096;

const hiddenVisibilities = [Buffer.from('collapse'), Buffer.from('filter')];

const tab = Buffer.from('\t');
const lineBreak = Buffer.from('\n');

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
  readonly #values: CellValues;
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
  /** The bytes of the current row so far: its XML, and its values as often as they are repeated in it. */
  #rowBytes = 0;
  /** The cells to repeat `#repeatsLeft` times: one cell of the current row, or all cells of the row before. */
  #kept: KeptCell[] = [];
  #repeatsLeft = 0;
  #isRowRepeated = false;
  /** The index of the next kept cell, and how often it was repeated already. */
  #nextKept = 0;
  #timesPut = 0;
  #repeatedCells = 0;

  /** The default style of each column, from 0, and the number of columns that `table-column` elements have described. */
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
  readonly #text: TextCollector;
  #paragraphs = 0;
  #isInParagraph = false;
  #isAfterSpace = false;
  /** The paragraph only shows the value, which is in an attribute. */
  #isShown = false;
  /** The beginning of the text that the cell shows. */
  readonly #shown: Buffer = Buffer.alloc(maxErrorBytes);
  #shownBytes = 0;

  constructor(target: SheetTarget, options: OdsScannerOptions) {
    this.#target = target;
    this.#styles = options.styles;
    this.#values = new CellValues(target, options.styles, new SharedStrings(0), options.is1904);
    this.#sheet = options.sheet;
    this.#maxRowBytes = options.limits.maxRowBytes;
    this.#xml = new XmlTokens(options.partName);
    this.#text = new TextCollector(options.limits.maxCellBytes);
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
          if (this.#isShown) this.#takeShown();
          else this.#appendText();
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
    this.#paragraphs = 0;
    this.#shownBytes = 0;
    this.#text.clear();
    this.#type = EMPTY;
    this.#isFormula = xml.attribute(names.formula!) >= 0;
    this.#hasValue = false;
    this.#takeType();
    // LibreOffice stores TRUE of an Excel file as this formula, with the number 1.
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
        this.#text.clear();
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
    this.#text.append(xml.bytes, xml.attributes[at + 2]!, xml.attributes[at + 3]!);
  }

  /** Paragraphs contain the values of texts and errors. In other cells they only show whether the value is an error. */
  #openInCell(): void {
    if (this.#xml.isNamed(names.table!)) this.#failTableInCell();
    if (!this.#xml.isNamed(names.p!)) {
      // Shapes and notes are attached to the cell and are not part of its text.
      this.#skip();
      return;
    }
    const isText = this.#type === EMPTY || this.#type === STRING || this.#type === ERROR;
    this.#isShown = !isText || this.#hasValue;
    this.#isInParagraph = true;
    this.#paragraphs++;
    if (this.#isShown) return;
    if (this.#paragraphs > 1) this.#text.append(lineBreak, 0, 1);
    this.#isAfterSpace = true;
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

  /** Keeps the shown text if it may be an error, which is short, or if the cell has no other value. */
  #takeShown(): void {
    const { bytes, textStart, textEnd } = this.#xml;
    let start = textStart;
    if (this.#shownBytes === 0) {
      while (start < textEnd && bytes[start]! <= 0x20) start++;
      if (start === textEnd) return;
      const mayBeError = bytes[start] === HASH || bytes[start] === UPPER_E;
      if (!mayBeError && this.#text.length > 0) this.#shownBytes = maxErrorBytes + 1;
    }
    if (this.#shownBytes + textEnd - start > maxErrorBytes) {
      this.#shownBytes = maxErrorBytes + 1;
      return;
    }
    bytes.copy(this.#shown, this.#shownBytes, start, textEnd);
    this.#shownBytes += textEnd - start;
  }

  #openInParagraph(): void {
    const xml = this.#xml;
    if (this.#isShown) return;
    if (xml.isNamed(names.s!)) {
      // The text of a covered cell is not read. It only counts whether there is one.
      this.#text.appendRepeated(SPACE, this.#isCovered ? 1 : this.#repetition(names.c!));
      this.#isAfterSpace = false;
    } else if (xml.isNamed(names.tab!) || xml.isNamed(names['line-break']!)) {
      this.#text.append(xml.isNamed(names.tab!) ? tab : lineBreak, 0, 1);
      this.#isAfterSpace = false;
    } else if (
      xml.isNamed(names['ruby-text']!) ||
      xml.isNamed(names.note!) ||
      xml.isNamed(names.annotation!)
    ) {
      this.#skip();
    }
  }

  /**
   * Appends text. White space counts as one space, and as none at the start of a paragraph (6.1.2). Further spaces are written
   * as `s` elements.
   */
  #appendText(): void {
    const { bytes, textStart, textEnd } = this.#xml;
    let runStart = textStart;
    for (let at = textStart; at <= textEnd; at++) {
      const isSpace = at < textEnd && bytes[at]! <= 0x20;
      if (at < textEnd && !isSpace) continue;
      if (at > runStart) {
        this.#text.append(bytes, runStart, at);
        this.#isAfterSpace = false;
      }
      if (isSpace && !this.#isAfterSpace) {
        this.#text.appendRepeated(SPACE, 1);
        this.#isAfterSpace = true;
      }
      runStart = at + 1;
    }
  }

  #closeCell(): void {
    this.#cellDepth = 0;
    this.#isInParagraph = false;
    const column = this.#column;
    this.#column += this.#count;
    const type = this.#typeAtEnd();
    if (type === EMPTY) return;
    if (this.#isCovered) {
      if (column <= maxSheetColumn && this.#rowCount === 1) this.#takeCovered(column);
      return;
    }
    if (this.#column > maxSheetColumn)
      this.#xml.fail(`a cell beyond the last column XFD in row ${this.#row}`);
    const { bytes, length } = this.#text;
    if (this.#rowCount === 1 && this.#count === 1) {
      this.#begin(this.#row);
      this.#put(column, type, this.#style, bytes, length);
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
    const shownError = this.#shownError();
    if (shownError !== '') {
      const shown = Buffer.from(shownError);
      this.#text.clear();
      this.#text.append(shown, 0, shown.length);
      return ERROR;
    }
    const { bytes, length } = this.#text;
    if (length === 0) {
      const isWithout =
        this.#isFormula && (this.#type === EMPTY || (this.#type !== STRING && !this.#hasValue));
      if (this.#type === ERROR) return ERROR;
      if (isWithout) return NO_RESULT;
      return this.#isValueMissing() ? NO_VALUE : EMPTY;
    }
    const isText = this.#type === EMPTY || this.#type === STRING;
    if (!isText) return this.#type;
    const isError =
      this.#isFormula && length <= maxErrorBytes && errorText.test(bytes.toString('latin1', 0, length));
    return isError ? ERROR : STRING;
  }

  /**
   * Returns whether the cell shows a value of its type that no attribute has. If so, the text becomes what the cell shows, if
   * that is short.
   */
  #isValueMissing(): boolean {
    if (this.#type === EMPTY || this.#type === STRING || this.#shownBytes === 0) return false;
    if (this.#shownBytes <= maxErrorBytes) this.#text.append(this.#shown, 0, this.#shownBytes);
    return true;
  }

  /**
   * Returns the error that the cell shows, or `''`. The value of a text is in its attribute, so a text cell shows an error only
   * if the attribute is empty and the cell has a formula.
   */
  #shownError(): string {
    if (this.#shownBytes === 0 || this.#shownBytes > maxErrorBytes) return '';
    if (this.#type === STRING && (!this.#isFormula || this.#text.length > 0)) return '';
    const text = this.#shown.toString('utf8', 0, this.#shownBytes).trim();
    return shownErrorText.test(text) ? text : '';
  }

  #closeRow(): void {
    this.#rowDepth = 0;
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
      this.#countRepeated();
      this.#put(kept.column + this.#timesPut, kept.type, kept.style, kept.bytes, kept.bytes.length);
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
    if (this.#repeatsLeft > 0) this.#row++;
  }

  #countRepeated(): void {
    this.#repeatedCells++;
    if (this.#repeatedCells > maxRepeatedCells) {
      throw limitExceeded('The sheet repeats too many cells', maxRepeatedCells, 'cells');
    }
  }

  #takeCovered(column: number): void {
    this.#begin(this.#row);
    this.#target.coveredValue?.(column);
  }

  #begin(row: number): void {
    if (row > maxSheetRow) this.#xml.fail(`a row beyond the last row ${maxSheetRow}`);
    if (this.#isRowBegun) return;
    this.#isRowBegun = true;
    this.#target.beginRow(row, this.#isRowHidden);
  }

  #put(column: number, type: number, style: number, bytes: Buffer, length: number): void {
    switch (type) {
      case NUMBER:
        this.#values.number(column, style, bytes, 0, length);
        break;
      case STRING:
        this.#target.cell(column, kinds.STRING, bytes, 0, length);
        break;
      case BOOLEAN:
        this.#values.boolean(column, bytes, 0, length);
        break;
      case DATE:
        this.#putDate(column, style, bytes, length);
        break;
      case TIME:
        this.#putTime(column, style, bytes, length);
        break;
      case ERROR:
        this.#target.fault(column, kinds.ERROR_CELL, bytes, 0, length);
        break;
      case NO_VALUE:
        this.#target.fault(column, kinds.UNREADABLE_CELL, bytes, 0, length);
        break;
      default:
        this.#target.fault(column, kinds.FORMULA_WITHOUT_VALUE, bytes, 0, 0);
    }
  }

  /**
   * Pushes a date. Some programs omit a time of 0:00, and others write it though only the day is meant, so the format decides
   * whether the value has a time.
   */
  #putDate(column: number, style: number, bytes: Buffer, length: number): void {
    const moment = parseIsoMoment(bytes.toString('latin1', 0, Math.min(length, 64)));
    if (moment === undefined || moment.kind === kinds.TIME) {
      this.#target.fault(column, kinds.UNREADABLE_CELL, bytes, 0, length);
      return;
    }
    const isDate = moment.microseconds === 0 && this.#styles.hasTime[style] !== true;
    this.#target.moment(column, isDate ? kinds.DATE : kinds.TIMESTAMP, moment.days, moment.microseconds);
  }

  #putTime(column: number, style: number, bytes: Buffer, length: number): void {
    const duration = parseDuration(bytes.toString('latin1', 0, Math.min(length, 65)));
    if (duration === undefined) {
      this.#target.fault(column, kinds.UNREADABLE_CELL, bytes, 0, length);
      return;
    }
    const { days, microseconds } = duration;
    // A time of day is never negative.
    const isTime = days === 0 && microseconds >= 0 && this.#styles.isElapsed[style] !== true;
    this.#target.moment(column, isTime ? kinds.TIME : kinds.INTERVAL, days, microseconds);
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
