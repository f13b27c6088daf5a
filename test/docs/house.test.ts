/**
 * Tests the rules for the source that a test can check (CONTRIBUTING.md): imports go down only, other buildings import only the public
 * face of a building, no file imports itself through other files, and some kinds of knowledge are in one file or folder only.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { problemCodes } from '../../src/core/problem-codes.ts';
import { readSource as read } from '../support/measure-source.ts';

const root = join(import.meta.dirname, '..', '..');

/** Each layer may import itself and the layers named here, and every layer that those may import. */
const layersBelow: Record<string, string[]> = {
  'for-commands': ['main'],
  main: ['workers'],
  workers: ['start'],
  start: ['metrics', 'tracing'],
  metrics: ['http'],
  tracing: ['http'],
  http: ['loads', 'fetching'],
  loads: ['loading', 'events', 'profiles'],
  profiles: ['postgres'],
  events: ['postgres', 'outgoing'],
  fetching: ['readers', 'outgoing'],
  outgoing: ['core'],
  loading: ['tables', 'readers'],
  tables: ['postgres', 'encoding'],
  postgres: ['core'],
  readers: ['core'],
  encoding: ['core'],
  core: ['program-files'],
  'program-files': [],
};

/** The buildings whose README.md lists the files that the others may import. */
const sealedBuildings = ['src/readers', 'src/encoding', 'src/engine', 'src/postgres'];

test('every file of src belongs to a layer', () => {
  for (const file of sourceFiles()) {
    assert(layerOf(file) in layersBelow, `${file} is in none of the layers of docs/architecture.md`);
  }
});

test('imports go down only', () => {
  const upward = sourceFiles().flatMap((file) =>
    importsOf(file)
      .filter((imported) => !mayImport(layerOf(file), layerOf(imported)))
      .map((imported) => `${file} imports ${imported}`),
  );
  assert.deepEqual(upward, []);
});

test('the other buildings import only the public face of a building, and its list is complete', () => {
  for (const building of sealedBuildings) {
    const listed = [...read(`${building}/README.md`).matchAll(/^\| `([\w/-]+\.ts)` \|/gm)].map(
      ([, file]) => `${building}/${file}`,
    );
    const isInside = (file: string) => file.startsWith(`${building}/`);
    const imported = sourceFiles()
      .filter((file) => !isInside(file))
      .flatMap((file) => importsOf(file).filter(isInside));
    assert.deepEqual([...new Set(imported)].sort(), listed.sort(), `${building}/README.md`);
  }
});

test('no file imports itself through other files', () => {
  const files = [...sourceFiles(), ...filesIn('cli'), ...filesIn('client')];
  const graph = new Map(files.map((file) => [file, importsOf(file)]));
  assert.deepEqual(findCircles(graph), []);
});

test('no room of loading/ imports itself through other rooms', () => {
  const graph = new Map<string, string[]>();
  for (const file of sourceFiles().filter((file) => file.startsWith('src/engine/loading/'))) {
    const room = dirname(file);
    const rooms = importsOf(file)
      .map((imported) => dirname(imported))
      .filter((other) => other.startsWith('src/engine/loading') && other !== room);
    graph.set(room, [...(graph.get(room) ?? []), ...rooms]);
  }
  assert(graph.has('src/engine/loading/staged'));
  assert.deepEqual(findCircles(graph), []);
});

test('a sheet format imports from no other format, and only open-spreadsheet.ts imports formats', () => {
  const folder = 'src/readers/spreadsheet';
  const list = `${folder}/open-spreadsheet.ts`;
  const formats = importsOf(list)
    .filter((imported) => /^open-/.test(basename(imported)))
    .map((imported) => dirname(imported));
  assert.ok(formats.length >= 5, `${list} imports ${formats.length} formats`);
  const formatOf = (file: string) => formats.find((format) => file.startsWith(`${format}/`));
  const wrong = sourceFiles().flatMap((file) =>
    importsOf(file)
      .filter((imported) => ![undefined, formatOf(file)].includes(formatOf(imported)) && file !== list)
      .map((imported) => `${file} imports ${imported}`),
  );
  assert.deepEqual(wrong, []);
});

test('imports name existing files of this project, or packages in package.json', () => {
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const packages = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
  const files = new Set(sourceFiles());
  for (const file of files) {
    for (const imported of importsOf(file)) assert(files.has(imported), `${file} imports ${imported}`);
    for (const specifier of specifiersOf(read(file)).filter((specifier) => /^[^.]/.test(specifier))) {
      const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
      assert(specifier.startsWith('node:') || packages.has(name), `${file} imports the package ${name}`);
    }
  }
});

test('the check sees every form of import', () => {
  const text = `
import 'a';
import b from "b";
import type { C } from './c.ts';
import d, {
  type D,
} from '../d.ts';
import * as e from 'e';
export { f } from 'f';
export * from 'g';
export type { H } from './h.ts';
const i = await import('i');
type J = import('j').J;
// import k from 'k';
/* import l from 'l'; */
const text = "import m from 'm'";
export const n = 'n';
`;
  assert.deepEqual(specifiersOf(text).sort(), 'a b ./c.ts ../d.ts e f g ./h.ts i j'.split(' ').sort());
});

test('the check reports an upward import and a circle', () => {
  assert.equal(mayImport('postgres', 'http'), false);
  assert.equal(mayImport('tables', 'readers'), false);
  assert.equal(mayImport('readers', 'tables'), false);
  assert.equal(mayImport('readers', 'encoding'), false);
  assert.equal(mayImport('encoding', 'readers'), false);
  assert.equal(mayImport('http', 'core'), true);
  const graph = { a: ['b'], b: ['c', 'd'], c: ['a'], d: [] };
  assert.deepEqual(findCircles(new Map(Object.entries(graph))), ['a → b → c → a']);
});

const sqlstateFile = 'src/postgres/sqlstate.ts';
const internalsFile = 'src/postgres/server-internals.ts';
const workerErrorsFile = 'src/postgres/citus/worker-errors.ts';

test('SQLSTATEs are written in one file', () => {
  assert.deepEqual(placesOf(sqlstatesIn, sqlstateFile), []);
  assert.notDeepEqual(sqlstatesIn(codeOf(read(sqlstateFile))), []);
});

test('fields of errors that depend on the source code of PostgreSQL are read in one file, and those of Citus in another', () => {
  const places = placesOf(internalsIn, internalsFile);
  assert.deepEqual(
    places.filter((place) => !place.startsWith(`${workerErrorsFile}:`)),
    [],
  );
  assert.notDeepEqual(internalsIn(codeOf(read(internalsFile))), []);
});

test('undocumented properties of pg and of Node are reached in one file each', () => {
  const ofPg = (code: string) => code.match(/\b(?:client|connection) as unknown as\b/g) ?? [];
  assert.deepEqual(placesOf(ofPg, 'src/postgres/driver-internals.ts'), []);
  const ofNode = (code: string) => code.match(/\bsocket as (?:unknown|Socket)\b|[.{] ?_[a-z]\w*/g) ?? [];
  assert.deepEqual(
    placesOf(ofNode, 'src/core/stop-parser.ts').filter(
      // The second file calls the exports of a WebAssembly module.
      (place) => !/^src\/(postgres\/driver-internals|engine\/tables\/expressions\/parse-sql).ts:/.test(place),
    ),
    [],
  );
});

test('connections to PostgreSQL are opened in one file, which guards them against long messages', () => {
  const opened = (code: string) =>
    code.match(/\b(?:new|extends) (?:pg\.)?(?:Client|Connection)\b|\bnew pg\.Pool\(\{(?!\s*Client:)/g) ?? [];
  assert.deepEqual(placesOf(opened, 'src/postgres/driver-internals.ts'), []);
  assert.equal(opened(codeOf(read('src/postgres/driver-internals.ts'))).length, 3);
});

test('errors and messages of limits are written in one file', () => {
  const made = (code: string) =>
    code.match(/AppError\(\s*'limit-exceeded'|\b(?:the limit is|is the limit)\b/g) ?? [];
  assert.deepEqual(placesOf(made, 'src/core/limit-exceeded.ts'), []);
  assert.equal(made(codeOf(read('src/core/limit-exceeded.ts'))).length, 2);
});

test('statements of savepoints are written in one file', () => {
  const found = (code: string) => code.match(/\bSAVEPOINT\b/g) ?? [];
  assert.deepEqual(placesOf(found, 'src/postgres/savepoints.ts'), []);
});

test('statements for the callers’ search path are made in one file', () => {
  const cast = (code: string) => code.match(/\bas (?:unknown as )?CallersStatement\b/g) ?? [];
  assert.deepEqual(placesOf(cast, 'src/postgres/callers-statement.ts'), []);
  assert.equal(cast(codeOf(read('src/postgres/callers-statement.ts'))).length, 1);
});

test('problems of rows that PostgreSQL refuses are made in one file, and worded for rules of tables in another', () => {
  const codes = Object.keys(problemCodes['invalid-data']).join('|');
  const made = (code: string) => code.match(new RegExp(`\\bcode: '(?:${codes})'`, 'g')) ?? [];
  const places = placesOf(made, 'src/engine/loading/judging/row-problem.ts');
  assert.deepEqual(
    places.filter((place) => /^src\/engine\/loading\/(?:staged|judging)\//.test(place)),
    [],
  );
  assert.equal(made(codeOf(read('src/engine/loading/judging/row-problem.ts'))).length, 3);
  assert.equal(made(codeOf(read('src/engine/tables/rules/rule-problem.ts'))).length, 5);
});

test('SQL is written only in the folders for it', () => {
  const folders = [
    'src/postgres/',
    'src/engine/tables/',
    'src/service/events/',
    'src/service/loads/',
    'src/service/profiles/',
    'src/engine/loading/staged/',
    'src/engine/loading/difference/',
    'src/engine/loading/judging/',
    'src/engine/loading/missing/',
  ];
  const isInFolder = (file: string) => folders.some((folder) => file.startsWith(folder));
  const elsewhere = sourceFiles().filter((file) => !isInFolder(file));
  assert.deepEqual(
    elsewhere.flatMap((file) => sqlIn(codeOf(read(file))).map((found) => `${file}: ${found}`)),
    [],
  );
  const names = folders.map((folder) => `\`${folder.replace(/^src\/(service|engine)?\/?/, '')}\``);
  assert(
    read('CONTRIBUTING.md')
      .split('\n')
      .some((line) => names.every((name) => line.includes(name))),
    `CONTRIBUTING.md names ${names.join(', ')} in one line`,
  );
  for (const folder of folders) {
    const files = sourceFiles().filter((file) => file.startsWith(folder));
    assert(
      files.some((file) => sqlIn(codeOf(read(file))).length > 0),
      folder,
    );
  }
});

test('the check sees SQL in code, and neither in comments nor in words for people', () => {
  const code = codeOf(`
// await client.query('SELECT 1');
await client.query('SELECT 1');
const text = \`
WITH a AS (SELECT 2) SELECT FROM a\`;
const lock = "LOCK TABLE x IN ACCESS EXCLUSIVE MODE";
await client.query(\`SAVEPOINT \${name}\`);
const condition = \`\${column} OPERATOR(pg_catalog.=) 1\`;
const privileges = ['INSERT', 'UPDATE'];
const detail = 'Select another sheet. UPDATE and DELETE need the right.';
`);
  assert.deepEqual(sqlIn(code), ["'SELECT ", '`\nWITH ', '"LOCK ', '`SAVEPOINT ', 'pg_catalog.']);
});

test('the check sees SQLSTATEs and fields of errors in code, and not in comments', () => {
  const code = codeOf(`
/** SQLSTATE '23505' */
if (error.code === '23505' || /^(22|57P)/.test(code)) return; // '42P01'
const settings = { shared_buffers: '256MB', XX000: 'internal_error', size: '00042' };
const { routine, where = '' } = error;
const c = error.where;
const name = 'ExecWithCheckOptions';
`);
  assert.deepEqual(sqlstatesIn(code), ["'23505'", '/^(22', 'XX000:']);
  assert.deepEqual(internalsIn(code), ['{ routine,', 'where =', '.where', "'ExecWithCheckOptions'"]);
});

/** Returns the matches with their files, in all files of src except one. */
function placesOf(find: (code: string) => string[], exception: string): string[] {
  const files = sourceFiles().filter((file) => file !== exception);
  return files.flatMap((file) => find(codeOf(read(file))).map((found) => `${file}: ${found}`));
}

/** Matches SQLSTATEs of errors (PostgreSQL, appendix A), and regular expressions for their classes. */
function sqlstatesIn(code: string): string[] {
  const errorClass = '(?:0[389A-Z]|[2345][0-9A-Z]|F0|HV|P0|XX)';
  const whole = `'(?!\\d+[kMGT]B')${errorClass}[0-9A-Z]{3}'|\\b${errorClass}[0-9A-Z]{3}:`;
  const beginning = `/\\^\\(?${errorClass}(?=[0-9P]*[|)])`;
  return [...code.matchAll(new RegExp(`${whole}|${beginning}`, 'g'))].map(([found]) => found);
}

/** Returns the beginnings of SQL statements, and the name of the schema of PostgreSQL's own objects. */
function sqlIn(code: string): string[] {
  const keywords =
    'SELECT INSERT UPDATE DELETE MERGE WITH VALUES COPY LOCK TRUNCATE CREATE ALTER DROP SAVEPOINT ROLLBACK RELEASE BEGIN COMMIT SET RESET PREPARE DEALLOCATE ANALYZE EXPLAIN GRANT';
  const statement = `['"\`]\\s*(?:${keywords.replaceAll(' ', '|')})\\s`;
  return [...code.matchAll(new RegExp(`${statement}|\\bpg_catalog\\.`, 'g'))].map(([found]) => found);
}

/**
 * Returns the uses of internals of PostgreSQL: the name of the C function that raised an error, the context of an error, and
 * names of C functions.
 */
function internalsIn(code: string): string[] {
  const pattern =
    /\.(?:routine|where)\b|\{[^{}()]*\broutine\b,?|\bwhere =(?= '')|'(?:Exec|exec_|heap_|Relation)\w+'/g;
  return [...code.matchAll(pattern)].map(([found]) => found);
}

/** Returns the text without its comments. */
function codeOf(text: string): string {
  return text.replace(/^\s*\/\*.*?\*\//gms, '').replace(/(^|\s)\/\/ .*$/gm, '');
}

/** The files, relative to the project's folder, without tests, but with test helpers next to the source. */
function sourceFiles(): string[] {
  return filesIn('src');
}

function filesIn(folder: string): string[] {
  return globSync(`${folder}/**/*.ts`, { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !file.endsWith('.test.ts'))
    .sort();
}

/** Returns the folder in `src/`, in `src/service/` or `src/engine/` for the files there, or the name of a file of `src/`. */
function layerOf(file: string): string {
  const [, building, room] = file.replace(/\.ts$/, '').split('/');
  if (building !== 'service' && building !== 'engine') return building!;
  return room === 'service' ? 'start' : room!;
}

function mayImport(from: string, to: string): boolean {
  return from === to || (layersBelow[from] ?? []).some((below) => mayImport(below, to));
}

/** Returns the files of the project that a file imports. */
function importsOf(file: string): string[] {
  return specifiersOf(read(file))
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => join(dirname(file), specifier).replaceAll('\\', '/'));
}

/** Returns the imports of a module, including types: statements, re-exports and calls. */
function specifiersOf(text: string): string[] {
  const code = text.replace(/^\s*\/\*.*?\*\//gms, '').replace(/^\s*\/\/.*$/gm, '');
  const statements = /^\s*(?:import|export)\s(?:[^;'"`=]*?\sfrom\s+)?(['"])([^'"]+)\1/gm;
  const calls = /\bimport\((['"])([^'"]+)\1\)/g;
  return [...code.matchAll(statements), ...code.matchAll(calls)].map((match) => match[2]!);
}

function findCircles(graph: Map<string, string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) {
      circles.push([...path.slice(start), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const imported of graph.get(file) ?? []) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return circles;
}
