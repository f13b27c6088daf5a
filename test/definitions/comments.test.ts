/** Comments of definitions: they are set, come back, and count as differences if the definition has them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ MAX_DEFINITION_BYTES: '16777216' });
});
after(() => service.stop());

const comment = `It's \\ "odd" $$, and é🙂\n-- twice`;
const table = {
  comment,
  columns: [
    { name: 'a "b"', type: 'integer', comment },
    { name: 'c', type: 'text' },
  ],
};

async function commentsOf(name: string): Promise<unknown[]> {
  return service.rows(
    `SELECT objsubid AS place, description AS text FROM pg_description WHERE objoid = '${name}'::regclass ORDER BY objsubid`,
  );
}

for (const [way, path, body] of [
  ['Create Table', '/table/noted', {}],
  ['an upload', '/table/noted_by_upload/upload/json', { data: [{ c: 'x' }] }],
] as const) {
  test(`${way} sets the comments, and the answer can be sent again`, async () => {
    const { status, body: answer } = await service.post(path, { table, ...body });
    assert.equal(status, 201, JSON.stringify(answer));
    const { name } = answer.table;
    assert.equal(answer.table.comment, comment);
    assert.deepEqual(
      answer.table.columns.map((column: { comment?: string }) => column.comment),
      [comment, undefined],
    );
    assert.deepEqual(await commentsOf(name), [
      { place: 0, text: comment },
      { place: 1, text: comment },
    ]);
    const again = await service.post(`/table/${name}?if_not_exists=true`, { table: answer.table });
    assert.deepEqual(again.body.differences, []);
    const bare = { columns: table.columns.map(({ name, type }) => ({ name, type })) };
    const silent = await service.post(`/table/${name}?if_not_exists=true`, { table: bare });
    assert.deepEqual(silent.body.differences, []);
    const other = await service.post(`/table/${name}?if_not_exists=true`, {
      table: {
        ...table,
        comment: 'new',
        columns: [table.columns[0], { ...table.columns[1], comment: 'new' }],
      },
    });
    assert.deepEqual(other.body.differences, [
      `the table has the comment ${JSON.stringify(comment).replaceAll('\\"', '"').replaceAll('\\\\', '\\').replaceAll('\\n', '\n')}`,
      'the column "c" has no comment',
    ]);
  });
}

test('a replaced table has the comments of its definition, and else those that it had', async () => {
  await service.post('/table/kept', { table });
  const renewed = {
    columns: [
      { name: 'a "b"', type: 'integer' },
      { name: 'c', type: 'text', comment: 'new' },
    ],
  };
  const { status, body } = await service.post('/table/kept/upload/json?if_exists=replace', {
    table: renewed,
    data: [{ c: 'x' }],
  });
  assert.equal(status, 201, JSON.stringify(body));
  const expected = [comment, comment, 'new'];
  assert.deepEqual(
    (await commentsOf('kept')).map((row) => (row as { text: string }).text),
    expected,
  );
  const shown = (described: typeof body) => [
    described.table.comment,
    ...described.table.columns.map((column: { comment?: string }) => column.comment),
  ];
  assert.deepEqual(shown(body), expected);
  assert.deepEqual(shown((await service.get('/table/kept')).body), expected);
});

test('comments that are too long are refused with their place, and a table with such comments is described without them', async () => {
  const long = await service.post('/table/long', { table: { ...table, comment: 'x'.repeat(16_385) } });
  assert.deepEqual(
    long.body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
    [['/table/comment', 'invalid-text']],
  );
  const columns = Array.from({ length: 260 }, (_, index) => ({
    name: `c${index}`,
    type: 'int',
    comment: 'x'.repeat(16_384),
  }));
  const answers = [
    await service.post('/table/longer', { table: { columns } }),
    await service.post('/table/longer/upload/json', { table: { columns }, data: [{ c0: 1 }] }),
  ];
  for (const { status, body } of answers) {
    assert.equal(status, 422);
    assert.deepEqual(
      body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
      [['/table/columns/256/comment', 'invalid-text']],
    );
  }
  await service.rows('CREATE TABLE wordy (a integer)');
  await service.rows(
    `DO $$ BEGIN EXECUTE format('COMMENT ON TABLE wordy IS %L', repeat('x', 5000000)); END $$`,
  );
  for (const answer of [
    await service.get('/table/wordy'),
    await service.post('/table/wordy/upload/json?if_exists=append', { data: [{ a: 1 }] }),
  ]) {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.table.comment, undefined);
  }
  assert.deepEqual(await service.rows(`SELECT length(obj_description('wordy'::regclass))`), [
    { length: 5_000_000 },
  ]);
});
