/** `faulty_rows=fail` and `leave_out` name the same rows with the same problems, whatever rule of the table the rows break. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { compareWays, kindsOfRules, prepareKinds } from '../support/kinds-of-rules.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(prepareKinds);
});
after(() => service.stop());

/** Returns the number of rows of a table, which may not exist. */
async function countOf(table: string): Promise<number> {
  const [found] = await service.rows('SELECT to_regclass($1) IS NOT NULL AS exists', [table]);
  if (!found!.exists) return 0;
  return (await service.rows(`SELECT count(*)::int AS count FROM ${table}`))[0]!.count as number;
}

suite('rows that break a rule of an existing table', () => {
  for (const kind of kindsOfRules) {
    test(`${kind.what}: the same problems if the upload is refused and if the rows are left out`, async () => {
      const restore = () =>
        service.rows(`DROP TABLE IF EXISTS t; CREATE TABLE t (${kind.create}); ${kind.after ?? ''}`);
      await compareWays(service, kind, '/table/t/upload/json?if_exists=append', {
        restore,
        count: () => countOf('t'),
      });
    });
  }
});

suite('rows that break a rule of a new table', () => {
  for (const kind of kindsOfRules.filter(({ table }) => table !== undefined)) {
    test(`${kind.what}: the same problems if the upload is refused and if the rows are left out`, async () => {
      for (const how of ['fail', 'replace']) {
        await service.rows('DROP TABLE IF EXISTS t');
        if (how === 'replace') await service.rows('CREATE TABLE t (k int)');
        await compareWays(service, kind, `/table/t/upload/json?if_exists=${how}`, {
          count: () => countOf('t'),
        });
      }
    });
  }
});

test('a partition has the foreign keys of its table, also those to the table itself', async () => {
  const restore = () =>
    service.rows(`DROP TABLE IF EXISTS whole;
      CREATE TABLE whole (k int PRIMARY KEY, n int REFERENCES whole, parent int REFERENCES parents) PARTITION BY RANGE (k);
      CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10); CREATE TABLE high PARTITION OF whole DEFAULT;
      INSERT INTO whole VALUES (50)`);
  const good = [
    { k: 1, n: 50, parent: 1 },
    { k: 2, n: 3, parent: null },
    { k: 3, n: 3, parent: 2 },
  ];
  const bad = { parent: { k: 4, n: 1, parent: 9 }, n: { k: 4, n: 60, parent: 1 } };
  for (const options of ['append', 'append&on_conflict=update']) {
    const path = `/table/low/upload/json?if_exists=${options}`;
    for (const [column, row] of Object.entries(bad)) {
      const data = [...good, row, { k: 5, n: 5, parent: 1 }];
      const kind = { what: 'a partition', data, faulty: [4] };
      await compareWays(service, kind, path, { restore, count: () => countOf('low') });
      await restore();
      const { body } = await service.post(path, { data });
      assert.deepEqual(
        body.errors.map((one: Record<string, unknown>) => [one.row, one.column, one.value, one.code]),
        [[4, column, column === 'n' ? '60' : '9', 'no-such-reference']],
      );
    }
  }
});
