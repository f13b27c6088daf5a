/** Stores the rows with problems of loads as they were sent, in pieces (loading/faulty-rows/). */
import type { KeptRows } from '../loading/faulty-rows/keep-faulty-rows.ts';
import { type CallersStatement, qualified } from '../postgres/callers-statement.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import { bytesLiteral, type Statement } from '../postgres/sql.ts';
import type { KeptList } from './stored-pages.ts';
import { problemList } from './stored-problems.ts';

/** What bounds the stored rows of a subject, as for lists. */
export const faultyRowsList: KeptList = {
  table: 'load_faulty_rows',
  count: 'faulty_rows',
  bytes: 'faulty_row_bytes',
  kept: problemList.kept,
};

/** Returns the statements that store the rows of a load. An earlier statement of the same transaction must have recorded the end of the load. */
export function storeRows({ quoted }: ServiceSchema, id: string, rows: KeptRows | undefined): Statement[] {
  return (rows?.pieces ?? []).map((piece, number) => ({
    text: `INSERT INTO ${quoted}.load_faulty_rows (load, piece, rows)
      SELECT id, $2::int4, $3::bytea FROM ${quoted}.loads
      WHERE id = $1 AND faulty_rows IS NOT NULL
      ON CONFLICT (load, piece) DO NOTHING`,
    values: [id, number, piece],
  }));
}

/** Returns statements like `storeRows` without values, for the transaction that writes the rows without problems. */
export function storeRowsAtCommit(
  { quoted }: ServiceSchema,
  id: string,
  rows: KeptRows | undefined,
): CallersStatement[] {
  return (rows?.pieces ?? []).map(
    (piece, number) => qualified`INSERT INTO ${quoted}.load_faulty_rows (load, piece, rows)
      VALUES ('${id}'::pg_catalog.uuid, ${number}, ${bytesLiteral(piece)})`,
  );
}

/** Reads a piece of a load's rows. There may be no such piece. */
export function readPiece({ quoted }: ServiceSchema, id: string, number: number): Statement {
  return {
    text: `SELECT rows FROM ${quoted}.load_faulty_rows WHERE load = $1 AND piece = $2`,
    values: [id, number],
  };
}
