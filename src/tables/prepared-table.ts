/** A definition that was checked against the database and that PostgreSQL will take. */
import type { ClientBase } from 'pg';
import type { CatalogType } from './column-types.ts';
import type { ForeignKeyDefinition, KeyDefinition } from './definition.ts';
import type { ObjectNames } from './object-names.ts';
import type { DefinitionWarning } from './text-defaults.ts';

export interface PreparedTable {
  schema: string;
  name: string;
  columns: PreparedColumn[];
  primaryKey: KeyDefinition | undefined;
  unique: KeyDefinition[];
  foreignKeys: PreparedForeignKey[];
  /** Of all its parts; free in the schema when it was looked. */
  names: ObjectNames;
  /**
   * Names that are free now, after one of `names` turned out to be taken.
   *
   * @throws AppError `invalid-definition` where it is a name that the definition gives
   */
  chooseNamesAgain: (client: ClientBase) => Promise<ObjectNames>;
  /** What had the name in the schema when the lock on the name was taken: a table or anything else. */
  existing: ExistingObject | undefined;
  /** For the answer, if a table is made of the definition. */
  warnings: DefinitionWarning[];
}

export interface ExistingObject {
  oid: number;
  /** `pg_class.relkind`, or `type`. */
  kind: string;
}

export interface PreparedColumn {
  name: string;
  /** As the caller wrote it. */
  typeText: string;
  /** In SQL: qualified, with modifiers. */
  typeSql: string;
  type: CatalogType;
  isNullable: boolean;
  identity: 'none' | 'by default' | 'always';
  /** In SQL: a literal or an expression. */
  defaultSql: string | undefined;
}

export interface PreparedForeignKey extends ForeignKeyDefinition {
  /** It refers to the table itself, whatever name that is made under. */
  isSelf: boolean;
}
