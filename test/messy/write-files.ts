/** Writes all messy files to a folder, to try them by hand: `node test/messy/write-files.ts FOLDER`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messyFiles } from './all-files.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name a folder: node test/messy/write-files.ts FOLDER');
await mkdir(folder, { recursive: true });
for (const { name, content } of messyFiles) await writeFile(join(folder, name), content);
