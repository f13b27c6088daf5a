/** Says in words which rule a row breaks. */
import { cutText } from '../../../core/cut-text.ts';
import type { Problem } from '../../../core/errors.ts';
import type { RowRule } from './row-rules.ts';

/**
 * @param other for a key: which row has the same key
 * @param areRowsMissing rows with other problems were not searched, so the row may refer to one of them
 */
export function ruleProblem(
  rule: RowRule,
  other: string,
  areRowsMissing: boolean,
): Pick<Problem, 'code' | 'detail'> {
  switch (rule.kind) {
    case 'unique': {
      const scope = rule.predicate ? ` among the rows where ${cutText(rule.predicate)}` : '';
      return { code: 'not-unique', detail: `must be unique${scope}: ${other}` };
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
        detail: `does not pass the check "${rule.name}": ${cutText(rule.expression)}`,
      };
  }
}
