/** The enums and domains of a definition: their schema, the form that the code uses, and how they are read. */
import Type from 'typebox';
import { maxIdentifierBytes } from '../../../core/identifiers.ts';
import { mapInTurns } from '../../../core/pause-for-others.ts';
import { serialBase, type TypeName } from '../column-types.ts';
import { closed, Name, orNull } from '../name-schemas.ts';
import { entriesOf, isOfType, type Report, readMembers, readName, readText } from '../read-members.ts';

const typesPointer = '/table/types';

/** The maximum number of enums and domains of a definition. */
export const maxTypes = 100;
/** The maximum number of labels of an enum of a definition: that of the entries of a list. */
export const maxLabels = 5000;

const LabelSchema = Type.String({ maxLength: maxIdentifierBytes });

const name = Name('Name of the type, in the schema of the table.', 'order_state');

export const EnumSchema = Type.Object(
  {
    name,
    labels: Type.Array(LabelSchema, {
      maxItems: maxLabels,
      description: 'The values, in their order. Each has at most 63 bytes of UTF-8.',
      examples: [['new', 'paid', 'sent']],
    }),
  },
  closed('EnumDefinition', 'An enum that the table needs.'),
);

export const DomainSchema = Type.Object(
  {
    name,
    base: Type.String({
      minLength: 1,
      description: 'The type below the domain.',
      examples: ['numeric(5,2)'],
    }),
    check: orNull(Type.String(), {
      description: 'What its values must satisfy: a boolean expression over `VALUE`.',
      examples: ['VALUE > 0'],
    }),
  },
  closed('DomainDefinition', 'A domain that the table needs.'),
);

/** An entry of `types`. In an answer each has the members of its kind, so that it can be sent again. */
export const TypeEntrySchema = Type.Union([EnumSchema, DomainSchema]);

export interface TypeDefinition {
  pointer: string;
  name: string;
  /** Undefined: it is a domain. */
  labels: string[] | undefined;
  /** The type below the domain, as the caller wrote it. */
  base: string | undefined;
  check: string | undefined;
}

/** Reads the entries. An entry with a problem has been reported, and is left out. */
export async function parseTypes(
  list: unknown[] | null | undefined,
  report: Report,
): Promise<TypeDefinition[]> {
  const entries = entriesOf(list, typesPointer, report);
  if (entries.length > maxTypes)
    report(typesPointer, 'too-many-columns', `a definition can have at most ${maxTypes} types`);
  const parse = (entry: unknown, index: number) => parseType(entry, `${typesPointer}/${index}`, report);
  const types = await mapInTurns(entries.slice(0, maxTypes), parse, () => 100);
  return types.filter((type) => type !== undefined);
}

function parseType(value: unknown, pointer: string, report: Report): TypeDefinition | undefined {
  const isDomain = typeof value === 'object' && value !== null && ('base' in value || 'check' in value);
  const before = report.problems.count;
  const type = isDomain ? parseDomain(value, pointer, report) : parseEnum(value, pointer, report);
  return report.problems.count > before ? undefined : type;
}

function parseEnum(value: unknown, pointer: string, report: Report): TypeDefinition | undefined {
  const form = ': {"name": "state", "labels": ["new", "paid"]}';
  const type = readMembers(EnumSchema, value, pointer, report, form);
  const list = type?.('labels', ': the list of the values of an enum. For a domain send "base"');
  if (type === undefined) return undefined;
  const labels = readLabels(list ?? [], `${pointer}/labels`, report);
  const name = readName(type('name'), `${pointer}/name`, report) ?? '';
  return { pointer, name, labels, base: undefined, check: undefined };
}

function parseDomain(value: unknown, pointer: string, report: Report): TypeDefinition | undefined {
  const type = readMembers(DomainSchema, value, pointer, report);
  if (type === undefined) return undefined;
  const name = readName(type('name'), `${pointer}/name`, report) ?? '';
  const base = readText(type('base', ': the type below the domain'), `${pointer}/base`, report) ?? '';
  const check = readText(type('check'), `${pointer}/check`, report) || undefined;
  if (serialBase(base) !== undefined)
    report(`${pointer}/base`, 'unsupported-type', `a domain cannot have the type ${base.trim()}`, base);
  return { pointer, name, labels: undefined, base, check };
}

function readLabels(list: unknown[], pointer: string, report: Report): string[] {
  const seen = new Set<string>();
  for (const [index, label] of entriesOf(list, pointer, report).entries()) {
    const at = `${pointer}/${index}`;
    if (!isOfType(LabelSchema, label, at, report, ': a label of the enum')) continue;
    const text = readText(label as string, at, report);
    if (text === undefined) continue;
    if (Buffer.byteLength(text) > maxIdentifierBytes)
      report(at, 'invalid-text', `a label has at most ${maxIdentifierBytes} bytes of UTF-8`, text);
    if (seen.has(text)) report(at, 'duplicate-name', `the label "${text}" occurs twice`, text);
    seen.add(text);
  }
  return [...seen];
}

/** Finds which types of a definition it needs, and makes its names mean them. */
export class OwnTypes {
  readonly #schema: string;
  readonly #names: ReadonlySet<string>;
  /** The names that are needed; true: at least once with the schema, so no type of `pg_catalog` can be meant. */
  readonly needed = new Map<string, boolean>();

  constructor(schema: string, types: TypeDefinition[]) {
    this.#schema = schema;
    this.#names = new Set(types.map(({ name }) => name));
  }

  /** Notes the type if the name means one of the definition. A name without a schema is then searched in the schema of the table. */
  claim(type: TypeName | undefined): void {
    if (type?.name === undefined || type.spelling !== undefined || !this.#names.has(type.name)) return;
    if (type.schema !== undefined && type.schema !== this.#schema) return;
    if (type.schema === undefined) type.ownSchema = this.#schema;
    this.needed.set(type.name, (this.needed.get(type.name) ?? false) || type.schema !== undefined);
  }
}
