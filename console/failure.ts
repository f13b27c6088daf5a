/** Describes for the user why something failed. */
import type { components, Problem } from '../client/client.ts';
import { ConnectionError, ProblemError } from '../client/problem-error.ts';
import { ChangedFileError } from './file/chosen-file.ts';

type Schemas = components['schemas'];
export type Warning = Schemas['Warning'];
export type ProblemGroup = NonNullable<Schemas['ProblemDocument']['error_groups']>[number];

/** Describes why a request failed. */
export interface Failure {
  title: string;
  detail: string;
  code: string | undefined;
  errors: Problem[];
  errorCount: number;
  groups: ProblemGroup[];
  warnings: Warning[];
  /** The id of the load; undefined: the request was not an upload, or the service stores no records of loads. */
  loadId: string | undefined;
  /** true: the browser can no longer read the file. */
  isOfFile?: boolean;
}

export function failureFrom(error: unknown): Failure {
  if (error instanceof ProblemError) {
    const { title, detail, code, errors, errorCount, errorGroups: groups, warnings, loadId } = error;
    return { title, detail, code, errors, errorCount, groups, warnings, loadId };
  }
  const isOfFile = error instanceof ChangedFileError;
  return {
    title: titleOf(error, isOfFile),
    detail: error instanceof Error ? error.message : String(error),
    code: undefined,
    errors: [],
    errorCount: 0,
    groups: [],
    warnings: [],
    loadId: undefined,
    isOfFile,
  };
}

function titleOf(error: unknown, isOfFile: boolean): string {
  if (error instanceof ConnectionError) return 'The service does not answer';
  return isOfFile ? 'The file cannot be read' : 'The request was not done';
}
