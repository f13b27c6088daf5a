/**
 * Finds the rules of a table that can be checked with the staged rows alone, without the values that PostgreSQL sets when the rows are
 * moved.
 */
import { columnsRead, isSelfReference, type RowRule } from '../../tables/rules/row-rules.ts';
import type { StagedLoad } from '../staged/staged-load.ts';

/** Returns whether a query over the staged rows can check the rule: no column that the rule reads is generated or may be set by a trigger. */
export function isDecidedByRows(rule: RowRule, load: StagedLoad): boolean {
  // If the rule is a foreign key to its own table, a row may refer to a number that PostgreSQL generates only when the rows are moved.
  const referenced = ownReferencedColumns(rule);
  if (shapesWithout(referenced, load).length > 0) return false;
  return [...columnsRead(rule), ...referenced].every((name) => {
    const isGenerated = load.columns.some((column) => column.isGenerated && column.name === name);
    const mayTriggerFill = load.changesRows && load.places.sourceColumn(name) < 0;
    return !isGenerated && !mayTriggerFill;
  });
}

/** Returns whether the upload sent, for every row, all values that the rule reads. */
export function areAllSent(rule: RowRule, load: StagedLoad): boolean {
  return isDecidedByRows(rule, load) && shapesWithout(columnsRead(rule), load).length === 0;
}

/**
 * Returns whether the staged rows decide the rule, provided that PostgreSQL fills in no value that violates it. A volatile default
 * gives other values at each attempt, so a later attempt says nothing about the values of this one.
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

/** Returns the shapes in whose rows PostgreSQL sets one of these columns to a value that is not NULL. */
export function shapesWithout(names: string[], { columns, conflict, shapes }: StagedLoad): number[] {
  const read = new Set(names);
  const isRead = (place: number) => read.has(columns[place]!.name) && !shapes.isCommon(place);
  const places = [...columns.keys()].filter(isRead);
  const set = places.filter((place) => columns[place]!.default !== 'none');
  const updating = conflict?.action === 'update' ? conflict.shapes : [];
  if (set.length === 0 && (updating.length === 0 || places.length === 0)) return [];
  return [...shapes.all.keys()].filter((shape) => {
    const mayBeSet = updating.includes(shape) ? places : set;
    return mayBeSet.some((place) => !shapes.has(shape, place));
  });
}

/** Returns the names that are columns of the staging table. A rule may also read columns that no row of the upload has. */
export function stagedNames(names: readonly string[], { columns }: StagedLoad): string[] {
  const staged = new Set(columns.map((column) => column.name));
  return names.filter((name) => staged.has(name));
}
