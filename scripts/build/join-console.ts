/** Joins the modules of the console into one file without white space, because a browser on a slow network would load a hundred files slowly. */
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
  const { output } = await build.generate({ format: 'esm', minify: true });
  await build.close();
  const others = [...files].filter(([path]) => !modules.includes(path));
  const joined: Pick<ConsoleFile, 'type' | 'bytes'> = {
    type: files.get(entry)!.type,
    bytes: Buffer.from(output[0].code),
  };
  return packFiles(new Map<string, typeof joined>([[entry, joined], ...others]), [entry]);
}
