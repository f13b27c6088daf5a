/** Errors that people often cause name the remedy. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const json = { 'content-type': 'application/json' };

async function detailsOf(path: string, body: unknown): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await service.request('POST', path, { headers: json, body: text });
  assert.equal(Math.floor(answer.status / 100), 4, JSON.stringify(answer.body));
  const { detail, errors = [] } = answer.body;
  return [detail, ...errors.map((one: { detail: string }) => one.detail)].join('\n');
}

test('a definition in the form of another program is refused with the form to send', async () => {
  const id = { name: 'id', type: 'int' };
  const definitions: [object, RegExp][] = [
    [
      { columns: [id], constraints: { primary_key: ['id'] } },
      /must be an object, not an array: \{"columns": \["id"\]\}/,
    ],
    [
      { columns: [id], constraints: { primary_key: 'id' } },
      /must be an object, not a string: \{"columns": \["id"\]\}/,
    ],
    [
      { columns: [id], constraints: { unique: ['id'] } },
      /must be an object, not a string: \{"columns": \["id"\]\}/,
    ],
    [
      { columns: { id: 'int' } },
      /must be an array, not an object: the list.*\[\{"name": "id", "type": "bigint"\}\]/,
    ],
    [{ columns: ['id'] }, /must be an object, not a string: \{"name": "id", "type": "bigint"\}/],
    [{ fields: [id] }, /Write "columns"/],
    [[id], /must be an object, not an array: \{"columns": \[/],
    [{ columns: [id], constraints: [] }, /not an array: \{"primary_key": \{"columns": \["id"\]\}\}/],
    [{ columns: [id], constraints: { unique: { columns: ['id'] } } }, /not an object: \[\{"columns"/],
    [{ columns: [id], constraints: { primary_key: { columns: 'id' } } }, /not a string: \["id"\]/],
    [
      {
        columns: [id],
        constraints: {
          foreign_keys: [{ column: 'id', reference_table: 'public.other', reference_column: 'id' }],
        },
      },
      /Send "reference_schema": "public" and "reference_table": "other"/,
    ],
    [
      { columns: [{ name: 'a', type: 'jsonb', default: { a: 1 } }] },
      /write its text, as in "\{\\"a\\": 1\}"/,
    ],
    [{ columns: [{ name: 'a', type: 'text[]', default: ['a'] }] }, /write its text, as in "\{a,b\}"/],
    [{ columns: [id], triggers: [] }, /A definition cannot have it.*CREATE TRIGGER/],
    ...(
      [
        ['primary_key', true, /"constraints": \{"primary_key"/],
        ['unique', true, /"constraints": \{"unique"/],
        ['references', 'Customers(Id)', /"constraints": \{"foreign_keys"/],
        ['on_delete', 'cascade', /"foreign_keys": .*"on_delete": "cascade"/],
        ['index', true, /"indexes": \[/],
        ['check', 'id > 0', /"checks": \[\{"expression"/],
        ['description', 'x', /Write "comment"/],
        ['data_type', 'int', /Write "type"/],
        ['column_name', 'id', /Write "name"/],
        ['values', ['a'], /"types": \[/],
        ['null', false, /"is_nullable": false/],
        ['auto_increment', true, /"serial"/],
      ] as const
    ).map(([member, value, remedy]): [object, RegExp] => [{ columns: [{ ...id, [member]: value }] }, remedy]),
    ...(
      [
        ['autoincrement', /Send "serial"/],
        ['int primary key', /Send only the type, and put the key into the table/],
        ['int NOT NULL', /Send only the type: "is_nullable": false/],
        ["varchar(255) default 'x'", /Send only the type:.*"default" is a member/],
        ['enum', /"types": \[/],
        ['geography(Point,4326)', /CREATE EXTENSION postgis/],
        ['vector(3)', /CREATE EXTENSION vector/],
        ['hstore', /CREATE EXTENSION hstore/],
      ] as const
    ).map(([type, remedy]): [object, RegExp] => [{ columns: [{ name: 'a', type }] }, remedy]),
    ...(
      [
        ['timestamp', "CURRENT_TIMESTAMP AT TIME ZONE 'UTC'", /Send timezone\('utc', now\(\)\)/],
        ['timestamp', "now() at time zone 'utc'", /Send timezone\('utc', now\(\)\)/],
        ['text[]', 'ARRAY[]::text[]', /Send an array as text: \{\}/],
        ['uuid', 'uuid_generate_v4()', /Send gen_random_uuid\(\)/],
        ['timestamptz', 'SYSDATE', /Send now\(\)/],
      ] as const
    ).map(([type, text, remedy]): [object, RegExp] => [
      { columns: [{ name: 'a', type, default: text }] },
      remedy,
    ]),
  ];
  for (const [table, remedy] of definitions)
    assert.match(await detailsOf('/table/t', { table }), remedy, JSON.stringify(table));
});

test('a body in another form is refused with the form to send', async () => {
  const upload = '/table/t/upload/json';
  for (const [body, remedy] of [
    [{ columns: ['a'], data: [[1]] }, /orient="records"/],
    [{ data: { a: { 0: 1 } } }, /not an object\. Put one row into an array.*orient="records"/],
    [{ data: '[{"a":1}]' }, /not a string\. Send the array itself/],
    [{ data: 5 }, /not a number\./],
    [{ status: 'ok', meta: {}, items: [{ a: 1 }] }, /member "status".*\?rows_at=\/items;/],
    [{ data: [{ a: 1 }], meta: {} }, /member "meta".*\?rows_at=\/data;/],
    [{ status: 'ok', data: [{ a: 1 }] }, /member "status".*\?rows_at=\/data;/],
    [{ status: 'ok', response: { items: [] } }, /\?rows_at=\/response\/items; POST \/api\/v1\/inspect\/json/],
    ['CREATE TABLE t (id int)', /looks like SQL/],
    ['  insert into t values (1)', /looks like SQL/],
  ] as const)
    assert.match(await detailsOf(upload, body), remedy, JSON.stringify(body));
});

test('a value in another notation is refused with what to change', async () => {
  const table = {
    columns: [
      { name: 'at', type: 'timestamptz' },
      { name: 'n', type: 'numeric' },
    ],
  };
  for (const [row, remedy] of [
    [{ at: 1763719200 }, /Unix time as a date and time/],
    [{ at: '2026-11-21 10:00 Europe/Berlin' }, /write the offset/],
    [{ n: '1.234,50 €' }, /send values=natural/],
    [{ n: '€5' }, /send values=natural/],
  ] as const)
    assert.match(
      await detailsOf('/table/t/upload/json', { table, data: [row] }),
      remedy,
      JSON.stringify(row),
    );
});

test('an empty key can be renamed', async () => {
  const answer = await service.post('/table/renamed/upload/json?rename=:note', { data: [{ '': 'x' }] });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(await service.rows('SELECT * FROM renamed'), [{ note: 'x' }]);
});

test('a path or method that does not exist names the one that was meant', async () => {
  for (const [path, meant] of [
    ['/api/v1/table/t/upload/json/', '/api/v1/table/t/upload/json'],
    ['/api/v1/tables/ord/upload/json', '/api/v1/table/ord/upload/json'],
    ['/table//t', '/api/v1/table/t'],
    ['/api/table/t', '/api/v1/table/t'],
  ] as const) {
    const { status, body } = await service.request('POST', new URL(path, service.url).href, {
      headers: json,
      body: '{}',
    });
    assert.equal(status, 404);
    assert.ok(body.detail.includes(`Did you mean ${meant}?`), body.detail);
  }
});
