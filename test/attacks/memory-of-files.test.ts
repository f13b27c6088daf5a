/** The memory that several files take at the same time: their sum is limited, and no subject takes all of it or all readers of .xls. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import * as library from '@e965/xlsx';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';
import { until } from '../support/until.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

const mib = 2 ** 20;

async function startService(
  context: TestContext,
  settings: Record<string, string>,
): Promise<ChildWithDatabase> {
  const service = await startChildWithDatabase({ UPLOAD_WAIT_MS: '60000', ...settings });
  context.after(() => service.stop('SIGTERM'));
  return service;
}

async function upload(service: ChildWithDatabase, subject: string, file: Buffer): Promise<TestAnswer> {
  const body = new FormData();
  body.append('file', new Blob([new Uint8Array(file)]), 'file');
  const path = '/table/held/upload/excel?dry_run=true';
  return service.request('POST', path, { body, token: await service.token({ subject }) });
}

/** A workbook whose shared strings take so many MiB. It has 1,000 rows, each with another string. */
function workbook(sizeMib: number): Buffer {
  const count = sizeMib * 64;
  const text = 'x'.repeat(16_384 - 20);
  const sharedStrings = Array.from({ length: count }, (_, n) => `<si><t>${text}${n}</t></si>`).join('');
  const cell = (row: number, index: number) =>
    `<row r="${row}"><c r="A${row}" t="s"><v>${index}</v></c></row>`;
  const xml = Array.from({ length: 1000 }, (_, n) => cell(n + 1, n)).join('');
  return buildWorkbook({ sheets: [{ name: 'Data', xml }], sharedStrings });
}

const oldWorkbook = library.write(
  { SheetNames: ['Data'], Sheets: { Data: library.utils.aoa_to_sheet([['a'], [1]]) } },
  { type: 'buffer', bookType: 'biff8' },
) as Buffer;

const isLinux = existsSync('/proc/self/task');

/** Returns the processes that read .xls files. */
function readersOf({ child }: ChildWithDatabase): number[] {
  const tasks = `/proc/${child.pid}/task`;
  return readdirSync(tasks)
    .flatMap((task) => readFileSync(`${tasks}/${task}/children`, 'latin1').split(' '))
    .filter((pid) => pid !== '' && isReader(pid))
    .map(Number);
}

function isReader(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('reader-process');
  } catch {
    return false;
  }
}

test('workbooks of several subjects do not take more memory together than MAX_FILE_MEMORY_BYTES', async (context) => {
  const service = await startService(context, {
    MAX_FILE_MEMORY_BYTES: String(256 * mib),
    MAX_SHARED_STRING_BYTES: String(128 * mib),
    MAX_UNPACK_RATIO: '1000000',
  });
  const file = workbook(100);
  const subjects = ['a', 'a', 'a', 'b', 'b', 'c'];
  const answers = await Promise.all(subjects.map((subject) => upload(service, subject, file)));
  for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
  const peak = service.peakMemoryBytes() ?? 0;
  assert.ok(peak < 600 * mib, `the process took ${peak / mib} MiB`);
});

test('a subject whose files keep readers of .xls busy leaves one to others', {
  skip: !isLinux,
}, async (context) => {
  const service = await startService(context, { MAX_LEGACY_READERS: '3' });
  const stopped = new Set<number>();
  const stopReaders = () => {
    for (const pid of readersOf(service)) {
      // Like a process that works for a long time.
      if (!stopped.has(pid)) process.kill(pid, 'SIGSTOP');
      stopped.add(pid);
    }
  };
  const watch = setInterval(stopReaders, 5);
  context.after(() => clearInterval(watch));
  const greedy = [1, 2, 3].map(() => upload(service, 'greedy', oldWorkbook));
  await until('two readers to start', () => stopped.size >= 2);
  // When this file is loaded, the service has received the other ones.
  assert.equal((await upload(service, 'greedy', Buffer.from('a\n1\n'))).status, 200);
  stopReaders();
  clearInterval(watch);
  const modest = await upload(service, 'modest', oldWorkbook);
  assert.equal(modest.status, 200, JSON.stringify(modest.body));
  for (const pid of stopped) process.kill(pid, 'SIGCONT');
  for (const { status } of await Promise.all(greedy)) assert.equal(status, 200);
});

test('a file that finds no memory in time is refused and can be sent again', {
  skip: !isLinux,
}, async (context) => {
  const service = await startService(context, { UPLOAD_WAIT_MS: '0', MAX_LEGACY_READERS: '1' });
  const first = upload(service, 'a', oldWorkbook);
  await until('the reader to start', () => readersOf(service).length === 1);
  const [reader] = readersOf(service);
  process.kill(reader!, 'SIGSTOP');
  const refused = await upload(service, 'b', oldWorkbook);
  const { detail } = assertProblem(refused, 429, 'too-many-uploads');
  assert.match(
    detail,
    /^Other \.xls workbooks or Parquet files are being read: .* 1 process \(MAX_LEGACY_READERS\) and .* \(MAX_FILE_MEMORY_BYTES\)/,
  );
  assert.equal(refused.headers.get('retry-after'), '5');
  process.kill(reader!, 'SIGCONT');
  assert.equal((await first).status, 200);
  assert.equal((await upload(service, 'b', oldWorkbook)).status, 200);
});
