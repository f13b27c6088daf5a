/** A load of several tables: its parts, which the page finds in the files, the plan that is sent, and what the check says about each part. */
import type { Correction, LoadQuery, PlanFile, PlanOptions, Problem } from '../../client/client.ts';
import { toJson } from '../../client/exact-json.ts';
import type { Warning } from '../failure.ts';
import type { Inspection } from '../inspection.ts';
import type { TablesResult } from '../load-outcome.ts';
import { withoutDefaults } from '../parameters.ts';
import type {
  CellCorrection,
  CellPlace,
  ChosenFile,
  Part,
  Reading,
  State,
  TablesChecked,
  Together,
} from '../state.ts';
import { firstReading, readingQuery } from './file.ts';
import { chosenLinks, definitionFor, renaming } from './links.ts';
import { maxCheckedBytes } from './next-step.ts';
import { type GroupedProblems, groupProblems } from './problems.ts';
import { keyOfTable } from './table.ts';
import { identifierOf, nameFault, tableNameOf } from './target.ts';
import { countInWords, plural } from './words.ts';

/** The most tables of a load (docs/loading.md). */
const maxTables = 100;

/** Returns the sheets that become tables. A sheet that has rows but no header is one only if the file has no other. */
export function sheetsWithTables({ sheets }: Pick<Inspection, 'sheets'>): Inspection['sheets'] {
  const loadable = sheets.filter(
    ({ isHidden, problem, rows }) => !isHidden && problem === undefined && rows > 0,
  );
  return loadable.length < 2 ? loadable : loadable.filter(({ table }) => table !== undefined);
}

/** Returns how many tables the columns step offers to load together: those of all sheets, or of all chosen files. 0: it offers none. */
export function offeredTogether({ file, inspection, together, isTargetChosen }: State): number {
  if (inspection.is !== 'ready' || isTargetChosen || file?.link !== undefined) return 0;
  const tables = together.is === 'ready' ? includedParts(together.value) : sheetsWithTables(inspection.value);
  return tables.length < 2 ? 0 : tables.length;
}

/** Returns whether to load all sheets together is the main way: the user has not yet chosen this sheet alone, and no saved settings are for it. */
export function isTogetherFirst(state: State): boolean {
  return offeredTogether(state) > 0 && state.together.is === 'none' && state.usedProfile.is === 'none';
}

/** Returns the parts of a workbook or a text file. @param isOnly no other file is loaded with it */
export function partsOf(file: ChosenFile, index: number, inspection: Inspection, isOnly: boolean): Part[] {
  const included = sheetsWithTables(inspection);
  const candidates = inspection.sheets.filter(({ rows, problem }) => rows > 0 || problem !== undefined);
  if (candidates.length === 0) return [obstructedPart(file, index, 'It has no rows.')];
  const isNamed = candidates.length > 1;
  const stem = tableNameOf(file.name);
  return candidates.map((sheet) => {
    const { name, table, rows, columns, problem } = sheet;
    const nameOfSheet = isOnly ? identifierOf(name) : identifierOf(`${stem} ${name}`);
    return {
      ...emptyPart,
      file: index,
      sheet: name === '' ? undefined : name,
      label: isNamed ? name : file.name,
      origin: isNamed && !isOnly ? file.name : undefined,
      hasHeader: table !== undefined,
      isHidden: sheet.isHidden,
      rows: table?.rows ?? rows,
      columns: table?.columns ?? columns,
      obstacle: problem,
      isIncluded: included.includes(sheet),
      table: isNamed ? nameOfSheet : stem,
    };
  });
}

/** Returns the parts of a zip file with several tables. The page does not read them before the check. @param names of the files in it */
export function partsOfZip(file: ChosenFile, index: number, names: string[]): Part[] {
  return names.map((name) => ({
    ...emptyPart,
    file: index,
    fileInZip: name,
    label: name,
    origin: file.name,
    obstacle: /\.(geo|nd)?json(l)?$/i.test(name) ? jsonWords : undefined,
    isIncluded: !/\.(geo|nd)?json(l)?$/i.test(name),
    table: tableNameOf(name.split('/').at(-1)!),
  }));
}

export const jsonWords = 'JSON files can only be loaded alone.';

/** Returns a part that cannot be loaded. @param obstacle the reason */
export function obstructedPart(file: ChosenFile, index: number, obstacle: string): Part {
  return { ...emptyPart, file: index, label: file.name, obstacle, table: tableNameOf(file.name) };
}

const emptyPart: Part = {
  file: 0,
  sheet: undefined,
  fileInZip: undefined,
  label: '',
  origin: undefined,
  hasHeader: false,
  isHidden: false,
  rows: undefined,
  columns: undefined,
  obstacle: undefined,
  isIncluded: false,
  table: '',
  ifExists: 'fail',
  headers: [],
  alike: undefined,
  settings: undefined,
  corrections: [],
  found: [],
  links: [],
};

/** Gives each part a name of its own: the second `orders` becomes `orders_2`. */
export function withUniqueNames(parts: Part[]): Part[] {
  const taken = new Set<string>();
  return parts.map((part) => {
    let { table } = part;
    for (let number = 2; taken.has(table); number++) table = `${part.table}_${number}`;
    taken.add(table);
    return { ...part, table };
  });
}

export function includedParts({ parts }: Together): Part[] {
  return parts.filter(({ isIncluded }) => isIncluded);
}

/** Returns whether the database may have the table of the part already. @param checked the check, which may have found it */
export function mayExist(together: Together, { table }: Part, outcome?: PartOutcome): boolean {
  const { schema, existing } = together;
  return outcome?.isTaken === true || (existing?.has(keyOfTable({ schema, name: table })) ?? false);
}

/** Says what the user must correct in the part before the tables can be checked; undefined: nothing. */
export function partFault(together: Together, part: Part): string | undefined {
  if (!part.isIncluded) return undefined;
  const fault = nameFault(part.table);
  if (fault !== undefined) return fault;
  if (includedParts(together).some((other) => other !== part && other.table === part.table))
    return `Two tables have the name “${part.table}”.`;
  if (part.ifExists === 'fail' && mayExist(together, part))
    return 'Choose what happens to the existing table.';
  return undefined;
}

/** Says what the user must correct before the tables can be checked; undefined: nothing. */
export function togetherFault(together: Together): string | undefined {
  const included = includedParts(together);
  if (included.length === 0) return 'Include at least one table.';
  if (included.length > maxTables)
    return `A load has at most ${maxTables} tables. Leave out ${countInWords(included.length - maxTables)}.`;
  if (together.schema === '') return 'Name the schema.';
  const faulty = included.filter((part) => partFault(together, part) !== undefined);
  return faulty.length > 0
    ? `${plural(faulty.length, 'table needs', 'tables need')} your choice.`
    : undefined;
}

/** Returns the tables and the files that are sent. The files are named f1, f2, …; those of which no part is included are left out. */
export function planOf(
  files: ChosenFile[],
  together: Together,
): Pick<PlanOptions, 'tables' | 'files' | 'password'> {
  const links = chosenLinks(together);
  const tables = includedParts(together).map((part) => {
    const definition = definitionFor(part, together.schema, links);
    return {
      table: part.table,
      file: nameOfFile(part.file),
      ...withoutDefaults({ schema: together.schema, if_exists: part.ifExists }),
      ...parametersOfPart(part),
      ...(definition && { definition }),
      ...(part.corrections.length > 0 && { patch: part.corrections.map(sentCorrection) }),
    };
  });
  const used = new Set(tables.map(({ file }) => file));
  const sent = files.flatMap(({ content, name, size }, index): [string, PlanFile][] =>
    used.has(nameOfFile(index)) ? [[nameOfFile(index), { file: content, name, bytes: size }]] : [],
  );
  return {
    tables: tables as PlanOptions['tables'],
    files: Object.fromEntries(sent),
    password: files.find(({ password }) => password !== undefined)?.password,
  };
}

/** The service knows the column of an address. */
function sentCorrection({ cell, row, header: column, to: value }: CellCorrection): Correction {
  return cell === undefined ? { row: row!, column, value } : { cell, value };
}

/** Returns the cell of a problem; undefined: it is not one of a single cell. The problem of a key over several columns names and shows all of them. */
export function placeInPart({ cell, row, column }: Problem): CellPlace | undefined {
  if (column === undefined || column.includes(', ')) return undefined;
  if (cell !== undefined)
    return { cell: cell.slice(cell.lastIndexOf('!') + 1), row: undefined, header: column };
  return row === undefined ? undefined : { cell: undefined, row, header: column };
}

function nameOfFile(index: number): string {
  return `f${index + 1}`;
}

/** Returns the parameters with which the part is read. Settings have all of them but the place of the part in its file. */
export function parametersOfPart(part: Part): LoadQuery {
  const reading = readingQuery(readingOfPart(part), 'spreadsheet');
  if (part.settings === undefined) return reading;
  const { sheet, file_in_zip } = reading;
  return { ...part.settings.parameters, ...(sheet && { sheet }), ...(file_in_zip && { file_in_zip }) };
}

/** Returns how the part is read: as the page reads a file about which the user has chosen nothing. */
export function readingOfPart({ sheet, hasHeader, fileInZip }: Part): Reading {
  return {
    ...firstReading('spreadsheet'),
    sheet,
    headerRow: hasHeader ? 'auto' : undefined,
    more: fileInZip === undefined ? {} : { file_in_zip: fileInZip },
  };
}

/** Returns a text that changes whenever the plan changes, so that an old check can be recognized. */
export function planText({ togetherFiles, together }: Pick<State, 'togetherFiles' | 'together'>): string {
  if (together.is !== 'ready') return '';
  return toJson(planOf(togetherFiles, together.value).tables);
}

/** Says how many tables are loaded, and from which file. */
export function planInWords(files: ChosenFile[], parts: Part[]): string {
  const [first = '', ...others] = new Set(parts.map(({ file }) => files[file]!.name));
  const more = others.length > 0 ? ` and ${plural(others.length, 'other file')}` : '';
  return `${plural(parts.length, 'table')} from ${first}${more}`;
}

/** Returns the bytes of the files that are sent. */
export function plannedBytes(files: ChosenFile[], together: Together): number {
  return Object.values(planOf(files, together).files).reduce((sum, { bytes = 0 }) => sum + bytes, 0);
}

/** Returns whether the last check, which may be running, is about the present plan. */
export function isPlanChecked(state: State): boolean {
  return state.checkedPlan !== undefined && state.checkedPlan === planText(state);
}

/** Returns whether the page checks the plan without being asked (see `checksItself`). */
export function checksPlanItself(state: State): boolean {
  const { step, route, session, togetherFiles, together } = state;
  return (
    step === 'together' &&
    route.page === 'load' &&
    session.token !== undefined &&
    together.is === 'ready' &&
    togetherFault(together.value) === undefined &&
    together.value.parts.every(({ ifExists }) => ifExists === 'fail' || ifExists === 'append') &&
    plannedBytes(togetherFiles, together.value) <= maxCheckedBytes &&
    !isPlanChecked(state)
  );
}

/** What the check says about a part. */
export interface PartOutcome {
  problems: GroupedProblems[];
  warnings: Warning[];
  /** Why the service refuses the part; undefined: it does not, or because of the problems. */
  refusal: string | undefined;
  /** true: the table exists already. */
  isTaken: boolean;
  rows: number | undefined;
  columns: number | undefined;
}

const aboutPart = /Table (\d+) of the plan, "(?:[^"]|"")*"\."(?:[^"]|"")*": /;

/** Returns what an error says about each part. It names each of them before its text. */
function textsOfParts(detail: string): Map<number, string> {
  const [, ...pieces] = detail.split(aboutPart);
  const texts = new Map<number, string>();
  for (let at = 0; at + 1 < pieces.length; at += 2) texts.set(Number(pieces[at]), pieces[at + 1]!.trim());
  return texts;
}

/** Returns what a check says about each included part, in their order. */
export function partOutcomes({ result, failure }: TablesChecked, count: number): PartOutcome[] {
  const texts = textsOfParts(failure?.detail ?? '');
  const isOfRows = failure?.code === 'invalid-data';
  return Array.from({ length: count }, (_, index) => {
    const part = index + 1;
    const own = <Entry extends { part?: number }>(entries: Entry[] = []) =>
      entries.filter((one) => one.part === part);
    const problems: Problem[] = own(failure?.errors);
    const loaded = result?.tables[index];
    const text = texts.get(part);
    const hasPlace = problems.some(
      ({ row, line, cell, column }) => (row ?? line ?? cell ?? column) !== undefined,
    );
    const isRefused = text !== undefined && (problems.length === 0 || !(isOfRows || hasPlace));
    return {
      problems: isRefused ? [] : groupProblems(problems, own(failure?.groups)),
      warnings: loaded?.load?.warnings ?? own(failure?.warnings),
      refusal: isRefused ? (problems[0]?.detail ?? text) : undefined,
      isTaken: isRefused && failure!.code === 'table-exists',
      rows: loaded?.load?.rows,
      columns: loaded?.table.columns.length,
    };
  });
}

/** Returns the parts with the columns that a check has found. Columns whose names are not those of the file cannot be defined, so they are not kept. */
export function withFound(together: Together, { tables }: TablesResult): Part[] {
  const included = includedParts(together);
  return together.parts.map((part) => {
    const { table, load } = tables[included.indexOf(part)] ?? {};
    if (table === undefined || load?.warnings.some(({ code }) => renaming.includes(code))) return part;
    const found = table.columns.map(({ name, type }) => ({ name, type }));
    // An existing table may have columns that the file does not have.
    return { ...part, found, ...(part.ifExists === 'fail' && { headers: found.map(({ name }) => name) }) };
  });
}
