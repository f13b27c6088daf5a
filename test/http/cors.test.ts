/** The headers that browsers get for web pages of other origins, with and without `CORS_ORIGINS`. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

const page = 'https://app.example.com';
const upload = '/table/a/upload/json';

function preflight(service: TestService, origin: string, path = upload) {
  return service.request('OPTIONS', path, {
    token: null,
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });
}

function corsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}

for (const [title, setting, allowed, told] of [
  ['with a list of origins', `http://localhost:3000 ${page}`, page, page],
  ['with *', '*', 'null', '*'],
] as const) {
  suite(title, () => {
    let service: TestService;
    before(async () => {
      service = await startTestService({ CORS_ORIGINS: setting });
    });
    after(() => service.stop());

    test('a preflight request for an upload with a token is granted', async () => {
      const { status, headers, body } = await preflight(service, allowed);
      assert.equal(status, 204);
      assert.equal(body, '');
      assert.equal(headers.get('access-control-allow-origin'), told);
      assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, PATCH, DELETE');
      const sendable = headers.get('access-control-allow-headers')!.toLowerCase().split(', ');
      for (const name of ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'prefer'])
        assert(sendable.includes(name), name);
      assert.equal(headers.get('access-control-allow-credentials'), null);
      assert(Number(headers.get('access-control-max-age')) > 0);
    });

    test('a page may read a success, an error and the headers that it needs', async () => {
      const created = await service.post(
        '/table/a/upload/json',
        { data: [{ a: 1 }] },
        { headers: { origin: allowed } },
      );
      const refused = await service.post('/table/a/upload/json', '!', { headers: { origin: allowed } });
      const early = await service.post(
        '/nowhere',
        { data: 'x'.repeat(300_000) },
        { headers: { origin: allowed } },
      );
      assert.deepEqual([created.status, early.status], [201, 404]);
      for (const { headers } of [created, refused, early]) {
        assert.equal(headers.get('access-control-allow-origin'), told);
        const readable = headers.get('access-control-expose-headers')!.toLowerCase().split(', ');
        for (const name of [
          'load-id',
          'location',
          'preference-applied',
          'retry-after',
          'www-authenticate',
          'x-request-id',
        ])
          assert(readable.includes(name), name);
      }
      await service.rows('DROP TABLE a');
    });

    test('an OPTIONS request that is no preflight request is still answered with the methods of the path', async () => {
      const answer = await service.request('OPTIONS', '/table/a', { headers: { origin: allowed } });
      assert.equal(answer.status, 405);
      assert.match(answer.headers.get('allow')!, /POST/);
    });
  });
}

suite('with a list of origins', () => {
  test('another origin gets no CORS header, and caches may not share the answers', async () => {
    const service = await startTestService({ CORS_ORIGINS: page });
    try {
      for (const origin of [
        'https://other.example.com',
        `${page}:8443`,
        'null',
        page.replace('https', 'http'),
      ]) {
        const { status, headers } = await preflight(service, origin);
        assert.equal(status, 405, origin);
        assert.deepEqual(corsHeaders(headers), [], origin);
      }
      for (const origin of [page, 'https://other.example.com']) {
        const { headers } = await service.get('/healthz', { headers: { origin } });
        assert.match(headers.get('vary')!, /\bOrigin\b/);
      }
    } finally {
      await service.stop();
    }
  });
});

suite('without the setting', () => {
  test('no answer has a CORS header, and a preflight request is refused', async () => {
    const service = await startTestService();
    try {
      const refused = await preflight(service, page);
      assert.equal(refused.status, 405);
      const answered = await service.get('/healthz', { headers: { origin: page } });
      for (const { headers } of [refused, answered]) assert.deepEqual(corsHeaders(headers), []);
    } finally {
      await service.stop();
    }
  });
});
