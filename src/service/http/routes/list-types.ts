/** `GET /api/v1/types`: lists the types that a column may have. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { optionalText } from '../../../engine/tables/name-schemas.ts';
import {
  type ListedType,
  listTypes,
  maxListedLabels,
  typeKinds,
} from '../../../engine/tables/types/list-types.ts';
import { listForRequest } from '../answers/list-for-request.ts';
import { writePlace } from '../answers/list-places.ts';
import type { HttpContext } from '../context.ts';
import { jsonAnswer, operation, problemResponses, tableErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { allowsSchema } from '../tokens/auth.ts';

const Query = Type.Object({
  schema: optionalText(
    "Only the types of this schema. Default: PostgreSQL's own types, those of extensions, the aliases, and those of all schemas that the token allows.",
  ),
  after: optionalText('The value of `next` in the answer before, to get the types that follow.'),
});

const Listed = Type.Object(
  {
    types: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'The name in `pg_type`, or the alias.', examples: ['mood'] }),
          schema: Type.String({ examples: ['sales'] }),
          type: Type.String({
            description: 'The name to send as the `type` of a column.',
            examples: ['sales.mood'],
          }),
          kind: Type.Unsafe<ListedType['kind']>(Type.String({ enum: [...typeKinds] })),
          labels: Type.Optional(
            Type.Array(Type.String(), {
              description: `The labels of an enum, in their order. Absent if there are more than ${maxListedLabels}.`,
            }),
          ),
          base: optionalText(
            'The type of a domain or an alias, the type of the values of a range, or the ranges of a multirange.',
          ),
          check: optionalText('What the values of a domain must satisfy. Absent if it is too long.'),
          extension: optionalText('The extension that the type belongs to.'),
        },
        { title: 'ListedType' },
      ),
      { description: 'Ordered by schema and name.' },
    ),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'Send this as `after` to get the types that follow. null: there are no more.',
    }),
  },
  { title: 'ListedTypes' },
);

export function listTypesRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/types',
    {
      schema: {
        ...operation('tables', 'listTypes'),
        description:
          "Lists the types that a column may have: in the schemas of the token's claim `schemas`, on which its role has the privilege `USAGE`. Needs the scope `table:read`.",
        querystring: Query,
        response: {
          200: jsonAnswer('The types, in pages.', Listed),
          ...problemResponses(...tableErrors),
        },
      },
    },
    async (request, reply) => {
      const { schema, after } = parseQuery(request.query);
      const wanted = { schema, after, lineKey: 'types' };
      const { types, next } = await listForRequest(request, reply, context, wanted, (scope) => {
        const hasNames = allowsSchema(scope.grants, 'pg_catalog');
        const { client, schemas, place } = scope;
        return listTypes(client, { schemas, hasCommon: schema === undefined, hasNames }, place);
      });
      return { types: types.map(withoutNulls), next: next === undefined ? null : writePlace(next) };
    },
  );
}

function withoutNulls(type: ListedType): Partial<ListedType> {
  return Object.fromEntries(Object.entries(type).filter(([, value]) => value !== null));
}
