import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readDeltas } from './deltas.ts';

/** Writes the integers in blocks of 128 with four miniblocks. @param wrap the bits of the differences */
function writeDeltas(values: bigint[], wrap: number): Buffer {
  const bytes: number[] = [];
  const varint = (value: bigint): void => {
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
  };
  const zigzag = (value: bigint): void => varint(value < 0n ? -2n * value - 1n : 2n * value);
  for (const number of [128, 4, values.length]) varint(BigInt(number));
  zigzag(values[0] ?? 0n);
  const deltas = values.slice(1).map((value, index) => BigInt.asIntN(wrap, value - values[index]!));
  for (let block = 0; block < deltas.length; block += 128) {
    const ofBlock = deltas.slice(block, block + 128);
    const least = ofBlock.reduce((a, b) => (b < a ? b : a));
    zigzag(least);
    const minis = [0, 32, 64, 96].map((from) => ofBlock.slice(from, from + 32).map((delta) => delta - least));
    const widths = minis
      .map((mini) => mini.reduce((a, b) => (b > a ? b : a), 0n))
      .map((most) => (most === 0n ? 0 : most.toString(2).length));
    bytes.push(...widths);
    for (const [index, mini] of minis.entries()) {
      if (mini.length === 0) continue;
      const packed = mini.reduce(
        (bits, delta, place) => bits | (delta << BigInt(place * widths[index]!)),
        0n,
      );
      for (let byte = 0; byte < 4 * widths[index]!; byte++)
        bytes.push(Number((packed >> BigInt(8 * byte)) & 0xffn));
    }
  }
  return Buffer.from(bytes);
}

const sizes = [
  { bits: 64, isLong: true, min: -(2n ** 63n), max: 2n ** 63n - 1n },
  { bits: 32, isLong: false, min: -(2n ** 31n), max: 2n ** 31n - 1n },
  // Some programs write unsigned integers of 32 bits as they are, so that differences need 33 bits.
  { bits: 64, isLong: false, min: 0n, max: 2n ** 32n - 1n },
];

for (const { bits, isLong, min, max } of sizes) {
  test(`integers from ${min} to ${max} are read`, () => {
    const numbers = fc.array(fc.oneof(fc.bigInt(min, max), fc.bigInt(0n, 100n), fc.constantFrom(min, max)), {
      maxLength: 300,
    });
    fc.assert(
      fc.property(numbers, fc.nat(3), (values, before) => {
        const bytes = Buffer.concat([Buffer.alloc(before, 7), writeDeltas(values, bits), Buffer.from([9])]);
        const output = new Int32Array(isLong ? 2 * values.length : values.length);
        assert.equal(readDeltas(bytes, before, output, isLong), bytes.length - 1);
        const read = isLong
          ? [...new BigInt64Array(output.buffer)]
          : [...output].map((value) => (min < 0n ? BigInt(value) : BigInt(value >>> 0)));
        assert.deepEqual(read, values);
      }),
    );
  });
}

test('another number of values than the head states, and bytes that end early, are refused', () => {
  const bytes = writeDeltas([5n, 1n, 9n], 64);
  for (const [part, count] of [
    [bytes, 2],
    [bytes, 4],
    [bytes.subarray(0, 6), 3],
    [Buffer.alloc(0), 1],
  ] as const)
    assert.throws(() => readDeltas(Buffer.from(part), 0, new Int32Array(count), false), { fault: 'broken' });
});
