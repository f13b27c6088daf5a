/** Reports each answered request as a span, if the service sends traces. */
import type { FastifyInstance } from 'fastify';
import { factsOf } from './access-log.ts';
import { parseTraceparent, type TraceContext } from './trace-context.ts';

/** An answered request. */
export interface RequestSpan {
  method: string;
  /** The pattern of the route; undefined: the path has none. */
  route: string | undefined;
  status: number;
  requestId: string;
  /** The code of the error in the answer. */
  code: string | undefined;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** The trace of the caller. */
  parent: TraceContext | undefined;
}

export interface Tracing {
  answered(span: RequestSpan): void;
  /** Sends what was not sent yet. */
  stop(): Promise<void>;
}

export function traceRequests(app: FastifyInstance, { answered }: Pick<Tracing, 'answered'>): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, id, url, headers } = request;
    // Health checks are left out, because they would be the majority of all spans.
    if (url === '/healthz' || url === '/readyz') return;
    answered({
      method,
      route: routeOptions.url,
      status: reply.statusCode,
      requestId: id,
      code: factsOf(request).code,
      startedAt: Date.now() - reply.elapsedTime,
      durationMs: reply.elapsedTime,
      parent: parseTraceparent(headers.traceparent),
    });
  });
}
