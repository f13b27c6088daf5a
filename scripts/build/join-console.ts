/**
 * Joins the modules of the console into two files without white space, because a browser on a slow network would load a hundred files
 * slowly. The first one shows the place for a file, and loads the second one, which has everything else.
 */
import { posix } from 'node:path';
import { rolldown } from 'rolldown';
import {
  type ConsoleFile,
  type PackedConsole,
  packFiles,
} from '../../src/service/http/console/pack-console.ts';

const entry = 'console/main.js';

export async function joinConsole({ files, modules }: PackedConsole): Promise<PackedConsole> {
  const build = await rolldown({
    input: entry,
    plugins: [
      {
        name: 'packed-files',
        resolveId: (path, importer) =>
          importer === undefined ? path : posix.join(posix.dirname(importer), path),
        load: (path) => Buffer.from(files.get(path)!.bytes).toString(),
      },
    ],
    logLevel: 'warn',
  });
  const names = 'console/[name].js';
  const { output } = await build.generate({
    format: 'esm',
    minify: true,
    entryFileNames: names,
    chunkFileNames: names,
  });
  await build.close();
  const chunks = output.filter((part) => part.type === 'chunk');
  const start = chunks.find(({ isEntry }) => isEntry)!;
  const joined = chunks.map(({ fileName, code }): [string, Omit<ConsoleFile, 'packed'>] => [
    fileName,
    { type: files.get(entry)!.type, bytes: Buffer.from(code) },
  ]);
  const others = [...files].filter(([path]) => !modules.includes(path));
  return packFiles(new Map([...joined, ...others]), [start.fileName, ...start.imports]);
}
