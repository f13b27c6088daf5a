/**
 * Holds the sizes of the house: the lines of each room (`room-sizes.txt`), of functions and of files, the number of positional
 * parameters, and the variables of modules that can change.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countLines, functionsOf, readSource, sourceFiles, stateOf } from '../support/measure-source.ts';

const maxFunctionLines = 60;
const maxFileLines = 500;
const maxParameters = 5;

/** Longer functions, as `file function`: loops over bytes that were measured, in which a call costs time. */
const longFunctions = [
  'src/encoding/encoders/date-time-text.ts readAnyForm',
  'src/encoding/encoders/date-time-text.ts readPlain',
  'src/encoding/encoders/encode-cell.ts encodeCell',
  'src/encoding/text-reading/number-form.ts readNumber',
  'src/readers/json/json-row-scanner.ts scanRows',
  'src/readers/json/json-value-scanner.ts scan',
  'src/readers/spreadsheet/csv/csv-scanner.ts scan',
  'src/readers/spreadsheet/xlsx/sheet-scanner.ts fastCell',
];

/** Longer files: each has a measured loop and the state that it shares with its helpers. */
const longFiles = ['src/encoding/sink/encoding-sink.ts', 'src/readers/spreadsheet/xlsx/sheet-scanner.ts'];

/** These folders read and write single cells. A record of arguments would be an object for each cell. */
const perCell = /^src\/(readers|encoding)\//;

/**
 * Variables of modules that can change, by their reason. Each is of the process, of the browser's tab, of a single call that ends before
 * another one begins, or a WeakMap that keeps a fact about a request, a socket or a connection.
 */
const state = {
  'one for the process, because so is what it stands for': [
    'cli/end-signals.ts ended',
    'cli/end-signals.ts first',
    'cli/main.ts outputError',
    'cli/print.ts hasBar',
    'src/core/join-small-chunks.ts chunksInTurn',
    'src/core/join-small-chunks.ts open',
    'src/core/pause-for-others.ts isSharing',
    'src/core/pause-for-others.ts turnEndsAt',
    'src/encoding/encoders/repeated-keys.ts lastSearch',
    'src/main.ts service',
    'src/main.ts stoppingSinceMs',
    'src/service/outgoing/look-up-host.ts lastOfSystem',
    'src/service/loads/uuid-v7.ts lastMs',
    'src/service/loads/uuid-v7.ts sequence',
    'src/service/start/service-log.ts isWriting',
    'src/service/start/service-log.ts output',
  ],
  'one for the tab of the browser': [
    'console/main.ts actions',
    'console/main.ts lastStep',
    'console/main.ts pause',
    'console/main.ts program',
    'console/views/virtual-grid.ts knownScale',
    'console/views/virtual-grid.ts measures',
  ],
  'made once, from what never changes': [
    'src/service/http/console/console-files.ts packed',
    'src/service/http/routes/guides.ts rendered',
    'src/engine/tables/moment-defaults.ts dateTypes',
  ],
  'the results of reading one cell, which the caller reads at once': [
    'src/core/cells/moment-text.ts position',
    'src/encoding/encoders/array-literal.ts at',
    'src/encoding/encoders/array-literal.ts stop',
    'src/encoding/encoders/array-shape.ts elements',
    'src/encoding/encoders/date-time-text.ts at',
    'src/encoding/encoders/date-time-text.ts stop',
    'src/encoding/encoders/intervals.ts at',
    'src/encoding/encoders/intervals.ts seen',
    'src/encoding/encoders/intervals.ts stop',
    'src/encoding/encoders/long-json.ts known',
    'src/encoding/text-reading/date-form.ts at',
    'src/readers/spreadsheet/parquet/deltas.ts at',
  ],
  'facts about a request, a socket, a connection or a list, which end with it': [
    'src/encoding/encoders/enum-labels.ts tables',
    'src/service/http/observing/access-log.ts factsByRequest',
    'src/service/http/observing/audit.ts changes',
    'src/service/http/wire/chunked-body.ts refusals',
    'src/service/http/wire/pipelined-requests.ts pipelines',
    'src/service/http/wire/when-closed.ts waiting',
    'src/service/http/wire/request-body.ts waiting',
    'src/postgres/broken-connection.ts errorsOfSockets',
    'src/postgres/callers-statement.ts preparedTexts',
    'src/postgres/own-session.ts ownSessions',
    'src/postgres/servers.ts serversOf',
  ],
};

const files = sourceFiles();

describe('a room has as many lines as test/docs/room-sizes.txt says', () => {
  const table = readSource('test/docs/room-sizes.txt').matchAll(/^(\S+\/) (\d+)$/gm);
  const rooms = new Map([...table].map(([, room, lines]) => [room!, Number(lines)]));
  const lines = linesOfRooms(files, [...rooms.keys()]);

  test('every file belongs to a room', () => {
    assert.ok(rooms.size > 30, `the table has ${rooms.size} rooms`);
    assert.deepEqual(lines.get('') ?? [], []);
  });

  for (const [room, documented] of rooms) {
    test(room, () => {
      const counted = (lines.get(room) ?? []).reduce((sum, file) => sum + countLines(readSource(file)), 0);
      // Small changes do not touch the file.
      const least = documented - Math.max(40, documented * 0.03);
      assert.ok(
        counted <= documented && counted >= least,
        `${room} has ${counted} lines. Write this number into test/docs/room-sizes.txt, if the room should have them.`,
      );
    });
  }
});

test('functions outside the measured loops have at most 60 lines', () => {
  const long = files.flatMap((file) =>
    functionsOf(readSource(file))
      .filter(({ lines }) => lines > maxFunctionLines)
      .map(({ name }) => `${file} ${name}`),
  );
  assert.deepEqual(long.sort(), longFunctions.toSorted());
});

test('files outside the measured loops have at most 500 lines', () => {
  const long = files.filter((file) => countLines(readSource(file)) > maxFileLines);
  assert.deepEqual(long, longFiles.toSorted());
});

test('functions outside the per-cell readers have at most 5 positional parameters', () => {
  const wide = files
    .filter((file) => !perCell.test(file))
    .flatMap((file) =>
      functionsOf(readSource(file))
        .filter(({ parameters }) => parameters > maxParameters)
        .map(({ name, parameters }) => `${file} ${name}: ${parameters}`),
    );
  assert.deepEqual(wide, []);
});

test('variables of modules that can change are listed', () => {
  const found = files.flatMap((file) => stateOf(readSource(file)).map((name) => `${file} ${name}`));
  assert.deepEqual(found.sort(), Object.values(state).flat().sort());
});

test('the measures see functions, parameters and variables', () => {
  const text = `
export function first(a: number, b?: string, ...c: number[]): void {
  const second = (d: number) => d;
}
class Third { fourth({ e, f }: G) {} }
declare function fifth(): void;
export let sixth = 0;
const seventh = new Map<string, string>(), eighth = new Set(['a']);
`;
  assert.deepEqual(
    functionsOf(text).map(({ name, lines, parameters }) => [name, lines, parameters]),
    [
      ['first', 3, 3],
      ['second', 1, 1],
      ['fourth', 1, 1],
    ],
  );
  assert.deepEqual(stateOf(text), ['sixth', 'seventh']);
});

/** Returns the files of each room: the longest path that the file begins with. The files without a room have the key ''. */
function linesOfRooms(all: string[], rooms: string[]): Map<string, string[]> {
  const longestFirst = rooms.toSorted((a, b) => b.length - a.length);
  return Map.groupBy(all, (file) => longestFirst.find((room) => file.startsWith(room)) ?? '');
}
