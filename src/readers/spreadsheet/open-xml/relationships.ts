/**
 * Reads the relationships between the parts of a package (ECMA-376 part 2, 6.5). Parts are always found by them, never by the names
 * that they usually have.
 */

import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer } from '../package/zip-container.ts';

export interface Relationship {
  id: string;
  /** The last segment of the type, such as `worksheet`. It is the same in strict and transitional files. */
  type: string;
  /** The name of the part that the relationship points to, without a leading slash. */
  target: string;
}

/**
 * Returns the relationships of a part, by their ids. Relationships to something outside of the package are ignored.
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

/**
 * Returns the part name for a target. A target is a URI relative to the folder of its source. `..` never leads out of the
 * package.
 */
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
