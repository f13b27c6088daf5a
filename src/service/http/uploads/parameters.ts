/**
 * The parameters of uploads and inspections. Each is described here only: the OpenAPI document, `client/parameters.ts` with the
 * options of the command line, and docs/parameters.md are made from this table.
 */
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { choice } from '../query.ts';
import { RowLimitSchema } from './row-limit-parameter.ts';

export type Endpoint = 'upload-json' | 'upload-excel' | 'inspect-json' | 'inspect-excel';

/** A heading under which parameters are listed. */
export type Group =
  | 'Table'
  | 'Existing table'
  | 'Rows with problems'
  | 'Reading texts'
  | 'JSON'
  | 'Spreadsheets'
  | 'Text files';

const uploads = ['upload-json', 'upload-excel'] as const;
const json = ['upload-json', 'inspect-json'] as const;
const spreadsheets = ['upload-excel', 'inspect-excel'] as const;
const everywhere = [...uploads, 'inspect-json', 'inspect-excel'] as const;

interface ParameterTexts {
  /** The word for its value in `--help`; undefined: the parameter is true or false. */
  value?: string;
  /** A phrase for `--help` and the console. The choices are listed after it. */
  short: string;
  /** Sentences for the OpenAPI document and docs/parameters.md, in Markdown. */
  long: string;
  /** What applies if the parameter is not sent and its schema has no default: a number, or words in Markdown. */
  byDefault?: string | number;
}

export interface Parameter extends ParameterTexts {
  group: Group;
  on: readonly Endpoint[];
  schema: TSchema;
}

export const parameters = {
  schema: parameter('Table', uploads, Type.String({ default: 'public', examples: ['public'] }), {
    value: 'NAME',
    short: 'the schema of the table',
    long: 'The schema of the table.',
  }),
  profile: parameter('Table', everywhere, optionalText(), {
    value: 'NAME',
    short: 'the saved profile whose parameters apply',
    long: 'The name of a profile (docs/loading.md). Its parameters and its definition count as if they had been sent; those of the request win.',
    byDefault: 'none',
  }),
  primary_key: parameter('Table', uploads, optionalText(), {
    value: 'COLUMNS',
    short: 'the columns of the primary key of a new table: order_no,line',
    long: 'For uploads without a definition: the columns of the primary key, separated by commas: `order_no,line`. An existing table must already have this key.',
    byDefault: 'none',
  }),
  rename: parameter('Table', uploads, optionalText(), {
    value: 'PAIRS',
    short: 'new names of columns: "Order no:order_no,Total:total"',
    long: 'New names for headers or keys: `Order no:order_no,Total:total`. In lists of names, write a backslash before a comma, colon or backslash. A header matches exactly or else ignoring case; a JSON key must match exactly.',
    byDefault: 'none',
  }),
  extra_columns: parameter('Table', uploads, oneOf('fail', 'ignore', 'add'), {
    value: 'WHAT',
    short: 'what happens to columns that the table lacks',
    long: 'Columns of the data that the table does not have. `fail`: 422. `ignore`: leave them out, also columns that PostgreSQL computes. `add`: add them to the table with inferred types.',
  }),
  provenance: parameter('Table', uploads, optionalText(), {
    value: 'PAIRS',
    short: 'columns that say where a row came from: load_id:_load,source_row:_row',
    long: 'Columns that say where each row came from: `load_id:_load,source_row:_row`. `load_id`: the id of the load (`uuid`). `loaded_at`: when it began (`timestamptz`). `source_file`: the name of the file (`text`). `source_sheet`: its sheet (`text`). `source_row`: the row of the file, or the number of a JSON row (`bigint` or `integer`). Missing columns are added, which needs the scope `table:create`.',
    byDefault: 'none',
  }),
  misfits: parameter('Existing table', uploads, oneOf('fail', 'widen', 'widen_text'), {
    value: 'WHAT',
    short: 'what happens to values that do not fit',
    long: 'Values that do not fit the type of a column of an existing table. `fail`: they are problems, and PostgreSQL rounds decimals to the scale of the column. `widen`: the column gets the narrowest type that keeps its values and the new ones, such as `bigint` or `varchar(8)`. `widen_text`: also `text`. It needs `if_exists=append` or `truncate`, and the scope `table:alter`.',
  }),
  if_exists: parameter('Existing table', uploads, oneOf('fail', 'append', 'truncate', 'replace'), {
    value: 'WHAT',
    short: 'what happens to an existing table',
    long: 'What to do with an existing table. `fail`: 409. `append`: add the rows. `truncate`: empty it and load the rows; its definition, grants and views stay. `replace`: the new table replaces it and gets its owner, grants and comments, but not its keys.',
  }),
  if_missing: parameter('Existing table', uploads, oneOf('create', 'fail'), {
    value: 'WHAT',
    short: 'what happens if there is no such table',
    long: 'What to do if there is no such table. `create`: make it (scope `table:create`). `fail`: 404. It needs `if_exists=append`, `truncate` or `replace`.',
  }),
  on_conflict: parameter('Existing table', uploads, oneOf('fail', 'skip', 'update'), {
    value: 'WHAT',
    short: 'what happens to a row whose key exists',
    long: 'What to do with a row whose key already exists, in the table or earlier in the upload. `fail`: 422. `skip`: the first row is kept. `update`: the existing row is updated; only columns of the upload change. A row without a value for the key is always inserted.',
  }),
  conflict_key: parameter('Existing table', uploads, optionalText(), {
    value: 'COLUMNS',
    short: 'the key by which rows are compared',
    long: 'The columns of the primary key, unique constraint or unique index that `on_conflict` uses, separated by commas.',
    byDefault: 'the primary key, or else the first unique constraint, if the data has all of its columns',
  }),
  missing_rows: parameter('Existing table', uploads, optionalText(), {
    value: 'WHAT',
    short: 'rows of the table that the upload lacks: keep, delete or mark:COLUMN',
    long: 'Rows of the table that the upload does not have, by the key of `on_conflict`. `keep`: they stay, and `load.missing` counts them. `delete`: they are deleted. `mark:is_gone`: they get true in a boolean column, or the time of the load in a date or timestamp column, until they return. `delete` and `mark` need `if_exists=append`, `on_conflict=update` or `skip`, and the scope `table:replace`.',
    byDefault: 'the rows stay, and are not counted',
  }),
  max_missing_rows: parameter('Existing table', uploads, Type.Optional(RowLimitSchema), {
    value: 'COUNT',
    short: 'how many rows may be missing: 500, or 5%. Default: 10%',
    long: 'With `missing_rows=delete` or `mark`: how many rows may be missing, as a number or as a share of the rows that are compared: `500`, `10%` (in a URL `10%25`). If more are missing: 409.',
    byDefault: '`10%`',
  }),
  missing_within: parameter('Existing table', uploads, optionalText(), {
    value: 'COLUMNS',
    short: 'only compare rows whose values in these columns occur: region,month',
    long: 'With `missing_rows`: only rows whose combination of values in these columns occurs in the upload can be missing: `region,month`. NULL equals NULL.',
    byDefault: 'none, so all rows can be missing',
  }),
  dry_run: parameter('Rows with problems', uploads, Type.Boolean({ default: false }), {
    short: 'load and check everything, then roll it back',
    long: 'true: the load is done and checked, and then rolled back.',
  }),
  faulty_rows: parameter('Rows with problems', uploads, oneOf('fail', 'leave_out'), {
    value: 'WHAT',
    short: 'what happens to rows with problems',
    long: 'What to do with rows that have a problem. `fail`: nothing is loaded. `leave_out`: they are left out, `load.left_out` lists their problems, and all others are loaded.',
  }),
  max_faulty_rows: parameter('Rows with problems', uploads, Type.Optional(RowLimitSchema), {
    value: 'COUNT',
    short: 'how many rows may be left out: 50, or 1%',
    long: 'With `faulty_rows=leave_out`: how many rows may be left out, or a share of the rows such as `1%` (in a URL `1%25`). If more rows have problems, nothing is loaded.',
    // An answer lists this many problems, so with the default it names each row that is left out.
    byDefault: 100,
  }),
  values: parameter('Reading texts', everywhere, oneOf('strict', 'natural'), {
    value: 'HOW',
    short: 'how dates and numbers are read',
    long: 'How texts become dates, numbers, times and booleans. `strict`: in the notation of PostgreSQL, or in the one that `date_order`, `decimal_sign` and `thousands_sign` name. `natural`: each column in the one notation that all of its values have: `17-Jan-94`, `€ 1.234,50`, `(80.50)`, `12 %` (0.12), `2:30 PM`, `Yes` and `No`. If several notations fit, the column stays text, and the warning `other-notation` offers them.',
  }),
  languages: parameter('Reading texts', everywhere, optionalText(), {
    value: 'TAGS',
    short: 'languages of the names of months: de,fr',
    long: 'Languages besides English, by their tags (BCP 47): `de,fr`. The names of their months and weekdays are read with `values=natural` or a `date_order`, their words for yes and no with `values=natural`. At most 10.',
    byDefault: 'English only',
  }),
  all_text: parameter('Reading texts', everywhere, Type.Boolean({ default: false }), {
    short: 'load every inferred column as text',
    long: 'true: every column whose type would be inferred is `text`.',
  }),
  null_values: parameter('Reading texts', everywhere, optionalText(), {
    value: 'TEXTS',
    short: 'texts that mean NULL: N/A,-',
    long: 'Texts that mean NULL, separated by commas, case-sensitive: `N/A,-`. An empty item means the empty text. Write a backslash before a comma or backslash in a text.',
    byDefault: 'none',
  }),
  date_order: parameter('Reading texts', everywhere, oneOf('iso', 'dmy', 'mdy', 'ymd'), {
    value: 'ORDER',
    short: 'the order of the parts of dates',
    long: 'The order of day, month and year in dates such as `21/11/2026`, `21.11.26` or `11/21/2026, 2:30 PM`. Dates such as `2026-11-21` are read with every value. `iso`: only such dates.',
  }),
  decimal_sign: parameter('Reading texts', everywhere, oneOf('.', ','), {
    value: 'SIGN',
    short: 'the sign before the decimals',
    long: 'The sign before the decimals of a number: `1,5` needs `decimal_sign=,`.',
  }),
  thousands_sign: parameter('Reading texts', everywhere, oneOf('none', '.', ',', 'space', "'"), {
    value: 'SIGN',
    short: 'the sign between thousands',
    long: 'The sign between the thousands of a number: `1.234,50` needs `decimal_sign=,&thousands_sign=.`. `space` is also the narrow space and the no-break space. Groups have three digits, or two before the last three, as in India.',
  }),
  trim: parameter('Reading texts', everywhere, Type.Boolean({ default: false }), {
    short: 'remove white space around texts',
    long: 'true: white space around a text is removed, including invisible and control characters.',
  }),
  rows_at: parameter('JSON', json, optionalText(), {
    value: 'POINTER',
    short: 'where the rows are: /response/items',
    long: 'Where in a JSON document the array of rows, or an object that is the only row, is: a JSON Pointer (RFC 6901), such as `/response/items`. Without a value it is the whole document. Of the rest only a definition in its member `table` is used.',
    byDefault: 'the rows are in `data`, or the document is the array',
  }),
  flatten: parameter('JSON', json, Type.Boolean({ default: false }), {
    short: 'make columns of the members of nested objects',
    long: 'true: the members of nested objects are columns: `{"a": {"b": 1}}` has the column `a_b`. Arrays remain values.',
  }),
  flatten_separator: parameter('JSON', json, optionalText(), {
    value: 'TEXT',
    short: 'what is between the names of flattened members',
    long: 'With `flatten=true`: what is between the names of an object and its member, 1 to 8 characters.',
    byDefault: '`_`',
  }),
  file_in_zip: parameter('Spreadsheets', spreadsheets, optionalText(), {
    value: 'NAME',
    short: 'which file of a zip file is read',
    long: 'The file that is read of a zip file that is no workbook: its name with its folder, as in `2026/orders.csv`.',
    byDefault: 'the only file, or the only one with the extension of a table',
  }),
  sheet: parameter('Spreadsheets', spreadsheets, optionalText(), {
    value: 'SHEET',
    short: 'the name or number of the sheet, or auto',
    long: 'The name of the sheet, exactly or else ignoring case, or its number from 1. `auto`: the visible sheet with the largest table, with a warning that says why.',
    byDefault: 'the first visible sheet',
  }),
  header_row: parameter(
    'Spreadsheets',
    spreadsheets,
    Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('auto')])),
    {
      value: 'ROW',
      short: 'the row with the column names, or auto',
      long: 'The row of the sheet with the column names, from 1. `auto`: the row or rows that look most like a header, or none if the first row has values; only this table is read, and a warning says why.',
      byDefault: 'the first row that has a value',
    },
  ),
  header_rows: parameter(
    'Spreadsheets',
    spreadsheets,
    Type.Integer({ minimum: 1, maximum: 20, default: 1 }),
    {
      value: 'COUNT',
      short: 'how many rows are the header',
      long: 'The number of header rows, from `header_row` on. Their texts are joined for each column: `Population 2020` above `male` is `Population 2020 male`.',
    },
  ),
  header: parameter('Spreadsheets', spreadsheets, Type.Boolean({ default: true }), {
    short: 'whether there is a header',
    long: 'false: the first row is data, and the columns are named `column_A`, `column_B`, …',
  }),
  range: parameter('Spreadsheets', spreadsheets, optionalText(), {
    value: 'CELLS',
    short: 'the cells that are read: B3:F200',
    long: 'Load only these cells: `B3:F200`, `B:F`, or `B3:F` (all rows from 3 on). The first row is the header.',
    byDefault: 'all cells',
  }),
  table_range: parameter('Spreadsheets', spreadsheets, optionalText(), {
    value: 'NAME',
    short: 'the name of an Excel table, or cells with their sheet',
    long: "Only these cells: the name of an Excel table or of a range of cells (a defined name), or the cells themselves with their sheet, as in `'Sales Data'!B4:F20`. The totals row of a table is left out. Not with `range`.",
    byDefault: 'all cells',
  }),
  hidden: parameter('Spreadsheets', spreadsheets, oneOf('read', 'skip'), {
    value: 'WHAT',
    short: 'hidden rows and columns',
    long: 'Hidden rows and columns, also rows that a filter hides. `read`: with a warning. `skip`: they are left out.',
  }),
  footer: parameter('Spreadsheets', spreadsheets, oneOf('read', 'skip'), {
    value: 'WHAT',
    short: 'rows after the first empty row',
    long: 'The rows below the first empty row after the data began. `skip`: they are left out, with a warning.',
  }),
  fill_down: parameter('Spreadsheets', spreadsheets, optionalText(), {
    value: 'COLUMNS',
    short: 'columns whose empty cells take the value above: region,year',
    long: 'The columns in which an empty cell takes the value above it, separated by commas: `region,year`. The names are those of the header, before `rename`. At most 10, and a repeated value has at most 1,000 bytes.',
    byDefault: 'none',
  }),
  column_names: parameter('Spreadsheets', spreadsheets, oneOf('exact', 'snake_case'), {
    value: 'HOW',
    short: 'how headers become names',
    long: 'How headers become names. `exact`: without outer space. `snake_case`: `Site no` becomes `site_no`.',
  }),
  cell_errors: parameter('Spreadsheets', spreadsheets, oneOf('fail', 'null'), {
    value: 'WHAT',
    short: 'cells such as #N/A',
    long: 'Error cells (`#N/A`), formulas without a stored result, and numbers with a date format that are not a day in the calendar. `fail`: they are problems. `null`: they are NULL, with a warning for each column.',
  }),
  empty_cells: parameter('Spreadsheets', ['upload-excel'], oneOf('default', 'null'), {
    value: 'WHAT',
    short: 'empty cells',
    long: 'What an empty cell means. `default`: the row has no value, so the column takes its default, and an update (`on_conflict=update`) does not change it. `null`: NULL, also in place of a default, and an update clears the column.',
  }),
  delimiter: parameter('Text files', spreadsheets, optionalText(), {
    value: 'SIGN',
    short: 'the sign between fields, or tab',
    long: 'For text files: the separator of fields, one ASCII character that is not a letter, digit or quote, or `tab` or `space`.',
    byDefault:
      'detected among `,`, `;`, `tab`, `|`, `#` and `space`, or the separator that a first line such as `sep=;` names',
  }),
  quote: parameter('Text files', spreadsheets, Type.Optional(choice(['"', "'", 'none'], {})), {
    value: 'SIGN',
    short: 'the quotation mark',
    long: 'For text files: the quotation mark around fields. `none`: quotation marks are text.',
    byDefault: '`"`, or `\'` if the first lines clearly have it around fields',
  }),
  quotes: parameter('Text files', spreadsheets, oneOf('repair', 'strict'), {
    value: 'WHAT',
    short: 'wrong quotation marks within fields',
    long: 'For text files: quotation marks that are not doubled in a quoted field, or single at its beginning. `repair`: they are read as text, with a warning, if only one reading gives the row and the next one as many fields as the header has. `strict`: each is a problem.',
  }),
  escape: parameter('Text files', spreadsheets, Type.Optional(choice(['\\', 'none'], {})), {
    value: 'SIGN',
    short: 'the sign before a quotation mark that is text',
    long: 'For text files: `\\` (in a URL `%5C`) if programs have written a backslash before quotation marks and backslashes within quoted fields, as MySQL and Spark do. `none`: backslashes are text.',
    byDefault: '`\\` if the first lines clearly use it, or else `none`',
  }),
  quoted: parameter('Text files', spreadsheets, oneOf('any', 'text', 'exact'), {
    value: 'WHAT',
    short: 'what values in quotes are',
    long: 'For text files: what values in quotes are. `any`: the same as without quotes. `text`: numbers, `true` and `false` in quotes are text, as in JSON. `exact`: as in exports and files of `COPY`, an empty field in quotes is the empty text, blank texts make a row, `="7"` is a text, and only `"` is a quotation mark unless `quote` is sent.',
  }),
  encoding: parameter('Text files', spreadsheets, optionalText(), {
    value: 'NAME',
    short: 'the encoding, such as windows-1250',
    long: 'For text files: the encoding, by any label of the WHATWG Encoding Standard, such as `windows-1250`, `shift_jis` or `gbk`. There, `latin1` and `iso-8859-1` mean `windows-1252`.',
    byDefault:
      'detected among UTF-8, UTF-16, encodings of alphabets other than Latin if their letters show them, and Windows-1252',
  }),
  comment: parameter('Text files', spreadsheets, optionalText(), {
    value: 'SIGN',
    short: 'lines that begin with this sign are left out',
    long: 'For text files: lines that begin with this ASCII character, such as `#`, are left out.',
    byDefault: 'none',
  }),
};

/** The names and descriptions of all parameters, in the order in which they are listed. */
export const allParameters = Object.entries<Parameter>(parameters);

type Parameters = typeof parameters;

/** The schemas of the parameters that an endpoint has. */
type SchemasOn<At extends Endpoint> = {
  [Name in keyof Parameters as At extends Parameters[Name]['on'][number]
    ? Name
    : never]: Parameters[Name]['schema'];
};

/** The query of an endpoint, with every default. */
export type QueryOn<At extends Endpoint> = Static<TObject<SchemasOn<At>>>;

/** The part of a query that two endpoints have in common. */
export type QueryOnBoth<One extends Endpoint, Other extends Endpoint> = Pick<
  QueryOn<One>,
  keyof QueryOn<One> & keyof QueryOn<Other>
>;

/** The part of a query that both uploads have. */
export type UploadQuery = QueryOnBoth<'upload-json', 'upload-excel'>;

/** Returns the schema of the query of an endpoint. */
export function querySchema<At extends Endpoint>(endpoint: At): TObject<SchemasOn<At>> {
  const own = allParameters.filter(([, { on }]) => on.includes(endpoint));
  const schemas = Object.fromEntries(own.map(([name, { schema }]) => [name, schema]));
  return Type.Object(schemas) as unknown as TObject<SchemasOn<At>>;
}

/** Returns the entry of a parameter, with its sentences in its schema, too. */
function parameter<
  const On extends readonly Endpoint[],
  Schema extends TSchema,
  const Texts extends ParameterTexts,
>(group: Group, on: On, schema: Schema, texts: Texts) {
  const { long, byDefault } = texts;
  const description = byDefault === undefined ? long : `${long} Default: ${byDefault}.`;
  return { group, on, schema: Object.assign(schema, { description }), ...texts };
}

function optionalText() {
  return Type.Optional(Type.String());
}

/** Returns the schema of a parameter that takes one of these values; the first is the default. */
function oneOf<const Values extends readonly [string, ...string[]]>(...values: Values) {
  return choice(values, { default: values[0] });
}
