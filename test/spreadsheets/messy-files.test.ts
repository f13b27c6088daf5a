/**
 * Loads files as people have them (test/messy). Each file is loaded as its expectations say. If a second request is needed, the answer
 * to the first one names the parameters of the second.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Problem } from '../../src/core/errors.ts';
import { messyFiles } from '../messy/all-files.ts';
import type { MessyFile, Try } from '../messy/messy-file.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('messy');

test('there are at least forty files, and each has a name of its own', () => {
  assert.ok(messyFiles.length >= 40);
  assert.equal(new Set(messyFiles.map(({ name }) => name)).size, messyFiles.length);
});

for (const file of someOf(25, messyFiles)) {
  test(`${file.name} is loaded as a person expects, or the answer says how`, async () => {
    let last: TestAnswer | undefined;
    for (const [index, attempt] of file.tries.entries()) {
      const table = nextTable();
      const answer = await send(table, file, attempt);
      assert.deepEqual(await outcomeOf(table, answer), expectedOf(attempt), JSON.stringify(answer.body));
      if (attempt.says !== undefined)
        assert.ok(answer.body.detail.includes(attempt.says), answer.body.detail);
      if (last) assertNamesRemedy(last, file.tries[index - 1]!, attempt);
      last = answer;
    }
  });
}

function send(table: string, file: MessyFile, attempt: Try): Promise<TestAnswer> {
  const query = attempt.query === undefined ? '' : `?${attempt.query}`;
  if (file.mediaType === undefined) {
    const body = attempt.definition && { table: attempt.definition };
    return service.upload(`/table/${table}/upload/excel${query}`, file.content, body);
  }
  return service.request('POST', `/table/${table}/upload/json${query}`, {
    body: file.content,
    headers: { 'content-type': attempt.mediaType ?? file.mediaType },
  });
}

type Outcome = Pick<Try, 'columns' | 'rows' | 'error' | 'problems' | 'warnings'>;

async function outcomeOf(table: string, { status, body }: TestAnswer): Promise<Outcome> {
  const warnings = (body.load?.warnings ?? body.warnings ?? []).map(inBrief);
  if (status !== 201) {
    const problems = (body.errors ?? []).map(inBrief);
    return { error: `${status} ${body.code}`, problems, warnings };
  }
  const columns: { name: string; type: string }[] = body.table.columns;
  return {
    columns: columns.map(({ name, type }) => `${name} ${type}`).join(', '),
    rows: await storedRows(table),
    warnings,
  };
}

function expectedOf({ columns, rows, error, problems = [], warnings = [] }: Try): Outcome {
  return error === undefined ? { columns: columns!, rows: rows!, warnings } : { error, problems, warnings };
}

/** Returns the code, the column and the place of a problem or warning. */
function inBrief({ code, column, cell, pointer, line, detail }: Problem): string {
  const place = cell ?? pointer ?? line ?? / in ((?:\w+!)?[A-Z]{1,3}\d+)/.exec(detail)?.[1];
  return [code, column, place].filter((part) => part !== undefined).join(' ');
}

async function storedRows(table: string): Promise<string[]> {
  const types = { getTypeParser: () => (value: string | null) => value };
  const text = `SELECT * FROM ${table}`;
  const { rows } = await service.database.pool.query({ text, rowMode: 'array', types });
  return rows.map((row) => row.map((value: string | null) => value ?? 'NULL').join(' | '));
}

/** Asserts that the answer names each parameter that the next request adds, so that the person who sends it can know it. */
function assertNamesRemedy({ body }: TestAnswer, before: Try, next: Try): void {
  const sent = new URLSearchParams(before.query);
  const added = [...new URLSearchParams(next.query).keys()].filter((name) => !sent.has(name));
  if (next.mediaType !== undefined) added.push(next.mediaType);
  const text = JSON.stringify(body);
  if (next.definition) return;
  for (const name of added) {
    const isNamed = [`${name}=`, `\`${name}\``, `parameter ${name}`, `as ${name}`].some((words) =>
      text.includes(words),
    );
    assert.ok(isNamed, `the answer does not name ${name}: ${text}`);
  }
}
