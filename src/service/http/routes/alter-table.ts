/** `PUT /api/v1/table/{table_name}`: makes a table what a definition says. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { wrongParameter } from '../../../core/errors.ts';
import { AlteredTableSchema, ChangeSchema } from '../../../engine/tables/change/alter/alter-schemas.ts';
import { type AlterResult, alterTable } from '../../../engine/tables/change/alter/alter-table.ts';
import { type Change, type Loss, losses } from '../../../engine/tables/change/alter/change.ts';
import { TableDescriptionSchema } from '../../../engine/tables/definition.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import { largeDefinitionBytes, tableKey } from '../admission/lines.ts';
import { admitTableRequest, schemaParameter, TablePath, tableLocation } from '../admission/table-request.ts';
import { matchOf } from '../answers/definition-tag.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import type { HttpContext } from '../context.ts';
import { auditing, noteChange } from '../observing/audit.ts';
import {
  bodyErrors,
  changeErrors,
  encodingHeader,
  idempotencyHeader,
  ifMatchHeader,
  ifNoneMatchHeader,
  jsonAnswer,
  operation,
  problemResponses,
  tableLocationHeader,
} from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { requireSchema, requireScope } from '../tokens/auth.ts';
import { readDefinitionText, requireDefinition } from '../uploads/definition-body.ts';
import { answerTextOnce } from '../uploads/idempotency.ts';
import { splitList } from '../uploads/split-list.ts';

const Query = Type.Object({
  schema: schemaParameter,
  dry_run: Type.Boolean({
    default: false,
    description: 'true: answers the changes, and makes none of them. It locks nothing and reads no rows.',
  }),
  allow: Type.Optional(
    Type.String({
      description: `What may be lost, separated by commas: ${losses.map((loss) => `\`${loss}\``).join(', ')}. With \`lossy_types\` values may be rounded or lose precision or the time of day.`,
      examples: ['drop_columns,drop_indexes'],
    }),
  ),
  max_lock_ms: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'The maximum time for which the table may stay locked, in milliseconds.',
    }),
  ),
});

const Body = Type.Object({ table: AlteredTableSchema }, { title: 'AlteredTableBody' });

const Altered = Type.Object(
  { table: TableDescriptionSchema, changes: Type.Array(ChangeSchema) },
  { title: 'AlteredTableAnswer' },
);

const description = `Makes the table what the definition says, in one transaction, or creates it if it is missing. Members that are absent stay as they are; \`[]\` and null remove; a column that \`columns\` does not list is dropped. What loses something needs \`allow\`. If rows cannot follow, the answer names them, and nothing is changed. Needs the scope \`table:alter\`, to create a table also \`table:create\`, for new keys, checks, indexes that may be refused, and generated columns also \`table:read\`, and the role must own the table.`;

const documentation = {
  ...operation('tables', 'alterTable'),
  description,
  params: TablePath,
  headers: Type.Object({
    ...ifMatchHeader,
    ...ifNoneMatchHeader,
    ...idempotencyHeader,
    ...encodingHeader,
  }),
  querystring: Query,
  body: { content: { 'application/json': { schema: Body } } },
  response: {
    200: jsonAnswer(
      'The table as it is now, and its changes. With `dry_run`: the table before them.',
      Altered,
    ),
    201: jsonAnswer('Created.', Altered, tableLocationHeader),
    ...problemResponses(
      ...changeErrors,
      'loses-data',
      'lock-too-long',
      ...bodyErrors,
      'invalid-definition',
      'invalid-data',
      'distribution-unavailable',
    ),
  },
};

export function alterTableRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  const { records } = context;
  app.put(
    '/api/v1/table/:table_name',
    { schema: documentation },
    auditing('alter-table', async (request, reply) => {
      const query = parseQuery(request.query);
      const allow = parseAllow(query.allow);
      const admitted = await admitTableRequest(request, reply, context, query.schema, 'table:alter');
      const { schema, name, grants, caller, signal, transaction } = admitted;
      const { limits } = context.config;
      const text = await readDefinitionText(request, context, admitted);
      const { defaultFunctions: extraFunctions, lockTimeoutMs, statementTimeoutMs } = context.config.database;
      const line = text.length > largeDefinitionBytes ? context.lines.largeCreates : context.lines.creates;
      return answerTextOnce(request, reply, records, { grants, text }, async (keeper) => {
        let result: AlterResult | undefined;
        const toAnswer = () => answerOf(result!, query.dry_run);
        const options = {
          ...{ schema, name, extraFunctions, lockTimeoutMs, statementTimeoutMs, signal, allow },
          admitSchema: (other: string) => requireSchema(grants, other),
          isDryRun: query.dry_run,
          maxLockMs: query.max_lock_ms,
          mayRead: grants.scopes.has('table:read'),
          requireCreate: () => requireScope(grants, 'table:create'),
          requireRead: () => requireScope(grants, 'table:read'),
          onFound: matchOf(request) ?? (() => {}),
          onResult: (found: AlterResult) => {
            result = found;
          },
        };
        const type = () => (result!.isCreated ? 'table.created' : 'table.changed');
        const isChanged = () => result!.changes.length > 0;
        const beforeCommit = () => [
          ...keeper.commitStatements(toAnswer),
          ...(isChanged() ? records.eventStatements([{ type: type(), schema, table: name }]) : []),
        ];
        await line.use({ caller, table: tableKey({ schema, name }) }, signal, async () =>
          alterTable(
            context.pool,
            { ...transaction, beforeCommit },
            { ...options, table: await requireDefinition(text, limits) },
          ),
        );
        const outcome = query.dry_run ? 'checked' : 'committed';
        if (isChanged()) noteChange(request, { outcome, change: result!.isCreated ? 'created' : 'changed' });
        if (query.dry_run) await keeper.keep(toAnswer());
        else if (isChanged()) records.noteEvents();
        return toAnswer();
      });
    }),
  );
}

/** @throws AppError `invalid-parameter` */
function parseAllow(text = ''): ReadonlySet<Loss> {
  const known: readonly string[] = losses;
  const given = splitList(text, ',').filter((item) => item !== '');
  const unknown = given.find((item) => !known.includes(item));
  if (unknown === undefined) return new Set(given as Loss[]);
  const detail = `The query parameter allow must be a list of ${losses.join(', ')}.`;
  throw wrongParameter('allow', detail, { value: unknown });
}

/** It has no ETag: the table is not stored as it was sent (RFC 9110 section 9.3.4). */
function answerOf({ table, changes, counted, isCreated }: AlterResult, isDryRun: boolean): KeptAnswer {
  const rowsOf = new Map(counted.map(({ column, rows }) => [column, rows]));
  const steps = changes.map((step: Change) => {
    const { change, name, detail, statements, ownStatements = [], rewrites, scans, lock, loses } = step;
    const rows = change === 'change-type' ? rowsOf.get(name!) : undefined;
    const sql = `${[...statements, ...ownStatements].join(';\n')};`;
    return { change, detail, sql, rewrites, scans, lock, loses, ...(rows !== undefined && { rows }) };
  });
  const isNew = isCreated && !isDryRun;
  return {
    status: isNew ? 201 : 200,
    headers: {
      ...(isNew && { location: tableLocation(table) }),
      'content-type': jsonContentType,
    },
    body: Buffer.from(JSON.stringify({ table, changes: steps })),
  };
}
