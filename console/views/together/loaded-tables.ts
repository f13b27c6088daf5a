/** The tables of a load of several tables, when it has ended. */
import type { VNode } from 'preact';
import { hashOf } from '../../derived/routes.ts';
import { partOutcomes } from '../../derived/together.ts';
import { isOpen } from '../../derived/warnings.ts';
import { plural } from '../../derived/words.ts';
import type { Failure } from '../../failure.ts';
import { h } from '../../h.ts';
import type { LoadedPart, TablesResult } from '../../load-outcome.ts';
import { type Child, data } from '../parts.ts';
import { keysOf } from '../table/table-keys.ts';
import { foundProblems, foundWarnings } from './found.ts';

const changeWords: Record<string, string> = {
  created: 'a new table',
  replaced: 'replaced',
  emptied: 'emptied before',
  loaded: 'added to the existing table',
};

/** @param isCheck true: nothing was changed */
export function loadedTables({ tables }: TablesResult, isCheck = false): VNode {
  return tableList(
    tables.map(({ table, change, load, origin }) => [
      origin ?? table,
      [
        load &&
          h('span', null, `${plural(load.rows + load.updated, 'row')}${isCheck ? ' would be loaded' : ''}`),
        load?.corrected_count !== undefined &&
          h('span', { class: 'dim' }, `${plural(load.corrected_count, 'cell')} corrected`),
        change && h('span', { class: 'dim' }, changeWords[change]),
        keysOf(table),
        foundWarnings(load?.warnings.filter(isOpen) ?? []),
      ],
    ]),
  );
}

/** The tables of a load that has loaded nothing, each with its problems. */
export function refusedTables(tables: LoadedPart[], failure: Failure | undefined): VNode {
  const outcomes = partOutcomes({ result: undefined, failure }, tables.length);
  return tableList(tables.map((table, index) => [table, foundProblems(outcomes[index]!)]));
}

function tableList(tables: (readonly [LoadedPart, Child])[]): VNode {
  return h('ul', { class: 'tables-together', 'aria-label': 'Tables' }, [
    tables.map(([{ schema, name, ...origin }, about]) =>
      h('li', { class: 'card together-part' }, [
        h('div', { class: 'part-head' }, [
          h('a', { href: hashOf({ page: 'table', schema, name }) }, data(`${schema}.${name}`)),
          originWords(origin),
          about,
        ]),
      ]),
    ),
  ]);
}

/** Says from which file, and which sheet or file in it, a table was loaded. */
function originWords({ file, sheet, file_in_zip: inZip }: Omit<LoadedPart, 'schema' | 'name'>): Child {
  if (file === undefined) return null;
  return h('span', { class: 'dim' }, [
    'from ',
    data(file),
    sheet !== undefined && [', sheet ', data(sheet)],
    inZip !== undefined && [', ', data(inZip)],
  ]);
}
