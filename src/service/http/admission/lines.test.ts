import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AppError } from '../../../core/errors.ts';
import { readConfig } from '../../../core/settings/config.ts';
import { createLines } from './lines.ts';

/** Ends the waiting requests, whose timers would keep the process running. */
const stopping = new AbortController();
after(() => stopping.abort());

test('an upload that is refused in a long row says which uploads are meant and what to do', async () => {
  const { longRows } = createLines(readConfig({}));
  const enter = (caller: string) => longRows.use({ caller }, stopping.signal, () => new Promise(() => {}));
  const refusalOf = async (entered: Promise<unknown>): Promise<unknown> =>
    entered.catch((error: AppError) => [error.code, error.detail]);
  for (const caller of ['a', 'b']) refusalOf(enter(caller));
  for (let waiting = 0; waiting < 100; waiting++) refusalOf(enter('a'));
  assert.deepEqual(await refusalOf(enter('a')), [
    'too-many-uploads',
    "Too many uploads of the access token's subject send a row of more than 8 MiB at the same time: the limit is 1 upload. Send these uploads one after the other, this one again after the seconds in Retry-After.",
  ]);
  const other = Array.from({ length: 101 }, (_, index) => refusalOf(enter(`c${index}`)));
  assert.deepEqual(await other.at(-1), [
    'too-many-uploads',
    'Too many uploads send a row of more than 8 MiB at the same time: the limit is 2 uploads. Send this upload again after the seconds in Retry-After.',
  ]);
});
