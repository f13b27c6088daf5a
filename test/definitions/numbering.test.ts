/** How numbered columns count: the options of their sequences are made, come back, and hold for the rows. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const options = { start: 1000, increment: 10, min: 5, max: 2000, cache: 1, cycle: true };
const { cache: _, ...described } = options;

const kinds: [string, object][] = [
  ['identity', {}],
  ['identity always', { identity: 'always' }],
  ['sequence', { sequence: {} }],
];

for (const [kind, members] of kinds) {
  test(`a column with ${kind} counts as the definition says, and comes back`, async () => {
    const table = {
      columns: [
        { name: 'id', type: 'serial', ...members, numbering: options },
        { name: 'a', type: 'text' },
      ],
    };
    await service.rows('DROP TABLE IF EXISTS numbered');
    for (const path of ['', '/upload/json?if_exists=replace']) {
      const made = await service.post(`/table/numbered${path}`, { table });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      assert.deepEqual(made.body.table.columns[0].numbering, described);
      assert.deepEqual((await service.get('/table/numbered')).body.table, made.body.table);
      const same = await service.post('/table/numbered?if_not_exists=true', { table: made.body.table });
      assert.deepEqual(same.body.differences, []);
    }
    const { body } = await service.post('/table/numbered/upload/json?if_exists=append', {
      data: [{ a: 'x' }, { a: 'y' }],
    });
    assert.equal(body.load.rows, 2);
    assert.deepEqual(await service.rows('SELECT id FROM numbered ORDER BY id'), [{ id: 1000 }, { id: 1010 }]);
    const other = await service.post('/table/numbered?if_not_exists=true', {
      table: { columns: [{ ...table.columns[0], numbering: null }, table.columns[1]] },
    });
    assert.deepEqual(other.body.differences, [
      `the column "id" is numbered in another way: ${JSON.stringify(described)}`,
    ]);
  });
}

test('numbers follow those of the rows, but not before the start and not after the end', async () => {
  for (const [sent, numbering, next] of [
    [7, { start: 1000 }, 1000],
    [1500, { start: 1000 }, 1501],
    [9, { max: 9, cycle: true }, 1],
  ] as const) {
    const table = { columns: [{ name: 'id', type: 'serial', numbering }] };
    const loaded = await service.post('/table/followed/upload/json?if_exists=replace', {
      table,
      data: [{ id: sent }],
    });
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    const rows = await service.rows('INSERT INTO followed DEFAULT VALUES RETURNING id');
    assert.deepEqual(rows, [{ id: next }]);
  }
});

test('numbers beyond 2^53 keep all digits', async () => {
  const numbering = { start: '9223372036854775806', min: '-9223372036854775808' };
  const made = await service.post('/table/long', {
    table: { columns: [{ name: 'id', type: 'bigserial', numbering }] },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual(made.body.table.columns[0].numbering, numbering);
});

test('a sequence that SQL made for other numbers than those of its column comes back', async () => {
  await service.rows('CREATE TABLE made (id serial); ALTER SEQUENCE made_id_seq AS bigint START 7');
  const { body } = await service.get('/table/made');
  assert.deepEqual(body.table.columns[0].sequence, { name: 'made_id_seq', type: 'bigint' });
  assert.deepEqual(body.table.columns[0].numbering, { start: 7 });
  await service.rows('DROP TABLE made');
  assert.deepEqual((await service.post('/table/made', { table: body.table })).body.table, body.table);
});

test('a numbering that no sequence can have is refused with its place', async () => {
  const refused: [object, string, string][] = [
    [{ start: 0 }, '', 'wrong-type'],
    [{ start: 1.5 }, '/start', 'wrong-type'],
    [{ start: 2 ** 53 }, '/start', 'wrong-type'],
    [{ start: '9223372036854775808' }, '/start', 'wrong-type'],
    [{ start: '1; DROP TABLE x' }, '/start', 'wrong-type'],
    [{ increment: -1 }, '/increment', 'wrong-type'],
    [{ cache: 0 }, '/cache', 'wrong-type'],
    [{ max: 32768 }, '', 'wrong-type'],
    [{ min: 10, max: 10 }, '', 'wrong-type'],
    [{ begin: 10 }, '/begin', 'unknown-property'],
  ];
  for (const [numbering, place, code] of refused) {
    const answer = await service.post('/table/refused', {
      table: { columns: [{ name: 'id', type: 'smallserial', numbering }] },
    });
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.deepEqual(
      errors!.map((error) => [error.pointer, error.code]),
      [[`/table/columns/0/numbering${place}`, code]],
      JSON.stringify(numbering),
    );
  }
  const plain = await service.post('/table/refused', {
    table: { columns: [{ name: 'id', type: 'integer', numbering: { start: 2 } }] },
  });
  assert.equal(assertProblem(plain, 422, 'invalid-definition').errors![0]!.code, 'not-supported');
});
