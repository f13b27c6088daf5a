/** Rows that break a rule of a table of Citus: `faulty_rows=fail` and `leave_out` name the same rows with the same problems. */
import { after, before, suite, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';
import { compareWays, type KindOfRule, kindsOfRules, prepareKinds } from '../support/kinds-of-rules.ts';

let service: CitusService;

before(async () => {
  service = await startCitusService();
  await service.rows(prepareKinds);
  await service.rows(`SELECT create_reference_table('parents')`);
});
after(() => service?.stop());

const distribute = {
  column: `SELECT create_distributed_table('t', 'k')`,
  reference: `SELECT create_reference_table('t')`,
};
type Kind = keyof typeof distribute;

async function countOf(table: string): Promise<number> {
  const [found] = await service.rows('SELECT to_regclass($1) IS NOT NULL AS exists', [table]);
  if (!found!.exists) return 0;
  return (await service.rows(`SELECT count(*)::int AS count FROM ${table}`))[0]!.count as number;
}
const count = () => countOf('t');
const kinds = kindsOfRules.filter(({ canBeSharded }) => canBeSharded);

async function create({ create, after }: KindOfRule, kind: Kind): Promise<void> {
  for (const sql of ['DROP TABLE IF EXISTS t', `CREATE TABLE t (${create})`, distribute[kind], after ?? ''])
    if (sql !== '') await service.rows(sql);
}

for (const kind of Object.keys(distribute) as Kind[]) {
  suite(`a table that Citus distributes by ${kind}`, () => {
    for (const one of kinds) {
      test(`${one.what}: the same problems if the upload is refused and if the rows are left out`, async () => {
        const path = '/table/t/upload/json?if_exists=append';
        await compareWays(service, one, path, { restore: () => create(one, kind), count });
      });
    }

    for (const one of kinds.filter(({ table }) => table)) {
      test(`${one.what} of a new table: the same problems if the upload is refused and if the rows are left out`, async () => {
        await service.rows('DROP TABLE IF EXISTS t');
        const distribution = kind === 'column' ? { kind, column: 'k' } : { kind };
        const table = { ...one.table!, distribution };
        await compareWays(service, { ...one, table }, '/table/t/upload/json?if_exists=fail', { count });
      });
    }
  });
}
