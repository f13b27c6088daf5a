/** Recognizes errors about the objects that a statement itself names. The errors of functions that it calls are about other objects. */
import type { DatabaseError } from 'pg';
import { isOfFunction } from './server-internals.ts';
import { type Condition, conditionOf } from './sqlstate.ts';

/** Returns whether the error is about a table that the statement itself names and that does not exist. It is false for a table that a trigger does not find. */
export function isUndefinedTable(error: unknown): error is DatabaseError {
  return conditionOf(error) === 'undefined_table' && !isOfFunction(error as DatabaseError);
}

/** Returns whether the error is about a role, a type or another object that the statement itself names and that does not exist. */
export function isUndefinedObject(error: unknown): error is DatabaseError {
  return conditionOf(error) === 'undefined_object' && !isOfFunction(error as DatabaseError);
}

/** Returns whether the object with the table's name is not a table. PostgreSQL then cannot lock or drop it as a table, or grant table privileges on it. */
export function isOtherKindOfObject(error: unknown): error is DatabaseError {
  const condition = conditionOf(error);
  return condition === 'wrong_object_type' || condition === 'invalid_grant_operation';
}

/** Returns whether the schema of a name in the statement does not exist. */
export function isMissingSchema(error: unknown): boolean {
  return conditionOf(error) === 'invalid_schema_name';
}

const conditionsOfChange = new Set<Condition | undefined>([
  'undefined_table',
  'undefined_column',
  'undefined_function',
  'wrong_object_type',
  'invalid_schema_name',
]);

/**
 * Returns whether something that the statement itself names does not exist or is of another kind. If the service had found it
 * before, another session has dropped or changed it meanwhile. It is false for the statements of a function.
 */
export function isChangeOfNamedObject(error: unknown): error is DatabaseError {
  return conditionsOfChange.has(conditionOf(error)) && !isOfFunction(error as DatabaseError);
}

/** Returns whether a name that the statement creates is already in use, or another session is creating an object with this name at this moment. */
export function isNameClash(error: unknown): error is DatabaseError {
  const condition = conditionOf(error);
  if (condition === 'duplicate_table' || condition === 'duplicate_object') return true;
  return condition === 'unique_violation' && (error as DatabaseError).schema === 'pg_catalog';
}

/** Returns whether PostgreSQL refused to add a column: to a partition, to a table of a type, or because a child table has the column with another type. */
export function isRefusalOfColumn(error: unknown): error is DatabaseError {
  const condition = conditionOf(error);
  return condition === 'wrong_object_type' || condition === 'datatype_mismatch';
}
