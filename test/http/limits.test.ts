/** The answer to a request over a limit names the setting of the limit, as docs/limits.md promises. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import * as library from '@e965/xlsx';
import type { ErrorCode } from '../../src/core/errors.ts';
import {
  type RequestOptions,
  startTestService,
  type TestAnswer,
  type TestService,
} from '../support/service.ts';
import { holdUpload } from '../support/uploads.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

/** Sends a request that is over the limit to a service with these settings, and returns the answer. */
interface Provocation {
  settings?: Record<string, string>;
  send(service: TestService): Promise<Pick<TestAnswer, 'status' | 'body'>>;
}

/**
 * A stop ends any running request. memory-of-files.test.ts tests the memory and the readers of files, sqlstate.test.ts tests the error if no connection becomes free, which takes ten seconds, and connections.test.ts tests
 * MAX_CONNECTIONS.
 */
const notTested = [
  'MAX_FILE_MEMORY_BYTES',
  'MAX_LEGACY_READERS',
  'SHUTDOWN_GRACE_MS',
  'DATABASE_POOL_SIZE',
  'MAX_CONNECTIONS',
  // test/operations/export.test.ts
  'EXPORT_TIMEOUT_MS',
];

const longText = 'x'.repeat(5000);
const rowsOf = (body: string) => (service: TestService) =>
  service.request('POST', '/table/t/upload/json', { headers: { 'content-type': 'application/json' }, body });

/** Returns a workbook with a row whose text is not in the shared strings, and so many further rows of numbers. */
function workbook(rows: number, sharedStrings?: string[]): Buffer {
  const cells = Array.from(
    { length: rows },
    (_, index) => `<row r="${index + 2}"><c r="A${index + 2}"><v>1</v></c></row>`,
  );
  const header = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>';
  const shared = sharedStrings?.map((text) => `<si><t>${text}</t></si>`).join('');
  const text = shared === undefined ? '' : '<row r="2"><c r="A2" t="s"><v>0</v></c></row>';
  const xml = `${header}${text}${shared === undefined ? cells.join('') : ''}`;
  return buildWorkbook({
    sheets: [{ name: 'Data', xml }],
    ...(shared !== undefined && { sharedStrings: shared }),
  });
}

function oldWorkbook(): Buffer {
  const sheet = library.utils.aoa_to_sheet([['a'], [longText]]);
  const book = { SheetNames: ['Data'], Sheets: { Data: sheet } };
  return library.write(book, { type: 'buffer', bookType: 'biff8' }) as Buffer;
}

const upload = (file: Buffer) => (service: TestService) => service.upload('/table/t/upload/excel', file);

/** Sends one upload while another one, with these headers, keeps its place. */
async function sendBeside(
  service: TestService,
  send: () => Promise<TestAnswer>,
  headers?: Record<string, string>,
  query = '',
): Promise<TestAnswer> {
  const held = await holdUpload(service, `/table/t/upload/json${query}`, headers);
  try {
    return await send();
  } finally {
    held.destroy();
  }
}

const oneMore = (service: TestService) =>
  sendBeside(service, () => service.post('/table/t/upload/json', { data: [{ a: 1 }] }));

const oneMoreSmall = (service: TestService) =>
  sendBeside(
    service,
    () => service.post('/table/t/upload/json?if_exists=append', { data: [{ a: 1 }] }),
    { 'content-length': '1000' },
    '?if_exists=append',
  );

const asynchronous = { prefer: 'respond-async' };

const later = (service: TestService) =>
  service.post('/table/t/upload/json', { data: [{ a: longText }] }, { headers: asynchronous });

const oneMoreLater = (service: TestService) => sendBeside(service, () => later(service), asynchronous);

/** Returns the answer to the second of two requests. */
async function twice(service: TestService, options?: RequestOptions): Promise<TestAnswer> {
  await service.get('/table/t', options);
  return service.get('/table/t', options);
}

/** Returns the answer to an upload that has its place, sends so many bytes every 100 ms and never ends. */
async function trickle(slow: ClientRequest, bytes: number): Promise<Pick<TestAnswer, 'status' | 'body'>> {
  const sending = setInterval(() => slow.write(' '.repeat(bytes)), 100);
  try {
    const [response] = await once(slow, 'response');
    return {
      status: response.statusCode,
      body: JSON.parse(Buffer.concat(await response.toArray()).toString()),
    };
  } finally {
    clearInterval(sending);
    slow.destroy();
  }
}

/** Returns the answer of `send` while a transaction of another program locks the table `locked`. */
async function whileLocked(service: TestService): Promise<TestAnswer> {
  await service.rows('CREATE TABLE locked (a bigint)');
  const other = await service.database.pool.connect();
  try {
    await other.query('BEGIN; LOCK TABLE locked');
    return await service.post('/table/locked/upload/json?if_exists=append', { data: [{ a: 1 }] });
  } finally {
    await other.query('ROLLBACK');
    other.release();
  }
}

const provocations: Record<string, Provocation> = {
  MAX_BODY_BYTES: { settings: { MAX_BODY_BYTES: '1024' }, send: rowsOf(`{"data":[{"a":"${longText}"}]}`) },
  MAX_DEFINITION_BYTES: {
    settings: { MAX_DEFINITION_BYTES: '1024' },
    send: (service) => service.post('/table/t', { table: { columns: [{ name: 'a', type: longText }] } }),
  },
  MAX_ROWS: { settings: { MAX_ROWS: '1' }, send: rowsOf('{"data":[{"a":1},{"a":2}]}') },
  MAX_COLUMNS: { settings: { MAX_COLUMNS: '1' }, send: rowsOf('{"data":[{"a":1,"b":2}]}') },
  MAX_CELL_BYTES: { settings: { MAX_CELL_BYTES: '1024' }, send: rowsOf(`{"data":[{"a":"${longText}"}]}`) },
  MAX_WRITTEN_BYTES: {
    settings: { MAX_WRITTEN_BYTES: '1024' },
    send: rowsOf(JSON.stringify({ data: [{ a: 'x'.repeat(600) }, { a: 'x'.repeat(600) }] })),
  },
  MAX_ROW_BYTES: {
    settings: { MAX_CELL_BYTES: '1024', MAX_ROW_BYTES: '2048' },
    send: rowsOf(
      `{"data":[${JSON.stringify({ a: 'x'.repeat(1000), b: 'x'.repeat(1000), c: 'x'.repeat(1000) })}]}`,
    ),
  },
  MAX_JSON_DEPTH: { settings: { MAX_JSON_DEPTH: '2' }, send: rowsOf('{"data":[{"a":[[[1]]]}]}') },
  BODY_IDLE_TIMEOUT_MS: {
    settings: { BODY_IDLE_TIMEOUT_MS: '1000' },
    send: async (service) => trickle(await holdUpload(service, '/table/t/upload/json'), 0),
  },
  MIN_BODY_BYTES_PER_SECOND: {
    settings: { BODY_IDLE_TIMEOUT_MS: '1000', MIN_BODY_BYTES_PER_SECOND: '1000000' },
    send: async (service) => trickle(await holdUpload(service, '/table/t/upload/json'), 1),
  },
  MIN_BUSY_BODY_BYTES_PER_SECOND: {
    settings: {
      MAX_UPLOADS: '1',
      MAX_UPLOADS_PER_SUBJECT: '1',
      UPLOAD_WAIT_MS: '60000',
      BODY_IDLE_TIMEOUT_MS: '1000',
      MIN_BODY_BYTES_PER_SECOND: '0',
    },
    send: async (service) => {
      const answer = trickle(await holdUpload(service, '/table/t/upload/json'), 1);
      const [slow] = await Promise.all([answer, service.post('/table/u/upload/json', { data: [{ a: 1 }] })]);
      return slow;
    },
  },
  MAX_UNPACKED_BYTES: { settings: { MAX_UNPACKED_BYTES: '1024' }, send: upload(workbook(100)) },
  MAX_UNPACK_RATIO: { settings: { MAX_UNPACK_RATIO: '1' }, send: upload(workbook(300_000)) },
  MAX_SHARED_STRING_BYTES: {
    settings: { MAX_SHARED_STRING_BYTES: '1024' },
    send: upload(workbook(0, [longText])),
  },
  MAX_LEGACY_FILE_BYTES: { settings: { MAX_LEGACY_FILE_BYTES: '1024' }, send: upload(oldWorkbook()) },
  MAX_UPLOADS: { settings: { MAX_UPLOADS: '1', UPLOAD_WAIT_MS: '0' }, send: oneMore },
  MAX_REQUESTS_PER_MINUTE: { settings: { MAX_REQUESTS_PER_MINUTE: '1' }, send: twice },
  MAX_ANONYMOUS_REQUESTS_PER_MINUTE: {
    settings: { MAX_ANONYMOUS_REQUESTS_PER_MINUTE: '1' },
    send: (service) => twice(service, { token: null }),
  },
  MAX_UPLOADS_PER_SUBJECT: { settings: { MAX_UPLOADS_PER_SUBJECT: '1', UPLOAD_WAIT_MS: '0' }, send: oneMore },
  MAX_SMALL_UPLOADS: { settings: { MAX_SMALL_UPLOADS: '1', UPLOAD_WAIT_MS: '0' }, send: oneMoreSmall },
  MAX_QUEUED_LOADS: {
    settings: { MAX_QUEUED_LOADS: '1', MAX_QUEUED_LOADS_PER_SUBJECT: '10' },
    send: oneMoreLater,
  },
  MAX_QUEUED_LOADS_PER_SUBJECT: { settings: { MAX_QUEUED_LOADS_PER_SUBJECT: '1' }, send: oneMoreLater },
  MAX_QUEUED_BYTES: { settings: { MAX_QUEUED_BYTES: '1024' }, send: later },
  MAX_QUEUED_BYTES_PER_SUBJECT: { settings: { MAX_QUEUED_BYTES_PER_SUBJECT: '1024' }, send: later },
  MAX_WAITING_UPLOADS: { settings: { MAX_UPLOADS: '1', MAX_WAITING_UPLOADS: '0' }, send: oneMore },
  UPLOAD_WAIT_MS: { settings: { MAX_UPLOADS: '1', UPLOAD_WAIT_MS: '100' }, send: oneMore },
  STATEMENT_TIMEOUT_MS: {
    settings: { STATEMENT_TIMEOUT_MS: '300', LOCK_TIMEOUT_MS: '0' },
    send: whileLocked,
  },
  LOCK_TIMEOUT_MS: { settings: { LOCK_TIMEOUT_MS: '300' }, send: whileLocked },
};

/** Returns the codes that docs/limits.md gives for each setting. */
const documented = new Map(
  [
    ...readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'limits.md'), 'utf8').matchAll(
      /^\| `([A-Z_]+)` \|.*\| ([^|]*) \|$/gm,
    ),
  ].map(([, name, answer]) => [
    name!,
    [...answer!.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code as ErrorCode),
  ]),
);

test('docs/limits.md has exactly the settings that are tested here', () => {
  assert.deepEqual([...documented.keys()].sort(), [...Object.keys(provocations), ...notTested].sort());
});

for (const [name, { settings, send }] of Object.entries(provocations)) {
  test(`a request over ${name} gets an answer with its name and the code in docs/limits.md`, async (context) => {
    const service = await startTestService(settings);
    context.after(() => service.stop());
    const { body } = await send(service);
    assert(documented.get(name)!.includes(body.code), JSON.stringify(body));
    assert(body.detail.includes(`(${name})`), body.detail);
  });
}
