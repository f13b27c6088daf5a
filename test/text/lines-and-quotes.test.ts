/** Text files whose quotes join lines, whose delimiters move values, or whose quotes follow white space, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { fileUploader } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('quoted_');

const upload = fileUploader(() => service);

interface Warned {
  code: string;
  detail: string;
  choices?: unknown;
}

async function load(file: string, query = ''): Promise<{ rows: unknown[][]; warnings: Warned[] }> {
  const name = nextTable();
  const { status, body } = await upload(name, file, query);
  assert.equal(status, 201, JSON.stringify(body));
  const rows = await service.rows(`SELECT to_json(t)::text AS row FROM ${name} t`);
  return {
    rows: rows.map(({ row }) => Object.values(JSON.parse(row as string))),
    warnings: body.load.warnings,
  };
}

const codesOf = (warnings: Warned[]): string[] => warnings.map(({ code }) => code);

/** Returns a file of so many rows below its header, with quotes in the lines that are given. */
function fileOf(rows: number, lines: Record<number, string>, lineEnd = '\n'): string {
  const all = ['id,name,x'];
  for (let row = 1; row <= rows; row += 1) all.push(lines[row] ?? `${row},n${row},1`);
  return all.join(lineEnd) + lineEnd;
}

suite('quotes that join lines', () => {
  const leaveOut = '?faulty_rows=leave_out&quotes=strict';

  for (const [name, lineEnd] of [
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ] as const) {
    test(`leave_out refuses text after a quote that closes on another line (${name})`, async () => {
      const file = fileOf(10_000, { 11: '10,"12 inch,1', 9001: '9000,"d" x,1' }, lineEnd);
      for (const query of ['?quotes=strict', leaveOut]) {
        const table = nextTable();
        const { detail, errors } = assertProblem(await upload(table, file, query), 422, 'invalid-data');
        assert.match(detail, /Row 12 consists of the lines 12 to 9002 of the file, .* in B12\..*quote=none/);
        assert.deepEqual([errors![0]!.cell, errors![0]!.code], ['B12', 'text-behind-quote']);
        assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [table]), [{ found: null }]);
      }
    });

    test(`a warning names the lines that valid quotes have joined (${name})`, async () => {
      const file = fileOf(10_000, { 11: '10,"12 inch,1', 9001: '9000,d",1' }, lineEnd);
      const { rows, warnings } = await load(file);
      assert.equal(rows.length, 1010);
      assert.deepEqual(codesOf(warnings), ['lines-in-a-field']);
      assert.match(
        warnings[0]!.detail,
        /^Row 12 consists of the lines 12 to 9002 of the file, .* field B12 /,
      );
      assert.deepEqual(warnings[0]!.choices, [{ parameters: { quote: 'none' } }]);
    });
  }

  test('a warning names the lines that quotes in the header have joined, and not the lines of names', async () => {
    for (const [above, query] of [
      ['', ''],
      ['A title,"of\ntwo\nlines"\n', '?header_row=2'],
    ]) {
      const lines = ['id,"name,x', '1,a,2', '2,b,3', '3,c",4', '5,d,6'];
      const { rows, warnings } = await load(`${above}${lines.join('\n')}\n`, query);
      assert.equal(rows.length, 1);
      const first = above === '' ? 1 : 4;
      const found = warnings.find(({ code }) => code === 'lines-in-a-field');
      assert.match(found!.detail, new RegExp(`consists of the lines ${first} to ${first + 3} of the file`));
    }
    for (const header of [
      '"Order\nno\nold",b,c',
      'a,"Amount\n(EUR)\nnet",c',
      'a,"Amount\nEUR, net\nper\npiece",c',
    ]) {
      const { warnings } = await load(`${header}\n1,2,3\n4,5,6\n`);
      assert.ok(!codesOf(warnings).includes('lines-in-a-field'), header);
    }
  });

  test('leave_out refuses the upload whatever the place of the stray quotes', async () => {
    const pick = randomNumbers(7);
    for (let round = 0; round < 12; round += 1) {
      const from = 1 + pick(20);
      const to = from + 1 + pick(20);
      // The second quote may be in another field of the joined record than the text that follows a quote.
      const end = [`${to},"d" x,1`, `${to},d" x,1`, `${to},"d" x,"1"`, `"${to}" x,"d",1`][pick(4)]!;
      const begin = [`${from},"d,1`, `"${from},d,1`, `${from},d,"1`][pick(3)]!;
      const answer = await upload(nextTable(), fileOf(50, { [from]: begin, [to]: end }), leaveOut);
      assert.equal(answer.status, 422, JSON.stringify([begin, end, answer.body]));
    }
  });

  test('a row that quotes have joined is not left out because of another problem', async () => {
    const file = fileOf(20, { 5: '5,"12 inch,1', 9: '9,d",x' });
    const table = {
      columns: [
        { name: 'id', type: 'integer' },
        { name: 'name', type: 'text' },
        { name: 'x', type: 'integer' },
      ],
    };
    const body = { table };
    const refused = await upload(nextTable(), file, leaveOut, body);
    assert.match(assertProblem(refused, 422, 'invalid-data').detail, /lines 6 to 10 of the file/);
    // Another faulty row is left out.
    const other = await upload(
      nextTable(),
      fileOf(20, { 5: '5,"12 inch,1', 9: '9,d",1', 15: '15,a,x' }),
      leaveOut,
      body,
    );
    assert.equal(other.status, 201, JSON.stringify(other.body));
    assert.equal(other.body.load.rows_left_out, 1);
  });

  test('text after a quote on one line is left out, and lines of an address give no warning', async () => {
    const one = await upload(nextTable(), fileOf(5, { 2: '2,"d" x,1' }), leaveOut);
    assert.deepEqual([one.status, one.body.load.rows], [201, 4]);
    const { warnings } = await load(
      'id,name,x\n1,"Main Street 5\n10115 Berlin\nGermany",2\n2,"a, b\nc, d",1\n',
    );
    assert.deepEqual(warnings, []);
  });

  test('wrong quotes in a column that the table lacks refuse the upload', async () => {
    const table = nextTable();
    await service.rows(`CREATE TABLE ${table} (id integer)`);
    const file = fileOf(9, { 2: '2,"d,1', 5: '5,"d" x,1' });
    const query = `${leaveOut}&if_exists=append&extra_columns=ignore`;
    const { detail } = assertProblem(await upload(table, file, query), 422, 'invalid-data');
    assert.match(detail, /lines 3 to 6/);
  });

  test('rows below the range are not checked', async () => {
    const file = fileOf(9, { 5: '5,"d,1', 7: '7,"d" x,1' });
    const { rows } = await load(file, '?range=A1:C4');
    assert.equal(rows.length, 3);
  });

  test('the inspection warns of the lines', async () => {
    const file = fileOf(9, { 2: '2,"d,1', 5: '5,"d" x,1' });
    const { body } = await service.upload('/api/v1/inspect/excel?quotes=strict', Buffer.from(file));
    assert.deepEqual(codesOf(body.sheet.warnings), ['lines-in-a-field']);
    assert.match(body.sheet.warnings[0].detail, /lines 3 to 6/);
  });

  test('a backslash before the quote is named instead of quote=none', async () => {
    const query = '?escape=none&quotes=strict';
    const answer = await upload(nextTable(), 'a,b\n1,"say \\"five\\", ok"\n', query);
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.match(errors![0]!.detail!, /backslash before this quote .* escape=/);
    assert.doesNotMatch(errors![0]!.detail!, /quote=none/);
  });
});

suite('fields are counted', () => {
  const cases: Record<string, [file: string, detail: RegExp | undefined]> = {
    'an extra delimiter before an empty last field': [
      'id,name,qty,note\n1,a,5,\n2,b,,6,\n3,c,7,\n',
      /^Row 3 has 5 fields, the header has 4\. The last fields of these rows are empty/,
    ],
    'a header with one name too few': [
      'id name,qty,note\n1,a,5,\n2,b,6,\n3,c,7,\n',
      /^Each row has one field more than the header, and it is empty at the end of the row\. If the header lacks a name/,
    ],
    'rows with two empty fields more': ['a,b\n1,2,,\n3,4,,\n', /^Each row has 2 fields more than the header/],
    'a header and rows that end with a delimiter': ['a,b,\n1,2,\n3,4,\n', undefined],
    'a header that alone ends with a delimiter': ['a,b,\n1,2\n3,4\n', undefined],
    'a row that lacks the delimiter in the middle': [
      'a,b,c,\n1,2,3,\n1 2,3,\n4,5,6,\n',
      /^Row 3 has 3 fields, the header has 4/,
    ],
    'empty fields of different numbers': ['a,b\n1,2,\n3,4,,\n', /^2 rows have more fields than the header/],
    'values and empty fields after the header': [
      'a,b\n1,2,\n3,4,5\n6,7\n',
      /^2 rows have more fields .* row 2, which has 3 fields/,
    ],
  };
  for (const [name, [file, detail]] of Object.entries(cases)) {
    test(name, async () => {
      const { warnings } = await load(file);
      const odd = warnings.filter(({ code }) => code === 'long-rows' || code === 'short-rows');
      assert.equal(odd.length, detail === undefined ? 0 : 1, JSON.stringify(warnings));
      if (detail !== undefined) assert.match(odd[0]!.detail, detail);
    });
  }
});

suite('quotes after white space', () => {
  const file = `id, name, city\n1, "Ann", "Rome"\n2, "Bob", "Bonn ""old"""\n`;

  test('a warning names the first field and trim=true, which reads the quotes', async () => {
    const { warnings } = await load('id, name\n1, "Ann"\n2, "Bob"\n', '?delimiter=,');
    assert.deepEqual(codesOf(warnings), ['spaced-quotes']);
    assert.match(
      warnings[0]!.detail,
      /^2 fields begin with white space and a quotation mark, the first is B2\./,
    );
    assert.deepEqual(warnings[0]!.choices, [{ parameters: { trim: 'true' } }]);
    const { rows, warnings: none } = await load(file, '?trim=true');
    assert.deepEqual(rows, [
      [1, 'Ann', 'Rome'],
      [2, 'Bob', 'Bonn "old"'],
    ]);
    assert.deepEqual(none, []);
  });

  test('trim=true reads quotes after white space with every delimiter, and only at the beginning of a field', async () => {
    for (const sign of [';', '\t', '|']) {
      const text = file
        .replaceAll(', "', `${sign} "`)
        .replaceAll(', n', `${sign}n`)
        .replaceAll(', c', `${sign}c`);
      const { rows } = await load(text, '?trim=true');
      assert.deepEqual(rows[1], [2, 'Bob', 'Bonn "old"']);
    }
    const { rows } = await load('a,b\n1,  6" pipe\n2,\t"x\ny"  \n', '?trim=true');
    assert.deepEqual(rows, [
      [1, '6" pipe'],
      [2, 'x\ny'],
    ]);
  });

  test('there is no warning with quote=none', async () => {
    const { warnings } = await load('id, name\n1, "Ann"\n', '?quote=none');
    assert.deepEqual(codesOf(warnings), []);
  });
});
