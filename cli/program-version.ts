/** The version of the package. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** package.json is beside the folder of this file in the repository, and one folder higher in the package. */
export function programVersion(): string {
  const paths = ['..', '../..'].map((up) => join(import.meta.dirname, up, 'package.json'));
  const path = paths.find((one) => existsSync(one))!;
  return JSON.parse(readFileSync(path, 'utf8')).version;
}
