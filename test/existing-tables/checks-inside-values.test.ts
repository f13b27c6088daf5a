/**
 * Checks of domains inside a value: in the elements of an array and in the fields of a composite. Every row that fails one is
 * reported.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { appender } from '../support/uploads.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE DOMAIN positive AS int CHECK (VALUE > 0);
    CREATE DOMAIN small AS positive CONSTRAINT below_ten CHECK (VALUE < 10);
    CREATE DOMAIN code AS varchar(3) CONSTRAINT upper_case CHECK (VALUE = upper(VALUE));
    CREATE DOMAIN few AS positive[] CONSTRAINT at_most_two CHECK (cardinality(VALUE) <= 2);
    CREATE TYPE pair AS (a positive, b text)`);
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t'));

const append = appender(() => service);

const conflicts = ['', '&on_conflict=skip', '&on_conflict=update'];

function assertProblems(answer: TestAnswer, expected: unknown[][]): void {
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ row, column, value, code }) => [row, column, value, code]),
    expected,
    JSON.stringify(errors),
  );
}

suite('the check of a domain', () => {
  test('the check of a domain is applied to each element of an array, and every row that fails it is a problem', async () => {
    const data = [
      { id: 1, v: [1, 2] },
      { id: 2, v: [3, -4, -5] },
      { id: 3, v: null },
      { id: 4, v: [] },
      { id: 5, v: [null, 0] },
      {
        id: 6,
        v: [
          [1, 2],
          [3, -7],
        ],
      },
    ];
    for (const query of conflicts) {
      await service.rows('DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, v positive[])');
      assertProblems(await append(data, query), [
        [2, 'v', '-4', 'check-violation'],
        [5, 'v', '0', 'check-violation'],
        [6, 'v', '-7', 'check-violation'],
      ]);
      const good = data.filter(({ id }) => id === 1 || id === 3 || id === 4);
      const answer = await append(good, query);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const rows = await service.rows('SELECT id, v::text FROM t ORDER BY id');
      assert.deepEqual(rows, [
        { id: 1, v: '{1,2}' },
        { id: 3, v: null },
        { id: 4, v: '{}' },
      ]);
    }
  });

  test('the check of a domain is applied in a new table, too', async () => {
    const table = { columns: [{ name: 'v', type: 'small[]' }] };
    const answer = await service.post('/table/t/upload/json', {
      table,
      data: [[1], [11], [-1], [9]].map((v) => ({ v })),
    });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, value, detail }) => [row, value, detail]),
      [
        [2, '11', 'does not pass the check "below_ten": ((VALUE)::integer < 10)'],
        [3, '-1', 'does not pass the check "positive_check": (VALUE > 0)'],
      ],
    );
  });

  test('the check of a domain is applied to a domain over an array, and to the elements of that array', async () => {
    await service.rows('CREATE TABLE t (id int PRIMARY KEY, v few)');
    for (const query of conflicts) {
      assertProblems(
        await append(
          [[1], [1, 2, 3], [0], [4, 5]].map((v, id) => ({ id, v })),
          query,
        ),
        [
          [2, 'v', '{1,2,3}', 'check-violation'],
          [3, 'v', '0', 'check-violation'],
        ],
      );
    }
  });

  test('the check of a domain is applied to an array of a domain with a length', async () => {
    await service.rows('CREATE TABLE t (id int PRIMARY KEY, v code[])');
    assert.equal((await append([{ id: 1, v: ['ABC'] }], '&on_conflict=update')).status, 200);
    assert.equal((await append([{ id: 1, v: ['A', 'B'] }], '&on_conflict=update')).status, 200);
    assertProblems(await append([['A'], ['b'], ['C', 'd']].map((v, id) => ({ id: id + 2, v }))), [
      [2, 'v', 'b', 'check-violation'],
      [3, 'v', 'd', 'check-violation'],
    ]);
    assert.deepEqual(await service.rows('SELECT v::text FROM t'), [{ v: '{A,B}' }]);
  });

  test('the check of a domain is applied to an array of a domain that is the key', async () => {
    await service.rows('CREATE TABLE t (v positive[] PRIMARY KEY, n int)');
    for (const n of [1, 2])
      assert.equal((await append([{ v: [1, 2], n }], '&on_conflict=update')).status, 200);
    assert.deepEqual(await service.rows('SELECT n FROM t'), [{ n: 2 }]);
    assertProblems(await append([{ v: [1, 2] }, { v: [3] }, { v: [3] }]), [
      [1, 'v', '{1,2}', 'not-unique'],
      [3, 'v', '{3}', 'not-unique'],
    ]);
  });

  test('the check of a domain is applied to the field of a composite', async () => {
    await service.rows('CREATE TABLE t (id int PRIMARY KEY, v pair)');
    for (const query of conflicts) {
      assertProblems(
        await append(
          ['(1,x)', '(0,x)', '(2,y)', '(-1,)'].map((v, id) => ({ id, v })),
          query,
        ),
        [
          [2, 'v', '(0,x)', 'invalid-input'],
          [4, 'v', '(-1,)', 'invalid-input'],
        ],
      );
    }
  });
});
