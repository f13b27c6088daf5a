/** The receiver of a webhook during the faults, which fails from time to time. Each event must arrive, and no other. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { ServiceClient } from '../test/support/service.ts';
import type { SeenEvent } from './feed.ts';
import type { ReadTexts } from './ledger.ts';
import type { Random } from './random.ts';

export interface EventReceiver {
  /** Creates the webhook. */
  register(service: ServiceClient): Promise<void>;
  /** The events that have arrived, by their ids. */
  arrived: Map<string, SeenEvent>;
  /** Returns how many requests have come. */
  deliveries(): number;
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

/** How often the receiver fails, and how. */
const failures = { refused: 0.08, dropped: 0.06, lostAnswer: 0.06 };

export async function startEventReceiver(random: Random): Promise<EventReceiver> {
  const arrived = new Map<string, SeenEvent>();
  let deliveries = 0;
  const wrong: string[] = [];
  let webhook: Webhook | undefined;
  const server = createServer(async (request, response) => {
    try {
      const body = await text(request);
      deliveries += 1;
      checkSignature(webhook!, request.headers as Record<string, string>, body);
      const roll = random.fraction();
      if (roll < failures.refused) response.writeHead(500).end();
      else if (roll < failures.refused + failures.dropped) response.destroy();
      else {
        const event: SeenEvent = JSON.parse(body);
        arrived.set(event.id, event);
        // The service must send an event again if it did not get the answer.
        if (random.chance(failures.lostAnswer)) response.destroy();
        else response.writeHead(204).end();
      }
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
    arrived,
    deliveries: () => deliveries,
    findWrong: async (read) => {
      const giveUpAt = performance.now() + deliveryTimeoutMs;
      let left = await read(undelivered);
      while (left.length > 0 && performance.now() < giveUpAt) {
        await read(hurry);
        await sleep(100);
        left = await read(undelivered);
      }
      const events = new Set((await read(`SELECT id FROM ${schema}.events`)).map(([id]) => id!));
      const arrivedIds = new Set(arrived.keys());
      return [
        ...wrong,
        ...left.map(([id]) => `the event ${id} was not delivered`),
        ...[...events.difference(arrivedIds)].map((id) => `the event ${id} has not arrived`),
        ...[...arrivedIds.difference(events)].map((id) => `the event ${id} does not exist`),
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

/** The time of the message is not compared with the clock, because faults set the clock of the sender. @throws Error if the signature is wrong */
function checkSignature(webhook: Webhook, headers: Record<string, string>, body: string): void {
  const { 'webhook-id': id = '', 'webhook-timestamp': time, 'webhook-signature': signature } = headers;
  const expected = webhook.sign(id, new Date(Number(time) * 1000), body);
  if (signature !== expected || JSON.parse(body).id !== id)
    throw new Error(`the signature of ${id} is wrong`);
}
