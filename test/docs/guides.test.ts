/** The pages for people: the start page, the guides and the errors, as HTML and as Markdown. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { errorCatalogue } from '../../src/core/errors.ts';
import { guides } from '../../src/service/http/openapi/guides.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  // The console replaces the list of guides for browsers: console.test.ts.
  service = await startTestService({ CONSOLE: 'off' });
});

after(() => service.stop());

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

function asBrowser(path: string) {
  return service.get(path, { token: null, headers: { accept: browser } });
}

const paths = [
  '/',
  '/docs/guides',
  ...guides.map(({ name }) => `/docs/${name}`),
  ...Object.keys(errorCatalogue).map((code) => `/docs/errors/${code}`),
];

test('every guide that README lists is served', () => {
  const readme = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
  const listed = [...readme.matchAll(/\]\(docs\/([a-z-]+)\.md\)/g)].map((match) => match[1]!);
  const served = new Set(guides.map(({ name }) => name));
  assert.ok(listed.length > 5);
  assert.deepEqual(
    listed.filter((name) => !served.has(name)),
    [],
  );
});

test('every page is HTML for a browser, and Markdown for others', async () => {
  for (const path of paths) {
    const html = await asBrowser(path);
    assert.equal(html.status, 200, path);
    assert.equal(html.headers.get('content-type'), 'text/html; charset=utf-8', path);
    assert.match(html.body, /<h[12] id="/, path);
    const markdown = await service.get(path, { token: null });
    assert.equal(markdown.headers.get('content-type'), 'text/markdown; charset=utf-8', path);
    assert.match(markdown.body, /^##? /, path);
    for (const { headers } of [html, markdown]) assert.match(headers.get('vary')!, /\bAccept\b/);
  }
});

test('every link of every page has an existing page and place as its target', async () => {
  const seen = new Map<string, string>();
  const pageAt = async (path: string): Promise<string> => {
    const page = seen.get(path) ?? (await asBrowser(path));
    if (typeof page !== 'string') assert.equal(page.status, 200, path);
    const body = typeof page === 'string' ? page : String(page.body);
    seen.set(path, body);
    return body;
  };
  let count = 0;
  for (const path of paths) {
    for (const [, href] of (await pageAt(path)).matchAll(/<a href="([^"]+)"/g)) {
      if (/^https?:/.test(href!)) continue;
      const { pathname, hash } = new URL(href!, `${service.url}${path}`);
      const target = await pageAt(pathname);
      if (hash !== '') {
        assert(target.includes(`id="${decodeURIComponent(hash.slice(1))}"`), `${path} links to ${href}`);
      }
      count += 1;
    }
  }
  assert(count > 200);
});

test('a page has no script and loads only the style sheet of the service', async () => {
  for (const path of paths) {
    const { body, headers } = await asBrowser(path);
    assert.doesNotMatch(body, /<script|<img|<iframe|<[^>]*\son[a-z]+=/i, path);
    const loaded = [...body.matchAll(/<link [^>]*href="([^"]+)"/g)].map((match: string[]) => match[1]);
    assert.deepEqual(loaded, ['data:,', '/docs/guides.css'], path);
    assert.match(headers.get('content-security-policy')!, /default-src 'self'/);
  }
  const css = await service.get('/docs/guides.css', { token: null });
  assert.equal(css.headers.get('content-type'), 'text/css; charset=utf-8');
  assert.doesNotMatch(css.body, /url\(|@import/);
});

test('a guide as Markdown is the file of docs/', async () => {
  for (const { name } of guides) {
    const { body } = await service.get(`/docs/${name}.md`, { token: null });
    assert.equal(body, readFileSync(join(import.meta.dirname, '..', '..', 'docs', `${name}.md`), 'utf8'));
  }
});

test('/docs/errors lists every code, each with a link to its page', async () => {
  const { body } = await asBrowser('/docs/errors');
  for (const code of Object.keys(errorCatalogue)) {
    assert(body.includes(`<a href="/docs/errors/${code}"><code>${code}</code></a>`), code);
  }
});

test('text that looks like HTML in a guide is shown as text', async () => {
  const { body } = await asBrowser('/docs/errors');
  assert.match(body, /\/docs\/errors\/&lt;code(&gt;|>)/);
});

test('the reference page and the start page have links to the guides', async () => {
  const { body: document } = await service.get('/openapi.json', { token: null });
  const { body: start } = await service.get('/', { token: null });
  for (const { name } of guides) {
    for (const text of [document.info.description, start]) assert(text.includes(`](/docs/${name})`), name);
  }
  assert(start.includes('](/docs)'));
});
