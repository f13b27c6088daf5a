import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NANOSECONDS, UNREADABLE_VALUE } from '../../../core/cells/cell-kind.ts';
import { found, readInt96, readTime, readTimestamp } from './moments.ts';

const halves = (value: bigint): [low: number, high: number] => [
  Number(BigInt.asIntN(32, value)),
  Number(BigInt.asIntN(32, value >> 32n)),
];

const long = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
);

test('a timestamp of any 64 bits is days and microseconds, or says why it is not', () => {
  const perSecond = fc.constantFrom(1000, 1_000_000, 1_000_000_000);
  fc.assert(
    fc.property(long, perSecond, fc.boolean(), (value, unit, isRound) => {
      const stated = isRound && unit === 1_000_000_000 ? BigInt.asIntN(64, (value / 1000n) * 1000n) : value;
      const fault = readTimestamp(...halves(stated), unit);
      const ofDay = 86_400n * BigInt(unit);
      const rest = ((stated % ofDay) + ofDay) % ofDay;
      const days = (stated - rest) / ofDay;
      if (days > 0x7fffffffn || days < -0x7fffffffn) assert.equal(fault, UNREADABLE_VALUE);
      else if (unit === 1_000_000_000 && rest % 1000n !== 0n) assert.equal(fault, NANOSECONDS);
      else {
        assert.equal(fault, 0);
        const microseconds = unit === 1000 ? rest * 1000n : unit === 1_000_000 ? rest : rest / 1000n;
        assert.deepEqual(found, { days: Number(days) - 10_957, microseconds: Number(microseconds) });
      }
    }),
    { numRuns: 2000 },
  );
});

test('a time is within its day', () => {
  assert.equal(readTime(86_399_999, 1000), 0);
  assert.deepEqual(found, { days: 0, microseconds: 86_399_999_000 });
  for (const value of [-1, 86_400_001, Number.NaN]) assert.equal(readTime(value, 1000), UNREADABLE_VALUE);
  assert.equal(readTime(1, 1_000_000_000), NANOSECONDS);
});

test('an INT96 counts nanoseconds from its Julian day', () => {
  assert.equal(readInt96(...halves(1_000_000_000n), 2_451_545), 0);
  assert.deepEqual(found, { days: 0, microseconds: 1_000_000 });
  assert.equal(readInt96(...halves(-1000n), 2_451_545), 0);
  assert.deepEqual(found, { days: -1, microseconds: 86_399_999_999 });
  assert.equal(readInt96(...halves(1n), 2_451_545), NANOSECONDS);
});
