/** The commands about tables without files: `tablewright create`, `describe`, `drop`, `rename`, `tables` and `rows` */
import type { TableDefinition, TableDescription } from '../client/client.ts';
import { noteWarnings } from './as-options.ts';
import type { CommandLine } from './commands.ts';
import { withClient } from './connect.ts';
import { WrongUse } from './exit-codes.ts';
import { inBytes, inThousands, note, say, sayJson, sayTable } from './print.ts';
import { readDefinition } from './source.ts';

export async function create(line: CommandLine): Promise<number> {
  const { options } = line;
  const name = nameOf(line);
  if (options.definition === undefined)
    throw new WrongUse('Name the file of the definition with --definition.');
  const definition = readDefinition(options.definition as string) as TableDefinition;
  const isLenient = options['if-not-exists'] === true;
  return withClient(line, async ({ client }) => {
    const created = await client.createTable(name, definition, {
      ...schemaOf(line),
      if_not_exists: isLenient,
      new_names: options['new-names'] === true,
    });
    const { table, warnings = [], differences } = created;
    if (options.json) {
      sayJson(created);
      return;
    }
    noteWarnings(warnings);
    for (const difference of differences ?? []) note(`different: ${difference}`);
    if (!options.quiet)
      say(
        `${table.schema}.${table.name} ${differences ? 'already exists, and is unchanged' : 'is created'}.`,
      );
  });
}

export async function describe(line: CommandLine): Promise<number> {
  const name = nameOf(line);
  return withClient(line, async ({ client }) => {
    const described = await client.describeTable(name, schemaOf(line));
    if (line.options.json) sayJson(described);
    else show(described.table);
  });
}

export async function drop(line: CommandLine): Promise<number> {
  const { options } = line;
  const name = nameOf(line);
  const isTrial = options['dry-run'] === true;
  return withClient(line, async ({ client }) => {
    const query = { if_exists: options['missing-ok'] === true, dry_run: isTrial };
    await client.dropTable(name, { ...schemaOf(line), ...query });
    const done = isTrial ? 'could be dropped' : 'is dropped';
    if (options.json) sayJson({ table: name, outcome: isTrial ? 'checked' : 'committed' });
    else if (!options.quiet) say(`${name} ${done}.`);
  });
}

export async function rename(line: CommandLine): Promise<number> {
  const { options, positionals } = line;
  const [name, newName] = positionals;
  const schema = options['to-schema'] as string | undefined;
  if (name === undefined || positionals.length > 2) throw new WrongUse('Name one table, and its new name.');
  if (newName === undefined && schema === undefined)
    throw new WrongUse('Say the new name of the table, or its new schema with --to-schema.');
  const change = { ...(newName !== undefined && { name: newName }), ...(schema !== undefined && { schema }) };
  return withClient(line, async ({ client }) => {
    const renamed = await client.renameTable(name, change, schemaOf(line));
    if (options.json) sayJson(renamed);
    else if (!options.quiet) say(`${name} is now ${renamed.table.schema}.${renamed.table.name}.`);
  });
}

export async function list(line: CommandLine): Promise<number> {
  if (line.positionals.length > 0) throw new WrongUse('Name a schema with --schema.');
  return withClient(line, async ({ client }) => {
    const rows: string[][] = [];
    for await (const table of client.tables(schemaOf(line))) {
      if (line.options.json) sayJson(table);
      const { schema, name, estimated_rows: count, bytes } = table;
      rows.push([
        schema,
        name,
        count === null ? '' : inThousands(count),
        bytes === null ? '' : inBytes(bytes),
      ]);
    }
    if (!line.options.json) sayTable(['schema', 'table', 'rows (estimated)', 'size'], rows);
  });
}

export async function rows(line: CommandLine): Promise<number> {
  const name = nameOf(line);
  const { limit } = line.options;
  return withClient(line, async ({ client }) => {
    const found = await client.rows(name, {
      ...schemaOf(line),
      ...(limit !== undefined && { limit: limit as unknown as number }),
    });
    if (line.options.json) {
      for (const row of found.rows) sayJson(row);
      return;
    }
    const names = Object.keys(found.rows[0] ?? {});
    const cells = found.rows.map((row) => names.map((column) => cellText(row[column])));
    if (names.length === 0) say(`${name} has no rows.`);
    else sayTable(names, cells);
  });
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function nameOf({ positionals }: CommandLine): string {
  if (positionals.length !== 1) throw new WrongUse('Name one table.');
  return positionals[0]!;
}

function schemaOf({ options }: CommandLine): { schema?: string } {
  return options.schema === undefined ? {} : { schema: options.schema as string };
}

function show({ schema, name, columns, constraints, indexes = [] }: TableDescription): void {
  say(`${schema}.${name}`);
  const rows = columns.map((column) => [
    column.name,
    column.type,
    column.is_nullable ? '' : 'NOT NULL',
    column.default ?? '',
  ]);
  sayTable(['column', 'type', '', 'default'], rows);
  const { primary_key: primaryKey, unique, foreign_keys: foreignKeys } = constraints;
  if (primaryKey.columns.length > 0) say(`primary key: ${primaryKey.columns.join(', ')}`);
  for (const key of unique) say(`unique: ${key.columns.join(', ')}`);
  for (const key of foreignKeys) {
    const rules = [
      key.on_delete && `, on delete ${key.on_delete}`,
      key.on_update && `, on update ${key.on_update}`,
      key.deferrable && `, deferrable ${key.deferrable}`,
      key.not_valid && ', not valid',
    ];
    const target = `${key.reference_schema}.${key.reference_table}.${key.reference_column}`;
    say(`foreign key: ${key.column} → ${target}${rules.filter(Boolean).join('')}`);
  }
  for (const { expression, not_valid: isNotValid } of constraints.checks ?? [])
    say(`check: ${expression}${isNotValid ? ', not valid' : ''}`);
  for (const { unique, method = 'btree', columns: own } of indexes) {
    say(`${unique ? 'unique index' : 'index'} (${method}): ${own.map(({ column }) => column).join(', ')}`);
  }
}
