/** Decides whether creating a table runs no code of other people, so that the creation needs fewer and cheaper statements. */
import { refuseUnless } from '../../postgres/refuse-unless.ts';
import type { Statement } from '../../postgres/sql.ts';
import { describeNewRelation, describeRelation } from './catalog/describe-relation.ts';
import type { LookUpResult } from './catalog/look-up-definition.ts';
import { firstUnpinnedOid } from './catalog/names-in-path.ts';
import { isBuiltIn } from './defaults.ts';
import type { DefinitionDraft } from './draft-definition.ts';
import type { PreparedTable } from './prepared-table.ts';

export interface LastOfCreation {
  /** Follow the statements that create the table. */
  after: string[];
  describe: Statement;
  /** See `TransactionOptions`. */
  runsNoCode: boolean;
}

/**
 * Returns the statements that end a creation.
 *
 * A plain definition has columns, keys and foreign keys alone, with types and functions of PostgreSQL itself. The table then is what the definition says,
 * unless an event trigger changes it; a last statement fails if there is one by now. Checking a foreign key may run code, because PostgreSQL plans a query
 * of the other table, and computes constant expressions of its indexes then.
 *
 * @param found what was looked up for the definition
 */
export function lastOfCreation(
  { request, definition, expressions }: DefinitionDraft,
  found: LookUpResult,
  table: PreparedTable,
): LastOfCreation {
  const { schema, name, columns, foreignKeys, placement } = table;
  const hasReferences = foreignKeys.length > 0;
  const isPlain =
    found.schema?.hasEventTriggers === false &&
    placement === undefined &&
    definition.indexes.length === 0 &&
    expressions.length === 0 &&
    definition.comment === undefined &&
    columns.every(
      ({ comment, identity, numbering }) =>
        comment === undefined && identity !== 'sequence' && numbering === undefined,
    ) &&
    (found.types ?? []).every((type) => type !== null && type.oid < firstUnpinnedOid) &&
    request.functions.every(isBuiltIn);
  if (!isPlain) return { after: [], describe: describeRelation(schema, name, true), runsNoCode: false };
  return {
    after: [refuseUnless('NOT EXISTS (SELECT FROM pg_event_trigger)', 'the database has event triggers')],
    describe: describeNewRelation(schema, name, hasReferences),
    runsNoCode: !hasReferences,
  };
}
