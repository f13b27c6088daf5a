/** Reads all expressions of a definition before its names are looked up. */
import { shorten } from '../../../core/identifiers.ts';
import { amountInWords, overLimit } from '../../../core/limit-exceeded.ts';
import { forEachInTurns } from '../../../core/pause-for-others.ts';
import type { Mentions } from '../defaults.ts';
import { columnPointer, type TableDefinition } from '../definition.ts';
import type { DefinitionProblems } from '../definition-problems.ts';
import type { IndexDefinition } from '../indexes/index-definition.ts';
import { type ExpressionNode, type ExpressionUse, visitExpression } from './expression.ts';
import { Parser } from './parse-sql.ts';
import { readExpression } from './read-expression.ts';

/** The maximum number of expressions of a definition, and of characters of all of them. */
export const maxExpressions = 1600;
export const maxExpressionsLength = 262_144;

export interface ExpressionDraft {
  pointer: string;
  /** The expression as the caller wrote it. */
  text: string;
  use: ExpressionUse;
  node: ExpressionNode;
}

/**
 * Reads the expressions, and adds a problem for each that is not possible. It works in turns.
 *
 * @param defaults the columns whose defaults are expressions for the parser
 */
export async function draftExpressions(
  definition: TableDefinition,
  defaults: ReadonlySet<string>,
  extraFunctions: readonly string[],
  problems: DefinitionProblems,
): Promise<ExpressionDraft[]> {
  const texts = textsOf(definition, defaults);
  const length = texts.reduce((sum, { text }) => sum + text.length, 0);
  const detail =
    texts.length > maxExpressions
      ? overLimit(`there are ${amountInWords(texts.length, 'expressions')}`, maxExpressions, 'expressions')
      : length > maxExpressionsLength
        ? overLimit('the expressions of the table are too long', maxExpressionsLength, 'characters')
        : undefined;
  if (detail !== undefined) {
    problems.add({ pointer: '/table', code: 'invalid-expression', detail });
    return [];
  }
  const names = new Set(definition.columns.map(({ name }) => name));
  const generated = new Set(definition.columns.flatMap((column) => (column.generated ? column.name : [])));
  const parser = new Parser();
  const drafts: ExpressionDraft[] = [];
  for (const { pointer, text, use } of texts) {
    const read = await readExpression(parser, text, { use, extraFunctions });
    if (read.problem === undefined) {
      const { node } = read;
      if (!areKnown(node, names, pointer, problems)) continue;
      if (use === 'generated' && columnsOf(node).some((name) => generated.has(name)))
        refuseExpression(
          problems,
          pointer,
          text,
          'names a generated column, which is not possible in another one',
        );
      else drafts.push({ pointer, text, use, node });
    } else refuseExpression(problems, pointer, text, read.problem);
  }
  const byPointer = new Map(drafts.map(({ pointer, node }) => [pointer, node]));
  for (const check of definition.checks) {
    const node = byPointer.get(`${check.pointer}/expression`);
    check.columns = node === undefined ? [] : columnsOf(node);
  }
  for (const index of definition.indexes) refuseRepeated(index, byPointer, problems);
  return drafts;
}

/** For an index of the method `gin` PostgreSQL needs the memory of all its columns at once. */
function refuseRepeated(
  { method, columns }: IndexDefinition,
  nodes: ReadonlyMap<string, ExpressionNode>,
  problems: DefinitionProblems,
): void {
  const seen = new Set<string>();
  for (const { column, pointer, expression } of method === 'btree' || method === 'hash' ? [] : columns) {
    const node = nodes.get(`${pointer}/expression`);
    for (const name of node === undefined ? [column] : columnsOf(node)) {
      if (seen.has(name) && expression) {
        const detail = `the column "${shorten(name)}" occurs twice in this index`;
        problems.add({ pointer: `${pointer}/expression`, code: 'repeated-column', detail });
      }
      seen.add(name);
    }
  }
}

function textsOf(
  definition: TableDefinition,
  defaults: ReadonlySet<string>,
): Omit<ExpressionDraft, 'node'>[] {
  const texts: { pointer: string; text: string | undefined; use: ExpressionUse }[] = definition.checks.map(
    ({ pointer, expression }) => ({ pointer: `${pointer}/expression`, text: expression, use: 'check' }),
  );
  for (const [index, { name, generated, default: text }] of definition.columns.entries()) {
    const pointer = columnPointer(index);
    texts.push({ pointer: `${pointer}/generated`, text: generated?.expression, use: 'generated' });
    if (defaults.has(name)) texts.push({ pointer: `${pointer}/default`, text, use: 'default' });
  }
  for (const { pointer, where, columns } of definition.indexes) {
    texts.push({ pointer: `${pointer}/where`, text: where, use: 'index' });
    for (const { pointer: at, expression } of columns)
      texts.push({ pointer: `${at}/expression`, text: expression, use: 'index' });
  }
  return texts.filter(({ text }) => text !== undefined) as Omit<ExpressionDraft, 'node'>[];
}

export function refuseExpression(
  problems: DefinitionProblems,
  pointer: string,
  text: string,
  reason: string,
): void {
  const value = shorten(text);
  problems.add({ pointer, code: 'invalid-expression', detail: `"${value}" ${reason}`, value });
}

function areKnown(
  node: ExpressionNode,
  names: ReadonlySet<string>,
  pointer: string,
  problems: DefinitionProblems,
): boolean {
  const unknown = columnsOf(node).filter((name) => !names.has(name));
  for (const name of unknown) {
    const value = shorten(name);
    const hint = /[A-Z]/.test([...names].find((known) => known.toLowerCase() === name) ?? '')
      ? ' Write a name with capital letters in double quotes.'
      : '';
    const detail = `the table has no column "${value}".${hint}`;
    problems.add({ pointer, code: 'unknown-column', detail, value }, { name, among: names });
  }
  return unknown.length === 0;
}

export function columnsOf(node: ExpressionNode): string[] {
  const columns = new Set<string>();
  visitExpression(node, (part) => {
    if (part.kind === 'column') columns.add(part.name);
  });
  return [...columns];
}

/** Adds the types, functions and sequences that the expressions name, and that must be looked up. */
export async function addMentions(drafts: ExpressionDraft[], into: Mentions): Promise<void> {
  await forEachInTurns(drafts, ({ node }) =>
    visitExpression(node, (part) => {
      if (part.kind === 'cast') into.types.push(part.type);
      if (part.kind === 'sequence') into.sequences.push(part.name);
      if (part.kind === 'call' && part.from === 'setting') into.functions.push(part.name);
    }),
  );
}
