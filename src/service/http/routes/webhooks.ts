/** `/api/v1/webhooks`: manages the URLs to which the service sends events for a caller, and lists the results of the deliveries. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError } from '../../../core/errors.ts';
import { limitDetail } from '../../../core/limit-exceeded.ts';
import {
  type DeliveryState,
  type DeliveryView,
  deliveryStates,
  type WebhookView,
} from '../../events/webhook-statements.ts';
import {
  maxPatternsPerCaller,
  maxPendingPerCaller,
  maxWebhooksPerCaller,
  type Webhooks,
} from '../../events/webhooks.ts';
import { RefusedAddress } from '../../outgoing/allowed-addresses.ts';
import { type AdmittedRequest, admitRequest } from '../admission/table-request.ts';
import { isUuid, nullable } from '../answers/load-answers.ts';
import type { HttpContext } from '../context.ts';
import { invalidWebhook, readWebhookBody, WebhookBody } from '../events/webhook-body.ts';
import { auditing, noteChange } from '../observing/audit.ts';
import { bodyErrors, jsonAnswer, operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { choice, queryParser } from '../query.ts';
import { requireSchema, requireScope } from '../tokens/auth.ts';

const WebhookPath = Type.Object({
  id: Type.String({
    description: 'The id of the webhook.',
    examples: ['3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e'],
  }),
});

const members = {
  id: Type.String({ format: 'uuid' }),
  url: Type.String({ format: 'uri' }),
  types: Type.Array(Type.String(), { description: 'The types of the events that are sent.' }),
  schemas: nullable(
    Type.Array(Type.String(), {
      description: 'The schemas whose events are sent. null: all that the token of Create Webhook allowed.',
    }),
  ),
  created_at: Type.String({ format: 'date-time' }),
  disabled_at: nullable(
    Type.String({
      format: 'date-time',
      description: 'When the receiver ended the webhook with the status 410. null: the webhook is active.',
    }),
  ),
};
const Webhook = Type.Object(members, { title: 'Webhook' });
const ListedWebhook = Type.Object(
  {
    ...members,
    paused: Type.Boolean({
      description: `true: so many deliveries wait that further events wait, too: ${maxPendingPerCaller.toLocaleString('en')}, shared equally by the active webhooks of the subject. Events that wait for 7 days are not sent.`,
    }),
  },
  { title: 'ListedWebhook' },
);
const CreatedWebhook = Type.Object(
  {
    ...members,
    secret: Type.String({
      description: 'The secret with which the receiver checks signatures. Only this answer has it.',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  },
  { title: 'CreatedWebhook' },
);

const Delivery = Type.Object(
  {
    event: Type.String({ format: 'uuid', description: 'The id of the event.' }),
    type: Type.String({ description: 'The type of the event.' }),
    state: Type.String({
      enum: [...deliveryStates],
      description: 'pending: there will be an attempt. dead: there will be no further attempt.',
    }),
    attempts: Type.Integer(),
    status: nullable(Type.Integer({ description: 'The status of the last answer.' })),
    error: nullable(Type.String({ description: 'Why there was no answer in the last attempt.' })),
    created_at: Type.String({ format: 'date-time' }),
    next_at: nullable(Type.String({ format: 'date-time', description: 'When the next attempt is.' })),
    ended_at: nullable(Type.String({ format: 'date-time' })),
  },
  { title: 'Delivery' },
);

const DeliveryQuery = Type.Object({
  state: Type.Optional(choice(deliveryStates, { description: 'Only deliveries in this state.' })),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 50,
    description: 'The maximum number of deliveries of the answer.',
  }),
});

const usualErrors = [...tokenErrors, 'database-busy', 'not-enabled'] as const;
const documented = (id: string, description: string) => ({
  ...operation('events', id),
  description: `${description} Needs the scope \`webhook:manage\`.`,
});

/** Registers Create Webhook, which has a body. */
export function createWebhookRoute(app: FastifyInstance, context: HttpContext): void {
  const schema = {
    ...documented(
      'createWebhook',
      'Lets the service send events to a URL, as the section `webhooks` of this document describes, signed as Standard Webhooks say. The secret for the signatures is only in this answer. The webhook belongs to the subject of the token, and it keeps the schemas of the token until it is deleted. Needs the scope `event:read`, too.',
    ),
    body: WebhookBody,
    response: {
      201: jsonAnswer('The webhook.', CreatedWebhook),
      ...problemResponses(...usualErrors, 'schema-forbidden', ...bodyErrors, 'invalid-webhook'),
    },
  };
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const admitted = await admit(request, reply, context);
    const { webhooks, grants, caller, signal } = admitted;
    // A webhook gets the same events as the event feed, so it needs the scope of the feed, too.
    requireScope(grants, 'event:read');
    const { url, types, schemas } = await readWebhookBody(request, context, admitted);
    for (const one of schemas ?? []) if (!one.includes('*')) requireSchema(grants, one);
    await checkAddress(webhooks, url);
    const { owner, subject } = grants;
    const wanted = {
      owner,
      subject,
      url: url.href,
      types,
      schemas: schemas ?? null,
      tokenSchemas: grants.schemas ?? null,
    };
    const created = await useLine(context, { caller, signal }, () => webhooks.create(wanted));
    if (typeof created === 'string') throw tooMany(created);
    noteWebhook(request, 'webhook-created', created);
    reply.code(201);
    return { ...shown(created), secret: created.secret };
  };
  app.post('/api/v1/webhooks', { schema }, auditing('create-webhook', handle));
}

function tooMany(what: 'webhooks' | 'patterns'): AppError {
  const detail =
    what === 'webhooks'
      ? limitDetail('The caller has too many webhooks', maxWebhooksPerCaller, 'webhooks')
      : limitDetail(
          'The webhooks of the caller have too many patterns in "schemas"',
          maxPatternsPerCaller,
          'patterns',
        );
  return invalidWebhook(`${detail} Delete a webhook first.`);
}

function noteWebhook(
  request: FastifyRequest,
  change: 'webhook-created' | 'webhook-deleted',
  { id, url }: WebhookView,
): void {
  noteChange(request, { outcome: 'committed', change, webhook: id, origin: new URL(url).origin });
}

/** Registers the operations without a body. */
export function webhookRoutes(app: FastifyInstance, context: HttpContext): void {
  listRoute(app, context);
  deleteRoute(app, context);
  deliveriesRoute(app, context);
  pingRoute(app, context);
}

function listRoute(app: FastifyInstance, context: HttpContext): void {
  const schema = {
    ...documented('listWebhooks', 'Lists the webhooks of the subject of the token.'),
    response: {
      200: jsonAnswer(
        'The webhooks.',
        Type.Object({ webhooks: Type.Array(ListedWebhook) }, { title: 'WebhookList' }),
      ),
      ...problemResponses(...usualErrors),
    },
  };
  app.get('/api/v1/webhooks', { schema }, async (request, reply) => {
    const { webhooks, grants, caller, signal } = await admit(request, reply, context);
    const found = await useLine(context, { caller, signal }, () => webhooks.list(grants.owner));
    return { webhooks: found.map((one) => ({ ...shown(one), paused: one.paused })) };
  });
}

function deleteRoute(app: FastifyInstance, context: HttpContext): void {
  const schema = {
    ...documented(
      'deleteWebhook',
      'Removes a webhook and the records of its deliveries. An attempt that is running is not stopped.',
    ),
    params: WebhookPath,
    response: {
      200: jsonAnswer('The webhook that was removed.', Webhook),
      ...problemResponses(...usualErrors, 'webhook-not-found'),
    },
  };
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const { webhooks, grants, caller, signal } = await admit(request, reply, context);
    const id = idOf(request);
    const removed = await useLine(context, { caller, signal }, () => webhooks.remove(id, grants.owner));
    if (removed === undefined) throw webhookNotFound();
    noteWebhook(request, 'webhook-deleted', removed);
    return shown(removed);
  };
  app.delete('/api/v1/webhooks/:id', { schema }, auditing('delete-webhook', handle));
}

function deliveriesRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(DeliveryQuery);
  const schema = {
    ...documented(
      'listDeliveries',
      'Lists the deliveries of a webhook, the newest first. Deliveries that have ended are kept for 7 days, and of all webhooks of the subject at most 10,000.',
    ),
    params: WebhookPath,
    querystring: DeliveryQuery,
    response: {
      200: jsonAnswer(
        'The deliveries.',
        Type.Object({ deliveries: Type.Array(Delivery) }, { title: 'DeliveryList' }),
      ),
      ...problemResponses(...usualErrors, 'webhook-not-found', 'invalid-parameter'),
    },
  };
  app.get('/api/v1/webhooks/:id/deliveries', { schema }, async (request, reply) => {
    const { state, limit } = parseQuery(request.query);
    const { webhooks, grants, caller, signal } = await admit(request, reply, context);
    const id = idOf(request);
    return useLine(context, { caller, signal }, async () => {
      if ((await webhooks.find(id, grants.owner)) === undefined) throw webhookNotFound();
      const found = await webhooks.deliveries(id, { state: state as DeliveryState | undefined, limit });
      return { deliveries: found.map(shownDelivery) };
    });
  });
}

const endedDetail = 'The receiver has ended this webhook with the status 410. Create a new one.';
const pausedDetail = 'The webhook is paused, because too many of its deliveries wait. Try again later.';

function pingRoute(app: FastifyInstance, context: HttpContext): void {
  const Ping = Type.Object(
    { event: Type.String({ format: 'uuid', description: 'The id of the event.' }) },
    { title: 'Ping' },
  );
  const schema = {
    ...documented(
      'pingWebhook',
      'Sends an event of the type `webhook.ping` to the webhook. List Deliveries shows what became of it.',
    ),
    params: WebhookPath,
    response: {
      202: jsonAnswer('The event is being sent.', Ping),
      ...problemResponses(...usualErrors, 'webhook-not-found', 'invalid-webhook'),
    },
  };
  app.post('/api/v1/webhooks/:id/ping', { schema }, async (request, reply) => {
    const { webhooks, grants, caller, signal } = await admit(request, reply, context);
    const id = idOf(request);
    return useLine(context, { caller, signal }, async () => {
      const found = await webhooks.find(id, grants.owner);
      if (found === undefined) throw webhookNotFound();
      const event = await webhooks.ping(id, grants.owner);
      if (event === undefined) {
        const isPaused = found.disabledAt === null;
        throw invalidWebhook(isPaused ? pausedDetail : endedDetail);
      }
      reply.code(202);
      return { event };
    });
  });
}

async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
): Promise<AdmittedRequest & { webhooks: Webhooks }> {
  const admitted = await admitRequest(request, reply, context, 'webhook:manage');
  return { ...admitted, webhooks: context.records.require().webhooks };
}

function useLine<Result>(
  context: HttpContext,
  { caller, signal }: Pick<AdmittedRequest, 'caller' | 'signal'>,
  work: () => Promise<Result>,
): Promise<Result> {
  return context.lines.describes.use({ caller }, signal, work);
}

async function checkAddress(webhooks: Webhooks, url: URL): Promise<void> {
  try {
    await webhooks.checkUrl(url);
  } catch (error) {
    if (error instanceof RefusedAddress) throw invalidWebhook(error.message);
    throw error;
  }
}

/** Returns the id in the path. @throws AppError `webhook-not-found` if it is not a UUID */
function idOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  if (!isUuid(id)) throw webhookNotFound();
  return id;
}

function webhookNotFound(): AppError {
  return new AppError(
    'webhook-not-found',
    "The subject of the access token has no webhook with this id. GET /api/v1/webhooks lists the subject's webhooks.",
  );
}

function shown(webhook: WebhookView): Record<string, unknown> {
  const { id, url, types, schemas, createdAt, disabledAt } = webhook;
  return { id, url, types, schemas, created_at: createdAt, disabled_at: disabledAt };
}

function shownDelivery(delivery: DeliveryView): Record<string, unknown> {
  const { eventId, type, state, attempts, status, error, createdAt, nextAt, endedAt } = delivery;
  const times = { created_at: createdAt, next_at: nextAt, ended_at: endedAt };
  return { event: eventId, type, state, attempts, status, error, ...times };
}
