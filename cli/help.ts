/** The texts of `--help`. */
import { type Command, commands, type Option } from './commands.ts';

export function generalHelp(): string {
  const names = Object.entries(commands).map(([name, { about }]): [string, string] => [name, about]);
  return `Tablewright loads rows and workbooks into PostgreSQL tables.

Usage: tablewright COMMAND [options]

${inColumns(names)}

Examples:
  tablewright load orders.xlsx
  tablewright load rows.json --table orders --if-exists append
  cat rows.ndjson | tablewright load - --table readings

"tablewright COMMAND --help" shows the options of a command; "tablewright --version" shows the version.

TABLEWRIGHT_URL is the address of the service, and TABLEWRIGHT_TOKEN the access token. Without an address, a command
starts the service with its embedded PostgreSQL (in .tablewright/), and stops it at its end.

Exit codes: 0 done, 1 refused, 2 wrong use, 3 the service cannot be reached, 130 Ctrl-C (143 SIGTERM).
`;
}

export function commandHelp({ usage, about, notes, options, examples }: Command): string {
  const listed = Object.entries(options).map(([name, option]): [string, string] => [
    optionText(name, option),
    option.about,
  ]);
  const parts = [
    `Usage: tablewright ${usage}\n\nTo ${about}.`,
    notes,
    listed.length > 0 ? `Options:\n${inColumns(listed)}` : undefined,
    `Examples:\n${examples.map((example) => `  ${example}`).join('\n')}`,
  ];
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}

function optionText(name: string, { value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function inColumns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`).join('\n');
}
