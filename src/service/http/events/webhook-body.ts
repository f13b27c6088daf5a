/** Reads and checks the body of Create Webhook. */
import type { FastifyRequest } from 'fastify';
import Type, { type TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { AppError, type Problem } from '../../../core/errors.ts';
import { DefinitionProblems } from '../../../engine/tables/definition-problems.ts';
import { readMembers, reportTo } from '../../../engine/tables/read-members.ts';
import { eventTypes } from '../../events/event.ts';
import type { AdmittedRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { parseSmallJson, readDefinitionText } from '../uploads/definition-body.ts';

const maxUrlLength = 2048;
const maxPatterns = 100;
/** The maximum length of a pattern: names in PostgreSQL have at most 63 bytes, and a pattern may also contain some `*`. */
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

/** The webhook that a caller asks for. */
export interface WantedWebhook {
  url: URL;
  types: string[];
  /** The patterns of schemas; undefined: all schemas that the token allows. */
  schemas: string[] | undefined;
}

/**
 * Reads the webhook that the caller asks for.
 *
 * @throws AppError `invalid-json`, `invalid-webhook`, and what `readDefinitionText` throws
 */
export async function readWebhookBody(
  request: FastifyRequest,
  context: HttpContext,
  admitted: AdmittedRequest,
): Promise<WantedWebhook> {
  const maxBytes = Math.min(context.config.limits.maxDefinitionBytes, 1024 * 1024);
  const text = await readDefinitionText(request, context, admitted, maxBytes);
  const {
    url,
    types = [...eventTypes],
    schemas,
  } = await checked(parseSmallJson(text, '{"url": "https://…"}'));
  return { url: checkedUrl(url), types: [...new Set(types)], schemas };
}

/** Checks the body against its schema and returns it. Optional members that are null are removed. @throws AppError `invalid-webhook` with the first problem */
async function checked(body: unknown): Promise<Type.Static<typeof WebhookBody>> {
  const problems = new DefinitionProblems();
  const report = reportTo(problems);
  const member = readMembers(WebhookBody, body, '', report);
  const wanted: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(WebhookBody.properties) as [Member, TSchema][]) {
    const value = member?.(name);
    if (value === undefined || value === null) continue;
    wanted[name] = value;
    if (!Check(schema, value)) report(`/${name}`, 'wrong-type', `must be ${inWords(schema)}`);
    else if (![value].flat().every(isStorable))
      report(`/${name}`, 'wrong-type', 'must not contain NUL or half of a surrogate pair');
  }
  const [problem] = await problems.list();
  if (problem !== undefined) throw invalidWebhook(sentenceOf(problem));
  return wanted as Type.Static<typeof WebhookBody>;
}

/** Returns whether PostgreSQL can store a text. */
function isStorable(text: unknown): boolean {
  return typeof text === 'string' && text.isWellFormed() && !text.includes('\0');
}

type Member = keyof typeof WebhookBody.properties;

function sentenceOf({ pointer = '', code, detail }: Problem): string {
  if (code !== 'wrong-type') return `The body must be like {"url": "https://example.com/hook"}: ${detail}.`;
  return `${pointer === '' ? 'The body' : `The member "${pointer.slice(1)}"`} ${detail}.`;
}

/** The keywords of the schemas above. */
interface Rules extends TSchema {
  enum?: string[];
  items?: Rules;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** Describes the values that a schema allows, for a message. */
function inWords({ items, minItems, maxItems, minLength = 0, maxLength, enum: values }: Rules): string {
  if (items?.enum) return `an array of ${minItems} to ${maxItems} of ${items.enum.join(', ')}`;
  if (items) return `an array of ${minItems} to ${maxItems} strings, each ${inWords(items)}`;
  return values ? `one of ${values.join(', ')}` : `a string of ${minLength} to ${maxLength} characters`;
}

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
