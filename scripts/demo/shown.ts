/** Formats answers and rows for a terminal. It shortens them and says what was left out. */

const listedItems = 4;
const lineWidth = 112;
const maxCellWidth = 24;

/** Formats JSON with each value on one line if it fits. A longer list shows its first items and the number of the others. */
export function shownJson(value: unknown, indent = ''): string {
  const line = onOneLine(value);
  if (indent.length + line.length <= lineWidth || typeof value !== 'object' || value === null) return line;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.slice(0, listedItems).map((item) => inner + shownJson(item, inner));
    const more = value.length - items.length;
    return `[\n${items.join(',\n')}${more > 0 ? `,\n${inner}… ${more} more` : ''}\n${indent}]`;
  }
  const fields = Object.entries(value).map(([name, field]) => {
    return `${inner}${JSON.stringify(name)}: ${shownJson(field, inner)}`;
  });
  return `{\n${fields.join(',\n')}\n${indent}}`;
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${onOneLine(field)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/**
 * Formats rows under their column names, with as many columns as fit into `width` characters. `null` is shown as an empty cell.
 */
export function shownTable(
  columns: string[],
  rows: (string | null)[][],
  total: number,
  width: number,
): string {
  const cells = [columns, ...rows].map((row) => row.map((value) => shortened(value ?? '')));
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column]!))));
  let fitting = 0;
  for (let used = 2; fitting < columns.length; fitting += 1) {
    used += widths[fitting]! + 3;
    if (used > width && fitting > 0) break;
  }
  const line = (row: string[]) =>
    `  ${row
      .slice(0, fitting)
      .map((value, column) => value + ' '.repeat(widths[column]! - widthOf(value)))
      .join(' │ ')
      .trimEnd()}`;
  const rule = `  ${widths
    .slice(0, fitting)
    .map((characters) => '─'.repeat(characters))
    .join('─┼─')}`;
  return [
    line(cells[0]!),
    rule,
    ...cells.slice(1).map(line),
    `  ${remark(rows.length, total, columns.length - fitting)}`,
  ].join('\n');
}

function remark(listed: number, total: number, hiddenColumns: number): string {
  const rows = listed < total ? `${listed} of ${total} rows` : `${total} ${total === 1 ? 'row' : 'rows'}`;
  return `(${rows}${hiddenColumns > 0 ? `; ${hiddenColumns} more columns` : ''})`;
}

function shortened(value: string): string {
  const line = value.replaceAll(/\s+/g, ' ');
  const characters = [...line];
  return characters.length <= maxCellWidth ? line : `${characters.slice(0, maxCellWidth - 1).join('')}…`;
}

/** Returns the width in columns of a terminal: East Asian wide characters and emoji take two, combining marks none. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text.normalize('NFC')) {
    if (/\p{Mark}/u.test(character)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return width;
}
