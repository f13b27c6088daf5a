/**
 * The pages for people: the list of guides at `/` and `/docs/guides`, the guides under `/docs`, and `/docs/errors/{code}`, to which the `type` of every error points.
 *
 * A browser gets HTML. A client that does not ask for HTML gets Markdown, which is easy to read in a terminal.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { guides, readGuide, renderPage, stylesheet, stylesheetPath } from '../openapi/guides.ts';
import { pagePolicy } from '../openapi/openapi.ts';
import type { SendConsole } from './console.ts';

/** Registers the pages. @param sendConsole sends the console to browsers that ask for `/`; undefined: they get the list of guides */
export function guideRoutes(app: FastifyInstance, sendConsole: SendConsole | undefined): void {
  const hidden = { schema: { hide: true } };
  const get = (path: string, markdown: string) =>
    app.get(path, hidden, async (request, reply) => sendPage(request, reply, path, markdown));

  app.get(stylesheetPath, hidden, async (_request, reply) =>
    reply.type('text/css; charset=utf-8').header('cache-control', 'max-age=3600').send(stylesheet),
  );
  app.get('/', hidden, async (request, reply) => {
    if (sendConsole === undefined || !asksForHtml(request)) return sendPage(request, reply, '/', startPage());
    addVary(reply);
    return sendConsole(request, reply);
  });
  get('/docs/guides', startPage());
  for (const { name } of guides) {
    const markdown = readGuide(name);
    get(`/docs/${name}`, name === 'errors' ? introductionOf(markdown) : markdown);
    app.get(`/docs/${name}.md`, hidden, async (_request, reply) => reply.type(markdownType).send(markdown));
    // If the section of an error is read as Markdown, its relative links lead here.
    app.get(`/docs/errors/${name}.md`, hidden, async (_request, reply) =>
      reply.redirect(`/docs/${name}.md`, 308),
    );
  }

  const sections = sectionsOf(readGuide('errors'));
  app.get<{ Params: { code: string } }>('/docs/errors/:code', hidden, async (request, reply) => {
    const { code } = request.params;
    const section = sections.get(code);
    if (section === undefined) {
      throw new AppError(
        'path-not-found',
        `There is no error code "${code.slice(0, 100)}". All codes are at /docs/errors.`,
      );
    }
    return sendPage(request, reply, `/docs/errors/${code}`, section);
  });
}

const markdownType = 'text/markdown; charset=utf-8';

/** The HTML of the pages that were requested so far. There are at most as many as files and error codes. */
const rendered = new Map<string, string>();

function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  markdown: string,
): FastifyReply {
  addVary(reply);
  if (!asksForHtml(request)) return reply.type(markdownType).send(markdown);
  const html = rendered.get(path) ?? renderPage(markdown, path);
  rendered.set(path, html);
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', pagePolicy)
    .header('x-content-type-options', 'nosniff')
    .send(html);
}

function asksForHtml({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '');
}

/** Adds the header `Vary`, so that a cache stores the HTML and the Markdown of a path separately. */
function addVary(reply: FastifyReply): void {
  reply.header('vary', [reply.getHeader('vary'), 'Accept'].filter(Boolean).join(', '));
}

function startPage(): string {
  const lines = guides.map(({ name, title, about }) => `- [${title}](/docs/${name}): ${about}`);
  return `# Tablewright

Tablewright turns a table definition, JSON rows or a spreadsheet into a PostgreSQL table, over HTTP.

- [API reference](/docs): every operation, to be tried out on the page
- [OpenAPI document](/openapi.json): for generators of clients
${lines.join('\n')}

[/healthz](/healthz) answers while the process runs, [/readyz](/readyz) while the database accepts changes. [/version](/version) returns the version of the service.
`;
}

/** Returns the part of a guide before its first section. */
function introductionOf(guide: string): string {
  return guide.slice(0, guide.search(/^## /m));
}

/** Divides docs/errors.md at its `## code` headings. */
function sectionsOf(guide: string): Map<string, string> {
  const sections = guide.split(/^(?=## )/m).slice(1);
  return new Map(sections.map((section) => [/^## `?([\w-]+)/.exec(section)?.[1] ?? '', section]));
}
