/** One sheet of an OpenDocument spreadsheet (.ods) as rows. */

import { AppError } from '../../../errors.ts';
import type { CellLocation, CellSink } from '../../cell-sink.ts';
import type { HeaderFault, SourceReading, SourceWarning } from '../../row-source.ts';
import { pauseBetweenSlices } from '../../share-turns.ts';
import { chooseSheet, visibleSheetsWithRows } from '../choose-sheet.ts';
import { notAWorkbook } from '../open-xml/workbook.ts';
import { partSlices } from '../package/part-slices.ts';
import { attributeOf, readSmallPart } from '../package/small-part.ts';
import { encrypted, type ZipContainer, type ZipPart } from '../package/zip-container.ts';
import { SheetRows, type SheetRowsOptions, toRowsOptions } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { SheetSummary, SpreadsheetOptions, SpreadsheetSource } from '../spreadsheet-options.ts';
import { OdsOutline } from './ods-outline.ts';
import { OdsScanner, type OdsScannerOptions } from './ods-scanner.ts';
import { OdsStylesReader } from './ods-styles.ts';

const spreadsheetType = /^application\/vnd\.oasis\.opendocument\.spreadsheet/;
const contentName = 'content.xml';

/** Whether the package is of OpenDocument, of whatever kind (OpenDocument part 2, 3.2). */
export function isOpenDocument(container: ZipContainer): boolean {
  return container.find('META-INF/manifest.xml') !== undefined;
}

/** @throws AppError as `openSpreadsheet` */
export async function openOds(
  container: ZipContainer,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<SpreadsheetSource> {
  const rowsOptions = toRowsOptions(options, limits);
  await checkManifest(container);
  const content = container.find(contentName);
  if (content === undefined) {
    throw new AppError('invalid-file', `The file does not hold the part ${contentName}.`);
  }
  const stylesReader = new OdsStylesReader();
  const stylesPart = container.find('styles.xml');
  if (stylesPart !== undefined) await readOutline(container, stylesPart, stylesReader, signal);
  const { sheets, is1904 } = await readOutline(container, content, stylesReader, signal);
  const index = chooseSheet(sheets, options.sheet);
  const scanning = { partName: content.name, styles: stylesReader.finish(), is1904, sheet: index, limits };
  return new OdsSource(container, content, scanning, sheets, rowsOptions);
}

/** The manifest names the document's type, and which of its parts are encrypted (OpenDocument part 2, 4). */
async function checkManifest(container: ZipContainer): Promise<void> {
  let type = '';
  await readSmallPart(container, container.find('META-INF/manifest.xml')!, (tag, path) => {
    if (path === 'manifest/file-entry/encryption-data') throw encrypted();
    if (path !== 'manifest/file-entry') return;
    if (attributeOf(tag, 'full-path') === '/') type = attributeOf(tag, 'media-type') ?? '';
  });
  if (type !== '' && !spreadsheetType.test(type)) {
    throw notAWorkbook('an OpenDocument file of another kind');
  }
}

async function readOutline(
  container: ZipContainer,
  part: ZipPart,
  styles: OdsStylesReader,
  signal: AbortSignal,
): Promise<{ sheets: SheetSummary[]; is1904: boolean }> {
  const outline = new OdsOutline(part.name, styles);
  for await (const slice of partSlices(container, part, signal)) outline.push(slice);
  return { sheets: outline.finish(), is1904: outline.is1904 };
}

class OdsSource implements SpreadsheetSource {
  readonly nameMatching = 'loose';
  readonly sheets: SheetSummary[];
  readonly sheet: string;
  readonly warnings: SourceWarning[] = [];
  headerFaults: HeaderFault[] = [];
  reading: SourceReading;

  readonly #container: ZipContainer;
  readonly #content: ZipPart;
  readonly #scanning: OdsScannerOptions;
  readonly #options: SheetRowsOptions;
  #rows: SheetRows | undefined;

  constructor(
    container: ZipContainer,
    content: ZipPart,
    scanning: OdsScannerOptions,
    sheets: SheetSummary[],
    options: SheetRowsOptions,
  ) {
    this.#container = container;
    this.#content = content;
    this.#scanning = scanning;
    this.sheets = sheets;
    this.#options = options;
    this.sheet = sheets[scanning.sheet]!.name;
    this.reading = { format: 'ods', sheet: this.sheet };
  }

  async read(sink: CellSink, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const rows = new SheetRows(sink, this.#options);
    this.#rows = rows;
    const scanner = new OdsScanner(rows, this.#scanning);
    for await (const slice of partSlices(this.#container, this.#content, signal)) {
      scanner.feed(slice);
      for (let isRead = false; !isRead; ) {
        isRead = scanner.run();
        const wait = pauseBetweenSlices(sink);
        if (wait !== undefined) await wait;
        signal.throwIfAborted();
      }
      // What follows are the other sheets.
      if (scanner.isDone) break;
    }
    scanner.finish();
    rows.finish();
    this.warnings.splice(0, this.warnings.length, ...rows.warningsFor(this));
    this.headerFaults = rows.headerFaultsOf(this.sheet);
    this.reading = rows.reading('ods', this.sheet);
  }

  otherSheetsWithRows = async (): Promise<string[]> => visibleSheetsWithRows(this);

  openSheet = (name: string): SpreadsheetSource => {
    const scanning = { ...this.#scanning, sheet: chooseSheet(this.sheets, name) };
    return new OdsSource(this.#container, this.#content, scanning, this.sheets, this.#options);
  };

  locate = (row: number, column: number): CellLocation => {
    return this.#rows?.locate(this.sheet, row, column) ?? { sheet: this.sheet };
  };
}
