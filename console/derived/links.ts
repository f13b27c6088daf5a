/** Links between the tables of one load: a column whose name fits the key of another table becomes a foreign key, if the user wants it. */
import type { TableDefinition } from '../../client/client.ts';
import type { Part, Together } from '../state.ts';
import { keyOfTable } from './table.ts';
import { identifierOf } from './target.ts';

/** A column that can refer to a column of another table of the load. */
export interface Link {
  from: Part;
  column: string;
  to: Part;
  toColumn: string;
}

/** Warnings after which the columns of the table have other names than those in the file. */
export const renaming = ['blank-header', 'repeated-header', 'shortened-header'];

/** Returns the possible links between new tables whose columns a check has found. The names and types fit; the check says whether the values do. */
export function possibleLinks(together: Together): Link[] {
  const { schema, parts, existing } = together;
  const isNew = ({ isIncluded, ifExists, table }: Part): boolean =>
    isIncluded && ifExists === 'fail' && !existing?.has(keyOfTable({ schema, name: table }));
  const created = parts.filter(isNew);
  return created.flatMap((from) =>
    from.found.flatMap(({ name: column, type }): Link[] => {
      for (const to of created) {
        const key = to.found.find((one) => one.type === type && isKeyFor(column, to.table, one.name));
        if (to !== from && key !== undefined) return [{ from, column, to, toColumn: key.name }];
      }
      return [];
    }),
  );
}

/** The longest ending of a plural: `customers`, `addresses`, `countries`. */
const maxEnding = 3;

/** Returns whether a column such as `customer_id` names the column `id` or `customer_id` of the table `customers`. */
function isKeyFor(column: string, table: string, key: string): boolean {
  const [, stem = '', rest] = /^(.+)_([^_]+)$/.exec(identifierOf(column)) ?? [];
  const isOfTable = table.startsWith(stem.replace(/y$/, '')) && table.length - stem.length <= maxEnding;
  return stem.length > 1 && isOfTable && [rest, `${stem}_${rest}`].includes(identifierOf(key));
}

/** Returns the links that the user has chosen. */
export function chosenLinks(together: Together): Link[] {
  return possibleLinks(together).filter(({ from, column }) => from.links.includes(column));
}

/** Returns the definition that a part needs for the chosen links; undefined: none. */
export function definitionFor(part: Part, schema: string, links: Link[]): TableDefinition | undefined {
  const own = links.filter(({ from }) => from === part);
  const key = links.find(({ to }) => to === part)?.toColumn;
  if (own.length === 0 && key === undefined) return undefined;
  return {
    columns: part.found.map(({ name, type }) => ({
      name,
      type,
      ...(name === key && { is_nullable: false }),
    })),
    constraints: {
      ...(key !== undefined && { primary_key: { columns: [key] } }),
      foreign_keys: own.map(({ column, to, toColumn }) => ({
        column,
        reference_schema: schema,
        reference_table: to.table,
        reference_column: toColumn,
      })),
    },
  };
}
