/** How the sequence of a numbered column counts (PostgreSQL, CREATE SEQUENCE): the schema, the form in the code, the SQL. */
import Type from 'typebox';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { closed, optionalFlag } from './name-schemas.ts';
import { type Members, type Report, readMembers } from './read-members.ts';

const Whole = (description: string) =>
  Type.Optional(
    Type.Union([Type.Number({ multipleOf: 1 }), Type.String({ pattern: '^-?\\d{1,19}$' }), Type.Null()], {
      description: `${description} A number beyond 2^53 is a string.`,
    }),
  );

const members = {
  start: Whole('The first number. Default: `min`.'),
  increment: Whole('The distance between two numbers: 1 or more. Default: 1.'),
  min: Whole('The smallest number. Default: 1.'),
  max: Whole('The largest number. Default: the largest one of the type.'),
  cache: Whole('How many numbers a session takes at once. Default: 1.'),
  cycle: optionalFlag('true: `min` follows `max`. false: there are no more numbers then.'),
};

/** Answers have the members that differ from PostgreSQL's defaults. */
export const NumberingSchema = Type.Object(
  members,
  closed('Numbering', 'With a type of the serial family: how its sequence counts.'),
);

export type NumberingDescription = Type.Static<typeof NumberingSchema>;

const numbers = ['start', 'increment', 'min', 'max', 'cache'] as const;

/** Every option, as text in `pg_sequence` and after it was read. */
export type Numbering = Record<(typeof numbers)[number], bigint> & { cycle: boolean };

/** The columns of `pg_sequence` as JSON. The numbers are texts, because JSON has no numbers beyond 2^53. @param q a row of `pg_sequence` */
export const numberingFacts = (q: string) => `json_build_object('type', format_type(${q}.seqtypid, NULL),
        'start', ${q}.seqstart::text, 'increment', ${q}.seqincrement::text, 'min', ${q}.seqmin::text,
        'max', ${q}.seqmax::text, 'cache', ${q}.seqcache::text, 'cycle', ${q}.seqcycle)`;

export type NumberingFacts = Record<'type' | (typeof numbers)[number], string> & { cycle: boolean };

const bits: Record<string, bigint> = { smallint: 15n, integer: 31n, bigint: 63n };

/** Reads the member `numbering` of a column. @param type that of the numbers; undefined: the column is not numbered */
export function parseNumbering(
  value: unknown,
  type: string | undefined,
  pointer: string,
  report: Report,
): Numbering | undefined {
  if (value === undefined || value === null) return undefined;
  const member = readMembers(NumberingSchema, value, pointer, report, ': {"start": 1000}');
  if (member === undefined) return undefined;
  const refuse = (detail: string, at = '', code: ProblemCode = 'wrong-type') =>
    report(`${pointer}${at}`, code, detail);
  if (type === undefined) {
    refuse('only a column of the type serial, bigserial or smallserial has a numbering', '', 'not-supported');
    return undefined;
  }
  const read = (name: (typeof numbers)[number], byDefault: bigint) =>
    readWhole(member, name, byDefault, (detail) => refuse(detail, `/${name}`));
  const min = read('min', 1n);
  const max = read('max', largestOf(type));
  const numbering = { start: read('start', min), increment: read('increment', 1n), min, max };
  const { start, increment } = numbering;
  if (increment < 1n) refuse('must be 1 or more', '/increment');
  if (min < -largestOf(type) - 1n || max > largestOf(type)) refuse(`has a number that ${type} does not have`);
  else if (min >= max || start < min || start > max) refuse('must have min < max, and a start between them');
  const cache = read('cache', 1n);
  if (cache < 1n) refuse('must be 1 or more', '/cache');
  return { ...numbering, cache, cycle: member('cycle') === true };
}

function readWhole(
  member: Members<typeof NumberingSchema>,
  name: (typeof numbers)[number],
  byDefault: bigint,
  refuse: (detail: string) => void,
): bigint {
  const sent = member(name) ?? byDefault;
  if (typeof sent === 'bigint') return sent;
  const isExact = typeof sent === 'number' ? Number.isSafeInteger(sent) : /^-?\d{1,19}$/.test(sent);
  if (isExact && BigInt.asIntN(64, BigInt(sent)) === BigInt(sent)) return BigInt(sent);
  refuse('must be a whole number of 64 bits. Write a number beyond 2^53 as a string');
  return byDefault;
}

function largestOf(type: string): bigint {
  return (1n << bits[type]!) - 1n;
}

/** Returns the options that differ from PostgreSQL's defaults; undefined: none does, or the sequence counts down. @param type that of the numbers */
export function describeNumbering(
  numbering: Numbering | NumberingFacts | undefined | null,
  type: string,
): NumberingDescription | undefined {
  if (!numbering || BigInt(numbering.increment) < 0n || bits[type] === undefined) return undefined;
  const defaults = { start: numbering.min, increment: 1, min: 1, max: largestOf(type), cache: 1 };
  const changed = numbers.filter((name) => String(numbering[name]) !== String(defaults[name]));
  if (changed.length === 0 && !numbering.cycle) return undefined;
  const shown = (value: bigint | string) =>
    Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return {
    ...Object.fromEntries(changed.map((name) => [name, shown(numbering[name])])),
    ...(numbering.cycle && { cycle: true }),
  };
}

/** Returns the clauses that give the sequence of an existing column these options; undefined: PostgreSQL's defaults. @param type that of the numbers */
export function changeNumberingSql(
  numbering: Numbering | undefined,
  type: string,
  isIdentity: boolean,
): string {
  const defaults = { start: 1n, increment: 1n, min: 1n, max: largestOf(type), cache: 1n, cycle: false };
  const { start, increment, min, max, cache, cycle } = numbering ?? defaults;
  const clauses = [
    `INCREMENT ${increment}`,
    `MINVALUE ${min}`,
    `MAXVALUE ${max}`,
    `START ${start}`,
    `CACHE ${cache}`,
    cycle ? 'CYCLE' : 'NO CYCLE',
  ];
  return clauses.map((clause) => (isIdentity ? `SET ${clause}` : clause)).join(' ');
}

/** Returns the options of CREATE SEQUENCE, with a space before each. */
export function numberingSql(numbering: Numbering | undefined): string {
  if (numbering === undefined) return '';
  const { start, increment, min, max, cache, cycle } = numbering;
  return ` START ${start} INCREMENT ${increment} MINVALUE ${min} MAXVALUE ${max} CACHE ${cache}${cycle ? ' CYCLE' : ''}`;
}
