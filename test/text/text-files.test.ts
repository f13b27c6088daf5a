/** The parameters for text files: `delimiter`, `quote`, `encoding`, `comment` and `header`, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { fileUploader } from '../support/uploads.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('text_');

const upload = fileUploader(() => service);

/** Returns the rows of the table that was created from the file, and the codes of the warnings. */
async function load(
  file: string | Buffer,
  query: string,
): Promise<{ rows: unknown[]; warnings: string[]; load: Record<string, unknown> }> {
  const name = nextTable();
  const { status, body } = await upload(name, file, query);
  assert.equal(status, 201, JSON.stringify(body));
  const rows = await service.rows(`SELECT to_jsonb(t) AS row FROM ${name} t`);
  return {
    rows: rows.map(({ row }) => row),
    warnings: body.load.warnings.map(({ code }: { code: string }) => code),
    load: body.load,
  };
}

suite('delimiter', () => {
  for (const [parameter, sign] of [
    ['tab', '\t'],
    ['space', ' '],
    ['|', '|'],
    ['%5e', '^'],
    [';', ';'],
    [',', ','],
  ] as const) {
    test(`${parameter} separates fields, whatever other separators the file has`, async () => {
      const { rows, warnings } = await load(
        `a${sign}b\n1${sign}x,y;z\n`.replaceAll(
          `${sign}x,y;z`,
          sign === ',' || sign === ';' ? `${sign}x` : `${sign}x,y;z`,
        ),
        `?delimiter=${parameter}`,
      );
      assert.deepEqual(rows, [{ a: 1, b: sign === ',' || sign === ';' ? 'x' : 'x,y;z' }]);
      assert.deepEqual(warnings, []);
    });
  }

  test('the parameter delimiter has priority over a first line sep=, which is not a row', async () => {
    assert.deepEqual((await load('sep=,\na;b,c\n1;2\n', '?delimiter=;')).rows, [{ a: 1, 'b,c': 2 }]);
  });

  test('a vertical bar as the delimiter is detected, with a warning', async () => {
    const { rows, warnings } = await load('a|b\n1|2\n3|4\n', '');
    assert.deepEqual(rows, [
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ]);
    assert.deepEqual(warnings, ['delimiter']);
  });
});

suite('quote', () => {
  test(`' encloses fields, and " is text`, async () => {
    const { rows } = await load(`a,b\n'x, ''y''',"z"\n`, "?quote='");
    assert.deepEqual(rows, [{ a: "x, 'y'", b: '"z"' }]);
  });

  test('quote=none makes quotes a part of the text', async () => {
    assert.deepEqual((await load('a;b\n"x;3"\n', '?quote=none&delimiter=;')).rows, [{ a: '"x', b: '3"' }]);
  });
});

suite('encoding', () => {
  const bytes: Record<string, [file: Buffer, text: string]> = {
    'windows-1250': [Buffer.from([0x9e, 0x6c, 0x75, 0x9d]), 'žluť'],
    'windows-1251': [Buffer.from([0xcf, 0xf0, 0xe8]), 'При'],
    'iso-8859-15': [Buffer.from([0xa4]), '€'],
    shift_jis: [Buffer.from([0x93, 0xfa, 0x1a, 0x7f, 0x96, 0x7b]), '日\x1a\x7f本'],
    gb18030: [Buffer.from([0xd6, 0xd0]), '中'],
    big5: [Buffer.from('aff9c755c55da4e2', 'hex'), '茶の魔手'],
    'euc-kr': [Buffer.from([0xc7, 0xd1]), '한'],
    'utf-16be': [Buffer.from('x€', 'utf16le').swap16(), 'x€'],
  };
  for (const [encoding, [value, text]] of Object.entries(bytes)) {
    test(`a text file in ${encoding} is read`, async () => {
      const isWide = encoding.startsWith('utf-16');
      const around = (ascii: string): Buffer =>
        isWide ? Buffer.from(ascii, 'utf16le').swap16() : Buffer.from(ascii);
      const file = Buffer.concat([around('a\n'), value, around('\n')]);
      const { rows, warnings } = await load(file, `?encoding=${encoding}`);
      assert.deepEqual(rows, [{ a: text }]);
      assert.deepEqual(warnings, []);
    });
  }

  test('bytes that are not valid in it are refused', async () => {
    for (const [encoding, byte] of [
      ['windows-1253', 0xd2],
      ['utf-8', 0xe4],
      ['euc-kr', 0xff],
      ['big5', 0x80],
    ] as const) {
      const file = Buffer.concat([Buffer.from('a\n'), Buffer.of(byte), Buffer.from('\n')]);
      assertProblem(await upload(nextTable(), file, `?encoding=${encoding}`), 400, 'invalid-file');
    }
  });

  test('every label of the WHATWG Encoding Standard is taken in any case, and the answer has the name', async () => {
    for (const [label, name] of [
      ['UTF-8', 'utf-8'],
      ['utf8', 'utf-8'],
      ['utf-8-sig', 'utf-8'],
      ['latin1', 'windows-1252'],
      ['ISO-8859-1', 'windows-1252'],
      ['cp1252', 'windows-1252'],
      ['ascii', 'windows-1252'],
      ['gbk', 'gbk'],
      ['SJIS', 'shift_jis'],
      ['cp949', 'euc-kr'],
      ['iso-8859-9', 'windows-1254'],
      ['latin2', 'iso-8859-2'],
    ]) {
      const { load: loaded, warnings } = await load('a\n1\n', `?encoding=${label}`);
      assert.deepEqual([loaded.encoding, warnings], [name, []], label);
    }
  });

  test('a byte that Windows-1252 does not have is named', async () => {
    const detailOf = async (bytes: number[]): Promise<string> => {
      const file = Buffer.concat([
        Buffer.from('a\n'),
        Buffer.alloc(9000, 0x78),
        Buffer.from(bytes),
        Buffer.from('\n'),
      ]);
      const answer = await upload(nextTable(), file);
      return answer.body.load.warnings.find(({ code }: { code: string }) => code === 'encoding').detail;
    };
    for (const byte of [0x81, 0x8d, 0x8f, 0x90, 0x9d]) {
      assert.match(await detailOf([0xe4, byte]), /no character for the byte at position 9003,/);
    }
    assert.match(await detailOf([0xe4, 0x78, 0x80, 0x9f]), /if letters are wrong, send `encoding`\.$/);
  });

  test('the byte order mark of another encoding is refused', async () => {
    const file = Buffer.from('\ufeffa\n1\n');
    assertProblem(await upload(nextTable(), file, '?encoding=windows-1250'), 422, 'invalid-parameter');
    assert.deepEqual((await load(file, '?encoding=utf-8')).rows, [{ a: 1 }]);
  });
});

test('comment ignores lines, and cells keep the addresses of their lines', async () => {
  const { rows, load: loaded } = await load('# export "of" May\na,b\n# more\n1,#2\n', '?comment=%23');
  assert.deepEqual(rows, [{ a: 1, b: '#2' }]);
  assert.equal(loaded.header_row, 2);
  assert.equal(loaded.range, 'A2:B4');
});

test('a field ="00042" is the text 00042, with a warning', async () => {
  const name = nextTable();
  const lines = [
    'a,b,c',
    '="00042","=""7""",="x"',
    '="6"" pipe",="",="a"&"b"',
    '"=""say """"hi""""""",=1+1,="a"b"',
    '00043,12,="',
  ];
  const answer = await service.upload(`/table/${name}/upload/excel`, Buffer.from(lines.join('\n')));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(
    answer.body.load.warnings.map(({ code, detail }: { code: string; detail: string }) => [code, detail]),
    [
      [
        'text-formulas',
        '5 fields are formulas ="…" and were read as the texts between the quotes. The first is A2.',
      ],
    ],
  );
  assert.deepEqual(await service.rows(`SELECT a, b, c FROM ${name}`), [
    { a: '00042', b: '7', c: 'x' },
    { a: '6" pipe', b: null, c: '="a"&"b"' },
    { a: 'say "hi"', b: '=1+1', c: '="a"b"' },
    { a: '00043', b: '12', c: '="' },
  ]);
  const typed = nextTable();
  await service.rows(`CREATE TABLE ${typed} (a text, b int)`);
  const path = `/table/${typed}/upload/excel?if_exists=append`;
  await service.upload(path, Buffer.from('a,b\n="00042",="007"\n'));
  assert.deepEqual(await service.rows(`SELECT * FROM ${typed}`), [{ a: '00042', b: 7 }]);
});

suite('header=false', () => {
  test('the first row has values, and columns have the names of their letters', async () => {
    const { rows, warnings, load: loaded } = await load('1,x\n2,,true\n', '?header=false');
    assert.deepEqual(rows, [
      { column_A: 1, column_B: 'x', column_C: null },
      { column_A: 2, column_B: null, column_C: true },
    ]);
    assert.deepEqual(warnings, ['long-rows']);
    assert.equal(loaded.header_row, undefined);
    assert.equal(loaded.range, 'A1:C2');
  });

  test('a header that looks like a row of values has a warning that names header=false', async () => {
    const without = ['1,Ann,2026-11-21\n2,Bob,2026-11-22\n', 'true\nfalse\n', 'x,2.5\ny,7\n'];
    const withHeader = [
      'id,day\n1,2026-11-21\n',
      'region,2025,2027\nNorth,1,2\n',
      'room,1,2,3\nR1,4,5,7\n',
      'year,28/02/2008\n5,x\n',
      'Datum,Zeit\n28/02/2008,0:10\n29/02/2008,0:20\n',
      '7,8\nx,y\n',
      '2026-11-21,n\n2026-11-22,5\n',
    ];
    for (const file of without) assert.deepEqual((await load(file, '')).warnings, ['header-row'], file);
    // The texts of the file count, not the names, and notations that are not read count, too.
    for (const file of [
      '0,0\n1,0\n2,5\n',
      '1,2\n3,4\n5,6\n',
      '1,2,3\n4,5,6\n7,8,9\n',
      '2001,2002\n2003,2004\n',
      '28/02/2008,0:10,NaN\n29/02/2008,0:20,1\n01/03/2008,0:30,2\n',
      '"1.234,50","5 %"\n"2.000,25","7 %"\n',
      '1,,3\n4,5,6\n',
    ]) {
      const { warnings } = await load(file, '');
      assert.ok(warnings.includes('header-row'), `${file} ${warnings}`);
    }
    assert.ok((await load('0.5,0.5\n1,2\n', '?column_names=snake_case')).warnings.includes('header-row'));
    for (const file of withHeader) assert.ok(!(await load(file, '')).warnings.includes('header-row'), file);
    assert.deepEqual((await load(without[0]!, '?header=false')).warnings, []);
    const inspected = await service.upload('/api/v1/inspect/excel', Buffer.from(without[0]!));
    assert.equal(inspected.body.sheet.warnings[0].code, 'header-row', JSON.stringify(inspected.body));
  });

  test('a warning never names an order of dates that another value of the column cannot have', async () => {
    for (const [order, file] of [
      ['dmy', 'd\n31/12/2020\n12/31/2020\n01/02/2021\n'],
      ['dmy', 'd\n12/31/2020\n31/12/2020\n'],
      ['mdy', 'd\n12/31/2020\n12/30/2020\n31/12/2020\n'],
    ]) {
      const { warnings } = await load(file!, `?date_order=${order}`);
      assert.ok(!warnings.includes('other-notation'), `${file} ${warnings}`);
    }
    assert.deepEqual((await load('d\n12/31/2020\n11/30/2020\n', '?date_order=dmy')).warnings, [
      'other-notation',
    ]);
  });

  test('a problem has the address of its cell', async () => {
    const body = { table: { columns: [{ name: 'column_A', type: 'integer' }] } };
    const { errors } = assertProblem(
      await upload(nextTable(), '1\nx\n', '?header=false', body),
      422,
      'invalid-data',
    );
    assert.deepEqual(
      errors?.map(({ cell, row }) => [cell, row]),
      [['A2', 2]],
    );
  });

  test('header=false works for a workbook and a range of it, too', async () => {
    const file = sheetOf([['title'], ['x', 1], ['y', 2]]);
    const { rows } = await load(file, '?header=false&range=A2:B3');
    assert.deepEqual(rows, [
      { column_A: 'x', column_B: 1 },
      { column_A: 'y', column_B: 2 },
    ]);
  });

  test('header=false is refused together with header_row', async () => {
    assertProblem(
      await upload(nextTable(), 'a\n1\n', '?header=false&header_row=1'),
      422,
      'invalid-parameter',
    );
  });
});

suite('refused', () => {
  for (const query of [
    'delimiter=ab',
    'delimiter=a',
    'delimiter=%22',
    'delimiter=',
    'quote=x',
    'encoding=ebcdic',
    'comment=%23%23',
  ]) {
    test(query, async () => {
      assertProblem(await upload(nextTable(), 'a\n1\n', `?${query}`), 422, 'invalid-parameter');
    });
  }

  test('a workbook has no delimiter', async () => {
    const { detail } = assertProblem(
      await upload(nextTable(), sheetOf([['a'], [1]]), '?delimiter=;'),
      422,
      'invalid-parameter',
    );
    assert.match(detail, /`delimiter` is for text files/);
  });
});
