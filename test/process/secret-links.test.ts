/** A link may be a secret: whatever happens to its upload, neither the database nor the log has more of it than its host and file name. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import {
  allowsFileServer,
  type FileServer,
  formOfLink,
  linkSecret,
  startFileServer,
} from '../support/file-server.ts';
import { logLines } from '../support/log-lines.ts';
import { until } from '../support/until.ts';

let service: ChildWithDatabase;
let files: FileServer;
before(async () => {
  files = await startFileServer();
  service = await startChildWithDatabase({ LOG_LEVEL: 'trace', ...allowsFileServer });
});
after(async () => {
  await service.stop('SIGTERM');
  files.close();
});

test('the secret of a link is in no answer, record, event or line of the log', async () => {
  files.files['/folder-secret/good.csv'] = 'a\n1\n';
  files.files['/folder-secret/bad.csv'] = 'a,a\n1\n"';
  files.files['/folder-secret/broken.csv'] = 500;
  const answers: unknown[] = [];
  const upload = async (link: string, table: string, headers: Record<string, string> = {}) => {
    const path = `/table/${table}/upload/excel?provenance=source_file:f&faulty_rows=fail`;
    const answer = await service.request('POST', path, { body: formOfLink(link), headers });
    answers.push(answer.body, [...answer.headers]);
    return answer;
  };
  for (const name of ['good', 'bad', 'broken', 'missing']) {
    const link = files.link(`/folder-secret/${name}.csv`);
    await upload(link, name, { 'idempotency-key': name });
    await upload(link, name, { 'idempotency-key': name });
    await upload(link, `${name}_later`, { prefer: 'respond-async' });
    await upload(link.replace('http://', `http://me:${linkSecret}@`), name);
    await upload(`https://10.0.0.1/folder-secret/x?${linkSecret}`, name);
    const inspected = await service.request('POST', '/api/v1/inspect/excel', { body: formOfLink(link) });
    answers.push(inspected.body);
  }
  const list = async () =>
    (await service.get('/api/v1/loads?limit=100')).body.loads as { id: string; state: string }[];
  await until('the end of all loads', async () =>
    (await list()).every(({ state }) => !['receiving', 'queued', 'running'].includes(state)),
  );
  for (const { id } of await list()) answers.push((await service.get(`/api/v1/loads/${id}`)).body);
  const { rows: tables } = await service.database.pool.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  assert(tables.length > 8, `${tables.length} tables`);
  for (const { name } of tables) {
    const { rows } = await service.database.pool.query(`SELECT t::text, to_jsonb(t) AS json FROM ${name} t`);
    answers.push(rows);
  }
  const shown = JSON.stringify(answers);
  assert.match(shown, /good\.csv/);
  // The answers are kept as bytes.
  const kept = [...shown.matchAll(/\\\\+x([0-9a-f]+)/g)].map(([, hex]) =>
    Buffer.from(hex!, 'hex').toString(),
  );
  const log = service.output();
  const audited = logLines(log).filter(({ audit }) => audit !== undefined);
  assert(
    audited.some(({ fetchedFrom }) => fetchedFrom === new URL(files.link('/')).host),
    log,
  );
  for (const text of [shown, ...kept, log])
    assert.doesNotMatch(text, /secret-of-the-link|folder-secret|x-signature/);
});
