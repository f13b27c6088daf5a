/** Writes a place in a list that is ordered by schema and name as the `next` of an answer, and reads it from the parameter `after`. */
import { wrongParameter } from '../../../core/errors.ts';
import { identifierProblem } from '../../../core/identifiers.ts';
import type { ListPlace } from '../../../engine/tables/list-tables.ts';

/** Returns the place as one text for a URL. */
export function writePlace({ schema, name }: ListPlace): string {
  return Buffer.from(JSON.stringify([schema, name])).toString('base64url');
}

/** @throws AppError `invalid-parameter` */
export function readPlace(text: string): ListPlace {
  try {
    const [schema, name] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    const place = { schema: String(schema), name: String(name) };
    const isName = (part: string) => identifierProblem(part) === undefined;
    if (isName(place.schema) && isName(place.name) && writePlace(place) === text) return place;
  } catch {
    // The text is not a value of `next`.
  }
  throw wrongParameter('after', 'The query parameter after must be the value of next in the answer before.');
}
