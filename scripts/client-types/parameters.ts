/** Makes `client/parameters.ts` and docs/parameters.md from the table of parameters of the service. */
import {
  allParameters,
  type Endpoint,
  type Group,
  type Parameter,
} from '../../src/service/http/uploads/parameters.ts';

/** The members of a schema that are shown. */
interface Shown {
  type?: string;
  enum?: string[];
  const?: string;
  anyOf?: Shown[];
  pattern?: string;
  examples?: string[];
  default?: string | boolean;
}

/** Returns the data of `client/parameters.ts`. */
export function clientParameters() {
  return allParameters.map(([name, { group, on, schema, value, short, byDefault }]) => {
    const { type, enum: values, default: fixed } = schema as Shown;
    // A parameter that is true by default must be sent to be false, so it is no flag on the command line.
    const isSwitch = type === 'boolean' && fixed === true;
    const choices = isSwitch ? ['true', 'false'] : values;
    const known = fixed ?? (typeof byDefault === 'number' ? byDefault : undefined);
    return {
      name,
      group,
      ...(isSwitch ? { value: 'true|false' } : value !== undefined && { value }),
      ...(choices && { choices }),
      ...(known !== undefined && { default: known }),
      about: short,
      endpoints: on,
    };
  });
}

/** Returns the text of `client/parameters.ts`. It still has to be formatted. */
export function clientParametersFile(): string {
  return `// The parameters of uploads and inspections. \`npm run types\` makes this file from src/service/http/uploads/parameters.ts: do not change it by hand.
import type { LoadQuery } from './upload.ts';

export interface UploadParameter {
  name: keyof LoadQuery;
  /** The heading under which it is listed. */
  group: string;
  /** A name for its value. Undefined: it is true or false. */
  value?: string;
  choices?: readonly string[];
  /** Undefined: the default depends on the data, or nothing applies. */
  default?: string | number | boolean;
  /** A phrase. The choices can be listed after it. */
  about: string;
  endpoints: readonly ('upload-json' | 'upload-excel' | 'inspect-json' | 'inspect-excel')[];
}

export const uploadParameters: readonly UploadParameter[] = ${JSON.stringify(clientParameters())};
`;
}

/** The places that explain the parameters of a group. */
const guides: Record<Group, string> = {
  Table: '[Names and keys](loading.md#names-and-keys), [extra_columns](existing-tables.md#extra_columns)',
  'Existing table':
    '[if_exists](existing-tables.md#if_exists), [on_conflict](existing-tables.md#on_conflict)',
  'Rows with problems': '[faulty_rows](faulty-rows.md#faulty_rows), [dry_run](faulty-rows.md#dry_run)',
  'Reading texts': '[How text is read](loading.md#how-text-is-read)',
  JSON: '[Forms of JSON rows](loading.md#forms-of-json-rows)',
  Spreadsheets:
    '[What is read](spreadsheets.md#what-is-read), [Tables and names](spreadsheets.md#tables-and-names), [Finding the table](spreadsheets.md#finding-the-table), [What cells mean](spreadsheets.md#what-cells-mean)',
  'Text files': '[Text files](spreadsheets.md#text-files)',
};

/** Returns the text of docs/parameters.md. */
export function parametersPage(): string {
  const groups = Map.groupBy(allParameters, ([, { group }]) => group);
  return `# Parameters

The query parameters of uploads and inspections. In a URL, write a space as \`%20\`. A parameter that an endpoint does not have is refused. Only Inspect Excel ignores the parameters that only uploads have. On the command line \`if_exists\` is \`--if-exists\`.

${[...groups].map(([group, rows]) => sectionOf(group, rows)).join('\n\n')}

\`npm run types\` makes this page from \`src/service/http/uploads/parameters.ts\`.
`;
}

function sectionOf(group: Group, rows: [string, Parameter][]): string {
  const place = placeOf(rows[0]![1].on);
  const others = rows
    .filter(([, { on }]) => placeOf(on) !== place)
    .map(([name, { on }]) => ` \`${name}\`: ${placeOf(on)}.`);
  const lines = rows.map(([name, parameter]) => {
    const cells = [
      `\`${name}\``,
      valuesOf(parameter.schema as Shown, parameter.value),
      defaultOf(parameter),
      parameter.long,
    ];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return `## ${group}

For ${place}.${others.join('')} See ${guides[group]}.

| parameter | values | default | meaning |
|---|---|---|---|
${lines.join('\n')}`;
}

function placeOf(on: readonly Endpoint[]): string {
  const isInspected = on.some((endpoint) => endpoint.startsWith('inspect-'));
  const isForJson = on.includes('upload-json');
  const isForSpreadsheets = on.includes('upload-excel');
  const format = isForJson && isForSpreadsheets ? '' : isForJson ? ' of JSON' : ' of spreadsheets';
  return `uploads${isInspected ? ' and inspections' : ''}${format}`;
}

/** @param value the name of the value in `--help` */
function valuesOf({ type, enum: values, const: only, anyOf, pattern, examples }: Shown, value = ''): string {
  if (pattern !== undefined) return `\`${examples?.[0]}\``;
  if (anyOf) return anyOf.map((schema) => valuesOf(schema)).join(', ');
  if (type === 'boolean') return '`true`, `false`';
  const choices = only === undefined ? values : [only];
  if (choices) return choices.map((choice) => `\`${choice}\``).join(', ');
  return type === 'integer' ? 'number' : value.toLowerCase();
}

function defaultOf({ schema, byDefault = 'none' }: Parameter): string {
  const { default: fixed } = schema as Shown;
  return fixed === undefined ? String(byDefault) : `\`${fixed}\``;
}
