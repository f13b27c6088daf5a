/** Gives an upload without a definition that of its profile. */
import { AppError } from '../../../core/errors.ts';
import type { LoadInput } from './load-input.ts';
import { wrapInput } from './wrap-input.ts';

/**
 * Returns the input with this definition, unless it has its own. A definition that comes after the rows is refused, because the rows
 * were read with the other one.
 *
 * @param table the value of `table`; undefined: none
 */
export function useDefinition(input: LoadInput, table: unknown): LoadInput {
  if (table === undefined) return input;
  let isSent = false;
  const refuseLate = (): void => {
    if (!isSent && input.definition !== undefined) throw definitionTooLate();
  };
  const wrapped = wrapInput(input, {
    through: (sink) => sink,
    warnings: () => [],
    keepsCells: true,
    definition: () => (isSent ? input.definition : table),
    afterPass: refuseLate,
  });
  return Object.assign(wrapped, {
    open: async (): Promise<void> => {
      await input.open();
      isSent = input.definition !== undefined;
    },
    keep: async (signal: AbortSignal): Promise<void> => {
      await input.keep(signal);
      refuseLate();
    },
  });
}

function definitionTooLate(): AppError {
  const detail =
    'The profile of the upload has a definition, so a definition of the upload must come before its rows: {"table": {…}, "data": […]}.';
  return new AppError('invalid-definition', detail);
}
