/**
 * Loads random plans of two to five tables with foreign keys among them. If one table has a fault, nothing may be there afterwards. Otherwise each
 * table must be what single uploads, one after the other, make in another schema. `MODEL_CASES` sets the number of plans.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { planForm } from '../support/plan-form.ts';
import { type RandomNumbers, randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** A table of a plan. It refers only to tables before it in the list, and to itself. */
interface Planned {
  name: string;
  references: { column: string; table: string }[];
  rows: (string | number | null)[][];
  hasDefinition: boolean;
  isWorkbook: boolean;
}

const faults = ['cell', 'key', 'reference', 'type', 'exists', 'header'] as const;
type Fault = (typeof faults)[number];

test('a plan loads all of its tables as single uploads would, or nothing', async () => {
  const cases = Number(process.env.MODEL_CASES ?? sized(8, 50));
  for (let seed = 1; seed <= cases; seed++) await tryPlan(randomNumbers(seed), `seed ${seed}`);
});

async function tryPlan(random: RandomNumbers, about: string): Promise<void> {
  await service.rows(
    'DROP SCHEMA IF EXISTS joint, single CASCADE; CREATE SCHEMA joint; CREATE SCHEMA single',
  );
  const tables = tablesOf(random);
  const order = shuffled(tables, random);
  const fault = random(2) === 0 ? faults[random(faults.length)] : undefined;
  const faulty = fault && faultyOf(fault, tables, random);
  if (fault === 'exists' && faulty) await service.rows(`CREATE TABLE joint."${faulty}" (kept bigint)`);
  const first = await load(order, fault, faulty);
  if (faulty !== undefined) {
    assert.ok(first.status === 409 || first.status === 422, `${about}: ${JSON.stringify(first.body)}`);
    const part = order.findIndex(({ name }) => name === faulty) + 1;
    assert.match(first.body.detail, new RegExp(`Table ${part} of the plan`), about);
    const left = await service.rows(
      "SELECT relname FROM pg_class WHERE relnamespace = 'joint'::regnamespace AND relkind = 'r'",
    );
    assert.deepEqual(left.length, fault === 'exists' ? 1 : 0, about);
    return;
  }
  assert.equal(first.status, 201, `${about}: ${JSON.stringify(first.body)}`);
  await compare(tables, 'fail', about);
  const again = tables.map((table) => ({
    ...table,
    rows: table.rows.map(([id, ...rest]) => [Number(id) + 100, ...rest]),
  }));
  const appended = shuffled(again, random);
  const second = await load(appended, undefined, undefined, { if_exists: 'append', on_conflict: 'update' });
  assert.equal(second.status, 200, `${about}: ${JSON.stringify(second.body)}`);
  await compare(again, 'append', about);
}

function tablesOf(random: RandomNumbers): Planned[] {
  const tables: Planned[] = [];
  const count = 2 + random(4);
  // The names are in a random order, because the tables are locked in the order of their names.
  const names = shuffled(['a', 'b', 'C d', 'é', 'z'], random).slice(0, count);
  for (const name of names) {
    const references = tables
      .filter(() => random(2) === 0)
      .map(({ name: table }, index) => ({ column: `to_${index}`, table }));
    if (random(4) === 0) references.push({ column: 'own', table: name });
    const size = 1 + random(6);
    const rows = Array.from({ length: size }, (_, index) => [
      index + 1,
      ...references.map(({ table }) => {
        const last = table === name ? size : tables.find((one) => one.name === table)!.rows.length;
        return random(4) === 0 ? null : 1 + random(last);
      }),
      `text ${random(1000)}`,
    ]);
    tables.push({
      name,
      references,
      rows,
      hasDefinition: references.length > 0 || random(2) === 0,
      isWorkbook: random(4) === 0,
    });
  }
  return tables;
}

function shuffled<Item>(items: readonly Item[], random: RandomNumbers): Item[] {
  const left = [...items];
  return items.map(() => left.splice(random(left.length), 1)[0]!);
}

/** Returns the name of a table that can have the fault; undefined: none can. */
function faultyOf(fault: Fault, tables: Planned[], random: RandomNumbers): string | undefined {
  const able = tables.filter(({ references, hasDefinition }) => {
    if (fault === 'reference') return references.length > 0;
    return fault === 'exists' || fault === 'key' || hasDefinition;
  });
  return able[random(Math.max(able.length, 1))]?.name;
}

function headersOf({ references }: Planned): string[] {
  return ['id', ...references.map(({ column }) => column), 'text'];
}

function definitionOf({ references }: Planned, schema: string, textType = 'text') {
  return {
    columns: [
      { name: 'id', type: 'bigint' },
      ...references.map(({ column }) => ({ name: column, type: 'bigint' })),
      { name: 'text', type: textType },
    ],
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      foreign_keys: references.map(({ column, table }) => {
        return { name: '', column, reference_table: table, reference_column: 'id', reference_schema: schema };
      }),
    },
  };
}

function fileOf(table: Planned, fault?: Fault): Buffer {
  const rows = table.rows.map((row) => [...row]);
  const headers = headersOf(table);
  if (fault === 'cell') rows[0]![0] = 'x';
  if (fault === 'key') rows.push([...rows[0]!]);
  if (fault === 'reference') rows.at(-1)![1] = 999;
  if (fault === 'header') headers[headers.length - 1] = 'unknown';
  if (table.isWorkbook) return sheetOf([headers, ...rows]);
  return Buffer.from(
    [headers, ...rows].map((row) => `${row.map((value) => value ?? '').join(',')}\n`).join(''),
  );
}

function load(order: Planned[], fault?: Fault, faulty?: string, more: object = {}): Promise<TestAnswer> {
  const files = Object.fromEntries(
    order.map((table, index) => [`f${index}`, fileOf(table, table.name === faulty ? fault : undefined)]),
  );
  const tables = order.map((table, index) => {
    const type = table.name === faulty && fault === 'type' ? 'no_such_type' : 'text';
    const definition = definitionOf(table, 'joint', type);
    const made = table.hasDefinition ? { definition } : { primary_key: 'id' };
    const isNew = !('if_exists' in more);
    return { table: table.name, schema: 'joint', file: `f${index}`, ...(isNew && made), ...more };
  });
  return service.request('POST', '/api/v1/loads', { body: planForm({ tables }, files) });
}

/** Loads the same rows with single uploads into another schema, and compares. */
async function compare(tables: Planned[], ifExists: 'fail' | 'append', about: string): Promise<void> {
  for (const table of tables) {
    const path = `/table/${encodeURIComponent(table.name)}`;
    const upsert = ifExists === 'append' ? '&if_exists=append&on_conflict=update' : '';
    const isMade = ifExists === 'fail';
    const key = isMade && !table.hasDefinition ? '&primary_key=id' : '';
    const body = isMade && table.hasDefinition ? { table: definitionOf(table, 'single') } : undefined;
    const answer = await service.upload(
      `${path}/upload/excel?schema=single${upsert}${key}`,
      fileOf(table),
      body,
    );
    assert.ok(answer.status < 300, `${about}: ${JSON.stringify(answer.body)}`);
    const described = async (schema: string) => {
      const { body } = await service.get(`${path}?schema=${schema}`);
      return JSON.parse(JSON.stringify(body.table).replaceAll(`"${schema}"`, '"schema"'));
    };
    assert.deepEqual(await described('joint'), await described('single'), about);
    const rowsIn = (schema: string) => service.rows(`SELECT * FROM ${schema}."${table.name}" ORDER BY id`);
    assert.deepEqual(await rowsIn('joint'), await rowsIn('single'), about);
  }
}
