/** `GET /api/v1/loads/{id}/problems`: all stored problems of a load, by pages, as JSON or CSV. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Problem } from '../../../core/errors.ts';
import { maxCollectedProblems } from '../../loads/problem-lines.ts';
import { LoadPath } from '../answers/load-answers.ts';
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
import { csvContentType, csvHeader, csvHeaderOfTables, csvLineOf } from '../answers/problem-table.ts';
import { type ShownColumns, shownColumnsOf, shownProblems } from '../answers/stored-values.ts';
import type { HttpContext } from '../context.ts';
import { jsonAnswer, LocatedProblem, operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { prefersCsv } from '../wire/accept.ts';

const Query = pageQuery('problems', maxCollectedProblems);

const LoadProblems = Type.Object(
  {
    load: pageFacts.load,
    state: pageFacts.state,
    problems_found: Type.Integer({
      description: 'The number of all problems that were found, also of those that are not stored.',
    }),
    problems_stored: Type.Integer({ description: 'The number of stored problems.' }),
    next: pageFacts.next,
    problems: Type.Array(LocatedProblem, {
      description: 'The problems of the page, in the order of the rows.',
    }),
  },
  { title: 'LoadProblems' },
);

export function loadProblemsRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get(
    '/api/v1/loads/:id/problems',
    {
      schema: {
        ...operation('loads', 'listLoadProblems'),
        description:
          'Lists the stored problems of a load that was refused, of a dry run, and of a load that left out rows: at most 100,000. With `Accept: text/csv` the answer is CSV with the columns `sheet,cell,row,column,value,code,reason`, for a load of several tables after the column `part`. The header `Link` then names the next page.',
        params: LoadPath,
        querystring: Query,
        response: {
          200: jsonAnswer('The problems.', LoadProblems, pageHeaders),
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
      const { loads, view, inLine } = admitted;
      const { id, state, problemsFound, problemsStored } = view;
      const next = linkNext(reply, `/api/v1/loads/${id}/problems`, problemsStored, part);
      const stored = readInLine(loads.reader.problemsOf(view, part), inLine);
      const lists = shownLists(stored, shownColumnsOf(context, admitted, view));
      if (prefersCsv(request.headers.accept)) {
        const header = view.parts === null ? csvHeader : csvHeaderOfTables;
        return sendPage(reply, csvContentType, csvOf(header, lists));
      }
      const facts = { load: id, state, problems_found: problemsFound, problems_stored: problemsStored, next };
      return sendPage(reply, jsonContentType, jsonOf(facts, 'problems', lists));
    },
  );
}

async function* shownLists(
  lists: AsyncGenerator<Problem[]>,
  columns: ShownColumns,
): AsyncGenerator<Problem[]> {
  for await (const list of lists) yield await shownProblems(list, columns);
}

async function* csvOf(header: string, lists: AsyncGenerator<Problem[]>): AsyncGenerator<string> {
  yield header;
  for await (const list of lists) yield list.map(csvLineOf).join('');
}
