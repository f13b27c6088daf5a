/** The warnings of the service in words of the page: what was decided, what is open, and which warnings are of the same kind. */
import type { Warning } from '../failure.ts';
import type { Reading, State } from '../state.ts';
import { plainWords } from './problems.ts';

/** Decisions that are the only possible ones. The page says them in one line each. */
const decided = ['natural-values', 'proposal-taken', 'delimiter', 'quote', 'escape', 'header-rows-left-out'];

/** Returns whether the warning is about something that the user may have to change. */
export function isOpen({ code, choices = [] }: Warning): boolean {
  return !decided.includes(code) || choices.length > 0;
}

/** What the service has decided by itself. */
export interface Decision {
  words: string;
  /** How the file is read without the decision; undefined: only a parameter that the user chooses changes it. */
  undo: Partial<Reading> | undefined;
}

/** Returns the decisions in words. Columns that were read in the same way are one decision. */
export function decisionsOf(warnings: Warning[]): Decision[] {
  const natural = warnings.filter(({ code }) => code === 'natural-values');
  const others = warnings.filter((warning) => !isOpen(warning) && warning.code !== 'natural-values');
  return [
    ...others.map((warning) => ({
      words: warningWords(warning),
      undo: warning.code === 'proposal-taken' ? { headerRow: undefined } : undefined,
    })),
    ...(natural.length > 0 ? [{ words: notationWords(natural), undo: { isNatural: false } }] : []),
  ];
}

const maxNamed = 5;

function notationWords(warnings: Warning[]): string {
  const byNotation = Map.groupBy(
    warnings,
    ({ detail }) => / was read as (.+?)\. The first is/s.exec(detail)?.[1],
  );
  const parts = [...byNotation].map(([notation = 'other notations', columns]) => {
    return `${namesOf(columns)} as ${notation}`;
  });
  return `Read as people write them: ${parts.join('; ')}.`;
}

/** Returns the names of the columns of the warnings. */
function namesOf(warnings: Warning[]): string {
  const names = [...new Set(warnings.flatMap(({ column }) => column ?? []))];
  const rest = names.length - maxNamed;
  const named = names.slice(0, maxNamed).map((name) => `“${name}”`);
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** Returns what the page shows of many warnings of one kind: what they are about, and for which columns. */
export function summaryOf(code: string, warnings: Warning[]): string {
  const names = namesOf(warnings);
  return `${titleOf(code)} (${warnings.length})${names === '' ? '' : `: ${names}`}`;
}

/** Returns the warnings about the file that the user has to decide. Another type for a column answers that it is text because of a few values. */
export function undecided({ inspection, columns }: Pick<State, 'inspection' | 'columns'>): Warning[] {
  const warnings = inspection.is === 'ready' ? inspection.value.warnings : [];
  const changed = columns.filter(({ type, inferredType }) => type !== inferredType);
  return warnings.filter(
    (warning) =>
      isOpen(warning) &&
      !(warning.code === 'mixed-column' && changed.some(({ header }) => header === warning.column)),
  );
}

/** Returns what the warning says, without parameters of the service unless it says nothing else. */
export function warningWords({ detail }: Pick<Warning, 'detail'>): string {
  return plainWords(detail) || detail;
}

const titles: Record<string, string> = {
  'blank-header': 'Columns without a name in the file',
  'repeated-header': 'Names that occur twice in the file',
  'mixed-column': 'Columns that are text because of a few values',
  'other-notation': 'Columns whose values may be in another notation',
  'merged-cells': 'Merged cells',
  'ignored-column': 'Columns that are left out',
  'added-column': 'Columns that are added to the table',
  'cell-errors-as-null': 'Error cells that are loaded as empty',
  'uncalculated-formulas': 'Formulas that were probably never calculated',
  'lost-by-replace': 'What the new table does not have',
};

/** Returns what warnings of one kind are about. */
function titleOf(code: string): string {
  return titles[code] ?? `${code[0]!.toUpperCase()}${code.slice(1).replaceAll('-', ' ')}`;
}
