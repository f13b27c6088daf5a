import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readRuns } from './runs.ts';

/** Writes values as runs and as groups of eight, in turns. */
function writeRuns(values: number[], width: number, pieces: number[]): Buffer {
  const bytes: number[] = [];
  const varint = (value: number): void => {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  };
  for (let at = 0, turn = 0; at < values.length; turn++) {
    const count = Math.min(pieces[turn % pieces.length]!, values.length - at);
    if (values.slice(at, at + count).every((value) => value === values[at])) {
      varint(count << 1);
      for (let shift = 0; shift < width; shift += 8) bytes.push((values[at]! >> shift) & 0xff);
      at += count;
      continue;
    }
    const groups = at + 8 * count >= values.length ? Math.ceil((values.length - at) / 8) : count;
    varint((groups << 1) | 1);
    let bits = 0n;
    for (let index = 0; index < groups * 8; index++)
      bits |= BigInt(values[at + index] ?? 0) << BigInt(index * width);
    for (let byte = 0; byte < groups * width; byte++) bytes.push(Number((bits >> BigInt(8 * byte)) & 0xffn));
    at += groups * 8;
  }
  return Buffer.from(bytes);
}

test('runs and groups of any width are read, and never beyond their bytes', () => {
  const written = fc.integer({ min: 1, max: 24 }).chain((width) =>
    fc.record({
      width: fc.constant(width),
      values: fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 2 ** width - 1 })), {
        minLength: 1,
      }),
      pieces: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
    }),
  );
  fc.assert(
    fc.property(written, ({ width, values, pieces }) => {
      const bytes = writeRuns(values, width, pieces);
      const output = new Int32Array(values.length);
      readRuns(bytes, 0, bytes.length, width, output);
      assert.deepEqual([...output], values);
      const longer = new Int32Array(values.length + 8);
      assert.throws(
        () => readRuns(Buffer.concat([bytes, Buffer.alloc(50)]), 0, bytes.length, width, longer),
        /too few/,
      );
    }),
  );
});

test('any bytes are values or a fault', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.integer({ min: 0, max: 255 }), fc.nat(2000), (array, width, count) => {
      try {
        readRuns(Buffer.from(array), 0, array.length, width, new Int32Array(count));
      } catch (error) {
        assert.equal((error as { fault?: string }).fault, 'broken');
      }
    }),
  );
});
