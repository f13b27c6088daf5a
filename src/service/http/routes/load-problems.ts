/** `GET /api/v1/loads/{id}/problems`: all stored problems of a load, by pages, as JSON or CSV. */
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Problem } from '../../../core/errors.ts';
import { loadStates } from '../../loads/load-state.ts';
import type { LoadView } from '../../loads/load-view.ts';
import { maxCollectedProblems } from '../../loads/problem-lines.ts';
import { admitLoadRequest, LoadPath, loadIdOf, loadNotFound, nullable } from '../answers/load-answers.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import { csvContentType, csvHeader, csvLineOf } from '../answers/problem-table.ts';
import type { HttpContext } from '../context.ts';
import { LocatedProblem, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { queryParser } from '../query.ts';
import { prefersCsv } from '../wire/accept.ts';

const Query = Type.Object({
  limit: Type.Integer({
    minimum: 1,
    maximum: maxCollectedProblems,
    default: 1000,
    description: 'The maximum number of problems of the answer.',
  }),
  after: Type.Integer({
    minimum: 0,
    maximum: maxCollectedProblems,
    default: 0,
    description: 'How many of the first problems are left out: the value of `next` of the page before.',
  }),
});

const LoadProblems = Type.Object(
  {
    load: Type.String({ format: 'uuid' }),
    state: Type.String({
      enum: [...loadStates],
      description: 'The state of the load. Problems are stored when the load ends.',
    }),
    problems_found: Type.Integer({
      description: 'The number of all problems that were found, also of those that are not stored.',
    }),
    problems_stored: Type.Integer({ description: 'The number of stored problems.' }),
    next: nullable(
      Type.Integer({
        description: 'Send it as `after` to get the next page. null: this is the last page.',
      }),
    ),
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
        operationId: 'listLoadProblems',
        tags: ['loads'],
        summary: 'List Load Problems',
        description:
          'Lists the stored problems of a load that was refused, of a dry run, and of a load that left out rows: at most 100,000. With `Accept: text/csv` the answer is CSV with the columns `sheet,cell,row,column,value,code,reason`. The header `Link` then names the next page.',
        security: [{ bearer: [] }],
        params: LoadPath,
        querystring: Query,
        response: {
          200: {
            description: 'The problems.',
            headers: {
              Link: { type: 'string', description: 'The next page (`rel="next"`), if there is one.' },
            },
            content: { 'application/json': { schema: LoadProblems } },
          },
          ...problemResponses(
            ...tokenErrors,
            'invalid-parameter',
            'load-not-found',
            'database-busy',
            'not-enabled',
          ),
        },
      },
    },
    async (request, reply) => {
      const { after, limit } = parseQuery(request.query);
      const { loads, visible, caller, signal } = await admitLoadRequest(request, reply, context);
      const id = loadIdOf(request);
      const inLine = <Result>(read: () => Promise<Result>) =>
        context.lines.describes.use({ caller }, signal, read);
      const view = await inLine(() => loads.reader.read(id, visible));
      if (view === undefined) throw loadNotFound();
      const next = after + limit < view.problemsStored ? after + limit : null;
      if (next !== null)
        reply.header('link', `</api/v1/loads/${id}/problems?after=${next}&limit=${limit}>; rel="next"`);
      const lists = readInLine(loads.reader.problemsOf(view, { after, limit }), inLine);
      const isCsv = prefersCsv(request.headers.accept);
      const text = isCsv ? csvOf(lists) : jsonOf(view, next, lists);
      reply
        .header('content-type', isCsv ? csvContentType : jsonContentType)
        .header('cache-control', 'no-store');
      return reply.send(Readable.from(text, { highWaterMark: 1 }));
    },
  );
}

/** Yields the lists. Each is read in its own place in the line, so that a slow client does not keep a connection to PostgreSQL. */
async function* readInLine(
  lists: AsyncGenerator<Problem[]>,
  inLine: <Result>(read: () => Promise<Result>) => Promise<Result>,
): AsyncGenerator<Problem[]> {
  for (;;) {
    const { done, value } = await inLine(() => lists.next());
    if (done) return;
    yield value;
  }
}

async function* csvOf(lists: AsyncGenerator<Problem[]>): AsyncGenerator<string> {
  yield csvHeader;
  for await (const list of lists) yield list.map(csvLineOf).join('');
}

async function* jsonOf(
  view: LoadView,
  next: number | null,
  lists: AsyncGenerator<Problem[]>,
): AsyncGenerator<string> {
  const { id, state, problemsFound, problemsStored } = view;
  const facts = { load: id, state, problems_found: problemsFound, problems_stored: problemsStored, next };
  yield `${JSON.stringify(facts).slice(0, -1)},"problems":[`;
  let separator = '';
  for await (const list of lists) {
    if (list.length === 0) continue;
    yield separator + JSON.stringify(list).slice(1, -1);
    separator = ',';
  }
  yield ']}';
}
