/** Creates the log of the service: lines of JSON on the standard output. */
import { type Logger, pino } from 'pino';
import { loggedError } from './postgres/logged-error.ts';

/** @param worker the number of the worker, which each line then has; undefined: the service is one process */
export function createLog(level: string, worker?: number): Logger {
  return pino({ level, base: worker === undefined ? null : { worker }, serializers: { err: loggedError } });
}
