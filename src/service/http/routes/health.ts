/**
 * `/healthz`: the process runs (nothing else is checked). `/readyz`: the service can answer requests, because the database accepts changes and tokens can be verified.
 * `/version`: which version runs.
 */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { version } from '../../../program-files.ts';
import { type HttpContext, requireReady } from '../context.ts';
import { jsonAnswer, problemResponses } from '../openapi/openapi.ts';

const Status = Type.Object(
  { status: Type.String({ description: '`alive` or `ready`.' }) },
  { title: 'Health' },
);

const Version = Type.Object(
  {
    name: Type.String({ description: 'Always `tablewright`.' }),
    version: Type.String({
      description: 'The version of the service (Semantic Versioning).',
      examples: ['0.1.0'],
    }),
  },
  { title: 'Version' },
);

export function healthRoutes(app: FastifyInstance, context: HttpContext): void {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'getHealth',
        tags: ['health'],
        summary: 'Alive',
        description: 'Answers while the process runs. It checks nothing else.',
        security: [],
        response: { 200: jsonAnswer('Alive.', Status) },
      },
    },
    async () => ({ status: 'alive' }),
  );
  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'getReadiness',
        tags: ['health'],
        summary: 'Ready',
        description:
          'Answers 200 while the database accepts changes. Answers 503 within two seconds if the database does not answer or is read-only, as a standby is, while the service starts and stops, and if it has no keys to verify tokens because the identity provider cannot be reached.',
        security: [],
        response: {
          200: jsonAnswer('Ready.', Status),
          ...problemResponses('token-keys-unavailable'),
        },
      },
    },
    async () => {
      requireReady(context);
      context.tokens.check();
      await context.databaseCheck.run();
      return { status: 'ready' };
    },
  );
  app.get(
    '/version',
    {
      schema: {
        operationId: 'getVersion',
        tags: ['health'],
        summary: 'Version',
        description: 'Answers the version of the service. The version of the HTTP interface is in its paths.',
        security: [],
        response: {
          200: jsonAnswer('The version.', Version),
        },
      },
    },
    async () => ({ name: 'tablewright', version }),
  );
}
