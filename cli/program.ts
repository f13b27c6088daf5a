/** The folder and the version of the command. In a clone and in the npm package the source files are in `cli/`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder with `package.json`. */
export const programFolder = join(import.meta.dirname, '..');

export const version: string = JSON.parse(readFileSync(join(programFolder, 'package.json'), 'utf8')).version;
