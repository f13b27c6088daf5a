/** Corrections of cells: which cells can be corrected, how the corrections are sent, and what the check says of them. */
import type { Correction, Problem } from '../../client/client.ts';
import { toJson } from '../../client/exact-json.ts';
import type { Failure } from '../failure.ts';
import type { CellCorrection, CellPlace, State } from '../state.ts';
import { cellOf, reasonInWords } from './problems.ts';
import { countInWords } from './words.ts';

/** The limits of the service. */
export const maxCorrections = 10_000;
const maxPatchBytes = 1024 * 1024;

type PlaceFacts = Pick<State, 'file' | 'reading' | 'inspection' | 'columns'>;
type CorrectedFacts = PlaceFacts & Pick<State, 'corrections' | 'columnsOf'>;
type Corrected = Pick<State, 'corrections' | 'columnsOf'>;
/** Returns the cell of a problem; undefined: it cannot be corrected. */
type PlaceOf = (problem: Problem) => CellPlace | undefined;
type Facts = CorrectedFacts & Pick<State, 'existing'>;

/**
 * Returns a function that returns the cell of a problem in the terms of the file; undefined: the problem is not one of a single cell,
 * or the cell cannot be corrected.
 */
export function placesOfProblems(state: PlaceFacts): PlaceOf {
  const byName = new Map(state.columns.map((plan) => [plan.name, plan]));
  const byColumn = new Map(state.columns.map((plan) => [cellOf(`${plan.letters}1`)?.column, plan]));
  return ({ cell, row, column }) => {
    const address = cell === undefined ? undefined : cellOf(cell);
    const plan = address === undefined ? byName.get(column ?? '') : byColumn.get(address.column);
    // The problem of a key over several columns names all of them, and has the cell of the first one.
    if (plan === undefined || !isSameName(plan.name, column)) return undefined;
    const place = { cell: address && `${plan.letters}${address.row}`, row, header: plan.header };
    return placeOfCell(state, place);
  };
}

/** Returns the place if the service takes corrections of it. */
export function placeOfCell(
  { file, reading, inspection }: PlaceFacts,
  place: CellPlace,
): CellPlace | undefined {
  if (place.cell !== undefined) return { ...place, row: undefined };
  const { rowsAt } = inspection.is === 'ready' ? inspection.value : {};
  // The service takes corrections of the rows of a whole document, and not of the columns that it makes of nested objects.
  const isDocument = file?.kind !== 'json' || !isElsewhere(rowsAt);
  return place.row !== undefined && isDocument && !reading.more.flatten ? place : undefined;
}

/** Returns whether the rows of a JSON file are at a place that the request has to name. */
export function isElsewhere(rowsAt: string | undefined): rowsAt is string {
  return rowsAt !== undefined && rowsAt !== '' && rowsAt !== '/data';
}

/** A column of an existing table may have another case than the header of the sheet. */
function isSameName(name: string, other = ''): boolean {
  return name.trim().toLowerCase() === other.trim().toLowerCase();
}

export function keyOfPlace({ cell, row, header }: CellPlace): string {
  return cell ?? `${row} ${header}`;
}

export function placeInWords({ cell, row }: CellPlace): string {
  return cell ?? `row ${countInWords(row!)}`;
}

/** Returns the corrections of the sheet or the array that is read. Those of other sheets are kept for later. */
export function currentCorrections({ corrections, columnsOf }: Corrected): CellCorrection[] {
  return corrections.filter(({ part }) => part === columnsOf);
}

/** A new value of a cell. `from` is the value that the page shows for it. */
export type CellEdit = CellPlace & Pick<CellCorrection, 'from' | 'to'>;

/** Returns the corrections with these edits. A cell that gets its first value again has no correction. The newest one is the last. */
export function withEdits({ corrections, columnsOf: part }: Corrected, edits: CellEdit[]): CellCorrection[] {
  const byKey = new Map(corrections.map((one) => [JSON.stringify([one.part, keyOfPlace(one)]), one]));
  for (const edit of edits) {
    const key = JSON.stringify([part, keyOfPlace(edit)]);
    const from = byKey.has(key) ? byKey.get(key)!.from : edit.from;
    byKey.delete(key);
    if (edit.to !== from) byKey.set(key, { ...edit, from, part });
  }
  return [...byKey.values()];
}

/** Returns in words why the service would not take the corrections; undefined: it takes them. */
export function correctionsFault(state: Facts): string | undefined {
  const patch = patchOf(state) ?? [];
  if (patch.length > maxCorrections)
    return `At most ${countInWords(maxCorrections)} cells can be corrected here. Correct more cells in the file itself.`;
  const bytes = new TextEncoder().encode(toJson(patch));
  if (bytes.length <= maxPatchBytes) return undefined;
  return 'The corrected values are together longer than 1 MB. Correct long texts in the file itself.';
}

/** Returns the corrections as they are sent; undefined: there are none. */
export function patchOf(state: Facts): Correction[] | undefined {
  const patch = currentCorrections(state).map((correction): Correction => {
    const { cell, row, header: column, to } = correction;
    const value = state.file?.kind === 'spreadsheet' ? to : jsonValue(to, typeOf(state, column));
    return cell === undefined ? { row: row!, column, value } : { cell, column, value };
  });
  return patch.length === 0 ? undefined : patch;
}

/** JSON names its columns exactly. */
function typeOf(state: Facts, header: string): string {
  const plan = state.columns.find((one) => one.header === header);
  const table = state.existing.is === 'ready' ? state.existing.value : null;
  return table?.columns.find(({ name }) => name === plan?.name)?.type ?? plan?.type ?? 'text';
}

/** Returns a number or a boolean if the column has such values and no digit is lost; otherwise the text. */
function jsonValue(text: string | null, type: string): string | number | bigint | boolean | null {
  if (text === null) return null;
  if (/^bool/.test(type) && /^(true|false)$/.test(text)) return text === 'true';
  if (!/int|numeric|decimal|double|real|float/.test(type)) return text;
  if (/^-?[1-9]\d{15,}$/.test(text)) return BigInt(text);
  return String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** What the check says of a corrected cell. */
export type Verdict = { is: 'checking' | 'accepted' | 'unknown' } | { is: 'refused'; why: string };

/** Returns a function that says what the check has found at a corrected cell. @param isOld true: the check does not have the newest corrections */
export function verdicts(
  state: CorrectedFacts & Pick<State, 'check'>,
  isOld: boolean,
): (correction: CellCorrection) => Verdict {
  const { check } = state;
  if (check.is !== 'ready' || isOld) return () => ({ is: check.is === 'failed' ? 'unknown' : 'checking' });
  const { failure, all } = check.value;
  const problems = all ?? failure?.errors ?? [];
  const isPart = failure !== undefined && problems.length < failure.errorCount;
  const byKey = new Map<string, string>();
  const current = currentCorrections(state);
  const placeOf = placesOfProblems(state);
  for (const problem of problems) {
    const isOfPatch = problem.parameter === 'patch';
    const place = isOfPatch ? current[patchIndex(problem)] : placeOf(problem);
    const why = isOfPatch ? 'the file has no such cell now' : reasonInWords(problem);
    if (place !== undefined) byKey.set(keyOfPlace(place), why);
  }
  return (correction) => {
    const why = byKey.get(keyOfPlace(correction));
    return why === undefined ? { is: isPart ? 'unknown' : 'accepted' } : { is: 'refused', why };
  };
}

const verdictWords = { checking: 'is being checked', accepted: 'accepted', unknown: 'not checked' };

export function verdictInWords(verdict: Verdict): string {
  return verdict.is === 'refused' ? `refused: ${verdict.why}` : verdictWords[verdict.is];
}

/** Returns a function that returns the reason of a problem. For a corrected cell it is what the check says of the new value. @param isOld as for `verdicts` */
export function reasonsNow(
  state: Parameters<typeof verdicts>[0],
  isOld: boolean,
): (problem: Problem) => string {
  const verdictOf = verdicts(state, isOld);
  const placeOf = placesOfProblems(state);
  const byKey = new Map(currentCorrections(state).map((one) => [keyOfPlace(one), one]));
  return (problem) => {
    const place = placeOf(problem);
    const correction = place && byKey.get(keyOfPlace(place));
    return correction ? verdictInWords(verdictOf(correction)) : reasonInWords(problem);
  };
}

function patchIndex({ pointer = '' }: Problem): number {
  return Number(/^\/(\d+)/.exec(pointer)?.[1] ?? -1);
}

/** Returns whether the check was refused because the file does not have a corrected cell. */
export function isOfCorrections({ errors }: Pick<Failure, 'errors'>): boolean {
  return errors.some(({ parameter }) => parameter === 'patch');
}

/** The service shortens values to 100 characters. The rest of such a value is not known. */
export function isCut(value: string | null | undefined): boolean {
  return value != null && value.length >= 100 && value.endsWith('…');
}

/** Returns the problems without those of cells that are corrected. */
export function uncorrected(state: Corrected, problems: Problem[], placeOf: PlaceOf): Problem[] {
  const corrected = new Set(currentCorrections(state).map(keyOfPlace));
  if (corrected.size === 0) return problems;
  return problems.filter((problem) => {
    const place = placeOf(problem);
    return place === undefined || !corrected.has(keyOfPlace(place));
  });
}

/** Returns the problems of cells in the column of a correction that have the value which it replaces. Cells that are corrected already are left out. */
export function problemsLike(
  state: Corrected,
  problems: Problem[],
  { header, from }: CellCorrection,
  placeOf: PlaceOf,
): Problem[] {
  if (isCut(from)) return [];
  const same = problems.filter(({ value = null }) => value === from);
  return uncorrected(state, same, placeOf).filter((problem) => placeOf(problem)?.header === header);
}

/** Returns the newest correction with the other problems that it can remove; undefined: there are none, or the service has refused its value. */
export function replacement(
  state: Corrected,
  problems: Problem[],
  placeOf: PlaceOf,
): { newest: CellCorrection; like: Problem[] } | undefined {
  const newest = currentCorrections(state).at(-1);
  if (newest === undefined) return undefined;
  const isRefused = problems.some((problem) => {
    const place = (problem.value ?? null) === newest.to ? placeOf(problem) : undefined;
    return place !== undefined && keyOfPlace(place) === keyOfPlace(newest);
  });
  const like = isRefused ? [] : problemsLike(state, problems, newest, placeOf);
  return like.length > 0 ? { newest, like } : undefined;
}

/** Returns the edits that give the cells of the problems the value of a correction. */
export function editsLike({ to }: CellCorrection, like: Problem[], placeOf: PlaceOf): CellEdit[] {
  return like.flatMap((problem) => {
    const place = placeOf(problem);
    return place === undefined ? [] : [{ ...place, from: problem.value ?? null, to }];
  });
}

/** Returns what stays of the corrections if a file of the same name is chosen again: all if it is the same file. The cells of another one may be other cells. */
export function keptCorrections(
  { file, corrections, columnsOf }: Pick<State, 'file' | 'corrections' | 'columnsOf'>,
  { size, lastModified }: Pick<File, 'size' | 'lastModified'>,
): Partial<State> {
  const isSame = file?.size === size && file.content.lastModified === lastModified;
  return isSame ? { corrections, columnsOf } : {};
}
