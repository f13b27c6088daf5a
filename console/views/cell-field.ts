/** A field in which the user gives a cell of the file another value. */
import type { VNode } from 'preact';
import {
  type CellEdit,
  currentCorrections,
  isCut,
  keyOfPlace,
  placeInWords,
  type replacement,
} from '../derived/corrections.ts';
import { countInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import type { CellPlace, State } from '../state.ts';
import { button, shortened } from './parts.ts';

/** Returns a function that makes the field of a cell. @param value the value that the service has read */
export function cellFields(
  state: Pick<State, 'corrections' | 'columnsOf'>,
  correct: (edits: CellEdit[]) => void,
): (place: CellPlace, value: string | null, reason?: string) => VNode {
  const byKey = new Map(currentCorrections(state).map((one) => [keyOfPlace(one), one]));
  return (place, value, reason) => {
    const key = keyOfPlace(place);
    const now = byKey.has(key) ? byKey.get(key)!.to : value;
    // The user could not see what the rest of a shortened value is, so a new value replaces all of it.
    const text = isCut(now) ? '' : (now ?? '');
    const commit = (field: HTMLTextAreaElement): void => {
      if (field.value !== text) correct([{ ...place, from: value, to: field.value || null }]);
    };
    return h('textarea', {
      // A field keeps what the user types while the page is drawn, and begins anew with another value.
      key: `${key} ${text}`,
      class: 'cell-field',
      rows: 1,
      defaultValue: text,
      spellcheck: false,
      placeholder: now === null ? 'empty' : isCut(now) ? 'too long to show: type all of it' : '',
      'aria-label': `Value of ${placeInWords(place)}, ${shortened(place.header)}${reason === undefined ? '' : `: ${shortened(reason)}`}`,
      onChange: ({ currentTarget }) => commit(currentTarget),
      onKeyDown: (event) => {
        const field = event.currentTarget;
        if (event.key === 'Escape') field.value = text;
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        focusNext(field);
      },
    });
  };
}

/** Offers the newest correction for all cells of a group that have the same value. @param isAll true: it is for cells that are not listed, too */
export function replaceButton(
  { newest: { from, to }, like }: NonNullable<ReturnType<typeof replacement>>,
  isAll: boolean,
  onReplace: () => void,
): VNode {
  const number = isAll ? 'all other' : `the other ${countInWords(like.length)}`;
  const before = from === null ? 'empty cells' : `“${shortened(from)}”`;
  const after = to === null ? 'nothing' : `“${shortened(to)}”`;
  return button(`Replace ${number} ${before} by ${after}`, onReplace, { kind: 'fix' });
}

/** Leaving a field makes the correction. */
function focusNext(field: HTMLTextAreaElement): void {
  const fields = [...field.closest('.virtual-rows, .grid')!.querySelectorAll('textarea')];
  const next = fields[fields.indexOf(field) + 1];
  if (next !== undefined) next.focus();
  else {
    field.blur();
    requestAnimationFrame(() => document.getElementById('corrections')?.focus());
  }
}
