/** Limits of requests in a minute: of token subjects, and of addresses that send no valid token. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SignJWT } from 'jose';
import { assertProblem } from '../support/problem.ts';
import { type RequestOptions, secret, startTestService, type TestService } from '../support/service.ts';

const forwardedFor = (address: string): RequestOptions => ({
  token: null,
  headers: { 'x-forwarded-for': address },
});

suite('requests of one token subject', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({
      MAX_REQUESTS_PER_MINUTE: '3',
      MAX_ANONYMOUS_REQUESTS_PER_MINUTE: '2',
    });
    await service.rows('CREATE TABLE kept (a int)');
  });
  after(() => service.stop());

  const get = (token: string) => service.get('/table/kept', { token });

  test('requests of one token subject are answered with 429 above the limit, for all tokens of the subject, and other subjects are served', async () => {
    const tokens = [
      await service.token({ subject: 'a' }),
      await service.token({ subject: 'a', scope: 'table:read' }),
    ];
    for (const left of [2, 1, 0]) {
      const { status, headers } = await get(tokens[left % 2]!);
      assert.equal(status, 200);
      assert.equal(headers.get('ratelimit-policy'), '"requests";q=3;w=60');
      assert.match(headers.get('ratelimit')!, new RegExp(`^"requests";r=${left};t=([1-9]|[1-5]\\d|60)$`));
    }
    const refused = await get(tokens[0]!);
    assert.match(
      assertProblem(refused, 429, 'too-many-requests').detail,
      /3 requests \(MAX_REQUESTS_PER_MINUTE\)/,
    );
    const seconds = Number(refused.headers.get('retry-after'));
    assert(seconds >= 1 && seconds <= 60);
    assert.equal(refused.headers.get('ratelimit'), `"requests";r=0;t=${seconds}`);
    assert.equal((await get(await service.token({ subject: 'b' }))).status, 200);
  });

  test('requests of one token subject are counted if they are refused, and refused requests also show what is left', async () => {
    const token = await service.token({ subject: 'c', scope: 'table:read' });
    const missing = await service.get('/table/missing', { token });
    assert.equal(missing.status, 404);
    assert.match(missing.headers.get('ratelimit')!, /^"requests";r=2;/);
    const forbidden = await service.post('/table/new', {}, { token });
    assert.equal(forbidden.status, 403);
    assert.match(forbidden.headers.get('ratelimit')!, /^"requests";r=1;/);
  });

  test('a token without a subject is counted by itself, however the header is written', async () => {
    const sign = (id: string) =>
      new SignJWT({ scope: 'table:read' })
        .setProtectedHeader({ alg: 'HS256' })
        .setJti(id)
        .setExpirationTime('1h')
        .sign(Buffer.from(secret));
    const [first, second] = [await sign('1'), await sign('2')];
    const statuses = [];
    for (const prefix of ['', 'Bearer ', ' ', '']) {
      statuses.push((await get(`${prefix}${first}`)).status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 429]);
    assert.equal((await get(second)).status, 200);
  });

  test('requests of one token subject are served while others at the same address send requests without a valid token', async () => {
    const invalid = await service.token({ ttlSeconds: -86_400 });
    const refused = [
      await service.get('/table/kept', { token: null }),
      await get(invalid),
      await get(invalid),
      await service.get('/api/v1/nothing'),
      await service.get('/openapi.json', { token: null }),
    ];
    assert.deepEqual(
      refused.map(({ status }) => status),
      [401, 401, 429, 429, 429],
    );
    assert.equal(refused[0]!.headers.get('ratelimit-policy'), '"anonymous-requests";q=2;w=60');
    assert.match(refused[1]!.headers.get('ratelimit')!, /^"anonymous-requests";r=0;t=/);
    assert.match(
      assertProblem(refused[2]!, 429, 'too-many-requests').detail,
      /2 requests \(MAX_ANONYMOUS_REQUESTS_PER_MINUTE\)/,
    );
    assert.equal((await get(await service.token({ subject: 'd' }))).status, 200);
    for (const path of ['/healthz', '/readyz'])
      assert.equal((await service.get(path, { token: null })).status, 200);
  });
});

suite('requests without a token', () => {
  test('the files of the console do not count, and the page itself does', async () => {
    const service = await startTestService({ MAX_ANONYMOUS_REQUESTS_PER_MINUTE: '1' });
    try {
      const page = () => fetch(service.url, { headers: { accept: 'text/html' } });
      const [file] = /\/console\/[^"]+\/main\.js/.exec(await (await page()).text())!;
      for (let time = 0; time < 3; time++) assert.equal((await fetch(service.url + file)).status, 200);
      assert.equal((await page()).status, 429);
    } finally {
      await service.stop();
    }
  });

  /** Sends a request for each address and returns the statuses. */
  async function statusesOf(trustProxy: string | undefined, requests: RequestOptions[]): Promise<number[]> {
    const service = await startTestService({
      MAX_ANONYMOUS_REQUESTS_PER_MINUTE: '1',
      ...(trustProxy && { TRUST_PROXY: trustProxy }),
    });
    try {
      const statuses = [];
      for (const request of requests) statuses.push((await service.get('/table/kept', request)).status);
      return statuses;
    } finally {
      await service.stop();
    }
  }

  test('requests without a token are counted by the address of the connection, whatever the headers say, unless a proxy is trusted', async () => {
    const requests = [forwardedFor('192.0.2.1'), forwardedFor('192.0.2.2')];
    assert.deepEqual(await statusesOf(undefined, requests), [401, 429]);
  });

  test('behind trusted proxies are counted by the address that the nearest proxy names', async () => {
    const requests = [
      forwardedFor('192.0.2.1'),
      forwardedFor('192.0.2.2'),
      // What a client writes into the header itself does not count.
      forwardedFor('198.51.100.7, 192.0.2.2'),
      { token: null, headers: { forwarded: 'for="[2001:db8:0:1::1]:4711";proto=https' } },
      // A household has one network of this size.
      { token: null, headers: { forwarded: 'for="[2001:db8:0:1:2::2]"' } },
      // Nobody can tell which of two headers a client has written.
      { token: null, headers: { forwarded: 'for=192.0.2.9', 'x-forwarded-for': '192.0.2.10' } },
      { token: null, headers: { forwarded: 'for=192.0.2.11', 'x-forwarded-for': '192.0.2.12' } },
    ];
    const expected = [401, 401, 429, 401, 429, 401, 429];
    assert.deepEqual(await statusesOf('1', requests), expected);
    assert.deepEqual(await statusesOf('127.0.0.0/8 ::1', requests), expected);
  });

  test('requests without a token are counted by the nearest address that is not a trusted proxy', async () => {
    const requests = [forwardedFor('192.0.2.1, 10.0.0.1'), forwardedFor('192.0.2.2, 10.0.0.1')];
    assert.deepEqual(await statusesOf('127.0.0.1 10.0.0.0/8', requests), [401, 401]);
    assert.deepEqual(await statusesOf('2', requests), [401, 401]);
    assert.deepEqual(await statusesOf('127.0.0.1', requests), [401, 429]);
    assert.deepEqual(await statusesOf('1', requests), [401, 429]);
  });
});
