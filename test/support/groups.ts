/**
 * The groups of the test files. Each folder of `test/` is a group, and the unit tests of each building (`src/`, `cli/` and others) are one.
 * Nothing lists files: a new file is in the group of its folder, and a new folder of `test/` is a group.
 */
import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

export const root = join(import.meta.dirname, '..', '..');

/**
 * The folders of the second tier. Their tests start processes or servers, need several services, test what happens at the same moment,
 * inject failures, measure memory, or try to get more than their rights. All other folders need one process and one service.
 */
const secondTier = ['attacks', 'cli', 'concurrency', 'faults', 'process', 'security'];

/** The tests in this folder need a cluster of Citus. `test/matrix/citus.matrix.ts` runs them. */
const ofCitus = 'citus';

/** The most bytes of test files that one process runs, by tier, so that no process runs much longer than the others. */
const maxBytes = { 1: 150_000, 2: 50_000 };

export interface Group {
  /** The name of the folder in `test/`, or of the building. */
  name: string;
  tier: 1 | 2;
  /** Paths from the root of the project. */
  files: string[];
}

/** Returns all groups. */
export function allGroups(): Group[] {
  const groups = new Map<string, Group>();
  const files = globSync('**/*.test.ts', { cwd: root, exclude: ['node_modules', 'dist', `test/${ofCitus}`] });
  for (const file of files.toSorted()) {
    const [building, folder] = file.split('/') as [string, string];
    const name = building === 'test' ? folder : building;
    const group = groups.get(name) ?? { name, tier: secondTier.includes(name) ? 2 : 1, files: [] };
    group.files.push(file);
    groups.set(name, group);
  }
  return [...groups.values()];
}

/**
 * Returns the paths of test files of `test/`. No two files have the same name.
 *
 * @param names names of files, without the folder and without `.test.ts`. A name without a file is an error, because its test was renamed
 */
export function filesNamed(names: string[]): string[] {
  const paths = new Map(serviceTests().map((path) => [/([^/]+)\.test\.ts$/.exec(path)![1]!, path]));
  assert.deepEqual(
    names.filter((name) => !paths.has(name)),
    [],
    'there are no such test files',
  );
  return names.map((name) => paths.get(name)!);
}

/** Returns the test files of `test/`, of both tiers. */
export function serviceTests(): string[] {
  return allGroups()
    .flatMap(({ files }) => files)
    .filter((path) => path.startsWith('test/'));
}

/**
 * Divides the files of each group among as few processes as `maxBytes` allows. The processes with the most work are first, so that
 * no long one runs alone at the end.
 */
export function processesOf(groups: Group[]): Group[] {
  return groups
    .flatMap(divide)
    .map((part) => ({ part, bytes: bytesOf(part.files) }))
    .toSorted((a, b) => b.bytes - a.bytes)
    .map(({ part }) => part);
}

function divide(group: Group): Group[] {
  const count = Math.ceil(bytesOf(group.files) / maxBytes[group.tier]);
  if (count <= 1) return [group];
  const bytes = bytesOf(group.files) / count;
  const parts: Group[] = Array.from({ length: count }, (_, n) => ({
    ...group,
    name: `${group.name}-${n + 1}`,
    files: [],
  }));
  let before = 0;
  for (const file of group.files) {
    parts[Math.min(count - 1, Math.floor(before / bytes))]!.files.push(file);
    before += bytesOf([file]);
  }
  return parts.filter(({ files }) => files.length > 0);
}

function bytesOf(files: string[]): number {
  return files.reduce((sum, file) => sum + statSync(join(root, file)).size, 0);
}

/** Writes a module for each list of files, which runs them in one process, and returns the paths of the modules. The runner keeps their order. */
export async function writeModules(
  folder: string,
  lists: { name: string; files: string[] }[],
): Promise<string[]> {
  const runFiles = JSON.stringify(pathToFileURL(join(import.meta.dirname, 'run-files.ts')).href);
  const digits = String(lists.length).length;
  const paths: string[] = [];
  for (const [index, { name, files }] of lists.entries()) {
    const path = join(folder, `${String(index + 1).padStart(digits, '0')}-${name}.test.mjs`);
    const names = files.map((file) => JSON.stringify(relative(root, join(root, file))));
    await writeFile(path, `import { runFiles } from ${runFiles};\nrunFiles(${names.join(', ')});\n`);
    paths.push(path);
  }
  return paths;
}
