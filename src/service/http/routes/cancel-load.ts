/** `POST /api/v1/loads/{id}/cancel`: cancels a load. */
import type { FastifyInstance } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import {
  admitLoadRequest,
  describedLoad,
  Load,
  LoadPath,
  loadIdOf,
  loadNotFound,
  loadsOf,
} from '../answers/load-answers.ts';
import type { HttpContext } from '../context.ts';
import { auditing, noteChange } from '../observing/audit.ts';
import { jsonAnswer, operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { requireScope } from '../tokens/auth.ts';

export function cancelLoadRoute(app: FastifyInstance, context: HttpContext): void {
  app.post(
    '/api/v1/loads/:id/cancel',
    {
      schema: {
        ...operation('loads', 'cancelLoad'),
        description:
          'Cancels a load. After this answer the load will not be committed; it ends within about a second. A token cancels its own loads, and with the scope `load:cancel-all` the loads of all tokens in the schemas that it may use.',
        params: LoadPath,
        response: {
          202: jsonAnswer('The load ends soon.', Load),
          ...problemResponses(...tokenErrors, 'load-not-found', 'load-ended', 'database-busy', 'not-enabled'),
        },
      },
    },
    auditing('cancel-load', async (request, reply) => {
      const admitted = await admitLoadRequest(request, reply, context);
      const { loads, grants, visible, inLine } = admitted;
      const id = loadIdOf(request);
      const cancelled = await inLine(async () => {
        const cancellable = loadsOf(grants, 'load:cancel-all');
        const outcome = await loads.cancel(id, cancellable);
        if (outcome === 'unknown') {
          // If the token may read the load, it belongs to another subject, and a scope is missing. Otherwise the answer is the same as for an unknown load.
          if ((await loads.reader.read(id, visible)) !== undefined) requireScope(grants, 'load:cancel-all');
          throw loadNotFound();
        }
        const found = (await loads.reader.read(id, cancellable))!;
        const { schema, table } = found;
        if (outcome === 'accepted')
          noteChange(request, { outcome: 'committed', change: 'cancel-requested', load: id, schema, table });
        if (outcome !== 'accepted')
          throw new AppError('load-ended', `The load has ended: it is ${found.state}.`);
        return found;
      });
      reply.code(202);
      return describedLoad(context, admitted, cancelled);
    }),
  );
}
