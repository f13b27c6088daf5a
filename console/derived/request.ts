/** The request that checks or loads the file. */
import type { Correction, LoadQuery, TableDefinition } from '../../client/client.ts';
import { toJson } from '../../client/exact-json.ts';
import { withoutDefaults } from '../parameters.ts';
import type { ChosenFile, State } from '../state.ts';
import { definitionOf, isChanged } from './columns.ts';
import { isElsewhere, patchOf } from './corrections.ts';
import { readingQuery } from './file.ts';
import { unplacedColumns } from './mapping.ts';
import { missingFault, missingQuery } from './missing-rows.ts';
import { byteLength, keepsDefinition, mayHaveKey, mayKeepDefinition, nameFault } from './target.ts';
import { escapedItem } from './words.ts';

export interface UploadPlan {
  kind: ChosenFile['kind'];
  schema: string;
  table: string;
  query: LoadQuery;
  /** undefined: no definition is sent, because the service infers the types or the existing table has them. */
  definition: TableDefinition | undefined;
  patch: Correction[] | undefined;
}

type PlanFacts = Pick<
  State,
  'file' | 'reading' | 'inspection' | 'columns' | 'columnsOf' | 'corrections' | 'target' | 'existing' | 'rows'
>;

/** Returns the request that both the check and the load send. Only `dry_run` differs, and the caller adds it. */
export function uploadPlan(state: PlanFacts): UploadPlan {
  const { file, reading, inspection, columns, target, rows } = state;
  const kind = file?.kind ?? 'spreadsheet';
  const keeps = keepsDefinition(state);
  const isLeftOut = columns.some(({ isIncluded }) => !isIncluded);
  const needsDefinition = !keeps && (isLeftOut || columns.some(isChanged));
  const renamed = columns.filter(({ header, name, isIncluded }) => isIncluded && name !== header);
  const names = [...renamed.map(({ header, name }) => [header, name] as const), ...leftOutNames(state)];
  const rowsAt = inspection.is === 'ready' ? inspection.value.rowsAt : undefined;
  const isAdded = keeps && columns.some(({ isIncluded, isNew }) => isIncluded && isNew);
  const otherColumns = mayKeepDefinition(state) ? rows.extraColumns : 'fail';
  const extraColumns = isAdded ? 'add' : isLeftOut ? 'ignore' : otherColumns;
  const query: LoadQuery = {
    ...withoutDefaults({
      schema: target.schema,
      if_exists: target.ifExists,
      ...(mayHaveKey(state) && { on_conflict: target.onConflict }),
      extra_columns: extraColumns,
      ...(mayKeepDefinition(state) && { misfits: rows.misfits }),
    }),
    ...(rows.leaveOutFaulty && { faulty_rows: 'leave_out' as const, max_faulty_rows: rows.maxFaulty }),
    ...missingQuery(state),
    ...readingQuery({ ...reading, rowsAt: isElsewhere(rowsAt) ? rowsAt : undefined }, kind),
    ...(names.length > 0 && { rename: names.map((pair) => pair.map(escapedItem).join(':')).join(',') }),
  };
  const definition = needsDefinition ? definitionOf(columns) : undefined;
  return { kind, schema: target.schema, table: target.table, query, definition, patch: patchOf(state) };
}

/** The service loads each column whose name the existing table has. So a column that is left out gets a name that the table does not have. */
function leftOutNames(state: PlanFacts): [header: string, name: string][] {
  const { columns, existing } = state;
  if (!mayKeepDefinition(state)) return [];
  const table = existing.is === 'ready' ? (existing.value?.columns ?? []) : [];
  const taken = new Set([...table, ...columns].map(({ name }) => name.toLowerCase()));
  let number = 0;
  const free = (): string => {
    for (;;) if (!taken.has(`left_out_${++number}`)) return `left_out_${number}`;
  };
  return columns.filter(({ isIncluded }) => !isIncluded).map(({ header }) => [header, free()]);
}

/** Returns in words what the user must correct before the file can be checked. The page shows only the first. */
export function planFaults(state: PlanFacts): string[] {
  const { columns, target, existing } = state;
  const keeps = keepsDefinition(state);
  const faults: string[] = [];
  const included = columns.filter(({ isIncluded }) => isIncluded);
  const nameless = nameFault(target.table);
  if (nameless !== undefined) faults.push(nameless);
  if (target.schema === '') faults.push('Name the schema.');
  if (existing.is === 'ready' && existing.value !== null && target.ifExists === 'fail')
    faults.push('Choose what happens to the existing table.');
  const [unplaced] = unplacedColumns(state);
  if (unplaced !== undefined)
    faults.push(`Choose a column of the table for “${unplaced.header}”, or leave it out.`);
  if (uploadPlan(state).query.extra_columns === 'add' && included.length < columns.length)
    faults.push(
      'A load that adds a column to the table cannot leave out another one. Add them all, or none.',
    );
  const missing = missingFault(state);
  if (missing !== undefined) faults.push(missing);
  if (included.length === 0) faults.push('Include at least one column.');
  const seen = new Set<string>();
  for (const { name, header, type, reference } of included) {
    if (name === '') faults.push(`Name the column that has the header “${header}”.`);
    else if (byteLength(name) > 63) faults.push(`The name of the column “${name}” has more than 63 bytes.`);
    else if (seen.has(name)) faults.push(`Two columns have the name “${name}”.`);
    if (type.trim() === '') faults.push(`Choose a type for the column “${name}”.`);
    if (!keeps && reference?.column === '')
      faults.push(`Choose the column of “${reference.table}” for the foreign key of “${name}”.`);
    seen.add(name);
  }
  return faults;
}

/** Returns a text that changes whenever the request changes, so that an old check can be recognized. */
export function requestText(state: PlanFacts): string {
  const { name = '', size = 0, content } = state.file ?? {};
  return toJson([name, size, content?.lastModified, uploadPlan(state)]);
}
