/** How the console asks the service for a part of the page, and what its files may import. These tests need no browser. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createRequests } from '../../console/actions/requests.ts';
import { failureFrom } from '../../console/failure.ts';
import { ChangedFileError } from '../../console/file/chosen-file.ts';
import { initialState } from '../../console/initial-state.ts';
import type { Session, State } from '../../console/state.ts';
import type { Store } from '../../console/store.ts';

const root = join(import.meta.dirname, '..', '..');

function newRequests() {
  let state: State = initialState({} as Session, { page: 'load' });
  const store: Store = {
    get state() {
      return state;
    },
    set(change) {
      state = { ...state, ...(typeof change === 'function' ? change(state) : change) };
    },
  };
  return { store, ...createRequests(store, failureFrom) };
}

test('a part of the page is busy until the answer comes, and changes together with what depends on it', async () => {
  const { store, remote } = newRequests();
  const answer = Promise.withResolvers<{ tables: []; loadedAt: Map<string, string> }>();
  const done = remote(
    'tables',
    (_, progress) => {
      progress({ sentBytes: 7 });
      return answer.promise;
    },
    { also: (value) => ({ announcement: value ? 'read' : 'failed' }) },
  );
  assert.deepEqual(store.state.tables, { is: 'busy', sentBytes: 7 });
  answer.resolve({ tables: [], loadedAt: new Map() });
  assert.equal(await done, true);
  assert.deepEqual(store.state.tables, { is: 'ready', value: { tables: [], loadedAt: new Map() } });
  assert.equal(store.state.announcement, 'read');
});

test('a quiet request leaves what is shown until its answer comes', async () => {
  const { store, remote } = newRequests();
  await remote('existing', async () => null);
  const done = remote('existing', () => Promise.reject(new Error('no')), { isQuiet: true });
  assert.deepEqual(store.state.existing, { is: 'ready', value: null });
  assert.equal(await done, false);
  const { existing } = store.state;
  assert.equal(existing.is === 'failed' && existing.failure.detail, 'no');
});

test('the answer of a request that was replaced or stopped is ignored', async () => {
  const { store, remote, stop } = newRequests();
  const late = Promise.withResolvers<{ tables: []; loadedAt: Map<string, string> }>();
  const first = remote('tables', (signal) => {
    signal.addEventListener('abort', () => late.reject(new Error('aborted')));
    return late.promise;
  });
  assert.equal(await remote('tables', async () => ({ tables: [], loadedAt: new Map() })), true);
  assert.equal(await first, false);
  assert.equal(store.state.tables.is, 'ready');
  const slow = Promise.withResolvers<null>();
  const second = remote('existing', () => slow.promise);
  stop('existing');
  slow.resolve(null);
  assert.equal(await second, false);
  assert.equal(store.state.existing.is, 'busy');
});

test('a request that is stopped because its file was changed fails', async () => {
  const { store, remote, stop } = newRequests();
  const done = remote(
    'check',
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  );
  stop('check', new ChangedFileError('a.csv was changed.'));
  assert.equal(await done, false);
  assert.ok(store.state.check.is === 'failed' && store.state.check.failure.isOfFile);
});

/** The files of the console, each with the files of the console that it imports. */
const imports = new Map(
  globSync('console/**/*.ts', { cwd: root }).map((file) => [
    file,
    [...readFileSync(join(root, file), 'utf8').matchAll(/from '(\.[^']+)'/g)]
      .map(([, path]) => join(dirname(file), path!))
      .filter((path) => path.startsWith('console/')),
  ]),
);

test('no file of the console imports itself through other files', () => {
  const done = new Set<string>();
  const walk = (file: string, path: string[]): void => {
    assert.ok(!path.includes(file), `${[...path, file].join(' imports ')}`);
    if (done.has(file)) return;
    for (const imported of imports.get(file)!) walk(imported, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) walk(file, []);
  assert.ok(done.size > 50);
});

test('what follows from the state needs neither actions nor views, and actions need no view', () => {
  const below: Record<string, RegExp> = {
    'console/derived/': /\/(actions|views)\//,
    'console/actions/': /\/views\//,
  };
  for (const [file, imported] of imports)
    for (const [folder, refused] of Object.entries(below))
      if (file.startsWith(folder)) assert.doesNotMatch(imported.join(' '), refused, file);
});
