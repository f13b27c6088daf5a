/** Serves `GET /metrics` on its own port, so that the public port never shows metrics. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from '../../core/node-http.ts';
import type { Log } from '../../postgres/log.ts';

export interface MetricsServer {
  url: string;
  close(): Promise<void>;
}

/** A scraper needs one connection. Many connections are a mistake or an attack, so they are limited. */
const maxConnections = 50;

/** The text format of Prometheus, as prom-client writes it. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Starts the server. @param collect returns the metrics as text @throws the error of the system if it cannot listen */
export async function startMetricsServer(
  collect: () => Promise<string>,
  { host, port }: { host: string; port: number },
  log: Log,
): Promise<MetricsServer> {
  const server = createServer(async ({ method, url }, response) => {
    const isFound = url === '/metrics';
    if (!isFound || (method !== 'GET' && method !== 'HEAD')) {
      response.writeHead(isFound ? 405 : 404, isFound ? { allow: 'GET, HEAD' } : {}).end();
      return;
    }
    try {
      const text = await collect();
      response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
    } catch (error) {
      log.warn({ err: error }, 'The metrics could not be collected');
      response.writeHead(500).end();
    }
  });
  server.maxConnections = maxConnections;
  server.listen({ host, port });
  await once(server, 'listening');
  const { address, port: listening, family } = server.address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${listening}/metrics`;
  log.info({ url }, 'metrics');
  return {
    url,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
