/**
 * Tries every column's modifiers and default before anything is created. One statement tries all columns; if it fails, the columns are
 * tried in halves. No number is taken from a sequence.
 */
import type { ClientBase, DatabaseError } from 'pg';
import type { Problem } from '../../core/errors.ts';
import { shorten } from '../../core/identifiers.ts';
import { forEachInTurns, mapInTurns } from '../../core/pause-for-others.ts';
import { ZoneNames } from '../../encoding/columns/zone-names.ts';
import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import { inCallersPath } from '../../postgres/search-path.ts';
import { quoteLiteral, type Statement } from '../../postgres/sql.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { findFailingItems } from './attempt.ts';
import { firstUnpinnedOid } from './catalog/names-in-path.ts';
import type { CatalogType, TypeName } from './column-types.ts';
import type { Expression } from './defaults.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import { explainModifiers } from './type-problems.ts';

export interface ColumnTrial {
  /** The JSON Pointer of the column. */
  pointer: string;
  type: CatalogType;
  typeName: TypeName;
  /** The type as the caller wrote it. */
  typeText: string;
  typeSql: string;
  default?: DefaultTrial;
}

interface DefaultTrial {
  /** The default as the caller wrote it. */
  text: string;
  sql: string;
  /** For a literal: its text. */
  literal?: string;
  /** The advice to add to the message if PostgreSQL refuses the literal. */
  hint?: string;
  /** The expression of a default that is not a literal, unless the parser has read it. */
  expression?: Expression;
  /** The default is not a literal. */
  isComputed: boolean;
  /** It takes a number from a sequence when it is evaluated. */
  takesNumbers: boolean;
}

/** Returns the bytes that PostgreSQL keeps for the names of time zones in the defaults when they are tried. */
export function bytesOfZones(trials: ColumnTrial[]): number {
  const zones = new ZoneNames();
  for (const { default: tried } of trials) if (tried !== undefined) zones.addExpression(tried.text);
  return zones.keptBytes;
}

/** Adds a problem for every column whose type refuses its modifiers or its default. */
export async function tryColumns(
  client: ClientBase,
  trials: ColumnTrial[],
  problems: DefinitionProblems,
): Promise<void> {
  const both: ColumnTrial[] = [];
  const refuse = (trial: ColumnTrial, error: DatabaseError) => {
    if (trial.default === undefined) problems.add(explainModifiers(trial));
    else if (trial.typeName.modifiers === '')
      problems.add(invalidDefault(trial, explain(trial, trial.default, error)));
    else both.push(trial);
  };
  const checkAssignments = (tried: ColumnTrial[], row: { unassignable: number[] | null }) => {
    for (const position of row.unassignable ?? []) {
      const trial = tried[position]!;
      problems.add(invalidDefault(trial, notAssignable(trial, trial.default!)));
    }
  };
  await findFailingItems(client, trials, trialStatement, checkAssignments, refuse);

  // If a column fails, either its modifiers or its default may be wrong. The default can be tried only if the modifiers are valid.
  for (const trial of both) {
    const { default: tried, ...withoutDefault } = trial;
    const before = problems.count;
    await findFailingItems(client, [withoutDefault], trialStatement, checkAssignments, refuse);
    if (problems.count > before) continue;
    await findFailingItems(client, [trial], trialStatement, checkAssignments, (_, error) =>
      problems.add(invalidDefault(trial, explain(trial, tried!, error))),
    );
  }
}

/**
 * Returns the statement that tries the columns. `json_to_record` passes each text with the modifier to the type's input function,
 * as PostgreSQL does when it stores the text. A cast would cut a text that is too long. For JSON types a cast is used, because
 * `json_to_record` would read their values as JSON strings. Both parts run in the callers' search path, because both contain the
 * text of defaults: `'customers'::regclass` names a table of that path.
 */
async function trialStatement(trials: ColumnTrial[]): Promise<Statement> {
  const trial = await trialBeforeCreation(trials);
  return { text: inCallersPath(trial, qualified`SELECT ${await unassignableColumn(trials)}`) };
}

/**
 * Returns the trial for a message whose next statement creates the table. Types that do not fit are not tried, because CREATE TABLE
 * itself refuses them. The trial runs in the callers' search path, because it evaluates functions and checks.
 */
export async function trialBeforeCreation(trials: ColumnTrial[]): Promise<CallersStatement> {
  return qualified`SELECT ${(await trialColumns(trials)).join(',\n')}`;
}

/**
 * Returns whether CREATE TABLE itself makes the trial. It checks the modifiers of a type, and reads a literal for a type of PostgreSQL itself, but
 * without its modifiers, and it calls no function.
 */
export function isTriedByCreation({ type, typeName, default: tried }: ColumnTrial): boolean {
  if (type.oid >= firstUnpinnedOid) return false;
  return tried === undefined || (tried.expression === undefined && typeName.modifiers === '');
}

async function trialColumns(trials: ColumnTrial[]): Promise<string[]> {
  const texts: Record<string, string> = {};
  const record: string[] = [];
  const values: string[] = [];
  await forEachInTurns(trials, ({ type, typeSql, default: tried }, index) => {
    if (tried?.isComputed) {
      if (!tried.takesNumbers) values.push(valueCheck(tried.sql, type, typeSql));
    } else if (tried === undefined || isJson(type)) {
      values.push(`CAST(${tried?.sql ?? 'NULL'} AS ${typeSql}) IS NULL`);
    } else {
      texts[index] = tried.literal!;
      record.push(`"${index}" ${typeSql}`);
    }
  });
  const columns: string[] = [];
  if (values.length > 0) columns.push(`ARRAY[${values.join(', ')}]::boolean[] AS tried`);
  if (record.length > 0) {
    const json = quoteLiteral(JSON.stringify(texts));
    columns.push(
      `(SELECT pg_catalog.count(*) FROM pg_catalog.json_to_record(${json}::pg_catalog.json) AS r(${record.join(', ')})) AS read`,
    );
  }
  return columns;
}

async function unassignableColumn(trials: ColumnTrial[]): Promise<string> {
  const rows = await mapInTurns(trials, ({ type, default: tried }, index) =>
    tried?.isComputed ? sourceRow(index, tried.sql, type) : undefined,
  );
  const sources = rows.filter((row) => row !== undefined);
  return `${sources.length === 0 ? 'NULL' : unassignable(sources)} AS unassignable`;
}

/** Returns whether the type is json or jsonb. Their object identifiers are the same in every PostgreSQL (pg_type.dat). */
function isJson(type: CatalogType): boolean {
  return type.baseOid === 114 || type.baseOid === 3802;
}

/** Returns the types of an expression and of its column. The CASE gives the type of the expression without evaluating it. */
function sourceRow(index: number, sql: string, type: CatalogType): string {
  const source = `pg_catalog.pg_typeof(CASE WHEN false THEN ${sql} END)::pg_catalog.oid`;
  const types = `${type.oid}::pg_catalog.oid, ${type.baseOid}::pg_catalog.oid`;
  return `(${index}, ${source}, ${types}, ${quoteLiteral(type.category)}::pg_catalog.text)`;
}

/**
 * Returns SQL for the positions of the expressions whose values PostgreSQL does not assign to their columns (PostgreSQL 10.4). It
 * assigns every type to text, a type to itself, and types between which an assignment cast exists. Arrays are left out, because the
 * cast in the trial already checks their elements.
 */
function unassignable(sources: string[]): string {
  const [equal, differs] = ['OPERATOR(pg_catalog.=)', 'OPERATOR(pg_catalog.<>)'];
  return `(SELECT pg_catalog.array_agg(v.position)
    FROM (VALUES ${sources.join(',\n')}) AS v(position, source, target, base, category)
    LEFT JOIN pg_catalog.pg_type s ON s.oid ${equal} v.source
    WHERE v.category ${differs} ALL (ARRAY['S', 'A']) AND v.source ${differs} ALL (ARRAY[v.target, v.base])
      AND s.typbasetype ${differs} v.base
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_cast k WHERE k.castsource ${equal} ANY (ARRAY[s.oid, s.typbasetype])
        AND k.casttarget ${equal} v.base AND k.castcontext ${differs} 'e'))`;
}

const TEXT = 25;

/** Returns whether values are tried as texts, because a cast to the type would cut them. */
export function isTriedAsText(type: CatalogType): boolean {
  return (type.category === 'S' && type.oid !== TEXT) || type.category === 'V';
}

/** Returns SQL that checks a value. Texts with a limit and bit strings go through their type's input function, because a cast would cut them. */
function valueCheck(sql: string, type: CatalogType, typeSqlText: string): string {
  if (!isTriedAsText(type)) return `CAST(${sql} AS ${typeSqlText}) IS NULL`;
  const json = `pg_catalog.json_build_object('v', CAST(${sql} AS pg_catalog.text))`;
  return `(SELECT pg_catalog.count(*) OPERATOR(pg_catalog.=) 0 FROM pg_catalog.json_to_record(${json}) AS r(v ${typeSqlText}))`;
}

function invalidDefault(trial: ColumnTrial, detail: string): Problem {
  return {
    pointer: `${trial.pointer}/default`,
    code: 'invalid-default',
    detail,
    value: shorten(trial.default!.text),
  };
}

function notAssignable(trial: ColumnTrial, tried: DefaultTrial): string {
  return `"${shorten(tried.text)}" gives a value that cannot be stored in a column of type ${shorten(trial.typeText)}`;
}

function explain(trial: ColumnTrial, tried: DefaultTrial, error: DatabaseError): string {
  const detail = `"${shorten(tried.text)}" ${reasonOf(shorten(trial.typeText), error)}`;
  return tried.hint ? `${detail}. ${tried.hint}` : detail;
}

function reasonOf(type: string, error: DatabaseError): string {
  switch (conditionOf(error)) {
    case 'string_data_right_truncation':
    case 'string_data_length_mismatch':
      return `is too long for the type ${type}, or does not have its fixed length`;
    case 'datetime_field_overflow':
      return `is not a date or time of the type ${type}; write dates as YYYY-MM-DD`;
    case 'numeric_value_out_of_range':
      return `is out of the range of the type ${type}`;
    case 'check_violation':
      return `violates the check "${error.constraint}" of the type ${type}`;
    case 'undefined_function':
      return 'calls a function that does not accept these arguments';
    case 'cannot_coerce':
    case 'datatype_mismatch':
      return `gives a value that cannot be stored in a column of type ${type}`;
    case 'undefined_table':
    case 'undefined_object':
      return 'names an object that does not exist';
    case 'program_limit_exceeded':
    case 'statement_too_complex':
      return `is too large or too deeply nested for the type ${type}`;
    case 'insufficient_privilege':
      return 'needs a privilege that the role does not have';
    default:
      return `is not valid for the type ${type}`;
  }
}
