/**
 * Flipped bits and missing ends, in the zip and inside its parts: each file is read or refused, and never causes an internal
 * error.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomNumbers } from '../../../test/support/random-numbers.ts';
import { recordRows } from '../../../test/support/recorded-cells.ts';
import { sized } from '../../../test/support/sized.ts';
import { spreadsheetLimits } from '../../../test/support/spreadsheet-limits.ts';
import { buildWorkbook, buildZip, memoryFile, workbookParts } from '../../../test/support/xlsx-builder.ts';
import { withSecondReading } from '../../core/cells/row-source.ts';
import { AppError } from '../../core/errors.ts';
import { openSpreadsheet } from './open-spreadsheet.ts';

const limits = spreadsheetLimits({
  maxUnpackedBytes: 10_000_000,
  maxRatio: 200,
  maxRows: 1000,
  maxColumns: 100,
  maxCellBytes: 10_000,
  maxRowBytes: 40_000,
  maxSharedStringBytes: 100_000,
});

const spec = {
  formats: [14, 'yyyy-mm-dd hh:mm:ss', '[h]:mm', '00000'],
  sharedStrings:
    '<si><t>id</t></si><si><r><t>na</t></r><r><t xml:space="preserve">me </t></r></si><si><t>é&amp;_x000D_</t></si>',
  sheets: [
    {
      name: 'Data',
      xml: `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>day</t></is></c></row>
        <row r="2" spans="1:5"><c r="A2"><v>12.5</v></c><c r="B2" t="s"><v>2</v></c><c r="C2" s="1"><v>44197</v></c></row>
        <x:row r="3"><c r="A3" s="4"><v>7</v></c><c r="B3" t="str"><f>A1&amp;"x"</f><v>a<![CDATA[<b>]]></v></c><c s="2"><v>44197.5</v></c></x:row>
        <row><c><v>1.1000000000000001</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c s="3"><v>1.5</v></c><c t="d"><v>2021-01-01</v></c></row>`,
    },
    { name: 'Other', xml: '', state: 'hidden' as const },
  ],
};

function mutate(bytes: Buffer, random: (below: number) => number): Buffer {
  const mutant = Buffer.from(bytes);
  const kind = random(8);
  if (kind === 0) return mutant.subarray(0, random(mutant.length));
  if (kind === 1)
    return Buffer.concat([mutant.subarray(0, random(mutant.length)), mutant.subarray(random(mutant.length))]);
  for (let flips = 1 + random(4); flips > 0; flips--) {
    const at = random(mutant.length);
    mutant[at] = kind < 5 ? mutant[at]! ^ (1 << random(8)) : interesting[random(interesting.length)]!;
  }
  return mutant;
}

const interesting = Buffer.from('<>&"\'/=;!?[]- \n\0\xff\x80_x09AZ', 'latin1');

async function tryToRead(bytes: Buffer): Promise<string> {
  try {
    const file = memoryFile(bytes);
    const source = await openSpreadsheet(file, { columnNames: 'exact', cellErrors: 'problem' }, limits);
    await withSecondReading(() => source.read(recordRows(), AbortSignal.timeout(60_000)));
    return 'read';
  } catch (error) {
    assert.ok(error instanceof AppError, `not an answer: ${error instanceof Error ? error.stack : error}`);
    assert.ok(error.status >= 400 && error.status < 500, error.message);
    return error.code;
  }
}

test('every mutated zip file is read or refused', async () => {
  const bytes = buildWorkbook(spec);
  assert.equal(await tryToRead(bytes), 'read');
  const random = randomNumbers(1);
  for (let run = 0; run < sized(200, 1500); run++) await tryToRead(mutate(bytes, random));
});

test('every mutated part is read or refused', async () => {
  const parts = Object.entries(workbookParts(spec));
  const random = randomNumbers(2);
  const seen = new Map<string, number>();
  for (let run = 0; run < sized(300, 2500); run++) {
    const victim = random(parts.length);
    const entries = parts.map(([name, data], index) => ({
      name,
      data: index === victim ? mutate(Buffer.from(data as string), random) : data,
      isStored: true,
    }));
    const outcome = await tryToRead(buildZip(entries));
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  // Enough of the changed files must reach the readers, and some must still be valid. Otherwise this tests nothing.
  assert.ok(seen.get('read')! > 50 && seen.get('invalid-file')! > 50, JSON.stringify([...seen]));
});
