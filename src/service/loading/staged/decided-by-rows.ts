/**
 * Finds the rules of a table that can be checked with the staged rows alone, without the values that PostgreSQL sets when the rows are
 * moved.
 */
import { columnsRead, isSelfReference, type RowRule } from './row-rules.ts';
import type { StagedLoad } from './staged-load.ts';

/** Returns whether the staged rows have every value that the rule reads. */
export function isDecidedByRows(rule: RowRule, load: StagedLoad): boolean {
  // A row may refer to a number that PostgreSQL generates only when the rows are moved.
  const referenced = ownReferencedColumns(rule);
  if (shapesWithout(referenced, load).length > 0) return false;
  return [...columnsRead(rule), ...referenced].every((name) => {
    const isGenerated = load.columns.some((column) => column.name === name && column.isGenerated);
    const mayTriggerFill = load.changesRows && load.places.sourceColumn(name) < 0;
    return !isGenerated && !mayTriggerFill;
  });
}

/** Returns the columns of the table itself that a foreign key refers to. */
export function ownReferencedColumns(rule: RowRule): string[] {
  return isSelfReference(rule) ? rule.referencedColumns : [];
}

/** Returns the shapes whose rows get a value of one of these columns from PostgreSQL, if the value is not NULL. */
export function shapesWithout(names: string[], { columns, conflict, shapes }: StagedLoad): number[] {
  return [...shapes.all.keys()].filter((shape) => {
    const mayUpdate = conflict?.action === 'update' && conflict.shapes.includes(shape);
    return columns.some(
      ({ name, default: value }, place) =>
        names.includes(name) && (value !== 'none' || mayUpdate) && !shapes.all[shape]!.includes(place),
    );
  });
}

/** Returns the names that are columns of the staging table. A rule may read columns that no row has. */
export function stagedNames(names: readonly string[], { columns }: StagedLoad): string[] {
  return names.filter((name) => columns.some((column) => column.name === name));
}
