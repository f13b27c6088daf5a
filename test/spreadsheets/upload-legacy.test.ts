/** Upload Table From Excel with .xls, .xlsb and .ods, over HTTP: the same rows, the same problems, the same limits. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as library from '@e965/xlsx';
import { typesOf } from '../support/columns.ts';
import { assertProblem, places } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { until } from '../support/until.ts';
import { fileUploader } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ MAX_LEGACY_FILE_BYTES: '300000', MAX_LEGACY_READERS: '1' });
});
after(() => service.stop());

const nextTable = tableNames('legacy');
const upload = fileUploader(() => service);
const fixture = (name: string): Buffer => readFileSync(join(import.meta.dirname, '..', 'fixtures', name));
type Row = (string | number | boolean | null)[];

function write(rows: Row[], bookType: library.BookType): Buffer {
  const sheet = library.utils.aoa_to_sheet(rows);
  return library.write(
    { SheetNames: ['Orders'], Sheets: { Orders: sheet } },
    {
      type: 'buffer',
      bookType,
    },
  ) as Buffer;
}

const formats: library.BookType[] = ['biff8', 'xlsb', 'ods'];

test('rows and headers of any white space are blank in every format', async () => {
  const spaces = ['\u00a0', '\u2003\u3000', '\u200b', '\ufeff', '\u0085', '\u2028'];
  const rows: Row[] = [
    ['\u200bname\u2003', '\u2003'],
    ...spaces.map((space) => [space, space]),
    ['Ann\u2003', 1],
  ];
  const csv = Buffer.from(rows.map((row) => `"${row.join('","')}"`).join('\n'));
  for (const file of [csv, ...(['xlsx', ...formats] as const).map((format) => write(rows, format))]) {
    const name = nextTable();
    const { status, body } = await upload(name, file);
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.load.rows, 1, body.load.format);
    assert.deepEqual(
      body.load.warnings
        .map(({ code }: { code: string }) => code)
        .filter((code: string) => code.startsWith('blank')),
      ['blank-header', 'blank-rows'],
      body.load.format,
    );
    assert.deepEqual(await service.rows(`SELECT name, "column_B"::int FROM ${name}`), [
      { name: 'Ann\u2003', column_B: 1 },
    ]);
  }
});

for (const file of ['kinds.xls', 'kinds.ods']) {
  test(`${file} makes a table with the types of its cells`, async () => {
    const name = nextTable();
    const answer = await upload(name, fixture(file), '?range=A1:K3');
    // Row 3 of the .xls has a day that did not exist (1900-02-29), which LibreOffice changed when it wrote the .ods.
    if (file === 'kinds.xls') {
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.deepEqual(
        places(errors).map(({ sheet, cell, row, column }) => ({ sheet, cell, row, column })),
        [{ sheet: 'Kinds', cell: 'Kinds!D3', row: 2, column: 'day' }],
      );
      const asNull = await upload(name, fixture(file), '?range=A1:K3&cell_errors=null');
      assert.equal(asNull.status, 201, JSON.stringify(asNull.body));
    }
    const part = nextTable();
    const again = await upload(part, fixture(file), '?range=A1:K2');
    assert.equal(again.status, 201, JSON.stringify(again.body));
    assert.deepEqual(typesOf(again), [
      'text text',
      'whole bigint',
      'fraction numeric',
      'day date',
      'moment timestamp without time zone',
      'clock time without time zone',
      'duration interval',
      'code text',
      'share numeric',
      'price numeric',
      'flag boolean',
    ]);
    const [row] = await service.rows(`SELECT to_jsonb(t) AS row FROM ${part} t`);
    assert.deepEqual(row!.row, {
      text: 'plain',
      whole: 1,
      fraction: 1.5,
      day: '2021-01-01',
      moment: '2021-01-01T12:00:00',
      clock: '10:10:10',
      duration: '1 day 12:00:00',
      code: '00501',
      share: 0.125,
      price: 1234.5,
      flag: true,
    });
  });
}

for (const bookType of formats) {
  test(`${bookType} is loaded with a definition and appended, and each bad cell is named`, async () => {
    const name = nextTable();
    const good = write(
      [
        ['Id', ' amount '],
        [1, 2.5],
        [2, null],
      ],
      bookType,
    );
    const definition = {
      table: {
        columns: [
          { name: 'id', type: 'integer', is_nullable: false },
          { name: 'amount', type: 'numeric(8,2)' },
        ],
      },
    };
    const created = await upload(name, good, '', definition);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.equal(created.body.load.rows, 2);
    assert.equal((await upload(name, good, '?if_exists=append')).status, 200);
    const bad = write(
      [
        ['Id', 'amount'],
        ['x', 1],
        [3, 123_456_789],
      ],
      bookType,
    );
    const { errors } = assertProblem(await upload(name, bad, '?if_exists=append'), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ cell, row, column }) => [cell, row, column]),
      [
        ['Orders!A2', 1, 'id'],
        ['Orders!B3', 2, 'amount'],
      ],
    );
    assert.deepEqual(await service.rows(`SELECT count(*)::int AS n FROM ${name}`), [{ n: 4 }]);
  });
}

const storedDoubles = [
  0.1 + 0.2,
  1.1000000000000001,
  123456789012345.67,
  -2.5000000000000004,
  1.2345678901234566e-50,
  1 / 3,
  1.5,
];

for (const bookType of [...formats, 'xlsx' as const]) {
  test(`${bookType}: a fraction is the stored double in double precision and real, and has 15 digits elsewhere`, async () => {
    const name = nextTable();
    const cells = storedDoubles.map((value) => Array.from({ length: 6 }, () => value));
    const file = write([['d', 'r', 'n', 't', 'dom', 'j'], ...cells], bookType);
    await service.rows(`CREATE DOMAIN measured_${bookType} AS double precision`);
    const columns = [
      { name: 'd', type: 'double precision' },
      { name: 'r', type: 'real' },
      { name: 'n', type: 'numeric' },
      { name: 't', type: 'text' },
      { name: 'dom', type: `measured_${bookType}` },
      { name: 'j', type: 'jsonb' },
    ];
    const refused = assertProblem(
      await upload(name, file, '', { table: { columns } }),
      422,
      'invalid-data',
    ).errors;
    assert.deepEqual(
      refused.map(({ row, column, code }) => [row, column, code]),
      [[5, 'r', 'out-of-range']],
    );
    columns[1]!.type = 'double precision';
    assert.equal((await upload(name, file, '', { table: { columns } })).status, 201);
    const rows = await service.rows(`SELECT * FROM ${name}`);
    assert.deepEqual(
      rows.map(({ d }) => d),
      storedDoubles,
    );
    assert.deepEqual(
      rows.map(({ dom }) => dom),
      storedDoubles,
    );
    const shown = [
      '0.3',
      '1.1',
      '123456789012346',
      '-2.5',
      '1.23456789012346e-50',
      '0.333333333333333',
      '1.5',
    ];
    assert.deepEqual(
      rows.map(({ n }) => Number(n)),
      shown.map(Number),
    );
    assert.deepEqual(
      rows.map(({ j }) => j),
      shown.map(Number),
    );
    assert.deepEqual(
      rows.map(({ t }) => String(t).toLowerCase()),
      shown,
    );
    const real = nextTable();
    const few = write([['r'], [0.1 + 0.2], [16777217.000000004], [1 / 3]], bookType);
    await upload(real, few, '', { table: { columns: [{ name: 'r', type: 'real' }] } });
    const expected = [0.1 + 0.2, 16777217.000000004, 1 / 3].map((value) => ({ same: Math.fround(value) }));
    assert.deepEqual(await service.rows(`SELECT r::float8 AS same FROM ${real}`), expected);
  });
}

test('an inspection shows .xls workbooks, too', async () => {
  for (const file of ['kinds.xls', 'kinds.ods']) {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(fixture(file))]), 'x');
    const answer = await service.request('POST', '/api/v1/inspect/excel', { body: form });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(
      answer.body.sheets.map(({ name }: { name: string }) => name),
      ['Kinds', 'Secret', 'Deep'],
    );
  }
});

test('encrypted, unsupported, broken and too large files are refused', async () => {
  const compound = (stream: string): Buffer => {
    const container = library.CFB.utils.cfb_new();
    library.CFB.utils.cfb_add(container, stream, Buffer.alloc(5000));
    return Buffer.from(library.CFB.write(container, { type: 'buffer' }) as Buffer);
  };
  const { detail } = assertProblem(
    await upload(nextTable(), compound('/EncryptedPackage')),
    422,
    'unsupported-file',
  );
  assert.match(detail, /encrypted/);
  const whole = write([['a'], [1]], 'biff8');
  assertProblem(await upload(nextTable(), whole.subarray(0, 1500)), 400, 'invalid-file');
  const name = nextTable();
  const longer = Buffer.concat([whole, Buffer.alloc(300_000)]);
  const large = assertProblem(await upload(name, longer), 413, 'limit-exceeded');
  assert.match(large.detail, /300,000 bytes/);
  // The limit applies to files that are read as a whole. A stream of the same size is accepted.
  const { status } = await upload(
    nextTable(),
    readFileSync(join(import.meta.dirname, '../../examples/orders.xlsx')),
  );
  assert.equal(status, 201);
  const found = await service.rows('SELECT to_regclass($1) AS found', [name]);
  assert.deepEqual(found, [{ found: null }]);
});

test('at most MAX_LEGACY_READERS reader processes run at the same time, and other uploads wait', async () => {
  const file = write([['a'], [1]], 'biff8');
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, readerPids().length);
  }, 20);
  const answers = await Promise.all([1, 2].map(() => upload(nextTable(), file)));
  clearInterval(watch);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201],
  );
  if (isTold) assert.equal(most, 1);
});

/** Returns the running reader processes; none if the system does not list them (not Linux). */
function readerPids(): number[] {
  const tasks = `/proc/${process.pid}/task`;
  return readdirSync(tasks)
    .flatMap((task) => readFileSync(`${tasks}/${task}/children`, 'latin1').split(' '))
    .filter((pid) => pid !== '')
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('reader-process');
      } catch {
        return false;
      }
    });
}

const isTold = existsSync(`/proc/${process.pid}/task/${process.pid}/children`);

for (const path of ['/table/left/upload/excel', '/api/v1/inspect/excel']) {
  test(`the reader process ends when its client disconnects: ${path}`, { skip: !isTold }, async () => {
    const canceller = new AbortController();
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(write([['a'], [1]], 'biff8'))]), 'a.xls');
    const answer = service.request('POST', path, { body: form, signal: canceller.signal });
    await until('the reader to start', () => readerPids().length === 1);
    // Like a process that works for a long time.
    process.kill(readerPids()[0]!, 'SIGSTOP');
    canceller.abort();
    await assert.rejects(answer);
    await until('the reader to end', () => readerPids().length === 0);
  });
}
