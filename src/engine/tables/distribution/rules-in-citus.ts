/** Finds the rules of foreign keys (ON DELETE, ON UPDATE) that Citus does not support, before the rows are sent. Citus itself reports only the first one, and only after the rows. */
import type { PreparedColumn, PreparedForeignKey } from '../prepared-table.ts';
import type { Placement } from './placement.ts';

export interface RuledKey {
  key: PreparedForeignKey;
  /** The kind of the table that has the key. */
  kind: Placement['kind'];
  kindOfTarget: Placement['kind'];
  /** The columns of the table that has the key. */
  columns: PreparedColumn[];
  /** The distribution column, if the table that has the key is distributed by a column. */
  distributionColumn: string | undefined;
}

/** Returns the member with the rule that Citus does not support for this key, and the reason; undefined: it supports all rules. */
export function ruleThatCitusLacks({
  key,
  kind,
  kindOfTarget,
  columns,
  distributionColumn,
}: RuledKey): { member: 'on_delete' | 'on_update'; detail: string } | undefined {
  const own = new Set(key.pairs.map((pair) => pair.column));
  for (const member of ['on_delete', 'on_update'] as const) {
    const rule = (member === 'on_delete' ? key.rules.onDelete : key.rules.onUpdate) ?? 'no action';
    if (rule === 'no action' || rule === 'restrict') continue;
    const lacks = (reason: string) => ({
      member,
      detail: `Citus does not have the rule "${rule}" here, because ${reason}. Send another rule, or leave it out`,
    });
    const changesKey = rule !== 'cascade' || member === 'on_update';
    if (kind === 'column' && changesKey && own.has(distributionColumn!))
      return lacks(`it would change the distribution column "${distributionColumn}"`);
    if (kind === 'reference' && kindOfTarget === 'local')
      return lacks('a reference table refers to an ordinary table');
    const numbered = columns.find((column) => own.has(column.name) && isNumbered(column));
    if (rule === 'set default' && numbered !== undefined)
      return lacks(`the default of the column "${numbered.name}" takes numbers from a sequence`);
  }
  return undefined;
}

function isNumbered({ identity, defaultSql }: PreparedColumn): boolean {
  return identity !== 'none' || /\bnextval\(/.test(defaultSql ?? '');
}
