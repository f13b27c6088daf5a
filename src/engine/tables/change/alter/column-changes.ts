/** Finds the changes of columns. */
import { isDeepStrictEqual } from 'node:util';
import { shorten } from '../../../../core/identifiers.ts';
import type { ProblemCode } from '../../../../core/problem-codes.ts';
import { type CallersStatement, qualified } from '../../../../postgres/callers-statement.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../../postgres/sql.ts';
import { serialBase } from '../../column-types.ts';
import { constantOf } from '../../compare-definition.ts';
import type { Conversion, NoConversion } from '../../conversion/conversion.ts';
import * as ddl from '../../ddl.ts';
import type { ColumnDescription, TableDescription } from '../../definition.ts';
import type { DefinitionProblems } from '../../definition-problems.ts';
import { changeNumberingSql, describeNumbering, numberingSql } from '../../numbering.ts';
import type { PreparedColumn, PreparedTable } from '../../prepared-table.ts';
import type { Change } from './change.ts';
import type { OwnDefault } from './own-defaults.ts';
import type { SentColumn } from './sent-definition.ts';

/** What the definition means: how the service resolved it, and how PostgreSQL describes it. */
export interface Target {
  prepared: PreparedTable;
  described: TableDescription;
  /** How the values of the columns whose types change are converted. */
  conversions: ReadonlyMap<string, Conversion | NoConversion>;
  /** The defaults of tables below that are not those of the table. */
  ownDefaults: ReadonlyMap<string, OwnDefault[]>;
}

/** A column of the request that the table has. */
interface ColumnPair {
  sent: SentColumn;
  existing: ColumnDescription;
  /** As PostgreSQL describes the definition. It lacks what the request keeps: a default, an expression. */
  wanted: ColumnDescription;
  prepared: PreparedColumn;
}

/** Returns the columns whose types change. */
export function changedTypes(columns: SentColumn[], described: TableDescription): SentColumn[] {
  const wanted = new Map(described.columns.map((column) => [column.name, column]));
  return columns.filter(({ name, existing }) => {
    const type = wanted.get(name)?.type;
    return existing !== undefined && type !== undefined && baseType(type) !== baseType(existing.type);
  });
}

/** Returns the changes of the columns, in the order in which they can be made. */
export function columnChanges(columns: SentColumn[], target: Target, problems: DefinitionProblems): Change[] {
  const wanted = new Map(target.described.columns.map((column) => [column.name, column]));
  const prepared = new Map(target.prepared.columns.map((column) => [column.name, column]));
  const added: Change[] = [];
  const changed: Change[] = [];
  const ended: Change[] = [];
  const kept: Change[] = [];
  const context = new ColumnContext(target, problems);
  for (const sent of columns) {
    const { existing, name } = sent;
    if (existing === undefined) added.push(...context.add(sent, prepared.get(name)!));
    else {
      const pair = { sent, existing, wanted: wanted.get(name)!, prepared: prepared.get(name)! };
      const { first, others } = context.change(pair);
      ended.push(...first);
      changed.push(...others);
      kept.push(...context.keepOwnDefaults(pair, [...first, ...others]));
    }
  }
  // Types early, because those of several columns are changed in one statement, and an expression of a new column may need them.
  const isTypeChange = ({ conversion }: Change) => conversion !== undefined;
  const [types, others] = [changed.filter(isTypeChange), changed.filter((one) => !isTypeChange(one))];
  // A comment between new columns would divide the statement that adds them, and PostgreSQL would write all rows once more.
  const isComment = ({ change }: Change) => change === 'set-comment';
  const [comments, columnsOnly] = [added.filter(isComment), added.filter((one) => !isComment(one))];
  return [...ended, ...types, ...columnsOnly, ...others, ...kept, ...comments];
}

/** Writes the changes of the columns of one table. */
class ColumnContext {
  readonly #target: Target;
  readonly #relation: string;
  readonly #problems: DefinitionProblems;

  constructor(target: Target, problems: DefinitionProblems) {
    const { schema, name } = target.prepared;
    this.#target = target;
    this.#relation = quoteQualified(schema, name);
    this.#problems = problems;
  }

  add({ pointer, name }: SentColumn, column: PreparedColumn): Change[] {
    const table = { ...this.#target.prepared, columns: [column] };
    const isNumbered = column.identity !== 'none';
    const isStored = column.generated?.kind === 'stored';
    const { isNullable, defaultSql } = column;
    const hasNoValue = defaultSql === undefined && !isNumbered && column.generated === undefined;
    const { statements, clause } = ddl.addColumn(table, this.#relation);
    return [
      {
        change: 'add-column',
        name,
        detail: `the table gets ${shown(name)} of the type ${shorten(column.typeText)}`,
        statements,
        rewrites: isNumbered || isStored || !isConstant(column),
        scans: !isNullable && hasNoValue,
        lock: 'ACCESS EXCLUSIVE',
        loses: null,
        pointer,
        ...(clause !== undefined && { clauses: [clause] }),
        rule: !isNullable && hasNoValue ? { kind: 'not null', column: name } : undefined,
      },
      ...(column.comment === undefined ? [] : [this.#comment(pointer, name, column.comment)]),
    ];
  }

  /** Returns the changes of a column; `first`: those that must come before every change of a type. */
  change(pair: ColumnPair): { first: Change[]; others: Change[] } {
    const { sent, existing, wanted, prepared } = pair;
    const { name } = sent;
    if (this.#refuseGenerated(pair)) return { first: [], others: [] };
    const changes: Change[] = [];
    const numbering = this.#numbering(pair);
    const isRetyped = baseType(wanted.type) !== baseType(existing.type);
    if (isRetyped) changes.push(...this.#changeType(pair));
    if (existing.generated !== undefined && !sent.keepsGenerated)
      changes.push(
        this.#alter('drop-expression', pair, `${shown(name)} is no longer generated`, ['DROP EXPRESSION']),
      );
    if (wanted.is_nullable !== existing.is_nullable) {
      const verb = wanted.is_nullable ? 'drop-not-null' : 'set-not-null';
      const clause = wanted.is_nullable ? 'DROP NOT NULL' : 'SET NOT NULL';
      const words = wanted.is_nullable ? 'accepts NULL' : 'no longer accepts NULL';
      changes.push({
        ...this.#alter(verb, pair, `${shown(name)} ${words}`, [clause]),
        ...(!wanted.is_nullable && { scans: true, rule: { kind: 'not null', column: name } as const }),
      });
    }
    if (numbering?.isEnd === false) changes.push(numbering.change);
    const isNumberedBefore = numberingOf(existing) !== 'none';
    if (isNumberedBefore && prepared.identity !== 'none') changes.push(...this.#changeSequence(pair));
    const hasSameDefault = constantOf(wanted.default) === constantOf(existing.default);
    if (!sent.keepsDefault && !hasSameDefault && !isRetyped && prepared.identity === 'none') {
      const isDropped = prepared.defaultSql === undefined;
      const text = shorten(wanted.default ?? '');
      const words = isDropped ? 'has no default' : `has the default ${text}`;
      const clause = isDropped ? 'DROP DEFAULT' : `SET DEFAULT ${prepared.defaultSql}`;
      if (!isDropped || numbering === undefined)
        changes.push(
          this.#alter(isDropped ? 'drop-default' : 'set-default', pair, `${shown(name)} ${words}`, [clause]),
        );
    }
    if (!sent.keepsComment && prepared.comment !== existing.comment)
      changes.push(this.#comment(sent.pointer, name, prepared.comment));
    return { first: numbering?.isEnd ? [numbering.change] : [], others: changes };
  }

  /** Returns the changes that give tables below their own defaults again, because PostgreSQL changes theirs together with that of the table. */
  keepOwnDefaults(pair: ColumnPair, changes: Change[]): Change[] {
    const { name, pointer } = pair.sent;
    const own = this.#target.ownDefaults.get(name) ?? [];
    const lost = this.#lostDefault(pair, own, changes);
    if (lost !== undefined) {
      const has = lost.isIdentity ? 'numbers of its own' : 'its own default or expression';
      const detail = `the table ${lost.relation} has ${has} for ${shown(name)}, which would be lost; change the column in PostgreSQL`;
      this.#refuse(pointer, 'not-supported', detail);
      return [];
    }
    const changesDefault = changes.some(({ change }) =>
      /^(change-type|set-default|drop-default)$/.test(change),
    );
    if (numberingOf(pair.existing) !== 'none' || !changesDefault) return [];
    const defaults = own.filter(({ isIdentity }) => !isIdentity);
    return defaults.map(({ relation, sql }): Change => {
      const words = sql === null ? 'still has no default' : `keeps its default ${shorten(sql)}`;
      const clause = sql === null ? 'DROP DEFAULT' : `SET DEFAULT ${sql}`;
      return {
        ...{ ...plain, change: sql === null ? 'drop-default' : 'set-default', name, pointer, statements: [] },
        detail: `${shown(name)} of the table ${relation} ${words}`,
        ownStatements: [`ALTER TABLE ONLY ${relation} ALTER COLUMN ${quoteIdentifier(name)} ${clause}`],
      };
    });
  }

  /** Returns a table below that cannot keep its default, expression or identity. */
  #lostDefault(
    { existing, prepared }: ColumnPair,
    own: OwnDefault[],
    changes: Change[],
  ): OwnDefault | undefined {
    const before = numberingOf(existing);
    const { identity } = prepared;
    const isRenumbered = before !== identity && (before === 'sequence' || existing.default !== null);
    if (isRenumbered || changes.some(({ change }) => change === 'drop-expression')) return own[0];
    const isNew = before === 'none' && identity !== 'none';
    const isNumbered = own.find(
      (one) => isNew && one.becomesIdentity && (one.isIdentity || one.sql !== null),
    );
    const isChanged = changes.some(({ change, clauses = [] }) => {
      if (change !== 'change-type') return change === 'set-default' || change === 'drop-default';
      return clauses.length > 1 || !integers.includes(prepared.type.oid);
    });
    return isNumbered ?? own.find(({ isIdentity }) => isIdentity && isChanged);
  }

  #changeType({ sent, existing, wanted, prepared }: ColumnPair): Change[] {
    const { name, pointer } = sent;
    const conversion = this.#target.conversions.get(name);
    if (conversion === undefined || 'refused' in conversion) {
      this.#refuse(`${pointer}/type`, 'no-conversion', conversion?.refused ?? 'the type cannot be changed');
      return [];
    }
    const column = `ALTER COLUMN ${quoteIdentifier(name)}`;
    // PostgreSQL would cast the own defaults of tables below, or fail.
    const isNumbered = numberingOf(existing) !== 'none';
    const own = this.#target.ownDefaults.get(name) ?? [];
    const hasDefault = existing.default !== null || (!isNumbered && own.some((one) => !one.isIdentity));
    const using = conversion.using === undefined ? '' : ` USING ${conversion.using}`;
    const clauses = [
      ...(hasDefault ? [`${column} DROP DEFAULT`] : []),
      `${column} TYPE ${conversion.typeSql}${using}`,
      ...(prepared.defaultSql === undefined ? [] : [`${column} SET DEFAULT ${prepared.defaultSql}`]),
    ];
    const [from, to] = [baseType(existing.type), baseType(wanted.type)];
    const change: Change = {
      change: 'change-type',
      name,
      detail: `${shown(name)} becomes ${shorten(to)} instead of ${shorten(from)}`,
      statements: [qualified`ALTER TABLE ${this.#relation} ${clauses.join(', ')}`],
      rewrites: conversion.rewrites,
      scans: conversion.scans,
      lock: 'ACCESS EXCLUSIVE',
      loses: conversion.loss === undefined ? null : 'lossy_types',
      pointer: `${pointer}/type`,
      clauses,
      conversion,
    };
    return [change];
  }

  /** Returns the changes of the sequence of a column that stays numbered. An identity column's sequence follows its type by itself. */
  #changeSequence(pair: ColumnPair): Change[] {
    const { sent, existing, wanted, prepared } = pair;
    const { name, pointer } = sent;
    const { identity, numbering } = prepared;
    const [before, after] = [baseType(existing.type), baseType(wanted.type)];
    const type = prepared.sequenceType ?? after;
    const isSame =
      sent.keepsNumbering ||
      isDeepStrictEqual(describeNumbering(numbering, type) ?? {}, existing.numbering ?? {});
    if (identity !== 'sequence') {
      const clause = changeNumberingSql(numbering, type, true);
      return isSame ? [] : [this.#alter('change-identity', pair, numberedAnew(name), [clause])];
    }
    if (existing.sequence === undefined) return [];
    const relation = quoteQualified(this.#target.prepared.schema, existing.sequence.name);
    const change = (detail: string, clauses: string): Change => ({
      ...{ ...plain, change: 'change-identity', name, detail, pointer, lock: 'SHARE UPDATE EXCLUSIVE' },
      statements: [qualified`ALTER SEQUENCE ${relation} ${clauses}`],
    });
    const isSameType = type === (existing.sequence.type ?? before);
    return [
      ...(isSameType ? [] : [change(`the sequence of ${shown(name)} has the type ${type}`, `AS ${type}`)]),
      ...(isSame ? [] : [change(numberedAnew(name), changeNumberingSql(numbering, type, false))]),
    ];
  }

  /** Returns the change of how the column is numbered. `isEnd`: it is no longer numbered, which comes before other changes. */
  #numbering(pair: ColumnPair): { isEnd: boolean; change: Change } | undefined {
    const { sent, existing, prepared } = pair;
    const { name, pointer } = sent;
    const before = numberingOf(existing);
    const after = prepared.identity;
    if (before === after) {
      const isRenamed = existing.sequence?.name !== this.#target.prepared.names.sequences.get(name);
      if (after === 'sequence' && isRenamed)
        this.#refuse(`${pointer}/sequence/name`, 'not-supported', 'rename the sequence in PostgreSQL');
      return undefined;
    }
    if (after === 'sequence' || (before === 'sequence' && after !== 'none')) {
      const detail = `the column "${shorten(name)}" cannot change between an identity and a default from a sequence here; change it in PostgreSQL`;
      this.#refuse(`${pointer}/sequence`, 'not-supported', detail);
      return undefined;
    }
    const always = after === 'always' ? 'ALWAYS' : 'BY DEFAULT';
    if (after === 'none') {
      const isOwned = before === 'sequence';
      const alter = this.#alter('change-identity', pair, `${shown(name)} is no longer numbered`, [
        isOwned ? 'DROP DEFAULT' : 'DROP IDENTITY',
      ]);
      const { schema } = this.#target.prepared;
      if (isOwned && existing.sequence)
        alter.statements.push(qualified`DROP SEQUENCE ${quoteQualified(schema, existing.sequence.name)}`);
      return { isEnd: true, change: alter };
    }
    if (before !== 'none') {
      const words = `${shown(name)} is GENERATED ${always} AS IDENTITY`;
      return {
        isEnd: false,
        change: this.#alter('change-identity', pair, words, [`SET GENERATED ${always}`]),
      };
    }
    const options = numberingSql(prepared.numbering).trim();
    const alter = this.#alter('change-identity', pair, `PostgreSQL numbers ${shown(name)}`, [
      ...(existing.default === null ? [] : ['DROP DEFAULT']),
      `ADD GENERATED ${always} AS IDENTITY${options && ` (${options})`}`,
    ]);
    alter.statements.push(continueNumbering(this.#relation, name, prepared.numbering));
    return { isEnd: false, change: { ...alter, scans: true } };
  }

  /** Refuses the changes of generated columns that would mean to make the column anew. */
  #refuseGenerated({ sent, existing, wanted, prepared }: ColumnPair): boolean {
    const { name, pointer } = sent;
    const isNow = prepared.generated !== undefined;
    const wasGenerated = existing.generated !== undefined;
    const remedy = 'drop the column and add it anew, in two requests or under another name';
    const refuse = (member: string, what: string) => {
      this.#refuse(
        `${pointer}/${member}`,
        'not-supported',
        `the column "${shorten(name)}" ${what}; ${remedy}`,
      );
      return true;
    };
    if (!wasGenerated) return isNow && refuse('generated', 'cannot become a generated column');
    if (baseType(wanted.type) !== baseType(existing.type))
      return refuse('type', 'is generated, so its type cannot change');
    if (sent.keepsGenerated) {
      if (prepared.defaultSql === undefined && prepared.identity === 'none') return false;
      return refuse('default', 'is generated, so it has no default');
    }
    const kind = existing.generated_kind ?? 'stored';
    if (!isNow)
      return kind === 'virtual' && refuse('generated', 'is virtual and has no stored values to keep');
    const isSame = wanted.generated === existing.generated && prepared.generated?.kind === kind;
    if (!isSame)
      return refuse(
        'generated',
        `is generated (${kind}) from ${shorten(existing.generated!)}, which cannot change`,
      );
    // Written in another way, and the same for PostgreSQL.
    sent.keepsGenerated = true;
    return false;
  }

  #refuse(pointer: string, code: ProblemCode, detail: string): void {
    this.#problems.add({ pointer, code, detail });
  }

  #alter(change: Change['change'], { sent }: ColumnPair, detail: string, clauses: string[]): Change {
    const { name, pointer } = sent;
    const all = clauses.map((clause) => `ALTER COLUMN ${quoteIdentifier(name)} ${clause}`);
    const statements = all.map((clause) => qualified`ALTER TABLE ${this.#relation} ${clause}`);
    // A change of the numbering may have more statements.
    const merged = change === 'change-identity' ? {} : { clauses: all };
    return { ...plain, change, name, detail, statements, pointer, ...merged };
  }

  #comment(pointer: string, name: string, comment: string | undefined): Change {
    return {
      ...plain,
      change: 'set-comment',
      name,
      detail: `${shown(name)} has ${comment === undefined ? 'no comment' : 'another comment'}`,
      statements: [ddl.commentOn(`COLUMN ${this.#relation}.${quoteIdentifier(name)}`, comment)],
      lock: 'SHARE UPDATE EXCLUSIVE',
      pointer: `${pointer}/comment`,
    };
  }
}

/** The types of a column that PostgreSQL numbers: `int8`, `int2` and `int4`. */
const integers = [20, 21, 23];

/** The members of a change that only writes the catalogue. */
export const plain = { rewrites: false, scans: false, lock: 'ACCESS EXCLUSIVE', loses: null } as const;

export function shown(name: string): string {
  return `the column "${shorten(name)}"`;
}

function numberedAnew(name: string): string {
  return `${shown(name)} is numbered in another way from its next number on`;
}

function baseType(type: string): string {
  return serialBase(type) ?? type;
}

function numberingOf({ type, identity, sequence }: ColumnDescription): PreparedColumn['identity'] {
  if (serialBase(type) === undefined) return 'none';
  if (sequence !== undefined) return 'sequence';
  return identity === 'always' ? 'always' : 'by default';
}

/** Returns whether all rows get the same value of a new column, which PostgreSQL then does not write into them. */
function isConstant({ defaultSql, type }: PreparedColumn): boolean {
  if (type.kind === 'd') return false;
  if (defaultSql === undefined || defaultSql.startsWith("'")) return true;
  return /^(pg_catalog\.)?"?now"?\(\)$|^(CURRENT_|LOCALTIME|SESSION_USER)[A-Z]*$/.test(defaultSql);
}

/** Returns the statement after which the numbering continues behind the highest value of the column. */
function continueNumbering(
  relation: string,
  column: string,
  { start, max }: { start: bigint; max?: bigint } = { start: 1n },
): CallersStatement {
  const highest = `pg_catalog.max(${quoteIdentifier(column)})`;
  const value = max === undefined ? highest : `LEAST(${highest}, ${max})`;
  const sequence = `pg_catalog.pg_get_serial_sequence(${quoteLiteral(relation)}, ${quoteLiteral(column)})`;
  return qualified`SELECT pg_catalog.setval(${sequence}::pg_catalog.regclass, ${value}) FROM ${relation} HAVING ${highest} OPERATOR(pg_catalog.>=) ${String(start)}`;
}
