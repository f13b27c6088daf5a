/** Estimates what the indexes of a definition will store, before they are made. For indexes that exist, the catalogue says it (load-facts.ts). */
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { bytesOfHash } from '../../../postgres/expression-trees.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import type { IndexDefinition } from '../../tables/indexes/index-definition.ts';

/**
 * Adds what the indexes store (`indexBytes`, `storedCopies`) to the columns of a table without them.
 *
 * @param generated the SQL of the expressions of generated columns, by their names
 */
export function withIndexes(
  columns: LoadColumn[],
  indexes: IndexDefinition[],
  generated: ReadonlyMap<string, string | undefined>,
): LoadColumn[] {
  if (indexes.length === 0) return columns;
  const sqls = indexes.flatMap((index) => index.columns.flatMap(({ expressionSql }) => expressionSql ?? []));
  const copies = new Map<string, number>();
  const add = (name: string, times: number) => copies.set(name, (copies.get(name) ?? 0) + times);
  for (const index of indexes) {
    for (const name of [...index.columns.map(({ column }) => column), ...index.include])
      add(quoteIdentifier(name), 1);
  }
  for (const sql of sqls) for (const [name] of sql.matchAll(names)) add(name, 1);
  const ofIndexes = new Map(copies);
  for (const [name, sql] of generated) {
    const times = ofIndexes.get(quoteIdentifier(name));
    if (sql === undefined || times === undefined) continue;
    for (const [source] of sql.matchAll(names)) add(source, times);
  }
  const indexBytes = sqls.reduce((sum, sql) => sum + ownBytesOf(sql), 0);
  return columns.map((column, place) => ({
    ...column,
    storedCopies: (column.storedCopies ?? 0) + (copies.get(quoteIdentifier(column.name)) ?? 0),
    ...(place === 0 && { indexBytes }),
  }));
}

const names = /"(?:[^"]|"")+"/g;
const literals = /'(?:[^']|'')*'/g;
const padding = /(?<!var)(?:char|character|bit)"?\((\d+)\)/g;

/** Estimates the same as `ownBytesIn`, from the SQL of an expression. */
function ownBytesOf(sql: string): number {
  let bytes = (sql.match(/\b(?:md5|sha\d+)"?\(/g)?.length ?? 0) * bytesOfHash;
  for (const [literal] of sql.matchAll(literals)) bytes += Buffer.byteLength(literal);
  for (const [, length] of sql.matchAll(padding)) bytes += Number(length);
  return bytes;
}
