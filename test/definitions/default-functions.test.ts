/** The setting `DEFAULT_FUNCTIONS`, which allows more functions in defaults. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from '../support/service.ts';

const table = { columns: [{ name: 'a', type: 'text', default: 'my_label()' }] };

test('a function in the setting may be called in every operation', async () => {
  const service = await startTestService({ DEFAULT_FUNCTIONS: 'my_label' });
  try {
    await service.rows("CREATE FUNCTION my_label() RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$");
    const created = await service.post('/table/made', { table });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.equal(created.body.table.columns[0].default, 'my_label()');
    const loaded = await service.post('/table/loaded/upload/json', {
      table: { columns: [...table.columns, { name: 'n', type: 'integer' }] },
      data: [{ n: 1 }],
    });
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    assert.deepEqual(await service.rows('SELECT * FROM loaded'), [{ a: 'x', n: 1 }]);
    const described = await service.get('/table/made');
    assert.equal(described.body.table.columns[0].default_is_expression, undefined);
  } finally {
    await service.stop();
  }
});

test('without the setting the same default is text', async () => {
  const service = await startTestService();
  try {
    const created = await service.post('/table/made', { table });
    assert.equal(created.body.table.columns[0].default, "'my_label()'::text");
  } finally {
    await service.stop();
  }
});
