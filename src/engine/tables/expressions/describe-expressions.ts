/** Says which expressions of a table a definition can have, so that answers can be sent again. */
import { columnsOf, maxExpressions, maxExpressionsLength } from './draft-expressions.ts';
import { Parser } from './parse-sql.ts';
import { readExpression } from './read-expression.ts';

export class KnownExpressions {
  readonly #columns: ReadonlySet<string>;
  readonly #extraFunctions: readonly string[];
  readonly #parser = new Parser();
  #count = 0;
  #length = 0;

  constructor(columns: Iterable<string>, extraFunctions: readonly string[]) {
    this.#columns = new Set(columns);
    this.#extraFunctions = extraFunctions;
  }

  /**
   * Returns whether a definition can have all of the expressions.
   *
   * @param ownCode the functions and operators in them that belong neither to PostgreSQL nor to an extension
   */
  async has(texts: readonly string[], ownCode: readonly string[] | null): Promise<boolean> {
    const isAllowed = (name: string) =>
      this.#extraFunctions.includes(name) || this.#extraFunctions.includes(name.slice(name.indexOf('.') + 1));
    if (!(ownCode ?? []).every(isAllowed)) return false;
    this.#count += texts.length;
    this.#length += texts.reduce((sum, { length }) => sum + length, 0);
    if (this.#count > maxExpressions || this.#length > maxExpressionsLength) return false;
    for (const text of texts) {
      const options = { use: 'check' as const, extraFunctions: this.#extraFunctions };
      const read = await readExpression(this.#parser, text, options);
      if (read.problem !== undefined) return false;
      if (columnsOf(read.node).some((name) => !this.#columns.has(name))) return false;
    }
    return true;
  }
}

/** Returns the expression in PostgreSQL's text of a CHECK constraint; undefined: it has another property than NOT VALID. */
export function expressionOfCheck(definition: string): string | undefined {
  return /^CHECK \((.*)\)(?: NOT VALID)?$/s.exec(definition)?.[1];
}
