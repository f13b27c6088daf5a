/** Measures all requests: their number, their durations, and the errors in their answers. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AppError } from '../../../core/errors.ts';
import { InvalidToken } from '../tokens/invalid-token.ts';
import type { Measures } from './measures.ts';

/** Adds the hook that measures answered requests. */
export function measureRequests(app: FastifyInstance, measures: Measures): void {
  app.addHook('onResponse', async (request, reply) => measureAnswered(measures, request, reply));
}

export function measureAnswered(measures: Measures, request: FastifyRequest, reply: FastifyReply): void {
  measure(measures, request, reply, reply.statusCode);
}

/** Measures a request whose client disconnected before the answer. */
export function measureDisconnected(measures: Measures, request: FastifyRequest, reply: FastifyReply): void {
  measure(measures, request, reply, undefined);
}

function measure(
  measures: Measures,
  { method, routeOptions }: FastifyRequest,
  { elapsedTime }: FastifyReply,
  status: number | undefined,
): void {
  measures.answered({ method, route: routeOptions.url, status, seconds: elapsedTime / 1000 });
}

/** Measures the error of a request, or of an asynchronous load. */
export function measureError(measures: Measures, error: AppError): void {
  measures.refused(error.code);
  if (error.code === 'missing-token') measures.tokenRefused('missing');
  if (error instanceof InvalidToken) measures.tokenRefused(error.reason);
  for (const [code, count] of problemCounts(error)) measures.problems(code, count);
}

/** Counts the problems by code. Problems beyond those that the error lists or groups are counted as `other`. */
function problemCounts({ errors = [], errorCount, errorGroups }: AppError): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (code: string, count: number) => counts.set(code, (counts.get(code) ?? 0) + count);
  if (errorGroups !== undefined) for (const { code, count } of errorGroups) add(code, count);
  else for (const { code } of errors) add(code, 1);
  const counted = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (errorCount > counted) add('other', errorCount - counted);
  return counts;
}
