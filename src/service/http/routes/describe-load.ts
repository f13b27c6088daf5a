/** `GET /api/v1/loads/{id}`: describes a load, with its answer after it has ended. */
import type { FastifyInstance } from 'fastify';
import {
  admitLoadRequest,
  describedLoad,
  Load,
  LoadPath,
  loadIdOf,
  loadNotFound,
} from '../answers/load-answers.ts';
import type { HttpContext } from '../context.ts';
import { jsonAnswer, operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';

export function describeLoadRoute(app: FastifyInstance, context: HttpContext): void {
  app.get(
    '/api/v1/loads/:id',
    {
      schema: {
        ...operation('loads', 'describeLoad'),
        description:
          'Describes a load: its state, its progress, and after its end the answer of the upload. A token sees its own loads, and with the scope `load:read-all` the loads of all tokens.',
        params: LoadPath,
        response: {
          200: jsonAnswer('The load.', Load),
          ...problemResponses(
            ...tokenErrors,
            'permission-denied',
            'load-not-found',
            'database-busy',
            'not-enabled',
          ),
        },
      },
    },
    async (request, reply) => {
      const admitted = await admitLoadRequest(request, reply, context);
      const { loads, visible, inLine } = admitted;
      const id = loadIdOf(request);
      const found = await inLine(() => loads.reader.read(id, visible));
      if (found === undefined) throw loadNotFound();
      return describedLoad(context, admitted, found);
    },
  );
}
