/** What the answers to operations say. */
import type { Operation } from './operations.ts';

export function describeOf({ kind, path }: Operation): string {
  return `${kind} (${path})`;
}

/** Returns the errors in the counts of the answer. */
// biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service answers
export function wrongLoad({ load }: Operation, body: any): string | undefined {
  if (load === undefined) return undefined;
  const { rows, skipped, updated } = body.load;
  if (rows === load.rows && skipped === load.skipped && updated === load.updated) return undefined;
  return `${JSON.stringify({ rows, skipped, updated })} instead of ${JSON.stringify(load)}`;
}

/** Returns whether the connection to the database broke between the COMMIT and its answer, and the service says so. */
export function isOutcomeUnknown(body: { detail?: string }): boolean {
  return body.detail?.includes('is not known') === true;
}
