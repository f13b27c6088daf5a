/** When a message shortens a name, it cuts between characters, so no half of a surrogate pair is left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scanInChunks, testLimits } from '../../test/support/collecting-sink.ts';
import { spreadsheetLimits } from '../../test/support/spreadsheet-limits.ts';
import { buildZip, memoryFile } from '../../test/support/xlsx-builder.ts';
import { AppError } from '../core/errors.ts';
import { quote } from './spreadsheet/choose-sheet.ts';
import { describeTarget } from './spreadsheet/names/parse-reference.ts';
import { WorkbookNames } from './spreadsheet/names/workbook-names.ts';
import { openZipContainer } from './spreadsheet/package/zip-container.ts';
import { SheetOutline, wholeOutline } from './spreadsheet/proposal/sheet-outline.ts';

function detailOf(error: unknown): string {
  assert.ok(error instanceof AppError, String(error));
  return error.detail;
}

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return detailOf(error);
  }
  return assert.fail('accepted');
}

const shownBy: [what: string, shown: (text: string) => string | Promise<string>][] = [
  [
    'an unknown member of a JSON body',
    (text) => refusal(() => scanInChunks(Buffer.from(JSON.stringify({ [text]: 1 })), [])),
  ],
  [
    'a member where rows_at finds nothing',
    (text) =>
      refusal(() => scanInChunks(Buffer.from(JSON.stringify({ [text]: 1 })), [], testLimits, ['items'])),
  ],
  // JSON writes half of a pair as an escape.
  ['the name of a sheet', (text) => JSON.parse(quote(text))],
  ['the target of a defined name', describeTarget],
  [
    'the target of a listed name',
    (text) => {
      const names = new WorkbookNames();
      names.add({ name: 'n', kind: 'name', refersTo: text });
      return names.list[0]!.refersTo;
    },
  ],
  [
    'the label of a total row',
    (text) => {
      const outline = new SheetOutline(wholeOutline, 0, 9);
      const bytes = Buffer.from(text);
      outline.noteTotal(1, bytes, 0, bytes.length);
      return outline.lastTotal!.label;
    },
  ],
  [
    'the name of a part of a zip',
    (text) => {
      const part = { name: text, data: 'x' };
      const file = memoryFile(buildZip([part, part]));
      const limits = spreadsheetLimits({ maxUnpackedBytes: 50_000_000, maxRatio: 50 });
      return openZipContainer(file, limits).then(() => assert.fail('accepted'), detailOf);
    },
  ],
];

for (const [what, shown] of shownBy) {
  test(`${what} is not cut inside a character`, async () => {
    // The two texts differ by one letter at the beginning. In one of them a character of two UTF-16 units is exactly at the limit.
    for (const start of ['', 'a']) {
      const text = await shown(`${start}${'😀'.repeat(200)}`);
      assert.ok(text.includes('…'), text);
      assert.ok(text.isWellFormed(), JSON.stringify(text));
    }
  });
}
