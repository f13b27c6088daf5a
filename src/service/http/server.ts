/**
 * Builds the HTTP server and everything that all requests share. Each endpoint is one file in `routes/`.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { AppError } from '../../core/errors.ts';
import { createServer } from '../../core/node-http.ts';
import { limitRequests } from './admission/request-quotas.ts';
import {
  asAppError,
  prepareProblem,
  problemDocument,
  problemHeaders,
  sendProblem,
} from './answers/problem-json.ts';
import type { HttpContext } from './context.ts';
import { acceptedFormat } from './exports/export-parameters.ts';
import {
  factsOf,
  logAnswered,
  logCut,
  logDisconnected,
  pathOf,
  writeAccessLog,
} from './observing/access-log.ts';
import {
  measureAnswered,
  measureDisconnected,
  measureError,
  measureRequests,
} from './observing/measure-requests.ts';
import type { Measures } from './observing/measures.ts';
import { traceFields } from './observing/trace-context.ts';
import { traceRequests } from './observing/trace-requests.ts';
import { registerRoutes, uploadOperations } from './register-routes.ts';
import { storedUploadWork } from './uploads/stored-uploads.ts';
import { acceptsCsv, acceptsEvents, acceptsJson } from './wire/accept.ts';
import { addBasePath, withoutBasePath } from './wire/base-path.ts';
import { guardChunkedBodies, refusalOf } from './wire/chunked-body.ts';
import { limitConnections } from './wire/connections.ts';
import { allowOrigins } from './wire/cors.ts';
import { nothingAt } from './wire/path-advice.ts';
import {
  closeAfterAnswers,
  inTurn,
  lingerBytes,
  lingerMs,
  runningResponse,
} from './wire/pipelined-requests.ts';
import { ClientGone, continueWhenRead } from './wire/request-body.ts';
import { closeUnreadAnswers } from './wire/unread-answers.ts';
import { whenClosed } from './wire/when-closed.ts';

const headersTimeout = 20_000;
/**
 * The longest time for a whole request. 0 means no limit, because uploads may take hours. The limits for slow bodies apply
 * instead.
 */
const requestTimeout = 0;

/**
 * How long a request that was stopped may take until it is answered. The rollback of its transaction may have to wait for the
 * database (`postgres/transaction.ts`).
 */
const stoppedAnswerMs = 5_000;

/**
 * The headers of every answer. With them a browser does not guess another content type, does not send the URL to other sites,
 * and runs no script in the answer. Pages have their own policy.
 */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

export interface TableServer {
  /**
   * Starts to accept connections.
   *
   * @returns the URL of the server
   */
  listen(place: { host: string; port: number }): Promise<string>;
  /** Returns how many requests are running. */
  runningRequests(): number;
  /** Returns the ids, methods and paths of the requests that run, at most 100 of them. */
  listRunning(): object[];
  /** Resolves when no request is running, or when `stopping` is aborted. */
  requestsEnded(): Promise<void>;
  /** Begins to run the asynchronous loads that wait. */
  takeQueuedLoads(): Promise<void>;
  /** Accepts no more connections, and resolves when the running requests have ended. */
  close(): Promise<void>;
}

export async function buildServer(
  service: Omit<HttpContext, 'quotas'>,
  log: FastifyBaseLogger,
): Promise<TableServer> {
  const running = new RunningRequests();
  const { basePath } = service.config.http;
  const app = makeApp(running, log, service.measures, basePath);
  continueWhenRead(app.server);
  // Node.js would answer an unknown expectation itself, but not as `application/problem+json`. So the request is passed on, and `refuseUnknownExpectation` answers it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  guardChunkedBodies(app.server);
  const methodsByPath = collectMethods(app);
  addHooks(app, service);
  const context: HttpContext = { ...service, quotas: await limitRequests(app, service.config) };
  addChecks(app);
  handleErrors(app, context);
  await registerRoutes(app, context);
  refuseOtherMethods(app, new Map(methodsByPath));
  return {
    listen: (place) => app.listen(place),
    runningRequests: () => running.count,
    listRunning: () => running.list(),
    requestsEnded: () => running.ended(context.stopping),
    close: () => app.close(),
    takeQueuedLoads: () => context.records.takeQueuedLoads(storedUploadWork(context, uploadOperations, log)),
  };
}

function makeApp(
  running: RunningRequests,
  log: FastifyBaseLogger,
  measures: Measures,
  basePath: string,
): FastifyInstance {
  return Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger, bindings, options, request) =>
      logger.child({ ...bindings, ...traceFields(request.headers.traceparent) }, options),
    genReqId: (raw) => running.identify(raw as IncomingMessage),
    requestIdHeader: false,
    rewriteUrl: (request) => withoutBasePath(request, basePath),
    routerOptions: { maxParamLength: 1024 },
    requestTimeout,
    frameworkErrors: (error, request, reply) => {
      // The hooks do not run for a request that Fastify cannot route, so its log line is written here.
      reply.raw.once('finish', () => {
        logAnswered(request, reply);
        measureAnswered(measures, request, reply);
      });
      measureError(measures, asAppError(error));
      reply.headers({ 'x-request-id': request.id, ...securityHeaders });
      if (hasUnreadBody(request.raw)) reply.header('connection', 'close');
      sendProblem(error, request, reply);
    },
    clientErrorHandler: answerUnparsable,
    forceCloseConnections: 'idle',
    serverFactory: (handle, { keepAliveTimeout }) => {
      // Node.js would answer a missing Host header itself, but not as `application/problem+json`. `refuseWrongHost` answers instead.
      const server = createServer({ requireHostHeader: false }, inTurn(running.counting(handle)));
      return Object.assign(server, { keepAliveTimeout, requestTimeout, headersTimeout });
    },
    // Fastify would answer itself while it closes, but not as `application/problem+json`. The routes answer `shutting-down` instead.
    return503OnClosing: false,
  });
}

/** Returns the methods of each documented path. The map is filled when the routes are registered. */
function collectMethods(app: FastifyInstance): Map<string, Set<string>> {
  const methodsByPath = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (schema?.hide) return;
    methodsByPath.set(url, new Set(methodsByPath.get(url)).union(new Set([method].flat())));
  });
  return methodsByPath;
}

/** Adds the hooks. They run in the order in which they are added. */
function addHooks(app: FastifyInstance, context: Omit<HttpContext, 'quotas'>): void {
  writeAccessLog(app);
  measureRequests(app, context.measures);
  observeCutAnswers(app, context.measures);
  if (context.tracing) traceRequests(app, context.tracing);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, ...securityHeaders });
    // Answers of the API contain data, so caches must not store them.
    if (request.url.startsWith('/api/')) reply.header('cache-control', 'no-store');
  });
  addBasePath(app, context.config.http.basePath);
  const unread = closeUnreadAnswers(app);
  limitConnections(app, context.maxConnections, () => unread.giveUpOldest());
  allowOrigins(app, context.config.http.corsOrigins);
  closeConnectionsOnStop(app, context);
  closeOverUnreadBodies(app);
}

/** Adds the hooks that run after the limits of requests, so that the requests that they refuse are counted, too. */
function addChecks(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    refuseWrongHost(request);
    refuseUnknownExpectation(request.raw);
    refuseOtherThanJson(request.headers.accept, request.url, request.method);
  });
}

function handleErrors(
  app: FastifyInstance,
  { quotas, measures }: Pick<HttpContext, 'quotas' | 'measures'>,
): void {
  app.setErrorHandler(async (thrown, request, reply) => {
    const refusal = refusalOf(request.raw);
    if (refusal !== undefined && !request.raw.socket.destroyed) {
      measureError(measures, refusal);
      return sendProblem(refusal, request, reply);
    }
    if (thrown instanceof ClientGone || refusal !== undefined) {
      if (refusal !== undefined) factsOf(request).code = refusal.code;
      logDisconnected(request, reply);
      measureDisconnected(measures, request, reply);
      reply.hijack();
      request.raw.destroy();
      return;
    }
    const known = asAppError(thrown);
    const tooMany = await quotas.countRefused(known, request, reply);
    measureError(measures, tooMany ?? known);
    const error = tooMany ?? thrown;
    if (request.raw.complete) return sendProblem(error, request, reply);
    return sendProblemOverUnreadBody(error, request, reply);
  });
  app.setNotFoundHandler(async (request) => {
    throw new AppError('path-not-found', nothingAt(request.url.split('?')[0]!));
  });
}

/** Logs and measures each answer that began and was not sent completely, because one of both sides closed the connection. */
function observeCutAnswers(app: FastifyInstance, measures: Measures): void {
  app.addHook('onRequest', async (request, reply) => {
    const { raw } = reply;
    whenClosed(raw, () => {
      if (!raw.headersSent || raw.writableFinished) return;
      logCut(request, reply);
      measureDisconnected(measures, request, reply);
    });
  });
}

/** The maximum number of requests that the log lists when the service fails. */
const maxListedRequests = 100;

/** Counts the running requests. Node.js counts only connections, some of which are idle. */
class RunningRequests {
  /** The ids of the running requests; undefined: the request has not reached Fastify yet. */
  readonly #running = new Map<IncomingMessage, string | undefined>();
  #onNone = (): void => {};

  get count(): number {
    return this.#running.size;
  }

  /** Gives the request an id. */
  identify(request: IncomingMessage): string {
    const id = randomUUID();
    if (this.#running.has(request)) this.#running.set(request, id);
    return id;
  }

  /** Lists the running requests. Like the access log, the list has no query strings and no headers. */
  list(): object[] {
    const first = [...this.#running].slice(0, maxListedRequests);
    return first.map(([{ method, url = '' }, reqId]) => ({ reqId, method, path: pathOf(url) }));
  }

  /** Returns a handler that counts the requests that it passes on. */
  counting(handle: RequestListener): RequestListener {
    return (request, response) => {
      this.#running.set(request, undefined);
      whenClosed(response, () => {
        this.#running.delete(request);
        if (this.count === 0) this.#onNone();
      });
      handle(request, response);
    };
  }

  /** Resolves when no request is running, or when `stopping` is aborted. */
  async ended(stopping: AbortSignal): Promise<void> {
    if (this.count === 0 || stopping.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onNone = resolve;
    stopping.addEventListener('abort', () => resolve(), { once: true });
    await promise;
  }
}

/** Closes connections when the service stops, because open connections would keep the process running. */
function closeConnectionsOnStop(
  app: FastifyInstance,
  { isReady, stopping }: Pick<HttpContext, 'isReady' | 'stopping'>,
): void {
  app.addHook('onSend', async (_request, reply) => {
    if (!isReady()) reply.header('connection', 'close');
  });
  // Connections without any request so far. Browsers open some in advance, and Node.js does not count them as idle.
  const unused = new Set<Socket>();
  app.server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  app.server.on('request', ({ socket }) => unused.delete(socket));
  app.addHook('preClose', async () => {
    for (const socket of unused) socket.destroy();
  });
  stopping.addEventListener('abort', () => {
    setTimeout(() => app.server.closeAllConnections(), stoppedAnswerMs + lingerMs).unref();
  });
}

/** Refuses a request without a Host header, or with several (RFC 9112 section 3.2). */
function refuseWrongHost({ headers, raw }: FastifyRequest): void {
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new AppError('invalid-request', 'The request has more than one Host header.');
  if (headers.host !== undefined || raw.httpVersion === '1.0') return;
  throw new AppError('invalid-request', 'The request has no Host header.');
}

/** Refuses every expectation except `100-continue`, the only one that RFC 9110 section 10.1.1 defines. */
function refuseUnknownExpectation({ headers: { expect } }: IncomingMessage): void {
  if (expect === undefined || expect.toLowerCase() === '100-continue') return;
  throw new AppError('expectation-failed', 'The header Expect may only be 100-continue.');
}

/** Answers requests with another method with the list of the methods of the path (RFC 9110 section 15.5.6). */
function refuseOtherMethods(app: FastifyInstance, methodsByPath: Map<string, Set<string>>): void {
  for (const [url, methods] of methodsByPath) {
    const allow = [...methods].sort().join(', ');
    app.route({
      url,
      method: app.supportedMethods.filter((method) => !methods.has(method)),
      schema: { hide: true },
      // The method is checked in this early hook, before the body, because a wrong method fails whatever the body is.
      onRequest: async () => {
        throw new AppError('method-not-allowed', `The methods of this path: ${allow}.`, {
          headers: { allow },
        });
      },
      handler: () => {},
    });
  }
}

/** Refuses a client that accepts no JSON. Uploads, and the list of their problems, may also answer CSV. */
function refuseOtherThanJson(accept: string | undefined, url: string, method: string): void {
  if (!url.startsWith('/api/') || acceptsJson(accept)) return;
  if (eventsPath.test(url) && acceptsEvents(accept)) return;
  const format = acceptedFormat(accept);
  if (format !== undefined && (rowsPath.test(url) || repairedPaths[format]?.test(url))) return;
  const hasCsv = csvPath.test(url) || (method === 'POST' && plansPath.test(url));
  if (hasCsv && acceptsCsv(accept)) return;
  const csv = hasCsv ? ', and the problems of an upload as text/csv' : '';
  throw new AppError(
    'not-acceptable',
    `The service answers application/json and application/problem+json only${csv}.`,
  );
}

const rowsPath = /^[^?]*\/(?:faulty-)?rows(?:\?|$)/;
/** The inspections that also answer all rows as a file, by its format. */
const repairedPaths: Record<string, RegExp> = {
  csv: /\/inspect\/excel(?:\?|$)/,
  ndjson: /\/inspect\/json(?:\?|$)/,
};
const eventsPath = /\/events(?:\?|$)/;
const plansPath = /\/loads(?:\?|$)/;
const csvPath = /^[^?]*\/(?:upload\/(?:json|excel)|problems)(?:\?|$)/;

/**
 * Sends an error before the end of the body, which closes the connection. If a socket with unread bytes is closed, the
 * connection is reset, and the client may not get the answer. So the answer is written first, then more of the body is read and
 * ignored, and then the connection is closed.
 */
function sendProblemOverUnreadBody(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const body = prepareProblem(error, request, reply);
  reply.hijack();
  const { raw: response } = reply;
  response.writeHead(reply.statusCode, {
    ...reply.getHeaders(),
    connection: 'close',
    'content-length': body.length,
  } as OutgoingHttpHeaders);
  response.write(body);

  let left = lingerBytes;
  const finish = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(finish, lingerMs);
  request.raw.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) finish();
  });
  request.raw.once('end', finish);
  request.raw.once('close', finish);
  request.raw.on('error', finish);
  request.raw.resume();
}

/**
 * Closes the connection after a successful answer that comes before the end of the body. Otherwise Node would read the rest of
 * the body, however long it is and whatever its chunks cost.
 */
function closeOverUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }, reply) => {
    if (hasUnreadBody(raw)) reply.header('connection', 'close');
  });
}

function hasUnreadBody({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0);
}

/** Returns an answer for a request for which Fastify's hooks do not run. */
function answerWithoutHooks(error: AppError): { headers: Record<string, string | number>; body: string } {
  const id = randomUUID();
  const body = JSON.stringify(problemDocument(error, id));
  const headers = {
    'x-request-id': id,
    ...securityHeaders,
    ...problemHeaders,
    connection: 'close',
    'content-length': Buffer.byteLength(body),
  };
  return { headers, body };
}

/** Writes the answer to the socket if Node's parser refuses a request. Then there is no request object. */
function answerUnparsable(this: FastifyInstance, thrown: Error, socket: Socket): void {
  if (closeAfterAnswers(socket)) return;
  // If a response is being written, no second one may follow, so the connection is closed.
  if (!socket.writable || runningResponse(socket)?.headersSent) {
    socket.destroy();
    return;
  }
  const known = asAppError(thrown);
  const error =
    known.code === 'internal-error'
      ? new AppError('invalid-request', 'The request is not valid HTTP/1.1.')
      : known;
  const { headers, body } = answerWithoutHooks(error);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${error.code}\r\n${lines.join('')}\r\n${body}`);
}
