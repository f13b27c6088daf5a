/** The types of a table definition: the schemas of `table` in requests and answers, and the form that the code uses. */
import Type from 'typebox';
import {
  type CheckDefinition,
  CheckDescriptionSchema,
  CheckSchema,
  type GeneratedDefinition,
  generatedKinds,
} from './expressions/checks.ts';
import {
  type ForeignKeyDefinition,
  ForeignKeySchema,
  foreignKeyRules,
  WholeForeignKeySchema,
} from './foreign-keys.ts';
import { type IndexDefinition, IndexDescriptionSchema, IndexSchema } from './indexes/index-definition.ts';
import { type KeyOptions, keyOptionMembers, uniqueOptionMembers } from './key-options.ts';
import {
  ColumnNameSchema,
  Comment,
  ConstraintName,
  closed,
  Name,
  nameLength,
  optionalBoolean,
  optionalChoice,
  optionalFlag,
  optionalInteger,
  optionalText,
  orNull,
} from './name-schemas.ts';
import { type Numbering, NumberingSchema } from './numbering.ts';
import { maxTypes, type TypeDefinition, TypeEntrySchema } from './types/type-definition.ts';

/** The maximum number of columns of a table and of an index: MaxHeapAttributeNumber and INDEX_MAX_KEYS (PostgreSQL, appendix K). */
export const maxColumns = 1600;
export const maxKeyColumns = 32;

const KeyColumns = (examples: string[]) =>
  orNull(Type.Array(ColumnNameSchema, { maxItems: maxKeyColumns }), {
    description: 'Names of columns of this table, in the order of the key.',
    examples: [examples],
  });

export const UniqueSchema = Type.Object(
  { name: ConstraintName('orders_number_key'), columns: KeyColumns(['number']), ...uniqueOptionMembers },
  closed('UniqueKey', 'A unique constraint. An entry with an empty name and no columns is ignored.'),
);

export const PrimaryKeySchema = Type.Object(
  { name: ConstraintName('orders_pkey'), columns: KeyColumns(['id']), ...keyOptionMembers },
  closed('PrimaryKey', 'The primary key. With an empty name and no columns the table has none.'),
);

const OtherConstraintSchema = Type.Object(
  { name: Type.String(), definition: Type.String({ examples: ['CHECK ((amount > (0)::numeric))'] }) },
  closed(
    'OtherConstraint',
    'A constraint or index that a definition cannot express, as PostgreSQL writes it.',
  ),
);

const others = Type.Optional(
  Type.Array(OtherConstraintSchema, {
    description:
      'Only in answers: constraints and indexes that a definition cannot express (EXCLUDE, MATCH FULL, …). Leave them out of a request.',
  }),
);

export const ConstraintsSchema = Type.Object(
  {
    unique: orNull(Type.Array(UniqueSchema)),
    primary_key: orNull(PrimaryKeySchema),
    foreign_keys: orNull(Type.Array(Type.Union([ForeignKeySchema, WholeForeignKeySchema]))),
    checks: orNull(Type.Array(CheckSchema)),
    others,
  },
  closed('Constraints', 'Keys, foreign keys and CHECK constraints. If absent or null, the table has none.'),
);

const typeDescription =
  'A type of the connected PostgreSQL as it spells it, with modifiers and arrays (varchar(20), numeric(12,2), timestamptz, text[], enums, domains, extension types); serial, bigserial or smallserial for an identity column; or a friendly alias (string, datetime, double, number, blob, …). An alias is always the alias; a type of the database with its name, and the row type of a table, are written in quotes or with their schema.';

const defaultDescription =
  "null: there is no default. '…' or '…'::type: an SQL literal. A call of an allowed function with literal arguments (now(), gen_random_uuid(), nextval('…')) or a keyword such as CURRENT_TIMESTAMP: that expression. Anything else: literal text in the input syntax of the column's type (0, true, pending, {}).";

const expressionMembers = {
  identity: orNull(Type.Literal('always'), {
    description: 'always: the serial column is GENERATED ALWAYS AS IDENTITY, so rows cannot set its value.',
  }),
  generated: orNull(Type.String(), {
    description:
      'The expression of a GENERATED ALWAYS AS (…) column, over other columns of this table. PostgreSQL computes its values.',
    examples: ['net * 1.19'],
  }),
  generated_kind: optionalChoice(
    generatedKinds,
    'Whether the values of a generated column are `stored` (default), or computed when they are read: `virtual`, from PostgreSQL 18 on.',
  ),
  default_is_expression: optionalBoolean(
    "true: `default` is an SQL expression, such as `now() + interval '1 day'`, even if it has operators or other functions.",
  ),
};

const sequenceType = optionalChoice(
  ['smallint', 'integer', 'bigint'],
  'The type of the numbers of the sequence. Default: that of the column.',
);

/** The sequence of a column that is numbered as SERIAL numbers it (PostgreSQL 8.1.4), without an identity. */
export const SequenceSchema = Type.Object(
  {
    name: orNull(Type.String({ maxLength: nameLength.maxLength }), {
      description: 'Name of the sequence. Empty, null or absent: the service chooses one.',
      examples: ['orders_id_seq'],
    }),
    type: sequenceType,
  },
  closed(
    'Sequence',
    'With a type of the serial family: the column takes its default from a sequence that it owns, instead of being an identity column.',
  ),
);

export const ColumnSchema = Type.Object(
  {
    id: Type.Optional(Type.Unknown({ description: 'Ignored: PostgreSQL numbers the columns.' })),
    name: Name('Name of the column.', 'amount'),
    type: Type.String({
      minLength: 1,
      description: typeDescription,
      examples: ['numeric(12,2)', 'text', 'timestamptz'],
    }),
    is_nullable: orNull(Type.Boolean(), {
      description:
        'Whether the column accepts NULL. Default: true. Columns of the primary key never accept it.',
    }),
    default: Type.Optional(
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()], {
        description: `${defaultDescription} A number or boolean means its JSON text.`,
        examples: ['now()', '0', 'pending', 1.5, true, null],
      }),
    ),
    comment: Comment('Without VAT'),
    sequence: orNull(SequenceSchema),
    numbering: orNull(NumberingSchema),
    ...expressionMembers,
  },
  closed('ColumnDefinition', 'A column.'),
);

/** The maximum number of shards of a table: MAX_SHARD_COUNT of Citus. */
export const maxShards = 64_000;

export const distributionPointer = '/table/distribution';

export const distributionKinds = ['column', 'reference', 'schema', 'local'] as const;

const distributionKind = Type.Unsafe<(typeof distributionKinds)[number]>(
  Type.String({
    enum: [...distributionKinds],
    description:
      'column: the value of one column decides on which node a row is. reference: every node has a copy. local: an ordinary table at the coordinator. schema: the schema of the table is distributed, and all its tables are on one node.',
  }),
);

const distributionDescription =
  'How Citus distributes the table over its nodes. Only a PostgreSQL with Citus accepts and answers it.';

export const DistributionSchema = Type.Object(
  {
    kind: distributionKind,
    column: orNull(Type.String(nameLength), {
      description: 'With the kind `column`: the distribution column. Every key of the table must contain it.',
      examples: ['customer_id'],
    }),
    shards: orNull(Type.Number({ minimum: 1, maximum: maxShards, multipleOf: 1 }), {
      description:
        'With the kind `column`: the number of shards. Default: that of the tables that it refers to or replaces, or the setting `citus.shard_count`. Other kinds ignore it.',
    }),
    bytes: Type.Optional(Type.Unknown({ description: 'Ignored: only answers have it.' })),
  },
  closed(
    'Distribution',
    `${distributionDescription} Default: the schema decides. In a distributed schema the table is distributed with it, and in any other schema it is an ordinary table.`,
  ),
);

export const DistributionDescriptionSchema = Type.Object(
  {
    kind: distributionKind,
    column: optionalText('The distribution column.'),
    shards: optionalInteger('The number of shards. An ordinary table has none.'),
    bytes: orNull(Type.Integer(), {
      description:
        'Only in the answer of Describe Table: the size of the table on all nodes, with indexes. null: a node does not answer.',
    }),
  },
  closed('DistributionDescription', distributionDescription),
);

const unlogged = optionalFlag(
  'true: the table is faster to write and empty after a crash of PostgreSQL, and it is on no standby (UNLOGGED).',
);

/**
 * The `table` of a request. No member has the keyword `default`, because several client generators make a member with a default
 * required in requests. The description says the default instead.
 *
 * It accepts every member of the answer's `table`, so you can send an answer again.
 */
export const TableDefinitionSchema = Type.Object(
  {
    name: Type.Optional(Type.Unknown({ description: 'Ignored: the path names the table.' })),
    schema: Type.Optional(Type.Unknown({ description: 'Ignored: the query names the schema.' })),
    columns: Type.Array(ColumnSchema, {
      minItems: 1,
      maxItems: maxColumns,
      description: 'The columns, in the order of the table.',
    }),
    comment: Comment('One row for each order'),
    unlogged,
    constraints: orNull(ConstraintsSchema),
    indexes: orNull(Type.Array(IndexSchema), {
      description: 'The indexes besides those of the keys. They are made after the rows are loaded.',
    }),
    types: orNull(Type.Array(TypeEntrySchema, { maxItems: maxTypes }), {
      description:
        'The enums and domains that the table needs, a domain after the types below it. Those that are missing in the schema of the table are made.',
    }),
    distribution: orNull(DistributionSchema),
  },
  {
    title: 'TableDefinition',
    additionalProperties: false,
    description: 'A table definition.',
    // The example has no `default`, because linters of OpenAPI documents treat an object with `type` and `default` as a schema.
    examples: [
      {
        columns: [
          { name: 'id', type: 'bigserial', is_nullable: false },
          { name: 'number', type: 'varchar(20)', is_nullable: false },
          { name: 'amount', type: 'numeric(12,2)' },
          { name: 'ordered_on', type: 'date' },
        ],
        constraints: {
          unique: [{ name: '', columns: ['number'] }],
          primary_key: { name: 'orders_pkey', columns: ['id'] },
          foreign_keys: [],
        },
      },
    ],
  },
);

/** The `table` of an upload. The columns may come from the rows. */
export const UploadDefinitionSchema = Type.Object(
  {
    ...TableDefinitionSchema.properties,
    columns: Type.Optional({
      ...TableDefinitionSchema.properties.columns,
      description:
        'The columns, in the order of the table. Required, unless `extra_columns=add` takes the columns from the rows.',
    }),
  },
  closed('UploadDefinition', 'A table definition. With `extra_columns=add` it may have only constraints.'),
);

/** The `table` of an answer. */
export const TableDescriptionSchema = Type.Object(
  {
    name: Type.String(),
    schema: Type.String(),
    columns: Type.Array(
      Type.Object(
        {
          id: Type.Integer({
            description:
              'The number of the column in PostgreSQL. It does not change when the column is renamed, and it is never used again.',
          }),
          name: Type.String(),
          type: Type.String({
            description:
              'In the canonical form of PostgreSQL; identity columns as serial, bigserial or smallserial.',
            examples: ['character varying(20)'],
          }),
          is_nullable: Type.Boolean(),
          default: Type.Union([Type.String(), Type.Null()], { examples: ["'pending'::text", 'now()', null] }),
          comment: Type.Optional(Type.String()),
          sequence: Type.Optional(
            Type.Object({ name: Type.String(), type: sequenceType }, { additionalProperties: false }),
          ),
          numbering: Type.Optional(NumberingSchema),
          ...expressionMembers,
        },
        closed('ColumnDescription', 'A column of the table in PostgreSQL.'),
      ),
    ),
    constraints: Type.Object(
      {
        unique: Type.Array(
          Type.Object(
            { name: Type.String(), columns: Type.Array(Type.String()), ...uniqueOptionMembers },
            { additionalProperties: false },
          ),
        ),
        primary_key: Type.Object(
          { name: Type.String(), columns: Type.Array(Type.String()), ...keyOptionMembers },
          {
            additionalProperties: false,
            description: 'With an empty name and no columns the table has no primary key.',
          },
        ),
        foreign_keys: Type.Array(
          Type.Object(
            {
              name: Type.String(),
              column: Type.String(),
              reference_table: Type.String(),
              reference_column: Type.String(),
              reference_schema: Type.String(),
              ...foreignKeyRules,
            },
            { additionalProperties: false },
          ),
        ),
        checks: Type.Optional(Type.Array(CheckDescriptionSchema)),
        others,
      },
      { additionalProperties: false },
    ),
    comment: Type.Optional(Type.String()),
    unlogged,
    indexes: Type.Optional(Type.Array(IndexDescriptionSchema)),
    types: Type.Optional(Type.Array(TypeEntrySchema)),
    distribution: Type.Optional(DistributionDescriptionSchema),
  },
  closed('TableDescription', 'The table in PostgreSQL. You can send this object again as a definition.'),
);

export type TableDescription = Type.Static<typeof TableDescriptionSchema>;
export type ColumnDescription = TableDescription['columns'][number];
export type DistributionDescription = NonNullable<TableDescription['distribution']>;

/** A definition whose JSON has the right form. An empty `name` or `type` marks a value whose problem is already reported. */
export interface TableDefinition {
  columns: ColumnDefinition[];
  comment: string | undefined;
  isUnlogged: boolean;
  primaryKey: KeyDefinition | undefined;
  unique: KeyDefinition[];
  foreignKeys: ForeignKeyDefinition[];
  checks: CheckDefinition[];
  indexes: IndexDefinition[];
  /** The definition has the member `indexes`. If so, every index that it does not list is a difference from the existing table. */
  saysIndexes: boolean;
  types: TypeDefinition[];
  /** Undefined: the schema of the table, or the table that it replaces, decides. */
  distribution: DistributionDefinition | undefined;
}

/** How the table is to be distributed over the nodes of Citus. */
export interface DistributionDefinition {
  kind: (typeof distributionKinds)[number];
  /** The distribution column; undefined for other kinds than `column`. */
  column: string | undefined;
  shards: number | undefined;
}

export interface ColumnDefinition {
  name: string;
  /** The type as the caller wrote it. */
  type: string;
  isNullable: boolean;
  /** The default as the caller wrote it; undefined: none. */
  default: string | undefined;
  /** `default` is an SQL expression. */
  defaultIsExpression: boolean;
  /** Undefined: the column is not generated from others. */
  generated: GeneratedDefinition | undefined;
  /** For serial types: the column is GENERATED ALWAYS AS IDENTITY instead of BY DEFAULT. */
  identityAlways: boolean;
  /** For serial types: the column owns a sequence instead of being an identity column. */
  sequence: SequenceDefinition | undefined;
  /** For serial types: how the sequence counts; undefined: as PostgreSQL's defaults. */
  numbering: Numbering | undefined;
  comment: string | undefined;
}

export interface SequenceDefinition {
  name: string | undefined;
  /** Undefined: that of the column. */
  type: string | undefined;
}

export interface KeyDefinition {
  /** The JSON Pointer of the key in the request. */
  pointer: string;
  /** Undefined: the service chooses a name (object-names.ts). */
  name: string | undefined;
  columns: string[];
  options: KeyOptions;
}

/** Returns the JSON Pointer of the column at `index`. */
export function columnPointer(index: number): string {
  return `/table/columns/${index}`;
}

/** Returns the keys, the primary key first. */
export function keysOf({ primaryKey, unique }: TableDefinition): KeyDefinition[] {
  return primaryKey ? [primaryKey, ...unique] : unique;
}

/** Returns how many items the work on a key counts for (`forEachInTurns`): its columns. */
export function weightOfKey({ columns, options }: KeyDefinition): number {
  return columns.length + options.include.length;
}
