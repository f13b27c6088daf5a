/**
 * The parameters for reading text: `null_values`, `date_order`, `decimal_sign`, `thousands_sign` and `trim`, over HTTP, for
 * each kind of source.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';
import { type CellSpec, sheetOf, sheetXml } from '../support/workbook.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('reading_');

const uploadCsv = (name: string, lines: string[], query = '', body?: unknown): Promise<TestAnswer> =>
  service.upload(`/table/${name}/upload/excel${query}`, Buffer.from(lines.join('\n')), body);

const typesOf = ({ body }: TestAnswer): Record<string, string> => {
  assert.ok(body.table, JSON.stringify(body));
  return Object.fromEntries(body.table.columns.map(({ name, type }: Record<string, string>) => [name, type]));
};

const warningsOf = ({ body }: TestAnswer, code: string): string[] =>
  body.load.warnings
    .filter((warning: { code: string }) => warning.code === code)
    .map(({ detail }: { detail: string }) => detail);

const rowsOf = (name: string): Promise<Record<string, unknown>[]> =>
  service
    .rows(`SELECT to_jsonb(t) AS row FROM ${name} t`)
    .then((rows) => rows.map(({ row }) => row as never));

const european = '?date_order=dmy&decimal_sign=,&thousands_sign=.&null_values=n/a,-';

const europeanLines = [
  'no;day;at;amount;code;note',
  '1;21/11/2026;21.11.2026 14:30;1.234,50;007;n/a',
  '2;01/02/2026;1.2.2026 08:05:09;-12,5;1.234;1,5 kg',
  '3;n/a;-;-;12;-',
  '4;2026-12-24;24.12.2026 00:00;1.234.567;13;x',
];

suite('a European text file', () => {
  test('a European text file is read as its parameters say', async () => {
    const name = nextTable();
    const answer = await uploadCsv(name, europeanLines, european);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(typesOf(answer), {
      no: 'bigint',
      day: 'date',
      at: 'timestamp without time zone',
      amount: 'numeric',
      code: 'text',
      note: 'text',
    });
    assert.deepEqual(await rowsOf(name), [
      { no: 1, day: '2026-11-21', at: '2026-11-21T14:30:00', amount: 1234.5, code: '007', note: null },
      { no: 2, day: '2026-02-01', at: '2026-02-01T08:05:09', amount: -12.5, code: '1.234', note: '1,5 kg' },
      { no: 3, day: null, at: null, amount: null, code: '12', note: null },
      { no: 4, day: '2026-12-24', at: '2026-12-24T00:00:00', amount: 1234567, code: '13', note: 'x' },
    ]);
    assert.deepEqual(await service.rows(`SELECT amount::text FROM ${name} WHERE no = 1`), [
      { amount: '1234.50' },
    ]);
  });

  test('a European text file gets warnings that name the parameters if they are not sent', async () => {
    const answer = await uploadCsv(nextTable(), europeanLines);
    assert.deepEqual(warningsOf(answer, 'other-notation'), [
      'Column "day" became text. Every value but "n/a" looks like day/month/year, the first is "21/11/2026" in B2. Send date_order=dmy&null_values=n/a to read them.',
      'Column "at" became text. Every value but "-" looks like day/month/year, the first is "21.11.2026 14:30" in C2. Send date_order=dmy&null_values=- to read them.',
      'Column "amount" became text. Every value but "-" looks like numbers with a point between thousands and a comma before the decimals, the first is "1.234,50" in D2. Send decimal_sign=,&thousands_sign=.&null_values=- to read them.',
    ]);
  });

  test('a European text file is loaded into the columns of a definition', async () => {
    const name = nextTable();
    const columns = [
      'no integer',
      'day date',
      'at timestamptz',
      'amount numeric(12,2)',
      'code varchar(9)',
      'note text',
    ];
    const body = {
      table: {
        columns: columns.map((column) => {
          const [columnName, type] = column.split(' ');
          return { name: columnName, type };
        }),
      },
    };
    const answer = await uploadCsv(name, europeanLines, european, body);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual((await rowsOf(name))[1], {
      no: 2,
      day: '2026-02-01',
      at: '2026-02-01T08:05:09+00:00',
      amount: -12.5,
      code: '1.234',
      note: '1,5 kg',
    });
  });
});

suite('cells that are not written as the parameters say', () => {
  const definition = {
    table: {
      columns: [
        { name: 'day', type: 'date' },
        { name: 'amount', type: 'numeric' },
      ],
    },
  };

  test('cells that are not written as the parameters say are problems that show the original text', async () => {
    const lines = [
      'day;amount',
      '11/21/2026;1.5',
      '30/02/2026;1.234,567,8',
      '21112026;12,5e',
      '21/11/2026;1.234',
    ];
    const answer = await uploadCsv(nextTable(), lines, european, definition);
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors?.map(({ cell, value, code }) => [cell, value, code]),
      [
        ['A2', '11/21/2026', 'no-such-date'],
        ['B2', '1.5', 'not-in-number-form'],
        ['A3', '30/02/2026', 'no-such-date'],
        ['B3', '1.234,567,8', 'not-in-number-form'],
        ['A4', '21112026', 'not-in-date-order'],
        ['B4', '12,5e', 'not-in-number-form'],
      ],
    );
  });

  test('cells that are not written as the parameters say make an inferred column text, with the original values', async () => {
    const name = nextTable();
    const answer = await uploadCsv(name, ['day;amount', '21/11/2026;1.234,5', '11/21/2026;1.5'], european);
    assert.deepEqual(typesOf(answer), { day: 'text', amount: 'text' });
    assert.deepEqual(await rowsOf(name), [
      { day: '21/11/2026', amount: '1.234,5' },
      { day: '11/21/2026', amount: '1.5' },
    ]);
  });
});

test('JSON strings are read the same way, and other JSON values are unchanged', async () => {
  const name = nextTable();
  const data = [
    { day: '21/11/2026', amount: '1.234,50', code: ' 007 ', nested: { a: '1,5' } },
    { day: null, amount: 2.5, code: 'n/a', nested: { a: 'n/a' } },
  ];
  const answer = await service.post(`/table/${name}/upload/json${european}&trim=true`, { data });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(typesOf(answer), { day: 'date', amount: 'numeric', code: 'text', nested: 'jsonb' });
  assert.deepEqual(await rowsOf(name), [
    { day: '2026-11-21', amount: 1234.5, code: '007', nested: { a: '1,5' } },
    { day: null, amount: 2.5, code: null, nested: { a: 'n/a' } },
  ]);
});

test('text cells of a workbook are read the same way among real dates and numbers', async () => {
  const name = nextTable();
  const realDate = { attributes: 't="d"', content: '<v>2026-11-22</v>' };
  const file = sheetOf([
    ['day', 'amount'],
    ['21/11/2026', '1.234,50'],
    [realDate, 1.5],
  ]);
  const path = `/table/${name}/upload/excel${european}`;
  const answer = await service.upload(path, file);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal(typesOf(answer).amount, 'numeric');
  assert.deepEqual(await service.rows(`SELECT amount::text FROM ${name} ORDER BY 1`), [
    { amount: '1.5' },
    { amount: '1234.50' },
  ]);
  assert.match(typesOf(answer).day!, /^(date|timestamp without time zone)$/);

  const inspected = await service.upload(`/api/v1/inspect/excel${european}`, file);
  assert.equal(inspected.status, 200, JSON.stringify(inspected.body));
  assert.deepEqual(inspected.body.sheet.definition.columns[1], { name: 'amount', type: 'numeric' });
});

suite('null_values and trim', () => {
  const lines = ['a;b', ' x ;" "', 'n/a; n/a', '-;"-"', '"";y'];

  test('null_values are compared exactly as written', async () => {
    const name = nextTable();
    await uploadCsv(name, lines, '?null_values=n/a,-,');
    assert.deepEqual(await rowsOf(name), [
      { a: ' x ', b: ' ' },
      { a: null, b: ' n/a' },
      { a: null, b: null },
      { a: null, b: 'y' },
    ]);
  });

  test('trim is applied first, and an empty result is NULL in a text file', async () => {
    const name = nextTable();
    await uploadCsv(name, lines, '?null_values=n/a&trim=true');
    assert.deepEqual(await rowsOf(name), [
      { a: 'x', b: null },
      { a: null, b: null },
      { a: '-', b: '-' },
      { a: null, b: 'y' },
    ]);
  });

  test('trim removes every white space character of Unicode', async () => {
    const name = nextTable();
    const spaces = '\u00a0\u2003\u202f\u3000\u2028\ufeff\u200b\u1680\u205f\u0085\u0001\t';
    await service.post(`/table/${name}/upload/json?trim=true`, {
      data: [{ a: `${spaces}é x€${spaces}`, b: spaces }],
    });
    assert.deepEqual(await rowsOf(name), [{ a: 'é x€', b: '' }]);
  });
});

suite('warnings', () => {
  const hints = async (values: string[], query = ''): Promise<string[]> => {
    const answer = await uploadCsv(nextTable(), ['v', ...values.map((value) => `"${value}"`)], query);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return [...warningsOf(answer, 'other-notation'), ...warningsOf(answer, 'two-digit-year')];
  };

  const cases: [title: string, values: string[], expected: RegExp | undefined][] = [
    [
      'day and month that cannot be distinguished',
      ['01/02/2026', '3/4/2026'],
      /Send date_order=dmy or date_order=mdy to read them\.$/,
    ],
    ['months before days', ['01/02/2026', '11/21/2026'], /Send date_order=mdy to read them\.$/],
    ['years first', ['2026/11/21', '2026/01/02'], /Send date_order=ymd to read them\.$/],
    [
      'a comma that may be both signs',
      ['1,234', '2,500'],
      /Send decimal_sign=, or thousands_sign=, to read them\.$/,
    ],
    ['a comma before decimals', ['1,5', '2,50', '3'], /Send decimal_sign=, to read them\.$/],
    ['commas between thousands', ['1,234.5', '7'], /Send thousands_sign=, to read them\.$/],
    [
      'spaces between thousands',
      ['1 234,5', '7'],
      /Send decimal_sign=,&thousands_sign=space to read them\.$/,
    ],
    [
      'points that may stand between thousands',
      ['1.234', '2.500', '7'],
      /If the points separate thousands, send decimal_sign=,&thousands_sign=\. to read them\.$/,
    ],
    ['numbers with a point that cannot', ['1.234', '2.5'], undefined],
    ['fractions below one', ['0.234', '0.500'], undefined],
    ['a value of another kind', ['01/02/2026', 'x'], undefined],
    ['a leading zero', ['1,5', '01,5'], undefined],
    ['a plus sign', ['+49', '+50'], undefined],
    ['days beyond the calendar', ['30/02/2026'], undefined],
    ['words', ['n/a', '-'], undefined],
  ];
  for (const [title, values, expected] of cases) {
    test(`${expected ? 'there is one for' : 'there is none for'} ${title}`, async () => {
      const found = await hints(values);
      assert.equal(found.length, expected ? 1 : 0, found.join('\n'));
      if (expected) assert.match(found[0]!, expected);
    });
  }

  test('years of two digits give a warning that shows how the first was read', async () => {
    assert.deepEqual(await hints(['21/11/26', '21/11/70'], '?date_order=dmy'), [
      'Column "v" has years of two digits: 70 to 99 were read as 1970 to 1999, 00 to 69 as 2000 to 2069. The first is "21/11/26" in A2, read as 2026-11-21.',
    ]);
  });

  test('a word that means no value gives a warning that names null_values', async () => {
    const answer = await uploadCsv(nextTable(), ['v', '1', '2', '3', 'n/a']);
    assert.match(warningsOf(answer, 'mixed-column')[0]!, /Send null_values=n\/a to load this as NULL\.$/);
  });

  test('several words that mean no value, or one among few values, give a warning with all of them', async () => {
    assert.deepEqual(await hints(['n/a', '1', '-', '2.5', 'n/a']), [
      'Column "v" became text. Every value but "n/a", "-" is a number. Send null_values=n/a,- to load these words as NULL.',
    ]);
    assert.deepEqual(await hints(['n/a', '2026-11-21', 'n/a']), [
      'Column "v" became text. Every value but "n/a" is a date. Send null_values=n/a to load these words as NULL.',
    ]);
    for (const values of [
      ['n/a', '-'],
      ['n/a', 'x', '1'],
      ['n/a', '1', '2026-11-21'],
    ]) {
      assert.deepEqual(await hints(values), []);
    }
  });

  test('white space around values gives a warning that names trim, alone or with a notation', async () => {
    const spaced: [values: string[], parameters: string, type: string][] = [
      [[' 12', '7 ', '5', '-  '], 'trim=true&null_values=-', 'bigint'],
      [['\u00a02026-11-21', '2026-11-22'], 'trim=true', 'date'],
      [[' 1.234,50', '  ', '7,5'], 'decimal_sign=,&thousands_sign=.&trim=true', 'numeric'],
      [['21/11/2026 ', '2026-11-22'], 'date_order=dmy&trim=true', 'date'],
    ];
    for (const [values, parameters, type] of spaced) {
      const lines = ['id;v', ...values.map((value) => `1;${value}`)];
      const [hint] = warningsOf(await uploadCsv(nextTable(), lines), 'other-notation');
      assert.equal(/Send (\S+) to read them/.exec(hint!)?.[1], parameters);
      assert.equal(typesOf(await uploadCsv(nextTable(), lines, `?${parameters}`)).v, type);
    }
    const json = { data: [{ n: ' 12', d: ' 2026-11-21' }] };
    const answer = await service.post(`/table/${nextTable()}/upload/json`, json);
    assert.deepEqual(warningsOf(answer, 'other-notation').length, 1);
    assert.match(warningsOf(answer, 'other-notation')[0]!, /^Column "d" .* trim=true/);
  });
});

suite('columns that no parameter reads', () => {
  /** Returns the hint for each column of a text file, without its beginning and its place. */
  const hintsOf = async (columns: Record<string, string[]>, query = ''): Promise<Record<string, string>> => {
    const names = Object.keys(columns);
    const rows = Array.from({ length: Math.max(...names.map((name) => columns[name]!.length)) }, (_, row) =>
      names.map((name) => `"${columns[name]![row] ?? ''}"`).join(';'),
    );
    const answer = await uploadCsv(nextTable(), [names.join(';'), ...rows], query);
    for (const [name, type] of Object.entries(typesOf(answer))) assert.equal(type, 'text', name);
    const found = answer.body.load.warnings.filter(({ code }: { code: string }) => code === 'other-notation');
    return Object.fromEntries(
      found.map(({ column, detail }: { column: string; detail: string }) => [
        column,
        detail.replace(/^.* looks like /, '').replace(/, the first is .* in [A-Z]+\d+\./, '.'),
      ]),
    );
  };
  const convert =
    'No parameter reads them: remove these signs from the file, or convert the column after the load, as in /docs/recipes#amounts-as-text.';
  const define = (type: string, parameters = 'extra_columns=add') =>
    `To read them, send a definition in which this column has the type ${type}, and ${parameters}.`;

  const natural = (more = '') => `To read them, send values=natural${more}`;
  const either = (type: string, parameters?: string) =>
    `${natural()}; or ${define(type, parameters).replace('To read them, ', '')}`;

  test('columns that no parameter reads get a warning that says what they look like and what to do', async () => {
    const cases: Record<string, [values: string[], hint: string]> = {
      percent: [['12 %', '-1,5%', '100\u00a0%'], `numbers with a percent sign. ${natural()}.`],
      some_percent: [['12', '5 %'], `numbers, some of them with a percent sign. ${convert}`],
      sign: [['€ 1.234,50', '-€5', '€ -', '7 €'], `numbers with a currency sign. ${natural()}.`],
      code: [['1,200.00 USD', 'US$ 5', 'EUR -3', '12 zł'], `numbers with a currency sign. ${convert}`],
      accounting: [['(1,200.00)', '7', '1,000'], `numbers, some of them with parentheses. ${natural()}.`],
      behind: [['120-', '5.50'], `numbers, some of them with a minus sign at the end. ${natural()}.`],
      open: [
        ['$ 1,000', '$ 2'],
        'numbers with a comma before the decimals or numbers with a comma between thousands. Send values=natural&decimal_sign=, or values=natural&thousands_sign=, to read them.',
      ],
      both: [
        ['$1,200.00', '($5.00)'],
        `numbers, some of them with a currency sign or parentheses. ${natural()}.`,
      ],
      with_word: [['$5', 'N/A'], `numbers with a currency sign. ${natural('&null_values=N/A')}.`],
      exponent: [['1.5E+10', '-2e-3'], `numbers with an exponent. ${either('numeric')}`],
      article: [['12E5', '34'], `numbers, some of them with an exponent. ${define('numeric')}`],
      point_first: [
        ['.5', '-.25', '7'],
        `numbers, some of them with no digit before the point. ${either('numeric')}`,
      ],
      capitals: [['TRUE', 'TRUE'], `words for true and false. ${either('boolean')}`],
      mixed_case: [['true', 'False', 'T'], `words for true and false. ${define('boolean')}`],
      yes_no: [
        ['yes', 'N', '-'],
        `words for true and false. ${define('boolean', 'extra_columns=add&null_values=-')}`,
      ],
      time: [['14:30', '9:05:07.5'], `times of day. ${either('time')}`],
      half_day: [['2:30 PM', '11:00am'], `times of day. ${either('time')}`],
      some_halves: [['2:30 PM', '11:00am', '12:15'], `times of day. ${define('time')}`],
      duration: [['26:15', '0:45'], `durations. ${define('interval')}`],
      spaced: [[' 14:30', '15:00 '], `times of day. ${either('time', 'extra_columns=add&trim=true')}`],
    };
    const values = Object.fromEntries(Object.entries(cases).map(([name, [column]]) => [name, column]));
    const hints = Object.fromEntries(Object.entries(cases).map(([name, [, hint]]) => [name, hint]));
    assert.deepEqual(await hintsOf(values), hints);
  });

  test('columns that no parameter reads get no warning if they may be something else', async () => {
    const columns = {
      only_no: ['NO', 'NO'],
      sexes: ['F', 'M'],
      only_f: ['F', 'F'],
      zeros: ['007', '5 %'],
      phone: ['+49', '(030) 12'],
      part: ['12-3', '7-'],
      codes: ['EUR', 'USD'],
      two_signs: ['$ 5 %', '7'],
      ambiguous: ['1,234.5', '1.234,5'],
      minutes: ['12:61', '7:00'],
      name: ['Ann', '5 %'],
      words: ['yes', 'true'],
    };
    assert.deepEqual(await hintsOf(columns), {});
  });

  test('columns that no parameter reads are loaded by the definition that the warning names, and shown with the same warning by an inspection', async () => {
    const lines = ['loud,answer,at,length,size', 'TRUE,yes,2:30 PM,26:15,1.5E+3', 'False,N,9:05,0:45,.5'];
    const types = { loud: 'boolean', answer: 'boolean', at: 'time', length: 'interval', size: 'numeric' };
    const form = Buffer.from(lines.join('\n'));
    const inspected = await service.upload('/api/v1/inspect/excel', form);
    const plain = await uploadCsv(nextTable(), lines);
    assert.deepEqual(inspected.body.sheet.warnings, plain.body.load.warnings);
    const named = plain.body.load.warnings.map(({ column, detail }: { column: string; detail: string }) => [
      column,
      /has the type (\w+),/.exec(detail)?.[1],
    ]);
    assert.deepEqual(Object.fromEntries(named), types);
    const name = nextTable();
    const columns = Object.entries(types).map(([column, type]) => ({ name: column, type }));
    await uploadCsv(name, lines, '?extra_columns=add', { table: { columns } });
    assert.deepEqual(await rowsOf(name), [
      { loud: true, answer: true, at: '14:30:00', length: '26:15:00', size: 1500 },
      { loud: false, answer: false, at: '09:05:00', length: '00:45:00', size: 0.5 },
    ]);
  });

  test('columns that no parameter reads get the same warnings in JSON and in a workbook, and there also for true and 14:30', async () => {
    const time = { attributes: 's="1"', content: '<v>0.5</v>' };
    const rows = [
      ['loud', 'price', 'at'],
      ['TRUE', '$5', '14:30'],
      [{ attributes: 't="b"', content: '<v>0</v>' }, 7, time],
    ];
    const sheets = [{ name: 'S', xml: sheetXml(rows) }];
    const file = buildWorkbook({ formats: [20], sheets });
    const answer = await service.upload(`/table/${nextTable()}/upload/excel`, file);
    assert.deepEqual(
      warningsOf(answer, 'other-notation').map((detail) => /looks like (.*?), the first/.exec(detail)?.[1]),
      ['words for true and false', 'numbers, some of them with a currency sign', 'times of day'],
    );
    const data = [
      { loud: 'FALSE', price: '5 EUR', quoted: 'true' },
      { loud: true, price: 7, quoted: 'false' },
    ];
    const json = await service.post(`/table/${nextTable()}/upload/json`, { data });
    assert.deepEqual(
      json.body.load.warnings.map(({ column }: { column: string }) => column),
      ['loud', 'price'],
    );
  });
});

suite('an existing table', () => {
  test('an existing table gets a warning for numbers whose points may separate thousands', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id int PRIMARY KEY, n numeric)`);
    const path = '?if_exists=append&on_conflict=update';
    const grouped = await uploadCsv(name, ['id;n', '1;2.345', '3;1.000'], path);
    assert.equal(warningsOf(grouped, 'other-notation').length, 1);
    const stated = await uploadCsv(name, ['id;n', '1;2.345'], `${path}&decimal_sign=,&thousands_sign=.`);
    assert.deepEqual(warningsOf(stated, 'other-notation'), []);
    const fractions = await uploadCsv(name, ['id;n', '1;2.345', '3;1.5'], path);
    assert.deepEqual(warningsOf(fractions, 'other-notation'), []);
  });

  test('an existing table accepts money in the notation of the request', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (m money)`);
    const answer = await uploadCsv(
      name,
      ['m', '"19,90"', '"1.234,56"'],
      '?if_exists=append&decimal_sign=,&thousands_sign=.',
    );
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows(`SELECT m::numeric::text AS m FROM ${name} ORDER BY 1`), [
      { m: '1234.56' },
      { m: '19.90' },
    ]);
  });

  test('an existing table gets problems that name the null_values with which a word is NULL', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (d date, n int)`);
    const answer = await uploadCsv(name, ['d,n', 'n/a,\\N'], '?if_exists=append');
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.match(errors![0]!.detail, /; send null_values=n\/a to load it as NULL$/);
    assert.match(errors![1]!.detail, /; send null_values=%5C%5CN to load it as NULL$/);
    const read = await uploadCsv(name, ['d,n', 'n/a,\\N'], '?if_exists=append&null_values=n/a,%5C%5CN');
    assert.equal(read.status, 200, JSON.stringify(read.body));
  });
});

test('an inspection shows what an upload stores', async () => {
  const lines = ['id;d;n', '1;21/11/2026;1.234', '2;05/12/2026;abc'];
  const query = '?date_order=mdy&decimal_sign=,&thousands_sign=.';
  const inspected = await service.upload(`/api/v1/inspect/excel${query}`, Buffer.from(lines.join('\n')));
  assert.deepEqual(inspected.body.sheet.rows, [
    ['1', '21/11/2026', '1.234'],
    ['2', '05/12/2026', 'abc'],
  ]);
});

test('dates among dates with a time mean midnight, as in a workbook', async () => {
  const name = nextTable();
  const answer = await uploadCsv(
    name,
    ['d', '11/21/2026 2:30 PM', '1/1/2026', '2026-12-24'],
    '?date_order=mdy',
  );
  assert.deepEqual(typesOf(answer), { d: 'timestamp without time zone' });
  assert.deepEqual(await rowsOf(name), [
    { d: '2026-11-21T14:30:00' },
    { d: '2026-01-01T00:00:00' },
    { d: '2026-12-24T00:00:00' },
  ]);
});

test('warnings show the original text of the file', async () => {
  const answer = await uploadCsv(nextTable(), ['d', '01/12/2026', '02/12/2026', 'x'], '?date_order=dmy');
  assert.match(warningsOf(answer, 'mixed-column')[0]!, /because of "x" in A4/);
  const first = await uploadCsv(
    nextTable(),
    ['d', 'x', '01/12/2026', '02/12/2026', '03/12/2026'],
    '?date_order=dmy',
  );
  assert.match(warningsOf(first, 'mixed-column')[0]!, /because of "x" in A2/);
  const other = await uploadCsv(nextTable(), ['d', '21/11/2026'], '?date_order=mdy');
  assert.match(warningsOf(other, 'other-notation')[0]!, /Send date_order=dmy to read them\.$/);
});

suite('parameters that are refused', () => {
  for (const query of ['decimal_sign=,&thousands_sign=,', 'date_order=ydm', 'decimal_sign=;', 'trim=1']) {
    test(query, async () => {
      assertProblem(await uploadCsv(nextTable(), ['a', '1'], `?${query}`), 422, 'invalid-parameter');
    });
  }
});

test('an inferred table with text parameters equals a table with a definition of the same types', async () => {
  const two = (value: number) => String(value).padStart(2, '0');
  const value = fc.oneof(
    fc
      .record({ d: fc.integer({ min: 1, max: 28 }), m: fc.integer({ min: 1, max: 12 }) })
      .map(({ d, m }) => `${two(d)}.${two(m)}.2026`),
    fc.integer({ min: -9_999_999, max: 9_999_999 }).map((n) => n.toLocaleString('de-DE')),
    fc
      .integer({ min: -9_999_999, max: 9_999_999 })
      .map((n) => (n / 8).toLocaleString('de-DE', { minimumFractionDigits: 3 })),
    fc.constantFrom('n/a', '', 'x', '1.5', '007'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 8 }), async (rows) => {
      const lines = ['a;b', ...rows.map((row) => row.map((cell) => `"${cell}"`).join(';'))];
      const [inferred, defined] = [nextTable(), nextTable()];
      const first = await uploadCsv(inferred, lines, european);
      assert.equal(first.status, 201, JSON.stringify(first.body));
      const columns = first.body.table.columns.map(({ name, type }: Record<string, string>) => ({
        name,
        type,
      }));
      const second = await uploadCsv(defined, lines, european, { table: { columns } });
      assert.equal(second.status, 201, JSON.stringify(second.body));
      assert.deepEqual(await rowsOf(defined), await rowsOf(inferred));
    }),
    { numRuns: sized(6, 25) },
  );
});

test('a warning lists its choices as parameters, and each of them ends the warning', async () => {
  const report: CellSpec[][] = [
    ['Report'],
    ['id', 'name', 'n'],
    [1, 'Ann', 5],
    [2, 'Bob', 6],
    ['Total', null, 11],
    [],
    ['End'],
  ];
  const below: CellSpec[][] = [...report.slice(1, 4), [], ['Made by the sales team']];
  const cases: [code: string, count: number, file: Buffer][] = [
    ['other-notation', 2, Buffer.from('day\n01/02/2026\nn/a\n')],
    ['other-notation', 1, Buffer.from('amount\n"1.234,50"\n')],
    ['other-notation', 1, Buffer.from('n\n 5 \n')],
    ['other-notation', 2, Buffer.from('ok\nyes\n no\n')],
    ['other-notation', 2, Buffer.from('price\n$ 1.000\n')],
    ['other-notation', 1, Buffer.from('price\n"$ 1,000.50"\n')],
    ['other-notation', 1, Buffer.from('day\n17-Jan-94\n')],
    ['mixed-column', 1, Buffer.from('n\n1\n2\n3\n\\N\n')],
    ['header-row', 1, Buffer.from('1,2026-01-01\n2,2026-01-02\n')],
    ['header-row', 1, sheetOf(report)],
    ['total-row', 1, sheetOf(report)],
    ['rows-below', 2, sheetOf(below)],
  ];
  for (const [code, count, file] of cases) {
    const warningIn = ({ body }: TestAnswer) =>
      body.load.warnings.find((warning: { code: string }) => warning.code === code);
    const path = (query: Record<string, string>) =>
      `/table/${nextTable()}/upload/excel?${new URLSearchParams(query)}`;
    const answer = await service.upload(path({ dry_run: 'true' }), file);
    const { column: name, choices, detail } = warningIn(answer);
    assert.equal(choices.length, count, detail);
    for (const { parameters, type } of choices) {
      for (const [parameter, value] of Object.entries(parameters))
        assert.ok(decodeURIComponent(detail).includes(`${parameter}=${value}`), detail);
      const body = type && { table: { columns: [{ name, type }] } };
      const again = await service.upload(path({ dry_run: 'true', ...parameters }), file, body);
      assert.equal(again.status, 200, JSON.stringify(again.body));
      assert.equal(warningIn(again), undefined, JSON.stringify(parameters));
    }
  }
});

test('an empty field in quotes stays the empty text with quoted=exact beside every other parameter', async () => {
  const lines = ['id,a,n', '1,"",x', '2,,y', '3, ,z'];
  for (const query of [
    'trim=true',
    'null_values=N',
    'date_order=dmy',
    'decimal_sign=,',
    'thousands_sign=space',
  ]) {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id int PRIMARY KEY, a text, n text);
      INSERT INTO ${name} SELECT id, 'old' FROM generate_series(1, 3) AS id`);
    const path = `?if_exists=append&on_conflict=update&empty_cells=null&quoted=exact&${query}`;
    const { status, body } = await uploadCsv(name, lines, path);
    assert.equal(status, 200, JSON.stringify(body));
    const found = (await rowsOf(name)).map(({ a }) => a);
    assert.deepEqual(found, ['', null, query === 'trim=true' ? null : ' '], query);
    const inferred = nextTable();
    await uploadCsv(inferred, lines, `?quoted=exact&all_text=true&${query}`);
    assert.equal((await rowsOf(inferred))[0]!.a, '', query);
  }
});
