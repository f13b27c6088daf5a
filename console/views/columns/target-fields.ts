/** The fields for the target table. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { mayHaveKey, mayKeepDefinition, unseenWords } from '../../derived/target.ts';
import { countInWords } from '../../derived/words.ts';
import { h } from '../../h.ts';
import { noRules } from '../../initial-state.ts';
import { labelled } from '../../parameters.ts';
import type { State } from '../../state.ts';
import { checkbox, data, field, select, textInput } from '../parts.ts';
import { missingFields } from './missing-fields.ts';

export const existsLabels = {
  append: 'Add the rows to it',
  truncate: 'Empty it, then load the rows',
  replace: 'Replace it with a new table',
};

const conflictOptions = labelled<'on_conflict'>({
  fail: 'is a problem',
  skip: 'is left out',
  update: 'updates the existing row',
});

const extraOptions = labelled<'extra_columns'>({
  fail: 'are a problem',
  ignore: 'are left out',
  add: 'are added to the table',
});

const misfitOptions = labelled<'misfits'>({
  fail: 'are a problem',
  widen: 'make the type wider, but never text',
  widen_text: 'make the type wider, or text',
});

export function targetFields(state: State, actions: Actions): VNode {
  const { target, existing, rows } = state;
  const exists = existing.is === 'ready' && existing.value !== null;
  const unseen = unseenWords(state);
  const hasRepeats =
    mayHaveKey(state) &&
    (exists ||
      (unseen !== undefined && target.ifExists !== 'fail') ||
      target.onConflict !== 'fail' ||
      state.columns.some(({ keyPlace, isUnique }) => keyPlace > 0 || isUnique));
  return h('div', null, [
    h('div', { class: 'fields' }, [
      field(
        'Schema',
        textInput(target.schema, (schema) => actions.changeTarget({ schema }), { name: 'schema' }),
      ),
      field(
        'Table',
        textInput(target.table, (table) => actions.changeTarget({ table }), { name: 'table' }),
        existingHint(state),
      ),
      (exists || unseen !== undefined) && existingField(state, actions, unseen),
      hasRepeats &&
        field(
          'A row whose key already exists',
          select(target.onConflict, conflictOptions, (onConflict) => actions.changeTarget({ onConflict }), {
            name: 'on_conflict',
          }),
        ),
      missingFields(state, actions),
      unseen !== undefined &&
        mayKeepDefinition(state) &&
        field(
          'Columns that the table does not have',
          select(rows.extraColumns, extraOptions, (extraColumns) => actions.changeRows({ extraColumns }), {
            name: 'extra_columns',
          }),
        ),
      mayKeepDefinition(state) &&
        field(
          'Values that do not fit the type of their column',
          select(rows.misfits, misfitOptions, (misfits) => actions.changeRows({ misfits }), {
            name: 'misfits',
          }),
        ),
    ]),
    unseen !== undefined && h('p', { class: 'notice warn', role: 'status' }, data(unseen)),
    h('div', { class: 'checks' }, [
      checkbox(
        `Leave out rows with problems, at most ${countInWords(rows.maxFaulty)}`,
        rows.leaveOutFaulty,
        (leaveOutFaulty) =>
          actions.changeRows({ leaveOutFaulty, ...(!leaveOutFaulty && { maxFaulty: noRules.maxFaulty }) }),
        { name: 'leave_out_faulty' },
      ),
    ]),
  ]);
}

/** @param unseen what the page could not find out about the table; undefined: the page knows that the table exists */
function existingField({ target }: State, actions: Actions, unseen: string | undefined): VNode {
  const labels = labelled<'if_exists'>({
    fail: unseen === undefined ? 'Choose what to do' : 'Do not load',
    ...existsLabels,
  });
  return field(
    unseen === undefined ? 'This table exists already' : 'If this table exists',
    select(target.ifExists, labels, (ifExists) => actions.changeTarget({ ifExists }), { name: 'if_exists' }),
  );
}

/** Always returns a line, because the fields below must not move when the answer arrives. */
function existingHint({ existing }: State): string {
  if (existing.is !== 'ready') return '\u00a0';
  return existing.value === null ? 'A new table' : 'This table exists';
}
