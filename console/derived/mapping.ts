/** Which column of an existing table each column of the file goes into: the proposals of the page and the choices of the user. */
import type { ColumnPlan, State } from '../state.ts';
import { keepsDefinition } from './target.ts';

export interface TableColumn {
  name: string;
  type: string;
  isNullable: boolean;
  /** The position in the primary key, from 1; 0: the column is not in the key. */
  keyPlace: number;
  /** true: a row without a value for the column is refused. */
  isRequired: boolean;
}

type TargetFacts = Pick<State, 'existing' | 'target'>;

/** Returns the columns of the existing table that a file can fill; none if the load does not keep the definition of a table. */
export function tableColumns(state: TargetFacts): TableColumn[] {
  const { existing } = state;
  if (!keepsDefinition(state) || existing.is !== 'ready' || existing.value === null) return [];
  const { columns, constraints } = existing.value;
  return columns
    .filter(({ generated, identity }) => generated == null && identity !== 'always')
    .map(({ name, type, is_nullable: isNullable, default: value }) => ({
      name,
      type,
      isNullable,
      keyPlace: constraints.primary_key.columns.indexOf(name) + 1,
      isRequired: !isNullable && value === null && !type.includes('serial'),
    }));
}

/** Returns the columns of the table that get nothing from the file. */
export function emptyColumns(state: TargetFacts & Pick<State, 'columns'>): TableColumn[] {
  const filled = new Set(state.columns.filter(({ isIncluded }) => isIncluded).map(({ name }) => name));
  return tableColumns(state).filter(({ name }) => !filled.has(name));
}

/** Returns the columns of the file for which the user still has to choose a place in the table. */
export function unplacedColumns(state: TargetFacts & Pick<State, 'columns' | 'rows'>): ColumnPlan[] {
  if (!keepsDefinition(state)) return [];
  const isAsked = state.rows.extraColumns === 'fail';
  const names = new Set(tableColumns(state).map(({ name }) => name));
  return state.columns.filter(
    ({ isIncluded, isNew, name }) => isIncluded && !isNew && (isAsked ? !names.has(name) : name === ''),
  );
}

/** What the user chooses for a column: one of the table, a new one, or none. */
export type Place = { column: string } | 'new' | 'none';

/** Puts a column of the file into a column of the table. Another column of the file that was there loses its place. */
export function withPlace(columns: ColumnPlan[], index: number, place: Place): ColumnPlan[] {
  return columns.map((plan, at) => {
    if (at === index) {
      if (place === 'none') return { ...plan, isIncluded: false };
      const isNew = place === 'new';
      const name = place === 'new' ? plan.header : place.column;
      return { ...plan, name, isNew, isIncluded: true, isNamed: true, isGuess: false };
    }
    const isTaken = typeof place === 'object' && plan.name === place.column;
    return isTaken ? { ...plan, name: plan.header, isNamed: false, isGuess: false } : plan;
  });
}

/**
 * Returns the columns with a proposed name wherever the user has chosen none: the column of the existing table that fits best, or
 * else the header. No two columns of the file get the same column of the table.
 */
export function placed(state: TargetFacts & Pick<State, 'columns'>): ColumnPlan[] {
  const { columns } = state;
  const chosen = new Set(
    columns.filter(({ isNamed, isIncluded }) => isNamed && isIncluded).map(({ name }) => name),
  );
  const free = new Set(tableColumns(state).filter(({ name }) => !chosen.has(name)));
  const open = new Set(columns.filter(({ isNamed }) => !isNamed));
  const proposals = new Map<ColumnPlan, string>();
  const take = (plan: ColumnPlan, column: TableColumn): void => {
    proposals.set(plan, column.name);
    open.delete(plan);
    free.delete(column);
  };
  for (const key of keys) for (const [plan, column] of samePairs(open, free, key)) take(plan, column);
  const sure = proposals.size;
  for (const [plan, column] of similarPairs(open, free)) take(plan, column);
  const guesses = new Set([...proposals.keys()].slice(sure));
  // The service would load a column with such a header into a column of the table that another column fills.
  const filled = new Set([...chosen, ...proposals.values()].map(foldedName));
  return columns.map((plan) => {
    if (plan.isNamed) return plan;
    const isFilled = keepsDefinition(state) && filled.has(foldedName(plan.header));
    const name = proposals.get(plan) ?? (isFilled ? '' : plan.header);
    const isGuess = guesses.has(plan);
    return name === plan.name && isGuess === plan.isGuess ? plan : { ...plan, name, isGuess };
  });
}

function foldedName(name: string): string {
  return name.trim().toLowerCase();
}

/** What two names have in common, from the surest to the least sure. */
const keys: ((name: string) => string)[] = [(name) => name, foldedName, (name) => wordsOf(name).join('')];

/** Returns the pairs whose names have the same key. Of several columns of the file, the only one whose type fits is taken. */
function samePairs(
  plans: Iterable<ColumnPlan>,
  columns: Iterable<TableColumn>,
  key: (name: string) => string,
): [ColumnPlan, TableColumn][] {
  const byKey = Map.groupBy(plans, ({ header }) => key(header));
  const ofTable = Map.groupBy(columns, ({ name }) => key(name));
  return [...ofTable].flatMap(([text, [column, ...more]]): [ColumnPlan, TableColumn][] => {
    const found = (text !== '' && byKey.get(text)) || [];
    const fitting = found.length > 1 ? found.filter((plan) => fits(plan, column!)) : found;
    return fitting.length === 1 && more.length === 0 ? [[fitting[0]!, column!]] : [];
  });
}

/** The most columns on each side among which similar names are looked for. */
const maxCompared = 200;

/** Returns the pairs whose names are similar and whose types fit, if no other pair of one of them is as similar. */
function similarPairs(
  plans: Iterable<ColumnPlan>,
  columns: Iterable<TableColumn>,
): [ColumnPlan, TableColumn][] {
  const files = [...plans].slice(0, maxCompared).map((plan) => ({ plan, words: wordsOf(plan.header) }));
  const tables = [...columns]
    .slice(0, maxCompared)
    .map((column) => ({ column, words: wordsOf(column.name) }));
  const pairs = files.flatMap(({ plan, words }) =>
    tables.flatMap(({ column, words: others }) => {
      const score = fits(plan, column) ? similarity(words, others) : 0;
      return score > 0 ? [{ plan, column, score }] : [];
    }),
  );
  return pairs
    .filter((one) =>
      pairs.every(
        (other) =>
          other === one ||
          other.score < one.score ||
          (other.plan !== one.plan && other.column !== one.column),
      ),
    )
    .map(({ plan, column }) => [plan, column]);
}

/** Returns the words of a name in lower case and without accents: `CustNo` and `cust_no` have the same. */
function wordsOf(name: string): string[] {
  const split = name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '');
  return split.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Returns the share of words that both names have, if the shorter name has no other words; 0: the names are not similar. */
function similarity(one: string[], other: string[]): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  const rest = [...long];
  for (const word of short) {
    const at = rest.findIndex((candidate) => isShortFor(word, candidate) || isShortFor(candidate, word));
    if (at < 0) return 0;
    rest.splice(at, 1);
  }
  return long.length === 0 ? 0 : short.length / long.length;
}

/** Returns whether one word is the other one or an abbreviation of it: `cust` and `qty` of `customer` and `quantity`. */
function isShortFor(short: string, long: string): boolean {
  if (short === long || (short.length >= 2 && long.startsWith(short))) return true;
  if (short.length < 3 || short[0] !== long[0]) return false;
  let at = 0;
  for (const letter of long) if (letter === short[at]) at++;
  return at === short.length;
}

/** Returns whether values of the inferred type can go into the column of the table. */
function fits({ inferredType, isEmpty }: ColumnPlan, { type }: TableColumn): boolean {
  const kind = kindOfType(type);
  return isEmpty || kind === 'any' || kind === kindOfType(inferredType);
}

const kinds: [RegExp, string][] = [
  [/^(small|big)?(int|serial)|^integer|^numeric|^real|^double|^money/, 'number'],
  [/^(date$|timestamp)/, 'day'],
  [/^time/, 'time'],
  [/^(boolean|uuid|interval)$/, 'itself'],
];

/** Returns `any` for types that take texts of all forms. */
function kindOfType(type: string): string {
  const [, kind = 'any'] = kinds.find(([pattern]) => pattern.test(type)) ?? [];
  return kind === 'itself' ? type : kind;
}
