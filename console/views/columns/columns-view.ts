/** Step 2: the content of the file, and the columns of the target table. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { offeredChoices } from '../../derived/choices.ts';
import { originOf } from '../../derived/file.ts';
import { emptyColumns, unplacedColumns } from '../../derived/mapping.ts';
import { nextStep } from '../../derived/next-step.ts';
import { planFaults } from '../../derived/request.ts';
import { isTogetherFirst, offeredTogether } from '../../derived/together.ts';
import { isOpen, undecided } from '../../derived/warnings.ts';
import { plural } from '../../derived/words.ts';
import { yesNoHint } from '../../derived/yes-no.ts';
import type { Failure } from '../../failure.ts';
import { h } from '../../h.ts';
import type { Inspection } from '../../inspection.ts';
import type { State } from '../../state.ts';
import { inspecting } from '../file.ts';
import { button, type Child, changedFileBox, data, failureBox, shortened } from '../parts.ts';
import { profileOffer } from '../profiles.ts';
import { warningList } from '../warnings.ts';
import { arraysOf, columnsGrid, sheetTabs } from './file-panel.ts';
import { headerButton, headerChoice } from './header-choice.ts';
import { readingFields } from './reading-fields.ts';
import { targetFields } from './target-fields.ts';
import { typeList } from './type-list.ts';

export function columnsView(state: State, actions: Actions): VNode {
  const { file, inspection } = state;
  if (file === undefined) return h('p', null);
  return h('section', { class: 'columns-step' }, [
    h('div', { class: 'title-row' }, [
      h('h1', null, data(file.name)),
      h('span', { class: 'dim' }, data(originOf(file))),
      button('Choose another file', actions.chooseOtherFile, { kind: 'quiet' }),
    ]),
    inspection.is === 'busy' && inspecting(file, inspection.sentBytes),
    inspection.is === 'failed' && notInspected(state, inspection.failure, actions),
    (inspection.is === 'failed' || inspection.is === 'busy') && readingFields(state, actions),
    inspection.is === 'ready' && [
      sheetTabs(inspection.value, state.reading, actions),
      togetherOffer(state, inspection.value, actions),
      arraysOf(inspection.value, state.reading, actions),
      profileOffer(state, inspection.value, actions),
      panel('table-title', 'In the database', [], targetFields(state, actions)),
      filePanel(state, inspection.value, actions),
      actionBar(state, actions),
    ],
  ]);
}

/** Offers to load all sheets, or all chosen files, as one table each. */
function togetherOffer(state: State, inspection: Inspection, actions: Actions): Child {
  const count = offeredTogether(state);
  if (count === 0) return null;
  const { sheet } = inspection;
  const isFirst = isTogetherFirst(state);
  return h('div', { class: `together-offer${isFirst ? ' notice good' : ''}` }, [
    isFirst && h('p', { class: 'notice-title' }, `This file has ${count} tables.`),
    h('div', { class: 'notice-actions' }, [
      togetherButton(count, actions, { kind: isFirst ? 'main' : 'plain', id: 'together' }),
      h('span', { class: 'dim' }, [
        ' Shown below ',
        sheet === '' ? 'is this one alone.' : ['is only ', data(sheet), '.'],
      ]),
    ]),
  ]);
}

function togetherButton(count: number, actions: Actions, options: Parameters<typeof button>[2]): VNode {
  return button(`Load all ${count} as ${count} tables, together`, () => void actions.openTogether(), options);
}

/** A file that cannot be read at the chosen place may have its table elsewhere, so the user can change the place. */
function notInspected(state: State, failure: Failure, actions: Actions): Child {
  if (failure.isOfFile) return changedFileBox(failure, actions);
  const choice = headerChoice(state, undefined, actions);
  return [failureBox(failure), panel('sheet-title', 'In the file', headerButton(state, actions), choice)];
}

/** @param isReadAgain true: the file is being read again; undefined: the panel does not show the file */
function panel(id: string, title: string, head: Child, content: Child, isReadAgain?: boolean): VNode {
  const kind = `panel${isReadAgain ? ' read-again' : ''}`;
  return h('section', { class: kind, 'aria-labelledby': id, 'aria-busy': isReadAgain }, [
    h('div', { class: 'panel-head' }, [h('h2', { id }, title), head]),
    content,
  ]);
}

function filePanel(state: State, inspection: Inspection, actions: Actions): VNode {
  const { rowCount, header, warnings, errorCount } = inspection;
  const [it, them] = errorCount === 1 ? ['it is', 'it'] : ['they are', 'them'];
  const counts = `${plural(rowCount, 'row')}, ${plural(header.length, 'column')}`;
  return panel(
    'sheet-title',
    'In the file',
    [h('span', { class: 'dim' }, counts), headerButton(state, actions)],
    [
      warningList(
        [...warnings.filter((warning) => !isOpen(warning)), ...undecided(state)],
        (warning) => offeredChoices(state, warning, 'header'),
        actions.takeChoice,
        actions.changeReading,
      ),
      yesNoLine(state, inspection, actions),
      errorCount > 0 &&
        h('p', { class: 'notice bad' }, [
          `${plural(errorCount, 'cell')} cannot be loaded as ${it}. The check lists ${them} with a fix.`,
        ]),
      headerChoice(state, inspection, actions),
      typeList(state.types),
      placeNotes(state, actions),
      header.length > 0 && columnsGrid(state, inspection, actions),
      readingFields(state, actions),
    ],
    state.isReadAgain,
  );
}

function yesNoLine({ reading }: State, inspection: Inspection, actions: Actions): VNode | undefined {
  const hint = yesNoHint(reading, inspection);
  return (
    hint &&
    h('p', { class: 'decision' }, [
      names(hint.headers.map((header) => `“${header}”`)),
      ' can be true or false instead of text. ',
      button(
        ['Read ', data(`“${hint.yes}”`), ' and ', data(`“${hint.no}”`), ' as true and false'],
        () => actions.changeReading(hint.change),
        { kind: 'tiny' },
      ),
    ])
  );
}

/** What the existing table does not get from the file, and what the file has for no column of the table. */
function placeNotes(state: State, actions: Actions): Child {
  const unplaced = unplacedColumns(state);
  const empty = emptyColumns(state);
  return [
    unplaced.length > 0 &&
      h('p', { class: 'notice warn', role: 'status' }, [
        `The table has no column for ${plural(unplaced.length, 'column')} of the file: `,
        names(unplaced.map(({ header }) => header)),
        '. Choose a column for each, or ',
        button('leave them out', () => actions.changeRows({ extraColumns: 'ignore' }), { kind: 'tiny' }),
      ]),
    empty.length > 0 &&
      h('p', { class: 'decision' }, [
        'These columns of the table get nothing from the file: ',
        names(empty.map(({ name, isRequired }) => (isRequired ? `${name} (required)` : name))),
        '.',
      ]),
  ];
}

const maxNames = 20;

function names(all: string[]): VNode {
  const rest = all.length - maxNames;
  return data(`${all.slice(0, maxNames).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`);
}

function actionBar(state: State, actions: Actions): VNode {
  const [fault] = planFaults(state);
  const { words, button: main } = nextStep(state);
  const isTogether = isTogetherFirst(state);
  const kind = isTogether ? 'plain' : 'main';
  const only = isTogether ? 'Load only this sheet into ' : 'Load into ';
  return h('div', { class: 'action-bar' }, [
    h('div', { class: 'action-text', role: 'status' }, [
      state.isReadAgain
        ? 'The file is being read again.'
        : fault !== undefined
          ? h('span', { class: 'bad-text' }, fault)
          : data(words),
    ]),
    button('Definition as JSON', () => actions.showDialog({ is: 'definition' }), { kind: 'quiet' }),
    button('curl', () => actions.showDialog({ is: 'curl' }), { kind: 'quiet' }),
    main === 'Load' &&
      button([only, data(shortened(state.target.table))], actions.load, { kind, id: 'load' }),
    // This button keeps its place when the other one appears, so that a click for the check never begins a load.
    button(main === 'Load' ? 'Check' : main, actions.showCheck, {
      kind: main === 'Load' ? 'plain' : kind,
      // While the file is read again, the check waits: a field that changes the reading must not make a click on the button lost.
      disabled: fault !== undefined,
      id: 'check',
    }),
    isTogether && togetherButton(offeredTogether(state), actions, { kind: 'main' }),
  ]);
}
