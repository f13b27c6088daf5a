/** What follows from what the page knows. These functions read nothing else and change nothing. */
import type {
  InspectedJson,
  InspectedSpreadsheet,
  LoadQuery,
  Problem,
  TableDefinition,
} from '../client/client.ts';
import { recordOf } from './load-outcome.ts';
import type {
  ChosenFile,
  ColumnPlan,
  Inspection,
  LoadOutcome,
  LoadProgress,
  ProblemGroup,
  Reading,
  Reference,
  Remote,
  RowRules,
  ShownRow,
  State,
  Step,
  Target,
  Warning,
} from './state.ts';

/** Returns what kind of file it is, by its name. The service recognizes spreadsheets by their content. */
export function kindOf(name: string): ChosenFile['kind'] {
  if (/\.(json|geojson)$/i.test(name)) return 'json';
  return /\.(ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'spreadsheet';
}

/** Proposes the name of the table: the name of the file without its extension, in lower case. */
export function tableNameOf(fileName: string): string {
  const stem = fileName
    .replace(/\.[^.]*$/, '')
    .normalize('NFC')
    .toLowerCase();
  const name = stem.replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_+|_+$/g, '');
  return shortenedTo(63, name) || 'rows';
}

/** Cuts a text to a number of bytes of UTF-8, at the end of a character. */
function shortenedTo(maxBytes: number, text: string): string {
  let kept = '';
  let bytes = 0;
  for (const sign of text) {
    bytes += new TextEncoder().encode(sign).length;
    if (bytes > maxBytes) break;
    kept += sign;
  }
  return kept;
}

export function sizeInWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = -1;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Writes a count with commas between thousands, on every machine. */
export function countInWords(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countInWords(count)} ${count === 1 ? one : many}`;
}

/** Returns the time as a person says it. @param ms milliseconds */
function timeInWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return 'less than a second';
  if (seconds < 60) return plural(seconds, 'second');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Returns the parameters with which the file is read, as a query. Parameters with their default are left out. */
export function readingQuery(reading: Reading, kind: ChosenFile['kind']): LoadQuery {
  const { sheet, headerRow, hasHeader, range, tableRange, nullValues, rowsAt } = reading;
  const query: LoadQuery = {
    ...(nullValues !== '' && { null_values: nullValues }),
    ...(reading.dateOrder !== 'iso' && { date_order: reading.dateOrder }),
    ...(reading.decimalSign !== '.' && { decimal_sign: reading.decimalSign }),
    ...(reading.thousandsSign !== 'none' && { thousands_sign: reading.thousandsSign }),
    ...(reading.trim && { trim: true }),
  };
  if (kind !== 'spreadsheet') return { ...query, ...(kind === 'json' && rowsAt && { rows_at: rowsAt }) };
  return {
    ...(sheet && { sheet }),
    ...(hasHeader ? headerRow !== undefined && { header_row: headerRow } : { header: false }),
    ...(tableRange !== '' ? { table_range: tableRange } : range !== '' && { range }),
    ...(reading.skipHidden && { hidden: 'skip' as const }),
    ...(reading.skipFooter && { footer: 'skip' as const }),
    ...(reading.errorsAreNull && { cell_errors: 'null' as const }),
    ...query,
  };
}

/**
 * Returns the reading that the proposal of the service asks for: another sheet, or a header below other rows.
 *
 * @returns undefined if the file was read as proposed
 */
export function proposedReading(answer: InspectedSpreadsheet, reading: Reading): Reading | undefined {
  const { proposal, sheet } = answer;
  if (proposal.header_row === undefined || proposal.range === undefined) return undefined;
  const isOtherSheet = proposal.sheet !== undefined && proposal.sheet !== '' && proposal.sheet !== sheet.name;
  const isOtherHeader = proposal.header_row !== sheet.header_row || proposal.range !== sheet.range;
  if (!isOtherSheet && !isOtherHeader) return undefined;
  return { ...reading, ...(isOtherSheet && { sheet: proposal.sheet }), headerRow: 'auto' };
}

export function inspectionOfSheet(answer: InspectedSpreadsheet): Inspection {
  const { sheets, sheet, names } = answer;
  const own = sheets.find(({ name }) => name === sheet.name);
  const { proposal } = own ?? {};
  const proposed = proposal
    ? [
        { ...proposal, reasons: proposal.reasons },
        ...proposal.other_tables.map((table) => ({ ...table, reasons: [] })),
      ]
    : [];
  return {
    sheets: sheets.map(({ name, visibility, rows, columns, problem }) => ({
      name,
      isHidden: visibility !== 'visible',
      rows,
      columns,
      problem: problem?.detail,
    })),
    sheet: sheet.name,
    headerRow: sheet.header_row,
    range: sheet.range,
    proposals: proposed.flatMap(({ header_row: headerRow, range, reasons }) =>
      range === undefined ? [] : [{ headerRow, range, reasons }],
    ),
    names: names.map(({ name, sheet, range }) => ({ name, sheet, range })),
    arrays: [],
    rowsAt: undefined,
    header: sheet.header,
    types: sheet.definition.columns.map(({ type }) => type),
    counts: sheet.columns.map(({ letters, values, empty }) => ({ letters, values, empty })),
    rows: sheet.rows,
    rowNumbers: sheet.row_numbers,
    rowCount: own?.rows ?? sheet.rows.length,
    errors: sheet.errors,
    errorCount: sheet.error_count,
    // The page shows all sheets, so the warning about other sheets is not needed.
    warnings: sheet.warnings.filter(({ code }) => code !== 'other-sheets'),
  };
}

/** Returns the values of one row for all columns of the plan, with those cells of the row that are in no column. @param marked the number of a column of the sheet */
export function rowOfSheet({ sheet }: InspectedSpreadsheet, columns: ColumnPlan[], marked: number): ShownRow {
  const [values = []] = sheet.rows;
  // Columns without a value are not in the answer.
  const byLetters = new Map(sheet.columns.map(({ letters = '' }, index) => [letters, values[index] ?? null]));
  const shown = columns.map(({ letters = '', name }) => ({ letters, name }));
  const known = new Set(shown.map(({ letters }) => letters));
  for (const letters of byLetters.keys()) if (!known.has(letters)) shown.push({ letters, name: letters });
  return {
    names: shown.map(({ name }) => name),
    values: shown.map(({ letters }) => byLetters.get(letters) ?? null),
    marked: shown.findIndex(({ letters }) => cellOf(`${letters}1`)?.column === marked),
  };
}

export function inspectionOfJson({ arrays, data }: InspectedJson): Inspection {
  return {
    sheets: [],
    sheet: '',
    headerRow: undefined,
    range: undefined,
    proposals: [],
    names: [],
    arrays: arrays.map(({ rows_at: rowsAt, rows }) => ({ rowsAt, rows })),
    rowsAt: data.rows_at,
    header: data.header,
    types: data.definition.columns.map(({ type }) => type),
    counts: data.columns.map(({ values, empty }) => ({ letters: undefined, values, empty })),
    rows: data.rows,
    rowNumbers: undefined,
    rowCount: data.row_count,
    errors: data.errors,
    errorCount: data.error_count,
    warnings: data.warnings,
  };
}

/** What the values of an inferred type are called. */
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

/** Says why a column has its inferred type. */
export function reasonOf(type: string, values: number, empty: number, warnings: Warning[]): string {
  if (values === 0) return 'because no row has a value';
  const mixed = warnings.find(({ code }) => code === 'mixed-column' || code === 'other-notation');
  const rest = empty > 0 ? `; ${countInWords(empty)} empty` : '';
  if (mixed) return `${mixed.detail}${rest}`;
  const what = valuesOfType[type] ?? type;
  const all =
    values === 1 ? 'its only value has this form' : `all ${countInWords(values)} values are ${what}`;
  return `because ${all}${rest}`;
}

/** Returns the columns of the part of the file that was read. Each sheet, and each array of a JSON document, keeps its own choices. */
export function withPlans(
  { columns, columnsOf, otherPlans }: Pick<State, 'columns' | 'columnsOf' | 'otherPlans'>,
  inspection: Inspection,
): Pick<State, 'columns' | 'columnsOf' | 'otherPlans'> {
  const part = JSON.stringify([inspection.sheet, inspection.rowsAt]);
  const isSame = columnsOf === undefined || columnsOf === part;
  const earlier = isSame ? columns : (otherPlans[part] ?? []);
  return {
    columns: planColumns(inspection, earlier),
    columnsOf: part,
    otherPlans: isSame ? otherPlans : { ...otherPlans, [columnsOf]: columns },
  };
}

/** Returns the columns that the table gets unless the person changes them. Earlier changes to the same headers are kept. */
export function planColumns(inspection: Inspection, earlier: ColumnPlan[]): ColumnPlan[] {
  const changed = new Map(earlier.map((plan) => [plan.header, plan]));
  return inspection.header.map((header, index) => {
    const type = inspection.types[index] ?? 'text';
    const { letters, values, empty } = inspection.counts[index] ?? {
      letters: undefined,
      values: 0,
      empty: 0,
    };
    const own = inspection.warnings.filter(({ column }) => column === header);
    const facts = {
      header,
      letters,
      inferredType: type,
      reason: reasonOf(type, values, empty, own),
      example: inspection.rows.find((row) => row[index] !== null)?.[index] ?? undefined,
    };
    const before = changed.get(header);
    if (before)
      return { ...before, ...facts, type: before.type === before.inferredType ? type : before.type };
    return {
      ...facts,
      name: header,
      type,
      isIncluded: true,
      isNullable: true,
      default: '',
      keyPlace: 0,
      isUnique: false,
      reference: undefined,
    };
  });
}

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

/** Returns whether the table that the rows go to exists and keeps its definition. */
export function keepsDefinition({ existing, target }: Pick<State, 'existing' | 'target'>): boolean {
  return (
    existing.is === 'ready' &&
    existing.value !== null &&
    (target.ifExists === 'append' || target.ifExists === 'truncate')
  );
}

/** Returns whether the page cannot find out whether the table exists. */
function isUnseen({ existing }: Pick<State, 'existing'>): boolean {
  return existing.is === 'failed';
}

/** Returns whether the rows may go to an existing table that keeps its definition. */
export function mayKeepDefinition(state: Pick<State, 'existing' | 'target'>): boolean {
  const { ifExists } = state.target;
  return keepsDefinition(state) || (isUnseen(state) && (ifExists === 'append' || ifExists === 'truncate'));
}

/** Says what the page cannot see of the table; undefined: it sees everything. */
export function unseenWords({ existing }: Pick<State, 'existing'>): string | undefined {
  if (existing.is !== 'failed') return undefined;
  const { code, detail } = existing.failure;
  return code === 'insufficient-scope'
    ? 'This token may not read tables: it lacks the scope table:read. The page cannot see whether the table exists, nor its columns. You can load into it anyway: say what happens if it exists.'
    : `The page cannot see whether the table exists: ${detail}`;
}

export type ExistingColumn = Pick<ColumnPlan, 'type' | 'isNullable' | 'keyPlace'>;

/**
 * Returns the column of the existing table that a column of the file is loaded into. The service also matches the headers of
 * spreadsheets ignoring case and outer space.
 *
 * @returns undefined if the table does not have the column
 */
export function existingColumn(
  { existing, file }: Pick<State, 'existing' | 'file'>,
  wanted: string,
): ExistingColumn | undefined {
  if (existing.is !== 'ready' || existing.value === null) return undefined;
  const { columns, constraints } = existing.value;
  const folded = (name: string): string => name.trim().toLowerCase();
  const found =
    columns.find(({ name }) => name === wanted) ??
    (file?.kind === 'spreadsheet' ? columns.find(({ name }) => folded(name) === folded(wanted)) : undefined);
  if (found === undefined) return undefined;
  const keyPlace = constraints.primary_key.columns.indexOf(found.name) + 1;
  return { type: found.type, isNullable: found.is_nullable, keyPlace };
}

/** Returns whether a column has another form than the service would give it. */
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

/** Returns the definition of the table, whether it is sent or not. */
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

export interface UploadPlan {
  kind: ChosenFile['kind'];
  schema: string;
  table: string;
  query: LoadQuery;
  /** undefined: the service infers the types, or the existing table decides them. */
  definition: TableDefinition | undefined;
}

type PlanFacts = Pick<State, 'file' | 'reading' | 'inspection' | 'columns' | 'target' | 'existing' | 'rows'>;

/** Returns the request that checks or loads the file, without `dry_run`. */
export function uploadPlan(state: PlanFacts): UploadPlan {
  const { file, reading, inspection, columns, target, rows } = state;
  const kind = file?.kind ?? 'spreadsheet';
  const keeps = keepsDefinition(state);
  const isLeftOut = columns.some(({ isIncluded }) => !isIncluded);
  const needsDefinition = !keeps && (isLeftOut || columns.some(isChanged));
  const renamed = columns.filter(({ header, name, isIncluded }) => isIncluded && name !== header);
  const rowsAt = inspection.is === 'ready' ? inspection.value.rowsAt : undefined;
  const isElsewhere = rowsAt !== undefined && rowsAt !== '' && rowsAt !== '/data';
  const extraColumns = isLeftOut ? 'ignore' : mayKeepDefinition(state) ? rows.extraColumns : 'fail';
  const query: LoadQuery = {
    ...(target.schema !== 'public' && { schema: target.schema }),
    ...(target.ifExists !== 'fail' && { if_exists: target.ifExists }),
    ...(target.onConflict !== 'fail' && mayHaveKey(state) && { on_conflict: target.onConflict }),
    ...(extraColumns !== 'fail' && { extra_columns: extraColumns }),
    ...(rows.leaveOutFaulty && { faulty_rows: 'leave_out' as const, max_faulty_rows: rows.maxFaulty }),
    ...readingQuery({ ...reading, rowsAt: isElsewhere ? rowsAt : undefined }, kind),
    ...(renamed.length > 0 && {
      rename: renamed.map(({ header, name }) => `${escapedItem(header)}:${escapedItem(name)}`).join(','),
    }),
  };
  const definition = needsDefinition ? definitionOf(columns) : undefined;
  return { kind, schema: target.schema, table: target.table, query, definition };
}

/** Returns whether the table may have a key. A table that this load creates has only the keys of its columns. */
export function mayHaveKey({
  columns,
  existing,
  target,
}: Pick<State, 'columns' | 'existing' | 'target'>): boolean {
  const isNew = target.ifExists === 'replace' || (existing.is === 'ready' && existing.value === null);
  return (
    !isNew || columns.some(({ isIncluded, keyPlace, isUnique }) => isIncluded && (keyPlace > 0 || isUnique))
  );
}

/** Says what a load does to the rows that the table has; undefined: it keeps them. */
export function lossWords({ existing, target }: Pick<State, 'existing' | 'target'>): string | undefined {
  if (existing.is === 'ready' && existing.value === null) return undefined;
  const table = `${target.schema}.${target.table}`;
  if (target.ifExists === 'truncate') return `The existing rows of ${table} are deleted first.`;
  if (target.ifExists === 'replace') return `A new table with the rows of the file replaces ${table}.`;
  return undefined;
}

/** Writes a name in a list of a query parameter. */
function escapedItem(name: string): string {
  return name.replace(/[\\,:]/g, '\\$&');
}

/** Returns what must be right before the file is checked, in words; the first is enough for the person. */
export function planFaults(state: Pick<State, 'columns' | 'target' | 'existing'>): string[] {
  const { columns, target, existing } = state;
  const keeps = keepsDefinition(state);
  const faults: string[] = [];
  const included = columns.filter(({ isIncluded }) => isIncluded);
  if (target.table === '') faults.push('Name the table.');
  else if (byteLength(target.table) > 63) faults.push('The name of the table has more than 63 bytes.');
  if (target.schema === '') faults.push('Name the schema.');
  if (existing.is === 'ready' && existing.value !== null && target.ifExists === 'fail')
    faults.push('Choose what happens to the existing table.');
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

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Returns a request as one text, to see whether it has changed. */
export function requestText(state: PlanFacts): string {
  const { name = '', size = 0, content } = state.file ?? {};
  return JSON.stringify([name, size, content?.lastModified, uploadPlan(state)]);
}

/** Returns the request as a command for a terminal. */
export function curlText(plan: UploadPlan, fileName: string, origin: string): string {
  const operation = plan.kind === 'spreadsheet' ? 'excel' : 'json';
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(plan.query)) query.set(name, String(value));
  const text = query.size > 0 ? `?${query.toString().replaceAll('+', '%20')}` : '';
  const url = `${origin}/api/v1/table/${encodeURIComponent(plan.table)}/upload/${operation}${text}`;
  const definition = plan.definition && JSON.stringify(plan.definition);
  const lines = ['curl -H "Authorization: Bearer $TOKEN"'];
  let before = '';
  if (plan.kind === 'spreadsheet') {
    // curl ends the name of the file at a semicolon, and reads a quoted name to its end.
    const name = fileName.replace(/["\\]/g, '\\$&');
    lines.push(`-F ${shellWord(`file=@"${name}"`)}`);
    if (definition) lines.push(`-F ${shellWord(`body={"table":${definition}};type=application/json`)}`);
  } else {
    const type = plan.kind === 'json' || definition ? 'application/json' : 'application/x-ndjson';
    lines.push(`-H "Content-Type: ${type}"`);
    const file = shellWord(fileName);
    if (!definition) lines.push(`--data-binary ${shellWord(`@${fileName}`)}`);
    else {
      const all = plan.kind === 'ndjson' ? `jq -s` : 'jq';
      const data = plan.query.rows_at ? '. + {table: $table}' : '{table: $table, data: (.data? // .)}';
      before = `${all} -c --argjson table ${shellWord(definition)} ${shellWord(data)} ${file} |\n  `;
      lines.push('--data-binary @-');
    }
  }
  lines.push(shellWord(url));
  return `${before}${lines.join(' \\\n  ')}`;
}

/** Quotes a word for a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the command that shows the table in a terminal. */
export function psqlText(schema: string, table: string): string {
  return `psql "$DATABASE_URL" -c ${shellWord(`SELECT * FROM ${quoted(schema)}.${quoted(table)} LIMIT 20`)}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export interface GroupedProblems {
  key: string;
  column: string | undefined;
  code: string;
  count: number;
  detail: string;
  problems: Problem[];
}

/** Groups problems by column and kind, the largest group first. @param groups the groups of the answer, which count all problems */
export function groupProblems(problems: Problem[], groups: ProblemGroup[]): GroupedProblems[] {
  const byKey = new Map<string, GroupedProblems>();
  for (const { column, code, count } of groups) {
    const key = groupKey(column, code);
    byKey.set(key, { key, column, code, count, detail: '', problems: [] });
  }
  for (const problem of problems) {
    const key = groupKey(problem.column, problem.code);
    let group = byKey.get(key);
    if (group === undefined) {
      group = { key, column: problem.column, code: problem.code, count: 0, detail: '', problems: [] };
      byKey.set(key, group);
    }
    group.problems.push(problem);
    group.detail ||= problem.detail;
  }
  const all = [...byKey.values()];
  for (const group of all) group.count = Math.max(group.count, group.problems.length);
  return all.sort((a, b) => b.count - a.count);
}

function groupKey(column: string | undefined, code: string): string {
  return `${code} ${column ?? ''}`;
}

export type Fix =
  | { is: 'text'; column: string; label: string }
  | { is: 'nullable'; column: string; label: string }
  | { is: 'null-value'; value: string; label: string }
  | { is: 'errors-null'; label: string }
  | { is: 'no-key'; column: string; label: string }
  | { is: 'skip-repeated'; label: string }
  | { is: 'update-existing'; label: string }
  | { is: 'extra-columns'; choice: 'ignore' | 'add'; label: string }
  | { is: 'leave-out'; count: number; label: string };

const errorCellCodes = ['error-cell', 'formula-without-value', 'date-out-of-range'];
const valueCodes =
  /^(not-a|not-an|not-bytes|invalid-input|no-such-date|no-such-time|out-of-range|too-long|date-not-allowed|wrong-type|not-in-)/;
const maxNullWords = 3;

/** Returns the simple fixes for a group of problems. @param keeps true: an existing table decides the types of the columns */
export function fixesOf(group: GroupedProblems, keeps: boolean): Fix[] {
  const { code, column, problems } = group;
  if (errorCellCodes.includes(code)) return [{ is: 'errors-null', label: 'Load such cells as NULL' }];
  if (code === 'not-unique') {
    if (keeps) {
      return [
        { is: 'update-existing', label: 'Update the existing rows' },
        { is: 'skip-repeated', label: 'Keep the existing rows' },
      ];
    }
    return [
      { is: 'skip-repeated', label: 'Keep the first row of each key' },
      ...(column === undefined ? [] : [{ is: 'no-key' as const, column, label: `Make “${column}” no key` }]),
    ];
  }
  if (code === 'unknown-column') {
    return [
      { is: 'extra-columns', choice: 'ignore', label: 'Leave out columns that the table does not have' },
      { is: 'extra-columns', choice: 'add', label: 'Add these columns to the table' },
    ];
  }
  if (column === undefined) return [];
  if (code === 'null-not-allowed')
    return keeps ? [] : [{ is: 'nullable', column, label: `Allow NULL in “${column}”` }];
  if (!valueCodes.test(code) || code.startsWith('not-unique')) return [];
  const words = new Set(problems.map(({ value }) => value ?? ''));
  const isFew = group.count === problems.length ? words.size <= maxNullWords : words.size === 1;
  const nullWords = isFew ? [...words].filter(isNullWord) : [];
  return [
    ...nullWords.map((value) => ({ is: 'null-value' as const, value, label: `Treat “${value}” as empty` })),
    ...(keeps ? [] : [{ is: 'text' as const, column, label: `Make “${column}” text` }]),
  ];
}

/** Problems of the header or the definition. They are not of single rows, so that leaving out rows does not help. */
const columnCodes = [
  'invalid-name',
  'no-column-in-common',
  'unknown-column',
  'repeated-column',
  'too-many-columns',
  'unknown-key',
];

/** Returns whether the rows with these problems can be left out. */
export function canLeaveOut(groups: Pick<GroupedProblems, 'code'>[]): boolean {
  return !groups.some(({ code }) => columnCodes.includes(code));
}

/** Returns whether a text may stand for a missing value. A number or a date never does. */
function isNullWord(text: string): boolean {
  return text !== '' && text.length <= 20 && !/\d/.test(text);
}

/** Returns the state with a fix. */
export function withFix(state: State, fix: Fix): State {
  const change = (name: string, to: Partial<ColumnPlan>): ColumnPlan[] =>
    state.columns.map((column) => (column.name === name ? { ...column, ...to } : column));
  switch (fix.is) {
    case 'text':
      return { ...state, columns: change(fix.column, { type: 'text' }) };
    case 'nullable':
      return { ...state, columns: withoutKey(change(fix.column, { isNullable: true }), fix.column) };
    case 'no-key':
      return { ...state, columns: withoutKey(change(fix.column, { isUnique: false }), fix.column) };
    case 'null-value': {
      const before = state.reading.nullValues;
      const nullValues = before === '' ? escapedItem(fix.value) : `${before},${escapedItem(fix.value)}`;
      return { ...state, reading: { ...state.reading, nullValues } };
    }
    case 'errors-null':
      return { ...state, reading: { ...state.reading, errorsAreNull: true } };
    case 'skip-repeated':
      return { ...state, target: { ...state.target, onConflict: 'skip' } };
    case 'update-existing':
      return { ...state, target: { ...state.target, onConflict: 'update' } };
    case 'extra-columns':
      return { ...state, rows: { ...state.rows, extraColumns: fix.choice } };
    case 'leave-out':
      return { ...state, rows: { ...state.rows, leaveOutFaulty: true, maxFaulty: Math.max(100, fix.count) } };
  }
}

function withoutKey(columns: ColumnPlan[], name: string): ColumnPlan[] {
  const index = columns.findIndex((column) => column.name === name);
  return index >= 0 && columns[index]!.keyPlace > 0 ? withKey(columns, index, false) : columns;
}

/** Returns the place of a problem as a person finds it. @param columns the columns of the definition that was sent */
export function placeOf(
  { cell, line, row, column, pointer, parameter }: Problem,
  columns: ColumnPlan[] = [],
): string {
  if (cell !== undefined) return cell;
  if (line !== undefined) return `line ${line}`;
  if (row !== undefined) return `row ${countInWords(row)}`;
  if (pointer === undefined) return parameter === undefined ? '' : `parameter ${parameter}`;
  const [, index] = /^\/table\/columns\/(\d+)/.exec(pointer) ?? [];
  const included = columns.filter(({ isIncluded }) => isIncluded);
  return (index && (column ?? included[Number(index)]?.name)) || memberInWords(pointer);
}

/** Returns the place of a problem with its column, for a list in which nothing else names the column. */
export function fullPlaceOf(problem: Problem): string {
  const place = placeOf(problem);
  const { cell, column } = problem;
  return cell !== undefined || column === undefined || place === column ? place : `${place}, ${column}`;
}

/** Writes a JSON Pointer (RFC 6901) for a person: `/table/columns/0/type` is “table, columns, 1st, type”. */
function memberInWords(pointer: string): string {
  if (pointer === '') return 'the whole document';
  const parts = pointer.slice(1).split('/');
  return parts.map((part) => memberName(part.replaceAll('~1', '/').replaceAll('~0', '~'))).join(', ');
}

/** Elements count from 0 in a pointer, and from 1 for a person. */
function memberName(part: string): string {
  if (!/^\d+$/.test(part)) return part;
  const place = Number(part) + 1;
  const teens = place % 100 > 10 && place % 100 < 14;
  const ending = teens ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${countInWords(place)}${ending}`;
}

/** Writes characters that have no shape, or that turn the text around them, as their number: the mark that turns a text to the left becomes ‹U+202E›. */
export function withVisibleControls(text: string): string {
  return text.replace(
    /[^\P{Cc}\t\n\r]|[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu,
    (sign) => `‹U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`,
  );
}

export interface Cell {
  column: number;
  row: number;
}

/** Reads the address of a cell: `Orders!C12` is column 3, row 12. */
export function cellOf(address: string): Cell | undefined {
  const [, letters, digits] = /(?:^|!)\$?([A-Z]{1,3})\$?(\d+)$/.exec(address) ?? [];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return { column, row: Number(digits) };
}

/** Returns whether the load goes on, or may go on where the page does not see it. */
export function isRunning(load: LoadProgress | undefined): boolean {
  if (load === undefined || load.outcome.is === 'ended') return false;
  return load.outcome.is !== 'unknown' || load.outcome.record !== undefined;
}

/** Returns whether the page shows work that the service does. */
export function waitsForService({ inspection, isReadAgain, check, load }: State): boolean {
  return inspection.is === 'busy' || isReadAgain || check.is === 'busy' || isRunning(load);
}

/** Returns the step that the page shows. */
export function shownStep({ file, load, step }: Pick<State, 'file' | 'load' | 'step'>): Step {
  if (step === 'load' && load !== undefined) return 'load';
  if (file === undefined) return 'file';
  return step === 'load' ? 'columns' : step;
}

type StepFacts = Pick<State, 'file' | 'inspection' | 'check' | 'load'>;

/** Returns whether the person may go to the step. */
export function isPossible({ file, inspection, check, load }: StepFacts, step: Step): boolean {
  if (isRunning(load)) return step === 'load';
  if (step === 'file') return file !== undefined || load !== undefined;
  if (step === 'columns') return file !== undefined && inspection.is === 'ready';
  if (step === 'check') return file !== undefined && check.is !== 'none';
  return load !== undefined;
}

/** Returns whether the browser's Back or Forward may show the step. */
export function canShow(state: StepFacts, step: Step): boolean {
  const { file, inspection, load } = state;
  if (step === 'file') return !isRunning(load);
  if (step === 'columns') return !isRunning(load) && file !== undefined && inspection.is !== 'none';
  return isPossible(state, step);
}

/** Says what is known about a load that the page cannot follow any more. */
export function lostWords({ reason, record }: Extract<LoadOutcome, { is: 'unknown' }>): string {
  if (record === undefined)
    return 'The service has not answered. Look under Loads whether the file was loaded before you load it again.';
  const isRefused = reason.code !== undefined && !/token/.test(reason.code);
  return isRefused
    ? 'The service does not say how the load went on. Look at the rows of the table before you load the file again.'
    : 'The connection is lost. The load goes on at the service.';
}

export interface Bar {
  /** From 0 to 1; undefined: the end is not known. */
  share: number | undefined;
  /** What is done, in words. */
  words: string;
  rate: string;
  left: string;
}

/** Returns the bar of the bytes that are sent. @param now milliseconds since the page was loaded */
export function sendingBar({ sentBytes, fileBytes, startedAt, outcome }: LoadProgress, now: number): Bar {
  const record = recordOf(outcome);
  const isSent = record !== undefined && record.state !== 'receiving';
  const done = isSent ? fileBytes : Math.min(sentBytes, fileBytes);
  const words = `${sizeInWords(done)} of ${sizeInWords(fileBytes)}`;
  if (isSent) return { share: 1, words, rate: '', left: '' };
  return {
    share: fileBytes === 0 ? 1 : done / fileBytes,
    words,
    ...rateOf(done, fileBytes, now - startedAt, sizeInWords),
  };
}

/** Returns the bar of the rows that are read. */
export function rowsBar({ expectedRows, rowsSince, outcome }: LoadProgress, now: number): Bar {
  const record = recordOf(outcome);
  const done = record?.rows_read ?? 0;
  const rows = (count: number): string => plural(Math.round(count), 'row');
  if (expectedRows === undefined)
    return { share: done > 0 ? undefined : 0, words: rows(done), rate: '', left: '' };
  const words = `${countInWords(done)} of ${plural(expectedRows, 'row')}`;
  const share = expectedRows === 0 ? 1 : Math.min(1, done / expectedRows);
  if (rowsSince === undefined || record?.ended_at != null) return { share, words, rate: '', left: '' };
  return { share, words, ...rateOf(done, expectedRows, now - rowsSince, rows) };
}

const minRateMs = 500;

function rateOf(
  done: number,
  all: number,
  ms: number,
  inWords: (amount: number) => string,
): { rate: string; left: string } {
  if (ms < minRateMs || done === 0 || done >= all) return { rate: '', left: '' };
  const perSecond = (done / ms) * 1000;
  return {
    rate: `${inWords(perSecond)} per second`,
    left: `${timeInWords(((all - done) / perSecond) * 1000)} left`,
  };
}

/** Returns a value of a row as the table stores it. Numbers with many digits are texts already. */
export function shownValue(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string'
    ? value
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
}

/** Reads what a token says about itself (RFC 7519). The service verifies tokens, not the page. */
export function claimsOf(
  token: string,
): { subject?: string; scopes: string[]; expiresAt?: number } | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (sign) =>
      sign.charCodeAt(0),
    );
    const { sub, exp, scope, scp } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    const scopes = [scope ?? scp ?? ''].flat().join(' ').split(' ').filter(Boolean);
    return {
      ...(typeof sub === 'string' && { subject: sub }),
      ...(typeof exp === 'number' && { expiresAt: exp }),
      scopes,
    };
  } catch {
    return undefined;
  }
}

/** Writes a page as the fragment of its address. */
export function hashOf(route: State['route']): string {
  switch (route.page) {
    case 'load':
      return '#/';
    case 'tables':
      return '#/tables';
    case 'table':
      return `#/tables/${encodeURIComponent(route.schema)}/${encodeURIComponent(route.name)}`;
    case 'loads':
      return '#/loads';
    case 'one-load':
      return `#/loads/${route.id}`;
  }
}

/** Returns whether an address is the page for loading a file. */
export function isLoadPage(hash: string): boolean {
  return linkedToken(hash) === undefined && routeOf(hash).page === 'load';
}

/** Returns the token of a sign-in link. */
export function linkedToken(hash: string): string | undefined {
  return new URLSearchParams(hash.slice(1)).get('token')?.trim();
}

/** Removes what people copy together with a token. */
export function pastedToken(text: string): string {
  return text.trim().replace(/^(TOKEN=|Bearer )/i, '');
}

/** Returns the state without the failures whose only cause was the earlier token. */
export function withoutTokenFailures(state: State): State {
  const { load } = state;
  const cleared = <Value>(remote: Remote<Value>): Remote<Value> =>
    isTokenFailure(remote) ? { is: 'none' } : remote;
  return {
    ...state,
    inspection: cleared(state.inspection),
    top: cleared(state.top),
    existing: cleared(state.existing),
    check: cleared(state.check),
    step: state.step === 'check' && isTokenFailure(state.check) ? 'columns' : state.step,
    // An upload that was refused because of its token has no load.
    ...(load?.outcome.is === 'ended' &&
      isTokenCode(load.outcome.failure?.code) && { load: undefined, step: 'columns' as const }),
  };
}

function isTokenCode(code: string | undefined): boolean {
  return code === 'missing-token' || code === 'invalid-token';
}

export function isTokenFailure(remote: Remote<unknown>): boolean {
  return remote.is === 'failed' && isTokenCode(remote.failure.code);
}

/** Reads the load that the tab has kept: its id, or the key of its upload while the service has not answered it. */
export function keptLoadOf(text: string | null): KeptLoad | undefined {
  try {
    const kept = JSON.parse(text ?? 'null');
    return typeof (kept?.id ?? kept?.key) === 'string' ? kept : undefined;
  } catch {
    return undefined;
  }
}

export interface KeptLoad {
  id?: string;
  key?: string;
  fileName?: string;
}

/** Returns whether work is lost when the page is left: a file that is chosen, or a file that is still being sent. */
export function losesWork({ file, load }: Pick<State, 'file' | 'load'>): boolean {
  if (load === undefined) return file !== undefined;
  const { outcome } = load;
  if (outcome.is === 'ended') return outcome.failure !== undefined && file !== undefined;
  return (recordOf(outcome)?.state ?? 'receiving') === 'receiving';
}

export function routeOf(hash: string): State['route'] {
  const [page, first, second] = hash.replace(/^#\/?/, '').split('/').map(decoded);
  if (page === 'tables' && first && second) return { page: 'table', schema: first, name: second };
  if (page === 'tables') return { page: 'tables' };
  if (page === 'loads' && first) return { page: 'one-load', id: first };
  return page === 'loads' ? { page: 'loads' } : { page: 'load' };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function targetOf(fileName: string): Target {
  return { schema: 'public', table: tableNameOf(fileName), ifExists: 'fail', onConflict: 'fail' };
}

export const noRules: RowRules = { leaveOutFaulty: false, maxFaulty: 100, extraColumns: 'fail' };
