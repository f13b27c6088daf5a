/** `error_groups`: the problems of a refused upload, grouped by column and code, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const columns = [
  { name: 'id', type: 'integer' },
  { name: 'n', type: 'integer' },
  { name: 'day', type: 'date' },
];
const constraints = { primary_key: { name: '', columns: ['id'] } };

const upload = async (data: object[]) => {
  const answer = await service.post('/table/groups/upload/json', { table: { columns, constraints }, data });
  assertProblem(answer, 422, 'invalid-data');
  return answer.body;
};

test('a single wrong date has its own group among hundreds of other problems', async () => {
  const data = Array.from({ length: 300 }, (_, index) => ({
    id: Math.min(index, 298),
    n: index < 250 ? 'n/a' : 1,
    day: '2026-11-21',
  }));
  data[250] = { id: 250, n: 1, day: '2026-02-30' };
  const { error_count, errors, error_groups } = await upload(data);
  assert.equal(errors.length, 100);
  assert.equal(error_count, 252);
  assert.deepEqual(error_groups, [
    {
      column: 'n',
      code: 'not-a-whole-number',
      count: 250,
      first: { pointer: '/data/0/n', row: 1, value: 'n/a' },
    },
    {
      column: 'day',
      code: 'no-such-date',
      count: 1,
      first: { pointer: '/data/250/day', row: 251, value: '2026-02-30' },
    },
    {
      column: 'id',
      code: 'not-unique',
      count: 1,
      first: { pointer: '/data/299/id', row: 300, value: '298' },
    },
  ]);
});

test('there are no groups if every problem has another code or column', async () => {
  const { error_groups } = await upload([{ id: 1, n: 'x', day: 'y' }]);
  assert.equal(error_groups, undefined);
});

test('groups count repeated keys that are not listed', async () => {
  const { error_count, error_groups } = await upload(Array.from({ length: 500 }, () => ({ id: 1 })));
  assert.equal(error_count, 499);
  assert.deepEqual(
    error_groups.map(({ column, code, count }: Record<string, unknown>) => [column, code, count]),
    [['id', 'not-unique', 499]],
  );
});
