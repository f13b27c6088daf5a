/** Registers the endpoints, grouped by the bodies that they accept. Each endpoint is one file in `routes/`. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import { unsupportedMediaType } from './answers/problem-json.ts';
import type { HttpContext } from './context.ts';
import { registerOpenApi } from './openapi/openapi.ts';
import { alterTableRoute } from './routes/alter-table.ts';
import { cancelLoadRoute } from './routes/cancel-load.ts';
import { consoleRoutes } from './routes/console.ts';
import { createTableRoute } from './routes/create-table.ts';
import { describeLoadRoute } from './routes/describe-load.ts';
import { describeTableRoute } from './routes/describe-table.ts';
import { dropTableRoute } from './routes/drop-table.ts';
import { eventFeedRoute } from './routes/event-feed.ts';
import { faultyRowsRoute } from './routes/faulty-rows.ts';
import { guideRoutes } from './routes/guides.ts';
import { healthRoutes } from './routes/health.ts';
import { inspectExcelRoute } from './routes/inspect-excel.ts';
import { inspectJsonRoute } from './routes/inspect-json.ts';
import { listLoadsRoute } from './routes/list-loads.ts';
import { listTablesRoute } from './routes/list-tables.ts';
import { listTypesRoute } from './routes/list-types.ts';
import { loadChangesRoute } from './routes/load-changes.ts';
import { loadProblemsRoute } from './routes/load-problems.ts';
import { loadTablesRoute } from './routes/load-tables.ts';
import { profileRoutes, saveProfileRoute } from './routes/profiles.ts';
import { readRowsRoute } from './routes/read-rows.ts';
import { renameTableRoute } from './routes/rename-table.ts';
import { uploadExcel, uploadExcelRoute } from './routes/upload-excel.ts';
import { uploadJson, uploadJsonRoute } from './routes/upload-json.ts';
import { watchLoadRoute } from './routes/watch-load.ts';
import { createWebhookRoute, webhookRoutes } from './routes/webhooks.ts';
import { loadTables } from './together/load-plan.ts';
import type { UploadOperation } from './uploads/admit-upload.ts';
import { isJsonType, jsonMediaTypes } from './uploads/json-body.ts';
import { parseContentEncoding } from './wire/content-encoding.ts';

/** The uploads, which may run later than their requests. */
export const uploadOperations: UploadOperation[] = [uploadJson, uploadExcel, loadTables];

export async function registerRoutes(app: FastifyInstance, context: HttpContext): Promise<void> {
  // Fastify's validation is switched off: the routes check queries and bodies themselves, with the same schemas, so that one answer
  // has every problem.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  // Fastify's body parsers are removed, because the routes read bodies themselves, as streams.
  app.removeAllContentTypeParsers();
  await registerOpenApi(app, context.config.limits);
  healthRoutes(app, context);
  guideRoutes(app, consoleRoutes(app, context));
  await app.register(async (api) => {
    acceptBodies(api, ['application/json']);
    createTableRoute(api, context);
    alterTableRoute(api, context);
    renameTableRoute(api, context);
    createWebhookRoute(api, context);
    saveProfileRoute(api, context);
  });
  await app.register(async (api) => {
    ignoreBodies(api);
    describeTableRoute(api, context);
    dropTableRoute(api, context);
    listTablesRoute(api, context);
    listTypesRoute(api, context);
    readRowsRoute(api, context);
    eventFeedRoute(api, context);
    listLoadsRoute(api, context);
    describeLoadRoute(api, context);
    watchLoadRoute(api, context);
    loadProblemsRoute(api, context);
    loadChangesRoute(api, context);
    faultyRowsRoute(api, context);
    cancelLoadRoute(api, context);
    webhookRoutes(api, context);
    profileRoutes(api, context);
  });
  await app.register(async (api) => {
    acceptBodies(api, jsonMediaTypes);
    uploadJsonRoute(api, context);
    inspectJsonRoute(api, context);
  });
  await app.register(async (api) => {
    acceptBodies(api, ['multipart/form-data']);
    uploadExcelRoute(api, context);
    inspectExcelRoute(api, context);
    loadTablesRoute(api, context);
  });
}

/** Passes bodies of these types on to the routes as streams. All other bodies are refused. */
function acceptBodies(api: FastifyInstance, contentTypes: (string | RegExp)[]): void {
  for (const type of contentTypes)
    api.addContentTypeParser(type, async (_request: unknown, payload: unknown) => payload);
  api.addContentTypeParser('*', async ({ headers, routeOptions }: FastifyRequest) => {
    throw unsupportedMediaType(headers['content-type'], routeOptions.url);
  });
  api.addHook('preParsing', async (request) => {
    refuseOtherCharset(request.headers['content-type']);
    parseContentEncoding(request.headers['content-encoding']);
  });
}

/**
 * Accepts any body for routes that need none, and does not read it. Many clients send `Content-Type: application/json` with each
 * request, and some send `{}`.
 */
function ignoreBodies(api: FastifyInstance): void {
  api.addContentTypeParser('*', async () => undefined);
}

/** Refuses JSON in another charset than UTF-8, because it would be misread (RFC 8259 section 8.1). */
function refuseOtherCharset(contentType = ''): void {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  if (charset === undefined || !isJsonType(contentType) || /^(utf-?8|us-ascii)$/i.test(charset)) return;
  throw new AppError('unsupported-media-type', `Send the JSON in UTF-8, not in ${charset.slice(0, 40)}.`);
}
