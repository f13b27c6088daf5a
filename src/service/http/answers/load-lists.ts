/** The parts that the endpoints for the stored lists of a load share: pages, and how they are sent. */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type, { type Static, type TInteger, type TObject } from 'typebox';
import { loadStates } from '../../loads/load-state.ts';
import type { LoadView } from '../../loads/load-view.ts';
import type { HttpContext } from '../context.ts';
import {
  type AdmittedLoadRequest,
  admitLoadRequest,
  loadIdOf,
  loadNotFound,
  nullable,
} from './load-answers.ts';

/** Returns the parameters of a page. @param items what the list has @param max the most of them */
export function pageQuery(items: string, max: number): TObject<{ limit: TInteger; after: TInteger }> {
  return Type.Object({
    limit: Type.Integer({
      minimum: 1,
      maximum: max,
      default: 1000,
      description: `The maximum number of ${items} of the answer.`,
    }),
    after: Type.Integer({
      minimum: 0,
      maximum: max,
      default: 0,
      description: `How many of the first ${items} are left out: the value of \`next\` of the page before.`,
    }),
  });
}

/** The members of every page. */
export const pageFacts = {
  load: Type.String({ format: 'uuid' }),
  state: Type.String({
    enum: [...loadStates],
    description: 'The state of the load. Lists are stored when the load ends.',
  }),
  next: nullable(
    Type.Integer({ description: 'Send it as `after` to get the next page. null: this is the last page.' }),
  ),
};

export const pageHeaders = {
  Link: { type: 'string', description: 'The next page (`rel="next"`), if there is one.' },
};

type Page = Static<ReturnType<typeof pageQuery>>;

export interface LoadListRequest extends AdmittedLoadRequest {
  view: LoadView;
}

/**
 * Admits a request for a list of a load, and reads the load.
 *
 * @param isOwn true: only the uploader may see the list
 * @throws AppError the errors of `admitLoadRequest`, `load-not-found`
 */
export async function admitListRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  isOwn = false,
): Promise<LoadListRequest> {
  const admitted = await admitLoadRequest(request, reply, context);
  const { loads, grants, inLine } = admitted;
  const visible = isOwn ? { ...admitted.visible, owner: grants.owner } : admitted.visible;
  const id = loadIdOf(request);
  await loads.reader.untilStored(id, admitted.signal);
  const view = await inLine(() => loads.reader.read(id, visible));
  if (view === undefined) throw loadNotFound();
  return { ...admitted, view };
}

/** Returns `next` of a page, and sets the header `Link`. */
export function linkNext(
  reply: FastifyReply,
  path: string,
  stored: number,
  { after, limit }: Page,
): number | null {
  const next = after + limit < stored ? after + limit : null;
  if (next !== null) reply.header('link', `<${path}?after=${next}&limit=${limit}>; rel="next"`);
  return next;
}

/** Sends the chunks of a page as they are read. */
export function sendPage(
  reply: FastifyReply,
  contentType: string,
  text: AsyncGenerator<string>,
): FastifyReply {
  reply.header('content-type', contentType).header('cache-control', 'no-store');
  return reply.send(Readable.from(text, { highWaterMark: 1 }));
}

/** Yields the lists, each of which is read in its own place in the line. */
export async function* readInLine<Item>(
  lists: AsyncGenerator<Item[]>,
  inLine: LoadListRequest['inLine'],
): AsyncGenerator<Item[]> {
  for (;;) {
    const { done, value } = await inLine(() => lists.next());
    if (done) return;
    yield value;
  }
}

/** Yields a page as JSON. @param member the member that has the items, after the facts */
export async function* jsonOf(
  facts: object,
  member: string,
  lists: AsyncGenerator<unknown[]>,
): AsyncGenerator<string> {
  yield `${JSON.stringify(facts).slice(0, -1)},"${member}":[`;
  let separator = '';
  for await (const list of lists) {
    if (list.length === 0) continue;
    yield separator + JSON.stringify(list).slice(1, -1);
    separator = ',';
  }
  yield ']}';
}
