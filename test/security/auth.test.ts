/** Tests tokens, scopes, schemas and roles. */
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { rawRequest } from '../support/raw-http.ts';
import { type RequestOptions, secret, startTestService, type TestService } from '../support/service.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;
const table = { columns: [{ name: 'a', type: 'integer' }] };
const data = [{ a: 1 }];
const workbook = sheetOf([['a'], [1]]);

before(async () => {
  service = await startTestService({
    TOKEN_ISSUER: 'https://login.example.com/',
    TOKEN_AUDIENCE: 'tablewright',
  });
});
after(() => service.stop());

const seconds = () => Math.floor(Date.now() / 1000);
const claims = () => ({
  scope: 'table:create table:load table:replace table:read',
  iss: 'https://login.example.com/',
  aud: 'tablewright',
  exp: seconds() + 60,
});

/** Creates a JWT by hand, so that it can be wrong in any way. */
function jwt(
  payload: unknown,
  header: object = { alg: 'HS256', typ: 'JWT' },
  key = secret,
  hash = 'sha256',
): string {
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
}

/** Returns a token whose claims are JSON that `JSON.stringify` does not write. */
function handMade(claims: string): string {
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${Buffer.from(claims).toString('base64url')}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

suite('authentication', () => {
  const everywhere: [string, (options: RequestOptions) => ReturnType<TestService['request']>][] = [
    ['create', (options) => service.post('/table/unseen', { table }, options)],
    ['describe', (options) => service.get('/table/unseen', options)],
    ['upload JSON', (options) => service.post('/table/unseen/upload/json', { table, data }, options)],
    [
      'upload Excel',
      (options) =>
        service.request('POST', '/table/unseen/upload/excel', { ...options, body: formOf(workbook) }),
    ],
  ];
  for (const [operation, call] of everywhere) {
    test(`${operation} needs a token`, async () => {
      const answer = await call({ token: null });
      assertProblem(answer, 401, 'missing-token');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="tablewright"');
    });
    test(`${operation} needs a valid token`, async () => {
      const answer = await call({ token: jwt({ ...claims(), exp: seconds() - 60 }) });
      assertProblem(answer, 401, 'invalid-token');
      assert.match(
        answer.headers.get('www-authenticate')!,
        /^Bearer realm="tablewright", error="invalid_token", error_description="[^"]+"$/,
      );
    });
  }
  after(async () =>
    assert.deepEqual(await service.rows("SELECT to_regclass('unseen') AS found"), [{ found: null }]),
  );

  test('a valid token is accepted, and one that has just expired or is not valid yet, because clocks differ', async () => {
    for (const more of [
      {},
      { exp: seconds() - 20 },
      { nbf: seconds() + 20 },
      { aud: ['other', 'tablewright'] },
    ]) {
      assertProblem(
        await service.get('/table/none', { token: jwt({ ...claims(), ...more }) }),
        404,
        'table-not-found',
      );
    }
    const lowerCase = { authorization: `bearer ${jwt(claims())}` };
    assertProblem(
      await service.get('/table/none', { token: null, headers: lowerCase }),
      404,
      'table-not-found',
    );
  });

  const [header, payload, signature] = jwt(claims()).split('.') as [string, string, string];
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const rsa = `${encode({ alg: 'RS256' })}.${encode(claims())}`;
  const wrong: [string, () => string, RegExp][] = [
    ['expired', () => jwt({ ...claims(), exp: seconds() - 60 }), /expired/],
    ['not valid yet', () => jwt({ ...claims(), nbf: seconds() + 60 }), /not valid before 20.*Z\.$/],
    ['without an end', () => jwt({ ...claims(), exp: undefined }), /exp/],
    ['with an end that is text', () => jwt({ ...claims(), exp: 'never' }), /"exp" is not a number/],
    ['that never begins', () => jwt({ ...claims(), nbf: 1e308 }), /nbf/],
    ['that ends after the year 9999', () => jwt({ ...claims(), exp: 1e308 }), /exp/],
    ['that never ends', () => handMade(JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e999')), /exp/],
    ['of another issuer', () => jwt({ ...claims(), iss: 'https://evil.example.com/' }), /iss/],
    ['without an issuer', () => jwt({ ...claims(), iss: undefined }), /iss/],
    ['for another audience', () => jwt({ ...claims(), aud: 'other' }), /aud/],
    ['signed with another secret', () => jwt(claims(), undefined, 'x'.repeat(32)), /key|secret|signature/],
    ['signed with nothing', () => `${header}.${payload}.`, /signature|malformed|key/],
    ['of alg none', () => `${encode({ alg: 'none' })}.${payload}.`, /algorithm|malformed/],
    ['of alg none with a signature', () => `${encode({ alg: 'none' })}.${payload}.${signature}`, /algorithm/],
    ['of alg HS512', () => jwt(claims(), { alg: 'HS512' }, secret, 'sha512'), /algorithm/],
    [
      'of alg RS256',
      () => `${rsa}.${sign('sha256', Buffer.from(rsa), privateKey).toString('base64url')}`,
      /algorithm/,
    ],
    [
      'signed with a public key as secret',
      () => jwt(claims(), undefined, publicKey.export({ type: 'spki', format: 'pem' }) as string),
      /key|secret|signature/,
    ],
    [
      'whose claims were changed',
      () => `${header}.${encode({ ...claims(), scope: 'all' })}.${signature}`,
      /key|secret|signature/,
    ],
    ['with a critical extension', () => jwt(claims(), { alg: 'HS256', crit: ['x'], x: 1 }), /malformed/],
    ['whose claims are no object', () => jwt([1]), /malformed/],
    ['that is no JWT', () => 'opaque', /malformed/],
    ['whose scope is a number', () => jwt({ ...claims(), scope: 7 }), /scope/],
    ['whose role is empty', () => jwt({ ...claims(), role: '' }), /role/],
    ['whose role is longer than a name', () => jwt({ ...claims(), role: 'r'.repeat(64) }), /role.*63 bytes/],
    ['whose role holds NUL', () => jwt({ ...claims(), role: 'writer\0' }), /role.*NUL/],
  ];
  for (const [title, token, reason] of wrong) {
    test(`a token ${title} is refused`, async () => {
      const answer = await service.get('/table/none', { token: token() });
      const { detail } = assertProblem(answer, 401, 'invalid-token');
      assert.match(detail, reason);
      const [, described] = /error="invalid_token", error_description="([^"]*)"/.exec(
        answer.headers.get('www-authenticate')!,
      )!;
      assert.equal(described, detail.replaceAll('"', "'"));
    });
  }

  test('a token that has expired since its first use is refused', async (t) => {
    const token = jwt({ ...claims(), exp: seconds() + 1 });
    assert.equal((await service.get('/table/none', { token })).status, 404);
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 40_000 });
    const answer = await service.get('/table/none', { token });
    assert.match(assertProblem(answer, 401, 'invalid-token').detail, /expired/);
  });

  for (const authorization of [
    'Basic dXNlcjpwYXNz',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearer Bearer',
    'Bearer Bearer Bearer a',
    `Token ${jwt(claims())}`,
    jwt(claims()),
    'Bearer ä',
  ]) {
    test(`a request with "${authorization.slice(0, 20)}" is refused`, async () => {
      const answer = await service.get('/table/none', { token: null, headers: { authorization } });
      assertProblem(answer, 401, 'invalid-token');
    });
  }

  test('a header with the word Bearer twice is accepted', async () => {
    const headers = { authorization: `Bearer Bearer ${jwt(claims())}` };
    assert.equal((await service.get('/table/none', { token: null, headers })).status, 404);
  });

  test('a request with two headers Authorization is refused', async () => {
    const token = jwt(claims());
    const lines = ['GET /api/v1/table/none HTTP/1.1', 'Host: localhost', 'Connection: close'];
    const headers = [`Authorization: Bearer ${token}`, `authorization: Bearer ${token}`];
    const once = await rawRequest(service.url, [...lines, headers[0], '', ''].join('\r\n'));
    assertProblem(once, 404, 'table-not-found');
    const twice = await rawRequest(service.url, [...lines, ...headers, '', ''].join('\r\n'));
    assertProblem(twice, 400, 'invalid-request');
  });

  test('health checks and the documentation need no token', async () => {
    for (const path of ['/healthz', '/readyz', '/version', '/openapi.json', '/docs/errors/missing-token']) {
      assert.notEqual((await service.get(path, { token: null })).status, 401, path);
    }
  });
});

suite('scopes', () => {
  const upload = (name: string, query: string, token: string) =>
    service.post(`/table/${name}/upload/json${query}`, { data }, { token });
  before(() => service.post('/table/stands', { table }));

  const needs: [string, string, (token: string) => ReturnType<TestService['request']>][] = [
    ['table:create', 'create', (token) => service.post('/table/x', { table }, { token })],
    ['table:read', 'describe', (token) => service.get('/table/stands', { token })],
    ['table:create', 'upload', (token) => upload('x', '', token)],
    ['table:load', 'append', (token) => upload('stands', '?if_exists=append', token)],
    ['table:replace', 'truncate', (token) => upload('stands', '?if_exists=truncate', token)],
    ['table:replace', 'replace', (token) => upload('stands', '?if_exists=replace', token)],
    [
      'table:create',
      'upload of a workbook',
      (token) => service.request('POST', '/table/x/upload/excel', { token, body: formOf(workbook) }),
    ],
  ];
  for (const [scope, operation, call] of needs) {
    test(`${operation} needs ${scope}`, async () => {
      const others = ['table:create', 'table:load', 'table:replace', 'table:read'].filter(
        (one) => one !== scope,
      );
      const answer = await call(await service.token({ scope: others.join(' ') }));
      const { detail } = assertProblem(answer, 403, 'insufficient-scope');
      assert.match(detail, new RegExp(scope));
      assert.equal(
        answer.headers.get('www-authenticate'),
        `Bearer realm="tablewright", error="insufficient_scope", scope="${scope}"`,
      );
      const allowed = await call(await service.token({ scope }));
      assert.ok(allowed.status < 300, JSON.stringify(allowed.body));
      await service.rows('DROP TABLE IF EXISTS x');
    });
  }

  test('table:create is needed if append, truncate or replace would create a table', async () => {
    for (const value of ['append', 'truncate', 'replace']) {
      const answer = await upload(
        'x',
        `?if_exists=${value}`,
        await service.token({ scope: 'table:load table:replace' }),
      );
      assert.match(assertProblem(answer, 403, 'insufficient-scope').detail, /table:create/);
    }
  });

  test('table:create is needed to add columns', async () => {
    const path = '/table/stands/upload/json?if_exists=append&extra_columns=add';
    const rows = { data: [{ a: 1, more: 2 }] };
    const token = await service.token({ scope: 'table:load' });
    const refused = assertProblem(await service.post(path, rows, { token }), 403, 'insufficient-scope');
    assert.match(refused.detail, /table:create/);
    const both = await service.token({ scope: 'table:load table:create' });
    assert.equal((await service.post(path, rows, { token: both })).status, 200);
    await service.rows('ALTER TABLE stands DROP COLUMN more');
  });

  test('scopes may be in the claim scp, as a list or as text', async () => {
    for (const scp of [['table:read'], 'table:read table:load']) {
      const { scope: _, ...rest } = claims();
      const answer = await service.get('/table/stands', { token: jwt({ ...rest, scp }) });
      assert.equal(answer.status, 200);
    }
  });
});

suite('schemas', () => {
  before(async () => {
    for (const schema of ['sales_2026', 'sales', 'a.b', 'axb'])
      await service.rows(`CREATE SCHEMA "${schema}"`);
  });
  const create = async (schema: string, schemas: string[]) =>
    service.post(`/table/t?schema=${schema}`, { table }, { token: await service.token({ schemas }) });

  const open: [string, string[]][] = [
    ['sales_2026', ['sales_*']],
    ['sales', ['public', 'sales']],
    ['public', ['*b*i*']],
    ['a.b', ['a.b']],
  ];
  for (const [schema, schemas] of open) {
    test(`a token for the schemas ${schemas} allows ${schema}`, async () => {
      const answer = await create(schema, schemas);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
    });
  }
  const closed: [string, string[]][] = [
    ['public', ['sales_*']],
    ['public', ['p*ub*lic*c']],
    ['public', [`${'*b'.repeat(5000)}*x`]],
    ['sales', ['sales_*']],
    ['sales_2026', ['sales']],
    ['axb', ['a.b']],
    ['public', []],
  ];
  for (const [schema, schemas] of closed) {
    test(`a token for the schemas [${schemas}] does not allow ${schema}`, async () => {
      assertProblem(await create(schema, schemas), 403, 'schema-forbidden');
      const token = await service.token({ schemas });
      assertProblem(await service.get(`/table/t?schema=${schema}`, { token }), 403, 'schema-forbidden');
      const upload = `/table/t/upload/json?schema=${schema}`;
      assertProblem(await service.post(upload, { data }, { token }), 403, 'schema-forbidden');
    });
  }

  for (const schema of ['pg_catalog', 'information_schema', 'pg_toast', 'pg_temp']) {
    test(`no token allows the schema ${schema}`, async () => {
      assertProblem(await create(schema, ['*']), 403, 'schema-forbidden');
      assertProblem(await service.get(`/table/pg_class?schema=${schema}`), 403, 'schema-forbidden');
      assertProblem(
        await service.post(`/table/a/upload/json?schema=${schema}`, { data }),
        403,
        'schema-forbidden',
      );
    });
  }

  test('the schema of a foreign key must be allowed by the token, too', async () => {
    await service.post('/table/target?schema=sales', {
      table: { ...table, constraints: { primary_key: { name: '', columns: ['a'] } } },
    });
    const refers = {
      ...table,
      constraints: {
        foreign_keys: [
          {
            name: '',
            column: 'a',
            reference_table: 'target',
            reference_column: 'a',
            reference_schema: 'sales',
          },
        ],
      },
    };
    const token = await service.token({ schemas: ['public'] });
    // Otherwise a caller who may not see the table could ask for its keys, one by one.
    for (const [path, body] of [
      ['/table/refers', { table: refers }],
      ['/table/refers/upload/json', { table: refers, data }],
      ['/table/refers/upload/json', { data, table: refers }],
      ['/table/t/upload/json?if_exists=append', { data, table: refers }],
    ] as const) {
      assertProblem(await service.post(path, body, { token }), 403, 'schema-forbidden');
    }
    assert.equal((await service.post('/table/refers', { table: refers })).status, 201);
  });

  test('a default may not use a sequence in a schema that is not allowed', async () => {
    await service.rows('CREATE SEQUENCE sales.numbers');
    const numbered = { columns: [{ name: 'a', type: 'bigint', default: "nextval('sales.numbers')" }] };
    const token = await service.token({ schemas: ['public'] });
    for (const [path, body] of [
      ['/table/numbered', { table: numbered }],
      ['/table/numbered/upload/json', { table: numbered, data: [{}] }],
    ] as const) {
      assertProblem(await service.post(path, body, { token }), 403, 'schema-forbidden');
    }
    const missing = { columns: [{ ...numbered.columns[0], default: "nextval('sales.missing')" }] };
    assertProblem(
      await service.post('/table/numbered', { table: missing }, { token }),
      403,
      'schema-forbidden',
    );
    assert.equal((await service.post('/table/numbered', { table: numbered })).status, 201);
    // A table that already has them accepts rows, and equals the definition.
    const append = '/table/numbered/upload/json?if_exists=append';
    assert.equal((await service.post(append, { table: numbered, data }, { token })).status, 200);
    const again = await service.post('/table/numbered?if_not_exists=true', { table: numbered }, { token });
    assert.deepEqual([again.status, again.body.differences], [200, []]);
    const replace = '/table/numbered/upload/json?if_exists=replace';
    assertProblem(await service.post(replace, { table: numbered, data }, { token }), 403, 'schema-forbidden');
  });
});

suite('roles', () => {
  const role = `clerk_${process.pid}_${Date.now()}`;
  let token: string;
  before(async () => {
    const { adminUrl } = service.database;
    assert.ok(adminUrl, 'the test server offers a superuser');
    await asAdmin(`CREATE ROLE ${role}`);
    const [{ current_user: user }] = (await service.rows('SELECT current_user')) as [
      { current_user: string },
    ];
    await asAdmin(`GRANT ${role} TO "${user}"`);
    await service.rows(`CREATE SCHEMA clerks`);
    await service.rows(`GRANT USAGE, CREATE ON SCHEMA clerks TO ${role}`);
    await service.post('/table/ours', { table });
    token = await service.token({ role });
  });
  after(async () => {
    await asAdmin(`DROP OWNED BY ${role}`);
    await asAdmin(`DROP ROLE ${role}`);
  });

  async function asAdmin(sql: string): Promise<void> {
    const { default: pg } = await import('pg');
    const client = new pg.Client(service.database.adminUrl);
    await client.connect();
    await client.query(sql);
    await client.end();
  }

  test('the role of a token owns the tables that it creates', async () => {
    const answer = await service.post('/table/t/upload/json?schema=clerks', { data }, { token });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows("SELECT tableowner FROM pg_tables WHERE schemaname = 'clerks'"), [
      { tableowner: role },
    ]);
  });

  test('a role without CREATE on the schema may not create a table', async () => {
    await service.rows('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    assertProblem(await service.post('/table/not_ours', { table }, { token }), 403, 'permission-denied');
    assertProblem(
      await service.post('/table/not_ours/upload/json', { data }, { token }),
      403,
      'permission-denied',
    );
  });

  test('a role may add rows with only the privilege INSERT', async () => {
    const append = () => service.post('/table/ours/upload/json?if_exists=append', { data }, { token });
    assertProblem(await append(), 403, 'permission-denied');
    await service.rows(`GRANT INSERT ON ours TO ${role}`);
    const answer = await append();
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((await service.rows('SELECT * FROM ours')).length, 1);
    for (const value of ['truncate', 'replace']) {
      const refused = await service.post(`/table/ours/upload/json?if_exists=${value}`, { data }, { token });
      assertProblem(refused, 403, 'permission-denied');
    }
  });

  test('a role that does not exist, or that the service may not use, is refused', async () => {
    const none = await service.token({ role: 'nobody_has_this' });
    assertProblem(await service.get('/table/ours', { token: none }), 403, 'permission-denied');
    const superuser = await service.token({ role: new URL(service.database.adminUrl!).username });
    assertProblem(await service.get('/table/ours', { token: superuser }), 403, 'permission-denied');
    const tricky = await service.token({ role: 'x"; RESET ROLE; --' });
    assertProblem(await service.get('/table/ours', { token: tricky }), 403, 'permission-denied');
  });

  test('the role of a token ends with the transaction', async () => {
    for (let n = 0; n < 5; n += 1) await service.get('/table/ours', { token });
    const answer = await service.post('/table/made_by_the_service', { table });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
  });
});

function formOf(file: Buffer): FormData {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(file)]), 'a.xlsx');
  return form;
}
