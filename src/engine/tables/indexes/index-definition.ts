/** The indexes of a definition: their schema, and the form that the code uses. */
import Type from 'typebox';
import { noOptions } from '../key-options.ts';
import {
  ColumnNameSchema,
  closed,
  nameLength,
  optionalChoice,
  optionalFlag,
  optionalText,
  orNull,
} from '../name-schemas.ts';

const orders = ['asc', 'desc'] as const;
const placesOfNulls = ['first', 'last'] as const;

export const IndexColumnSchema = Type.Object(
  {
    column: orNull(Type.String({ maxLength: nameLength.maxLength }), {
      description: 'A column of this table.',
      examples: ['ordered_on'],
    }),
    expression: orNull(Type.String(), {
      description: 'Instead of `column`: an expression over columns of this table.',
      examples: ['lower(name)'],
    }),
    order: optionalChoice(orders, 'The order of the values. Default: `asc`.'),
    nulls: optionalChoice(
      placesOfNulls,
      'Where NULL is in this order. Default: `last`, and `first` with `desc`.',
    ),
    operator_class: orNull(Type.String(), {
      description:
        'An operator class of PostgreSQL or of an installed extension, as in `text_pattern_ops` or `public.gin_trgm_ops`. Default: that of the type.',
      examples: ['text_pattern_ops'],
    }),
  },
  closed('IndexColumn', 'A column or an expression of an index.'),
);

export const IndexSchema = Type.Object(
  {
    name: orNull(Type.String({ maxLength: nameLength.maxLength }), {
      description:
        'Name of the index, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.',
      examples: ['orders_ordered_on_idx'],
    }),
    unique: optionalFlag('true: no two rows have the same values in its columns.'),
    method: orNull(Type.String({ maxLength: nameLength.maxLength }), {
      description:
        'The access method: btree, hash, gin, gist, spgist, brin, or one of an extension. Default: `btree`.',
      examples: ['gin'],
    }),
    columns: Type.Array(IndexColumnSchema, {
      minItems: 1,
      description: 'The columns, in the order of the index.',
    }),
    include: orNull(Type.Array(ColumnNameSchema), {
      description: 'Further columns whose values are in the index, but are not searched.',
    }),
    where: orNull(Type.String(), {
      description:
        'A boolean expression over columns of this table. The index has only the rows for which it is true.',
      examples: ['deleted_at IS NULL'],
    }),
  },
  closed('Index', 'An index that is not the index of a key.'),
);

export interface IndexDefinition {
  /** The JSON Pointer of the index in the request. */
  pointer: string;
  /** Undefined: the service chooses a name (object-names.ts). */
  name: string | undefined;
  isUnique: boolean;
  method: string;
  columns: IndexColumn[];
  include: string[];
  /** The condition, as the caller wrote it. */
  where: string | undefined;
  /** The condition in SQL, when its names were looked up. */
  whereSql?: string | undefined;
}

export interface IndexColumn {
  pointer: string;
  /** '': the index has an expression there. */
  column: string;
  /** The expression, as the caller wrote it. */
  expression: string | undefined;
  expressionSql?: string | undefined;
  order: (typeof orders)[number] | undefined;
  nulls: (typeof placesOfNulls)[number] | undefined;
  /** The operator class, as the caller wrote it. */
  operatorClass: string | undefined;
  /** The operator class as qualified SQL; undefined: it was not looked up yet. */
  operatorClassSql?: string;
}

/** The `indexes` of an answer. */
export type IndexDescription = Type.Static<typeof IndexDescriptionSchema>;

export const IndexDescriptionSchema = Type.Object(
  {
    name: Type.String(),
    unique: Type.Optional(Type.Boolean()),
    method: optionalText('Absent: btree.'),
    columns: Type.Array(IndexColumnSchema),
    include: Type.Optional(Type.Array(Type.String())),
    where: Type.Optional(Type.String()),
  },
  closed('IndexDescription', 'An index that is not the index of a key.'),
);

/** Returns the columns of a unique index in the form of a key, without the columns of `include`. */
export function asKey({ pointer, name, columns }: IndexDefinition) {
  return { pointer, name, columns: columns.map(({ column }) => column), options: noOptions };
}

/** Returns how much work an index is for `forEachInTurns`: its number of columns. */
export function weightOfIndex({ columns, include }: IndexDefinition): number {
  return columns.length + include.length;
}

/** Returns the names of all columns of an index, those of `include` last. PostgreSQL names an index after `expr` if it has an expression. */
export function columnsOfIndex({ columns, include }: IndexDefinition): string[] {
  return [...columns.map(({ column }) => column || 'expr'), ...include];
}
