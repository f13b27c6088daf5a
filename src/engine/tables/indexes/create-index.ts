/** Writes the statement that creates an index. */
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import type { IndexDefinition } from './index-definition.ts';

/**
 * @param relation the quoted name of the table
 * @param name undefined: PostgreSQL chooses a name
 */
export function createIndex(
  relation: string,
  index: IndexDefinition,
  name: string | undefined,
): CallersStatement {
  const columns = index.columns.map(({ column, expressionSql, order, nulls, operatorClassSql }) => {
    const parts = [
      expressionSql === undefined ? quoteIdentifier(column) : `(${expressionSql})`,
      operatorClassSql,
      order?.toUpperCase(),
      nulls && `NULLS ${nulls.toUpperCase()}`,
    ];
    return parts.filter(Boolean).join(' ');
  });
  const what = index.isUnique ? 'UNIQUE INDEX' : 'INDEX';
  const include =
    index.include.length === 0 ? '' : ` INCLUDE (${index.include.map(quoteIdentifier).join(', ')})`;
  const where = index.whereSql === undefined ? '' : ` WHERE ${index.whereSql}`;
  return qualified`CREATE ${what}${name === undefined ? '' : ` ${quoteIdentifier(name)}`} ON ${relation} USING ${quoteIdentifier(index.method)} (${columns.join(', ')})${include}${where}`;
}
