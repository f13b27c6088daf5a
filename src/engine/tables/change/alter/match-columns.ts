/** Finds which column of the table each column of a request means, and which columns get another name or are dropped. */
import { shorten } from '../../../../core/identifiers.ts';
import type { TableDescription } from '../../definition.ts';
import { columnPointer } from '../../definition.ts';
import type { DefinitionProblems } from '../../definition-problems.ts';

/** Any JSON object of a request, which was not checked yet. */
export type Json = Record<string, unknown>;

export interface MatchedColumns {
  /** The old name of the column that each column of the request means, by its new name. Columns that are missing here are new. */
  oldNames: Map<string, string>;
  /** The renames, each as the old and the new name, in an order in which every new name is free. */
  renames: [from: string, to: string][];
  /** The columns of the table that the request does not have. */
  dropped: string[];
}

/**
 * Matches the columns by their names and by `renamed_from`. A rename is done already if the old name does not exist and the new one does.
 *
 * @param sent the `table` of the request. If its `columns` is not a list, no column changes
 */
export function matchColumns(
  existing: TableDescription,
  sent: unknown,
  problems: DefinitionProblems,
): MatchedColumns {
  const names = existing.columns.map(({ name }) => name);
  const entries = isObject(sent) ? sent.columns : undefined;
  if (!Array.isArray(entries))
    return { oldNames: new Map(names.map((name) => [name, name])), renames: [], dropped: [] };
  const known = new Set(names);
  const wanted = new Set(entries.map((entry) => (isObject(entry) ? entry.name : undefined)));
  const asked: [from: string, to: string, pointer: string][] = [];
  for (const [index, entry] of entries.entries()) {
    if (!isObject(entry) || typeof entry.name !== 'string') continue;
    const from = entry.renamed_from ?? undefined;
    const pointer = `${columnPointer(index)}/renamed_from`;
    if (from === undefined || from === entry.name) continue;
    if (typeof from !== 'string') {
      problems.add({ pointer, code: 'wrong-type', detail: 'must be the old name of the column' });
    } else asked.push([from, entry.name, pointer]);
  }
  const renames = renamesToDo(
    asked.filter(([from]) => known.has(from)),
    (from, to) => known.has(to) && wanted.has(from),
    problems,
  );
  for (const [from, to, pointer] of asked) {
    if (known.has(from) || (known.has(to) && !renames.has(to))) continue;
    const value = shorten(from);
    const detail = `the table has no column "${value}", nor a column "${shorten(to)}" that was renamed already.`;
    problems.add({ pointer, code: 'unknown-column', detail, value }, { name: from, among: names });
  }
  const ordered = orderRenames(renames, known);
  for (const [from, to] of renames) {
    if (ordered.some(([other]) => other === from)) continue;
    const index = entries.findIndex((entry) => isObject(entry) && entry.name === to);
    const detail = `the table has both a column "${shorten(from)}" and a column "${shorten(to)}"; drop one of them first`;
    problems.add({ pointer: `${columnPointer(index)}/renamed_from`, code: 'duplicate-column', detail });
  }
  const newNames = new Map(ordered);
  const oldNames = new Map<string, string>();
  for (const name of names) {
    const now = newNames.get(name) ?? name;
    if (wanted.has(now)) oldNames.set(now, name);
  }
  const kept = new Set(oldNames.values());
  return { oldNames, renames: ordered, dropped: names.filter((name) => !kept.has(name)) };
}

/**
 * Returns the renames that no earlier request has done, as the new name of each old one.
 *
 * If the table and the request have columns of both names, an earlier request has renamed the one and added the other. But if the column that
 * has the new name gets another name here, it is not the renamed one.
 *
 * @param areBoth whether the table and the request have columns of both names
 */
function renamesToDo(
  asked: [from: string, to: string, pointer: string][],
  areBoth: (from: string, to: string) => boolean,
  problems: DefinitionProblems,
): Map<string, string> {
  const renames = new Map<string, string>();
  /** The renames that are done already, each as the new and the old name. */
  const done = new Map<string, string>();
  let later = asked;
  for (let left = -1; later.length !== left; ) {
    left = later.length;
    later = later.filter(([from, to, pointer]) => {
      if (areBoth(from, to) && !renames.has(to)) return true;
      if (renames.has(from)) {
        const detail = `the column "${shorten(from)}" can get only one new name`;
        problems.add({ pointer, code: 'duplicate-column', detail, value: shorten(from) });
      } else renames.set(from, to);
      return false;
    });
  }
  for (const [from, to, pointer] of later) {
    done.set(to, from);
    if (!isCircle(done, to)) continue;
    const detail = 'the renames exchange names; give one of the columns another name first';
    problems.add({ pointer, code: 'duplicate-column', detail, value: shorten(from) });
  }
  return renames;
}

/** Returns whether a column gets its name back by following the old names. Whether such renames are done already cannot be seen. */
function isCircle(renames: ReadonlyMap<string, string>, name: string): boolean {
  let from = renames.get(name);
  for (let count = renames.size; from !== undefined && from !== name && count > 0; count--)
    from = renames.get(from);
  return from === name;
}

/** Orders the renames so that each new name is free when its turn comes. It leaves out those whose new name stays in use. */
function orderRenames(renames: ReadonlyMap<string, string>, names: ReadonlySet<string>): [string, string][] {
  const used = new Set(names);
  const ordered: [string, string][] = [];
  let waiting = [...renames];
  for (;;) {
    const later = waiting.filter(([from, to]) => {
      if (used.has(to)) return true;
      used.delete(from);
      used.add(to);
      ordered.push([from, to]);
      return false;
    });
    if (later.length === waiting.length || later.length === 0) return ordered;
    waiting = later;
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
