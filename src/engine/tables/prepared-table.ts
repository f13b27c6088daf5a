/** A definition that was checked against the database, and that PostgreSQL will accept. */

import type { ClientBase } from 'pg';
import type { Warning } from '../../core/errors.ts';
import type { CatalogType, TypeName } from './column-types.ts';
import type { DistributionDefinition, KeyDefinition } from './definition.ts';
import type { Placement } from './distribution/placement.ts';
import type { CheckDefinition, GeneratedDefinition } from './expressions/checks.ts';
import type { ForeignKeyDefinition } from './foreign-keys.ts';
import type { IndexDefinition } from './indexes/index-definition.ts';
import type { Numbering } from './numbering.ts';
import type { ObjectNames } from './object-names.ts';

export interface PreparedTable {
  schema: string;
  name: string;
  columns: PreparedColumn[];
  comment: string | undefined;
  isUnlogged: boolean;
  primaryKey: KeyDefinition | undefined;
  unique: KeyDefinition[];
  foreignKeys: PreparedForeignKey[];
  checks: CheckDefinition[];
  indexes: IndexDefinition[];
  /** The definition lists the table's indexes, so other indexes of an existing table are differences. See `TableDefinition`. */
  saysIndexes: boolean;
  /** The functions (`schema.name`) of DEFAULT_FUNCTIONS that its expressions call; undefined: it has no expressions (prove-expressions.ts). */
  allowedCode: readonly string[] | undefined;
  /** It has expressions, and a type that belongs neither to PostgreSQL nor to an extension. */
  needsProof: boolean;
  /** Where Citus puts the table; undefined: the database has no Citus. */
  placement: Placement | undefined;
  /** The distribution in the definition; undefined: the definition has none. */
  distribution: DistributionDefinition | undefined;
  /** The names of the table's parts. They were free in the schema when they were looked up. */
  names: ObjectNames;
  /**
   * Chooses names that are free now, after another session has used one of `names`.
   *
   * @param made the sequences that the transaction has created already, which keep their names
   * @throws AppError `invalid-definition` if the definition itself gives that name
   */
  chooseNamesAgain: (client: ClientBase, made?: ObjectNames['sequences']) => Promise<ObjectNames>;
  /** The table or other object that had the name in the schema when the name was locked. */
  existing: ExistingObject | undefined;
  /** The warnings for the answer, if the table is created. */
  warnings: Warning[];
}

export interface ExistingObject {
  oid: number;
  /** `pg_class.relkind`, or `type` for a type without a relation. */
  kind: string;
}

export interface PreparedColumn {
  /** The JSON Pointer of the column. */
  pointer: string;
  name: string;
  /** The type as the caller wrote it. */
  typeText: string;
  /** The type in SQL, qualified and with modifiers. */
  typeSql: string;
  typeName: TypeName;
  type: CatalogType;
  /** `sql`: the expression, when its names were looked up. */
  generated: (GeneratedDefinition & { sql: string | undefined }) | undefined;
  isNullable: boolean;
  /** `sequence`: the default takes numbers from a sequence that the column owns. */
  identity: 'none' | 'by default' | 'always' | 'sequence';
  /** The type of the sequence that the column owns. */
  sequenceType: string | undefined;
  numbering: Numbering | undefined;
  /** The default in SQL: a literal or an expression. */
  defaultSql: string | undefined;
  comment: string | undefined;
}

export interface PreparedForeignKey extends ForeignKeyDefinition {
  /** The foreign key refers to its own table, which may have a temporary name while it is built. */
  isSelf: boolean;
}
