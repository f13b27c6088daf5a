/** `GET /api/v1/loads/{id}/changes`: the first differences of a load from its table, by pages. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import {
  type ChangedCell,
  maxListedChanges,
  type RowChange,
  type RowCounts,
} from '../../../engine/loading/request/row-change.ts';
import { optionalInteger } from '../../../engine/tables/name-schemas.ts';
import { LoadPath, nullable } from '../answers/load-answers.ts';
import {
  admitListRequest,
  jsonOf,
  linkNext,
  pageFacts,
  pageHeaders,
  pageQuery,
  readInLine,
  sendPage,
} from '../answers/load-lists.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import { shownColumnsOf, shownKey } from '../answers/stored-values.ts';
import type { HttpContext } from '../context.ts';
import { missingCounts } from '../openapi/missing-counts.ts';
import { jsonAnswer, operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';

const Query = pageQuery('changes', maxListedChanges);

const valueOr = (description: string) => Type.Optional(nullable(Type.String({ description })));

const Change = Type.Object(
  {
    kind: Type.String({
      enum: ['inserted', 'changed', 'missing', 'deleted', 'marked'],
      description:
        '`missing`, `deleted` and `marked`: a row of the table that the upload does not have, and what was done with it.',
    }),
    row: optionalInteger('The data row of the upload, from 1.'),
    key: Type.Record(Type.String(), nullable(Type.String()), {
      description: 'The values of the key by which rows were compared, by column.',
    }),
    cells: Type.Array(
      Type.Object({
        column: Type.String(),
        old: valueOr(
          'The value before the load. null: NULL. Absent if there was none, or if you may not read it.',
        ),
        new: valueOr('The value after the load. null: NULL. Absent if there is none.'),
      }),
      { description: 'The cells that differ, or the cells of an inserted row.' },
    ),
  },
  { title: 'RowChange' },
);

const LoadChanges = Type.Object(
  {
    load: pageFacts.load,
    state: pageFacts.state,
    counts: nullable(
      Type.Object(
        {
          inserted: Type.Integer({ description: 'Rows that the table did not have.' }),
          changed: Type.Integer({ description: 'Rows that changed a row of the table.' }),
          unchanged: Type.Integer({ description: 'Rows that were equal to a row of the table.' }),
          ...missingCounts,
        },
        { title: 'ChangeCounts' },
      ),
    ),
    values: Type.String({
      enum: ['all', 'own', 'none'],
      description:
        '`own`: without the old values of the table, because the token or its role may not read them. `none`: the load is of another subject, so only counts are shown.',
    }),
    changes_stored: Type.Integer({ description: 'The number of stored changes.' }),
    next: pageFacts.next,
    changes: Type.Array(Change, { description: 'The changes of the page.' }),
  },
  { title: 'LoadChanges' },
);

export function loadChangesRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/loads/:id/changes',
    {
      schema: {
        ...operation('loads', 'listLoadChanges'),
        description:
          'Lists the differences between a load or a dry run that compared its rows with those of the table (`on_conflict=update`) and that table, before its triggers: the first 10,000, and the counts of all. Old values need the scope `table:read` and a role that is the role of the load and may read the column. For the load of another subject (`load:read-all`) only the counts are shown. `counts` is null if the rows were not compared, or the load has not ended.',
        params: LoadPath,
        querystring: Query,
        response: {
          200: jsonAnswer('The changes.', LoadChanges, pageHeaders),
          ...problemResponses(
            ...tokenErrors,
            'permission-denied',
            'invalid-parameter',
            'load-not-found',
            'database-busy',
            'not-enabled',
          ),
        },
      },
    },
    async (request, reply) => {
      const part = parseQuery(request.query);
      const admitted = await admitListRequest(request, reply, context);
      const { loads, view, inLine, grants } = admitted;
      const { id, state, changeCounts } = view;
      const isOwn = view.owner.equals(grants.owner);
      const readable = await shownColumnsOf(context, admitted, view)();
      const next = isOwn ? linkNext(reply, `/api/v1/loads/${id}/changes`, view.changesStored, part) : null;
      const values = isOwn ? (readable.size > 0 ? 'all' : 'own') : 'none';
      const changes_stored = view.changesStored;
      const facts = { load: id, state, counts: shownCounts(changeCounts), values, changes_stored, next };
      const lists = isOwn ? readInLine(loads.reader.changesOf(view, part), inLine) : noLists();
      return sendPage(reply, jsonContentType, jsonOf(facts, 'changes', shownTo(readable, lists)));
    },
  );
}

/** Returns the counts in the order of the documentation, which `jsonb` does not keep. */
function shownCounts(counts: RowCounts | null | undefined): RowCounts | null {
  if (!counts) return null;
  const { inserted, changed, unchanged, missing, deleted, marked, unmarked } = counts;
  return { inserted, changed, unchanged, missing, deleted, marked, unmarked };
}

async function* noLists(): AsyncGenerator<RowChange[]> {}

/** Leaves out the values of the table before the load in other columns than these. */
async function* shownTo(
  readable: ReadonlySet<string>,
  lists: AsyncGenerator<RowChange[]>,
): AsyncGenerator<RowChange[]> {
  for await (const list of lists) yield list.map((change) => shownChange(change, readable));
}

function shownChange({ kind, row, key, cells }: RowChange, readable: ReadonlySet<string>): RowChange {
  const isSent = kind === 'inserted' || kind === 'changed';
  return {
    kind,
    ...(row !== undefined && { row }),
    // The key of a row that was not sent is a value of the table, too.
    key: isSent ? key : shownKey(key, readable),
    cells: cells.map((cell) => (readable.has(cell.column) ? cell : withoutOld(cell))),
  };
}

function withoutOld({ old: _, ...cell }: ChangedCell): ChangedCell {
  return cell;
}
