/** Reads the foreign keys of a definition that nothing has checked yet. What has a wrong form is ignored here, and refused when the definition is parsed. */

/** Returns the key of a table, which no other table of a plan has. */
export function tableKey(schema: string, table: string): string {
  return JSON.stringify([schema, table]);
}

/** Returns the entries of `foreign_keys` that refer to one of the tables. @param tables their keys (`tableKey`) */
export function sentForeignKeys(definition: unknown, tables: ReadonlySet<string>): unknown[] {
  return entriesOf(definition).filter((entry) => {
    const { schema, table } = targetOf(entry);
    return tables.has(tableKey(schema, table));
  });
}

interface Target {
  schema: string;
  table: string;
}

/** Returns the tables to which the entries of `foreign_keys` refer, except names that PostgreSQL cannot read. */
export function sentTargets(definition: unknown): Target[] {
  return entriesOf(definition)
    .map(targetOf)
    .filter(({ schema, table }) => !`${schema}${table}`.includes('\0'));
}

function targetOf(entry: unknown): Target {
  const { reference_schema: schema, reference_table: table } = (entry ?? {}) as Record<string, unknown>;
  return {
    schema: typeof schema === 'string' ? schema : 'public',
    table: typeof table === 'string' ? table : '',
  };
}

/** Returns the definition without these entries of `foreign_keys`. */
export function withoutForeignKeys(definition: unknown, left: readonly unknown[]): unknown {
  if (left.length === 0) return definition;
  const { constraints, ...others } = definition as { constraints: object };
  const kept = entriesOf(definition).filter((entry) => !left.includes(entry));
  return { ...others, constraints: { ...constraints, foreign_keys: kept } };
}

function entriesOf(definition: unknown): unknown[] {
  const { constraints } = (definition ?? {}) as { constraints?: { foreign_keys?: unknown } | null };
  const entries = constraints?.foreign_keys;
  return Array.isArray(entries) ? entries : [];
}
