/** Tests the links of files in loads of several tables. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { allScopes } from '../../src/service/start/dev-token.ts';
import { allowsFileServer, type FileServer, linkSecret, startFileServer } from '../support/file-server.ts';
import { endOf } from '../support/load-ends.ts';
import { planForm } from '../support/plan-form.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let server: FileServer;
before(async () => {
  server = await startFileServer();
  service = await startTestService(allowsFileServer);
});
after(async () => {
  await service.stop();
  server.close();
});

const tables = [
  { table: 'one', file: 'linked', if_exists: 'replace', provenance: 'source_file:origin' },
  { table: 'two', file: 'sent', if_exists: 'replace' },
  { table: 'three', file: 'linked', if_exists: 'replace' },
];

function send(link: string, headers: Record<string, string> = {}, token?: string) {
  const body = planForm({ tables }, { sent: 'x\n1\n' }, { linked: link });
  return service.request('POST', '/api/v1/loads', { body, headers, ...(token && { token }) });
}

async function rows(): Promise<unknown> {
  const text = 'SELECT one.id, one.origin, two.x FROM one JOIN three USING (id), two ORDER BY 1';
  return service.rows(text);
}

const loaded = [
  { id: '1', origin: 'my file.csv', x: '1' },
  { id: '2', origin: 'my file.csv', x: '1' },
];

test('a link is a file of several tables, and is fetched once', async () => {
  server.files['/my%20file.csv'] = 'id\n1\n2\n';
  const link = server.link('/my%20file.csv');
  const answer = await send(link);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(await rows(), loaded);
  assert.equal(server.asked.length, 1);
  assert.doesNotMatch(JSON.stringify(answer.body), new RegExp(linkSecret));
});

test('an asynchronous load has the file before it is accepted, and a key fetches it once', async () => {
  server.files['/my%20file.csv'] = 'id\n1\n2\n';
  const link = server.link('/my%20file.csv');
  const before = server.asked.length;
  const headers = { prefer: 'respond-async', 'idempotency-key': 'plan' };
  const accepted = await send(link, headers);
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  assert.equal(server.asked.length, before + 1);
  delete server.files['/my%20file.csv'];
  const { state, answer } = await endOf(service, accepted.body.id);
  assert.equal(state, 'committed', JSON.stringify(answer));
  assert.deepEqual(await rows(), loaded);
  const again = await send(link, headers);
  assert.equal(again.headers.get('idempotency-replayed'), 'true', JSON.stringify(again.body));
  assert.equal(server.asked.length, before + 1);
  assertProblem(await send(`${link}2`, headers), 422, 'idempotency-key-reused');
});

test('a link that cannot be fetched, or that is none, loads nothing and is not shown', async () => {
  const token = await service.token({ scope: allScopes.replace('load:from-url ', '') });
  for (const headers of [{}, { prefer: 'respond-async' }]) {
    assertProblem(await send(server.link('/missing'), headers), 422, 'link-refused');
    assertProblem(await send('https://10.0.0.1/x', headers), 422, 'link-refused');
    assertProblem(await send(server.link('/missing'), headers, token), 403, 'insufficient-scope');
  }
  const body = planForm({ tables }, { sent: 'x\n' });
  body.append('linked', 'secret-link');
  const answer = await service.request('POST', '/api/v1/loads', { body });
  const { detail } = assertProblem(answer, 422, 'invalid-parameter');
  assert.match(detail, /^The part linked must be like \{"from_url"/);
  const long = planForm({ tables }, { sent: 'x\n' });
  long.append('linked', 'x'.repeat(60_000));
  const tooLong = await service.request('POST', '/api/v1/loads', { body: long });
  assert.match(assertProblem(tooLong, 413, 'limit-exceeded').detail, /^The part linked is too long/);
});
