/** What a table definition is: as it travels (the request's and the answer's `table`) and as the code uses it. */
import Type from 'typebox';

const Name = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 63,
    description: `${description} 1 to 63 bytes of UTF-8, case-sensitive and used exactly as written.`,
    examples: [example],
  });

const ConstraintName = (example: string) =>
  Type.Optional(
    Type.Union([Type.String({ maxLength: 63 }), Type.Null()], {
      description: 'Name of the constraint, 1 to 63 bytes of UTF-8. Empty, null or absent: one is chosen.',
      examples: [example],
    }),
  );

const KeyColumns = (examples: string[]) =>
  Type.Array(Type.String(), {
    description: 'Names of columns of this table, in the order of the key.',
    examples: [examples],
  });

const UniqueSchema = Type.Object(
  { name: ConstraintName('orders_number_key'), columns: KeyColumns(['number']) },
  {
    title: 'UniqueKey',
    additionalProperties: false,
    description: 'A unique constraint. With an empty name and no columns: none.',
  },
);

const PrimaryKeySchema = Type.Object(
  { name: ConstraintName('orders_pkey'), columns: KeyColumns(['id']) },
  {
    title: 'PrimaryKey',
    additionalProperties: false,
    description: 'The primary key. With an empty name and no columns: none.',
  },
);

const ForeignKeySchema = Type.Object(
  {
    name: ConstraintName('orders_customer_id_fkey'),
    column: Type.String({ description: 'A column of this table.', examples: ['customer_id'] }),
    reference_table: Type.String({
      description: 'The table referred to; may be this one.',
      examples: ['customers'],
    }),
    reference_column: Type.String({
      description: 'Its column; it must be a primary key or unique.',
      examples: ['id'],
    }),
    reference_schema: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'The schema of the table referred to. Default: `public`.',
      }),
    ),
  },
  {
    title: 'ForeignKey',
    additionalProperties: false,
    description:
      'One pair of columns of a foreign key. Entries that share a non-empty name form one composite key, in their order.',
  },
);

const OtherConstraintSchema = Type.Object(
  { name: Type.String(), definition: Type.String({ examples: ['CHECK ((amount > (0)::numeric))'] }) },
  {
    title: 'OtherConstraint',
    additionalProperties: false,
    description: 'A constraint that a definition cannot say, in the words of PostgreSQL.',
  },
);

const others = Type.Optional(
  Type.Array(OtherConstraintSchema, {
    description:
      'Only in answers: constraints that a definition cannot say (CHECK, EXCLUDE, ON DELETE …, DEFERRABLE, NULLS NOT DISTINCT, …). Leave them out of a request.',
  }),
);

const ConstraintsSchema = Type.Object(
  {
    unique: Type.Optional(Type.Union([Type.Array(UniqueSchema), Type.Null()])),
    primary_key: Type.Optional(Type.Union([PrimaryKeySchema, Type.Null()])),
    foreign_keys: Type.Optional(Type.Union([Type.Array(ForeignKeySchema), Type.Null()])),
    others,
  },
  {
    title: 'Constraints',
    additionalProperties: false,
    description: 'Keys and references; absent or null: none.',
  },
);

const typeDescription =
  'A type of the connected PostgreSQL as it spells it, with modifiers and arrays (varchar(20), numeric(12,2), timestamptz, text[], enums, domains, extension types); serial, bigserial or smallserial for an identity column; or a friendly alias (string, datetime, double, number, blob, …).';

const defaultDescription =
  "null: none. '…' or '…'::type: an SQL literal. A call of an allowed function with literal arguments (now(), gen_random_uuid(), nextval('…')) or CURRENT_TIMESTAMP and its kind: that expression. Anything else: literal text in the input syntax of the column's type (0, true, pending, {}).";

const answerOnly = {
  identity: Type.Optional(
    Type.Union([Type.Literal('always'), Type.Null()], {
      description:
        'always: the serial column is GENERATED ALWAYS AS IDENTITY, so that rows cannot bring their own value.',
    }),
  ),
  generated: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description:
        'Only in answers: the expression of a GENERATED ALWAYS AS (…) column. Leave it out of a request.',
    }),
  ),
  default_is_expression: Type.Optional(
    Type.Boolean({
      description:
        'Only in answers: `default` is an expression that a definition cannot say. Leave both out of a request.',
    }),
  ),
};

const ColumnSchema = Type.Object(
  {
    id: Type.Optional(Type.Unknown({ description: 'Ignored: PostgreSQL numbers the columns.' })),
    name: Name('Name of the column.', 'amount'),
    type: Type.String({
      minLength: 1,
      description: typeDescription,
      examples: ['numeric(12,2)', 'text', 'timestamptz'],
    }),
    is_nullable: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], {
        description: 'Whether the column takes NULL. Default: true. Columns of the primary key never do.',
      }),
    ),
    default: Type.Optional(
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()], {
        description: `${defaultDescription} A number or boolean is taken by its JSON text.`,
        examples: ['now()', '0', 'pending', 1.5, true, null],
      }),
    ),
    ...answerOnly,
  },
  { title: 'ColumnDefinition', additionalProperties: false, description: 'A column.' },
);

/**
 * The request's `table`. No member has the keyword `default`: several generators of clients take a member with a default for
 * one that is always present, and demand it in requests. The description says the default instead.
 *
 * It takes everything that the answer's `table` holds, so that an answer can be sent again.
 */
export const TableDefinitionSchema = Type.Object(
  {
    name: Type.Optional(Type.Unknown({ description: 'Ignored: the path names the table.' })),
    schema: Type.Optional(Type.Unknown({ description: 'Ignored: the query names the schema.' })),
    columns: Type.Array(ColumnSchema, {
      minItems: 1,
      maxItems: 1600,
      description: 'The columns, in their order.',
    }),
    constraints: Type.Optional(Type.Union([ConstraintsSchema, Type.Null()])),
  },
  {
    title: 'TableDefinition',
    additionalProperties: false,
    description: 'A table definition.',
    // Without `default`s: linters of OpenAPI documents take an object with `type` and `default` for a schema.
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

/** The answer's `table`. */
export const TableDescriptionSchema = Type.Object(
  {
    name: Type.String(),
    schema: Type.String(),
    columns: Type.Array(
      Type.Object(
        {
          id: Type.Integer({
            description:
              'The number of the column in PostgreSQL: kept when it is renamed, never given again.',
          }),
          name: Type.String(),
          type: Type.String({
            description:
              'In the canonical form of PostgreSQL; identity columns as serial, bigserial or smallserial.',
            examples: ['character varying(20)'],
          }),
          is_nullable: Type.Boolean(),
          default: Type.Union([Type.String(), Type.Null()], { examples: ["'pending'::text", 'now()', null] }),
          ...answerOnly,
        },
        {
          title: 'ColumnDescription',
          additionalProperties: false,
          description: 'A column as PostgreSQL has it.',
        },
      ),
    ),
    constraints: Type.Object(
      {
        unique: Type.Array(
          Type.Object(
            { name: Type.String(), columns: Type.Array(Type.String()) },
            { additionalProperties: false },
          ),
        ),
        primary_key: Type.Object(
          { name: Type.String(), columns: Type.Array(Type.String()) },
          { additionalProperties: false, description: 'An empty name and no columns: none.' },
        ),
        foreign_keys: Type.Array(
          Type.Object(
            {
              name: Type.String(),
              column: Type.String(),
              reference_table: Type.String(),
              reference_column: Type.String(),
              reference_schema: Type.String(),
            },
            { additionalProperties: false },
          ),
        ),
        others,
      },
      { additionalProperties: false },
    ),
  },
  {
    title: 'TableDescription',
    additionalProperties: false,
    description: 'The table as PostgreSQL has it. It can be sent again as a definition.',
  },
);

export type TableDescription = Type.Static<typeof TableDescriptionSchema>;
export type ColumnDescription = TableDescription['columns'][number];

/** A definition whose shape is right. An empty `name` or `type` marks a place whose fault is already told. */
export interface TableDefinition {
  columns: ColumnDefinition[];
  primaryKey: KeyDefinition | undefined;
  unique: KeyDefinition[];
  foreignKeys: ForeignKeyDefinition[];
}

export interface ColumnDefinition {
  name: string;
  /** As the caller wrote it. */
  type: string;
  isNullable: boolean;
  /** As the caller wrote it; undefined: none. */
  default: string | undefined;
  /** GENERATED ALWAYS AS IDENTITY instead of BY DEFAULT, for the serial family. */
  identityAlways: boolean;
}

export interface KeyDefinition {
  /** JSON Pointer into the request. */
  pointer: string;
  /** Undefined: one is chosen (object-names.ts). */
  name: string | undefined;
  columns: string[];
}

/** One foreign key, composite or not. */
export interface ForeignKeyDefinition {
  name: string | undefined;
  schema: string;
  table: string;
  pairs: ForeignKeyPair[];
}

export interface ForeignKeyPair {
  pointer: string;
  column: string;
  referenceColumn: string;
}

/** JSON Pointer of the column at `index`. */
export function columnPointer(index: number): string {
  return `/table/columns/${index}`;
}
