/** The service fetches the file of an upload or an inspection from a link. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { allScopes } from '../../src/service/start/dev-token.ts';
import { allowsFileServer, type FileServer, formOfLink, startFileServer } from '../support/file-server.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { fileUploader, warningsOf } from '../support/uploads.ts';

let service: TestService;
let files: FileServer;
before(async () => {
  files = await startFileServer();
  service = await startTestService(allowsFileServer);
});
after(async () => {
  await service.stop();
  files.close();
});

const csv = 'id,name\n1,one\n2,two\n';

function send(
  table: string,
  form: FormData,
  query = '',
  headers: Record<string, string> = {},
  token?: string,
) {
  const path = `/table/${table}/upload/excel${query}`;
  return service.request('POST', path, { body: form, headers, ...(token && { token }) });
}

const later = (key: string) => ({ prefer: 'respond-async', 'idempotency-key': key });

async function ended(id: string) {
  const find = async () => (await service.get(`/api/v1/loads/${id}`)).body;
  await until('the end of the load', async () => !['queued', 'running'].includes((await find()).state));
  return find();
}

suite('a link', () => {
  test('a link is loaded like a file, with its name and its bytes', async () => {
    files.files['/a/orders.csv'] = csv;
    const form = formOfLink(files.link('/a/orders.csv'), {
      patch: [{ row: 2, column: 'name', value: 'zwei' }],
    });
    const { status, body } = await send('t', form, '?provenance=source_file:file');
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(await service.rows('SELECT * FROM t ORDER BY id'), [
      { id: '1', name: 'one', file: 'orders.csv' },
      { id: '2', name: 'zwei', file: 'orders.csv' },
    ]);
    const load = (await service.get(`/api/v1/loads/${body.load.id}`)).body;
    assert(load.bytes_received > load.bytes_expected, 'the bytes of the file are counted');
    // The content decides that a file was loaded before, however it came.
    const again = await fileUploader(() => service)('t', csv, '?if_exists=append');
    assert.match(warningsOf(again).join(), /same-file/);
  });

  test('a link is inspected', async () => {
    files.files['/seen.csv'] = csv;
    const body = formOfLink(files.link('/seen.csv'));
    const { status, body: found } = await service.request('POST', '/api/v1/inspect/excel', { body });
    assert.equal(status, 200);
    assert.deepEqual(found.sheet.header, ['id', 'name']);
  });

  test('a link of a packed file may unpack to as much as a packed file that is sent', async () => {
    files.files['/big.csv.gz'] = gzipSync(`a\n${`${randomBytes(50).toString('hex')}\n`.repeat(90_000)}`, {
      level: 1,
    });
    const query = '?dry_run=true';
    assert.equal((await send('big', formOfLink(files.link('/big.csv.gz')), query)).status, 200);
  });

  test('a link needs its scope, and nothing is fetched without it', async () => {
    const scope = allScopes.replace('load:from-url ', '');
    const token = await service.token({ scope });
    const asked = files.asked.length;
    const form = () => formOfLink(files.link('/a/orders.csv'));
    const answers = [
      await send('scoped', form(), '', {}, token),
      await send('scoped', form(), '', { prefer: 'respond-async' }, token),
      await service.request('POST', '/api/v1/inspect/excel', { body: form(), token }),
    ];
    for (const answer of answers)
      assert.match(assertProblem(answer, 403, 'insufficient-scope').detail, /load:from-url/);
    assert.equal(files.asked.length, asked);
  });

  test('a form with a wrong part source, or with a file too, is refused without showing the link', async () => {
    const wrong = [
      '',
      '{',
      '"x"',
      '[]',
      '{}',
      '{"from_url": 1}',
      '{"from_url": "https://h/", "secret-link": 1}',
    ];
    for (const source of wrong) {
      const form = new FormData();
      form.append('source', source);
      const problem = assertProblem(await send('wrong', form), 422, 'invalid-parameter');
      assert.match(problem.detail, /part source must be like/);
      assert.doesNotMatch(JSON.stringify(problem), /secret-link/);
    }
    const both = formOfLink(files.link('/a/orders.csv'));
    both.append('file', new Blob([csv]), 'x.csv');
    assert.match(assertProblem(await send('wrong', both), 422, 'invalid-parameter').detail, /either/);
    const inQuery = await send('wrong', formOfLink('x'), '?from_url=https://example.com/');
    assertProblem(inQuery, 422, 'invalid-parameter');
    const long = await send('wrong', formOfLink(`https://h/${'a'.repeat(60_000)}`));
    assertProblem(long, 413, 'limit-exceeded');
  });

  test('a link that cannot be fetched leaves no table', async () => {
    files.files['/broken'] = 500;
    assertProblem(await send('none', formOfLink(files.link('/missing'))), 422, 'link-refused');
    assertProblem(await send('none', formOfLink(files.link('/broken'))), 502, 'link-failed');
    assertProblem(await send('none', formOfLink('https://10.0.0.1/x')), 422, 'link-refused');
    assertProblem(
      await send('none', formOfLink(files.link('/broken')), '', later('none')),
      502,
      'link-failed',
    );
    assertProblem(await service.get('/api/v1/table/none'), 404, 'table-not-found');
  });
});

suite('a repeated request with a link', () => {
  test('a repeated request with a link gets its answer without fetching the file again', async () => {
    files.files['/once.csv'] = csv;
    const key = { 'idempotency-key': 'once' };
    const link = files.link('/once.csv');
    const first = await send('once', formOfLink(link), '', key);
    delete files.files['/once.csv'];
    const again = await send('once', formOfLink(link), '', key);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(again.body, first.body);
    assert.equal(files.asked.filter((path) => path === '/once.csv').length, 1);
    for (const other of [formOfLink(`${link}2`), formOfLink(link, { body: {} })])
      assertProblem(await send('once', other, '', key), 422, 'idempotency-key-reused');
  });

  test('a repeated request of a stored upload may have empty parts', async () => {
    files.files['/empty.csv'] = csv;
    const form = formOfLink(files.link('/empty.csv'));
    for (const part of ['body', 'patch']) form.set(part, '');
    const first = await send('empty', form, '', later('empty'));
    assert.equal((await ended(first.body.id)).state, 'committed');
    const again = await send('empty', form, '', later('empty'));
    assert.equal(again.headers.get('idempotency-replayed'), 'true', JSON.stringify(again.body));
  });

  test('a link that could not be fetched can be sent again with the same key', async () => {
    const key = { 'idempotency-key': 'fails' };
    const form = () => formOfLink(files.link('/fails.csv'));
    assertProblem(await send('fails', form(), '', key), 422, 'link-refused');
    files.files['/fails.csv'] = csv;
    assert.equal((await send('fails', form(), '', key)).status, 201);
  });

  test('a stored upload has the file of the link, which was fetched before the answer', async () => {
    const path = '/later "x".csv';
    files.files[encodeURI(path)] = csv;
    const link = files.link(path);
    const parts = {
      body: {
        table: {
          columns: [
            { name: 'id', type: 'integer' },
            { name: 'name', type: 'text' },
          ],
        },
      },
      patch: [{ row: 1, column: 'name', value: '€' }],
      password: 'none',
    };
    const query = '?provenance=source_file:file';
    const first = await send('later', formOfLink(link, parts), query, later('later'));
    assert.equal(first.status, 202, JSON.stringify(first.body));
    delete files.files[encodeURI(path)];
    const again = await send('later', formOfLink(link, parts), query, later('later'));
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal((await ended(first.body.id)).state, 'committed');
    assert.deepEqual(await service.rows('SELECT id, name FROM later ORDER BY id'), [
      { id: 1, name: '€' },
      { id: 2, name: 'two' },
    ]);
    assert.equal(files.asked.filter((asked) => asked === encodeURI(path)).length, 1);
    const warned = await fileUploader(() => service)('later', csv, '?if_exists=append&extra_columns=ignore');
    assert.match(warningsOf(warned).join(), /same-file/);
  });

  test('a stored upload has the file of its link, however the key of the link is escaped', async () => {
    files.files['/escaped.csv'] = csv;
    const form = new FormData();
    form.append('source', `{"from\\u005furl": ${JSON.stringify(files.link('/escaped.csv'))}}`);
    const { status, body } = await send('escaped', form, '', later('escaped'));
    assert.equal(status, 202, JSON.stringify(body));
    assert(files.asked.includes('/escaped.csv'));
    assert.equal((await ended(body.id)).state, 'committed');
    const wrong = new FormData();
    wrong.append('source', '{"from\\u005furl": "https://h/?secret", "x": 1}');
    assert.match(
      assertProblem(await send('wrong', wrong, '', later('x')), 422, 'invalid-parameter').detail,
      /like/,
    );
  });

  test('a stored upload whose file mentions from_url is stored as it was sent', async () => {
    const form = new FormData();
    form.append('file', new Blob(['from_url\nx\n']), 'x.csv');
    const { status, body } = await send('mentions', form, '', later('mentions'));
    assert.equal(status, 202);
    assert.equal((await ended(body.id)).state, 'committed');
  });
});
