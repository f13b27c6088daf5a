/** The console and the reference page below a path of nginx, in a real browser. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { noBrowser, startBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
const nginx = folders.map((folder) => join(folder, 'nginx')).find((path) => existsSync(path));
const skip = noBrowser ?? (nginx === undefined && 'this machine has no nginx');

describe('a service below a path of nginx', { skip }, () => {
  let service: TestService;
  let browser: Browser;
  let folder: string;
  let port: number;
  let proxy: ChildProcess;

  before(async () => {
    service = await startTestService({ BASE_PATH: '/tw' });
    folder = await mkdtemp(join(tmpdir(), 'tablewright-nginx-'));
    port = await freePort();
    await writeFile(join(folder, 'nginx.conf'), configuration(new URL(service.url).host));
    proxy = spawn(nginx!, ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], { stdio: 'inherit' });
    await until(
      'nginx',
      async () => (await fetch(`${base('/tw')}/healthz`).catch(() => undefined))?.ok === true,
    );
    browser = await startBrowser();
  });

  after(async () => {
    await browser?.close();
    if (proxy !== undefined) {
      proxy.kill('SIGTERM');
      await once(proxy, 'exit');
    }
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const base = (path: string) => `http://127.0.0.1:${port}${path}`;

  /** `/tw` is removed from requests. At the other address it is left, as with a proxy that only passes requests on. */
  function configuration(upstream: string): string {
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    return `daemon off; worker_processes 1; pid nginx.pid; ${process.geteuid?.() === 0 ? 'user root;' : ''}
events {}
http {
  access_log off;
  ${paths.map((name) => `${name}_temp_path ${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port};
    location /tw/ { proxy_pass http://${upstream}/; }
  }
  server {
    listen 127.0.0.2:${port};
    location /tw/ { proxy_pass http://${upstream}; }
  }
}
`;
  }

  for (const host of ['127.0.0.1', '127.0.0.2']) {
    test(`the console loads a file, and the reference page is shown, at ${host}`, async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      const failed: string[] = [];
      page.on('response', (answer) => {
        if (answer.status() >= 400) failed.push(`${answer.status()} ${answer.url()}`);
      });
      page.on('pageerror', (error) => failed.push(String(error)));
      const root = `http://${host}:${port}/tw`;
      const table = `below_${host.replaceAll('.', '_')}`;
      await page.goto(`${root}/#token=${await service.token()}`);
      await page.setInputFiles('#file', {
        name: `${table}.csv`,
        mimeType: 'text/csv',
        buffer: Buffer.from('a\n1\n'),
      });
      await page.waitForSelector('.head-cell');
      await page.click('#check');
      await page.waitForSelector('.check-step .notice.good');
      await page.click('#load');
      await page.waitForSelector('.numbers');
      assert.equal((await service.rows(`SELECT * FROM ${table}`)).length, 1);
      // The page asks for tables that do not exist yet.
      assert.deepEqual(
        failed.filter((line) => !line.startsWith('404') || !line.includes('/api/v1/table/')),
        [],
      );
      failed.length = 0;
      await page.goto(`${root}/docs`);
      await page.getByText('Upload Table From Json').first().waitFor();
      await page.getByText('/tw', { exact: false }).first().waitFor();
      await page.goto(`${root}/docs/guides`);
      await page.getByRole('main').getByRole('link', { name: 'API reference' }).click();
      await page.getByText('Upload Table From Json').first().waitFor();
      assert.deepEqual(failed, []);
      await context.close();
    });
  }

  test('a client follows Location and the type of an error', async () => {
    const answer = await fetch(`${base('/tw')}/api/v1/table/made`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await service.token()}`, 'content-type': 'application/json' },
      body: '{"table":{"columns":[{"name":"a","type":"int"}]}}',
    });
    const headers = { authorization: `Bearer ${await service.token()}` };
    const described = await fetch(new URL(answer.headers.get('location')!, answer.url), { headers });
    assert.deepEqual([answer.status, described.status], [201, 200]);
    const missing = await fetch(`${base('/tw')}/api/v1/table/nothing`, { headers });
    const { type } = (await missing.json()) as { type: string };
    assert.equal((await fetch(new URL(type, missing.url))).status, 200);
  });
});
