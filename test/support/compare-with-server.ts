/**
 * Loads values through the encoders and through PostgreSQL's own text input, and compares what is stored.
 */
import assert from 'node:assert/strict';
import type pg from 'pg';
import { STRING } from '../../src/core/cells/cell-kind.ts';
import type { ColumnType } from '../../src/encoding/columns/load-column.ts';
import { columnEncoder } from '../../src/encoding/encoders/column-encoder.ts';
import { CopyBuffer } from '../../src/encoding/encoders/copy-buffer.ts';
import { encodeCell } from '../../src/encoding/encoders/encode-cell.ts';
import { describeCellProblem } from '../../src/encoding/problems/cell-problems.ts';
import { copyFrom } from '../../src/postgres/copy.ts';

export interface Sample {
  kind: number;
  text: string;
  /** The text for PostgreSQL's input function; default: the same text. */
  reference?: string;
  /** The encoder may refuse a form that PostgreSQL accepts and the encoder does not read. */
  mayRefuse?: boolean;
}

export function strings(...texts: string[]): Sample[] {
  return texts.map((text) => ({ kind: STRING, text }));
}

/** Returns samples of the forms that the encoders do not read by design. */
export function refusedStrings(...texts: string[]): Sample[] {
  return texts.map((text) => ({ kind: STRING, text, mayRefuse: true }));
}

const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');

/** Returns every difference as a line for a person; none means success. Also returns the number of stored values. */
export async function compareWithServer(
  client: pg.Client,
  typeName: string,
  samples: Sample[],
): Promise<{ differences: string[]; stored: number }> {
  await client.query(`DROP TABLE IF EXISTS expected, actual, refused;
    CREATE TEMP TABLE expected (id int, v ${typeName});
    CREATE TEMP TABLE actual (id int, v ${typeName});
    CREATE TEMP TABLE refused (id int, reason text)`);
  const type = await columnType(client, 'actual', 'v');
  const problems = await loadEncoded(client, type, samples);
  await client.query('SELECT pg_temp.read_all($1)', [
    samples.map((sample) => sample.reference ?? sample.text),
  ]);
  // The image of the row is compared, because equal values may have different bytes on disk.
  const { rows } = await client.query<Row>(`
    SELECT id, e.v::text AS expected, a.v::text AS actual, r.reason,
           e.id IS NOT NULL AND a.id IS NOT NULL AND record_image_eq(ROW(e.v), ROW(a.v)) AS equal
    FROM expected e FULL JOIN actual a USING (id) FULL JOIN refused r USING (id) ORDER BY id`);
  const version = await serverVersion(client);
  const differences = rows.flatMap((row) => {
    const sample = samples[row.id]!;
    if (!row.equal && isReadOtherwise(version, typeName, sample)) return [];
    const problem = problems.get(row.id);
    if (row.equal || (row.reason !== null && problem !== undefined)) return [];
    if (problem !== undefined && sample.mayRefuse) return [];
    const ours = problem === undefined ? row.actual : `refused: ${describeCellProblem(problem, type).detail}`;
    const theirs = row.reason === null ? row.expected : `refused: ${row.reason}`;
    return [`${typeName} ${JSON.stringify(sample.text.slice(0, 100))}: ${ours} | PostgreSQL: ${theirs}`];
  });
  assert.equal(rows.length, samples.length);
  return { differences, stored: rows.filter((row) => row.equal).length };
}

/**
 * Texts that an older server reads differently from PostgreSQL 18, whose rules the encoders follow on every server. Each is a
 * difference between PostgreSQL's own versions, so it is compared only from that version on.
 */
const changes: { since: number; types: RegExp; text: RegExp }[] = [
  // 0x1F and 1_000; and a space after the e of an exponent, which older versions accepted.
  { since: 16, types: /^(smallint|integer|bigint|numeric)/, text: /^[\s+-]*0[xob]|_|e\s/i },
  // Arrays without elements inside arrays.
  { since: 17, types: /\[\]$/, text: /\{\s*\{[\s{]*\}/ },
  // Rounding beyond the end of the range, and words after "ago".
  { since: 17, types: /^interval/, text: /^2562047788:00:54\.775807$|ago ./ },
];

function isReadOtherwise(version: number, typeName: string, { text, reference = text }: Sample): boolean {
  return changes.some(
    (change) => version < change.since && change.types.test(typeName) && change.text.test(reference),
  );
}

interface Row {
  id: number;
  expected: string | null;
  actual: string | null;
  reason: string | null;
  equal: boolean;
}

/** Copies the values that the encoder accepts into `actual`. Returns the problems of the others. */
async function loadEncoded(
  client: pg.Client,
  type: ColumnType,
  samples: Sample[],
): Promise<Map<number, number>> {
  const encoder = columnEncoder(type);
  assert.ok(encoder, `${type.name} has no encoder`);
  const problems = new Map<number, number>();
  const out = new CopyBuffer(64);
  out.ensure(signature.length);
  out.appendRange(signature, 0, signature.length);
  samples.forEach((sample, id) => {
    const rowStart = out.position;
    out.ensure(10);
    out.int16(2);
    out.int32(4);
    out.int32(id);
    // Other bytes around the cell show if the reader reads too far.
    const bytes = Buffer.from(`7${sample.text}7`);
    const problem = encodeCell(out, encoder, sample.kind, bytes, 1, bytes.length - 1);
    if (problem === 0) return;
    problems.set(id, problem);
    out.rewind(rowStart);
  });
  out.ensure(2);
  out.int16(-1);
  const copy = copyFrom(client, 'COPY actual FROM STDIN (FORMAT binary)');
  await copy.write(out.bytes.subarray(0, out.position));
  await copy.end();
  return problems;
}

/** Creates what `compareWithServer` needs. Call it once for each connection. */
export async function prepareComparison(client: pg.Client): Promise<void> {
  await client.query(`SET timezone = 'UTC'; SET client_min_messages = warning;
    CREATE FUNCTION pg_temp.read_all(texts text[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      FOR i IN 1 .. cardinality(texts) LOOP
        BEGIN
          EXECUTE format('INSERT INTO expected VALUES (%s, %L)', i - 1, texts[i]);
        EXCEPTION WHEN OTHERS THEN
          INSERT INTO refused VALUES (i - 1, SQLERRM);
        END;
      END LOOP;
    END $$`);
}

/** Returns a column's type as the loader knows it. */
export async function columnType(client: pg.Client, table: string, column: string): Promise<ColumnType> {
  const { rows } = await client.query<{ oid: number; typmod: number }>(
    'SELECT atttypid::int AS oid, atttypmod AS typmod FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2',
    [table, column],
  );
  return typeOf(client, rows[0]!.oid, rows[0]!.typmod);
}

const intervalOid = 1186;

/** Returns the major version: 18. */
export async function serverVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version`,
  );
  return rows[0]!.version;
}

const kinds: Record<string, ColumnType['kind']> = { b: 'base', e: 'enum', d: 'domain' };

async function typeOf(client: pg.Client, oid: number, typmod: number): Promise<ColumnType> {
  const { rows } = await client.query<{
    name: string;
    kind: string;
    base: number;
    baseTypmod: number;
    notNull: boolean;
    element: number;
    labels: string[];
  }>(
    `SELECT format_type(oid, $2) AS name, typtype AS kind, typbasetype::int AS base, typtypmod AS "baseTypmod",
       typnotnull AS "notNull", CASE WHEN typcategory = 'A' THEN typelem::int ELSE 0 END AS element,
       ARRAY(SELECT enumlabel::text FROM pg_enum WHERE enumtypid = t.oid ORDER BY enumsortorder) AS labels
     FROM pg_type t WHERE oid = $1`,
    [oid, typmod],
  );
  const row = rows[0]!;
  const type: ColumnType = { oid, name: row.name, typmod, kind: kinds[row.kind] ?? 'other' };
  if (oid === intervalOid && (await serverVersion(client)) >= 17) type.hasInfinity = true;
  if (row.element !== 0) return { ...type, kind: 'array', element: await typeOf(client, row.element, -1) };
  if (type.kind === 'enum') return { ...type, labels: row.labels };
  if (type.kind !== 'domain') return type;
  const base = await typeOf(client, row.base, row.baseTypmod);
  return { ...type, base: base.base ?? base, domainNotNull: row.notNull || base.domainNotNull === true };
}
