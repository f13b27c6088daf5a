/** The step in which several tables are chosen, checked and loaded together. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { type CellEdit, editsLike, replacement } from '../../derived/corrections.ts';
import { homesOf } from '../../derived/homes.ts';
import { type Link, possibleLinks } from '../../derived/links.ts';
import { reasonInWords } from '../../derived/problems.ts';
import {
  includedParts,
  isPlanChecked,
  mayExist,
  type PartOutcome,
  partFault,
  partOutcomes,
  placeInPart,
  togetherFault,
} from '../../derived/together.ts';
import { decisionsOf, isOpen } from '../../derived/warnings.ts';
import { plural, sizeInWords } from '../../derived/words.ts';
import { h } from '../../h.ts';
import { labelled } from '../../parameters.ts';
import type { CellCorrection, Part, State, TablesChecked, Together } from '../../state.ts';
import { cellFields, replaceButton } from '../cell-field.ts';
import { existsLabels } from '../columns/target-fields.ts';
import { correctionList } from '../corrections.ts';
import {
  bar,
  busy,
  button,
  type Child,
  changedFileBox,
  checkbox,
  data,
  failureBox,
  field,
  select,
  textInput,
} from '../parts.ts';
import { type Editing, foundProblems, foundWarnings } from './found.ts';

export function togetherView(state: State, actions: Actions): VNode {
  const { togetherFiles: files, together } = state;
  const again = (): void => void actions.openTogether(files);
  return h('section', { class: 'together-step' }, [
    h('div', { class: 'title-row' }, [
      h('h1', null, 'Load several tables'),
      h('span', { class: 'dim' }, data(files.map(({ name }) => name).join(', '))),
      button('Choose other files', actions.forgetFile, { kind: 'quiet' }),
    ]),
    h('p', { class: 'lead' }, 'Either all of these tables are loaded, or none.'),
    together.is === 'none' && button('Read the files', again, { kind: 'main' }),
    together.is === 'busy' && reading(files, together.sentBytes),
    together.is === 'failed' &&
      (together.failure.isOfFile
        ? changedFileBox(together.failure, actions)
        : failureBox(together.failure, again)),
    together.is === 'ready' && content(state, together.value, actions),
  ]);
}

function reading(files: State['togetherFiles'], sentBytes: number): VNode[] {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const sent = Math.min(sentBytes, bytes);
  return [
    bar('Sending', bytes === 0 ? 1 : sent / bytes, `${sizeInWords(sent)} of ${sizeInWords(bytes)}`),
    busy('The service looks for the tables in the files. Nothing is written to the database.'),
  ];
}

function content(state: State, together: Together, actions: Actions): Child {
  const { togetherCheck: check } = state;
  const included = includedParts(together);
  const possible = possibleLinks(together);
  const checked = isPlanChecked(state) && check.is === 'ready' ? check.value : undefined;
  const outcomes = checked && partOutcomes(checked, included.length);
  const isOfNoPart = outcomes?.every(
    ({ refusal, problems }) => refusal === undefined && problems.length === 0,
  );
  return [
    field(
      'Schema',
      textInput(together.schema, actions.changeTogetherSchema, { name: 'schema' }),
      '',
      'short',
    ),
    homesOffer(state, together, actions),
    h('ul', { class: 'tables-together', 'aria-label': 'Tables' }, [
      together.parts.map((part, index) => {
        const outcome = outcomes?.[included.indexOf(part)];
        const links = possible.filter(({ from }) => from === part);
        return partView(state, together, { part, index, outcome, links }, actions);
      }),
    ]),
    check.is === 'failed' &&
      (check.failure.isOfFile ? changedFileBox(check.failure, actions) : failureBox(check.failure)),
    checked?.failure && isOfNoPart && failureBox(checked.failure),
    actionBar(state, together, checked, actions),
  ];
}

const maxNamed = 3;

/** Offers to add the rows to the existing tables to which they belong, all with one click. */
function homesOffer(state: State, together: Together, actions: Actions): Child {
  const homes = [...homesOf(state, together).values()];
  if (homes.length === 0) return null;
  const names = homes.map(({ table, ifExists }) =>
    ifExists === 'append' ? table : `${table} (${ifExists === 'replace' ? 'replaced' : 'emptied first'})`,
  );
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
  const settings = new Set(homes.flatMap(({ settings }) => settings?.name ?? []));
  return h('div', { class: 'notice good' }, [
    h(
      'p',
      null,
      `${plural(homes.length, 'table')} for these rows ${homes.length === 1 ? 'exists' : 'exist'} already.`,
    ),
    settings.size > 0 && h('p', null, ['Saved settings are used: ', data([...settings].join(', ')), '.']),
    h('div', { class: 'notice-actions' }, [
      button(['Add the rows to ', data(names.slice(0, maxNamed).join(', ')), more], actions.addToHomes, {
        id: 'add-to-homes',
      }),
    ]),
  ]);
}

interface Shown {
  part: Part;
  index: number;
  /** undefined: it is not checked. */
  outcome: PartOutcome | undefined;
  /** Its possible links. */
  links: Link[];
}

function partView(state: State, together: Together, shown: Shown, actions: Actions): VNode {
  const { part, index, outcome } = shown;
  const { label, origin, obstacle, isIncluded, isHidden, table } = part;
  const warnings = outcome?.warnings ?? [];
  const alone = part.sheet === undefined ? 'Load this file alone' : 'Load this sheet alone';
  const name = [
    h('strong', null, data(label)),
    origin !== undefined && h('span', { class: 'dim' }, [' in ', data(origin)]),
    isHidden && h('span', { class: 'dim' }, ' (hidden)'),
  ];
  return h('li', { class: `card together-part${isIncluded ? '' : ' out'}` }, [
    h('div', { class: 'part-head' }, [
      checkbox(name, isIncluded, (is) => actions.changePart(index, { isIncluded: is }), {
        name: `include-${index}`,
        disabled: obstacle !== undefined,
      }),
      h('span', { class: 'dim' }, sizeOf(part, outcome)),
      partState(state, together, shown),
      button(alone, () => actions.loadAlone(part), { kind: 'quiet', 'aria-label': `${alone}: “${label}”` }),
    ]),
    obstacle !== undefined && h('p', { class: 'bad-text' }, data(obstacle)),
    isIncluded &&
      h('div', { class: 'fields' }, [
        field(
          'Table',
          textInput(table, (to) => actions.changePart(index, { table: to, settings: undefined }), {
            name: `table-${index}`,
          }),
        ),
        (mayExist(together, part, outcome) || part.ifExists !== 'fail') &&
          field(
            'This table exists already',
            select(part.ifExists, existsOptions, (ifExists) => actions.changePart(index, { ifExists }), {
              name: `if_exists-${index}`,
            }),
          ),
      ]),
    isIncluded && part.settings !== undefined && settingsInUse(part.settings, index, actions),
    linkChoices(shown, (chosen) => actions.changePart(index, { links: chosen })),
    decisionsOf(warnings)
      .filter(({ words }) => !isPlainHeader(words))
      .map(({ words }) => h('p', { class: 'decision' }, data(words))),
    foundWarnings(warnings.filter(isOpen)),
    warnings.some(isOpen) &&
      h(
        'p',
        { class: 'hint' },
        `To change this, ${alone.toLowerCase()}, or correct the file and choose it again.`,
      ),
    outcome && foundProblems(outcome, editingOf(shown, actions), table),
    corrected(shown, actions),
  ]);
}

function settingsInUse({ name }: NonNullable<Part['settings']>, index: number, actions: Actions): VNode {
  return h('p', { class: 'decision' }, [
    name === undefined
      ? 'It is read as in the load before.'
      : ['It is read with the settings ', data(name), '.'],
    ' ',
    button('Undo', () => actions.changePart(index, { settings: undefined }), {
      kind: 'tiny',
      'aria-label': 'Undo: do not use these settings',
    }),
  ]);
}

/** The cells of the part that the user has corrected. */
function corrected({ part: { corrections, table }, index }: Shown, actions: Actions): Child {
  if (corrections.length === 0) return null;
  const undo = (undone: CellCorrection[]) =>
    actions.correctPart(
      index,
      undone.map((one) => ({ ...one, to: one.from })),
    );
  return [
    h(
      'p',
      { class: 'hint' },
      `${plural(corrections.length, 'cell')} corrected. The file itself is not changed.`,
    ),
    correctionList(corrections, undo, undefined, `Corrected cells of ${table}`),
  ];
}

function editingOf({ part: { corrections }, index }: Shown, actions: Actions): Editing {
  const state = { corrections, columnsOf: undefined };
  const correct = (edits: CellEdit[]): void => actions.correctPart(index, edits);
  const fieldOf = cellFields(state, correct);
  return {
    fieldOf(problem) {
      const place = placeInPart(problem);
      return place && fieldOf(place, problem.value ?? null, reasonInWords(problem));
    },
    replaceIn({ problems }) {
      const found = replacement(state, problems, placeInPart);
      return (
        found && replaceButton(found, false, () => correct(editsLike(found.newest, found.like, placeInPart)))
      );
    },
  };
}

/** Offers the foreign keys to other tables of the load. */
function linkChoices({ part, links }: Shown, onChange: (links: string[]) => void): Child {
  return links.map(({ column, to, toColumn }) =>
    h('div', { class: 'decision' }, [
      checkbox(
        ['Each ', data(column), ' must occur as ', data(toColumn), ' in ', data(to.table), ' (foreign key)'],
        part.links.includes(column),
        (is) => onChange([...part.links.filter((one) => one !== column), ...(is ? [column] : [])]),
      ),
    ]),
  );
}

/** The header is where everybody expects it, so the page need not say it. */
function isPlainHeader(words: string): boolean {
  return words.startsWith('Row 1 was read as the header') && !words.includes('Not read');
}

const existsOptions = labelled<'if_exists'>({ fail: 'Choose what to do', ...existsLabels });

function sizeOf({ rows, columns }: Part, outcome: PartOutcome | undefined): string {
  const parts = [
    plural(outcome?.rows ?? rows ?? -1, 'row'),
    plural(outcome?.columns ?? columns ?? -1, 'column'),
  ];
  return (outcome?.rows ?? rows) === undefined ? '' : parts.join(', ');
}

/** Says how far the part is. Its problems are listed below. */
function partState(state: State, together: Together, { part, outcome }: Shown): VNode {
  const [words, kind] = stateOf(state, together, part, outcome);
  return h('span', { class: `part-state ${kind}` }, words);
}

function stateOf(
  state: State,
  together: Together,
  part: Part,
  outcome: PartOutcome | undefined,
): [words: string, kind: string] {
  const { togetherCheck: check } = state;
  if (!part.isIncluded) return ['Left out', 'dim'];
  const fault = partFault(together, part);
  if (fault !== undefined) return [fault, 'bad-text'];
  if (outcome === undefined)
    return [isPlanChecked(state) && check.is === 'busy' ? 'Being checked' : 'Not checked yet', 'dim'];
  const count = outcome.problems.reduce((sum, { count }) => sum + count, 0);
  if (outcome.refusal !== undefined) return ['Cannot be loaded', 'bad-text'];
  if (count > 0) return [plural(count, 'problem'), 'bad-text'];
  // The service does not load the other tables if one has problems.
  const isAll = check.is === 'ready' && check.value.result !== undefined;
  return isAll ? ['Checked', 'good-text'] : ['No problem found', 'dim'];
}

function actionBar(
  state: State,
  together: Together,
  checked: TablesChecked | undefined,
  actions: Actions,
): VNode {
  const fault = togetherFault(together);
  const isBusy = isPlanChecked(state) && state.togetherCheck.is === 'busy';
  const count = includedParts(together).length;
  return h('div', { class: 'action-bar' }, [
    h('div', { class: 'action-text', role: 'status' }, [
      fault !== undefined ? h('span', { class: 'bad-text' }, fault) : wordsOf(isBusy, checked, count),
      h('strong', { class: 'bad-text' }, lossWords(together)),
    ]),
    button(checked ? 'Check again' : 'Check', () => actions.checkTogether(), {
      disabled: fault !== undefined || isBusy,
      id: 'check',
    }),
    button(`Load ${plural(count, 'table')}`, actions.loadTogether, {
      kind: 'main',
      disabled: fault !== undefined || checked?.result === undefined,
      id: 'load',
    }),
  ]);
}

function wordsOf(isBusy: boolean, checked: TablesChecked | undefined, count: number): string {
  if (isBusy) return 'Every row is being checked. Nothing is changed.';
  if (checked === undefined) return 'The check reads every row and writes nothing.';
  if (checked.result === undefined)
    return 'Nothing is loaded while a table has problems. Correct its cells, leave it out, or correct the file and choose it again.';
  return `Checked: ${plural(checked.result.load.rows, 'row')} would be loaded into ${plural(count, 'table')}.`;
}

function lossWords(together: Together): string {
  const named = (ifExists: Part['ifExists']): string =>
    includedParts(together)
      .filter((part) => part.ifExists === ifExists)
      .map(({ table }) => table)
      .join(', ');
  const [emptied, replaced] = [named('truncate'), named('replace')];
  return [
    emptied && ` The existing rows of ${emptied} are deleted first.`,
    replaced && ` New tables replace ${replaced}.`,
  ].join('');
}
