/** The memory of the service while it exports long rows, and that their bytes arrive unchanged. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';

const mib = 2 ** 20;
const rowCount = 3;
/** Each row has another value, so that a row which is mixed up with another one is noticed. */
const bytesOf = (row: number): Buffer => Buffer.alloc(60_000_000, `${row}xy,`);

async function exported(service: ChildWithDatabase, format: string): Promise<string> {
  const answer = await fetch(`${service.url}/api/v1/table/long/rows?format=${format}`, {
    headers: { authorization: `Bearer ${await service.token()}` },
  });
  const hash = createHash('sha1');
  for await (const chunk of answer.body!) hash.update(chunk);
  return hash.digest('hex');
}

test('an export of rows of 60 MB takes less than 300 MiB', async (context) => {
  const service = await startChildWithDatabase();
  context.after(() => service.stop('SIGTERM'));
  await service.database.pool.query(
    `CREATE TABLE long (a text); INSERT INTO long SELECT repeat(n || 'xy,', 15000000) FROM generate_series(1, ${rowCount}) AS n`,
  );
  const hash = createHash('sha1').update('a\n');
  for (let row = 1; row <= rowCount; row++) hash.update('"').update(bytesOf(row)).update('"\n');
  service.resetPeakMemory();
  assert.equal(await exported(service, 'csv'), hash.digest('hex'));
  const peak = service.peakMemoryBytes() ?? 0;
  context.diagnostic(`${Math.round(peak / mib)} MiB`);
  assert.ok(peak < 300 * mib, `the process took ${peak / mib} MiB`);
});
