/** A service below a path of its host (`BASE_PATH`), whether the proxy removes the path from requests or leaves it. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { withoutBasePath } from '../../src/service/http/wire/base-path.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ BASE_PATH: '/data/tables' });
});
after(() => service.stop());

const definition = { table: { columns: [{ name: 'a', type: 'integer' }] } };

for (const [what, prefix] of [
  ['without the path', ''],
  ['with the path', '/data/tables'],
] as const) {
  suite(`requests that arrive ${what}`, () => {
    const name = prefix === '' ? 'bare' : 'prefixed';

    test('are answered with addresses below the path', async () => {
      const created = await service.post(`${prefix}/api/v1/table/${name}`, definition);
      assert.equal(created.status, 201, JSON.stringify(created.body));
      assert.equal(created.headers.get('location'), `/data/tables/api/v1/table/${name}?schema=public`);
      const again = await service.post(`${prefix}/api/v1/table/${name}`, definition);
      assert.equal(again.body.type, '/data/tables/docs/errors/table-exists');
      assert.equal((await service.get(`${prefix}/docs/errors/table-exists`)).status, 200);
    });

    test('get pages whose links are below the path', async () => {
      for (const path of ['/', '/docs', '/docs/guides', '/docs/loading']) {
        const page = await service.get(prefix + path, { token: null, headers: { accept: 'text/html' } });
        assert.equal(page.status, 200, path);
        const links = [...String(page.body).matchAll(/\b(?:href|src)="(\/[^"]*)"/g)].map(([, link]) => link!);
        assert.ok(links.length > 1, path);
        for (const link of links) assert.match(link, /^\/data\/tables\//, path);
        for (const link of new Set(links)) {
          const { status } = await service.get(link, { token: null, headers: { accept: '*/*' } });
          assert.ok(status < 400, `${path}: ${link} is answered with ${status}`);
        }
      }
    });

    test('get an OpenAPI document whose server is the path', async () => {
      for (const path of ['/openapi.json', '/docs/json']) {
        const { body } = await service.get(prefix + path, { token: null });
        assert.deepEqual(
          body.servers.map(({ url }: { url: string }) => url),
          ['/data/tables'],
        );
        assert.doesNotMatch(JSON.stringify(body), /\]\(\/docs/);
      }
    });
  });
}

test('values of a table that look like addresses stay as they are', async () => {
  const data = [{ a: { type: '/docs/errors/x' }, b: '<a href="/x">' }];
  assert.equal((await service.post('/table/values/upload/json', { data })).status, 201);
  const { body } = await service.get('/table/values/rows');
  assert.deepEqual(body.rows, data);
});

test('a path that only begins like the base path is another path', () => {
  const paths = ['/data', '/data/', '/data?a=1', '/database', '/x'];
  assert.deepEqual(
    paths.map((url) => withoutBasePath({ url }, '/data')),
    ['/', '/', '/?a=1', '/database', '/x'],
  );
});
