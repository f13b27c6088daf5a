/** `GET /api/v1/events`: what has happened to tables, as server-sent events. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import type { EventFeed } from '../../events/event-feed.ts';
import { admitRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { type Pause, type ServerSentEvent, sendEventStream } from '../events/event-stream.ts';
import { operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { allowsSchema, type Grants } from '../tokens/auth.ts';

const documentation = {
  ...operation('events', 'readEvents'),
  description:
    'Sends the events of the schemas that the token allows as server-sent events, beginning with the next one. With the header `Last-Event-ID` it continues after that event; events are kept for 7 days. The service ends a stream after 15 minutes or when the token expires, and the client connects again. Needs the scope `event:read`. The section `webhooks` of this document describes the events.',
  headers: {
    type: 'object',
    properties: {
      'Last-Event-ID': { type: 'string', description: 'The id of the last event that was received.' },
    },
  },
  response: {
    200: {
      description:
        'Events. `id` is the place of the event, `event` its type, and `data` a CloudEvent as JSON.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    ...problemResponses(
      ...tokenErrors,
      'invalid-parameter',
      'events-removed',
      'service-busy',
      'database-busy',
      'not-enabled',
    ),
  },
};

export function eventFeedRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Type.Object({}));
  app.get('/api/v1/events', { schema: documentation }, async (request, reply) => {
    parseQuery(request.query);
    const { grants, validUntilMs, caller, signal } = await admitRequest(
      request,
      reply,
      context,
      'event:read',
    );
    const { events: feed } = context.records.require();
    const after = await startOf(feed, request.headers['last-event-id']);
    await context.lines.streams.use(caller, signal, (ending) =>
      sendEventStream(reply, ending, eventsAfter(feed, after, grants, context.isReady), {
        validUntilMs,
        startId: String(after),
      }),
    );
  });
}

/** Returns the position after which the stream begins. @throws AppError `invalid-parameter`, `events-removed` */
async function startOf(feed: EventFeed, lastId: string | string[] | undefined): Promise<number> {
  const { last, removedTo } = await feed.range();
  if (lastId === undefined || lastId === '') return last;
  const after = typeof lastId === 'string' && /^\d{1,15}$/.test(lastId) ? Number(lastId) : Number.NaN;
  if (after >= removedTo && after <= last) return after;
  if (after < removedTo) {
    throw new AppError(
      'events-removed',
      'Events after the one in Last-Event-ID have been removed, because events are kept for 7 days. Read the tables as they are now, and connect without Last-Event-ID.',
    );
  }
  throw wrongParameter('Last-Event-ID', 'The header Last-Event-ID must be the id of an event of this feed.');
}

async function* eventsAfter(
  feed: EventFeed,
  start: number,
  grants: Grants,
  isReady: () => boolean,
): AsyncGenerator<ServerSentEvent | Pause> {
  let after = start;
  // A pause also moves the position forward, because events of schemas that the token does not allow are left out.
  const pause = () => ({ id: String(after) });
  while (isReady()) {
    const page = await feed.read(after);
    for (const { position, schema, type, json, otherSchema, jsonWithoutOther } of page) {
      after = position;
      if (!allowsSchema(grants, schema)) continue;
      const isWhole = otherSchema === null || allowsSchema(grants, otherSchema);
      yield { id: String(position), event: type, data: isWhole ? json : jsonWithoutOther };
    }
    yield pause();
    while (page.length === 0 && isReady() && !(await feed.wait(after))) yield pause();
  }
}
