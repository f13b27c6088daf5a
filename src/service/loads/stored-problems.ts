/**
 * Stores the problems of loads: all that were found, at most 100,000 for each load. They are stored in pages of JSON, so that the
 * database has one row for each thousand problems.
 */
import type { Problem } from '../../core/errors.ts';
import { type CallersStatement, qualified } from '../postgres/callers-statement.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import { bytesLiteral, type Statement } from '../postgres/sql.ts';
import { ProblemLines } from './problem-lines.ts';

/** The number of problems of a page; the last page of a load may have fewer. */
const pageProblems = 1000;

/** For each subject, the problems of its newest loads are kept: of this many loads, and up to this many bytes. Those of the newest load are always kept. */
export const keptProblems = { loads: 1000, bytes: 256 * 1024 * 1024 };

export interface ProblemPage {
  /** The number of the first problem of the page, from 0. */
  first: number;
  /** A list as JSON. */
  json: Buffer;
}

/** Collects the problems of a load. */
export class FoundProblems extends ProblemLines {
  constructor() {
    super((problem) => `${JSON.stringify(problem)},`);
  }

  pages(): ProblemPage[] {
    const order = this.inOrder();
    return Array.from({ length: Math.ceil(order.length / pageProblems) }, (_, page) => {
      const first = page * pageProblems;
      const lines = this.join(order.subarray(first, first + pageProblems));
      // The last comma is left out.
      return { first, json: Buffer.concat([open, lines.subarray(0, -1), close]) };
    });
  }
}

const open = Buffer.from('[');
const close = Buffer.from(']');

/** Returns the statements that store pages of a load. An earlier statement of the same transaction must have recorded the end of the load. */
export function storePages({ quoted }: ServiceSchema, id: string, pages: ProblemPage[]): Statement[] {
  return pages.map(({ first, json }) => ({
    text: `INSERT INTO ${quoted}.load_problems (load, first, problems)
      SELECT id, $2::int4, $3::json FROM ${quoted}.loads
      WHERE id = $1 AND problems_stored IS NOT NULL
      ON CONFLICT (load, first) DO NOTHING`,
    values: [id, first, json],
  }));
}

/** Returns statements like `storePages` without values and with ASCII characters only, for the transaction that writes the rows. */
export function storePagesAtCommit(
  { quoted }: ServiceSchema,
  id: string,
  pages: ProblemPage[],
): CallersStatement[] {
  return pages.map(
    ({ first, json }) => qualified`INSERT INTO ${quoted}.load_problems (load, first, problems)
      VALUES ('${id}'::pg_catalog.uuid, ${first}, pg_catalog.convert_from(${bytesLiteral(json)}, 'UTF8')::pg_catalog.json)`,
  );
}

/** Removes the problems of a subject's older loads, if there are more than `keptProblems`. */
export function removeOlderProblems({ quoted }: ServiceSchema, owner: Buffer): Statement {
  const text = `WITH older AS (
      SELECT id FROM (
        SELECT id, row_number() OVER newest AS place, sum(problem_bytes) OVER newest AS bytes
        FROM ${quoted}.loads WHERE owner = $1 AND problem_bytes IS NOT NULL
        WINDOW newest AS (ORDER BY id DESC)) counted
      WHERE place > ${keptProblems.loads} OR (bytes > ${keptProblems.bytes} AND place > 1)),
    removed AS (DELETE FROM ${quoted}.load_problems WHERE load = ANY (ARRAY(SELECT id FROM older)))
    UPDATE ${quoted}.loads SET problems_stored = 0, problem_bytes = NULL WHERE id = ANY (ARRAY(SELECT id FROM older))`;
  return { text, values: [owner] };
}

/** Reads the page of a load's problems that begins with the problem `first`, as the text of a JSON list. There may be no such page. */
export function readProblemPage({ quoted }: ServiceSchema, id: string, first: number): Statement {
  return {
    text: `SELECT problems::text AS problems FROM ${quoted}.load_problems WHERE load = $1 AND first = $2`,
    values: [id, first],
  };
}

/** Yields the problems of a load in lists of at most a page. @param readPage returns the JSON of the page that begins with this problem */
export async function* problemsFrom(
  after: number,
  end: number,
  readPage: (first: number) => Promise<string | undefined>,
): AsyncGenerator<Problem[]> {
  for (let first = after - (after % pageProblems); first < end; first += pageProblems) {
    const json = await readPage(first);
    // The problems may have been removed meanwhile.
    if (json === undefined) return;
    yield (JSON.parse(json) as Problem[]).slice(Math.max(0, after - first), end - first);
  }
}
