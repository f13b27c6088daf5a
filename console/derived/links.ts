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
      const [, stem = '', rest] = /^(.+)_([^_]+)$/.exec(identifierOf(column)) ?? [];
      for (const to of created) {
        // The names of the tables are compared first, because it takes long to compare all columns with all others.
        if (to === from || !isNamedAfter(to.table, stem)) continue;
        const names = [rest, `${stem}_${rest}`];
        const key = to.found.find((one) => one.type === type && names.includes(identifierOf(one.name)));
        if (key !== undefined) return [{ from, column, to, toColumn: key.name }];
      }
      return [];
    }),
  );
}

/** The longest ending of a plural: `customers`, `addresses`, `countries`. */
const maxEnding = 3;

/** Returns whether a column such as `customer_id` or `customer_no`, whose stem is `customer`, names the table `customers`. */
function isNamedAfter(table: string, stem: string): boolean {
  return (
    stem.length > 1 && table.startsWith(stem.replace(/y$/, '')) && table.length - stem.length <= maxEnding
  );
}

/** Returns the links that the user has chosen. */
export function chosenLinks(together: Together): Link[] {
  if (together.parts.every(({ links }) => links.length === 0)) return [];
  return possibleLinks(together).filter(({ from, column }) => from.links.includes(column));
}

/** Returns the definition that a part needs for the chosen links; undefined: none. */
export function definitionFor(part: Part, schema: string, links: Link[]): TableDefinition | undefined {
  const own = links.filter(({ from }) => from === part);
  const [key, ...others] = new Set(links.filter(({ to }) => to === part).map(({ toColumn }) => toColumn));
  if (own.length === 0 && key === undefined) return undefined;
  return {
    columns: part.found.map(({ name, type }) => ({
      name,
      type,
      ...(name === key && { is_nullable: false }),
    })),
    constraints: {
      ...(key !== undefined && { primary_key: { columns: [key] } }),
      ...(others.length > 0 && { unique: others.map((column) => ({ columns: [column] })) }),
      foreign_keys: own.map(({ column, to, toColumn }) => ({
        column,
        reference_schema: schema,
        reference_table: to.table,
        reference_column: toColumn,
      })),
    },
  };
}
