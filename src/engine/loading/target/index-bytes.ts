/** Estimates what the indexes of a definition will store, before they are made. For indexes that exist, the catalogue says it (load-facts.ts). */
import type { ColumnType, LoadColumn } from '../../../encoding/columns/load-column.ts';
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
  const digits = new Map<string, number>();
  for (const sql of sqls) {
    const calls = sql.split('(').length - 1;
    for (const [name] of sql.matchAll(names)) {
      add(name, 1);
      digits.set(name, (digits.get(name) ?? 0) + calls);
    }
  }
  const ofIndexes = new Map(copies);
  for (const [name, sql] of generated) {
    const times = ofIndexes.get(quoteIdentifier(name));
    if (sql === undefined || times === undefined) continue;
    for (const [source] of sql.matchAll(names)) add(source, times);
  }
  const indexBytes = sqls.reduce((sum, sql) => sum + ownBytesOf(sql), 0);
  return columns.map((column, place) => {
    const name = quoteIdentifier(column.name);
    const storedCopies = (column.storedCopies ?? 0) + (copies.get(name) ?? 0);
    return {
      ...column,
      type: withDigits(column.type, storedCopies, digits.get(name) ?? 0),
      storedCopies,
      ...(place === 0 && { indexBytes }),
    };
  });
}

/** @param more how many values with the digits of its numbers the indexes make */
function withDigits(type: ColumnType, storedCopies: number, more: number): ColumnType {
  const digitCopies = (type.digitCopies ?? 0) + (type.cost?.hasNumbers ? more : 0);
  return digitCopies === 0 ? type : { ...type, digitCopies, storedDigits: storedCopies };
}

const names = /"(?:[^"]|"")+"/g;
const literals = /'(?:[^']|'')*'/g;
const padding = /(?<!var)(?:char|character|bit)"?\((\d+)\)/g;

/** Estimates the same as `ownBytesIn`, from the SQL of an expression. */
export function ownBytesOf(sql: string): number {
  let bytes = (sql.match(/\b(?:md5|sha\d+)"?\(/g)?.length ?? 0) * bytesOfHash;
  for (const [literal] of sql.matchAll(literals)) bytes += Buffer.byteLength(literal);
  for (const [, length] of sql.matchAll(padding)) bytes += Number(length);
  return bytes;
}
