/** Profiles: saved settings for a file that comes again, and how they become choices of the page. */
import type { ListedProfile, Profile, ProfileContent, TableDefinition } from '../../client/client.ts';
import { emptyReading, noRules } from '../initial-state.ts';
import { defaultOf } from '../parameters.ts';
import type { ColumnPlan, MissingRows, Reading, RowRules, Settings, State, Target } from '../state.ts';
import { withParameter } from './choices.ts';
import { definitionOf, emptyPlan } from './columns.ts';
import { uploadPlan } from './request.ts';
import { keepsDefinition } from './target.ts';
import { splitItems } from './words.ts';

/** Returns the settings of the page as the content of a profile. The next file finds the table that this one creates, and adds its rows. */
export function profileOf(state: State): ProfileContent {
  const { query, table, definition } = uploadPlan(state);
  const headers = state.inspection.is === 'ready' ? state.inspection.value.header : [];
  return {
    parameters: { if_exists: 'append', ...query, table },
    ...(definition && { table: definition }),
    headers,
  };
}

/** Returns the profiles that the page knows; none before the service has listed them. */
export function listedProfiles({ profiles }: State): ListedProfile[] {
  return profiles.is === 'ready' ? profiles.value : [];
}

const maxRemembered = 20;

/** Returns the settings of earlier loads with those of this load. */
export function remembered(state: State): Settings[] {
  return withNewer(state.remembered, [settingsOf(state)]);
}

/** Returns settings with newer ones, which replace those for the same header. */
export function withNewer(older: Settings[], newer: Settings[]): Settings[] {
  const kept = older.filter((one) => !newer.some(({ headers }) => fitsHeader(one, headers ?? [])));
  return [...newer, ...kept].slice(0, maxRemembered);
}

function settingsOf(state: State): Settings {
  const isOfNewTable = !keepsDefinition(state);
  const { parameters = {}, headers = [] } = profileOf(state);
  const texts = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  // A table that was replaced gets the next rows, too: this button only adds.
  if (isOfNewTable) texts.if_exists = 'append';
  return { headers, parameters: texts, isOfNewTable };
}

/** Returns the settings of the last load of a file with the header of the present one into another table than the chosen one. */
export function offeredSettings({ inspection, remembered, target }: State): Settings | undefined {
  if (inspection.is !== 'ready') return undefined;
  const { header } = inspection.value;
  return remembered.find((one) => fitsHeader(one, header) && !isFor(one, target));
}

function isFor({ parameters }: Pick<Settings, 'parameters'>, target: Target): boolean {
  const { table, schema = defaultOf('schema') } = parameters;
  return table === target.table && schema === target.schema;
}

/**
 * Returns the settings that the page uses by itself for a new file: the only profile with its header and a table, or those of the
 * last load of a file with this header, unless another table has the name of the file. If the user has chosen a table before the file,
 * they must be for this table. Those of a load that made the table are used only then.
 */
export function fittingSettings(state: State): ListedProfile | Settings | undefined {
  const { inspection, profiles, isTargetChosen, target, existing } = state;
  // A profile goes before the settings of the last load, so the page waits for the list.
  if (inspection.is !== 'ready' || profiles.is === 'none' || profiles.is === 'busy') return undefined;
  const { header } = inspection.value;
  const fits = (one: Pick<Settings, 'headers' | 'parameters'>): boolean =>
    one.parameters.table !== undefined && (!isTargetChosen || isFor(one, target)) && fitsHeader(one, header);
  const fitting = listedProfiles(state).filter(fits);
  if (fitting.length > 0) return fitting.length === 1 ? fitting[0] : undefined;
  const isNameFree = existing.is === 'failed' || (existing.is === 'ready' && existing.value === null);
  return state.remembered.find(
    (one) => (!one.isOfNewTable || isTargetChosen) && fits(one) && (isNameFree || isFor(one, target)),
  );
}

/** Returns whether the file has the same header as the file for which the profile was saved, in any order. */
export function fitsHeader({ headers }: Pick<ListedProfile, 'headers'>, header: string[]): boolean {
  const wanted = [...(headers ?? [])].sort();
  return wanted.length > 0 && JSON.stringify(wanted) === JSON.stringify([...header].sort());
}

export interface ProfileChoices {
  reading: Reading;
  target: Partial<Target>;
  rows: RowRules;
  /** Returns the columns with the names and the definition of the profile. */
  columns: (columns: ColumnPlan[]) => ColumnPlan[];
}

/** @returns the names of the parameters for which the page has no field, if there are any */
export function choicesOfProfile({
  parameters,
  table,
}: Pick<Profile, 'parameters' | 'table'>): ProfileChoices | string[] {
  const { rename = '', ...others } = parameters;
  const unknown: string[] = [];
  let reading: Reading = emptyReading;
  let rows: RowRules = noRules;
  let target: Partial<Target> = {
    ifExists: defaultOf('if_exists'),
    onConflict: defaultOf('on_conflict'),
    ...(others.table !== undefined && { schema: defaultOf('schema') }),
  };
  for (const [name, value] of Object.entries(others)) {
    const read = withParameter(reading, name, value);
    if (read !== undefined) reading = read;
    else if (name === 'max_faulty_rows' && !/^\d+$/.test(value)) unknown.push(name);
    else if (ofRows[name]) rows = { ...rows, ...ofRows[name](value, rows) };
    else if (ofTarget[name]) target = { ...target, [ofTarget[name]]: value };
    else unknown.push(name);
  }
  if (table !== null && !isOfPage(table as TableDefinition)) unknown.push('a part of the definition');
  if (unknown.length > 0) return unknown;
  const names = new Map(
    splitItems(rename, ',').map((pair) => splitItems(pair, ':').map(plain) as [string, string]),
  );
  return { reading, rows, target, columns: (plans) => plans.map((plan) => planOf(plan, names, table)) };
}

const ofTarget: Record<string, keyof Target> = {
  schema: 'schema',
  table: 'table',
  if_exists: 'ifExists',
  on_conflict: 'onConflict',
};

const ofRows: Record<string, (value: string, rows: RowRules) => Partial<RowRules>> = {
  faulty_rows: (value) => ({ leaveOutFaulty: value === 'leave_out' }),
  max_faulty_rows: (value) => ({ maxFaulty: Number(value) }),
  extra_columns: (value) => ({ extraColumns: value as RowRules['extraColumns'] }),
  misfits: (value) => ({ misfits: value as RowRules['misfits'] }),
  missing_rows: (value, { missing }) => ({ missing: { ...missing, ...missingOf(value) } }),
  max_missing_rows: (max, { missing }) => ({ missing: { ...missing, max } }),
  missing_within: (within, { missing }) => ({ missing: { ...missing, within } }),
};

function missingOf(value: string): Partial<MissingRows> {
  const [action, column = ''] = splitItems(value, ':').map(plain);
  return { action: action as MissingRows['action'], column };
}

/** The names that columns get which an existing table has and the load leaves out (`derived/request.ts`). */
const leftOutName = /^left_out_\d+$/;

const plain = (item: string): string => item.replace(/\\(.)/gs, '$1');

function planOf(plan: ColumnPlan, names: Map<string, string>, table: Profile['table']): ColumnPlan {
  const name = names.get(plan.header);
  if (name !== undefined && leftOutName.test(name)) return { ...plan, isIncluded: false };
  const named = { ...plan, ...(name !== undefined && { name, isNamed: true }) };
  return table === null ? named : defined(named, table as TableDefinition);
}

/** Returns the column as the definition has it. A column that the definition lacks is left out. */
function defined(plan: ColumnPlan, { columns, constraints }: TableDefinition): ColumnPlan {
  const { name } = plan;
  const column = columns.find((one) => one.name === name);
  if (column === undefined) return { ...plan, isIncluded: false };
  const { primary_key: key, unique, foreign_keys: references } = constraints ?? {};
  const to = (references ?? []).find((one) => 'column' in one && one.column === name);
  return {
    ...plan,
    type: column.type,
    isNullable: column.is_nullable ?? true,
    default: String(column.default ?? ''),
    keyPlace: (key?.columns ?? []).indexOf(name) + 1,
    isUnique: (unique ?? []).some(({ columns: of }) => of?.length === 1 && of[0] === name),
    reference:
      to !== undefined && 'column' in to
        ? {
            schema: to.reference_schema ?? defaultOf('schema'),
            table: to.reference_table,
            column: to.reference_column,
          }
        : undefined,
  };
}

/** Returns whether the page can show all parts of the definition, and so sends it as it is. */
function isOfPage(table: TableDefinition): boolean {
  const shown = table.columns.map(({ name }) => defined({ ...emptyPlan, header: name, name }, table));
  return sorted(definitionOf(shown)) === sorted(table);
}

/** Returns a text that does not depend on the order of members. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
