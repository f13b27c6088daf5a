/** Generates the OpenAPI 3.1 document from the schemas of the routes, and serves the reference page that shows it. */
import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type ErrorCode, errorCatalogue } from '../../../core/errors.ts';
import { amountInWords } from '../../../core/limit-exceeded.ts';
import { allProblemCodes } from '../../../core/problem-codes.ts';
import { type LimitsConfig, limitSettings } from '../../../core/settings/config.ts';
import { warningCodes } from '../../../core/warning-codes.ts';
import { optionalInteger, optionalText } from '../../../engine/tables/name-schemas.ts';
import { problemContentType } from '../answers/problem-json.ts';
import { eventPayloads } from '../events/webhook-payloads.ts';
import { acceptedEncodings } from '../wire/content-encoding.ts';
import { guideLinks } from './guides.ts';

const apiVersion = '1.0.0';

const summary =
  'Turns a table definition, JSON rows or a spreadsheet into a real PostgreSQL table: all or nothing, with every bad cell named.';

const versionPolicy =
  '**Versions.** Below `/api/v1` the interface only grows: ignore members that you do not know. An operation that is to be retired keeps working for at least 12 months. Its answers then have the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), and this document marks it as deprecated. [Versions](/docs/versions) has the rules.';

// The security policy of the page: it may load scripts and styles from this service only.
export const pagePolicy =
  "default-src 'self'; base-uri 'self'; frame-ancestors 'none'; img-src 'self' data:; object-src 'none'; style-src 'self' 'unsafe-inline'";

// All error answers have the same schema, which the page shows once at its end. So for each operation the style hides the schema and shows only the error codes.
const pageStyle = `
.swagger-ui .responses-table tr.response:is([data-code^="4"], [data-code^="5"]) :is(.response-controls, .model-example, .headers-wrapper, .headers__wrapper, h5, table.headers) { display: none; }
.swagger-ui .responses-table .response-col_links, .swagger-ui .responses-table .col_header.response-col_links { display: none; }
.swagger-ui .responses-table tr.response:is([data-code^="4"], [data-code^="5"]) td { padding-top: 4px; padding-bottom: 4px; }
.swagger-ui .info { margin: 28px 0 16px; }
.swagger-ui .info .renderedMarkdown ul { columns: 3 22em; padding-left: 1.2em; }
.swagger-ui .info .renderedMarkdown li { font-size: 13px; margin: 2px 0; }
`;

/**
 * Adds the document and the reference page to the server.
 *
 * @param limits the limits of this service, which the document lists
 */
export async function registerOpenApi(app: FastifyInstance, limits: LimitsConfig): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tablewright',
        version: apiVersion,
        description: `${summary}\n\nGuides: ${guideLinks()}\n\nEvery request body may be packed: the header \`Content-Encoding\` takes ${acceptedEncodings}.\n\n${versionPolicy}\n\n${limitsInWords(limits)}`,
        contact: { name: 'The Tablewright authors' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [
        { name: 'tables', description: 'Create tables, load rows into them, describe them.' },
        { name: 'loads', description: 'Uploads as things: their states, their progress and their answers.' },
        { name: 'profiles', description: 'Saved parameters of uploads.' },
        { name: 'events', description: 'What happened to tables.' },
        { name: 'health', description: 'For load balancers and process managers.' },
      ],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description:
              'An access token (RFC 6750): a JWT of your identity provider, or for development the output of `npm run -s token`. [Tokens](/docs/tokens) has the claims, and what each operation needs.',
          },
        },
      },
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject;
      const paths = document.openapiObject.paths ?? {};
      tidyParameters(paths);
      encodeJsonParts(paths);
      documentRateLimits(paths);
      const schemas = { ...document.openapiObject.components?.schemas };
      nameSchemas(paths, schemas);
      const responses = shareProblemResponses(paths);
      // A copy is changed, because the payloads contain schema objects that other parts of the service use.
      const webhooks = structuredClone(eventPayloads());
      nameSchemas(webhooks, schemas);
      return {
        ...document.openapiObject,
        webhooks,
        components: { ...document.openapiObject.components, schemas, responses },
      } as typeof document.openapiObject;
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { docExpansion: 'list', deepLinking: true, persistAuthorization: true, layout: 'BaseLayout' },
    theme: { title: 'Tablewright API', css: [{ filename: 'reference.css', content: pageStyle }] },
    staticCSP: pagePolicy,
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}

function limitsInWords(limits: LimitsConfig): string {
  const lines = Object.entries(limitSettings).map(([key, { name, unit = '' }]) => {
    return `- \`${name}\`: ${amountInWords(limits[key as keyof LimitsConfig], unit)}`;
  });
  return `**Limits of this service.** A request over a limit is refused, and the answer names the limit.\n\n${lines.join('\n')}`;
}

interface DocumentedOperation {
  parameters?: { in: string; required?: boolean; schema?: { default?: unknown } }[];
  requestBody?: { content: Record<string, MediaType> };
  responses?: Record<string, DocumentedResponse>;
}

interface MediaType {
  schema: { properties?: Record<string, { type?: unknown }> };
  encoding?: Record<string, { contentType: string }>;
}

interface DocumentedResponse {
  description: string;
  headers?: object;
  content?: Record<string, MediaType>;
}

function operationsOf(paths: object): DocumentedOperation[] {
  return Object.values(paths).flatMap((path) => Object.values(path as Record<string, DocumentedOperation>));
}

/**
 * Makes parameters with a default optional. Their schemas require them, because a handler always gets the default, but a client
 * need not send them. Also puts the parameters of the path first.
 */
function tidyParameters(paths: object): void {
  for (const { parameters } of operationsOf(paths)) {
    for (const parameter of parameters ?? [])
      if (parameter.schema?.default !== undefined) parameter.required = false;
    parameters?.sort((a, b) => Number(b.in === 'path') - Number(a.in === 'path'));
  }
}

/** Declares that the parts of a form that are objects are sent as JSON. */
function encodeJsonParts(paths: object): void {
  for (const { requestBody } of operationsOf(paths)) {
    const form = requestBody?.content['multipart/form-data'];
    if (form === undefined) continue;
    const parts = Object.entries(form.schema.properties ?? {});
    const objects = parts.filter(([, { type }]) => type === 'object').map(([name]) => name);
    if (objects.length === 0) continue;
    form.encoding = Object.fromEntries(objects.map((name) => [name, { contentType: 'application/json' }]));
  }
}

/**
 * Moves the error answer of each status into `components/responses` and replaces it by a reference. The reference keeps the
 * operation's own description (OpenAPI 3.1 section 4.8.23), which has the codes of this operation.
 */
function shareProblemResponses(paths: object): Record<string, DocumentedResponse> {
  const shared: Record<string, DocumentedResponse> = {};
  for (const { responses = {} } of operationsOf(paths)) {
    for (const [status, response] of Object.entries(responses)) {
      if (response.content?.[problemContentType] === undefined) continue;
      const title = newNames[status] ?? STATUS_CODES[status]!;
      const name = title.replaceAll(' ', '');
      shared[name] ??= { ...response, description: `${title}.` };
      const reference = { $ref: `#/components/responses/${name}`, description: response.description };
      responses[status] = reference as unknown as DocumentedResponse;
    }
  }
  return shared;
}

/** The names of the statuses that Node.js has from an older standard than RFC 9110. */
const newNames: Record<string, string> = { 413: 'Content Too Large', 422: 'Unprocessable Content' };

/** Moves every schema with a title into `schemas` and replaces it by a reference. */
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

const part = optionalInteger('In a load of several tables: the number of the table in the plan, from 1.');

export const LocatedProblem = Type.Object(
  {
    part,
    pointer: optionalText('JSON Pointer (RFC 6901) into the request, for JSON.'),
    line: optionalInteger('The line of the request, from 1, for newline-delimited JSON.'),
    sheet: optionalText('Name of the sheet, for spreadsheets.'),
    cell: optionalText(
      'The address of the cell as Excel writes it, such as `Orders!C1483`, for spreadsheets.',
    ),
    row: optionalInteger('The number of the data row, from 1.'),
    key: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'For a row of an existing table: the columns of its primary key with their values, or `ctid`. In the record of a load those columns are absent that you may not read.',
      }),
    ),
    column: optionalText('Name of the column.'),
    parameter: optionalText('Name of the parameter (path or query) or of the part of the form.'),
    value: optionalText('The value with the problem, shortened.'),
    // This is not an enum, because new codes may be added, which clients made from this document must accept.
    code: Type.String({ description: 'What is wrong, kebab-case, stable.', examples: allProblemCodes }),
    detail: Type.String({ description: 'What is wrong in words and, unless it is obvious, what to do.' }),
  },
  {
    title: 'Problem',
    description: 'One problem: its place, the value, and what is wrong with it.',
  },
);

/** The schema of the columns of an inspected file. */
export const ColumnCounts = Type.Array(
  Type.Object({
    name: Type.String(),
    letters: optionalText('The column of the sheet: `A`.'),
    values: Type.Integer({ description: 'The number of rows that have a value in this column.' }),
    empty: Type.Integer({ description: 'The number of rows that have none.' }),
  }),
  { description: 'How many values the columns have, in the order of `header`.' },
);

const Warning = Type.Object(
  {
    part,
    // This is not an enum, for the same reason as in `LocatedProblem`.
    code: Type.String({ description: 'Kebab-case, stable.', examples: Object.keys(warningCodes) }),
    detail: Type.String({ description: 'The warning in words.' }),
    column: optionalText('Name of the column.'),
    choices: Type.Optional(
      Type.Array(
        Type.Object({
          parameters: Type.Record(Type.String(), Type.String(), {
            description:
              'The parameters of the query to send besides the others, with their values before they are escaped: `{"date_order": "dmy"}`. Each replaces the parameter of the same name, but the items of `null_values` are added to those that were sent. `decimal_sign` and `thousands_sign` replace both, `header` also replaces `header_row`, and `range` also replaces `header_row` and `table_range`.',
          }),
          type: optionalText('The type of the column, for a definition that is sent with them.'),
        }),
        {
          description:
            'What to send instead, if the warning names it. There are several if the data does not show which is right. Each is enough alone, except for `mixed-column`.',
        },
      ),
    ),
  },
  {
    title: 'Warning',
    description: 'A notice about something that did not stop the load but may be unexpected.',
  },
);

export const Warnings = Type.Array(Warning, {
  description:
    'Decisions of the service that you should check: columns that it named, renamed or left out, parts of values that a type cannot store, defaults that it stored as text.',
});

export const ProblemGroups = Type.Array(
  Type.Object({
    part,
    column: Type.Optional(Type.String()),
    code: Type.String(),
    count: Type.Integer({ description: 'The number of problems with this code in this column.' }),
    first: Type.Object(
      {
        pointer: Type.Optional(Type.String()),
        line: Type.Optional(Type.Integer()),
        sheet: Type.Optional(Type.String()),
        cell: Type.Optional(Type.String()),
        row: Type.Optional(Type.Integer()),
        value: Type.Optional(Type.String()),
      },
      { description: 'The place and the value of the first problem.' },
    ),
  }),
  {
    maxItems: 100,
    description:
      'All problems of the data, grouped by column and code. The largest group comes first. Absent if no two problems have the same column and code.',
  },
);

const ProblemDocument = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: 'Where the code is explained.' }),
    title: Type.String({ description: 'The code in words.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.String({ description: 'What is wrong with this request, and what to do.' }),
    instance: Type.String({ description: 'The request id, which is also in the log.' }),
    code: Type.String({ enum: Object.keys(errorCatalogue), description: 'Stable.' }),
    errors: Type.Optional(
      Type.Array(LocatedProblem, { maxItems: 100, description: 'The first 100 problems.' }),
    ),
    error_count: optionalInteger('The number of all problems, including those not listed.'),
    error_groups: Type.Optional(ProblemGroups),
    warnings: Type.Optional(
      Type.Array(Warning, { description: 'The warnings of a refused upload, if there are any.' }),
    ),
  },
  { title: 'ProblemDocument', description: 'An error (RFC 9457).' },
);

/**
 * The header of the operations that may be repeated. It has no example, because the reference page would fill the example in, and the
 * second request with this key would be refused.
 */
export const idempotencyHeader = {
  'Idempotency-Key': Type.Optional(
    Type.String({
      maxLength: 255,
      description:
        'A key of the client for this request, such as the UUID `3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e`. Make a new one for each request. The same request with the same key is done once: its first answer is sent again, with `Idempotency-Replayed: true`, to tokens with the same role that have or lack `table:read` like the first one. Keys are kept for 24 hours from the beginning of the request.',
    }),
  ),
};

/** The header with which a change is made only if nobody else has changed the table. */
export const ifMatchHeader = {
  'If-Match': optionalText(
    'The `ETag` of an answer that described the table. If its definition is another one by now, nothing is changed (412).',
  ),
};

export const ifNoneMatchHeader = {
  'If-None-Match': optionalText('`*`: creates the table, and changes no table that exists (412).'),
};

export const etagHeader = {
  ETag: {
    type: 'string',
    description: 'Changes whenever the definition of the table changes, for `If-Match`.',
  },
};

/** The headers of the operations whose body may be compressed. */
export const encodingHeader = {
  'Content-Encoding': optionalText(`How the body is packed: ${acceptedEncodings}. Default: it is not.`),
};

/** Returns the error answers of an endpoint for its `response` schema: one entry for each status, with its codes. */
export function problemResponses(...codes: ErrorCode[]): Record<number, object> {
  const everywhere: ErrorCode[] = ['internal-error', 'database-unavailable', 'service-busy', 'shutting-down'];
  const all = [...new Set([...codes, ...everywhere])];
  const responses: Record<number, object> = {};
  for (const { status } of all.map((code) => errorCatalogue[code])) {
    const sameStatus = all.filter((code) => errorCatalogue[code].status === status);
    responses[status] = {
      description: sameStatus
        .map((code) => `[\`${code}\`](/docs/errors/${code}): ${errorCatalogue[code].title}.`)
        .join(' '),
      ...headersOf(status),
      content: { [problemContentType]: { schema: ProblemDocument } },
    };
  }
  return responses;
}

function headersOf(status: number): object {
  const header = (name: string, description: string) => ({ [name]: { type: 'string', description } });
  if (status === 503) {
    return { headers: header('Retry-After', 'The number of seconds to wait before a retry, if known.') };
  }
  if (status >= 500) return {};
  return {
    headers: {
      ...(status === 401 && header('WWW-Authenticate', 'What is wrong with the token (RFC 6750).')),
      ...(status === 429 && header('Retry-After', 'The number of seconds to wait before a retry.')),
      ...rateLimitHeaders,
    },
  };
}

/** The header fields of draft-ietf-httpapi-ratelimit-headers, which the answers of the API have. */
const rateLimitHeaders = {
  'RateLimit-Policy': {
    type: 'string',
    description:
      'The quota (draft-ietf-httpapi-ratelimit-headers), such as `"requests";q=30000;w=60`. Absent if the service has no such limit.',
  },
  RateLimit: {
    type: 'string',
    description:
      'What is left of the quota, and the seconds until it is full again, such as `"requests";r=29999;t=60`. Absent if the service has no such limit.',
  },
};

/** Adds the header fields to the successful answers of the API. They are in the form of OpenAPI, because the paths were already converted to it. */
function documentRateLimits(paths: object): void {
  const headers = Object.fromEntries(
    Object.entries(rateLimitHeaders).map(([name, { description, ...schema }]) => [
      name,
      { description, schema },
    ]),
  );
  for (const [path, operations] of Object.entries(paths)) {
    if (!path.startsWith('/api/')) continue;
    for (const { responses = {} } of Object.values(operations as Record<string, DocumentedOperation>)) {
      for (const [status, response] of Object.entries(responses)) {
        if (status.startsWith('2')) response.headers = { ...response.headers, ...headers };
      }
    }
  }
}

/** The error codes of every endpoint that needs a token. */
export const tokenErrors: ErrorCode[] = [
  'missing-token',
  'invalid-token',
  'insufficient-scope',
  'not-acceptable',
  'too-many-requests',
  'token-keys-unavailable',
];

/** The error codes of every endpoint that takes an `Idempotency-Key`. */
export const keyErrors: ErrorCode[] = ['idempotency-key-in-use', 'idempotency-key-reused', 'not-enabled'];

/** Returns the documentation that all operations with a token have. @param id in camel case. Its words are the summary */
export function operation(tag: string, id: string) {
  const words = id.replaceAll(/(?=[A-Z])/g, ' ');
  const summary = `${words[0]!.toUpperCase()}${words.slice(1)}`;
  return { operationId: id, tags: [tag], summary, security: [{ bearer: [] }] };
}

/** Returns the documentation of an answer in JSON. */
export function jsonAnswer(description: string, schema: Type.TSchema, headers?: object) {
  return { description, ...(headers && { headers }), content: { 'application/json': { schema } } };
}

/** The error codes of every endpoint that reads a small body of JSON. */
export const bodyErrors: ErrorCode[] = [
  'invalid-json',
  'invalid-content-encoding',
  'request-timeout',
  'limit-exceeded',
  'unsupported-media-type',
];

/** The header of an answer that created or renamed a table. */
export const tableLocationHeader = {
  Location: { type: 'string', description: 'The URL that describes the table.' },
};

/** The error codes of every endpoint of a table. */
export const tableErrors: ErrorCode[] = [
  ...tokenErrors,
  'schema-forbidden',
  'permission-denied',
  'schema-not-found',
  'invalid-parameter',
  'write-conflict',
  'database-busy',
];

/** The error codes of every endpoint that changes or drops a table. */
export const changeErrors: ErrorCode[] = [
  ...tableErrors,
  'table-not-found',
  'dependent-objects',
  'precondition-failed',
  ...keyErrors,
];
