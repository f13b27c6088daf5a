/** Opens an OpenDocument spreadsheet (.ods). */

import { AppError } from '../../../core/errors.ts';
import { encrypted, notAWorkbook } from '../file-errors.ts';
import type { WorkbookNames } from '../names/workbook-names.ts';
import { partSlices } from '../package/part-slices.ts';
import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { maxProbedBytes, type OpenFormat } from '../sheet-format.ts';
import type { SheetRows } from '../sheet-rows.ts';
import type { SheetSummary } from '../spreadsheet-options.ts';
import { OdsOutline } from './ods-outline.ts';
import { OdsScanner } from './ods-scanner.ts';
import { OdsStylesReader } from './ods-styles.ts';

const spreadsheetType = /^application\/vnd\.oasis\.opendocument\.spreadsheet/;
const contentName = 'content.xml';

export const openOds: OpenFormat = async ({ container }, _options, limits, signal) => {
  if (container === undefined || !isOpenDocument(container)) return undefined;
  await checkManifest(container);
  const content = container.find(contentName);
  if (content === undefined) {
    throw new AppError(
      'invalid-file',
      `The file is broken: it does not contain the part ${contentName}. Open it in a spreadsheet program and save it again.`,
    );
  }
  const stylesReader = new OdsStylesReader();
  const stylesPart = container.find('styles.xml');
  if (stylesPart !== undefined) await readOutline(container, stylesPart, stylesReader, signal);
  const { sheets, is1904, names } = await readOutline(container, content, stylesReader, signal);
  const styles = stylesReader.finish();
  const skipped: SkippedBytes = { left: maxSkippedBytes };
  const scanning = { partName: content.name, styles, is1904, limits };
  return {
    format: 'ods',
    sheets,
    names: async () => names,
    scanOf: (sheet) => async (rows, scanSignal) => {
      const scanner = new OdsScanner(rows, { ...scanning, sheet });
      await feed(scanner, partSlices(container, content, scanSignal), rows, scanSignal);
      scanner.finish();
      return {};
    },
    probe: async (sheet, rows, isEnough, probeSignal) => {
      const scanner = new OdsScanner(rows, { ...scanning, sheet });
      const probe = { isEnough, bytes: 0, skipped };
      await feed(scanner, partSlices(container, content, probeSignal), rows, probeSignal, probe);
      return scanner.isDone && !isEnough();
    },
  };
};

/** How many bytes before the probed sheets may still be read. All sheets are in one part of the file, so a probe must read the sheets before its own, too. */
interface SkippedBytes {
  left: number;
}

/** How many bytes of other sheets all probes of one file together may read. This takes about two seconds. */
const maxSkippedBytes = 256 * 1024 * 1024;

interface Probe {
  isEnough: () => boolean;
  /** The bytes of the sheet that were read. */
  bytes: number;
  skipped: SkippedBytes;
}

/** Feeds the scanner until the sheet ends or, for a probe, until it has enough. */
async function feed(
  scanner: OdsScanner,
  slices: AsyncIterable<Buffer>,
  rows: SheetRows,
  signal: AbortSignal,
  probe?: Probe,
): Promise<void> {
  for await (const slice of slices) {
    scanner.feed(slice);
    for (let isRead = false; !isRead && !probe?.isEnough(); ) {
      isRead = scanner.run();
      const wait = rows.pause();
      if (wait !== undefined) await wait;
      signal.throwIfAborted();
    }
    // Only other sheets follow, so reading can stop.
    if (scanner.isDone || (probe && hasEnough(probe, scanner, slice.length))) break;
  }
}

/** Counts the bytes of a slice, and returns whether the probe has read enough of the file. */
function hasEnough(probe: Probe, { hasBegun }: OdsScanner, bytes: number): boolean {
  if (hasBegun) probe.bytes += bytes;
  else probe.skipped.left -= bytes;
  return probe.isEnough() || probe.bytes > maxProbedBytes || probe.skipped.left < 0;
}

/** Returns whether the package is an OpenDocument file of any kind (OpenDocument part 2, 3.2). */
function isOpenDocument(container: ZipContainer): boolean {
  return container.find('META-INF/manifest.xml') !== undefined;
}

/** Checks the manifest, which names the document's type and its encrypted parts (OpenDocument part 2, 4). */
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
): Promise<{ sheets: SheetSummary[]; is1904: boolean; names: WorkbookNames }> {
  const outline = new OdsOutline(part.name, styles);
  for await (const slice of partSlices(container, part, signal)) outline.push(slice);
  const { is1904, names } = outline;
  return { sheets: outline.finish(), is1904, names };
}
