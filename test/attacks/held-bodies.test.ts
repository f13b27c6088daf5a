/** Many clients that send most of a definition or a plan and then wait. The service holds these bodies in memory. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import { openSocket, parseAnswer, untilRead } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

const clients = 300;
/** 31 of 32 places for one subject, and 100 that wait. */
const kept = 131;

let service: ChildWithDatabase;
before(async () => {
  service = await startChildWithDatabase();
});
after(async () => {
  await service?.stop('SIGKILL');
});

const form = `multipart/form-data; boundary=b`;
const part = '--b\r\nContent-Disposition: form-data; name="plan"\r\n\r\n';

const held = [
  ['a definition', 'POST /api/v1/table/held', 'application/json', ''],
  ['a definition that changes a table', 'PUT /api/v1/table/held', 'application/json', ''],
  ['a profile', 'PUT /api/v1/profiles/held', 'application/json', ''],
  ['a plan', 'POST /api/v1/loads', form, part],
] as const;

suite('clients that do not end their bodies take little memory, and others are served', () => {
  for (const [what, line, type, beginning] of held) {
    test(what, async (context) => {
      const token = await service.token({ subject: 'hostile' });
      const head = `${line} HTTP/1.1\r\nHost: test\r\nContent-Type: ${type}\r\nAuthorization: Bearer ${token}\r\nContent-Length: 1048576\r\n\r\n${beginning}`;
      service.resetPeakMemory();
      const before = service.peakMemoryBytes() ?? 0;
      let refused = 0;
      const sockets: Socket[] = [];
      for (let n = 0; n < clients; n++) {
        const socket = await openSocket(service.url);
        sockets.push(socket);
        socket.on('error', () => {});
        socket.once('data', (answer: Buffer) => {
          assert.match(answer.toString(), /^HTTP\/1.1 4(29|08) /);
          refused++;
        });
        socket.write(head + ' '.repeat(900_000));
      }
      await until('the refusals', () => refused >= clients - kept);
      const grown = (service.peakMemoryBytes() ?? 0) - before;
      context.diagnostic(`${Math.round(grown / 2 ** 20)} MiB`);
      assert.ok(grown < 200 * 2 ** 20, `${grown} bytes`);
      const answer = await service.request('POST', '/api/v1/table/large?if_not_exists=true', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ table: { columns: [{ name: 'a', type: 'int' }] } }) + ' '.repeat(100_000),
      });
      assert.match(String(answer.status), /^20[01]$/, JSON.stringify(answer.body));
      for (const socket of sockets) socket.destroy();
    });
  }
});

suite('two subjects that hold all places', () => {
  for (const [what, line, type, beginning] of [held[0], held[3]]) {
    test(`with ${what} lose one to a third subject, and are told that they are limited`, async () => {
      const sockets: Socket[] = [];
      const answers: string[] = [];
      for (const subject of ['one', 'other']) {
        const token = await service.token({ subject });
        const head = `${line} HTTP/1.1\r\nHost: test\r\nContent-Type: ${type}\r\nAuthorization: Bearer ${token}\r\nContent-Length: 1048576\r\n\r\n${beginning}`;
        for (let n = 0; n < 31; n++) {
          const socket = await openSocket(service.url);
          sockets.push(socket);
          socket.on('error', () => {});
          socket.once('data', (answer: Buffer) => answers.push(answer.toString()));
          socket.write(head + ' '.repeat(100_000));
          await untilRead(socket);
        }
      }
      const answer = await service.request('POST', '/api/v1/table/third?if_not_exists=true', {
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${await service.token({ subject: 'third' })}`,
        },
        body: JSON.stringify({ table: { columns: [{ name: 'a', type: 'int' }] } }) + ' '.repeat(100_000),
      });
      assert.match(String(answer.status), /^20[01]$/, JSON.stringify(answer.body));
      await until('the answer to the displaced body', () => answers.length > 0);
      const displaced = answers.filter((text) => text.includes('for a place'));
      assert.ok(displaced.length > 0, answers.join('\n'));
      for (const text of displaced) assertProblem(parseAnswer(text), 429, 'too-many-requests');
      for (const socket of sockets) socket.destroy();
    });
  }
});
