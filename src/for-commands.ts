/**
 * What the command line needs from the service. In the npm packages this module is `tablewright-server`, which the command has only if it is
 * installed (docs/decisions/0060-two-packages.md), so the two share nothing but this interface: no class, and no state of a module.
 */
import type { EmbeddedService } from './for-commands/embedded-service.ts';

export { printToken, readTokenOptions } from './for-commands/print-token.ts';

/** @see startEmbedded of the file, which is loaded only when it is needed because it loads the whole service */
export async function startEmbedded(tell: (sentence: string) => void): Promise<EmbeddedService> {
  const file = await import('./for-commands/embedded-service.ts');
  return file.startEmbedded(tell);
}

/** Runs the program of the service. It reads the environment and `--show-secrets`, and decides when the process ends. */
export async function runService(): Promise<void> {
  await import('./main.ts');
}
