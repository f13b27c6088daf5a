/** The CHECK constraints of a definition, and the schemas of its expressions. */
import Type from 'typebox';
import { mapInTurns } from '../../../core/pause-for-others.ts';
import { ConstraintName, closed, notValid } from '../name-schemas.ts';
import { entriesOf, type Report, readMembers, readName, readText } from '../read-members.ts';

export const CheckSchema = Type.Object(
  {
    name: ConstraintName('orders_amount_check'),
    expression: Type.String({
      minLength: 1,
      description: 'A boolean expression over columns of this table. A row for which it is false is refused.',
      examples: ['amount >= 0'],
    }),
    ...notValid,
  },
  closed('Check', 'A CHECK constraint.'),
);

export const CheckDescriptionSchema = Type.Object(
  { name: Type.String(), expression: Type.String(), ...notValid },
  closed('CheckDescription', 'A CHECK constraint.'),
);

export type CheckDescription = Type.Static<typeof CheckDescriptionSchema>;

export const generatedKinds = ['stored', 'virtual'] as const;

export interface CheckDefinition {
  /** The JSON Pointer of the check in the request. */
  pointer: string;
  /** Undefined: the service chooses a name (object-names.ts). */
  name: string | undefined;
  /** The expression as the caller wrote it. */
  expression: string;
  /** undefined: the request does not say it. A new check is valid then. */
  notValid: boolean | undefined;
  /** The columns in the expression, when it was read. */
  columns: string[];
  /** The expression in SQL, when its names were looked up. */
  sql?: string | undefined;
}

export interface GeneratedDefinition {
  /** The expression as the caller wrote it. */
  expression: string;
  kind: (typeof generatedKinds)[number];
}

/** Reads the entries in turns. An entry that is no check has been reported, and is left out. */
export async function parseChecks(
  list: unknown[] | null | undefined,
  pointer: string,
  report: Report,
): Promise<CheckDefinition[]> {
  const checks = await mapInTurns(entriesOf(list, pointer, report), (entry, index) => {
    const at = `${pointer}/${index}`;
    const check = readMembers(CheckSchema, entry, at, report, ': {"expression": "amount >= 0"}');
    const expression = readText(check?.('expression'), `${at}/expression`, report);
    if (!check || !expression) return undefined;
    const name = readName(check('name'), `${at}/name`, report);
    return { pointer: at, name, expression, notValid: check('not_valid') ?? undefined, columns: [] };
  });
  return checks.filter((check) => check !== undefined);
}
