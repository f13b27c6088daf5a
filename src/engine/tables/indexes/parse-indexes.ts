/** Reads the indexes of a definition. */
import { mapInTurns } from '../../../core/pause-for-others.ts';
import { weightOfEntry } from '../parse-foreign-keys.ts';
import { entriesOf, type Report, readColumnName, readMembers, readName, readText } from '../read-members.ts';
import {
  type IndexColumn,
  IndexColumnSchema,
  type IndexDefinition,
  IndexSchema,
} from './index-definition.ts';

const form = ': {"columns": [{"column": "customer_id"}]}';
const columnForm = ': {"column": "customer_id"}';

/** Reads the entries in turns. An entry that is not an index is reported and left out. */
export async function parseIndexes(
  list: unknown[] | null | undefined,
  pointer: string,
  report: Report,
): Promise<IndexDefinition[]> {
  const entries = entriesOf(list, pointer, report);
  const parse = (entry: unknown, index: number) => parseIndex(entry, `${pointer}/${index}`, report);
  return (await mapInTurns(entries, parse, weightOfEntry)).filter((index) => index !== undefined);
}

function parseIndex(value: unknown, pointer: string, report: Report): IndexDefinition | undefined {
  const index = readMembers(IndexSchema, value, pointer, report, form);
  if (index === undefined) return undefined;
  const at = `${pointer}/columns`;
  const list = index('columns', ': [{"column": "customer_id"}]');
  if (list?.length === 0) report(at, 'missing', 'the index has no columns');
  const columns = entriesOf(list, at, report).map((entry, place) =>
    parseColumn(entry, `${at}/${place}`, report),
  );
  const include = entriesOf(index('include'), `${pointer}/include`, report);
  return {
    pointer,
    name: readName(index('name'), `${pointer}/name`, report),
    isUnique: index('unique') ?? false,
    method: readName(index('method'), `${pointer}/method`, report) ?? 'btree',
    columns: columns.filter((column) => column !== undefined),
    where: readText(index('where'), `${pointer}/where`, report) || undefined,
    include: include.map((entry, place) => readColumnName(entry, `${pointer}/include/${place}`, report)),
  };
}

function parseColumn(value: unknown, pointer: string, report: Report): IndexColumn | undefined {
  const column = readMembers(IndexColumnSchema, value, pointer, report, columnForm);
  if (column === undefined) return undefined;
  const name = column('column');
  const expression = column('expression');
  if (!name === !expression && name !== null && expression !== null)
    report(pointer, 'missing', 'an entry has either a "column" or an "expression"');
  return {
    pointer,
    column: (expression ? undefined : readName(name, `${pointer}/column`, report)) ?? '',
    expression: readText(expression, `${pointer}/expression`, report) || undefined,
    order: column('order') ?? undefined,
    nulls: column('nulls') ?? undefined,
    operatorClass: readText(column('operator_class'), `${pointer}/operator_class`, report) || undefined,
  };
}
