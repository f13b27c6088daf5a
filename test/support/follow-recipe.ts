/** Does what a recipe of docs/recipes.md says, and compares the answers and the rows with those that it shows. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { comparable, isShownAnswer, type Recipe } from './recipes.ts';
import { sendExample } from './shell-examples.ts';

export interface RecipePlace {
  url: string;
  token: string;
  /** The folder for the files of the recipe. */
  folder: string;
  /** The database of the service. */
  pool: pg.Pool;
}

export async function followRecipe({ steps }: Recipe, place: RecipePlace): Promise<void> {
  /** `load.id` of the last upload. */
  let loadId = '';
  for (const step of steps) {
    if (step.kind === 'file') await writeFile(join(place.folder, step.name), step.content);
    else if (step.kind === 'statement') await place.pool.query(step.sql);
    else if (step.kind === 'query') assert.deepEqual(await shownRows(step.sql, place), step.rows);
    else if (step.command.startsWith('npx tablewright ')) await runShown(step.command, step.shown, place);
    else loadId = (await sendShown(step.command.replace('$LOAD_ID', loadId), step.shown, place)) ?? loadId;
  }
}

/**
 * Sends the request of a command, and compares the answer with the one that a page shows.
 *
 * @param shown undefined: any successful answer
 * @returns `load.id` of the answer of an upload
 */
export async function sendShown(
  command: string,
  shown: string | undefined,
  place: Omit<RecipePlace, 'pool'>,
): Promise<string | undefined> {
  const { status, body, loadId } = await sendExample(command, place.url, place.token, place.folder);
  if (shown === undefined) assert.ok([200, 201, 204].includes(status), body);
  else {
    const answer = comparable(`${status}\n${body}`);
    if (!isShownAnswer(answer, comparable(shown))) assert.equal(answer, comparable(shown));
  }
  return loadId;
}

/** Runs commands with the command line of this folder, and compares what they print with what a page shows. */
async function runShown(commands: string, shown: string | undefined, place: RecipePlace): Promise<void> {
  const program = join(import.meta.dirname, '..', '..', 'cli', 'tablewright.mjs');
  const script = `set -e\nexec 2>&1\nnpx() { shift; "$NODE" "$PROGRAM" "$@"; }\n${commands}\n`;
  const service = { TABLEWRIGHT_URL: place.url, TABLEWRIGHT_TOKEN: place.token };
  const env = { PATH: process.env.PATH, NODE: process.execPath, PROGRAM: program, ...service };
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: place.folder, env });
  const withoutTimes = (text: string) => text.trim().replaceAll(/\d+\.\d s\b/g, '0.0 s');
  const [printed, page] = [withoutTimes(stdout), withoutTimes(shown ?? '')];
  if (!isShownAnswer(printed, page)) assert.equal(printed, page);
}

/** Returns the names of the columns and the rows as the page shows them: texts, and `NULL`. */
async function shownRows(sql: string, { pool }: RecipePlace): Promise<string[][]> {
  const types = { getTypeParser: () => (value: string | null) => value };
  const { fields, rows } = await pool.query({ text: sql, rowMode: 'array', types });
  return [
    fields.map(({ name }) => name),
    ...rows.map((row) => row.map((value: string | null) => value ?? 'NULL')),
  ];
}
