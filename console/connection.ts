/**
 * Detects that the service no longer answers while the page waits for it. A broken connection does not always fail a request: the
 * event stream of a load is also silent when nothing happens. So the page requests `/healthz` after a second without data.
 */
import type { Transport } from '../client/client.ts';
import { xhrTransport } from '../client/xhr-transport.ts';
import { serviceUrl } from './service-url.ts';

export interface Connection {
  transport: Transport;
  /** Records that data was sent or received, so that the connection works. */
  hear(): void;
}

const tickMs = 500;
const quietMs = 1000;
const answerMs = 1500;

/**
 * @param isWaiting returns whether the page waits for the service
 * @param tell called with true if the service answers, and with false if it does not
 */
export function createConnection(isWaiting: () => boolean, tell: (answers: boolean) => void): Connection {
  let heardAt = 0;
  let isAsking = false;
  const hear = (): void => {
    heardAt = performance.now();
    tell(true);
  };

  const transport: Transport = async (url, request) => {
    try {
      const answer = await xhrTransport(url, request);
      hear();
      return answer;
    } catch (error) {
      if (!request.signal?.aborted) tell(false);
      throw error;
    }
  };

  async function ask(): Promise<void> {
    if (isAsking || performance.now() - heardAt < quietMs) return;
    isAsking = true;
    try {
      await fetch(`${serviceUrl}/healthz`, { cache: 'no-store', signal: AbortSignal.timeout(answerMs) });
      hear();
    } catch {
      tell(false);
    } finally {
      isAsking = false;
    }
  }

  setInterval(() => {
    if (isWaiting()) ask();
    else tell(true);
  }, tickMs);
  return { transport, hear };
}
