/** Runs the operations of the service in all their forms, and returns what matters of their answers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { reservedTypeNames, serialBase } from '../../src/engine/tables/column-types.ts';
import { planForm } from './plan-form.ts';
import type { ServiceClient, TestAnswer } from './service.ts';
import { until } from './until.ts';
import { sheetOf } from './workbook.ts';

/** The settings that the operations need. */
export const settingsOfOperations = { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };

/** The statements that make what the operations use, beside the tables that they create themselves. */
export const objectsOfOperations = `
  CREATE TYPE public.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN public.small AS int CHECK (VALUE OPERATOR(pg_catalog.<) 100);
  CREATE TABLE public.parents (id int PRIMARY KEY, name text UNIQUE); INSERT INTO public.parents VALUES (1, 'one');
  CREATE SEQUENCE public.numbers;
  CREATE TABLE public.strict (a int PRIMARY KEY, b int CHECK (b OPERATOR(pg_catalog.>) 0), c public.small,
    d int DEFAULT (1 OPERATOR(pg_catalog./) 0), e text, f int, p int, q text, span pg_catalog.int4range,
    UNIQUE NULLS NOT DISTINCT (f), FOREIGN KEY (p) REFERENCES public.parents);
  CREATE TABLE public.altered (a int CHECK (a OPERATOR(pg_catalog.>) 0), word text); INSERT INTO public.altered VALUES (1, 'x');
  CREATE UNIQUE INDEX ON public.strict (e) WHERE b OPERATOR(pg_catalog.>) 5`;

/** A definition with a column of every kind, and keys. */
const definition = {
  columns: [
    { name: 'id', type: 'serial' },
    { name: 'parent', type: 'int', default: '1' },
    { name: 'feeling', type: 'mood', default: 'ok' },
    { name: 'few', type: 'small' },
    { name: 'word', type: 'varchar(5)', default: "'abc'::text" },
    { name: 'at', type: 'timestamptz', default: 'now()' },
    { name: 'tags', type: 'text[]' },
    { name: 'span', type: 'int4range' },
    { name: 'number', type: 'bigint', default: "nextval('numbers')" },
    { name: 'price', type: 'numeric(8,2)', default: '0' },
    { name: 'note', type: 'string', default: "'a'::string" },
    { name: 'code', type: 'text', default: 'to_char(now(), \'"x"\')' },
  ],
  constraints: {
    primary_key: { name: '', columns: ['id'] },
    unique: [{ name: '', columns: ['word', 'parent'] }],
    foreign_keys: [{ name: '', column: 'parent', reference_table: 'parents', reference_column: 'id' }],
  },
};

const reference = {
  foreign_keys: [{ name: '', column: 'id', reference_table: 'joint_a', reference_column: 'id' }],
};

const faulty = {
  columns: [
    { name: 'a', type: 'moood' },
    { name: 'b', type: 'int', default: 'x' },
    { name: 'c', type: 'varchar(0)' },
    { name: 'd', type: 'small', default: '1000' },
    { name: 'e', type: 'date', default: "to_char(now(), 'YYYY')" },
    { name: 'f', type: 'int' },
    { name: 'g', type: 'bigint' },
    { name: 'h', type: 'citext' },
    { name: 'i', type: 'citext[]', default: "'{}'::_citext" },
  ],
  constraints: {
    primary_key: { name: 'parents_pkey', columns: ['f'] },
    foreign_keys: [
      { name: '', column: 'f', reference_table: 'Parents', reference_column: 'id' },
      { name: '', column: 'g', reference_table: 'parents', reference_column: 'id' },
    ],
  },
};

/** A column of each alias, serial type and array of an alias, and of the types of `pg_catalog` with common names. */
const namedTypes = {
  columns: [
    ...reservedTypeNames,
    ...reservedTypeNames.filter((name) => serialBase(name) === undefined).map((name) => `${name}[]`),
    ...'int integer text bool boolean date time timestamp timestamptz json jsonb uuid bytea numeric float4 float8 int2 int4'.split(
      ' ',
    ),
    ...'int8 inet interval xml money bpchar varchar char bit varbit point tsvector name oid _text "char" "bit"'.split(
      ' ',
    ),
  ].map((type, index) => ({ name: `c${index}`, type })),
};

const row = { d: 1, b: 9, e: 'x' };
const good = [
  { word: 'one', feeling: 'sad', few: 1, span: '[1,2)' },
  { word: 'two', parent: 1, tags: ['x'] },
];
const csv = Buffer.from('a,b,c\n1,2024-01-01,x\n2,2024-01-02,\n');
const workbook = sheetOf([
  ['id', 'word'],
  [1, 'one'],
  [2, 'two'],
]);

/** Runs all operations. @returns each request with its answer */
export async function runEveryOperation(service: ServiceClient): Promise<string[]> {
  const answers: string[] = [];
  const note = (what: string, answer: TestAnswer) => {
    answers.push(`${what}: ${answer.status} ${whatMatters(answer.body)}`);
    return answer;
  };
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    note(`POST ${path}`, await service.post(path, body, { headers }));
  const get = async (path: string, headers: Record<string, string> = {}) =>
    note(`GET ${path}`, await service.get(path, { headers }));
  const upload = async (path: string, file: Buffer) => note(`POST ${path}`, await service.upload(path, file));

  await post('/table/made', { table: definition });
  await post('/table/made', { table: definition });
  const { body } = await post('/table/made?if_not_exists=true', { table: definition });
  await post('/table/made_again', { table: { columns: body.table.columns } });
  await get('/table/made');
  await get('/table/lacking');
  await post('/table/faulty', { table: faulty });
  await post('/table/named', { table: namedTypes });
  await post('/table/named/upload/json?if_exists=append', { data: [{ c0: 'a', c1: 'b' }, {}] });
  await post('/table/keyed', { table: definition }, { 'idempotency-key': 'create' });
  await post('/table/keyed', { table: definition }, { 'idempotency-key': 'create' });

  const made = '/table/made/upload/json?if_exists=';
  await post(`${made}append`, { data: good });
  const origins = 'provenance=load_id:_load,loaded_at:_at,source_file:_file,source_row:_row';
  await post(`/table/origins/upload/json?if_exists=append&${origins}`, { data: [{ a: 1 }] });
  await post(`/table/origins/upload/json?if_exists=append&${origins},source_sheet:_s`, { data: [{ a: 1 }] });
  await post(`${made}append`, { data: [{ id: 1, few: 200 }, { parent: 7 }] });
  for (const onConflict of ['skip', 'update']) {
    const path = `${made}append&on_conflict=${onConflict}`;
    await post(path, { data: [{ id: 1, price: 2 }, { id: 1, word: 'x' }, { id: 50 }] });
    const repeated = { id: 61, word: 'x', parent: 1 };
    await post(path, { data: [{ id: 60, parent: 9 }, repeated] });
    await post(`${path}&faulty_rows=leave_out`, { data: [{ id: 62, parent: 9 }, repeated, { id: 'x' }] });
  }
  await post(`${made}append&faulty_rows=leave_out`, {
    data: [{ few: 500 }, { id: 1 }, { id: 70, word: 'y' }],
  });
  await post(`${made}append&dry_run=true`, { table: definition, data: good });
  await post(`${made}append&extra_columns=add`, { data: [{ id: 80, more: true, when: '2024-01-01' }] });
  const wide = { id: 5_000_000_000, word: 'longer', price: 1.2345, feeling: 'new' };
  await post(`${made}append&misfits=widen_text`, { data: [wide, { id: 81 }] });
  await post(`${made}append&misfits=widen`, { data: [{ id: 82, parent: 1.5 }] });
  await post(`${made}truncate`, { data: good }, { 'idempotency-key': 'truncate' });
  await post(`${made}truncate`, { data: good }, { 'idempotency-key': 'truncate' });
  await post(`${made}replace`, { table: definition, data: [{ word: 'a' }, { id: 9 }] });
  await post(`${made}replace`, { table: definition, data: [{ id: 1 }, { id: 1, parent: 5 }] });
  await post('/table/parents/upload/json?if_exists=replace', { data: [{ id: 1 }] });
  await post('/table/parents/upload/json?if_exists=truncate', { data: [{ id: 1 }] });
  await get('/table/made/rows');
  const after = Buffer.from(JSON.stringify(['id', '0'])).toString('base64url');
  await get(`/table/made/rows?order=id&after=${after}`);
  // The time in a column would change the bytes of a packed file.
  for (const format of ['csv', 'ndjson', 'xlsx&columns=id,tags'])
    await get(`/table/made/rows?format=${format}&order=id`);
  const json = { 'content-type': 'application/json' };
  const altered = [
    { name: 'n', renamed_from: 'a', type: 'bigint', is_nullable: false },
    { name: 'word', type: 'varchar(20)', default: 'x', comment: "it's" },
    { name: 'more', type: 'serial' },
  ];
  const constraints = {
    checks: [{ expression: 'n < 9 AND word <> lower(word)' }],
    unique: [{ columns: ['word'] }],
  };
  for (const [query, table] of [
    ['', { columns: altered }],
    ['&dry_run=true', { columns: altered, indexes: [{ columns: [{ expression: 'lower(word)' }] }] }],
    ['', { constraints }],
    ['', { constraints: { ...constraints, checks: [] }, comment: 'x' }],
    ['', { columns: [{ name: 'word', type: 'integer' }] }],
  ] as const) {
    const path = `/table/altered?allow=drop_columns,drop_constraints${query}`;
    const body = JSON.stringify({ table });
    note(`PUT ${path}`, await service.request('PUT', path, { body, headers: json }));
  }
  const change = { method: 'PATCH', path: '/table/made_again' };
  for (const body of [{ name: 'renamed', comment: "it's" }, { name: 'parents' }, { schema: 'lacking' }]) {
    const answer = await service.request(change.method, change.path, {
      body: JSON.stringify(body),
      headers: json,
    });
    note(`${change.method} ${change.path}`, answer);
  }
  for (const table of ['parents?dry_run=true', 'renamed', 'lacking?if_exists=true'])
    note(`DELETE ${table}`, await service.request('DELETE', `/table/${table}`));

  const strict = '/table/strict/upload/json?if_exists=append';
  await post(strict, { data: [{ a: 1, ...row, f: 1 }] });
  const wrong = [
    { ...row, a: 2, b: 0 },
    { ...row, a: 3 },
    { ...row, a: 4, c: 500, p: 8 },
  ];
  await post(strict, { data: wrong });
  await post(`${strict}&faulty_rows=leave_out`, { data: wrong });
  await post(strict, { data: [{ a: 5, b: 1 }] });
  const skipped = [
    { ...row, a: 1 },
    { ...row, a: 6, b: -1, span: 'x' },
  ];
  await post(`${strict}&on_conflict=skip`, { data: skipped });
  const updated = [
    { a: 1, d: 2 },
    { a: 1, d: 3, e: 'y' },
    { a: 7, d: 0, b: 1 },
  ];
  await post(`${strict}&on_conflict=update`, { data: updated });
  const missing = '&on_conflict=update&max_missing_rows=100%25&missing_rows';
  const absent = `${strict}${missing}=delete&faulty_rows=leave_out&dry_run=true`;
  for (const within of ['', '&missing_within=b,c'])
    await post(`${absent}${within}`, { data: [...skipped, ...wrong, { ...row, a: 8, b: 'x' }] });

  const typed = {
    types: [
      { name: 'pace', labels: ['slow', 'fast'] },
      { name: 'paces', base: 'pace[]' },
    ],
    columns: [
      { name: 'a', type: 'pace', default: 'slow' },
      { name: 'b', type: 'paces' },
    ],
    constraints: { unique: [{ columns: ['a'], include: ['b'], nulls_not_distinct: true }] },
  };
  await post('/table/typed', { table: typed });
  await post('/table/typed?if_not_exists=true', { table: typed });
  await post('/table/typed_too/upload/json', { table: typed, data: [{ a: 'fast', b: ['slow'] }] });

  const inferred = [{ a: 1.5, b: 'x', c: { d: 1 }, e: true, f: '2024-01-01', g: '2024-01-01T00:00:00Z' }, {}];
  await post('/table/free.dotted/upload/json', { data: inferred });
  await post('/table/free/upload/json?primary_key=a', { data: inferred.slice(0, 1) });
  for (const action of ['mark:e', 'delete'])
    await post(`/table/free/upload/json?if_exists=append${missing}=${action}`, { data: [{ a: 2.5 }] });
  await upload('/table/sheet/upload/excel', csv);
  await upload('/table/sheet/upload/excel?if_exists=truncate&dry_run=true', csv);
  await upload('/table/book/upload/excel?primary_key=id', workbook);
  await upload('/table/book/upload/excel?if_exists=append&on_conflict=update', workbook);
  await get('/table/book/rows?limit=1');
  await upload('/api/v1/inspect/excel', workbook);
  const parts = [
    {
      table: 'joint_b',
      file: 'f',
      definition: { columns: [{ name: 'id', type: 'int' }], constraints: reference },
    },
    { table: 'joint_a', file: 'f', primary_key: 'id' },
  ];
  for (const more of [{}, { if_exists: 'truncate' }, { if_exists: 'append' }]) {
    const tables = parts.map(({ table, file, ...made }) => ({
      table,
      file,
      ...('if_exists' in more ? more : made),
    }));
    const body = planForm({ tables }, { f: 'id\n1\n' });
    note('several tables', await service.request('POST', '/api/v1/loads', { body }));
  }
  await post('/api/v1/inspect/json', { data: good });

  const later = await service.post(
    '/table/later/upload/json',
    { data: good },
    { headers: { prefer: 'respond-async' } },
  );
  const load = later.headers.get('location')!;
  const stateOf = async () => (await service.get(load)).body.state;
  await until('the asynchronous load', async () => !['queued', 'running'].includes(await stateOf()));
  note('asynchronous load', await service.get(load));
  note('cancel', await service.post(`${load}/cancel`, {}));
  note('problems', await service.get(`${load}/problems`));
  note('changes', await service.get(`${load}/changes`));
  note('faulty rows', await service.get(`${load}/faulty-rows`));
  await get('/api/v1/loads?limit=3');
  const { body: tables } = await service.get('/api/v1/tables?schema=public&limit=1000');
  answers.push(
    `tables: ${tables.tables
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => ownTables.has(name))
      .sort()}`,
  );
  const { body: types } = await service.get('/api/v1/types');
  const kinds = types.types.map(({ schema, name, kind }: Record<string, string>) => [schema, name, kind]);
  answers.push(`types: ${JSON.stringify(kinds.filter(([schema]: string[]) => schema === 'pg_catalog'))}`);
  answers.push(`events: ${await eventsOfLoad(service)}`);
  await useWebhook(service, note);
  await useProfile(service, note);
  return answers;
}

const ownTables = new Set(
  'made made_again named keyed parents strict free.dotted free sheet book later'.split(' '),
);

/** Reads the feed while rows are loaded. @returns the types of the events */
async function eventsOfLoad(service: ServiceClient): Promise<string[]> {
  const end = new AbortController();
  const answer = await fetch(`${service.url}/api/v1/events`, {
    headers: { authorization: `Bearer ${await service.token()}` },
    signal: end.signal,
  });
  const chunks = answer.body!.values();
  // The stream begins with an id: it has all later events.
  let text = Buffer.from((await chunks.next()).value!).toString();
  await service.post('/table/told/upload/json', { data: [{ a: 1 }] });
  while (!text.includes('rows.loaded')) text += Buffer.from((await chunks.next()).value!).toString();
  end.abort();
  return [...text.matchAll(/^event: (\S+)$/gm)].map(([, type]) => type!);
}

async function useProfile(
  service: ServiceClient,
  note: (what: string, answer: TestAnswer) => void,
): Promise<void> {
  const path = '/api/v1/profiles/own?shared_with=public';
  const headers = { 'content-type': 'application/json' };
  for (const rename of ['x:a', 'y:a']) {
    const body = JSON.stringify({ parameters: { if_exists: 'append', rename } });
    await service.request('PUT', path, { headers, body });
  }
  note('profile', await service.post('/table/told/upload/json?profile=own', { data: [{ y: 3 }] }));
  note('profiles', { ...(await service.get('/api/v1/profiles')), body: {} });
  note('deleted', await service.request('DELETE', path));
}

async function useWebhook(
  service: ServiceClient,
  note: (what: string, answer: TestAnswer) => void,
): Promise<void> {
  let arrivals = 0;
  const receiver = createServer((request, response) => {
    arrivals++;
    request.resume();
    response.end();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  try {
    const made = await service.post('/api/v1/webhooks', {
      url: `http://127.0.0.1:${port}/`,
      types: ['rows.loaded'],
    });
    const hook = `/api/v1/webhooks/${made.body.id}`;
    await service.post('/table/told/upload/json?if_exists=append', { data: [{ a: 2 }] });
    const delivered = async () =>
      (await service.get(`${hook}/deliveries`)).body.deliveries[0]?.state === 'delivered';
    await until('the delivery', delivered);
    note('ping', await service.post(`${hook}/ping`, {}));
    await until('the ping', () => arrivals === 2);
    note('webhooks', { ...(await service.get('/api/v1/webhooks')), body: {} });
    note('removed', await service.request('DELETE', hook));
  } finally {
    receiver.close();
  }
}

/** The members of an answer that differ from one time to the next, or that suggest names of other objects. */
const unlike = new Set(['detail', 'instance', 'secret', 'duration_ms', 'estimated_rows', 'bytes', 'url']);

/** Returns the answer without what differs from one time to the next. PostgreSQL may qualify names of `pg_catalog` that another schema also has. */
function whatMatters(body: unknown): string {
  return (JSON.stringify(body, (key, value) => (unlike.has(key) ? undefined : value)) ?? '')
    .replace(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'id')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00(?::00)?)/g, 'time')
    .replaceAll(/OPERATOR\(pg_catalog\.([^)]+)\)/g, '$1')
    .replaceAll('pg_catalog.', '');
}
