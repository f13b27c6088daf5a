/**
 * `npm run types`: makes `client/parameters.ts` and docs/parameters.md from the table of parameters, and `client/api-types.ts`
 * from the OpenAPI document with openapi-typescript. The generator needs TypeScript 5 and this project has a newer one, so npm installs the generator into a folder of its own, in the versions of
 * `test/matrix/clients/package-lock.json`.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { readOpenApiDocument } from './client-types/openapi-document.ts';
import { clientParametersFile, parametersPage } from './client-types/parameters.ts';
import { digestLine, structureDigest } from './client-types/structure.ts';

const root = join(import.meta.dirname, '..');
const target = join(root, 'client', 'api-types.ts');
const parameters = join(root, 'client', 'parameters.ts');
writeFileSync(parameters, clientParametersFile());
format(parameters);
writeFileSync(join(root, 'docs', 'parameters.md'), parametersPage());
const generator = installGenerator();
const folder = mkdtempSync(join(tmpdir(), 'tablewright-types-'));
try {
  const document = await readOpenApiDocument();
  // The description of the document has the limits of one service.
  const { title, version } = document.info;
  const source = join(folder, 'openapi.json');
  writeFileSync(source, JSON.stringify({ ...document, info: { title, version } }));
  const generated = join(folder, 'types.ts');
  run(process.execPath, [generator, source, '-o', generated]);
  const types = readFileSync(generated, 'utf8').replace(/^\/\*\*[\s\S]*?\*\/\s*/, '');
  writeFileSync(target, `${header(structureDigest(document))}\n\n${types}`);
  format(target);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function header(digest: string): string {
  return `// The types of the API. \`npm run types\` makes this file from the OpenAPI document: do not change it by hand.\n${digestLine(digest)}`;
}

/** Returns the program of the generator, and installs it if its version is not installed. */
function installGenerator(): string {
  const lock = join(root, 'test/matrix/clients/package-lock.json');
  const home = join(root, 'node_modules/.cache/client-generators');
  const installed = join(home, 'package-lock.json');
  if (!existsSync(installed) || !readFileSync(installed).equals(readFileSync(lock))) {
    rmSync(home, { recursive: true, force: true });
    mkdirSync(home, { recursive: true });
    cpSync(join(dirname(lock), 'package.json'), join(home, 'package.json'));
    cpSync(lock, installed);
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], home);
  }
  return join(home, 'node_modules/openapi-typescript/bin/cli.js');
}

function format(file: string): void {
  const biome = join(root, 'node_modules/.bin/biome');
  run(process.execPath, [biome, 'check', '--write', '--log-level=error', file]);
}

function run(program: string, parameters: string[], cwd = root): void {
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
  execFileSync(program, parameters, {
    cwd,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
