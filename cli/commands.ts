/** The commands with their options: what `--help` shows, what is read from the command line, and what shells complete. */
import type { LoadQuery } from '../client/upload.ts';

export interface Option {
  /** What follows the option, such as `NAME`. Undefined: nothing follows. */
  value?: string;
  /** The values that shells propose. */
  choices?: readonly string[];
  about: string;
  /** The heading in `--help` under which the option is listed. Default: "Options". */
  group?: string;
}

export interface CommandLine {
  positionals: string[];
  /** The options without `--`. An option without a value is `true`. */
  options: Record<string, string | boolean | undefined>;
}

export interface Command {
  usage: string;
  about: string;
  /** More lines for `--help`. */
  notes?: string;
  options: Record<string, Option>;
  examples: readonly string[];
  /** Runs the command and returns its exit code. Undefined: the command runs on, and ends the process itself. */
  run: (line: CommandLine) => Promise<number | undefined>;
}

function inGroup<Name extends string>(group: string, options: Record<Name, Option>): Record<Name, Option> {
  for (const option of Object.values<Option>(options)) option.group = group;
  return options;
}

const connection: Record<string, Option> = inGroup('Service', {
  url: { value: 'URL', about: 'the address of the service. Default: TABLEWRIGHT_URL, or the profile' },
  retry: {
    value: 'SECONDS',
    about: 'how long a request is repeated if the service does not answer. Default: 60',
  },
  profile: { value: 'NAME', about: 'the profile. Default: TABLEWRIGHT_PROFILE, or "default"' },
});

const output = inGroup('Output', {
  json: { about: 'print JSON for programs' },
  quiet: { about: 'print errors only' },
});

/** The output of these commands is their result, so they cannot be quiet. */
const { json } = output;

const schema: Option = { value: 'NAME', about: 'the schema of the table. Default: public' };

/** The parameters of uploads. docs/loading.md describes them. */
const parameters: Record<keyof LoadQuery, Option> = {
  ...inGroup('Table', {
    schema,
    primary_key: { value: 'COLUMNS', about: 'the columns of the primary key of a new table: order_no,line' },
    rename: { value: 'PAIRS', about: 'new names of columns: "Order no:order_no,Total:total"' },
    extra_columns: {
      value: 'WHAT',
      choices: ['fail', 'ignore', 'add'],
      about: 'what happens to columns that the table does not have: fail, ignore or add',
    },
  }),
  ...inGroup('Existing table', {
    if_exists: {
      value: 'WHAT',
      choices: ['fail', 'append', 'truncate', 'replace'],
      about: 'what happens to an existing table: fail, append, truncate or replace',
    },
    if_missing: {
      value: 'WHAT',
      choices: ['create', 'fail'],
      about: 'what happens if there is no such table: create or fail',
    },
    on_conflict: {
      value: 'WHAT',
      choices: ['fail', 'skip', 'update'],
      about: 'what happens to a row whose key exists: fail, skip or update',
    },
    conflict_key: { value: 'COLUMNS', about: 'the key that --on-conflict uses' },
  }),
  ...inGroup('Rows with problems', {
    dry_run: { about: 'load and check everything, then roll it back' },
    faulty_rows: {
      value: 'WHAT',
      choices: ['fail', 'leave_out'],
      about: 'what happens to rows with problems: fail or leave_out',
    },
    max_faulty_rows: { value: 'COUNT', about: 'how many rows may be left out' },
  }),
  ...inGroup('Reading texts', {
    null_values: { value: 'TEXTS', about: 'texts that mean NULL: N/A,-' },
    date_order: {
      value: 'ORDER',
      choices: ['iso', 'dmy', 'mdy', 'ymd'],
      about: 'the order of the parts of dates: iso, dmy, mdy or ymd',
    },
    decimal_sign: { value: 'SIGN', about: 'the sign before the decimals: . or ,' },
    thousands_sign: { value: 'SIGN', about: "the sign between thousands: none . , space or '" },
    trim: { about: 'remove white space around texts' },
    rows_at: { value: 'POINTER', about: 'JSON: where the rows are: /response/items' },
  }),
  ...inGroup('Spreadsheets', {
    sheet: { value: 'SHEET', about: 'the name or number of the sheet, or auto' },
    header_row: { value: 'ROW', about: 'the row with the column names, or auto' },
    header: { value: 'true|false', choices: ['true', 'false'], about: 'whether there is a header' },
    range: { value: 'CELLS', about: 'the cells that are read: B3:F200' },
    table_range: { value: 'NAME', about: 'the name of an Excel table, or cells with their sheet' },
    hidden: { value: 'WHAT', choices: ['read', 'skip'], about: 'hidden rows and columns: read or skip' },
    footer: {
      value: 'WHAT',
      choices: ['read', 'skip'],
      about: 'rows after the first empty row: read or skip',
    },
    column_names: {
      value: 'HOW',
      choices: ['exact', 'snake_case'],
      about: 'how headers become names: exact or snake_case',
    },
    cell_errors: { value: 'WHAT', choices: ['fail', 'null'], about: 'cells such as #N/A: fail or null' },
    empty_cells: { value: 'WHAT', choices: ['default', 'null'], about: 'empty cells: default or null' },
  }),
  ...inGroup('Text files', {
    delimiter: { value: 'SIGN', about: 'text files: the sign between fields, or tab' },
    quote: { value: 'SIGN', about: 'text files: the quotation mark, or none' },
    encoding: { value: 'NAME', about: 'text files: the encoding, such as windows-1250' },
    comment: { value: 'SIGN', about: 'text files: lines that begin with this sign are left out' },
  }),
};

export const parameterNames = Object.keys(parameters) as (keyof LoadQuery)[];

const parameterOptions: Record<string, Option> = Object.fromEntries(
  parameterNames.map((name) => [optionOf(name), parameters[name]]),
);

/** Returns the option of a parameter: `if_exists` is `--if-exists`. */
export function optionOf(parameter: string): string {
  return parameter.replaceAll('_', '-');
}

const kind: Option = {
  value: 'KIND',
  choices: ['json', 'ndjson', 'spreadsheet'],
  about: 'what the file is: json, ndjson or spreadsheet (also CSV). Default: by name and content',
};

export const commands: Record<string, Command> = {
  load: {
    usage: 'load FILE… [options]',
    about: 'load files into tables',
    notes:
      'A file is a workbook, a text file (CSV) or JSON. "-" is the standard input. Without --table each file is loaded\ninto the table of its name. With --table all files are loaded into one table, the second and later ones with append.',
    options: {
      ...inGroup('Table', {
        table: { value: 'NAME', about: 'the table. Default: the name of the file without its extension' },
        definition: { value: 'FILE', about: 'a JSON file with the definition of the table' },
        infer: {
          value: 'WHAT',
          choices: ['missing'],
          about: 'missing: infer the columns that the definition does not name (--extra-columns add)',
        },
      }),
      ...parameterOptions,
      ...inGroup('Rows with problems', {
        problems: { value: 'FILE', about: 'write all problems into this CSV file' },
      }),
      ...inGroup('Reading texts', { kind }),
      ...output,
      ...connection,
      ...inGroup('Service', {
        async: { about: 'end as soon as the service has stored the file' },
        'idempotency-key': { value: 'KEY', about: 'load once, however often the command runs with this key' },
      }),
    },
    examples: [
      'tablewright load orders.xlsx',
      'tablewright load january.csv february.csv --table sales --if-exists append',
      'tablewright load orders.xlsx --if-exists append --on-conflict update --primary-key "Order no"',
      'cat rows.ndjson | tablewright load - --table readings',
      'tablewright load messy.xlsx --dry-run --problems problems.csv',
    ],
    run: async (line) => (await import('./load.ts')).load(line),
  },
  inspect: {
    usage: 'inspect FILE [options]',
    about: 'show what a file contains, without loading it',
    options: {
      ...Object.fromEntries(
        parameterNames
          .filter((name) => !isAboutTable(name))
          .map((name) => [optionOf(name), parameters[name]]),
      ),
      kind,
      json,
      ...connection,
    },
    examples: [
      'tablewright inspect orders.xlsx',
      'tablewright inspect answer.json --rows-at /response/items',
    ],
    run: async (line) => (await import('./inspect.ts')).inspect(line),
  },
  create: {
    usage: 'create NAME --definition FILE [options]',
    about: 'create a table from a definition',
    options: {
      definition: { value: 'FILE', about: 'a JSON file with the definition, or - for the standard input' },
      schema,
      'if-not-exists': { about: 'leave an existing table unchanged' },
      ...output,
      ...connection,
    },
    examples: ['tablewright create customers --definition examples/definition.json'],
    run: async (line) => (await import('./tables.ts')).create(line),
  },
  describe: {
    usage: 'describe NAME [options]',
    about: 'show the definition of a table',
    options: { schema, json, ...connection },
    examples: ['tablewright describe orders', 'tablewright describe orders --json > orders-definition.json'],
    run: async (line) => (await import('./tables.ts')).describe(line),
  },
  tables: {
    usage: 'tables [options]',
    about: 'list tables',
    options: { schema: { value: 'NAME', about: 'only the tables of this schema' }, json, ...connection },
    examples: ['tablewright tables', 'tablewright tables --schema sales --json'],
    run: async (line) => (await import('./tables.ts')).list(line),
  },
  rows: {
    usage: 'rows NAME [options]',
    about: 'show the first rows of a table',
    options: { schema, limit: { value: 'COUNT', about: 'how many rows. Default: 50' }, json, ...connection },
    examples: ['tablewright rows orders', 'tablewright rows orders --limit 5 --json'],
    run: async (line) => (await import('./tables.ts')).rows(line),
  },
  loads: {
    usage: 'loads [ID] [options]',
    about: 'list loads, or show one load',
    options: {
      watch: { about: 'with an ID: wait until the load has ended' },
      state: { value: 'STATE', about: 'only loads in this state' },
      schema: { value: 'NAME', about: 'only loads into tables of this schema' },
      table: { value: 'NAME', about: 'only loads into this table' },
      limit: { value: 'COUNT', about: 'how many loads. Default: 20' },
      ...output,
      ...connection,
    },
    examples: ['tablewright loads', 'tablewright loads 01a2034e-08b4-7732-a995-a608bebf4157 --watch'],
    run: async (line) => (await import('./loads.ts')).loads(line),
  },
  cancel: {
    usage: 'cancel ID [options]',
    about: 'cancel a load',
    options: { ...output, ...connection },
    examples: ['tablewright cancel 01a2034e-08b4-7732-a995-a608bebf4157'],
    run: async (line) => (await import('./loads.ts')).cancel(line),
  },
  serve: {
    usage: 'serve [options]',
    about: 'start the service',
    notes: 'The settings are environment variables, which README.md lists. Ctrl-C stops the service.',
    options: {
      host: { value: 'ADDRESS', about: 'the address. Default: HOST, or 127.0.0.1' },
      port: { value: 'PORT', about: 'the port. Default: PORT, or 8080' },
      'show-secrets': {
        about: 'print the password of the embedded database and a token, also if this is not a terminal',
      },
    },
    examples: ['tablewright serve', 'DATABASE_URL=postgresql://… tablewright serve --port 9000'],
    run: async (line) => (await import('./serve.ts')).serve(line),
  },
  token: {
    usage: 'token [options]',
    about: 'print an access token for development',
    options: {
      scope: { value: 'SCOPES', about: 'the scopes. Default: all' },
      schemas: { value: 'NAMES', about: 'the schemas, such as public,sales_*. Default: all' },
      role: { value: 'NAME', about: 'the PostgreSQL role' },
      ttl: { value: 'TIME', about: 'how long the token is valid, such as 30s, 15m, 1h or 7d. Default: 1h' },
    },
    examples: ['export TABLEWRIGHT_TOKEN=$(tablewright token)'],
    run: async (line) => (await import('./token.ts')).token(line),
  },
  completion: {
    usage: 'completion bash|zsh|fish',
    about: 'print the completions for a shell',
    options: {},
    examples: [
      'eval "$(tablewright completion bash)"',
      'tablewright completion zsh > ~/.zfunc/_tablewright',
      'tablewright completion fish > ~/.config/fish/completions/tablewright.fish',
    ],
    run: async (line) => (await import('./completion.ts')).completion(line),
  },
};

/** Inspections have no parameters about the table. */
function isAboutTable(name: keyof LoadQuery): boolean {
  return [
    'schema',
    'if_exists',
    'if_missing',
    'on_conflict',
    'primary_key',
    'conflict_key',
    'extra_columns',
    'dry_run',
    'faulty_rows',
    'max_faulty_rows',
    'rename',
    'empty_cells',
  ].includes(name);
}
