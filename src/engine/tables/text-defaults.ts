/**
 * Warns of a default that looks like SQL but became text (step 3 in defaults.ts): a misspelled function in a text column is
 * valid, and every later row would get its name.
 */
import type { Warning } from '../../core/errors.ts';
import { editDistance, shorten } from '../../core/identifiers.ts';
import { type ParsedDefault, valueKeywords } from './defaults.ts';

/**
 * Returns the warning, if the default looks like SQL.
 *
 * @param text the default as it was sent
 * @param category `pg_type.typcategory` of the column's type
 */
export function warnOfTextDefault(
  column: string,
  text: string,
  parsed: ParsedDefault,
  category: string,
): Warning | undefined {
  // Only texts that were sent without quotes are checked. For an SQL literal in quotes, `parsed.text` differs from the sent text.
  if (category !== 'S' || parsed.kind !== 'literal' || parsed.text !== text) return undefined;
  const trimmed = text.trim();
  const keyword = misspelledKeyword(trimmed);
  if (keyword === undefined && !sqlShapes.some((shape) => shape.test(trimmed))) return undefined;
  const hint = keyword === undefined ? parsed.hint && ` ${parsed.hint}` : ` Did you mean ${keyword}?`;
  const detail = `The default looks like SQL but is stored as the text ${shorten(trimmed)}.${hint} If you mean the text, send it in quotes: ${shorten(`'${trimmed.replaceAll("'", "''")}'`)}.`;
  return { code: 'text-default', detail, column };
}

/** Patterns of SQL expressions. They need not match what `parseDefault` accepts as SQL: literals in quotes, allowed calls and keywords. */
const sqlShapes = [
  /^null$/i,
  // lower('X'), now() + '1 day', (now())
  /^\(*[a-z_"][\w$."]*\(.*\)/is,
  // ARRAY[]::text[]
  /^array\s*\[/i,
  // CURRENT_DATE + 1, CURRENT_ROLE
  /^(current_(timestamp|time|date|user|role|catalog|schema)|localtimestamp|session_user)\b/i,
  // (SELECT 1)
  /^\(\s*select\s/i,
  // 'a' || 'b', E'a\n'
  /^(e|u&)?'.*'/is,
  // 0::text
  /^-?[\d.]+::[a-z_]{3,}/i,
];

const maxTypos = 2;

function misspelledKeyword(text: string): string | undefined {
  const word = text.toUpperCase();
  return valueKeywords.find((keyword) => {
    const distance = editDistance(word, keyword, maxTypos);
    return distance > 0 && distance <= maxTypos;
  });
}
