/**
 * `on_conflict=skip` in tables with triggers or rules that change, fill or leave out rows. The model is one INSERT for each row, in the order of the
 * upload.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type RandomNumbers, randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.rows(`CREATE FUNCTION shape_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF new.v LIKE '%out%' THEN RETURN NULL; END IF;
      IF new.v LIKE '%lower%' THEN new.k := lower(new.k); END IF;
      IF new.v LIKE '%fill%' THEN new.k := coalesce(new.k, 'a'); END IF;
      IF new.v LIKE '%bad%' THEN RAISE 'bad row'; END IF;
      RETURN new;
    END $$`);
});
after(() => service.stop());

const keys = {
  'a primary key': 'PRIMARY KEY (k)',
  'a unique key': 'UNIQUE (k)',
  'a unique key of two columns': 'UNIQUE (k, l)',
  'a unique key in which NULL equals NULL': 'UNIQUE NULLS NOT DISTINCT (k, l)',
};

const columnsOf = (constraint: string) => /\((.*)\)/.exec(constraint)![1]!;

/** A rule (CREATE RULE) can only leave rows out. */
const shaping = (byRule: boolean, table: string) =>
  byRule
    ? `CREATE RULE r AS ON INSERT TO ${table} WHERE new.v LIKE '%out%' DO INSTEAD NOTHING`
    : `CREATE TRIGGER r BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION shape_row()`;

interface Row {
  k: string | null;
  l: number | null;
  v: string;
  extra?: number;
}

function randomRows(random: RandomNumbers, hasNulls: boolean, mayBeBad: boolean): Row[] {
  const oneOf = <Value>(...values: Value[]) => values[random(values.length)]!;
  const hasExtra = random(2) === 0;
  return Array.from({ length: 1 + random(12) }, (_, at) => ({
    k: oneOf('a', 'A', 'b', 'B', 'c', hasNulls ? null : 'd'),
    l: oneOf(1, 1, 2, hasNulls ? null : 1),
    v: `${oneOf('', '', 'out', 'lower', 'fill', mayBeBad ? 'bad' : '')} ${at}`,
    ...(hasExtra && random(2) === 0 && { extra: at }),
  }));
}

/** Inserts the rows one by one, and returns what the service should store and count. */
async function insertEach(rows: Row[], constraint: string) {
  const by = columnsOf(constraint);
  const states: string[] = [];
  for (const row of rows) {
    const { k, l, v, extra } = row;
    try {
      const { rowCount } = await service.database.pool.query(
        `INSERT INTO model (k, l, v, extra) VALUES ($1, $2, $3, ${'extra' in row ? '$4' : 'DEFAULT'}) ON CONFLICT (${by}) DO NOTHING`,
        'extra' in row ? [k, l, v, extra] : [k, l, v],
      );
      states.push(rowCount === 1 ? 'stored' : 'left');
    } catch {
      states.push('refused');
    }
  }
  const isNullEqual = constraint.includes('NULLS NOT DISTINCT');
  const has = async (row: Row) => {
    const values = by.split(', ').map((name) => row[name as 'k' | 'l']);
    const places = values.map((_, at) => `$${at + 1}`).join();
    const same = `ROW (${by}) ${isNullEqual ? 'IS NOT DISTINCT FROM' : '='} ROW (${places})`;
    const { rowCount } = await service.database.pool.query(`SELECT FROM model WHERE ${same} LIMIT 1`, values);
    return rowCount === 1;
  };
  let skipped = 0;
  for (const [at, row] of rows.entries()) if (states[at] === 'left' && (await has(row))) skipped += 1;
  const count = (state: string) => states.filter((one) => one === state).length;
  return { stored: count('stored'), skipped, leftOut: count('left') - skipped, refused: count('refused') };
}

for (const [name, constraint] of Object.entries(keys)) {
  test(`skipped rows are those of one INSERT for each row, with ${name}`, async () => {
    for (let seed = 1; seed <= sized(25, 200); seed++) {
      const random = randomNumbers(seed * 7_919 + constraint.length);
      const byRule = seed % 4 === 1;
      const rows = randomRows(random, !constraint.startsWith('PRIMARY') && !byRule, seed % 3 === 0);
      const columns = `k text, l int, v text, extra int DEFAULT 7, ${constraint}`;
      await service.rows(`DROP TABLE IF EXISTS t, model; CREATE TABLE t (${columns}); CREATE TABLE model (${columns});
        INSERT INTO t VALUES ('a', 1, 'before'); INSERT INTO model VALUES ('a', 1, 'before');
        ${shaping(byRule, 't')}; ${shaping(byRule, 'model')}`);
      const model = await insertEach(rows, constraint);
      const query = 'if_exists=append&on_conflict=skip&faulty_rows=leave_out&max_faulty_rows=100';
      const { status, body } = await service.post(`/table/t/upload/json?${query}`, { data: rows });
      const shown = `seed ${seed}: ${JSON.stringify({ rows, model, body })}`;
      if (model.refused === rows.length) continue;
      assert.ok(status === 200 || status === 201, shown);
      const read = (table: string) => service.rows(`SELECT * FROM ${table} ORDER BY v`);
      assert.deepEqual(await read('t'), await read('model'), shown);
      const warning = body.load.warnings.find(({ code }: { code: string }) => code === 'suppressed-rows');
      const leftOut = warning ? Number(/out (\d+|one)/.exec(warning.detail)![1]!.replace('one', '1')) : 0;
      assert.deepEqual(
        [body.load.rows, body.load.skipped, leftOut],
        [model.stored, model.skipped, model.leftOut],
        shown,
      );
    }
  });
}

test('uploads with the same keys in opposite orders all end', async () => {
  await service.rows(`DROP TABLE IF EXISTS t; CREATE TABLE t (k text, l int, v text, PRIMARY KEY (k));
    ${shaping(false, 't')}`);
  const rows = Array.from({ length: 2000 }, (_, at) => ({ k: `key ${at}`, l: 1, v: '' }));
  const uploads = [rows, rows.toReversed(), rows, rows.toReversed()].map((data) =>
    service.post('/table/t/upload/json?if_exists=append&on_conflict=skip', { data }),
  );
  const answers = await Promise.all(uploads);
  const shown = JSON.stringify(answers.map(({ body }) => body.load ?? body));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
    shown,
  );
  const stored = answers.reduce((sum, { body }) => sum + body.load.rows, 0);
  const skipped = answers.reduce((sum, { body }) => sum + body.load.skipped, 0);
  assert.deepEqual([stored, skipped], [2000, 6000], shown);
});
