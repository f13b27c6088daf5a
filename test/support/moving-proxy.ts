/** A TCP proxy whose target can change while connections are open: these keep their target, as connections behind a load balancer do. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface MovingProxy {
  port: number;
  /** Leads new connections to another port of this machine. */
  leadTo(port: number): void;
  /** Ends all connections, and refuses new ones until `leadTo`. */
  cut(): void;
  /** The ports of the targets of the open connections. */
  targets(): number[];
  stop(): Promise<void>;
}

export async function startMovingProxy(firstTarget: number): Promise<MovingProxy> {
  let target: number | undefined = firstTarget;
  const open = new Map<Socket, number>();
  const server = createServer((socket) => {
    if (target === undefined) return void socket.destroy();
    const onward = connect(target, '127.0.0.1');
    open.set(socket, target);
    socket.pipe(onward).pipe(socket);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
    socket.on('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (port) => {
      target = port;
    },
    cut: () => {
      target = undefined;
      for (const socket of open.keys()) socket.destroy();
    },
    targets: () => [...open.values()],
    stop: async () => {
      server.close();
      for (const socket of open.keys()) socket.destroy();
      await once(server, 'close');
    },
  };
}
