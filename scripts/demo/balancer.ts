/** A small balancer: it gives each request to the next replica. The header `x-replica` of an answer says which one answered. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProxyServer } from 'httpxy';
import type { Replica } from './replica.ts';

export interface Balancer {
  url: string;
  stop(): void;
}

/** @param replicas those that have ended get no requests. A request with the header `x-replica` goes to the replica of this number */
export async function startBalancer(replicas: Replica[]): Promise<Balancer> {
  const proxy = createProxyServer({ xfwd: true });
  let turn = 0;
  const next = (): Replica | undefined => {
    const running = replicas.filter(({ hasEnded }) => !hasEnded());
    turn++;
    return running[(turn - 1) % running.length];
  };
  const server = createServer(async (request, response) => {
    const wanted = Number(request.headers['x-replica']);
    const replica = replicas.find(({ number }) => number === wanted) ?? next();
    try {
      if (replica === undefined) throw new Error('no replica runs');
      response.setHeader('x-replica', replica.number);
      await proxy.web(request, response, { target: replica.url });
    } catch {
      // Nobody knows what the replica has done with the request. The client may send it again, with its Idempotency-Key.
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
