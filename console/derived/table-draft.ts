/** The columns of an existing table as the user changes them, and the definition that the service gets. */
import type { components, Problem, TableDescription } from '../../client/client.ts';
import type { DraftColumn, PlannedChange, State, TableName, TablePlan } from '../state.ts';
import { plural } from './words.ts';

type Column = TableDescription['columns'][number];
type SentColumn = components['schemas']['AlteredColumn'];
type Loss = NonNullable<PlannedChange['loses']>;

export function draftOf({ columns }: Pick<TableDescription, 'columns'>): DraftColumn[] {
  return columns.map((before) => ({
    before,
    name: before.name,
    type: before.type,
    isNullable: before.is_nullable,
    default: before.default ?? '',
    comment: before.comment ?? '',
    isRemoved: false,
  }));
}

export const newColumn: DraftColumn = {
  before: undefined,
  name: '',
  type: 'text',
  isNullable: true,
  default: '',
  comment: '',
  isRemoved: false,
};

function isDraftChanged(columns: DraftColumn[]): boolean {
  return columns.some(({ before, isRemoved, ...to }) => {
    if (before === undefined) return !isRemoved;
    return isRemoved || Object.keys(changesOf(before, to)).length > 0;
  });
}

/** Returns whether leaving the page would lose changes of columns. */
export function losesDraft({ route, draft }: Pick<State, 'route' | 'draft'>): boolean {
  return route.page === 'change-table' && draft.is === 'ready' && isDraftChanged(draft.value.columns);
}

/** Returns the columns that the table is to have. What is left out stays as it is, except for columns, which are dropped. */
export function columnsToSend(columns: DraftColumn[]): SentColumn[] {
  const kept = columns.filter(({ isRemoved }) => !isRemoved);
  return kept.map(({ before, isRemoved: _, ...to }) => {
    const { name, type } = to;
    if (before !== undefined) return { name, ...changesOf(before, to) };
    return {
      name,
      type,
      is_nullable: to.isNullable,
      ...(to.default !== '' && { default: to.default }),
      ...(to.comment !== '' && { comment: to.comment }),
    };
  });
}

function changesOf(before: Column, to: Omit<DraftColumn, 'before' | 'isRemoved'>): Partial<SentColumn> {
  return {
    ...(to.name !== before.name && { renamed_from: before.name }),
    ...(to.type !== before.type && { type: to.type }),
    ...(to.isNullable !== before.is_nullable && { is_nullable: to.isNullable }),
    ...(to.default !== (before.default ?? '') && defaultOf(before, to.default)),
    ...(to.comment !== (before.comment ?? '') && { comment: to.comment || null }),
  };
}

/** A default that was an expression remains one: the user has changed its text. */
function defaultOf({ default_is_expression: isExpression }: Column, text: string): Partial<SentColumn> {
  if (text === '') return { default: null };
  return { default: text, ...(isExpression && { default_is_expression: true }) };
}

/** Returns in words what the user must correct first; undefined: nothing. */
export function draftFault(columns: DraftColumn[]): string | undefined {
  const kept = columns.filter(({ isRemoved }) => !isRemoved);
  const seen = new Set<string>();
  for (const { name, type } of kept) {
    if (name === '') return 'Name the new column.';
    if (seen.has(name)) return `Two columns have the name “${name}”.`;
    if (type.trim() === '') return `Choose a type for the column “${name}”.`;
    seen.add(name);
  }
  return isDraftChanged(columns) ? undefined : 'Change something first.';
}

/** Adds to problems of the definition the names of the columns that their pointers mean. */
export function withColumnNames(errors: Problem[], columns: DraftColumn[]): Problem[] {
  const sent = columnsToSend(columns);
  return errors.map((problem) => {
    const [, index] = /^\/table\/columns\/(\d+)/.exec(problem.pointer ?? '') ?? [];
    const column = index === undefined ? undefined : sent[Number(index)]?.name;
    return { ...(column !== undefined && { column }), ...problem };
  });
}

type PlanFacts = Pick<TablePlan, 'changes' | 'ticked'>;

/** Returns the kinds of loss that the user allows. */
export function allowedLosses({ changes, ticked }: PlanFacts): Loss[] {
  return [
    ...new Set(changes.flatMap(({ loses }, index) => (loses && ticked.includes(index) ? [loses] : []))),
  ];
}

/** Returns whether the user must still allow a loss. Values that a new type would change need no permission: without it they are problems. */
export function hasOpenLosses({ changes, ticked }: PlanFacts): boolean {
  return changes.some(
    ({ loses }, index) => loses !== null && loses !== 'lossy_types' && !ticked.includes(index),
  );
}

/** Returns what the user allows with a tick; undefined: the change loses nothing. */
export function lossWords({ loses, detail }: PlannedChange): string | undefined {
  if (loses === null) return undefined;
  if (loses !== 'lossy_types') return `Yes, this may be lost: ${detail}`;
  return `Round values, or cut their time of day, where ${detail}. Otherwise such values stop the change`;
}

/** Describes what a change costs other users of the table. */
export function costsOf({ rewrites, scans, lock }: PlannedChange): string {
  if (!rewrites && !scans) return '';
  const work = rewrites ? 'writes all rows again' : 'reads all rows';
  return `${work}; meanwhile nobody can ${lock === 'ACCESS EXCLUSIVE' ? 'read' : 'change'} the table`;
}

/** Says what was done. @param changes as the service answers them after the change */
export function doneWords({ schema, name }: TableName, changes: PlannedChange[]): string {
  const rounded = changes.reduce((sum, { rows = 0 }) => sum + rows, 0);
  const losses = rounded > 0 ? ` ${plural(rounded, 'value was', 'values were')} rounded or cut.` : '';
  return `The table ${schema}.${name} was changed: ${plural(changes.length, 'change')}.${losses}`;
}
