/** Uploads with `on_conflict` that send the same keys at the same time all succeed. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';

const clients = 20;
/** The number of uploads. New keys with several sets of columns may deadlock, and each deadlock takes a second. */
const deadlockingClients = sized(5, clients);
const keyCounts = [...new Set([sized(200, 20), 200])];

let service: TestService;
before(async () => {
  service = await startTestService({
    MAX_UPLOADS: String(clients),
    MAX_UPLOADS_PER_SUBJECT: String(clients),
    DATABASE_POOL_SIZE: String(clients + 4),
    // The uploads wait for each other, for a long time on a busy machine. A deadlock ends after a second, whatever this limit
    // is.
    LOCK_TIMEOUT_MS: '300000',
    STATEMENT_TIMEOUT_MS: '300000',
  });
});
after(() => service.stop());

type Row = Record<string, unknown>;

/** Sends all uploads at the same time, each with its rows in another order. */
async function uploadAll(rowsOf: (client: number) => Row[], action: string, count = clients): Promise<void> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, client) =>
      service.post(`/table/items/upload/json?if_exists=append&on_conflict=${action}`, {
        data: shuffled(rowsOf(client), client + 1),
      }),
    ),
  );
  assert.deepEqual(
    answers.filter(({ status }) => status !== 200).map(({ status, body }) => [status, body.detail]),
    [],
  );
}

/** Returns the rows in an order that depends only on the seed. */
function shuffled(rows: Row[], seed: number): Row[] {
  const random = randomNumbers(seed);
  const mixed = [...rows];
  for (let last = mixed.length - 1; last > 0; last -= 1) {
    const other = random(last + 1);
    [mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!];
  }
  return mixed;
}

const keys = (count: number) => Array.from({ length: count }, (_, key) => key);

for (const action of ['update', 'skip']) {
  suite(`twenty uploads at once with on_conflict=${action}`, () => {
    beforeEach(async () => {
      await service.rows(
        'DROP TABLE IF EXISTS items; CREATE TABLE items (a integer, b text, v integer, w integer, PRIMARY KEY (b, a))',
      );
    });

    for (const count of keyCounts) {
      test(`with the same ${count} keys, new and then existing, in different orders all succeed`, async () => {
        for (const round of [1, 2]) {
          await uploadAll(
            (client) => keys(count).map((key) => ({ a: key, b: `k${key % 7}`, v: client + 100 * round })),
            action,
          );
        }
        assert.deepEqual(await service.rows('SELECT count(*)::int FROM items'), [{ count }]);
      });
    }

    test('with the same existing keys, in several sets and orders of columns, all succeed', async () => {
      await service.rows("INSERT INTO items SELECT n, 'k', 0, 0 FROM generate_series(0, 199) AS n");
      await uploadAll(
        (client) =>
          keys(200).map((key) => {
            const set = (key + client) % 3;
            if (set === 0) return { a: key, b: 'k', v: client };
            return set === 1 ? { b: 'k', w: client, a: key } : { b: 'k', a: key };
          }),
        action,
      );
    });

    test('with the same new keys, in several sets of columns, all succeed', async () => {
      await uploadAll(
        (client) =>
          keys(40).map((key) => ({ a: key, b: 'k', [(key * 7 + client) % 2 === 0 ? 'v' : 'w']: client })),
        action,
        deadlockingClients,
      );
      assert.deepEqual(await service.rows('SELECT count(*)::int FROM items'), [{ count: 40 }]);
    });
  });
}
