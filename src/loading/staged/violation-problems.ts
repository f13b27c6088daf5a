/** Makes problems for the rows that violate a rule of the table. */
import type { Problem } from '../../errors.ts';
import { shortenValue } from '../problems.ts';
import type { RowRule } from './row-rules.ts';
import type { CellPlaces } from './staged-load.ts';

export interface Violation {
  /** The data row; undefined: its number is not known anymore. */
  row: number | undefined;
  /** The data row with the same key; null: a row that was in the table before, or the rule is no key. */
  otherRow: number | undefined | null;
  /** The value that violates the rule, shortened. */
  value: string | null;
}

/**
 * Describes a violation as a problem of the data.
 *
 * @param areRowsMissing true: the search did not include rows that have other problems
 */
export function violationProblem(
  rule: RowRule,
  violation: Violation,
  places: CellPlaces,
  areRowsMissing: boolean,
): Problem {
  return { ...violationPlace(rule, violation, places), ...reasonOf(rule, violation, places, areRowsMissing) };
}

export function violationPlace(
  rule: RowRule,
  { row, value }: Pick<Violation, 'row' | 'value'>,
  { locate, sourceColumn }: CellPlaces,
): Omit<Problem, 'code' | 'detail'> {
  const [column] = rule.columns;
  return {
    ...(row !== undefined && column !== undefined && locate(row, sourceColumn(column), column)),
    ...(row !== undefined && { row }),
    ...(rule.columns.length > 0 && { column: rule.columns.join(', ') }),
    ...(value !== null && { value: shortenValue(value) }),
  };
}

/** Returns a row in the caller's own terms: the cell of a spreadsheet, else the number of the data row. */
function nameOfRow(
  row: number | undefined,
  column: string | undefined,
  { locate, sourceColumn }: CellPlaces,
): string {
  if (row === undefined) return 'a row whose number is not known';
  const source = column === undefined ? -1 : sourceColumn(column);
  return locate(row, source, column ?? '').cell ?? `row ${row}`;
}

function reasonOf(
  rule: RowRule,
  { otherRow }: Violation,
  places: CellPlaces,
  areRowsMissing: boolean,
): Pick<Problem, 'code' | 'detail'> {
  switch (rule.kind) {
    case 'unique': {
      const where =
        otherRow === null
          ? 'the table already has it'
          : `also in ${nameOfRow(otherRow, rule.columns[0], places)}`;
      const scope = rule.predicate ? ` among the rows where ${rule.predicate}` : '';
      return { code: 'not-unique', detail: `must be unique${scope}: ${where}` };
    }
    case 'foreign key':
      return {
        code: 'no-such-reference',
        detail: `has no match in ${rule.referencedSchema}.${rule.referencedTable} (${rule.referencedColumns.join(', ')})${
          rule.isSelf && areRowsMissing ? '; rows with problems are not counted as a match' : ''
        }`,
      };
    case 'half reference':
      return {
        code: 'no-such-reference',
        detail: 'needs a value in every column of the foreign key or in none, because it is MATCH FULL',
      };
    case 'input':
      return { code: 'invalid-input', detail: `not a value that PostgreSQL reads as ${rule.type}` };
    case 'check':
      return {
        code: 'check-violation',
        detail: `does not pass the check "${rule.name}": ${rule.expression}`,
      };
  }
}
