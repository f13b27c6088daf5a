/** Files of links are fetched over HTTPS from allowed addresses only, completely or not at all, in bounded time and space. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import tls from 'node:tls';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { AppError } from '../../src/core/errors.ts';
import { type FetchOptions, fetchFile } from '../../src/service/fetching/fetch-file.ts';
import { AllowedAddresses } from '../../src/service/outgoing/allowed-addresses.ts';
import { type NameServer, startNameServer } from '../support/name-server.ts';

const certificates = join(import.meta.dirname, '..', 'support', 'certificates');
const never = new AbortController().signal;
const limits = {
  maxBodyBytes: 1_000_000,
  maxUnpackRatio: 10,
  bodyIdleTimeoutMs: 30_000,
  minBodyBytesPerSecond: 1024,
  minBusyBodyBytesPerSecond: 16_384,
};
const secret = 'signature-that-is-secret';

/** The answers of the name server. */
const names: Record<string, string[]> = { 'inner.test': ['10.1.2.3'] };
/** What the HTTPS server answers at each path. */
const pages: Record<string, RequestListener> = {
  '/data/orders.csv': (_, response) => response.end('a,b\n1,2\n'),
};
let nameServer: NameServer;
let addresses: AllowedAddresses;
let server: Server;
let tcpServer: TcpServer;
/** What the server without HTTP writes when a request arrives. */
let raw: (string | Buffer)[] = [];
let url: string;
let rawUrl: string;
let authorities: string[];
before(async () => {
  nameServer = await startNameServer((name) => names[name]);
  addresses = new AllowedAddresses(['127.0.0.1', '::1'], [nameServer.address]);
  authorities = tls.getCACertificates('default');
  tls.setDefaultCACertificates([readFileSync(join(certificates, 'ca.pem'), 'utf8')]);
  const [cert, key] = ['server.pem', 'server.key'].map((name) => readFileSync(join(certificates, name)));
  server = createHttpsServer({ cert, key } as tls.SecureContextOptions, (request, response) => {
    const page = pages[request.url!.split('?')[0]!];
    if (page) page(request, response);
    else response.writeHead(404).end();
  }) as unknown as Server;
  tcpServer = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      for (const piece of raw) socket.write(piece);
      if (raw.at(-1) !== '') socket.end();
    });
  });
  for (const one of [server, tcpServer]) {
    one.listen(0, '127.0.0.1');
    await once(one, 'listening');
  }
  url = `https://localhost:${portOf(server)}`;
  rawUrl = `http://127.0.0.1:${portOf(tcpServer)}/x.csv?${secret}`;
});
after(async () => {
  tls.setDefaultCACertificates(authorities);
  server.closeAllConnections();
  server.close();
  tcpServer.close();
  await nameServer.close();
});

const portOf = (one: Server | TcpServer) => (one.address() as AddressInfo).port;

async function fetchText(link: string, options: Partial<FetchOptions> = {}, signal = never) {
  const { chunks, ...file } = await fetchFile(link, { addresses, limits, ...options }, signal);
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return { ...file, text: Buffer.concat(all).toString() };
}

/** Checks that a link is refused with this code, and that the error does not show the link. @returns the detail */
async function refuse(link: string, code: string, options: Partial<FetchOptions> = {}): Promise<string> {
  let detail = '';
  await assert.rejects(fetchText(link, options), (error: unknown) => {
    assert(error instanceof AppError, String(error));
    assert.equal(error.code, code, error.detail);
    ({ detail } = error);
    assert.doesNotMatch(JSON.stringify([error, error.detail, error.cause]), new RegExp(secret), link);
    return true;
  });
  return detail;
}

const answer = (path: string, page: RequestListener): string => {
  pages[path] = page;
  return `${url}${path}?${secret}`;
};

suite('a link', () => {
  test('the file of a link arrives with its host and its name, and nothing of the caller is sent', async () => {
    let headers: unknown;
    pages['/seen/b.csv'] = (request, response) => {
      headers = request.headers;
      response.end('x\n1\n');
    };
    const found = await fetchText(`${url}/seen/b.csv?${secret}#part`);
    assert.deepEqual(found, { host: new URL(url).host, name: 'b.csv', text: 'x\n1\n' });
    assert.deepEqual(headers, {
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'Tablewright',
      host: new URL(url).host,
      connection: 'close',
    });
  });

  test('the name of a file comes from Content-Disposition or the path, without folders', async () => {
    const nameOf = async (path: string, disposition?: string) => {
      pages[path] = (_, response) => {
        if (disposition) response.setHeader('content-disposition', disposition);
        response.end('a\n');
      };
      return (await fetchText(url + path)).name;
    };
    assert.equal(await nameOf('/a%2Fb/c%20d.csv'), 'c d.csv');
    assert.equal(await nameOf('/folder/'), 'folder');
    assert.equal(await nameOf('/'), 'localhost');
    assert.equal(await nameOf('/%E0%A4%A'), '%E0%A4%A');
    assert.equal(await nameOf('/n', 'attachment; filename="../../etc/p\\"q.csv"'), 'p"q.csv');
    assert.equal(await nameOf('/n', `attachment; filename=x.csv; filename*=UTF-8''%e2%82%ac.csv`), '€.csv');
  });

  test('a link that is no https URL without user name is refused', async () => {
    for (const link of ['', 'x', 'file:///etc/passwd', 'ftp://h/x', 'data:,x', `https://${'a'.repeat(9000)}`])
      await refuse(link, 'link-refused');
    assert.match(await refuse(`https://me:${secret}@localhost/`, 'link-refused'), /user name/);
    assert.match(await refuse('http://93.184.216.34/', 'link-refused'), /https/);
  });

  test('a link to a private address is refused in every notation, before a connection is made', async () => {
    const hosts = `10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 127.0.0.2 0x7f.2 2130706434 017700000002 127.2 0 [::] [fe80::1]
      [::ffff:127.0.0.1] [::ffff:a9fe:a9fe] [fd00::1] [64:ff9b::7f00:1] inner.test INNER.test. ①⓪.0.0.1`;
    for (const host of hosts.split(/\s+/)) {
      const detail = await refuse(`https://${host}/?${secret}`, 'link-refused');
      assert.match(detail, /WEBHOOK_PRIVATE_NETWORKS/, host);
    }
  });

  test('the connection uses the address that was checked, whatever the name server answers later', async () => {
    names['rebound.test'] = ['127.0.0.1'];
    const before = nameServer.asked.length;
    raw = ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'];
    assert.equal((await fetchText(`http://rebound.test:${portOf(tcpServer)}/`)).text, 'ok');
    assert.equal(nameServer.asked.slice(before).length, 2);
    names['rebound.test'] = ['127.0.0.2'];
    await refuse(`http://rebound.test:${portOf(tcpServer)}/`, 'link-refused');
  });
});

suite('a redirect', () => {
  const redirect = (to: string, status = 302) =>
    answer('/to', (_, response) => response.writeHead(status, { location: to }).end('moved'));

  test('a redirect is followed, and the file keeps the name of the link', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const found = await fetchText(redirect(`/data/orders.csv?${secret}`, status));
      assert.deepEqual([found.name, found.text], ['to', 'a,b\n1,2\n']);
    }
  });

  test('a redirect to a private address, to http, to a file or to a user name is refused', async () => {
    const targets = [
      'https://10.0.0.1/',
      'https://inner.test/',
      '//169.254.169.254/latest',
      rawUrl,
      'file:///etc/passwd',
      `https://me:${secret}@localhost/`,
      'https://',
    ];
    for (const target of targets) await refuse(redirect(target), 'link-refused');
  });

  test('more than five redirects are refused', async () => {
    let asked = 0;
    const link = answer('/round', (_, response) => {
      response.writeHead(302, { location: `/round?${++asked}` }).end();
    });
    assert.match(await refuse(link, 'link-refused'), /more than 5 times/);
    assert.equal(asked, 6);
  });
});

suite('an answer', () => {
  test('an answer without the whole file is an error that names the status', async () => {
    for (const [status, code] of [
      [204, 'link-refused'],
      [206, 'link-refused'],
      [300, 'link-refused'],
      [403, 'link-refused'],
      [404, 'link-refused'],
      [429, 'link-failed'],
      [503, 'link-failed'],
    ] as const) {
      const link = answer('/status', (_, response) => response.writeHead(status).end());
      assert.match(await refuse(link, code), new RegExp(` ${status} `));
    }
  });

  test('an answer that ends too early, lies about its length or is no HTTP is an error', async () => {
    const head = 'HTTP/1.1 200 OK\r\n';
    for (const pieces of [
      [`${head}Content-Length: 9\r\n\r\na\n1`],
      [`${head}Content-Length: 2\r\n\r\na\n1\n2\n`],
      [`${head}Transfer-Encoding: chunked\r\n\r\n3\r\na\n1\r\n`],
      [`${head}Transfer-Encoding: chunked\r\n\r\n3\r\na\n1\r\nzz\r\n`],
      [`${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\n1\r\n0\r\n\r\n`],
      ['SSH-2.0-x\r\n'],
      [''.padEnd(1, ' ')],
      [`${head}X: ${'y'.repeat(100_000)}`],
      ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
      ['HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20)],
    ]) {
      raw = pieces;
      await refuse(rawUrl, 'link-failed');
    }
    const member = gzipSync('a\n1\n');
    for (const [field, body] of [
      ['', 'a\n1\n'],
      ['Transfer-Encoding: identity', 'a\n1\n'],
      ['Transfer-Encoding: gzip', 'a\n1\n'],
      ['Transfer-Encoding: chunked, identity', 'a\n1\n'],
      ['Content-Encoding: gzip', member],
    ] as const) {
      raw = [`${head}${field && `${field}\r\n`}\r\n`, body];
      assert.match(await refuse(rawUrl, 'link-refused'), /cut off/, field);
    }
    await refuse('https://localhost:1/', 'link-failed');
  });

  test('an answer that is longer than the limit is refused, whether it states its length or not', async () => {
    const chunk = Buffer.alloc(65_536, 'a');
    const stated = answer('/long', (_, response) => {
      response.writeHead(200, { 'content-length': 2_000_000 }).write(chunk);
    });
    await refuse(stated, 'limit-exceeded');
    let written = 0;
    const endless = answer('/endless', (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length;
      };
      response.on('drain', more);
      more();
    });
    await refuse(endless, 'limit-exceeded');
    assert(written < 50_000_000);
  });

  test('an answer that is sent slowly or not at all is an error', async () => {
    const short = { limits: { ...limits, bodyIdleTimeoutMs: 100 } };
    raw = ['HTTP/1.1 200 OK\r\n', ''];
    assert.match(await refuse(rawUrl, 'link-failed', short), /sent nothing for 100 ms/);
    raw = ['HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na', ''];
    assert.match(await refuse(rawUrl, 'link-failed', short), /sent nothing/);
    const dripping = answer('/drip', (_, response) => {
      // Fast bytes at the beginning give no time for slow ones.
      response.write('a'.repeat(900_000));
      const timer = setInterval(() => response.write('a'), 20);
      response.on('close', () => clearInterval(timer));
    });
    // Also on a busy machine, no pause between two bytes is as long as this.
    const longer = { limits: { ...limits, bodyIdleTimeoutMs: 2000 } };
    assert.match(await refuse(dripping, 'link-failed', longer), /too slowly/);
  });

  test('a place is not held by a slow server while other requests wait', async () => {
    const slow = answer('/slow', (_, response) => {
      const timer = setInterval(() => response.write('a'.repeat(200)), 50);
      response.on('close', () => clearInterval(timer));
    });
    const busy = { ...limits, bodyIdleTimeoutMs: 2000, minBodyBytesPerSecond: 100, othersWait: () => true };
    const detail = await refuse(slow, 'link-failed', { limits: busy });
    assert.match(detail, /too slowly while other requests wait: .*MIN_BUSY_BODY_BYTES_PER_SECOND/);
  });

  test('an answer in very many tiny chunks is an error, and small chunks are read', async () => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    raw = [head, '1\r\na\r\n'.repeat(100_000), '0\r\n\r\n'];
    assert.match(await refuse(rawUrl, 'link-failed'), /too many tiny chunks/);
    raw = [head, `40\r\n${'a'.repeat(64)}\r\n`.repeat(10_000), '0\r\n\r\n'];
    assert.equal((await fetchText(rawUrl)).text.length, 640_000);
  });

  test('an answer ends when its caller stops', async () => {
    const stopping = new AbortController();
    const reason = new Error('stopped');
    const silent = answer('/silent', (_, response) => {
      response.writeHead(200, { 'content-length': 9 }).write('a');
      stopping.abort(reason);
    });
    await assert.rejects(fetchText(silent, {}, stopping.signal), reason);
    await assert.rejects(fetchText(`${url}/data/orders.csv`, {}, stopping.signal), reason);
  });

  test('an answer with Content-Encoding is unpacked, and a bomb or damaged data is an error', async () => {
    const text = 'a,b\n1,2\n';
    const send = (encoding: string, body: Buffer) =>
      answer('/packed', (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));
    assert.equal((await fetchText(send('gzip', gzipSync(text)))).text, text);
    assert.equal((await fetchText(send('BR', brotliCompressSync(text)))).text, text);
    await refuse(send('gzip', gzipSync(text).subarray(0, -4)), 'link-failed');
    await refuse(send('gzip', Buffer.from(text)), 'link-failed');
    await refuse(send('compress', Buffer.from(text)), 'link-refused');
    await refuse(send('gzip, gzip', gzipSync(gzipSync(text))), 'link-refused');
    await refuse(send('gzip', gzipSync(Buffer.alloc(5_000_000))), 'limit-exceeded');
    const large = { limits: { ...limits, maxBodyBytes: 100_000_000 } };
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    assert.match(await refuse(send('gzip', bomb), 'limit-exceeded', large), /MAX_UNPACK_RATIO/);
  });
});
