/** The problems of a request that was refused, each with its place, its value and its reason. */
import type { VNode } from 'preact';
import type { Problem } from '../../client/client.ts';
import { fullPlaceOf } from '../derived/problems.ts';
import { plural } from '../derived/words.ts';
import { h } from '../h.ts';
import { problemCells, shortened } from './parts.ts';
import { VirtualRows } from './virtual-grid.ts';

/** @param count the number of all problems, while `errors` may be only the first */
export function problemList(errors: Problem[], count: number): VNode[] {
  const words = plural(count, 'problem');
  return [
    h('h2', null, count > errors.length ? `${words}, the first ${errors.length}` : words),
    h(VirtualRows, {
      label: 'Problems',
      count: errors.length,
      rowHeight: rowHeight(),
      maxHeight: rowHeight() * 14,
      row: (index: number) => {
        const problem = errors[index]!;
        const value = h('bdi', null, shortened(problem.value ?? ''));
        return h('div', { class: 'problem' }, problemCells(fullPlaceOf(problem), value, problem));
      },
    }),
  ];
}

/** On a narrow screen the text of a problem stands below its place, so the row is higher. */
function rowHeight(): number {
  return matchMedia('(max-width: 800px)').matches ? 96 : 34;
}
