/**
 * Parses an expression with the parser of PostgreSQL itself (libpg-query, a WebAssembly module). It is loaded when the first expression is
 * parsed, because it takes 25 ms and 30 MB. A module that fails, for example because its stack is full, is not used again.
 */
import { setFlagsFromString } from 'node:v8';
import { HEAVY, Pace } from '../../../core/pause-for-others.ts';

/** A node of PostgreSQL's raw parse tree as JSON: an object with one member, which is named after its kind. Absent members are zero, false or empty. */
export type RawNode = Record<string, RawFields>;
// biome-ignore lint/suspicious/noExplicitAny: the trees have a hundred kinds of nodes, and only read-expression.ts reads them
export type RawFields = Record<string, any>;

/** The maximum number of characters of an expression. */
export const maxExpressionLength = 16_384;
/** The maximum number of words and symbols of an expression, because the parser needs about 10 µs for each of them. */
export const maxWords = 2000;

export function countWords(text: string): number {
  return text.match(/\w+|[^\s\w'",]/g)?.length ?? 0;
}

export type Parsed =
  | { node: RawNode; problem?: undefined }
  /** `place`: the index of the character at which PostgreSQL found the error. */
  | { problem: string; place?: number | undefined };

/** The parser of one request. Its work is done in turns. */
export class Parser {
  readonly #pace = new Pace();

  async parse(text: string): Promise<Parsed> {
    if (text.length > maxExpressionLength)
      return { problem: `has more than ${maxExpressionLength.toLocaleString('en-US')} characters` };
    if (countWords(text) > maxWords)
      return { problem: `has more than ${maxWords.toLocaleString('en-US')} words and symbols` };
    const parsed = await parseStatement(`${prefix}${text}\n)`);
    const pause = this.#pace.pause(HEAVY);
    if (pause) await pause;
    return 'problem' in parsed ? parsed : expressionOf(parsed.tree);
  }
}

const prefix = 'SELECT (';

/** Returns the only expression of the statement. A text such as `1) FROM (SELECT 2` makes another statement of it. */
function expressionOf(tree: RawFields): Parsed {
  const other = { problem: 'is not one expression' };
  const [statement, second] = tree.stmts ?? [];
  const { targetList, limitOption, op, ...clauses } = statement?.stmt?.SelectStmt ?? {};
  if (second !== undefined || targetList?.length !== 1 || Object.keys(clauses).length > 0) return other;
  const { val, location: _, ...rest } = targetList[0].ResTarget ?? {};
  if (val === undefined || Object.keys(rest).length > 0) return other;
  return { node: val };
}

interface Module {
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  lengthBytesUTF8(text: string): number;
  stringToUTF8(text: string, pointer: number, bytes: number): void;
  UTF8ToString(pointer: number): string;
  getValue(pointer: number, type: 'i32'): number;
  _wasm_parse_query_raw(text: number): number;
  _wasm_free_parse_result(result: number): void;
}

const loaded: { module: Promise<Module> | undefined } = { module: undefined };

/** Without them V8 also compiles the module with its optimizing compiler, for which the process needs 550 MB for some seconds, and the parser is not faster. */
const baselineOnly = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

async function load(): Promise<Module> {
  for (const flag of baselineOnly) setFlagsFromString(flag);
  const { default: create } = await import('libpg-query/wasm/libpg-query.js');
  return create() as Promise<Module>;
}

async function parseStatement(
  text: string,
): Promise<{ tree: RawFields } | { problem: string; place?: number }> {
  const used = loaded.module ?? load();
  loaded.module = used;
  try {
    return parseWith(await used, text);
  } catch {
    if (loaded.module === used) loaded.module = undefined;
    return { problem: 'is too deeply nested' };
  }
}

/** The results are structures of libpg_query (pg_query.h): the tree, a buffer and an error, which begins with a message and has the position. */
function parseWith(module: Module, text: string): { tree: RawFields } | { problem: string; place?: number } {
  const bytes = module.lengthBytesUTF8(text) + 1;
  const pointer = module._malloc(bytes);
  module.stringToUTF8(text, pointer, bytes);
  const result = module._wasm_parse_query_raw(pointer);
  const error = module.getValue(result + 8, 'i32');
  let parsed: { tree: RawFields } | { problem: string; place?: number };
  if (error === 0) parsed = { tree: JSON.parse(module.UTF8ToString(module.getValue(result, 'i32'))) };
  else {
    const place = module.getValue(error + 16, 'i32') - 1 - prefix.length;
    const message = module.UTF8ToString(module.getValue(error, 'i32'));
    parsed = { problem: `is not an expression: ${message}`, ...(place >= 0 && { place }) };
  }
  module._free(pointer);
  module._wasm_free_parse_result(result);
  return parsed;
}
