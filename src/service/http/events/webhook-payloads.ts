/** The section `webhooks` of the OpenAPI document: the events as receivers of webhooks get them. */
import Type from 'typebox';
import { DistributionDescriptionSchema } from '../../../engine/tables/definition.ts';
import { optionalInteger, optionalText } from '../../../engine/tables/name-schemas.ts';
import { type EventType, eventTypes, pingType } from '../../events/event.ts';
import { missingCounts } from '../openapi/missing-counts.ts';
import { WidenedColumns } from '../openapi/widened-columns.ts';

const meanings: Record<EventType | typeof pingType, string> = {
  'table.created': 'A table was created.',
  'table.replaced': 'An upload replaced a table.',
  'table.emptied': 'An upload emptied a table.',
  'table.changed': 'A table got another name, schema or comment.',
  'table.dropped': 'A table was dropped.',
  'rows.loaded': 'An upload added or updated rows.',
  'load.refused': 'An upload was refused; nothing was changed.',
  'load.failed': 'The service or the database failed during an upload; nothing was changed.',
  [pingType]: 'A caller tries the webhook.',
};

const TableName = (description: string) =>
  Type.Object({ schema: Type.String(), table: Type.String() }, { description });

const about = {
  schema: Type.String(),
  table: Type.String(),
  load: Type.Optional(
    Type.String({ format: 'uuid', description: 'The id of the load. Absent after Create Table.' }),
  ),
};
const changed = { ...about, distribution: Type.Optional(DistributionDescriptionSchema) };
const ended = {
  ...about,
  status: optionalInteger('The HTTP status of the answer.'),
  code: optionalText('The error code of the answer.'),
};
const data: Record<EventType | typeof pingType, Record<string, Type.TSchema>> = {
  'table.created': changed,
  'table.replaced': changed,
  'table.emptied': changed,
  'table.changed': {
    schema: Type.String(),
    table: Type.String(),
    renamed_from: Type.Optional(TableName('The name that it had, if the token allows that schema.')),
    renamed_to: Type.Optional(
      TableName(
        'The name that it has now, in an event about the schema that it had, if the token allows the new schema.',
      ),
    ),
  },
  'table.dropped': { schema: Type.String(), table: Type.String() },
  'rows.loaded': {
    ...changed,
    rows: Type.Integer({ description: 'The rows that were added.' }),
    inserted: Type.Integer({ description: 'The same number as `rows`.' }),
    updated: Type.Integer({ description: '`changed` and `unchanged` together.' }),
    changed: Type.Integer({ description: 'The existing rows that got other values.' }),
    unchanged: Type.Integer({ description: 'The rows that changed nothing (`on_conflict=update`).' }),
    skipped: Type.Integer({ description: 'The rows that were skipped, because their keys already existed.' }),
    ...missingCounts,
    rows_left_out: Type.Integer({
      description: 'The rows that were left out, because they had problems (`faulty_rows`).',
    }),
    widened: Type.Optional(WidenedColumns),
  },
  'load.refused': ended,
  'load.failed': ended,
  [pingType]: { webhook: Type.String({ format: 'uuid', description: 'The id of the webhook.' }) },
};

const signatureHeaders = [
  ['webhook-id', 'The id of the event. It is the same in each attempt.'],
  ['webhook-timestamp', 'When the attempt began, in seconds since 1970.'],
  [
    'webhook-signature',
    'The signature (Standard Webhooks): `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.',
  ],
].map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}));

const types = [...eventTypes, pingType] as const;

/** Returns one entry for each type of event. */
export function eventPayloads(): Record<string, object> {
  return Object.fromEntries(types.map((type) => [type, { post: payloadOf(type) }]));
}

function payloadOf(type: EventType | typeof pingType): object {
  const words = type.split('.').map((word) => word[0]!.toUpperCase() + word.slice(1));
  const event = Type.Object(
    {
      specversion: Type.Literal('1.0'),
      id: Type.String({ format: 'uuid' }),
      source: Type.String({
        format: 'uri-reference',
        description: 'The URL of the table, relative to the service.',
      }),
      type: Type.Literal(type),
      time: Type.String({ format: 'date-time' }),
      datacontenttype: Type.Literal('application/json'),
      data: Type.Object(data[type]),
    },
    { title: `${words.join('')}Event`, description: `${meanings[type]} A CloudEvent (1.0).` },
  );
  return {
    operationId: `on${words.join('')}`,
    tags: ['events'],
    summary: words.join(' '),
    description: `${meanings[type]} The receiver answers with 2xx within 10 seconds.`,
    security: [],
    parameters: signatureHeaders,
    requestBody: { required: true, content: { 'application/cloudevents+json': { schema: event } } },
    responses: {
      '2XX': { description: 'The event has arrived.' },
      '410': { description: 'The receiver ends the webhook.' },
      default: { description: 'The service tries again later.' },
    },
  };
}
