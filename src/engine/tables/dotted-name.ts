/** Explains names of tables that look like `schema.table`: the dot is a character of the name. */
import type { ClientBase } from 'pg';
import { AppError, type Warning } from '../../core/errors.ts';

/**
 * Warns of a new table whose name looks like `schema.table`, if there is such a schema. Takes one round trip for a name with a
 * dot, and none for other names.
 *
 * @param admitSchema throws if the caller may not know of the schema
 */
export async function warnOfDottedName(
  client: ClientBase,
  schema: string,
  name: string,
  admitSchema: (schema: string) => void,
): Promise<Warning[]> {
  const parts = splitName(name);
  if (parts === undefined || !isAdmitted(parts.schema, admitSchema)) return [];
  const { rowCount } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [parts.schema]);
  if (rowCount === 0) return [];
  const detail = `The dot is part of the name of this table, "${schema}"."${name}". To make "${parts.table}" in the schema "${parts.schema}", ${remedy(parts)}.`;
  return [{ code: 'dotted-name', detail }];
}

/** Returns the last sentence of a "no such table" message; '' for a name without a dot. */
export function hintAtDottedName(name: string): string {
  const parts = splitName(name);
  return parts === undefined
    ? ''
    : ` A dot is part of a name. For "${parts.table}" in the schema "${parts.schema}", ${remedy(parts)}.`;
}

interface NameParts {
  schema: string;
  table: string;
}

function splitName(name: string): NameParts | undefined {
  const dot = name.indexOf('.');
  if (dot <= 0 || dot === name.length - 1) return undefined;
  return { schema: name.slice(0, dot), table: name.slice(dot + 1) };
}

function remedy({ schema, table }: NameParts): string {
  return `send the table name "${table}" and schema=${schema}`;
}

export function isAdmitted(schema: string, admitSchema: (schema: string) => void): boolean {
  try {
    admitSchema(schema);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}
