/**
 * Makes the files of the console as browsers get them: modules without types, whose imports are paths, the style sheet and the example. It starts at
 * `console/main.ts` and follows the imports, so it serves exactly the modules that the page needs.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';

export interface ConsoleFile {
  type: string;
  bytes: Uint8Array;
  /** The content of the file, compressed with gzip. */
  packed: Uint8Array;
}

export interface PackedConsole {
  /** A hash of all files. It is part of their paths, so a browser can keep them forever. */
  version: string;
  /** The files by their paths below the version. */
  files: Map<string, ConsoleFile>;
  /** The paths of the modules that the page needs, so that a browser can load all of them at once. */
  modules: string[];
}

const moduleType = 'text/javascript; charset=utf-8';
const otherFiles = [
  ['console/style.css', 'text/css; charset=utf-8'],
  ['examples/visits.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
] as const;
const gzipped = promisify(gzip);

/**
 * Reads and packs all files of the console.
 *
 * @param root the folder that has `console/`
 */
export async function packConsole(root: string): Promise<PackedConsole> {
  const modules = new Map<string, string>();
  readModules(root, join(root, 'console', 'main'), modules);
  const contents = new Map(
    [...modules].map(([path, text]) => [path, { type: moduleType, bytes: Buffer.from(text) }]),
  );
  for (const [path, type] of otherFiles) contents.set(path, { type, bytes: readFileSync(join(root, path)) });
  return packFiles(contents, [...modules.keys()]);
}

/** @param modules the paths of the modules among the files */
export async function packFiles(
  contents: Map<string, Omit<ConsoleFile, 'packed'>>,
  modules: string[],
): Promise<PackedConsole> {
  const hash = createHash('sha256');
  const files = new Map<string, ConsoleFile>();
  for (const [path, { type, bytes }] of contents) {
    hash.update(path).update('\0').update(bytes).update('\0');
    files.set(path, { type, bytes, packed: await gzipped(bytes, { level: 9 }) });
  }
  return { version: hash.digest('base64url').slice(0, 16), files, modules };
}

interface StoredFile {
  type: string;
  packed: string;
}

/** Writes the files as one text, for a program that has no sources of the console. */
export function toText({ version, files, modules }: PackedConsole): string {
  const stored = [...files].map(([path, { type, packed }]): [string, StoredFile] => [
    path,
    { type, packed: Buffer.from(packed).toString('base64') },
  ]);
  return JSON.stringify({ version, files: Object.fromEntries(stored), modules });
}

export function fromText(text: string): PackedConsole {
  const { version, files, modules } = JSON.parse(text) as Omit<PackedConsole, 'files'> & {
    files: Record<string, StoredFile>;
  };
  const read = Object.entries(files).map(([path, { type, packed }]): [string, ConsoleFile] => {
    const bytes = Buffer.from(packed, 'base64');
    return [path, { type, bytes: gunzipSync(bytes), packed: bytes }];
  });
  return { version, files: new Map(read), modules };
}

/** Adds a module and all that it imports. @param place the path of the file without its extension */
function readModules(root: string, place: string, modules: Map<string, string>): void {
  const path = `${posixPath(relative(root, place))}.js`;
  if (modules.has(path)) return;
  modules.set(path, '');
  const source = existsSync(`${place}.ts`)
    ? withoutTypes(`${place}.ts`)
    : readFileSync(`${place}.js`, 'utf8');
  const text = rewriteImports(source, (specifier) => {
    if (!specifier.startsWith('.')) return relativeTo(path, addPackage(specifier, modules));
    readModules(root, join(dirname(place), specifier.replace(/\.[jt]s$/, '')), modules);
    return specifier.replace(/\.ts$/, '.js');
  });
  modules.set(path, text);
}

/** Adds the module of a package to the modules. @returns its path */
function addPackage(name: string, modules: Map<string, string>): string {
  const path = `packages/${name.replaceAll('/', '-')}.js`;
  if (modules.has(path)) return path;
  modules.set(path, '');
  const source = readFileSync(fileURLToPath(import.meta.resolve(name)), 'utf8');
  const withoutMap = source.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n');
  modules.set(
    path,
    rewriteImports(withoutMap, (specifier) => relativeTo(path, addPackage(specifier, modules))),
  );
  return path;
}

/** Replaces types by white space, and removes comments on lines of their own, a sixth of what a browser loads, and empty lines. */
function withoutTypes(file: string): string {
  return stripTypeScriptTypes(readFileSync(file, 'utf8'))
    .replaceAll(/^[ \t]*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)[ \t]*$/gm, '')
    .replaceAll(/^\s*;?\s*\n/gm, '');
}

const importPattern = /(\bfrom\s*|^import\s*|\bimport\()(["'])([^"'\n]+)\2/gm;

function rewriteImports(source: string, rewrite: (specifier: string) => string): string {
  return source.replaceAll(
    importPattern,
    (_, before: string, quote: string, specifier: string) => `${before}${quote}${rewrite(specifier)}${quote}`,
  );
}

function relativeTo(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}

function posixPath(path: string): string {
  return path.replaceAll(sep, '/');
}
