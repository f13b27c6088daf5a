/**
 * Finds the rules of a table that can be checked with the staged rows alone, without the values that PostgreSQL sets when the rows are
 * moved.
 */
import { columnsRead, isSelfReference, type RowRule } from '../staged/row-rules.ts';
import type { StagedLoad } from '../staged/staged-load.ts';

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

/** Returns whether every row has sent every value that the rule reads. */
export function areAllSent(rule: RowRule, load: StagedLoad): boolean {
  return isDecidedByRows(rule, load) && shapesWithout(columnsRead(rule), load).length === 0;
}

/**
 * Returns whether the staged rows decide the rule if PostgreSQL gives no row a wrong value. It computes the values of a default anew at each
 * attempt, so another attempt says nothing about them.
 */
export function isChecked(rule: RowRule, load: StagedLoad): boolean {
  const computed = load.columns.filter((column) => column.default === 'computed').map(({ name }) => name);
  const read = [...columnsRead(rule), ...ownReferencedColumns(rule)].filter(
    (name) => !computed.includes(name),
  );
  const isGenerated = load.columns.some((column) => column.isGenerated && read.includes(column.name));
  return !isGenerated && shapesWithout(read, load).length === 0;
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
