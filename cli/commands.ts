/** The commands with their options: for `--help`, for reading the command line and for shell completion. `main.ts` runs the commands. */
import { type UploadParameter, uploadParameters } from '../client/parameters.ts';

export interface Option {
  /** The placeholder of the value in `--help`, such as `NAME`. Undefined: the option takes no value. */
  value?: string;
  /** The values that shell completion proposes. */
  choices?: readonly string[] | undefined;
  about: string;
  /** The heading in `--help` under which the option is listed. Default: "Options". */
  group?: string;
}

export interface CommandLine {
  positionals: string[];
  /** The options without `--`. An option that takes no value is `true`. */
  options: Record<string, string | boolean | undefined>;
}

export interface Command {
  usage: string;
  about: string;
  /** More lines for `--help`. */
  notes?: string;
  options: Record<string, Option>;
  examples: readonly string[];
}

function inGroup<Name extends string>(group: string, options: Record<Name, Option>): Record<Name, Option> {
  for (const option of Object.values<Option>(options)) option.group = group;
  return options;
}

const connection: Record<string, Option> = inGroup('Service', {
  url: { value: 'URL', about: 'the address of the service. Default: TABLEWRIGHT_URL, or the profile' },
  retry: {
    value: 'SECONDS',
    about: 'how long to try again if the service does not answer. Default: 60',
  },
  profile: { value: 'NAME', about: 'the profile. Default: TABLEWRIGHT_PROFILE, or "default"' },
});

const output = inGroup('Output', {
  json: { about: 'print JSON for programs' },
  quiet: { about: 'print errors only' },
});

/** These commands exist to print their result, so they have no `--quiet`. */
const { json } = output;

const file = inGroup('File', {
  kind: {
    value: 'KIND',
    choices: ['json', 'ndjson', 'spreadsheet'],
    about: 'json, ndjson or spreadsheet (also CSV). Default: by name and content',
  },
  // There is no option for the password itself, because every user of the machine can read the arguments of a command.
  'password-file': {
    value: 'FILE',
    about: 'the password of encrypted workbooks. Default: TABLEWRIGHT_FILE_PASSWORD',
  },
});

/** The formats of exports. The extension of a file chooses one of them. */
export const exportFormats = ['csv', 'ndjson', 'json', 'xlsx'] as const;

const schema: Option = { value: 'NAME', about: 'the schema of the table. Default: public' };

/** Returns the upload parameters as options. docs/parameters.md describes them. */
function optionsOf(parameters: readonly UploadParameter[]): Record<string, Option> {
  return Object.fromEntries(
    parameters.map((parameter) => {
      const { name, group, value, choices } = parameter;
      return [optionOf(name), { group, about: aboutOf(parameter), ...(value && { value, choices }) }];
    }),
  );
}

/** Returns the text of `--help` for a parameter, with its choices or its default. */
function aboutOf({ about, value, choices, default: byDefault }: UploadParameter): string {
  if (value === undefined || (choices ?? byDefault) === undefined) return about;
  if (choices === undefined) return `${about}. Default: ${byDefault}`;
  // A list of single signs is separated by spaces, because a comma can be one of the signs.
  const separator = choices.every((choice) => /^\w+$/.test(choice)) ? ', ' : ' ';
  return `${about}: ${choices.slice(0, -1).join(separator)} or ${choices.at(-1)}`;
}

/** Returns the name of the option of a parameter: `if_exists` is `if-exists`. `--profile` already names the service, so the parameter `profile` has another one. */
export function optionOf(parameter: string): string {
  return parameter === 'profile' ? 'upload-profile' : parameter.replaceAll('_', '-');
}

/** Returns whether the option of a parameter takes no value: `trim=true` is `--trim`. */
export function isFlag(parameter: string): boolean {
  const all = Object.values<Command>(commands).map(({ options }) => options[optionOf(parameter)]);
  return all.some((option) => option !== undefined && option.value === undefined);
}

export const commands = {
  load: {
    usage: 'load FILE… [options]',
    about: 'load files into tables',
    notes:
      'A file is a workbook, a text file (CSV) or JSON, also packed (.gz, .zst, .br, .zip), or the\nhttps link of a workbook or text file, which the service fetches. "-" is the standard input.\nWithout --table each file is loaded into the table of its name. With --table all files are loaded\ninto one table, the second and later ones with append.',
    options: {
      ...inGroup('Table', {
        table: { value: 'NAME', about: 'the table. Default: the name of the file without its extension' },
        definition: { value: 'FILE', about: 'a JSON file with the definition of the table' },
        together: { about: 'load all files in one transaction, each into its table' },
        infer: {
          value: 'WHAT',
          choices: ['missing'],
          about: 'missing: infer columns that the definition lacks (--extra-columns add)',
        },
      }),
      ...file,
      ...optionsOf(uploadParameters),
      ...inGroup('Rows with problems', {
        patch: {
          value: 'FILE',
          about: 'a JSON file with corrections of cells: [{"cell": "D18", "value": "5"}]',
        },
        problems: { value: 'FILE', about: 'write all problems into this CSV file' },
        'faulty-rows-file': {
          value: 'FILE',
          about: 'write the rows with problems into this file (.csv, .xlsx or .ndjson)',
        },
      }),
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
  },
  inspect: {
    usage: 'inspect FILE [options]',
    about: 'show what a file contains, without loading it',
    options: {
      ...file,
      ...optionsOf(
        uploadParameters.filter(({ endpoints }) => endpoints.some((one) => one.startsWith('inspect-'))),
      ),
      json,
      ...connection,
    },
    examples: [
      'tablewright inspect orders.xlsx',
      'tablewright inspect answer.json --rows-at /response/items',
    ],
  },
  create: {
    usage: 'create NAME --definition FILE [options]',
    about: 'create a table from a definition',
    options: {
      definition: { value: 'FILE', about: 'a JSON file with the definition, or - for the standard input' },
      schema,
      'if-not-exists': { about: 'leave an existing table unchanged' },
      'new-names': { about: 'choose new names for keys, indexes and sequences: for a copy of a table' },
      ...output,
      ...connection,
    },
    examples: [
      'tablewright create customers --definition examples/definition.json',
      'tablewright create copy --definition orders-definition.json --new-names',
    ],
  },
  describe: {
    usage: 'describe NAME [options]',
    about: 'show the definition of a table',
    options: { schema, json, ...connection },
    examples: ['tablewright describe orders', 'tablewright describe orders --json > orders-definition.json'],
  },
  alter: {
    usage: 'alter FILE… [options]',
    about: 'make tables what definitions say',
    notes:
      'Each file has the definition of one table, as describe --json prints it.\nWithout a name in it, the table has the name of the file. A missing table is created.',
    options: {
      table: { value: 'NAME', about: 'the table, if there is one file' },
      schema,
      plan: { about: 'show the changes, and make none' },
      allow: {
        value: 'LIST',
        about: 'what may be lost: drop_columns,drop_constraints,drop_indexes,lossy_types',
      },
      'max-lock-ms': { value: 'MS', about: 'how long a table may stay locked' },
      ...output,
      ...connection,
    },
    examples: [
      'tablewright alter tables/*.json --plan',
      'tablewright alter tables/orders.json --allow drop_columns',
    ],
  },
  drop: {
    usage: 'drop NAME [options]',
    about: 'drop a table with its rows',
    options: {
      schema,
      'missing-ok': { about: 'a table that does not exist is no error' },
      'dry-run': { about: 'check that the table could be dropped, and keep it' },
      ...output,
      ...connection,
    },
    examples: ['tablewright drop orders', 'tablewright drop orders --schema archive --missing-ok'],
  },
  rename: {
    usage: 'rename NAME [NEW-NAME] [options]',
    about: 'rename a table, or move it to another schema',
    options: {
      schema,
      'to-schema': { value: 'NAME', about: 'the new schema of the table' },
      ...output,
      ...connection,
    },
    examples: ['tablewright rename orders orders_2025', 'tablewright rename orders --to-schema archive'],
  },
  tables: {
    usage: 'tables [options]',
    about: 'list tables',
    options: { schema: { value: 'NAME', about: 'only the tables of this schema' }, json, ...connection },
    examples: ['tablewright tables', 'tablewright tables --schema sales --json'],
  },
  rows: {
    usage: 'rows NAME [options]',
    about: 'show the first rows of a table',
    options: { schema, limit: { value: 'COUNT', about: 'how many rows. Default: 50' }, json, ...connection },
    examples: ['tablewright rows orders', 'tablewright rows orders --limit 5 --json'],
  },
  export: {
    usage: 'export NAME [options]',
    about: 'write the rows of a table into a file',
    notes: 'The rows go to the standard output, unless --output names a file. A workbook needs a file.',
    options: {
      format: {
        value: 'FORMAT',
        choices: exportFormats,
        about: 'csv, ndjson, json or xlsx. Default: the extension of the file, or csv',
      },
      output: { value: 'FILE', about: 'the file. It is replaced when all rows have arrived' },
      schema,
      columns: { value: 'NAMES', about: 'the columns, such as id,name. Default: all' },
      order: { value: 'NAMES', about: 'the order of the rows, such as ordered_at.desc,id' },
      limit: { value: 'COUNT', about: 'how many rows. Default: all' },
      quiet: output.quiet,
      ...connection,
    },
    examples: [
      'tablewright export orders > orders.csv',
      'tablewright export orders --output orders.xlsx',
      'tablewright export orders --format ndjson --columns id,total --order id | gzip > orders.ndjson.gz',
    ],
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
  },
  changes: {
    usage: 'changes ID [options]',
    about: 'show what a load or a dry run changed',
    notes: 'Of loads with --on-conflict update. The old values of a row follow "-", and the new ones "+".',
    options: {
      limit: { value: 'COUNT', about: 'how many changes, at most 10,000. Default: 20' },
      json,
      ...connection,
    },
    examples: ['tablewright changes 01a2034e-08b4-7732-a995-a608bebf4157'],
  },
  profiles: {
    usage: 'profiles [save|show|delete NAME] [options]',
    about: 'list upload profiles, or save, show or delete one',
    notes:
      'An upload profile is a named set of load options that the service keeps.\nload and inspect use it with --upload-profile NAME.',
    options: {
      ...inGroup('Table', {
        definition: { value: 'FILE', about: 'a JSON file with the definition of the table' },
      }),
      ...optionsOf(uploadParameters.filter(({ name }) => name !== 'profile' && name !== 'dry_run')),
      'shared-with': { value: 'SCHEMA', about: 'the profile that all who may use this schema share' },
      version: { value: 'NUMBER', about: 'with show: an earlier version' },
      ...output,
      ...connection,
    },
    examples: [
      'tablewright profiles save monthly-orders --if-exists append --on-conflict update --trim',
      'tablewright load november.xlsx --table orders --upload-profile monthly-orders',
    ],
  },
  cancel: {
    usage: 'cancel ID [options]',
    about: 'cancel a load',
    options: { ...output, ...connection },
    examples: ['tablewright cancel 01a2034e-08b4-7732-a995-a608bebf4157'],
  },
  mcp: {
    usage: 'mcp [options]',
    about: 'offer the operations to agents (Model Context Protocol)',
    notes: 'An agent starts this command and speaks with it over the standard input and output.',
    options: { ...connection },
    examples: ['tablewright mcp --url https://tables.example.com'],
  },
  serve: {
    usage: 'serve [options]',
    about: 'start the service',
    notes: 'The settings are environment variables, which docs/settings.md lists. Ctrl-C stops the service.',
    options: {
      host: { value: 'ADDRESS', about: 'the address. Default: HOST, or 127.0.0.1' },
      port: { value: 'PORT', about: 'the port. Default: PORT, or 8080' },
      'show-secrets': {
        about: 'print the secrets of the embedded database, also if this is not a terminal',
      },
    },
    examples: ['tablewright serve', 'DATABASE_URL=postgresql://… tablewright serve --port 9000'],
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
  },
} satisfies Record<string, Command>;
