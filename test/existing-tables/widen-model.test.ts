/**
 * Random uploads to random tables with `misfits=widen` and `widen_text`: all old values are the ones they were, all new values are the ones
 * that were sent, or the upload is refused and nothing changes. `MODEL_CASES` sets the number of uploads.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { sameNumber, wrongValue } from '../support/alter-model/exact-values.ts';
import { valuesOf } from '../support/alter-model/values-of-types.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('widened');

const type = fc.constantFrom(
  ...['smallint', 'integer', 'bigint', 'numeric', 'numeric(5,2)', 'numeric(3,-2)', 'numeric(2,4)', 'real'],
  ...['double precision', 'varchar(3)', 'char(3)', 'text', 'boolean', 'date', 'timestamp', 'timestamp(0)'],
  ...['time(2)', 'uuid', 'jsonb', 'integer[]', 'numeric(4,1)[]'],
);

/** A value as it is written in JSON. */
const sentValue = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    'false',
    '"x"',
    '"abcd"',
    '"N/A"',
    '"NaN"',
    '""',
    '" 7"',
    '"abc "',
    '"ab     "',
    '"  "',
    '"0x1F"',
    '"1e2"',
    '1e-7',
    '1e2',
    '-0',
  ),
  fc.constantFrom(
    '"2024-02-29"',
    '"0044-03-15"',
    '"2024-02-29T12:00:00"',
    '"2024-02-29 12:00:00.25"',
    '"2024-02-29T12:00:00Z"',
    '"12:00:00.125"',
  ),
  fc.constantFrom(
    '[1,2]',
    '[1.5]',
    '[3000000000, null]',
    '{"a": 1}',
    '"007"',
    '"1.50"',
    '1.500',
    '1e400',
    '0.1',
    '16777217',
  ),
  fc.integer({ min: -40_000, max: 40_000 }).map(String),
  fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
  fc
    .tuple(fc.integer({ min: -999, max: 99_999 }), fc.nat({ max: 9999 }))
    .map(([whole, rest]) => `${whole}.${rest}`),
);

const upload = fc.record({
  types: fc.array(type, { minLength: 1, maxLength: 4 }),
  old: fc.array(fc.array(fc.nat({ max: 99 }), { minLength: 4, maxLength: 4 }), { maxLength: 4 }),
  sent: fc.array(fc.array(sentValue, { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  misfits: fc.constantFrom('widen', 'widen_text'),
  conflicts: fc.constantFrom('fail', 'skip', 'update'),
});

const firstNew = 100;

interface State {
  types: Record<string, string>;
  rows: Map<number, (string | null)[]>;
}

async function stateOf(table: string, columns: string[]): Promise<State> {
  const types = await service.rows(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 1 ORDER BY attnum`,
    [table],
  );
  const texts = columns.map((column) => `${column}::text AS ${column}`);
  const rows = await service.rows(`SELECT key, ${texts.join(', ')} FROM ${table} ORDER BY key`);
  return {
    types: Object.fromEntries(types.map((row) => [row.name, row.type])),
    rows: new Map(
      rows.map((row) => [row.key as number, columns.map((column) => row[column] as string | null)]),
    ),
  };
}

function send(table: string, columns: string[], sent: string[][], query: string): Promise<TestAnswer> {
  const rows = sent.map((values, index) => {
    const cells = columns.map((column, at) => `"${column}": ${values[at]}`);
    return `{"key": ${firstNew + index}, ${cells.join(', ')}}`;
  });
  return service.request('POST', `/table/${table}/upload/json?if_exists=append&${query}`, {
    body: `{"data": [${rows.join(',')}]}`,
    headers: { 'content-type': 'application/json' },
  });
}

/**
 * Returns what is wrong with a new value.
 *
 * @param isToldTime a warning says that only the time of day was kept
 */
function wrongNew(sent: string, to: string, found: string | null, isToldTime: boolean): string | undefined {
  const says = `${sent} became ${found} (${to})`;
  const value: unknown = JSON.parse(sent);
  if (value === null || found === null) return value === found ? undefined : says;
  const text = typeof value === 'string' ? value : sent;
  if (/\[\]$/.test(to)) {
    const items = found.slice(1, -1).split(',');
    const wanted = text.replace(/^[[{]|[\]}]$/g, '').split(',');
    const isSame = (item: string, at: number) =>
      item === 'NULL'
        ? wanted[at]!.trim().toLowerCase() === 'null'
        : sameNumber(wanted[at] ?? '', item, false);
    return items.every(isSame) ? undefined : says;
  }
  if (/^(smallint|integer|bigint|numeric)/.test(to)) {
    // PostgreSQL 16 and later versions read 0x1F.
    const number = /^0x/.test(text) ? String(Number(text)) : text;
    return sameNumber(number, found, false) ? undefined : says;
  }
  // No type of floating point keeps more than 17 digits, so the number is compared as a double.
  if (/^(double|real)/.test(to)) return Number(text) === Number(found) || text === found ? undefined : says;
  if (/^(text|character)/.test(to)) {
    const isNumber = typeof value === 'number' && sameNumber(text, found, false);
    const isSame = to.startsWith('character(') ? found.trimEnd() === text.trimEnd() : found === text;
    return isSame || isNumber || typeof value === 'object' ? undefined : says;
  }
  if (/^(date|timestamp|time)/.test(to)) {
    const digits = (moment: string) =>
      moment
        .replace(/[TZ]/g, ' ')
        .trim()
        .replace(/( 00:00:00)$/, '')
        .replace(/(\.\d*?)0+$/, '$1');
    const kept = isToldTime ? text.replace(/^[-\d]+ (?=\d)/, '') : text;
    return digits(kept) === digits(found) ? undefined : says;
  }
  return undefined;
}

async function tryUpload({
  types,
  old,
  sent,
  misfits,
  conflicts,
}: typeof upload extends fc.Arbitrary<infer T> ? T : never): Promise<string> {
  const table = nextTable();
  const columns = types.map((_, index) => `c${index}`);
  const defined = types.map((name, index) => `c${index} ${name}`);
  await service.rows(`CREATE TABLE ${table} (key integer PRIMARY KEY, ${defined.join(', ')})`);
  const updates = conflicts === 'update';
  // Without `on_conflict` no new row has the key of an old one.
  const firstOld = conflicts === 'fail' ? 1 : firstNew + 2;
  for (const [index, seeds] of old.entries()) {
    const values = types.map((name, at) => valuesOf(name)[seeds[at]! % valuesOf(name).length] ?? null);
    const places = values.map((_, at) => `$${at + 2}`).join(', ');
    const text = `INSERT INTO ${table} VALUES ($1, ${places})`;
    await service.database.pool.query(text, [firstOld + index, ...values]).catch(() => {});
  }
  const before = await stateOf(table, columns);
  const query = `misfits=${misfits}${conflicts === 'fail' ? '' : `&on_conflict=${conflicts}`}`;
  const dry = await send(table, columns, sent, `${query}&dry_run=true`);
  const about = () => JSON.stringify({ table: types, before: [...before.rows], sent, query });
  assert.deepEqual(await stateOf(table, columns), before, `a dry run changed something: ${about()}`);
  const answer = await send(table, columns, sent, query);
  const now = await stateOf(table, columns);
  const says = `${answer.status} ${JSON.stringify(answer.body)} ${about()}`;
  assert.equal(dry.status, answer.status, `the dry run: ${JSON.stringify(dry.body)} ${says}`);
  if (answer.status !== 200) {
    assert.ok([409, 422].includes(answer.status), says);
    assert.deepEqual(now, before, says);
    return String(answer.status);
  }
  const widened = columns
    .filter((column) => now.types[column] !== before.types[column])
    .map((column) => ({ column, from: before.types[column], to: now.types[column] }));
  assert.deepEqual(answer.body.load.widened ?? [], widened, says);
  assert.deepEqual(dry.body.load.widened ?? [], widened, says);
  for (const { from, to } of widened)
    assert.ok(misfits === 'widen_text' || to !== 'text', `${from} became text: ${says}`);
  for (const [key, values] of before.rows) {
    if (updates && key < firstNew + sent.length) continue;
    for (const [at, column] of columns.entries()) {
      const [was, is] = [values[at]!, now.rows.get(key)?.[at] ?? null];
      const wrong =
        was === null || is === null
          ? was === is
            ? undefined
            : `${was} became ${is}`
          : wrongValue(before.types[column]!, was, now.types[column]!, is, false);
      assert.equal(wrong, undefined, `${column}: ${says}`);
    }
  }
  const warnings: { code: string; column?: string }[] = answer.body.load.warnings ?? [];
  for (const [index, values] of sent.entries()) {
    const key = firstNew + index;
    if (!updates && before.rows.has(key)) continue;
    for (const [at, column] of columns.entries()) {
      const isToldTime = warnings.some((told) => told.code === 'date-left-out' && told.column === column);
      const wrong = wrongNew(values[at]!, now.types[column]!, now.rows.get(key)?.[at] ?? null, isToldTime);
      assert.equal(wrong, undefined, `${column}: ${says}`);
    }
  }
  return widened.length > 0 ? 'widened' : 'unchanged';
}

suite('an upload that may widen columns', () => {
  test('keeps all old values and all new ones, or changes nothing', async (t) => {
    const counts = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(upload, async (chosen) => {
        const outcome = await tryUpload(chosen);
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      }),
      { numRuns: Number(process.env.MODEL_CASES ?? sized(20, 100)), endOnFailure: true },
    );
    t.diagnostic(JSON.stringify([...counts]));
  });
});
