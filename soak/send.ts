/** Sends one request as a client would, or as a client that fails in the middle of it. */
import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Sending {
  /** The parts in which the body is sent, with pauses between them. */
  parts: number;
  pauseMs: number;
  /**
   * `vanish`: the client closes the connection after this number of parts. `stall`: it sends only these parts and waits for an
   * answer.
   */
  failure?: { kind: 'vanish' | 'stall'; afterParts: number };
}

export interface Request {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
}

export type Outcome =
  | {
      kind: 'answered';
      status: number;
      // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service answers
      body: any;
      /** The header `Load-Id`. */
      load?: string | undefined;
      /** The answer to an earlier request with the same idempotency key. */
      isReplayed?: boolean;
    }
  /** No server listened, so the request was never sent. */
  | { kind: 'not-sent' }
  | { kind: 'broken'; reason: string };

/** The time limit, which is far longer than any request takes. */
const answerTimeoutMs = 60_000;

export async function send(url: string, request: Request, sending: Sending): Promise<Outcome> {
  const { method, path, headers, body } = request;
  const sent = httpRequest(new URL(path, url), {
    method,
    agent: false,
    headers: { ...headers, ...(body && { 'content-length': body.length }) },
  });
  const outcome = new Promise<Outcome>((resolve) => {
    const timer = setTimeout(() => {
      resolve({ kind: 'answered', status: 0, body: { detail: `no answer in ${answerTimeoutMs} ms` } });
      sent.destroy();
    }, answerTimeoutMs);
    sent.once('close', () => clearTimeout(timer));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isSent = error.code !== 'ECONNREFUSED';
      resolve(isSent ? { kind: 'broken', reason: error.code ?? error.message } : { kind: 'not-sent' });
    });
    sent.once('response', async (response) => {
      try {
        const answer = await text(response);
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        resolve({
          kind: 'answered',
          status: response.statusCode!,
          body: isJson ? JSON.parse(answer) : answer,
          load: response.headers['load-id'] as string | undefined,
          isReplayed: response.headers['idempotency-replayed'] === 'true',
        });
      } catch (error) {
        resolve({ kind: 'broken', reason: String(error) });
      } finally {
        sent.destroy();
      }
    });
  });
  await writeBody(sent, body, sending);
  return outcome;
}

async function writeBody(
  sent: ReturnType<typeof httpRequest>,
  body: Buffer | undefined,
  { parts, pauseMs, failure }: Sending,
): Promise<void> {
  const bytes = body ?? Buffer.alloc(0);
  const partBytes = Math.ceil(bytes.length / parts);
  for (let part = 0; part < parts && !sent.destroyed; part += 1) {
    if (failure !== undefined && part === failure.afterParts) break;
    if (part > 0) await sleep(pauseMs);
    sent.write(bytes.subarray(part * partBytes, (part + 1) * partBytes));
  }
  if (failure === undefined) sent.end();
  else if (failure.kind === 'vanish') {
    // Written bytes reach the service first.
    await sleep(pauseMs);
    sent.destroy(new Error('the client has gone'));
  }
}
