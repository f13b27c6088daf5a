/** The columns of the target table: the inferred columns, the changes by the user, and the definition that is sent. */
import type { TableDefinition } from '../../client/client.ts';
import type { Warning } from '../failure.ts';
import type { Inspection } from '../inspection.ts';
import type { ColumnPlan, Reference, State } from '../state.ts';
import { countInWords } from './words.ts';

const valuesOfType: Record<string, string> = {
  boolean: 'true or false',
  bigint: 'whole numbers',
  numeric: 'numbers',
  'double precision': 'numbers',
  date: 'dates',
  'timestamp without time zone': 'dates with a time of day',
  'timestamp with time zone': 'points in time',
  'time without time zone': 'times of day',
  interval: 'durations',
  uuid: 'UUIDs',
  jsonb: 'objects or lists',
  text: 'texts',
};

/** Returns the words for the values of an inferred type. */
export const wordsOfType = (type: string): string => valuesOfType[type] ?? type;

/** Explains why the service inferred this type for the column. */
export function reasonOf(type: string, values: number, empty: number, warnings: Warning[]): string {
  if (values === 0) return 'because no row has a value';
  const mixed = warnings.find(({ code }) => code === 'mixed-column' || code === 'other-notation');
  const rest = empty > 0 ? `; ${countInWords(empty)} empty` : '';
  if (mixed) return `${mixed.detail}${rest}`;
  const all =
    values === 1
      ? 'its only value has this form'
      : `all ${countInWords(values)} values are ${wordsOfType(type)}`;
  return `because ${all}${rest}`;
}

/** Returns the columns of a sheet or an array. Each has its own choices, which stay while another range or another sheet is shown. */
export function withPlans(
  { columns, columnsOf, plans }: Pick<State, 'columns' | 'columnsOf' | 'plans'>,
  inspection: Inspection,
): Pick<State, 'columns' | 'columnsOf' | 'plans'> {
  const part = JSON.stringify([inspection.sheet, inspection.rowsAt]);
  const before = columnsOf ?? part;
  const byHeader = new Map([...(plans[before] ?? []), ...columns].map((plan) => [plan.header, plan]));
  const kept = { ...plans, [before]: [...byHeader.values()] };
  return { columns: planColumns(inspection, kept[part] ?? []), columnsOf: part, plans: kept };
}

/** Returns the columns of the table as the service infers them, with the earlier changes by the user to columns of the same header. */
export function planColumns(inspection: Inspection, earlier: ColumnPlan[]): ColumnPlan[] {
  const changed = new Map(earlier.map((plan) => [plan.header, plan]));
  return inspection.header.map((header, index) => {
    const type = inspection.types[index] ?? 'text';
    const { letters, values = 0, empty = 0 } = inspection.counts[index] ?? { letters: undefined };
    const own = inspection.warnings.filter(({ column }) => column === header);
    const before = changed.get(header);
    return {
      ...(before ?? { ...emptyPlan, name: header }),
      header,
      letters,
      type: before && before.type !== before.inferredType ? before.type : type,
      inferredType: type,
      isEmpty: values === 0,
      reason: reasonOf(type, values, empty, own),
    };
  });
}

export const emptyPlan: ColumnPlan = {
  header: '',
  letters: undefined,
  name: '',
  isNamed: false,
  isGuess: false,
  isNew: false,
  type: '',
  inferredType: '',
  isEmpty: false,
  reason: '',
  isIncluded: true,
  isNullable: true,
  default: '',
  keyPlace: 0,
  isUnique: false,
  reference: undefined,
};

/** Puts a column at the end of the primary key, or takes it out of the key. */
export function withKey(columns: ColumnPlan[], index: number, isInKey: boolean): ColumnPlan[] {
  const { keyPlace } = columns[index]!;
  const last = columns.filter((column) => column.keyPlace > 0).length;
  return columns.map((column, at) => {
    if (at === index) return { ...column, keyPlace: isInKey ? keyPlace || last + 1 : 0 };
    if (!isInKey && keyPlace > 0 && column.keyPlace > keyPlace) {
      return { ...column, keyPlace: column.keyPlace - 1 };
    }
    return column;
  });
}

/** Returns whether the user changed the column, so that it differs from what the service would infer. */
export function isChanged(column: ColumnPlan): boolean {
  return (
    column.type !== column.inferredType ||
    !column.isNullable ||
    column.default !== '' ||
    column.keyPlace > 0 ||
    column.isUnique ||
    column.reference !== undefined
  );
}

/** Returns the definition of the table from the columns of the page. The caller decides whether it is sent. */
export function definitionOf(columns: ColumnPlan[]): TableDefinition {
  const included = columns.filter(({ isIncluded }) => isIncluded);
  const key = included.filter(({ keyPlace }) => keyPlace > 0).sort((a, b) => a.keyPlace - b.keyPlace);
  const unique = included.filter(({ isUnique }) => isUnique);
  const references = included.filter(({ reference }) => reference !== undefined);
  const constraints = {
    ...(key.length > 0 && { primary_key: { columns: key.map(({ name }) => name) } }),
    ...(unique.length > 0 && { unique: unique.map(({ name }) => ({ columns: [name] })) }),
    ...(references.length > 0 && { foreign_keys: references.map(foreignKey) }),
  };
  return {
    columns: included.map((column) => ({
      name: column.name,
      type: column.type,
      ...(!(column.isNullable && column.keyPlace === 0) && { is_nullable: false }),
      ...(column.default !== '' && { default: column.default }),
    })),
    ...(Object.keys(constraints).length > 0 && { constraints }),
  };
}

function foreignKey({ name, reference }: ColumnPlan) {
  const { schema, table, column } = reference as Reference;
  return { column: name, reference_schema: schema, reference_table: table, reference_column: column };
}
