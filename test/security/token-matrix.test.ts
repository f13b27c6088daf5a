/** Sends the request of each row of the table in docs/tokens.md with and without each scope, schema and privilege that it needs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { allScopes } from '../../src/service/start/dev-token.ts';
import { codeOf, rowsUnder } from '../support/markdown.ts';
import { planForm } from '../support/plan-form.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sheetOf } from '../support/workbook.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'tokens.md'), 'utf8');
const rows = rowsUnder(
  page,
  '| operation | parameters | table | scopes | schema | privileges of the role |',
).flatMap(([operations, parameters, table, scopes, schema, privileges]) =>
  operations!.split(', ').map((operation) => ({
    title: [operation, ...codeOf(parameters!)].join(' with '),
    operation,
    parameters: codeOf(parameters!).join(''),
    table: table!,
    scopes: codeOf(scopes!),
    hasSchema: schema === 'yes',
    privileges: privileges === '–' ? [] : privileges!.split(', '),
  })),
);
type Row = (typeof rows)[number];

const loadRows = rowsUnder(
  page,
  '| operation | load of the same subject | load of another subject | load in a schema that the token may not use |',
).flatMap(([operations, own, others, elsewhere]) =>
  operations!.split(', ').map((operation) => ({ operation, own, others, elsewhere })),
);

const columns = [
  { name: 'a', type: 'integer' },
  { name: 'b', type: 'text' },
];
const path = '/table/t';
/** The request of each operation, by its summary in the OpenAPI document. */
const requests: Record<string, (row: Row, token: string) => Promise<TestAnswer>> = {
  'Create Table': (row, token) => service.post(`${path}?${query(row)}`, { table: { columns } }, { token }),
  'Describe Table': (row, token) => service.get(`${path}?${query(row)}`, { token }),
  'Alter Table': (row, token) => {
    const body = JSON.stringify({ table: row.table === 'new' ? { columns } : { comment: 'x' } });
    const headers = { 'content-type': 'application/json' };
    return service.request('PUT', `${path}?${query(row)}`, { token, body, headers });
  },
  'Rename Table': async (row, token) => {
    const body = '{"comment": null, "name": "t2"}';
    const headers = { 'content-type': 'application/json' };
    const answer = await service.request('PATCH', `${path}?${query(row)}`, { token, body, headers });
    if (answer.status === 200) await admin.query('ALTER TABLE matrix.t2 RENAME TO t');
    return answer;
  },
  'Drop Table': (row, token) => service.request('DELETE', `${path}?${query(row)}`, { token }),
  'Read First Rows': (row, token) => service.get(`${path}/rows?${query(row)}`, { token }),
  'List Tables': (_, token) => service.get('/api/v1/tables?schema=matrix', { token }),
  'List Types': (_, token) => service.get('/api/v1/types?schema=matrix', { token }),
  'Upload Table From Json': (row, token) =>
    service.post(`${path}/upload/json?${query(row)}`, { data: [{ a: 1, ...extra(row) }] }, { token }),
  'Upload Table From Excel': (row, token) => {
    const cells = { a: 1, ...extra(row) };
    return sendForm(`${path}/upload/excel?${query(row)}`, [Object.keys(cells), Object.values(cells)], token);
  },
  'Load Several Tables': (row, token) => {
    const parameters = Object.fromEntries(new URLSearchParams(row.parameters));
    const plan = { tables: [{ table: 't', schema: 'matrix', file: 'f', ...parameters }] };
    return service.request('POST', '/api/v1/loads', { body: planForm(plan, { f: 'a\n1\n' }), token });
  },
  'Read Events': (_, token) => beginStream('/api/v1/events', token),
  'Create Webhook': (_, token) => service.post('/api/v1/webhooks', webhook, { token }),
  'List Webhooks': (_, token) => service.get('/api/v1/webhooks', { token }),
  'Delete Webhook': (_, token) => withWebhook((path) => service.request('DELETE', path, { token })),
  'List Deliveries': (_, token) => withWebhook((path) => service.get(`${path}/deliveries`, { token })),
  'Ping Webhook': (_, token) => withWebhook((path) => service.request('POST', `${path}/ping`, { token })),
  'Save Profile': (_, token) => saveProfile(token),
  'Delete Profile': async (_, token) => {
    await saveProfile();
    return service.request('DELETE', profile, { token });
  },
  'Read Profile': async (_, token) => {
    await saveProfile();
    return service.get(profile, { token });
  },
  'List Profiles': (_, token) => service.get('/api/v1/profiles', { token }),
  'Inspect Json': (_, token) => service.post('/api/v1/inspect/json', { data: [{ a: 1 }] }, { token }),
  'Inspect Excel': (_, token) => sendForm('/api/v1/inspect/excel', [['a'], [1]], token),
};

const profile = '/api/v1/profiles/of-matrix';

function saveProfile(token?: string): Promise<TestAnswer> {
  const headers = { 'content-type': 'application/json' };
  return service.request('PUT', profile, { ...(token !== undefined && { token }), headers, body: '{}' });
}

/** Nothing listens on this port. */
const webhook = { url: 'http://127.0.0.1:1/' };

/** Sends a request about a webhook of the same subject. */
async function withWebhook(send: (path: string) => Promise<TestAnswer>): Promise<TestAnswer> {
  const { body } = await service.post('/api/v1/webhooks', webhook);
  const answer = await send(`/api/v1/webhooks/${body.id}`);
  await service.request('DELETE', `/api/v1/webhooks/${body.id}`);
  return answer;
}

let service: TestService;
let admin: pg.Client;
/** The role that the service connects as. */
let serviceRole: string;
const role = `matrix_${process.pid}_${Date.now()}`;

before(async () => {
  service = await startTestService({ WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' });
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  [{ name: serviceRole }] = (await service.rows('SELECT quote_ident(current_user) AS name')) as [
    { name: string },
  ];
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${serviceRole};
    CREATE SCHEMA matrix AUTHORIZATION ${serviceRole}`);
});
after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

test('the table has every operation that needs a token', async () => {
  const { body } = await service.get('/openapi.json', { token: null });
  const operations = Object.values<Record<string, { summary: string; security: unknown[] }>>(body.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ security }) => security.length > 0);
  const listed = new Set([...rows, ...loadRows].map(({ operation }) => operation));
  assert.deepEqual([...listed].sort(), operations.map(({ summary }) => summary).sort());
});

for (const row of rows) {
  test(`${row.title} needs exactly what docs/tokens.md says`, async () => {
    const scope = row.scopes.join(' ');
    await assertAllowed(row, [], { scope });
    for (const missing of row.scopes) {
      const others = allScopes.split(' ').filter((one) => one !== missing);
      const answer = await send(row, [], { scope: others.join(' ') });
      assert.match(assertProblem(answer, 403, 'insufficient-scope').detail, new RegExp(missing));
    }
    if (row.hasSchema) {
      assertProblem(await send(row, [], { scope, schemas: ['other'] }), 403, 'schema-forbidden');
    } else await assertAllowed(row, [], { scope, schemas: ['other'] });
    await assertAllowed(row, row.privileges, { scope, schemas: ['matrix'], role });
    for (const missing of row.privileges) {
      const others = row.privileges.filter((one) => one !== missing);
      const answer = await send(row, others, { scope, role });
      assert.ok(
        ['permission-denied', 'table-not-found'].includes(answer.body.code),
        `without ${missing}: ${answer.status} ${JSON.stringify(answer.body)}`,
      );
    }
  });
}

/** Returns whether each operation shows a load, by its summary in the OpenAPI document. */
const sights: Record<string, (id: string, token: string) => Promise<boolean>> = {
  'Describe Load': async (id, token) => isVisible(await service.get(`/api/v1/loads/${id}`, { token })),
  'Watch Load': async (id, token) => isVisible(await service.get(`/api/v1/loads/${id}/events`, { token })),
  'List Load Problems': async (id, token) =>
    isVisible(await service.get(`/api/v1/loads/${id}/problems`, { token })),
  'List Load Changes': async (id, token) =>
    isVisible(await service.get(`/api/v1/loads/${id}/changes`, { token })),
  'Read Faulty Rows': async (id, token) => {
    const answer = await service.get(`/api/v1/loads/${id}/faulty-rows`, { token });
    return answer.body.code === 'no-faulty-rows' || isVisible(answer);
  },
  'List Loads': async (id, token) => {
    const { body } = await service.get('/api/v1/loads', { token });
    return body.loads.some((load: { id: string }) => load.id === id);
  },
  'Cancel Load': async (id, token) =>
    isVisible(await service.request('POST', `/api/v1/loads/${id}/cancel`, { token })),
};

/** The load has ended, so it cannot be cancelled. */
function isVisible({ status, body }: TestAnswer): boolean {
  if (status < 300 || body.code === 'load-ended') return true;
  assert.ok(['load-not-found', 'insufficient-scope'].includes(body.code), body.code);
  return false;
}

for (const { operation, ...row } of loadRows) {
  test(`${operation} shows exactly the loads that docs/tokens.md says`, async () => {
    const starter = { scope: 'table:create', subject: 'starter' };
    await admin.query('DROP TABLE IF EXISTS matrix.t');
    const started = await service.post(
      `${path}/upload/json?schema=matrix`,
      { data: [{ a: 1 }] },
      { token: await service.token(starter) },
    );
    assert.equal(started.status, 201, JSON.stringify(started.body));
    const sees = async (claims: Parameters<TestService['token']>[0]) =>
      sights[operation]!(started.body.load.id, await service.token({ subject: 'other', ...claims }));
    const isOwnOnly = row.others === 'not visible';
    const [forOthers] = isOwnOnly ? ['load:read-all'] : codeOf(row.others!);
    assert.match(forOthers!, /^load:[a-z]+-all$/);
    assert.deepEqual([row.own, row.elsewhere], ['visible', 'not visible']);
    assert.deepEqual(
      {
        own: await sees({ subject: 'starter', scope: '' }),
        others: await sees({ scope: allScopes.replace(forOthers!, '') }),
        othersWithScope: await sees({ scope: forOthers! }),
        elsewhere: await sees({ subject: 'starter', scope: forOthers!, schemas: ['other'] }),
      },
      { own: true, others: false, othersWithScope: !isOwnOnly, elsewhere: false },
    );
  });
}

async function assertAllowed(...request: Parameters<typeof send>): Promise<void> {
  const { status, body } = await send(...request);
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
}

/** Sends the request of a row. @param privileges what the role may do at that time */
async function send(
  row: Row,
  privileges: string[],
  claims: NonNullable<Parameters<TestService['token']>[0]>,
): Promise<TestAnswer> {
  const create = `CREATE TABLE matrix.t (a integer PRIMARY KEY, b text); ALTER TABLE matrix.t OWNER TO ${serviceRole};`;
  await admin.query(`DROP TABLE IF EXISTS matrix.t; ${row.table === 'exists' ? create : ''}
    REVOKE ALL ON SCHEMA matrix FROM ${role}; GRANT USAGE ON SCHEMA matrix TO ${role};
    ${privileges.map(grantOf).join('; ')}`);
  return requests[row.operation]!(row, await service.token(claims));
}

function grantOf(privilege: string): string {
  if (privilege === 'owner') return `ALTER TABLE matrix.t OWNER TO ${role}`;
  const [name] = codeOf(privilege);
  return `GRANT ${name} ON ${privilege.endsWith(' on the schema') ? 'SCHEMA matrix' : 'matrix.t'} TO ${role}`;
}

function query({ parameters }: Row): string {
  return ['schema=matrix', ...(parameters === '' ? [] : [parameters])].join('&');
}

function extra({ parameters }: Row): object {
  return parameters.includes('extra_columns') ? { c: 1 } : {};
}

function sendForm(to: string, cells: unknown[][], token: string): Promise<TestAnswer> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(sheetOf(cells as Parameters<typeof sheetOf>[0]))]), 'a.xlsx');
  return service.request('POST', to, { token, body: form });
}

/** Returns the answer without waiting for the end of a stream. */
async function beginStream(path: string, token: string): Promise<TestAnswer> {
  const { status, headers, body } = await fetch(`${service.url}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (status !== 200) return { status, headers, body: await new Response(body).json() };
  await body!.cancel();
  return { status, headers, body: undefined };
}
