/**
 * Tries every default against its column's type, with its modifiers, before anything is made: one statement for all of
 * them, and halves of it where that fails. Sequences are not moved on.
 */
import type { ClientBase, DatabaseError } from 'pg';
import type { Problem } from '../errors.ts';
import type { Statement } from '../postgres/sql.ts';
import { quoteLiteral } from '../postgres/sql.ts';
import { findFaults } from './attempt.ts';
import type { CatalogType } from './column-types.ts';
import type { Expression } from './defaults.ts';
import { takesNumbers } from './defaults.ts';
import { shorten } from './identifiers.ts';

interface Trial {
  pointer: string;
  /** As the caller wrote it. */
  text: string;
  type: CatalogType;
  /** As the caller wrote it. */
  typeText: string;
  typeSql: string;
}

export type DefaultTrial =
  | (Trial & { literal: string; hint: string; expression?: undefined })
  | (Trial & { expression: Expression; sql: string; literal?: undefined });

/** Adds a problem for every default that its column cannot take. */
export async function tryDefaults(
  client: ClientBase,
  trials: DefaultTrial[],
  problems: Problem[],
): Promise<void> {
  const refuse = (trial: DefaultTrial, detail: string) =>
    problems.push({ pointer: trial.pointer, code: 'invalid-default', detail, value: shorten(trial.text) });
  await findFaults<DefaultTrial, { misfits: number[] | null }>(
    client,
    trials,
    trialStatement,
    (tried, row) => {
      for (const position of row.misfits ?? []) refuse(tried[position]!, notAssignable(tried[position]!));
    },
    (trial, error) => refuse(trial, explain(trial, error)),
  );
}

/**
 * `json_to_record` hands each text to its type's input function together with the modifier, as storing it does: a cast
 * would cut an overlong text short instead. Values of JSON types it would take for JSON strings, so those are cast.
 */
function trialStatement(trials: DefaultTrial[]): Statement {
  const texts: Record<string, string> = {};
  const record: string[] = [];
  const values: string[] = [];
  const sources: string[] = [];
  for (const [index, trial] of trials.entries()) {
    if (trial.expression !== undefined) {
      sources.push(sourceRow(index, trial.sql, trial.type));
      if (!takesNumbers(trial.expression)) values.push(valueCheck(trial.sql, trial.type, trial.typeSql));
    } else if (isJson(trial.type)) {
      values.push(`CAST(${quoteLiteral(trial.literal)} AS ${trial.typeSql}) IS NULL`);
    } else {
      texts[index] = trial.literal;
      record.push(`"${index}" ${trial.typeSql}`);
    }
  }
  const columns = [`${sources.length === 0 ? 'NULL' : misfits(sources)} AS misfits`];
  if (values.length > 0) columns.push(`ARRAY[${values.join(', ')}]::boolean[] AS tried`);
  if (record.length > 0) {
    const json = quoteLiteral(JSON.stringify(texts));
    columns.push(`(SELECT count(*) FROM json_to_record(${json}::json) AS r(${record.join(', ')})) AS read`);
  }
  return { text: `SELECT ${columns.join(',\n')}` };
}

/** The types json and jsonb, by the object identifiers they have in every PostgreSQL (pg_type.dat). */
function isJson(type: CatalogType): boolean {
  return type.baseOid === 114 || type.baseOid === 3802;
}

/** The branch that is never taken gives the expression's type without evaluating it. */
function sourceRow(index: number, sql: string, type: CatalogType): string {
  const source = `pg_typeof(CASE WHEN false THEN ${sql} END)::oid`;
  return `(${index}, ${source}, ${type.oid}::oid, ${type.baseOid}::oid, ${quoteLiteral(type.category)})`;
}

/**
 * The positions of those that PostgreSQL does not convert on assignment (PostgreSQL 10.4): it converts anything to text,
 * a type to itself, and what a cast says. Arrays go by their elements; casting them is try enough.
 */
function misfits(sources: string[]): string {
  return `(SELECT array_agg(v.position)
    FROM (VALUES ${sources.join(',\n')}) AS v(position, source, target, base, category)
    LEFT JOIN pg_catalog.pg_type s ON s.oid = v.source
    WHERE v.category NOT IN ('S', 'A') AND v.source NOT IN (v.target, v.base) AND s.typbasetype <> v.base
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_cast k
        WHERE k.castsource IN (s.oid, s.typbasetype) AND k.casttarget = v.base AND k.castcontext <> 'e'))`;
}

/** Texts and bit strings go through their type's input function, because a cast would cut them short. */
function valueCheck(sql: string, type: CatalogType, typeSqlText: string): string {
  if (type.category !== 'S' && type.category !== 'V') return `CAST(${sql} AS ${typeSqlText}) IS NULL`;
  return `(SELECT count(*) = 0 FROM json_to_record(json_build_object('v', CAST(${sql} AS text))) AS r(v ${typeSqlText}))`;
}

function notAssignable(trial: DefaultTrial): string {
  return `"${shorten(trial.text)}" gives a value that does not go into a column of type ${shorten(trial.typeText)}`;
}

function explain(trial: DefaultTrial, error: DatabaseError): string {
  const shown = `"${shorten(trial.text)}"`;
  const reason = reasonOf(trial, error);
  if (trial.expression === undefined && trial.hint !== '') return `${shown} ${reason}. ${trial.hint}`;
  return `${shown} ${reason}`;
}

function reasonOf(trial: DefaultTrial, error: DatabaseError): string {
  const type = shorten(trial.typeText);
  switch (error.code) {
    case '22001':
    case '22026':
      return `is too long for the type ${type}, or too short where its length is fixed`;
    case '22003':
    case '22008':
      return `is out of the range of the type ${type}`;
    case '23514':
      return `violates the check "${error.constraint}" of the type ${type}`;
    case '42883':
      return 'calls a function that does not take these arguments';
    case '42846':
    case '42804':
      return `gives a value that does not go into a column of type ${type}`;
    case '42P01':
    case '42704':
      return 'names an object that does not exist';
    case '54000':
    case '54001':
      return `is too large or too deeply nested for the type ${type}`;
    case '42501':
      return 'needs a right that the role does not have';
    default:
      return `is not valid for the type ${type}`;
  }
}
