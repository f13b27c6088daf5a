/** No integer and no numeric has a negative zero. A load that leaves the sign out says where. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

interface Told {
  column: string;
  detail: string;
  choices?: object[];
}

async function warned(answer: ReturnType<TestService['post']>): Promise<Told[]> {
  const { status, body } = await answer;
  assert.ok(status < 300, JSON.stringify(body));
  return body.load.warnings.filter(({ code }: { code: string }) => code === 'sign-left-out');
}

const csv = (text: string): ReturnType<TestService['post']> =>
  service.upload('/table/t/upload/excel?if_exists=replace', Buffer.from(text));
const json = (body: string): ReturnType<TestService['post']> =>
  service.request('POST', '/table/t/upload/json?if_exists=replace', {
    headers: { 'content-type': 'application/json' },
    body,
  });

test('inferred number columns whose minus zeros become zero are named with the first cell', async () => {
  const [bigint, numeric, ...others] = await warned(csv('a,b,c\n1,-0.000,-0.01\n-0,1.5,0\n-0,-0.5,-1\n'));
  assert.deepEqual(others, []);
  assert.equal(bigint!.column, 'a');
  assert.match(bigint!.detail, /2 values of "a" was left out \(first in A3\)/);
  assert.deepEqual(bigint!.choices, [{ parameters: { extra_columns: 'add' }, type: 'double precision' }]);
  assert.match(numeric!.detail, /one value of "b" was left out \(first in B2\)/);
});

test('JSON numbers and texts for integer and numeric columns are counted, too', async () => {
  const columns = ['smallint', 'int', 'bigint', 'numeric', 'numeric(5,2)'].map((type, index) => ({
    name: `c${index}`,
    type,
  }));
  const row = (value: string) => `{${columns.map(({ name }) => `"${name}":${value}`).join(',')}}`;
  for (const value of ['-0', '"-0"', '-0e3']) {
    const told = await warned(
      json(`{"table":{"columns":${JSON.stringify(columns)}},"data":[${row(value)}]}`),
    );
    assert.deepEqual(
      told.map(({ column, choices }) => [column, choices]),
      columns.map(({ name }) => [name, undefined]),
      value,
    );
  }
});

test('a column that keeps the sign, and numbers that only begin like a minus zero, have no warning', async () => {
  assert.deepEqual(await warned(csv('a,b\n-0,-0.001\nx,-01\n')), []);
  const table = '{"columns":[{"name":"a","type":"float8"}]}';
  assert.deepEqual(await warned(json(`{"table":${table},"data":[{"a":-0}]}`)), []);
  assert.deepEqual(await service.rows('SELECT a::text FROM t'), [{ a: '-0' }]);
});
