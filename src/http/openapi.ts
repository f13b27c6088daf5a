/**
 * The OpenAPI 3.1 document, made from the schemas that stand beside the handlers, and the reference page that shows it.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type ErrorCode, errorCatalogue } from '../errors.ts';

export const apiVersion = '1.0.0';

export async function registerOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tablewright',
        version: apiVersion,
        description:
          'Turns a table definition, JSON rows or a spreadsheet into a real PostgreSQL table: all or nothing, with every bad cell named.',
        contact: { name: 'The Tablewright authors' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [
        { name: 'tables', description: 'Create tables, load rows into them, describe them.' },
        { name: 'health', description: 'For load balancers and process managers.' },
      ],
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      },
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { docExpansion: 'list', deepLinking: true, persistAuthorization: true },
    theme: { title: 'Tablewright API' },
    staticCSP: true,
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}

const LocatedProblem = Type.Object(
  {
    pointer: Type.Optional(
      Type.String({ description: 'JSON Pointer (RFC 6901) into the request, for JSON.' }),
    ),
    sheet: Type.Optional(Type.String()),
    cell: Type.Optional(
      Type.String({ description: 'As Excel writes it, `Orders!C1483`, for spreadsheets.' }),
    ),
    row: Type.Optional(Type.Integer({ description: '1-based data row.' })),
    column: Type.Optional(Type.String()),
    value: Type.Optional(Type.String({ description: 'What was found, shortened.' })),
    code: Type.String(),
    detail: Type.String(),
  },
  { title: 'Problem' },
);

const ProblemDocument = Type.Object(
  {
    type: Type.String({ format: 'uri-reference' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'The request id, as it stands in the log.' }),
    code: Type.String({ enum: Object.keys(errorCatalogue) }),
    errors: Type.Optional(Type.Array(LocatedProblem, { maxItems: 100 })),
    error_count: Type.Optional(Type.Integer({ description: 'All problems found, also those not listed.' })),
  },
  { title: 'ProblemDocument', description: 'RFC 9457' },
);

/** The error answers of one endpoint, for its `response` schema: one entry per status, naming the codes. */
export function problemResponses(...codes: ErrorCode[]): Record<number, object> {
  const everywhere: ErrorCode[] = ['internal-error', 'database-unavailable', 'shutting-down'];
  const responses: Record<number, object> = {};
  for (const { status } of [...codes, ...everywhere].map((code) => errorCatalogue[code])) {
    const sameStatus = [...codes, ...everywhere].filter((code) => errorCatalogue[code].status === status);
    responses[status] = {
      description: sameStatus.map((code) => `\`${code}\`: ${errorCatalogue[code].title}.`).join(' '),
      content: { 'application/problem+json': { schema: ProblemDocument } },
    };
  }
  return responses;
}

/** What authentication can answer, for every endpoint behind it. */
export const tokenErrors: ErrorCode[] = [
  'missing-token',
  'invalid-token',
  'insufficient-scope',
  'schema-forbidden',
];
