/** `primary_key`, `conflict_key`, `rename` and definitions that name only some columns, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('keys_');

const uploadCsv = (name: string, lines: string[], query = '', body?: unknown): Promise<TestAnswer> =>
  service.upload(`/table/${name}/upload/excel${query}`, Buffer.from(lines.join('\n')), body);
const uploadJson = (name: string, body: unknown, query = ''): Promise<TestAnswer> =>
  service.post(`/table/${name}/upload/json${query}`, body);

const rowsOf = async (name: string): Promise<unknown[]> =>
  (await service.rows(`SELECT to_jsonb(t) AS row FROM ${name} t ORDER BY t`)).map(({ row }) => row);

const primaryKeyOf = ({ body }: TestAnswer): string[] | undefined => {
  assert.ok(body.table, JSON.stringify(body));
  return body.table.constraints.primary_key?.columns;
};

suite('primary_key', () => {
  test('primary_key creates the key of a table without a definition, and the same upload can update the rows later', async () => {
    const name = nextTable();
    const query = '?if_exists=append&on_conflict=update&primary_key=order_no,line';
    const first = await uploadCsv(name, ['order_no,line,qty', '7,1,5', '7,2,6'], query);
    assert.equal(first.status, 201, JSON.stringify(first.body));
    assert.deepEqual(primaryKeyOf(first), ['order_no', 'line']);
    const second = await uploadCsv(name, ['order_no,line,qty', '7,2,60', '8,1,1'], query);
    assert.equal(second.status, 200, JSON.stringify(second.body));
    assert.deepEqual([second.body.load.rows, second.body.load.updated], [1, 1]);
    assert.deepEqual(await rowsOf(name), [
      { order_no: 7, line: 1, qty: 5 },
      { order_no: 7, line: 2, qty: 60 },
      { order_no: 8, line: 1, qty: 1 },
    ]);
  });

  test('rows without a key, and rows with the same key, are problems', async () => {
    const data = [{ id: 1 }, { id: null }, { id: 1 }];
    const { errors } = assertProblem(
      await uploadJson(nextTable(), { data }, '?primary_key=id'),
      422,
      'invalid-data',
    );
    assert.deepEqual(
      errors?.map(({ row, code }) => [row, code]),
      [
        [2, 'null-not-allowed'],
        [3, 'not-unique'],
      ],
    );
    const twice = [{ id: 1 }, { id: 2 }, { id: 1 }];
    const again = assertProblem(
      await uploadJson(nextTable(), { data: twice }, '?primary_key=id'),
      422,
      'invalid-data',
    );
    assert.deepEqual(
      again.errors?.map(({ row, code }) => [row, code]),
      [[3, 'not-unique']],
    );
  });

  test('primary_key finds spreadsheet headers in another case, but JSON keys only exactly as written', async () => {
    assert.deepEqual(primaryKeyOf(await uploadCsv(nextTable(), ['Id,x', '1,2'], '?primary_key=id')), ['Id']);
    const { detail } = assertProblem(
      await uploadJson(nextTable(), { data: [{ Id: 1 }] }, '?primary_key=id'),
      422,
      'invalid-parameter',
    );
    assert.match(detail, /The data has no column "id"\. Did you mean "Id"\? Its columns are "Id"\./);
  });

  test('primary_key must be the key of an existing table', async () => {
    const name = nextTable();
    await uploadJson(name, { data: [{ a: 1, b: 2 }] }, '?primary_key=b,a');
    const same = await uploadJson(name, { data: [{ a: 2, b: 2 }] }, '?if_exists=append&primary_key=a,b');
    assert.equal(same.status, 200);
    const other = await uploadJson(name, { data: [{ a: 3, b: 2 }] }, '?if_exists=append&primary_key=a');
    assert.match(assertProblem(other, 422, 'invalid-parameter').detail, /has the primary key \(b, a\)/);
  });

  test('primary_key is refused together with a definition, and with the same column twice', async () => {
    const table = { columns: [{ name: 'a', type: 'integer' }] };
    for (const [body, query] of [
      [{ table, data: [{ a: 1 }] }, '?primary_key=a'],
      [{ data: [{ a: 1 }] }, '?primary_key=a,a'],
      [{ data: [{ a: 1 }] }, '?primary_key='],
    ] as const) {
      assertProblem(await uploadJson(nextTable(), body, query), 422, 'invalid-parameter');
    }
  });

  test('primary_key with a column that cannot be in a key is a problem of the parameter', async () => {
    const row = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`c${index}`, index]));
    const answer = await uploadJson(nextTable(), { data: [row] }, `?primary_key=${Object.keys(row)}`);
    const { errors } = assertProblem(answer, 422, 'invalid-parameter');
    assert.equal(errors![0]!.parameter, 'primary_key');
  });

  test('a backslash allows a comma in a name', async () => {
    const answer = await uploadJson(nextTable(), { data: [{ 'a,b': 1 }] }, '?primary_key=a\\,b');
    assert.deepEqual(primaryKeyOf(answer), ['a,b']);
  });
});

suite('conflict_key', () => {
  const make = async (): Promise<string> => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id int PRIMARY KEY, email text UNIQUE, code text, n int)`);
    await service.rows(`CREATE UNIQUE INDEX ON ${name} (code)`);
    await service.rows(`INSERT INTO ${name} VALUES (1, 'a@x', 'A', 1)`);
    return name;
  };

  for (const [key, data, expected] of [
    ['email', { id: 9, email: 'a@x', code: 'Z', n: 2 }, { id: 9, email: 'a@x', code: 'Z', n: 2 }],
    ['code', { id: 9, email: 'z@x', code: 'A', n: 2 }, { id: 9, email: 'z@x', code: 'A', n: 2 }],
    ['id', { id: 1, email: 'z@x', code: 'Z', n: 2 }, { id: 1, email: 'z@x', code: 'Z', n: 2 }],
  ] as const) {
    test(`${key} decides which row is updated`, async () => {
      const name = await make();
      const query = `?if_exists=append&on_conflict=update&conflict_key=${key}`;
      const answer = await uploadJson(name, { data: [data] }, query);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.deepEqual(answer.body.load.conflict_key, [key]);
      assert.deepEqual(await rowsOf(name), [expected]);
    });
  }

  test('conflict_key must name a key, and needs on_conflict', async () => {
    const name = await make();
    const unknown = await uploadJson(
      name,
      { data: [{ n: 1 }] },
      '?if_exists=append&on_conflict=skip&conflict_key=n',
    );
    const { detail } = assertProblem(unknown, 422, 'invalid-parameter');
    assert.match(detail, /Send conflict_key=id or conflict_key=email or conflict_key=code\.$/);
    const alone = await uploadJson(name, { data: [{ n: 1 }] }, '?if_exists=append&conflict_key=id');
    assertProblem(alone, 422, 'invalid-parameter');
  });
});

suite('rename', () => {
  test('renames columns, and problems keep the places in the data', async () => {
    const name = nextTable();
    const answer = await uploadCsv(
      name,
      ['Order No,a:b', '7,x'],
      '?rename=order no:order_no,a\\:b:c&primary_key=order_no',
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await rowsOf(name), [{ order_no: 7, c: 'x' }]);
    assert.deepEqual(answer.body.load.warnings, []);

    const table = { columns: [{ name: 'n', type: 'integer' }] };
    const refused = await uploadJson(nextTable(), { table, data: [{ 'Zahl/1': 'x' }] }, '?rename=Zahl/1:n');
    const { errors } = assertProblem(refused, 422, 'invalid-data');
    assert.deepEqual(
      errors?.map(({ pointer, column }) => [pointer, column]),
      [['/data/0/Zahl~11', 'n']],
    );
  });

  test('a name that the data does not have is a warning', async () => {
    const answer = await uploadJson(nextTable(), { data: [{ a: 1 }] }, '?rename=b:c');
    assert.deepEqual(
      answer.body.load.warnings.map(({ code, column }: Record<string, string>) => [code, column]),
      [['nothing-renamed', 'b']],
    );
  });

  for (const [title, query, data] of [
    ['two columns get one name', '?rename=a:b', [{ a: 1, b: 2 }]],
    ['a name is given twice', '?rename=a:b,a:c', [{ a: 1 }]],
    ['a new name is missing', '?rename=a', [{ a: 1 }]],
  ] as const) {
    test(`rename is refused if ${title}`, async () => {
      const name = nextTable();
      assertProblem(await uploadJson(name, { data }, query), 422, 'invalid-parameter');
      assert.deepEqual(await service.rows('SELECT to_regclass($1) AS t', [name]), [{ t: null }]);
    });
  }

  test('two columns may exchange their names', async () => {
    const name = nextTable();
    await uploadJson(name, { data: [{ a: 1, b: 2 }] }, '?rename=a:b,b:a');
    assert.deepEqual(await rowsOf(name), [{ b: 1, a: 2 }]);
  });
});

suite('a definition of some columns, with extra_columns=add', () => {
  test('a definition of some columns, with extra_columns=add, gives their types, and the others are inferred', async () => {
    const name = nextTable();
    const table = {
      columns: [{ name: 'zip', type: 'varchar(5)' }],
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    const answer = await uploadCsv(name, ['id,zip,n', '1,12345,1.5'], '?extra_columns=add', { table });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(
      answer.body.table.columns.map(({ name: column, type }: Record<string, string>) => [column, type]),
      [
        ['zip', 'character varying(5)'],
        ['id', 'bigint'],
        ['n', 'numeric'],
      ],
    );
    assert.deepEqual(primaryKeyOf(answer), ['id']);
  });

  test('a definition of some columns, with extra_columns=add, may have only constraints', async () => {
    const name = nextTable();
    const table = {
      constraints: { primary_key: { name: '', columns: ['id'] }, unique: [{ name: '', columns: ['n'] }] },
    };
    for (const body of [
      { table, data: [{ id: 1, n: 2 }] },
      { data: [{ id: 2, n: 3 }], table },
    ]) {
      const answer = await uploadJson(name, body, '?extra_columns=add&if_exists=replace');
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(primaryKeyOf(answer), ['id']);
      assert.deepEqual(answer.body.table.constraints.unique[0].columns, ['n']);
    }
    const again = await uploadJson(
      name,
      { table, data: [{ id: 5, n: 6 }] },
      '?extra_columns=add&if_exists=append',
    );
    assert.equal(again.status, 200, JSON.stringify(again.body));
  });
});
