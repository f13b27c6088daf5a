/** Prints errors, and decides the exit code. */
import { ConnectionError, type Problem, ProblemError } from '../client/client.ts';
import { asOptions, noteWarnings } from './as-options.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { inCount, note, tableLines } from './print.ts';

const shownProblems = 50;
const head = ['place', 'column', 'value', 'problem'];
const valueWidth = 60;

export function exitCodeOf(error: unknown): number {
  if (error instanceof WrongUse) return exitCodes.wrongUse;
  if (error instanceof ConnectionError) return exitCodes.unreachable;
  if (error instanceof ProblemError && (error.followsLostAnswer || mayPass.includes(error.status)))
    return exitCodes.unreachable;
  return exitCodes.refused;
}

const mayPass = [429, 502, 503, 504];

/** Returns whether the service may have done the work although its answer did not arrive. */
export function isAnswerLost(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  if (!(error instanceof ProblemError)) return false;
  if (error.followsLostAnswer) return true;
  // An answer without a code comes from a proxy, for example because the service does not answer the proxy.
  if (error.code !== undefined) return false;
  return (error.status >= 200 && error.status < 300) || [502, 503, 504].includes(error.status);
}

/** Returns the error as `--json` prints it. */
export function errorDocument(error: unknown): object {
  if (error instanceof ConnectionError) return { code: 'unreachable', detail: error.message };
  if (!(error instanceof ProblemError)) return { detail: (error as Error).message };
  const { status, code, title, detail, instance, errors, errorCount, warnings, loadId } = error;
  return {
    status,
    code,
    title,
    detail,
    instance,
    errors,
    error_count: errorCount,
    warnings,
    load_id: loadId,
  };
}

/** Prints the error and returns the exit code. */
export function reportError(error: unknown): number {
  if (error instanceof ProblemError) reportProblem(error);
  else note(`error: ${error instanceof Error ? error.message : String(error)}`);
  return exitCodeOf(error);
}

function reportProblem({ status, code, detail, title, errors, errorCount, warnings }: ProblemError): void {
  note(`error: ${title}${code ? ` (${code})` : ''}`);
  if (detail !== title) note(asOptions(detail));
  noteWarnings(warnings);
  // A single problem often repeats the detail of the error. Then it is not printed again.
  if (errors.length !== 1 || errors[0]!.detail !== detail) noteProblems(errors, errorCount);
  if (code === 'password-required' || code === 'wrong-password')
    note('Set TABLEWRIGHT_FILE_PASSWORD to the password, or name a file that has it with --password-file.');
  if (status === 401) note('Set TABLEWRIGHT_TOKEN to a valid access token.');
}

/** Prints the first problems as a table, as a note beside the result. */
export function noteProblems(problems: Problem[], count: number): void {
  if (problems.length === 0) return;
  const shown = problems.slice(0, shownProblems);
  const rows = shown.map((problem) => [
    placeOf(problem),
    problem.column ?? '',
    problem.value ?? '',
    asOptions(problem.detail),
  ]);
  note('');
  for (const line of tableLines(head, rows, valueWidth, Infinity)) note(line);
  if (count > shown.length) {
    note(
      `… and ${inCount(count - shown.length, 'more problem')}. --problems FILE.csv writes all of them into a file.`,
    );
  }
}

function placeOf({ part, ...problem }: Problem): string {
  return part === undefined ? placeInTable(problem) : `table ${part} ${placeInTable(problem)}`.trim();
}

function placeInTable({ cell, line, row, pointer, parameter }: Problem): string {
  if (cell !== undefined) return cell;
  if (line !== undefined) return `line ${line}`;
  if (row !== undefined) return `row ${row}`;
  return parameter === undefined ? (pointer ?? '') : `--${parameter.replaceAll('_', '-')}`;
}
