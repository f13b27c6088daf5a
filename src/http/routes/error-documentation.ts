/**
 * `GET /docs/errors/{code}`: where the `type` of every problem leads; the code's section of docs/errors.md, and the page
 * that sections lead on to.
 */
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../../errors.ts';

const markdown = 'text/markdown; charset=utf-8';

export function errorDocumentationRoute(app: FastifyInstance): void {
  const sections = readSections();
  app.get<{ Params: { code: string } }>(
    '/docs/errors/:code',
    { schema: { hide: true } },
    async (request, reply) => {
      const section = sections.get(request.params.code);
      if (section === undefined) throw new AppError('path-not-found', 'There is no such error code.');
      return reply.type(markdown).send(section);
    },
  );
  const limits = readPage('limits.md');
  // Where the link of a section leads, which is a page beside it in the repository.
  app.get('/docs/errors/limits.md', { schema: { hide: true } }, async (_request, reply) =>
    reply.type(markdown).send(limits),
  );
}

/** docs/errors.md, cut at its `## code` headings. */
function readSections(): Map<string, string> {
  const text = readPage('errors.md');
  const sections = text.split(/^(?=## )/m).slice(1);
  return new Map(sections.map((section) => [/^## `?([\w-]+)/.exec(section)?.[1] ?? '', section]));
}

function readPage(name: string): string {
  return readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
}
