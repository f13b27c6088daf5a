/**
 * `GET /docs/errors/{code}`: where the `type` of every problem leads; the code's section of docs/errors.md.
 */
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../../errors.ts';

export function errorDocumentationRoute(app: FastifyInstance): void {
  const sections = readSections();
  app.get<{ Params: { code: string } }>(
    '/docs/errors/:code',
    { schema: { hide: true } },
    async (request, reply) => {
      const section = sections.get(request.params.code);
      if (section === undefined) throw new AppError('path-not-found', 'There is no such error code.');
      return reply.type('text/markdown; charset=utf-8').send(section);
    },
  );
}

/** docs/errors.md, cut at its `## code` headings. */
function readSections(): Map<string, string> {
  const text = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  const sections = text.split(/^(?=## )/m).slice(1);
  return new Map(sections.map((section) => [/^## `?([\w-]+)/.exec(section)?.[1] ?? '', section]));
}
