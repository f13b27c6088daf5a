/** Says why something did not succeed, for a person. */
import { ConnectionError, ProblemError } from '../client/client.ts';
import { ChangedFileError } from './chosen-file.ts';
import type { Failure } from './state.ts';

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
