/** `tablewright inspect FILE` */
import type { InspectedJson, InspectedSpreadsheet, InspectOptions } from '../client/client.ts';
import { noteWarnings } from './as-options.ts';
import type { CommandLine } from './commands.ts';
import { withClient } from './connect.ts';
import { awaitEndSignal } from './end-signals.ts';
import { WrongUse } from './exit-codes.ts';
import { inCount, say, sayJson, sayTable } from './print.ts';
import { noteProblems } from './report-error.ts';
import { contentOf, expandPaths, openSource } from './source.ts';
import { queryOf } from './upload-query.ts';
import { passwordsOf } from './workbook-password.ts';

const shownRows = 5;
const cellWidth = 24;

export async function inspect(line: CommandLine): Promise<number> {
  const { positionals, options } = line;
  const paths = await expandPaths(positionals);
  if (paths.length !== 1) throw new WrongUse('Name one file.');
  const withPassword = passwordsOf(line);
  const source = await openSource(paths[0]!, options.kind as string | undefined);
  return withClient(line, async ({ client }) => {
    const query = queryOf(options) as InspectOptions;
    const inspected = await withPassword(source, awaitEndSignal(), (password) =>
      client.inspect({ ...query, ...contentOf(source), password }),
    );
    if (options.json) sayJson(inspected);
    else show(inspected);
  });
}

function show(inspected: InspectedJson | InspectedSpreadsheet): void {
  if ('sheets' in inspected) showSheets(inspected);
  else say(`${inCount(inspected.data.row_count, 'row')} (${inspected.format})`);
  const part = 'sheets' in inspected ? inspected.sheet : inspected.data;
  say('');
  const columns = part.definition.columns.map(({ name, type }) => [name, type]);
  sayTable(['column', 'type'], columns);
  say('');
  const rows = part.rows.slice(0, shownRows).map((row) => row.map((cell) => cell ?? ''));
  sayTable(part.header, rows, cellWidth);
  noteWarnings(part.warnings);
  noteProblems(part.errors, part.error_count);
}

function showSheets({ sheets, sheet }: InspectedSpreadsheet): void {
  const rows = sheets.map(({ name, rows: count, columns }) => [name, String(count), String(columns)]);
  sayTable(['sheet', 'rows', 'columns'], rows);
  // A text file counts as one sheet without a name.
  if (sheet.name !== '') say(`\nSheet ${sheet.name}:`);
}
