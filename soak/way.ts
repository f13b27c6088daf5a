/**
 * The way from the service to a PostgreSQL on another machine: a host name whose address can change, a forwarder at that address, and
 * a PgBouncer if wanted. It needs two addresses of the loopback, as Linux has them.
 */
import { chmod, rename, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import { startPooler } from '../test/support/pooler.ts';

export interface Way {
  /** The URL for the service, with the host name. */
  serviceUrl: string;
  /** The environment in which the service finds the address of the host name. */
  environment: Record<string, string>;
  /** Moves PostgreSQL to another address. Connections to the old address get no more bytes for this time, and then end. */
  move(silentMs: number): Promise<void>;
  end(): Promise<void>;
}

const hostName = 'database.test';
const addresses = ['127.0.0.1', '127.0.0.2'];

/** @param folder a folder for a file with the address */
export async function openWay(postgresUrl: string, folder: string, hasPooler: boolean): Promise<Way> {
  // PgBouncer by default waits 15 seconds before it connects again to a server that has refused a connection.
  const pooler = hasPooler
    ? await startPooler('transaction', postgresUrl, { server_login_retry: 1, query_wait_timeout: 20 })
    : undefined;
  const target = Number(new URL(pooler?.urlOf(postgresUrl) ?? postgresUrl).port);
  const port = await freePort();
  const addressFile = join(folder, 'address');
  let current = 0;
  // The service may read the file at any moment, and must never find it empty.
  const writeAddress = async (): Promise<void> => {
    await writeFile(`${addressFile}.new`, addresses[current]!);
    await chmod(`${addressFile}.new`, 0o644);
    await rename(`${addressFile}.new`, addressFile);
  };
  await writeAddress();
  let forwarder = await forward(addresses[current]!, port, target);
  const url = new URL(postgresUrl);
  url.hostname = hostName;
  url.port = String(port);
  return {
    serviceUrl: url.href,
    environment: {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(resolverFrom(addressFile))}`,
    },
    move: async (silentMs) => {
      const old = forwarder;
      current = 1 - current;
      forwarder = await forward(addresses[current]!, port, target);
      await writeAddress();
      await old.end(silentMs);
    },
    end: async () => {
      await forwarder.end(0);
      await pooler?.stop();
    },
  };
}

/** Returns a module that looks up the host name in the file, and all others as usual. */
function resolverFrom(file: string): string {
  return `import dns from 'node:dns'; import { readFileSync } from 'node:fs';
    const { lookup } = dns;
    dns.lookup = (name, options, callback) => {
      if (name !== '${hostName}') return lookup(name, options, callback);
      const address = readFileSync('${file}', 'utf8');
      process.nextTick(callback, null, options.all ? [{ address, family: 4 }] : address, 4);
    };`;
}

interface Forwarder {
  end(silentMs: number): Promise<void>;
}

async function forward(address: string, port: number, target: number): Promise<Forwarder> {
  const pairs = new Set<[Socket, Socket]>();
  const server: Server = createServer((client) => {
    const behind = connect(target, '127.0.0.1');
    const pair: [Socket, Socket] = [client, behind];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    client.pipe(behind).pipe(client);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
  return {
    end: async (silentMs) => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const [client, behind] of pairs) {
        client.unpipe(behind);
        behind.unpipe(client);
      }
      await sleep(silentMs);
      for (const socket of [...pairs].flat()) socket.destroy();
      await closed;
    },
  };
}
