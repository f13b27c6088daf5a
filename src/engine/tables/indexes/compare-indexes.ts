/** Finds the differences between the indexes of a definition and those of a table. */
import type { IndexDefinition, IndexDescription } from './index-definition.ts';

export interface IndexDifference {
  pointer: string;
  detail: string;
}

/**
 * Compares the indexes. Two indexes are equal if everything except their names is equal. The names are compared only if the definition gives one.
 *
 * @param wanted the indexes of the definition, and how PostgreSQL describes each
 */
export function compareIndexes(
  wanted: { index: IndexDefinition; description: IndexDescription }[],
  existing: IndexDescription[],
): IndexDifference[] {
  const differences: IndexDifference[] = [];
  const namesByContent = new Map<string, Set<string>>();
  for (const description of existing) {
    const content = contentOf(description);
    namesByContent.set(content, (namesByContent.get(content) ?? new Set()).add(description.name));
  }
  const candidates = wanted.map((one) => ({ ...one, names: namesByContent.get(contentOf(one.description)) }));
  // An index without a name is equal to each one of its content, so it comes after those whose names are in the table.
  const others = candidates.filter(
    ({ index, names }) => index.name === undefined || !names?.delete(index.name),
  );
  for (const { index, description, names } of others) {
    const [first] = names ?? [];
    if (names === undefined || first === undefined) {
      differences.push({ pointer: index.pointer, detail: `the table has no index ${inWords(description)}` });
      continue;
    }
    names.delete(first);
    if (index.name === undefined) continue;
    differences.push({
      pointer: `${index.pointer}/name`,
      detail: `the index is named "${first}" in the table`,
    });
  }
  for (const name of [...namesByContent.values()].flatMap((names) => [...names])) {
    const detail = `the table has the index "${name}", which the definition does not have`;
    differences.push({ pointer: '/table/indexes', detail });
  }
  return differences;
}

function contentOf({ name: _, ...content }: IndexDescription): string {
  return JSON.stringify(content);
}

function inWords({ unique, method, columns, include, where }: IndexDescription): string {
  const names = columns.map(({ column, expression, order, nulls, operator_class }) =>
    [expression ?? `"${column}"`, operator_class, order, nulls && `nulls ${nulls}`].filter(Boolean).join(' '),
  );
  const kind = [unique && 'that is unique', method && `of the method ${method}`]
    .filter(Boolean)
    .join(' and ');
  const over = `${kind === '' ? '' : `${kind} `}over ${names.join(', ')}`;
  const included = include === undefined ? '' : ` with ${include.map((name) => `"${name}"`).join(', ')}`;
  return `${over}${included}${where === undefined ? '' : ` where ${where}`}`;
}
