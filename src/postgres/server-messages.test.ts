import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MessageGuard, MessageTooLong, maxMessageBytes, UnreadableMessage } from './server-messages.ts';

/** Returns the header of a message. @param length the bytes after the type, with those of the length itself */
function header(type: string, length: number): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0`, 'latin1');
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

const message = (bodyBytes: number): Buffer =>
  Buffer.concat([header('D', bodyBytes + 4), Buffer.alloc(bodyBytes, 'E\0\0\0')]);

/** Returns the bytes in chunks that end at the places. */
function cut(bytes: Buffer, places: number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
}

interface Passed {
  bytes: Buffer;
  failure: Error | undefined;
}

function pass(guard: MessageGuard, chunks: Buffer[]): Passed {
  const passed: Buffer[] = [];
  let failure: Error | undefined;
  for (const chunk of chunks) failure ??= guard.receive(chunk, (bytes) => passed.push(bytes));
  return { bytes: Buffer.concat(passed), failure };
}

const bodies = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 12 });
const places = fc.array(fc.nat(600), { maxLength: 40 });

test('all messages are passed on unchanged, wherever a chunk ends', () => {
  fc.assert(
    fc.property(bodies, places, (sizes, ends) => {
      const all = Buffer.concat(sizes.map(message));
      const guard = new MessageGuard();
      assert.deepEqual(pass(guard, cut(all, ends)), { bytes: all, failure: undefined });
      assert.equal(guard.longestBytes, sizes.length === 0 ? 0 : Math.max(...sizes) + 4);
    }),
  );
});

test('a long message is passed on alone and as a whole, and what is before and after it, too', () => {
  const all = Buffer.concat([message(7), message(2_000_000), message(3), message(600_000), message(1)]);
  for (const chunkBytes of [61, 4099, 65_536, 700_001]) {
    const places = Array.from({ length: Math.ceil(all.length / chunkBytes) }, (_, n) => n * chunkBytes);
    const passed: Buffer[] = [];
    const guard = new MessageGuard();
    for (const chunk of cut(all, places)) guard.receive(chunk, (bytes) => passed.push(bytes));
    assert.deepEqual(Buffer.concat(passed), all);
    const longest = Math.max(...passed.map(({ length }) => length));
    assert.ok(longest >= 2_000_000 && longest <= 2_000_005, String(longest));
  }
});

test('the content of a long row of a COPY is taken in parts, between the messages before and after it', () => {
  const row = (bodyBytes: number, fill: string) =>
    Buffer.concat([header('d', bodyBytes + 4), Buffer.alloc(bodyBytes, fill)]);
  const [first, second, short] = [row(2_000_000, 'ab'), row(700_000, 'cd'), row(5, 'e')];
  const all = Buffer.concat([short, first, second, message(900_000), short]);
  const content = (bytes: Buffer) => bytes.subarray(5);
  const expected = Buffer.concat([short, content(first), content(second), message(900_000), short]);
  for (const chunkBytes of [61, 4096, 65_536]) {
    const guard = new MessageGuard();
    const taken: Buffer[] = [];
    let ends = 0;
    let longest = 0;
    guard.takeRow = (part, isLast) => {
      taken.push(Buffer.from(part));
      if (isLast) ends++;
      longest = Math.max(longest, part.length);
    };
    for (let at = 0; at < all.length; at += chunkBytes)
      guard.receive(all.subarray(at, at + chunkBytes), (bytes) => taken.push(bytes));
    assert.ok(Buffer.concat(taken).equals(expected));
    assert.equal(ends, 2);
    assert.ok(longest <= chunkBytes + 4);
  }
});

test('nothing of the body of a message that is too long is passed on, wherever a chunk ends', () => {
  const lengths = fc.constantFrom(0, 3, maxMessageBytes + 1, 0xffff_ffff);
  fc.assert(
    fc.property(bodies, places, lengths, (sizes, ends, length) => {
      const before = Buffer.concat(sizes.map(message));
      const all = Buffer.concat([before, header('E', length), Buffer.alloc(30)]);
      const { bytes, failure } = pass(new MessageGuard(), cut(all, ends));
      assert.ok(bytes.length < before.length + 5, `${bytes.length} of ${before.length}`);
      assert.deepEqual(bytes.subarray(0, before.length), before);
      if (length < 4) assert.ok(failure instanceof UnreadableMessage);
      else assert.ok(failure instanceof MessageTooLong && failure.isRefusal);
    }),
  );
});

test('a message of exactly the limit is passed on', () => {
  const chunks = [header('D', maxMessageBytes), Buffer.alloc(maxMessageBytes - 4)];
  const { bytes, failure } = pass(new MessageGuard(), chunks);
  assert.deepEqual([bytes.length, failure], [maxMessageBytes + 1, undefined]);
});

test('an exception of the reader is returned, and nothing is passed on after it', () => {
  const guard = new MessageGuard();
  const cause = new Error('a bug');
  const failure = guard.receive(message(3), () => {
    throw cause;
  });
  assert.ok(failure instanceof UnreadableMessage && failure.cause === cause);
  assert.equal(
    guard.receive(message(3), () => assert.fail('passed on')),
    undefined,
  );
});
