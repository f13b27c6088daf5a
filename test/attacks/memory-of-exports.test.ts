/** The memory of the service while clients read long rows of exports slowly, and that the bytes arrive unchanged. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { withBackendMemory } from '../support/backend-memory.ts';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';

const mib = 2 ** 20;
/** Each row has another value, so that a row which is mixed up with another one is noticed. */
const longValue = (row: number): Buffer => Buffer.alloc(30_000_000, `${row}xy,`);

function hashOf(...parts: (string | Buffer)[]): string {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** The columns of a row of 13 MB that becomes 90 MB in a workbook, because its characters are escaped there. */
const wide = Array.from({ length: 400 }, (_, n) => `c${n}`);

suite('four exports at the same time', () => {
  let service: ChildWithDatabase;
  before(async () => {
    service = await startChildWithDatabase();
    await service.database.pool.query(
      `CREATE TABLE long (a text); INSERT INTO long SELECT repeat(n || 'xy,', 7500000) FROM generate_series(1, 2) AS n;
      CREATE TABLE wide (${wide.map((name) => `${name} text`).join(', ')});
      INSERT INTO wide SELECT ${wide.map(() => String.raw`repeat(E'\x01', 32000)`).join(', ')};
      GRANT SELECT ON long, wide TO PUBLIC`,
    );
  });
  after(() => service.stop('SIGTERM'));

  /** Starts an export, and returns it when its first bytes are here. */
  async function begun(subject: string, table: string, query: string) {
    const answer = await fetch(`${service.url}/api/v1/table/${table}/rows?format=${query}`, {
      headers: { authorization: `Bearer ${await service.token({ subject })}` },
    });
    assert.equal(answer.status, 200);
    const reader = answer.body!.getReader();
    const first = await reader.read();
    return async () => {
      const hash = createHash('sha1');
      let bytes = 0;
      for (let next = first; !next.done; next = await reader.read()) {
        hash.update(next.value);
        bytes += next.value.length;
      }
      return { hash: hash.digest('hex'), bytes };
    };
  }

  test('take little memory, although their clients wait within a long row', async (context) => {
    // What an export needs in any case.
    await (await begun('a', 'wide', 'csv'))();
    service.resetPeakMemory();
    const idle = service.peakMemoryBytes() ?? 0;
    const [csv, ndjson, json, xlsx] = await Promise.all([
      begun('a', 'long', 'csv'),
      begun('a', 'long', 'ndjson&limit=1'),
      begun('b', 'long', 'json&limit=1'),
      begun('b', 'wide', 'xlsx'),
    ]);
    const value = longValue(1);
    assert.equal((await csv()).hash, hashOf('a\n"', value, '"\n"', longValue(2), '"\n'));
    assert.equal((await ndjson()).hash, hashOf('{"a":"', value, '"}\n'));
    assert.equal((await json()).hash, hashOf('{"data":[\n{"a":"', value, '"}\n]}\n'));
    assert.ok((await xlsx()).bytes > 0);
    const taken = (service.peakMemoryBytes() ?? 0) - idle;
    context.diagnostic(`${Math.round(taken / mib)} MiB`);
    assert.ok(taken < 90 * mib, `the exports took ${taken / mib} MiB`);
  });

  const values: Record<string, string> = {
    text: `repeat('abc', 5000000)`,
    json: `to_json(repeat('abc', 5000000))`,
    xml: `repeat('abc', 5000000)::xml`,
  };
  for (const [type, value] of Object.entries(values)) {
    test(`PostgreSQL takes only several times the length of a row for four values of ${type}`, async (context) => {
      await service.database.pool.query(`DROP TABLE IF EXISTS four; CREATE TABLE four (a ${type}, b ${type}, c ${type}, d ${type});
        INSERT INTO four SELECT v, v, v, v FROM (SELECT ${value} AS v) AS v; GRANT SELECT ON four TO PUBLIC`);
      for (const format of ['ndjson', 'csv']) {
        const { result, backendBytes = 0 } = await withBackendMemory(service.database, async () =>
          (await begun('a', 'four', format))(),
        );
        context.diagnostic(`${format}: ${Math.round(backendBytes / mib)} MiB`);
        assert.ok(result.bytes > 60_000_000 && result.bytes < 60_000_100, `${result.bytes} bytes`);
        assert.ok(backendBytes < 400 * mib, `a backend held ${backendBytes / mib} MiB`);
      }
    });
  }

  const escaped = String.raw`repeat(E'\x01', 15000000)`;
  const others: Record<string, string> = {
    'text[]': `ARRAY[${escaped}]`,
    jsonb: `to_jsonb(${escaped})`,
    pair: `ROW(${escaped}, 'x')::pair`,
  };
  for (const [type, value] of Object.entries(others)) {
    test(`PostgreSQL does not write rows of ${type} that become much longer as JSON`, async (context) => {
      await service.database.pool.query(`DROP TYPE IF EXISTS pair CASCADE; CREATE TYPE pair AS (a text, b text);
        DROP TABLE IF EXISTS four; CREATE TABLE four (a ${type}, b ${type}, c ${type}, d ${type});
        INSERT INTO four SELECT v, v, v, v FROM (SELECT ${value} AS v) AS v; GRANT SELECT ON four TO PUBLIC`);
      const read = async (query: string) => {
        const { result, backendBytes = 0 } = await withBackendMemory(service.database, () =>
          service.request('GET', `/table/four/rows?${query}`),
        );
        context.diagnostic(`${query}: ${Math.round(backendBytes / mib)} MiB`);
        assert.ok(backendBytes < 480 * mib, `a backend held ${backendBytes / mib} MiB`);
        return result;
      };
      for (const format of ['ndjson', 'csv']) assert.equal((await read(`format=${format}`)).status, 413);
      const { status, body } = await read('limit=5');
      assert.equal(status, 200);
      assert.deepEqual(body.rows, [{ a: null, b: null, c: null, d: null }]);
    });
  }
});
