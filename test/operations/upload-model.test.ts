/** Random small uploads into existing tables, compared with a model: which rows are inserted, updated, skipped or refused. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';

const cases = Number(process.env.MODEL_CASES ?? sized(12, 50));
const firstSeed = Number(process.env.MODEL_SEED ?? 1);

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

type Value = number | string | null;
type Row = Record<string, Value>;

interface Column {
  name: string;
  type: string;
  /** undefined: NULL. */
  constant?: Value;
  isNullable: boolean;
  /** true: a column has generated numbers, which start far above all values, so that they never collide. */
  isNumbered?: boolean;
}

interface Key {
  columns: string[];
  nullsNotDistinct: boolean;
}

interface Model {
  columns: Column[];
  /** The primary key first. */
  keys: Key[];
  existing: Row[];
  data: Row[];
  action: 'fail' | 'skip' | 'update';
}

/** Returns a number below `below`. The same seed gives the same numbers (mulberry32). */
function generator(seed: number): (below: number) => number {
  let state = seed * 0x9e3779b9;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const numberedFrom = 1000;

function makeModel(pick: (below: number) => number): Model {
  const columns: Column[] = [{ name: 'a', type: 'integer', isNullable: false }];
  const [first] = columns;
  const kind = pick(4);
  if (kind === 1) first!.constant = pick(3);
  if (kind === 2) first!.isNumbered = true;
  const isComposite = pick(3) === 0;
  if (isComposite) {
    columns.push({ name: 'b', type: 'text', isNullable: false, ...(pick(2) === 0 && { constant: 'x' }) });
  }
  const keys: Key[] = [{ columns: columns.map(({ name }) => name), nullsNotDistinct: false }];
  for (const name of ['u', 'w'].slice(0, pick(3))) {
    columns.push({ name, type: 'integer', isNullable: true, ...(pick(4) === 0 && { constant: pick(3) }) });
    keys.push({ columns: [name], nullsNotDistinct: pick(4) === 0 });
  }
  columns.push({ name: 'p', type: 'text', isNullable: true, constant: 'default' });
  columns.push({ name: 'q', type: 'text', isNullable: true });
  const model: Model = {
    columns,
    keys,
    existing: [],
    data: [],
    action: (['fail', 'skip', 'update', 'update'] as const)[pick(4)]!,
  };
  for (let count = pick(5); count > 0; count -= 1) {
    const row = randomRow(model, pick, 0, `old ${count}`);
    for (const column of columns)
      row[column.name] ??= column.isNullable ? null : column.type === 'text' ? 'x' : 0;
    if (conflicting(model, model.existing, row) === undefined) model.existing.push(row);
  }
  const left = pick(4);
  for (let count = 1 + pick(6); count > 0; count -= 1) {
    model.data.push(randomRow(model, pick, left, `new ${count}`));
  }
  return model;
}

function randomRow({ columns }: Model, pick: (below: number) => number, left: number, mark: string): Row {
  const row: Row = {};
  for (const { name, type, isNullable } of columns) {
    if (left > 0 && pick(3 + left) < left) continue;
    const isNull = pick(isNullable ? 5 : 60) === 0 && mark.startsWith('new');
    row[name] = isNull ? null : type === 'integer' ? pick(6) : name === 'b' ? 'xy'[pick(2)]! : mark;
  }
  const names = Object.keys(row).sort(() => pick(3) - 1);
  return Object.fromEntries(names.map((name) => [name, row[name]!]));
}

function hasSameKey({ columns, nullsNotDistinct }: Key, one: Row, other: Row): boolean {
  return columns.every((name) => one[name] === other[name] && (nullsNotDistinct || one[name] !== null));
}

function conflicting({ keys }: Model, rows: Row[], row: Row): Row | undefined {
  return rows.find((other) => other !== row && keys.some((key) => hasSameKey(key, other, row)));
}

interface Outcome {
  rows: Row[];
  inserted: number;
  updated: number;
  skipped: number;
}

/** Returns the expected result; undefined: the service must refuse. */
function predict(model: Model): Outcome | undefined {
  const { columns, keys, data, action } = model;
  for (const row of data) {
    for (const { name, isNullable, isNumbered, constant } of columns) {
      const isMissing = row[name] === undefined && !isNumbered && constant === undefined;
      if (!isNullable && (row[name] === null || isMissing)) return undefined;
    }
  }
  const rows = model.existing.map((row) => ({ ...row }));
  const counts = { inserted: 0, updated: 0, skipped: 0 };
  const seen = new Set(data.flatMap((row) => Object.keys(row)));
  const key = keys.find(({ columns: names }) => names.every((name) => seen.has(name))) ?? keys[0]!;
  const brings = (row: Row) => action !== 'fail' && key.columns.every((name) => row[name] !== undefined);
  for (const row of movingOrder(data, key, brings)) {
    const isLater = (other: Row) => data.indexOf(other) > data.indexOf(row);
    const rival =
      brings(row) &&
      data.find((other) => {
        const goesFirst = action === 'update' ? isLater(other) : !isLater(other);
        return other !== row && goesFirst && brings(other) && hasSameKey(key, other, row);
      });
    if (rival) {
      counts[action === 'update' ? 'updated' : 'skipped'] += 1;
      continue;
    }
    const whole: Row = { ...row };
    for (const { name, constant, isNumbered } of columns) {
      if (whole[name] === undefined) whole[name] = isNumbered ? 'generated' : (constant ?? null);
    }
    if (Object.values(whole).includes('generated')) whole.a = numberedFrom + data.indexOf(row);
    const standing = brings(row) ? rows.find((other) => hasSameKey(key, other, whole)) : undefined;
    if (standing && action === 'skip') {
      counts.skipped += 1;
      continue;
    }
    if (standing) {
      Object.assign(standing, row);
      counts.updated += 1;
      if (conflicting(model, rows, standing)) return undefined;
      continue;
    }
    if (conflicting(model, rows, whole)) return undefined;
    rows.push(whole);
    counts.inserted += 1;
  }
  return { rows, ...counts };
}

/** Returns the rows with a key first. Rows with the same columns are together, in the order of the key. */
function movingOrder(data: Row[], key: Key, brings: (row: Row) => boolean): Row[] {
  const setOf = (row: Row) => Object.keys(row).sort().join();
  const sets = [...new Set(data.map(setOf))];
  const compare = (one: Row, other: Row): number => {
    for (const name of brings(one) ? key.columns : []) {
      const [left, right] = [one[name]!, other[name]!];
      if (left === right) continue;
      if (left === null || right === null) return left === null ? 1 : -1;
      return left < right ? -1 : 1;
    }
    return data.indexOf(one) - data.indexOf(other);
  };
  return data.toSorted(
    (one, other) =>
      Number(brings(other)) - Number(brings(one)) ||
      sets.indexOf(setOf(one)) - sets.indexOf(setOf(other)) ||
      compare(one, other),
  );
}

function createTable({ columns, keys, existing }: Model): string {
  const literal = (value: Value) => (typeof value === 'string' ? `'${value}'` : String(value));
  const definitions = columns.map(({ name, type, constant, isNumbered }) => {
    const numbered = isNumbered ? ` GENERATED BY DEFAULT AS IDENTITY (START ${numberedFrom})` : '';
    return `${name} ${type}${numbered}${constant === undefined ? '' : ` DEFAULT ${literal(constant)}`}`;
  });
  const constraints = keys.map((key, index) => {
    if (index === 0) return `PRIMARY KEY (${key.columns.join(', ')})`;
    return `UNIQUE ${key.nullsNotDistinct ? 'NULLS NOT DISTINCT ' : ''}(${key.columns.join(', ')})`;
  });
  const rows = existing.map((row) => `(${columns.map(({ name }) => literal(row[name]!)).join(', ')})`);
  return `DROP TABLE IF EXISTS t; CREATE TABLE t (${[...definitions, ...constraints].join(', ')});
${rows.length === 0 ? '' : `INSERT INTO t VALUES ${rows.join(', ')};`}`;
}

/** Returns the rows in a fixed order, with all generated numbers equal. */
function canonical({ columns }: Model, rows: Row[]): string[] {
  return rows
    .map((row) =>
      JSON.stringify(
        columns.map(({ name, isNumbered }) =>
          isNumbered && Number(row[name]) >= numberedFrom ? 'generated' : row[name],
        ),
      ),
    )
    .sort();
}

test(`${cases} random uploads have the results of the model`, async () => {
  for (let seed = firstSeed; seed < firstSeed + cases; seed += 1) {
    const model = makeModel(generator(seed));
    await service.rows(createTable(model));
    const { status, body } = await service.post(
      `/table/t/upload/json?if_exists=append&on_conflict=${model.action}`,
      { data: model.data },
    );
    const stored = canonical(model, (await service.rows('SELECT * FROM t')) as Row[]);
    const expected = predict(model);
    const shown = () => `seed ${seed}: ${createTable(model)}
${model.action} ${JSON.stringify(model.data)}
answered ${JSON.stringify(body.load ?? body)}`;
    assert.equal(status, expected ? 200 : 422, shown());
    assert.deepEqual(stored, canonical(model, expected?.rows ?? model.existing), shown());
    if (expected) {
      const { rows, updated, skipped } = body.load;
      const { rows: _, ...counts } = expected;
      assert.deepEqual({ inserted: rows, updated, skipped }, counts, shown());
    } else {
      for (const { row, column, code } of body.errors) {
        assert.ok(row > 0 && column && code !== 'refused-by-postgresql', shown());
      }
    }
  }
});
