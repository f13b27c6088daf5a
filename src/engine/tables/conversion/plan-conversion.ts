/**
 * Decides how the values of a column become values of another type.
 *
 * A value is converted exactly if converting it back gives the same value (text-paths.ts says when texts do). A change is refused whatever the rows are
 * if PostgreSQL has no cast for it, if its result depends on the time zone of the session, or if a cast of another role would run.
 */
import type { ColumnType } from '../../../encoding/columns/load-column.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { namesObjects } from '../column-types.ts';
import {
  type Conversion,
  convertedBy,
  type NoConversion,
  nameInSql,
  outputOf,
  type Path,
  type TypeChange,
  type ValueSql,
} from './conversion.ts';
import { type CastFacts, castKey, typesOf } from './conversion-facts.ts';
import { isMoment, momentPath } from './moment-paths.ts';
import { isNumber, numberPath } from './number-paths.ts';
import { isText, pathFromText, pathToJsonb, pathToText } from './text-paths.ts';

/** Returns how the values are converted. It reads no row. */
export function planConversion(change: TypeChange, facts: CastFacts): Conversion | NoConversion {
  const { from, to } = change;
  const path = hasForeignCast(change, facts) ? foreignCast : pathOf(from.type, to.type, facts);
  if (path === undefined || 'refused' in path) {
    const why =
      path?.refused ?? 'add a column, fill it in PostgreSQL with an expression, and drop the old one';
    return { refused: `a column of the type ${from.type.name} cannot become ${to.type.name}: ${why}` };
  }
  const { isUnchanged = false, isPossible, isExact, refusesNull = false, loss } = path;
  return {
    change,
    typeSql: `${nameInSql(to.type)}${keptCollation(change)}`,
    using: isUnchanged ? undefined : convertedBy(quoteIdentifier(from.name), path),
    rewrites: !isUnchanged,
    scans: isPossible !== undefined || isExact !== undefined || refusesNull,
    loss,
    path,
  };
}

const foreignCast: NoConversion = {
  refused:
    'the database has a cast between the types, or between one of them and text, that belongs neither to PostgreSQL nor to an extension, and the service does not run it',
};

function hasForeignCast({ from, to }: TypeChange, { foreign }: CastFacts): boolean {
  const types = typesOf([from.type, to.type]);
  return types.some((one) => types.some((other) => foreign.has(castKey(one, other))));
}

/** ALTER COLUMN … TYPE gives a column the collation of its type, unless the statement names another one. */
function keptCollation({ from, to }: TypeChange): string {
  const { category } = to.type.element ?? to.type;
  const keeps = from.collation !== undefined && to.type.kind !== 'domain' && category === stringCategory;
  return keeps ? ` COLLATE ${from.collation}` : '';
}

const stringCategory = 'S';

/**
 * Returns how a value of one type becomes a value of the other. A `NoConversion` has a reason of its own. Undefined: PostgreSQL has no cast, or none
 * that is certain to do what a person expects.
 */
function pathOf(from: ColumnType, to: ColumnType, facts: CastFacts): Path | NoConversion | undefined {
  if (from.base !== undefined) return fromDomain(from.base, to, facts);
  if (to.kind === 'domain') return toDomain(from, to, facts);
  if (from.oid === to.oid && from.typmod === to.typmod) return { steps: [nameInSql(to)], isUnchanged: true };
  if (from.kind === 'array' && to.kind === 'array') return arrayPath(from.element!, to.element!, facts);
  if (namesObjects.test(from.name) || namesObjects.test(to.name)) return undefined;
  if (isNumber(from) && isNumber(to)) return numberPath(from, to);
  if (isMoment(from) && isMoment(to)) return momentPath(from, to);
  if (isText(to)) return pathToText(from, to);
  if (isBits(from) && isBits(to)) return bitsPath(from, to);
  // `integer` and `oid` have the same size, but bytes that are an `oid` from 2^31 on are a negative `integer`.
  const isOfNumber = isNumber(from) || isNumber(to);
  if (facts.binary.has(castKey(from.oid, to.oid)) && to.typmod < 0 && !isOfNumber)
    return { steps: [nameInSql(to)], isUnchanged: true };
  if (from.category === stringCategory || (from.kind === 'enum' && to.kind === 'enum'))
    return pathFromText(to);
  return otherPath(from, to);
}

/** PostgreSQL does not see the modifier of the domain's base when it decides whether to write the rows. */
function fromDomain(base: ColumnType, to: ColumnType, facts: CastFacts): Path | NoConversion | undefined {
  const path = pathOf(base, to, facts);
  if (path === undefined || 'refused' in path || !path.isUnchanged) return path;
  const seen = pathOf({ ...base, typmod: -1 }, to, facts) as Path;
  return { ...path, isUnchanged: seen.isUnchanged === true };
}

const BOOL = 16;
const INT4 = 23;
const JSON_TEXT = 114;
const JSONB = 3802;
const INET = 869;
const CIDR = 650;

function otherPath(from: ColumnType, to: ColumnType): Path | undefined {
  const steps = [nameInSql(to)];
  if (from.oid === BOOL && to.oid === INT4) return { steps };
  if (from.oid === INT4 && to.oid === BOOL) return { steps, isPossible: ({ value }) => `${value} IN (0, 1)` };
  if (from.oid === JSON_TEXT && to.oid === JSONB) return pathToJsonb(to);
  if (from.oid === JSONB && to.oid === JSON_TEXT) return { steps };
  if (from.oid === INET && to.oid === CIDR) {
    // PostgreSQL's own cast sets the bits of the host to 0.
    return {
      steps: ['pg_catalog.text', nameInSql(to)],
      isPossible: ({ value, isInput }) => isInput(`${value}::text`, nameInSql(to)),
    };
  }
  if (from.oid !== to.oid) return undefined;
  return {
    steps,
    isPossible: ({ value, isInput }) => isInput(outputOf(value), nameInSql(to)),
    isExact: ({ value, converted }) => `${outputOf(converted)} = ${outputOf(value)}`,
  };
}

const BIT = 1560;
const VARBIT = 1562;

function isBits({ oid }: ColumnType): boolean {
  return oid === BIT || oid === VARBIT;
}

/** A cast to a bit string with a length would cut it or pad it. */
function bitsPath(from: ColumnType, to: ColumnType): Path {
  const steps = [nameInSql(to)];
  if (to.oid === VARBIT && to.typmod < 0) return { steps, isUnchanged: true };
  if (to.oid === VARBIT && from.typmod >= 0 && from.typmod <= to.typmod)
    return { steps, isUnchanged: from.oid === VARBIT };
  const operator = to.oid === VARBIT ? '<=' : '=';
  return { steps, isPossible: ({ value }) => `length(${value}) ${operator} ${to.typmod}` };
}

function toDomain(from: ColumnType, to: ColumnType, facts: CastFacts): Path | NoConversion | undefined {
  const path = pathOf(from, to.base!, facts);
  if (path === undefined || 'refused' in path) return path;
  const refusesNull = to.domainNotNull === true;
  const isChecked = facts.checkedDomains.has(to.oid);
  const { isPossible } = path;
  const isValid = ({ isInput, ...sql }: ValueSql) => {
    const passes = isInput(outputOf(convertedBy(sql.value, path)), nameInSql(to));
    const may = isPossible?.({ ...sql, isInput });
    return may === undefined ? passes : `CASE WHEN ${may} THEN ${passes} ELSE false END`;
  };
  return {
    ...path,
    steps: [...path.steps, nameInSql(to)],
    isUnchanged: path.isUnchanged === true && !isChecked && !refusesNull,
    isPossible: isChecked ? isValid : isPossible,
    refusesNull,
  };
}

/** Converts each element. */
function arrayPath(from: ColumnType, to: ColumnType, facts: CastFacts): Path | NoConversion | undefined {
  const path = pathOf(from, to, facts);
  if (path === undefined || 'refused' in path) return path;
  const { isPossible, isExact, refusesNull = false, loss } = path;
  const all =
    (condition: (sql: ValueSql) => string, ofNull = 'true') =>
    ({ value, isInput }: ValueSql) => {
      const element = { value: 'e.v', converted: convertedBy('e.v', path), isInput };
      return `NOT EXISTS (SELECT FROM unnest(${value}) AS e(v) WHERE NOT CASE WHEN e.v IS NULL THEN ${ofNull} ELSE ${condition(element)} END)`;
    };
  return {
    steps: path.steps.map((step) => `${step}[]`),
    isPossible:
      isPossible !== undefined || refusesNull
        ? all(isPossible ?? (() => 'true'), String(!refusesNull))
        : undefined,
    isExact: isExact && all(isExact),
    loss,
  };
}
