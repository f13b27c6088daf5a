/** The history of loads, and one load. */
import type { VNode } from 'preact';
import { hasEnded, type ListedLoad, type Load, type Problem } from '../../client/client.ts';
import type { Actions } from '../actions/create-actions.ts';
import { isRunning } from '../derived/load.ts';
import { hashOf } from '../derived/routes.ts';
import { filesInWords, shownLoads } from '../derived/table.ts';
import { agoInWords, countInWords, plural, sizeInWords, timeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import { endOf, type LoadResult } from '../load-outcome.ts';
import type { LoadFilter, State } from '../state.ts';
import { recordedCorrections } from './corrections.ts';
import { differenceView } from './difference.ts';
import { faultyRowsButtons } from './faulty-rows.ts';
import { dropPlace } from './file.ts';
import {
  busy,
  button,
  type Child,
  checkbox,
  data,
  emptyState,
  factList,
  failureBox,
  field,
  moment,
  remoteView,
  select,
  textInput,
} from './parts.ts';
import { problemList } from './problem-list.ts';
import { loadedTables, refusedTables } from './together/loaded-tables.ts';
import { VirtualRows } from './virtual-grid.ts';
import { warningList } from './warnings.ts';

const states: [LoadFilter['state'], string][] = [
  ['', 'All'],
  ['receiving', 'Receiving'],
  ['queued', 'Waiting'],
  ['running', 'Running'],
  ['committed', 'Loaded'],
  ['checked', 'Checked'],
  ['refused', 'Refused'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
];

export function loadsView({ loads, loadFilter }: State, actions: Actions): VNode {
  const { text, state, withChecks } = loadFilter;
  const again = (): void => actions.open({ page: 'loads' });
  return h('section', null, [
    h('h1', null, 'Loads'),
    h('div', { class: 'filters' }, [
      field(
        'Find a table, file or person',
        textInput(text, (to) => actions.filterLoads({ text: to }), { type: 'search' }),
        '',
        'short',
      ),
      field(
        'State',
        select(state, states, (to) =>
          actions.filterLoads({ state: to, ...(to === 'checked' && { withChecks: true }) }),
        ),
      ),
      checkbox('Show checks, too', withChecks, (to) => actions.filterLoads({ withChecks: to })),
    ]),
    remoteView(loads, 'The loads are being read.', (found) => loadList(found, loadFilter), again),
  ]);
}

function loadList({ loads, hasMore }: { loads: ListedLoad[]; hasMore: boolean }, filter: LoadFilter): Child {
  const shown = shownLoads(loads, filter);
  const all = hasMore ? `the newest ${plural(loads.length, 'load')}` : plural(loads.length, 'load');
  const isFiltered = filter.text !== '' || filter.state !== '';
  if (loads.length === 0)
    return isFiltered
      ? emptyState('No such load', 'Choose another state, or show checks, too.')
      : emptyState('No loads yet', 'Each file that you load, and each request of a program, is listed here.');
  return [
    h(
      'p',
      { class: 'dim', role: 'status' },
      shown.length === loads.length ? all : `${countInWords(shown.length)} of ${all}`,
    ),
    h(VirtualRows, {
      label: 'Loads, the newest first',
      count: shown.length,
      rowHeight: 46,
      maxHeight: 46 * 18,
      row: (index: number) => loadRow(shown[index]!),
    }),
  ];
}

function loadRow({ id, state, table, dry_run: isCheck, created_at: at, ...load }: ListedLoad): VNode {
  const files = filesInWords(load);
  const problems = load.problems_found > 0 ? `, ${plural(load.problems_found, 'problem')}` : '';
  const facts = `${isCheck ? 'check, ' : ''}${plural(load.rows_read, 'row')}${problems}`;
  return h('a', { class: 'list-row', href: hashOf({ page: 'one-load', id }) }, [
    stateMark(state),
    h('span', { class: 'list-name' }, [
      h('span', { class: 'dim' }, [data(table.schema), '.']),
      data(table.name),
      load.parts && ` and ${load.parts.length - 1} more`,
    ]),
    h('span', { class: 'dim list-comment' }, [files !== undefined && [data(files), ', '], facts]),
    h('span', { class: 'list-person' }, load.subject === null ? '' : data(load.subject)),
    h('span', { class: 'list-number', title: moment(at) }, agoInWords(at)),
  ]);
}

/** The state is also written as text, so that its colour is not needed to understand it. */
function stateMark(state: string): VNode {
  const [, words] = states.find(([one]) => one === state) ?? [state, state];
  return h('span', { class: `state ${state}` }, words.toLowerCase());
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
  const files = filesInWords(load);
  return [
    h('p', { class: 'crumb' }, h('a', { href: hashOf({ page: 'loads' }) }, 'Loads')),
    h('div', { class: 'title-row' }, [
      h(
        'h1',
        null,
        load.parts
          ? [plural(load.parts.length, 'table'), files !== undefined && [' from ', data(files)]]
          : data(load.file ?? `${table.schema}.${table.name}`),
      ),
      stateMark(load.state),
      load.dry_run && h('span', { class: 'dim' }, 'check only'),
    ]),
    answer &&
      answer.status >= 400 &&
      h('p', { class: 'notice bad' }, data(body?.detail ?? `The answer has the status ${answer.status}.`)),
    loadActions(load, actions),
    load.faulty_rows > 0 && faultyRowsButtons(state, load.id, table.name, actions),
    load.parts && partsOfLoad(load, load.parts),
    factList('keys', factsOf(load)),
    warningList(
      body?.load?.warnings ?? [],
      () => [],
      () => {},
    ),
    body?.load && recordedCorrections(body.load, load.subject),
    body?.load && differenceView(state, body.load, actions),
    errors.length > 0 && !load.parts && problemList(errors, body?.error_count ?? errors.length),
    hasEnded(load) && !load.parts && !isRunning(state.load) && againView(load, actions),
  ];
}

/** The tables of a load of several tables, with what the service found about each. */
function partsOfLoad(load: Load, parts: NonNullable<Load['parts']>): VNode {
  const end = hasEnded(load) ? endOf(load) : undefined;
  if (end?.is === 'tables-loaded') return loadedTables(end.result, load.dry_run);
  return refusedTables(parts, end?.is === 'not-loaded' ? end.failure : undefined);
}

/** What can be done with a load, the most likely first. */
function loadActions(load: Load, actions: Actions): VNode {
  const { id, table, state } = load;
  return h('div', { class: 'table-actions' }, [
    !hasEnded(load) && button('Cancel', () => actions.cancelOne(id), { disabled: load.cancel_requested }),
    state === 'committed' &&
      !load.parts &&
      h(
        'a',
        { class: 'button main', href: hashOf({ page: 'table', schema: table.schema, name: table.name }) },
        ['Show the table'],
      ),
    hasEnded(load) &&
      load.problems_found > 0 &&
      button('Save all problems as .csv', () => actions.saveProblemsOf(id, table.name)),
    load.faulty_rows > 0 &&
      state === 'committed' &&
      button('Load the repaired file', () => actions.loadInto(table)),
  ]);
}

/** The service does not keep files, so the user chooses the file again. */
function againView(load: Load, actions: Actions): VNode {
  return h('section', { class: 'panel', 'aria-labelledby': 'again-title' }, [
    h('div', { class: 'panel-head' }, h('h2', { id: 'again-title' }, 'Load again')),
    h('p', null, [
      'The service does not keep files. Drop the file here, corrected or the one of the next month: it is read with the settings of this load, and you can check it first.',
    ]),
    dropPlace(([file]) => actions.loadAgain(load, file), 'Drop the file here, or choose it', 'again'),
  ]);
}

/** The details of a load, each with its label. */
function factsOf(load: Load): (readonly [string, VNode])[] {
  const { bytes_received: received, bytes_expected: expected, created_at: from, ended_at: to } = load;
  const all = expected && expected > received ? ` of ${sizeInWords(expected)}` : '';
  const facts = {
    Begun: moment(from),
    Ended: to ? `${moment(to)}, after ${timeInWords(Date.parse(to) - Date.parse(from))}` : 'not yet',
    Received: `${sizeInWords(received)}${all}`,
    'Rows read': countInWords(load.rows_read),
    ...(load.problems_found > 0 && { Problems: countInWords(load.problems_found) }),
    ...(load.subject !== null && { 'Started by': load.subject }),
    Id: load.id,
  };
  const { schema, name } = load.table;
  const link = h('a', { href: hashOf({ page: 'table', schema, name }) }, [data(`${schema}.${name}`)]);
  const table = load.parts ? [] : [['Table', link] as const];
  return [...table, ...Object.entries(facts).map(([label, fact]) => [label, data(fact)] as const)];
}
