/** Says in our words why PostgreSQL refuses a type. */
import type { ClientBase, DatabaseError } from 'pg';
import type { Problem } from '../errors.ts';
import { listTypeNames } from './catalog.ts';
import type { TypeName } from './column-types.ts';
import { friendlyTypeNames } from './column-types.ts';
import { didYouMean } from './identifiers.ts';

/** The limits of the built-in types (PostgreSQL 8.1.2, 8.3, 8.5, 8.10), for those that wrote past them. */
const modifierRules: [RegExp, string][] = [
  [/^(varchar|character|bpchar)/, 'the length must be 1 to 10485760'],
  [/^(bit|varbit)/, 'the length must be 1 to 83886080'],
  [/^(numeric|decimal|dec\b)/, 'the precision must be 1 to 1000 and the scale -1000 to 1000'],
  [/^float/, 'the precision must be 1 to 53'],
  [/^(time|interval)/, 'the precision must be 0 to 6'],
];

export function explainTypeError(
  error: DatabaseError,
  name: TypeName,
  shown: string,
): { code: string; detail: string } {
  if (error.code === '42501') return { code: 'permission-denied', detail: `the role may not use "${shown}"` };
  const lookup = name.aliasLookup ?? name.lookup;
  const hasParentheses = lookup.includes('(');
  if (!hasParentheses) return { code: 'unknown-type', detail: '' };
  const rule = modifierRules.find(([pattern]) => pattern.test(lookup))?.[1];
  return {
    code: 'invalid-type-modifier',
    detail: `"${shown}": ${rule ?? 'the type does not take this in parentheses'}`,
  };
}

/** Adds to each problem the names that may have been meant; `value` is the name that was not found. */
export async function explainUnknownTypes(client: ClientBase, problems: Problem[]): Promise<void> {
  if (problems.length === 0) return;
  const { rows } = await client.query<{ names: string[] }>(listTypeNames());
  const names = [...friendlyTypeNames, ...rows[0]!.names];
  for (const problem of problems) {
    const wanted = problem.value!.replace(/[\s([].*$/s, '');
    // The right name in a schema that the search path does not hold.
    const elsewhere = names.filter((name) => name.endsWith(`.${wanted}`));
    problem.detail += didYouMean(elsewhere[0] ?? wanted, elsewhere.length > 0 ? elsewhere : names);
  }
}
