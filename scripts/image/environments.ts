/**
 * The settings with which the image is tried. A setting may need a package, a file or a folder that only the clone has, so the trial sets
 * everything that the files of `ops/` set, and each setting once.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, settings } from '../../src/core/settings/config.ts';

const project = join(import.meta.dirname, '..', '..');

/** These are set by the trial itself, or exclude a setting that it sets. */
const chosenByTrial = [
  ...['HOST', 'PORT', 'METRICS_HOST', 'DATABASE_URL', 'DATA_DIR', 'SPOOL_DIR', 'TOKEN_SECRET'],
  ...['TOKEN_JWKS_URL', 'TOKEN_PUBLIC_KEY', 'TOKEN_ALGORITHMS', 'TOKEN_DEFAULT_ROLE'],
];

/**
 * Returns the settings of each start of the trial.
 *
 * @param metricsPort a free port
 */
export async function environmentsToTry(metricsPort: number): Promise<Environment[]> {
  const metrics = { METRICS_PORT: String(metricsPort), METRICS_HOST: '127.0.0.1' };
  return [{}, { ...(await inManifest()), ...metrics }, { ...eachSetting(), ...metrics }];
}

/** Returns the variables to which the Kubernetes manifest gives a value. */
async function inManifest(): Promise<Environment> {
  const manifest = await readFile(join(project, 'ops', 'kubernetes.yaml'), 'utf8');
  return Object.fromEntries(
    [...manifest.matchAll(/- name: ([A-Z_]+)\n\s+value: "([^"]*)"/g)].map(([, name, value]) => [
      name!,
      value,
    ]),
  );
}

/** Returns each setting with its default, or with its example if it has none. */
function eachSetting(): Environment {
  const optional = settings.filter(({ name }) => !chosenByTrial.includes(name));
  return {
    ...Object.fromEntries(optional.map((setting) => [setting.name, setting.default ?? setting.example])),
    // The image must be able to start the other processes, too.
    WORKERS: '2',
  };
}
