/** Compares the OpenAPI document with the document from which the types of the client were made. */
import { createHash } from 'node:crypto';

/** The members that only people read. A change of them changes no type. */
const texts = new Set(['description', 'summary', 'examples', 'title', 'tags']);

/**
 * Returns a digest of everything in the document that decides the types: paths and components without their descriptions.
 * The order of members has no meaning. The part `info` has the limits of one service, so it is left out.
 */
export function structureDigest(document: { paths?: unknown; components?: unknown }): string {
  const { paths, components } = document;
  const text = JSON.stringify({ paths: ordered(paths), components: ordered(components) });
  return createHash('sha256').update(text).digest('hex');
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    // A property of a schema may have the name `description`. Then its value is an object.
    .filter(([name, child]) => !texts.has(name) || isSchema(child))
    .map(([name, child]) => [name, ordered(child)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the line of the generated file that has the digest. */
export function digestLine(digest: string): string {
  return `// The structure of the OpenAPI document has the SHA-256 ${digest}.`;
}
