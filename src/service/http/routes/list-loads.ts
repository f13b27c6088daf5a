/** `GET /api/v1/loads`: lists loads, the newest first. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { optionalBoolean, optionalText } from '../../../engine/tables/name-schemas.ts';
import type { LoadState } from '../../loads/load-state.ts';
import { loadStates } from '../../loads/load-state.ts';
import { admitLoadRequest, ListedLoad, shownLoad, uuidParameter } from '../answers/load-answers.ts';
import type { HttpContext } from '../context.ts';
import { operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { choice, queryParser } from '../query.ts';
import { checkedKey } from '../uploads/idempotency.ts';

const Query = Type.Object({
  state: Type.Optional(choice(loadStates, { description: 'Only loads in this state.' })),
  schema: optionalText('Only loads into tables of this schema.'),
  table: optionalText('Only loads into tables of this name.'),
  dry_run: optionalBoolean('`false`: without dry runs. `true`: only dry runs.'),
  idempotency_key: optionalText(
    'Only the load of the request with this `Idempotency-Key`, if the subject of the token has sent it. So a client learns the id of its load before the upload is answered.',
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 50,
    description: 'The maximum number of loads of the answer.',
  }),
  after: optionalText('The value of `next` of the page before.'),
});

const Loads = Type.Object(
  {
    loads: Type.Array(ListedLoad),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'Send it as `after` to get the next page. null: this is the last page.',
    }),
  },
  { title: 'LoadList' },
);

export function listLoadsRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/loads',
    {
      schema: {
        ...operation('loads', 'listLoads'),
        description:
          'Lists the loads of the token, the newest first. With the scope `load:read-all` it lists the loads of all tokens. The claim `schemas` of the token limits both.',
        querystring: Query,
        response: {
          200: { description: 'The loads.', content: { 'application/json': { schema: Loads } } },
          ...problemResponses(...tokenErrors, 'invalid-parameter', 'database-busy', 'not-enabled'),
        },
      },
    },
    async (request, reply) => {
      const {
        state,
        schema,
        table,
        dry_run,
        limit,
        after,
        idempotency_key: text,
      } = parseQuery(request.query);
      const { loads, grants, visible, inLine } = await admitLoadRequest(request, reply, context);
      const key = text === undefined ? undefined : checkedKey('idempotency_key', 'query parameter', text);
      const filter = {
        state: state as LoadState | undefined,
        schema,
        table,
        dryRun: dry_run,
        // A key is always looked up for the token's own subject, even if the token may see the loads of all: other subjects may use the same key.
        key: key === undefined ? undefined : { owner: grants.owner, key },
        after: uuidParameter('after', after),
        // One load more than the page has is read, to find out whether there is another page.
        limit: limit + 1,
      };
      const found = await inLine(() => loads.reader.list(filter, visible));
      const page = found.slice(0, limit);
      return {
        loads: page.map((view) => shownLoad(view)),
        next: found.length > limit ? page.at(-1)!.id : null,
      };
    },
  );
}
