/**
 * Small requests that could cause much work, and the memory that each may cost the service and PostgreSQL. Every case is a
 * request, the answer that it must have, and limits of memory that do not depend on the speed of the machine.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { withBackendMemory } from '../support/backend-memory.ts';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import { beginUpload, chunk, parseAnswer } from '../support/raw-http.ts';
import type { TestAnswer } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { buildZip } from '../support/xlsx-builder.ts';

const mib = 2 ** 20;
let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
});
after(async () => {
  await service?.stop('SIGTERM');
});

interface Attack {
  name: string;
  send: () => Promise<TestAnswer>;
  detail: RegExp;
  /** The most memory of the process. */
  maxProcessMib?: number;
  /** The most private memory of one PostgreSQL backend. */
  maxBackendMib?: number;
}

const attacks: Attack[] = [
  ...[true, false].map((hasDefinition) => ({
    name: `a JSON row of 30 values of 15 MB, ${hasDefinition ? 'with' : 'without'} a definition`,
    send: () => sendStream('/wide_row/upload/json', jsonRow(30, 15, hasDefinition)),
    detail: /^Row 1 is too long: the limit is 64 MiB \(MAX_ROW_BYTES\)\.$/,
  })),
  {
    name: 'a CSV record of 8 fields of 15 MB',
    send: () => {
      const contentType = 'multipart/form-data; boundary=XB';
      return sendStream('/wide_record/upload/excel', csvRecord(8, 15), contentType);
    },
    detail: /^Record 2 is too long: the limit is 64 MiB \(MAX_ROW_BYTES\)\.$/,
  },
  {
    name: 'an .ods whose row with a cell of 1 MB is repeated 5,000 times',
    send: () => sendOds(textCell(mib), 'table:number-rows-repeated="5000"'),
    detail:
      /^The cells have too many bytes for a file of this size, up to row \d+: the limit is [\d,]+ (bytes|MiB)\./,
  },
  {
    name: 'an .ods whose row with a cell of 150 KB is repeated 5,000 times',
    send: () => sendOds(textCell(150_000), 'table:number-rows-repeated="5000"'),
    detail:
      /^The cells have too many bytes for a file of this size, up to row \d+: the limit is [\d,]+ (bytes|MiB)\./,
  },
  {
    name: 'an .ods whose cell of 1 MB is repeated over 1,000 columns',
    send: () => sendOds(textCell(mib, 'table:number-columns-repeated="1000"')),
    detail: /^Row 2 is too long: the limit is 64 MiB \(MAX_ROW_BYTES\)\.$/,
  },
];

for (const { name, send, detail, maxProcessMib = 400, maxBackendMib = 400 } of attacks) {
  test(`${name} is refused, in bounded memory`, async (context) => {
    service.resetPeakMemory();
    const { result: answer, backendBytes = 0 } = await withBackendMemory(service.database, send);
    const processMib = (service.peakMemoryBytes() ?? 0) / mib;
    const backendMib = backendBytes / mib;
    context.diagnostic(`service ${processMib.toFixed(0)} MiB, backend ${backendMib.toFixed(0)} MiB`);
    const problem = assertProblem(answer, 413, 'limit-exceeded');
    assert.match(problem.detail, detail);
    assert.ok(processMib < maxProcessMib, `the process held ${processMib} MiB`);
    assert.ok(backendMib < maxBackendMib, `a backend held ${backendMib} MiB`);
    const { rows } = await service.database.pool.query(
      "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    );
    assert.deepEqual(rows, []);
  });
}

const widths: [name: string, column: Record<string, string>, count: number][] = [
  ['150 columns char(10485760) with a default', { type: 'char(10485760)', default: 'x' }, 150],
  ['60 columns char(10485760)', { type: 'char(10485760)' }, 60],
  [
    'an array of char(10485760) with 20 elements',
    { type: 'char(10485760)[]', default: `{${Array(20).fill('a')}}` },
    1,
  ],
  ['20 casts to bit(83886080)', { type: 'text', default: "B'1'::bit(83886080)" }, 20],
];

for (const [name, column, count] of widths) {
  test(`a definition with ${name} is refused before PostgreSQL tries it`, async (context) => {
    const columns = Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...column }));
    const send = () => service.post('/table/padded', { table: { columns } });
    const { result: answer, backendBytes = 0 } = await withBackendMemory(service.database, send);
    context.diagnostic(`backend ${(backendBytes / mib).toFixed(0)} MiB`);
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.deepEqual(
      errors?.map(({ code }) => code),
      ['row-too-long'],
    );
    assert.ok(backendBytes < 64 * mib, `a backend held ${backendBytes} bytes`);
  });
}

test('one column of the widest char(n) is created in bounded memory', async () => {
  const columns = [{ name: 'c', type: 'char(10485760)', default: 'x' }];
  const send = () => service.post('/table/padded', { table: { columns } });
  const { result: answer, backendBytes = 0 } = await withBackendMemory(service.database, send);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.ok(backendBytes < 200 * mib, `a backend held ${backendBytes} bytes`);
  await service.database.pool.query('DROP TABLE padded');
});

const emptyRows: [name: string, defaults: string[], rows: number][] = [
  ['30 defaults of 250 bytes', Array(30).fill('x'.repeat(250)), 30_000],
  ['a default of 900 KB', ['x'.repeat(900_000)], 1000],
  ['a default that is computed and has 900 KB', [`json_build_array('${'x'.repeat(900_000)}')`], 1000],
];

for (const [name, defaults, rowCount] of emptyRows) {
  test(`empty rows are refused for ${name} before much is written`, async (context) => {
    const type = defaults[0]!.startsWith('json') ? 'json' : 'text';
    const columns = defaults.map((text, index) => ({ name: `c${index}`, type, default: text }));
    const made = await service.post('/table/defaults', { table: { columns } });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    // Compression would hide how much is written.
    await service.database.pool.query(
      defaults.map((_, index) => `ALTER TABLE defaults ALTER c${index} SET STORAGE EXTERNAL`).join(';'),
    );
    service.resetPeakMemory();
    const body = { data: Array.from({ length: rowCount }, () => ({})) };
    const send = () => service.post('/table/defaults/upload/json?if_exists=append', body);
    const { result: answer, backendBytes = 0 } = await withBackendMemory(service.database, send);
    // Rows that were rolled back still use disk space.
    const { rows } = await service.database.pool.query<{ bytes: string }>(
      "SELECT pg_total_relation_size('defaults') AS bytes",
    );
    await service.database.pool.query('DROP TABLE defaults');
    const written = Number(rows[0]!.bytes);
    const processMib = (service.peakMemoryBytes() ?? 0) / mib;
    context.diagnostic(`written ${(written / mib).toFixed(0)} MiB, service ${processMib.toFixed(0)} MiB`);
    const problem = assertProblem(answer, 413, 'limit-exceeded');
    assert.match(
      problem.detail,
      /^The defaults, generated values, index entries and padding that PostgreSQL adds to the rows take too many bytes: the limit is /,
    );
    assert.ok(written < 128 * mib, `${written} bytes were written`);
    assert.ok(processMib < 400, `the process held ${processMib} MiB`);
    assert.ok(backendBytes < 400 * mib, `a backend held ${backendBytes} bytes`);
  });
}

const widest = 'char(10485760)';
const sixty = Array(60).fill('x');
const tooLong = /^Row 1 is too long when char\(n\) and bit\(n\) pad its values: the limit is 64 MiB/;
const paddedRows: [name: string, sql: string, rows: unknown[], detail: RegExp][] = [
  ['an array of 60 char(n)', `CREATE TABLE padded (c ${widest}[])`, [{ c: sixty }], tooLong],
  ['an array of 60 bit(n)', 'CREATE TABLE padded (c bit(83886080)[])', [{ c: Array(60).fill('1') }], tooLong],
  [
    'an array of 60 values of a domain over char(n)',
    `CREATE DOMAIN wide AS ${widest}; CREATE TABLE padded (c wide[])`,
    [{ c: sixty }],
    tooLong,
  ],
  [
    'an array of 60 values of a composite type with char(n)',
    `CREATE TYPE wide AS (a ${widest}, b int); CREATE TABLE padded (c wide[])`,
    [{ c: `{${sixty.map(() => '"(x,1)"')}}` }],
    tooLong,
  ],
  [
    '60 columns of char(n)',
    `CREATE TABLE padded (${sixty.map((_, index) => `c${index} ${widest}`)})`,
    [Object.fromEntries(sixty.map((text, index) => [`c${index}`, text]))],
    tooLong,
  ],
  [
    '60 columns of char(n) with defaults',
    `CREATE TABLE padded (a int, ${sixty.map((text, index) => `c${index} ${widest} DEFAULT '${text}'`)})`,
    [{ a: 1 }],
    /^Row 1 is too long with the defaults of the columns that it leaves out: the limit is 64 MiB/,
  ],
  [
    '60 rows of a char(n)',
    `CREATE TABLE padded (c ${widest})`,
    sixty.map((c) => ({ c })),
    /^The defaults, generated values, index entries and padding/,
  ],
  [
    '60 rows that leave out a char(n) with a default',
    `CREATE TABLE padded (a int, c ${widest} DEFAULT 'x')`,
    sixty.map(() => ({ a: 1 })),
    /^The defaults, generated values, index entries and padding/,
  ],
];

for (const [name, sql, data, detail] of paddedRows) {
  test(`${name} are refused before PostgreSQL pads them`, async (context) => {
    await service.database.pool.query(sql);
    const send = () => service.post('/table/padded/upload/json?if_exists=append', { data });
    const { result: answer, backendBytes = 0 } = await withBackendMemory(service.database, send);
    context.diagnostic(`backend ${(backendBytes / mib).toFixed(0)} MiB`);
    await service.database.pool.query('DROP TABLE padded; DROP DOMAIN IF EXISTS wide').catch(() => {});
    await service.database.pool.query('DROP TABLE IF EXISTS padded; DROP TYPE IF EXISTS wide');
    assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, detail);
    assert.ok(backendBytes < 100 * mib, `a backend held ${backendBytes} bytes`);
  });
}

test('a definition with 60 columns of a domain over char(n) is refused before PostgreSQL tries it', async () => {
  await service.database.pool.query(`CREATE DOMAIN wide AS ${widest}`);
  const columns = sixty.map((text, index) => ({ name: `c${index}`, type: 'wide', default: text }));
  const { result: answer, backendBytes = 0 } = await withBackendMemory(service.database, () =>
    service.post('/table/padded', { table: { columns } }),
  );
  await service.database.pool.query('DROP DOMAIN wide');
  const { errors } = assertProblem(answer, 422, 'invalid-definition');
  assert.deepEqual(
    errors?.map(({ code }) => code),
    ['row-too-long'],
  );
  assert.ok(backendBytes < 64 * mib, `a backend held ${backendBytes} bytes`);
});

/** In one COPY, PostgreSQL would hold even the smaller number of rows at the same time: 200 MiB. */
const longRows = sized(18, 40);

test(`${longRows} rows of 10 MB need the memory of a few of them in PostgreSQL`, async (context) => {
  await service.database.pool.query(
    'CREATE TABLE long_rows (c text, id int PRIMARY KEY, parent int REFERENCES long_rows)',
  );
  // Each row except the last refers to a later one, which is sent in another COPY.
  const data = Array.from({ length: longRows }, (_, id) => ({
    c: 'x'.repeat(10_000_000),
    id,
    parent: id < longRows - 1 ? id + 1 : null,
  }));
  const send = () => service.post('/table/long_rows/upload/json?if_exists=append', { data });
  const { result: answer, backendBytes = 0 } = await withBackendMemory(service.database, send);
  context.diagnostic(`backend ${(backendBytes / mib).toFixed(0)} MiB`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.ok(backendBytes < 160 * mib, `a backend held ${backendBytes} bytes`);
  const { rows } = await service.database.pool.query('SELECT count(*)::int, min(length(c)) FROM long_rows');
  assert.deepEqual(rows, [{ count: longRows, min: 10_000_000 }]);
  await service.database.pool.query('DROP TABLE long_rows');
});

test('values of char(n) and bit(n) in arrays and domains are loaded', async () => {
  await service.database.pool.query(
    'CREATE DOMAIN short AS char(3); CREATE TABLE short_values (a char(3)[], b bit(3)[], c short[], d short)',
  );
  const data = [{ a: ['x', null], b: ['101'], c: ['y', 'z'], d: 'w' }, { a: null }, { a: [], d: null }];
  const answer = await service.post('/table/short_values/upload/json?if_exists=append', { data });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { rows } = await service.database.pool.query(
    'SELECT a::text, b::text, c::text, octet_length(d) AS d FROM short_values',
  );
  assert.deepEqual(rows, [
    { a: '{"x  ",NULL}', b: '{101}', c: '{"y  ","z  "}', d: 3 },
    { a: null, b: null, c: null, d: null },
    { a: '{}', b: null, c: null, d: null },
  ]);
  await service.database.pool.query('DROP TABLE short_values; DROP DOMAIN short');
});

test('rows with values may have as many defaults as they need', async () => {
  const columns = [
    { name: 'id', type: 'int' },
    ...Array.from({ length: 30 }, (_, index) => ({
      name: `c${index}`,
      type: 'text',
      default: 'x'.repeat(200),
    })),
  ];
  const data = Array.from({ length: 2000 }, (_, id) => ({ id }));
  const answer = await service.post('/table/defaults/upload/json', { table: { columns }, data });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const { rows } = await service.database.pool.query(
    'SELECT count(*)::int, min(length(c0)) AS first, min(length(c29)) AS last FROM defaults',
  );
  assert.deepEqual(rows, [{ count: 2000, first: 200, last: 200 }]);
  await service.database.pool.query('DROP TABLE defaults');
});

test('short records below a header of 1,600 fields are loaded in bounded memory', async (context) => {
  service.resetPeakMemory();
  const before = service.peakMemoryBytes() ?? 0;
  const header = Array.from({ length: 1600 }, (_, index) => `c${index}`).join();
  const rowCount = 50_000;
  const columns = Array.from({ length: 1600 }, (_, index) => ({ name: `c${index}`, type: 'int' }));
  const made = await service.post('/table/short_records', { table: { columns } });
  assert.equal(made.status, 201);
  // The first record has all fields, so each field that another record lacks is NULL.
  const first = Array(1600).fill('1').join();
  const file = Buffer.from(`${header}\n${first}\n${'1\n'.repeat(rowCount)}`);
  const answer = await service.upload('/table/short_records/upload/excel?if_exists=append', file);
  const grownMib = ((service.peakMemoryBytes() ?? 0) - before) / mib;
  context.diagnostic(`service ${grownMib.toFixed(0)} MiB more`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.ok(grownMib < 350, `the process held ${grownMib} MiB more`);
  await service.database.pool.query('DROP TABLE short_records');
});

test('a row of 60 MiB is loaded', async () => {
  const answer = await sendStream('/long_row/upload/json', jsonRow(4, 15, true));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const { rows } = await service.database.pool.query(
    'SELECT octet_length(c0) + octet_length(c3) AS bytes FROM long_row',
  );
  assert.deepEqual(rows, [{ bytes: 2 * 15 * mib }]);
  await service.database.pool.query('DROP TABLE long_row');
});

/** Sends a body that is generated while it is sent, until the answer comes. */
async function sendStream(
  path: string,
  chunks: Generator<Buffer>,
  contentType = 'application/json',
): Promise<TestAnswer> {
  const socket = await beginUpload(service.url, path, await service.token(), contentType);
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  let received = '';
  const receive = (data: Buffer): void => {
    received += data.toString();
    const [head, length] = /^.*?\r\ncontent-length: (\d+).*?\r\n\r\n/is.exec(received) ?? [];
    const isWhole = head !== undefined && Buffer.byteLength(received) >= head.length + Number(length);
    if (isWhole || socket.destroyed) resolve(received);
  };
  socket.on('data', receive);
  socket.on('close', () => resolve(received));
  // A write that ends at once lets nothing be read, and the service does not wait for long for a client that reads nothing.
  for (const bytes of chunks) {
    if (received !== '' || socket.destroyed) break;
    if (!socket.write(chunk(bytes))) await Promise.race([once(socket, 'drain'), answer]);
    await nextTurn();
  }
  if (received === '') socket.write('0\r\n\r\n');
  const text = await answer;
  socket.destroy();
  return parseAnswer(text);
}

const piece = Buffer.alloc(64 * 1024, 'x');

function* jsonRow(cells: number, megabytes: number, hasDefinition: boolean): Generator<Buffer> {
  const columns = Array.from({ length: cells }, (_, index) => ({ name: `c${index}`, type: 'text' }));
  yield Buffer.from(`{${hasDefinition ? `"table":${JSON.stringify({ columns })},` : ''}"data":[{`);
  for (let cell = 0; cell < cells; cell++) {
    yield Buffer.from(`${cell === 0 ? '' : ','}"c${cell}":"`);
    for (let sent = 0; sent < megabytes * 16; sent++) yield piece;
    yield Buffer.from('"');
  }
  yield Buffer.from('}]}');
}

function* csvRecord(fields: number, megabytes: number): Generator<Buffer> {
  yield Buffer.from('--XB\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n');
  yield Buffer.from(`${Array.from({ length: fields }, (_, index) => `h${index}`).join()}\n`);
  for (let field = 0; field < fields; field++) {
    if (field > 0) yield Buffer.from(',');
    for (let sent = 0; sent < megabytes * 16; sent++) yield piece;
  }
  yield Buffer.from('\n\r\n--XB--\r\n');
}

/** Returns a cell with random text, so that the file is not refused for its ratio. */
function textCell(bytes: number, attributes = ''): string {
  const text = randomBytes(bytes / 2).toString('hex');
  return `<table:table-cell office:value-type="string" ${attributes}><text:p>${text}</text:p></table:table-cell>`;
}

function sendOds(cells: string, attributes = ''): Promise<TestAnswer> {
  const header =
    '<table:table-row><table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell></table:table-row>';
  const rows = `${header}<table:table-row ${attributes}>${cells}</table:table-row>`;
  const type = 'application/vnd.oasis.opendocument.spreadsheet';
  const file = buildZip([
    { name: 'mimetype', data: type, isStored: true },
    {
      name: 'content.xml',
      data: `<?xml version="1.0"?><office:document-content xmlns:office="urn:o" xmlns:table="urn:t" xmlns:text="urn:x"><office:body><office:spreadsheet><table:table table:name="S">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`,
    },
    {
      name: 'META-INF/manifest.xml',
      data: `<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:m"><manifest:file-entry manifest:full-path="/" manifest:media-type="${type}"/></manifest:manifest>`,
    },
  ]);
  return service.upload('/table/repeated/upload/excel', file);
}
