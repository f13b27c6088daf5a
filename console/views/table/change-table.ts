/** The page on which the user changes the columns of a table, sees what the service would do, and does it. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { hashOf } from '../../derived/routes.ts';
import { costsOf, draftFault, hasOpenLosses, lossWords, withColumnNames } from '../../derived/table-draft.ts';
import { plural } from '../../derived/words.ts';
import type { Failure } from '../../failure.ts';
import { h } from '../../h.ts';
import type { DraftColumn, PlannedChange, State, TableDraft, TablePlan } from '../../state.ts';
import { typeList } from '../columns/type-list.ts';
import { busy, button, type Child, checkbox, data, failureBox, remoteView } from '../parts.ts';
import { problemList } from '../problem-list.ts';
import { draftEditor } from './draft-editor.ts';
import { changeState } from './table-dialogs.ts';

export function changeTableView(state: State, actions: Actions): VNode {
  const { draft, types, route } = state;
  return h('section', { class: 'change-table' }, [
    h('h1', null, 'Change columns'),
    remoteView(
      draft,
      'The table is being read.',
      (value) => [
        h('p', { class: 'lead' }, [
          'Of the table ',
          h('a', { href: hashOf({ ...value.table, page: 'table' }) }, [
            data(`${value.table.schema}.${value.table.name}`),
          ]),
          '. Either everything is changed, or nothing.',
        ]),
        typeList(types),
        draftEditor(value.columns, actions),
        planView(state, value, actions),
      ],
      () => actions.open(route),
    ),
  ]);
}

function planView({ plan, tableChange, route }: State, { columns }: TableDraft, actions: Actions): Child {
  const fault = draftFault(columns);
  const isReady = plan.is === 'ready' && plan.value.changes.length > 0;
  const isBusy = plan.is === 'busy' || tableChange.is === 'busy';
  const again = (): void => actions.open(route);
  return [
    plan.is === 'busy' && busy('The service plans the change. Nothing is changed.'),
    plan.is === 'failed' && refused(plan.failure, columns, again),
    plan.is === 'ready' && changesView(plan.value, actions),
    tableChange.is === 'failed'
      ? refused(tableChange.failure, columns, again)
      : changeState(tableChange, 'The table is being changed.'),
    h('div', { class: 'action-bar' }, [
      h('div', { class: 'action-text' }, [
        isReady && hasOpenLosses(plan.value)
          ? h('span', { class: 'bad-text' }, 'Tick what may be lost.')
          : (fault ?? 'Nothing is changed before you have seen what happens.'),
      ]),
      button('Show what happens', actions.planChange, {
        kind: isReady ? 'plain' : 'main',
        id: 'plan',
        disabled: fault !== undefined || isBusy,
      }),
      isReady &&
        button(`Do ${plural(plan.value.changes.length, 'change')}`, () => actions.applyChange(plan.value), {
          kind: 'main',
          id: 'apply',
          disabled: hasOpenLosses(plan.value) || isBusy,
        }),
    ]),
  ];
}

/** Says why the table cannot be changed like this, with the rows that cannot follow. */
function refused(failure: Failure, columns: DraftColumn[], again: () => void): Child {
  const { code, errors, errorCount } = failure;
  const box = { ...failure, errors: [], errorCount: 0 };
  if (code === 'invalid-data') return [failureBox(box), problemList(errors, errorCount)];
  if (code === 'invalid-definition' && errors.length > 0) {
    const detail = 'The columns cannot become like this. Nothing was changed.';
    return [failureBox({ ...box, detail }), problemList(withColumnNames(errors, columns), errorCount)];
  }
  return [
    changeState({ is: 'failed', failure }, ''),
    code === 'precondition-failed' &&
      h('p', null, [
        'Somebody has changed the table since you opened this page. Your changes are lost if you read it again. ',
        button('Read the table again', again),
      ]),
  ];
}

function changesView(plan: TablePlan, actions: Actions): Child {
  const { changes, ticked } = plan;
  if (changes.length === 0) return h('p', { class: 'notice warn', role: 'status' }, 'Nothing would change.');
  return h('section', { class: 'panel', 'aria-labelledby': 'plan-title' }, [
    h('h2', { id: 'plan-title' }, `What happens: ${plural(changes.length, 'change')}`),
    changes.some(({ scans, rewrites }) => scans || rewrites) &&
      h(
        'p',
        { class: 'hint' },
        'The rows were not read yet. Rows that cannot follow are listed when you do it, and then nothing is changed.',
      ),
    h('ol', { class: 'plan' }, [
      changes.map((change, index) =>
        h(
          'li',
          null,
          changeLine(change, ticked.includes(index), (to) => actions.tickLoss(index, to)),
        ),
      ),
    ]),
  ]);
}

function changeLine(change: PlannedChange, isTicked: boolean, onTick: (isTicked: boolean) => void): Child {
  const { detail, sql } = change;
  const costs = costsOf(change);
  const loss = lossWords(change);
  return [
    data(detail),
    costs && h('span', { class: 'dim' }, ` (${costs})`),
    loss !== undefined && checkbox(data(loss), isTicked, onTick),
    sql && h('details', { class: 'more' }, [h('summary', null, 'SQL'), h('pre', { tabIndex: 0 }, sql)]),
  ];
}
