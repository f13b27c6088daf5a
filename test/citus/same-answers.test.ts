/**
 * Compares the answers and the rows of tables of Citus with those of an ordinary table that gets the same requests. The coordinator stores
 * shards, too, as in a cluster of one node: PostgreSQL itself writes the errors about these, and not Citus.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type CitusService, startCitusService } from '../support/citus.ts';
import type { TestAnswer } from '../support/service.ts';

let service: CitusService;
before(async () => {
  service = await startCitusService();
  await service.adminRows(
    `SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true) FROM pg_dist_node WHERE groupid = 0`,
  );
  for (const kind of ['ordinary', 'column', 'reference']) await service.rows(`CREATE SCHEMA in_${kind}`);
  await service.rows('SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA in_tenant');
  await service.rows(`CREATE TYPE mood AS ENUM ('sad', 'ok')`);
});
after(() => service?.stop());

/** The schemas, and the distribution of a table there. The distribution column is `k`. */
const places = {
  in_ordinary: undefined,
  in_tenant: undefined,
  in_column: { kind: 'column', column: 'k' },
  in_reference: { kind: 'reference' },
};
type Schema = keyof typeof places;

interface Upload {
  query: string;
  data: Record<string, unknown>[];
  withDefinition?: boolean;
}

interface Case {
  what: string;
  table: string;
  columns: { name: string; type: string; default?: string }[];
  constraints?: object;
  uploads: Upload[];
  /** The codes and rows of the problems of the last upload. */
  problems: [string, number][];
}

const long = 'n'.repeat(63);
const longKey = 'é'.repeat(30);
const key = (name: string, ...columns: string[]) => ({ name, columns });
const repeated = (...rows: number[]) => rows.map((row): [string, number] => ['not-unique', row]);

const cases: Case[] = [
  {
    what: 'a name of 63 bytes',
    table: long,
    columns: [
      { name: 'k', type: 'mood' },
      { name: 'n', type: 'integer' },
    ],
    constraints: { unique: [key('', 'k', 'n')] },
    uploads: [
      { query: '', data: [{ k: 'ok', n: 1 }], withDefinition: true },
      { query: '&if_exists=replace', data: [{ k: 'ok', n: 2 }], withDefinition: true },
      { query: '&if_exists=append', data: [{ k: 'ok', n: 2 }, { k: 'sad' }, { k: 'sad', n: 2 }] },
    ],
    problems: repeated(1),
  },
  {
    what: 'a type that PostgreSQL reads from text, and rows that break keys after others were sent',
    table: 'ranges',
    columns: [
      { name: 'k', type: 'integer' },
      { name: 'r', type: 'int4range' },
    ],
    constraints: { primary_key: key('', 'k', 'r') },
    uploads: [
      { query: '', data: [{ k: 1, r: '[1,3)' }], withDefinition: true },
      {
        query: '&if_exists=append',
        data: [
          { k: 2, r: 'empty' },
          { k: 1, r: '[1,2]' },
          { k: 3, r: '[1,3)' },
          { k: 2, r: 'empty' },
        ],
      },
    ],
    problems: repeated(2, 4),
  },
  {
    what: 'a new table whose key has a default',
    table: 'lines',
    columns: [
      { name: 'k', type: 'integer' },
      { name: 'line', type: 'integer', default: '1' },
      { name: 'of', type: 'text', default: 'x' },
    ],
    constraints: { primary_key: key('', 'k', 'line'), unique: [key('', 'of', 'k')] },
    uploads: [
      {
        query: '',
        data: [{ k: 1, line: 2, of: 'y' }, { k: 1 }, { k: 2 }, { k: 2, line: 1 }, { k: 1, line: 3, of: 'y' }],
        withDefinition: true,
      },
    ],
    problems: repeated(4, 5, 4),
  },
  {
    what: 'a new table whose key has a default, with on_conflict and references',
    table: 'refers',
    columns: [
      { name: 'k', type: 'integer' },
      { name: 'line', type: 'integer', default: '1' },
      { name: 'kind', type: 'integer' },
    ],
    constraints: {
      primary_key: key('', 'k', 'line'),
      foreign_keys: [{ column: 'kind', reference_table: 'kinds', reference_column: 'k' }],
    },
    uploads: [
      {
        query: '&on_conflict=skip',
        data: [
          { k: 1, kind: 1 },
          { k: 1, line: 1, kind: 1 },
          { k: 2, line: 1, kind: 2 },
          { k: 2, line: 1 },
        ],
        withDefinition: true,
      },
    ],
    problems: [
      ['not-unique', 1],
      ['no-such-reference', 3],
    ],
  },
  ...['truncate', 'append&extra_columns=add'].map((how) => ({
    what: `a reference without a match, with if_exists=${how}`,
    table: `refers_${how.slice(0, 6)}`,
    columns: [
      { name: 'k', type: 'integer' },
      { name: 'kind', type: 'integer' },
    ],
    constraints: {
      foreign_keys: [{ column: 'kind', reference_table: 'kinds', reference_column: 'k' }],
    },
    uploads: [
      { query: '', data: [{ k: 1, kind: 1 }], withDefinition: true },
      {
        query: `&if_exists=${how}`,
        data: [
          { k: 1, kind: 1, ...(how !== 'truncate' && { more: 1 }) },
          { k: 2, kind: 2 },
        ],
      },
    ],
    problems: [['no-such-reference', 2]] as Case['problems'],
  })),
  {
    what: 'a key with a long name, whose default gives a value that the table has',
    table: 'filled',
    columns: [
      { name: 'k', type: 'integer' },
      { name: 'line', type: 'boolean', default: 'true' },
    ],
    constraints: { unique: [key(longKey, 'line', 'k')] },
    uploads: [
      { query: '', data: [{ k: 1 }], withDefinition: true },
      { query: '&if_exists=append&on_conflict=skip', data: [{ k: 2, line: false }, { k: 1 }] },
    ],
    problems: repeated(2),
  },
  {
    what: 'rows that are left out of a replacement, and break a key that on_conflict does not use',
    table: 'replaced',
    columns: [
      { name: 'k', type: 'integer' },
      { name: 'a', type: 'integer' },
    ],
    constraints: { unique: [key('', 'a', 'k'), key('', 'k')] },
    uploads: [
      { query: '', data: [{ k: 1, a: 1 }], withDefinition: true },
      {
        query: '&if_exists=replace&on_conflict=update&faulty_rows=leave_out',
        data: [
          { k: 1, a: 1 },
          { k: 1, a: 2 },
          { k: 2, a: 2 },
          { k: 2, a: 2 },
        ],
        withDefinition: true,
      },
    ],
    problems: repeated(2),
  },
];

suite('a table of Citus gets the answers of an ordinary table:', () => {
  before(async () => {
    for (const schema of Object.keys(places) as Schema[]) {
      const table = {
        columns: [{ name: 'k', type: 'integer' }],
        constraints: { primary_key: key('', 'k') },
        ...(places[schema] && { distribution: { kind: 'reference' } }),
      };
      const { status } = await service.post(`/table/kinds/upload/json?schema=${schema}`, {
        table,
        data: [{ k: 1 }],
      });
      assert.equal(status, 201);
    }
  });

  for (const one of cases) {
    test(one.what, async () => {
      const expected = await answersIn('in_ordinary', one);
      const { body } = expected.answers.at(-1)!;
      const { errors = body.load?.left_out } = body;
      assert.deepEqual(
        errors.map(({ code, row }: { code: string; row: number }) => [code, row]).toSorted(),
        one.problems.toSorted(),
      );
      for (const schema of ['in_tenant', 'in_column', 'in_reference'] as const)
        assert.deepEqual(await answersIn(schema, one), expected, schema);
    });
  }
});

async function answersIn(schema: Schema, { table: name, columns, constraints, uploads }: Case) {
  const distribution = places[schema];
  const definition = JSON.parse(
    JSON.stringify({ columns, constraints, ...(distribution && { distribution }) }).replaceAll(
      '"reference_column"',
      `"reference_schema":"${schema}","reference_column"`,
    ),
  );
  const answers: Pick<TestAnswer, 'status' | 'body'>[] = [];
  for (const { query, data, withDefinition } of uploads) {
    const body = { ...(withDefinition && { table: definition }), data };
    const answer = await service.post(`/table/${name}/upload/json?schema=${schema}${query}`, body);
    answers.push(withoutPlace(schema, answer));
  }
  const rows = await service.rows(`SELECT t.* FROM ${schema}.${name} t`).catch(() => []);
  return { answers, rows: rows.map((row) => JSON.stringify(row)).toSorted() };
}

/** Removes what differs between two equal uploads: the schema, the distribution, ids and durations. */
function withoutPlace(schema: Schema, { status, body }: { status: number; body: unknown }) {
  const text = JSON.stringify(body);
  assert.doesNotMatch(text, /_10\d{4}\b|_[0-9a-f]{8}_|127\.0\.0\.1|tablewright table/);
  const same = JSON.parse(text.replaceAll(`"${schema}"`, '"S"').replaceAll(`${schema}.`, 'S.'));
  delete same.instance;
  delete same.table?.distribution;
  if (same.load) for (const member of ['id', 'duration_ms']) delete same.load[member];
  return { status, body: same };
}
