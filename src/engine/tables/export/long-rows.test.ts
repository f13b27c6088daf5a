/** The parts of a long row become the same bytes as the whole row. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../../core/errors.ts';
import type { RowColumn } from '../row-columns.ts';
import { Chunks } from './chunks.ts';
import { jsonDocument, jsonLines } from './json-rows.ts';
import type { RowWriter } from './row-stream.ts';
import { SheetRows } from './workbook/sheet-rows.ts';

/** Returns what the writer writes of the messages. @param cuts for each message the places where its parts end */
function written(writer: RowWriter, messages: Buffer[], cuts: number[][] = []): string {
  const out = new Chunks();
  writer.begin?.(out);
  for (const [index, message] of messages.entries()) {
    const places = (cuts[index] ?? []).map((place) => place % (message.length + 1)).sort((a, b) => a - b);
    let from = 0;
    for (const to of places) {
      writer.row(Buffer.from(message.subarray(from, to)), out, false);
      from = to;
    }
    writer.row(Buffer.from(message.subarray(from)), out, true);
  }
  writer.end?.(out);
  out.flush();
  const chunks: Buffer[] = [];
  for (let chunk = out.take(); chunk !== undefined; chunk = out.take()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const cuts = fc.array(fc.array(fc.nat(200), { maxLength: 6 }), { maxLength: 5 });

for (const writerOf of [jsonLines, jsonDocument])
  test(`${writerOf.name}: parts of rows`, () => {
    const value = fc.json().map((text) => text.replaceAll(',', ',\n'));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 4 }), cuts, (values, places) => {
        const rows = values.map((text, row) =>
          Buffer.concat([Buffer.alloc(row === 0 ? 25 : 6), Buffer.from(text)]),
        );
        // The end of the rows comes as a whole.
        const messages = [...rows, Buffer.alloc(rows.length === 0 ? 21 : 2)];
        const ofParts = written(writerOf(), messages, places.slice(0, rows.length));
        assert.equal(ofParts, written(writerOf(), messages));
      }),
    );
  });

const columns = [25, 20, 16, 25].map((base, n) => ({ name: `c${n}`, base }) as RowColumn);

test('SheetRows: parts of rows', () => {
  const field = fc.constantFrom('', 'a b', '\\N', '17', 't', 'x\\ty', 'é€', '_x0001_', `${'y'.repeat(40)}`);
  const row = fc.tuple(field, field, field, field).map((fields) => Buffer.from(`${fields.join('\t')}\n`));
  fc.assert(
    fc.property(fc.array(row, { maxLength: 4 }), cuts, (rows, places) => {
      assert.equal(written(new SheetRows(columns), rows, places), written(new SheetRows(columns), rows));
    }),
  );
});

test('SheetRows refuses a field that is too long before its end has arrived', () => {
  const sheet = new SheetRows(columns);
  const out = new Chunks();
  const part = Buffer.alloc(40_000, 'x');
  const write = () => sheet.row(part, out, false);
  write();
  write();
  assert.throws(write, (error) => error instanceof AppError && error.code === 'limit-exceeded');
});
