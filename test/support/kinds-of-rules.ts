/** Uploads with rows that break a rule, for each kind of rule that a table can have. */
import assert from 'node:assert/strict';
import type { Problem } from '../../src/core/errors.ts';
import type { ServiceClient } from './service.ts';

export interface KindOfRule {
  what: string;
  /** The columns and constraints of the table `t`; undefined: there is only a new table. */
  create?: string;
  /** Statements after the creation of the table. */
  after?: string;
  /** The definition of a new table with the same rule. */
  table?: { columns: object[]; constraints?: object; distribution?: object };
  data: Record<string, unknown>[];
  /** The data rows with problems. */
  faulty: number[];
  /** Citus can store such a table at its workers, with the distribution column `k`. */
  canBeSharded?: boolean;
}

const key = (...columns: string[]) => ({ name: '', columns });
const integer = (name: string, more: object = {}) => ({ name, type: 'integer', ...more });
const reference = (column: string, table: string, referenced: string) => ({
  column,
  reference_table: table,
  reference_column: referenced,
});

/** Creates what the tables need. */
export const prepareKinds = `CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN small AS integer CONSTRAINT is_small CHECK (VALUE < 10);
CREATE FUNCTION refuse_13() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN IF NEW.n = 13 THEN RAISE EXCEPTION 'no thirteen'; END IF; RETURN NEW; END $$;
CREATE TABLE parents (id integer PRIMARY KEY);
INSERT INTO parents VALUES (1), (2)`;

const numbers = (...values: unknown[]) => values.map((n, index) => ({ k: index + 1, n }));

export const kindsOfRules: KindOfRule[] = [
  {
    what: 'NOT NULL',
    create: 'k int, n int NOT NULL',
    table: { columns: [integer('k'), integer('n', { is_nullable: false })] },
    data: numbers(1, null, 2, null),
    faulty: [2, 4],
    canBeSharded: true,
  },
  {
    what: 'CHECK',
    create: 'k int PRIMARY KEY, n int CONSTRAINT positive CHECK (n > 0)',
    data: numbers(1, -1, 2, 0),
    faulty: [2, 4],
    canBeSharded: true,
  },
  {
    what: 'the CHECK of a domain',
    create: 'k int PRIMARY KEY, n small',
    table: { columns: [integer('k'), { name: 'n', type: 'small' }] },
    data: numbers(1, 11, 2, 12),
    faulty: [2, 4],
    canBeSharded: true,
  },
  {
    what: 'UNIQUE',
    create: 'k int, n int, UNIQUE (k, n)',
    after: 'INSERT INTO t VALUES (3, 3)',
    table: { columns: [integer('k'), integer('n')], constraints: { unique: [key('k', 'n')] } },
    data: [...numbers(1, 2), { k: 2, n: 2 }, { k: 1, n: 2 }, { k: 1, n: 1 }],
    faulty: [3, 5],
    canBeSharded: true,
  },
  {
    what: 'a primary key, and rows that the table has',
    create: 'k int PRIMARY KEY, n int',
    after: 'INSERT INTO t VALUES (3, 3)',
    data: [...numbers(1, 2, 3), { k: 2, n: 1 }],
    faulty: [3, 4],
    canBeSharded: true,
  },
  {
    what: 'a primary key',
    create: 'k int PRIMARY KEY, n int',
    table: { columns: [integer('k'), integer('n')], constraints: { primary_key: key('k') } },
    data: [...numbers(1, 2), { k: 2, n: 1 }, { k: 2, n: 2 }],
    faulty: [3, 4],
    canBeSharded: true,
  },
  {
    what: 'two keys that different rows repeat',
    create: 'k int PRIMARY KEY, n int UNIQUE',
    table: {
      columns: [integer('k'), integer('n')],
      constraints: { primary_key: key('k'), unique: [key('n')] },
    },
    data: [...numbers(1, 2, 3), { k: 2, n: 5 }, { k: 7, n: 3 }, { k: 8, n: 8 }],
    faulty: [4, 5],
  },
  {
    what: 'EXCLUDE',
    create: 'k int PRIMARY KEY, n int4range, EXCLUDE USING gist (n WITH &&)',
    data: numbers('[1,5)', '[4,6)', '[5,7)', '[1,2)'),
    faulty: [2, 4],
  },
  {
    what: 'a foreign key',
    create: 'k int PRIMARY KEY, n int REFERENCES parents',
    table: {
      columns: [integer('k'), integer('n')],
      constraints: { primary_key: key('k'), foreign_keys: [reference('n', 'parents', 'id')] },
    },
    data: numbers(1, 9, 2, 8),
    faulty: [2, 4],
    canBeSharded: true,
  },
  {
    what: 'a foreign key to the table itself, with rows that refer to later rows',
    create: 'k int PRIMARY KEY, n int REFERENCES t',
    table: {
      columns: [integer('k'), integer('n')],
      constraints: { primary_key: key('k'), foreign_keys: [reference('n', 't', 'k')] },
    },
    data: numbers(3, 9, null, 1, 8),
    faulty: [2, 5],
  },
  {
    what: 'a foreign key to the table itself and a trigger, with rows that refer to later rows',
    create: 'k int PRIMARY KEY, n int REFERENCES t',
    after: 'CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse_13()',
    data: numbers(6, 9, null, 13, 6, 3),
    faulty: [2, 4],
  },
  {
    what: 'constraints that are deferred to the end of the transaction',
    create: `k int UNIQUE DEFERRABLE INITIALLY DEFERRED, n int REFERENCES parents DEFERRABLE INITIALLY DEFERRED`,
    data: [...numbers(1, 9, 2), { k: 3, n: 1 }],
    faulty: [2, 4],
  },
  {
    what: 'a deferred constraint trigger',
    create: 'k int PRIMARY KEY, n int',
    after:
      'CREATE CONSTRAINT TRIGGER d AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_13()',
    data: numbers(1, 13, 2, 13),
    faulty: [2, 4],
  },
  ...['BEFORE', 'AFTER'].map((timing) => ({
    what: `a trigger ${timing} INSERT, beside a key and a CHECK`,
    create: 'k int PRIMARY KEY, n int CONSTRAINT positive CHECK (n > 0)',
    after: `CREATE TRIGGER b ${timing} INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse_13()`,
    data: [...numbers(1, 13, 2, -1, 13), { k: 3, n: 4 }, { k: 7, n: 7 }],
    faulty: [2, 4, 5, 6],
  })),
  {
    what: 'a key over a generated column',
    create: 'k int PRIMARY KEY, n int, double int GENERATED ALWAYS AS (n * 2) STORED UNIQUE',
    data: numbers(1, 2, 1, 3, 2),
    faulty: [3, 5],
  },
  {
    what: 'an enum',
    create: 'k int PRIMARY KEY, n mood',
    table: { columns: [integer('k'), { name: 'n', type: 'mood' }] },
    data: numbers('ok', 'happy', 'sad', ''),
    faulty: [2, 4],
    canBeSharded: true,
  },
  {
    what: 'text that is no value of its type',
    create: 'k int PRIMARY KEY, n int4range',
    table: { columns: [integer('k'), { name: 'n', type: 'int4range' }] },
    data: numbers('[1,2)', '2 to 1', '[3,4)', 'none'),
    faulty: [2, 4],
    canBeSharded: true,
  },
  {
    what: 'a default that fails',
    create: 'k int PRIMARY KEY, n int DEFAULT 1 / (length(current_user) * 0)',
    data: [{ k: 1, n: 1 }, { k: 2 }, { k: 3, n: 3 }, { k: 4 }],
    faulty: [2, 4],
  },
  {
    what: 'an index over an expression',
    create: 'k int PRIMARY KEY, n text',
    after: 'CREATE UNIQUE INDEX ON t (lower(n))',
    data: numbers('a', 'A', 'b', 'B'),
    faulty: [2, 4],
  },
  {
    what: 'a partition',
    create: 'k int, n int, PRIMARY KEY (k, n)) PARTITION BY RANGE (n',
    after: 'CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (10)',
    data: [...numbers(1, 20, 3), { k: 1, n: 1 }],
    faulty: [2, 4],
  },
];

/**
 * Sends the same rows with `faulty_rows=fail` and with `leave_out`. Both must name the same rows with the same problems, `fail` must change
 * nothing, and `leave_out` must load all other rows.
 *
 * @param restore makes the table as it was; undefined: the uploads create it
 */
export async function compareWays(
  service: Pick<ServiceClient, 'post'>,
  { data, faulty, table }: KindOfRule,
  path: string,
  { restore, count }: { restore?: () => Promise<unknown>; count: () => Promise<number> },
): Promise<void> {
  const body = { ...(restore === undefined && { table }), data };
  await restore?.();
  const before = await count();
  const refused = await service.post(path, body);
  assert.equal(refused.status, 422, JSON.stringify(refused.body));
  assert.equal(await count(), before);
  await restore?.();
  const left = await service.post(`${path}&faulty_rows=leave_out`, body);
  assert.ok(left.status < 300, JSON.stringify(left.body));
  const { rows, rows_left_out, left_out, left_out_count } = left.body.load;
  assert.deepEqual(refused.body.errors, left_out);
  assert.equal(refused.body.error_count, left_out_count);
  const named = new Set<number>(left_out.map(({ row }: Problem) => row));
  assert.deepEqual([...named], faulty, JSON.stringify(left_out));
  assert.deepEqual([rows, rows_left_out], [data.length - faulty.length, faulty.length]);
  assert.equal(await count(), before + rows);
}
