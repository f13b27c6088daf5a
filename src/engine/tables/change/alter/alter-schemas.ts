/** The schemas of a definition that changes an existing table, and of the plan in the answer. */
import Type from 'typebox';
import { ColumnSchema, maxColumns, TableDefinitionSchema } from '../../definition.ts';
import { closed, optionalInteger, orNull } from '../../name-schemas.ts';
import { changeKinds, locks, losses } from './change.ts';

const AlteredColumnSchema = Type.Object(
  {
    ...ColumnSchema.properties,
    type: Type.Optional(ColumnSchema.properties.type),
    renamed_from: orNull(Type.String(), {
      description:
        'The old name of the column. If there is no such column and one with the new name, the column was renamed before.',
      examples: ['mail'],
    }),
  },
  closed('AlteredColumn', 'A column. Members that are absent stay as they are; a new column needs a type.'),
);

/** The `table` of a request that changes a table. All its members are optional. */
export const AlteredTableSchema = Type.Object(
  {
    ...TableDefinitionSchema.properties,
    columns: Type.Optional(
      Type.Array(AlteredColumnSchema, {
        minItems: 1,
        maxItems: maxColumns,
        description: 'All columns that the table has then. A column that is not listed is dropped.',
      }),
    ),
  },
  {
    title: 'AlteredTable',
    additionalProperties: false,
    description: 'What the table becomes. Members that are absent stay as they are; `[]` and null remove.',
    examples: [
      {
        columns: [
          { name: 'id', type: 'bigserial' },
          { name: 'email', type: 'text', is_nullable: false },
          { name: 'joined_on', type: 'date' },
        ],
        indexes: [{ columns: [{ column: 'joined_on' }] }],
      },
    ],
  },
);

export const ChangeSchema = Type.Object(
  {
    change: Type.Unsafe<(typeof changeKinds)[number]>(Type.String({ enum: [...changeKinds] })),
    detail: Type.String({ description: 'The change in words.' }),
    sql: Type.String({ description: 'The statements of the change.' }),
    rewrites: Type.Boolean({ description: 'PostgreSQL writes all rows anew.' }),
    scans: Type.Boolean({ description: 'All rows are read, and some of them may be refused.' }),
    lock: Type.Unsafe<(typeof locks)[number]>(
      Type.String({
        enum: [...locks],
        description: 'The lock of the table. Only ACCESS EXCLUSIVE makes readers wait.',
      }),
    ),
    loses: Type.Unsafe<(typeof losses)[number] | null>(
      Type.Union([Type.String({ enum: [...losses] }), Type.Null()], {
        description: 'The value of `allow` that the change needs, because it loses something.',
      }),
    ),
    rows: optionalInteger('The number of rows whose values were rounded or lost something.'),
  },
  closed('TableChangeStep', 'One change of a table.'),
);
