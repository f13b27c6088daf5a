/**
 * Turns any JSON value into a definition, and reports every problem that can be found without a query, with its place. The schemas
 * check the form of the JSON (read-members.ts). What a schema cannot check is checked here. Parts without a problem are kept, so
 * that later checks can add their problems to the same answer.
 */

import { shorten } from '../../core/identifiers.ts';
import { amountInWords, overLimit } from '../../core/limit-exceeded.ts';
import { forEachInTurns, mapInTurns } from '../../core/pause-for-others.ts';
import { serialBase } from './column-types.ts';
import {
  type ColumnDefinition,
  ColumnSchema,
  ConstraintsSchema,
  columnPointer,
  type DistributionDefinition,
  DistributionSchema,
  distributionKinds,
  distributionPointer,
  type KeyDefinition,
  maxShards,
  PrimaryKeySchema,
  SequenceSchema,
  type TableDefinition,
  TableDefinitionSchema,
  UniqueSchema,
} from './definition.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import { type GeneratedDefinition, parseChecks } from './expressions/checks.ts';
import { parseIndexes } from './indexes/parse-indexes.ts';
import { parseKeyOptions } from './key-options.ts';
import { maxCommentLength } from './name-schemas.ts';
import { parseNumbering } from './numbering.ts';
import { parseForeignKeys, weightOfEntry } from './parse-foreign-keys.ts';
import {
  entriesOf,
  type Members,
  type Report,
  readColumnName,
  readMembers,
  readName,
  readText,
  reportTo,
} from './read-members.ts';
import { parseTypes } from './types/type-definition.ts';

const keyForm = ': {"columns": ["id"]}, with the names of the columns of the key';

/** Reads the `table` of a request (already parsed JSON, of any shape) in turns, and adds its problems. Never throws. */
export async function parseDefinition(
  value: unknown,
  problems: DefinitionProblems,
): Promise<TableDefinition> {
  const report = reportTo(problems);
  const definition: TableDefinition = {
    columns: [],
    comment: undefined,
    primaryKey: undefined,
    unique: [],
    foreignKeys: [],
    checks: [],
    isUnlogged: false,
    indexes: [],
    saysIndexes: false,
    types: [],
    distribution: undefined,
  };
  const table = readMembers(
    TableDefinitionSchema,
    value,
    '/table',
    report,
    ': {"columns": [{"name": "id", "type": "bigint"}]}',
  );
  if (table !== undefined) {
    const columns = table(
      'columns',
      ': the list of the columns, each with a name and a type, as in [{"name": "id", "type": "bigint"}]',
    );
    definition.columns = await parseColumns(columns, report);
    await parseConstraints(table('constraints', constraintsForm), definition, report);
    definition.comment = readComment(table('comment'), '/table/comment', report);
    definition.isUnlogged = table('unlogged') === true;
    const indexes = table('indexes', indexesForm);
    definition.saysIndexes = indexes !== undefined;
    definition.indexes = await parseIndexes(indexes, '/table/indexes', report);
    definition.types = await parseTypes(table('types', typesForm), report);
    definition.distribution = parseDistribution(table('distribution'), report);
  }
  return definition;
}

const constraintsForm = ': {"primary_key": {"columns": ["id"]}}';
const indexesForm = ': [{"columns": [{"column": "customer_id"}]}]';
const typesForm = ': [{"name": "state", "labels": ["new", "paid"]}]';
const checksForm = ': [{"expression": "amount >= 0"}]';
const uniqueForm = ': [{"columns": ["email"]}]';

/** Returns the end of the message about a default that has a wrong type. */
function defaultForm(column: unknown): string {
  const sent = (column as { default?: unknown } | null)?.default;
  if (typeof sent !== 'object' || sent === null) return ', or null for no default';
  const text = Array.isArray(sent) ? '{a,b}' : '{\\"a\\": 1}';
  return `: write its text, as in "${text}"`;
}

async function parseColumns(
  value: unknown[] | null | undefined,
  report: Report,
): Promise<ColumnDefinition[]> {
  const pointer = '/table/columns';
  if (value?.length === 0) report(pointer, 'missing', 'the table needs at least one column');
  const entries = entriesOf(value, pointer, report);
  return mapInTurns(entries, (entry, index) => parseColumn(entry, columnPointer(index), report));
}

function parseColumn(value: unknown, pointer: string, report: Report): ColumnDefinition {
  const column = readMembers(ColumnSchema, value, pointer, report, ': {"name": "id", "type": "bigint"}');
  if (column === undefined) {
    return {
      ...{ name: '', type: '', default: undefined, isNullable: true },
      ...{ identityAlways: false, comment: undefined, sequence: undefined, numbering: undefined },
      ...{ defaultIsExpression: false, generated: undefined },
    };
  }
  const name = column('name');
  const type = column('type', ': a PostgreSQL type such as text, bigint or numeric(12,2)');
  const sent = column('default', defaultForm(value));
  const sequence = parseSequence(column('sequence'), `${pointer}/sequence`, report);
  const numbers = sequence?.type ?? serialBase(type ?? '');
  return {
    name: readName(name, `${pointer}/name`, report) ?? '',
    type: readText(type, `${pointer}/type`, report) ?? '',
    default: readText(sent?.toString(), `${pointer}/default`, report),
    defaultIsExpression: column('default_is_expression') ?? false,
    generated: parseGenerated(column, pointer, report),
    isNullable: column('is_nullable') ?? true,
    identityAlways: column('identity') === 'always',
    comment: readComment(column('comment'), `${pointer}/comment`, report),
    sequence,
    numbering: parseNumbering(column('numbering'), numbers, `${pointer}/numbering`, report),
  };
}

function parseSequence(value: unknown, pointer: string, report: Report): ColumnDefinition['sequence'] {
  if (value === undefined || value === null) return undefined;
  const sequence = readMembers(SequenceSchema, value, pointer, report, ': {"name": "orders_id_seq"}');
  if (sequence === undefined) return undefined;
  const name = readName(sequence('name'), `${pointer}/name`, report);
  return { name, type: sequence('type') ?? undefined };
}

/** Returns the comment; undefined: it is empty, absent, or has a problem, which is reported. */
export function readComment(
  text: string | null | undefined,
  pointer: string,
  report: Report,
): string | undefined {
  const comment = readText(text, pointer, report);
  if (comment === undefined || comment.length <= maxCommentLength) return comment || undefined;
  const detail = overLimit(
    `the comment has ${amountInWords(comment.length, 'characters')}`,
    maxCommentLength,
    'characters',
  );
  report(pointer, 'invalid-text', detail);
  return undefined;
}

function parseGenerated(
  column: Members<typeof ColumnSchema>,
  pointer: string,
  report: Report,
): GeneratedDefinition | undefined {
  const expression = readText(column('generated'), `${pointer}/generated`, report);
  const kind = column('generated_kind') ?? 'stored';
  if (!expression) return undefined;
  const other = ['default', 'identity', 'sequence'] as const;
  const excess = other.find((name) => (column(name) ?? null) !== null);
  if (excess !== undefined)
    report(`${pointer}/${excess}`, 'not-supported', 'a generated column cannot have it; leave it out');
  return { expression, kind };
}

async function parseConstraints(value: unknown, definition: TableDefinition, report: Report): Promise<void> {
  if (value === undefined || value === null) return;
  const pointer = '/table/constraints';
  const constraints = readMembers(ConstraintsSchema, value, pointer, report);
  if (constraints === undefined) return;
  const primaryKey = constraints('primary_key', keyForm);
  if (primaryKey !== undefined && primaryKey !== null) {
    definition.primaryKey = parseKey(PrimaryKeySchema, primaryKey, `${pointer}/primary_key`, report);
  }
  const unique = entriesOf(constraints('unique', uniqueForm), `${pointer}/unique`, report);
  const addUnique = (entry: unknown, index: number) => {
    const key = parseKey(UniqueSchema, entry, `${pointer}/unique/${index}`, report);
    if (key !== undefined) definition.unique.push(key);
  };
  await forEachInTurns(unique, addUnique, weightOfEntry);
  const foreignKeys = entriesOf(constraints('foreign_keys'), `${pointer}/foreign_keys`, report);
  definition.foreignKeys = await parseForeignKeys(foreignKeys, `${pointer}/foreign_keys`, report);
  definition.checks = await parseChecks(constraints('checks', checksForm), `${pointer}/checks`, report);
  if (entriesOf(constraints('others'), `${pointer}/others`, report).length > 0) {
    const detail = 'these constraints cannot be defined here; leave "others" out';
    report(`${pointer}/others`, 'not-supported', detail);
  }
}

/** Reads the distribution. Returns undefined if the definition has none, or if it has a problem. */
function parseDistribution(value: unknown, report: Report): DistributionDefinition | undefined {
  if (value === undefined || value === null) return undefined;
  const pointer = distributionPointer;
  const distribution = readMembers(DistributionSchema, value, pointer, report);
  const kind = distribution?.('kind', `: one of ${distributionKinds.join(', ')}`);
  if (distribution === undefined || typeof kind !== 'string') return undefined;
  const shards = distribution('shards');
  if (typeof shards === 'number' && !isShardCount(shards)) {
    report(`${pointer}/shards`, 'wrong-type', `must be a whole number from 1 to ${maxShards}`, shards);
    return undefined;
  }
  const column = readName(distribution('column'), `${pointer}/column`, report);
  if (kind === 'column' && column === undefined) {
    const detail = 'the kind "column" needs the name of the distribution column';
    report(`${pointer}/column`, 'distribution-conflict', detail);
    return undefined;
  }
  if (kind !== 'column') return { kind, column: undefined, shards: undefined };
  return { kind, column, shards: shards ?? undefined };
}

function isShardCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= maxShards;
}

/** Reads a key. Returns undefined for an entry that means "no key" (an empty name and no columns), and for a value that is not a key. */
function parseKey(
  schema: typeof UniqueSchema | typeof PrimaryKeySchema,
  value: unknown,
  pointer: string,
  report: Report,
): KeyDefinition | undefined {
  const key = readMembers(schema as typeof UniqueSchema, value, pointer, report, keyForm);
  if (key === undefined) return undefined;
  const options = parseKeyOptions(key, schema === PrimaryKeySchema, pointer, report);
  const name = readName(key('name'), `${pointer}/name`, report);
  const at = `${pointer}/columns`;
  const list = key('columns', ': ["id"]');
  const entries = entriesOf(list, at, report);
  if (entries.length === 0) {
    const isReported = list === null;
    if (name !== undefined && !isReported) {
      report(at, 'missing', `the constraint "${shorten(name)}" has no columns`);
    }
    return undefined;
  }
  const columns = entries.map((entry, index) => readColumnName(entry, `${at}/${index}`, report));
  return { pointer, name, columns, options };
}
