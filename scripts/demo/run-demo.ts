/** Runs a demo: whatever it has started is ended, whether it succeeds, fails or is interrupted. */
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { allScopes, signDevToken } from '../../src/service/start/dev-token.ts';
import { startTemporaryPostgres, type TemporaryPostgres } from './temporary-postgres.ts';

export interface DemoRun {
  postgres: TemporaryPostgres;
  secret: string;
  /** A token with all scopes. */
  token: string;
  /** Ends what the demo has started, in reverse order. */
  endings: (() => Promise<unknown>)[];
  /** Aborted when the demo is interrupted. */
  signal: AbortSignal;
}

/** Runs the demo with a separate PostgreSQL, which is removed at the end. */
export async function runDemo(demo: (run: DemoRun) => Promise<void>): Promise<void> {
  const endings: DemoRun['endings'] = [];
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // A Ctrl-C may arrive more than once, from the terminal and from npm. The clean-up continues.
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  try {
    const postgres = await startTemporaryPostgres(endings);
    interrupted.signal.throwIfAborted();
    const secret = randomBytes(32).toString('base64url');
    const tokens = { secret: Buffer.from(secret), issuer: undefined, audience: undefined };
    const token = await signDevToken(tokens, { scope: allScopes, ttlSeconds: 600 });
    await demo({ postgres, secret, token, endings, signal: interrupted.signal });
  } catch (error) {
    const isInterrupted = interrupted.signal.aborted;
    process.stderr.write(
      isInterrupted ? '\nInterrupted.\n' : `The demo failed: ${(error as Error).message}\n`,
    );
    process.exitCode = isInterrupted ? 130 : 1;
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

/** Prints a line. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
