/**
 * Finds defaults whose text means the present: `now`, `today`, `tomorrow` and `yesterday` (PostgreSQL 8.5.1.4). PostgreSQL reads the text of a
 * literal once, when the table is created, so every row would get that moment (docs/decisions/0049-no-default-now.md).
 */
import type { CatalogType, TypeName } from './column-types.ts';
import { type Expression, expressionsIn, type ParsedDefault } from './defaults.ts';

/** PostgreSQL reads words in any case, beside other parts of a date, and ignores most punctuation: `NOW`, `now()`, `today 12:00`. */
const present = /(?<![a-z])(?:now|today|tomorrow|yesterday)(?![a-z])/i;

/** No expression can be sent instead of the word in a range or an array. */
const noExpression = '';

/** The advice for each value of `dateTypes`: what to send instead. */
const remedies: Record<string, string> = {
  CURRENT_DATE: 'Send CURRENT_DATE for the day of each row, or write out a fixed one, such as 2026-11-21',
  LOCALTIME: 'Send LOCALTIME for the time of each row, or write out a fixed one, such as 09:30',
  CURRENT_TIME: 'Send CURRENT_TIME for the time of each row, or write out a fixed one, such as 09:30+00',
  'now()':
    'Send now() for the moment or CURRENT_DATE for the day of each row, or write out a fixed one, such as 2026-11-21',
  [noExpression]:
    'No default can give an array or a range the moment of each row: leave the default out, or write out fixed dates, such as 2026-11-21',
};

/** For each type whose input function reads these words, and for its range, multirange and array types: the expression that means the moment of each row. */
const dateTypes = new Map<number, string>();
for (const [value, oids] of [
  ['CURRENT_DATE', [1082]],
  ['LOCALTIME', [1083]],
  ['CURRENT_TIME', [1266]],
  ['now()', [1114, 1184]],
  [
    noExpression,
    [1115, 1182, 1183, 1185, 1270, 3908, 3909, 3910, 3911, 3912, 3913, 4533, 4534, 4535, 6152, 6153, 6155],
  ],
] as const) {
  for (const oid of oids) dateTypes.set(oid, value);
}

/** The functions of `defaults.ts` that read an argument without a type as a date. */
const datedFunctions = ['date_trunc', 'timezone'];

/**
 * Returns why the default is refused if a literal in it means the present.
 *
 * @param find returns the type that a cast names
 */
export function explainPresent(
  parsed: ParsedDefault,
  type: CatalogType,
  find: (type: TypeName) => CatalogType | null | undefined,
): string | undefined {
  const found =
    parsed.kind === 'literal'
      ? presentIn(parsed.text, dateTypes.get(type.baseOid))
      : presentWithin(parsed.expression, (cast) => dateTypes.get(find(cast)?.baseOid ?? 0));
  if (found === undefined) return undefined;
  const hint = parsed.kind === 'literal' && parsed.hint.startsWith('Send ') ? parsed.hint : undefined;
  const remedy = hint?.replace(/\.$/, '') ?? remedies[found];
  return `is read only once, when the table is created, so every row would get the same moment. ${remedy}`;
}

/** Returns the expression to send instead if the text means the present; otherwise undefined. @param value that expression; undefined: the type is not a date */
function presentIn(text: string, value: string | undefined): string | undefined {
  return value !== undefined && present.test(text) ? value : undefined;
}

function presentWithin(
  expression: Expression,
  dateOf: (cast: TypeName) => string | undefined,
): string | undefined {
  for (const part of expressionsIn(expression)) {
    const found = part.kind === 'string' && part.cast ? presentIn(part.text, dateOf(part.cast)) : undefined;
    if (found !== undefined) return found;
    if (part.kind !== 'call' || !datedFunctions.includes(part.name.name)) continue;
    for (const argument of part.arguments)
      if (argument.kind === 'string' && argument.cast === undefined && present.test(argument.text))
        return 'now()';
  }
  return undefined;
}
