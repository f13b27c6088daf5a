/** `GET /api/v1/loads/{id}/events`: the states and the progress of a load as server-sent events. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { LoadView } from '../../loads/load-view.ts';
import {
  admitLoadRequest,
  describedLoad,
  LoadPath,
  loadIdOf,
  loadNotFound,
} from '../answers/load-answers.ts';
import type { HttpContext } from '../context.ts';
import { type Pause, type ServerSentEvent, sendEventStream } from '../events/event-stream.ts';
import { operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';

export function watchLoadRoute(app: FastifyInstance, context: HttpContext): void {
  app.get(
    '/api/v1/loads/:id/events',
    {
      schema: {
        ...operation('loads', 'watchLoad'),
        description:
          'Sends the load as server-sent events (`text/event-stream`) until it has ended: the event `state` at the beginning and for each change of the state, `progress` for each change of the numbers, at most four times a second. The data of each event is the load, as Describe Load answers it, and the last event has the answer of the upload. The service ends a stream after 15 minutes or when the token expires; connect again to go on.',
        params: LoadPath,
        response: {
          200: {
            description: 'The events.',
            content: {
              'text/event-stream': {
                schema: Type.String({ examples: ['event: state\ndata: {"id":"…","state":"running"}\n\n'] }),
              },
            },
          },
          ...problemResponses(
            ...tokenErrors,
            'load-not-found',
            'service-busy',
            'database-busy',
            'not-enabled',
          ),
        },
      },
    },
    async (request, reply) => {
      const admitted = await admitLoadRequest(request, reply, context);
      const { loads, visible, validUntilMs, caller, signal } = admitted;
      const views = loads.reader.watch(loadIdOf(request), visible, signal);
      // The first view is read before the answer begins, so that an error can still be answered with its status.
      const first = await views.next();
      if (first.done) throw loadNotFound();
      await context.lines.streams.use(caller, signal, (ending) =>
        sendEventStream(
          reply,
          ending,
          eventsOf(first.value, views, context, (view) => describedLoad(context, admitted, view)),
          { validUntilMs },
        ),
      );
    },
  );
}

async function* eventsOf(
  first: LoadView,
  rest: AsyncGenerator<LoadView>,
  { isReady }: HttpContext,
  describe: (view: LoadView) => Promise<object>,
): AsyncGenerator<ServerSentEvent | Pause> {
  yield eventOf('state', await describe(first));
  let last = first;
  for await (const view of rest) {
    const event = view.state === last.state ? 'progress' : 'state';
    yield event === 'state' || isFurther(view, last) ? eventOf(event, await describe(view)) : {};
    last = view;
    // The service is stopping. The client can watch the load at another replica.
    if (!isReady()) return;
  }
}

function isFurther(view: LoadView, last: LoadView): boolean {
  return (
    view.bytesReceived !== last.bytesReceived ||
    view.rowsRead !== last.rowsRead ||
    view.problemsFound !== last.problemsFound ||
    view.cancelRequested !== last.cancelRequested
  );
}

/** Returns the event. Its data is one line, because `JSON.stringify` writes no line breaks and escapes those in strings. */
function eventOf(event: string, load: object): ServerSentEvent {
  return { event, data: JSON.stringify(load) };
}
