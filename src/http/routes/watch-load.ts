/** `GET /api/v1/loads/{id}/events`: the states and the progress of a load as server-sent events. */
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { LoadView } from '../../loads/load-record.ts';
import type { HttpContext } from '../context.ts';
import { admitLoadRequest, LoadPath, loadIdOf, loadNotFound, shownLoad } from '../load-answers.ts';
import { problemResponses, tokenErrors } from '../openapi.ts';

/** How often a comment is sent when nothing changes, so that proxies keep the connection. */
const keepAliveMs = 15_000;

export function watchLoadRoute(app: FastifyInstance, context: HttpContext): void {
  app.get(
    '/api/v1/loads/:id/events',
    {
      schema: {
        operationId: 'watchLoad',
        tags: ['loads'],
        summary: 'Watch Load',
        description:
          'Sends the load as server-sent events (`text/event-stream`) until it has ended: the event `state` at the beginning and for each change of the state, `progress` for each change of the numbers, at most four times a second. The data of each event is the load, as Describe Load answers it, and the last event has the answer of the upload.',
        security: [{ bearer: [] }],
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
          ...problemResponses(...tokenErrors, 'load-not-found', 'database-busy', 'not-enabled'),
        },
      },
    },
    async (request, reply) => {
      const { loads, visible, signal } = await admitLoadRequest(request, reply, context);
      const views = loads.watch(loadIdOf(request), visible, signal);
      // The first one is read before the answer begins, so that an error is answered as on the other endpoints.
      const first = await views.next();
      if (first.done) throw loadNotFound();
      reply.header('x-accel-buffering', 'no');
      return reply.type('text/event-stream').send(Readable.from(eventsOf(first.value, views, context)));
    },
  );
}

async function* eventsOf(
  first: LoadView,
  rest: AsyncGenerator<LoadView>,
  { isReady }: HttpContext,
): AsyncGenerator<string> {
  yield eventOf('state', first);
  let last = first;
  let sentAtMs = performance.now();
  for await (const view of rest) {
    const name = view.state === last.state ? 'progress' : 'state';
    if (name === 'state' || isFurther(view, last)) {
      yield eventOf(name, view);
      sentAtMs = performance.now();
    } else if (performance.now() - sentAtMs > keepAliveMs) {
      yield ': the load still runs\n\n';
      sentAtMs = performance.now();
    }
    last = view;
    // The service stops. The client can watch the load at another instance.
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

/** JSON has no line ends outside of its texts, and these are escaped, so the data is one line. */
function eventOf(name: string, view: LoadView): string {
  return `event: ${name}\ndata: ${JSON.stringify(shownLoad(view))}\n\n`;
}
