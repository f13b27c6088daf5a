/** Reads the OpenAPI document of this source. No database is needed, because no operation is called. */
import { pino } from 'pino';
import { readConfig } from '../../src/core/settings/config.ts';
import { createLines } from '../../src/service/http/admission/lines.ts';
import type { HttpContext } from '../../src/service/http/context.ts';
import { noMeasures } from '../../src/service/http/observing/measures.ts';
import { buildServer } from '../../src/service/http/server.ts';

export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, unknown>;
  components: Record<string, unknown>;
}

export async function readOpenApiDocument(): Promise<OpenApiDocument> {
  const config = readConfig({});
  const context = {
    config,
    lines: createLines(config),
    measures: noMeasures,
    maxConnections: 10,
    isReady: () => true,
    stopping: new AbortController().signal,
  };
  const server = await buildServer(context as unknown as HttpContext, pino({ level: 'silent' }));
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  try {
    const answer = await fetch(`${url}/openapi.json`);
    return (await answer.json()) as OpenApiDocument;
  } finally {
    await server.close();
  }
}
