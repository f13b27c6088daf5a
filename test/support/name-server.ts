/** A name server (RFC 1035) whose answers the test chooses. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';

export interface NameServer {
  /** The address and the port. */
  address: string;
  /** The names that were asked for, each once for IPv4 and once for IPv6. */
  asked: string[];
  close(): Promise<void>;
}

const types = { 4: 1, 6: 28 };
const internet = 1;
const noSuchName = 3;

/** @param find returns the addresses of a name; undefined: the name is not known; null: there is no answer */
export async function startNameServer(
  find: (name: string) => string[] | undefined | null,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const found = find(name);
    if (found === null) return;
    const records = (found ?? []).filter((one) => types[isIP(one) as 4 | 6] === type).map(recordOf);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180 | (found === undefined ? noSuchName : 0), 2);
    header.writeUInt16BE(records.length, 6);
    header.fill(0, 8);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (; query[at] !== 0; at += query[at]! + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Returns a record whose name is that of the question, and which must not be kept. */
function recordOf(address: string): Buffer {
  const data = isIP(address) === 4 ? Buffer.from(address.split('.').map(Number)) : bytesOfV6(address);
  const head = Buffer.from([
    0xc0,
    12,
    0,
    types[isIP(address) as 4 | 6],
    0,
    internet,
    0,
    0,
    0,
    0,
    0,
    data.length,
  ]);
  return Buffer.concat([head, data]);
}

/** @param address the long form, such as `2001:db8:0:0:0:0:0:1` */
function bytesOfV6(address: string): Buffer {
  return Buffer.from(
    address
      .split(':')
      .map((part) => part.padStart(4, '0'))
      .join(''),
    'hex',
  );
}
