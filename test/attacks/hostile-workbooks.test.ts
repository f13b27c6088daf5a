/**
 * Hostile workbooks over HTTP. Each gets a clear answer in a short time and in bounded memory, and the service continues to
 * work.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { harmlessWorkbooks, hostileLimits, hostileWorkbooks } from '../support/hostile-workbooks.ts';
import { assertProblem } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

/**
 * The limit of processor time for one upload. A busy machine does not make it much longer. It usually takes at most two
 * seconds.
 */
const maxProcessorMs = 10_000;
const maxPeakMib = 300;
/** The time limit of a request, so that the tests end even if the service hangs. */
const answerTimeoutMs = 300_000;

let service: ChildWithDatabase;
let orders: Buffer;

before(async () => {
  service = await startChildWithDatabase(hostileLimits);
  orders = await readFile(new URL('../../examples/orders.xlsx', import.meta.url));
});

after(async () => {
  await service?.stop('SIGTERM');
  assert.doesNotMatch(service.output(), /"level":[56]0/, 'the service has logged an error');
});

/** Uploads a file, and checks that the service needs little processor time and memory to answer. */
async function uploadInBounds(path: string, file: Buffer): Promise<TestAnswer> {
  service.resetPeakMemory();
  const before = service.processorMs();
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const answer = await service.upload(path, file, undefined, { signal });
  const after = service.processorMs();
  const ms = before === undefined || after === undefined ? undefined : after - before;
  const peak = service.peakMemoryBytes();
  const mib = peak && peak / 2 ** 20;
  if (process.env.SHOW)
    console.log(
      `${ms?.toFixed(0)} ms ${mib?.toFixed(0)} MiB ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`,
    );
  if (ms !== undefined) assert.ok(ms < maxProcessorMs, `${ms.toFixed(0)} ms of processor time`);
  if (mib !== undefined) assert.ok(mib < maxPeakMib, `${mib.toFixed(0)} MiB`);
  return answer;
}

async function tableNames(): Promise<string[]> {
  const { rows } = await service.database.pool.query(
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
  );
  return rows.map(({ relname }) => relname);
}

const uploadPath = '/api/v1/table/hostile/upload/excel';

for (const [index, { name, build, code, names }] of hostileWorkbooks.entries()) {
  test(`a workbook with ${name} is refused`, async () => {
    const answer = await uploadInBounds(`/api/v1/table/hostile_${index}/upload/excel`, build());
    const { detail, errors } = assertProblem(answer, answer.status, code);
    assert.match(`${detail} ${errors[0]?.cell ?? ''}`, names);
    assert.ok(JSON.stringify(answer.body).length < 100_000);
    assert.ok(!(await tableNames()).includes(`hostile_${index}`));
  });
}

for (const { name, build, query = '', rows, columns } of harmlessWorkbooks) {
  test(`a workbook with ${name} is loaded`, async () => {
    const separator = query === '' ? '?' : '&';
    const answer = await uploadInBounds(`${uploadPath}${query}${separator}dry_run=true`, build());
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, rows);
    assert.deepEqual(
      answer.body.table.columns.map((column: { name: string }) => column.name),
      columns,
    );
  });
}

test('an inspection of a workbook of thousands of sheets takes little time and memory', async () => {
  const sheets = Array.from({ length: sized(500, 2000) }, (_, index) => ({
    name: `s${index}`,
    xml: `<row><c t="s"><v>0</v></c></row><row><c><v>${index}</v></c></row>`,
  }));
  // If the strings were read for each sheet, this would take hours.
  const sharedStrings = '<si><t>n</t></si>'.repeat(300_000);
  const answer = await uploadInBounds('/api/v1/inspect/excel', buildWorkbook({ sheets, sharedStrings }));
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 1000));
  assert.ok(answer.body.sheets.every((sheet: { rows: number }) => sheet.rows === 1));
});

test('refuses a workbook that is cut off at any byte', async () => {
  for (let cut = 1; cut < 40; cut++) {
    const answer = await uploadInBounds(
      uploadPath,
      orders.subarray(0, Math.floor((orders.length * cut) / 40)),
    );
    assertProblem(answer, 400, 'invalid-file');
  }
});

test('answers every workbook with a flipped bit', async () => {
  const flips = sized(40, 120);
  let refused = 0;
  for (let flip = 0; flip < flips; flip++) {
    const mutant = Buffer.from(orders);
    const at = (flip * 7919) % mutant.length;
    mutant[at] = mutant[at]! ^ (1 << (flip % 8));
    const answer = await uploadInBounds(`${uploadPath}?dry_run=true`, mutant);
    if (answer.status !== 200) refused++;
    if (answer.status !== 200) assertProblem(answer, answer.status, answer.body.code);
    assert.ok(
      answer.status === 200 || (answer.status >= 400 && answer.status < 500),
      JSON.stringify(answer.body),
    );
  }
  assert.ok(refused > flips / 2, `${refused} refused`);
});

test('loads a normal workbook after all refused ones', async () => {
  assert.deepEqual(await tableNames(), []);
  const answer = await uploadInBounds('/api/v1/table/orders/upload/excel', orders);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal(answer.body.load.rows, 300);
  assert.deepEqual(await tableNames(), ['orders']);
});
