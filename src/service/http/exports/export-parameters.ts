/** The parameters of an export: its format, its columns and their order. */
import { wrongParameter } from '../../../core/errors.ts';
import type { OrderBy } from '../../../engine/tables/export/export-columns.ts';
import type { ExportFormat } from '../../../engine/tables/export/export-table.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import { csvContentType } from '../answers/problem-table.ts';
import { splitList } from '../uploads/split-list.ts';
import { preferredType } from '../wire/accept.ts';

export const xlsxType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

export const contentTypes: Record<ExportFormat, string> = {
  csv: csvContentType,
  ndjson: 'application/x-ndjson; charset=utf-8',
  json: jsonContentType,
  xlsx: xlsxType,
};

/** The media types in `Accept` that choose a format. JSON does not, because it is also the type of the first rows. */
const acceptedTypes: Record<string, ExportFormat> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  [xlsxType]: 'xlsx',
};

/** Returns the format that `Accept` asks for; undefined: JSON, or none. */
export function acceptedFormat(accept: string | undefined): ExportFormat | undefined {
  const type = preferredType(accept, Object.keys(acceptedTypes));
  return type === undefined ? undefined : acceptedTypes[type];
}

/** Returns the names in the parameter `columns`; undefined: all columns. @throws AppError `invalid-parameter` */
export function columnsOf(columns: string | undefined): string[] | undefined {
  if (columns === undefined) return undefined;
  const names = splitList(columns, ',');
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw wrongParameter('columns', `The parameter columns has "${repeated}" twice.`, { value: columns });
  return names;
}

/** Returns the columns in the parameter `order`, each with its direction. */
export function orderOf(order: string | undefined): OrderBy[] {
  if (order === undefined) return [];
  return splitList(order, ',', false).map((item) => {
    const parts = splitList(item, '.');
    const direction = parts.length > 1 && /^(asc|desc)$/.test(parts.at(-1)!) ? parts.pop() : 'asc';
    return { column: parts.join('.'), isDescending: direction === 'desc' };
  });
}
