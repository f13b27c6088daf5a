/** A definition with the same key twice in one object is refused, however it is sent. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const column = '{"name": "a", "type": "text"}';

/** The text of `table` and the pointer of the key that it repeats. */
const repeated: [table: string, pointer: string][] = [
  [`{"columns": [${column}], "columns": [${column}]}`, '/table/columns'],
  ['{"columns": [{"name": "a", "type": "integer", "type": "text"}]}', '/table/columns/0/type'],
  [
    `{"columns": [${column}, {"name": "b,]}", "type": "text", "is_nullable": true, "is_null\\u0061ble": false}]}`,
    '/table/columns/1/is_nullable',
  ],
  [
    `{"columns": [${column}], "constraints": {"unique": [], "primary_key": {"columns": ["a"]}, "primary_key": {}}}`,
    '/table/constraints/primary_key',
  ],
  [`{"x~/": {"k": 1, "k": 2}, "columns": [${column}]}`, '/table/x~0~1/k'],
];

function assertRefused(answer: TestAnswer, pointer: string): void {
  const { errors } = assertProblem(answer, 422, 'invalid-definition');
  assert.deepEqual(
    errors.map(({ pointer, code }) => [pointer, code]),
    [[pointer, 'repeated-key']],
  );
}

for (const [table, pointer] of repeated) {
  test(`${pointer} twice is refused by Create Table and by uploads, and nothing is created`, async () => {
    const headers = { 'content-type': 'application/json' };
    const post = (path: string, body: string) => service.request('POST', path, { headers, body });
    assertRefused(await post('/table/made', `{"table": ${table}}`), pointer);
    for (const query of ['', '?if_exists=append', '?if_exists=replace']) {
      for (const body of [
        `{"table": ${table}, "data": [{"a": "1"}]}`,
        `{"data": [{"a": "1"}], "table": ${table}}`,
      ]) {
        assertRefused(await post(`/table/made/upload/json${query}`, body), pointer);
      }
    }
    const form = new FormData();
    form.append('body', `{"table": ${table}}`);
    form.append('file', new Blob(['a\n1\n']), 'rows.csv');
    assertRefused(await service.request('POST', '/table/made/upload/excel', { body: form }), pointer);
    assert.deepEqual(await service.rows("SELECT FROM pg_class WHERE relname = 'made'"), []);
  });
}
