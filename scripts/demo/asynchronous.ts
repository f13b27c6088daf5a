/** The fourth part of the demo: an asynchronous upload, its progress, and the webhook that tells of its rows. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { shownJson } from './shown.ts';

export interface Api {
  url: string;
  token: string;
  signal: AbortSignal;
}

const rows = 200_000;
/** The first progress of a load is shown at once, and then at most once in this time. */
const shownEveryMs = 500;

/** Sends the rows, shows the progress until the load has ended, and waits for the webhook. @throws Error if something fails */
export async function loadLater(api: Api, say: (text: string) => void): Promise<void> {
  const receiver = await startReceiver(api.signal);
  try {
    say(`$ curl … -d '{"url": "${receiver.url}", "types": ["rows.loaded"]}' ${api.url}/api/v1/webhooks\n`);
    const body = JSON.stringify({ url: receiver.url, types: ['rows.loaded'] });
    const { secret } = await send(api, '/api/v1/webhooks', body, {}, 201);
    const path = '/api/v1/table/measurements/upload/json';
    say(`$ curl … -H "Prefer: respond-async" --data-binary @measurements.ndjson ${api.url}${path}\n`);
    const headers = { prefer: 'respond-async', 'content-type': 'application/x-ndjson' };
    const load = await send(api, path, measurements(), headers, 202);
    say(`202 Accepted\nLocation: /api/v1/loads/${load.id}\n`);
    say(`$ curl … ${api.url}/api/v1/loads/${load.id}/events\n`);
    await showProgress(api, String(load.id), say);
    const { headers: signed, text: message } = await receiver.message;
    const event = new Webhook(String(secret)).verify(message, signed);
    say(`\nThe webhook has arrived, and its signature is right:\n\n${shownJson(event)}`);
  } finally {
    receiver.stop();
  }
}

async function send(
  { url, token, signal }: Api,
  path: string,
  body: string,
  headers: Record<string, string>,
  status: number,
): Promise<Record<string, unknown>> {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body,
    signal,
  });
  const json = (await answer.json()) as Record<string, unknown>;
  if (answer.status !== status)
    throw new Error(`${path} was answered with ${answer.status}: ${shownJson(json)}`);
  return json;
}

function measurements(): string {
  const line = (_: unknown, n: number): string =>
    JSON.stringify({ sensor: n % 50, at: new Date(n * 1000).toISOString(), value: n / 8 });
  return Array.from({ length: rows }, line).join('\n');
}

/** Shows the events of a load until it has ended. @throws Error if it was not committed */
async function showProgress(
  { url, token, signal }: Api,
  id: string,
  say: (text: string) => void,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const stream = await fetch(`${url}/api/v1/loads/${id}/events`, { headers, signal });
  let unread = '';
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let state = '';
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (unread + chunk).split('\n\n');
    unread = parts.pop()!;
    for (const part of parts) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/m.exec(part) ?? [];
      if (data === undefined) continue;
      const load = JSON.parse(data);
      state = load.state;
      if (event === 'progress' && performance.now() - shownAtMs < shownEveryMs) continue;
      shownAtMs = performance.now();
      say(
        `event: ${event!.padEnd(8)}  ${state.padEnd(9)}  ${load.rows_read.toLocaleString('en-US')} rows read`,
      );
    }
  }
  if (state !== 'committed') throw new Error(`the load is ${state}, not committed`);
}

interface Receiver {
  url: string;
  message: Promise<{ headers: Record<string, string>; text: string }>;
  stop(): void;
}

async function startReceiver(signal: AbortSignal): Promise<Receiver> {
  const first = Promise.withResolvers<{ headers: Record<string, string>; text: string }>();
  first.promise.catch(() => {});
  signal.addEventListener('abort', () => first.reject(signal.reason), { once: true });
  const server = createServer(async (request, response) => {
    first.resolve({ headers: request.headers as Record<string, string>, text: await text(request) });
    response.writeHead(204).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/hook`, message: first.promise, stop };
}
