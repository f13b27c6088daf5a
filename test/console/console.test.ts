/** The files of the console over HTTP: what is served at `/`, with which policy, and how people sign in. test/matrix/console.matrix.ts uses the page in a browser. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join, posix } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { joinConsole } from '../../scripts/build/join-console.ts';
import { packConsole } from '../../src/service/http/console/pack-console.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

async function page(of: TestService = service) {
  const answer = await of.get('/', { token: null, headers: html });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { text: String(answer.body), headers: answer.headers };
}

function pathsIn(text: string): string[] {
  return [...text.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map(([, path]) => path!);
}

test('a browser gets the console at /, and other clients the list of guides', async () => {
  const { text, headers } = await page();
  assert.match(text, /<div id="page">/);
  assert.match(headers.get('vary')!, /\bAccept\b/);
  const other = await service.get('/', { token: null });
  assert.match(String(other.body), /^# Tablewright/);
});

test('the policy of the page allows no inline script, no eval and no other host', async () => {
  const { text, headers } = await page();
  const policy = headers.get('content-security-policy')!;
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /connect-src 'self'(;|$)/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|\son\w+=/);
});

test('every file of the page is served packed, and may be kept for ever', async () => {
  const paths = new Set(pathsIn((await page()).text));
  assert.ok(paths.size > 10);
  for (const path of paths) {
    const response = await fetch(`${service.url}${path}`, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get('cache-control')!, /immutable/);
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    const text = await response.text();
    const imports = [...text.matchAll(/^import\b[^'"]*['"]([^'"]+)['"]/gm)].map(([, name]) => name!);
    for (const name of imports) {
      assert.ok(paths.has(new URL(name, `${service.url}${path}`).pathname), `${path} imports ${name}`);
    }
  }
});

test('in the container image, 32 kB arrive before a file can be chosen, and the rest of the program comes after them', async () => {
  const { files, modules } = await joinConsole(await packConsole(join(import.meta.dirname, '..', '..')));
  const text = (path: string) => Buffer.from(files.get(path)!.bytes).toString();
  assert.ok(modules.includes('console/main.js') && !modules.includes('console/program.js'));
  const imported = modules.flatMap((path) =>
    [...text(path).matchAll(/(?:\bfrom|^import|;import)\s*["'`]\.\/([^"'`]+)/g)].map(
      ([, name]) => `console/${name}`,
    ),
  );
  assert.deepEqual(
    imported.filter((path) => !modules.includes(path)),
    [],
  );
  assert.match(text('console/main.js'), /\bimport\(["'`]\.\/program\.js["'`]\)/);
  const document = gzipSync((await page()).text.replaceAll(/^<link rel="modulepreload".*\n/gm, ''));
  const first = ['console/style.css', ...modules].map((path) => files.get(path)!.packed.length);
  const size = first.reduce((sum, one) => sum + one, document.length);
  assert.ok(size < 32_000, `${size} bytes: ${first}`);
  const all = [...files.values()].reduce((sum, { packed }) => sum + packed.length, 0);
  assert.ok(all < 110_000, `${all} bytes`);
});

test('the files that modules of the page name are served, also after the modules were joined', async () => {
  const packed = await packConsole(join(import.meta.dirname, '..', '..'));
  for (const { files } of [packed, await joinConsole(packed)]) {
    const named = [...files].flatMap(([path, { bytes }]) =>
      [
        ...Buffer.from(bytes)
          .toString()
          .matchAll(/new URL\(["'`]([^"'`]+)["'`],\s*import\.meta\.url\)/g),
      ].map(([, name]) => posix.join(posix.dirname(path), name!)),
    );
    assert.deepEqual(named, ['examples/visits.xlsx']);
    assert.ok(files.has(named[0]!));
  }
});

test('a client without gzip gets the same file', async () => {
  const path = pathsIn((await page()).text).find((one) => one.endsWith('main.js'))!;
  const asked = (encoding: string) =>
    service.request('GET', path, { token: null, headers: { 'accept-encoding': encoding } });
  const [plain, packed] = await Promise.all([asked('identity'), asked('gzip')]);
  assert.equal(plain.headers.get('content-encoding'), null);
  assert.equal(plain.body, packed.body);
});

test('an unchanged page is answered with 304, and a file of another version with 404', async () => {
  const { headers } = await page();
  const response = await fetch(service.url, {
    headers: { ...html, 'if-none-match': headers.get('etag')! },
  });
  assert.equal(response.status, 304);
  const old = await service.get('/console/0000000000000000/console/main.js', { token: null });
  assert.deepEqual([old.status, old.body.code], [404, 'path-not-found']);
  const outside = await service.get('/console/0000000000000000/..%2f..%2fpackage.json', { token: null });
  assert.equal(outside.status, 404);
});

test('the page knows which claims of a token contain its scopes', async () => {
  const claims = await startTestService({ TOKEN_SCOPE_CLAIM: '/resource_access/tablewright/roles scp' });
  try {
    const { text } = await page(claims);
    assert.match(
      text,
      /&quot;scopeClaims&quot;:\[&quot;\/resource_access\/tablewright\/roles&quot;,&quot;scp/,
    );
  } finally {
    await claims.stop();
  }
});

test('without the console browsers get the list of guides at /', async () => {
  const without = await startTestService({ CONSOLE: 'off' });
  try {
    assert.match((await page(without)).text, /<h1[^>]*>Tablewright/);
    const file = await without.get('/console/a/console/main.js', { token: null });
    assert.equal(file.status, 404);
  } finally {
    await without.stop();
  }
});

test('with CONSOLE_OIDC_CLIENT_ID the page knows the endpoints of the provider, and may call only its token endpoint', async () => {
  const provider = createServer((request, response) => {
    const issuer = `http://${request.headers.host}`;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        issuer,
        jwks_uri: `${issuer}/jwks`,
        keys: [],
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        end_session_endpoint: `${issuer}/end`,
      }),
    );
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const { port } = provider.address() as { port: number };
  const issuer = `http://127.0.0.1:${port}`;
  const withProvider = await startTestService({
    TOKEN_ISSUER: issuer,
    CONSOLE_OIDC_CLIENT_ID: 'tablewright-console',
  });
  try {
    const { text, headers } = await page(withProvider);
    assert.match(headers.get('content-security-policy')!, new RegExp(`connect-src 'self' ${issuer};`));
    assert.ok(text.includes(`&quot;tokenEndpoint&quot;:&quot;${issuer}/token&quot;`), text);
    assert.ok(text.includes(`&quot;endSessionEndpoint&quot;:&quot;${issuer}/end&quot;`), text);
  } finally {
    await withProvider.stop();
    provider.close();
  }
});

test('a console that signs in needs the URL of the provider', async () => {
  await assert.rejects(startTestService({ CONSOLE_OIDC_CLIENT_ID: 'a' }), /TOKEN_ISSUER must be the URL/);
});
