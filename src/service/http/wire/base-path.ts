/**
 * A service below a path of its host (`BASE_PATH`), behind a proxy. The proxy may remove the path from requests or leave it. All paths inside
 * the service begin at `/`, and this file alone adds the base path to what leaves: `Location`, the `type` of errors, the pages and the OpenAPI document.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { problemContentType } from '../answers/problem-json.ts';

/** Returns the path of a request within the service. */
export function withoutBasePath({ url = '/' }: Pick<IncomingMessage, 'url'>, basePath: string): string {
  if (!url.startsWith(basePath)) return url;
  const path = url.slice(basePath.length);
  if (path === '' || path.startsWith('?')) return `/${path}`;
  return path.startsWith('/') ? path : url;
}

export function addBasePath(app: FastifyInstance, basePath: string): void {
  if (basePath === '') return;
  app.addHook('onSend', async (request, reply, payload) => {
    const location = reply.getHeader('location');
    if (typeof location === 'string' && location.startsWith('/'))
      reply.header('location', basePath + location);
    const type = String(reply.getHeader('content-type') ?? '');
    if (type === problemContentType && Buffer.isBuffer(payload)) return withType(payload, basePath);
    if (typeof payload !== 'string') return payload;
    if (type.startsWith('text/html'))
      return payload.replaceAll(/\b(href|src)="\/(?!\/)/g, `$1="${basePath}/`);
    return /^\/(openapi\.json|docs\/json)$/.test(request.url) ? withServer(payload, basePath) : payload;
  });
}

/** Adds the base path to the `type` of a problem document. `type` is always its first member. */
function withType(document: Buffer, basePath: string): Buffer {
  const begin = '{"type":"';
  if (!document.subarray(0, begin.length + 1).equals(Buffer.from(`${begin}/`))) return document;
  return Buffer.concat([Buffer.from(begin + basePath), document.subarray(begin.length)]);
}

function withServer(document: string, basePath: string): string {
  const { servers, ...rest } = JSON.parse(document.replaceAll('](/docs', `](${basePath}/docs`));
  const [server] = servers;
  return JSON.stringify({ ...rest, servers: [{ ...server, url: basePath }] });
}
