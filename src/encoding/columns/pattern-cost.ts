/**
 * Finds values of `jsonpath` with a regular expression (`like_regex`) for which PostgreSQL needs much memory or time, because it compiles each
 * expression when it reads the value. The expressions are not parsed, because the text may be that of an array or of a composite value, with
 * `\` and `"` between the characters. Instead a whole text counts as one expression, and a repeated group as if it contained the whole text.
 */
import * as ascii from '../../core/bytes/ascii.ts';

/** The maximum number of characters of the text after repetitions are written out: `x{9}` has nine more, and `(x){9}` makes everything nine times as long. */
const MOST_CHARACTERS = 512;
/** The maximum number of anchors (`^`, `$`, `\y`, `(?=a)`) after groups are written out. `(^|$|a)*`, 16 times in 128 bytes, takes more than 45 seconds. */
const MOST_ANCHORS = 16;
/** PostgreSQL refuses higher numbers of repetitions. */
const MOST_REPETITIONS = 255;

/** Returns whether a regular expression needs much memory or time. */
export function isCostlyExpression(pattern: string): boolean {
  // Only the expanded syntax has comments. In another one, `#` is a character like others.
  const bytes = Buffer.from(expandedSyntax.test(pattern) ? pattern : pattern.replaceAll('#', '-'));
  return isCostlyPattern(bytes, 0, bytes.length, true);
}

/** An option such as `(?x)`, which can be at the beginning only. */
const expandedSyntax = /^(\*{3}:)?\(\?[a-z]*x/;

/** @param isPattern the text itself is a regular expression, without a keyword before it */
export function isCostlyPattern(bytes: Buffer, start: number, end: number, isPattern = false): boolean {
  let characters = 0;
  let anchors = 0;
  let factor = 1;
  let matched = 0;
  let hasPattern = isPattern;
  let hasComment = false;
  let isEscaped = false;
  let last = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (isSkipped(byte)) {
      isEscaped ||= byte === ascii.BACKSLASH;
      continue;
    }
    if (isEscaped && isEscapeOfSyntax(bytes, at, end)) return true;
    characters++;
    matched = isOfKeyword(byte, matched) ? matched + 1 : Number(isOfKeyword(byte, 0));
    hasPattern ||= matched === KEYWORD.length;
    hasComment ||= byte === ascii.HASH;
    if (isAnchor(byte, last, isEscaped)) anchors++;
    if (byte === ascii.OPENING_BRACE) {
      const repetitions = repetitionsAfter(bytes, at, end);
      // A group, or a comment between a group and its brace, may be repeated, so the factor applies to everything.
      if (last === ascii.CLOSING_PARENTHESIS || hasComment) factor *= repetitions;
      else characters += repetitions;
    }
    // White space is skipped, because an expression in the expanded syntax may have it there.
    if (byte > ascii.SPACE && byte < 0x80) last = byte;
    isEscaped = false;
  }
  return hasPattern && (characters * factor > MOST_CHARACTERS || anchors * factor > MOST_ANCHORS);
}

function isOfKeyword(byte: number, index: number): boolean {
  return (byte | CASE) === (KEYWORD[index]! | CASE);
}

/** Returns whether the byte ends `^`, `$`, `\y` and the like, `[[:<:]]`, `[[:>:]]`, or the beginning of a group that looks around: `(?=`, `(?!`, `(?<`. */
function isAnchor(byte: number, last: number, isEscaped: boolean): boolean {
  if (byte === CARET || byte === DOLLAR) return true;
  if (byte === ascii.EQUALS || byte === ascii.BANG) return last === ascii.QUESTION;
  if (byte === ascii.LT || byte === ascii.GT) return last === ascii.COLON || last === ascii.QUESTION;
  return isEscaped && ANCHORS.includes(byte);
}

/** Returns the highest number in `{2}`, `{2,}` and `{2,5}`; at least 1. */
function repetitionsAfter(bytes: Buffer, brace: number, end: number): number {
  let most = 1;
  let number = 0;
  for (let at = brace + 1; at < end; at++) {
    const byte = bytes[at]!;
    if (isSkipped(byte)) continue;
    if (ascii.isDigit(byte)) number = Math.min(number * 10 + byte - ascii.ZERO, MOST_REPETITIONS);
    else if (byte === ascii.COMMA) number = 0;
    else break;
    most = Math.max(most, number);
  }
  return most;
}

/**
 * Returns whether an escape, such as `\u006c`, `\x6c` or `\u{6c}`, stands for a character that a keyword or an expression may need.
 * Such a value is not read, because nobody needs to escape such a character.
 */
function isEscapeOfSyntax(bytes: Buffer, at: number, end: number): boolean {
  const kind = bytes[at];
  if (kind !== ascii.LOWER_U && kind !== ascii.LOWER_X) return false;
  let most = kind === ascii.LOWER_X ? 2 : 4;
  let count = 0;
  let code = 0;
  for (let next = at + 1; next < end && count < most; next++) {
    const byte = bytes[next]!;
    if (isSkipped(byte)) continue;
    const digit = DIGITS.indexOf(byte | CASE);
    if (digit >= 0) code = code * 16 + digit;
    else if (byte === ascii.OPENING_BRACE && kind === ascii.LOWER_U && count === 0) most = MOST_DIGITS + 1;
    else break;
    count++;
  }
  return count > 0 && code < 0x80 && SYNTAX.includes(code);
}

function isSkipped(byte: number): boolean {
  return byte === ascii.BACKSLASH || byte === ascii.QUOTE;
}

/** The bit that small and capital letters differ in. */
const CASE = 0x20;
const DIGITS = Buffer.from('0123456789abcdef');
/** The maximum number of digits in `\u{6c}`. */
const MOST_DIGITS = 6;
/** The characters that a keyword or an expression may need. */
const SYNTAX = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_(){}^$\\#,');
const KEYWORD = Buffer.from('like_regex');
/** The letters of `\A`, `\Z`, `\y`, `\Y`, `\m` and `\M`. */
const ANCHORS = Buffer.from('AZyYmM');
const DOLLAR = 0x24;
const CARET = 0x5e;
