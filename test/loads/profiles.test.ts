/** Profiles: saved parameters and definitions that count as if the uploader had sent them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { ErrorCode } from '../../src/core/errors.ts';
import { endOf } from '../support/load-ends.ts';
import { assertProblem } from '../support/problem.ts';
import {
  type RequestOptions,
  startTestService,
  type TestAnswer,
  type TestService,
} from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-spool-'));
  service = await startTestService({ SPOOL_DIR: folder });
  await service.rows('CREATE SCHEMA sales; CREATE SCHEMA hr; CREATE TABLE public.counted (a bigint)');
});

after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const records = 'tablewright_service';
const append = { if_exists: 'append' };
const pathOf = (name: string, query = '') => `/api/v1/profiles/${encodeURIComponent(name)}${query}`;

/** Saves a profile, and returns the answer. */
function save(
  name: string,
  content: unknown,
  { query = '', ...options }: RequestOptions & { query?: string } = {},
) {
  const body = typeof content === 'string' ? content : JSON.stringify(content);
  const headers = { 'content-type': 'application/json', ...options.headers };
  return service.request('PUT', pathOf(name, query), { ...options, headers, body });
}

async function saved(
  name: string,
  content: unknown,
  options?: Parameters<typeof save>[2],
): Promise<TestAnswer> {
  const answer = await save(name, content, options);
  assert([200, 201].includes(answer.status), JSON.stringify(answer.body));
  return answer;
}

const load = (table: string, query: string, data: unknown, options?: RequestOptions) =>
  service.post(`/table/${table}/upload/json?${query}`, data, options);

const tokenOf = (subject: string, scope?: string, schemas?: string) =>
  service.token({
    subject,
    ...(scope !== undefined && { scope }),
    ...(schemas !== undefined && { schemas: schemas.split(',') }),
  });

suite('a saved profile', () => {
  test('a profile may name the table for which it is made, and an upload takes the table from its path', async () => {
    const { body } = await saved('for-a-table', { parameters: { ...append, table: 'another one' } });
    assert.deepEqual(body.parameters, { ...append, table: 'another one' });
    const answer = await load('counted', 'profile=for-a-table', { data: [{ a: 1 }] });
    assert.deepEqual([answer.status, answer.body.table.name], [200, 'counted']);
    const refused = await save('for-a-table', { parameters: { table: 'ü'.repeat(32) } });
    assertProblem(refused, 422, 'invalid-parameter');
    assert.equal(refused.body.errors[0].pointer, '/parameters/table');
    await service.rows('DELETE FROM counted');
    await service.request('DELETE', pathOf('for-a-table'));
  });

  test('a profile is created, changed by each other content, read by its version, listed and deleted', async () => {
    const first = await saved('life', { parameters: append, headers: ['A', 'B'] });
    assert.equal(first.status, 201);
    const { saved_at: savedAt, ...members } = first.body;
    assert(Date.parse(savedAt) > 0);
    assert.deepEqual(members, {
      ...{ name: 'life', version: 1, shared_with: null, is_own: true, subject: 'development' },
      ...{ parameters: append, headers: ['A', 'B'], table: null },
    });
    const again = await saved('life', { headers: ['A', 'B'], parameters: append });
    assert.deepEqual([again.status, again.body.version], [200, 1]);
    assert.equal(again.headers.get('etag'), first.headers.get('etag'));
    const table = { columns: [{ name: 'a', type: 'integer', default: 1.1 }] };
    const second = await saved('life', { parameters: { trim: true, header_row: 3 }, table });
    assert.deepEqual(
      [second.body.version, second.body.parameters, second.body.table.columns[0].default],
      [2, { header_row: '3', trim: 'true' }, '1.1'],
    );
    assert.equal((await service.get(pathOf('life', '?version=1'))).body.version, 1);
    assert.deepEqual((await service.get(pathOf('life'))).body, second.body);
    assertProblem(await service.get(pathOf('life', '?version=3')), 404, 'profile-not-found');
    const { profiles, next } = (await service.get('/api/v1/profiles?name=life')).body;
    assert.deepEqual(
      [profiles.length, next, profiles[0].has_table, profiles[0].headers],
      [1, null, true, null],
    );
    assert.equal((await service.request('DELETE', pathOf('life'))).status, 204);
    assertProblem(await service.request('DELETE', pathOf('life')), 404, 'profile-not-found');
    assertProblem(await service.get(pathOf('life')), 404, 'profile-not-found');
    assert.deepEqual(await service.rows(`SELECT count(*)::int AS n FROM ${records}.profile_versions`), [
      { n: 0 },
    ]);
  });

  test('of two editors, the second one does not overwrite the first, and a new profile no other', async () => {
    const first = await saved('edited', { parameters: append });
    const etag = first.headers.get('etag')!;
    await saved('edited', { parameters: { trim: 'true' } }, { headers: { 'if-match': etag } });
    const stale = { headers: { 'if-match': etag } };
    assertProblem(await save('edited', { parameters: append }, stale), 412, 'precondition-failed');
    assertProblem(await service.request('DELETE', pathOf('edited'), stale), 412, 'precondition-failed');
    const none = { headers: { 'if-none-match': '*' } };
    assertProblem(await save('edited', { parameters: append }, none), 412, 'precondition-failed');
    assertProblem(await save('not-there', { parameters: append }, stale), 412, 'precondition-failed');
    assert.equal((await service.get(pathOf('edited'))).body.version, 2);
    await service.request('DELETE', pathOf('edited'));
    // A profile that is created again begins with version 1, and is another one.
    const second = await saved('edited', { parameters: append });
    assert.equal(second.body.version, 1);
    assert.notEqual(second.headers.get('etag'), etag);
  });

  test('many editors at the same time make one version each', async () => {
    const contents = Array.from({ length: 30 }, (_, index) => ({ parameters: { rename: `a:b${index}` } }));
    const answers = await Promise.all(contents.map((content) => save('busy', content)));
    const versions = answers.map(({ body }) => body.version as number).sort((one, other) => one - other);
    assert.deepEqual(
      versions,
      contents.map((_, index) => index + 1),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    const kept = await service.rows(
      `SELECT min(version) AS first, count(*)::int AS n FROM ${records}.profile_versions` +
        ` WHERE profile = (SELECT id FROM ${records}.profiles WHERE name = 'busy')`,
    );
    assert.deepEqual(kept, [{ first: 11, n: 20 }]);
  });

  test('what no upload accepts is refused when it is written, with its place', async () => {
    const refused = async (content: unknown, code: ErrorCode, ...pointers: string[]) => {
      const { errors = [] } = assertProblem(await save('refused', content), 422, code);
      assert.deepEqual(
        errors.map(({ pointer }) => pointer),
        pointers,
        JSON.stringify(content),
      );
    };
    await refused({ parameters: { if_exists: 'upsert' } }, 'invalid-parameter', '/parameters/if_exists');
    await refused(
      { parameters: { iff: 1, trim: 'x' } },
      'invalid-parameter',
      '/parameters/iff',
      '/parameters/trim',
    );
    await refused({ parameters: { if_missing: 'fail' } }, 'invalid-parameter', '/parameters/if_missing');
    await refused({ parameters: { conflict_key: 'a' } }, 'invalid-parameter', '/parameters/conflict_key');
    await refused({ parameters: { rename: 'a:b:c' } }, 'invalid-parameter', '/parameters/rename');
    await refused({ parameters: { delimiter: 'ab' } }, 'invalid-parameter', '/parameters/delimiter');
    await refused(
      { parameters: { flatten_separator: '.' } },
      'invalid-parameter',
      '/parameters/flatten_separator',
    );
    await refused({ parameters: { rows_at: 'x' } }, 'invalid-parameter', '/parameters/rows_at');
    await refused({ parameters: { sheet: 'a', flatten: true } }, 'invalid-parameter', '/parameters/sheet');
    await refused({ parameters: { rename: 'a\0:b' } }, 'invalid-parameter', '/parameters/rename');
    await refused({ parameters: { dry_run: true } }, 'invalid-profile', '/parameters/dry_run');
    await refused({ parameters: { profile: 'x' } }, 'invalid-profile', '/parameters/profile');
    await refused({ parameters: { password: 'x' } }, 'invalid-parameter', '/parameters/password');
    await refused({ parameters: { trim: null } }, 'invalid-profile', '/parameters/trim');
    await refused({ parameters: { header_row: 1.5 } }, 'invalid-profile', '/parameters/header_row');
    await refused({ parameters: [] }, 'invalid-profile', '/parameters');
    await refused({ headers: ['a', 1] }, 'invalid-profile', '/headers/1');
    await refused(
      { table: { columns: [{ name: 'a', type: 'varchar(' }] } },
      'invalid-definition',
      '/table/columns/0/type',
    );
    await refused(
      {
        table: {
          columns: [
            { name: 'a', type: 'text' },
            { name: 'a', type: 'text' },
          ],
        },
      },
      'invalid-definition',
      '/table/columns/1/name',
    );
    await refused({ shared_with: 'sales' }, 'invalid-profile', '/shared_with');
    await refused('[1]', 'invalid-profile', '');
    await refused('{"parameters": {"trim": true, "trim": false}}', 'invalid-profile', '/parameters/trim');
    await refused('{"headers": []}, "table": {"columns": []}', 'invalid-profile', '');
    for (const text of ['', '{', '{}}', '{},', '1}, {'])
      assertProblem(await save('refused', text), 400, 'invalid-json');
    assertProblem(await service.get(pathOf('refused')), 404, 'profile-not-found');
    const partial = { constraints: { primary_key: { name: '', columns: ['a'] } } };
    const places = ['/table/columns', '/table/constraints/primary_key/columns/0'];
    await refused({ table: partial }, 'invalid-definition', ...places);
    await saved('partial', { table: partial, parameters: { extra_columns: 'add' } });
  });

  test('hostile names are kept as they are, or refused', async () => {
    for (const name of ['Möhre/%2e "x"', "'; DROP TABLE x; --", '__proto__', '%', ' ', 'x'.repeat(63)]) {
      assert.equal((await saved(name, { parameters: append })).body.name, name);
      assert.equal((await service.get(pathOf(name))).body.name, name);
      const used = await load('counted', `profile=${encodeURIComponent(name)}`, { data: [{ a: 1 }] });
      assert.deepEqual(used.body.load.profile, { name, version: 1 }, JSON.stringify(used.body));
      assert.equal((await service.request('DELETE', pathOf(name))).status, 204);
    }
    for (const name of ['x'.repeat(64), '\0']) assertProblem(await save(name, {}), 422, 'invalid-parameter');
    for (const query of ['profile=', 'profile=%00', 'profile=a&profile=b', `profile=${'x'.repeat(64)}`])
      assertProblem(await load('counted', query, { data: [] }), 422, 'invalid-parameter');
    assertProblem(await load('counted', 'profile=not-there', { data: [] }), 404, 'profile-not-found');
    const key = `{"parameters": {"__proto__": "x"}}`;
    assertProblem(await save('proto', key), 422, 'invalid-parameter');
  });

  test('the size of a profile, and of all profiles of a subject, has limits', async () => {
    const headers = Array.from({ length: 1600 }, (_, index) => `${'h'.repeat(40)}${index}`);
    assertProblem(await save('large', { headers }), 413, 'limit-exceeded');
    assertProblem(
      await save('large', { parameters: { rename: `a:${'b'.repeat(70_000)}` } }),
      413,
      'limit-exceeded',
    );
    assertProblem(
      await save('large', `{"table": {"comment": "${'x'.repeat(1024 * 1024)}"}}`),
      413,
      'limit-exceeded',
    );
    const token = await tokenOf('collector');
    await saved('first', {}, { token });
    const [own] = await service.rows(`SELECT owner FROM ${records}.profiles WHERE name = 'first'`);
    await service.rows(
      `INSERT INTO ${records}.profiles (id, name, owner, version) SELECT gen_random_uuid(), 'p' || n, $1, 1 FROM generate_series(1, 999) n`,
      [own!.owner],
    );
    await service.rows(
      `INSERT INTO ${records}.profile_versions (profile, version, parameters, bytes)
        SELECT id, 1, '{}', 60000 FROM ${records}.profiles WHERE owner = $1 AND name <> 'first'`,
      [own!.owner],
    );
    const full = assertProblem(await save('one-more', {}, { token }), 413, 'limit-exceeded');
    assert(full.detail.includes('1,000 profiles'), full.detail);
    await saved('first', { parameters: append }, { token });
    // All pages of the list together have each profile once.
    const names: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const query: string = next === '' ? '' : `&after=${next}`;
      const page = (await service.get(`/api/v1/profiles?limit=100${query}`, { token })).body;
      names.push(...page.profiles.map(({ name }: { name: string }) => name));
      next = page.next;
    }
    assert.equal(new Set(names).size, 1000);
    assert.equal(names.length, 1000);
    await service.rows(`UPDATE ${records}.profile_versions SET bytes = 70000 WHERE bytes = 60000`);
    assertProblem(await save('first', { parameters: { trim: true } }, { token }), 413, 'limit-exceeded');
    for (const after of ['x', Buffer.from('["public","a"]').toString('base64url')])
      assertProblem(await service.get(`/api/v1/profiles?after=${after}`), 422, 'invalid-parameter');
  });
});

suite('an upload with a profile', () => {
  test('parameters of the request win over those of the profile', async () => {
    await saved('wins', { parameters: { if_exists: 'append', rename: 'x:a' } });
    assert.equal((await load('counted', 'profile=wins', { data: [{ x: 1 }] })).status, 200);
    assert.equal((await load('counted', 'profile=wins&rename=y:a', { data: [{ y: 1 }] })).status, 200);
    assertProblem(
      await load('counted', 'profile=wins&if_exists=fail', { data: [{ x: 1 }] }),
      409,
      'table-exists',
    );
  });

  test('a parameter of the profile that only says more about another one does not prevent the request from turning that one off', async () => {
    await saved('careful', {
      parameters: {
        if_exists: 'append',
        on_conflict: 'update',
        conflict_key: 'a',
        missing_rows: 'delete',
        max_missing_rows: '5',
        faulty_rows: 'leave_out',
        max_faulty_rows: '3',
      },
    });
    await service.rows('CREATE TABLE careful (a int PRIMARY KEY)');
    for (const [query, rows] of [
      ['missing_rows=keep', [1, 2]],
      ['missing_rows=keep&faulty_rows=fail', [3]],
      ['missing_rows=keep&on_conflict=fail', [4]],
    ] as const) {
      const { status, body } = await load('careful', `profile=careful&${query}`, {
        data: rows.map((a) => ({ a })),
      });
      assert.equal(status, 200, JSON.stringify(body));
    }
    assertProblem(
      await load('careful', 'profile=careful&max_missing_rows=2', { data: [{ a: 1 }] }),
      409,
      'loses-data',
    );
  });

  test('the parameters need the scopes, the schema and the role of the uploader', async () => {
    const subject = 'limited';
    const all = { token: await tokenOf(subject) };
    await saved('replaces', { parameters: { if_exists: 'replace' } }, all);
    await saved('widens', { parameters: { if_exists: 'append', misfits: 'widen' } }, all);
    await saved('adds', { parameters: { if_exists: 'append', extra_columns: 'add' } }, all);
    await saved('of-hr', { parameters: { if_exists: 'append', schema: 'hr' } }, all);
    const token = await tokenOf(subject, 'table:load', 'public');
    for (const [profile, scope] of [
      ['replaces', 'table:replace'],
      ['widens', 'table:alter'],
      ['adds', 'table:create'],
    ]) {
      const { detail } = assertProblem(
        await load('counted', `profile=${profile}`, { data: [{ a: 1 }] }, { token }),
        403,
        'insufficient-scope',
      );
      assert(detail.includes(scope!), detail);
    }
    assertProblem(await load('counted', 'profile=of-hr', { data: [] }, { token }), 403, 'schema-forbidden');
    await saved('plain', { parameters: append }, all);
    await service.rows('CREATE ROLE profile_reader; GRANT profile_reader TO CURRENT_USER');
    try {
      const withRole = await service.token({ subject, role: 'profile_reader' });
      const refused = await load('counted', 'profile=plain', { data: [{ a: 1 }] }, { token: withRole });
      assertProblem(refused, 403, 'permission-denied');
    } finally {
      await service.rows('DROP ROLE profile_reader');
    }
    // Writing needs a scope of its own; reading needs none.
    assertProblem(await save('mine', {}, { token }), 403, 'insufficient-scope');
    assertProblem(await service.request('DELETE', pathOf('plain'), { token }), 403, 'insufficient-scope');
    assert.equal((await service.get(pathOf('plain'), { token })).status, 200);
    assertProblem(await load('counted', 'profile=plain', {}, { token: null }), 401, 'missing-token');
  });

  test('a parameter that the endpoint does not have is refused for uploads, and the answer names the profile; an inspection leaves it out', async () => {
    await saved('of-sheets', {
      parameters: { sheet: 'Second', column_names: 'snake_case', if_exists: 'append' },
    });
    const { detail } = assertProblem(
      await load('counted', 'profile=of-sheets', { data: [] }),
      422,
      'invalid-parameter',
    );
    assert(detail.endsWith('The profile "of-sheets" (version 1) has this parameter.'), detail);
    const inspected = await service.post('/api/v1/inspect/json?profile=of-sheets', [{ 'A b': 1 }]);
    assert.equal(inspected.status, 200, JSON.stringify(inspected.body));
    const file = Buffer.from('A b;C\n1;2\n');
    await saved('of-files', {
      parameters: { column_names: 'snake_case', if_exists: 'replace', primary_key: 'a_b' },
    });
    const looked = await service.upload('/api/v1/inspect/excel?profile=of-files', file);
    assert.deepEqual(
      looked.body.sheet.definition.columns.map(({ name }: { name: string }) => name),
      ['a_b', 'c'],
    );
    assertProblem(await service.upload('/api/v1/inspect/excel?profile=nope', file), 404, 'profile-not-found');
    const token = await service.token({ scope: 'table:read' });
    assertProblem(
      await service.request('POST', '/api/v1/inspect/json?profile=of-files', { token }),
      403,
      'insufficient-scope',
    );
  });

  test('the definition of the profile is used, unless the request has one', async () => {
    const columns = [
      { name: 'a', type: 'numeric(8,2)' },
      { name: 'b', type: 'text', default: 'x' },
    ];
    await saved('defined', { table: { columns } });
    const made = await load('defined1', 'profile=defined', { data: [{ a: '1.5' }] });
    assert.deepEqual(
      made.body.table.columns.map(({ type }: { type: string }) => type),
      ['numeric(8,2)', 'text'],
      JSON.stringify(made.body),
    );
    const sheet = await service.upload('/table/defined2/upload/excel?profile=defined', sheetOf([['A'], [1]]));
    assert.equal(sheet.body.table.columns[0].type, 'numeric(8,2)', JSON.stringify(sheet.body));
    const table = { columns: [{ name: 'a', type: 'bigint' }] };
    const own = await load('defined3', 'profile=defined', { table, data: [{ a: 1 }] });
    assert.deepEqual(
      own.body.table.columns.map(({ type }: { type: string }) => type),
      ['bigint'],
    );
    const form = await service.upload('/table/defined4/upload/excel?profile=defined', sheetOf([['A'], [1]]), {
      table,
    });
    assert.equal(form.body.table.columns[0].type, 'bigint');
    for (const mode of ['fail', 'truncate', 'replace']) {
      const late = await load('defined5', `profile=defined&if_exists=${mode}`, { data: [{ a: 1 }], table });
      assertProblem(late, 422, 'invalid-definition');
    }
    assertProblem(await service.get('/table/defined5'), 404, 'table-not-found');
  });

  test('an upload that is empty by accident does not empty a table, although its profile has a definition', async () => {
    await service.rows('CREATE TABLE public.full (a bigint); INSERT INTO public.full VALUES (1)');
    await saved('empties', {
      parameters: { if_exists: 'truncate' },
      table: { columns: [{ name: 'a', type: 'bigint' }] },
    });
    for (const body of [{}, { data: [] }])
      for (const mode of ['truncate', 'replace']) {
        assertProblem(await load('full', `profile=empties&if_exists=${mode}`, body), 422, 'nothing-to-load');
      }
    const lines = { headers: { 'content-type': 'application/x-ndjson' } };
    const empty = await service.request('POST', '/table/full/upload/json?profile=empties', {
      ...lines,
      body: '',
    });
    assertProblem(empty, 422, 'nothing-to-load');
    assertProblem(
      await service.upload('/table/full/upload/excel?profile=empties', sheetOf([['a']])),
      422,
      'nothing-to-load',
    );
    assert.equal((await load('full', 'profile=empties&if_exists=append', { data: [] })).status, 200);
    assert.deepEqual(await service.rows('SELECT a::int FROM public.full'), [{ a: 1 }]);
  });

  test('the record of the load names the profile and its version', async () => {
    await saved('recorded', { parameters: append });
    await saved('recorded', { parameters: { ...append, trim: 'true' } });
    const { body } = await load('counted', 'profile=recorded', { data: [{ a: 1 }] });
    const used = { name: 'recorded', version: 2 };
    assert.deepEqual(body.load.profile, used);
    assert.deepEqual((await service.get(`/api/v1/loads/${body.load.id}`)).body.profile, used);
    const refused = await load('counted', 'profile=recorded', { data: [{ a: 'x' }] });
    const id = refused.headers.get('load-id');
    assert.deepEqual((await service.get(`/api/v1/loads/${id}`)).body.profile, used);
    const plain = await load('counted', 'if_exists=append', { data: [{ a: 1 }] });
    assert.equal((await service.get(`/api/v1/loads/${plain.body.load.id}`)).body.profile, undefined);
    assert.equal(plain.body.load.profile, undefined);
  });

  test('the version is part of the digest of an idempotency key', async () => {
    await saved('keyed', { parameters: append });
    const send = () =>
      load('counted', 'profile=keyed', { data: [{ a: 1 }] }, { headers: { 'idempotency-key': 'one' } });
    const first = await send();
    assert.equal(first.status, 200);
    assert.equal((await send()).headers.get('idempotency-replayed'), 'true');
    await saved('keyed', { parameters: { ...append, trim: 'true' } });
    assertProblem(await send(), 422, 'idempotency-key-reused');
    await service.request('DELETE', pathOf('keyed'));
    assertProblem(await send(), 404, 'profile-not-found');
    // The same content under the same number is another version, because the profile is another one.
    await saved('keyed', { parameters: append });
    assertProblem(await send(), 422, 'idempotency-key-reused');
  });

  test('a load that was accepted has the version of that moment, although the profile is changed or deleted before it runs', async () => {
    const table = {
      columns: [
        { name: 'a', type: 'bigint' },
        { name: 'n', type: 'text', default: '\ud83d\ude00' },
      ],
    };
    await service.rows(
      `CREATE TABLE public.later (a bigint, n text DEFAULT '😀'); INSERT INTO public.later VALUES (9)`,
    );
    await saved('later', { parameters: { if_exists: 'append', rename: 'x:a' }, table });
    // The places for asynchronous loads are taken by loads that wait for a lock.
    const lock = await service.database.pool.connect();
    const accepted: TestAnswer[] = [];
    try {
      await lock.query('BEGIN; LOCK TABLE public.later');
      const headers = { prefer: 'respond-async' };
      for (let x = 0; x < 8; x++)
        accepted.push(await load('later', 'profile=later', { data: [{ x }] }, { headers }));
      const statuses = accepted.map(({ status }) => status);
      assert.deepEqual(statuses, Array(8).fill(202), JSON.stringify(accepted[0]!.body));
      assert.deepEqual(accepted[0]!.body.profile, { name: 'later', version: 1 });
      await saved('later', { parameters: { if_exists: 'replace' } });
      await service.request('DELETE', pathOf('later'));
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
    }
    for (const { body } of accepted) {
      const ended = await endOf(service, body.id);
      assert.equal(ended.state, 'committed', JSON.stringify(ended.answer));
      assert.deepEqual((await service.get(`/api/v1/loads/${body.id}`)).body.profile, {
        name: 'later',
        version: 1,
      });
    }
    const rows = await service.rows('SELECT a::int, n FROM public.later ORDER BY a');
    assert.deepEqual(
      rows,
      [0, 1, 2, 3, 4, 5, 6, 7, 9].map((a) => ({ a, n: '😀' })),
    );
  });
});

suite('random profiles', () => {
  const of = (...values: string[]) => fc.constantFrom(...values);
  const values: Record<string, string[]> = {
    on_conflict: ['fail', 'skip', 'update'],
    rename: ['x:b', 'B:x,X:b', 'a:x'],
    extra_columns: ['fail', 'ignore', 'add'],
    faulty_rows: ['fail', 'leave_out'],
    max_faulty_rows: ['0', '1', '5'],
    values: ['strict', 'natural'],
    all_text: ['true', 'false'],
    null_values: ['-,N/A', ''],
    trim: ['true', 'false'],
    date_order: ['dmy', 'mdy', 'iso'],
    header_row: ['1', '2', 'auto'],
    column_names: ['exact', 'snake_case'],
    delimiter: [';', ','],
    quote: ["'", 'none'],
  };
  const pairs = Object.entries(values).map(([name, some]) => fc.tuple(fc.constant(name), of(...some)));
  const parameters = fc
    .tuple(
      of('append', 'append', 'truncate', 'replace', 'fail'),
      fc.uniqueArray(fc.oneof(...pairs), { selector: ([name]) => name, maxLength: 4 }),
    )
    .map(
      ([ifExists, others]): Record<string, string> => ({
        if_exists: ifExists,
        ...Object.fromEntries(others),
      }),
    );
  const text = of('1', '2', ' 3', '-', 'x', '01.02.2020', "'q'", '');
  // The definition of a profile does not let a file without rows empty a table, but one that is sent does.
  const rows = fc
    .array(fc.tuple(text, text), { minLength: 1, maxLength: 4 })
    .filter((cells) => cells.flat().some((cell) => cell !== ''));
  const columns = [
    { name: 'a', type: 'text', is_nullable: false },
    { name: 'b', type: 'text', default: 'none' },
  ];
  const definition = of('none', 'text', 'other');

  test('an upload with a profile does what it does with the parameters and the definition sent', async () => {
    const restored =
      'DROP TABLE IF EXISTS public.random; CREATE TABLE public.random (a text PRIMARY KEY, b text)';
    const outcomeOf = async (query: string, file: string, body: unknown) => {
      await service.rows(`${restored}; INSERT INTO public.random VALUES ('1', 'old')`);
      const answer = await service.upload(`/table/random/upload/excel${query}`, Buffer.from(file), body);
      const { load: done, instance: _, table, ...rest } = answer.body;
      const { id: __, duration_ms: ___, profile: ____, ...counts } = done ?? {};
      // The second upload of the file has a warning about the first one.
      for (const part of [rest, counts])
        part.warnings = part.warnings?.filter(({ code }: { code: string }) => code !== 'same-file');
      const stored = await service.rows('SELECT r::text AS row FROM public.random r ORDER BY 1');
      return { status: answer.status, rest, counts, table, stored };
    };
    let count = 0;
    let loaded = 0;
    const property = fc.asyncProperty(parameters, rows, definition, async (chosen, cells, kind) => {
      const table = { columns: kind === 'text' ? columns : [...columns, { name: 'c', type: 'integer' }] };
      const content = { parameters: chosen, ...(kind !== 'none' && { table }) };
      const file = ['A;b', ...cells.map((row) => row.join(';'))].join('\n');
      const sent = await outcomeOf(`?${new URLSearchParams(chosen)}`, file, kind === 'none' ? {} : { table });
      const answer = await save(`random${++count}`, content);
      if (![200, 201].includes(answer.status)) {
        // What is refused when it is written would be refused by an upload, too.
        assert.equal(answer.status, 422, JSON.stringify(answer.body));
        assert.equal(sent.status, 422, JSON.stringify([content, answer.body]));
        return;
      }
      const kept = await outcomeOf(`?profile=random${count}`, file, {});
      const isOfProfile = / The profile "random\d+" \(version 1\) has this parameter\.$/;
      if (kept.rest.detail) kept.rest.detail = kept.rest.detail.replace(isOfProfile, '');
      assert.deepEqual(kept, sent, JSON.stringify(content));
      if (sent.status < 300) loaded++;
    });
    await fc.assert(property, { numRuns: sized(40, 200) });
    assert(loaded > 0, 'no upload was loaded');
  });
});

suite('whose profile', () => {
  test('two subjects have different profiles with the same name', async () => {
    const ann = { token: await tokenOf('ann') };
    const bob = { token: await tokenOf('bob') };
    await saved('same', { parameters: { if_exists: 'append', rename: 'x:a' } }, ann);
    await saved('same', { parameters: { if_exists: 'append', rename: 'y:a' } }, bob);
    assert.equal((await load('counted', 'profile=same', { data: [{ x: 1 }] }, ann)).status, 200);
    assert.equal((await load('counted', 'profile=same', { data: [{ y: 1 }] }, bob)).status, 200);
    assert.equal((await service.request('DELETE', pathOf('same'), ann)).status, 204);
    assert.equal((await service.get(pathOf('same'), bob)).status, 200);
    assertProblem(await service.get(pathOf('same'), ann), 404, 'profile-not-found');
    assertProblem(await load('counted', 'profile=same', { data: [] }, ann), 404, 'profile-not-found');
  });

  test('a shared profile is read and used by tokens that may use the schema, and changed only by its owner', async () => {
    const owner = { token: await tokenOf('owner', undefined, 'sales,public') };
    const query = '?shared_with=sales';
    const first = await saved('team', { parameters: append }, { ...owner, query });
    assert.deepEqual([first.body.shared_with, first.body.is_own], ['sales', true]);
    const user = { token: await tokenOf('user', undefined, 's*s,public') };
    const other = { token: await tokenOf('other', undefined, 'public,sale_,hr') };
    const { body } = await service.get(pathOf('team'), user);
    assert.deepEqual([body.is_own, body.subject, body.version], [false, 'owner', 1]);
    const used = await load('counted', 'profile=team', { data: [{ a: 1 }] }, user);
    assert.deepEqual(used.body.load.profile, { name: 'team', version: 1, shared_with: 'sales' });
    assertProblem(await save('team', {}, { ...user, query }), 403, 'profile-not-owned');
    assertProblem(await service.request('DELETE', pathOf('team', query), user), 403, 'profile-not-owned');
    assertProblem(await service.request('DELETE', pathOf('team'), user), 404, 'profile-not-found');
    const namesOf = async (options: RequestOptions) =>
      (await service.get('/api/v1/profiles?name=team', options)).body.profiles.length;
    assert.deepEqual(await Promise.all([namesOf(owner), namesOf(user), namesOf(other)]), [1, 1, 0]);
    for (const path of [pathOf('team'), pathOf('team', query)])
      assertProblem(await service.get(path, other), 404, 'profile-not-found');
    assertProblem(await load('counted', 'profile=team', { data: [] }, other), 404, 'profile-not-found');
    assertProblem(await save('team', {}, { ...other, query }), 403, 'schema-forbidden');
    assertProblem(await save('team', {}, { query: '?shared_with=pg_catalog' }), 403, 'schema-forbidden');
    assertProblem(await save('team', {}, { query: `?shared_with=${records}` }), 403, 'schema-forbidden');
    assertProblem(await save('team', {}, { query: '?shared_with=nowhere' }), 404, 'schema-not-found');
  });

  test('the own profile comes before a shared one, and of several shared ones the schema of the upload decides', async () => {
    await service.rows('CREATE TABLE sales.t (a bigint); CREATE TABLE hr.t (a bigint)');
    const owner = { token: await tokenOf('shares') };
    for (const schema of ['sales', 'hr'])
      await saved(
        'shared',
        { parameters: { if_exists: 'append', rename: `${schema}:a` } },
        { ...owner, query: `?shared_with=${schema}` },
      );
    const user = { token: await tokenOf('uses') };
    const inSales = await load('t', 'profile=shared&schema=sales', { data: [{ sales: 1 }] }, user);
    assert.equal(inSales.body.load?.profile.shared_with, 'sales', JSON.stringify(inSales.body));
    const inHr = await load('t', 'profile=shared&schema=hr', { data: [{ hr: 1 }] }, user);
    assert.equal(inHr.body.load?.profile.shared_with, 'hr', JSON.stringify(inHr.body));
    const { detail } = assertProblem(
      await load('counted', 'profile=shared', { data: [] }, user),
      422,
      'invalid-parameter',
    );
    assert(detail.includes('"hr", "sales"'), detail);
    assertProblem(await service.get(pathOf('shared'), user), 422, 'invalid-parameter');
    assert.equal((await service.get(pathOf('shared', '?shared_with=hr'), user)).body.shared_with, 'hr');
    const onlyHr = { token: await tokenOf('hr', undefined, 'hr,public') };
    assert.equal((await service.get(pathOf('shared'), onlyHr)).body.shared_with, 'hr');
    await saved('shared', { parameters: append }, user);
    assert.equal((await service.get(pathOf('shared'), user)).body.shared_with, null);
    const own = await load('t', 'profile=shared&schema=sales', { data: [{ a: 1 }] }, user);
    assert.deepEqual(own.body.load.profile, { name: 'shared', version: 1 });
  });
});
