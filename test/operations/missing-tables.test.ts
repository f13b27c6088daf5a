/** `if_missing` decides what happens if an upload names a table that does not exist, and the warning names similar tables. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.rows('CREATE TABLE "Customers" (id int)');
  await service.rows('CREATE VIEW shown AS SELECT 1 AS id');
});
after(() => service.stop());

const data = [{ id: 1 }];

for (const mode of ['append', 'truncate', 'replace']) {
  test(`if_exists=${mode} with if_missing=fail makes no table`, async () => {
    for (const upload of [
      service.post(`/table/customers/upload/json?if_exists=${mode}&if_missing=fail`, { data }),
      service.upload(
        `/table/customers/upload/excel?if_exists=${mode}&if_missing=fail`,
        Buffer.from('id\n1\n'),
      ),
    ]) {
      const { status, body } = await upload;
      assert.equal(status, 404, JSON.stringify(body));
      assert.equal(body.code, 'table-not-found');
      assert.match(body.detail, /Did you mean "Customers"\?/);
    }
    assert.deepEqual(await service.rows("SELECT to_regclass('customers') AS found"), [{ found: null }]);
    const present = await service.post(`/table/Customers/upload/json?if_exists=${mode}&if_missing=fail`, {
      data,
    });
    assert.ok([200, 201].includes(present.status), JSON.stringify(present.body));
  });
}

test('the answer to if_missing=fail says if the schema is missing, or if the name is not that of a table', async () => {
  const query = 'if_exists=append&if_missing=fail';
  const noSchema = await service.post(`/table/t/upload/json?${query}&schema=nowhere`, { data });
  assert.equal(noSchema.body.code, 'schema-not-found');
  const view = await service.post(`/table/shown/upload/json?${query}`, { data });
  assert.match(view.body.detail, /is a view, not a table/);
});

test('if_missing=fail with if_exists=fail is refused, because no upload would be accepted', async () => {
  const { status, body } = await service.post('/table/t/upload/json?if_missing=fail', { data });
  assert.equal(status, 422);
  assert.equal(body.errors[0].parameter, 'if_missing');
});

test('the warning about a new table names a table whose name is similar', async () => {
  const { body } = await service.post('/table/customers/upload/json?if_exists=append&dry_run=true', { data });
  const { detail } = body.load.warnings.find(({ code }: { code: string }) => code === 'table-created');
  assert.match(detail, /it was created\. Did you mean "Customers"\?/);
  const other = await service.post('/table/far_away/upload/json?if_exists=append&dry_run=true', { data });
  assert.match(other.body.load.warnings[0].detail, /it was created\.$/);
});
