/**
 * Lists the first differences between the staged rows and the rows of the table, before the rows are moved: rows that will be inserted, and
 * cells that will be changed. Triggers and concurrent transactions may still change what happens to a row.
 */

import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { anyNull } from '../../tables/rules/rule-conditions.ts';
import { type ChangedCell, maxListedChanges, type RowChange } from '../request/row-change.ts';
import { sameKey } from '../staged/conflict-rule.ts';
import { findInputCheck } from '../staged/input-check.ts';
import { isMoved } from '../staged/merge-statements.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { hasShape, rowNumber, shapeNumber, typedStagingTable, unlike } from '../staged/staging-table.ts';
import { findsUnchanged, ifReadable, record, sameTyped } from '../staged/unchanged-rows.ts';
import { textOf } from './text-of-value.ts';

/** The maximum size of all listed differences, in characters of names and values. */
const maxCharacters = 16 * 1024 * 1024;

/** The number of cells that are read at once, so that no batch takes longer than a few milliseconds. */
const cellsPerBatch = 10_000;

/** Returns the differences; undefined: PostgreSQL cannot find them, because the table is sharded, PostgreSQL computes the key, or a text cannot be read. */
export async function listChanges(client: ClientBase, load: StagedLoad): Promise<RowChange[] | undefined> {
  return findsUnchanged(load) ? ifReadable(client, load, () => readChanges(client, load)) : undefined;
}

async function readChanges(client: ClientBase, load: StagedLoad): Promise<RowChange[]> {
  const columns = listedColumns(load);
  const inputCheck = await findInputCheck(client, load.columns);
  await queryInCallersPath(client, openCursor(load, columns, inputCheck));
  const batch = Math.min(1000, Math.ceil(cellsPerBatch / (columns.length + 1)));
  const changes: RowChange[] = [];
  for (let characters = 0, isEnd = false; characters < maxCharacters && !isEnd; ) {
    const { rows } = await client.query<FoundChange>(`FETCH ${batch} FROM ${cursor}`);
    for (const row of rows) {
      const change = toChange(row, load, columns);
      // The load leaves unchanged rows out. It misses one whose key has NULL, if the other values of the key are equal but stored in another way
      // (1.0 and 1.00), because it then compares the whole key with `*=`.
      if (change.kind === 'changed' && change.cells.length === 0) continue;
      characters += sizeOf(change);
      if (characters <= maxCharacters) changes.push(change);
    }
    isEnd = rows.length < batch;
  }
  await client.query(`CLOSE ${cursor}`);
  return changes;
}

const cursor = quoteIdentifier('tablewright changes');
const met = quoteIdentifier(`tablewright met ${unlike}`);

interface FoundChange {
  row: number;
  shape: number;
  /** null: no row of the table has the key. */
  met: true | null;
  key: (string | null)[];
  /** The values of the listed columns. */
  sent: (string | null)[];
  /** The values of the compared columns in the table, and whether they differ. */
  stored: (string | null)[];
  differs: boolean[];
}

/** Returns the columns whose values are listed, without those of the key. The compared columns come first. */
function listedColumns({ columns, compared, conflict, shapes }: StagedLoad): LoadColumn[] {
  const { key, notCompared } = conflict!;
  const isSent = (position: number) => shapes.all.some((shape) => shape.includes(position));
  const others = columns.filter(
    (column, position) =>
      isSent(position) &&
      !compared!.includes(column) &&
      !key.columns.includes(column.name) &&
      notCompared?.has(column.name) !== true,
  );
  return [...compared!, ...others];
}

function openCursor(
  load: StagedLoad,
  listed: LoadColumn[],
  inputCheck: string | undefined,
): CallersStatement {
  const { columns, compared: present, stored } = load;
  const compared = present!;
  const { key, shapes } = load.conflict!;
  const keyColumns = key.columns.map((name) => columns.find((column) => column.name === name)!);
  const texts = (alias: string, of: LoadColumn[]) =>
    list(of.map((column) => textOf(sameTyped(alias, column), column)));
  const differs = compared.map(
    (column) =>
      `${record([sameTyped('t', column)])} OPERATOR(pg_catalog.*<>) ${record([sameTyped('s', column)])}`,
  );
  const read = [...keyColumns, ...compared].map(({ name }) => `, t.${quoteIdentifier(name)}`).join('');
  const withKey = (isMatch: string) => `SELECT true AS ${met}${read} FROM ${stored} t WHERE ${isMatch}`;
  // Only a plain equality can use the index of the key.
  const ofNulls = `${anyNull('s', key.columns)} AND ${sameKey(key, true)}`;
  const matches = [withKey(sameKey(key)), ...(key.nullsNotDistinct ? [withKey(ofNulls)] : [])].join(
    ' UNION ALL ',
  );
  return qualified`DECLARE ${cursor} NO SCROLL CURSOR FOR
SELECT s.${rowNumber} AS row, s.${shapeNumber} AS shape, t.${met} AS met, ${texts('s', keyColumns)} AS key, ${texts('s', listed)} AS sent,
  ${texts('t', compared)} AS stored, ${list(differs, 'bool')} AS differs
FROM (SELECT * FROM ${typedStagingTable(columns, inputCheck)} s WHERE ${isMoved(load)} ORDER BY ${rowNumber} LIMIT ${maxListedChanges}) s
LEFT JOIN LATERAL (${matches}) t ON ${hasShape('s', shapes)} ORDER BY s.${rowNumber}`;
}

function list(values: string[], type = 'text'): string {
  return `pg_catalog.array_to_json(ARRAY[${values.join(', ')}]::pg_catalog.${type}[])`;
}

function toChange(
  found: FoundChange,
  { columns, shapes, conflict }: StagedLoad,
  listed: LoadColumn[],
): RowChange {
  const { row, shape, met, sent, stored, differs } = found;
  const isSent = new Set(shapes.all[shape]!.map((position) => columns[position]));
  const shown = (value: string | null) => value && shortenValue(value);
  const names = conflict!.key.columns;
  const keyColumns = names.map((name) => columns.find((column) => column.name === name)!);
  const key = keyColumns.flatMap((column, index) =>
    isSent.has(column) ? [[column.name, shown(found.key[index]!)] as const] : [],
  );
  const cells = listed.flatMap((column, index): ChangedCell[] => {
    if (!isSent.has(column)) return [];
    const cell = { column: column.name, new: shown(sent[index]!) };
    if (!met) return [cell];
    return differs[index] ? [{ ...cell, old: shown(stored[index]!) }] : [];
  });
  return { kind: met ? 'changed' : 'inserted', row, key: Object.fromEntries(key), cells };
}

/** Returns about how many characters the difference takes. */
function sizeOf({ key, cells }: RowChange): number {
  let size = 50;
  for (const [name, value] of Object.entries(key)) size += name.length + (value?.length ?? 4);
  for (const { column, old, new: value } of cells)
    size += 30 + column.length + (old?.length ?? 4) + (value?.length ?? 4);
  return size;
}
