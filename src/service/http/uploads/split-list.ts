/**
 * Splits lists in query strings at their separators. After a backslash, every character is part of the item.
 */

/**
 * Splits a list.
 *
 * @param unescapes false: backslashes are kept, because the items are lists themselves
 */
export function splitList(text: string, separator: string, unescapes = true): string[] {
  const items: string[] = [];
  let item = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === '\\' && at + 1 < text.length) {
      at += 1;
      item += unescapes ? text[at] : character + text[at];
    } else if (character === separator) {
      items.push(item);
      item = '';
    } else {
      item += character;
    }
  }
  return [...items, item];
}
