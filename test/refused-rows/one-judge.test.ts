/** `faulty_rows=fail` and `leave_out` name the same rows with the same problems, whatever rule of the table the rows break. */
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
