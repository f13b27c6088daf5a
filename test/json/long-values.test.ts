/**
 * JSON values of up to 16 MB in one cell, each made so that one of the checks takes as long as possible. The service checks them in
 * turns: no other request waits for one of them for long. The service is in this process, and the client in a thread of its own.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertShortSteps, measureSteps } from '../support/event-loop.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { startThreadClient, type ThreadAnswer, type ThreadClient } from '../support/thread-client.ts';

let service: TestService;
let client: ThreadClient;
let authorization: string;

before(async () => {
  service = await startTestService();
  client = startThreadClient();
  authorization = `Bearer ${await service.token()}`;
  // What is slow in a new process is done here.
  const warm = arrayOf('{"a":1},', 1_000_000);
  await upload('warm', `{"data":[{"a":${warm}}]}`);
});
after(async () => {
  await client.end();
  await service.stop();
});

const mostBytes = 15_900_000;

function arrayOf(part: string, length = mostBytes): string {
  return `[${part.repeat(length / part.length)}1]`;
}

/** An object of so many keys, in an order that costs PostgreSQL no time. */
function objectOf(keys: number, last = ''): string {
  const members = Array.from({ length: keys }, (_, index) => `"${1_000_000 + index}":1`);
  return `{${members.join()}${last}}`;
}

interface LongValue {
  status: number;
  value: string;
  query?: string;
  /** A part of the answer. */
  says?: RegExp;
}

const values: Record<string, () => LongValue> = {
  'an object of a million keys': () => ({ status: 201, value: objectOf(1_000_000) }),
  'an object whose last key is repeated': () => ({
    status: 201,
    value: objectOf(1_000_000, ',"1000000":2'),
    says: /"type":"json"/,
  }),
  'an array of numbers': () => ({ status: 422, value: arrayOf('1,'), says: /too-complex/ }),
  'white space': () => ({ status: 201, value: arrayOf(' '), says: /"type":"jsonb"/ }),
  'an array that becomes a column': () => ({
    status: 201,
    value: `{"b":${arrayOf(`"${'x'.repeat(50)}",`)}}`,
    query: '?flatten=true',
    says: /"name":"a_b","type":"jsonb"/,
  }),
  'many shorter arrays that become columns': () => {
    const array = arrayOf(`"${'x'.repeat(50)}",`, 250_000);
    const members = Array.from({ length: 60 }, (_, index) => `"k${index}":${array}`);
    return {
      status: 201,
      value: `{${members}}`,
      query: '?flatten=true',
      says: /"name":"a_k9","type":"jsonb"/,
    };
  },
  'many short members of objects that become columns': () => ({
    status: 422,
    value: `{"b":{"c":1${',"c":{"d":"e"}'.repeat(1_000_000)}}}`,
    query: '?flatten=true',
    says: /"code":"repeated-key"/,
  }),
};

suite('a long value takes no long turn, and is stored or refused as a short one', () => {
  for (const [what, makeValue] of Object.entries(values)) {
    test(what, async (context) => {
      const { status, value, query = '', says = /./ } = makeValue();
      const name = `t${Object.keys(values).indexOf(what)}`;
      let answer: ThreadAnswer | undefined;
      const steps = await measureSteps(async () => {
        answer = await upload(name, `{"data":[{"a":${value}}]}`, query);
      });
      const { longestMs, totalMs } = steps;
      context.diagnostic(`${totalMs.toFixed(0)} ms, the longest step ${longestMs.toFixed(0)} ms`);
      assert.equal(answer!.status, status, answer!.text);
      assert.match(answer!.text, says);
      assertShortSteps(steps);
    });
  }
});

test('long values are stored as they were sent, however the rows are read', async () => {
  const long = arrayOf('{"k": "é"}, ', 400_000);
  // The last row changes the type of "id" after a long value has been loaded.
  const data = `[{"id":1,"a":[]},{"id":2,"a":${long}},{"id":3,"a":${long}},{"id":"x","a":{"b":1}}]`;
  const ways = [
    { query: '', column: 'a', patch: '[]' },
    { query: '?rename=a:c', column: 'c', patch: '[]' },
    { query: '?values=natural&null_values=none', column: 'a', patch: '[]' },
    { query: '', column: 'a', patch: '[{"row":3,"column":"a","value":7}]' },
  ];
  for (const [index, { query, column, patch }] of ways.entries()) {
    const answer = await upload(`way${index}`, `{"patch":${patch},"data":${data}}`, query);
    assert.equal(answer.status, 201, answer.text);
    const stored = await service.rows(
      `SELECT ${column}::jsonb = '${long}'::jsonb AS is_long FROM way${index} ORDER BY id`,
    );
    const isLong = [false, true, patch === '[]', false];
    assert.deepEqual(
      stored.map(({ is_long }) => is_long),
      isLong,
      query + patch,
    );
  }
  const flat = await upload(
    'flat',
    `{"data":[{"a":null,"c":{"d":${long},"e":1}},{"a":${long}}]}`,
    '?flatten=true',
  );
  assert.equal(flat.status, 201, flat.text);
  const is = (name: string) => `${name} = '${long}'::jsonb AS ${name}`;
  assert.deepEqual(await service.rows(`SELECT ${is('a')}, ${is('c_d')}, c_e FROM flat ORDER BY c_e`), [
    { a: null, c_d: true, c_e: '1' },
    { a: true, c_d: null, c_e: null },
  ]);
});

async function upload(table: string, body: string, query = ''): Promise<ThreadAnswer> {
  const url = new URL(`/api/v1/table/${table}/upload/json${query}`, service.url).href;
  return client.send({
    url,
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body,
  });
}
