/**
 * A repaired file of faulty rows, sent again, stores what the first load would have stored had the cell been right. A format that cannot give
 * back a value is refused, and the refusal names one that can.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { parquetOf } from '../support/parquet-file.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';
import { bookOf, type CellSpec } from '../support/workbook.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('returning');
const formats = ['csv', 'ndjson', 'xlsx'] as const;
type Format = (typeof formats)[number];

interface Case {
  /** The columns of the table besides `id` and `x`. */
  columns: string;
  /** Returns the file in which the column `x` of the rows from 1 on has this value. */
  file: (x: string) => string | Buffer | Promise<Buffer>;
  query?: string;
  /** The rows in the table before the load. */
  old?: string | undefined;
  /** The formats that are refused. */
  refused?: Format[];
  /** The parameters that the request leaves out with the file of this format. */
  without?: Partial<Record<Format, RegExp>>;
}

const isJson = (file: string | Buffer) => /^[[{]/.test(String(file));

function send(table: string, file: string | Buffer, query: string, patch?: object[]): Promise<TestAnswer> {
  if (isJson(file)) {
    const isLines = String(file).startsWith('{');
    const headers = { 'content-type': `application/${isLines ? 'x-ndjson' : 'json'}` };
    const options = { headers, body: file };
    return service.request('POST', `/table/${table}/upload/json?if_exists=append${query}`, options);
  }
  const body = new FormData();
  if (patch !== undefined) body.append('patch', JSON.stringify(patch));
  body.append('file', new Blob([file as string]), 'rows');
  return service.request('POST', `/table/${table}/upload/excel?if_exists=append${query}`, { body });
}

async function stored(table: string): Promise<string[]> {
  const rows = await service.rows(`SELECT ${table}::text AS row FROM ${table} ORDER BY id`);
  return rows.map(({ row }) => String(row));
}

async function create({ columns, old }: Case): Promise<string> {
  const name = nextTable();
  await service.rows(`CREATE TABLE ${name} (id int PRIMARY KEY, ${columns}, x int)`);
  if (old !== undefined) await service.rows(`INSERT INTO ${name} VALUES ${old}`);
  return name;
}

/** Sends the faulty rows again in each format. Returns the formats that were refused; undefined: the rows have other problems, too. */
async function comesBack(found: Case): Promise<Format[] | undefined> {
  const { query = '', without } = found;
  const direct = await create(found);
  const right = await send(direct, await found.file('7'), query);
  if (right.status !== 200) return undefined;
  const expected = await stored(direct);
  const sent = await found.file('BAD');
  const refused: Format[] = [];
  for (const format of formats) {
    const table = await create(found);
    const loaded = await send(table, sent, `${query}&faulty_rows=leave_out`);
    assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
    const url = new URL(
      `/api/v1/loads/${loaded.headers.get('load-id')}/faulty-rows?format=${format}`,
      service.url,
    );
    const answer = await fetch(url, { headers: { authorization: `Bearer ${await service.token()}` } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (answer.status === 422) {
      assert.match(bytes.toString(), /cannot give back .* Send /);
      refused.push(format);
      continue;
    }
    const file = format === 'xlsx' ? bytes : bytes.toString().replaceAll('BAD', '7');
    const patch = Array.from({ length: loaded.body.load.faulty_rows }, (_, row) => ({
      row: row + 1,
      column: 'x',
      value: '7',
    }));
    const isExact = format === 'csv' && (isJson(sent) || /^P/.test(String(sent)));
    const again = `${query}${isExact ? '&quoted=exact' : ''}`.replace(without?.[format] ?? /^$/, '');
    const second = await send(table, file, again, format === 'xlsx' ? patch : undefined);
    const about = `${format}: ${format === 'xlsx' ? '' : file}${JSON.stringify(second.body)}`;
    assert.equal(second.status, 200, about);
    assert.deepEqual(await stored(table), expected, about);
  }
  return refused;
}

const csvOf =
  (good: string, ...faulty: string[]) =>
  (x: string) =>
    ['id;v;x', `0;${good};5`, ...faulty.map((v, at) => `${at + 1};${v};${x}`)].join('\n');
const linesOf =
  (good: string, ...faulty: string[]) =>
  (x: string) =>
    [`{"id":0,"v":${good},"x":5}`, ...faulty.map((v, at) => `{"id":${at + 1},"v":${v},"x":"${x}"}`)].join(
      '\n',
    );
const bookWith =
  (good: CellSpec, ...faulty: CellSpec[]) =>
  (x: string) =>
    bookOf(
      { S: [['id', 'v', 'x'], [0, good, 5], ...faulty.map((v, at): CellSpec[] => [at + 1, v, x])] },
      { formats: [22, '00', '[h]:mm:ss'] },
    );
const parquetWith =
  (good: string, ...faulty: string[]) =>
  (x: string) =>
    parquetOf(
      [`SELECT 0 id, ${good} v, '5' x`, ...faulty.map((v, at) => `SELECT ${at + 1}, ${v}, '${x}'`)].join(
        ' UNION ALL ',
      ),
    );

const error: CellSpec = { attributes: 't="e"', content: '<v>#N/A</v>' };
const natural = '&values=natural';

const suites: Record<string, Record<string, Case>> = {
  'with values=natural, a value is that of the notation of all rows': {
    'minutes and seconds': {
      columns: 'v interval',
      file: csvOf('12:30.5', '02:30', '1:02:30'),
      query: natural,
    },
    'numbers in CSV': {
      columns: 'v numeric',
      file: csvOf('1.234,50', '2.234', '3.234,5', '4'),
      query: natural,
    },
    'numbers in NDJSON': {
      columns: 'v numeric',
      file: linesOf('"1.234,50"', '"2.234"', '3'),
      query: natural,
    },
    'double precision': { columns: 'v float8', file: csvOf('1.234,50', '2.234'), query: natural },
    bigint: { columns: 'v bigint', file: csvOf('1.234.567', '1.234'), query: natural },
    'amounts and percent': { columns: 'v numeric', file: csvOf('12,5 %', '13 %'), query: natural },
    'a number that can be read in two ways': {
      columns: 'v numeric',
      file: csvOf('1.234,5678', '1,125', '0,125'),
      query: natural,
      refused: ['csv'],
    },
    'a number that can be read in one way': {
      columns: 'v numeric',
      file: csvOf('1.234,5678', '0,125', '-0,5', '1.234,25'),
      query: natural,
    },
    'days and months': { columns: 'v date', file: csvOf('13/02/2026', '01/02/2026'), query: natural },
    'days and times': {
      columns: 'v timestamp',
      file: csvOf('13/02/2026 10:00', '01/02/2026 1:00'),
      query: natural,
    },
    'days in a text column': { columns: 'v text', file: csvOf('13/02/2026', '01/02/2026'), query: natural },
    'times of day': { columns: 'v time', file: csvOf('2:30 PM', '1:02 am'), query: natural },
    words: { columns: 'v boolean', file: csvOf('Yes', 'no', 'YES'), query: natural },
    'days in a workbook': { columns: 'v date', file: bookWith('13/02/2026', '01/02/2026'), query: natural },
    'a null word that looks like a date': {
      columns: "v date DEFAULT '2000-01-01'",
      file: csvOf('13/02/2026', '01/01/1900', '01/02/2026'),
      query: `${natural}&null_values=01/01/1900`,
    },
    'a column with another name': {
      columns: 'w date',
      file: csvOf('13/02/2026', '01/02/2026'),
      query: `${natural}&rename=v:w`,
    },
  },
  'bytes of Parquet are the text that they are': {
    'or bytes in a bytea column': {
      columns: 'w bytea, v text',
      file: parquetWith(
        "encode('Köln') w, encode('Köln')",
        ...["encode('Köln'), encode('Köln')", "encode('a\\b'), encode('a\\b')"],
      ),
    },
    'unless they are a null word': {
      columns: 'v text',
      file: parquetWith("encode('a')", "encode('N')"),
      query: '&null_values=N',
      refused: ['csv', 'ndjson', 'xlsx'],
    },
  },
  'NULL is no empty cell that means something else': {
    'in a column with a default': {
      columns: 'v int DEFAULT 5',
      file: parquetWith('3', 'NULL'),
      refused: ['csv', 'xlsx'],
    },
    'in a column without one': { columns: 'v int', file: linesOf('3', 'null') },
    'of an error': {
      columns: "v text DEFAULT 'D'",
      file: bookWith('a', error),
      query: '&cell_errors=null',
      refused: ['csv', 'xlsx'],
      without: { ndjson: /&cell_errors=null/ },
    },
    'of an error with empty_cells=null': {
      columns: "v text DEFAULT 'D'",
      file: bookWith('a', error, null),
      query: '&cell_errors=null&empty_cells=null',
      without: { ndjson: /&.*/ },
    },
    'in an update': {
      columns: 'v text',
      file: bookWith('a', error),
      query: '&on_conflict=update&cell_errors=null',
      old: "(1, 'old', 0)",
      refused: ['csv', 'xlsx'],
      without: { ndjson: /&cell_errors=null/ },
    },
    'with a word for it': {
      columns: "v text DEFAULT 'D'",
      file: linesOf('"a"', 'null'),
      query: '&null_values=N',
      refused: ['xlsx'],
    },
    'of a blank text': { columns: 'v text', file: csvOf('a', ' '), query: '&trim=true' },
    'of a blank text in a column with a default': {
      columns: "v text DEFAULT 'D'",
      file: csvOf('a', ' '),
      query: '&trim=true',
      refused: ['xlsx'],
    },
  },
  'a value has the digits that were sent': {
    'microseconds and zeros in text columns': {
      columns: 'w text, v text',
      file: parquetWith(
        "timestamp '2026-01-02 03:04:05' w, 1.00::decimal(10,2)",
        "timestamp '2026-01-02 03:04:05.123456', 2.00",
        "timestamp '2026-01-02 03:04:05.5', 2.50",
      ),
    },
    'zeros in a numeric column': {
      columns: 'v numeric',
      file: linesOf('1.0', '2.0', '2.50', '100', '-0.0', '1.5e3'),
    },
    'zeros in numeric(10,2)': { columns: 'v numeric(10,2)', file: linesOf('1.0', '2.0', '2.5') },
    'zeros with decimal_sign': {
      columns: 'v numeric, w text',
      file: linesOf('1.0', '2.0', '1.234,"w":1.50', '12345678901234567890.1'),
      query: '&decimal_sign=,&thousands_sign=.',
    },
    'all digits of a double': { columns: 'v float8', file: bookWith(0.5, 0.30000000000000004) },
  },
  'a number is a number in a column of JSON': {
    'with decimal_sign': {
      columns: 'v jsonb',
      file: linesOf('1', '1.5', '"1,5"', '{"a":1.5}'),
      query: '&decimal_sign=,',
    },
    'in a workbook': {
      columns: 'v jsonb',
      file: bookWith(1, 1.5),
      query: '&decimal_sign=,',
      refused: ['ndjson'],
    },
    'with zeros': { columns: 'v jsonb', file: linesOf('1', '1.50'), refused: ['xlsx'] },
    'with an exponent': { columns: 'v jsonb', file: linesOf('1', '1e5'), refused: ['csv', 'xlsx'] },
    'beside a text': { columns: 'v jsonb', file: linesOf('"a"', '"12"'), refused: ['csv'] },
    'beside the text of an array': {
      columns: 'v jsonb',
      file: linesOf('"a"', '"[1]"'),
      refused: ['csv', 'xlsx'],
    },
  },
  'what only JSON has': {
    'an array': { columns: 'v int[]', file: linesOf('[1]', '[1,2]'), refused: ['csv', 'xlsx'] },
    'an object with flatten=true': {
      columns: 'v_b numeric',
      file: linesOf('{"b":1}', '{"b":1.5}'),
      query: '&flatten=true',
      refused: ['csv', 'xlsx'],
    },
    'an object with flatten=true and values=natural': {
      columns: 'v_b numeric',
      file: linesOf('{"b":"1.234,50"}', '{"b":"1.234"}'),
      query: `&flatten=true${natural}`,
      refused: ['csv', 'ndjson', 'xlsx'],
    },
    'the lines of an object in a text column': {
      columns: 'v text',
      file: (x) => `[{"id":0,"v":{"a": 1},"x":5},{"id":1,"v":{"a":\n1},"x":"${x}"}]`,
      refused: ['ndjson'],
    },
    'an empty text': { columns: 'v text', file: linesOf('"a"', '""'), refused: ['xlsx'] },
  },
  'a text file has a delimiter that is found again': {
    'of its first line': { columns: 'v int', file: (x) => `sep=~\nid~v~x\n0~1~5\n1~2~${x}\n` },
    'that is rare': { columns: 'v int', file: (x) => `id#v#x\n0#1#5\n1#2#${x}\n2#3#4\n` },
    'that is a space': { columns: 'v int', file: (x) => `id v x\n0 1 5\n1 2 ${x}\n2 3 4\n3 4 5\n` },
  },
};

for (const [title, cases] of Object.entries(suites))
  suite(title, () => {
    for (const [name, found] of Object.entries(cases))
      test(name, async () => {
        assert.deepEqual(await comesBack(found), found.refused ?? []);
      });
  });

test('the rows of a new table have the values of values=natural, and those of a refusal, too', async () => {
  const table = nextTable();
  const file = 'id;d;n\n1;13/02/2026;1.234,50\n1;01/02/2026;1.234\n2;02/02/2026;2\n';
  const send = (query: string) =>
    service.upload(`/table/${table}/upload/excel?primary_key=id&values=natural${query}`, Buffer.from(file));
  for (const query of ['', '&faulty_rows=leave_out']) {
    const { headers } = await send(query);
    const { body } = await service.get(`/api/v1/loads/${headers.get('load-id')}/faulty-rows`);
    assert.match(String(body), /^id;d;n;"_problem"\n1;2026-02-01;1234;"id: must be unique/);
  }
});

test('a blank text that values=natural reads as NULL is one in each format', async () => {
  const file = csvOf('13/02/2026', ' ', '01/02/2026');
  assert.deepEqual(await comesBack({ columns: 'v date', file, query: natural }), []);
  const columns = "v date DEFAULT '2000-01-01'";
  assert.deepEqual(await comesBack({ columns, file, query: natural }), ['csv', 'xlsx']);
});

/** Values of a cell of a text file, which a column of each type may have. */
const texts: Record<string, string[]> = {
  text: ['a', ' ', 'N', '1.50', '007', '13/02/2026', '1,5', '#a'],
  "text DEFAULT 'D'": ['a', ' ', 'N', '', '1e5'],
  'int DEFAULT 5': ['1', '1.234', '1.234.567', '', 'N', '007'],
  numeric: ['1', '1.50', '1,5', '1.234', '1.234,50', '1,234.5', '12 %', '€ 2.000', '-3', '(4,5)', 'NaN'],
  'numeric(10,2)': ['1', '1.5', '1.234', '2.234,50'],
  float8: ['1', '0.30000000000000004', '1,25', '1.234', '1.234,5'],
  jsonb: ['1', '1.50', '1,5', '[1]', '{"a":1}', 'a', 'true', '1e5'],
  date: ['2026-01-02', '01/02/2026', '13/02/2026', '3 Jan 2026', 'N'],
  timestamp: ['2026-01-02 03:04:05.123456', '01/02/2026 1:00', '13/02/2026 2:00', '13/02/2026'],
  interval: ['02:30', '12:30.5', '1:02:30', '100:00:00', 'P1D'],
  time: ['02:30', '2:30 PM', '14:05'],
  boolean: ['true', 'Yes', 'no', 'f', 'N'],
};
/** Other values of a cell of JSON, and of a workbook. */
const ofJson: Record<string, string[]> = {
  text: ['1.0', '1.50', '1e5', 'true', '[1]', '{"a":1.50}', '""', 'null'],
  "text DEFAULT 'D'": ['null', '""', '1.5'],
  'int DEFAULT 5': ['null', '1', '1234'],
  numeric: ['1.0', '1.234', '1.50', '12345678901234567890.10', '0.0000001', '-0.0', '1e-7', '1.5e3', 'null'],
  'numeric(10,2)': ['1.50', '1.234', '1e2'],
  float8: ['1.0', '1e300', '0.1234567890123456789', '5e-324'],
  jsonb: [
    '1.50',
    '1.5',
    '1e5',
    'true',
    '"12"',
    '"[1]"',
    '"true"',
    'null',
    '{"a":1.50}',
    '[1]',
    '12345678901234567890',
  ],
  date: ['null'],
};
const sheetCell = (content: string, style?: number): CellSpec => ({
  attributes: style === undefined ? '' : `s="${style}"`,
  content: `<v>${content}</v>`,
});
const ofBook: Record<string, CellSpec[]> = {
  text: [
    1.5,
    true,
    error,
    sheetCell('46024.5', 1),
    sheetCell('46024', 1),
    sheetCell('1.10'),
    sheetCell('7', 2),
  ],
  "text DEFAULT 'D'": [null, error, 12],
  'int DEFAULT 5': [null, error, 12],
  numeric: [1.5, 1.234, sheetCell('0.30000000000000004'), sheetCell('1E-7'), sheetCell('1.10')],
  float8: [sheetCell('0.30000000000000004'), sheetCell('1E-7'), sheetCell('2.2250738585072014E-308')],
  jsonb: [1.5, true, sheetCell('1E+20'), '12'],
  date: [sheetCell('46024', 1), error],
  timestamp: [sheetCell('46024.123456789', 1)],
  interval: [sheetCell('1.5', 3), sheetCell('0.104166666666667', 3)],
};

const sharedFlags = [
  'date_order=dmy',
  'values=natural',
  'decimal_sign=,',
  'trim=true',
  'null_values=N',
  'on_conflict=update',
];
const fileFlags = ['empty_cells=null', 'cell_errors=null'];

const randomCase = fc
  .record({
    source: fc.constantFrom('csv', 'json', 'xlsx'),
    type: fc.constantFrom(...Object.keys(texts)),
    flags: fc.subarray([...sharedFlags, ...fileFlags]),
    places: fc.array(fc.nat(), { minLength: 2, maxLength: 4 }),
  })
  .map(({ source, type, flags, places }): Case => {
    const own = source === 'json' ? flags.filter((flag) => !fileFlags.includes(flag)) : flags;
    const pick = <Value>(values: Value[]): [Value, ...Value[]] =>
      places.map((place) => values[place % values.length]!) as [Value, ...Value[]];
    const sent = texts[type]!;
    const quoted = sent.map((text) => (/[",;\n#]|^ /.test(text) ? `"${text.replaceAll('"', '""')}"` : text));
    return {
      columns: `v ${type}`,
      file:
        source === 'csv'
          ? csvOf(...pick(quoted))
          : source === 'json'
            ? linesOf(...pick([...sent.map((text) => JSON.stringify(text)), ...(ofJson[type] ?? [])]))
            : bookWith(...pick<CellSpec>([...sent, ...(ofBook[type] ?? [])])),
      query: own.map((flag) => `&${flag}`).join(''),
      old: '(1, DEFAULT, 0)'.repeat(own.includes('on_conflict=update') ? 1 : 0) || undefined,
      without: { ndjson: /&(?:empty_cells|cell_errors)=null/g },
    };
  });

test('random cells come back in each format that is not refused', async (t) => {
  const counts = { back: 0, refused: 0, faulty: 0 };
  await fc.assert(
    fc.asyncProperty(randomCase, async (found) => {
      const refused = await comesBack(found);
      if (refused === undefined) counts.faulty++;
      else {
        counts.refused += refused.length;
        counts.back += formats.length - refused.length;
      }
    }),
    { numRuns: Number(process.env.MODEL_CASES ?? sized(30, 200)), endOnFailure: true },
  );
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.back > counts.faulty, JSON.stringify(counts));
});
