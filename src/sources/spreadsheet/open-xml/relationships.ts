/** Relationships between the parts of a package (ECMA-376 part 2, 6.5): how parts are found, never by guessed names. */

import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer } from '../package/zip-container.ts';

export interface Relationship {
  id: string;
  /** The last segment of the type, `worksheet`: equal in strict and transitional files. */
  type: string;
  /** Name of the part that it leads to, without a leading slash. */
  target: string;
}

/**
 * The relationships of a part; none where it has no relationship part. Those that lead outside of the package are
 * left out: nothing outside is ever followed.
 *
 * @param sourceName the part's name; `''` for the package itself
 */
export async function readRelationships(
  container: ZipContainer,
  sourceName: string,
): Promise<Map<string, Relationship>> {
  const relationships = new Map<string, Relationship>();
  const folderEnd = sourceName.lastIndexOf('/') + 1;
  const folder = sourceName.slice(0, folderEnd);
  const part = container.find(`${folder}_rels/${sourceName.slice(folderEnd)}.rels`);
  if (part === undefined) return relationships;
  await readSmallPart(container, part, (tag, path) => {
    if (path !== 'Relationships/Relationship') return;
    const id = attributeOf(tag, 'Id');
    const type = attributeOf(tag, 'Type');
    const target = attributeOf(tag, 'Target');
    if (id === undefined || type === undefined || target === undefined) return;
    if (attributeOf(tag, 'TargetMode')?.toLowerCase() === 'external') return;
    relationships.set(id, {
      id,
      type: type.slice(type.lastIndexOf('/') + 1),
      target: resolveTarget(folder, target),
    });
  });
  return relationships;
}

/** A target is a URI relative to its source's folder; `..` never leads out of the package. */
function resolveTarget(folder: string, target: string): string {
  const name = decodeName(target.replace(/[#?].*$/s, '').replaceAll('\\', '/'));
  const segments: string[] = [];
  for (const segment of `${name.startsWith('/') ? '' : folder}${name}`.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return segments.join('/');
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
