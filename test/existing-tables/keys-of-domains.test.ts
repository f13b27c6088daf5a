/** Keys and references with columns of domains. Their values are compared as PostgreSQL compares those of the base types. */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE EXTENSION citext;
    CREATE TYPE mood AS ENUM ('a', 'b', 'c');
    CREATE TYPE pair AS (x int, y int);
    CREATE DOMAIN of_enum AS mood;
    CREATE DOMAIN of_domain AS of_enum CHECK (VALUE IS NOT NULL OR true);
    CREATE DOMAIN of_citext AS citext;
    CREATE DOMAIN of_array AS int[];
    CREATE DOMAIN of_enums AS mood[];
    CREATE DOMAIN of_pair AS pair;
    CREATE DOMAIN of_range AS int4range;
    CREATE DOMAIN of_varchar AS varchar(3);
    CREATE DOMAIN of_bits AS bit(3);
    CREATE FUNCTION keep_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`);
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS child, t'));

/** The domain, its base type, and three values: two in the table, and one that it does not have. */
const domains: [domain: string, base: string, values: [unknown, unknown, unknown]][] = [
  ['of_enum', 'mood', ['a', 'b', 'c']],
  ['of_domain', 'mood', ['a', 'b', 'c']],
  ['of_enum[]', 'mood[]', [['a'], ['b'], ['c']]],
  ['of_citext', 'citext', ['a', 'b', 'c']],
  ['of_array', 'int[]', [[1], [2], [3]]],
  ['of_enums', 'mood[]', [['a'], ['b'], ['c']]],
  ['of_pair', 'pair', ['(1,1)', '(2,2)', '(3,3)']],
  ['of_range', 'int4range', ['[1,2)', '[2,3)', '[3,4)']],
  ['of_varchar', 'varchar(3)', ['a', 'b', 'c']],
  ['of_bits', 'bit(3)', ['001', '010', '100']],
];

const upload = (table: string, query: string, body: object): Promise<TestAnswer> =>
  service.post(`/table/${table}/upload/json?${query}`, body);

function assertLoaded(answer: TestAnswer, rows: number, updated: number, skipped: number): void {
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  const { load } = answer.body;
  assert.deepEqual([load.rows, load.updated, load.skipped], [rows, updated, skipped]);
}

function assertRows(answer: TestAnswer, expected: [row: number, code: string][]): void {
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ row, code }) => [row, code]),
    expected,
  );
}

for (const [domain, base, [first, second, third]] of someOf(3, domains)) {
  suite(`a domain over ${base} (${domain})`, () => {
    test('rows with different keys are updated', async () => {
      await service.rows(`CREATE TABLE t (k ${domain} PRIMARY KEY, c int)`);
      const query = 'if_exists=append&on_conflict=update';
      assertLoaded(await upload('t', query, { data: [{ k: first }, { k: second, c: 1 }] }), 2, 0, 0);
      assertLoaded(await upload('t', query, { data: [{ k: second }, { k: first, c: 2 }] }), 0, 2, 0);
      assert.deepEqual(await service.rows('SELECT c FROM t ORDER BY c'), [{ c: 1 }, { c: 2 }]);
    });

    test('rows that a trigger leaves out are counted separately from skipped rows', async () => {
      await service.rows(`CREATE TABLE t (k ${domain} UNIQUE NULLS NOT DISTINCT, c int);
        CREATE TRIGGER kept BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION keep_row()`);
      const query = 'if_exists=append&on_conflict=skip';
      assertLoaded(await upload('t', query, { data: [{ k: first }, { k: null }] }), 2, 0, 0);
      const data = [{ k: second }, { k: first, c: 1 }, { k: null }];
      assertLoaded(await upload('t', query, { data }), 1, 0, 2);
    });

    test('a key that exists in the table is named, also with on_conflict for another key', async () => {
      await service.rows(`CREATE TABLE t (id int PRIMARY KEY, k ${domain} UNIQUE)`);
      assertLoaded(await upload('t', 'if_exists=append', { data: [{ id: 1, k: first }] }), 1, 0, 0);
      const data = [
        { id: 2, k: second },
        { id: 3, k: first },
        { id: 4, k: second },
      ];
      for (const query of ['', '&on_conflict=skip', '&on_conflict=update']) {
        const answer = await upload('t', `if_exists=append${query}`, { data });
        assertRows(answer, [
          [2, 'not-unique'],
          [3, 'not-unique'],
        ]);
      }
    });

    // PostgreSQL allows no foreign key between a domain over an enum and any type.
    if (base === 'mood' || domain.endsWith('[]')) return;
    for (const [own, referenced] of [
      [domain, base],
      [base, domain],
      [domain, domain],
    ] as const) {
      test(`every row without a match is named if ${own} refers to ${referenced}`, async () => {
        await service.rows(`CREATE TABLE t (k ${referenced} PRIMARY KEY)`);
        const keys = [{ k: first }, { k: second }];
        assertLoaded(await upload('t', 'if_exists=append', { data: keys }), 2, 0, 0);
        const data = [{ k: first }, { k: third }, { k: null }, { k: second }, { k: third }];
        const missing: [number, string][] = [
          [2, 'no-such-reference'],
          [5, 'no-such-reference'],
        ];
        await service.rows(`CREATE TABLE child (k ${own} REFERENCES t)`);
        for (const query of ['if_exists=append', 'if_exists=truncate']) {
          assertRows(await upload('child', query, { data }), missing);
        }
        const table = {
          columns: [{ name: 'k', type: own }],
          constraints: {
            foreign_keys: [{ name: '', column: 'k', reference_table: 't', reference_column: 'k' }],
          },
        };
        assertRows(await upload('child', 'if_exists=replace', { table, data }), missing);
      });
    }
  });
}

test('a key of a type is refused exactly if parts of its values have no order', async () => {
  await service.rows(`
    CREATE TYPE with_json AS (x int, j json);
    CREATE TYPE nested AS (x int, inner_value with_json);
    CREATE DOMAIN of_json AS json;
    CREATE DOMAIN of_with_json AS with_json;
    CREATE TYPE with_domain AS (x of_varchar, y of_enums, z of_json[]);
    CREATE TYPE comparable AS (x of_varchar, y of_enums, z pair[], r int4range, c citext)`);
  const defined = async (type: string) => {
    const key = {
      columns: [{ name: 'k', type }],
      constraints: { primary_key: { name: '', columns: ['k'] } },
    };
    const answer = await service.post('/table/t', { table: key });
    if (answer.status === 201) await service.rows('DROP TABLE t');
    return answer;
  };
  for (const type of ['with_json', 'with_json[]', 'nested', 'of_json[]', 'of_with_json', 'with_domain']) {
    const { errors } = assertProblem(await defined(type), 422, 'invalid-definition');
    assert.equal(errors[0]!.code, 'type-not-indexable', type);
  }
  for (const type of ['pair', 'pair[]', 'of_pair', 'of_pair[]', 'comparable', 'comparable[]', 'mood[]']) {
    const answer = await defined(type);
    assert.equal(answer.status, 201, `${type} ${JSON.stringify(answer.body)}`);
  }
});
