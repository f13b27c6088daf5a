/** The tools of `tablewright mcp`: what each of them is for, and what it does. */
import { existsSync, statSync } from 'node:fs';
import { extname, parse } from 'node:path';
import type {
  AlteredTable,
  Client,
  InspectOptions,
  LoadOptions,
  TableDefinition,
  UploadDefinition,
} from '../../client/client.ts';
import { exportFormats } from '../commands.ts';
import { WrongUse } from '../exit-codes.ts';
import { brokenOff, intoFile, isOfFile } from '../export.ts';
import { unpackedPath } from '../packed-file.ts';
import { expandPaths, openSource } from '../source.ts';
import { withDefinition } from '../with-definition.ts';

/** The arguments of a call. The service checks the parameters, so only the others are checked here. */
export type Arguments = Record<string, unknown>;

export interface Tool {
  about: string;
  /** The operations of the OpenAPI document whose parameters are arguments of the tool. */
  operations: string[];
  /** Parameters that the tool sets itself. */
  without?: string[];
  /** Further arguments, and whether they are required: `file` is the path of a file, and the others are schemas of the document. */
  own?: Partial<Record<'file' | 'table' | 'definition' | 'change' | 'new_definition' | 'id', boolean>>;
  isReadOnly?: true;
  /** Returns what a person must confirm; undefined: nothing would be lost. */
  danger?: (given: Arguments) => string | undefined;
  run: (client: Client, given: Arguments, signal: AbortSignal) => Promise<object>;
}

const ofUploads = {
  operations: ['uploadTableFromExcel', 'uploadTableFromJson'],
  without: ['dry_run'],
  own: { file: true, table: false, definition: false },
};

export const tools: Record<string, Tool> = {
  inspect_file: {
    about:
      'Shows what a file (workbook, CSV, JSON, also packed) contains: its sheets, the table in it with its header, the types of its columns, rows and warnings. Nothing is written. Use it first.',
    operations: ['inspectExcel', 'inspectJson'],
    own: { file: true },
    isReadOnly: true,
    run: async (client, { file, ...query }, signal) => {
      const { name, kind, bytes, file: content } = await sourceOf(file);
      return client.inspect({ ...(query as InspectOptions), file: content, name, kind, bytes, signal });
    },
  },
  check_file: {
    about:
      'Checks all rows of a file as load_file would load them, and changes nothing. Answers every problem with its cell, and the table as it would be.',
    ...ofUploads,
    isReadOnly: true,
    run: (client, given, signal) => loadFile(client, { ...given, dry_run: true }, signal),
  },
  load_file: {
    about:
      'Loads a file into a table, all or nothing. Check it first (check_file). Without if_exists the table is created; append adds rows, with on_conflict=update also changes rows by their key.',
    ...ofUploads,
    danger: ({ table, file, schema, if_exists: choice, missing_rows: missing, profile }) => {
      const what = `the table ${shown(table ?? tableOf(file), schema)}`;
      if (choice === 'truncate' || choice === 'replace')
        return `Remove all rows of ${what} and load the file ${shown(file)} in their place?`;
      if (missing === 'delete')
        return `Load the file ${shown(file)} into ${what} and delete the rows that the file does not have?`;
      // The parameters of a profile are not known here, and they may replace rows.
      return profile === undefined
        ? undefined
        : `Load the file ${shown(file)} into ${what} with the profile ${shown(profile)}, which may remove rows?`;
    },
    run: loadFile,
  },
  list_tables: {
    about: 'Lists the tables that the token may see.',
    operations: ['listTables'],
    without: ['limit', 'after'],
    isReadOnly: true,
    run: async (client, given, signal) => ({
      tables: await firstOf(client.tables({ ...given, signal }), 1000),
    }),
  },
  describe_table: {
    about: 'Describes a table: its columns, keys and indexes, as a definition that can be sent again.',
    operations: ['describeTable'],
    own: { table: true },
    isReadOnly: true,
    run: (client, { table, ...query }, signal) => client.describeTable(nameOf(table), { ...query, signal }),
  },
  read_rows: {
    about: 'Reads rows of a table, in pages.',
    operations: ['readRows'],
    without: ['format', 'columns'],
    own: { table: true },
    isReadOnly: true,
    run: (client, { table, ...query }, signal) => client.rows(nameOf(table), { ...query, signal }),
  },
  export_table: {
    about:
      'Writes all rows of a table into a file of this machine: .csv, .ndjson, .json or .xlsx. After a correction, load_file takes it with if_exists=append, on_conflict=update and, for .csv, quoted=exact.',
    operations: ['readRows'],
    without: ['format'],
    own: { file: true, table: true },
    danger: ({ table, schema, file }) =>
      typeof file === 'string' && existsSync(file)
        ? `Replace the file ${shown(file)} by the rows of the table ${shown(table, schema)}?`
        : undefined,
    run: exportInto,
  },
  create_table: {
    about: 'Creates a table from a definition, without rows.',
    operations: ['createTable'],
    own: { table: true, definition: true },
    run: (client, { table, definition, ...query }, signal) =>
      client.createTable(nameOf(table), definition as TableDefinition, { ...query, signal }),
  },
  alter_table: {
    about:
      'Makes a table what a definition says: what it leaves out stays, and a column that it does not list is dropped. With dry_run it only answers the changes. What loses something needs allow.',
    operations: ['alterTable'],
    own: { table: true, new_definition: true },
    danger: ({ table, schema, allow, dry_run: isTrial }) =>
      isTrial === true || !allow
        ? undefined
        : `Change the table ${shown(table, schema)}, although this may lose something (${allow})?`,
    run: (client, { table, new_definition: definition, ...query }, signal) =>
      client.alterTable(nameOf(table), definition as AlteredTable, { ...query, signal }),
  },
  rename_table: {
    about: 'Gives a table another name, another schema or another comment.',
    operations: ['renameTable'],
    own: { table: true, change: true },
    run: (client, { table, change, ...query }, signal) =>
      client.renameTable(nameOf(table), change as object, { ...query, signal }),
  },
  drop_table: {
    about:
      'Drops a table with all its rows. With dry_run it only says whether anything else needs the table.',
    operations: ['dropTable'],
    own: { table: true },
    danger: ({ table, schema, dry_run: isTrial }) =>
      isTrial === true ? undefined : `Drop the table ${shown(table, schema)} with all its rows?`,
    run: async (client, { table, ...query }, signal) => {
      await client.dropTable(nameOf(table), { ...query, signal });
      return { table, outcome: query.dry_run === true ? 'could be dropped' : 'dropped' };
    },
  },
  list_loads: {
    about: 'Lists the loads of the token, the newest first.',
    operations: ['listLoads'],
    without: ['after', 'limit'],
    isReadOnly: true,
    run: async (client, given, signal) => ({ loads: await firstOf(client.loads({ ...given, signal }), 50) }),
  },
  list_changes: {
    about:
      'Lists the first rows that a load or check_file with on_conflict=update would insert or change, with old and new values, and counts all.',
    operations: ['listLoadChanges'],
    own: { id: true },
    isReadOnly: true,
    run: (client, { id, ...query }, signal) => client.changesPage(nameOf(id), { ...query, signal }),
  },
  describe_load: {
    about: 'Describes a load, with its answer after it has ended.',
    operations: [],
    own: { id: true },
    isReadOnly: true,
    run: (client, { id }, signal) => client.describeLoad(nameOf(id), { signal }),
  },
};

/** Returns a name in quotes, in one line, so that it cannot look like another part of a question. */
function shown(name: unknown, schema?: unknown): string {
  return schema === undefined ? JSON.stringify(name) : `${JSON.stringify(schema)}.${JSON.stringify(name)}`;
}

async function firstOf<Item>(items: AsyncIterable<Item>, max: number): Promise<Item[]> {
  const first: Item[] = [];
  for await (const item of items) if (first.push(item) === max) break;
  return first;
}

async function loadFile(
  client: Client,
  { file, table, definition, ...query }: Arguments,
  signal: AbortSignal,
): Promise<object> {
  const source = await sourceOf(file);
  const { name, kind, bytes, file: content } = source;
  const options = {
    ...(query as Partial<LoadOptions>),
    table: nameOf(table ?? tableOf(file)),
    name,
    kind,
    bytes,
    signal,
  };
  const isForm = kind === 'spreadsheet';
  if (definition === undefined || isForm)
    return client.load({
      ...options,
      file: content,
      ...(isForm && { definition: definition as UploadDefinition }),
    });
  const joined = await withDefinition(source, definition as UploadDefinition);
  return client.load({ ...options, kind: joined.kind, bytes: joined.bytes, file: joined.file });
}

/** @throws WrongUse if the file cannot be written */
async function exportInto(
  client: Client,
  { table, file, ...query }: Arguments,
  signal: AbortSignal,
): Promise<object> {
  const path = nameOf(file);
  const format = exportFormats.find((one) => extname(path).toLowerCase() === `.${one}`);
  if (format === undefined) throw new WrongUse(`"file" must end in .${exportFormats.join(', .')}.`);
  const rows = await client.exportRows(nameOf(table), { ...query, format, signal });
  let bytes = 0;
  try {
    await intoFile(path, async (write) => {
      for await (const chunk of rows as unknown as AsyncIterable<Uint8Array>) {
        await write(chunk);
        bytes += chunk.byteLength;
      }
    });
  } catch (error) {
    await rows.cancel().catch(() => {});
    throw isOfFile(error) ? new WrongUse((error as Error).message) : brokenOff(error);
  }
  return { table, file: path, bytes };
}

/** @throws WrongUse */
async function sourceOf(file: unknown) {
  const paths = await expandPaths([nameOf(file)]);
  const isFile = statSync(paths[0]!, { throwIfNoEntry: false })?.isFile() === true;
  if (paths.length !== 1 || !isFile) throw new WrongUse('"file" is the path of one file.');
  return openSource(paths[0]!, undefined);
}

function tableOf(file: unknown): string {
  return parse(unpackedPath(nameOf(file))).name;
}

/** @throws WrongUse */
function nameOf(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new WrongUse('"file", "table" and "id" are texts.');
}
