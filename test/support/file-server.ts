/** A server of files on the loopback network, as the target of links. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FileServer {
  /** Returns the link of a file. */
  link(path: string): string;
  /** What it serves, by path without query; a number is a status. */
  files: Record<string, string | Buffer | number>;
  /** The paths that were asked for. */
  asked: string[];
  close(): void;
}

/** The query of each link. It must be seen nowhere. */
export const linkSecret = 'x-signature=secret-of-the-link';

export async function startFileServer(): Promise<FileServer> {
  const files: FileServer['files'] = {};
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url!.split('?')[0]!;
    asked.push(path);
    const file = files[path] ?? 404;
    if (typeof file === 'number') response.writeHead(file).end();
    else response.writeHead(200, { 'content-length': Buffer.byteLength(file) }).end(file);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    link: (path) => `http://127.0.0.1:${port}${path}?${linkSecret}`,
    files,
    asked,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The setting that allows links to this server. */
export const allowsFileServer = { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };

/** Returns a form with a link instead of a file. */
export function formOfLink(link: string, parts: Record<string, unknown> = {}): FormData {
  const form = new FormData();
  for (const [name, part] of Object.entries({ ...parts, source: { from_url: link } }))
    form.append(name, typeof part === 'string' ? part : JSON.stringify(part));
  return form;
}
