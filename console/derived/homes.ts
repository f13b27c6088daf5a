/** Existing tables to which the rows of a file belong: those with its columns, and those of saved settings for its header. */
import type { ListedProfile } from '../../client/client.ts';
import { uploadParameters } from '../../client/parameters.ts';
import { defaultOf } from '../parameters.ts';
import type { Part, Settings, State, Target, Together } from '../state.ts';
import { fitsHeader, listedProfiles } from './profiles.ts';
import { keyOfTable } from './table.ts';
import { includedParts, mayExist, parametersOfPart } from './together.ts';

/** An existing table to which the rows of a part can be added. */
export interface Home {
  table: string;
  ifExists: Target['ifExists'];
  settings: Part['settings'];
}

/** Returns the existing table for each part about which the user has chosen nothing yet. No two parts have the same one. */
export function homesOf(state: State, together: Together): Map<Part, Home> {
  const homes = new Map<Part, Home>();
  const chosen = includedParts(together).filter(({ ifExists }) => ifExists !== 'fail');
  const taken = new Set(chosen.map(({ table }) => table));
  for (const part of includedParts(together)) {
    const home = part.ifExists === 'fail' ? homeOf(state, together, part) : undefined;
    if (home === undefined || taken.has(home.table)) continue;
    taken.add(home.table);
    homes.set(part, home);
  }
  return homes;
}

function homeOf(state: State, together: Together, part: Part): Home | undefined {
  const isThere = mayExist(together, part);
  const known = [...listedProfiles(state), ...state.remembered].find(
    (one) =>
      isForParts(one, together) &&
      (isThere ? one.parameters.table === part.table : fitsHeader(one, part.headers)),
  );
  if (known !== undefined) {
    const { table, if_exists: ifExists } = known.parameters;
    return {
      table: table!,
      ifExists: ifExists === undefined || ifExists === 'fail' ? 'append' : (ifExists as Target['ifExists']),
      settings: settingsFrom(known),
    };
  }
  const table = isThere ? part.table : part.alike;
  return table === undefined ? undefined : { table, ifExists: 'append', settings: undefined };
}

/** Parameters that say which rows go where. A part has its own. */
const ofPlace = ['table', 'schema', 'if_exists', 'sheet', 'file_in_zip'];

function settingsFrom(known: Settings | ListedProfile): Part['settings'] {
  const parameters = Object.entries(known.parameters).filter(([name]) => !ofPlace.includes(name));
  return {
    name: 'name' in known ? known.name : undefined,
    parameters: Object.fromEntries(parameters) as Record<string, string>,
  };
}

/** Returns the parts with their saved settings as they are now: the user may have changed them since they were chosen. */
export function withNewestSettings(together: Together, profiles: ListedProfile[]): Part[] {
  const possible = profiles.filter((one) => isForParts(one, together));
  return together.parts.map((part) => {
    const saved = possible.find(
      ({ name, parameters }) => name === part.settings?.name && parameters.table === part.table,
    );
    return saved ? { ...part, settings: settingsFrom(saved) } : part;
  });
}

/** Parameters of an upload that a table of a plan cannot have, or that the page only shows for a file that is loaded alone. */
const onlyAlone = ['misfits', 'missing_rows', 'max_missing_rows', 'missing_within'];

/** Returns whether the settings are for an existing table of the schema, and a table of a plan can have them. */
function isForParts({ parameters }: Pick<Settings, 'parameters'>, { schema, existing }: Together): boolean {
  const { table, schema: own = defaultOf('schema'), ...others } = parameters;
  if (table === undefined || own !== schema || existing?.has(keyOfTable({ schema, name: table })) !== true)
    return false;
  return Object.keys(others).every((name) => {
    const parameter = uploadParameters.find((one) => one.name === name);
    return parameter?.endpoints.includes('upload-excel') === true && !onlyAlone.includes(name);
  });
}

/** Returns the settings of the parts of a load, for the files of the next month. */
export function settingsOfParts(together: Together): Settings[] {
  return includedParts(together).flatMap((part) => {
    const { headers, table, ifExists } = part;
    if (headers.length === 0) return [];
    const isOfNewTable = ifExists === 'fail' || ifExists === 'replace';
    const { sheet: _, file_in_zip: __, ...reading } = parametersOfPart(part);
    const query = {
      ...reading,
      table,
      schema: together.schema,
      if_exists: isOfNewTable ? 'append' : ifExists,
    };
    const parameters = Object.fromEntries(
      Object.entries(query).map(([name, value]) => [name, String(value)]),
    );
    return [{ headers, parameters, isOfNewTable }];
  });
}

/** The most tables that are compared with a file. */
const maxCompared = 10;

/** Returns the tables whose names share a word with the name, such as `sales_october` for `sales_november`, the most similar first. */
export function similarNames(name: string, names: string[]): string[] {
  const words = wordsOf(name);
  const shared = (other: string): number => wordsOf(other).filter((word) => words.includes(word)).length;
  return names
    .map((other) => ({ other, count: other === name ? 0 : shared(other) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, maxCompared)
    .map(({ other }) => other);
}

function wordsOf(name: string): string[] {
  return name.split(/[_\d]+/).filter((word) => word.length > 1);
}

/** Returns the existing table that has the columns of the file, if the user has chosen nothing about it; undefined: none is known. */
export function alikeTable({ inspection, existing, target, alike, usedProfile }: State): string | undefined {
  if (inspection.is !== 'ready' || existing.is !== 'ready') return undefined;
  if (target.ifExists !== 'fail' || usedProfile.is !== 'none') return undefined;
  if (existing.value === null) return alike.is === 'ready' ? (alike.value ?? undefined) : undefined;
  return hasColumns(existing.value, inspection.value.header) ? existing.value.name : undefined;
}

export function hasColumns({ columns }: { columns: { name: string }[] }, header: string[]): boolean {
  return fitsHeader({ headers: columns.map(({ name }) => name) }, header);
}
