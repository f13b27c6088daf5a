/** Bounds the memory of bodies that are held as a whole while they arrive: definitions, and plans of several tables. A client may send them slowly, over all connections. */
import type { HttpContext } from '../context.ts';
import { bodyDisplaced } from './lines.ts';
import type { AdmittedRequest } from './table-request.ts';

/** What each connection may hold without a place. A chunk may be longer. */
const freeBytes = 16 * 1024;

/**
 * Takes chunks to the end. After the first ones it waits for a place, because few large bodies may be held at the same time.
 * If the place is given to another caller, `cancel` ends the request, and with it `take`.
 *
 * @param take takes one chunk and returns its length; undefined: there is none, or no more is needed
 * @throws AppError `too-many-requests`, `service-busy`; the errors of `take`
 */
export async function holdBody(
  { lines }: Pick<HttpContext, 'lines'>,
  { caller, signal, cancel }: Pick<AdmittedRequest, 'caller' | 'signal' | 'cancel'>,
  take: () => Promise<number | undefined>,
): Promise<void> {
  let bytes = 0;
  const takeUpTo = async (most: number): Promise<boolean> => {
    while (bytes < most) {
      const taken = await take();
      if (taken === undefined) return true;
      bytes += taken;
    }
    return false;
  };
  if (await takeUpTo(freeBytes)) return;
  const takeRest = () => takeUpTo(Number.POSITIVE_INFINITY);
  await lines.bodies.use({ caller }, signal, takeRest, () => cancel(bodyDisplaced()));
}
