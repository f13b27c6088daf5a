/** Large uploads are loaded completely at the first attempt, in memory that does not grow with them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bigWorkbook } from '../support/big-workbook.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { bigXlsb } from '../support/xlsb-builder.ts';

const mib = 1024 * 1024;
const maxMemoryBytes = 300 * mib;

let database: TestDatabase;
let child: ChildService;

before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

/** Runs an upload in a separate process, so that its memory can be measured. */
async function withChild(work: () => Promise<void>): Promise<void> {
  child = await startChildService(database);
  try {
    await work();
    const peak = child.peakMemoryBytes();
    assert.ok(peak === undefined || peak < maxMemoryBytes, `it held ${(peak ?? 0) / mib} MiB`);
  } finally {
    await child.end('SIGTERM');
  }
}

const definition = {
  columns: [
    { name: 'id', type: 'bigint', is_nullable: false },
    { name: 'code', type: 'varchar(20)' },
    { name: 'price', type: 'numeric(12,2)' },
    { name: 'at', type: 'timestamptz' },
    { name: 'note', type: 'text' },
  ],
  constraints: { primary_key: { name: '', columns: ['id'] } },
};

/** Yields a body of at least so many bytes, generated while it is sent. */
function jsonRows(start: string, minBytes: number): { body: ReadableStream; rowCount: () => number } {
  let sent = 0;
  let id = 0;
  let isOver = false;
  const send = (controller: ReadableStreamDefaultController, text: string): void => {
    const bytes = Buffer.from(text);
    sent += bytes.length;
    controller.enqueue(bytes);
  };
  const body = new ReadableStream({
    start: (controller) => send(controller, start),
    pull: (controller) => {
      if (isOver) {
        controller.close();
        return;
      }
      let text = '';
      for (let n = 0; n < 1000; n += 1) {
        text += id === 0 ? '' : ',';
        id += 1;
        text += `{"id":${id},"code":"00${id}","price":${id}.25,"at":"2026-02-03T04:05:06.${id % 1000}Z","note":"Möhre \\"${id % 77}\\" ${id % 3 ? 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' : ''}"}`;
      }
      isOver = sent > minBytes;
      send(controller, isOver ? `${text}]}` : text);
    },
  });
  return { body, rowCount: () => id };
}

for (const [title, start] of Object.entries({
  'with a definition': `{"table":${JSON.stringify(definition)},"data":[`,
  'without a definition': '{"data":[',
})) {
  test(`100 MB of JSON rows ${title} are loaded in bounded memory`, () =>
    withChild(async () => {
      const { body, rowCount } = jsonRows(start, 100e6);
      const name = title.replaceAll(' ', '_');
      const answer = await child.request('POST', `/table/${name}/upload/json`, {
        headers: { 'content-type': 'application/json' },
        body,
      });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      const count = rowCount();
      assert.equal(answer.body.load.rows, count);
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS count, sum(id)::text AS ids, sum(price)::text AS prices, count(DISTINCT note)::int AS notes,
           bool_and(code = '00' || id AND at >= '2026-02-03T04:05:06Z') AS is_right FROM ${name}`,
      );
      const ids = (count * (count + 1)) / 2;
      assert.deepEqual(rows, [
        { count, ids: String(ids), prices: (ids + count / 4).toFixed(2), notes: 154, is_right: true },
      ]);
    }));
}

test('a workbook of 300,000 rows is loaded in bounded memory', async () => {
  const count = 300_000;
  const file = await bigWorkbook(count);
  await withChild(async () => {
    const answer = await child.upload('/table/workbook/upload/excel', file);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, count);
    assert.deepEqual(
      answer.body.table.columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`),
      ['id bigint', 'code text', 'city text', 'price numeric', 'day date', 'paid boolean'],
    );
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS count, sum(id)::text AS ids, count(DISTINCT city)::int AS cities,
         bool_and(code = '00' || id AND price = id / 4.0 AND paid = (id % 2 = 1) AND city = 'City & Côté ' || id % 5000
           AND day = date '1899-12-30' + (40000 + id % 5000)::int) AS is_right FROM workbook`,
    );
    assert.deepEqual(rows, [{ count, ids: String((count * (count + 1)) / 2), cities: 5000, is_right: true }]);
  });
});

test('a binary workbook of 100,000 rows, which is read as a stream in the service itself', async () => {
  const count = 100_000;
  const file = bigXlsb(count);
  await withChild(async () => {
    const answer = await child.upload('/table/binary/upload/excel', file);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, count);
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS count, sum(id)::text AS ids, count(DISTINCT city)::int AS cities,
         bool_and(code = '00' || id AND price = id / 4.0 AND paid = (id % 2 = 1) AND city = 'City & Côté ' || id % 5000
           AND day = date '1899-12-30' + (40000 + id % 5000)::int AND abs(share - id / 7.0) < 1e-9
           AND note = 'note ' || id % 1000) AS is_right FROM "binary"`,
    );
    assert.deepEqual(rows, [{ count, ids: String((count * (count + 1)) / 2), cities: 5000, is_right: true }]);
  });
});
