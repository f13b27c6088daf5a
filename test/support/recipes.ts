/**
 * Reads docs/recipes.md: each section is a recipe, and its blocks are the steps in their order.
 */
import { buildTableWorkbook, type TableSheet } from './table-workbook.ts';

export type Step =
  | { kind: 'file'; name: string; content: Buffer }
  | { kind: 'request'; command: string; shown: string | undefined }
  | { kind: 'statement'; sql: string }
  | { kind: 'query'; sql: string; rows: string[][] };

export interface Recipe {
  title: string;
  steps: Step[];
}

/**
 * Reads the recipes of a page.
 *
 * - A line such as "`orders.csv`:" above a code block names a file. If the line says "Windows-1252", the file has this encoding.
 * - A line such as "`report.xlsx`, sheet `Report`:" above a table names a sheet of a workbook. A line such as "and sheet
 *   `Data`:" names another sheet of the same workbook. `TableSheet` says how the cells are written.
 * - A block of `sh` is a request, or commands of `npx tablewright`, and the block of `text` directly below it is the answer.
 * - A block of `sql` is a statement. A line such as "`SELECT …` gives" is a query, and the table below it has its rows.
 */
export function recipesOf(page: string): Recipe[] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title] = section.split('\n', 1);
      return { title: title!, steps: stepsOf(section) };
    })
    .filter(({ steps }) => steps.length > 0);
}

const blocks = [
  /^`(?<textFile>[\w.-]+)`(?<note>[^\n]*):\n\n```\w+\n(?<content>.*?\n)```$/,
  /^(?:`(?<workbook>[\w.-]+)`, |and )sheet `(?<sheet>[^`]+)`(?<about>[^\n]*):\n\n(?<cells>(?:\|[^\n]*\n?)+)/,
  /^```sh\n(?<command>.*?)\n```$(?:\n\n```text\n(?<shown>.*?)\n```$)?/,
  /^```sql\n(?<statement>.*?)\n```$/,
  /^`(?<query>SELECT [^`]+)` gives\n\n(?<rows>(?:\|[^\n]*\n?)+)/,
];
const anyBlock = new RegExp(blocks.map(({ source }) => source).join('|'), 'gms');

function stepsOf(section: string): Step[] {
  const steps: Step[] = [];
  const sheets = new Map<string, TableSheet[]>();
  let workbook = '';
  for (const { groups } of section.matchAll(anyBlock)) {
    const block = groups as Record<string, string | undefined>;
    if (block.textFile !== undefined) {
      steps.push({ kind: 'file', name: block.textFile, content: encoded(block.content!, block.note!) });
    } else if (block.sheet !== undefined) {
      workbook = block.workbook ?? workbook;
      const all = sheets.get(workbook) ?? [];
      all.push({ name: block.sheet, about: block.about!, cells: tableRows(block.cells!) });
      sheets.set(workbook, all);
      steps.push({ kind: 'file', name: workbook, content: buildTableWorkbook(all) });
    } else if (block.command !== undefined) {
      steps.push({ kind: 'request', command: block.command, shown: block.shown });
    } else if (block.statement !== undefined) {
      steps.push({ kind: 'statement', sql: block.statement });
    } else {
      steps.push({ kind: 'query', sql: block.query!, rows: tableRows(block.rows!) });
    }
  }
  return steps;
}

function encoded(content: string, note: string): Buffer {
  return Buffer.from(content, note.includes('Windows-1252') ? 'latin1' : 'utf8');
}

/** Returns the cells of a Markdown table without the line below its head. */
function tableRows(table: string): string[][] {
  const lines = table.trim().split('\n').toSpliced(1, 1);
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

/**
 * Returns whether the service's answer is the answer that a page shows. White space between the parts of a JSON answer does not matter. `…`
 * stands for a part that is left out, with the commas around it.
 */
export function isShownAnswer(answer: string, shown: string): boolean {
  const parts = shown.split(/,?\s*…\s*,?/).map((part) => part.trim());
  if (parts.length === 1) return answer === shown;
  if (!answer.startsWith(parts[0]!) || !answer.endsWith(parts.at(-1)!)) return false;
  let from = parts[0]!.length;
  for (const part of parts.slice(1, -1)) {
    const at = answer.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= answer.length - parts.at(-1)!.length;
}

/** Returns JSON without white space between its parts, and other text as it is, without what differs from run to run. */
export function comparable(text: string): string {
  const [status, ...lines] = text.split('\n');
  const body = lines.join('\n').replaceAll('\r\n', '\n').trimEnd();
  const compact = /^[[{]/.test(body) ? withoutSpace(body) : body;
  return `${status!.slice(0, 3)} ${compact}`
    .replace(/"load":\{"id":"[\da-f-]{36}",/, '"load":{')
    .replace(/"duration_ms":\d+/, '"duration_ms":0')
    .replace(/urn:uuid:[\da-f-]{36}/, 'urn:uuid:');
}

function withoutSpace(json: string): string {
  return json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}
