/** Compares a table with its replacement, and finds the statements that swap them. */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { refuseUnless } from '../../../postgres/refuse-unless.ts';
import { apartInCallersPath, toEndInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../postgres/sql.ts';
import { describeRelation, type TableFacts } from '../catalog/describe-relation.ts';
import type { Naming } from '../ddl.ts';
import type { DefaultFacts } from '../defaults.ts';
import type { TableDescription } from '../definition.ts';
import { isTable, toDescription } from '../describe-table.ts';
import { describeDistribution } from '../distribution/describe-distribution.ts';
import { type ObjectNames, relationNames } from '../object-names.ts';
import type { PreparedTable } from '../prepared-table.ts';
import { parseRelationName } from '../sql-tokens.ts';
import { fingerprint } from './fingerprint.ts';
import { type Inheritance, inheritanceStatements, readInheritance } from './inheritance.ts';
import { readLost } from './lost.ts';
import { refuseDependents } from './refuse-dependents.ts';

/** The table that will replace the existing one. */
export interface Replacement {
  table: PreparedTable;
  /** Its temporary names. */
  aside: Naming;
  extraFunctions: readonly string[];
}

export interface Swapped {
  description: TableDescription;
  /** The oid of the new table. */
  oid: number;
  /** PostgreSQL's descriptions of the objects and properties that the old table had and the new table does not have. */
  lost: string[];
}

export interface SwapPlan {
  /** The statements to run under the lock. The first one checks that the plan is still valid. */
  statements: string[];
  swapped: Swapped;
}

/** Compares both tables, and does the part of the swap that needs no lock on the old table. Returns what remains to be done under the lock. */
export async function planSwap(client: ClientBase, replacement: Replacement): Promise<SwapPlan> {
  const { table, aside } = replacement;
  const { schema, name } = table;
  const old = quoteQualified(schema, name);
  const built = quoteQualified(schema, aside.name);
  // The fingerprint is read first, so every later change is noticed.
  const { rows } = await client.query<{ fingerprint: string | null; kind: string | null }>(
    `SELECT ${fingerprint(old)} AS fingerprint, (SELECT relkind::text FROM pg_class WHERE oid = to_regclass(${quoteLiteral(old)})) AS kind`,
  );
  const { fingerprint: before, kind } = rows[0]!;
  if (before === null || kind === null || !isTable(kind)) throw droppedMeanwhile();
  await refuseDependents(client, schema, name, built);
  const [inherited, lost, described] = await pipeline(client, [
    readInheritance(old, built),
    readLost(old, built),
    describeRelation(schema, aside.name, true),
  ]);
  const inheritance: Inheritance = inherited!.rows[0];
  const facts: TableFacts | null = described!.rows[0].found;
  // Only a rename of the schema can hide the new table, because other sessions cannot see it yet.
  if (facts === null) throw droppedMeanwhile();
  const statements = inheritanceStatements(inheritance, built);
  if (statements.length > 0) await pipeline(client, apartInCallersPath(...statements));
  return {
    statements: [
      refuseUnless(`${fingerprint(old)} = ${quoteLiteral(before)}`, 'the table has changed'),
      // These statements run in the callers' search path, because functions of event triggers expect it.
      ...toEndInCallersPath(
        // The new table continues to use these sequences, so they must not be dropped with the old one.
        ...inheritance.sequences.map(
          ({ sequence, column }) =>
            qualified`ALTER SEQUENCE ${sequence} OWNED BY ${built}.${quoteIdentifier(column)}`,
        ),
        qualified`DROP TABLE ${old}`,
        qualified`ALTER TABLE ${built} RENAME TO ${quoteIdentifier(name)}`,
        ...renames(schema, withActualSequences(aside.names, inheritance), table.names),
      ),
    ],
    swapped: {
      description: await describeSwapped(client, facts, replacement, inheritance),
      oid: facts.oid,
      lost: (lost!.rows[0].found as { what: string }[]).map(({ what }) => what),
    },
  };
}

/** Returns the description that the new table will have after the swap. */
async function describeSwapped(
  client: ClientBase,
  facts: TableFacts,
  replacement: Replacement,
  { sequences, comment, columnComments }: Inheritance,
): Promise<TableDescription> {
  const { table, aside, extraFunctions } = replacement;
  const { schema, name, names } = table;
  const before = relationNames(aside.names);
  const after = new Map(relationNames(names).map((name, index) => [before[index], name]));
  const kept = new Map(
    sequences.map(({ column, sequence, numbering }) => [
      column,
      { name: parseRelationName(sequence)!.name, isInSchema: true, numbering },
    ]),
  );
  const inherited = new Map(columnComments.map(({ column, text }) => [column, text]));
  return toDescription(
    schema,
    name,
    {
      ...facts,
      columns:
        facts.columns?.map((column) => ({
          ...column,
          comment: inherited.get(column.name) ?? column.comment,
          default: column.default && {
            ...column.default,
            ownSequence: kept.get(column.name) ?? withFinalName(column.default.ownSequence, after),
          },
        })) ?? null,
      comment: comment ?? facts.comment,
      indexes:
        facts.indexes?.map((index) => ({
          ...index,
          name: after.get(index.name) ?? index.name,
          // All indexes of the new table are those of its definition.
          definition: null,
        })) ?? null,
      constraints:
        facts.constraints?.map((constraint) => {
          const { reference } = constraint;
          const isSelf = reference?.schema === schema && reference.table === aside.name;
          return {
            ...constraint,
            name: after.get(constraint.name) ?? constraint.name,
            reference: isSelf ? { ...reference, table: name } : reference,
          };
        }) ?? null,
    },
    extraFunctions,
    await describeDistribution(client, facts),
  );
}

function withFinalName(sequence: DefaultFacts['ownSequence'], finalNames: Map<string | undefined, string>) {
  return sequence && { ...sequence, name: finalNames.get(sequence.name) ?? sequence.name };
}

/**
 * Returns the names that the parts of the new table really have. They may differ from the chosen ones: if a foreign key makes Citus
 * manage an ordinary table, Citus replaces the sequences of its identity columns by sequences with names that PostgreSQL chooses.
 */
function withActualSequences(names: ObjectNames, { identities }: Inheritance): ObjectNames {
  const actual = new Map(identities.map(({ column, sequence }) => [column, sequence]));
  const sequences = [...names.sequences].map(
    ([column, name]) => [column, actual.get(column) ?? name] as const,
  );
  return { ...names, sequences: new Map(sequences) };
}

/** Returns the statements that give indexes, their constraints, and sequences their final names. */
function renames(schema: string, before: ObjectNames, after: ObjectNames): CallersStatement[] {
  const sequences = new Set(before.sequences.values());
  const finalNames = relationNames(after);
  return relationNames(before).map((name, index) => {
    const kind = sequences.has(name) ? 'SEQUENCE' : 'INDEX';
    return qualified`ALTER ${kind} ${quoteQualified(schema, name)} RENAME TO ${quoteIdentifier(finalNames[index]!)}`;
  });
}

/** Returns the error for a table that does not exist any more. */
export function droppedMeanwhile(cause?: unknown): AppError {
  const detail =
    'The table was dropped or renamed while its replacement was loaded. Send the request again to create the table.';
  return new AppError('write-conflict', detail, { cause });
}
