/**
 * Notices that the service does not answer while the page waits for it. A connection may be gone although no request fails: the stream of
 * a load is silent also while nothing happens. So the page asks /healthz when it has heard nothing for a moment.
 */
import type { Transport } from '../client/client.ts';
import { xhrTransport } from '../client/xhr-transport.ts';
import { serviceUrl } from './service-url.ts';

export interface Connection {
  transport: Transport;
  /** Notes a sign of life, for example bytes that were sent. */
  hear(): void;
}

const tickMs = 500;
const quietMs = 1000;
const answerMs = 1500;

/**
 * @param isWaiting whether the page shows work of the service
 * @param tell called with whether the service answers
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
