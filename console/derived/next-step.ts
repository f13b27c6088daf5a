/** What the columns step offers next. A file about which nothing is asked is checked in the background, and can be loaded at once. */
import type { State } from '../state.ts';
import { offeredChoices } from './choices.ts';
import { planFaults, requestText } from './request.ts';
import { isOpen, undecided } from './warnings.ts';
import { plural } from './words.ts';

/** A larger file, and one of a link, is read again only when the user asks for the check: the service does not keep a file that it has inspected. */
export const maxCheckedBytes = 8_000_000;

/** Returns whether the last check, which may be running, is about the present request. */
export function isChecked(state: State): boolean {
  return state.checkedRequest !== undefined && state.checkedRequest === requestText(state);
}

/**
 * Returns whether the page checks the file without being asked. The check of a load that empties or replaces a table, or deletes or
 * marks its rows, would lock them, so it waits for the user.
 */
export function checksItself(state: State): boolean {
  const { step, route, session, file, inspection, isReadAgain, load } = state;
  return (
    step === 'columns' &&
    route.page === 'load' &&
    session.token !== undefined &&
    load === undefined &&
    file !== undefined &&
    file.link === undefined &&
    file.size <= maxCheckedBytes &&
    inspection.is === 'ready' &&
    !isReadAgain &&
    keepsAllRows(state) &&
    planFaults(state).length === 0 &&
    !isChecked(state)
  );
}

/** Warnings about names, and about columns that are text and so keep their values as they are. */
const harmless = ['blank-header', 'repeated-header', 'shortened-header', 'mixed-column', 'blank-rows'];

/** Returns whether the user has to look at something: another way to read the file, a doubt about it, or a proposed column. */
function isAsked(state: State): boolean {
  const { inspection, columns, usedProfile } = state;
  // The user has seen the letters of the earlier file in the same encoding.
  const known = usedProfile.is === 'ready' ? [...harmless, 'encoding'] : harmless;
  if (inspection.is !== 'ready') return true;
  const isInDoubt = undecided(state).some(
    (warning) => !known.includes(warning.code) || offeredChoices(state, warning, 'header').length > 0,
  );
  return isInDoubt || columns.some(({ isGuess, isIncluded }) => isGuess && isIncluded);
}

/** Returns what the page says about the check, and the label of the main button. */
export function nextStep(state: State): { words: string; button: string } {
  const { check, inspection } = state;
  const unchecked = { words: 'The check reads every row and writes nothing.', button: 'Check' };
  if (!isChecked(state) || check.is === 'none' || check.is === 'failed') return unchecked;
  if (check.is === 'busy')
    return { words: 'Every row is being checked. Nothing is changed.', button: 'Check' };
  const { result, failure } = check.value;
  if (failure !== undefined)
    return { words: `${plural(failure.errorCount, 'problem')} in the file.`, button: 'Show the problems' };
  const { rows, updated, skipped, rows_left_out: leftOut = 0, warnings } = result!.load;
  const shown = inspection.is === 'ready' ? inspection.value.warnings.map(({ code }) => code) : [];
  const known = new Set([...shown, 'added-column', 'ignored-column']);
  const news = warnings.filter((warning) => isOpen(warning) && !known.has(warning.code)).length;
  if (news > 0) return { words: `The check has ${plural(news, 'warning')}.`, button: 'Check' };
  const counts = [
    `${plural(rows, 'row')} would be added`,
    ...(updated > 0 ? [`${plural(updated, 'row')} updated`] : []),
  ].join(', ');
  const above = undecided(state).length;
  const words = [
    `Checked: ${counts} to ${state.target.schema}.${state.target.table}.`,
    above > 0 && `${plural(above, 'warning is', 'warnings are')} listed above.`,
  ];
  const isAll = skipped + leftOut === 0;
  return {
    words: words.filter(Boolean).join(' '),
    button: isAll && keepsAllRows(state) && !isAsked(state) ? 'Load' : 'Check',
  };
}

/** Returns whether the page knows the table, or that there is none, and the load keeps all of its rows. */
function keepsAllRows({ existing, target, rows }: State): boolean {
  if (existing.is !== 'ready') return false;
  return existing.value === null || (target.ifExists === 'append' && rows.missing.action === 'keep');
}
