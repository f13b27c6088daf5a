/**
 * Runs a client in a separate thread, so that its work with large bodies is not measured as work of a service in this thread. This file
 * is also the program of that thread.
 */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

export interface ThreadRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

export interface ThreadAnswer {
  status: number;
  /** The first characters of the body. */
  text: string;
}

export interface ThreadClient {
  send(request: ThreadRequest): Promise<ThreadAnswer>;
  end(): Promise<number>;
}

const shownCharacters = 1000;

/** Starts a client that sends one request at a time. */
export function startThreadClient(): ThreadClient {
  const worker = new Worker(import.meta.filename);
  return {
    send: (request) => {
      const { promise, resolve, reject } = Promise.withResolvers<ThreadAnswer>();
      worker.once('message', (answer: ThreadAnswer | string) => {
        if (typeof answer === 'string') reject(new Error(answer));
        else resolve(answer);
      });
      worker.postMessage(request);
      return promise;
    },
    end: () => worker.terminate(),
  };
}

async function send({ url, ...request }: ThreadRequest): Promise<ThreadAnswer> {
  const answer = await fetch(url, request);
  const text = await answer.text();
  return { status: answer.status, text: text.slice(0, shownCharacters) };
}

if (!isMainThread) {
  parentPort!.on('message', async (request: ThreadRequest) => {
    parentPort!.postMessage(await send(request).catch(String));
  });
}
