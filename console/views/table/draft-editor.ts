/** The grid in which the user changes the columns of an existing table. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { h } from '../../h.ts';
import type { DraftColumn } from '../../state.ts';
import { button, checkbox, shortened, textInput } from '../parts.ts';
import { VirtualRows } from '../virtual-grid.ts';

export function draftEditor(columns: DraftColumn[], actions: Actions): VNode {
  const present = columns.filter(({ before }) => before !== undefined).length;
  const isNarrow = matchMedia('(max-width: 800px)').matches;
  const height = isNarrow ? 224 : 58;
  const row = (index: number): VNode => draftRow(columns[index]!, index, actions);
  return h('div', { class: 'draft' }, [
    h('div', { class: 'draft-row draft-head', 'aria-hidden': 'true' }, [
      ['Column', 'Type', 'Optional', 'Default', 'Comment', ''].map((text) => h('span', null, text)),
    ]),
    h(VirtualRows, {
      label: 'Columns of the table',
      role: 'group',
      count: present,
      rowHeight: height,
      maxHeight: Math.max(420, Math.min(900, innerHeight - 320)),
      row,
    }),
    // New columns are last. They are few, so all of them are shown.
    h('div', { class: 'draft-new' }, [
      columns.slice(present).map((_, at) => h('div', { key: at, role: 'group' }, row(present + at))),
    ]),
    button('Add a column', () => addColumn(actions), { kind: 'quiet', id: 'add-column' }),
  ]);
}

function addColumn(actions: Actions): void {
  actions.addDraftColumn();
  // The page is drawn before the next frame.
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.draft-new > :last-child input')?.focus());
}

function draftRow(column: DraftColumn, index: number, actions: Actions): VNode {
  const { before, name, type, isNullable, comment, isRemoved } = column;
  const change = (to: Partial<DraftColumn>): void => actions.changeDraftColumn(index, to);
  const of = before === undefined ? `new column ${index + 1}` : shortened(before.name);
  const disabled = isRemoved;
  return h('div', { class: `draft-row${isRemoved ? ' out' : ''}` }, [
    textInput(name, (to) => change({ name: to }), { disabled, class: 'name', 'aria-label': `Name of ${of}` }),
    textInput(type, (to) => change({ type: to }), {
      ...{ disabled, class: 'type', list: 'types' },
      'aria-label': `Type of ${of}`,
    }),
    checkbox('Optional', isNullable, (to) => change({ isNullable: to }), {
      disabled,
      'aria-label': `${of} is optional`,
    }),
    textInput(before?.generated ?? column.default, (to) => change({ default: to }), {
      ...{ disabled: disabled || before?.generated != null, class: 'default' },
      ...{ placeholder: 'no default', 'aria-label': `Default of ${of}` },
    }),
    // A comment may have several lines, which an input of one line would join.
    h('textarea', {
      ...{ disabled, class: 'comment', placeholder: 'no comment', rows: 1, value: comment },
      'aria-label': `Comment of ${of}`,
      onInput: ({ currentTarget }) => change({ comment: currentTarget.value }),
    }),
    before === undefined
      ? button('Remove', () => actions.removeDraftColumn(index), {
          kind: 'quiet',
          'aria-label': `Remove ${of}`,
        })
      : button(isRemoved ? 'Keep' : 'Drop', () => change({ isRemoved: !isRemoved }), {
          kind: 'quiet',
          'aria-label': `${isRemoved ? 'Keep' : 'Drop'} ${of}`,
        }),
  ]);
}
