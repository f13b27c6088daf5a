/** The check of staged text, which is needed only for columns that are staged as text. */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import * as inputCheck from '../../tables/loading/input-check.ts';
import type { InputRule } from '../../tables/rules/row-rules.ts';
import { isStagedAsText } from '../copying/target-columns.ts';

/** Returns PostgreSQL's own function if the server has it, or if none is needed. */
export async function findInputCheck(client: ClientBase, columns: LoadColumn[]): Promise<string | undefined> {
  return columns.some(isStagedAsText) ? inputCheck.findInputCheck(client) : inputCheck.builtInInputCheck;
}

/** Returns the function, and makes it if the server has none (`makeInputCheck` of tables/loading/). */
export async function makeInputCheck(client: ClientBase, columns: LoadColumn[]): Promise<string> {
  return columns.some(isStagedAsText) ? inputCheck.makeInputCheck(client) : inputCheck.builtInInputCheck;
}

export function inputRules(columns: LoadColumn[], inputCheck: string): InputRule[] {
  return columns.filter(isStagedAsText).map(({ name, type }) => {
    const { name: shown, sqlName = shown } = type;
    return { kind: 'input', name: '', columns: [name], type: shown, typeSql: sqlName, inputCheck };
  });
}
