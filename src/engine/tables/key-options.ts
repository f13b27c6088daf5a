/** The options of unique constraints and primary keys (PostgreSQL, CREATE TABLE): their schemas, their form in the code, their SQL. */
import Type from 'typebox';
import { quoteIdentifier } from '../../postgres/sql.ts';
import { type ForeignKeyTime, foreignKeyTimes } from './foreign-keys.ts';
import { ColumnNameSchema, optionalChoice, optionalFlag, orNull } from './name-schemas.ts';
import { entriesOf, type Members, type Report, readColumnName } from './read-members.ts';

/** The schemas of the options. An answer has only the options that differ from PostgreSQL's defaults. */
export const keyOptionMembers = {
  include: orNull(Type.Array(ColumnNameSchema), {
    description: 'Further columns whose values are in the index of the key, but do not have to be unique.',
  }),
  deferrable: optionalChoice(
    foreignKeyTimes,
    'A transaction can have the key checked at its end (SET CONSTRAINTS): `initially deferred` without asking. `on_conflict` and foreign keys cannot use such a key. Default: it cannot.',
  ),
};

export const uniqueOptionMembers = {
  ...keyOptionMembers,
  nulls_not_distinct: optionalFlag(
    'true: two rows with NULL in the key conflict like two rows with the same value.',
  ),
};

const MembersSchema = Type.Object(uniqueOptionMembers);

/** The options of a key. The same option always has the same form. */
export interface KeyOptions {
  include: string[];
  deferrable: ForeignKeyTime | undefined;
  areNullsDistinct: boolean;
}

export const noOptions: KeyOptions = { include: [], deferrable: undefined, areNullsDistinct: true };

/** @param key reads the members of a unique constraint, or of a primary key, which has no `nulls_not_distinct` */
export function parseKeyOptions(
  key: Members<typeof MembersSchema>,
  isPrimary: boolean,
  pointer: string,
  report: Report,
): KeyOptions {
  const at = `${pointer}/include`;
  return {
    include: entriesOf(key('include'), at, report).map((entry, index) =>
      readColumnName(entry, `${at}/${index}`, report),
    ),
    deferrable: key('deferrable') ?? undefined,
    areNullsDistinct: isPrimary || key('nulls_not_distinct') !== true,
  };
}

/** Returns the options that differ from PostgreSQL's defaults, as answers have them. */
export function describeKeyOptions({ include, deferrable, areNullsDistinct }: KeyOptions) {
  return {
    ...(include.length > 0 && { include }),
    ...(deferrable && { deferrable }),
    ...(!areNullsDistinct && { nulls_not_distinct: true }),
  };
}

/** Returns the constraint after its name. The texts of `deferrable` are PostgreSQL's own keywords in lower case. */
export function keyClause(
  kind: 'PRIMARY KEY' | 'UNIQUE',
  columns: string,
  { include, deferrable, areNullsDistinct }: KeyOptions,
): string {
  const nulls = areNullsDistinct ? '' : ' NULLS NOT DISTINCT';
  const included = include.length === 0 ? '' : ` INCLUDE (${include.map(quoteIdentifier).join(', ')})`;
  return `${kind}${nulls} (${columns})${included}${deferrable ? ` DEFERRABLE ${deferrable.toUpperCase()}` : ''}`;
}
