/**
 * Reads the parameters that name columns: `primary_key`, `conflict_key`, `rename`, `provenance`.
 */
import { wrongParameter } from '../../../core/errors.ts';
import { identifierProblem } from '../../../core/identifiers.ts';
import {
  isOrigin,
  type Origin,
  type OriginColumns,
  originTypes,
} from '../../../engine/loading/provenance/provenance.ts';
import type { UploadQuery } from './parameters.ts';
import { splitList } from './split-list.ts';

export interface ColumnChoices {
  /** undefined: the parameter was not sent. */
  primaryKey: string[] | undefined;
  /** undefined: the first key whose columns the data has. */
  conflictKey: string[] | undefined;
  /** The new name for each header or key. */
  rename: ReadonlyMap<string, string>;
  /** undefined: the parameter was not sent. */
  provenance: OriginColumns | undefined;
}

/**
 * Returns the parameters about columns.
 *
 * @throws AppError `invalid-parameter`
 */
export function columnChoicesOf(
  query: Pick<UploadQuery, 'primary_key' | 'conflict_key' | 'rename' | 'on_conflict' | 'provenance'>,
): ColumnChoices {
  const { primary_key, conflict_key, rename, on_conflict } = query;
  if (conflict_key !== undefined && on_conflict === 'fail') {
    throw wrongParameter('conflict_key', 'conflict_key needs on_conflict=skip or on_conflict=update.');
  }
  return {
    primaryKey: namesIn('primary_key', primary_key),
    conflictKey: namesIn('conflict_key', conflict_key),
    rename: renamesIn(rename),
    provenance: originsIn(query.provenance),
  };
}

/**
 * Returns the names of a list.
 *
 * @throws AppError `invalid-parameter`
 */
export function namesIn(parameter: string, text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const names = splitList(text, ',');
  const example = `Send the names separated by commas, as in ${parameter}=order_no,line.`;
  if (names.includes('')) throw wrongParameter(parameter, `A name in ${parameter} is empty. ${example}`);
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    const detail = `${parameter} must name each column once: it has ${JSON.stringify(repeated)} twice. ${example}`;
    throw wrongParameter(parameter, detail);
  }
  return names;
}

function renamesIn(text: string | undefined): Map<string, string> {
  const names = new Map<string, string>();
  for (const item of text === undefined ? [] : splitList(text, ',', false)) {
    const [from, to, ...more] = splitList(item, ':');
    // The old name may be empty (`rename=:note`), because a key or a header may be. The new name may not.
    if (from === undefined || !to || more.length > 0 || names.has(from)) {
      throw wrongParameter(
        'rename',
        'rename must name each column once with its new name, as in rename=Order no:order_no,Total:total.',
      );
    }
    names.set(from, to);
  }
  return names;
}

function originsIn(text: string | undefined): OriginColumns | undefined {
  if (text === undefined) return undefined;
  const columns: Map<Origin, string> = new Map();
  const refuse = (what: string) =>
    wrongParameter(
      'provenance',
      `provenance ${what}. Name what a column gets and then the column, as in provenance=load_id:_load,source_row:_row. The choices are ${Object.keys(originTypes).join(', ')}.`,
    );
  for (const item of splitList(text, ',', false)) {
    const [origin = '', name, ...more] = splitList(item, ':');
    if (!isOrigin(origin)) throw refuse(`cannot be ${JSON.stringify(origin.slice(0, 100))}`);
    if (name === undefined || more.length > 0) throw refuse(`must have one column for ${origin}`);
    if (columns.has(origin)) throw refuse(`has ${origin} twice`);
    const problem = identifierProblem(name);
    if (problem !== undefined) throw refuse(`names a column for ${origin} that ${problem}`);
    if ([...columns.values()].includes(name)) throw refuse(`has the column ${JSON.stringify(name)} twice`);
    columns.set(origin, name);
  }
  return columns;
}
