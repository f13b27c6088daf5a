/**
 * Staged rows → the table they are for: one statement for all rows that name the same columns.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../errors.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { isPolicyViolation } from '../../postgres/server-internals.ts';
import type { Statement } from '../../postgres/sql.ts';
import {
  conditionOf,
  isBrokenReference,
  isDeadlock,
  isFailureOfExpression,
  isRefusalOfData,
  isRefusalOfInput,
  sqlstateOf,
} from '../../postgres/sqlstate.ts';
import type { LoadColumn } from '../../tables/load-column.ts';
import { isStagedAsText } from '../target-columns.ts';
import {
  analyzeStagingTable,
  analyzeSurplusTable,
  builtInInputCheck,
  type ConflictKey,
  type ConflictRule,
  countExistingKeys,
  countSurplusRows,
  countUpdatedRows,
  createOwnInputCheck,
  createUpdateCounter,
  findBuiltInInputCheck,
  findSurplusRows,
  firstRowNumber,
  lastRowNumber,
  lockExistingRows,
  mergeShape,
  mergeTogether,
  ownInputCheck,
  readProgress,
  resetUpdateCounter,
  shapeOfRow,
  takeTurn,
  typedStagingTable,
} from './staging-table.ts';

/** More different sets of columns than this in one upload, and moving them one set at a time takes too long. */
export const maxStagedShapes = 200;

/** The sets of columns that rows came with, numbered. */
export class Shapes {
  readonly all: (readonly number[])[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws AppError `limit-exceeded` */
  numberOf(columns: readonly number[]): number {
    const key = columns.toSorted((a, b) => a - b).join();
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.all.length === this.#max) {
      throw new AppError(
        'limit-exceeded',
        `The rows have more than ${this.#max} different sets of keys. Give every row the same keys, with null where there is no value.`,
      );
    }
    this.#numbers.set(key, this.all.length);
    this.all.push(columns);
    return this.all.length - 1;
  }

  /** The columns that are in every set. */
  common(): number[] {
    const [first = [], ...others] = this.all;
    return first.filter((column) => others.every((columns) => columns.includes(column)));
  }
}

/** The shapes whose rows bring every column of the key, or what PostgreSQL computes it from. */
export function shapesWithKey(key: ConflictKey, columns: LoadColumn[], shapes: Shapes): number[] {
  const needed = new Set(key.columns.flatMap((name) => sourcesOf(name, columns)));
  return [...shapes.all.keys()].filter((number) => {
    const names = shapes.all[number]!.map((position) => columns[position]!.name);
    return [...needed].every((name) => names.includes(name));
  });
}

/** What a row must bring so that it has a value of its own in a column. */
export function sourcesOf(name: string, columns: LoadColumn[]): string[] {
  return columns.find((column) => column.name === name)?.generatedFrom ?? [name];
}

export interface MoveOptions {
  /** Quoted. */
  relation: string;
  columns: LoadColumn[];
  conflict: ConflictRule | undefined;
  /** The table is empty, and its keys come after the rows. */
  isBare: boolean;
  /** A trigger or a rule may leave out rows, which must be told from rows that are skipped. */
  countsExisting?: boolean;
}

export interface MovedRows {
  /** Rows inserted or updated. */
  merged: number;
  /** Rows that were in the table before and were changed. */
  updated: number;
  /** Rows that gave way to another one of the same upload. */
  surplus: number;
  /** With `skip` and `countsExisting`: the rows whose key the table had, or another row of the same upload. */
  skipped?: number | undefined;
  /** The table is then as it was before. */
  refusal: Refusal | undefined;
}

/** PostgreSQL's refusal of a row. */
export interface Refusal {
  error: Error;
  /** It came from what is deferred to the end of the transaction. */
  isDeferred: boolean;
  /**
   * The number in the staging table of the row that was being moved. It is the refused row if PostgreSQL checks the rule
   * row by row, and not at the end of the statement or the transaction.
   */
  movedRow?: number | undefined;
}

/**
 * A deadlock ends one of the transactions in it, which then finds the rows of the other one committed. Those that were ended
 * wait for each other's turn; only uploads that have not met a deadlock yet can still cross the one whose turn it is.
 */
const maxDeadlocks = 20;

/**
 * Moves all staged rows, one shape after the other; where a reference is refused then, all in one statement, since a row may
 * refer to one of another shape.
 */
export async function moveRows(client: ClientBase, options: MoveOptions, shapes: Shapes): Promise<MovedRows> {
  const { conflict, isBare } = options;
  const updates = conflict?.action === 'update' && !isBare;
  if (updates) await queryInCallersPath(client, createUpdateCounter.text);
  if (conflict) await client.query(analyzeStagingTable(stagedNames(conflict.key.columns, options.columns)));
  await client.query('SAVEPOINT "rows"');
  let merged = 0;
  let existing: number | undefined;
  const goBack = async (): Promise<void> => {
    await client.query('ROLLBACK TO SAVEPOINT "rows"');
    if (updates) await queryInCallersPath(client, resetUpdateCounter.text);
  };
  const goBackAndWait = async (): Promise<void> => {
    await goBack();
    await client.query(takeTurn(options.relation));
  };
  const attempt = (move: typeof moveInTurn): Promise<Refusal | undefined> =>
    retryAfterDeadlocks(goBackAndWait, () =>
      refusalOf(mayBeOfRow, async () => {
        existing = conflict && (await prepareConflicts(client, options, conflict));
        merged = await move(client, options, shapes);
      }),
    );
  let refusal = await attempt(moveInTurn);
  if (refusal && isBrokenReference(refusal.error) && shapes.all.length > 1) {
    await goBack();
    refusal = await attempt(moveTogether);
  }
  const refused = refusal ?? (isBare ? undefined : await checkDeferred(client));
  if (refused) {
    await client.query('ROLLBACK TO SAVEPOINT "rows"');
    const { rows } = await client.query<{ row: number | null }>(readProgress);
    const movedRow = rows[0]!.row ?? undefined;
    return { merged: 0, updated: 0, surplus: 0, refusal: { ...refused, movedRow } };
  }
  const surplus = conflict ? await readCount(client, countSurplusRows) : 0;
  return {
    merged,
    updated: updates ? await readCount(client, countUpdatedRows) : 0,
    surplus,
    skipped: existing === undefined ? undefined : existing + surplus,
    refusal: undefined,
  };
}

/**
 * Sets the surplus rows apart, and locks rows that are to be updated where several statements will do it.
 *
 * @returns how many rows have a key that the table has, where that is to be counted
 */
async function prepareConflicts(
  client: ClientBase,
  { relation, columns, isBare, countsExisting }: MoveOptions,
  conflict: ConflictRule,
): Promise<number | undefined> {
  const inputCheck = await findInputCheck(client, columns);
  const staged = typedStagingTable(columns, isStagedAsText, inputCheck);
  await setSurplusApart(client, staged, conflict);
  if (conflict.action === 'update' && !isBare && conflict.shapes.length > 1) {
    await queryInCallersPath(client, lockExistingRows(relation, staged, conflict).text);
  }
  return countsExisting ? readCount(client, countExistingKeys(relation, staged, conflict)) : undefined;
}

/** @param staged the staging table, or `typedStagingTable` */
export async function setSurplusApart(
  client: ClientBase,
  staged: string,
  conflict: ConflictRule,
): Promise<void> {
  await queryInCallersPath(client, findSurplusRows(staged, conflict).text);
  await client.query(analyzeSurplusTable);
}

/** Those of the names that the staging table has: a rule may read columns that no row brings. */
export function stagedNames(names: readonly string[], columns: LoadColumn[]): string[] {
  return names.filter((name) => columns.some((column) => column.name === name));
}

async function retryAfterDeadlocks<Result>(
  goBackAndWait: () => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let deadlocks = 0; ; deadlocks += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isDeadlock(error) || deadlocks === maxDeadlocks) throw error;
      await goBackAndWait();
    }
  }
}

/**
 * The number in the staging table of the row that was refused on its way from there, the surplus rows being set apart: half of the rows after the other,
 * what is not refused stays in, so that all of it costs little more than moving them once. Undefined where it is no single
 * row's fault.
 */
export async function findRefusedRow(
  client: ClientBase,
  options: MoveOptions,
  shapes: Shapes,
  refusal: Refusal,
): Promise<number | undefined> {
  // Rows that meet within one statement do not when they are moved one after the other.
  if (conditionOf(refusal.error) === 'cardinality_violation') return undefined;
  const end = (await readCount(client, lastRowNumber)) + 1;
  const attempt = async (shape: number, from: number, to: number): Promise<Error | undefined> => {
    await client.query('SAVEPOINT "part"');
    const refused =
      (await refusalOf(mayBeOfRow, async () => {
        await queryInCallersPath(client, mergeOf(options, shapes, shape, { from, to }).text);
      })) ?? (refusal.isDeferred ? await checkDeferred(client) : undefined);
    await client.query(`${refused ? 'ROLLBACK TO' : 'RELEASE'} SAVEPOINT "part"`);
    return refused?.error;
  };
  for (const shape of inMovingOrder(options, shapes)) {
    let refused = await attempt(shape, 0, end);
    if (!refused) continue;
    let from = 0;
    let to = end;
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2);
      const error = await attempt(shape, from, middle);
      if (error) to = middle;
      else from = middle;
      refused = error ?? refused;
    }
    return from > 0 && sqlstateOf(refused) === sqlstateOf(refusal.error) ? from : undefined;
  }
  return undefined;
}

/**
 * Moves some staged rows alone, one after the other, and undoes it.
 *
 * @param numbers of the rows, in the staging table
 * @returns PostgreSQL's refusal; undefined: it takes the rows
 */
export async function tryRows(
  client: ClientBase,
  options: MoveOptions,
  shapes: Shapes,
  numbers: number[],
): Promise<Error | undefined> {
  await client.query('SAVEPOINT "part"');
  const refusal = await refusalOf(mayBeOfRow, async () => {
    for (const number of numbers) {
      const { rows } = await client.query<{ shape: number }>(shapeOfRow(number));
      const merge = mergeOf(options, shapes, rows[0]!.shape, { from: number, to: number + 1 });
      await queryInCallersPath(client, merge.text);
    }
  });
  const deferred = refusal ? undefined : await checkDeferred(client);
  await client.query('ROLLBACK TO SAVEPOINT "part"; RELEASE SAVEPOINT "part"');
  return refusal?.error ?? deferred?.error;
}

/** The number in the staging table of the first row that does not bring the column, an index. */
export async function findRowWithout(
  client: ClientBase,
  shapes: Shapes,
  column: number,
): Promise<number | undefined> {
  const without = [...shapes.all.keys()].filter((shape) => !shapes.all[shape]!.includes(column));
  const { rows } = await client.query<{ row: number | null }>(firstRowNumber(without));
  return rows[0]!.row ?? undefined;
}

/**
 * The function that tells whether staged text is valid input, for explaining a refusal: the transaction comes to nothing,
 * and what is made here with it.
 */
export async function makeInputCheck(client: ClientBase, columns: LoadColumn[]): Promise<string> {
  const builtIn = await findInputCheck(client, columns);
  if (builtIn === undefined) await queryInCallersPath(client, createOwnInputCheck.text);
  return builtIn ?? ownInputCheck;
}

/** PostgreSQL's own, where it has one or none is needed. */
async function findInputCheck(client: ClientBase, columns: LoadColumn[]): Promise<string | undefined> {
  if (!columns.some(isStagedAsText)) return builtInInputCheck;
  const { rows } = await client.query<{ exists: boolean }>(findBuiltInInputCheck);
  return rows[0]!.exists ? builtInInputCheck : undefined;
}

/**
 * Lets the constraints that are deferred to the end of the transaction be checked now: a commit that they fail could not
 * be told from a lost connection.
 *
 * @returns PostgreSQL's refusal; the transaction is failed then
 */
export async function checkDeferred(client: ClientBase): Promise<Refusal | undefined> {
  const refusal = await refusalOf(isRefusalOfData, async () => {
    await queryInCallersPath(client, 'SET CONSTRAINTS ALL IMMEDIATE');
  });
  return refusal && { ...refusal, isDeferred: true };
}

/** Whether PostgreSQL refused a row for what is in it, on its way from the staging table. */
export function isRefusal(error: unknown, columns: LoadColumn[]): boolean {
  const isOfData = columns.some(isStagedAsText) ? isRefusalOfInput : isRefusalOfData;
  return isOfData(error) || isPolicyViolation(error);
}

/** Also an error that a default may have raised: which it was is found out afterwards. */
function mayBeOfRow(error: unknown): boolean {
  return isFailureOfExpression(error) || isRefusalOfInput(error) || isPolicyViolation(error);
}

async function refusalOf(
  isExpected: (error: unknown) => boolean,
  work: () => Promise<void>,
): Promise<Refusal | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || !isExpected(error)) throw error;
    return { error, isDeferred: false };
  }
}

/** @returns the rows inserted or updated */
async function moveInTurn(client: ClientBase, options: MoveOptions, shapes: Shapes): Promise<number> {
  let merged = 0;
  for (const shape of inMovingOrder(options, shapes)) {
    merged += (await queryInCallersPath(client, mergeOf(options, shapes, shape).text)).rowCount ?? 0;
  }
  return merged;
}

function moveTogether(client: ClientBase, options: MoveOptions, shapes: Shapes): Promise<number> {
  const merges = inMovingOrder(options, shapes).map((shape) => mergeOf(options, shapes, shape));
  return readCount(client, mergeTogether(merges));
}

/**
 * The shapes that bring the key of `on_conflict` come first. If a row whose key PostgreSQL generates came before them, one of
 * their rows with the same key would update it or yield to it; now PostgreSQL refuses it.
 */
export function inMovingOrder({ conflict }: Pick<MoveOptions, 'conflict'>, shapes: Shapes): number[] {
  const first = conflict?.shapes ?? [];
  return [...first, ...[...shapes.all.keys()].filter((shape) => !first.includes(shape))];
}

function mergeOf(
  { relation, columns, conflict, isBare }: MoveOptions,
  shapes: Shapes,
  shape: number,
  range?: { from: number; to: number },
): Statement {
  const shapeColumns = shapes.all[shape]!.map((position) => columns[position]!);
  const rule = conflict?.shapes.includes(shape) ? conflict : undefined;
  return mergeShape(relation, shapeColumns, shape, rule, !isBare, columns, isStagedAsText, range);
}

async function readCount(client: ClientBase, statement: { text: string }): Promise<number> {
  const { rows } = await queryInCallersPath<{ count: number }>(client, statement.text);
  return rows[0]!.count;
}
