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

async function upload(table: string, body: string, query = ''): Promise<ThreadAnswer> {
  const url = new URL(`/api/v1/table/${table}/upload/json${query}`, service.url).href;
  return client.send({
    url,
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body,
  });
}
