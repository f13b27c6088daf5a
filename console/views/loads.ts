/** The history of loads, and one load. */
import type { VNode } from 'preact';
import { hasEnded, type ListedLoad, type Load, type Problem } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { hashOf } from '../derived/routes.ts';
import { countInWords, plural, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { LoadResult } from '../load-outcome.ts';
import type { State } from '../state.ts';
import { differenceView } from './difference.ts';
import { faultyRowsButtons } from './faulty-rows.ts';
import { busy, button, type Child, data, factList, failureBox, remoteView, warningList } from './parts.ts';
import { problemList } from './problem-list.ts';
import { VirtualRows } from './virtual-grid.ts';

export function loadsView({ loads }: State, actions: Actions): VNode {
  const again = (): void => actions.open({ page: 'loads' });
  return h('section', null, [
    h('div', { class: 'title-row' }, [
      h('h1', null, 'Loads'),
      button('Read again', again, { kind: 'quiet' }),
    ]),
    remoteView(loads, 'The loads are being read.', loadList, again),
  ]);
}

function loadList({ loads, hasMore }: { loads: ListedLoad[]; hasMore: boolean }): VNode[] {
  return [
    h('p', { class: 'dim' }, [
      hasMore ? `The newest ${countInWords(loads.length)} loads` : plural(loads.length, 'load'),
    ]),
    h(VirtualRows, {
      label: 'Loads, the newest first',
      count: loads.length,
      rowHeight: 46,
      maxHeight: 46 * 18,
      row: (index: number) => loadRow(loads[index]!),
    }),
  ];
}

function loadRow(load: ListedLoad): VNode {
  const { schema, name } = load.table;
  const problems = load.problems_found > 0 ? `, ${plural(load.problems_found, 'problem')}` : '';
  const facts = `${load.dry_run ? 'check, ' : ''}${plural(load.rows_read, 'row')}${problems}`;
  return h('a', { class: 'list-row', href: hashOf({ page: 'one-load', id: load.id }) }, [
    stateMark(load.state),
    h('span', { class: 'list-name' }, [h('span', { class: 'dim' }, [data(schema), '.']), data(name)]),
    h('span', { class: 'dim list-comment' }, facts),
    h('span', { class: 'list-number' }, moment(load.created_at)),
  ]);
}

/** The state is also written as text, so that its colour is not needed to understand it. */
function stateMark(state: string): VNode {
  return h('span', { class: `state ${state}` }, state);
}

/** Formats a time of the service to the second, in UTC. */
function moment(text: string): string {
  return text.replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
}

export function oneLoadView(state: State, actions: Actions): VNode {
  const { oneLoad } = state;
  if (oneLoad.is === 'ready') return h('section', null, loadDetails(state, oneLoad.value, actions));
  return h('section', null, [
    h('h1', null, 'Load'),
    oneLoad.is === 'failed' ? failureBox(oneLoad.failure) : busy('The load is being read.'),
  ]);
}

function loadDetails(state: State, load: Load, actions: Actions): Child[] {
  const { table, answer } = load;
  const body = answer?.body as
    | { detail?: string; errors?: Problem[]; error_count?: number; load?: LoadResult['load'] }
    | null
    | undefined;
  const errors = body?.errors ?? [];
  return [
    h('div', { class: 'title-row' }, [
      h('h1', null, data(`${table.schema}.${table.name}`)),
      stateMark(load.state),
      load.dry_run && h('span', { class: 'dim' }, 'check only'),
    ]),
    factList('keys', factsOf(load)),
    !hasEnded(load) &&
      h('div', null, [
        button('Cancel', () => actions.cancelOne(load.id), { disabled: load.cancel_requested }),
      ]),
    load.state === 'committed' &&
      h('p', null, [
        h('a', { href: hashOf({ page: 'table', schema: table.schema, name: table.name }) }, [
          'Show the table',
        ]),
      ]),
    answer &&
      answer.status >= 400 &&
      h('p', { class: 'notice bad' }, data(body?.detail ?? `The answer has the status ${answer.status}.`)),
    warningList(
      body?.load?.warnings ?? [],
      () => [],
      () => {},
    ),
    load.faulty_rows > 0 && [
      faultyRowsButtons(state, load.id, table.name, actions),
      load.state === 'committed' &&
        h(
          'p',
          null,
          button('Load the repaired file', () => actions.loadInto(table)),
        ),
    ],
    body?.load && differenceView(state, body.load, actions),
    errors.length > 0 && problemList(errors, body?.error_count ?? errors.length),
  ];
}

/** The details of a load, each with its label. */
function factsOf(load: Load): (readonly [string, VNode])[] {
  const { bytes_received: received, bytes_expected: expected } = load;
  const all = expected && expected > received ? ` of ${sizeInWords(expected)}` : '';
  const facts = {
    Begun: moment(load.created_at),
    Ended: load.ended_at ? moment(load.ended_at) : 'not yet',
    Received: `${sizeInWords(received)}${all}`,
    'Rows read': countInWords(load.rows_read),
    Problems: countInWords(load.problems_found),
    'Started by': load.subject ?? '',
    Id: load.id,
  };
  return Object.entries(facts).map(([label, fact]) => [label, data(fact)]);
}
