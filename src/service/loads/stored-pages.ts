/** Stores lists with loads, such as their problems. A list is stored in pages, so that the database has one row for many items. */
import { AppError } from '../../core/errors.ts';
import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { bytesLiteral, type Statement } from '../../postgres/sql.ts';

/** A kind of lists, and how much of it is kept. */
export interface StoredList {
  /** The table of the pages. */
  table: string;
  /** The column with the items of a page, and its type. */
  items: string;
  type: 'json' | 'bytea';
  /** The columns of the table of loads: how many items are stored, and the length of all pages. null: none were stored. */
  count: string;
  bytes: string;
  /** For each subject, the lists of its newest loads are kept: of this many loads, and up to this many bytes. That of the newest load is always kept. */
  kept: { loads: number; bytes: number };
}

export interface StoredPage {
  list: StoredList;
  /** The number of the first item of the page, from 0. Of bytes: the number of the page. */
  first: number;
  /** A list as JSON, or bytes of any form. */
  bytes: Buffer;
}

/** The maximum number of items of a page. */
export const pageItems = 1000;

/** Returns the statements that store pages of a load. An earlier statement of the same transaction must have recorded the end of the load. */
export function storePages({ quoted }: ServiceSchema, id: string, pages: StoredPage[]): Statement[] {
  return pages.map(({ list, first, bytes }) => ({
    text: `INSERT INTO ${quoted}.${list.table} (load, first, ${list.items})
      SELECT id, $2::int4, $3::${list.type} FROM ${quoted}.loads
      WHERE id = $1 AND ${list.count} IS NOT NULL
      ON CONFLICT (load, first) DO NOTHING`,
    values: [id, first, bytes],
  }));
}

/** Returns statements like `storePages` without values and with ASCII characters only, for the transaction that writes the rows. */
export function storePagesAtCommit(
  { quoted }: ServiceSchema,
  id: string,
  pages: StoredPage[],
): CallersStatement[] {
  return pages.map(
    ({ list, first, bytes }) => qualified`INSERT INTO ${quoted}.${list.table} (load, first, ${list.items})
      VALUES ('${id}'::pg_catalog.uuid, ${first}, ${list.type === 'json' ? jsonLiteral(bytes) : bytesLiteral(bytes)})`,
  );
}

function jsonLiteral(json: Buffer): string {
  return `pg_catalog.convert_from(${bytesLiteral(json)}, 'UTF8')::pg_catalog.json`;
}

/** Removes the lists of a subject's older loads, if there are more than `kept`. */
export function removeOlderPages({ quoted }: ServiceSchema, list: StoredList, owner: Buffer): Statement {
  const { table, count, bytes, kept } = list;
  const text = `WITH older AS (
      SELECT id FROM (
        SELECT id, row_number() OVER newest AS place, sum(${bytes}) OVER newest AS bytes
        FROM ${quoted}.loads WHERE owner = $1 AND ${bytes} IS NOT NULL
        WINDOW newest AS (ORDER BY id DESC)) counted
      WHERE place > ${kept.loads} OR (bytes > ${kept.bytes} AND place > 1)),
    removed AS (DELETE FROM ${quoted}.${table} WHERE load = ANY (ARRAY(SELECT id FROM older)))
    UPDATE ${quoted}.loads SET ${count} = 0, ${bytes} = NULL WHERE id = ANY (ARRAY(SELECT id FROM older))`;
  return { text, values: [owner] };
}

/** Reads the page of a load with the item number `at`: the number of its first item, and the text of the JSON list or the bytes. There may be no such page. */
export function readPage({ quoted }: ServiceSchema, list: StoredList, id: string, at: number): Statement {
  return {
    text: `SELECT first, ${list.items}${list.type === 'json' ? '::text' : ''} AS items FROM ${quoted}.${list.table}
      WHERE load = $1 AND first <= $2 ORDER BY first DESC LIMIT 1`,
    values: [id, at],
  };
}

/**
 * Yields the items of a load from number `after` to before number `end`, counted from 0, in lists of at most a page.
 *
 * @param read returns the page that has the item of this number
 * @throws AppError `load-not-found` if the items were removed meanwhile: a list that ended early would look whole
 */
export async function* itemsFrom<Item>(
  after: number,
  end: number,
  read: (at: number) => Promise<{ first: number; items: string } | undefined>,
): AsyncGenerator<Item[]> {
  for (let at = after; at < end; ) {
    const page = await read(at);
    const items = page === undefined ? [] : (JSON.parse(page.items) as Item[]);
    const next = (page?.first ?? 0) + items.length;
    if (next <= at) throw new AppError('load-not-found', 'The list was removed while it was read.');
    yield items.slice(at - page!.first, end - page!.first);
    at = next;
  }
}
