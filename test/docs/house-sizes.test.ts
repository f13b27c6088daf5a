/**
 * Holds the sizes of the house: the lines of each room (docs/architecture.md, "Sizes"), of functions and of files, the number of positional
 * parameters, and the variables of modules that can change.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countLines, functionsOf, readSource, sourceFiles, stateOf } from '../support/measure-source.ts';

const maxFunctionLines = 60;
const maxFileLines = 500;
const maxParameters = 5;

/** Longer functions, as `file function`: loops over bytes that were measured, in which a call costs time. */
const longFunctions: string[] = [];

/** Longer files: each has a measured loop and the state that it shares with its helpers. */
const longFiles: string[] = [];

/** These folders read and write single cells. A record of arguments would be an object for each cell. */
const perCell = /^src\/(readers|encoding)\//;

/** Variables of modules that can change, as `file variable`. */
const state: string[] = [];

const files = sourceFiles();

describe('a room has as many lines as docs/architecture.md says', () => {
  const table = readSource('docs/architecture.md').matchAll(/^\| `([\w/-]+\/)` \| ([\d,]+) \|$/gm);
  const rooms = new Map([...table].map(([, room, lines]) => [room!, Number(lines!.replaceAll(',', ''))]));
  const lines = linesOfRooms(files, [...rooms.keys()]);

  test('every file belongs to a room', () => {
    assert.ok(rooms.size > 30, `the table has ${rooms.size} rooms`);
    assert.deepEqual(lines.get('') ?? [], []);
  });

  for (const [room, documented] of rooms) {
    test(room, () => {
      const counted = (lines.get(room) ?? []).reduce((sum, file) => sum + countLines(readSource(file)), 0);
      // Small changes do not touch the table.
      const least = documented - Math.max(40, documented * 0.03);
      assert.ok(
        counted <= documented && counted >= least,
        `${room} has ${counted} lines. Write this number into the table of docs/architecture.md, if the room should have them.`,
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
  assert.deepEqual(found.sort(), state.toSorted());
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
