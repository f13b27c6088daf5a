/** The receiver of a webhook, which the service runs against during the faults: each event must arrive, and no other. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { ServiceClient } from '../test/support/service.ts';
import type { ReadTexts } from './ledger.ts';

export interface EventReceiver {
  /** Creates the webhook. */
  register(service: ServiceClient): Promise<void>;
  /** Returns how many different events have arrived. */
  count(): number;
  /** Waits until everything was delivered, and returns what is wrong. The service must be running. */
  findWrong(read: ReadTexts): Promise<string[]>;
  close(): Promise<void>;
}

/** How long the deliveries may take after the last fault. */
const deliveryTimeoutMs = 60_000;
const schema = 'tablewright_service';

/** Attempts that failed because of a fault are repeated at once. */
const hurry = `UPDATE ${schema}.deliveries SET next_at = now() WHERE state = 'pending' AND attempts > 0 AND next_at > now() + interval '1 second'`;
const undelivered = `SELECT id FROM ${schema}.events WHERE position IS NULL OR position > (SELECT position FROM ${schema}.webhooks)
  UNION ALL SELECT event_id FROM ${schema}.deliveries WHERE state <> 'delivered'`;

/** An event and the record of its load must agree. */
const contradictions = `SELECT event->>'type', l.id, l.state FROM ${schema}.events LEFT JOIN ${schema}.loads l ON l.id::text = event->'data'->>'load'
    WHERE event->'data' ? 'load' AND l.state IS DISTINCT FROM CASE event->>'type'
      WHEN 'load.refused' THEN 'refused' WHEN 'load.failed' THEN 'failed' ELSE 'committed' END
  UNION ALL SELECT 'no event', l.id, l.state FROM ${schema}.loads l
    WHERE l.state IN ('refused', 'failed') AND NOT l.dry_run
      AND NOT EXISTS (SELECT FROM ${schema}.events WHERE event->'data'->>'load' = l.id::text)`;

export async function startEventReceiver(): Promise<EventReceiver> {
  const arrived = new Set<string>();
  const wrong: string[] = [];
  let webhook: Webhook | undefined;
  const server = createServer(async (request, response) => {
    try {
      const body = await text(request);
      webhook!.verify(body, request.headers as Record<string, string>);
      arrived.add(JSON.parse(body).id);
      response.writeHead(204).end();
    } catch (error) {
      // The connection of a service that was killed breaks.
      if (!request.destroyed) wrong.push(`an event was refused: ${String(error)}`);
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    register: async (service) => {
      const { status, body } = await service.post('/api/v1/webhooks', { url });
      if (status !== 201) throw new Error(`the webhook was not created: ${JSON.stringify(body)}`);
      webhook = new Webhook(body.secret);
    },
    count: () => arrived.size,
    findWrong: async (read) => {
      const giveUpAt = performance.now() + deliveryTimeoutMs;
      let left = await read(undelivered);
      while (left.length > 0 && performance.now() < giveUpAt) {
        await read(hurry);
        await sleep(100);
        left = await read(undelivered);
      }
      const events = new Set((await read(`SELECT id FROM ${schema}.events`)).map(([id]) => id!));
      return [
        ...wrong,
        ...left.map(([id]) => `the event ${id} was not delivered`),
        ...[...events.difference(arrived)].map((id) => `the event ${id} has not arrived`),
        ...[...arrived.difference(events)].map((id) => `the event ${id} does not exist`),
        ...(await read(contradictions)).map((row) => `an event and its load disagree: ${row.join(' ')}`),
      ];
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
