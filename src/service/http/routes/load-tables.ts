/** `POST /api/v1/loads`: loads several tables in one transaction. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { HttpContext } from '../context.ts';
import { auditing } from '../observing/audit.ts';
import { operation, problemResponses } from '../openapi/openapi.ts';
import { admitPlanRequest, loadTables, PlanQuery } from '../together/load-plan.ts';
import { PlanSchema } from '../together/plan.ts';
import { answerUpload } from '../uploads/handle-upload.ts';
import { filePart, passwordPart, spreadsheetErrors } from '../uploads/spreadsheet.ts';
import {
  LoadedSchema,
  loadIdHeaders,
  uploadErrors,
  uploadHeaders,
  uploadResponses,
} from '../uploads/upload.ts';

const Body = Type.Object(
  { plan: PlanSchema, password: Type.Optional(passwordPart) },
  {
    title: 'PlanUpload',
    additionalProperties: filePart,
    description:
      'A form. Its first part is `plan`; each other part is a file, with the name by which the plan names it, or a field `{"from_url": "https://…"}` with its link, as the part `source` of an upload.',
  },
);

const { table, load } = LoadedSchema.properties;
const { id, duration_ms, dry_run, rows, ...ofTable } = load.properties;

const LoadedTables = Type.Object(
  {
    load: Type.Object({ id, rows, duration_ms, dry_run }),
    tables: Type.Array(
      Type.Object({
        part: Type.Integer({ description: 'The number of the table in the plan, from 1.' }),
        file: Type.String({ description: 'The part of the form with its file.' }),
        change: Type.String({
          enum: ['created', 'replaced', 'emptied', 'loaded'],
          description: 'What happened to the table. `loaded`: rows were added to the existing table.',
        }),
        table,
        load: Type.Object({ rows, ...ofTable }),
      }),
    ),
  },
  { title: 'LoadedTables' },
);

const answer = { headers: loadIdHeaders, content: { 'application/json': { schema: LoadedTables } } };

export function loadTablesRoute(app: FastifyInstance, context: HttpContext): void {
  app.post(
    '/api/v1/loads',
    {
      schema: {
        ...operation('loads', 'loadTables'),
        summary: 'Load Several Tables',
        description:
          'Loads several tables in one transaction: all of them, or nothing. Foreign keys may refer to other tables of the plan, in any order. Needs the scopes of an upload for each table. Errors name their table (`part`), also as CSV (`Accept: text/csv`), in its first column.',
        headers: uploadHeaders,
        querystring: PlanQuery,
        body: { content: { 'multipart/form-data': { schema: Body } } },
        response: {
          200: {
            description: 'Rows were added to existing tables. With `dry_run`: nothing was changed.',
            ...answer,
          },
          201: { description: 'At least one table was created or replaced.', ...answer },
          202: uploadResponses[202],
          ...problemResponses(...uploadErrors, ...spreadsheetErrors),
        },
      },
    },
    auditing(loadTables.name, async (request, reply) =>
      answerUpload(reply, context, await admitPlanRequest(request, reply, context)),
    ),
  );
}
