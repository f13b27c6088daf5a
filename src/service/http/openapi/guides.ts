/** Serves the guides in docs/: Markdown for programs and terminals, HTML for browsers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Marked, type RendererThis, type Token, type Tokens } from 'marked';
import { errorCatalogue } from '../../../core/errors.ts';
import { programFolder } from '../../../program-files.ts';

export interface Guide {
  /** The path under /docs, and the name of the file in docs/ without `.md`. */
  name: string;
  title: string;
  about: string;
}

export const guides: Guide[] = [
  {
    name: 'recipes',
    title: 'Recipes',
    about: 'files as people have them, each with the request that loads it and the answer',
  },
  { name: 'definitions', title: 'Definitions', about: 'types, defaults and keys of a table' },
  { name: 'loading', title: 'Loading rows', about: 'how rows become a table: forms, types and values' },
  {
    name: 'existing-tables',
    title: 'Existing tables',
    about: 'add, replace or update rows, and what happens to keys and columns',
  },
  {
    name: 'faulty-rows',
    title: 'Rows with problems',
    about: 'how problems are reported, and how to load the other rows',
  },
  { name: 'warnings', title: 'Warnings', about: 'the answer of an upload, and every warning' },
  { name: 'parameters', title: 'Parameters', about: 'every parameter of uploads and inspections' },
  {
    name: 'console',
    title: 'Console',
    about: 'the web page for loading files, and how people sign in to it',
  },
  { name: 'loads', title: 'Loads', about: 'states, progress, answers and cancelling of uploads' },
  { name: 'events', title: 'Events', about: 'what happened to tables, as a feed for other programs' },
  { name: 'command-line', title: 'Command line', about: 'load files from a terminal or a script' },
  {
    name: 'client',
    title: 'Client',
    about: 'the client for TypeScript and JavaScript, with types for every operation',
  },
  { name: 'spreadsheets', title: 'Spreadsheets', about: 'sheets, headers, cells and formats' },
  { name: 'errors', title: 'Errors', about: 'every error code, and what to do' },
  {
    name: 'tokens',
    title: 'Tokens',
    about: 'identity providers, claims, and what each operation needs',
  },
  { name: 'settings', title: 'Settings', about: 'every setting and its default' },
  { name: 'limits', title: 'Limits', about: 'every limit and its default' },
  { name: 'versions', title: 'Versions', about: 'what may change, and how long an old operation works' },
  { name: 'postgresql', title: 'PostgreSQL', about: 'servers, roles, TLS, poolers and timeouts' },
  { name: 'monitoring', title: 'Monitoring', about: 'metrics, alerts, logs, the audit log and traces' },
  {
    name: 'operations',
    title: 'Operations',
    about: 'deploy, upgrade, back up, scale, and what to do on alerts',
  },
  {
    name: 'scale',
    title: 'Scale',
    about: 'when one PostgreSQL is enough, and how Citus distributes tables over several machines',
  },
  {
    name: 'reliability',
    title: 'Reliability',
    about: 'what is promised about loss, atomicity and cleaning up, and the test of each promise',
  },
  { name: 'architecture', title: 'Architecture', about: 'how the service is built' },
  { name: 'quality', title: 'Quality of reading', about: 'how much of published files is read as meant' },
  { name: 'performance', title: 'Performance', about: 'what was measured, and how to repeat it' },
];

/** Returns the Markdown text of a guide. */
export function readGuide(name: string): string {
  return readFileSync(join(programFolder, 'docs', `${name}.md`), 'utf8');
}

/** Returns links to all guides as one line of Markdown. */
export function guideLinks(): string {
  return guides.map(({ name, title }) => `[${title}](/docs/${name})`).join(' · ');
}

/**
 * Returns the HTML page of a Markdown text. It has no script and loads everything from this service.
 *
 * @param path the path of the page, such as `/docs/loading`
 */
export function renderPage(markdown: string, path: string): string {
  const tokens = marked.lexer(markdown);
  const headings = tokens.filter((token) => token.type === 'heading') as Tokens.Heading[];
  const title = headings[0]?.text.replaceAll('`', '') ?? 'Tablewright';
  const sections = headings.filter(({ depth }) => depth === 2);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Tablewright</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheetPath}">
<nav>
${navigation(path, sections.length > 1 ? sections : [])}
</nav>
<main>
${marked.parser(tokens)}</main>
</html>
`;
}

function navigation(path: string, sections: Tokens.Heading[]): string {
  const link = (to: string, text: string, inner = '') =>
    `<li><a href="${to}"${to === path ? ' aria-current="page"' : ''}>${text}</a>${inner}</li>`;
  const list = (items: string[]) => `<ul>\n${items.join('\n')}\n</ul>`;
  const within = sections.map(({ text }) => link(`#${slug(text)}`, escapeHtml(text.replaceAll('`', ''))));
  const contents = within.length === 0 ? '' : `\n${list(within)}\n`;
  const pages = guides.map(({ name, title }) =>
    link(`/docs/${name}`, title, `/docs/${name}` === path ? contents : ''),
  );
  return list([link('/', '<strong>Tablewright</strong>'), link('/docs', 'API reference'), ...pages]);
}

const marked = new Marked({
  renderer: {
    // The guides contain no HTML, so text that looks like HTML is escaped.
    html: ({ text }) => escapeHtml(text),
    heading(this: RendererThis, { tokens, depth, text }) {
      return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // The service has no images. The pages say in words what the images show.
    image: () => '',
    link(this: RendererThis, { href, tokens }) {
      // A guide links to the files of other guides, so the links are changed to paths of the service.
      const named = guides.find(({ name }) => tokens[0]?.raw === `${name}.md`);
      const text = named?.title ?? this.parser.parseInline(tokens as Token[]);
      const target = servedPath(href);
      return target === undefined ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
    },
  },
});

/** Returns the path of a guide's link in the service; undefined: the link leads to a file that the service does not serve. */
function servedPath(href: string): string | undefined {
  if (/^(https?:|\/)/.test(href)) return href;
  const [file = '', fragment] = href.split('#');
  if (fragment !== undefined && fragment in errorCatalogue && (file === '' || file === 'errors.md')) {
    return `/docs/errors/${fragment}`;
  }
  if (file === '') return href;
  const guide = guides.find(({ name }) => file === `${name}.md`);
  return guide && `/docs/${guide.name}${fragment === undefined ? '' : `#${fragment}`}`;
}

/** Returns the fragment of a heading as GitHub makes it, so that the links in the guides work in both places. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

export const stylesheetPath = '/docs/guides.css';

export const stylesheet = `
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f6f8fa; --link: #0550ae; --quiet: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3d444d; --soft: #1b2129; --link: #79b8ff; --quiet: #9da7b3; }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 76rem; padding: 0 1.5rem; display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 3rem;
  font: 16px/1.6 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 2rem 0; font-size: 0.9rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { margin: 0.2rem 0; }
nav ul ul { margin-left: 0.9rem; border-left: 1px solid var(--line); padding-left: 0.8rem; }
nav a { color: inherit; }
nav a[aria-current] { font-weight: 600; }
main { padding: 1.4rem 0 5rem; min-width: 0; overflow-wrap: break-word; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
h1, h2, h3 { line-height: 1.25; margin: 2.2em 0 0.7em; scroll-margin-top: 1rem; }
h1 { margin-top: 0.4em; }
h2 { border-bottom: 1px solid var(--line); padding-bottom: 0.25em; }
p, ul, ol { max-width: 46rem; }
code { font: 0.87em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; background: var(--soft); padding: 0.1em 0.3em; border-radius: 4px; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: 0.8rem 1rem; overflow-x: auto; }
pre code { padding: 0; background: none; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: 0.92rem; }
th, td { border: 1px solid var(--line); padding: 0.35rem 0.7rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
th:empty { padding: 0; border: 0; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; max-height: none; padding-bottom: 0; }
}
`;
