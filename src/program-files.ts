/**
 * Finds the files of the program. The modules are in `src/` of a clone (TypeScript), or in the folder of the npm package or of
 * the container image (`scripts/build.ts`). The other files are next to the nearest `package.json`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';

const { dirname: modulesFolder, filename } = import.meta;

/** The folder with `package.json` and `docs`. */
export const programFolder = folderOfPackage(modulesFolder);

/** The version in `package.json`. */
export const version: string = JSON.parse(readFileSync(join(programFolder, 'package.json'), 'utf8')).version;

/** Returns the path of a module that another process runs. @param name its path in `src`, without the extension */
export function modulePath(name: string): string {
  return join(modulesFolder, ...name.split('/')) + extname(filename);
}

/** Returns the folder of a part of the program. @param name its path in `src` */
export function moduleFolder(name: string): string {
  return join(modulesFolder, ...name.split('/'));
}

function folderOfPackage(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : folderOfPackage(dirname(folder));
}
