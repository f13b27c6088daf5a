/** The history of loads, and one load. */
import type { VNode } from 'preact';
import type { ListedLoad } from '../../client/client.ts';
import { hasEnded, type Problem } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { fullPlaceOf } from '../derived/problems.ts';
import { hashOf } from '../derived/routes.ts';
import { countInWords, plural, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { State } from '../state.ts';
import { busy, button, data, failureBox, shortened, warningList } from './parts.ts';
import { VirtualRows } from './virtual-grid.ts';

export function loadsView({ loads }: State, actions: Actions): VNode {
  return h('section', null, [
    h('div', { class: 'title-row' }, [
      h('h1', null, 'Loads'),
      button('Read again', () => actions.open({ page: 'loads' }), { kind: 'quiet' }),
    ]),
    loads.is === 'busy' && busy('The loads are being read.'),
    loads.is === 'failed' && failureBox(loads.failure, () => actions.open({ page: 'loads' })),
    loads.is === 'ready' && [
      h('p', { class: 'dim' }, [
        loads.value.hasMore
          ? `The newest ${countInWords(loads.value.loads.length)} loads`
          : plural(loads.value.loads.length, 'load'),
      ]),
      h(VirtualRows, {
        label: 'Loads, the newest first',
        count: loads.value.loads.length,
        rowHeight: 46,
        maxHeight: 46 * 18,
        row: (index: number) => loadRow(loads.value.loads[index]!),
      }),
    ],
  ]);
}

function loadRow({
  id,
  state,
  table,
  dry_run: isDryRun,
  rows_read: rows,
  problems_found: problems,
  created_at: at,
}: ListedLoad): VNode {
  return h('a', { class: 'list-row', href: hashOf({ page: 'one-load', id }) }, [
    stateMark(state),
    h('span', { class: 'list-name' }, [
      h('span', { class: 'dim' }, [data(table.schema), '.']),
      data(table.name),
    ]),
    h('span', { class: 'dim list-comment' }, [
      `${isDryRun ? 'check, ' : ''}${plural(rows, 'row')}${problems > 0 ? `, ${plural(problems, 'problem')}` : ''}`,
    ]),
    h('span', { class: 'list-number' }, moment(at)),
  ]);
}

/** The state has a text, so nobody needs to see its colour. */
function stateMark(state: string): VNode {
  return h('span', { class: `state ${state}` }, state);
}

/** On a narrow screen the reason of a problem is below its place. */
function rowHeight(): number {
  return matchMedia('(max-width: 800px)').matches ? 96 : 34;
}

/** Writes a point in time as the service writes it, to the second. */
function moment(text: string): string {
  return text.replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
}

export function oneLoadView({ oneLoad }: State, actions: Actions): VNode {
  if (oneLoad.is === 'failed')
    return h('section', null, [h('h1', null, 'Load'), failureBox(oneLoad.failure)]);
  if (oneLoad.is !== 'ready')
    return h('section', null, [h('h1', null, 'Load'), busy('The load is being read.')]);
  const load = oneLoad.value;
  const { table, answer, bytes_expected: expected } = load;
  const body = answer?.body as
    | { detail?: string; errors?: Problem[]; error_count?: number; load?: { warnings?: [] } }
    | null
    | undefined;
  const errors = body?.errors ?? [];
  const facts: (readonly [string, string])[] = [
    ['Begun', moment(load.created_at)],
    ['Ended', load.ended_at ? moment(load.ended_at) : 'not yet'],
    [
      'Received',
      `${sizeInWords(load.bytes_received)}${expected && expected > load.bytes_received ? ` of ${sizeInWords(expected)}` : ''}`,
    ],
    ['Rows read', countInWords(load.rows_read)],
    ['Problems', countInWords(load.problems_found)],
    ['Started by', load.subject ?? ''],
    ['Id', load.id],
  ];
  return h('section', null, [
    h('div', { class: 'title-row' }, [
      h('h1', null, data(`${table.schema}.${table.name}`)),
      stateMark(load.state),
      load.dry_run && h('span', { class: 'dim' }, 'check only'),
    ]),
    h('dl', { class: 'keys' }, [
      facts.map(([label, text]) => h('div', null, [h('dt', null, label), h('dd', null, data(text))])),
    ]),
    !hasEnded(load) &&
      h('div', null, [
        button('Cancel', () => actions.cancelOne(load.id), { isDisabled: load.cancel_requested }),
      ]),
    load.state === 'committed' &&
      h('p', null, [
        h('a', { href: hashOf({ page: 'table', schema: table.schema, name: table.name }) }, [
          'Show the table',
        ]),
      ]),
    answer && answer.status >= 400
      ? h('p', { class: 'notice bad' }, data(body?.detail ?? `The answer has the status ${answer.status}.`))
      : null,
    warningList(
      body?.load?.warnings ?? [],
      () => [],
      () => {},
    ),
    errors.length > 0 && [
      h('h2', null, [
        `${plural(body?.error_count ?? errors.length, 'problem')}${(body?.error_count ?? 0) > errors.length ? `, the first ${errors.length}` : ''}`,
      ]),
      h(VirtualRows, {
        label: 'Problems',
        count: errors.length,
        rowHeight: rowHeight(),
        maxHeight: rowHeight() * 14,
        row: (index: number) => {
          const problem = errors[index]!;
          return h('div', { class: 'problem' }, [
            h('span', { class: 'place' }, data(fullPlaceOf(problem))),
            h('span', { class: 'value' }, h('bdi', null, shortened(problem.value ?? ''))),
            h('span', { class: 'why' }, data(problem.detail)),
          ]);
        },
      }),
    ],
  ]);
}
