/** Text files with wrong quotes, other quotation marks, escapes and rare delimiters, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { fileUploader } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('quotes_');

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

test('a file with very many ambiguous rows is repaired only up to a line, which a warning names', async () => {
  const file = `a,b,c\n1,"5" x, y",2\n2,q,2\n${`${'"a"","",'.repeat(250)}\n`.repeat(400)}3,q,3\n`;
  const { rows, warnings } = await load(file, '?faulty_rows=leave_out&max_faulty_rows=1000');
  assert.deepEqual(
    rows.map((row) => row.slice(0, 3)),
    [
      [1, '5" x, y', 2],
      [2, 'q', 2],
      [3, 'q', 3],
    ],
  );
  const { detail } = warnings.find(({ code }) => code === 'repaired-quotes')!;
  assert.match(detail, /From line \d+ on, no row is repaired/);
});

const codesOf = (warnings: Warned[]): string[] => warnings.map(({ code }) => code);

suite('wrong quotes', () => {
  const repaired: Record<string, [lines: string[], row: unknown[], line: number]> = {
    'a quote that is not doubled': [['1,"12" pipe, steel",5'], [1, '12" pipe, steel', 5], 2],
    'a quote that is not doubled at the end of a value': [['1,"Round, 48"",5'], [1, 'Round, 48"', 5], 2],
    'a quote at the beginning of a value': [['1,"12 inch,5'], [1, '"12 inch', 5], 2],
    'a quote before a quoted value': [['1,""a, b",5'], [1, '"a, b', 5], 2],
    'a word in quotes at the beginning of a value': [['1,"Acme" Ltd,5'], [1, '"Acme" Ltd', 5], 2],
    'words in quotes before a comma': [
      ['1,"he said "no", then left",5'],
      [1, 'he said "no", then left', 5],
      2,
    ],
    'quotes in a value of two lines': [['1,"say "no"', 'and "yes"",5'], [1, 'say "no"\nand "yes"', 5], 2],
    'a quote in a value whose next line looks cut': [['1,"b "x, y', 'z",5'], [1, 'b "x, y\nz', 5], 2],
    'a quote that would join a line with the next one': [['1,a,"', '2,"b, c",6'], [1, 'a', '"'], 2],
    'a quote at the end of the text': [['2,b,6', '1,a,"'], [2, 'b', '6'], 3],
  };
  for (const [name, [lines, row, line]] of Object.entries(repaired)) {
    test(`${name} is repaired`, async () => {
      for (const [lineEnd, after] of [
        ['\n', ['9,z,1', '']],
        ['\r\n', ['']],
        ['\r', ['9,z,1', '']],
        ['\n', []],
      ] as const) {
        const file = ['id,name,n', ...lines, ...after].join(lineEnd);
        const { rows, warnings } = await load(file);
        const first = rows[0]!.map((value) =>
          typeof value === 'string' ? value.replace(/\r\n?/, '\n') : value,
        );
        assert.deepEqual(first, row);
        assert.deepEqual(
          codesOf(warnings).filter((code) => code !== 'mixed-column'),
          ['repaired-quotes'],
        );
        assert.match(warnings.at(-1)!.detail + warnings[0]!.detail, new RegExp(`line ${line} `));
        // All of it is refused if it must be strict.
        const { status } = await upload(nextTable(), file, '?quotes=strict');
        assert.ok(status >= 400);
      }
    });
  }

  const refused: Record<string, string[]> = {
    'a row whose quotes have two readings': ['1,"a" b","c" d",5'],
    'a row of another length': ['1,"12" pipe, steel",5,6,7'],
    'a row before one of another length': ['1,"12" pipe, steel",5', '2,b'],
    'a value that may go on in the next row': ['1,"b" c', '2,"x",y'],
    'a row with a quote at the beginning of two values': ['1,"a,"b'],
    'a table of one column': [],
  };
  for (const [name, lines] of Object.entries(refused)) {
    test(`${name} is not repaired`, async () => {
      const file = lines.length === 0 ? 'a\n"x" y\n' : `id,name,n\n${lines.join('\n')}\n`;
      const table = nextTable();
      const answer = await upload(table, file);
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.equal(errors![0]!.code, 'text-behind-quote');
      assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [table]), [{ found: null }]);
    });
  }

  test('a quote that joins all rest of a large file is repaired, and no row is lost', async () => {
    const lines = Array.from({ length: 30_000 }, (_, row) => `${row},n${row},1`);
    lines[10] = '10,"12 inch,1';
    for (const other of ['9000,n,1', '9000,"d" x,1']) {
      lines[9000] = other;
      const { rows, warnings } = await load(`id,name,x\n${lines.join('\n')}\n`);
      assert.equal(rows.length, 30_000);
      assert.deepEqual(rows[10], [10, '"12 inch', 1]);
      assert.deepEqual(codesOf(warnings), ['repaired-quotes']);
    }
  });

  test('the warning names the first lines, and the choice refuses them', async () => {
    const lines = Array.from({ length: 30 }, (_, row) => `${row},"5" x, y",1`);
    const { rows, warnings } = await load(`id,name,n\n${lines.join('\n')}\n`);
    assert.deepEqual(rows[29], [29, '5" x, y', 1]);
    assert.match(warnings[0]!.detail, /^30 rows .* in the lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and others\./);
    assert.deepEqual(warnings[0]!.choices, [{ parameters: { quotes: 'strict' } }]);
  });

  test('a header and the table that header_row=auto finds are repaired', async () => {
    const { rows } = await load('id,"name,n\n1,a,2\n2,b,3\n3,c,4\n');
    assert.equal(rows.length, 3);
    const file = 'Report,,\n,,\nid,name,n\n1,"5" x, y",2\n2,b,3\n3,c,4\n';
    const auto = await load(file, '?header_row=auto');
    assert.deepEqual(auto.rows[0], [1, '5" x, y', 2]);
    assert.ok(codesOf(auto.warnings).includes('repaired-quotes'));
  });

  test('valid quotes are read as before', async () => {
    const { rows, warnings } = await load('a,b\n"say ""no""","x\ny"\n6" pipe,""""\n');
    assert.deepEqual(rows, [
      ['say "no"', 'x\ny'],
      ['6" pipe', '"'],
    ]);
    assert.deepEqual(warnings, []);
  });
});

suite('signs that are detected', () => {
  const detected: Record<string, [file: string, rows: unknown[][], code: string]> = {
    'a backslash before quotes': [
      'id,name\n1,"5\\" pipe, steel"\n2,"C:\\\\x"\n',
      [
        [1, '5" pipe, steel'],
        [2, 'C:\\x'],
      ],
      'escape',
    ],
    'apostrophes around values': [
      "id,name\n1,'a, b'\n2,'c'\n3,'won''t'\n",
      [
        [1, 'a, b'],
        [2, 'c'],
        [3, "won't"],
      ],
      'quote',
    ],
    'a comma and a space': [
      'id, name, city\n1, Ann, "Rome, IT"\n2, Bob, "Bonn"\n',
      [
        [1, 'Ann', 'Rome, IT'],
        [2, 'Bob', 'Bonn'],
      ],
      'delimiter',
    ],
    'spaces between numbers': [
      'x y name\n1 2 a\n3 4 b\n5 6 c\n',
      [
        [1, 2, 'a'],
        [3, 4, 'b'],
        [5, 6, 'c'],
      ],
      'delimiter',
    ],
    'the sign # between fields': [
      'x#y#name\n1#2#a, b\n3#4#b\n',
      [
        [1, 2, 'a, b'],
        [3, 4, 'b'],
      ],
      'delimiter',
    ],
  };
  for (const [name, [file, expected, code]] of Object.entries(detected)) {
    test(`${name} are detected, with a warning`, async () => {
      const { rows, warnings } = await load(file);
      assert.deepEqual(rows, expected);
      assert.deepEqual(codesOf(warnings), [code]);
    });
  }

  const unchanged: Record<string, [file: string, query: string, rows: unknown[][]]> = {
    'backslashes before the closing quote': [
      'id,path\n1,"C:\\"\n2,"D:\\"\n',
      '',
      [
        [1, 'C:\\'],
        [2, 'D:\\'],
      ],
    ],
    'apostrophes at the beginning of names': [
      "id,city\n1,'s-Hertogenbosch\n2,'t Zand\n3,'t Veld\n",
      '',
      [
        [1, "'s-Hertogenbosch"],
        [2, "'t Zand"],
        [3, "'t Veld"],
      ],
    ],
    'apostrophes with quote="': [
      "id,name\n1,'a'\n2,'b'\n3,'c'\n",
      '?quote=%22',
      [
        [1, "'a'"],
        [2, "'b'"],
        [3, "'c'"],
      ],
    ],
    'spaces after commas without quotes': [
      'id,name\n1, a\n2, b\n',
      '',
      [
        [1, ' a'],
        [2, ' b'],
      ],
    ],
    'names of two words': [
      'full name\nAnn Lee\nBob Ray\nCid Fox\n',
      '',
      [['Ann Lee'], ['Bob Ray'], ['Cid Fox']],
    ],
    'numbered words': [
      'level name\nlevel 1\nlevel 2\nlevel 3\n',
      '',
      [['level 1'], ['level 2'], ['level 3']],
    ],
    'items with #': ['item\nItem #1\nItem #2\nItem #3\n', '', [['Item #1'], ['Item #2'], ['Item #3']]],
  };
  for (const [name, [file, query, expected]] of Object.entries(unchanged)) {
    test(`${name} are texts`, async () => {
      assert.deepEqual((await load(file, query)).rows, expected);
    });
  }

  test('escape=\\ changes nothing in comments and after them', async () => {
    const { rows } = await load('p,n\n# note,"draft\nC:\\\\srv,1\n"5\\" x",2\n', '?escape=%5C&comment=%23');
    assert.deepEqual(rows, [
      ['C:\\\\srv', 1],
      ['5" x', 2],
    ]);
  });

  test('escape=\\ is read in each slice, and escape=none leaves backslashes', async () => {
    const lines = Array.from({ length: 20_000 }, (_, row) => `${row},"a\\\\\\"b ${'x'.repeat(row % 7)}, c"`);
    const { rows } = await load(`id,name\n${lines.join('\n')}\n`, '?escape=%5C');
    assert.equal(rows.length, 20_000);
    for (const [row, [id, name]] of rows.entries()) {
      assert.deepEqual([id, name], [row, `a\\"b ${'x'.repeat(row % 7)}, c`]);
    }
    const answer = await upload(nextTable(), 'id,name\n1,"5\\" pipe, steel"\n', '?escape=none&quotes=strict');
    assertProblem(answer, 422, 'invalid-data');
  });
});
