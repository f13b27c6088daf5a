/** Reads and checks the body of Create Webhook. */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { Check } from 'typebox/value';
import type { LimitsConfig } from '../config.ts';
import { AppError } from '../errors.ts';
import { eventTypes } from '../events/event.ts';
import { readDefinitionText } from './definition-body.ts';

const maxUrlLength = 2048;
const maxPatterns = 100;
/** PostgreSQL's names have at most 63 bytes. A pattern may have some `*` more. */
const maxPatternLength = 200;

export const WebhookBody = Type.Object(
  {
    url: Type.String({
      maxLength: maxUrlLength,
      description:
        'Where the events are sent: an https URL. An http URL is accepted only for an address in `WEBHOOK_PRIVATE_NETWORKS`.',
      examples: ['https://example.com/hooks/tables'],
    }),
    types: Type.Optional(
      Type.Array(Type.String({ enum: [...eventTypes] }), {
        minItems: 1,
        maxItems: eventTypes.length,
        description: 'The types of the events. Default: all.',
      }),
    ),
    schemas: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: maxPatternLength }), {
        minItems: 1,
        maxItems: maxPatterns,
        description:
          'The schemas whose events are sent: names, in which `*` means any characters. Default: all. Events of schemas that the token does not allow are never sent.',
      }),
    ),
  },
  { title: 'NewWebhook', additionalProperties: false },
);

export interface WebhookWish {
  url: URL;
  types: string[];
  /** undefined: all that the token allows. */
  schemas: string[] | undefined;
}

/**
 * Reads what the caller wants.
 *
 * @throws AppError `invalid-json`, `invalid-webhook`, and what `readDefinitionText` throws
 */
export async function readWebhookBody(
  request: FastifyRequest,
  limits: LimitsConfig,
  stopping: AbortSignal,
): Promise<WebhookWish> {
  const maxDefinitionBytes = Math.min(limits.maxDefinitionBytes, 1024 * 1024);
  const text = await readDefinitionText(request, { ...limits, maxDefinitionBytes }, stopping);
  const { url, types = [...eventTypes], schemas } = checked(parsed(text));
  return { url: checkedUrl(url), types: [...new Set(types)], schemas };
}

function parsed(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    throw new AppError('invalid-json', 'The body is not JSON. Send {"url": "https://…"}.');
  }
}

function checked(body: unknown): Type.Static<typeof WebhookBody> {
  const members = Object.keys(WebhookBody.properties) as (keyof typeof WebhookBody.properties)[];
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidWebhook('The body must be a JSON object, such as {"url": "https://example.com/hook"}.');
  }
  const unknown = Object.keys(body).find((name) => !members.some((member) => member === name));
  if (unknown !== undefined) {
    throw invalidWebhook(
      `The body has a member "${unknown.slice(0, 100)}". The members are ${members.join(', ')}.`,
    );
  }
  for (const [name, rule] of Object.entries(rules)) {
    const value = (body as Record<string, unknown>)[name];
    const isOptional = name !== 'url';
    if (isOptional && value === undefined) continue;
    if (!Check(WebhookBody.properties[name as keyof typeof rules], value))
      throw invalidWebhook(`The member "${name}" must be ${rule}.`);
  }
  return body as Type.Static<typeof WebhookBody>;
}

const rules = {
  url: `a URL of at most ${maxUrlLength} characters`,
  types: `a list with some of ${eventTypes.join(', ')}, each once at most`,
  schemas: `a list of 1 to ${maxPatterns} names of schemas, in which * means any characters`,
};

function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalidWebhook('The member "url" must be an absolute URL that begins with https.');
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw invalidWebhook('The member "url" must have no user name, no password and no fragment.');
  }
  return url;
}

export function invalidWebhook(detail: string): AppError {
  return new AppError('invalid-webhook', detail);
}
