/** Sends requests that no HTTP client would send, as bytes on a socket, and reads the answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { TestAnswer } from './service.ts';
import { until } from './until.ts';

/**
 * Sends the bytes and reads until the service closes the connection.
 *
 * @param request the bytes of the whole request, after which the service closes the connection (`Connection: close`, or an error)
 */
export async function rawRequest(url: string, request: string | Buffer): Promise<TestAnswer> {
  const socket = await openSocket(url);
  const answer = readToEnd(socket);
  socket.write(request);
  return parseAnswer(await answer);
}

export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('connect', resolve);
  socket.once('error', reject);
  await promise;
  return socket;
}

/** Waits until the service has read everything that was sent. Systems other than Linux do not say this, and it does not wait there. */
export async function untilRead(socket: Socket): Promise<void> {
  if (process.platform !== 'linux') return;
  // proc(5), tcp: the addresses of the socket of the service, its state, and the bytes that it has not sent and not read.
  const port = (number: number | undefined) => number!.toString(16).toUpperCase().padStart(4, '0');
  const unread = new RegExp(
    `: \\w+:${port(socket.remotePort)} \\w+:${port(socket.localPort)} \\w+ \\w+:(\\w+) `,
  );
  await until('the service to read', () => {
    const found = unread.exec(readFileSync('/proc/net/tcp', 'latin1'));
    return found === null || Number.parseInt(found[1]!, 16) === 0;
  });
}

async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Parses an answer with Content-Length. */
export function parseAnswer(text: string): TestAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...headerLines] = text.slice(0, end).split('\r\n');
  const headers = new Headers();
  for (const line of headerLines) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const body = text.slice(end + 4);
  const isJson = /json/.test(headers.get('content-type') ?? '');
  return { status: Number(statusLine.split(' ')[1]), headers, body: isJson ? JSON.parse(body) : body };
}

/** Begins an upload whose headers the service accepts. The test then sends the chunks. */
export async function beginUpload(
  url: string,
  path: string,
  token: string,
  contentType: string,
): Promise<Socket> {
  const socket = await openSocket(url);
  // A test that breaks connections on purpose notices this in another way.
  socket.on('error', () => {});
  socket.write(
    `POST /api/v1/table${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: ${contentType}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`,
  );
  const [go] = await once(socket, 'data');
  assert.match(String(go), /^HTTP\/1\.1 100 /);
  return socket;
}

export function chunk(data: string | Buffer): Buffer {
  const bytes = Buffer.from(data as string);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
