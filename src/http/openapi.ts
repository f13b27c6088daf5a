/**
 * The OpenAPI 3.1 document, made from the schemas that stand beside the handlers, and the reference page that shows it.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { LimitsConfig } from '../config.ts';
import { type ErrorCode, errorCatalogue } from '../errors.ts';

export const apiVersion = '1.0.0';

const summary =
  'Turns a table definition, JSON rows or a spreadsheet into a real PostgreSQL table: all or nothing, with every bad cell named.';

// The page's scripts and styles are this service's own; nothing is loaded from elsewhere.
const pagePolicy =
  "default-src 'self'; base-uri 'self'; frame-ancestors 'none'; img-src 'self' data:; object-src 'none'; style-src 'self' 'unsafe-inline'";

/** @param limits in force here; the document states them */
export async function registerOpenApi(app: FastifyInstance, limits: LimitsConfig): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tablewright',
        version: apiVersion,
        description: `${summary}\n\n${limitsInWords(limits)}`,
        contact: { name: 'The Tablewright authors' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [
        { name: 'tables', description: 'Create tables, load rows into them, describe them.' },
        { name: 'health', description: 'For load balancers and process managers.' },
      ],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'An access token (RFC 6750). For development: `npm run -s token`.',
          },
        },
      },
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject;
      const paths = document.openapiObject.paths ?? {};
      makeDefaultedParametersOptional(paths);
      const schemas = { ...document.openapiObject.components?.schemas };
      nameSchemas(paths, schemas);
      return {
        ...document.openapiObject,
        components: { ...document.openapiObject.components, schemas },
      } as typeof document.openapiObject;
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { docExpansion: 'list', deepLinking: true, persistAuthorization: true, layout: 'BaseLayout' },
    theme: { title: 'Tablewright API' },
    staticCSP: pagePolicy,
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}

function limitsInWords(limits: LimitsConfig): string {
  const lines = Object.entries(limits).map(([name, value]) => {
    const setting = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
    return `- \`${setting}\`: ${value.toLocaleString('en-US')}`;
  });
  return `The limits of this service; what goes over one is refused, and the answer names it:\n\n${lines.join('\n')}`;
}

/** The schemas say what a handler gets, where a default stands for what was left out; the document says what to send. */
function makeDefaultedParametersOptional(paths: object): void {
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path as object))) {
    const { parameters = [] } = operation as {
      parameters?: { required?: boolean; schema?: { default?: unknown } }[];
    };
    for (const parameter of parameters)
      if (parameter.schema?.default !== undefined) parameter.required = false;
  }
}

/** Puts every schema that has a title under that name into `schemas`, once, and a reference into its place. */
function nameSchemas(value: unknown, schemas: Record<string, unknown>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    nameSchemas(child, schemas);
    const { title } = (child ?? {}) as { title?: unknown };
    if (typeof title !== 'string' || !('type' in child)) continue;
    const { title: _, ...schema } = child;
    schemas[title] ??= schema;
    if (JSON.stringify(schemas[title]) !== JSON.stringify(schema)) {
      throw new Error(`two different schemas have the title ${title}`);
    }
    (value as Record<string, unknown>)[key] = { $ref: `#/components/schemas/${title}` };
  }
}

export const LocatedProblem = Type.Object(
  {
    pointer: Type.Optional(
      Type.String({ description: 'JSON Pointer (RFC 6901) into the request, for JSON.' }),
    ),
    sheet: Type.Optional(Type.String({ description: 'Name of the sheet, for spreadsheets.' })),
    cell: Type.Optional(
      Type.String({ description: 'As Excel writes it, `Orders!C1483`, for spreadsheets.' }),
    ),
    row: Type.Optional(Type.Integer({ description: '1-based data row.' })),
    column: Type.Optional(Type.String({ description: 'Name of the column or parameter.' })),
    value: Type.Optional(Type.String({ description: 'What was found, shortened.' })),
    code: Type.String({ description: 'What is wrong, kebab-case, stable.', examples: ['not-a-number'] }),
    detail: Type.String({ description: 'The same in words, and the remedy where it is not plain.' }),
  },
  { title: 'Problem', description: 'One fault: where it is, what was found there, what is wrong with it.' },
);

const ProblemDocument = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: 'Where the code is explained.' }),
    title: Type.String({ description: 'The code in words.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.String({ description: 'What happened here, and the remedy.' }),
    instance: Type.String({ description: 'The request id, as it stands in the log.' }),
    code: Type.String({ enum: Object.keys(errorCatalogue), description: 'Stable.' }),
    errors: Type.Optional(
      Type.Array(LocatedProblem, { maxItems: 100, description: 'The first 100 faults.' }),
    ),
    error_count: Type.Optional(Type.Integer({ description: 'All faults found, also those not listed.' })),
  },
  { title: 'ProblemDocument', description: 'An error (RFC 9457).' },
);

/** The error answers of one endpoint, for its `response` schema: one entry per status, naming the codes. */
export function problemResponses(...codes: ErrorCode[]): Record<number, object> {
  const everywhere: ErrorCode[] = ['internal-error', 'database-unavailable', 'shutting-down'];
  const all = [...new Set([...codes, ...everywhere])];
  const responses: Record<number, object> = {};
  for (const { status } of all.map((code) => errorCatalogue[code])) {
    const sameStatus = all.filter((code) => errorCatalogue[code].status === status);
    responses[status] = {
      description: sameStatus
        .map((code) => `[\`${code}\`](/docs/errors/${code}): ${errorCatalogue[code].title}.`)
        .join(' '),
      ...headersOf(status),
      content: { 'application/problem+json': { schema: ProblemDocument } },
    };
  }
  return responses;
}

function headersOf(status: number): object {
  const header = (name: string, description: string) => ({
    headers: { [name]: { type: 'string', description } },
  });
  if (status === 401) return header('WWW-Authenticate', 'What is wrong with the token (RFC 6750).');
  if (status === 429) return header('Retry-After', 'Seconds after which to try again.');
  if (status === 503) return header('Retry-After', 'Seconds after which to try again, where that is known.');
  return {};
}

/** What every endpoint behind a token can answer. */
export const tokenErrors: ErrorCode[] = [
  'missing-token',
  'invalid-token',
  'insufficient-scope',
  'not-acceptable',
];

/** What every endpoint of a table can answer. */
export const tableErrors: ErrorCode[] = [
  ...tokenErrors,
  'schema-forbidden',
  'permission-denied',
  'schema-not-found',
  'invalid-parameter',
  'database-busy',
];
