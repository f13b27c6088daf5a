/** Problems, each with its place, its value and its reason. */
import type { VNode } from 'preact';
import type { Problem } from '../../client/client.ts';
import { fullPlaceOf, reasonInWords } from '../derived/problems.ts';
import { plural } from '../derived/words.ts';
import { h } from '../h.ts';
import { type Child, data, shortened } from './parts.ts';
import { VirtualRows } from './virtual-grid.ts';

/** The problems of a request that was refused. @param count the number of all problems, while `errors` may be only the first */
export function problemList(errors: Problem[], count: number): VNode[] {
  const words = plural(count, 'problem');
  return [
    h('h2', null, count > errors.length ? `${words}, the first ${errors.length}` : words),
    problemRows('Problems', errors, (problem) => [data(fullPlaceOf(problem)), problemValue(problem)]),
  ];
}

export function problemValue({ value }: Problem): VNode {
  return value === undefined ? h('span', { class: 'null' }, 'no value') : h('bdi', null, shortened(value));
}

/** @param keyOf returns what a row keeps when problems above it are removed */
export function problemRows(
  label: string,
  problems: Problem[],
  partsOf: (problem: Problem) => [place: Child, value: Child, reason?: string],
  keyOf?: (problem: Problem) => string,
): VNode {
  const height = lineHeight();
  return h(VirtualRows, {
    label,
    count: problems.length,
    rowHeight: height,
    maxHeight: 12 * height,
    keyOf: keyOf && ((index: number) => keyOf(problems[index]!)),
    row: (index: number) => {
      const problem = problems[index]!;
      const [place, value, reason = reasonInWords(problem)] = partsOf(problem);
      return h('div', { class: 'problem' }, [
        h('span', { class: 'place' }, place),
        h('span', { class: 'value' }, value),
        h('span', { class: 'why' }, data(reason)),
      ]);
    },
  });
}

/** On a narrow screen the text of a problem stands below its place, so the row is higher. */
export function lineHeight(): number {
  return matchMedia('(max-width: 800px)').matches ? 96 : 38;
}
