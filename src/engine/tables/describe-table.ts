/**
 * Describes a table from PostgreSQL's catalogue, in a form that can be sent again as a definition.
 *
 * It describes all tables and partitioned tables, but no views, materialized views, foreign tables or sequences. The
 * description has a separate member, `others`, for constraints and indexes that a definition cannot express. A definition with this
 * member is refused, so a copy of a table never loses them without an error.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../core/errors.ts';
import { didYouMean } from '../../core/identifiers.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { forEachInTurns, mapInTurns } from '../../core/pause-for-others.ts';
import { digitsOf, typesOfConstants } from '../../postgres/expression-trees.ts';
import { toQuery } from '../../postgres/own-session.ts';
import { describeRelation, type TableFacts } from './catalog/describe-relation.ts';
import { type ExpressionTree, maxTextBytes, readTrees } from './catalog/expressions.ts';
import { kindInWords } from './catalog/relations.ts';
import { findTypeParts } from './catalog/type-parts.ts';
import { describeDefault, writeTypes } from './defaults.ts';
import type { ColumnDescription, DistributionDescription, TableDescription } from './definition.ts';
import { describeDistribution } from './distribution/describe-distribution.ts';
import { hintAtDottedName } from './dotted-name.ts';
import type { CheckDescription } from './expressions/checks.ts';
import { expressionOfCheck, KnownExpressions } from './expressions/describe-expressions.ts';
import type { ForeignKeyAction } from './foreign-keys.ts';
import { describeIndex, type IndexFacts } from './indexes/describe-indexes.ts';
import { describeKeyOptions } from './key-options.ts';
import { describeNumbering } from './numbering.ts';
import { typeWidths } from './type-width.ts';
import { describeTypes } from './types/describe-types.ts';

/**
 * Describes a table. Takes one round trip if the table exists.
 *
 * @param extraFunctions see `PrepareOptions`: a definition can express defaults that call these functions
 * @throws AppError `schema-not-found`; `table-not-found`, which tells what else has the name; `limit-exceeded` if its defaults are too long
 */
export async function describeTable(
  client: ClientBase,
  schema: string,
  name: string,
  extraFunctions: readonly string[] = [],
): Promise<TableDescription> {
  return describeFound(client, schema, name, await readTable(client, schema, name), extraFunctions);
}

/**
 * Returns the description of a table whose facts were read. The answer for a table that the role may not see is the same as for
 * a table that does not exist.
 *
 * @param facts the result of `describeRelation`
 * @throws the errors of `describeTable`
 */
export async function describeFound(
  client: ClientBase,
  schema: string,
  name: string,
  facts: TableFacts | undefined,
  extraFunctions: readonly string[],
): Promise<TableDescription> {
  if (facts !== undefined && !facts.maySee)
    return describeFound(client, schema, name, undefined, extraFunctions);
  if (facts !== undefined && isTable(facts.kind) && !facts.isRead) {
    await checkTexts(client, facts.oid);
    const measured = await readTable(client, schema, name, true);
    return describeFound(client, schema, name, measured, extraFunctions);
  }
  if (facts !== undefined && isTable(facts.kind))
    return toDescription(schema, name, facts, extraFunctions, await describeDistribution(client, facts));
  const kind = facts && kindInWords(facts.kind);
  if (facts === undefined) await requireSchemaExists(client, schema);
  const hint = facts === undefined ? await suggestTables(client, schema, name) : '';
  throw new AppError(
    'table-not-found',
    kind === undefined
      ? `There is no table "${name}" in the schema "${schema}".${hintAtDottedName(name) || hint}`
      : `"${name}" in the schema "${schema}" is ${kind}, not a table.`,
  );
}

/** Suggests other tables of the schema with a similar name. It leaves out tables on which the role has no privilege. */
export async function suggestTables(client: ClientBase, schema: string, name: string): Promise<string> {
  const { rows } = await client.query<{ relname: string }>(
    `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relname <> $2
       AND has_schema_privilege(n.oid, 'USAGE')
       AND has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
     ORDER BY lower(c.relname) <> lower($2), c.relname LIMIT 1000`,
    [schema, name],
  );
  const names = rows.map(({ relname }) => relname);
  return didYouMean(name, names, 0);
}

/** @throws AppError `schema-not-found` */
export async function requireSchemaExists(client: ClientBase, schema: string): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rowCount === 0) throw new AppError('schema-not-found', `There is no schema "${schema}".`);
}

export async function readTable(
  client: ClientBase,
  schema: string,
  name: string,
  isMeasured = false,
): Promise<TableFacts | undefined> {
  const { rows } = await client.query<{ found: TableFacts | null }>(
    toQuery(client, describeRelation(schema, name, isMeasured)),
  );
  return rows[0]!.found ?? undefined;
}

/** Checks that the texts of a table's defaults and checks are not too long. @throws AppError `limit-exceeded` */
export async function checkTexts(client: ClientBase, oid: number): Promise<void> {
  const { rows } = await client.query<ExpressionTree>(readTrees(oid));
  const types = typesOfConstants(rows.flatMap(({ tree }) => tree ?? []));
  const contained = types.length === 0 ? undefined : await client.query(findTypeParts(types));
  const widthOf = typeWidths(contained?.rows[0].nodes ?? []);
  let digits = 0;
  for (const { name, isColumn, isShort, tree } of rows) {
    if (tree !== null) digits += await digitsOf(tree, (type) => widthOf(type, -1).cost.hasNumbers);
    if (isShort && digits <= maxTextBytes) continue;
    const owner = isColumn ? 'the default of the column' : 'the constraint';
    const what = `The texts of the table's defaults and constraints, up to ${owner} "${name}", are too long to be described`;
    throw limitExceeded(what, maxTextBytes, 'bytes');
  }
}

/** Returns whether a `pg_class.relkind` is that of an ordinary or a partitioned table. */
export function isTable(kind: string): boolean {
  return kind === 'r' || kind === 'p';
}

/** Turns the facts from the catalogue into the `table` of an answer. It works in turns. */
export async function toDescription(
  schema: string,
  name: string,
  facts: TableFacts,
  extraFunctions: readonly string[],
  distribution: DistributionDescription | undefined,
): Promise<TableDescription> {
  const columns = facts.columns ?? [];
  const types = describeTypes(facts.types);
  const names = columns.map((column) => column.name);
  const known = new KnownExpressions(names, extraFunctions);
  const constraints = await describeConstraints(facts, known);
  if (facts.partitioning)
    constraints.others = [...(constraints.others ?? []), { name, definition: facts.partitioning }];
  const indexes: IndexFacts[] = [];
  for (const index of facts.indexes ?? []) {
    const other = index.definition ?? ((await isExpressible(index, known)) ? null : index.text);
    if (other === null) indexes.push(index);
    else if (other !== '')
      constraints.others = [...(constraints.others ?? []), { name: index.name, definition: other }];
  }
  return {
    name,
    schema,
    ...(facts.comment !== null && { comment: facts.comment }),
    ...(facts.isUnlogged && { unlogged: true }),
    columns: await mapInTurns(columns, (column) => describeColumn(column, extraFunctions)),
    constraints,
    ...(indexes.length > 0 && { indexes: indexes.map(describeIndex) }),
    ...(types.length > 0 && { types }),
    ...(distribution && { distribution }),
  };
}

/** Returns whether a definition can have the expressions of an index. */
async function isExpressible(
  { text, columns, where, ownCode }: IndexFacts,
  known: KnownExpressions,
): Promise<boolean> {
  const texts = [...columns.map(({ expression }) => expression), where].filter(
    (expression) => expression !== null,
  );
  return text === null || known.has(texts, ownCode);
}

type SequenceType = NonNullable<NonNullable<ColumnDescription['sequence']>['type']>;

const serialNames: Record<string, string> = {
  smallint: 'smallserial',
  integer: 'serial',
  bigint: 'bigserial',
};

function describeColumn(
  column: NonNullable<TableFacts['columns']>[number],
  extraFunctions: readonly string[],
): ColumnDescription {
  const description: ColumnDescription = {
    id: column.id,
    name: column.name,
    type: column.type,
    is_nullable: !column.notNull,
    default: null,
    ...(column.comment !== null && { comment: column.comment }),
  };
  const serial = serialNames[column.type];
  const sequence = column.default?.ownSequence;
  if (column.identity !== '' || (sequence && column.notNull && serial !== undefined)) {
    description.type = serial ?? column.type;
    const counted = column.numbering ?? sequence?.numbering;
    const type = counted?.type as SequenceType | undefined;
    if (sequence?.isInSchema)
      description.sequence = { name: sequence.name, ...(type && type !== column.type && { type }) };
    if (column.identity === 'a') description.identity = 'always';
    const numbering = describeNumbering(counted, type ?? column.type);
    if (numbering !== undefined) description.numbering = numbering;
  } else if (column.generated !== '') {
    description.generated = column.default && writeTypes(column.default);
    if (column.generated === 'v') description.generated_kind = 'virtual';
  } else if (column.default !== null) {
    const expression = writeTypes(column.default);
    const { text, isExpression } = describeDefault({ ...column.default, expression }, extraFunctions);
    description.default = text ?? null;
    if (isExpression) description.default_is_expression = true;
  }
  return description;
}

async function describeConstraints(
  facts: TableFacts,
  known: KnownExpressions,
): Promise<TableDescription['constraints']> {
  const columnNames = new Map(facts.columns?.map((column) => [column.id, column.name]));
  const constraints: TableDescription['constraints'] = {
    unique: [],
    primary_key: { name: '', columns: [] },
    foreign_keys: [],
  };
  const others: { name: string; definition: string }[] = [];
  const checks: CheckDescription[] = [];
  for (const { name, kind, definition, ownCode, qualifiedTypes, isValid } of facts.constraints ?? []) {
    const expression = kind === 'c' ? expressionOfCheck(definition ?? '') : undefined;
    if (expression !== undefined && (await known.has([expression], ownCode)))
      checks.push({
        name,
        expression: writeTypes({ expression, qualifiedTypes }),
        ...(!isValid && { not_valid: true }),
      });
    else if (kind === 'c' && definition) others.push({ name, definition });
  }
  const describeConstraint = ({ name, kind, definition, columns: ids, key, ...facts }: ConstraintFacts) => {
    const namesOf = (ids: number[]) => ids.map((id) => columnNames.get(id)!);
    const columns = namesOf(ids ?? []);
    const { reference, deferrable } = facts;
    if (definition === '' || kind === 'c') return;
    if (definition !== null) others.push({ name, definition });
    else if (key !== null) {
      const { areNullsDistinct } = key;
      const options = {
        include: namesOf(key.include),
        deferrable: deferrable ?? undefined,
        areNullsDistinct,
      };
      const described = { name, columns, ...describeKeyOptions(options) };
      if (kind === 'p') constraints.primary_key = described;
      else constraints.unique.push(described);
    } else {
      for (const [index, column] of columns.entries()) {
        constraints.foreign_keys.push({
          name,
          column,
          reference_table: reference!.table,
          reference_column: reference!.columns[index]!,
          reference_schema: reference!.schema,
          ...describeRules(reference!, facts),
        });
      }
    }
  };
  const weigh = ({ columns }: ConstraintFacts) => columns?.length ?? 1;
  await forEachInTurns(facts.constraints ?? [], describeConstraint, weigh);
  if (checks.length > 0) constraints.checks = checks;
  if (others.length > 0) constraints.others = others;
  return constraints;
}

/** Returns the rules of a foreign key that differ from PostgreSQL's defaults. */
function describeRules(
  { onDelete, onUpdate }: NonNullable<ConstraintFacts['reference']>,
  { deferrable, isValid }: Pick<ConstraintFacts, 'deferrable' | 'isValid'>,
) {
  return {
    ...(onDelete !== 'a' && { on_delete: actions[onDelete]! }),
    ...(onUpdate !== 'a' && { on_update: actions[onUpdate]! }),
    ...(deferrable && { deferrable }),
    ...(!isValid && { not_valid: true }),
  };
}

/** The values of `pg_constraint.confdeltype` and `confupdtype` in the words of a definition. */
const actions: Record<string, ForeignKeyAction> = {
  r: 'restrict',
  c: 'cascade',
  n: 'set null',
  d: 'set default',
};

type ConstraintFacts = NonNullable<TableFacts['constraints']>[number];
