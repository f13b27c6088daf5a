/**
 * Why the service cannot start, for the person who starts it: what to change, and no stack where that is known.
 */
import { ConfigError } from './config.ts';

/** One text; with the stack where the fault must be ours. */
export function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return `Tablewright cannot start: ${String(error)}`;
  const remedy = remedyOf(error);
  if (remedy !== undefined) return `Tablewright cannot start: ${error.message}.\n${remedy}`;
  const isPlain = error instanceof ConfigError || error.constructor === Error;
  return isPlain ? `Tablewright cannot start: ${error.message}` : (error.stack ?? error.message);
}

function remedyOf(error: Error): string | undefined {
  const { code, syscall, path } = error as Error & { code?: string; syscall?: string; path?: string };
  if (code === undefined) return undefined;
  if (code === 'ERR_MODULE_NOT_FOUND') return 'Run "npm ci" first.';
  if (syscall === 'listen') return listenRemedies[code] ?? 'Set HOST and PORT to where it can listen.';
  // The database's own words: a SQLSTATE (PostgreSQL appendix A) or the socket's error on the way to it.
  if (/^(28|3D|42501|53300|57P)/.test(code)) {
    return 'Look at DATABASE_URL: its role, password and database, and whether the role may connect.';
  }
  if (syscall === 'connect' || syscall === 'getaddrinfo') {
    return 'Look at DATABASE_URL: its host and port, and whether PostgreSQL runs there.';
  }
  if (path !== undefined)
    return `Set DATA_DIR to a folder that can be made and written; it leads to ${path} now.`;
  return undefined;
}

const listenRemedies: Record<string, string> = {
  EADDRINUSE: 'Something else listens there. Set PORT to another port, or to 0 for any free one.',
  EACCES: 'That port is not open to this user. Set PORT to one from 1024 on.',
  EADDRNOTAVAIL:
    'This machine has no such address. Set HOST to one of its own; 127.0.0.1 and 0.0.0.0 always work.',
};
