/** The schemas of names and of other small members of definitions and answers. */
import Type from 'typebox';
import { maxIdentifierBytes } from '../../core/identifiers.ts';

/** The lengths of a name in characters. PostgreSQL limits the bytes, and a character has at least one byte, so the schema refuses no name that PostgreSQL allows. */
export const nameLength = { minLength: 1, maxLength: maxIdentifierBytes };

export const Name = (description: string, example: string) =>
  Type.String({
    ...nameLength,
    description: `${description} 1 to ${maxIdentifierBytes} bytes of UTF-8, case-sensitive and used exactly as written.`,
    examples: [example],
  });

export const ColumnNameSchema = Type.String(nameLength);

export const ConstraintName = (example: string) =>
  orNull(Type.String({ maxLength: maxIdentifierBytes }), {
    description:
      'Name of the constraint, 1 to 63 bytes of UTF-8. Empty, null or absent: the service chooses one.',
    examples: [example],
  });

/** The maximum number of characters of a comment in a definition. */
export const maxCommentLength = 16_384;

export const Comment = (example: string) =>
  orNull(Type.String({ maxLength: maxCommentLength }), {
    description: 'A comment (COMMENT ON). Empty, null or absent: none.',
    examples: [example],
  });

/** Returns the options of an object without other members. */
export const closed = (title: string, description: string) =>
  ({ title, additionalProperties: false, description }) as const;

/** Returns the schema of an optional member that may also be null. */
export const orNull = <Schema extends Type.TSchema>(schema: Schema, options: Type.TSchemaOptions = {}) =>
  Type.Optional(Type.Union([schema, Type.Null()], options));

/** These functions return the schemas of optional members that may not be null. */
export const optionalText = (description: string) => Type.Optional(Type.String({ description }));
export const optionalInteger = (description: string) => Type.Optional(Type.Integer({ description }));
export const optionalBoolean = (description: string) => Type.Optional(Type.Boolean({ description }));

/** Returns the schema of an optional member that is true or false, and false if it is absent. */
export const optionalFlag = (description: string) =>
  orNull(Type.Boolean(), { description: `${description} Default: false.` });

/** The member of a foreign key or a check that PostgreSQL adds as NOT VALID. */
export const notValid = {
  not_valid: optionalFlag(
    'true: rows that are in the table when the constraint is added are not checked, also those of the upload that makes the table. Later rows are checked (NOT VALID).',
  ),
};

/** Returns the schema of an optional member that is one of these texts. */
export function optionalChoice<const Values extends readonly string[]>(values: Values, description: string) {
  const choice = Type.Unsafe<Values[number]>(Type.String({ enum: [...values] }));
  return orNull(choice, { description });
}
