/** A TCP proxy to PostgreSQL that counts round trips: how often the client sends something after the server has answered. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TurnCounter {
  port: number;
  /** Forgets what was counted so far. */
  reset(): void;
  /** Returns the round trips of the connections that sent this text since `reset`. */
  turnsWith(text: string): number;
  stop(): Promise<void>;
}

interface Counted {
  turns: number;
  sent: string;
  isAnswered: boolean;
}

export async function startTurnCounter(host: string, target: number): Promise<TurnCounter> {
  const open = new Map<Socket, Counted>();
  const server = createServer((socket) => {
    const onward = connect(target, host);
    const counted: Counted = { turns: 0, sent: '', isAnswered: true };
    open.set(socket, counted);
    socket.on('data', (bytes) => {
      if (counted.isAnswered) counted.turns++;
      counted.isAnswered = false;
      counted.sent += bytes.toString('latin1');
    });
    onward.on('data', () => {
      counted.isAnswered = true;
    });
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
    reset: () => {
      for (const counted of open.values()) Object.assign(counted, { turns: 0, sent: '' });
    },
    turnsWith: (text) =>
      [...open.values()].reduce((sum, { turns, sent }) => sum + (sent.includes(text) ? turns : 0), 0),
    stop: async () => {
      server.close();
      for (const socket of open.keys()) socket.destroy();
      await once(server, 'close');
    },
  };
}
