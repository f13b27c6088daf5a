/**
 * The console: a page at `/` for people who have files. It uses only the public API. The document names the version of all other files,
 * so browsers keep these for ever and ask only for the document.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { consoleFiles } from '../console/console-files.ts';
import type { PackedConsole } from '../console/pack-console.ts';
import { type SignIn, signInFinder } from '../console/sign-in.ts';
import type { HttpContext } from '../context.ts';

export type SendConsole = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Adds the files of the console. @returns the handler of the page itself; undefined: the service has no console */
export function consoleRoutes(app: FastifyInstance, { config }: HttpContext): SendConsole | undefined {
  if (!config.console.isOn) return undefined;
  const findSignIn = signInFinder(config);

  app.get<{ Params: { version: string; '*': string } }>(
    '/console/:version/*',
    { schema: { hide: true } },
    async (request, reply) => {
      const { version, files } = await consoleFiles();
      const file = request.params.version === version ? files.get(request.params['*']) : undefined;
      if (file === undefined)
        throw new AppError('path-not-found', 'The console has no such file. Load the page again.');
      reply.headers({ 'content-type': file.type, 'cache-control': 'public, max-age=31536000, immutable' });
      return sendPacked(request, reply, file);
    },
  );

  return async (request, reply) => {
    const signIn = await findSignIn();
    const html = documentOf(await consoleFiles(), signIn, config.tokens.scopeClaim);
    const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`;
    reply.headers({ 'content-security-policy': policyOf(signIn), 'cache-control': 'no-cache', etag });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type('text/html; charset=utf-8').send(html);
  };
}

function sendPacked(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { bytes, packed }: { bytes: Uint8Array; packed: Uint8Array },
): FastifyReply {
  reply.header('vary', [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', '));
  if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(headers['accept-encoding'] ?? '')))
    return reply.send(bytes);
  return reply.header('content-encoding', 'gzip').send(packed);
}

/** Returns the security policy of the page: it may load only its own files, and connect only to this service and to the endpoint that issues tokens. */
function policyOf(signIn: SignIn | undefined): string {
  const provider = signIn?.tokenEndpoint === undefined ? '' : ` ${new URL(signIn.tokenEndpoint).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    `connect-src 'self'${provider}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

function documentOf(
  { version, modules }: PackedConsole,
  signIn: SignIn | undefined,
  scopeClaims: string[],
): string {
  const folder = `/console/${version}`;
  const preloads = modules.map((path) => `<link rel="modulepreload" href="${folder}/${path}">`);
  const settings = escapeHtml(JSON.stringify({ signIn: signIn ?? null, scopeClaims }));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="tablewright" content="${settings}">
<title>Tablewright</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}/console/style.css">
${preloads.join('\n')}
<script type="module" src="${folder}/console/main.js"></script>
</head>
<body>
<div id="page"></div>
<noscript>The console needs JavaScript. The API works without it: <a href="/docs">API reference</a>.</noscript>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
