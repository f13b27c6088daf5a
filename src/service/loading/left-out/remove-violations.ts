/**
 * Removes the staged rows that break a rule of the table, with one query for each rule. This is fast for any number of rows, but it
 * does not know all that PostgreSQL may refuse (triggers, exclusion constraints, values that PostgreSQL generates). So PostgreSQL
 * judges the rows that are left, when they are moved.
 *
 * If several rows have the same key, the first of them in the file is kept. A row with another problem is not kept, even if it is the first one. Therefore
 * repeated keys are searched for last.
 */
import type { ClientBase } from 'pg';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { queryWithSavepoint, runAndUndo } from '../../postgres/savepoints.ts';
import { isLackOfPrivilege, isRefusalOfInput } from '../../postgres/sqlstate.ts';
import {
  isDecidedByRows,
  ownReferencedColumns,
  shapesWithout,
  stagedNames,
} from '../staged/decided-by-rows.ts';
import { addViolations, isHidden, toViolation } from '../staged/find-violations.ts';
import { inputRules, makeInputCheck } from '../staged/input-check.ts';
import { columnsRead, isSelfReference, type RowRule } from '../staged/row-rules.ts';
import { copyShardedRows } from '../staged/sharded-copies.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import {
  analyzeStagingTable,
  dropOwnInputCheck,
  ownInputCheck,
  stagingTable,
  typedStagingTable,
} from '../staged/staging-table.ts';
import {
  byRowNumber,
  type FoundViolation,
  type SentRows,
  storeAnswer,
  type ViolationQuery,
  violationQueries,
} from '../staged/violation-queries.ts';
import type { FaultyRows } from './faulty-rows.ts';
import { deleteFound, setAside, takeBack, temporaryTable } from './staged-statements.ts';

/** Rows with a repeated key. They are taken out of the staging table until it is certain whether they are left out. */
class RowsAside {
  readonly #search: Search;
  readonly #found: Found;
  /** The quoted name of the table that has the rows. */
  readonly #table: string;

  private constructor(search: Search, found: Found, table: string) {
    this.#search = search;
    this.#found = found;
    this.#table = table;
  }

  static async take(search: Search, found: Found): Promise<RowsAside> {
    const table = temporaryTable('rows aside');
    await search.client.query(setAside(found.table, table));
    return new RowsAside(search, found, table);
  }

  get count(): number {
    return this.#found.count;
  }

  /** Leaves the rows out and adds their problems. */
  async leaveOut(): Promise<void> {
    this.#search.faulty.add(this.count);
    await addProblems(this.#search, this.#found);
  }

  /** Puts the rows back into the staging table. */
  async takeBack(): Promise<void> {
    await this.#search.client.query(takeBack(this.#table));
  }
}

/** The maximum number of rounds. Each round removes the rows that refer to rows which were removed in the round before. */
const maxRounds = 20;

/**
 * Removes rows with problems and adds the problems.
 *
 * @returns the rows that have the key of an earlier row, if there are any
 */
export async function removeViolations(
  client: ClientBase,
  load: StagedLoad,
  rules: RowRule[],
  faulty: FaultyRows,
  problems: Problems,
): Promise<RowsAside | undefined> {
  const search = { client, load, faulty, problems };
  await removeInvalidInput(search);
  const judged = rules.filter((rule) => isDecidedByRows(rule, load) && !isHidden(rule));
  const read = judged.flatMap((rule) => [...columnsRead(rule), ...ownReferencedColumns(rule)]);
  await client.query(analyzeStagingTable(stagedNames(read, load)));
  const { relation, columns, isBare, conflict } = load;
  const sent: SentRows = {
    // Rows with text that is not valid for its type were removed above.
    relation: typedStagingTable(columns, undefined),
    numbering: byRowNumber,
    existing: isBare ? undefined : relation,
    conflict,
    judgesSurplusRows: true,
    shapesWithout: (names) => shapesWithout(names, load),
  };
  const copied = await copyShardedRows(client, load, sent, judged);
  const queries = violationQueries(copied.sent, copied.rules, 'ALL');
  await remove(
    search,
    await findAll(
      search,
      queries.filter((query) => isOfOneRow(query, load)),
    ),
  );
  return removeRepeatedAndOrphans(
    search,
    queries.filter(({ rule, isOfExisting }) => rule.kind === 'unique' && !isOfExisting && !conflict),
    queries.filter(({ rule }) => isSelfReference(rule)),
  );
}

interface Search {
  client: ClientBase;
  load: StagedLoad;
  faulty: FaultyRows;
  problems: Problems;
}

interface Found {
  rule: RowRule;
  /** The quoted name of the table with the rows that the query found. */
  table: string;
  count: number;
}

/**
 * Returns whether the query judges each row by itself. With `on_conflict`, the order of the rows decides which of them have a key that
 * another row already has.
 */
function isOfOneRow({ rule, isOfExisting }: ViolationQuery, { conflict }: StagedLoad): boolean {
  if (rule.kind === 'unique') return isOfExisting === true && conflict === undefined;
  return !isSelfReference(rule);
}

async function removeInvalidInput(search: Search): Promise<void> {
  const { client, load } = search;
  const check = await makeInputCheck(client, load.columns);
  const sent = { relation: stagingTable, numbering: byRowNumber };
  const queries = violationQueries(sent, inputRules(load.columns, check), 'ALL');
  await remove(search, await findAll(search, queries));
  if (check === ownInputCheck) await client.query(dropOwnInputCheck);
}

async function removeRepeatedAndOrphans(
  search: Search,
  ofKeys: ViolationQuery[],
  ofOwnReferences: ViolationQuery[],
): Promise<RowsAside | undefined> {
  if (!(await removeOrphans(search, ofOwnReferences))) return undefined;
  const repeated = await findAll(search, ofKeys);
  // If there are several keys, the order of the rows decides which rows stay. So PostgreSQL itself must decide it row by row.
  if (repeated.length !== 1) return undefined;
  const [ofKey] = repeated;
  const aside = await RowsAside.take(search, ofKey!);
  for (let round = 0; round < maxRounds; round += 1) {
    const orphans = await findAll(search, ofOwnReferences);
    if (orphans.length === 0) return aside;
    if (!(await removeIfStillRepeated(search, orphans, aside, ofKeys))) break;
  }
  await aside.takeBack();
  return undefined;
}

/**
 * Removes the rows that refer neither to a row of the upload nor to a row of the table. @returns false: rows may
 * still refer to removed rows after `maxRounds` rounds
 */
async function removeOrphans(search: Search, ofOwnReferences: ViolationQuery[]): Promise<boolean> {
  for (let round = 0; round < maxRounds; round += 1) {
    const orphans = await findAll(search, ofOwnReferences);
    if (orphans.length === 0) return true;
    await remove(search, orphans);
  }
  return false;
}

/**
 * Removes rows that refer to rows with a repeated key, unless a row with a repeated key then becomes the first one with its key. Other
 * rows may refer to that row.
 *
 * @returns false: nothing was removed
 */
async function removeIfStillRepeated(
  search: Search,
  orphans: Found[],
  aside: RowsAside,
  ofKeys: ViolationQuery[],
): Promise<boolean> {
  const { client, faulty } = search;
  const isSame = await runAndUndo(client, 'orphans', async () => {
    await deleteAll(client, orphans);
    await aside.takeBack();
    const repeated = await findAll(search, ofKeys);
    return repeated.length === 1 && repeated[0]!.count === aside.count;
  });
  if (!isSame) return false;
  faulty.add(await deleteAll(client, orphans));
  for (const one of orphans) await addProblems(search, one);
  return true;
}

/**
 * Runs the queries and returns those that found rows. If a query cannot check a rule, PostgreSQL checks it later, when the rows are
 * moved.
 */
async function findAll({ client }: Search, queries: ViolationQuery[]): Promise<Found[]> {
  const found: Found[] = [];
  for (const query of queries) {
    const table = temporaryTable('found rows');
    try {
      await queryWithSavepoint(client, 'rule', storeAnswer(query, table));
    } catch (error) {
      if (!isLackOfPrivilege(error) && !isRefusalOfInput(error)) throw error;
      continue;
    }
    const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
    const { count } = rows[0]!;
    if (count > 0) found.push({ rule: query.rule, table, count });
  }
  return found;
}

async function remove(search: Search, found: Found[]): Promise<void> {
  const { client, faulty } = search;
  for (const one of found) await addProblems(search, one);
  faulty.add(await deleteAll(client, found));
}

/**
 * Deletes the rows that were found from the staging table.
 *
 * @returns the number of deleted rows; a row may have several problems
 */
async function deleteAll(client: ClientBase, found: Found[]): Promise<number> {
  let deleted = 0;
  for (const { table } of found) deleted += (await client.query(deleteFound(table))).rowCount ?? 0;
  return deleted;
}

async function addProblems({ client, load, problems }: Search, { rule, table, count }: Found): Promise<void> {
  const { rows } = await client.query<FoundViolation>(
    `SELECT * FROM ${table} ORDER BY number LIMIT ${problems.maxFound}`,
  );
  const areRowsMissing = problems.count > 0;
  const violations = rows.map((one) => toViolation(rule, one, byRowNumber, areRowsMissing));
  addViolations(violations, count, load.places, problems);
}
