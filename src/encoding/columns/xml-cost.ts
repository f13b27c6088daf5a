/**
 * Finds XML for which PostgreSQL needs much more memory or time than for other XML of the same length. The XML is not parsed,
 * because the text may be that of an array or of a composite value, with `\` and `"` between the characters.
 */
import * as ascii from '../../core/bytes/ascii.ts';

/** The maximum number of bytes of a text that declares entities or attributes. PostgreSQL repeats the declared text for each reference or element. */
const MOST_DECLARING_BYTES = 4096;
/** The maximum number of `=` between two `<`, and therefore of the attributes of an element. The time grows with their square: 75,000 take a minute. */
const MOST_ATTRIBUTES = 4096;
/** The maximum number of different names of elements and attributes. The time grows with their square, too: 800,000 take two minutes. */
const MOST_NAMES = 50_000;
/**
 * The maximum number of comparisons of an attribute with those before it, and of an element or attribute with the namespaces declared before it. They take
 * some nanoseconds each, and PostgreSQL cannot be interrupted meanwhile.
 */
const MOST_COMPARISONS = 200_000_000;

export function isCostlyXml(bytes: Buffer, start: number, end: number): boolean {
  if (end - start <= MOST_DECLARING_BYTES) return false;
  const names = new Set<number>();
  let attributes = 0;
  let namespaces = 0;
  let comparisons = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte !== ascii.LT && byte !== ascii.EQUALS) continue;
    if (byte === ascii.LT) {
      if (isDeclaration(bytes, at, end)) return true;
      attributes = 0;
      comparisons += namespaces;
      names.add(nameAfter(bytes, at, end));
    } else {
      attributes++;
      comparisons += attributes + namespaces;
      if (isNamespace(bytes, at, start)) namespaces++;
      names.add(nameBefore(bytes, at, start));
    }
    if (attributes > MOST_ATTRIBUTES || names.size > MOST_NAMES || comparisons > MOST_COMPARISONS)
      return true;
  }
  return false;
}

/** Returns whether `<` begins `<!ENTITY` or `<!ATTLIST`. Of the other declarations only `<!ELEMENT` begins with one of these letters. */
function isDeclaration(bytes: Buffer, less: number, end: number): boolean {
  const exclamation = next(bytes, less, end);
  if (bytes[exclamation] !== ascii.BANG) return false;
  const first = next(bytes, exclamation, end);
  if (bytes[first] === LETTER_A) return true;
  return bytes[first] === ascii.UPPER_E && bytes[next(bytes, first, end)] === LETTER_N;
}

/** Returns the position of the next byte that is not skipped (`\` and `"` are), or the end. */
function next(bytes: Buffer, at: number, end: number): number {
  let found = at + 1;
  while (found < end && (bytes[found] === ascii.BACKSLASH || bytes[found] === ascii.QUOTE)) found++;
  return found;
}

/** Returns a hash of the name of an element. */
function nameAfter(bytes: Buffer, less: number, end: number): number {
  let hash = 0;
  let at = next(bytes, less, end);
  if (bytes[at] === ascii.SLASH) at++;
  for (; at < end && isOfName(bytes[at]!); at++) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
  return hash;
}

/** Returns a hash of the name of an attribute, from its last character to its first one. */
function nameBefore(bytes: Buffer, equals: number, start: number): number {
  let hash = 0;
  let at = equals - 1;
  while (at >= start && bytes[at]! <= ascii.SPACE) at--;
  for (; at >= start && isOfName(bytes[at]!); at--) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
  return hash;
}

/** Returns whether the attribute before `=` declares a namespace: `xmlns:a="u"`, `xmlns="u"`. A namespace counts until the end of the text. */
function isNamespace(bytes: Buffer, equals: number, start: number): boolean {
  let at = equals - 1;
  while (at >= start && bytes[at]! <= ascii.SPACE) at--;
  let matched = 0;
  for (; at >= start && isOfName(bytes[at]!); at--) {
    if (bytes[at] === ascii.BACKSLASH || bytes[at] === ascii.QUOTE) continue;
    matched = bytes[at] === XMLNS[XMLNS.length - 1 - matched] ? matched + 1 : bytes[at] === XMLNS[4] ? 1 : 0;
    if (matched === XMLNS.length) return true;
  }
  return false;
}

/** Returns whether a byte belongs to a name: it is not white space, `/`, `<`, `=` or `>`. */
function isOfName(byte: number): boolean {
  return byte > ascii.SPACE && byte !== ascii.SLASH && (byte < ascii.LT || byte > ascii.GT);
}

const XMLNS = Buffer.from('xmlns');
const LETTER_A = 0x41;
const LETTER_N = 0x4e;
