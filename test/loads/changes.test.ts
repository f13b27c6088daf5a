/** `GET /api/v1/loads/{id}/changes`: the first differences of a load from its table, and who sees their values. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { LoadResult } from '../../src/engine/loading/request/load-request.ts';
import type { RowChange } from '../../src/engine/loading/request/row-change.ts';
import { changeList, maxChangeBytes, storedChanges } from '../../src/service/loads/stored-changes.ts';
import { storePages } from '../../src/service/loads/stored-pages.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const schema = { name: 'tablewright_service', quoted: 'tablewright_service' };
const role = `changes_${process.pid}_${Date.now()}`;
let service: TestService;
let admin: pg.Client;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  const [{ name }] = (await service.rows('SELECT quote_ident(current_user) AS name')) as [{ name: string }];
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${name};
    CREATE TABLE prices (id int PRIMARY KEY, price numeric, note text); ALTER TABLE prices OWNER TO ${name};
    GRANT INSERT, UPDATE, SELECT ON prices TO ${role}`);
});
after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

const idOf = ({ headers }: TestAnswer): string => headers.get('load-id')!;
const changesOf = (id: string, query = '', token?: string) =>
  service.get(`/api/v1/loads/${id}/changes${query}`, token === undefined ? {} : { token });

/** A load with one change of each kind. */
const kinds: RowChange[] = [
  { kind: 'inserted', row: 1, key: { id: '1' }, cells: [{ column: 'price', new: '1.0' }] },
  {
    kind: 'changed',
    row: 2,
    key: { id: '2' },
    cells: [
      { column: 'price', old: '5', new: '2' },
      { column: 'note', old: 'secret', new: null },
    ],
  },
  { kind: 'missing', key: { id: '3' }, cells: [] },
  { kind: 'marked', key: { id: '4' }, cells: [{ column: 'note', old: null, new: 'gone' }] },
];

/** Loads a row under a token, and stores changes with this load. */
async function storeKinds(token: string): Promise<string> {
  const answer = await service.post(
    '/table/prices/upload/json?if_exists=append&on_conflict=update',
    { data: [{ id: 9, price: Date.now() }] },
    { token },
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { counts, count, bytes, pages } = storedChanges({
    counts: { inserted: 1, changed: 1, unchanged: 7 },
    changes: kinds,
  } as LoadResult)!;
  const id = idOf(answer);
  await service.rows(`DELETE FROM ${schema.name}.load_changes WHERE load = $1`, [id]);
  await service.rows(
    `UPDATE ${schema.name}.loads SET change_counts = $2, changes_stored = $3, change_bytes = $4 WHERE id = $1`,
    [id, counts, count, bytes],
  );
  for (const { text, values } of storePages(schema, id, pages)) await service.rows(text, values);
  return id;
}

const withoutOld = kinds.map(({ cells, ...change }) => ({
  ...change,
  cells: cells.map(({ old: _, ...cell }) => cell),
}));
/** The changes without any value of the table. */
const ownValues = withoutOld.map((change, index) => (index < 2 ? change : { ...change, key: {} }));

test('old values need the scope table:read, and without it the new ones and the counts are shown', async () => {
  const id = await storeKinds(await service.token({ subject: 'ann' }));
  const { status, body } = await changesOf(
    id,
    '',
    await service.token({ subject: 'ann', scope: 'table:read' }),
  );
  assert.equal(status, 200);
  const counts = { inserted: 1, changed: 1, unchanged: 7 };
  const facts = { load: id, state: 'committed', counts, changes_stored: 4, next: null };
  assert.deepEqual(body, { ...facts, values: 'all', changes: kinds });
  const own = await changesOf(id, '', await service.token({ subject: 'ann', scope: 'table:load' }));
  assert.deepEqual(own.body, { ...facts, values: 'own', changes: ownValues });
});

test('load:read-all shows the counts of the loads of others, and no values', async () => {
  const id = await storeKinds(await service.token({ subject: 'ann' }));
  const others = (scope: string) => service.token({ subject: 'ben', scope });
  assertProblem(await changesOf(id, '', await others('table:read')), 404, 'load-not-found');
  const { body, headers } = await changesOf(id, '?limit=1', await others('load:read-all table:read'));
  assert.deepEqual([body.values, body.changes, body.next, headers.get('link')], ['none', [], null, null]);
  assert.deepEqual(body.counts, { inserted: 1, changed: 1, unchanged: 7 });
  const elsewhere = await service.token({ subject: 'ann', schemas: ['other'] });
  assertProblem(await changesOf(id, '', elsewhere), 404, 'load-not-found');
});

test('old values are shown to the role of the load only, and in the columns that it may still read', async () => {
  const ofRole = await service.token({ subject: 'ann', role });
  const id = await storeKinds(ofRole);
  assert.deepEqual((await changesOf(id, '', ofRole)).body.changes, kinds);
  assert.deepEqual(
    (await changesOf(id, '', await service.token({ subject: 'ann' }))).body.changes,
    ownValues,
  );
  await service.rows(`REVOKE SELECT ON prices FROM ${role}; GRANT SELECT (id, price) ON prices TO ${role}`);
  const { body } = await changesOf(id, '', ofRole);
  assert.equal(body.values, 'all');
  const [inserted, changed, ...others] = kinds;
  const cells = [changed!.cells[0], { column: 'note', new: null }];
  assert.deepEqual(body.changes, [inserted, { ...changed, cells }, others[0], withoutOld[3]]);
  await service.rows(`REVOKE SELECT (id, price) ON prices FROM ${role}`);
  assert.deepEqual((await changesOf(id, '', ofRole)).body.changes, ownValues);
  await service.rows(`GRANT SELECT ON prices TO ${role}`);
});

test('old values are not shown to someone who may read only another table that has the name now', async () => {
  await service.rows('CREATE TABLE renewed (id int PRIMARY KEY, secret text)');
  await service.rows("INSERT INTO renewed VALUES (1, 'old')");
  const query = '/table/renewed/upload/json?if_exists=append&on_conflict=update';
  const loaded = await service.post(query, { data: [{ id: 1, secret: 'new' }] });
  const oldValues = async () => {
    const { values, changes } = (await changesOf(idOf(loaded))).body;
    return [values, changes[0].cells[0].old];
  };
  assert.deepEqual(await oldValues(), ['all', 'old']);
  await service.rows('ALTER TABLE renewed RENAME TO kept');
  assert.deepEqual(await oldValues(), ['all', 'old']);
  await service.rows('DROP TABLE kept; CREATE TABLE renewed (id int PRIMARY KEY, secret text)');
  assert.deepEqual(await oldValues(), ['own', undefined]);
});

test('pages follow each other without a gap', async () => {
  const id = await storeKinds(await service.token());
  const found: RowChange[] = [];
  for (let next: number | null = 0; next !== null; ) {
    const { body, headers } = await changesOf(id, `?limit=3&after=${next}`);
    found.push(...body.changes);
    next = body.next;
    const link = `</api/v1/loads/${id}/changes?after=${next}&limit=3>; rel="next"`;
    assert.equal(headers.get('link'), next === null ? null : link);
  }
  assert.deepEqual(found, kinds);
  assert.deepEqual((await changesOf(id, '?after=4')).body.changes, []);
  for (const query of ['?limit=10001', '?limit=0', '?after=-1', '?before=1'])
    assertProblem(await changesOf(id, query), 422, 'invalid-parameter');
});

test('a load whose rows were not compared, and one that was refused, have no counts', async () => {
  const path = '/table/plain/upload/json?if_exists=append';
  for (const [data, state] of [
    [[{ a: 1 }], 'committed'],
    [[{ a: 'x' }], 'refused'],
  ] as const) {
    const { body } = await changesOf(idOf(await service.post(path, { data })));
    assert.deepEqual([body.state, body.counts, body.changes], [state, null, []]);
  }
});

test('a subject keeps the changes of its newest loads only, and they are removed with the load', async () => {
  const token = await service.token({ subject: 'many' });
  const oldest = await storeKinds(token);
  await service.rows(`UPDATE ${schema.name}.loads SET change_bytes = $2 WHERE id = $1`, [
    oldest,
    changeList.kept.bytes,
  ]);
  const newest = await storeKinds(token);
  const stored = async (load: string) =>
    (await service.rows(`SELECT FROM ${schema.name}.load_changes WHERE load = $1`, [load])).length;
  await until('the older changes to be removed', async () => (await stored(oldest)) === 0);
  const { body } = await changesOf(oldest, '', token);
  assert.deepEqual([body.changes_stored, body.changes, body.counts.unchanged], [0, [], 7]);
  assert.equal(await stored(newest), 1);
  await service.rows(`DELETE FROM ${schema.name}.loads WHERE id = $1`, [newest]);
  assert.equal(await stored(newest), 0);
});

const update = '?if_exists=append&on_conflict=update';

test('next month: the dry run shows what will change, the load changes it, and every service shows the same', async () => {
  const other = await startTestService({ DATABASE_URL: service.database.serviceUrl });
  try {
    const first = Buffer.from('id,price,note\n1,1.50,old\n2,2.00,\n3,3.00,same\n');
    const created = await service.upload('/table/months/upload/excel?primary_key=id', first);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const next = Buffer.from('id,price,note\n3,3.00,same\n2,2.50,sold out\n4,4.00,\n');
    const trial = await service.upload(`/table/months/upload/excel${update}&dry_run=true`, next);
    const { body: planned } = await changesOf(idOf(trial));
    assert.deepEqual(planned, {
      load: idOf(trial),
      state: 'checked',
      counts: { inserted: 1, changed: 1, unchanged: 1 },
      values: 'all',
      changes_stored: 2,
      next: null,
      changes: [
        {
          kind: 'changed',
          row: 2,
          key: { id: '2' },
          cells: [
            { column: 'price', old: '2.00', new: '2.50' },
            { column: 'note', old: null, new: 'sold out' },
          ],
        },
        {
          kind: 'inserted',
          row: 3,
          key: { id: '4' },
          // An empty cell of a text file is not sent.
          cells: [{ column: 'price', new: '4.00' }],
        },
      ],
    });
    const done = await service.upload(`/table/months/upload/excel${update}`, next);
    const { state, load, ...loaded } = (await changesOf(idOf(done))).body;
    assert.deepEqual({ ...planned, ...loaded }, planned);
    assert.deepEqual([state, load], ['committed', idOf(done)]);
    assert.deepEqual((await other.get(`/api/v1/loads/${idOf(done)}/changes`)).body, {
      state,
      load,
      ...loaded,
    });
    const { body } = await service.get('/table/months/rows');
    assert.deepEqual(body.rows.map(({ id, price }: { id: number; price: number }) => [id, price]).sort(), [
      [1, 1.5],
      [2, 2.5],
      [3, 3],
      [4, 4],
    ]);
    const again = await service.upload(`/table/months/upload/excel${update}`, next);
    const { counts, changes } = (await changesOf(idOf(again))).body;
    assert.deepEqual([counts, changes], [{ inserted: 0, changed: 0, unchanged: 3 }, []]);
  } finally {
    await other.stop();
  }
});

test('an asynchronous load has its changes, and of more than 10,000 the first are stored and all counted', async () => {
  const count = 10_001;
  await service.rows('CREATE TABLE counted (id int PRIMARY KEY, a text)');
  const data = Array.from({ length: count }, (_, id) => ({ id, a: 'x' }));
  const path = `/table/counted/upload/json${update}`;
  const answer = await service.post(path, { data }, { headers: { prefer: 'respond-async' } });
  assert.equal(answer.status, 202);
  await until('the end', async () => (await changesOf(idOf(answer), '?limit=1')).body.state === 'committed');
  const { body } = await changesOf(idOf(answer), '?limit=10000');
  assert.deepEqual(body.counts, { inserted: count, changed: 0, unchanged: 0 });
  assert.deepEqual([body.changes_stored, body.changes.length, body.next], [10_000, 10_000, null]);
  assert.deepEqual(body.changes.at(-1), {
    kind: 'inserted',
    row: 10_000,
    key: { id: '9999' },
    cells: [{ column: 'a', new: 'x' }],
  });
});

test('long values are cut, and the changes of a load have a limited size', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
  await service.rows(`CREATE TABLE wide (id int PRIMARY KEY, ${names.map((name) => `${name} text`)})`);
  const long = 'ä'.repeat(150);
  const rowOf = (id: number) => ({ id, ...Object.fromEntries(names.map((name) => [name, long])) });
  const answer = await service.post(`/table/wide/upload/json${update}&dry_run=true`, {
    data: Array.from({ length: 300 }, (_, id) => rowOf(id)),
  });
  const { body } = await changesOf(idOf(answer), '?limit=10000');
  assert.equal(body.counts.inserted, 300);
  assert.ok(
    body.changes_stored > 150 &&
      body.changes_stored < 300 &&
      JSON.stringify(body.changes).length < maxChangeBytes,
  );
  for (const { cells } of body.changes) for (const cell of cells) assert.ok(cell.new.length <= 101);
  const [{ bytes }] = (await service.rows(
    `SELECT sum(octet_length(changes::text))::int AS bytes FROM ${schema.name}.load_changes WHERE load = $1`,
    [idOf(answer)],
  )) as [{ bytes: number | null }];
  assert.ok((bytes ?? 0) <= maxChangeBytes);
});

test('a load that is refused after it was compared has no changes', async () => {
  await service.rows('CREATE TABLE checked (id int PRIMARY KEY, a int CHECK (a < 10))');
  const answer = await service.post(`/table/checked/upload/json${update}`, { data: [{ id: 1, a: 10 }] });
  assertProblem(answer, 422, 'invalid-data');
  const { body } = await changesOf(idOf(answer));
  assert.deepEqual([body.state, body.counts, body.changes], ['refused', null, []]);
});
