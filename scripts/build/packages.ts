/**
 * Makes the folders of the two npm packages (docs/decisions/0055-two-packages.md), ready for `npm publish`:
 *
 * - tablewright: the command and the client, with types of the client and source maps
 * - tablewright-server: the program of the service in few files, as in the container image
 *
 * `packages/` has what is written by hand: their READMEs, and what differs in their `package.json`. The rest is in the one of the repository.
 */
import { execFile } from 'node:child_process';
import { cp, glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { bundle } from './bundle.ts';

/** `tablewright mcp` needs it, and no other command. */
const agentSdk = '@modelcontextprotocol/server';

const repository = 'https://github.com/tablewright/tablewright';

export async function buildPackages(project: string, folder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'));
  await buildCommand(project, join(folder, 'tablewright'));
  await buildServer(project, join(folder, 'tablewright-server'));
  const { version, peerDependencies, peerDependenciesMeta, optionalDependencies } = manifest;
  const own: Record<string, object> = {
    tablewright: {
      peerDependencies: { [agentSdk]: manifest.devDependencies[agentSdk], 'tablewright-server': version },
    },
    'tablewright-server': {
      dependencies: { tablewright: version },
      optionalDependencies,
      peerDependencies,
      peerDependenciesMeta,
    },
  };
  for (const [name, dependencies] of Object.entries(own)) {
    const written = join(project, 'packages', name);
    const template = JSON.parse(await readFile(join(written, 'package.json'), 'utf8'));
    const complete = { ...template, ...published(manifest, name), ...dependencies };
    await writeFile(join(folder, name, 'package.json'), `${JSON.stringify(complete, null, 2)}\n`);
    for (const path of [join(written, 'README.md'), join(project, 'LICENSE')])
      await cp(path, join(folder, name, basename(path)));
    await cp(join(project, 'CHANGELOG.md'), join(folder, name, 'CHANGELOG.md'));
  }
}

/** What both packages say about themselves. The registry compares the repository with the one that publishes. */
function published({ version, license, engines }: Record<string, unknown>, name: string): object {
  return {
    version,
    license,
    engines,
    homepage: `${repository}#readme`,
    repository: { type: 'git', url: `git+${repository}.git`, directory: `packages/${name}` },
    publishConfig: { access: 'public', provenance: true },
  };
}

async function buildCommand(project: string, folder: string): Promise<void> {
  const draft = `${folder}.new`;
  const compiler = join(project, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--project', join(project, 'tsconfig.build.json'), '--outDir', draft];
  await promisify(execFile)(process.execPath, [compiler, ...options]);
  await mkdir(folder, { recursive: true });
  // The compiler follows the imports to `src/`, which is in the other package.
  for (const part of ['cli', 'client']) await rename(join(draft, part), join(folder, part));
  await rm(draft, { recursive: true });
  // The command is no library.
  for await (const path of glob(join(folder, 'cli', '*.d.ts'))) await rm(path);
  for await (const path of glob(join(project, 'cli', '*.mjs')))
    await cp(path, join(folder, 'cli', basename(path)));
}

async function buildServer(project: string, folder: string): Promise<void> {
  await bundle(project, folder, { main: 'src/main.ts', 'for-commands': 'src/for-commands.ts' });
  await cp(join(project, 'examples'), join(folder, 'examples'), { recursive: true });
}
