import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CollectingSink, testLimits } from '../../../test/support/collecting-sink.ts';
import { Spool } from '../spool.ts';
import { jsonSource } from './json-source.ts';

async function spoolOf(body: string, memoryBytes: number): Promise<Spool> {
  const spool = new Spool({ maxBytes: 10_000_000, memoryBytes });
  await spool.write(Buffer.from(body));
  return spool;
}

const rows = Array.from({ length: 20_000 }, (_, i) => ({ id: String(i), name: `näme\n${i}` }));
const body = `${JSON.stringify(rows).slice(1)}, "table": {"columns": []}}`;
const nowhere = () => ({});
const never = new AbortController().signal;

test('every pass pushes all rows, from memory and from the file', async () => {
  for (const memoryBytes of [10_000_000, 1000]) {
    const spool = await spoolOf(body, memoryBytes);
    const source = jsonSource(spool, testLimits, 'array', nowhere);
    for (let pass = 0; pass < 2; pass++) {
      const sink = new CollectingSink();
      await source.read(sink, never);
      assert.deepEqual(
        sink.rows.map((row) => Object.fromEntries(row.map((cell) => [cell.name, cell.text]))),
        rows,
      );
      assert.ok(sink.drains >= body.length / 65_536);
    }
    await spool.close();
  }
});

test('no row is pushed while the sink drains', async () => {
  const spool = await spoolOf(body, 1000);
  let isDraining = false;
  let drains = 0;
  class SlowSink extends CollectingSink {
    override beginRow(row: number): void {
      assert.equal(isDraining, false);
      super.beginRow(row);
    }
    override async drain(): Promise<void> {
      isDraining = true;
      drains++;
      await nextTurn();
      isDraining = false;
    }
  }
  await jsonSource(spool, testLimits, 'array', nowhere).read(new SlowSink(), never);
  assert.ok(drains > 1);
  await spool.close();
});

test('an aborted read ends with the reason of the signal', async () => {
  const spool = await spoolOf(body, 1000);
  const abort = new AbortController();
  const sink = new CollectingSink();
  sink.drain = async () => abort.abort(new Error('client disconnected'));
  await assert.rejects(
    jsonSource(spool, testLimits, 'array', nowhere).read(sink, abort.signal),
    /client disconnected/,
  );
  assert.ok(sink.rows.length < rows.length);
  await spool.close();
});

test('a long object or array is passed in turns, and all cells remain in their order', async () => {
  const values = Array.from({ length: 40_000 }, (_, index) => ({ [`k${index}`]: 'é' }));
  const long = JSON.stringify(values);
  assert.ok(long.length > 500_000);
  const row = (id: number) => `{"a":${long}, "b":${id},"c":{"d":${long}}}`;
  class LongSink extends CollectingSink {
    longCells = 0;
    async longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
      this.longCells++;
      const text = bytes.toString('utf8', start, end);
      await nextTurn();
      assert.equal(bytes.toString('utf8', start, end), text);
      this.cell(column, kind, bytes, start, end);
    }
  }
  const limits = { ...testLimits, maxRowBytes: 10_000_000 };
  const lists = [
    ['array', `${row(1)},{"a":[],"b":{}},${row(3)}], "x": 1}`],
    ['lines', `${row(1)}\n{"a":[],"b":{}}\n${row(3)}`],
  ] as const;
  for (const [list, text] of lists) {
    const spool = await spoolOf(text, 1000);
    const [inTurns, atOnce] = [new LongSink(), new CollectingSink()];
    for (const sink of [inTurns, atOnce]) await jsonSource(spool, limits, list, nowhere).read(sink, never);
    assert.equal(inTurns.longCells, 4);
    assert.deepEqual(inTurns.rows, atOnce.rows);
    assert.equal(inTurns.rows.length, 3);
    await spool.close();
  }
});
