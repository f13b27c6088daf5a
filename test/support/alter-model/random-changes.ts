/** Random changes of a described table: the request that makes them, and the whole definition that the table must have afterwards. */
import fc from 'fast-check';
import { quoted, typesWithDefaults, unordered } from '../random-definitions.ts';

// biome-ignore lint/suspicious/noExplicitAny: definitions and descriptions as JSON
export type Json = any;

const kinds = [
  ...['drop-column', 'add-column', 'add-column', 'rename-column', 'retype', 'retype', 'retype', 'nullable'],
  ...['default', 'no-default', 'column-comment', 'comment', 'drop-key', 'add-key', 'drop-index', 'add-index'],
  ...['add-check', 'drop-check', 'drop-foreign-key', 'add-foreign-key', 'drop-all'],
  ...['unlogged', 'numbering', 'validate'],
] as const;

export interface Edit {
  kind: (typeof kinds)[number];
  a: number;
  b: number;
  text: string;
}

const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom(...kinds),
  a: fc.nat({ max: 999 }),
  b: fc.nat({ max: 999 }),
  text: fc.constantFrom(
    'x',
    'new "name"',
    "it's",
    'é🙂',
    'a.b',
    '%',
    '__proto__',
    'Übung',
    'id',
    'x'.repeat(63),
  ),
});

export const losses = ['drop_columns', 'drop_constraints', 'drop_indexes', 'lossy_types'];

export const randomChange = fc.record({
  edits: fc.array(edit, { minLength: 1, maxLength: 4 }),
  /** Each bit decides whether a member that stays is left out of the request. */
  absent: fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
  allow: fc.oneof(fc.constant(losses), fc.subarray(losses), fc.constant(losses.slice(0, 3))),
});

export interface Change {
  /** The `table` of the request. */
  sent: Json;
  /** The whole definition after the request. */
  wanted: Json;
  /** The old names of the columns that stay, by their new names. */
  oldNames: Map<string, string>;
  /** What the request loses for certain. */
  loses: Set<string>;
  /** Rows or definitions may prevent the change. */
  isRisky: boolean;
}

/** Types that have values in common, so that many changes between them succeed. */
const retypes = [
  ...[
    'smallint',
    'int',
    'bigint',
    'numeric',
    'numeric(12,2)',
    'numeric(4,1)',
    'real',
    'double',
    'text',
    'text',
  ],
  ...[
    'varchar(5)',
    'varchar(20)',
    'char(3)',
    'date',
    'timestamp',
    'timestamptz',
    'timestamp(0)',
    'time',
    'boolean',
  ],
  ...[
    'json',
    'jsonb',
    'interval',
    'uuid',
    'text[]',
    'int[]',
    'numeric[]',
    'bit(3)',
    'bit varying(5)',
    'inet',
    'cidr',
  ],
];

interface Draft extends Change {
  described: Json;
  /** The changes that the request must say. */
  said: Set<string>;
}

/** Returns a name for a key or an index of one column. Without a name, it would be the existing one that has the same columns. */
function nameFor({ described, oldNames }: Draft, kind: string, column: string, number: number): string {
  const { constraints, indexes = [] } = described;
  const isLike = ({ columns: [first, ...others] }: Json) =>
    others.length === 0 && (first?.column ?? first) === (oldNames.get(column) ?? column);
  const isFree = ![constraints.primary_key, ...constraints.unique, ...indexes].some(isLike);
  return isFree && number % 3 !== 0 ? '' : `${kind} ${number} of ${described.columns.length}`;
}

const at = <T>(list: T[], index: number): T | undefined => list[index % list.length];

/** @param described the table, as Describe answers it */
export function makeChange(described: Json, edits: Edit[], absent: boolean[]): Change {
  const wanted = structuredClone(described);
  wanted.constraints.checks ??= [];
  wanted.indexes ??= [];
  const oldNames = new Map<string, string>(described.columns.map(({ name }: Json) => [name, name]));
  const draft: Draft = {
    described,
    wanted,
    sent: {},
    oldNames,
    loses: new Set(),
    isRisky: false,
    said: new Set(),
  };
  for (const one of edits) steps[one.kind](draft, one);
  removeKeylessReferences(draft);
  forgetOwnParts(draft);
  draft.sent = requestOf(draft, described, absent);
  return draft;
}

type Step = (draft: Draft, edit: Edit) => void;

const steps: Record<Edit['kind'], Step> = {
  'drop-column': (draft, { a }) => {
    const { wanted, oldNames } = draft;
    if (wanted.columns.length < 2) return;
    const [dropped] = wanted.columns.splice(a % wanted.columns.length, 1);
    if (oldNames.delete(dropped.name)) draft.loses.add('drop_columns');
    removeParts(draft, dropped.name);
    // A key, a foreign key or a generated column of another table or column may need it.
    draft.isRisky = true;
  },
  'add-column': (draft, { a, b, text }) => {
    if (draft.wanted.columns.some(({ name }: Json) => name === text)) return;
    const [type, defaults] = at(typesWithDefaults, a)!;
    const value = b % 3 === 0 ? null : at(defaults, b)!;
    draft.wanted.columns.push({ name: text, type, default: value, is_nullable: b % 5 !== 0 });
    draft.isRisky = true;
  },
  'rename-column': (draft, { a, text }) => {
    const { wanted, oldNames } = draft;
    const column = at<Json>(wanted.columns, a);
    const old = oldNames.get(column.name);
    const isUsed = [...wanted.columns, ...[...oldNames.values()].map((name) => ({ name }))];
    if (old === undefined || isUsed.some(({ name }) => name === text)) return;
    // The expressions of checks and indexes are written anew.
    if (wanted.constraints.checks.length > 0 || wanted.indexes.some(hasExpression)) return;
    oldNames.delete(column.name);
    oldNames.set(text, old);
    renameParts(wanted, column.name, text);
    column.name = text;
  },
  retype: (draft, { a, b }) => {
    const column = at<Json>(draft.wanted.columns, a);
    if (column.identity || column.sequence || column.generated) return;
    column.type = b % 4 === 0 ? at(typesWithDefaults, b)![0] : at(retypes, b)!;
    delete column.numbering;
    draft.isRisky = true;
  },
  nullable: (draft, { a }) => {
    const column = at<Json>(draft.wanted.columns, a);
    if (draft.wanted.constraints.primary_key.columns.includes(column.name) || column.identity) return;
    column.is_nullable = !column.is_nullable;
    draft.isRisky = true;
  },
  default: (draft, { a, b }) => {
    const column = at<Json>(draft.wanted.columns, a);
    if (column.identity || column.sequence || column.generated) return;
    const [, defaults] = typesWithDefaults.find(([type]) => type === column.type) ?? [
      '',
      ['1', 'x', '2024-02-29'],
    ];
    column.default = at(defaults, b)!;
    delete column.default_is_expression;
    draft.isRisky = true;
  },
  'no-default': ({ wanted }, { a }) => {
    const column = at<Json>(wanted.columns, a);
    if (column.identity || column.sequence || column.generated) return;
    column.default = null;
    delete column.default_is_expression;
  },
  'column-comment': ({ wanted }, { a, b, text }) => {
    const column = at<Json>(wanted.columns, a);
    if (b % 3 === 0) delete column.comment;
    else column.comment = text;
  },
  comment: ({ wanted }, { b, text }) => {
    if (b % 3 === 0) delete wanted.comment;
    else wanted.comment = text;
  },
  'drop-key': (draft, { a }) => {
    const { constraints } = draft.wanted;
    // The foreign key of the table to itself may need it.
    draft.isRisky = true;
    if (a % 2 === 0 && constraints.primary_key.columns.length > 0) {
      constraints.primary_key = { name: '', columns: [] };
      draft.loses.add('drop_constraints');
    } else if (constraints.unique.splice(a % Math.max(1, constraints.unique.length), 1).length > 0)
      draft.loses.add('drop_constraints');
  },
  'add-key': (draft, { a, b }) => {
    const { columns, constraints } = draft.wanted;
    const column = at<Json>(columns, a);
    if (unordered.test(column.type) || column.type === 'json') return;
    draft.isRisky = true;
    if (b % 2 === 0 && constraints.primary_key.columns.length === 0)
      constraints.primary_key = { name: nameFor(draft, 'key', column.name, b), columns: [column.name] };
    else constraints.unique.push({ name: nameFor(draft, 'key', column.name, b), columns: [column.name] });
  },
  'drop-index': (draft, { a }) => {
    const { indexes } = draft.wanted;
    if (indexes.splice(a % Math.max(1, indexes.length), 1).length > 0) draft.loses.add('drop_indexes');
  },
  'add-index': (draft, { a, b }) => {
    const { columns, indexes } = draft.wanted;
    const column = at<Json>(columns, a);
    if (unordered.test(column.type) || column.type === 'json') return;
    const where = b % 2 === 0 ? {} : { where: `${quoted(column.name)} IS NOT NULL` };
    indexes.push({
      name: nameFor(draft, 'index', column.name, b),
      columns: [{ column: column.name }],
      ...where,
    });
    draft.isRisky = true;
  },
  'add-check': (draft, { a, b }) => {
    const { columns, constraints } = draft.wanted;
    const column = at<Json>(columns, a);
    const name = quoted(column.name);
    const expression = /^(smallint|integer|bigint|numeric)/.test(column.type)
      ? `${name} > ${b % 2 === 0 ? 0 : -40000}`
      : column.type === 'text'
        ? `length(${name}) < ${b % 12}`
        : `${name} IS NOT NULL`;
    const validity = b % 4 === 1 ? { not_valid: true } : {};
    constraints.checks.push({ name: b % 3 === 0 ? '' : `check ${a} ${b}`, expression, ...validity });
    draft.isRisky = true;
  },
  'drop-check': (draft, { a }) => {
    const { checks } = draft.wanted.constraints;
    if (checks.splice(a % Math.max(1, checks.length), 1).length > 0) draft.loses.add('drop_constraints');
  },
  'drop-foreign-key': (draft, { a }) => {
    const { constraints } = draft.wanted;
    const key = at<Json>(constraints.foreign_keys, a);
    if (key === undefined) return;
    constraints.foreign_keys = constraints.foreign_keys.filter(({ name }: Json) => name !== key.name);
    draft.loses.add('drop_constraints');
  },
  'add-foreign-key': (draft, { a, b }) => {
    const { columns, constraints } = draft.wanted;
    const column = columns.find(({ type }: Json) => /^(smallint|integer|bigint)$/.test(type));
    if (column === undefined) return;
    const target = { reference_table: 'Target "T".', reference_column: 'id', reference_schema: 'public' };
    // A key with the same columns and target is the same key with another name, and keeps its rules.
    if (
      constraints.foreign_keys.some(
        (key: Json) => key.column === column.name && key.reference_column === 'id',
      )
    )
      return;
    const rules = { ...(b % 2 === 0 && { on_delete: 'cascade' }), ...(b % 3 === 0 && { not_valid: true }) };
    constraints.foreign_keys.push({ name: `foreign key ${a}`, column: column.name, ...target, ...rules });
    draft.isRisky = true;
  },
  unlogged: ({ wanted }) => {
    if (wanted.unlogged) delete wanted.unlogged;
    else wanted.unlogged = true;
  },
  numbering: (draft, { a, b }) => {
    const column = at<Json>(
      draft.wanted.columns.filter(({ type }: Json) => /serial$/i.test(type)),
      a,
    );
    if (column === undefined) return;
    // The next number may lie beyond the bounds.
    draft.isRisky = true;
    column.numbering = { start: 1 + (a % 9), increment: 1 + (b % 5), max: 900 - (b % 9), cycle: b % 2 === 0 };
    if (b % 3 === 0) delete column.numbering;
  },
  validate: (draft, { a }) => {
    const { checks, foreign_keys: foreignKeys } = draft.wanted.constraints;
    const one = at<Json>(
      [...checks, ...foreignKeys].filter(({ not_valid }: Json) => not_valid),
      a,
    );
    if (one === undefined) return;
    for (const part of [...checks, ...foreignKeys]) if (part.name === one.name) delete part.not_valid;
    draft.isRisky = true;
  },
  'drop-all': (draft) => {
    const { wanted } = draft;
    const { primary_key: key, unique, foreign_keys: foreign, checks } = wanted.constraints;
    if (key.columns.length + unique.length + foreign.length + checks.length > 0)
      draft.loses.add('drop_constraints');
    wanted.constraints = { ...wanted.constraints, primary_key: { name: '', columns: [] } };
    Object.assign(wanted.constraints, { unique: [], foreign_keys: [], checks: [] });
    // Unnamed parts that PostgreSQL makes for others are not among them.
    if (wanted.indexes.length > 0) draft.loses.add('drop_indexes');
    wanted.indexes = [];
    draft.isRisky = true;
  },
};

const hasExpression = ({ columns, where }: Json): boolean =>
  where !== undefined || columns.some(({ expression }: Json) => expression !== undefined);

/** Removes the keys and indexes that need a column. An expression that contains its name may need it. */
function removeParts({ wanted }: Draft, name: string): void {
  const { constraints } = wanted;
  const uses = ({ columns = [], include = [] }: Json) =>
    [...columns, ...include].some((part) => part === name || part.column === name);
  const mentions = (expression = '') => expression.includes(name) || expression.includes(quoted(name));
  const textOf = (columns: string[]) => JSON.stringify(columns.toSorted());
  const keys = [constraints.primary_key, ...constraints.unique].filter(uses);
  const fallenKeys = new Set(keys.map(({ columns }) => textOf(columns)));
  if (uses(constraints.primary_key)) constraints.primary_key = { name: '', columns: [] };
  constraints.unique = constraints.unique.filter((key: Json) => !uses(key));
  constraints.checks = constraints.checks.filter(({ expression }: Json) => !mentions(expression));
  const isSelf = ({ reference_table: table, reference_schema: schema }: Json) =>
    schema === wanted.schema && table === wanted.name;
  const groups = [...Map.groupBy(constraints.foreign_keys as Json[], (pair) => pair.name)];
  // A foreign key of the table to itself falls with the key that it refers to, also if only a column of `include` is dropped.
  const fallen = groups.filter(
    ([, pairs]) =>
      pairs.some(({ column }) => column === name) ||
      (isSelf(pairs[0]) && fallenKeys.has(textOf(pairs.map((pair) => pair.reference_column)))),
  );
  const names = new Set(fallen.map(([key]) => key));
  constraints.foreign_keys = constraints.foreign_keys.filter((key: Json) => !names.has(key.name));
  wanted.indexes = wanted.indexes.filter((index: Json) => !uses(index) && !mentions(index.where));
}

/** A part is not lost if the same change adds and drops it, or drops it and adds a part over the same columns, which may be the same one under another name. */
function forgetOwnParts({ described, wanted, loses, oldNames }: Draft): void {
  const constraintsOf = ({ constraints }: Json): Json[][] => {
    const { primary_key: primaryKey, unique, foreign_keys: foreignKeys, checks = [] } = constraints;
    return [[primaryKey], unique, foreignKeys, checks];
  };
  const columnsOf = ({ columns = [], column }: Json, oldName: (name: string) => string) =>
    JSON.stringify([column, ...columns.map((part: Json) => part.column ?? part)].map(oldName));
  const areKept = (before: Json[], after: Json[]) => {
    const names = new Set(before.map(({ name }) => name));
    const kept = new Set(after.map(({ name }) => name));
    const added = after.filter(({ name }) => !names.has(name));
    const columns = new Set(added.map((part) => columnsOf(part, (name) => oldNames.get(name) ?? name)));
    return before.every(
      (part) => part.name === '' || kept.has(part.name) || columns.has(columnsOf(part, (name) => name)),
    );
  };
  const after = constraintsOf(wanted);
  if (constraintsOf(described).every((parts, kind) => areKept(parts, after[kind]!)))
    loses.delete('drop_constraints');
  if (areKept(described.indexes ?? [], wanted.indexes)) loses.delete('drop_indexes');
}

/** Removes the foreign keys of the table to itself whose key was dropped. */
function removeKeylessReferences({ wanted, loses }: Draft): void {
  const { primary_key: primaryKey, unique, foreign_keys: foreignKeys } = wanted.constraints;
  const textOf = (columns: string[]) => JSON.stringify(columns.toSorted());
  const keys = new Set([primaryKey, ...unique].map(({ columns }: Json) => textOf(columns)));
  const groups = Map.groupBy(foreignKeys as Json[], ({ name }) => name);
  const lost = new Set<string>();
  for (const [name, pairs] of groups) {
    const { reference_schema: schema, reference_table: table } = pairs[0];
    const isSelf = schema === wanted.schema && table === wanted.name;
    if (isSelf && !keys.has(textOf(pairs.map((pair) => pair.reference_column)))) lost.add(name);
  }
  if (lost.size === 0) return;
  wanted.constraints.foreign_keys = foreignKeys.filter(({ name }: Json) => !lost.has(name));
  loses.add('drop_constraints');
}

function renameParts(wanted: Json, from: string, to: string): void {
  const renamed = (name: string) => (name === from ? to : name);
  const inKey = (key: Json) => {
    key.columns = key.columns.map(renamed);
    if (key.include) key.include = key.include.map(renamed);
  };
  const { primary_key: primaryKey, unique, foreign_keys: foreignKeys } = wanted.constraints;
  for (const key of [primaryKey, ...unique]) inKey(key);
  for (const key of foreignKeys) {
    key.column = renamed(key.column);
    const isSelf = key.reference_schema === wanted.schema && key.reference_table === wanted.name;
    if (isSelf) key.reference_column = renamed(key.reference_column);
  }
  for (const index of wanted.indexes) {
    for (const part of index.columns) if (part.column !== undefined) part.column = renamed(part.column);
    if (index.include) index.include = index.include.map(renamed);
  }
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** Writes the request. Members that stay are left out if `absent` says so; members that are removed are null or empty. */
function requestOf({ wanted, oldNames }: Draft, described: Json, absent: boolean[]): Json {
  let next = 0;
  const isLeftOut = () => absent[next++ % absent.length]!;
  const before = new Map<string, Json>(described.columns.map((column: Json) => [column.name, column]));
  const columns = wanted.columns.map(({ id: _, ...column }: Json) => {
    const oldName = oldNames.get(column.name);
    const old = oldName === undefined ? undefined : before.get(oldName);
    if (old === undefined) return column;
    const { name, ...members } = column;
    for (const member of ['comment', 'numbering'])
      if (old[member] !== undefined && members[member] === undefined) members[member] = null;
    const isSame = ['default', 'default_is_expression'].every((member) => same(members[member], old[member]));
    if (isSame && members.sequence === undefined && isLeftOut()) {
      delete members.default;
      delete members.default_is_expression;
    }
    if (same(members.numbering, old.numbering) && isLeftOut()) delete members.numbering;
    for (const member of ['type', 'is_nullable', 'comment']) {
      if (same(members[member], old[member]) && members.sequence === undefined && isLeftOut())
        delete members[member];
    }
    return { name, ...members, ...(oldName !== name && { renamed_from: oldName }) };
  });
  const areColumnsKept = same(wanted.columns, described.columns);
  const constraints: Json = {};
  const old = { ...described.constraints, checks: described.constraints.checks ?? [] };
  const notValid = new Set(
    [...old.foreign_keys, ...old.checks].filter((one) => one.not_valid).map(({ name }) => name),
  );
  const validated = (parts: Json[]) =>
    parts.map((one) => (notValid.has(one.name) && !one.not_valid ? { ...one, not_valid: false } : one));
  for (const member of ['primary_key', 'unique', 'foreign_keys', 'checks']) {
    const said = wanted.constraints[member];
    const value = Array.isArray(said) ? validated(said) : said;
    if (!(same(value, old[member]) && isLeftOut()))
      constraints[member] = value.length === 0 && isLeftOut() ? null : value;
  }
  const sent: Json = {};
  if (!(areColumnsKept && isLeftOut())) sent.columns = columns;
  if (Object.keys(constraints).length > 0 || isLeftOut()) sent.constraints = constraints;
  if (!(same(wanted.indexes, described.indexes ?? []) && isLeftOut()))
    sent.indexes = wanted.indexes.length === 0 && isLeftOut() ? null : wanted.indexes;
  if (!(same(wanted.unlogged, described.unlogged) && isLeftOut())) sent.unlogged = wanted.unlogged ?? null;
  if (!(same(wanted.comment, described.comment) && isLeftOut())) sent.comment = wanted.comment ?? null;
  return sent;
}
