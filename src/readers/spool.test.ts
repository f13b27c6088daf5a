import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, readdir, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { AppError } from '../core/errors.ts';
import { Spool } from './spool.ts';

async function contents(spool: Spool, start?: number, end?: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of spool.chunks(start, end)) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts);
}

/** Returns the spool files that this process has open. Linux only. */
/** Gives the test a folder for temporary files that nothing else uses. */
async function inTemporaryFolder(test: (directory: string) => Promise<void>): Promise<void> {
  const { TMPDIR } = process.env;
  const directory = await mkdtemp(join(tmpdir(), 'spool-test-'));
  process.env.TMPDIR = directory;
  try {
    await test(directory);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    await rm(directory, { recursive: true });
  }
}

async function openFiles(directory: string): Promise<string[]> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((link) => link.startsWith(directory));
}

test('written bytes are read back, in memory and from the file, in passes and at random', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 30 }),
      fc.integer({ min: 1, max: 500 }),
      fc.nat(4000),
      fc.nat(4000),
      async (parts, memoryBytes, from, length) => {
        const spool = new Spool({ maxBytes: 1_000_000, memoryBytes });
        try {
          for (const part of parts) {
            const chunk = Buffer.from(part);
            await spool.write(chunk);
            chunk.fill(0);
          }
          const all = Buffer.concat(parts);
          assert.equal(spool.size, all.length);
          assert.deepEqual(await contents(spool), all);
          const end = Math.min(from + length, all.length);
          assert.deepEqual(await contents(spool, from, end), all.subarray(from, end));
          const target = Buffer.alloc(length);
          const read = await spool.read(target, from);
          assert.deepEqual(target.subarray(0, read), all.subarray(from, from + length));
        } finally {
          await spool.close();
        }
      },
    ),
  );
});

test('a large body is unchanged by the read-ahead buffers', async () => {
  const body = randomBytes(1_000_003);
  const spool = new Spool({ maxBytes: body.length });
  for (let i = 0; i < body.length; i += 65_536) await spool.write(body.subarray(i, i + 65_536));
  assert.deepEqual(await contents(spool), body);
  assert.deepEqual(await contents(spool, 131_071, 700_001), body.subarray(131_071, 700_001));
  await spool.close();
});

test('the size is right between the parts of a write, and reads see every byte', async () => {
  const body = randomBytes(5000);
  const spool = new Spool({ maxBytes: 10_000, memoryBytes: 1000 });
  spool.write(body.subarray(0, 900));
  const writing = spool.write(body.subarray(900));
  let done = false;
  const written = writing!.then(() => {
    done = true;
  });
  while (!done) {
    const target = Buffer.alloc(6000);
    const read = await spool.read(target, 0);
    assert.ok(read <= body.length);
    assert.deepEqual(target.subarray(0, read), body.subarray(0, read));
    assert.ok(spool.size <= body.length);
    await nextTurn();
  }
  await written;
  assert.equal(spool.size, body.length);
  await spool.close();
});

test('a write does not wait while the bytes before it go to the file', async () => {
  const body = randomBytes(1900);
  const spool = new Spool({ maxBytes: 10_000, memoryBytes: 1000 });
  assert.equal(spool.write(body.subarray(0, 900)), undefined);
  assert.equal(spool.write(body.subarray(900)), undefined);
  assert.equal(spool.size, body.length);
  assert.deepEqual(await contents(spool), body);
  await spool.close();
});

test('a second write before the first has ended is refused', async () => {
  const spool = new Spool({ maxBytes: 100, memoryBytes: 1 });
  const first = spool.write(Buffer.from('abc'));
  assert.throws(() => spool.write(Buffer.from('d')), /still under way/);
  await first;
  await spool.close();
});

test('bytes over the limit are refused before anything is kept', () => {
  const spool = new Spool({ maxBytes: 10 });
  spool.write(Buffer.alloc(8));
  assert.throws(
    () => spool.write(Buffer.alloc(3)),
    (error) =>
      error instanceof AppError && error.code === 'limit-exceeded' && /\b10 bytes/.test(error.detail),
  );
  assert.equal(spool.size, 8);
});

test('the file has no name, only its owner can read it, and close() closes it', {
  skip: process.platform !== 'linux',
}, async () => {
  await inTemporaryFolder(async (directory) => {
    const spool = new Spool({ maxBytes: 1000, memoryBytes: 10 });
    await spool.write(Buffer.alloc(100));
    assert.deepEqual(await readdir(directory), []);
    const held = await openFiles(directory);
    assert.equal(held.length, 1);
    const fd = (await readdir('/proc/self/fd')).map(async (name) =>
      (await readlink(`/proc/self/fd/${name}`).catch(() => '')).startsWith(directory) ? name : undefined,
    );
    const name = (await Promise.all(fd)).find((found) => found !== undefined);
    assert.equal((await stat(`/proc/self/fd/${name}`)).mode & 0o777, 0o600);

    const writing = spool.write(Buffer.alloc(500))!.catch(() => {});
    const reading = spool.read(Buffer.alloc(100), 0).catch(() => {});
    await spool.close();
    await spool.close();
    await Promise.all([writing, reading]);
    assert.deepEqual(await openFiles(directory), []);
    assert.throws(() => spool.write(Buffer.alloc(1)), /closed/);
  });
});

test('close() while the file is being opened leaves no open file', {
  skip: process.platform !== 'linux',
}, async () => {
  await inTemporaryFolder(async (directory) => {
    const spool = new Spool({ maxBytes: 1000, memoryBytes: 10 });
    const writing = spool.write(Buffer.alloc(100));
    const rejected = assert.rejects(writing!, /closed/);
    await spool.close();
    await rejected;
    assert.deepEqual(await openFiles(directory), []);
    assert.deepEqual(await readdir(directory), []);
  });
});

test('a pass that ends early leaves no running read', async () => {
  const spool = new Spool({ maxBytes: 1_000_000, memoryBytes: 10_000 });
  await spool.write(Buffer.alloc(900_000, 'x'));
  for await (const chunk of spool.chunks()) {
    assert.equal(chunk[0], 0x78);
    break;
  }
  await spool.close();
});

test('a full disk is an error storage-full', async () => {
  const spool = new Spool({ maxBytes: 1000, memoryBytes: 1 });
  await spool.write(Buffer.alloc(10));
  await onFullDisk(() => assert.rejects(spool.write(Buffer.alloc(10))!, isStorageFull));
  await spool.close();
});

test('a disk that is full behind a write is an error of a later write, and the bytes before it can be read', async () => {
  const body = randomBytes(1900);
  const spool = new Spool({ maxBytes: 100_000, memoryBytes: 1000 });
  await onFullDisk(async () => {
    assert.equal(spool.write(body.subarray(0, 1000)), undefined);
    assert.equal(spool.write(body.subarray(1000)), undefined);
    await assert.rejects(async () => spool.write(Buffer.alloc(500)), isStorageFull);
    await assert.rejects(async () => spool.write(Buffer.alloc(1500)), isStorageFull);
  });
  assert.deepEqual(await contents(spool, 0, body.length), body);
  await spool.close();
});

function isStorageFull(error: unknown): boolean {
  return error instanceof AppError && error.code === 'storage-full' && error.status === 503;
}

/** Makes writes to files fail with the error of a full disk, because a test cannot fill a disk. */
async function onFullDisk(work: () => Promise<void>): Promise<void> {
  const probe = await open(import.meta.filename, 'r');
  const handle = Object.getPrototypeOf(probe) as { write: unknown };
  const original = handle.write;
  handle.write = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
  try {
    await work();
  } finally {
    handle.write = original;
    await probe.close();
  }
}
