/** The first step of the console in a real browser: pasted cells and texts, links, the example, and several files. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { joinConsole } from '../../scripts/build/join-console.ts';
import { packConsole } from '../../src/service/http/console/pack-console.ts';
import { allScopes } from '../../src/service/start/dev-token.ts';
import { noBrowser } from '../support/browser.ts';
import { check, consoleInBrowser, load, press } from '../support/console-in-browser.ts';
import { isAccessible } from '../support/console-page.ts';
import { allowsFileServer, type FileServer, linkSecret, startFileServer } from '../support/file-server.ts';

describe('the first step of the console', { skip: noBrowser }, () => {
  const service = consoleInBrowser(allowsFileServer);
  let files: FileServer;
  before(async () => {
    files = await startFileServer();
  });
  after(() => files?.close());

  /** Copies a text, and pastes it as a person does. */
  async function paste(page: Page, context: BrowserContext, text: string): Promise<void> {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await page.keyboard.press('Control+V');
  }

  const titleOf = (page: Page) => page.locator('.columns-step h1').innerText();

  describe('before the whole program of the page has arrived', () => {
    /** Opens the page in a window in which the rest of the program waits. @param url with or without a token */
    async function inSlowPage(
      url: string,
      work: (page: Page, arrive: () => void) => Promise<void>,
    ): Promise<void> {
      const context = await service.browser.newContext({ reducedMotion: 'reduce' });
      const page = await context.newPage();
      let arrive = (): void => {};
      const arrived = new Promise<void>((resolve) => (arrive = resolve));
      await page.route('**/console/program.js', async (route) => {
        await arrived;
        await route.continue().catch(() => {});
      });
      try {
        await page.goto(url, { waitUntil: 'commit' });
        await work(page, arrive);
      } finally {
        await context.close();
      }
    }

    const csv = (name: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from('a;b\n1;x\n') });

    test('a file that is chosen is read as soon as it has, and the place for it stays the same element', async () => {
      const linked = `${service.url}/#token=${await service.client.token()}`;
      await inSlowPage(linked, async (page, arrive) => {
        await page.waitForSelector('.drop');
        await isAccessible(page, 'start');
        // The dialog of the browser may be open while the program arrives.
        await page.evaluate("document.querySelector('#file').isFirst = true");
        const chooser = page.waitForEvent('filechooser');
        await page.click('.drop');
        const { setFiles } = await chooser.then((dialog) => ({ setFiles: dialog.setFiles.bind(dialog) }));
        await setFiles(csv('early.csv'));
        await page.getByText('early.csv is chosen.').waitFor();
        await page.route('**/inspect/*', () => {});
        arrive();
        await page.getByText('Sign out').waitFor();
        assert.equal(await page.evaluate("document.querySelector('#file').isFirst"), true);
        await page.unroute('**/inspect/*');
      });
      await inSlowPage(linked, async (page, arrive) => {
        await page.waitForSelector('.drop');
        await page.setInputFiles('#file', csv('early.csv'));
        arrive();
        await page.waitForSelector('.columns-step .grid-row');
        assert.equal(await titleOf(page), 'early.csv');
        assert.equal(await page.getByText('is still being loaded').count(), 0);
      });
    });

    test('a file that is dropped or pasted beside the place is taken', async () => {
      const linked = `${service.url}/#token=${await service.client.token()}`;
      await inSlowPage(linked, async (page, arrive) => {
        await page.waitForSelector('.drop');
        await page.evaluate(`{
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(['a;b\\n1;x\\n'], 'beside.csv'));
          document.querySelector('main').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
        }`);
        arrive();
        await page.waitForSelector('.columns-step .grid-row');
        assert.equal(await titleOf(page), 'beside.csv');
      });
    });

    test('without a token the page asks for one, and keeps a file whose token was refused', async () => {
      await inSlowPage(service.url, async (page, arrive) => {
        await page.getByLabel('Access token').fill(await service.client.token());
        await press(page, 'Sign in');
        arrive();
        await page.waitForSelector('.drop');
      });
      await inSlowPage(`${service.url}/#token=wrong`, async (page, arrive) => {
        await page.waitForSelector('.drop');
        await page.setInputFiles('#file', csv('kept.csv'));
        arrive();
        await page.getByText('kept.csv and your choices are kept.').waitFor();
        await page.getByLabel('Access token').fill(await service.client.token());
        await press(page, 'Sign in');
        await page.waitForSelector('.columns-step .grid-row');
        assert.equal(await titleOf(page), 'kept.csv');
      });
    });

    test('a page whose program does not arrive says so', () =>
      inSlowPage(`${service.url}/#token=any`, async (page) => {
        await page.waitForSelector('.drop');
        await page.route('**/console/program.js', (route) => route.abort());
        await page.reload();
        await page.getByText('A part of this page did not arrive.').waitFor();
      }));
  });

  test('the joined files of the container image work as the page', async () => {
    const joined = await joinConsole(await packConsole(join(import.meta.dirname, '..', '..')));
    const context = await service.browser.newContext();
    const page = await context.newPage();
    const asked = new Set<string>();
    await page.route('**/console/*/**/*.js', (route) => {
      const [, path] = /\/console\/[^/]+\/(.+)$/.exec(route.request().url())!;
      const file = joined.files.get(path!);
      if (file === undefined) return route.abort();
      asked.add(path!);
      return route.fulfill({ contentType: file.type, body: Buffer.from(file.bytes) });
    });
    await page.goto(`${service.url}/#token=${await service.client.token()}`);
    await press(page, 'Try an example');
    await page.waitForSelector('.columns-step .grid-row');
    assert.equal(await titleOf(page), 'visits.xlsx');
    assert.equal(asked.size, joined.modules.length + 1);
    await context.close();
  });

  test('pasted cells are loaded like a file, with their tabs, line breaks and leading zeros', () =>
    service.inPage(async (page, context) => {
      await paste(page, context, 'article\tean\ttext\r\n1\t0012\t"two\nlines"\r\n2\t0013\tb\r\n');
      await page.waitForSelector('.columns-step .grid-row');
      assert.equal(await titleOf(page), 'pasted.tsv');
      await check(page);
      await load(page);
      assert.deepEqual(await service.rows('SELECT * FROM pasted ORDER BY article'), [
        { article: '1', ean: '0012', text: 'two\nlines' },
        { article: '2', ean: '0013', text: 'b' },
      ]);
    }));

  test('a pasted text is read as what it is, and a text that is pasted into a field stays there', () =>
    service.inPage(async (page, context) => {
      for (const [text, name] of [
        ['a;b\n1;2\n', 'pasted.csv'],
        ['[{"a": 1}]', 'pasted.json'],
        ['{"a": 1}\n{"a": 2}\n', 'pasted.ndjson'],
      ] as const) {
        await paste(page, context, text);
        await page.waitForSelector('.columns-step .grid-row');
        assert.equal(await titleOf(page), name);
        await press(page, 'Choose another file');
        await page.waitForSelector('.file-step');
      }
      await page.locator('input[name=link]').focus();
      await paste(page, context, 'a\tb');
      assert.equal(await page.locator('input[name=link]').inputValue(), 'a\tb');
      assert.equal(await page.locator('.columns-step').count(), 0);
    }));

  test('a link is checked and loaded, and is in no address and no request but the forms', () =>
    service.inPage(async (page, context) => {
      files.files['/shop/orders.csv'] = 'id,name\n1,one\n2,two\n';
      const urls: string[] = [];
      context.on('request', (request) => urls.push(request.url()));
      await page.locator('input[name=link]').fill(files.link('/shop/orders.csv'));
      await press(page, 'Fetch');
      await page.waitForSelector('.columns-step .grid-row');
      assert.equal(await titleOf(page), 'orders.csv');
      await isAccessible(page, 'columns of a link');
      await press(page, 'curl');
      await page.locator('dialog pre', { hasText: `-F 'source={"from_url":"http` }).waitFor();
      await page.keyboard.press('Escape');
      await check(page);
      await load(page);
      assert.equal((await service.rows('SELECT * FROM orders')).length, 2);
      assert(urls.length > 3);
      assert.doesNotMatch(urls.join() + page.url(), new RegExp(linkSecret));
      const stored = await page.evaluate<string>(
        'JSON.stringify([{ ...sessionStorage }, { ...localStorage }])',
      );
      assert.doesNotMatch(stored, new RegExp(linkSecret));
    }));

  test('a file of a link is fetched again when its settings are undone', () =>
    service.inPage(async (page) => {
      files.files['/shop/again.csv'] = 'id,name\n1,one\n';
      await service.rows('CREATE TABLE again (id bigint, name text)');
      const fetchLink = async () => {
        await page.locator('input[name=link]').fill(files.link('/shop/again.csv'));
        await press(page, 'Fetch');
        await page.waitForSelector('.columns-step .grid-row');
      };
      await fetchLink();
      await page.locator('select[name=if_exists]').selectOption('append');
      await check(page);
      await load(page);
      await press(page, 'Load another file');
      await fetchLink();
      await press(page, 'Undo: do not use these settings');
      await page.getByText('Choose what happens to the existing table.').waitFor();
      assert.equal(await titleOf(page), 'again.csv');
    }));

  test('a pasted link is fetched, and a link that fails says why and can be tried again', () =>
    service.inPage(async (page, context) => {
      await paste(page, context, files.link('/shop/later.csv'));
      await page.getByText('answers 404').waitFor();
      files.files['/shop/later.csv'] = 'a\n1\n';
      await press(page, 'Try again');
      await page.waitForSelector('.columns-step .grid-row');
      assert.equal(await titleOf(page), 'later.csv');
    }));

  test('without its scope there is no field for a link', async () => {
    const scope = allScopes.replace('load:from-url', '');
    await service.inPage(
      async (page) => {
        await page.getByRole('button', { name: 'Try an example' }).waitFor();
        assert.equal(await page.locator('input[name=link]').count(), 0);
      },
      { scope },
    );
  });

  test('the example is read with its header', () =>
    service.inPage(async (page) => {
      await press(page, 'Try an example');
      await page.waitForSelector('.columns-step .grid-row');
      assert.equal(await titleOf(page), 'visits.xlsx');
      await page.getByText('Site no').first().waitFor();
    }));

  test('of several files that are dropped for a chosen table the first one is taken, and the page names the others', () =>
    service.inPage(async (page) => {
      await service.rows('CREATE TABLE chosen (a bigint)');
      await page.goto(`${service.url}/#/tables/public/chosen`);
      await press(page, 'Load a file into it');
      await page.waitForSelector('.file-step .drop');
      await page.evaluate(`{
        const dataTransfer = new DataTransfer();
        for (const name of ['one.csv', 'two.csv', 'three.csv'])
          dataTransfer.items.add(new File(['a\\n1\\n'], name));
        const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector('.file-step .drop').dispatchEvent(event);
      }`);
      await page.waitForSelector('.columns-step .grid-row');
      assert.equal(await titleOf(page), 'one.csv');
      const notice = page.locator('.notice', { hasText: 'was taken' });
      assert.match(await notice.innerText(), /one\.csv was taken\. Not taken: two\.csv, three\.csv\./);
      await isAccessible(page, 'several files');
      await press(page, 'Choose another file');
      await page.waitForSelector('.file-step');
      assert.equal(await notice.count(), 0);
    }));

  test('a file that is dropped beside the place is taken, also after a load that has loaded all rows', () =>
    service.inPage(async (page) => {
      const drop = (name: string): Promise<void> =>
        page.evaluate(`{
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(['Report\\n\\na;b\\n1;x\\n2;y\\n3;z\\n'], '${name}'));
          const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
          document.querySelector('main').dispatchEvent(event);
        }`);
      await drop('beside.csv');
      await page.waitForSelector('.columns-step .grid-row');
      await drop('not taken.csv');
      await page.getByText('Checked: 3 rows would be added to public.beside.').waitFor();
      assert.equal(await titleOf(page), 'beside.csv');
      await load(page);
      await page.locator('p.decision', { hasText: 'The file was read with semicolons' }).waitFor();
      assert.equal(await page.locator('.notice.warn').count(), 0);
      await drop('next.csv');
      await page.waitForSelector('.columns-step .grid-row');
      assert.equal(await titleOf(page), 'next.csv');
    }));

  test('the first step is accessible and as wide as the steps above it, in every window', async () => {
    for (const width of [360, 1280, 3840]) {
      await service.inPage(
        async (page) => {
          await isAccessible(page, `file at ${width} px`);
          const leftOf = async (selector: string) => (await page.locator(selector).first().boundingBox())!.x;
          assert.equal(await leftOf('.file-step h1'), await leftOf('.steps'));
          assert(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
        },
        { viewport: { width, height: 900 } },
      );
    }
  });
});
