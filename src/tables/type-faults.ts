/** Says in our words why PostgreSQL refuses a type. */
import type { ClientBase } from 'pg';
import type { Problem } from '../errors.ts';
import { listTypeNames } from './catalog.ts';
import type { TypeName } from './column-types.ts';
import { friendlyTypeNames } from './column-types.ts';
import { didYouMean, shorten } from './identifiers.ts';

/** The limits of the built-in types (PostgreSQL 8.1.2, 8.3, 8.5, 8.10), for those that wrote past them. */
const modifierRules: [RegExp, string][] = [
  [/^(varchar|character|bpchar)/, 'the length must be 1 to 10485760'],
  [/^(bit|varbit)/, 'the length must be 1 to 83886080'],
  [/^(numeric|decimal|dec\b)/, 'the precision must be 1 to 1000 and the scale -1000 to 1000'],
  [/^float/, 'the precision must be 1 to 53'],
  [/^(time|interval)/, 'the precision must be 0 to 6'],
];

/** The problem of a type that refuses what stands in its parentheses. */
export function explainModifiers(column: { pointer: string; typeName: TypeName; typeText: string }): Problem {
  const { spelling, name, alias } = column.typeName;
  const rule = modifierRules.find(([pattern]) => pattern.test(spelling ?? alias ?? name ?? ''))?.[1];
  const value = shorten(column.typeText);
  return {
    pointer: `${column.pointer}/type`,
    code: 'invalid-type-modifier',
    detail: `"${value}": ${rule ?? 'the type does not take this in parentheses'}`,
    value,
  };
}

/** Adds to each problem the names that may have been meant; `value` is the name that was not found. */
export async function explainUnknownTypes(client: ClientBase, problems: Problem[]): Promise<void> {
  if (problems.length === 0) return;
  const { rows } = await client.query<{ names: string[] }>(listTypeNames());
  const names = [...friendlyTypeNames, ...rows[0]!.names];
  for (const [before, problem] of problems.entries()) {
    const wanted = problem.value!.replace(/[\s([].*$/s, '');
    // The right name in a schema that the search path does not hold.
    const elsewhere = names.filter((name) => name.endsWith(`.${wanted}`));
    problem.detail += didYouMean(elsewhere[0] ?? wanted, elsewhere.length > 0 ? elsewhere : names, before);
  }
}
