/** The files that the Dockerfile puts into the image are enough to run the service, and they are few. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inImage } from '../../scripts/image/in-image.ts';
import { createTestDatabase } from '../support/database.ts';

/** Without Node.js itself. */
const maxBytes = 80e6;

test('the image runs as an ordinary user on a read-only tree, and has less than 80 MB without Node.js', async (context) => {
  const database = await createTestDatabase();
  try {
    const { bytes, readyMs, processorMs } = await inImage(database.serviceUrl);
    context.diagnostic(
      `${(bytes / 1e6).toFixed(1)} MB; ready after ${readyMs.map(Math.round)} ms, with ${processorMs} ms of processor time`,
    );
    assert.ok(bytes < maxBytes, `the image has ${bytes} bytes`);
  } finally {
    await database.drop();
  }
});
