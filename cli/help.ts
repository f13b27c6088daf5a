/** The texts of `--help`. */
import { type Command, commands, type Option } from './commands.ts';

export function generalHelp(): string {
  const names = Object.entries<Command>(commands).map(([name, { about }]): [string, string] => [name, about]);
  return `Tablewright loads rows and workbooks into PostgreSQL tables.

Usage: tablewright COMMAND [options]

${inColumns(names)}

Examples:
  tablewright load orders.xlsx
  tablewright load rows.json --table orders --if-exists append
  cat rows.ndjson | tablewright load - --table readings

"tablewright COMMAND --help" shows the options of a command, "tablewright --version" the version.

TABLEWRIGHT_URL is the address of the service, and TABLEWRIGHT_TOKEN the access token. Without an
address, a command uses the service that runs on .tablewright/ (DATA_DIR). If none runs, it starts
one with its embedded PostgreSQL, and stops it when no other command uses it.

Exit codes: 0 done, 1 refused, 2 wrong use, 3 no service reached, 130 Ctrl-C (143 SIGTERM).
`;
}

export function commandHelp({ usage, about, notes, options, examples }: Command): string {
  const groups = inGroups(Object.entries(options));
  const all = Object.entries(options).map(([name, option]) => optionText(name, option));
  const width = Math.max(0, ...all.map(({ length }) => length));
  const parts = [
    `Usage: tablewright ${usage}\n\nTo ${about}.`,
    notes,
    `Examples:\n${examples.map((example) => `  ${example}`).join('\n')}`,
    ...[...groups].map(
      ([group, list]) =>
        `${group}:\n${inColumns(
          list.map(([name, option]) => [optionText(name, option), option.about]),
          width,
        )}`,
    ),
  ];
  return `${parts.filter((part) => part !== undefined).join('\n\n')}\n`;
}

/** `Map.groupBy` does not exist in Node.js 20. */
function inGroups(options: [string, Option][]): Map<string, [string, Option][]> {
  const groups = new Map<string, [string, Option][]>();
  for (const one of options) {
    const { group = 'Options' } = one[1];
    groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  return groups;
}

function optionText(name: string, { value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function inColumns(
  rows: [string, string][],
  width = Math.max(...rows.map(([first]) => first.length)),
): string {
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`).join('\n');
}
