/** The foreign keys of a definition: their schemas, and the form that the code uses. */
import Type from 'typebox';
import {
  ColumnNameSchema,
  ConstraintName,
  closed,
  nameLength,
  notValid,
  optionalChoice,
  orNull,
} from './name-schemas.ts';

/** What PostgreSQL does with rows that refer to a row, if that row is deleted or its key changes (PostgreSQL, CREATE TABLE). */
const foreignKeyActions = ['no action', 'restrict', 'cascade', 'set null', 'set default'] as const;
/** When PostgreSQL checks a constraint that is deferrable. */
export const foreignKeyTimes = ['initially immediate', 'initially deferred'] as const;

export type ForeignKeyAction = (typeof foreignKeyActions)[number];
export type ForeignKeyTime = (typeof foreignKeyTimes)[number];

/** The rules of a foreign key. Answers have those that differ from PostgreSQL's defaults. */
export const foreignKeyRules = {
  on_delete: optionalChoice(
    foreignKeyActions,
    'What happens to a row of this table if the row that it refers to is deleted. Default: `no action`.',
  ),
  on_update: optionalChoice(
    foreignKeyActions,
    'What happens to a row of this table if the key that it refers to changes. Default: `no action`.',
  ),
  deferrable: optionalChoice(
    foreignKeyTimes,
    'A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. Default: it cannot.',
  ),
  ...notValid,
};

const referenceSchema = orNull(Type.String({ maxLength: nameLength.maxLength }), {
  description: 'The schema of the table that the key refers to. Default: `public`.',
});

const referenceTable = Type.String({
  ...nameLength,
  description: 'The table that the key refers to. It may be this table.',
  examples: ['customers'],
});

export const ForeignKeySchema = Type.Object(
  {
    name: ConstraintName('orders_customer_id_fkey'),
    column: Type.String({ ...nameLength, description: 'A column of this table.', examples: ['customer_id'] }),
    reference_table: referenceTable,
    reference_column: Type.String({
      ...nameLength,
      description: 'The column that the column refers to. It must be a primary key or unique.',
      examples: ['id'],
    }),
    reference_schema: referenceSchema,
    ...foreignKeyRules,
  },
  closed(
    'ForeignKey',
    'One pair of columns of a foreign key. Entries that share a non-empty name form one composite key, in their order.',
  ),
);

/** The form of a foreign key with lists of columns (`columns`, `reference_columns`), in requests only. */
export const WholeForeignKeySchema = Type.Object(
  {
    name: ConstraintName('orders_customer_fkey'),
    columns: Type.Array(ColumnNameSchema, {
      minItems: 1,
      description: 'Columns of this table.',
      examples: [['country', 'customer']],
    }),
    reference_table: referenceTable,
    reference_columns: Type.Array(ColumnNameSchema, {
      minItems: 1,
      description:
        'The column that each of the columns refers to. Together they must be a primary key or unique.',
      examples: [['country', 'number']],
    }),
    reference_schema: referenceSchema,
    ...foreignKeyRules,
  },
  closed(
    'WholeForeignKey',
    'A foreign key with all its columns. Answers have an entry for each pair of columns instead.',
  ),
);

/** One foreign key, composite or not. */
export interface ForeignKeyDefinition {
  name: string | undefined;
  schema: string;
  table: string;
  pairs: ForeignKeyPair[];
  rules: ForeignKeyRules;
}

/** The rules of a foreign key. A member is undefined if PostgreSQL's default applies. */
export interface ForeignKeyRules {
  onDelete: ForeignKeyAction | undefined;
  onUpdate: ForeignKeyAction | undefined;
  deferrable: ForeignKeyTime | undefined;
  notValid: boolean | undefined;
}

export interface ForeignKeyPair {
  /** The JSON Pointer of the entry, and of the two columns in it. */
  pointer: string;
  columnPointer: string;
  referencePointer: string;
  column: string;
  referenceColumn: string;
}
