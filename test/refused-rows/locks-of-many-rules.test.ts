/** The search for rows that break rules holds few locks, however many rules the table has: all sessions of a server share one lock table. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

const rules = 150;
let service: TestService;

before(async () => {
  service = await startTestService();
  const checks = Array.from(
    { length: rules },
    (_, index) => `CONSTRAINT k${index} CHECK (a <> ${-index} AND b > ${index})`,
  );
  await service.rows(`CREATE TABLE held (locks int);
    CREATE TABLE ruled (a int, b int, ${checks.join(', ')});
    CREATE FUNCTION count_locks() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO public.held SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid();
      RETURN NULL;
    END $$;
    CREATE TRIGGER count_locks AFTER INSERT ON ruled FOR EACH STATEMENT EXECUTE FUNCTION count_locks()`);
});
after(() => service.stop());

for (const { what, row, problems } of [
  { what: 'one rule', row: { a: 1 - rules, b: rules }, problems: 1 },
  { what: 'all rules', row: { a: 1, b: 0 }, problems: rules },
]) {
  test(`a row that breaks ${what} of a table with many rules is left out with few locks`, async () => {
    await service.rows('TRUNCATE held');
    // The good row is moved after all rules have been searched. The count of locks is stored with it.
    const { status, body } = await service.post(
      '/table/ruled/upload/json?if_exists=append&faulty_rows=leave_out&max_faulty_rows=10',
      { data: [{ a: 1, b: rules }, row] },
    );
    assert.equal(status, 200, JSON.stringify(body).slice(0, 500));
    assert.equal(body.load.left_out_count, problems);
    const [held] = await service.rows('SELECT max(locks) AS locks FROM held');
    assert.ok((held!.locks as number) < rules, `${held!.locks} locks`);
  });
}
