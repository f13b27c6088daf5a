/**
 * Reads the members of an object in the body of a request by its schema, and reports each member that does not have the form that the
 * schema says. The schemas are the only list of members, of their JSON types, and of the members that must be there.
 */
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import type { Problem } from '../../core/errors.ts';
import { identifierProblem, shorten } from '../../core/identifiers.ts';
import { amountInWords, overLimit } from '../../core/limit-exceeded.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import type { DefinitionProblems, Misspelling } from './definition-problems.ts';
import { adviceForMember } from './foreign-members.ts';
import { ColumnNameSchema } from './name-schemas.ts';

/** Adds a problem to `problems`. */
export type Report = AddProblem & { problems: DefinitionProblems };

export type AddProblem = (
  pointer: string,
  code: ProblemCode,
  detail: string,
  value?: unknown,
  misspelling?: Misspelling,
) => void;

/** Returns a function that adds a problem to `problems`. */
export function reportTo(problems: DefinitionProblems): Report {
  const add: AddProblem = (pointer, code, detail, found, misspelling) => {
    const problem: Problem = { pointer, code, detail };
    if (found !== undefined)
      problem.value = shorten(typeof found === 'string' ? found : JSON.stringify(found));
    problems.add(problem, misspelling);
  };
  return Object.assign(add, { problems });
}

/** The maximum number of unknown members of an object that are reported one by one. The others are only counted. */
const maxUnknownMembers = 100;

/** The maximum number of entries of a list. It is more than any table can have, and few enough that the problems of each entry can be reported. */
const maxEntries = 5000;

/** Stands for an entry of a list that needs no check, because the table has it already (change/alter/sent-definition.ts). Lists leave it out. */
export const keptEntry = Symbol('kept');

/**
 * Returns the member with this name; undefined: it is optional and is absent or null; null: it has a problem, which is reported.
 * The members and entries of the returned value are not checked yet.
 *
 * @param advice the end of the message if a required member is missing, or if a member has a wrong type
 */
export type Members<Schema extends TObject> = <Name extends string & keyof Static<Schema>>(
  name: Name,
  advice?: string,
) => Unchecked<NonNullable<Static<Schema>[Name]>> | null | undefined;

type Unchecked<Value> = Value extends readonly unknown[] ? unknown[] : Value extends object ? unknown : Value;

/**
 * Returns a function that reads the members; undefined: the value is not an object, which is reported, or `keptEntry`. Members that the schema lacks are reported.
 *
 * @param advice the end of the message that the value is not an object
 */
export function readMembers<Schema extends TObject>(
  schema: Schema,
  value: unknown,
  pointer: string,
  report: Report,
  advice = '',
): Members<Schema> | undefined {
  if (value === keptEntry || !isOfType(schema, value, pointer, report, advice)) return undefined;
  const object = value as Record<string, unknown>;
  reportUnknown(object, Object.keys(schema.properties), pointer, report);
  return (name, advice = '') => {
    const member = schema.properties[name]!;
    const found = Object.hasOwn(object, name) ? object[name] : undefined;
    const at = `${pointer}/${name}`;
    const isRequired = !Type.IsOptional(member);
    if (!isRequired && (found === undefined || found === null)) return undefined;
    if (isRequired && isMissing(member, found)) report(at, 'missing', `"${name}" is missing${advice}`);
    else if (isOfType(member, found, at, report, advice)) return found as never;
    return null;
  };
}

/** Reports a value that has none of the types of the schema. */
export function isOfType(
  schema: TSchema,
  value: unknown,
  pointer: string,
  report: Report,
  advice = '',
): boolean {
  const choices = choicesOf(schema);
  if (choices.some((choice) => fits(choice, value))) return true;
  const { type, const: constant, enum: texts } = choices[0]!;
  const detail =
    constant !== undefined
      ? `must be ${JSON.stringify(constant)}, or left out`
      : texts !== undefined && typeof value === 'string'
        ? `must be one of ${texts.join(', ')}`
        : `must be ${expectations[type]}, not ${jsonType(value)}${advice}`;
  report(pointer, 'wrong-type', detail, value);
  return false;
}

/** The keywords of the schemas that this file reads. */
interface Choice {
  type: keyof typeof expectations | 'null';
  const?: unknown;
  /** The texts that are allowed. */
  enum?: string[];
}

const expectations = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

function choicesOf(schema: TSchema): Choice[] {
  return ((schema as { anyOf?: Choice[] }).anyOf ?? [schema]) as Choice[];
}

function fits({ type, const: constant, enum: texts }: Choice, value: unknown): boolean {
  if (constant !== undefined) return value === constant;
  if (texts !== undefined) return texts.includes(value as string);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

/** Returns whether a required member is missing. A text is also missing if it is null or empty. */
function isMissing(schema: TSchema, found: unknown): boolean {
  const isText = choicesOf(schema).some(({ type }) => type === 'string');
  return found === undefined || (isText && (found === null || found === ''));
}

function reportUnknown(
  object: Record<string, unknown>,
  known: string[],
  pointer: string,
  report: Report,
): void {
  let unknown = 0;
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    if (++unknown > maxUnknownMembers) continue;
    const hint = adviceForMember(name);
    const detail = `"${shorten(name)}" is not known here.${hint === undefined ? '' : ` ${hint}`}`;
    const misspelling = hint === undefined ? { name, among: known } : undefined;
    report(`${pointer}/${escapePointer(name)}`, 'unknown-property', detail, undefined, misspelling);
  }
  report.problems.addUnlisted(Math.max(unknown - maxUnknownMembers, 0));
}

function jsonType(value: unknown): string {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Escapes a member's name for a JSON Pointer (RFC 6901 section 3). */
function escapePointer(property: string): string {
  return property.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Checks a name. Returns undefined if it is absent or empty, or if PostgreSQL does not allow it. */
export function readName(
  name: string | null | undefined,
  pointer: string,
  report: Report,
): string | undefined {
  if (!name) return undefined;
  const problem = identifierProblem(name);
  if (problem === undefined) return name;
  report(pointer, 'invalid-name', `the name ${problem}`, name.toWellFormed());
  return undefined;
}

/** Checks a text. Returns undefined if it is absent, or if PostgreSQL cannot store it. */
export function readText(
  text: string | null | undefined,
  pointer: string,
  report: Report,
): string | undefined {
  if (text === undefined || text === null) return undefined;
  if (text.isWellFormed() && !text.includes('\0')) return text;
  report(pointer, 'invalid-text', 'must be valid Unicode without the character NUL');
  return undefined;
}

/** Returns the entries of a list; an empty list if it is absent. */
export function entriesOf(list: unknown[] | null | undefined, pointer: string, report: Report): unknown[] {
  if (!list) return [];
  if (list.length <= maxEntries) return list;
  const detail = overLimit(`there are ${amountInWords(list.length, 'entries')}`, maxEntries, 'entries');
  report(pointer, 'too-many-columns', detail);
  return list.slice(0, maxEntries);
}

/** Returns the name of a column; '' for an entry that is not a name. */
export function readColumnName(entry: unknown, pointer: string, report: Report): string {
  if (entry === '') report(pointer, 'missing', 'the name of a column is missing');
  else if (isOfType(ColumnNameSchema, entry, pointer, report, ': the name of a column'))
    return entry as string;
  return '';
}
