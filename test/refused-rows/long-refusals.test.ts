/** Other people decide how long the texts of PostgreSQL's errors are. Answers, records and the memory of the service have only their beginnings. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The most bytes of an answer with one problem whose texts are as long as possible. */
const oneProblemBytes = 8000;
/** The most bytes of an answer with a hundred problems. */
const maxAnswerBytes = 1024 * 1024;

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t'));

const bytesOf = ({ body }: TestAnswer): number => Buffer.byteLength(JSON.stringify(body));
const append = (data: unknown[], query = '', headers: Record<string, string> = {}): Promise<TestAnswer> =>
  service.post(`/table/t/upload/json?if_exists=append${query}`, { data }, { headers });

/** Creates a table whose trigger raises an error with a text of `a` characters. */
const createRaising = (using = '') =>
  service.rows(`CREATE TABLE t (a int);
    CREATE OR REPLACE FUNCTION raise_long() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '%', repeat('😀', NEW.a) ${using}; END $$;
    CREATE TRIGGER u BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION raise_long()`);

const longFields = ['DETAIL', 'HINT', 'COLUMN', 'CONSTRAINT', 'DATATYPE', 'TABLE', 'SCHEMA']
  .map((field) => `${field} = repeat('y', NEW.a)`)
  .join();

test('the problem of a row has the beginning of a long message and of its other texts', async () => {
  for (const using of ['', `USING ${longFields}`, `USING ERRCODE = '23505', ${longFields}`]) {
    await createRaising(using);
    for (const query of ['', '&faulty_rows=leave_out&max_faulty_rows=0']) {
      const answer = await append([{ a: 300_000 }], query);
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.match(errors[0]!.detail, /^(😀){400,}…/u, using);
      assert.ok(errors[0]!.detail.isWellFormed());
      assert.ok(bytesOf(answer) < oneProblemBytes, `${using} ${query}: ${bytesOf(answer)}`);
    }
    await service.rows('DROP TABLE t');
  }
});

test('rows with long messages that are left out have the beginnings of the messages', async () => {
  await createRaising();
  const rows = Array.from({ length: 150 }, () => ({ a: 200_000 }));
  const answer = await append(rows, '&faulty_rows=leave_out&max_faulty_rows=1000');
  assert.equal(answer.status, 422, JSON.stringify(answer.body).slice(0, 1000));
  assert.ok(bytesOf(answer) < maxAnswerBytes, String(bytesOf(answer)));
});

test('an asynchronous load whose rows have long messages ends', async () => {
  await createRaising();
  const accepted = await append([{ a: 500_000 }, { a: 500_000 }], '', { prefer: 'respond-async' });
  assert.equal(accepted.status, 202);
  const path = accepted.headers.get('location')!;
  await until('the end of the load', async () => (await service.get(path)).body.state === 'refused');
  assert.ok(bytesOf(await service.get(path)) < oneProblemBytes);
});

test('a default whose error is long gives a problem with its beginning', async () => {
  await service.rows(`CREATE OR REPLACE FUNCTION raise_default() RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '%', repeat('x', 500000); END $$;
    CREATE TABLE t (a int, b int DEFAULT raise_default())`);
  const answer = await append([{ a: 1 }]);
  assertProblem(answer, 422, 'invalid-data');
  assert.ok(bytesOf(answer) < oneProblemBytes, String(bytesOf(answer)));
});

test('the problems of a long check have the beginning of its expression, and their list is bounded', async () => {
  const values = Array.from({ length: 1000 }, (_, n) => `'value ${n}'`).join();
  await service.rows(`CREATE TABLE t (a text CONSTRAINT of_list CHECK (a IN (${values})))`);
  const answer = await append(Array.from({ length: 100 }, () => ({ a: 'other' })));
  const { errors, error_count } = assertProblem(answer, 422, 'invalid-data');
  assert.equal(error_count, 100);
  assert.match(errors[0]!.detail, /^does not pass the check "of_list": .*…$/s);
  assert.ok(bytesOf(answer) < maxAnswerBytes / 4, String(bytesOf(answer)));
});

test('a long key, context and function do not hide the row and the key of an error', async () => {
  await service.rows(`CREATE TABLE t (a text, b int, EXCLUDE USING hash (a WITH =))`);
  const key = 'k'.repeat(5000);
  const answer = await append([{ a: 'one' }, { a: key }, { a: key }]);
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.equal(errors[0]!.row, 3);
  await service.rows(`CREATE OR REPLACE FUNCTION run_long() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.b = 2 THEN EXECUTE 'SELECT 1/0 -- ' || repeat('"z', 50000); END IF; RETURN NEW; END $$;
    CREATE TRIGGER u BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION run_long()`);
  const failed = await append([
    { a: 'x', b: 1 },
    { a: 'y', b: 2 },
  ]);
  assert.equal(assertProblem(failed, 422, 'invalid-data').errors[0]?.row, 2, JSON.stringify(failed.body));
});
